//! Fixes of package indexes.

use super::test_repository::TestRepository;
use super::{out, text};

/// A T4 whose driver is CUDA 12.4.
const FLEET: &str = "[[pool]]\nname = \"t4\"\ngpu = \"T4\"\ndriver = \"550.54.15\"\nplatform = \"linux/amd64\"\n\
                     launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
const PAGE: &str = "https://download.pytorch.org/whl/";

fn of(lines: &str) -> String {
    format!("FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\n{lines}\n")
}

fn repository(lines: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("Dockerfile", &of(lines));
    repository
}

/// The file after all fixes that are written, and whether it starts then.
fn fixed(repository: &TestRepository, name: &str) -> (String, bool) {
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    (text(repository, name), !out(&repository.run(&["check", "Dockerfile"])).contains("fails"))
}

#[test]
fn index_build_is_used_for_unpinned_packages() {
    for (lines, expected) in [
        // What asks for no torch is the newest that the index has.
        (
            "RUN pip install 'torch>=2.9' torchaudio numpy",
            &["'torch==", "+cu126' --extra-index-url {cu126} torchaudio numpy"][..],
        ),
        (
            "RUN pip install torch torchaudio --extra-index-url {cu126}",
            &["torch==", "+cu126 torchaudio --extra-index-url {cu126}\n"],
        ),
        ("RUN pip install torch torchaudio --index-url {cu130} && true", &["torchaudio --index-url {cu126} && true"]),
        ("ENV PIP_INDEX_URL={cu130}\nRUN pip install torch torchaudio", &["PIP_INDEX_URL={cu126}\n"]),
        ("ARG CU=cu130\nRUN pip install torch torchaudio --index-url {}$CU", &["ARG CU=cu126\n"]),
    ] {
        let with_pages = |text: &str| {
            let text = text.replace("{cu126}", &format!("{PAGE}cu126")).replace("{cu130}", &format!("{PAGE}cu130"));
            text.replace("{}", PAGE)
        };
        let repository = repository(&with_pages(lines));
        let (after, starts) = fixed(&repository, "Dockerfile");
        assert!(starts, "{after}");
        for part in expected {
            assert!(after.contains(&with_pages(part)), "{after}");
        }
    }
}

#[test]
fn companion_package_of_another_command_gets_the_same_index() {
    let repository = repository("RUN pip install torch\nRUN pip install torchvision numpy\nRUN pip install flask");
    let (after, starts) = fixed(&repository, "Dockerfile");
    let lines: Vec<&str> = after.lines().filter(|line| line.contains(PAGE)).collect();
    assert!(starts && lines.len() == 2, "{after}");
    assert!(lines[1].starts_with("RUN pip install torchvision --extra-index-url"), "{after}");
}

#[test]
fn new_index_does_not_replace_the_index_of_other_packages() {
    for lines in [
        "RUN pip install torch torchaudio numpy",
        "RUN pip install torch torchaudio .",
        "RUN pip install torch torchaudio --extra-index-url https://mirror.example/simple",
        "RUN pip install torch torchaudio -r more.txt",
        "RUN pip download torch torchaudio",
    ] {
        let repository = repository(lines);
        let (after, _) = fixed(&repository, "Dockerfile");
        assert!(!after.contains("--index-url https") || after.contains("--extra-index-url https"), "{after}");
        assert!(!after.contains(" --index-url"), "{after}");
    }
}

#[test]
fn index_settings_in_files_are_as_safe_as_the_option() {
    let index = |cuda: &str| format!("{PAGE}{cuda}");
    let project = |cuda: &str| {
        format!(
            "[project]\nname = \"x\"\nversion = \"0\"\nrequires-python = \">=3.11\"\ndependencies = [\"torch==2.9.1\"]\n\
             [[tool.uv.index]]\nname = \"pt\"\nurl = \"{}\"\nexplicit = true\n[tool.uv.sources]\ntorch = {{ index = \"pt\" }}\n",
            index(cuda)
        )
    };
    let conf = |cuda: &str| format!("[global]\nindex-url = {}\n", index(cuda));
    for (name, lines, file) in [
        ("pip.conf", "COPY pip.conf /etc/pip.conf\nRUN pip install torch==2.9.1", &conf as &dyn Fn(&str) -> String),
        ("pyproject.toml", "COPY pyproject.toml .\nRUN pip install uv && uv pip install -r pyproject.toml", &project),
    ] {
        let repository = repository(lines);
        repository.file(name, &file("cu130"));
        let told = out(&repository.run(&["check", "--show-fixes", "Dockerfile"]));
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("the same release for CUDA 12.9 (safe;"), "{told}");
        repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!((text(&repository, name), text(&repository, "Dockerfile")), (file("cu129"), of(lines)));
    }
    // Nothing shows what a mirror contains: no edit writes an address of it.
    for (lines, conf) in [
        ("ENV PIP_EXTRA_INDEX_URL=https://mirror.example/whl/cu130\nRUN pip install torch==2.9.1+cu130", ""),
        (
            "COPY pip.conf /etc/pip.conf\nRUN pip install torch==2.9.1+cu130",
            "[global]\nextra-index-url = https://mirror.example/whl/cu130\n",
        ),
    ] {
        let repository = repository(lines);
        repository.file("pip.conf", conf);
        let told = out(&repository.run(&["check", "--show-fixes", "Dockerfile"]));
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let why = "for CUDA 12.9, manual: no source shows that the address of that build exists (manual;";
        assert!(told.contains(why), "{told}");
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!((text(&repository, "Dockerfile"), text(&repository, "pip.conf")), (of(lines), conf.to_owned()));
    }
    // What a lock holds is not written into it.
    let repository = repository("COPY pyproject.toml uv.lock ./\nRUN pip install uv && uv sync --frozen");
    repository.file("pyproject.toml", &project("cu130"));
    repository.file("uv.lock", "version = 1\n[[package]]\nname = \"x\"\nversion = \"0\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"torch\" }]\n[[package]]\nname = \"torch\"\nversion = \"2.9.1+cu130\"\nsource = { registry = \"https://download.pytorch.org/whl/cu130\" }\n");
    let (after, _) = fixed(&repository, "pyproject.toml");
    assert_eq!(after, project("cu130"));
}

/// A build that takes its packages from a private index may be unable to reach another one.
#[test]
fn a_public_index_next_to_a_private_one_is_never_a_safe_fix() {
    const OLD: &str = "[[pool]]\nname = \"v100\"\ngpu = \"V100\"\ndriver = \"470.57.02\"\nplatform = \"linux/amd64\"\n\
                       launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let private = "https://wheels.corp.example/simple";
    let list = format!("-i {private}\ntorch==2.4.0\n");
    let conf = format!("[global]\nindex-url = {private}\n");
    for (lines, files, safe) in [
        (
            "COPY requirements.txt .\nRUN pip install -r requirements.txt",
            vec![("requirements.txt", list.as_str())],
            false,
        ),
        ("ENV PIP_INDEX_URL={}\nRUN pip install torch==2.4.0+cu124", vec![], false),
        ("ENV PIP_INDEX_URL={}\nRUN pip install torch==2.4.0", vec![], false),
        ("ARG PIP_INDEX_URL={}\nRUN pip install torch==2.4.0", vec![], false),
        ("ENV PIP_EXTRA_INDEX_URL={}\nRUN pip install torch==2.4.0", vec![], false),
        ("RUN pip install -i {} torch==2.4.0", vec![], false),
        ("COPY pip.conf /etc/pip.conf\nRUN pip install torch==2.4.0", vec![("pip.conf", conf.as_str())], false),
        // Nothing here is private.
        ("RUN pip install torch==2.4.0", vec![], true),
        ("RUN pip install -i {} flask\nRUN pip install torch==2.4.0", vec![], true),
        ("ENV HOMEPAGE={}\nRUN pip install torch==2.4.0", vec![], true),
        ("COPY r.txt .\nRUN pip install -r r.txt", vec![("r.txt", "torch==2.4.0\n")], true),
    ] {
        let repository = repository(&lines.replace("{}", private));
        repository.file("fleet.toml", OLD);
        for (name, text) in files {
            repository.file(name, text);
        }
        let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
        let findings = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
        let fixes: Vec<_> =
            findings.iter().flat_map(|one| one["fixes"].as_array().cloned().unwrap_or_default()).collect();
        let adds =
            |fix: &&serde_json::Value| fix["edits"].to_string().contains("-index-url https://download.pytorch.org");
        let adding: Vec<_> = fixes.iter().filter(adds).collect();
        assert!(!adding.is_empty(), "{lines}: {fixes:?}");
        assert_eq!(adding.iter().any(|fix| fix["safety"] == "safe"), safe, "{lines}: {adding:?}");
        for fix in adding {
            let title = fix["title"].as_str().unwrap_or_default();
            assert_eq!(title.contains("if the build can reach its index"), !safe, "{lines}: {title}");
        }
        repository.run(&["check", "--fix", "Dockerfile"]);
        let after = [
            text(&repository, "Dockerfile"),
            if lines.contains("requirements") { text(&repository, "requirements.txt") } else { String::new() },
        ]
        .concat();
        assert!(safe || !after.contains("download.pytorch.org"), "{lines}: {after}");
    }
}
