//! Variables of the image that stop it: repaired, narrowed, emptied, or added if they are missing; and if the base is
//! named, reported as manual.

use std::fs;

use serde_json::Value;

use crate::search::test_repository::{TestRepository, out};
use crate::search::{clean, fixes, list, one};

const DOCKER: &str = "gpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"docker-gpus\"\n";
const CUDA: &str = "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\n";

fn docker(more: &str) -> String {
    format!("{DOCKER}{more}")
}

fn found(repository: &TestRepository) -> Vec<Value> {
    fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a")
}

fn first(repository: &TestRepository) -> (String, String) {
    let found = found(repository);
    let text = |key: &str| found.first().and_then(|fix| fix[key].as_str()).unwrap_or_default().to_owned();
    (text("title"), text("safety"))
}

fn written(repository: &TestRepository) -> (String, bool) {
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let told = out(&repository.run(&["check", "Dockerfile"]));
    let text = fs::read_to_string(repository.path("Dockerfile")).expect("a file");
    (text, clean(&told))
}

#[test]
fn capabilities_are_repaired_and_narrowed() {
    let name = "NVIDIA_DRIVER_CAPABILITIES";
    for (modeset, value, expected, safety) in [
        ("modeset = false\n", "all", "compute,utility", "unsafe"),
        ("modeset = false\n", "compute,utility,display", "compute,utility", "unsafe"),
        ("modeset = false\n", "compute,utilty", "compute,utility", "safe"),
        ("", "compute,utilty", "compute,utility", "safe"),
        ("", "compte,utility", "compute,utility", "safe"),
    ] {
        let pool = docker(&format!("toolkit = \"1.14.3\"\n{modeset}"));
        let repository = one(&pool, &format!("{CUDA}ENV {name}={value}\n"));
        assert_eq!(first(&repository), (format!("set {name}={expected}"), safety.to_owned()), "{value} {modeset}");
        assert_eq!(written(&repository), (format!("{CUDA}ENV {name}={expected}\n"), true), "{value}");
    }
    // Where nothing is refused nothing is taken away.
    for (more, value) in [
        ("toolkit = \"1.14.3\"\nmodeset = true\n", "all"),
        ("toolkit = \"1.17.8\"\n", "all"),
        ("toolkit = \"1.14.3\"\nmodeset = false\n", "compute,utility"),
    ] {
        let found = found(&one(&docker(more), &format!("{CUDA}ENV {name}={value}\n")));
        assert_eq!(found, Vec::<Value>::new(), "{value} {more}");
    }
}

#[test]
fn refused_variable_of_the_image_is_emptied_in_place() {
    let pool = docker("toolkit = \"1.17.8\"\n");
    for (line, expected) in [
        ("ENV NVIDIA_MIG_CONFIG_DEVICES=all", "ENV NVIDIA_MIG_CONFIG_DEVICES=\"\""),
        ("ENV A=b NVIDIA_MIG_CONFIG_DEVICES=all", "ENV A=b NVIDIA_MIG_CONFIG_DEVICES=\"\""),
        ("ENV NVIDIA_REQUIRE_DRIVER=\"driver>=550\"", "ENV NVIDIA_REQUIRE_DRIVER=\"\""),
        ("ENV NVIDIA_REQUIRE_ARCH=\"arch>=9.0\"", "ENV NVIDIA_REQUIRE_ARCH=\"\""),
        ("ENV NVIDIA_REQUIRE_OURS=brand=tesla", "ENV NVIDIA_REQUIRE_OURS=\"\""),
        (
            "ENV NVIDIA_REQUIRE_ARCH=arch>=9.0 NVIDIA_REQUIRE_DRIVER=driver>=550",
            "ENV NVIDIA_REQUIRE_ARCH=\"\" NVIDIA_REQUIRE_DRIVER=\"\"",
        ),
    ] {
        let repository = one(&pool, &format!("{CUDA}{line}\n"));
        let (title, safety) = first(&repository);
        assert!(title.starts_with("set NVIDIA_") && safety == "unsafe", "{line}: {title} {safety}");
        assert_eq!(out(&repository.run(&["check", "--diff", "Dockerfile"])), "", "somebody meant it: {line}");
        assert_eq!(written(&repository), (format!("{CUDA}{expected}\n"), true), "{line}");
    }
    // Conditions and what only a privileged container may ask for.
    let mixed = "NVIDIA_REQUIRE_ARCH=arch>=9.0 FOO=bar NVIDIA_MIG_CONFIG_DEVICES=all";
    let repository = one(&pool, &format!("{CUDA}ENV {mixed}\n"));
    assert_eq!(out(&repository.run(&["check", "--diff", "Dockerfile"])), "", "somebody meant it");
    let emptied = "NVIDIA_REQUIRE_ARCH=\"\" FOO=bar NVIDIA_MIG_CONFIG_DEVICES=\"\"";
    assert_eq!(written(&repository), (format!("{CUDA}ENV {emptied}\n"), true));
    // A version that is none is written as the CUDA that is there.
    let torch = "FROM python:3.11-slim\nENV CUDA_VERSION=cu121\nRUN pip install torch==2.4.1\n";
    let repository = one(&pool, torch);
    assert_eq!(first(&repository), ("set CUDA_VERSION=12.1".to_owned(), "unsafe".to_owned()));
    assert_eq!(written(&repository), (torch.replace("cu121", "12.1"), true));
    // What else takes its value is not written over.
    for line in [
        "RUN pip install torch==2.4.1 --extra-index-url https://download.pytorch.org/whl/${CUDA_VERSION}",
        "RUN pip install torch==2.4.1 && echo $CUDA_VERSION",
        "RUN pip install torch==2.4.1\nENV TAG=x-${CUDA_VERSION:-cu118}",
    ] {
        let repository = one(&pool, &format!("FROM python:3.11-slim\nENV CUDA_VERSION=cu121\n{line}\n"));
        let of_it = |fix: &Value| fix["title"].as_str().is_some_and(|title| title.starts_with("set CUDA_VERSION"));
        let told: Vec<Value> = found(&repository).into_iter().filter(of_it).collect();
        assert!(!told.is_empty(), "{line}");
        assert!(told.iter().all(|fix| fix["safety"] == "manual" && list(&fix["edits"]).is_empty()), "{told:?}");
        assert!(written(&repository).0.contains("ENV CUDA_VERSION=cu121\n"), "{line}");
    }
    for (before, line) in [("ARG CUDA_VERSION\nRUN echo $CUDA_VERSION\n", ""), ("", "RUN echo $CUDA_VERSION_OURS\n")] {
        let of = |value: &str| {
            format!("FROM python:3.11-slim\n{before}ENV CUDA_VERSION={value}\nRUN pip install torch==2.4.1\n{line}")
        };
        assert_eq!(written(&one(&pool, &of("cu121"))), (of("12.1"), true), "{before}{line}");
    }
    // What is met stays, and what is refused for another reason is not emptied.
    for line in [
        "ENV NVIDIA_REQUIRE_DRIVER=\"driver>=525\"",
        "ENV NVIDIA_REQUIRE_ARCH=\"arch>=7.0\" NVIDIA_DRIVER_CAPABILITIES=compute,utilty",
        "ENV NVIDIA_MIG_CONFIG_DEVICES=\"\" NVIDIA_REQUIRE_CUDA=\"cuda>=12.9\"",
    ] {
        let found = found(&one(&pool, &format!("{CUDA}{line}\n")));
        let emptied = |fix: &Value| fix["title"].as_str().is_some_and(|title| title.contains("=\"\""));
        assert!(!found.iter().any(emptied), "{line}: {found:?}");
    }
}

#[test]
fn driver_directory_is_added_to_the_library_path_if_needed() {
    let gke = "gpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"gke\"\n";
    let torch = "RUN pip install torch==2.4.1\n";
    let slim = "FROM python:3.11-slim\n";
    for (line, expected) in [
        ("", "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64\n"),
        ("ENV LD_LIBRARY_PATH=/opt/x\n", "ENV LD_LIBRARY_PATH=/opt/x:/usr/local/nvidia/lib64\n"),
        // Variables stay what they are.
        (
            "ENV LD_LIBRARY_PATH=/opt/x:${LD_LIBRARY_PATH}\n",
            "ENV LD_LIBRARY_PATH=/opt/x:${LD_LIBRARY_PATH}:/usr/local/nvidia/lib64\n",
        ),
        (
            "ENV LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH:/opt/x\"\n",
            "ENV LD_LIBRARY_PATH=\"$LD_LIBRARY_PATH:/opt/x:/usr/local/nvidia/lib64\"\n",
        ),
        (
            "ARG HOME_OF=/opt/x\nENV LD_LIBRARY_PATH=${HOME_OF}/lib:${HOME_OF}/lib64/\n",
            "ARG HOME_OF=/opt/x\nENV LD_LIBRARY_PATH=${HOME_OF}/lib:${HOME_OF}/lib64/:/usr/local/nvidia/lib64\n",
        ),
        (
            "ENV LD_LIBRARY_PATH /opt/x:$LD_LIBRARY_PATH\n",
            "ENV LD_LIBRARY_PATH /opt/x:$LD_LIBRARY_PATH:/usr/local/nvidia/lib64\n",
        ),
    ] {
        let repository = one(gke, &format!("{slim}{line}{torch}"));
        let title = "add /usr/local/nvidia/lib64 to LD_LIBRARY_PATH".to_owned();
        assert_eq!(first(&repository), (title, "safe".to_owned()), "{line}");
        assert_eq!(written(&repository), (format!("{slim}{expected}{torch}"), true), "{line}");
    }
    // The variable is set, or no node reads it; if its present value is unknown, the fix has a condition.
    for (pool, from) in [
        (gke, "FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04\n"),
        (DOCKER, slim),
        ("gpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"nvidia-runtime\"\n", slim),
        (gke, "FROM example.com/team/base:1\n"),
    ] {
        let found = found(&one(pool, &format!("{from}{torch}")));
        let cures = |fix: &Value| fix["supposes"].is_null() && fix["safety"] != "manual";
        let added = |fix: &Value| fix["title"].as_str().is_some_and(|title| title.starts_with("add /usr/local"));
        let added = |fix: &Value| cures(fix) && added(fix);
        assert!(!found.iter().any(added), "{pool}{from}: {found:?}");
    }
}

#[test]
fn tag_without_an_editable_value_is_a_manual_change() {
    let t4 = "gpu = \"T4\"\ndriver = \"525.60.13\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let tags = |dockerfile: &str| {
        let found = found(&one(t4, dockerfile)).into_iter().filter(|fix| fix["kind"] == "base-tag");
        found.collect::<Vec<Value>>()
    };
    let digest = "1".repeat(64);
    let split = "ARG CUDA_MAJOR_MINOR=12.6\nARG CUDA_PATCH=3\nFROM nvidia/cuda:${CUDA_MAJOR_MINOR}.${CUDA_PATCH}-base-ubuntu22.04\n";
    for (dockerfile, end) in [
        (split.to_owned(), ", manual: no single value in a file selects it"),
        (format!("FROM nvidia/cuda:12.6.3-base-ubuntu22.04@sha256:{digest}\n"), ", and its digest"),
    ] {
        let found = tags(&dockerfile);
        let title = found.first().and_then(|fix| fix["title"].as_str()).unwrap_or_default();
        assert_eq!(title, format!("use the tag 12.4.1-base-ubuntu22.04 of nvidia/cuda{end}"), "{found:?}");
        assert!(found.iter().all(|fix| fix["safety"] == "manual" && list(&fix["edits"]).is_empty()), "{found:?}");
    }
    // What an edit reaches is written, and a digest alone has no tag.
    let plain = tags("FROM nvidia/cuda:12.6.3-base-ubuntu22.04\n");
    assert!(plain.iter().any(|fix| !list(&fix["edits"]).is_empty()), "{plain:?}");
    assert_eq!(tags(&format!("FROM nvidia/cuda@sha256:{digest}\n")), Vec::<Value>::new());
}
