//! Files that several inputs read: no fix of one input breaks another.

use std::fs;

use crate::fix::{TestRepository, code, err, out};

const T4: &str = "name = \"t4\"\ngpu = \"T4\"\ndriver = \"470.223.02\"\n";
const B200: &str = "name = \"b200\"\ngpu = \"B200\"\ndriver = \"580.95.05\"\n";
const A100: &str = "name = \"a100\"\ngpu = \"A100\"\ndriver = \"470.223.02\"\n";
const FILE: &str = "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";
const LIST: &str = "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.7.1+cu128\n";

/// Two Dockerfiles that read one list, each on a pool of its own.
fn shared(one: &str, other: &str) -> TestRepository {
    let repository = TestRepository::empty();
    let launch = "platform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let pool = |pool: &str, file: &str| format!("[[pool]]\n{pool}{launch}dockerfiles = [\"{file}\"]\n");
    repository.file("fleet.toml", &[pool(one, "Dockerfile.one"), pool(other, "Dockerfile.other")].concat());
    repository.file("Dockerfile.one", FILE);
    repository.file("Dockerfile.other", FILE);
    repository.file("requirements.txt", LIST);
    repository
}

fn list(repository: &TestRepository) -> String {
    fs::read_to_string(repository.path("requirements.txt")).expect("a list")
}

#[test]
fn a_fix_that_breaks_another_input_is_not_written() {
    for pools in [[T4, B200], [B200, T4]] {
        let [one, other] = pools;
        let repository = shared(one, other);
        for how in [&["--fix"][..], &["--fix", "--unsafe-fixes"], &["--diff"], &["--fix", "--dry-run"]] {
            let done = repository.run(&[&["check"], how, &["."]].concat());
            let told = err(&done);
            assert!(told.contains("requirements.txt is not changed") && told.contains("`b200`"), "{how:?}: {told}");
            assert!(!told.contains("fixed ") && !out(&done).contains("@@"), "{how:?}: {told}");
            assert_eq!(list(&repository), LIST, "{how:?}");
        }
    }
}

#[test]
fn a_fix_for_two_pools_is_written_once() {
    let repository = shared(T4, A100);
    let done = repository.run(&["check", "--fix", "."]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert_eq!(list(&repository), LIST.replace("cu128", "cu118"));
    assert!(!err(&done).contains("is not changed"), "{}", err(&done));
    let again = repository.run(&["check", "--diff", "."]);
    assert!(err(&again).contains("nothing to change"), "{}", err(&again));
    // What another reads that starts nowhere keeps nothing from being changed.
    let repository = shared(T4, "name = \"k80\"\ngpu = \"K80\"\ndriver = \"390.157\"\n");
    repository.run(&["check", "--fix", "."]);
    assert_eq!(list(&repository), LIST.replace("cu128", "cu118"));
}
