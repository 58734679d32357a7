//! Which torch a Dockerfile ends up with: version and build, or that it cannot be told.

use crate::support::place;
mod bounds;
mod companions;
mod environments;
mod indexes;
mod scopes;
mod unknown;
mod unread;

use imagelint::dockerfile::context::ContextFiles;
use imagelint::dockerfile::{Dockerfile, EvaluateOptions};
use imagelint::extract;
use imagelint::infer::infer_image_facts;
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::{FactKey, ValueState};
use imagelint::text::source::{SourceText, Sources};
use jiff::civil::{Date, date};
use place::Place;

/// `version variant` of torch; `?` for what cannot be told, `-` for what is not there.
fn torch(text: &str, platform: &str, as_of: Option<Date>) -> String {
    let dockerfile = Dockerfile::parse(text);
    let source = Sources::default().add(SourceText::new("Dockerfile", text));
    let options = EvaluateOptions { platform: platform.to_owned(), ..EvaluateOptions::new(Knowledge::built_in()) };
    let target = extract::observe_dockerfile(source, &dockerfile, &options, &ContextFiles::default()).expect("a stage");
    let images = infer_image_facts(&target.seen, platform, as_of, Knowledge::built_in());
    let image = images.first().expect("a build");
    let component = image.components.iter().find(|component| component.name == "torch");
    let Some(component) = component else { return "-".to_owned() };
    let last = |key: FactKey| {
        let entries =
            image.facts.iter().filter(|(_, entry)| entry.key == key && entry.subject.as_deref() == Some("torch"));
        match entries.last().map(|(_, entry)| entry.state.clone()) {
            Some(ValueState::Known(value)) => value.to_string(),
            Some(ValueState::Unknown(_)) => "?".to_owned(),
            Some(ValueState::Absent { .. }) | None => "-".to_owned(),
        }
    };
    let cuda = match &component.cuda.state {
        ValueState::Known(cuda) => cuda.to_string(),
        ValueState::Absent { .. } => "none".to_owned(),
        ValueState::Unknown(_) => "?".to_owned(),
    };
    format!("{} {cuda}", last(FactKey::ComponentVersion))
}

const WHL: &str = "https://download.pytorch.org/whl";
const PY311: &str = "FROM python:3.11-slim\n";
const PYTORCH: &str = "FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime\n";

fn check(cases: &[(String, &str)], platform: &str) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, expected)| {
            let said = torch(text, platform, None);
            (said != *expected).then(|| format!("{text}\n  expected {expected}, said {said}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_index_and_a_version_decide_the_build() {
    check(
        &[
            (format!("{PY311}RUN pip install torch==2.4.0"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install torch==2.4"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install torch==2.4.0+cu118"), "2.4.0 11.8"),
            (format!("{PY311}RUN pip install torch==2.4.0 --index-url {WHL}/cu124"), "2.4.0 12.4"),
            (format!("{PY311}RUN pip install torch==2.4.0 --extra-index-url {WHL}/cu124"), "2.4.0 12.4"),
            // There is no such build of 2.4.0: the default index gives its own.
            (format!("{PY311}RUN pip install torch==2.4.0 --extra-index-url {WHL}/cu111"), "2.4.0 12.1"),
            (format!("{PY311}ENV PIP_EXTRA_INDEX_URL={WHL}/cu118\nRUN pip install torch==2.4.0"), "2.4.0 11.8"),
            (
                format!("{PY311}RUN pip config set global.index-url {WHL}/cu118\nRUN pip install torch==2.4.0"),
                "2.4.0 11.8",
            ),
            (format!("{PY311}RUN pip install torch==2.4.0 --index-url {WHL}/cpu"), "2.4.0 none"),
            (format!("{PY311}RUN pip install torch==2.4.0 -i https://pypi.tuna.tsinghua.edu.cn/simple"), "2.4.0 12.1"),
            (
                format!("{PY311}RUN pip install {WHL}/cu118/torch-2.4.0%2Bcu118-cp311-cp311-linux_x86_64.whl"),
                "2.4.0 11.8",
            ),
            (format!("{PY311}RUN pip install torch==1.13.1 -f {WHL}/torch_stable.html"), "1.13.1 ?"),
            (format!("{PY311}RUN uv pip install torch==2.7.1 --torch-backend=auto"), "2.7.1 ?"),
            (format!("{PY311}RUN uv pip install torch==2.7.1 --torch-backend=cu118"), "2.7.1 11.8"),
        ],
        "linux/amd64",
    );
}

#[test]
fn without_a_pin_the_newest_that_fits_is_taken() {
    check(
        &[
            (format!("{PY311}RUN pip install torch"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install 'torch<2.5'"), "2.4.1 12.1"),
            (format!("{PY311}RUN pip install 'torch~=2.5.0'"), "2.5.1 12.4"),
            ("FROM python:3.8-slim\nRUN pip install torch".to_owned(), "2.4.1 12.1"),
            ("FROM python:3.10-slim\nRUN pip install torch".to_owned(), "2.14.1 13.0"),
            ("FROM nvidia/cuda:12.4.1-runtime-ubuntu20.04\nRUN pip install torch".to_owned(), "2.4.1 12.1"),
            (
                "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch torchvision".to_owned(),
                "2.14.1 13.0",
            ),
            // pip takes the best version of all indexes, uv the first index that has the package.
            (format!("{PY311}RUN pip install torch --extra-index-url {WHL}/cu118"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install 'torch<2.5' --extra-index-url {WHL}/cu118"), "2.4.1 11.8"),
            (format!("{PY311}RUN pip install torch --index-url {WHL}/cu118"), "2.7.1 11.8"),
            (format!("{PY311}RUN uv pip install torch --extra-index-url {WHL}/cu118"), "2.7.1 11.8"),
            // What a package brings along comes from the same indexes.
            (format!("{PY311}RUN pip install accelerate --index-url {WHL}/cu121"), "2.5.1 12.1"),
        ],
        "linux/amd64",
    );
}

/// What is run in an image of Python 3.8.
fn py38(run: &str) -> String {
    format!("FROM python:3.8-slim\nRUN {run}")
}

/// An image without a Python of its own.
const JAMMY: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";

#[test]
fn without_the_python_the_newest_cannot_be_told_unless_all_agree() {
    check(
        &[
            ("FROM nvidia/cuda:12.4.1-runtime-ubuntu20.04\nRUN apt-get install -y python3.11\nRUN pip install torch".to_owned(), "? ?"),
            ("FROM nvidia/cuda:12.4.1-runtime-ubuntu20.04\nRUN apt-get install -y python3.11\nRUN python3.11 -m pip install torch".to_owned(), "2.15.0 13.2"),
            ("FROM ubuntu:22.04\nRUN bash Miniconda3-latest-Linux-x86_64.sh -b && pip install torch".to_owned(), "? ?"),
            ("FROM ubuntu:22.04\nRUN conda create -n x python=3.9 && pip install torch".to_owned(), "2.8.0 12.8"),
            ("FROM continuumio/miniconda3\nRUN pip install torch".to_owned(), "? ?"),
            ("FROM continuumio/miniconda3\nRUN pip install 'torch>=2.1,<2.5'".to_owned(), "2.4.1 12.1"),
            ("FROM ubuntu:22.04\nRUN uv venv --python 3.9 && uv pip install torch".to_owned(), "2.8.0 12.8"),
            ("FROM ubuntu:22.04\nRUN uv venv && uv pip install torch".to_owned(), "? ?"),
            // It takes the one that is there, unless it is told another or another was brought.
            (py38("uv venv && uv pip install torch"), "2.4.1 12.1"),
            (py38("uv venv /opt/v && . /opt/v/bin/activate && uv pip install torch"), "2.4.1 12.1"),
            (format!("{JAMMY}RUN apt-get install -y python3-pip && uv venv && uv pip install torch"), "2.14.1 13.0"),
            (format!("{JAMMY}RUN apt-get install -y curl && uv venv && uv pip install torch"), "? ?"),
            (format!("{JAMMY}RUN apt-get install -y python3.11 && uv venv && uv pip install torch"), "? ?"),
            (py38("uv python install 3.12 && uv venv && uv pip install torch"), "? ?"),
            (py38("uv venv --managed-python && uv pip install torch"), "? ?"),
            (py38("uv venv --python-preference only-managed && uv pip install torch"), "? ?"),
            (py38("uv venv --python 3.9 && uv pip install torch"), "2.8.0 12.8"),
            (py38("echo 3.9 > .python-version && uv venv && uv pip install torch"), "? ?"),
            (py38("echo > pyproject.toml && uv venv && uv pip install torch"), "? ?"),
            ("FROM python:3.8-slim\nENV UV_PYTHON=3.12\nRUN uv venv && uv pip install torch".to_owned(), "? ?"),
            ("FROM python:3.8-slim\nENV PATH=/x/bin:$PATH\nRUN uv venv && uv pip install torch".to_owned(), "? ?"),
        ],
        "linux/amd64",
    );
}

/// An environment that uv made has no pip: the image's own pip is run, and what the base has counts.
#[test]
fn the_pip_of_the_image_installs_beside_an_environment_of_uv() {
    let base = "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime\n";
    let on = |rest: &str| format!("{base}{rest}");
    check(
        &[
            (on("RUN pip install 'torch>=2.0' accelerate"), "2.1.0 11.8.0"),
            (on("RUN uv venv /v && . /v/bin/activate && pip install 'torch>=2.0'"), "2.1.0 11.8.0"),
            (on("ENV PATH=/v/bin:$PATH\nRUN uv venv /v && pip install 'torch>=2.0'"), "2.1.0 11.8.0"),
            (on("RUN uv venv /v && . /v/bin/activate && pip install torch==2.4.1"), "2.4.1 12.1"),
            // Into the environment, of which the base image's torch is no part.
            (on("RUN uv venv --seed /v && . /v/bin/activate && pip install 'torch>=2.0,<2.3'"), "2.2.2 12.1"),
            (on("RUN uv venv /v && . /v/bin/activate && uv pip install 'torch>=2.0,<2.3'"), "2.2.2 12.1"),
            (
                on("RUN uv venv /v && . /v/bin/activate && uv pip install pip && pip install 'torch>=2.0,<2.3'"),
                "2.2.2 12.1",
            ),
            (on("RUN uv venv /v && . /v/bin/activate && python -m pip install 'torch>=2.0,<2.3'"), "2.2.2 12.1"),
            (
                on("ENV UV_VENV_SEED=1\nRUN uv venv /v && . /v/bin/activate && pip install 'torch>=2.0,<2.3'"),
                "2.2.2 12.1",
            ),
        ],
        "linux/amd64",
    );
}

#[test]
fn later_commands_keep_replace_or_remove() {
    let first = format!("{PY311}RUN pip install torch==2.1.0 --index-url {WHL}/cu118\n");
    check(
        &[
            (format!("{first}RUN pip install torch"), "2.1.0 11.8"),
            (format!("{first}RUN pip install 'torch>=2.0' numpy"), "2.1.0 11.8"),
            (format!("{first}RUN pip install accelerate peft"), "2.1.0 11.8"),
            (format!("{first}RUN pip install -U torch"), "2.15.0 13.2"),
            (format!("{first}RUN pip install 'torch>=2.4,<2.5'"), "2.4.1 12.1"),
            (format!("{first}RUN pip install torch==2.1.0+cu121"), "2.1.0 12.1"),
            (format!("{first}RUN pip install vllm==0.6.6.post1"), "2.5.1 12.4"),
            (format!("{first}RUN pip install torchvision==0.16.0"), "2.1.0 11.8"),
            (format!("{first}RUN pip install torchvision==0.19.1"), "2.4.1 12.1"),
            (format!("{first}RUN pip uninstall -y torch"), "-"),
            (format!("{first}RUN pip install torch==$NOPE"), "? ?"),
            (format!("{first}RUN if [ -n \"$X\" ]; then pip install torch==2.4.0; fi"), "? ?"),
            (format!("{first}RUN if [ -n \"$X\" ]; then pip install torch; fi"), "2.1.0 11.8"),
        ],
        "linux/amd64",
    );
}

#[test]
fn pins_of_others_bring_their_torch() {
    check(
        &[
            (format!("{PY311}RUN pip install vllm==0.6.6.post1"), "2.5.1 12.4"),
            (format!("{PY311}RUN pip install torchvision==0.19.1 --index-url {WHL}/cu118"), "2.4.1 11.8"),
            (format!("{PY311}RUN pip install torch torchvision==0.19.1"), "2.4.1 12.1"),
            (format!("{PY311}RUN pip install accelerate"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install vllm"), "2.14.0 13.0"),
            (format!("{PY311}RUN pip install vllm==$NOWHERE"), "? ?"),
            // What other packages ask of torch, by their own version; a range below the newest takes its newest.
            (format!("{PY311}RUN pip install torchaudio==2.9.0"), "2.9.0 12.8"),
            (format!("{PY311}RUN pip install torchvision==0.19.1"), "2.4.1 12.1"),
            (format!("{PY311}RUN pip install 'torchvision<0.20'"), "2.4.1 12.1"),
            (format!("{PY311}RUN pip install torch torchvision==0.19.1"), "2.4.1 12.1"),
            // That release asks for none, and runs on whichever is there.
            (format!("{PY311}RUN pip install torchaudio==2.11.0"), "-"),
            (format!("{PY311}RUN pip install torch==2.11.0 torchaudio==2.11.0"), "2.11.0 13.0"),
            (format!("{PY311}RUN pip install torch==2.9.0 torchaudio==2.11.0"), "2.9.0 12.8"),
            // No wheel of the torch that they ask for is for this Python.
            (format!("{PY311}RUN pip install torchaudio==0.10.2"), "? ?"),
            (format!("{PY311}RUN pip install torchvision==0.11.3"), "? ?"),
            (format!("{PY311}RUN pip install torchvision==0.0.1"), "? ?"),
            (format!("{PY311}RUN pip install torchvision==99.0"), "? ?"),
            (format!("{PY311}RUN pip install vllm==0.0.1"), "? ?"),
            (format!("{PY311}RUN pip install torch==2.4.0 vllm"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install numpy flask"), "-"),
        ],
        "linux/amd64",
    );
}

#[test]
fn no_wheel_is_for_another_c_library() {
    check(
        &[
            ("FROM alpine:3.20\nRUN pip install torch==2.4.1".to_owned(), "? ?"),
            (format!("FROM python:3.11-alpine\nRUN pip install torch --index-url {WHL}/cu118"), "? ?"),
            ("FROM python:3.11-alpine3.19\nRUN pip install torchvision==0.19.1".to_owned(), "? ?"),
            ("FROM python:3.11-alpine\nRUN pip install flask".to_owned(), "-"),
            ("FROM python:3.11\nRUN pip install torch==2.4.1".to_owned(), "2.4.1 12.1"),
            ("FROM fedora:40\nRUN pip install torch==2.4.1".to_owned(), "2.4.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_the_base_has_is_kept_where_it_will_do() {
    check(
        &[
            (format!("{PYTORCH}RUN pip install torch"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install torchvision transformers"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install torch==2.4.0"), "2.4.0 12.1.1"),
            (format!("{PYTORCH}RUN pip install vllm==0.6.6.post1"), "2.5.1 12.4"),
            (format!("{PYTORCH}RUN pip uninstall -y torch"), "-"),
            ("FROM registry.example.com/ml/base:7\nRUN pip install torch".to_owned(), "? ?"),
            ("FROM registry.example.com/ml/base:7\nRUN pip install torch==2.4.0".to_owned(), "2.4.0 12.1"),
            ("FROM registry.example.com/ml/base:7\nRUN pip install flask".to_owned(), "-"),
        ],
        "linux/amd64",
    );
}

#[test]
fn conda_s_build_is_named_by_others_or_not_at_all() {
    check(
        &[
            (
                "FROM continuumio/miniconda3\nRUN conda install pytorch==2.1.2 pytorch-cuda=12.1 -c pytorch -c nvidia"
                    .to_owned(),
                "2.1.2 12.1",
            ),
            (
                "FROM continuumio/miniconda3\nRUN conda install pytorch=2.1 pytorch-cuda=11.8 -c pytorch".to_owned(),
                "2.1.2 11.8",
            ),
            (
                "FROM continuumio/miniconda3\nRUN conda install pytorch==1.12.1 cudatoolkit=11.3 -c pytorch".to_owned(),
                "1.12.1 11.3",
            ),
            (
                "FROM continuumio/miniconda3\nRUN conda install pytorch==2.1.2 cpuonly -c pytorch".to_owned(),
                "2.1.2 none",
            ),
            ("FROM continuumio/miniconda3\nRUN conda install pytorch==2.1.2".to_owned(), "2.1.2 ?"),
            ("FROM condaforge/miniforge3\nRUN mamba install -y pytorch-gpu=2.4.0".to_owned(), "2.4.0 ?"),
            (
                "FROM condaforge/miniforge3\nRUN mamba install -y pytorch-gpu=2.4.0 cuda-version=12.4".to_owned(),
                "2.4.0 12.4",
            ),
            ("FROM condaforge/miniforge3\nRUN mamba install -y pytorch-cpu=2.4.0".to_owned(), "2.4.0 none"),
            ("FROM continuumio/miniconda3\nRUN conda install pytorch".to_owned(), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn another_platform_has_other_builds() {
    check(
        &[
            (format!("{PY311}RUN pip install torch==2.4.0"), "2.4.0 none"),
            (format!("{PY311}RUN pip install torch"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install 'torch<2.11'"), "2.10.0 none"),
        ],
        "linux/arm64",
    );
}

#[test]
fn a_day_before_a_release_cannot_have_it() {
    let text = format!("{PY311}RUN pip install torch");
    let said = torch(&text, "linux/amd64", Some(date(2024, 1, 1)));
    assert!(!said.starts_with("2.15.0"), "{said}");
    assert_eq!(
        torch(&format!("{PY311}RUN pip install torch==2.4.0"), "linux/amd64", Some(date(2024, 9, 1))),
        "2.4.0 12.1"
    );
}

#[test]
fn where_python_is_not_known_candidates_that_agree_decide() {
    let text = "FROM ubuntu:22.04\nRUN bash Miniconda3-latest-Linux-x86_64.sh -b && pip install torch";
    let on = |platform: &str, day: Date| torch(text, platform, Some(day));
    // No default wheel for arm64 had CUDA before 2.11.0.
    assert_eq!(on("linux/arm64", date(2025, 4, 1)), "? none");
    assert_eq!(on("linux/arm64", date(2026, 4, 1)), "? ?");
    assert_eq!(on("linux/amd64", date(2025, 4, 1)), "? ?");
    // On one day every Python that has a wheel at all gets the same CUDA, if not the same release.
    assert_eq!(on("linux/amd64", date(2019, 8, 1)), "1.1.0 9.0");
    let cpu = format!("{text} --index-url {WHL}/cpu");
    assert_eq!(torch(&cpu, "linux/amd64", None), "? none");
    let unread = format!("{text} -f {WHL}/torch_stable.html");
    assert_eq!(torch(&unread, "linux/arm64", Some(date(2025, 4, 1))), "? ?");
}

#[test]
fn releases_before_1_4_have_their_builds() {
    let py37 = "FROM python:3.7-slim\n";
    check(
        &[
            (format!("{py37}RUN pip install torch==1.0.0"), "1.0.0 9.0"),
            (format!("{py37}RUN pip install torch==1.1.0"), "1.1.0 9.0"),
            (format!("{py37}RUN pip install torch==1.2.0"), "1.2.0 10.0"),
            (format!("{py37}RUN pip install torch==1.2.0+cu92"), "1.2.0 9.2"),
            (format!("{py37}RUN pip install torch==1.3.1"), "1.3.1 10.1"),
            (format!("{py37}RUN pip install 'torch<1.3'"), "1.2.0 10.0"),
            (format!("{py37}RUN pip install torch==0.4.1"), "0.4.1 ?"),
            (format!("{py37}RUN pip install torch==1.3.9"), "1.3.9 ?"),
        ],
        "linux/amd64",
    );
    // There was no wheel for arm64.
    check(&[(format!("{py37}RUN pip install torch==1.3.1"), "1.3.1 ?")], "linux/arm64");
}

/// Of one that pip and one that conda installed nobody can tell which Python imports, unless the runtime says it.
#[test]
fn of_two_torches_the_stated_runtime_tells_which_is_imported() {
    let end = |lines: &str| {
        let place = Place::bare();
        place.file(
            "fleet.toml",
            "[[pool]]\nname = \"t4\"\ngpu = \"Tesla T4\"\ndriver = \"410.104\"\nlaunch = \"native\"\n",
        );
        place.file("two.image.toml", lines);
        let report = place.json(&["check", "two.image.toml"]);
        let verdicts = report["subjects"][0]["verdicts"].as_array().cloned().unwrap_or_default();
        let one = verdicts.iter().find(|one| one["component"] == "torch").cloned().unwrap_or_default();
        let end = if one["outcome"].is_null() { &one["fate"] } else { &one["outcome"] };
        end.as_str().unwrap_or_default().to_owned()
    };
    let packages = |pip: &str, conda: &str| {
        format!("[packages.pip]\ntorch = \"{pip}\"\n[packages.conda]\npytorch = \"{conda}\"\n")
    };
    for (runtime, pip, conda, expected) in [
        // The driver is good for CUDA 10.0.
        ("cuda_runtime = \"10.1.243\"\n", "1.2.0", "1.3.0+cu101", "insufficient-driver"),
        ("cuda_runtime = \"10.0.130\"\n", "1.2.0", "1.3.0+cu101", "starts"),
        ("", "1.2.0", "1.3.0+cu101", "undetermined"),
        ("cuda_runtime = \"9.2\"\n", "1.2.0", "1.3.0+cu101", "undetermined"),
        ("cuda_runtime = \"10.1.243\"\n", "1.4.0+cu101", "1.3.0+cu101", "insufficient-driver"),
        ("", "1.3.0", "1.3.0+cu101", "insufficient-driver"),
        ("", "1.3.0", "1.3.0+cu92", "starts"),
        ("", "1.4.0+cu101", "1.3.0+cu101", "insufficient-driver"),
    ] {
        assert_eq!(end(&format!("{runtime}{}", packages(pip, conda))), expected, "{runtime} {pip} {conda}");
    }
}

/// What a base that nobody has read holds already stays, of whatever index the command names.
#[test]
fn an_index_tells_no_build_where_the_base_may_hold_one() {
    let unread = |install: &str| format!("FROM mycorp/base-cuda:1.0\nRUN pip install {install}");
    check(
        &[
            (unread(&format!("--index-url {WHL}/cpu torch")), "? ?"),
            (unread(&format!("--index-url {WHL}/cu118 torch")), "? ?"),
            (unread(&format!("--index-url {WHL}/cu118 'torch>=2.1'")), "? ?"),
            (unread("torch==2.4.0+cpu"), "2.4.0 none"),
            (unread(&format!("torch==2.4.0 --index-url {WHL}/cu118")), "2.4.0 11.8"),
            (format!("{PY311}RUN pip install --index-url {WHL}/cpu 'torch<2.5'"), "2.4.1 none"),
        ],
        "linux/amd64",
    );
}

/// An index of one CUDA need not have a release for every platform, and the tables say for which it has.
#[test]
fn an_index_without_a_row_for_the_platform_tells_nothing() {
    let of = |torch: &str, index: &str| format!("{PY311}RUN pip install torch=={torch} --index-url {WHL}/{index}\n");
    check(
        &[
            (of("2.5.1", "cu124"), "2.5.1 12.4"),
            (of("2.5.1", "cu121"), "2.5.1 ?"),
            (of("2.5.1", "cu118"), "2.5.1 ?"),
            (of("2.3.1", "cu121"), "2.3.1 none"),
            (of("2.5.1", "cpu"), "2.5.1 none"),
        ],
        "linux/arm64",
    );
    // A wheel whose version names no build is not found by one, and beside the default index the wheel of that is taken.
    let run = |install: &str| format!("{PY311}RUN pip install {install}\n");
    check(
        &[
            (run(&format!("torch==2.5.1+cu124 --index-url {WHL}/cu124")), "2.5.1 ?"),
            (run(&format!("torch==2.4.0+cu124 --extra-index-url {WHL}/cu124")), "2.4.0 ?"),
            (run(&format!("torch==2.5.1 --extra-index-url {WHL}/cu124")), "2.5.1 none"),
            (run(&format!("'torch<2.6' --extra-index-url {WHL}/cu124")), "2.5.1 none"),
            (run(&format!("'torch<2.6' --index-url {WHL}/cu124")), "2.5.1 12.4"),
            (run(&format!("torch==2.6.0+cu126 --extra-index-url {WHL}/cu126")), "2.6.0 12.6"),
            (run(&format!("torch==2.6.0 --extra-index-url {WHL}/cu126")), "2.6.0 12.6"),
        ],
        "linux/arm64",
    );
    check(
        &[
            (run(&format!("torch==2.5.1+cu124 --index-url {WHL}/cu124")), "2.5.1 12.4"),
            (run(&format!("torch==2.5.1 --extra-index-url {WHL}/cu124")), "2.5.1 12.4"),
        ],
        "linux/amd64",
    );
    check(&[(of("2.5.1", "cu121"), "2.5.1 12.1"), (of("2.5.1", "cu118"), "2.5.1 11.8")], "linux/amd64");
}

/// A package with a library for each of several CUDA versions may have dropped the one that is asked for.
#[test]
fn a_package_newer_than_the_tables_is_not_taken_to_fit_its_torch() {
    for (version, expected) in [("0.45.0", "starts"), ("99.0", "undetermined")] {
        let place = Place::bare();
        place.file(
            "fleet.toml",
            "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"550.90.07\"\nplatform = \"linux/amd64\"\n\
                launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n",
        );
        place.file(
            "Dockerfile",
            &format!(
                "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install torch==2.4.0 bitsandbytes=={version}\n"
            ),
        );
        let report = place.json(&["check", "Dockerfile"]);
        let verdicts = report["subjects"][0]["verdicts"].as_array().cloned().unwrap_or_default();
        let own = verdicts.iter().find(|one| one["component"] == "bitsandbytes").expect("a verdict");
        assert_eq!(own["fate"], expected, "{own:#}");
        let newer = own["message"].as_str().is_some_and(|text| text.contains("newer than the compatibility database"));
        assert_eq!(newer, expected == "undetermined", "{own:#}");
    }
}

/// A package on the CUDA runtime of torch is for that CUDA, or it cannot be told with which it runs.
#[test]
fn what_runs_on_torch_is_for_its_cuda_or_nothing_is_told() {
    let pyg = "https://data.pyg.org/whl/torch-2.4.0";
    let cu118 = format!("torch==2.4.0 --index-url {WHL}/cu118");
    let scatter = |more: &str| format!("RUN pip install {cu118}\nRUN pip install torch-scatter{more}\n");
    let cuda = |name: &str, run: &str| {
        let text = format!("{PY311}{run}");
        let dockerfile = Dockerfile::parse(&text);
        let source = Sources::default().add(SourceText::new("Dockerfile", text.as_str()));
        let options = EvaluateOptions::new(Knowledge::built_in());
        let target =
            extract::observe_dockerfile(source, &dockerfile, &options, &ContextFiles::default()).expect("a stage");
        let images = infer_image_facts(&target.seen, "linux/amd64", None, Knowledge::built_in());
        let component = images[0].components.iter().find(|one| one.name == name);
        component.and_then(|one| one.cuda.known()).map(ToString::to_string)
    };
    for (name, run, expected) in [
        ("torch-scatter", scatter(&format!(" -f {pyg}+cu121.html")), None),
        ("torch-scatter", scatter(&format!("==2.1.2+pt24cu121 -f {pyg}+cu121.html")), None),
        ("torch-scatter", scatter(&format!(" -f {pyg}+cu118.html")), Some("11.8")),
        ("torch-scatter", scatter(&format!("==2.1.2+pt24cu118 -f {pyg}+cu118.html")), Some("11.8")),
        ("torch-scatter", scatter(""), Some("11.8")),
    ] {
        assert_eq!(cuda(name, &run).as_deref(), expected, "{run}");
    }
}

/// How an image ends on a GPU.
fn on_gpu(dockerfile: &str, environment: Option<&str>, gpu: &str) -> String {
    let place = Place::bare();
    place.file(
        "fleet.toml",
        &format!(
            "[[pool]]\nname = \"pool\"\ngpu = \"{gpu}\"\ndriver = \"570.133.20\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        ),
    );
    place.file("Dockerfile", dockerfile);
    if let Some(text) = environment {
        place.file("environment.yml", text);
    }
    let report = place.json(&["check", "Dockerfile"]);
    let verdict = &report["subjects"][0]["verdicts"][0];
    let told = |key: &str| verdict[key].as_str().unwrap_or_default();
    format!("{} {}", told("fate"), told("outcome")).trim().to_owned()
}

/// Builds of the conda channel pytorch hold PTX that their wheels lack; a driver compiles it for newer GPUs.
#[test]
fn a_conda_build_has_its_own_code_and_not_the_wheel_s() {
    let conda = |command: &str| format!("FROM continuumio/miniconda3\nRUN conda install {command}\n");
    let image = |tag: &str| format!("FROM pytorch/pytorch:{tag}\nRUN pip install numpy\n");
    let pip = |package: &str, index: &str| {
        format!("FROM python:3.8-slim\nRUN pip install {package} --index-url {WHL}/{index}\n")
    };
    let cases = [
        (conda("pytorch==1.9.0 cudatoolkit=10.2 -c pytorch"), "A100", "starts"),
        (conda("-c pytorch -c conda-forge pytorch==1.9.0 cudatoolkit=10.2"), "RTX 4090", "starts"),
        (conda("--channel=https://mirror.example/pytorch/ pytorch==1.9.0 cudatoolkit=10.2"), "A100", "starts"),
        (conda("pytorch::pytorch==1.9.0 cudatoolkit=10.2"), "H100", "starts"),
        (conda("pytorch==2.0.1 pytorch-cuda=11.7"), "H100", "starts"),
        (conda("pytorch==2.3.1 pytorch-cuda=11.8 -c pytorch -c nvidia"), "B200", "starts"),
        (image("1.6.0-cuda10.1-cudnn7-runtime"), "A100", "starts"),
        (image("1.9.0-cuda10.2-cudnn7-runtime"), "H100", "starts"),
        (image("1.12.1-cuda11.3-cudnn8-runtime"), "H100", "starts"),
        (image("2.0.1-cuda11.7-cudnn8-runtime"), "H100", "starts"),
        (image("2.3.1-cuda11.8-cudnn8-runtime"), "RTX 5090", "starts"),
        // The wheels of the same releases have no PTX.
        (pip("torch==1.9.0", "cu102"), "A100", "fails no-kernel-image"),
        (pip("torch==1.12.1+cu113", "cu113"), "H100", "fails no-kernel-image"),
        (pip("torch==2.0.1+cu117", "cu117"), "H100", "fails no-kernel-image"),
        (pip("torch==2.3.1+cu118", "cu118"), "B200", "fails no-kernel-image"),
        (
            format!(
                "{}RUN pip install --force-reinstall torch==1.9.0+cu102 --index-url {WHL}/cu102\n",
                image("1.9.0-cuda10.2-cudnn7-runtime")
            ),
            "A100",
            "fails no-kernel-image",
        ),
        // Nor have the images that pip made, and the builds of conda for CUDA 12.
        (image("2.5.1-cuda11.8-cudnn9-runtime"), "B200", "fails no-kernel-image"),
        (image("2.3.1-cuda12.1-cudnn8-runtime"), "B200", "fails no-kernel-image"),
        (conda("pytorch==2.3.1 pytorch-cuda=12.1 -c pytorch -c nvidia"), "RTX 5090", "fails no-kernel-image"),
        // The code of another channel's build is not known, nor that of none that is named, nor of a pair that has no build.
        (conda("pytorch==1.9.0 cudatoolkit=10.2 -c conda-forge"), "A100", "undetermined"),
        (conda("-c conda-forge -c pytorch pytorch==1.9.0 cudatoolkit=10.2"), "A100", "undetermined"),
        (conda("conda-forge::pytorch==1.9.0 cudatoolkit=10.2 -c pytorch"), "A100", "undetermined"),
        (conda("pytorch==1.9.0 cudatoolkit=10.2"), "A100", "undetermined"),
        (conda("pytorch==1.9.0 cudatoolkit=10.2 -c $NOWHERE"), "A100", "undetermined"),
        (conda("pytorch==1.9.0 cudatoolkit=11.5 -c pytorch"), "A100", "undetermined"),
        (image("2.4.1-cuda11.8-cudnn9-runtime"), "B200", "undetermined"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(text, gpu, expected)| {
            let said = on_gpu(text, None, gpu);
            (said != *expected).then(|| format!("{text}on {gpu}: expected {expected}, said {said}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_environment_file_names_the_channel_first() {
    let dockerfile = "FROM continuumio/miniconda3\nCOPY environment.yml .\nRUN conda env create -f environment.yml\n";
    let packages = "dependencies:\n  - pytorch=1.9.0=py3.8_cuda10.2_cudnn7.6.5_0\n";
    for (channels, expected) in [
        ("channels:\n  - pytorch\n  - defaults\n", "starts"),
        ("channels: [pytorch, conda-forge]\n", "starts"),
        ("channels:\n  - conda-forge\n  - pytorch\n", "undetermined"),
        ("channels: [\"conda-forge\", pytorch]\n", "undetermined"),
        ("", "undetermined"),
    ] {
        let text = format!("name: x\n{channels}{packages}");
        assert_eq!(on_gpu(dockerfile, Some(&text), "A100"), expected, "{text}");
    }
}

/// An index without CUDA is a choice on every platform, also where its builds have no name of their own.
#[test]
fn a_cpu_index_is_chosen_on_every_platform() {
    let end = |platform: &str, gpu: &str, index: &str| {
        let place = Place::bare();
        place.file(
            "fleet.toml",
            &format!(
                "[[pool]]\nname = \"pool\"\ngpu = \"{gpu}\"\ndriver = \"570.133.20\"\nplatform = \"{platform}\"\n\
                 launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
            ),
        );
        place.file(
            "Dockerfile",
            &format!(
                "FROM python:3.11-slim\nRUN pip install torch==2.3.0{index}\nRUN pip install cupy-cuda12x==13.3.0\n"
            ),
        );
        let report = place.json(&["check", "Dockerfile"]);
        let verdict = &report["subjects"][0]["verdicts"][0];
        format!("{} {}", verdict["fate"].as_str().unwrap_or_default(), verdict["outcome"].as_str().unwrap_or_default())
    };
    let cpu = format!(" --index-url {WHL}/cpu");
    assert_eq!(end("linux/amd64", "A100", &cpu), "starts ");
    assert_eq!(end("linux/arm64", "GH200", &cpu), "starts ");
    // Nobody chose that: no index had CUDA there.
    assert_eq!(end("linux/arm64", "GH200", ""), "fails cpu-only");
    assert_eq!(end("linux/arm64", "GH200", &format!(" --index-url {WHL}/cu121")), "fails cpu-only");
}
