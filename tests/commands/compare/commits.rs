//! Each side of a comparison of revisions has its own fleet, settings and lock file.

use serde_json::{Value, json};

use super::{changes, fleet, git};
use crate::compare::test_repository::{TestRepository, code, err, out};

const DOCKERFILE: &str = "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.2\n";
const NEW: (&str, &str) = ("a", "550.54.15");
const OLD: (&str, &str) = ("a", "470.57.02");

/// A repository with these files on `main`, and with those on `change`; an empty text is no file.
fn repository(before: &[(&str, &str)], after: &[(&str, &str)]) -> TestRepository {
    let place = TestRepository::empty();
    std::fs::remove_dir(place.path(".git")).expect("an empty folder");
    git(&place, &["init", "-q", "-b", "main"]);
    let commit = |files: &[(&str, &str)], name: &str| {
        for (path, text) in files {
            if text.is_empty() {
                std::fs::remove_file(place.path(path)).expect("a file");
            } else {
                place.file(path, text);
            }
        }
        git(&place, &["add", "-A"]);
        git(&place, &["commit", "-q", "--allow-empty", "-m", name]);
    };
    place.file("Dockerfile", DOCKERFILE);
    commit(before, "before");
    git(&place, &["checkout", "-q", "-b", "change"]);
    commit(after, "after");
    place
}

fn compared(place: &TestRepository, more: &[&str]) -> (i32, Value) {
    let arguments = [&["compare", "--git", "main..change"], more].concat();
    (code(&place.run(&arguments)), place.json(&arguments))
}

#[test]
fn a_change_of_only_the_fleet_breaks_and_repairs_images() {
    let (new, old) = (fleet(&[NEW]), fleet(&[OLD]));
    for (before, after, expected, exit) in
        [(&new, &old, "a breaks", 1), (&old, &new, "a works", 0), (&new, &new, "a same", 0)]
    {
        let place = repository(&[("fleet.toml", before)], &[("fleet.toml", after)]);
        for revisions in ["main..change", "main...change", "main"] {
            let done = place.run(&["compare", "--git", revisions]);
            assert_eq!(code(&done), exit, "{revisions}: {}{}", out(&done), err(&done));
            assert!(!(out(&done) + &err(&done)).contains("/imagelint-"), "{}", out(&done));
            let report = place.json(&["compare", "--git", revisions]);
            assert_eq!(changes(&report), [expected], "{revisions}: {report}");
            assert_eq!(report["notes"].as_array().map(Vec::len), Some(usize::from(before != after)), "{report}");
        }
        let report = place.json(&["compare", "--git", "main..change"]);
        assert_eq!(report["fleet"]["source"], "change:fleet.toml");
        assert_eq!(report["fleet_before"]["source"], "main:fleet.toml");
        let text = out(&place.run(&["compare", "--git", "main..change"]));
        let note = "note: before uses main:fleet.toml, after uses change:fleet.toml";
        assert_eq!(text.contains(note), before != after, "{text}");
    }
}

#[test]
fn explicit_fleet_applies_to_both_revisions() {
    let place = repository(&[("fleet.toml", &fleet(&[NEW]))], &[("fleet.toml", &fleet(&[OLD]))]);
    place.file("mine.toml", &fleet(&[("mine", "550.54.15")]));
    let (exit, report) = compared(&place, &["--fleet", "mine.toml"]);
    assert_eq!((exit, changes(&report)), (0, vec!["mine same".to_owned()]), "{report}");
    assert_eq!(report["notes"][0], "both sides use mine.toml, as requested");
    place.file("mine-settings.toml", "fleet = \"mine.toml\"\n");
    let (exit, report) = compared(&place, &["--config", "mine-settings.toml"]);
    assert_eq!((exit, changes(&report)), (0, vec!["mine same".to_owned()]), "{report}");
    assert!(report["notes"].to_string().contains("the settings of mine-settings.toml"), "{report}");
}

#[test]
fn added_and_removed_pools_are_reported() {
    let two = fleet(&[NEW, ("b", "550.54.15")]);
    let other = fleet(&[NEW, ("c", "550.54.15"), ("d", "470.57.02")]);
    let place = repository(&[("fleet.toml", &two)], &[("fleet.toml", &other)]);
    let (exit, report) = compared(&place, &[]);
    assert_eq!(exit, 1, "{report}");
    assert_eq!((&report["pools_added"], &report["pools_removed"]), (&json!(["c", "d"]), &json!(["b"])));
    let summary = report["summary"].to_string();
    assert!(summary.contains("pools `c` and `d` are added") && summary.contains("pool `b` is removed"), "{summary}");
    // A removed pool breaks nothing, and a selected pool may be on one side only. A pool of both sides is never added.
    let (exit, report) = compared(&place, &["--pool", "b"]);
    assert_eq!(exit, 0, "{report}");
    assert_eq!((&report["pools_added"], &report["pools_removed"]), (&json!([]), &json!(["b"])), "{report}");
    let (exit, report) = compared(&place, &["--pool", "d"]);
    assert_eq!(exit, 1, "{report}");
    assert_eq!((&report["pools_added"], &report["pools_removed"]), (&json!(["d"]), &json!([])), "{report}");
    let summary = report["summary"].to_string();
    assert!(summary.contains("pool `d` is added") && !summary.contains("`a`"), "{summary}");
    let (exit, report) = compared(&place, &["--pool", "a"]);
    assert_eq!((exit, changes(&report)), (0, vec!["a same".to_owned()]), "{report}");
    let done = place.run(&["compare", "--git", "main..change", "--pool", "x"]);
    assert!(code(&done) == 2 && err(&done).contains("no pool `x`"), "{}", err(&done));
}

#[test]
fn settings_are_those_of_the_revision() {
    let pools = fleet(&[NEW, ("b", "470.57.02")]);
    let named = "fleet = \"infra/pools.toml\"\n";
    for (name, before, after, exit, expected) in [
        ("a fleet by its name", vec![], vec![("imagelint.toml", named)], 1, vec!["a same", "b breaks"]),
        ("the same one", vec![("imagelint.toml", named)], vec![], 0, vec!["a same", "b same"]),
        (
            "a settings file that another one extends",
            vec![],
            vec![("imagelint.toml", "extend = \"conf/more.toml\"\n"), ("conf/more.toml", "fleet = \"x.toml\"\n")],
            0,
            vec!["a same"],
        ),
        (
            "what fails a run",
            vec![("infra/pools.toml", &pools)],
            vec![("imagelint.toml", "fail-on = \"never\"\n")],
            0,
            vec!["a same"],
        ),
    ] {
        let own = fleet(&[NEW]);
        let mut files =
            vec![("fleet.toml", own.as_str()), ("infra/pools.toml", pools.as_str()), ("conf/x.toml", own.as_str())];
        files.extend(before);
        let place = repository(&files, &after);
        if name == "a fleet by its name" {
            let (_, report) = compared(&place, &[]);
            assert_eq!(report["pools_added"], json!(["b"]), "{report}");
        }
        let (code, report) = compared(&place, &["Dockerfile"]);
        assert_eq!(
            (code, changes(&report)),
            (exit, expected.into_iter().map(str::to_owned).collect()),
            "{name}: {report}"
        );
    }
    // Settings name no file outside of their repository, in no revision.
    let outside = "fleet = \"../../etc/pools.toml\"\n";
    let place = repository(&[("fleet.toml", &pools)], &[("imagelint.toml", outside)]);
    let done = place.run(&["compare", "--git", "main..change"]);
    assert_eq!(code(&done), 2, "{}{}", out(&done), err(&done));
}

#[test]
fn each_revision_uses_its_own_lock_file() {
    let base = "registry.example/base:1";
    let lock = |require: &str| {
        format!(
            "version = 1\n\n[[base]]\nreference = \"{base}\"\nplatform = \"linux/amd64\"\n\
             digest = \"sha256:{0}\"\nconfig = \"sha256:{0}\"\n\n[base.env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n\
             NVIDIA_REQUIRE_CUDA = \"{require}\"\n",
            "0".repeat(64)
        )
    };
    let (before, after) = (lock("cuda>=12.2"), lock("cuda>=13.0"));
    let place = repository(
        &[("fleet.toml", &fleet(&[NEW])), ("Dockerfile", &format!("FROM {base}\n")), ("imagelint.lock", &before)],
        &[("imagelint.lock", &after)],
    );
    let (exit, report) = compared(&place, &[]);
    assert_eq!((exit, changes(&report)), (1, vec!["a breaks".to_owned()]), "{report}");
}

#[test]
fn revision_without_a_fleet_uses_the_other_fleet() {
    let own = fleet(&[NEW]);
    let place = repository(&[("Dockerfile", DOCKERFILE)], &[("fleet.toml", &own)]);
    let (exit, report) = compared(&place, &[]);
    assert_eq!((exit, changes(&report)), (0, vec!["a same".to_owned()]), "{report}");
    assert_eq!(report["notes"][0], "main has no fleet file: both sides use change:fleet.toml");
    let place = repository(&[("fleet.toml", &own)], &[("fleet.toml", "")]);
    let (exit, report) = compared(&place, &[]);
    assert_eq!((exit, changes(&report)), (0, vec!["a same".to_owned()]), "{report}");
    assert_eq!(report["notes"][0], "change has no fleet file: both sides use main:fleet.toml");
    // One that no revision has, and one that neither has.
    let place = repository(&[], &[]);
    assert_eq!(compared(&place, &[]).1["fleet"]["built_in"], true);
    place.file("fleet.toml", &own);
    let (_, report) = compared(&place, &[]);
    assert!(report["notes"][0].as_str().is_some_and(|note| note.contains("of the work tree")), "{report}");
}

#[test]
fn broken_file_is_named_with_revision_and_position() {
    let good = fleet(&[NEW]);
    for (file, text) in [("fleet.toml", "[[pool]]\nname = 1\n"), ("imagelint.toml", "fleet = \n")] {
        for (before, after, revision) in [(&*good, text, "change"), (text, &*good, "main")] {
            let (before, after) = if file == "fleet.toml" {
                (before, after)
            } else {
                (if revision == "main" { text } else { "# none\n" }, if revision == "main" { "# none\n" } else { text })
            };
            let place = repository(&[("fleet.toml", &good), (file, before)], &[(file, after)]);
            let done = place.run(&["compare", "--git", "main..change"]);
            let said = err(&done);
            assert!(code(&done) == 2 && said.contains(&format!("{revision}:{file}:")), "{file} {revision}: {said}");
            assert!(!said.contains("/imagelint-"), "{said}");
        }
    }
}

/// Severities, selected pools and the build target come from the settings of each revision, whatever else is the same.
#[test]
fn changed_settings_without_other_changes_change_the_result() {
    // Both stages are refused on the second pool.
    let pools = fleet(&[NEW, ("b", "460.106.00")]);
    let stages = "FROM nvidia/cuda:12.1.1-base-ubuntu22.04 AS plain\n\
                  FROM nvidia/cuda:12.1.1-base-ubuntu22.04 AS strict\nENV NVIDIA_REQUIRE_CUDA=cuda>=13.0\n\
                  FROM plain\nENV A=b\n";
    let new_rules = |report: &Value| -> Vec<String> {
        let found = report["images"][0]["new_findings"].as_array().cloned().unwrap_or_default();
        found.iter().map(|one| format!("{} {}", one["severity"], one["rule"]).replace('"', "")).collect()
    };
    for (name, before, after, exit, expected, news) in [
        (
            "a target that fails",
            "",
            "target = \"strict\"\n",
            1,
            ["a breaks", "b same"],
            vec!["error container-refused"],
        ),
        ("a target that starts", "target = \"strict\"\n", "", 0, ["a works", "b same"], vec![]),
        (
            "a target for some paths",
            "",
            "[[paths]]\nmatch = \"app/**\"\ntarget = \"strict\"\n",
            1,
            ["a breaks", "b same"],
            vec!["error container-refused"],
        ),
        (
            "a target for other paths",
            "",
            "[[paths]]\nmatch = \"other/**\"\ntarget = \"strict\"\n",
            0,
            ["a same", "b same"],
            vec![],
        ),
        (
            "pools for some paths",
            "",
            "[[paths]]\nmatch = \"app/**\"\npools = [\"a\"]\n",
            0,
            ["a same", "b gone"],
            vec![],
        ),
    ] {
        let text = |text: &str| if text.is_empty() { "# none\n".to_owned() } else { text.to_owned() };
        let place = repository(
            &[("fleet.toml", &pools), ("app/Dockerfile", stages), ("imagelint.toml", &text(before))],
            &[("imagelint.toml", &text(after))],
        );
        let arguments = ["compare", "--git", "main..change", "app/Dockerfile"];
        let done = place.run(&arguments);
        assert_eq!(code(&done), exit, "{name}: {}{}", out(&done), err(&done));
        let report = place.json(&arguments);
        assert_eq!(changes(&report), expected, "{name}: {report}");
        assert_eq!(new_rules(&report), news, "{name}: {report}");
        assert!(!report.to_string().contains("/imagelint-"), "{name}: {report}");
    }
}

/// A severity alone makes a finding new, and never changes a verdict.
#[test]
fn a_severity_of_the_revision_decides_the_exit_code() {
    let pools = fleet(&[("a", "525.60.13")]);
    let image =
        "FROM nvidia/cuda:12.0.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y libnvidia-compute-535\n";
    let level = |level: &str| format!("[rules]\ndriver-library-in-image = \"{level}\"\n");
    for (before, after, exit, found) in
        [("off", "error", 1, vec!["error"]), ("off", "warning", 0, vec!["warning"]), ("error", "off", 0, vec![])]
    {
        let place = repository(
            &[("fleet.toml", &pools), ("Dockerfile", image), ("imagelint.toml", &level(before))],
            &[("imagelint.toml", &level(after))],
        );
        let (code, report) = compared(&place, &[]);
        let news = report["images"][0]["new_findings"].as_array().cloned().unwrap_or_default();
        let own = news.iter().filter(|one| one["rule"] == "driver-library-in-image");
        let levels: Vec<&str> = own.filter_map(|one| one["severity"].as_str()).collect();
        assert_eq!((code, levels), (exit, found), "{before} to {after}: {report}");
        assert_eq!(changes(&report), ["a same"], "{before} to {after}: {report}");
    }
}
