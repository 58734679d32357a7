//! Written fixes still build: a build is in its own indexes, hashes are of one wheel, lists bound versions, and not
//! every Python has a wheel of every release. Other fixes are reported as manual.

use std::fs;

use serde_json::Value;
use test_repository::{TestRepository, code};

use crate::support::test_repository;

/// A T4, an RTX 3090 and a B200, each with a driver of another CUDA.
const T4: (&str, &str, &str) = ("t4", "Tesla T4", "535.161.08");
const DESK: (&str, &str, &str) = ("desk", "GeForce RTX 3090", "470.199.02");
const B200: (&str, &str, &str) = ("b200", "B200", "580.95.05");

const PAGE: &str = "--extra-index-url https://download.pytorch.org/whl/cu118";

fn repository((name, gpu, driver): (&str, &str, &str), files: &[(&str, &str)]) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        &format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\nmode = \"legacy\"\n"
        ),
    );
    for (name, text) in files {
        repository.file(name, text);
    }
    repository
}

fn text(repository: &TestRepository, name: &str) -> String {
    String::from_utf8(fs::read(repository.path(name)).expect(name)).expect("UTF-8")
}

/// Every fix of every finding.
fn fixes(repository: &TestRepository) -> Vec<Value> {
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let findings = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().flat_map(|one| one["fixes"].as_array().cloned().unwrap_or_default()).collect()
}

fn title(fix: &Value) -> &str {
    fix["title"].as_str().unwrap_or_default()
}

/// Fixes changes with these options, and gives the texts afterwards.
fn fixed(pool: (&str, &str, &str), files: &[(&str, &str)], options: &[&str]) -> (Vec<String>, i32) {
    let repository = repository(pool, files);
    let done = repository.run(&[&["check", "--fix", "Dockerfile"], options].concat());
    let texts = files.iter().map(|(name, _)| text(&repository, name)).collect();
    (texts, code(&done))
}

/// An index that is named elsewhere changes with the version that names its build, or one more is named.
#[test]
fn index_url_of_a_build_is_changed_in_every_location() {
    let url = |build: &str| format!("https://download.pytorch.org/whl/{build}");
    let pip = |version: &str| format!("RUN pip install torch==2.9.1+{version}\n");
    let variable = |build: &str| format!("FROM python:3.11\nENV PIP_EXTRA_INDEX_URL={}\n{}", url(build), pip(build));
    let argument = |build: &str| {
        format!(
            "FROM python:3.11\nARG CU={build}\nENV PIP_INDEX_URL=https://download.pytorch.org/whl/${{CU}}\n{}",
            pip(build)
        )
    };
    let setting = |build: &str| {
        format!("FROM python:3.11\nRUN pip config set global.extra-index-url {}\n{}", url(build), pip(build))
    };
    let uv = |build: &str| {
        format!(
            "FROM python:3.11\nRUN pip install uv\nENV UV_INDEX=\"{}\"\nRUN uv pip install torch==2.9.1+{build}\n",
            url(build)
        )
    };
    for (before, after) in [
        (variable("cu130"), variable("cu129")),
        (setting("cu130"), setting("cu129")),
        (uv("cu130"), uv("cu129")),
        (format!("FROM python:3.11\n{}", pip("cu130")), {
            let page = url("cu129");
            format!("FROM python:3.11\nRUN pip install torch==2.9.1+cu129 --extra-index-url {page}\n")
        }),
    ] {
        let (texts, code) = fixed(T4, &[("Dockerfile", &before)], &[]);
        assert_eq!((texts[0].as_str(), code), (after.as_str(), 0));
    }
    let apart = |build: &str, stage: &str| {
        let line =
            |package: &str, build: &str| format!("RUN pip install {package}+{build} --index-url {}\n", url(build));
        format!(
            "FROM python:3.11 AS other\n{}FROM python:3.11\n{}{}",
            line("torch==2.9.1", stage),
            line("torch==2.9.1", build),
            line("torchvision==0.24.1", build)
        )
    };
    let (texts, code) = fixed(T4, &[("Dockerfile", &apart("cu130", "cu130"))], &[]);
    assert_eq!((texts[0].as_str(), code), (apart("cu129", "cu130").as_str(), 0), "another stage is another image");
    let dockerfile = |build: &str| format!("FROM python:3.11\nCOPY pip.conf /etc/pip.conf\n{}", pip(build));
    let settings = |build: &str| format!("[global]\n# of {}\nextra-index-url = {}\n", url("cu130"), url(build));
    let (before, after) = (dockerfile("cu130"), dockerfile("cu129"));
    let (texts, code) = fixed(T4, &[("Dockerfile", &before), ("pip.conf", &settings("cu130"))], &[]);
    assert_eq!((texts, code), (vec![after, settings("cu129")], 0));
    let (texts, code) = fixed(T4, &[("Dockerfile", &argument("cu130"))], &[]);
    assert_eq!((texts[0].as_str(), code), (argument("cu129").as_str(), 0));
}

#[test]
fn unverified_mirror_url_is_not_written() {
    let dockerfile = |build: &str| {
        format!(
            "FROM python:3.11\nRUN pip install torch==2.9.1+{build} --index-url https://mirror.example/pytorch/whl/{build}\n"
        )
    };
    let before = dockerfile("cu130");
    let (texts, code) = fixed(T4, &[("Dockerfile", &before)], &[]);
    assert_eq!((texts[0].as_str(), code), (before.as_str(), 1));
    let (texts, code) = fixed(T4, &[("Dockerfile", &before)], &["--unsafe-fixes"]);
    assert_eq!((texts[0].as_str(), code), (before.as_str(), 1));
    let found = fixes(&repository(T4, &[("Dockerfile", &before)]));
    let build = found.iter().find(|fix| title(fix).contains("torch==2.9.1+cu129")).expect("the build");
    assert_eq!(
        (build["safety"].as_str(), build["edits"].as_array().map(Vec::len)),
        (Some("manual"), Some(0)),
        "{build}"
    );
    assert!(title(build).contains("manual: no source shows that the address of that build exists"), "{build}");
}

/// A fix that would not build is reported and never written.
#[test]
fn unbuildable_fix_is_listed_and_not_written() {
    let from = "FROM python:3.11\n";
    let copied = format!("{from}COPY requirements.txt /r.txt\nRUN pip install -r /r.txt\n");
    let hash = "--hash=sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let run = |line: &str| format!("{from}RUN {line}\n");
    for (name, dockerfile, list) in [
        ("hashes", copied.clone(), format!("torch==2.5.1 {hash}\n")),
        ("hashes on lines of their own", copied.clone(), format!("torch==2.5.1 \\\n    {hash} \\\n    {hash}\n")),
        ("hashes of another package", copied.clone(), format!("torch==2.5.1\nnumpy==2.1.0 {hash}\n")),
        (
            "hashes in a heredoc",
            format!("{from}COPY <<EOF /r.txt\ntorch==2.5.1 {hash}\nEOF\nRUN pip install -r /r.txt\n"),
            String::new(),
        ),
        ("poetry", run("poetry add torch==2.5.1"), String::new()),
        ("pdm", run("pdm add torch==2.5.1"), String::new()),
        ("pipenv", run("pipenv install torch==2.5.1"), String::new()),
        ("pipx", run("pipx install torch==2.5.1"), String::new()),
        ("a list that a command writes", run("echo torch==2.5.1 > /r.txt && pip install -r /r.txt"), String::new()),
        (
            "wheels that another stage gathers",
            "FROM python:3.11 AS build\nRUN pip wheel -w /w torch==2.5.1\nFROM python:3.11\nCOPY --from=build /w /w\n\
             RUN pip install --no-index --find-links=/w torch==2.5.1\n"
                .to_owned(),
            String::new(),
        ),
        (
            "no index by a variable",
            format!("{from}ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/w\nRUN pip install torch==2.5.1\n"),
            String::new(),
        ),
        ("a project", format!("{from}COPY pyproject.toml .\nRUN uv sync\n"), String::new()),
    ] {
        let files = [
            ("Dockerfile", dockerfile.as_str()),
            ("requirements.txt", list.as_str()),
            ("pyproject.toml", "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch==2.5.1\"]\n"),
        ];
        let (texts, code) = fixed(DESK, &files, &["--unsafe-fixes"]);
        assert_eq!(texts, files.map(|(_, text)| text.to_owned()), "{name}");
        assert!(code < 2, "{name}");
        let found = fixes(&repository(DESK, &files));
        for fix in found.iter().filter(|fix| title(fix).contains("torch==")) {
            let told = (fix["safety"].as_str(), fix["edits"].as_array().map(Vec::len));
            assert_eq!(told, (Some("manual"), Some(0)), "{name}: {fix}");
            assert!(title(fix).contains(", manual: ") || !fix["supposes"].is_null(), "{name}: {fix}");
        }
    }
    // The same without what stands in the way is written.
    let list = "torch==2.5.1\nnumpy==2.1.0 # the hash is elsewhere\n# --hash=sha256:00\n";
    let (texts, code) = fixed(DESK, &[("Dockerfile", &copied), ("requirements.txt", list)], &[]);
    let after = format!("{PAGE}\n{}", list.replace("2.5.1", "2.5.1+cu118"));
    assert_eq!((texts[1].as_str(), code), (after.as_str(), 0));
}

#[test]
fn index_option_is_written_in_the_syntax_of_its_location() {
    let from = "FROM python:3.11\n";
    let list = |text: &str| format!("{from}COPY <<EOF /r.txt\nnumpy\n{text}\nEOF\nRUN pip install -r /r.txt\n");
    let words = |text: &str| format!("{from}RUN [\"pip\", \"install\", {text}, \"numpy\"]\n");
    let shell = |text: &str| format!("{from}RUN bash -c \"pip install {text}\"\n");
    let page = "https://download.pytorch.org/whl/cu118";
    for (before, after) in [
        (list("torch==2.5.1"), list(&format!("{PAGE}\ntorch==2.5.1+cu118"))),
        (words("\"torch==2.5.1\""), words(&format!("\"torch==2.5.1+cu118\", \"--extra-index-url\", \"{page}\""))),
        (shell("torch==2.5.1"), shell(&format!("torch==2.5.1+cu118 {PAGE}"))),
    ] {
        let (texts, code) = fixed(DESK, &[("Dockerfile", &before)], &[]);
        assert_eq!((texts[0].as_str(), code), (after.as_str(), 0));
    }
}

#[test]
fn no_wheel_is_suggested_for_an_unsupported_python() {
    for (pool, from, torch) in [
        (DESK, "FROM python:3.14\n", "2.9.1"),
        (B200, "FROM python:3.8-slim\n", "2.4.1"),
        (
            B200,
            "FROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN apt-get update && apt-get install -y python3-pip\n",
            "2.4.1",
        ),
        (B200, "FROM nvidia/cuda:12.4.1-base-ubuntu20.04\n", "2.4.1"),
    ] {
        let before = format!("{from}RUN pip install torch=={torch}\n");
        let found = fixes(&repository(pool, &[("Dockerfile", &before)]));
        let other = |fix: &&Value| title(fix).contains("torch==") && !title(fix).contains(&format!("torch=={torch}"));
        assert_eq!(found.iter().filter(other).map(title).collect::<Vec<_>>(), [""; 0], "{before}");
        let (texts, _) = fixed(pool, &[("Dockerfile", &before)], &["--unsafe-fixes"]);
        assert!(!texts[0].contains("torch==") || texts[0].contains(&format!("torch=={torch}")), "{}", texts[0]);
    }
    // Of another Python there are wheels.
    let before = "FROM python:3.12\nRUN pip install torch==2.9.1\n";
    let found = fixes(&repository(DESK, &[("Dockerfile", before)]));
    assert!(found.iter().any(|fix| title(fix).starts_with("install torch==2.7.1+cu118")), "{found:?}");
}

#[test]
fn a_constraints_file_is_changed_together_with_the_version() {
    let dockerfile = "FROM python:3.11\nCOPY *.txt .\nRUN pip install -r requirements.txt\n";
    for (bound, after) in [("torch==2.9.1", Some("torch==2.7.1")), ("torch>=2.9", None), ("torch==2.9.*", None)] {
        let files = [
            ("Dockerfile", dockerfile),
            ("requirements.txt", "-c constraints.txt\ntorch\n"),
            ("constraints.txt", &format!("{bound}\nnumpy==2.1.0\n")),
        ];
        let (texts, _) = fixed(DESK, &files, &["--unsafe-fixes"]);
        match after {
            Some(after) => {
                assert_eq!(texts[2], format!("{after}\nnumpy==2.1.0\n"), "{texts:?}");
                assert!(texts[1].ends_with("torch==2.7.1+cu118\n"), "{texts:?}");
            }
            None => assert_eq!(texts, files.map(|(_, text)| text.to_owned()), "{bound}"),
        }
    }
}

#[test]
fn native_code_is_preferred_to_ptx_at_any_distance() {
    let before = "FROM python:3.11\nRUN pip install torch==2.4.0\n";
    let found = fixes(&repository(B200, &[("Dockerfile", before)]));
    let titles: Vec<&str> = found.iter().map(title).collect();
    assert!(titles.iter().all(|title| !title.contains("2.6.0")), "no build of it has PTX: {titles:?}");
    assert!(titles.first().is_some_and(|title| title.starts_with("install torch==2.7.1")), "{titles:?}");
}

#[test]
fn lists_of_gpus_of_cmake_get_one_more() {
    for (before, after) in [
        (
            "RUN cmake -B build -DCMAKE_CUDA_ARCHITECTURES=\"80;86\" . && cmake --build build",
            "RUN cmake -B build -DCMAKE_CUDA_ARCHITECTURES=\"80;86;75\" . && cmake --build build",
        ),
        (
            "ENV CUDAARCHS=80\nRUN cmake -B build . && cmake --build build",
            "ENV CUDAARCHS=\"80;75\"\nRUN cmake -B build . && cmake --build build",
        ),
    ] {
        let file = |lines: &str| {
            format!(
                "FROM nvidia/cuda:12.2.2-devel-ubuntu22.04\nCOPY . /src\nWORKDIR /src\n{lines}\nCMD [\"build/a\"]\n"
            )
        };
        let (texts, code) = fixed(T4, &[("Dockerfile", &file(before))], &[]);
        assert_eq!((texts[0].as_str(), code), (file(after).as_str(), 0));
    }
}

#[test]
fn fix_changes_the_extra_for_another_cuda() {
    let file = |line: &str| format!("FROM python:3.11\nRUN pip install {line}\n");
    let (texts, code) = fixed(T4, &[("Dockerfile", &file("'jax[cuda13]==0.8.0' numpy"))], &[]);
    assert_eq!((texts[0].as_str(), code), (file("'jax[cuda12]==0.8.0' numpy").as_str(), 0));
    for line in ["'jax[cuda13-local]==0.8.0'", "jax==0.8.0 jax-cuda13-plugin==0.8.0"] {
        let (texts, _) = fixed(T4, &[("Dockerfile", &file(line))], &["--unsafe-fixes"]);
        assert!(!texts[0].contains("jax[cuda12]"), "{}", texts[0]);
    }
}

#[test]
fn cuda_version_variable_is_lowered_in_place() {
    let file = |version: &str| format!("FROM debian:12\nENV CUDA_VERSION={version}\n");
    let (texts, _) = fixed(T4, &[("Dockerfile", &file("12.6"))], &[]);
    assert_eq!(texts[0], file("12.6"), "what else reads it is not known");
    let (texts, code) = fixed(T4, &[("Dockerfile", &file("12.6"))], &["--unsafe-fixes"]);
    assert_eq!((texts[0].as_str(), code), (file("12.0").as_str(), 0));
    let (texts, _) = fixed(T4, &[("Dockerfile", &file("13.1"))], &["--unsafe-fixes"]);
    assert_eq!(texts[0], file("13.1"), "another CUDA is another image");
}

/// Each of them ends where the other is built for another CUDA major.
#[test]
fn companion_packages_of_another_command_follow_the_framework() {
    let index = "--extra-index-url https://download.pytorch.org/whl/cu118";
    let from = "FROM python:3.11-slim\n";
    let of = |text: &str| {
        let file = format!("{from}{text}\n");
        repository(("old", "Tesla T4", "470.223.02"), &[("Dockerfile", file.as_str())])
    };
    for (text, expected) in [
        (
            "RUN pip install torch==2.4.0\nRUN pip install torchvision==0.19.0 torchaudio==2.4.0",
            format!(
                "RUN pip install torch==2.4.0+cu118 {index}\nRUN pip install torchvision==0.19.0 {index} torchaudio==2.4.0"
            ),
        ),
        (
            "RUN pip install torch==2.4.0 && pip install torchvision==0.19.0",
            format!("RUN pip install torch==2.4.0+cu118 {index} && pip install torchvision==0.19.0 {index}"),
        ),
        (
            "RUN pip install torchvision==0.19.0\nRUN pip install torch==2.4.0",
            format!("RUN pip install torchvision==0.19.0 {index}\nRUN pip install torch==2.4.0+cu118 {index}"),
        ),
    ] {
        let repository = of(text);
        repository.run(&["check", "--fix", "Dockerfile"]);
        let told = self::text(&repository, "Dockerfile");
        assert_eq!(told, format!("{from}{expected}\n"), "{text}");
        assert_eq!(code(&repository.run(&["check", "Dockerfile"])), 0, "{text}");
    }
    // Where its command takes no index it stays what it is, and nothing is written.
    for text in [
        "RUN pip install torch==2.4.0\nRUN pip install --index-url https://download.pytorch.org/whl/cu121 torchvision==0.19.0",
        "RUN pip install torch==2.4.0\nRUN pip install torchvision==0.19.0+cu121 -f https://download.pytorch.org/whl/torch_stable.html",
    ] {
        let repository = of(text);
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let told = self::text(&repository, "Dockerfile");
        let mixed = told.contains("torch==2.4.0+cu118") && told.contains("cu121");
        assert!(!mixed, "{told}");
    }
}
