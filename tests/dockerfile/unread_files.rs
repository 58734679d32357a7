//! Scripts and requirements files that the build context does not contain.

use test_repository::TestRepository;

use crate::support::test_repository;

/// A repository with a Dockerfile that sets a variable and runs a script that the build context lacks.
fn with_script(variable: &str) -> TestRepository {
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("FROM python:3.10-slim\nENV {variable}\nCOPY . .\nRUN ./make.sh\n"));
    repository
}

#[test]
fn unread_files_are_listed_in_every_report_format() {
    let repository = TestRepository::new();
    let cuda = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n";
    repository.file("Dockerfile", &format!("{cuda}COPY . .\nRUN ./make.sh && pip install -r requirements.txt\n"));
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"], &["--format", "ndjson"]] {
        let done = repository.run(&[&["check", "Dockerfile"][..], arguments].concat());
        let said = test_repository::out(&done).replace('\\', "");
        for missing in ["`./make.sh` is not in the build context", "`requirements.txt` is not in the build context"] {
            assert!(said.contains(missing), "{arguments:?}: {missing}: {said}");
        }
    }
    // Without a GPU hint, the report names the file, and the verdict stays known.
    let silent = with_script("APP=web");
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"]] {
        let said =
            test_repository::out(&silent.run(&[&["check", "Dockerfile"][..], arguments].concat())).replace('\\', "");
        assert!(said.contains("not read: ./make.sh"), "{arguments:?}: {said}");
    }
    let read = TestRepository::new();
    read.file("make.sh", "echo ready\n");
    read.file("requirements.txt", "flask\n");
    read.file("Dockerfile", &format!("{cuda}COPY . .\nRUN ./make.sh && pip install -r requirements.txt\n"));
    for arguments in [&["-v"][..], &["--format", "junit"], &["--format", "markdown"], &["--format", "ndjson"]] {
        let said = test_repository::out(&read.run(&[&["check", "Dockerfile"][..], arguments].concat()));
        assert!(!said.contains("is not in the build context"), "{arguments:?}: {said}");
    }
}

#[test]
fn unread_script_makes_the_verdict_unknown_only_with_gpu_hints() {
    for (variable, expected) in [
        ("TORCH_CUDA_ARCH_LIST=8.0", "undetermined"),
        ("USE_CUDA=1", "undetermined"),
        ("USE_CUDA=0", "not-applicable"),
        ("APP=web", "not-applicable"),
    ] {
        let report = with_script(variable).json(&["check", "Dockerfile"]);
        let subject = &report["subjects"][0];
        assert_eq!(subject["verdicts"][0]["fate"], expected, "{variable}");
        let missing = subject["verdicts"][0]["missing"].to_string();
        assert!(missing.contains("provide `./make.sh` in the build context"), "{variable}: {missing}");
    }
}
