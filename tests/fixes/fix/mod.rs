//! `check --fix` and `--diff`: what is written, what is left unchanged, and what must not be written.

use crate::support::test_repository;
mod cuda_package_names;
mod dependent_packages;
mod gpu_architectures;
mod indexes;
mod shared_files;
mod unchanged_lines;

use std::fs;

use imagelint::dockerfile::Dockerfile;
use test_repository::{TestRepository, code, err, out};

/// A T4 whose driver is CUDA 11.0, and an A100 whose driver is CUDA 12.2.
const FLEET: &str = r#"[[pool]]
name = "t4"
gpu = "T4"
driver = "450.80.02"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.14.3"

[[pool]]
name = "a100"
gpu = "A100-SXM4-40GB"
driver = "535.161.08"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// What takes torch for CUDA 11.8 in the place of the build of the default index.
const PAGE: &str = "--extra-index-url https://download.pytorch.org/whl/cu118";

fn repository(files: &[(&str, &str)]) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    for (name, text) in files {
        repository.file(name, text);
    }
    repository
}

fn text(repository: &TestRepository, name: &str) -> String {
    String::from_utf8(fs::read(repository.path(name)).expect(name)).expect("UTF-8")
}

#[test]
fn a_fix_changes_only_the_value_in_its_line() {
    for (name, before, after) in [
        (
            "the word",
            "FROM python:3.11-slim\nRUN pip install  torch==2.4.0 \\\n    # kept\n    numpy\n",
            format!("FROM python:3.11-slim\nRUN pip install  torch==2.4.0+cu118 {PAGE} \\\n    # kept\n    numpy\n"),
        ),
        (
            "quotes",
            "FROM python:3.11-slim\nRUN pip install 'torch==2.4.0' && true\n",
            format!("FROM python:3.11-slim\nRUN pip install 'torch==2.4.0+cu118' {PAGE} && true\n"),
        ),
        (
            "line endings",
            "FROM python:3.11-slim\r\nRUN pip install torch==2.4.0\r\n",
            format!("FROM python:3.11-slim\r\nRUN pip install torch==2.4.0+cu118 {PAGE}\r\n"),
        ),
        (
            "no line ending",
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0",
            format!("FROM python:3.11-slim\nRUN pip install torch==2.4.0+cu118 {PAGE}"),
        ),
        (
            "the index",
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0 torchvision==0.19.0 \\\n  --index-url https://download.pytorch.org/whl/cu124\n",
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0 torchvision==0.19.0 \\\n  --index-url https://download.pytorch.org/whl/cu118\n".to_owned(),
        ),
        (
            "the argument behind the index",
            "FROM python:3.11-slim\nARG CU=cu124  # which\nRUN pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/${CU}\n",
            "FROM python:3.11-slim\nARG CU=cu118  # which\nRUN pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/${CU}\n".to_owned(),
        ),
        (
            "local versions of one command",
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0+cu124 torchvision==0.19.0+cu124 -f https://download.pytorch.org/whl/torch_stable.html\n",
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0+cu118 torchvision==0.19.0+cu118 -f https://download.pytorch.org/whl/torch_stable.html\n".to_owned(),
        ),
    ] {
        let repository = repository(&[("Dockerfile", before)]);
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), after, "{name}: {}{}", err(&done), out(&done));
        assert_eq!(code(&done), 0, "{name}: {}", out(&done));
        let again = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!((code(&again), out(&again)), (0, String::new()), "{name}");
        // A requested patch without changes is reported.
        assert!(err(&again).starts_with("nothing to change: no automatic fix available"), "{name}: {}", err(&again));
        let safe = repository.run(&["check", "--diff", "Dockerfile"]);
        assert!(err(&safe).starts_with("nothing to change: no safe fix available"), "{name}: {}", err(&safe));
        let report = repository.run(&["check", "Dockerfile"]);
        assert!(!err(&report).contains("nothing to change"), "{name}: {}", err(&report));
    }
}

#[test]
fn a_tag_from_an_arg_is_changed_in_the_arg() {
    let before = "ARG CUDA_VERSION=11.8.0\nARG OS=\"ubuntu20.04\"\nFROM nvidia/cuda:${CUDA_VERSION}-base-${OS} AS base\nFROM base\nRUN true\n";
    let repository = repository(&[("Dockerfile", before)]);
    let safe = repository.run(&["check", "--fix", "Dockerfile"]);
    assert_eq!(text(&repository, "Dockerfile"), before, "another minor of CUDA is not safe: {}", err(&safe));
    let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let after = text(&repository, "Dockerfile");
    let kept: Vec<&str> = before.lines().skip(1).collect();
    assert_eq!(after.lines().skip(1).collect::<Vec<_>>(), kept, "{}", err(&done));
    assert!(after.starts_with("ARG CUDA_VERSION=11.") && after != before, "{after}");
    assert_eq!(code(&done), 0, "{}", out(&done));
}

#[test]
fn lists_of_packages_are_changed_too() {
    let dockerfile = "FROM python:3.11-slim\nCOPY requirements.txt /r.txt\nRUN pip install -r /r.txt\n";
    let repository =
        repository(&[("Dockerfile", dockerfile), ("requirements.txt", "numpy\r\ntorch==2.4.0  # why\r\n")]);
    let done = repository.run(&["check", "--fix", "."]);
    let expected = format!("numpy\r\n{PAGE}\r\ntorch==2.4.0+cu118  # why\r\n");
    assert_eq!(text(&repository, "requirements.txt"), expected, "{}{}", err(&done), out(&done));
    assert_eq!((text(&repository, "Dockerfile").as_str(), code(&done)), (dockerfile, 0));
}

/// An index that is for one build alone has no other: it is changed with the version that names its build.
#[test]
fn an_index_of_the_old_build_is_changed_with_the_version() {
    let index = |build: &str| format!("--extra-index-url https://download.pytorch.org/whl/{build}");
    let list = |build: &str, noted: &str| {
        format!(
            "# was https://download.pytorch.org/whl/{noted}\n{}\ntorch==2.4.0+{build}  # why\nnumpy\n",
            index(build)
        )
    };
    let by_list = "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n".to_owned();
    let with_index = |build: &str| {
        format!(
            "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt {}\n",
            index(build)
        )
    };
    let command =
        |build: &str| format!("FROM python:3.11-slim\nRUN pip install torch==2.4.0+{build} {}\n", index(build));
    let argument = |build: &str| {
        format!(
            "FROM python:3.11-slim\nARG CU={build}\n\
             RUN pip install torch==2.4.0+{build} -f \"https://download.pytorch.org/whl/${{CU}}\" && \\\n  curl -O https://example.com/cu124\n"
        )
    };
    for (before, after) in [
        ([by_list.clone(), list("cu124", "cu124")], [by_list.clone(), list("cu118", "cu124")]),
        (
            [with_index("cu124"), "torch==2.4.0+cu124\n".to_owned()],
            [with_index("cu118"), "torch==2.4.0+cu118\n".to_owned()],
        ),
        ([command("cu124"), String::new()], [command("cu118"), String::new()]),
        ([argument("cu124"), String::new()], [argument("cu118"), String::new()]),
        // A page of all builds stays.
        (
            [by_list.clone(), "-f https://download.pytorch.org/whl/torch_stable.html\ntorch==2.4.0+cu124\n".to_owned()],
            [by_list.clone(), "-f https://download.pytorch.org/whl/torch_stable.html\ntorch==2.4.0+cu118\n".to_owned()],
        ),
    ] {
        let repository = repository(&[("Dockerfile", &before[0]), ("requirements.txt", &before[1])]);
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        let now = ["Dockerfile", "requirements.txt"].map(|name| text(&repository, name));
        assert_eq!(now, after, "{}{}", err(&done), out(&done));
        assert_eq!(code(&done), 0, "{}", out(&done));
    }
}

#[test]
fn a_value_keeps_its_quotes() {
    for quote in ["\"", "'", ""] {
        let before = format!(
            "FROM python:3.11-slim\nENV A=1 NVIDIA_DRIVER_CAPABILITIES={quote}graphics{quote} B=2\nRUN pip install torch==2.1.0+cu118\n"
        );
        let repository = repository(&[("Dockerfile", &before)]);
        let done = repository.run(&["check", "--fix", "--pool", "a100", "Dockerfile"]);
        let after = text(&repository, "Dockerfile");
        let expected = before.replace("graphics", "graphics,compute,utility");
        assert_eq!(after, expected, "{}{}", err(&done), out(&done));
    }
}

/// PTX carries a program to a newer GPU and not the libraries that it calls: what starts by it alone is never safe.
#[test]
fn fix_that_needs_ptx_jit_is_not_safe() {
    let before = "FROM python:3.8-slim\nRUN pip install torch==1.6.0\n";
    let repository = repository(&[("Dockerfile", before)]);
    let pool = |name: &str, gpu: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    // The builds with machine code for the one are for a newer CUDA than the other has.
    let pools = [pool("new", "A100-SXM4-40GB", "580.95.05"), pool("old", "V100-SXM2-16GB", "440.33.01")];
    repository.file("fleet.toml", &pools.concat());
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let fixes = report["subjects"][0]["findings"][0]["fixes"].as_array().expect("fixes").clone();
    let compiled = |fix: &serde_json::Value| {
        fix["title"].as_str().is_some_and(|title| title.contains("with PTX compiled at start-up"))
    };
    assert!(fixes.iter().any(|fix| compiled(fix) && fix["safety"] == "unsafe"), "{fixes:?}");
    assert!(!fixes.iter().any(|fix| compiled(fix) && fix["safety"] == "safe"), "{fixes:?}");
    let safe = repository.run(&["check", "--fix", "Dockerfile"]);
    assert_eq!(text(&repository, "Dockerfile"), before, "{}", err(&safe));
    let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(code(&done), 0, "{}", out(&done));
    assert!(text(&repository, "Dockerfile").contains("torch==1.5.1"), "{}", text(&repository, "Dockerfile"));
}

/// What is safe and does the same is written first, whatever else may be written.
#[test]
fn safe_fix_is_written_before_an_unsafe_one() {
    let before = "FROM nvidia/cuda:11.7.1-base-ubuntu22.04\n";
    let repository = repository(&[("Dockerfile", before)]);
    let desk = "[[pool]]\nname = \"desk\"\ngpu = \"GeForce RTX 3090\"\ndriver = \"470.199.02\"\n\
                platform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    repository.file("fleet.toml", desk);
    let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let expected = format!("{before}RUN rm -rf /usr/local/cuda/compat\n");
    assert_eq!((text(&repository, "Dockerfile"), code(&done)), (expected, 0), "{}", err(&done));
}

/// The library of the image and a build that the driver has, both: neither alone starts.
#[test]
fn the_compat_library_is_left_out_together_with_another_build() {
    let before =
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0\n";
    let repository = repository(&[("Dockerfile", before)]);
    let desk = "[[pool]]\nname = \"desk\"\ngpu = \"GeForce RTX 3090\"\ndriver = \"470.199.02\"\n\
                platform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    repository.file("fleet.toml", desk);
    let done = repository.run(&["check", "--fix", "Dockerfile"]);
    let expected = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN rm -rf /usr/local/cuda/compat\n";
    let expected = format!("{expected}RUN apt-get install -y python3-pip && pip install torch==2.4.0+cu118 {PAGE}\n");
    assert_eq!((text(&repository, "Dockerfile"), code(&done)), (expected, 0), "{}", err(&done));
}

#[test]
fn a_variable_is_set_behind_the_last_from() {
    let fleet = "[[pool]]\nname = \"a\"\ngpu = \"A100-SXM4-40GB\"\ndriver = \"550.54.15\"\nplatform = \"linux/amd64\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\n";
    let repository =
        repository(&[("Dockerfile", "FROM python:3.11-slim AS one\r\nFROM one\r\nRUN pip install torch==2.4.0\r\n")]);
    repository.file("fleet.toml", fleet);
    let done = repository.run(&["check", "--fix", "Dockerfile"]);
    let after = text(&repository, "Dockerfile");
    assert!(after.starts_with("FROM python:3.11-slim AS one\r\nFROM one\r\nENV NVIDIA_VISIBLE_DEVICES=all"), "{after}");
    assert!(after.ends_with("\r\nRUN pip install torch==2.4.0\r\n"), "{after}");
    assert_eq!(code(&done), 0, "{}", out(&done));
}

#[test]
fn diff_shows_the_fix_and_writes_nothing() {
    let before = "FROM python:3.11-slim\nRUN pip install torch==2.4.0\n";
    for arguments in [&["check", "--diff", "."][..], &["check", "--fix", "--dry-run", "."]] {
        let repository = repository(&[("Dockerfile", before)]);
        let done = repository.run(arguments);
        assert_eq!((code(&done), text(&repository, "Dockerfile").as_str()), (1, before));
        let expected = format!(
            "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1,2 +1,2 @@\n FROM python:3.11-slim\n-RUN pip install torch==2.4.0\n+RUN pip install torch==2.4.0+cu118 {PAGE}\n"
        );
        assert_eq!(out(&done), expected);
    }
    let repository = repository(&[("Dockerfile", "FROM python:3.11-slim\nRUN pip install torch==2.4.0+cu118\n")]);
    let done = repository.run(&["check", "--diff", "."]);
    assert_eq!((code(&done), out(&done)), (0, String::new()), "nothing fails");
    assert_eq!(code(&repository.run(&["check", "--dry-run", "."])), 2, "--dry-run is a way of --fix");
}

#[test]
fn a_patch_has_the_changes_of_every_target() {
    let before = "FROM python:3.11-slim AS train\nRUN pip install torch==2.4.0\nFROM python:3.11-slim AS serve\nRUN pip install torch==2.5.0\nFROM python:3.11-slim AS docs\nRUN pip install sphinx\n";
    let after = before
        .replace("==2.4.0", &format!("==2.4.0+cu118 {PAGE}"))
        .replace("==2.5.0", &format!("==2.5.0+cu118 {PAGE}"));
    let repository = repository(&[("Dockerfile", before)]);
    let done = repository.run(&["check", "--diff", "--all-targets", "Dockerfile"]);
    let lines = |sign: char| out(&done).lines().filter(|line| line.starts_with(sign)).count();
    assert_eq!((lines('-'), lines('+')), (3, 3), "two lines and the head: {}{}", out(&done), err(&done));
    assert_eq!(text(&repository, "Dockerfile"), before);
    repository.run(&["check", "--fix", "--all-targets", "Dockerfile"]);
    assert_eq!(text(&repository, "Dockerfile"), after);
    let again = repository.run(&["check", "--diff", "--unsafe-fixes", "--all-targets", "Dockerfile"]);
    assert_eq!((code(&again), out(&again)), (0, String::new()));
}

#[test]
fn standard_input_is_no_file_to_write_to() {
    let repository = repository(&[("Dockerfile", "FROM scratch\n")]);
    let dockerfile = "FROM python:3.11-slim\nRUN pip install torch==2.4.0\n";
    let mut command = repository.command(&["check", "--fix", "--stdin-filename", "Dockerfile", "-"]);
    let done = command.write_stdin(dockerfile).output().expect("a run");
    assert_eq!((code(&done), text(&repository, "Dockerfile").as_str()), (2, "FROM scratch\n"));
    let mut command = repository.command(&["check", "--diff", "--stdin-filename", "Dockerfile", "-"]);
    let done = command.write_stdin(dockerfile).output().expect("a run");
    assert!(out(&done).contains("+RUN pip install torch==2.4.0+cu118"), "{}", out(&done));
}

#[test]
fn dockerfile_and_requirements_outside_its_directory_change_together() {
    let dockerfile = "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";
    let written = || repository(&[("docker/Dockerfile", dockerfile), ("requirements.txt", "torch==2.4.0\n")]);
    let below = written();
    let done = below.run(&["check", "--fix", "docker/Dockerfile"]);
    assert!(text(&below, "requirements.txt").contains("torch==2.4.0+cu118"), "{}", err(&done));
    let again = below.run(&["check", "--diff", "--unsafe-fixes", "docker/Dockerfile"]);
    assert_eq!((code(&again), out(&again)), (0, String::new()), "{}", err(&again));
    // In another working directory, the parent folder was not named.
    let other = written();
    let named = other.path("docker/Dockerfile").display().to_string();
    let done = other.run(&["check", "--fix", &named]);
    assert!(err(&done).contains("requirements.txt is not changed: it is outside"), "{}", err(&done));
    assert_eq!(text(&other, "requirements.txt"), "torch==2.4.0\n");
    assert_eq!(text(&other, "docker/Dockerfile"), dockerfile);
}

#[cfg(unix)]
#[test]
fn no_file_outside_the_named_directories_is_written() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let before = "FROM python:3.11-slim\nRUN pip install torch==2.4.0\n";
    let repository = repository(&[("other/Dockerfile", before), ("own/keep", "")]);
    symlink(repository.path("other/Dockerfile"), repository.path("own/Dockerfile")).expect("a link");
    let done = repository.run(&["check", "--fix", "own/Dockerfile"]);
    assert_eq!(text(&repository, "other/Dockerfile"), before, "{}", err(&done));
    assert!(err(&done).contains("outside the directories"), "{}", err(&done));
    assert_eq!(code(&done), 1, "it still fails");
    repository.file("own/Dockerfile.mine", before);
    let mode = |mode| fs::set_permissions(repository.path("own/Dockerfile.mine"), fs::Permissions::from_mode(mode));
    mode(0o640).expect("a mode");
    repository.run(&["check", "--fix", "own/Dockerfile.mine"]);
    assert!(text(&repository, "own/Dockerfile.mine").contains("+cu118"));
    let now = fs::metadata(repository.path("own/Dockerfile.mine")).expect("there").permissions().mode();
    assert_eq!(now & 0o777, 0o640, "the mode is kept");
    let left: Vec<_> =
        fs::read_dir(repository.path("own")).expect("a folder").map(|one| one.expect("a file").file_name()).collect();
    assert_eq!(left.len(), 3, "nothing is left beside it: {left:?}");
}

#[test]
fn a_base_image_with_dependent_lines_is_a_manual_change() {
    for (name, before) in [
        (
            "another operating system",
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3.10\n",
        ),
        (
            "another CUDA major, for which other stages build",
            "FROM nvidia/cuda:12.4.1-devel-ubuntu20.04 AS build\nRUN make\nFROM nvidia/cuda:12.4.1-base-ubuntu20.04\nCOPY --from=build /app /app\n",
        ),
        (
            "a tag that another stage would have and that does not exist",
            "ARG TAG=11.8.0\nFROM nvidia/cuda:${TAG}-cudnn9-devel-ubuntu20.04 AS build\nRUN make\nFROM nvidia/cuda:${TAG}-base-ubuntu20.04\nCOPY --from=build /app /app\n",
        ),
        (
            "a package for the torch that goes",
            "FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime\nRUN pip install k2==1.24.4+cuda12.1.torch2.3.0\n",
        ),
        ("many releases back", "FROM pytorch/pytorch:2.10.0-cuda12.6-cudnn9-runtime\nRUN pip install numpy\n"),
    ] {
        let repository = repository(&[("Dockerfile", before)]);
        let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!((text(&repository, "Dockerfile").as_str(), code(&done)), (before, 1), "{name}: {}", err(&done));
        let told = repository.run(&["check", "--show-fixes", "--color", "never", "Dockerfile"]);
        assert!(out(&told).contains("= fix: "), "{name}: {}", out(&told));
    }
}

#[test]
fn stages_sharing_one_build_argument_change_together() {
    let before = "ARG TAG=11.8.0\nFROM nvidia/cuda:${TAG}-devel-ubuntu20.04 AS build\nRUN make\nFROM nvidia/cuda:${TAG}-base-ubuntu20.04\nCOPY --from=build /app /app\n";
    let repository = repository(&[("Dockerfile", before)]);
    let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let after = text(&repository, "Dockerfile");
    assert!(after.starts_with("ARG TAG=11.") && after != before, "{after}{}", err(&done));
    assert_eq!(after.lines().skip(1).collect::<Vec<_>>(), before.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(code(&done), 0, "{}", out(&done));
}

#[test]
fn torch_build_required_by_another_wheel_is_unchanged() {
    let wheel = |tag: &str| {
        format!(
            "FROM python:3.11-slim\nRUN pip install torch==2.4.0\nRUN pip install causal-conv1d==1.4.0+{tag}torch2.4\n"
        )
    };
    for (tag, changes) in [("cu12", false), ("cu11", true)] {
        let before = wheel(tag);
        let repository = repository(&[("Dockerfile", &before)]);
        let done = repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let after = text(&repository, "Dockerfile");
        assert_eq!(after.contains("torch==2.4.0+cu118"), changes, "{after}{}", err(&done));
        assert_eq!(after == before, !changes, "{after}");
    }
}

/// Dockerfiles in which an edit can go wrong.
const AWKWARD: &[&str] = &[
    "# syntax=docker/dockerfile:1\nFROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN <<EOF\npip install torch==2.4.0\nEOF\nCMD [\"a\"]\n",
    "FROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN [\"pip\", \"install\", \"torch==2.4.0\"]\nCMD a\n",
    "# escape=`\nFROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN pip install `\n  torch==2.4.0 `\n  numpy\n",
    "from nvidia/cuda:12.4.1-base-ubuntu20.04 as a\nfrom a\nrun pip install torch==2.4.0; true # x\n",
    "FROM python:3.11-slim\nARG T=2.4.0\nARG P=torch==${T}\nRUN pip install $P\n",
    "FROM python:3.11-slim\nENV T=2.4.0 U=\"x y\"\nRUN pip install \"torch==$T\" && echo $T\n",
    "FROM python:3.11-slim\nCOPY <<E /r.txt\ntorch==2.4.0\nE\nRUN pip install -r /r.txt\n",
    "FROM python:3.11-slim\nRUN (pip install torch==2.4.0) || exit 1\n",
    "FROM python:3.11-slim\nRUN for p in torch==2.4.0 numpy; do pip install $p; done\n",
    "FROM nvidia/cuda:12.4.1-base-ubuntu20.04@sha256:0000000000000000000000000000000000000000000000000000000000000000\nRUN true\n",
    "FROM nvidia/cuda:12.4.1-base-ubuntu20.04\nONBUILD RUN pip install torch==2.4.0\nRUN true\n",
    "FROM --platform=linux/amd64 nvidia/cuda:12.4.1-base-ubuntu20.04\nENV NVIDIA_REQUIRE_CUDA cuda>=12.4\nRUN true\n",
    "FROM nvidia/cuda:12.4.1-base-ubuntu20.04\nRUN apt-get install -y \\\n # c\n libnvidia-compute-525 \\\n curl\nENV A=1 \\\n B=2\n",
];

#[test]
fn unusual_line_endings_and_encodings_are_kept() {
    for before in AWKWARD {
        let repository = repository(&[("Dockerfile", before)]);
        let done = repository.run(&["check", "--fix", "--unsafe-fixes", "--fail-on", "never", "Dockerfile"]);
        assert_eq!(code(&done), 0, "{before}: {}", err(&done));
        let after = text(&repository, "Dockerfile");
        let (old, new) = (Dockerfile::parse(before), Dockerfile::parse(&after));
        let kinds = |file: &Dockerfile| file.instructions.iter().map(|one| one.kind.clone()).collect::<Vec<_>>();
        let mut added = kinds(&new);
        for kind in kinds(&old) {
            let at = added.iter().position(|one| *one == kind);
            added.remove(at.unwrap_or_else(|| panic!("{} is gone: {after}", kind.keyword())));
        }
        assert!(added.len() <= 2, "{after}");
        assert_eq!(new.problems.len(), old.problems.len(), "{after}");
        let again = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(out(&again), "", "something was left: {before}\n{after}");
    }
}
