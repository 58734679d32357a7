//! Renamed Dockerfiles: neither new nor deleted, and their new failures are reported.

use serde_json::Value;

use crate::compare::git;
use crate::compare::test_repository::{TestRepository, code, err, out};

/// Fails on `old`, whose driver is too old, and on `k80`, whose GPU it has no code for.
const FAILS: &str = "FROM python:3.11-slim\nRUN pip install numpy\nRUN pip install torch==2.4.0\nCMD [\"python3\"]\n";
/// Starts on both.
const STARTS: &str = "FROM python:3.8-slim\nRUN pip install torch==1.10.0\n";

const FLEET: &str = r#"[[pool]]
name = "old"
gpu = "T4"
driver = "450.80.02"
platform = "linux/amd64"
launch = "docker-cdi"
toolkit = "1.17.4"

[[pool]]
name = "k80"
gpu = "K80"
driver = "470.182.03"
platform = "linux/amd64"
launch = "docker-cdi"
toolkit = "1.17.4"
"#;

/// A repository with these files at first, then those.
fn repository(before: &[(&str, &str)], after: &[(&str, &str)]) -> TestRepository {
    let place = TestRepository::empty();
    git(&place, &["init", "-q", "-b", "main"]);
    place.file("fleet.toml", FLEET);
    for (name, text) in before {
        place.file(name, text);
    }
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-q", "-m", "first"]);
    for (name, _) in before {
        std::fs::remove_file(place.path(name)).expect(name);
    }
    for (name, text) in after {
        place.file(name, text);
    }
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-q", "-m", "second"]);
    place
}

/// Exit code, the whole in words, and for each image its old name and what breaks.
fn compare_commits(before: &[(&str, &str)], after: &[(&str, &str)]) -> (i32, String, Vec<String>) {
    let place = repository(before, after);
    let done = place.run(&["compare", "--git", "HEAD~1..HEAD"]);
    let report = place.json(&["compare", "--git", "HEAD~1..HEAD"]);
    let line = |image: &Value| {
        let pools = image["pools"].as_array().expect("pools").iter();
        let breaks = pools.filter(|pool| pool["change"] == "breaks").count();
        let (name, from) = (image["name"].as_str().unwrap_or_default(), image["renamed_from"].as_str());
        let gone = if image["after"].is_null() { " gone" } else { "" };
        format!("{name} from {} breaks {breaks}{gone}", from.unwrap_or("-"))
    };
    let images = report["images"].as_array().expect("images").iter().map(line).collect();
    (code(&done), out(&done) + &err(&done), images)
}

#[test]
fn moved_dockerfile_breaks_nothing() {
    let edited = format!("# moved\n{FAILS}");
    for (moved, name) in [(FAILS, "the same"), (edited.as_str(), "another comment")] {
        let (code, text, images) = compare_commits(
            &[("keep/Dockerfile", STARTS), ("svc3/Dockerfile", FAILS)],
            &[("keep/Dockerfile", STARTS), ("svcX/Dockerfile", moved)],
        );
        assert_eq!(code, 0, "{name}: {text}");
        assert_eq!(
            images,
            ["keep/Dockerfile from - breaks 0", "svcX/Dockerfile from svc3/Dockerfile breaks 0"],
            "{name}"
        );
        assert!(
            text.contains("nothing breaks") && text.contains("renamed: `svc3/Dockerfile` to `svcX/Dockerfile`"),
            "{text}"
        );
        assert!(text.contains("renamed from `svc3/Dockerfile`"), "{text}");
    }
    // One alone, and a folder of several with the same text.
    let (code, text, _) = compare_commits(&[("a/Dockerfile", FAILS)], &[("b/Dockerfile", FAILS)]);
    assert!(code == 0 && text.contains("renamed from `a/Dockerfile`; changes nothing"), "{text}");
    let (code, text, images) = compare_commits(
        &[("svc/one/Dockerfile", FAILS), ("svc/two/Dockerfile", FAILS)],
        &[("apps/one/Dockerfile", FAILS), ("apps/two/Dockerfile", FAILS)],
    );
    assert_eq!(code, 0, "{text}");
    let expected = ["one", "two"].map(|name| format!("apps/{name}/Dockerfile from svc/{name}/Dockerfile breaks 0"));
    assert_eq!(images, expected);
}

#[test]
fn a_moved_dockerfile_hides_no_new_failure() {
    let keep = ("keep/Dockerfile", STARTS);
    // Moved and broken at once: the list that it copies asks for another release.
    let copies = "FROM python:3.8-slim\nCOPY r.txt /\nRUN pip install -r /r.txt\n";
    let (code, text, images) = compare_commits(
        &[keep, ("a/Dockerfile", copies), ("a/r.txt", "torch==1.10.0\n")],
        &[keep, ("b/Dockerfile", copies), ("b/r.txt", "torch==2.4.0\n")],
    );
    assert_eq!(code, 1, "{text}");
    assert_eq!(images[0], "b/Dockerfile from a/Dockerfile breaks 2", "{text}");
    // A copy is new, the one that it was made from stays.
    let (code, text, images) =
        compare_commits(&[keep, ("a/Dockerfile", FAILS)], &[keep, ("a/Dockerfile", FAILS), ("b/Dockerfile", FAILS)]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(images[1], "b/Dockerfile from - breaks 2", "{text}");
    let (code, text, images) =
        compare_commits(&[keep, ("a/Dockerfile", FAILS)], &[keep, ("b/Dockerfile", FAILS), ("c/Dockerfile", FAILS)]);
    assert_eq!(code, 1, "one alone is the one that was there: {text}");
    assert_eq!(images[0], "b/Dockerfile from a/Dockerfile breaks 0", "{text}");
    assert_eq!(images[1], "c/Dockerfile from - breaks 2", "{text}");
    for (new, why) in [
        // Another service that fails as the one that is gone did.
        (
            "FROM python:3.11-slim\nWORKDIR /srv\nCOPY . .\nRUN pip install torch==2.4.0\nEXPOSE 80\nUSER 7\n",
            "few lines in common",
        ),
        // Nearly the same text, and another framework.
        (&*FAILS.replace("2.4.0", "2.5.1"), "another release"),
        (&*FAILS.replace("3.11", "3.10"), "another base"),
    ] {
        let (code, text, images) = compare_commits(&[keep, ("a/Dockerfile", FAILS)], &[keep, ("b/Dockerfile", new)]);
        assert_eq!(code, 1, "{why}: {text}");
        assert!(images.contains(&"b/Dockerfile from - breaks 2".to_owned()), "{why}: {images:?}");
        assert!(images.contains(&"a/Dockerfile from - breaks 0 gone".to_owned()), "{why}: {images:?}");
        assert!(!text.contains("renamed"), "{why}: {text}");
    }
}
