//! What reports tell of changes: that one breaks another pool, and that no single one does.

use std::fs;

use serde_json::Value;

use crate::search::test_repository::{TestRepository, code, err, out};

fn pool(name: &str, gpu: &str, driver: &str, toolkit: &str) -> String {
    format!(
        "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
         launch = \"docker-cdi\"\ntoolkit = \"{toolkit}\"\n"
    )
}

/// A build for CUDA 12.8, which the older pool cannot run; the build for CUDA 11.8 has no code for the newer one.
fn breaking() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        &[pool("old", "A100", "470.82.01", "1.17.4"), pool("b200", "B200", "580.95.05", "1.17.4")].concat(),
    );
    repository.file(
        "Dockerfile",
        "FROM python:3.11-slim\nRUN pip install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128\n",
    );
    repository
}

/// Pools of which each wants another build.
fn conflict() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        &[pool("t4", "T4", "450.80.02", "1.13.5"), pool("b200", "B200", "580.95.05", "1.13.5")].concat(),
    );
    repository.file("Dockerfile", "FROM python:3.11-slim\nRUN pip install torch==2.4.1\n");
    repository
}

fn report(repository: &TestRepository, format: &str) -> String {
    out(&repository.run(&["check", "--show-fixes", "--format", format, "Dockerfile"]))
}

fn results(text: &str) -> Vec<Value> {
    let log: Value = serde_json::from_str(text).expect("SARIF");
    log["runs"][0]["results"].as_array().cloned().unwrap_or_default()
}

#[test]
fn fix_that_breaks_a_pool_is_never_reported_as_safe() {
    let repository = breaking();
    for format in ["human", "markdown", "summary", "html"] {
        let text = report(&repository, format);
        let (title, effect) = ("install torch==2.7.1+cu118", "starts on old; breaks b200");
        assert!(text.contains(title) && text.contains(effect), "{format}: {text}");
        for safe in ["(safe", "\"safe;", "\"safe\""] {
            assert!(!text.contains(safe), "{format} calls it safe: {text}");
        }
    }
    let json: Value = serde_json::from_str(&report(&repository, "json")).expect("JSON");
    let fixes = json["subjects"][0]["findings"][0]["fixes"].as_array().expect("fixes");
    let breaks = |fix: &&Value| fix["breaks"].as_array().is_some_and(|pools| !pools.is_empty());
    assert!(fixes.iter().any(|fix| breaks(&fix)), "{json}");
    assert!(fixes.iter().filter(breaks).all(|fix| fix["safety"] != "safe"), "{json}");
    // What a click would write is not there, whether or not changes are asked for.
    for asked in [&["--show-fixes"][..], &[]] {
        let told =
            |format: &str| out(&repository.run(&[&["check", "--format", format], asked, &["Dockerfile"]].concat()));
        let (sarif, lines) = (told("sarif"), told("rdjsonl"));
        assert_eq!(results(&sarif).len(), 1, "{sarif}");
        assert!(results(&sarif)[0]["fixes"].is_null(), "{sarif}");
        assert!(lines.contains("insufficient-driver") && !lines.contains("suggestions"), "{lines}");
    }
    for fixing in ["--fix", "--diff"] {
        let done = repository.run(&["check", fixing, "--unsafe-fixes", "Dockerfile"]);
        assert!(!out(&done).contains("+RUN"), "{}", out(&done));
    }
    assert!(fs::read_to_string(repository.path("Dockerfile")).expect("the file").contains("whl/cu128"));
}

/// On the older pool alone the same change breaks nothing.
#[test]
fn a_fix_that_breaks_no_pool_is_reported_unchanged() {
    let repository = breaking();
    repository.file("fleet.toml", &pool("old", "A100", "470.82.01", "1.17.4"));
    assert!(report(&repository, "markdown").contains("fix (safe; starts on old): install torch==2.7.1+cu118"));
    let sarif = report(&repository, "sarif");
    let fixes = results(&sarif)[0]["fixes"].clone();
    let told = fixes[0]["description"]["text"].as_str().expect("words").to_owned();
    assert!(told.contains("torch==2.7.1+cu118") && told.ends_with("(safe; starts on old)"), "{told}");
    let line: Value =
        serde_json::from_str(report(&repository, "rdjsonl").lines().next().expect("a line")).expect("JSON");
    assert_eq!(line["suggestions"][0]["text"], "cu118");
    // An edit without a word is none that is only ever made by hand.
    let repository = conflict();
    repository.file("fleet.toml", &pool("b200", "B200", "580.95.05", "1.13.5"));
    let manual = report(&repository, "human").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        manual.contains("install torch==2.7.1+cu128 from the index https://download.pytorch.org/whl/cu128 (manual;"),
        "{manual}"
    );
    assert!(!report(&repository, "rdjsonl").contains("suggestions"));
}

const SPLIT: &str = "no single change makes it start on all pools:";

#[test]
fn pools_needing_different_images_are_reported_in_every_format() {
    let repository = conflict();
    for format in ["human", "markdown", "summary", "sarif", "rdjsonl", "github", "gitlab", "html", "json"] {
        let text = report(&repository, format);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = flat.split_once(SPLIT).unwrap_or_else(|| panic!("{format}: {text}")).1;
        assert!(line.contains("Smallest split: install torch==2.4.1+cu118"), "{format}: {line}");
    }
    let human = report(&repository, "human");
    assert_eq!(human.matches(SPLIT).count(), 1, "once: {human}");
    let verbose = out(&repository.run(&["check", "--show-fixes", "-v", "Dockerfile"]));
    assert_eq!(verbose.matches(SPLIT).count(), 1, "once: {verbose}");
    // Formats whose readers apply changes always contain fixes; this does not affect the other formats.
    let beside = ["--format", "sarif=a.sarif", "--format", "human"];
    let done = repository.run(&[&["check"], &beside[..], &["Dockerfile"]].concat());
    assert!(!out(&done).contains(SPLIT), "{}", out(&done));
    let log = fs::read_to_string(repository.path("a.sarif")).expect("a report");
    let messages: Vec<String> = results(&log).iter().map(|one| one["message"]["text"].to_string()).collect();
    assert!(messages.len() == 2 && messages.iter().all(|message| message.contains(SPLIT)), "{messages:?}");
    assert!(!out(&repository.run(&["check", "--format", "github", "Dockerfile"])).contains(SPLIT));
}

#[test]
fn no_separate_image_is_suggested_if_one_change_helps_every_pool() {
    for (repository, fleet) in [
        // It starts already, or one change of the image does.
        (conflict(), pool("a", "A100", "535.161.08", "1.13.5")),
        (conflict(), pool("t4", "T4", "450.80.02", "1.13.5")),
        (conflict(), [pool("t4", "T4", "450.80.02", "1.13.5"), pool("a", "A100", "460.32.03", "1.13.5")].concat()),
    ] {
        repository.file("fleet.toml", &fleet);
        for format in ["human", "markdown", "sarif", "rdjsonl", "json"] {
            let text = report(&repository, format);
            assert!(!text.contains("split") && !text.contains("no single change"), "{format}: {text}");
        }
    }
}

#[test]
fn an_option_without_effect_is_reported() {
    let repository = conflict();
    let report = repository.run(&["check", "--format", "json", "Dockerfile"]).stdout;
    fs::write(repository.path("report.json"), report).expect("a report");
    for (arguments, said) in [
        (&["--unsafe-fixes", "Dockerfile"][..], "--unsafe-fixes has no effect without"),
        (&["--unsafe-fixes", "--show-fixes", "Dockerfile"], "--unsafe-fixes has no effect without"),
        (&["--fix", "report.json"], "cannot edit Dockerfile: saved reports"),
        (&["--diff", "report.json"], "cannot edit Dockerfile: saved reports"),
    ] {
        let done = repository.run(&[&["check"], arguments].concat());
        assert!(err(&done).contains(said), "{arguments:?}: {}", err(&done));
    }
    for arguments in [
        &["--unsafe-fixes", "--diff", "Dockerfile"][..],
        &["--unsafe-fixes", "--fix", "--dry-run", "Dockerfile"],
        &["--show-fixes", "report.json"],
        &["--diff", "Dockerfile"],
        &["Dockerfile"],
    ] {
        let done = repository.run(&[&["check"], arguments].concat());
        let told = err(&done);
        assert!(!told.contains("has no effect") && !told.contains("cannot edit"), "{arguments:?}: {told}");
        assert!(code(&done) < 2, "{arguments:?}: {told}");
    }
}

/// A case with an open base image, on a tag that may get another build.
fn open() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", "[[pool]]\nname = \"a\"\ngpu = \"T4\"\ndriver = \"470.82.01\"\n");
    repository.file("Dockerfile", "FROM tensorflow/tensorflow:latest-gpu\n");
    repository
}

#[test]
fn fixes_do_not_depend_on_the_number_of_jobs() {
    for (repository, any) in [(breaking(), "breaks"), (conflict(), "Smallest split"), (open(), "supposes")] {
        for asked in [&["--show-fixes", "--format", "json"][..], &["--unsafe-fixes", "--diff"]] {
            let with = |jobs: &str| out(&repository.run(&[&["check", "Dockerfile", "--jobs", jobs], asked].concat()));
            let alone = with("1");
            assert!(asked.len() == 2 || alone.contains(any), "{alone}");
            for jobs in ["2", "5"] {
                assert_eq!(with(jobs), alone, "{jobs} jobs, {asked:?}");
            }
        }
    }
}
