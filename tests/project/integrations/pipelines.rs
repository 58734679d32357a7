//! The hooks, the examples of pipelines, and the commands of the README, as far as they can run without their service.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use crate::integrations::release::Release;
use crate::integrations::test_repository::{TestRepository, code, err, out};
use crate::integrations::{REFUSED, own, own_yaml};
use crate::support::program::imagelint_program;

fn hook(id: &str) -> Value {
    let hooks = own_yaml(".pre-commit-hooks.yaml");
    let found = hooks.as_array().expect("hooks").iter().find(|hook| hook["id"] == id);
    found.unwrap_or_else(|| panic!("no hook {id}")).clone()
}

/// A pattern of Python's, all of it in a part that both know.
fn python(pattern: &Value) -> Regex {
    let pattern = pattern.as_str().expect("a pattern");
    RegexBuilder::new(pattern).unicode(false).build().expect(pattern)
}

/// Whether pre-commit hands a path to the hook for changed files.
fn hook_matches(path: &str) -> bool {
    let hook = hook("imagelint");
    python(&hook["files"]).is_match(path.as_bytes()) && !python(&hook["exclude"]).is_match(path.as_bytes())
}

#[test]
fn hook_matches_the_same_dockerfiles_as_a_directory_search() {
    let names = [
        "Dockerfile",
        "dockerfile",
        "DOCKERFILE",
        "Dockerfile.gpu",
        "Dockerfile-gpu",
        "Dockerfile_gpu",
        "gpu.Dockerfile",
        "gpu.dockerfile",
        "x-containerfile",
        "Containerfile",
        "Containerfile.x",
        "Dockerfile.j2",
        "Dockerfiles",
        "mydockerfile",
        "Dockerfile.md",
        ".dockerignore",
        "Dockerfile.dockerignore",
        "a.image.toml",
        "image.toml",
        "b.txt",
        "dockerfile.rs",
    ];
    let place = TestRepository::empty();
    for name in names {
        let folder = format!("{name}-lies-here");
        place.file(&format!("{folder}/{name}"), if name.ends_with("toml") { "" } else { "FROM scratch\n" });
        let listed = out(&place.run(&["check", "--show-files", &folder]));
        let found = listed.contains(&format!("{folder}/{name}"));
        assert_eq!(hook_matches(&format!("{folder}/{name}")), found, "{name}: {listed}");
    }
}

#[test]
fn the_hook_takes_lists_of_packages_and_no_other_text() {
    let (lists, others) = (
        [
            "requirements.txt",
            "a/requirements-gpu.in",
            "a/gpu-requirements.txt",
            "requirements/base.txt",
            "docker/requirements-gpu/all.in",
            "constraints.txt",
            "deps.txt",
            "python-packages.txt",
            "uv.lock",
            "a/poetry.lock",
            "conda-linux-64.lock",
            "pylock.toml",
            "pylock.gpu.toml",
            "Pipfile",
            "Pipfile.lock",
            "conda-lock.yml",
            "environment.yml",
            "envs/prod.yaml",
            "pyproject.toml",
            "scripts/install.sh",
        ],
        [
            "README.md",
            "requirements.md",
            "notes.txt",
            "packages/web/notes.txt",
            "requirements/old/notes/words.txt",
            "Cargo.lock",
            "yarn.lock",
            "docker-compose.yml",
            ".github/workflows/ci.yml",
            "pylock.a.b.toml",
            "fleet.toml",
            "requirements/__init__.py",
            "install.shx",
        ],
    );
    let place = TestRepository::empty();
    for name in lists {
        assert!(hook_matches(name), "{name}");
        // What is handed over and that no Dockerfile reads stops no commit.
        place.file(name, "");
        assert_eq!(code(&place.run(&["check", name])), 0, "{name}");
    }
    for name in others {
        assert!(!hook_matches(name), "{name}");
    }
}

#[test]
fn hooks_run_existing_commands() {
    for (id, program, language) in [
        ("imagelint", "imagelint", "python"),
        ("imagelint-all", "imagelint", "python"),
        ("imagelint-source", ".pre-commit-run", "script"),
        ("imagelint-source-all", ".pre-commit-run", "script"),
    ] {
        let hook = hook(id);
        let entry: Vec<&str> = hook["entry"].as_str().expect("an entry").split(' ').collect();
        assert_eq!((entry[0], &hook["language"]), (program, &Value::from(language)));
        let place = TestRepository::new();
        place.file("requirements.txt", "torch==2.4.0\n");
        let files: &[&str] =
            if hook["pass_filenames"] == Value::Bool(false) { &[] } else { &["Dockerfile", "requirements.txt"] };
        let run = |place: &TestRepository| code(&place.run(&[&entry[1..], files].concat()));
        place.file(
            "fleet.toml",
            "[[pool]]\nname = \"a\"\ngpu = \"H100\"\ndriver = \"570.211.01\"\nlaunch = \"docker-gpus\"\n",
        );
        assert_eq!(run(&place), 0, "{id}");
        place.file("Dockerfile", REFUSED);
        assert_eq!(run(&place), 1, "{id}");
        place.file("fleet.toml", "[[pool]\n");
        assert_eq!(run(&place), 2, "{id}");
    }
}

#[test]
fn hooks_from_the_wheel_and_from_source_differ_in_nothing_else() {
    for (wheel, source) in [("imagelint", "imagelint-source"), ("imagelint-all", "imagelint-source-all")] {
        let (mut wheel, mut source) = (hook(wheel), hook(source));
        for hook in [&mut wheel, &mut source] {
            let fields = hook.as_object_mut().expect("fields");
            for field in ["id", "name", "language", "entry"] {
                assert!(fields.remove(field).is_some(), "{field}");
            }
        }
        assert_eq!(wheel, source);
    }
    // pre-commit runs `pip install .`: this package installs the wheel of the same version, and builds nothing.
    let package: toml::Table = own("pyproject.toml").parse().expect("TOML");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(package["project"]["dependencies"].as_array().expect("a list").len(), 1);
    assert_eq!(package["project"]["dependencies"][0].as_str(), Some(format!("imagelint=={version}").as_str()));
    assert!(!own("pyproject.toml").contains("maturin"));
    let wheel: toml::Table = own("python/pyproject.toml").parse().expect("TOML");
    assert_eq!(wheel["project"]["name"].as_str(), Some("imagelint"));
}

/// A line of bash in a folder, with the built program in front of all others.
fn bash(line: &str, folder: &Path) -> Output {
    let program = imagelint_program();
    let path = format!("{}:{}", program.parent().expect("a folder").display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", line]).current_dir(folder).env("PATH", path);
    command.env_remove("IMAGELINT_FLEET").env_remove("IMAGELINT_CONFIG").output().expect("bash")
}

/// The Rust version of Cargo.toml.
fn rust_version() -> String {
    let manifest = own("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).expect("a version");
    version.trim_end_matches('"').to_owned()
}

/// A stand-in for rustup or cargo: it logs its arguments and the place of its intermediate files, and builds a program
/// that prints its arguments. Its version is that of a file.
const BUILDER: &str = r#"#!/bin/bash
[[ $* != --version ]] || { cat "$HOME/version"; exit 0; }
echo "$(basename "$0") $*" >>"$HOME/build.log"
while (($# > 1)); do [[ $1 == --root ]] && root=$2; shift; done
[[ -n ${root:-} ]] || exit 0
echo "$CARGO_TARGET_DIR" >"$HOME/intermediate"
mkdir -p "$root/bin"
printf '#!/bin/bash\necho "ran: $*"\nexit 1\n' >"$root/bin/imagelint"
chmod +x "$root/bin/imagelint"
"#;

#[test]
fn hooks_are_built_once_with_the_toolchain_and_the_lock_file_of_the_repository() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().expect("a folder");
    let (home, hooks) = (place.path(), place.path().join("hooks"));
    fs::create_dir_all(home.join("bin")).expect("a folder");
    fs::create_dir_all(&hooks).expect("a folder");
    for name in [".pre-commit-run", "Cargo.toml"] {
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), hooks.join(name)).expect(name);
    }
    let program = |name: &str, text: &str| {
        let path = home.join("bin").join(name);
        fs::write(&path, text).expect(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect(name);
    };
    let run = || {
        let mut command = Command::new(hooks.join(".pre-commit-run"));
        let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
        command.args(["check", "a b"]).env_clear().env("HOME", home).env("PATH", path).output().expect("the entry")
    };
    let log = || fs::read_to_string(home.join("build.log")).unwrap_or_default();
    let root = hooks.join("target/pre-commit");

    // Neither rustup nor cargo: a clear message, and no pass.
    let done = run();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(code(&done), 2, "{said}");
    assert!(said.contains(&format!("needs Rust {}", rust_version())), "{said}");

    // A cargo that is too old, or of no known version, builds nothing.
    program("cargo", BUILDER);
    let version = |text: &str| fs::write(home.join("version"), text).expect("a version");
    for (text, named) in [
        ("cargo 1.94.1 (29ea6fb6a 2026-03-24)\n", "this cargo is 1.94.1;"),
        ("cargo 1.9.0\n", "this cargo is 1.9.0;"),
        ("cargo 0.95.0\n", "this cargo is 0.95.0;"),
        ("nothing\n", "this cargo is of an unknown version;"),
    ] {
        version(text);
        let done = run();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!((code(&done), log()), (2, String::new()), "{text}: {said}");
        assert!(said.contains(&format!("needs Rust {} or newer; {named}", rust_version())), "{text}: {said}");
        assert!(said.contains("install rustup"), "{text}: {said}");
    }
    // One that is as new, or newer, honors the lock file.
    for text in ["cargo 1.95.1-nightly (x)\n", "cargo 1.100.0\n", "cargo 2.0.0\n"] {
        version(text);
        assert_eq!(code(&run()), 1, "{text}");
        fs::remove_dir_all(&root).expect("the build");
        fs::remove_file(home.join("build.log")).expect("the log");
    }
    version(&format!("cargo {}.0 (f2d3ce0bd 2026-03-21)\n", rust_version()));
    let done = run();
    assert_eq!((code(&done), out(&done)), (1, "ran: check a b\n".to_owned()), "{done:?}");
    let install = format!("install --locked --path {} --root {}\n", hooks.display(), root.display());
    assert_eq!(log(), format!("cargo {install}"));
    let intermediate = fs::read_to_string(home.join("intermediate")).expect("a path");
    assert!(!Path::new(intermediate.trim()).exists(), "intermediate files stay behind in {intermediate}");
    run();
    assert_eq!(log(), format!("cargo {install}"), "it is built once");

    // With rustup, the toolchain is the one of Cargo.toml.
    fs::remove_dir_all(&root).expect("the build");
    fs::remove_file(home.join("build.log")).expect("the log");
    program("rustup", BUILDER);
    assert_eq!(code(&run()), 1);
    let rust = rust_version();
    let toolchain = format!("rustup toolchain install {rust} --profile minimal --no-self-update\n");
    assert_eq!(log(), format!("{toolchain}cargo +{rust} {install}"));
}

/// The GitLab example in a repository, with the lines of its job.
fn gitlab_job() -> (Value, String) {
    let job = own_yaml("examples/ci/gitlab.yml")["imagelint"].clone();
    let mut lines = String::new();
    for (name, value) in job["variables"].as_object().expect("variables") {
        lines.extend(["export ", name, "='", value.as_str().expect("a text"), "'\n"]);
    }
    for part in ["before_script", "script"] {
        for line in job[part].as_array().expect("lines") {
            lines += line.as_str().expect("a line");
            lines += "\n";
        }
    }
    (job, lines)
}

#[test]
fn gitlab_example_writes_its_declared_reports() {
    let (job, lines) = gitlab_job();
    let place = TestRepository::new();
    place.file("Dockerfile", REFUSED);
    // What the cache keeps of an earlier run.
    fs::create_dir_all(place.path(".imagelint/bin")).expect("a folder");
    let program = imagelint_program();
    std::os::unix::fs::symlink(program, place.path(".imagelint/bin/imagelint")).expect("a link");
    let done = bash(&lines, &place.path(""));
    assert_eq!(code(&done), 1, "{done:?}");
    assert!(out(&done).contains("error[container-refused]"), "the log is for people");
    let artifacts = &job["artifacts"];
    let read = |name: &Value| fs::read_to_string(place.path(name.as_str().expect("a name"))).expect("a report");
    let quality: Value = serde_json::from_str(&read(&artifacts["reports"]["codequality"])).expect("JSON");
    assert_eq!(quality[0]["check_name"], "container-refused");
    assert!(read(&artifacts["reports"]["junit"]).contains("<testsuites"));
    let matrix = read(&artifacts["paths"][0]);
    assert!(matrix.contains("| `Dockerfile` |") && matrix.contains("  - fix ("), "{matrix}");
    assert_eq!(artifacts["when"], "always", "a job that fails leaves its reports too");
    assert_eq!(job["cache"]["when"], "always", "a job that fails keeps its program");
    assert_eq!(job["cache"]["paths"][0], ".imagelint/");
    let image = job["image"].as_str().expect("an image");
    assert!(image.starts_with(&format!("rust:{}-", rust_version())), "{image}");
}

#[test]
fn gitlab_example_downloads_the_program_or_builds_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_, lines) = gitlab_job();
    // The first address is that of the script itself; the script takes the rest from the served release.
    let release = Release::new("");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh"), release.path("install.sh")).expect("a script");
    let version = env!("CARGO_PKG_VERSION");
    let run = |sound: bool| {
        let place = TestRepository::new();
        let tool = |name: &str, text: &str| {
            place.file(&format!("tools/{name}"), text);
            let path = place.path(&format!("tools/{name}"));
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect(name);
        };
        let real = String::from_utf8(Command::new("which").arg("curl").output().expect("which").stdout).expect("UTF-8");
        let address = format!("{}/releases/download/v{version}", env!("CARGO_PKG_REPOSITORY"));
        tool("curl", &format!("#!/bin/bash\nexec {} \"${{@/#'{address}'/'{}'}}\"\n", real.trim(), release.address()));
        tool(
            "cargo",
            "#!/bin/bash\necho \"$*\" >cargo.log\nmkdir -p .imagelint/bin\nprintf '#!/bin/sh\\necho built\\n' >.imagelint/bin/imagelint\nchmod +x .imagelint/bin/imagelint\n",
        );
        let name = format!("imagelint-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
        let archive = fs::read(release.path(&name)).expect("an archive");
        if !sound {
            fs::write(release.path(&name), "damaged").expect("an archive");
        }
        // Neither cosign nor gh has a signature of a stand-in.
        let path = format!("export PATH='{}':/usr/bin:/bin; unset GH_TOKEN\n", place.path("tools").display());
        let done = bash(&format!("{path}{lines}"), &place.path(""));
        fs::write(release.path(&name), archive).expect("an archive");
        (done, fs::read_to_string(place.path("cargo.log")).ok())
    };
    let (done, built) = run(true);
    assert_eq!((code(&done), built), (1, None), "{done:?}");
    assert!(out(&done).contains("ran: check --fleet fleet.toml"), "{done:?}");
    let (done, built) = run(false);
    let repository = env!("CARGO_PKG_REPOSITORY");
    let expected = format!("install --locked --root .imagelint --git {repository} --tag v{version} imagelint\n");
    assert_eq!((code(&done), built), (0, Some(expected)), "{done:?}");
    assert!(out(&done).contains("built") && err(&done).contains("is damaged"), "{done:?}");
}

#[test]
fn github_example_uses_existing_inputs_and_required_permissions() {
    let workflow = own_yaml("examples/ci/github.yml");
    let inputs = own_yaml("action.yml")["inputs"].clone();
    let steps = workflow["jobs"]["imagelint"]["steps"].as_array().expect("steps").clone();
    let step = steps.iter().find(|step| step["uses"].as_str().is_some_and(|uses| uses.contains("/imagelint@")));
    for name in step.expect("the action")["with"].as_object().expect("inputs").keys() {
        assert!(inputs[name].is_object(), "{name}");
    }
    for permission in ["security-events", "pull-requests"] {
        assert_eq!(workflow["permissions"][permission], "write", "{permission}");
    }
}

#[test]
fn the_pre_commit_example_needs_nothing_but_this_repository() {
    let settings = own_yaml("examples/ci/pre-commit.yaml");
    let repositories = settings["repos"].as_array().expect("repositories");
    assert!(!repositories.is_empty());
    for repository in repositories {
        assert_eq!(repository["repo"], env!("CARGO_PKG_REPOSITORY"));
        assert_eq!(repository["rev"], concat!("v", env!("CARGO_PKG_VERSION")));
        for used in repository["hooks"].as_array().expect("hooks") {
            let id = used["id"].as_str().expect("a name");
            let entry = hook(id)["entry"].as_str().expect("an entry").to_owned();
            let words: Vec<&str> = used["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let place = TestRepository::new();
            let arguments: Vec<&str> = entry.split(' ').skip(1).chain(words).chain(["Dockerfile"]).collect();
            assert_eq!(code(&place.run(&arguments)), 0, "{arguments:?}");
            place.file("Dockerfile", REFUSED);
            assert_eq!(code(&place.run(&arguments)), 1, "{arguments:?}");
        }
    }
}

#[test]
fn our_own_dockerfile_passes() {
    let place = TestRepository::new();
    let own = own("Dockerfile");
    let check = |text: &str, persona: &str| {
        place.file("Dockerfile", text);
        let done =
            place.run(&["check", "--persona", persona, "--format", "concise", "--fail-on", "note", "Dockerfile"]);
        (code(&done), out(&done))
    };
    for persona in ["regular", "pedantic", "auditor"] {
        assert_eq!(check(&own, persona), (0, String::new()), "{persona}");
    }
    for (was, is) in [
        ("FROM scratch\nCOPY --from=ci", "FROM nvidia/cuda:latest\nCOPY --from=ci"),
        ("ENV PATH=/usr/bin", "ENV PATH=/usr/bin NVIDIA_REQUIRE_CUDA=cuda>=99"),
        ("ENTRYPOINT", "ENTRYPONT"),
    ] {
        let (code, told) = check(&own.replacen(was, is, 1), "pedantic");
        assert!(code == 1 && !told.is_empty(), "{is}: {code} {told}");
    }
}
