//! Folders with a Dockerfile and the files that it reads, and what the built program says of each.
//!
//! `expected` lists one line for every finding, `rule path:line`, and one for every note, `note text`;
//! an empty file expects silence. A line `args …` is handed to the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use imagelint::dockerfile::context::{ContextFile, ContextFileError, ContextReader, path_matches};
use imagelint::dockerfile::{Dockerfile, EvaluateOptions};
use imagelint::extract::{KnownBases, observe_dockerfile_on_base};
use imagelint::model::package::{ObservedPackage, PackageVersion};
use imagelint::text::source::{SourceId, SourceText, Sources};
use serde_json::Value;

use crate::support::program::imagelint_program;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/installs");
    let mut found: Vec<PathBuf> =
        fs::read_dir(root).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    found.sort();
    found
}

fn said(folder: &Path, args: &[&str]) -> BTreeSet<String> {
    let output = Command::new(imagelint_program())
        .current_dir(folder)
        .args(["check", "--format", "json", "--fail-on", "never"])
        .args(args)
        .arg("Dockerfile")
        .output()
        .expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {}", folder.display(), String::from_utf8_lossy(&output.stderr)));
    let mut said = BTreeSet::new();
    for subject in report["subjects"].as_array().expect("subjects") {
        for finding in subject["findings"].as_array().expect("findings") {
            let place = &finding["locations"][0];
            let (path, line) = (&place["path"], &place["region"]["start_line"]);
            said.insert(format!("{} {}:{line}", text(&finding["rule"]), text(path)));
        }
        for note in subject["inspected"]["notes"].as_array().expect("notes") {
            said.insert(format!("note {}", text(note)));
        }
    }
    said
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

#[test]
fn every_mistake_is_found_at_its_line_and_nothing_else() {
    let mut wrong = Vec::new();
    let (mut silent, mut loud) = (0, 0);
    for folder in folders() {
        let expected = fs::read_to_string(folder.join("expected")).expect("expected");
        let args: Vec<&str> =
            expected.lines().filter_map(|line| line.strip_prefix("args ")).flat_map(str::split_whitespace).collect();
        let expected: BTreeSet<String> =
            expected.lines().filter(|line| !line.starts_with("args ") && !line.is_empty()).map(str::to_owned).collect();
        if expected.iter().any(|line| !line.starts_with("note ")) {
            loud += 1;
        } else {
            silent += 1;
        }
        let said = said(&folder, &args);
        if said != expected {
            let name = folder.file_name().expect("name").to_string_lossy().into_owned();
            wrong.push(format!("{name}\n  expected {expected:#?}\n  said {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(loud >= 2 && silent >= 2, "{loud} with findings, {silent} without");
}

/// Files of a context that are there in memory alone.
struct Memory {
    files: BTreeMap<String, ContextFile>,
    /// The text that lists of names stand in.
    names: SourceId,
}

impl ContextReader for Memory {
    fn open(&self, path: &str) -> Result<ContextFile, ContextFileError> {
        if path.contains('*') && !path.ends_with("/*") {
            let names = self.files.keys().filter(|file| path_matches(path, file));
            let names: Vec<&str> = names.filter_map(|file| file.rsplit('/').next()).collect();
            return Ok(ContextFile::new(self.names, names.join("\n")));
        }
        self.files.get(path).cloned().ok_or(ContextFileError::NotThere)
    }
}

/// What a Dockerfile of these RUN lines installs, sorted, and what it notes.
fn installed(files: &[(&str, &str)], run: &str) -> String {
    installed_on("linux/amd64", files, run)
}

fn installed_on(platform: &str, files: &[(&str, &str)], run: &str) -> String {
    installed_by(platform, files, "COPY . .", run)
}

fn installed_by(platform: &str, files: &[(&str, &str)], copy: &str, run: &str) -> String {
    let mut sources = Sources::default();
    let text = format!("FROM python:3.12\nWORKDIR /app\n{copy}\nRUN {run}\n");
    let source = sources.add(SourceText::new("Dockerfile", text.clone()));
    let add = |(path, text): &(&str, &str)| {
        let source = sources.add(SourceText::new(*path, *text));
        ((*path).to_owned(), ContextFile::new(source, *text))
    };
    let files = files.iter().map(add).collect();
    let shelf = Memory { files, names: sources.add(SourceText::new("names", "")) };
    let options = EvaluateOptions {
        platform: platform.to_owned(),
        ..EvaluateOptions::new(imagelint::knowledge::Knowledge::built_in())
    };
    let dockerfile = Dockerfile::parse(&text);
    let target =
        observe_dockerfile_on_base(source, &dockerfile, &options, &shelf, &KnownBases::default()).expect("a stage");
    let package = |package: &ObservedPackage| {
        let version = match &package.version {
            PackageVersion::Exact(version) => format!("=={version}"),
            PackageVersion::Range(range) => range.clone(),
            PackageVersion::Unresolved(_) => "=?".to_owned(),
        };
        let variant = package.variant.as_ref().map(|variant| format!("[{variant}]")).unwrap_or_default();
        let may = if package.conditional.is_some() { "?" } else { "" };
        format!("{}{version}{variant}{may}", package.name)
    };
    let mut said: Vec<String> = target.seen.packages.iter().map(package).collect();
    said.sort();
    let notes = target.notes.iter().filter(|note| !note.starts_with("base")).map(|note| format!("!{note}"));
    said.into_iter().chain(notes).collect::<Vec<_>>().join(" ")
}

const LIST: &str = "# all\nflask\ntorch==2.1.0\n\nnumpy>=1.2\n";

#[test]
fn what_other_programs_run_installs_what_it_names() {
    let mut wrong = Vec::new();
    for (run, expected) in [
        ("timeout 1800 pip install torch==2.14.1", "torch==2.14.1"),
        ("sudo -u app pip install torch==2.14.1", "torch==2.14.1"),
        ("su app -c \"pip install torch==2.14.1\"", "torch==2.14.1"),
        ("nice -n 5 nohup stdbuf -oL pip install torch==2.14.1 && true", "torch==2.14.1"),
        ("[\"timeout\", \"1800\", \"pip\", \"install\", \"torch==2.14.1\"]", "torch==2.14.1"),
        ("[\"gosu\", \"root\", \"sh\", \"-c\", \"pip install torch==2.14.1\"]", "torch==2.14.1"),
        ("timeout 1800 bash scripts/one.sh", "torch==2.14.1"),
        ("sudo -E ./scripts/one.sh", "torch==2.14.1"),
        ("echo flask | xargs timeout 60 pip install", "flask"),
        ("timeout 1800 pip download torch==2.14.1", ""),
        ("command -v pip && echo pip install torch==2.14.1", ""),
        ("sudo -l -U app pip install torch==2.14.1", ""),
        ("timeout 1800 apt-get update", ""),
        ("su app -c 'echo pip install torch==2.14.1'", ""),
    ] {
        let said = installed(&[("scripts/one.sh", "pip install torch==2.14.1\n")], run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn scripts_that_run_one_another_from_their_own_folder_are_read() {
    let mut wrong = Vec::new();
    let files = &[
        ("scripts/torch.sh", "pip3 install torch==2.14.1\n"),
        ("scripts/lib.sh", "inst(){ pip3 install \"$@\"; }\nVERSION=2.14.1\n"),
        ("scripts/by_name.sh", "bash \"$(dirname \"$0\")/torch.sh\"\n"),
        ("scripts/by_folder.sh", "HERE=$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\n\"$HERE\"/torch.sh\n"),
        ("scripts/by_part.sh", "\"${0%/*}/torch.sh\"\n"),
        ("scripts/by_lib.sh", ". ./lib.sh\ninst torch==$VERSION\n"),
        ("scripts/by_own_lib.sh", "source \"$(dirname \"${BASH_SOURCE[0]}\")/lib.sh\"\ninst torch==2.14.1\n"),
        ("scripts/lost.sh", "bash \"$(nobody knows)/torch.sh\"\n"),
        ("scripts/args.sh", "shift\npip install torch==$1 flask==${2:-3.0}\n"),
        ("scripts/all.sh", "shift 1\nif [ $# -gt 0 ]; then pip install \"$@\"; fi\n"),
        ("scripts/other.sh", "bash \"$(nobody knows)/other-tool.sh\"\n"),
        ("one/a.sh", "pip install flask\n"),
        ("one/b.sh", "pip install torch==2.14.1\n"),
        ("one/c.txt", "pip install jax\n"),
    ];
    for (copy, run, expected) in [
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/by_name.sh", "torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "cd /opt && scripts/by_folder.sh", "torch==2.14.1"),
        ("COPY scripts /opt/scripts", "/opt/scripts/by_part.sh", "torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/\nWORKDIR /opt/scripts", "./by_lib.sh", "torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/by_own_lib.sh", "torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", ". /opt/scripts/lib.sh && inst torch==2.14.1", "torch==2.14.1"),
        ("COPY one/ /opt/one/", "for f in /opt/one/*.sh; do bash \"$f\"; done", "flask torch==2.14.1"),
        ("COPY one/*.sh /opt/one/", "for f in /opt/one/*.sh; do . $f; done", "flask torch==2.14.1"),
        ("COPY one/a.sh one/b.sh /opt/one/", "cd /opt/one && for f in *.sh; do sh ./$f; done", "flask torch==2.14.1"),
        ("COPY one/ /opt/one/", "rm /opt/one/b.sh && for f in /opt/one/*.sh; do bash $f; done", "flask torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/args.sh --v 2.14.1", "flask==3.0 torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/args.sh --v 2.14.1 2.0", "flask==2.0 torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/all.sh a torch==2.14.1", "torch==2.14.1"),
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/all.sh a", ""),
        // What cannot be told is said.
        (
            "COPY scripts/ /opt/scripts/",
            "bash /opt/scripts/lost.sh",
            "!$(nobody knows)/torch.sh was not read: its value is the output of a command",
        ),
        (
            "COPY --from=other /x /opt/one\nCOPY one /opt/one",
            "for f in /opt/one/*.sh; do bash $f; done",
            "!/opt/one/*.sh was not read: the files that match it are unknown",
        ),
        (
            "ARG WHICH\nCOPY one /opt/one",
            "bash /opt/one/$WHICH.sh",
            "!/opt/one/$WHICH.sh was not read: WHICH has no default; only the command line can set it",
        ),
        // What is no file of the context is not missed.
        ("COPY scripts/ /opt/scripts/", "bash /opt/scripts/other.sh", ""),
        ("COPY one /opt/one", ". \"$NVM_DIR/nvm.sh\"", ""),
        ("COPY one/c.txt /opt/one/", "ARG_V=$(date); bash /opt/one/$ARG_V.sh", ""),
        ("COPY one /opt/one", "for f in /etc/profile.d/*.sh; do . $f; done", ""),
        ("COPY one /opt/one", "V=$(date); wget -O /tmp/x-$V.sh https://a.example/$V && bash /tmp/x-$V.sh -b", ""),
    ] {
        let said = installed_by("linux/amd64", files, copy, run);
        if said != expected {
            wrong.push(format!("{copy} {run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recipes_of_make_are_read_where_the_context_has_its_file() {
    let mut wrong = Vec::new();
    let file = "TORCH = 2.14.1\nCU ?= cu124\nPIP := pip install\nifdef PYTHON_GPU\nWHICH = gpu\nendif\n.PHONY: install deps\n\
                # deps are first\ninstall: deps\n\t@echo torch==1.0\n\t$(PIP) \\\n\t  torch==${TORCH} # the one\n\n\
                deps:; pip install flask\n\n\
                other: ; pip install torch==2.5.1 --index-url https://mirror.example/whl/$(CU)\n\
                sub:\n\t-$(MAKE) deps\n\
                may:\nifdef PYTHON_GPU\n\tpip install jax\nendif\n\
                DEVICE ?= cpu\nall: dev-$(DEVICE)\ndev-cpu:\n\tpip install flask\ndev-gpu:\n\tpip install torch==2.5.1\n\
                which:\nifeq ($(DEVICE),gpu)\n\tpip install torch==2.5.1\nelse\n\tpip install flask\nendif\n\
                untold:\n\tpip install $(WHICH)\n\t$(call pip,x)\n\
                lines:\n\tcd sub\n\tpip install -r r.txt\n\tV=1; pip install torch==$$V\n\
                round: round\n\tmake round\n\
                %.txt: %.in\n\tpip install never\n\
                define F\nother: ; pip install never\nendef\n";
    let files: &[(&str, &str)] = &[
        ("Makefile", file),
        ("sub/Makefile", "all:\n\tpip install -r r.txt\n"),
        ("sub/r.txt", "jax\n"),
        ("r.txt", "flask\n"),
        (
            "at.mk",
            "V := 2.8.0\nX := torch==$(V)\nY = torch==$(V)\nZ := torch==$(V)\nZ += torchvision\nV := 2.1.0\n\
             now:\n\tpip install $(X)\nlater:\n\tpip install $(Y)\nmore:\n\tpip install $(Z)\n\
             only: V = 2.9.0\nonly:\n\tpip install torch==$(V)\nunder: V := 2.9.0\nunder: deps\n\
             deps:\n\tpip install torch==$(V)\n",
        ),
        ("v.mk", "V = 2.7.0\nthere:\n\tpip install flask\n"),
        ("in.mk", "V = 2.1.0\ninclude v.mk\nown:\n\tpip install torch==$(V)\n"),
        (
            "out.mk",
            "V = 2.1.0\n-include none.mk\nW = 2.6.0\nU ?= 2.1.0\nown:\n\tpip install torch==$(V)\n\
             late:\n\tpip install torch==$(W)\nmaybe:\n\tpip install torch==$(U)\n",
        ),
        ("may.mk", "ifdef PYTHON_GPU\ninclude v.mk\nendif\nV ?= 2.1.0\nown:\n\tpip install torch==$(V)\n"),
    ];
    for (run, expected) in [
        ("make install", "flask torch==2.14.1"),
        ("make", "flask torch==2.14.1"),
        ("make -j 4 install TORCH=2.5.0", "flask torch==2.5.0"),
        ("timeout 60 make deps", "flask"),
        ("CU=cu118 make other", "torch==2.5.1[cu118]"),
        ("make other CU=cu121", "torch==2.5.1[cu121]"),
        ("make sub", "flask"),
        ("make may", "jax?"),
        ("make all", "flask"),
        ("make all DEVICE=gpu", "torch==2.5.1"),
        ("DEVICE=gpu make all", "torch==2.5.1"),
        ("make -j$(nproc) all", "flask"),
        ("make all DEVICE=$PYTHON_D", "flask? torch==2.5.1?"),
        ("make dev-$PYTHON_D", "flask? torch==2.5.1?"),
        ("make which", "flask"),
        ("make which DEVICE=gpu", "torch==2.5.1"),
        ("make which DEVICE=$PYTHON_D", "flask? torch==2.5.1?"),
        ("make -C sub", "jax"),
        ("make -f sub/Makefile", "flask"),
        ("make lines", "flask torch==1"),
        // A value that is taken where it is written, and one that is taken where it is used.
        ("make -f at.mk now", "torch==2.8.0"),
        ("make -f at.mk later", "torch==2.1.0"),
        ("make -f at.mk more", "torch==2.8.0 torchvision"),
        ("make -f at.mk only", "torch=?"),
        ("make -f at.mk under", "torch=?"),
        ("make -f at.mk under V=2.5.1", "torch==2.5.1"),
        ("make -f at.mk deps", "torch==2.1.0"),
        // What is read in may set what it likes.
        ("make -f in.mk own", "torch==2.7.0"),
        ("make -f in.mk there", "flask"),
        ("make -f out.mk own", "torch=?"),
        ("make -f out.mk own V=2.5.1", "torch==2.5.1"),
        ("make -f out.mk late", "torch==2.6.0"),
        ("make -f out.mk maybe", "torch=?"),
        ("make -f out.mk", "torch=??"),
        ("make -f may.mk own", "torch=?"),
        ("make untold", "!a command installs unknown packages: the output of `make` is unknown"),
        // What runs nothing of it.
        ("make -n install", ""),
        ("make nothing", ""),
        ("make -f none.mk install", ""),
        ("make a.txt", ""),
        ("cd /src && make install", ""),
        ("echo make install", ""),
        ("make round", "!/app/Makefile was not read: the scripts are nested too deeply"),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn references_of_a_makefile_that_do_not_end_are_not_followed() {
    let long = format!("X = {}\nY = {}\nall:\n\tpip install $(X) $(Y)\n", "$(".repeat(20_000), "$(Y)".repeat(20));
    let chain = |at: usize| format!("V{at} = {}\n", format!("$(V{})", at + 1).repeat(60));
    let wide: String = (0..8).map(chain).collect();
    let wide = format!("{wide}V8 =\nall:\n\tpip install torch==$(V0)2.1.0\n");
    for text in [long, wide] {
        let begun = std::time::Instant::now();
        let said = installed(&[("Makefile", &text)], "make");
        assert!(said.contains("installs unknown packages") || said == "torch=?", "{said}");
        assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    }
}

#[test]
fn a_secret_in_a_variable_stands_above_its_default() {
    let copy = "ARG V=2.8.0";
    for (run, expected) in [
        ("pip install torch==${V:-2.1.0}", "torch==2.8.0"),
        ("--mount=type=secret,id=x pip install torch==$V", "torch==2.8.0"),
        ("--mount=type=secret,id=x,env=W pip install torch==$V", "torch==2.8.0"),
        ("--mount=type=secret,id=x,env=V true\nRUN pip install torch==$V", "torch==2.8.0"),
        ("--mount=type=secret,id=x,env=V pip install torch==${V:-2.1.0}", "torch=?"),
        ("--mount=env=V,id=x,type=secret pip install torch==$V", "torch=?"),
    ] {
        assert_eq!(installed_by("linux/amd64", &[], copy, run), expected, "{run}");
    }
}

#[test]
fn uv_takes_indexes_from_its_own_files() {
    let mut wrong = Vec::new();
    let index = |tag: &str, more: &str| format!("[[index]]\nurl = \"https://mirror.example/whl/{tag}\"\n{more}");
    let url = |tag: &str| format!("index-url = \"https://mirror.example/whl/{tag}\"\n");
    let project = |text: &str| format!("[project]\nname = \"p\"\n{}", text.replace("[[index]]", "[[tool.uv.index]]"));
    let told = |tag: &str| format!("torch==2.5.1[{tag}]");
    let uv = "uv pip install torch==2.5.1";
    let copy = "COPY etc/uv.toml /etc/uv/uv.toml\nCOPY home.toml /root/.config/uv/uv.toml\nCOPY app .";
    for (files, run, expected) in [
        (vec![("app/uv.toml", index("cu118", ""))], uv, told("cu118")),
        (vec![("app/uv.toml", index("cu118", "default = true\n"))], uv, told("cu118")),
        (vec![("app/uv.toml", format!("[pip]\n{}", url("cu118")))], uv, told("cu118")),
        (vec![("app/uv.toml", url("cu118"))], uv, told("cu118")),
        (
            vec![("app/uv.toml", "extra-index-url = [\"https://mirror.example/whl/cu118\"]\n".to_owned())],
            uv,
            told("cu118"),
        ),
        (vec![("app/uv.toml", "[pip]\ntorch-backend = \"cu121\"\n".to_owned())], uv, told("cu121")),
        (vec![("app/pyproject.toml", project(&index("cu118", "default = true\n")))], uv, told("cu118")),
        // What uv is told to take in place of a dependency, and what bounds one.
        (
            vec![(
                "app/pyproject.toml",
                project("dependencies = [\"torch==2.4.1\"]\n[tool.uv]\noverride-dependencies = [\"torch==2.5.1\"]\n"),
            )],
            "uv pip install -r pyproject.toml",
            "torch==2.5.1".to_owned(),
        ),
        (
            vec![(
                "app/pyproject.toml",
                project("dependencies = [\"torch==2.4.1\"]\n[tool.uv]\nconstraint-dependencies = [\"torch<2.5\"]\n"),
            )],
            "uv pip install -r pyproject.toml",
            "torch==2.4.1".to_owned(),
        ),
        (vec![("etc/uv.toml", index("cu118", ""))], uv, told("cu118")),
        (vec![("home.toml", index("cu118", ""))], uv, told("cu118")),
        (vec![("app/uv.toml", index("cu118", ""))], "mkdir a && cd a && uv pip install torch==2.5.1", told("cu118")),
        (vec![("app/c.toml", index("cu118", ""))], "uv pip install --config-file c.toml torch==2.5.1", told("cu118")),
        // The nearer file comes first, and the command line before all.
        (vec![("etc/uv.toml", index("cu121", "")), ("app/uv.toml", index("cu118", ""))], uv, told("cu118")),
        (
            vec![("app/uv.toml", index("cu118", "")), ("app/pyproject.toml", project(&index("cu121", "")))],
            uv,
            told("cu118"),
        ),
        (
            vec![("app/uv.toml", url("cu118"))],
            "uv pip install torch==2.5.1 --index-url https://mirror.example/whl/cu121",
            told("cu121"),
        ),
        // What names no index for this command.
        (vec![("app/uv.toml", index("cu118", "explicit = true\n"))], uv, "torch==2.5.1".to_owned()),
        (vec![("app/uv.toml", index("cu118", ""))], "pip install torch==2.5.1", "torch==2.5.1".to_owned()),
        (
            vec![("app/uv.toml", index("cu118", ""))],
            "uv pip install --no-config torch==2.5.1",
            "torch==2.5.1".to_owned(),
        ),
        (vec![("app/uv.toml", index("cu118", ""))], "uv tool install torch==2.5.1", "torch==2.5.1".to_owned()),
        (vec![("app/uv.toml", "[[index]\n".to_owned())], uv, "torch==2.5.1".to_owned()),
        (vec![("app/pyproject.toml", index("cu118", ""))], uv, "torch==2.5.1".to_owned()),
        (vec![("app/sub/uv.toml", index("cu118", ""))], uv, "torch==2.5.1".to_owned()),
    ] {
        let held: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let said = installed_by("linux/amd64", &held, copy, run);
        if said != expected {
            wrong.push(format!("{files:?} {run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lists_are_read_through_pipes_and_substitutions() {
    let mut wrong = Vec::new();
    let files = &[("r.txt", LIST), ("b.txt", "torch==2.4.0+cu121\n")];
    let cannot = |program: &str| format!("!a command installs unknown packages: the output of `{program}` is unknown");
    for (run, expected) in [
        ("cat r.txt | xargs -n 1 pip install", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("grep -v '^#' r.txt | grep -v flask | xargs pip3 install -U", "numpy>=1.2 torch==2.1.0".to_owned()),
        ("xargs -a b.txt pip install", "torch==2.4.0+cu121[cu121]".to_owned()),
        ("xargs pip install < b.txt", "torch==2.4.0+cu121[cu121]".to_owned()),
        ("grep -v torch r.txt | pip install -r /dev/stdin", "flask numpy>=1.2".to_owned()),
        ("pip install -r <(grep -iv TORCH r.txt)", "flask numpy>=1.2".to_owned()),
        ("pip install $(grep -E '^torch|^flask' r.txt)", "flask torch==2.1.0".to_owned()),
        ("pip install `cat b.txt` --no-deps", "torch==2.4.0+cu121[cu121]".to_owned()),
        ("echo torch==2.2.0 torchaudio | xargs pip install", "torch==2.2.0 torchaudio".to_owned()),
        ("printf '%s\\n' torch==2.2.0 flask | pip install -r -", "flask torch==2.2.0".to_owned()),
        (
            "sed -e 's/2.1.0/2.3.0/' -e '/flask/d' r.txt | pip install -r /dev/stdin",
            "numpy>=1.2 torch==2.3.0".to_owned(),
        ),
        (
            "cat r.txt b.txt | grep -v torch==2.1 | pip install -r /dev/stdin",
            "flask numpy>=1.2 torch==2.4.0+cu121[cu121]".to_owned(),
        ),
        ("pip install -r /dev/stdin <<EOF\ntorch==2.0.0\nEOF", "torch==2.0.0".to_owned()),
        // What is not plain to see is said, and nothing is made up.
        ("awk '{print $1}' r.txt | xargs pip install", cannot("awk")),
        ("cat r.txt | sed 's/\\(.*\\)==.*/\\1/' | xargs pip install", cannot("sed")),
        ("grep '[t]orch' r.txt | xargs pip install", cannot("grep")),
        ("pip install $(python list.py)", cannot("python")),
        (
            "(cat r.txt; cat b.txt) | xargs pip install",
            "!a command installs unknown packages: its input is unknown".to_owned(),
        ),
        (
            "curl https://h/r.txt | pip install -r /dev/stdin",
            "!/dev/stdin was not read: the output of `curl` is unknown".to_owned(),
        ),
        (
            "cat none.txt | xargs pip install",
            "!a command installs unknown packages: none.txt was not read: it is not in the build context".to_owned(),
        ),
        // These install nothing.
        ("cat r.txt | xargs echo pip install", String::new()),
        ("cat r.txt | xargs pip uninstall -y", String::new()),
        ("pip download -r r.txt; pip wheel -w /w -r r.txt; pip freeze | grep torch", String::new()),
        ("cat r.txt | grep torch; pip install flask", "flask".to_owned()),
        (
            "cat r.txt || xargs pip install flask",
            "flask? !a command installs unknown packages: its input does not exist".to_owned(),
        ),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lists_are_read_by_loops_and_arguments() {
    let mut wrong = Vec::new();
    let files = &[("r.txt", LIST), ("b.txt", "torch==2.4.0+cu121\n"), ("e.txt", "flask\njax")];
    for (run, expected) in [
        (
            "while read p; do pip install $p; done < <(python list.py)",
            "!a command installs unknown packages: the script reads it at run time".to_owned(),
        ),
        (
            "curl -O https://h/r2.txt; while read p; do pip install $p; done < r2.txt",
            "!a command installs unknown packages: the script reads it at run time".to_owned(),
        ),
        (
            "sed -i s/2.1/2.2/ r.txt; while read p; do pip install $p; done < r.txt",
            "!a command installs unknown packages: the script reads it at run time".to_owned(),
        ),
        ("while read p; do pip install $p; done < r.txt", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("while IFS= read -r p; do pip install \"$p\"; done < r.txt", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("cat r.txt | while read p; do pip install $p; done", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("grep -v '^#' r.txt | while read p; do pip install $p; done", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("for p in $(cat b.txt); do pip install $p; done", "torch==2.4.0+cu121[cu121]".to_owned()),
        // What may have changed the list leaves it open.
        (
            "perl -pi -e s/1/2/ r.txt && while read p; do pip install $p; done < r.txt",
            "!a command installs unknown packages: the script reads it at run time".to_owned(),
        ),
        (
            "./patch.sh\nRUN while read p; do pip install $p; done < r.txt",
            "!./patch.sh was not read: it is not in the build context !a command installs unknown packages: the script reads it at run time".to_owned(),
        ),
        (
            "ln -sf b.txt r.txt\nRUN for p in $(cat r.txt); do pip install $p; done",
            "!a command installs unknown packages: its value is the output of a command".to_owned(),
        ),
        (
            "./patch.sh -f\nCOPY r.txt .\nRUN while read p; do pip install $p; done < r.txt",
            "flask numpy>=1.2 torch==2.1.0 !./patch.sh was not read: it is not in the build context".to_owned(),
        ),
        (
            "cd /tmp && ./configure\nRUN apt-get update; while read p; do pip install $p; done < r.txt",
            "flask numpy>=1.2 torch==2.1.0".to_owned(),
        ),
        // The last line ends without a line break: it is given to the loop that asks for it alone.
        ("while read p; do pip install $p; done < e.txt", "flask".to_owned()),
        (
            "while read p || [ -n \"$p\" ]; do pip install $p; done < e.txt",
            "flask jax".to_owned(),
        ),
        ("set -- flask torch==2.1.0; pip install \"$@\"", "flask torch==2.1.0".to_owned()),
        ("set -- flask torch==2.1.0; shift; pip install $1", "torch==2.1.0".to_owned()),
        ("set -- a b torch==2.1.0; shift 2; pip install $1", "torch==2.1.0".to_owned()),
        (
            "if [ -n \"$(id)\" ]; then set -- jax; fi; pip install flask $1",
            "flask !a command installs unknown packages: the argument depends on the control flow of the script".to_owned(),
        ),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_list_that_commands_write_or_edit_is_what_they_make_of_it() {
    let mut wrong = Vec::new();
    let files = &[("r.txt", LIST), ("b.txt", "torch==2.4.0+cu121\n")];
    let unknown = |path: &str| format!("!{path} was not read: a command writes it first");
    for (run, expected) in [
        ("sed -i '/torch/d' r.txt && pip install -r r.txt", "flask numpy>=1.2".to_owned()),
        (
            "sed -i.bak -e 's/torch==2.1.0/torch==2.5.1/; /flask/d' r.txt; pip install -r r.txt",
            "numpy>=1.2 torch==2.5.1".to_owned(),
        ),
        (
            "sed -i 3d r.txt && sed -i 's/flask/django/g' /app/r.txt && pip install -r r.txt",
            "django numpy>=1.2".to_owned(),
        ),
        ("grep -v torch r.txt > s.txt && pip install -r s.txt", "flask numpy>=1.2".to_owned()),
        (
            "echo torch==1.13.1 > s.txt && echo 'flask' >> s.txt && pip install -r s.txt",
            "flask torch==1.13.1".to_owned(),
        ),
        ("echo torch==1.13.1 | tee s.txt; pip install -r s.txt", "torch==1.13.1".to_owned()),
        ("cp r.txt /tmp/ && pip install -r /tmp/r.txt", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("cat <<EOF > s.txt\ntorch==2.0.1\nEOF\nRUN pip install -r s.txt", "torch==2.0.1".to_owned()),
        ("sed 's/torch==2.1.0/torch==2.5.1/' r.txt; pip install -r r.txt", "flask numpy>=1.2 torch==2.1.0".to_owned()),
        ("sed -i -E 's/(torch)==.*/\\1/' r.txt && pip install -r r.txt", unknown("r.txt")),
        (
            "if [ -n \"$CPU\" ]; then sed -i '/torch/d' r.txt; fi; pip install -r r.txt",
            "!r.txt was not read: a command may write it first".to_owned(),
        ),
        (
            "pip-compile -o r.txt in.txt && pip install -r r.txt",
            "!r.txt was not read: in.txt was not read: it is not in the build context".to_owned(),
        ),
        ("pip freeze > s.txt; pip install -r s.txt", unknown("s.txt")),
        (
            "cat b.txt >> r.txt && pip install -r r.txt",
            "flask numpy>=1.2 torch==2.1.0 torch==2.4.0+cu121[cu121]".to_owned(),
        ),
        (
            "cat *.txt > all.in && pip install -r all.in",
            "flask numpy>=1.2 torch==2.1.0 torch==2.4.0+cu121[cu121]".to_owned(),
        ),
        ("cat b*.txt > all.txt && pip install -r all.txt", "torch==2.4.0+cu121[cu121]".to_owned()),
        ("cat '?.txt' > all.txt && pip install -r all.txt", unknown("all.txt")),
        ("cat *.in > all.txt && pip install -r all.txt", unknown("all.txt")),
        ("cat */r.txt > all.txt && pip install -r all.txt", unknown("all.txt")),
        ("curl -o r.txt https://h/r.txt; pip install -r r.txt", unknown("r.txt")),
        ("perl -pi -e 's/torch//' r.txt; pip install -r r.txt", unknown("r.txt")),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_list_that_a_tool_writes_is_followed_back_to_what_it_is_made_of() {
    let poetry = "[[package]]\nname = \"torch\"\nversion = \"2.1.0+cu118\"\ngroups = [\"main\"]\n\
                  [[package]]\nname = \"pytest\"\nversion = \"8.0\"\ngroups = [\"dev\"]\n";
    let project = "[project]\nname = \"app\"\nversion = \"1\"\ndependencies = [\"torch>=2.1,<2.2\"]\n\
                   [project.optional-dependencies]\ngpu = [\"xformers\"]\n";
    let uv = "version = 1\nrequires-python = \">=3.10\"\n[[package]]\nname = \"app\"\nversion = \"1\"\n\
              source = { virtual = \".\" }\ndependencies = [{ name = \"torch\" }]\n\
              [[package]]\nname = \"torch\"\nversion = \"2.4.0\"\n";
    let files = &[
        ("poetry.lock", poetry),
        ("pyproject.toml", project),
        ("uv.lock", uv),
        ("Pipfile.lock", PIPFILE_LOCK),
        ("r.in", "torch==2.2.0\n"),
        ("old.txt", "torch==1.13.1\n"),
    ];
    let mut wrong = Vec::new();
    for (run, expected) in [
        ("poetry export -f requirements.txt -o r.txt && pip install -r r.txt", "torch==2.1.0+cu118[cu118]"),
        ("poetry export --with dev > r.txt && pip install -r r.txt", "pytest==8.0 torch==2.1.0+cu118[cu118]"),
        ("poetry export --without-hashes | pip install -r /dev/stdin", "torch==2.1.0+cu118[cu118]"),
        ("uv export --no-hashes --output-file=r.txt && uv pip sync r.txt", "torch==2.4.0"),
        ("uv export --frozen > /tmp/r.txt; pip install -r /tmp/r.txt", "torch==2.4.0"),
        ("pipenv requirements > r.txt && pip install -r r.txt", "flask==3.0.0 mine torch==2.1.0+cu118[cu118]"),
        ("pipenv requirements --dev-only > r.txt && pip install -r r.txt", "pytest==8.0.0 torch==2.1.0"),
        ("uv pip compile pyproject.toml -o r.txt && uv pip install -r r.txt", "torch>=2.1,<2.2"),
        ("uv pip compile --extra gpu pyproject.toml -o r.txt && pip-sync r.txt", "torch>=2.1,<2.2 xformers"),
        ("pip-compile r.in && pip-sync r.txt", "torch==2.2.0"),
        ("pip-compile r.in -o old.txt && pip-sync old.txt", "torch==1.13.1"),
        ("pip-compile -U r.in -o old.txt && pip-sync old.txt", "torch==2.2.0"),
        ("pip-sync old.txt", "torch==1.13.1"),
        ("uv run --frozen python train.py", "torch==2.4.0"),
        ("uv run --no-sync python train.py; uv run --no-project x", ""),
        ("uv run --no-project --with torch==2.0.1 x", "torch==2.0.1"),
        ("pixi run train; uv run --project /other python x.py", ""),
        ("pip-sync", "!requirements.txt was not read: it is not in the build context"),
        (
            "pip-compile --extra-index-url https://h/whl/cu118 r.in && pip install -r r.txt",
            "!r.txt was not read: the command that writes it selects an index",
        ),
        ("pdm export -o r.txt && pip install -r r.txt", "torch>=2.1,<2.2"),
        ("poetry export; uv export -o r.txt; pip-compile r.in; pipenv requirements", ""),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wheels_are_those_of_their_folder() {
    let names = "flask-3.0.0-py3-none-any.whl\ntorch-2.1.0+cu118-cp311-cp311-linux_x86_64.whl";
    let two = "torch-2.1.0+cu118-cp311-cp311-linux_x86_64.whl\ntorch-2.2.0+cu121-cp311-cp311-linux_x86_64.whl";
    let files = &[("wheels/*", names), ("two/*", two)];
    let mut wrong = Vec::new();
    for (run, expected) in [
        ("pip install wheels/*.whl", "flask==3.0.0 torch==2.1.0+cu118[cu118]"),
        ("pip install ./wheels/*", "flask==3.0.0 torch==2.1.0+cu118[cu118]"),
        ("pip install wheels/torch-*.whl", "torch==2.1.0+cu118[cu118]"),
        ("pip install --no-index --find-links wheels torch", "torch==2.1.0+cu118[cu118]"),
        ("pip install --no-index --find-links=/app/wheels 'torch>=2'", "torch==2.1.0+cu118[cu118]"),
        ("pip install --no-index -f two torch==2.2.0", "torch==2.2.0+cu121[cu121]"),
        ("pip wheel -w /w torch==2.1.0 flask && pip install /w/*.whl", "flask torch==2.1.0"),
        ("pip download -d /w torch==2.1.0 flask; pip install --no-index -f /w torch", "torch==2.1.0"),
        ("pip install --no-index -f two torch", "torch=?"),
        ("pip install --no-index -f wheels numpy", "numpy=?"),
        ("pip wheel -w /w torch==2.1.0; pip install flask", "flask"),
        (
            "pip wheel -w /w torch==2.1.0; pip install /v/*.whl",
            "!a command installs unknown packages: the wheels in /v are unknown: no COPY adds it to the image",
        ),
        (
            "pip install none/*.whl",
            "!a command installs unknown packages: the wheels in /app/none are unknown: it is not in the build context",
        ),
        ("pip uninstall -y wheels/*; ls wheels/*.whl; pip download -d wheels x", ""),
    ] {
        let said = installed(files, run);
        if said != expected {
            wrong.push(format!("{run}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn markers_of_a_lock_hold_for_the_pythons_that_it_is_for() {
    let lock = |marker: &str, requires: &str| {
        format!(
            "version = 1\nrequires-python = \"{requires}\"\n[[package]]\nname = \"app\"\nversion = \"1\"\n\
             source = {{ virtual = \".\" }}\ndependencies = [{{ name = \"torch\", marker = \"{marker}\" }}]\n\
             [[package]]\nname = \"torch\"\nversion = \"2.4.0\"\n"
        )
    };
    for (marker, requires, expected) in [
        ("python_full_version >= '3.10'", ">=3.10", "torch==2.4.0"),
        ("python_full_version < '3.10'", ">=3.10", ""),
        ("python_full_version < '3.12'", ">=3.10", "torch==2.4.0"),
        ("python_full_version < '3.9' and sys_platform == 'linux'", ">=3.9, <3.13", ""),
        ("sys_platform == 'win32'", ">=3.10", ""),
        ("nonsense", ">=3.10", "torch==2.4.0"),
    ] {
        let text = lock(marker, requires);
        // The Python of this environment is not that of the base, and is not named.
        let run = "UV_PYTHON_PREFERENCE=only-managed uv sync --frozen";
        let said = installed(&[("uv.lock", text.as_str())], run);
        assert_eq!(said, expected, "{marker} {requires}");
    }
}

const PIPFILE_LOCK: &str = r#"{
  "_meta": {"sources": [
    {"name": "default", "url": "https://mirror.example/simple"},
    {"name": "pytorch", "url": "https://mirror.example/whl/cu118"}
  ]},
  "default": {
    "flask": {"version": "==3.0.0", "index": "default", "markers": "python_version >= '3.8'"},
    "pywin32": {"version": "==306", "markers": "sys_platform == 'win32'"},
    "torch": {"version": "==2.1.0", "index": "pytorch"},
    "mine": {"editable": true, "path": "."}
  },
  "develop": {"pytest": {"version": "==8.0.0"}, "torch": {"version": "==2.1.0"}}
}"#;

#[test]
fn locks_as_the_tools_write_them_are_read_for_one_platform() {
    // Written by uv and by pipenv from one list of requirements; the hosts in them are not those of the writer.
    let uv = include_str!("../fixtures/locks/uv.lock");
    let pipenv = include_str!("../fixtures/locks/Pipfile.lock");
    let gpu = "onnxruntime-gpu==1.31.1";
    for (platform, files, run, there) in [
        ("linux/amd64", ("uv.lock", uv), "uv sync --frozen", gpu),
        ("linux/arm64", ("uv.lock", uv), "uv sync --frozen", "onnxruntime==1.31.1"),
        ("linux/amd64", ("Pipfile.lock", pipenv), "pipenv sync", gpu),
        // pipenv leaves open what is not for the platform that it locks on.
        ("linux/arm64", ("Pipfile.lock", pipenv), "pipenv sync", "onnxruntime"),
    ] {
        let said = installed_on(platform, &[files], run);
        let runtimes: Vec<&str> = said.split(' ').filter(|one| one.starts_with("onnxruntime")).collect();
        assert_eq!(runtimes, [there], "{platform} {run}");
        assert!(!said.contains("colorama") && !said.contains("iniconfig") && !said.contains('!'), "{platform}: {said}");
    }
}

/// What of a lock's project is installed beside what its packages need, in the order of their names.
fn direct(file: &str, text: &str, run: &str) -> String {
    let said = installed(&[(file, text)], run);
    assert!(!said.contains('!'), "{run}: {said}");
    let ours = ["einops", "onnxruntime-gpu", "torch", "tqdm"];
    let own = |one: &&str| ours.contains(&one.split("==").next().unwrap_or(""));
    said.split(' ').filter(own).collect::<Vec<_>>().join(" ")
}

#[test]
fn of_extras_that_conflict_a_lock_gives_the_builds_of_those_asked_for() {
    let uv = include_str!("../fixtures/locks/extras/uv.lock");
    for (platform, run, expected) in [
        ("linux/amd64", "uv sync --frozen", "torch==2.8.0"),
        ("linux/amd64", "uv sync --frozen --extra cpu", "torch==2.8.0+cpu"),
        ("linux/amd64", "uv sync --frozen --extra gpu", "torch==2.8.0+cu126"),
        ("linux/amd64", "uv sync --extra=gpu-cu128", "torch==2.8.0+cu128"),
        // Without its marker the extra brings nothing, and what needs torch still takes the build of that extra.
        ("linux/arm64", "uv sync --extra gpu", "torch==2.8.0+cu126"),
        ("linux/amd64", "uv sync --extra jax", "jax-cuda12-plugin==0.6.0 jax==0.6.0 torch==2.8.0"),
        ("linux/amd64", "uv sync --extra plain-jax", "jax==0.6.0 torch==2.8.0"),
        ("linux/amd64", "uv sync --extra jax --no-install-package jax_cuda12-plugin", "jax==0.6.0 torch==2.8.0"),
        ("linux/amd64", "uv sync --extra gpu --no-install-package torch", ""),
        ("linux/amd64", "uv sync --only-group none", ""),
    ] {
        let said = installed_on(platform, &[("uv.lock", uv)], run);
        let bare = said.split(' ').map(|one| one.split('[').next().unwrap_or(one));
        let ours: Vec<&str> = bare.filter(|one| one.starts_with("torch") || one.starts_with("jax")).collect();
        assert_eq!(ours.join(" "), expected, "{platform} {run}: {said}");
    }
}

/// A lock whose builds of torch depend on machine, system and Python.
#[test]
fn of_builds_by_marker_a_lock_gives_the_one_for_the_machine_and_the_python() {
    let uv = include_str!("../fixtures/locks/markers/uv.lock");
    let one = |platform: &str, files: &[(&str, &str)], run: &str| {
        let files = [&[("uv.lock", uv)][..], files].concat();
        let said = installed_on(platform, &files, run);
        let ours: Vec<&str> = said.split(' ').filter(|one| one.starts_with("torch") || one.starts_with("xf")).collect();
        ours.join(" ")
    };
    let pinned = [(".python-version", "3.11\n")];
    let open = [(".python-version", ">=3.10\n")];
    for (platform, files, run, expected) in [
        // The base has 3.12.
        ("linux/amd64", &[][..], "uv sync --frozen", "torch==2.5.1+cu124[cu124]"),
        ("linux/arm64", &[], "uv sync --frozen", "torch==2.5.1+cpu[cpu]"),
        ("linux/amd64", &[], "uv sync --frozen --python 3.11", "torch==2.6.0+cu124[cu124]"),
        ("linux/amd64", &[], "UV_PYTHON=python3.10 uv sync --frozen", "torch==2.6.0+cu124[cu124]"),
        ("linux/arm64", &[], "uv sync -p 3.11.7 --frozen", "torch==2.6.0+cpu[cpu]"),
        ("linux/amd64", &pinned, "uv sync --frozen --no-dev", "torch==2.6.0+cu124[cu124]"),
        ("linux/arm64", &pinned, "uv sync --frozen", "torch==2.6.0+cpu[cpu]"),
        ("linux/amd64", &pinned, "uv sync --frozen --extra fast", "torch==2.6.0+cu124[cu124] xformers==0.0.29.post3"),
        ("linux/arm64", &pinned, "uv sync --frozen --extra fast", "torch==2.6.0+cpu[cpu]"),
        ("linux/amd64", &[], "uv sync --frozen --extra fast", "torch==2.5.1+cu124[cu124]"),
        // Which Python it is cannot be told: the version is open, the build is not.
        ("linux/amd64", &open, "uv sync --frozen", "torch=?[cu124]"),
        ("linux/arm64", &open, "uv sync --frozen", "torch=?[cpu]"),
        ("linux/amd64", &[], "uv python install 3.11 && uv sync --frozen", "torch=?[cu124]"),
        ("linux/amd64", &[], "UV_PYTHON_PREFERENCE=only-managed uv sync --frozen", "torch=?[cu124]"),
        ("linux/amd64", &[], "uv sync --frozen --only-group dev", ""),
    ] {
        assert_eq!(one(platform, files, run), expected, "{platform} {files:?} {run}");
    }
    // A base that the project does not admit is not the Python that uv takes.
    let older = uv.replace("requires-python = \">=3.10, <3.13\"", "requires-python = \">=3.10, <3.12\"");
    let said = installed(&[("uv.lock", older.as_str())], "uv sync --frozen");
    assert!(said.contains("torch==2.6.0+cu124[cu124]"), "{said}");
}

#[test]
fn of_a_workspace_uv_installs_the_member_at_its_root_or_those_that_are_asked_for() {
    // Written by uv for a project at the root that needs one of two members, each of which has groups of its own.
    let uv = include_str!("../fixtures/locks/workspace/uv.lock");
    let ours = ["cupy-cuda12x", "einops", "nvidia-ml-py", "onnxruntime-gpu", "tqdm"];
    for (run, expected) in [
        ("uv sync --frozen", "einops==0.8.0 onnxruntime-gpu==1.19.2 tqdm==4.66.5"),
        ("uv sync --frozen --no-dev", "einops==0.8.0 onnxruntime-gpu==1.19.2"),
        ("uv sync --frozen --package tools", "nvidia-ml-py==12.560.30"),
        ("uv sync --frozen --package=gpu_part --extra old", "cupy-cuda12x==13.3.0 onnxruntime-gpu==1.19.2"),
        ("uv sync --frozen --package gpu-part --no-dev", "onnxruntime-gpu==1.19.2"),
        (
            "uv sync --frozen --all-packages",
            "cupy-cuda12x==13.3.0 einops==0.8.0 nvidia-ml-py==12.560.30 onnxruntime-gpu==1.19.2 tqdm==4.66.5",
        ),
    ] {
        let said = installed(&[("uv.lock", uv)], run);
        let own = said.split(' ').filter(|one| ours.contains(&one.split("==").next().unwrap_or("")));
        assert_eq!(own.collect::<Vec<_>>().join(" "), expected, "{run}");
    }
}

const SOURCES: &str = r#"
[project]
name = "app"
dependencies = ["flask"]
[project.optional-dependencies]
cpu = ["torch>=2.6"]
cu124 = ["torch>=2.6"]
attention = ["flash-attn"]
[dependency-groups]
dev = ["pytest"]
plain = ["torch>=2.6"]
cu126 = ["torch>=2.6"]
[tool.uv]
default-groups = ["dev"]
[[tool.uv.index]]
name = "cpu"
url = "https://mirror.example/whl/cpu"
explicit = true
[[tool.uv.index]]
name = "cu124"
url = "https://mirror.example/whl/cu124"
explicit = true
[[tool.uv.index]]
name = "cu126"
url = "https://mirror.example/whl/cu126"
explicit = true
[tool.uv.sources]
torch = [
  { index = "cpu", extra = "cpu" },
  { index = "cu124", extra = "cu124", marker = "sys_platform == 'linux'" },
  { index = "cu126", group = "cu126" },
]
"#;

#[test]
fn a_source_of_uv_counts_where_its_extra_or_group_is_installed() {
    let by_group = SOURCES.replace("[\"dev\"]", "[\"dev\", \"cu126\"]");
    for (text, run, expected) in [
        (SOURCES, "uv sync", "flask pytest"),
        (SOURCES, "uv sync --no-dev --extra cpu", "flask torch>=2.6[cpu]"),
        (SOURCES, "uv sync --no-dev --extra cu124", "flask torch>=2.6[cu124]"),
        (SOURCES, "uv sync --no-dev --group cu126", "flask torch>=2.6[cu126]"),
        (SOURCES, "uv sync --no-dev --group plain", "flask torch>=2.6"),
        (SOURCES, "uv sync --no-dev --all-extras --no-extra cpu --no-extra cu124", "flash-attn flask"),
        (SOURCES, "uv sync --no-dev --all-extras --no-extra=attention --no-extra cpu", "flask torch>=2.6[cu124]"),
        (by_group.as_str(), "uv sync", "flask pytest torch>=2.6[cu126]"),
        (by_group.as_str(), "uv sync --no-dev", "flask torch>=2.6[cu126]"),
        (by_group.as_str(), "uv sync --no-dev --no-group cu126", "flask"),
        (by_group.as_str(), "uv sync --no-default-groups", "flask"),
        (SOURCES, "uv pip install .[cu124]", "flask torch>=2.6[cu124]"),
    ] {
        assert_eq!(installed(&[("pyproject.toml", text)], run), expected, "{run}");
    }
}

#[test]
fn extras_of_setuptools_are_those_asked_for() {
    let cfg = "[options]\ninstall_requires = flask\n[options.extras_require]\ngpu =\n    torch==2.1.0\n    pywin32; \
               sys_platform == 'win32'\ndocs = sphinx\n[other]\ngpu = numpy\n";
    let py = "from setuptools import setup\nsetup(\n    name='x',\n    install_requires=['flask'],\n    extras_require={\n        \
              # for the cards\n        'gpu': ['torch==2.1.0'],\n        \"docs\": [\n            \"sphinx\",\n        ],\n    },\n)\n";
    let named = "X = {'gpu': ['torch==2.1.0']}\nsetup(extras_require=X)\n";
    let made = "setup(install_requires=['flask'], extras_require={'gpu': read('r.txt')})\n";
    let sum = "setup(extras_require={'gpu': ['torch'] + more})\n";
    for (file, text, run, expected) in [
        ("setup.cfg", cfg, "pip install .", "flask"),
        ("setup.cfg", cfg, "pip install .[gpu]", "flask torch==2.1.0"),
        ("setup.cfg", cfg, "pip install -e '.[docs,gpu]'", "flask sphinx torch==2.1.0"),
        ("setup.cfg", cfg, "pip install .[absent]", "flask"),
        ("setup.py", py, "pip install .", "flask"),
        ("setup.py", py, "pip install .[GPU]", "flask torch==2.1.0"),
        ("setup.py", py, "pip install .[docs]", "flask sphinx"),
        ("setup.py", named, "pip install .[gpu]", "torch==2.1.0"),
        ("setup.py", made, "pip install .", "flask"),
    ] {
        assert_eq!(installed(&[(file, text)], run), expected, "{file}: {run}");
    }
    for text in
        [made, sum, "setup(extras_require=f())", "setup(extras_require={'gpu': ['a'", "setup(extras_require={'a"]
    {
        let said = installed(&[("setup.py", text)], "pip install .[gpu]");
        assert!(said.contains("setup.py was not read: what it installs is unknown"), "{text}: {said}");
    }
}

#[test]
fn a_lock_that_a_copy_names_and_that_is_not_there_leaves_the_installs_open() {
    let project = "[project]\nname = 'x'\ndependencies = ['torch>=2.1']\n";
    let lock = include_str!("../fixtures/locks/groups/poetry.lock");
    for (copy, run, open) in [
        ("COPY pyproject.toml poetry.lock ./", "poetry install", true),
        ("COPY pyproject.toml ./pyproject.toml\nCOPY docker/uv.lock ./uv.lock", "uv sync --frozen", true),
        ("COPY pdm.lock pyproject.toml /app/", "pdm sync", true),
        // Nothing says that there is one, or another tool is run.
        ("COPY . .", "poetry install", false),
        ("COPY pyproject.toml poetry.lock* ./", "poetry install", false),
        ("COPY pyproject.toml ./", "uv sync", false),
        ("COPY pyproject.toml poetry.lock ./", "uv sync", false),
        ("COPY pyproject.toml poetry.lock ./", "pip install .", false),
    ] {
        let said = installed_by("linux/amd64", &[("pyproject.toml", project)], copy, run);
        assert_eq!(said.contains("was not read: a COPY names it"), open, "{copy} {run}: {said}");
        assert_eq!(said.contains("torch"), !open, "{copy} {run}: {said}");
    }
    let files = [("pyproject.toml", project), ("poetry.lock", lock)];
    let said = installed_by("linux/amd64", &files, "COPY pyproject.toml poetry.lock ./", "poetry install");
    assert!(said.contains("einops==0.8.0") && !said.contains("a COPY names it"), "{said}");
}

#[test]
fn groups_of_a_lock_are_installed_as_the_command_says() {
    let uv = include_str!("../fixtures/locks/groups/uv.lock");
    let poetry = include_str!("../fixtures/locks/groups/poetry.lock");
    let exported = include_str!("../fixtures/locks/groups/requirements.txt");
    let (main, dev, docs, serve) = ("einops==0.8.0", "torch==2.4.1", "tqdm==4.66.5", "onnxruntime-gpu==1.19.2");
    let of = |list: &[&str]| list.join(" ");
    for (file, text, run, expected) in [
        ("uv.lock", uv, "uv sync --frozen", of(&[main, dev])),
        ("uv.lock", uv, "uv sync --locked --no-dev", of(&[main])),
        ("uv.lock", uv, "uv sync --no-group dev --group docs", of(&[main, docs])),
        ("uv.lock", uv, "uv sync --no-default-groups --extra serve", of(&[main, serve])),
        ("uv.lock", uv, "uv sync --only-group docs", of(&[docs])),
        ("uv.lock", uv, "uv sync --only-dev", of(&[dev])),
        ("uv.lock", uv, "uv sync --all-groups", of(&[main, dev, docs])),
        ("poetry.lock", poetry, "poetry install --only main", of(&[main])),
        ("poetry.lock", poetry, "poetry install --only=dev", of(&[dev])),
        ("poetry.lock", poetry, "poetry install --without dev,docs", of(&[main])),
        ("poetry.lock", poetry, "poetry install --no-dev", of(&[main])),
        ("poetry.lock", poetry, "poetry install --with dev --without docs", of(&[main, dev])),
        ("poetry.lock", poetry, "poetry install --only main --extras serve", of(&[main, serve])),
        ("poetry.lock", poetry, "poetry install --only main -E other", of(&[main])),
        ("poetry.lock", poetry, "poetry install --only main --all-extras", of(&[main, serve])),
        // Whether a group is optional stands in the project's own file.
        ("poetry.lock", poetry, "poetry install", of(&[main, "torch==2.4.1?", "tqdm==4.66.5?"])),
        ("requirements.txt", exported, "pip install -r requirements.txt", of(&[main, dev])),
    ] {
        assert_eq!(direct(file, text, run), expected, "{run}");
    }
}

#[test]
fn a_project_says_which_groups_of_its_lock_are_installed_unasked() {
    let poetry = include_str!("../fixtures/locks/groups/poetry.lock");
    let pdm = "[metadata]\nlock_version = \"4.5.0\"\n[[metadata.targets]]\nrequires_python = \">=3.10\"\n\
               [[package]]\nname = \"einops\"\nversion = \"0.8.0\"\ngroups = [\"default\"]\n\
               [[package]]\nname = \"torch\"\nversion = \"2.4.1\"\ngroups = [\"gpu\"]\n\
               [[package]]\nname = \"tqdm\"\nversion = \"4.66.5\"\ngroups = [\"dev\"]\n";
    let of_poetry = "[tool.poetry]\nname = \"x\"\n[tool.poetry.group.dev.dependencies]\ntorch = \"2.4.1\"\n\
                     [tool.poetry.group.docs]\noptional = true\n[tool.poetry.group.docs.dependencies]\ntqdm = \"*\"\n";
    let of_pdm = "[project]\nname = \"x\"\n[project.optional-dependencies]\ngpu = [\"torch\"]\n\
                  [dependency-groups]\ndev = [\"tqdm\"]\n";
    let (main, torch, tqdm) = ("einops==0.8.0", "torch==2.4.1", "tqdm==4.66.5");
    for (lock, project, run, expected) in [
        (("poetry.lock", poetry), of_poetry, "poetry install", vec![main, torch]),
        (("poetry.lock", poetry), of_poetry, "poetry install --with docs", vec![main, torch, tqdm]),
        (("poetry.lock", poetry), of_poetry, "poetry install --without dev", vec![main]),
        (("poetry.lock", poetry), of_poetry, "poetry sync --only docs", vec![tqdm]),
        (("pdm.lock", pdm), of_pdm, "pdm install", vec![main, tqdm]),
        (("pdm.lock", pdm), of_pdm, "pdm sync -G gpu", vec![main, torch, tqdm]),
        (("pdm.lock", pdm), of_pdm, "pdm install -d --prod -G gpu", vec![main, torch]),
        (("pdm.lock", pdm), of_pdm, "pdm install --without dev", vec![main]),
        (("pdm.lock", pdm), of_pdm, "pdm install --prod", vec![main]),
        (("pdm.lock", pdm), "[project]\nname = \"x\"\n", "pdm install", vec![main, "torch==2.4.1?", "tqdm==4.66.5?"]),
    ] {
        let said = installed(&[lock, ("pyproject.toml", project)], run);
        let ours = ["einops", "torch", "tqdm"];
        let own = said.split(' ').filter(|one| ours.contains(&one.split("==").next().unwrap_or("")));
        assert_eq!(own.collect::<Vec<_>>(), expected, "{run}: {said}");
    }
}

#[test]
fn of_two_builds_in_a_lock_the_python_chooses_or_the_reason_names_the_lock() {
    let package = |version: &str, marker: &str| {
        format!("[[package]]\nname = \"torch\"\nversion = \"{version}\"\noptional = false\nmarkers = \"{marker}\"\n")
    };
    let lock = |python: &str| {
        let both = [package("2.3.1", "python_version < '3.12'"), package("2.6.0", "python_version >= '3.12'")];
        format!("{}[metadata]\npython-versions = \"{python}\"\n", both.concat())
    };
    let another = "apt-get install -y python3.10\nRUN poetry install";
    for (python, run, expected) in [
        ("^3.10", "poetry install", "torch==2.6.0"),
        (">=3.10,<3.12", another, "python3.10 torch==2.3.1"),
        ("~3.12", another, "python3.10 torch==2.6.0"),
        ("^3.10", another, "python3.10 torch=??"),
        ("*", another, "python3.10 torch=??"),
    ] {
        assert_eq!(installed(&[("poetry.lock", &lock(python))], run), expected, "{python} {run}");
    }
    let pipenv = |requires: &str| {
        let markers = "\"markers\": \"python_full_version >= '3.8.0' and python_version < '3.13'\"";
        let torch = format!("\"torch\": {{\"version\": \"==2.3.1\", {markers}}}");
        format!("{{\"_meta\": {{\"requires\": {{{requires}}}}}, \"default\": {{{torch}}}}}")
    };
    let another = "apt-get install -y python3.10\nRUN pipenv sync";
    for (requires, run, expected) in [
        ("", "pipenv sync", "torch==2.3.1"),
        ("\"python_version\": \"3.10\"", another, "python3.10 torch==2.3.1"),
        ("\"python_full_version\": \"3.10.4\"", another, "python3.10 torch==2.3.1"),
        ("\"python_version\": \"3.13\"", another, "python3.10"),
        ("", another, "python3.10 torch==2.3.1?"),
    ] {
        assert_eq!(installed(&[("Pipfile.lock", &pipenv(requires))], run), expected, "{requires} {run}");
    }
}

#[test]
fn groups_of_a_project_without_a_lock_are_installed_as_the_command_says() {
    let poetry = "[tool.poetry]\nname = 'x'\n[tool.poetry.dependencies]\npython = '^3.10'\nflask = '*'\n\
                  [tool.poetry.group.gpu.dependencies]\ntorch = '2.1.0'\n[tool.poetry.group.docs]\noptional = true\n\
                  [tool.poetry.group.docs.dependencies]\nsphinx = '*'\n";
    let uv = "[project]\nname = 'x'\ndependencies = ['flask']\n[dependency-groups]\ndev = ['torch==2.1.0']\n\
              docs = ['sphinx']\n[tool.uv]\ndefault-groups = ['docs']\n";
    let plain = uv.split("[tool.uv]").next().unwrap_or("");
    for (text, run, expected) in [
        (poetry, "poetry install", "flask torch==2.1.0"),
        (poetry, "poetry install --with docs", "flask sphinx torch==2.1.0"),
        (poetry, "poetry install --without gpu", "flask"),
        (poetry, "poetry install --only main", "flask"),
        (poetry, "poetry install --only gpu", "torch==2.1.0"),
        (poetry, "pip install .", "flask"),
        (uv, "uv sync", "flask sphinx"),
        (uv, "uv sync --no-default-groups", "flask"),
        (plain, "uv sync", "flask torch==2.1.0"),
        (plain, "uv sync --no-dev", "flask"),
        (plain, "uv sync --only-group docs", "sphinx"),
        (plain, "uv pip install -r pyproject.toml", "flask"),
        (plain, "pdm install --prod", "flask"),
        (plain, "pdm install", "flask sphinx torch==2.1.0"),
    ] {
        assert_eq!(installed(&[("pyproject.toml", text)], run), expected, "{run}");
    }
}

#[test]
fn a_list_that_is_asked_for_first_is_read_where_it_was_copied() {
    let list: &[(&str, &str)] = &[("r.txt", "torch==2.1.0\n")];
    for (run, expected) in [
        ("if [ -f r.txt ]; then pip install -r r.txt; fi", "torch==2.1.0"),
        ("test -f /app/r.txt && pip install -r r.txt", "torch==2.1.0"),
        ("if [ ! -f r.txt ]; then pip install flask; else pip install -r r.txt; fi", "torch==2.1.0"),
        ("rm r.txt\nRUN if [ -f r.txt ]; then pip install -r r.txt; fi", "torch==2.1.0?"),
        ("rm -rf /app/*\nRUN if [ -f r.txt ]; then pip install -r r.txt; fi", "torch==2.1.0?"),
        ("if [ -f other.txt ]; then pip install -r r.txt; fi", "torch==2.1.0?"),
        ("V=12.1.1; pip install torch==2.1.0+cu$(echo $V | cut -d. -f1-2 | tr -d .)", "torch==2.1.0+cu121[cu121]"),
    ] {
        assert_eq!(installed(list, run), expected, "{run}");
    }
}

#[test]
fn pipenv_installs_what_its_files_say() {
    let pipfile = "[[source]]\nname = \"pytorch\"\nurl = \"https://mirror.example/whl/cu121\"\n[packages]\n\
                   torch = {version = \"==2.4.0\", index = \"pytorch\"}\nflask = \"*\"\nw = {version = \"*\", sys_platform = \"== 'win32'\"}\n\
                   [dev-packages]\npytest = \"~=8.0\"\n";
    let both: &[(&str, &str)] = &[("Pipfile.lock", PIPFILE_LOCK), ("Pipfile", pipfile)];
    let locked = "flask==3.0.0 mine=? torch==2.1.0[cu118]";
    for (files, run, expected) in [
        (both, "pipenv install --deploy --system", locked),
        (both, "pipenv sync", locked),
        (both, "pipenv install --dev", "flask==3.0.0 mine=? pytest==8.0.0 torch==2.1.0[cu118]"),
        (both, "pipenv install --skip-lock", "flask torch==2.4.0[cu121]"),
        (&both[1..], "pipenv install -d", "flask pytest~=8.0 torch==2.4.0[cu121]"),
        (&[], "pipenv sync", "!Pipfile.lock was not read: it is not in the build context"),
        (&[("Pipfile.lock", "{")], "pipenv sync", "!Pipfile.lock was not read: it does not have the format of pipenv"),
        (&[("Pipfile", "[")], "pipenv install", "!Pipfile was not read: it does not have the format of pipenv"),
        (both, "pipenv install torch==2.1.0 flask", "flask torch==2.1.0"),
        (both, "pipenv run pip install flask", "flask"),
        (both, "pipenv install --categories=dev-packages", "pytest==8.0.0 torch==2.1.0"),
        (
            both,
            "pipenv sync --categories 'packages dev-packages'",
            "flask==3.0.0 mine=? pytest==8.0.0 torch==2.1.0[cu118]",
        ),
        (both, "pipenv install --categories other", ""),
        (both, "pipenv lock; pipenv --version; pip install pipenv", "pipenv"),
    ] {
        assert_eq!(installed(files, run), expected, "{run}");
    }
}

#[test]
fn a_project_of_setuptools_requires_what_stands_there_as_it_is() {
    let py = |list: &str| format!("from setuptools import setup\nsetup(name='x', install_requires={list})\n");
    let unclear = "!./setup.py was not read: what it installs is unknown: its install_requires is not a plain list";
    let mut wrong = Vec::new();
    for (list, expected) in [
        ("['torch==2.1.0', \"flask>=2\"]", "flask>=2 torch==2.1.0"),
        ("[\n  'torch==2.1.0+cu118',  # the old one\n  # 'numpy',\n]", "torch==2.1.0+cu118[cu118]"),
        ("('flask',)", "flask"),
        ("[]", ""),
        ("['pywin32; sys_platform == \"win32\"', 'flask']", "flask"),
        ("required)\nrequired = ['flask'\n]\nprint(", "flask"),
        ("required", unclear),
        ("open('r.txt').read().split()", unclear),
        ("['flask'] + more", unclear),
        ("['flask' 'x']", unclear),
        ("[f'torch=={v}']", unclear),
        ("['torch' if gpu else 'x']", unclear),
        ("[\"\"\"torch\"\"\"]", unclear),
        ("['torch'", unclear),
    ] {
        let said = installed(&[("setup.py", &py(list))], "pip install .");
        if said != expected {
            wrong.push(format!("{list}\n  expected {expected}\n  said     {said}"));
        }
    }
    let cfg = "[metadata]\nname = x\n[options]\ninstall_requires =\n    torch==2.1.0\n    # flask\n    numpy>=1 ; python_version > '3'\n\
               packages = find:\n[options.extras_require]\ninstall_requires = no\n";
    let build = "[build-system]\nrequires = ['setuptools']\n";
    let told = "[project]\nname = 'x'\nversion = '1'\ndependencies = ['flask']\n";
    let dynamic = "[project]\nname = 'x'\nversion = '1'\ndynamic = ['dependencies']\n";
    for (files, expected) in [
        (&[("setup.cfg", cfg), ("setup.py", "from setuptools import setup\nsetup()\n")][..], "numpy>=1 torch==2.1.0"),
        (&[("setup.cfg", cfg), ("pyproject.toml", build)], "numpy>=1 torch==2.1.0"),
        (&[("setup.cfg", cfg), ("pyproject.toml", dynamic)], "numpy>=1 torch==2.1.0"),
        (&[("setup.cfg", cfg), ("pyproject.toml", told)], "flask"),
        (
            &[("setup.cfg", "[options]\ninstall_requires = file: r.txt\n")],
            "!./setup.cfg was not read: what it installs is unknown: its install_requires is in another file",
        ),
        (&[("setup.py", "# install_requires=['torch']\nx.install_requires == ['torch']\n")], ""),
        (&[], "!./pyproject.toml was not read: it is not in the build context"),
    ] {
        let said = installed(files, "pip install -e .");
        if said != expected {
            wrong.push(format!("{files:?}\n  expected {expected}\n  said     {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_extras_that_are_asked_for_are_installed() {
    let project = "[project]\nname = 'My.App'\nversion = '1'\ndependencies = ['flask']\n[project.optional-dependencies]\n\
                   gpu = ['torch==2.1.0', 'pywin32; sys_platform == \"win32\"']\nmore_things = ['numpy']\n\
                   all = ['my-app[gpu,more-things]']\nround = ['my_app[round]']\n[dependency-groups]\n\
                   test = ['pytest', {include-group = 'lint'}]\nlint = ['ruff']\n";
    let poetry = "[tool.poetry]\nname = 'x'\n[tool.poetry.dependencies]\npython = '^3.10'\nflask = '*'\n\
                  torch = {version = '2.1.0', optional = true}\n[tool.poetry.extras]\ngpu = ['torch']\n";
    for (text, run, expected) in [
        (project, "pip install .", "flask"),
        (project, "pip install -e \".[gpu]\"", "flask torch==2.1.0"),
        (project, "pip install '/app[GPU, More.Things]'", "flask numpy torch==2.1.0"),
        (project, "pip install .[all]", "flask numpy torch==2.1.0"),
        (project, "pip install .[round]", "flask"),
        (project, "pip install .[test]", "flask pytest ruff"),
        (project, "pip install .[absent]", "flask"),
        (project, "uv pip install -r pyproject.toml --extra gpu", "flask torch==2.1.0"),
        (project, "uv pip install -r pyproject.toml --all-extras", "flask numpy torch==2.1.0"),
        (project, "uv sync --extra gpu --no-dev", "flask torch==2.1.0"),
        (project, "uv sync --group test", "flask pytest ruff"),
        (poetry, "pip install .", "flask"),
        (poetry, "pip install .[gpu]", "flask torch==2.1.0"),
        (poetry, "poetry install -E gpu", "flask torch==2.1.0"),
        (poetry, "poetry install --all-extras", "flask torch==2.1.0"),
    ] {
        assert_eq!(installed(&[("pyproject.toml", text)], run), expected, "{run}");
    }
}

#[test]
fn environments_of_conda_are_read_in_every_form() {
    let list = "# platform: linux-64\n@EXPLICIT\nhttps://mirror.example/pytorch/linux-64/pytorch-2.1.0-py3.10_cuda12.1_cudnn8.9.2_0.tar.bz2#0f00\n\
                https://mirror.example/conda-forge/noarch/pip-24.0-pyhd8ed1ab_0.conda\nnonsense\n";
    let nested = "name: x\ndependencies:\n  - python=3.10\n  - pip:\n    - flask\n    - -r more/r.txt\n    - --extra-index-url https://mirror.example/whl/cu118\n";
    let pixi = "version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://mirror.example/conda-forge/\n    packages:\n      linux-64:\n\
                \x20     - conda: https://mirror.example/linux-64/pytorch-2.6.0-cpu_generic_py312_0.conda\n\
                \x20     linux-aarch64:\n      - conda: https://mirror.example/linux-aarch64/pytorch-2.6.0-cpu_generic_py312_9.conda\n\
                \x20 gpu:\n    packages:\n      linux-64:\n      - conda: https://mirror.example/linux-64/pytorch-2.6.0-cuda126_generic_py312_1.conda\n\
                packages:\n- conda: https://mirror.example/linux-64/pytorch-2.6.0-cpu_generic_py312_0.conda\n  sha256: 00\n\
                - conda: https://mirror.example/linux-64/pytorch-2.6.0-cuda126_generic_py312_1.conda\n  sha256: 11\n\
                - conda: https://mirror.example/linux-aarch64/pytorch-2.6.0-cpu_generic_py312_9.conda\n  sha256: 22\n";
    let older = "version: 5\nenvironments:\n  default:\n    packages:\n      linux-64:\n      - conda: https://mirror.example/linux-64/pytorch-2.4.1-cuda118_0.conda\n\
                 packages:\n- kind: conda\n  name: pytorch\n  version: 2.4.1\n  build: cuda118_0\n  subdir: linux-64\n  url: https://mirror.example/linux-64/pytorch-2.4.1-cuda118_0.conda\n\
                 - kind: conda\n  name: pytorch\n  version: 2.4.1\n  build: cpu_0\n  subdir: linux-64\n  url: https://mirror.example/linux-64/pytorch-2.4.1-cpu_0.conda\n\
                 - kind: pypi\n  name: triton\n  version: 3.0.0\n  url: https://mirror.example/triton.whl\n";
    let locked = |manager: &str, name: &str, url: &str| {
        format!(
            "version: 1\nmetadata:\n  channels:\n  - url: conda-forge\npackage:\n- name: {name}\n  version: 2.3.1\n  manager: {manager}\n  \
             platform: linux-64\n  dependencies:\n    python: '>=3.11'\n  url: https://mirror.example/{url}\n  hash:\n    md5: 00\n  \
             category: main\n  optional: false\n"
        )
    };
    let forge = locked("conda", "pytorch", "conda-forge/linux-64/pytorch-2.3.1-cuda118_py311h0047a46_301.conda");
    let own = locked("conda", "pytorch", "pytorch/linux-64/pytorch-2.3.1-py3.11_cuda11.8_cudnn8.7.0_0.tar.bz2");
    let cpu = locked("conda", "pytorch", "conda-forge/linux-64/pytorch-2.3.1-cpu_generic_py311h0_1.conda");
    let wheel = locked("pip", "torch", "whl/cu118/torch-2.3.1%2Bcu118-cp311-cp311-linux_x86_64.whl");
    let plain = locked("pip", "flask", "packages/ab/flask-2.3.1.tar.gz");
    let other = locked("conda", "pytorch", "conda-forge/linux-64/pytorch-2.4.0-cuda118_py311h0047a46_301.conda");
    let files: &[(&str, &str)] = &[
        ("forge/conda-lock.yml", &forge),
        ("own/conda-lock.yml", &own),
        ("cpu/conda-lock.yml", &cpu),
        ("wheel/conda-lock.yml", &wheel),
        ("plain/conda-lock.yml", &plain),
        ("other/conda-lock.yml", &other),
        ("explicit.txt", list),
        ("conda-linux-64.lock", list),
        ("environment.yml", nested),
        ("more/r.txt", "torch==2.1.0+cu118\n"),
        ("pixi.lock", pixi),
        ("older/pixi.lock", older),
    ];
    let exact = "pip==24.0 pytorch==2.1.0[cu121]";
    let whole = "flask python==3.10 torch==2.1.0+cu118[cu118]";
    for (run, expected) in [
        ("conda create -n x --file explicit.txt", exact),
        ("mamba install --file=explicit.txt", exact),
        ("micromamba create -y -n x -f conda-linux-64.lock", exact),
        ("conda-lock install -n x conda-linux-64.lock", exact),
        ("conda-lock lock -f environment.yml", ""),
        ("conda env create", whole),
        ("mamba env update -n base --file environment.yml", whole),
        ("micromamba install -y -n base -f environment.yml", whole),
        ("conda env list", ""),
        ("pixi install --locked", "pytorch==2.6.0[cpu]"),
        ("pixi install -e gpu", "pytorch==2.6.0[cu126]"),
        ("pixi install --manifest-path older/pixi.toml", "pytorch==2.4.1[cu118]"),
        ("conda-lock install -n x forge/conda-lock.yml", "pytorch==2.3.1[cu118]"),
        ("conda-lock install -n x own/conda-lock.yml", "pytorch==2.3.1[cu118]"),
        ("conda-lock install -n x cpu/conda-lock.yml", "pytorch==2.3.1[cpu]"),
        ("conda-lock install -n x wheel/conda-lock.yml", "torch==2.3.1+cu118[cu118]"),
        ("conda-lock install -n x plain/conda-lock.yml", "flask==2.3.1"),
        // An address of another version says nothing of this one.
        ("conda-lock install -n x other/conda-lock.yml", "pytorch==2.3.1"),
        ("conda-lock install", "!conda-lock.yml was not read: it is not in the build context"),
    ] {
        assert_eq!(installed(files, run), expected, "{run}");
    }
    assert_eq!(installed_on("linux/arm64", files, "pixi install"), "pytorch==2.6.0[cpu]");
    let said = installed(&files[8..9], "conda env update -f environment.yml");
    assert_eq!(said, "flask python==3.10 !more/r.txt was not read: it is not in the build context");
}

#[test]
fn what_grows_without_end_is_refused() {
    let long = format!("{}\n", "a".repeat(200_000));
    let grow = (0..40).map(|_| "s/a/aa/g;").collect::<String>();
    let pipe = "cat r.txt ".to_owned() + &"| sort ".repeat(3_000);
    let deep = "$(echo ".repeat(500) + "x" + &")".repeat(500);
    for run in [
        "sed -i 's/a*a*a*a*b/c/g' r.txt && pip install -r r.txt".to_owned(),
        "grep -v 'a*a*a*a*a*b' r.txt | xargs pip install".to_owned(),
        format!("sed -i '{grow}' r.txt; pip install -r r.txt"),
        format!("{pipe} | xargs pip install"),
        format!("pip install {deep}"),
        format!("pip install -r {}", deep.replace('$', "<")),
    ] {
        let said = installed(&[("r.txt", &long)], &run);
        assert!(said.starts_with('!'), "{run:.60}: {said:.200}");
    }
}
