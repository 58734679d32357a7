//! Lines without a fix: installers of the driver, wheels by URL, and base images that are new enough.

use serde_json::Value;

use super::test_repository::TestRepository;
use super::{out, text};

type Pool<'a> = (&'a str, &'a str, &'a str, &'a str);

fn on(pools: &[Pool<'_>], dockerfile: &str) -> TestRepository {
    let repository = TestRepository::empty();
    let pool = |(name, gpu, driver, launch): &Pool<'_>| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"{launch}\"\ntoolkit = \"1.14.3\"\n"
        )
    };
    repository.file("fleet.toml", &pools.iter().map(pool).collect::<String>());
    repository.file("Dockerfile", dockerfile);
    repository
}

/// The rules of the findings, and every fix of them.
fn found(repository: &TestRepository) -> (Vec<String>, Vec<Value>) {
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let findings = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
    let rules = findings.iter().filter_map(|one| one["rule"].as_str().map(str::to_owned)).collect();
    (rules, findings.iter().flat_map(|one| one["fixes"].as_array().cloned().unwrap_or_default()).collect())
}

fn title(fix: &Value) -> &str {
    fix["title"].as_str().unwrap_or_default()
}

fn is_written(fix: &Value) -> bool {
    fix["edits"].as_array().is_some_and(|edits| !edits.is_empty())
}

/// A program with arguments installs no package: none of its words is cut out.
#[test]
fn the_installer_of_a_driver_is_never_split() {
    let run = "RUN ./NVIDIA-Linux-x86_64-352.21.run -s -N --no-kernel-module\n";
    let address = "http://us.download.nvidia.com/XFree86/Linux-x86_64/352.21/NVIDIA-Linux-x86_64-352.21.run";
    for (base, pool, rule) in [
        // The driver of the image is found before that of the node.
        ("ubuntu:22.04", ("p", "T4", "525.60.13", "gke"), "driver-mismatch"),
        ("ubuntu:22.04", ("p", "T4", "525.60.13", "enroot"), "no-gpu"),
        ("nvidia/cuda:12.0.1-base-ubuntu22.04", ("p", "T4", "525.60.13", "docker-gpus"), "driver-library-in-image"),
        // Another change helps: the line stays as it is.
        ("ubuntu:22.04", ("p", "T4", "450.80.02", "docker-gpus"), "insufficient-driver"),
    ] {
        let lines = format!(
            "FROM {base}\nENV NVIDIA_VISIBLE_DEVICES=all\nADD {address} .\n{run}RUN pip install torch==2.4.1\n"
        );
        let repository = on(&[pool], &lines);
        let (rules, fixes) = found(&repository);
        let has = |rule: &str| rules.iter().any(|one| one == rule);
        assert!(has(rule) && has("driver-library-in-image"), "{base} {pool:?}: {rules:?}");
        for edit in fixes.iter().flat_map(|fix| fix["edits"].as_array().cloned().unwrap_or_default()) {
            assert_ne!(edit["region"]["start_line"], 4, "{base} {pool:?}: {fixes:?}");
        }
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let after = text(&repository, "Dockerfile");
        assert!(after.contains(run) && after.contains(&format!("ADD {address} .\n")), "{base} {pool:?}: {after}");
    }
}

/// The address of a wheel is one file: no other file of that name is known to exist, and no index goes with it.
#[test]
fn the_address_of_a_wheel_is_neither_rewritten_nor_given_an_index() {
    let page = "https://download.pytorch.org/whl/cu124/";
    let wheel = "torch-2.4.0%2Bcu124-cp311-cp311-linux_x86_64.whl";
    for line in [
        format!("RUN pip install {page}{wheel}"),
        format!("RUN pip install 'torch @ {page}{wheel}' numpy"),
        "ARG CU=cu124\nRUN pip install https://download.pytorch.org/whl/${CU}/torch-2.4.0%2B${CU}-cp311-cp311-linux_x86_64.whl"
            .to_owned(),
        "RUN pip install https://wheels.example.com/torch-2.4.0%2Bcu124-cp311-cp311-linux_x86_64.whl".to_owned(),
    ] {
        let before = format!("FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\n{line}\n");
        let repository = on(&[("t4", "T4", "450.80.02", "docker-gpus")], &before);
        let (rules, fixes) = found(&repository);
        assert!(rules.iter().any(|rule| rule == "insufficient-driver"), "{line}: {rules:?}");
        for fix in fixes.iter().filter(|fix| title(fix).contains("torch==")) {
            assert_eq!((fix["safety"].as_str(), is_written(fix)), (Some("manual"), false), "{line}: {fix}");
            let names_index = title(fix).contains(" from the index https://download.pytorch.org/whl/cu");
            assert!(names_index || !title(fix).contains('+'), "{line}: {fix}");
        }
        repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), before, "{line}");
    }
}

/// A base of an older CUDA major release or operating system is no fix when another change of the image helps.
#[test]
fn an_unpinned_framework_is_no_reason_for_an_older_base() {
    let lines = |torch: &str| {
        format!(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip3 install {torch}\n"
        )
    };
    let t4 = ("t4", "T4", "525.60.13", "docker-gpus");
    let old = ("old", "T4", "470.57.02", "docker-gpus");
    let a100 = ("a100", "A100", "535.161.08", "docker-gpus");
    for pools in [&[t4][..], &[old, a100]] {
        for torch in ["torch", "'torch>=2.9'"] {
            let repository = on(pools, &lines(torch));
            let (rules, fixes) = found(&repository);
            assert!(rules.iter().any(|rule| rule == "insufficient-driver"), "{torch} {pools:?}: {rules:?}");
            assert!(fixes.iter().any(|fix| title(fix).starts_with("install torch")), "{torch} {pools:?}: {fixes:?}");
            let back = fixes.iter().find(|fix| title(fix).contains("which goes back"));
            assert_eq!(back, None, "{torch} {pools:?}");
            let told = out(&repository.run(&["check", "--show-fixes", "Dockerfile"]));
            for older in [":9.", ":10.", ":11.", "ubuntu20.04", "ubuntu18.04", "ubuntu16.04"] {
                assert!(!told.contains(older), "{older} {torch} {pools:?}: {told}");
            }
        }
    }
}

/// The start of a framework on an older base rests on nothing where its version is open or its build is for a newer CUDA.
#[test]
fn no_older_base_is_offered_where_only_a_newer_driver_helps() {
    let fixes_of = |gpu: &str, driver: &str, package: &str| {
        let lines = format!(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip && \
             pip install {package}\n"
        );
        let (_, fixes) = found(&on(&[("old", gpu, driver, "docker-gpus")], &lines));
        fixes
    };
    let back = |fixes: &[Value]| fixes.iter().any(|fix| title(fix).contains("which goes back"));
    for (gpu, driver, package) in [
        ("T4", "440.33.01", "torch tensorflow"),
        ("K80", "440.33.01", "torch tensorflow"),
        ("V100", "440.33.01", "torch tensorflow"),
        ("T4", "418.87.01", "torch tensorflow"),
        ("V100", "396.44", "torch tensorflow"),
        ("V100", "384.81", "torch tensorflow"),
        ("T4", "440.33.01", "'jax[cuda12]'"),
        ("V100", "384.81", "'jax[cuda12]'"),
        ("T4", "418.87.01", "'jax[cuda12]==0.4.30'"),
        ("T4", "440.33.01", "cupy-cuda12x==13.3.0"),
    ] {
        let fixes = fixes_of(gpu, driver, package);
        assert!(!back(&fixes), "{gpu} {driver} {package}: {fixes:?}");
        // No driver supports both a K80 and the newest builds.
        let driver_helps = gpu == "K80" || fixes.iter().any(|fix| fix["kind"] == "driver");
        assert!(driver_helps, "{gpu} {driver} {package}: {fixes:?}");
    }
}
