//! Files that several inputs read: a change for one of them is none where it keeps another from starting.

use std::fs;

use crate::fix::{Place, code, err, out};

const T4: &str = "name = \"t4\"\ngpu = \"T4\"\ndriver = \"470.223.02\"\n";
const B200: &str = "name = \"b200\"\ngpu = \"B200\"\ndriver = \"580.95.05\"\n";
const A100: &str = "name = \"a100\"\ngpu = \"A100\"\ndriver = \"470.223.02\"\n";
const FILE: &str = "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";
const LIST: &str = "--extra-index-url https://download.pytorch.org/whl/cu128\ntorch==2.7.1+cu128\n";

/// Two Dockerfiles that read one list, each on a pool of its own.
fn shared(one: &str, other: &str) -> Place {
    let place = Place::bare();
    let launch = "platform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let pool = |pool: &str, file: &str| format!("[[pool]]\n{pool}{launch}dockerfiles = [\"{file}\"]\n");
    place.file("fleet.toml", &[pool(one, "Dockerfile.one"), pool(other, "Dockerfile.other")].concat());
    place.file("Dockerfile.one", FILE);
    place.file("Dockerfile.other", FILE);
    place.file("requirements.txt", LIST);
    place
}

fn list(place: &Place) -> String {
    fs::read_to_string(place.path("requirements.txt")).expect("a list")
}

#[test]
fn a_change_that_keeps_another_from_starting_is_not_made() {
    for pools in [[T4, B200], [B200, T4]] {
        let [one, other] = pools;
        let place = shared(one, other);
        for how in [&["--fix"][..], &["--fix", "--unsafe-fixes"], &["--diff"], &["--fix", "--dry-run"]] {
            let done = place.run(&[&["check"], how, &["."]].concat());
            let told = err(&done);
            assert!(told.contains("requirements.txt is not changed") && told.contains("`b200`"), "{how:?}: {told}");
            assert!(!told.contains("fixed ") && !out(&done).contains("@@"), "{how:?}: {told}");
            assert_eq!(list(&place), LIST, "{how:?}");
        }
    }
}

#[test]
fn a_change_that_is_good_for_both_is_made_once() {
    let place = shared(T4, A100);
    let done = place.run(&["check", "--fix", "."]);
    assert_eq!(code(&done), 0, "{}", err(&done));
    assert_eq!(list(&place), LIST.replace("cu128", "cu118"));
    assert!(!err(&done).contains("is not changed"), "{}", err(&done));
    let again = place.run(&["check", "--diff", "."]);
    assert!(err(&again).contains("nothing to change"), "{}", err(&again));
    // What another reads that starts nowhere keeps nothing from being changed.
    let place = shared(T4, "name = \"k80\"\ngpu = \"K80\"\ndriver = \"390.157\"\n");
    place.run(&["check", "--fix", "."]);
    assert_eq!(list(&place), LIST.replace("cu128", "cu118"));
}
