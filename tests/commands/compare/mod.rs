//! `imagelint compare`: what a change does to a fleet, through the built program.

use crate::support::test_repository;
mod commits;
mod renames;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use test_repository::{DOCKERFILE, TestRepository, code, err, out};

const CUDA_13: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=13.0\n";
/// The same base, with a requirement of its own.
const NEWER: &str = "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.8\n";
const CUDA_12: &str = "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\n";

/// One A100 pool for each driver, started without anything of a toolkit that could check a requirement.
fn fleet(pools: &[(&str, &str)]) -> String {
    let pool = |(name, driver): &(&str, &str)| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"A100\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    pools.iter().map(pool).collect()
}

fn three() -> TestRepository {
    let place = TestRepository::empty();
    place.file("fleet.toml", &fleet(&[("desk", "550.54.15"), ("older", "535.183.01"), ("newest", "580.95.05")]));
    place.file("old.Dockerfile", CUDA_12);
    place.file("new.Dockerfile", NEWER);
    place
}

fn changes(report: &Value) -> Vec<String> {
    let pools = report["images"][0]["pools"].as_array().expect("pools").iter();
    pools.map(|pool| format!("{} {}", pool["pool"], pool["change"]).replace('"', "")).collect()
}

#[test]
fn a_newer_base_raises_the_minimum_and_breaks_pools() {
    let place = three();
    let done = place.run(&["compare", "old.Dockerfile", "new.Dockerfile"]);
    assert_eq!(code(&done), 1, "{}{}", out(&done), err(&done));
    let text = out(&done);
    assert!(text.contains("raises the minimum driver from 525.53 to 570."), "{text}");
    assert!(text.contains("pools `desk` and `older` break"), "{text}");
    assert!(text.contains("nothing newly works") && text.contains("old.Dockerfile -> new.Dockerfile"), "{text}");
    let report = place.json(&["compare", "old.Dockerfile", "new.Dockerfile"]);
    assert_eq!(changes(&report), ["desk breaks", "older breaks", "newest same"]);
    assert_eq!(report["images"][0]["drivers"][0]["pools"].as_array().map(Vec::len), Some(3), "{report}");
    let findings = report["images"][0]["new_findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["severity"] == "error"), "{report}");
    let done = place.run(&["compare", "old.Dockerfile", "new.Dockerfile", "--format", "markdown"]);
    let text = out(&done);
    assert!(text.starts_with("## imagelint: ") && text.contains("| `desk` | no failure found"), "{text}");
    assert!(text.contains("❌ fails container-refused |") && !text.contains("`newest` |"), "{text}");
}

#[test]
fn pool_starting_below_the_minimum_driver_is_named() {
    let place = TestRepository::empty();
    let on = |driver: &str| fleet(&[("a", driver)]).replace("A100", "T4").replace("1.17.8", "1.14.3");
    let image = |cuda: &str, torch: &str, build: &str| {
        format!(
            "FROM nvidia/cuda:{cuda}-runtime-ubuntu22.04\n\
             RUN apt-get install -y python3-pip && pip install torch=={torch}+{build} --index-url https://download.pytorch.org/whl/{build}\n"
        )
    };
    place.file("old.Dockerfile", &image("12.1.0", "2.2.0", "cu121"));
    place.file("new.Dockerfile", &image("12.8.1", "2.7.1", "cu128"));
    let told = |driver: &str| {
        place.file("fleet.toml", &on(driver));
        place.json(&["compare", "old.Dockerfile", "new.Dockerfile"])
    };
    // The compat library is for some older branches, and not for those in between: the smallest driver rises, and this
    // pool has none of those that stopped to do.
    let among = "on (forward-compat), among them the driver of pool `a`";
    let report = told("470.57.02");
    let image = &report["images"][0];
    assert_eq!(image["pools"][0]["after"]["fate"], "starts", "{report}");
    assert_eq!((&image["drivers"][0]["pools"], &image["drivers"][0]["below"]), (&json!(["a"]), &json!(["a"])));
    let summary = image["summary"].to_string();
    assert!(summary.contains("raises the minimum driver from ") && summary.contains(among), "{summary}");
    for driver in ["580.95.05", "520.61.05"] {
        let report = told(driver);
        let drivers = &report["images"][0]["drivers"][0];
        assert_eq!((&drivers["pools"][0], &drivers["below"]), (&json!("a"), &json!([])), "{driver}: {report}");
        assert!(!report.to_string().contains("among them"), "{driver}: {report}");
    }
}

/// A start with code that was not seen has the word of `check`: no failure found.
#[test]
fn start_with_uninspected_code_is_no_failure_found() {
    let place = TestRepository::empty();
    place.file("fleet.toml", &fleet(&[("a", "470.182.03")]));
    let start = "FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.7.1";
    let index = "--extra-index-url https://download.pytorch.org/whl";
    place.file("old.Dockerfile", &format!("{start}+cu128 {index}/cu128\n"));
    place.file("seen.Dockerfile", &format!("{start}+cu118 {index}/cu118\n"));
    place.file("unseen.Dockerfile", &format!("{start}+cu118 flash-attn==2.8.3 {index}/cu118\n"));
    for (after, summary, cell) in [
        ("seen.Dockerfile", "pool `a` newly works", "starts (minor version compatibility)"),
        ("unseen.Dockerfile", "pool `a` newly shows no failure", "no failure found (minor version compatibility)"),
    ] {
        let report = place.json(&["compare", "old.Dockerfile", after]);
        let pair = &report["images"][0];
        assert!(pair["summary"].as_array().is_some_and(|all| all.contains(&json!(summary))), "{report}");
        let not_seen = pair["pools"][0]["after"]["not_seen"].as_array().map_or(0, Vec::len);
        assert_eq!(not_seen > 0, after == "unseen.Dockerfile", "{report}");
        let text = out(&place.run(&["compare", "old.Dockerfile", after]));
        assert!(text.lines().any(|line| line.trim_end().ends_with(cell)), "{text}");
        assert_eq!(text.contains("no failure found"), after == "unseen.Dockerfile", "{text}");
    }
}

/// The other way round, and what has no effect: only what is new counts.
#[test]
fn only_new_failures_set_the_exit_code() {
    let place = three();
    place.file("same.Dockerfile", &format!("# another comment\n{NEWER}"));
    for (before, after, more, expected, said) in [
        ("new.Dockerfile", "old.Dockerfile", &[][..], 0, "lowers the minimum driver from 570."),
        ("new.Dockerfile", "old.Dockerfile", &[], 0, "pools `desk` and `older` newly show no failure"),
        // It fails on two pools, as it did before.
        ("new.Dockerfile", "same.Dockerfile", &[], 0, "changes nothing for this fleet"),
        ("new.Dockerfile", "same.Dockerfile", &["--fail-on", "note"], 0, "changes nothing for this fleet"),
        ("old.Dockerfile", "new.Dockerfile", &["--fail-on", "never"], 0, "break"),
        ("old.Dockerfile", "new.Dockerfile", &["--pool", "newest"], 0, "raises the minimum driver"),
        ("old.Dockerfile", "new.Dockerfile", &["--pool", "desk"], 1, "pool `desk` breaks"),
        ("old.Dockerfile", "nowhere.Dockerfile", &[], 2, "nowhere.Dockerfile"),
        ("nowhere.Dockerfile", "old.Dockerfile", &[], 2, "nowhere.Dockerfile"),
    ] {
        let done = place.run(&[&["compare", before, after], more].concat());
        let text = out(&done) + &err(&done);
        assert_eq!(code(&done), expected, "{before} {after} {more:?}: {text}");
        assert!(text.contains(said), "{before} {after} {more:?}: {text}");
    }
    for wrong in [&["compare", "old.Dockerfile"][..], &["compare", "a", "b", "c"], &["compare"]] {
        let done = place.run(wrong);
        assert!(code(&done) == 2 && out(&done).is_empty(), "{wrong:?}: {}", out(&done));
    }
}

#[test]
fn reports_and_folders_are_compared_image_by_image() {
    let place = three();
    for (folder, base) in [("before", CUDA_12), ("after", NEWER)] {
        place.file(&format!("{folder}/a/Dockerfile"), base);
        place.file(&format!("{folder}/b/Dockerfile"), CUDA_12);
        let only = if folder == "before" { "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n" } else { CUDA_12 };
        place.file(&format!("{folder}/only-{folder}/Dockerfile"), only);
        let report = place.run(&["check", folder, "--fleet", "fleet.toml", "--format", "json"]).stdout;
        fs::write(place.path(&format!("{folder}.json")), report).expect("a report");
    }
    for (before, after) in [("before", "after"), ("before.json", "after.json")] {
        let report = place.json(&["compare", before, after, "--fleet", "fleet.toml"]);
        let images = report["images"].as_array().expect("images");
        let summary = report["summary"].to_string();
        if before == "before" {
            let names: Vec<&str> = images.iter().filter_map(|image| image["name"].as_str()).collect();
            assert_eq!(names, ["a/Dockerfile", "b/Dockerfile", "only-after/Dockerfile", "only-before/Dockerfile"]);
            assert!(summary.contains("breaks: `a/Dockerfile` on `desk` and `older`"), "{summary}");
            assert_eq!(images[1]["summary"][0], "changes nothing for this fleet");
            assert_eq!((&images[2]["before"], &images[3]["after"]), (&Value::Null, &Value::Null));
            assert_eq!(images[3]["summary"][0], "is removed");
        } else {
            // The names of a report are those of its day: these folders have none in common, and the same text is the
            // same image. The newer base is in no file of the older report.
            assert_eq!(images.len(), 4, "{report}");
            assert_eq!(images[1]["renamed_from"], "before/b/Dockerfile", "{report}");
            let new = images.iter().find(|image| image["name"] == "after/a/Dockerfile").expect("the newer base");
            assert_eq!((&new["before"], &new["pools"][0]["change"]), (&Value::Null, &json!("breaks")), "{report}");
        }
    }
    let done = place.run(&["compare", "before.json", "before.json", "--fleet", "fleet.toml"]);
    assert!(code(&done) == 0 && out(&done).contains("0 of 3 images change; nothing breaks"), "{}", out(&done));
}

fn git(place: &TestRepository, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(place.path(".")).args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ]);
    let done = command.args(arguments).output().expect("git");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A repository whose branch `main` starts on both pools, and whose branch `change` does not.
fn repository() -> TestRepository {
    let place = TestRepository::new();
    git(&place, &["init", "-q", "-b", "main"]);
    place.file(
        "app/Dockerfile",
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nCOPY r.txt /\nRUN apt-get install -y python3-pip && pip install -r /r.txt\n",
    );
    place.file("app/r.txt", "torch==2.4.0\n");
    git(&place, &["add", "fleet.toml", "Dockerfile", "app"]);
    git(&place, &["commit", "-q", "-m", "first"]);
    git(&place, &["checkout", "-q", "-b", "change"]);
    place.file("Dockerfile", CUDA_13);
    place.file("app/r.txt", "torch==1.12.1\n");
    git(&place, &["commit", "-q", "-a", "-m", "second"]);
    place
}

#[test]
fn revisions_of_a_repository_are_compared() {
    let place = repository();
    for revisions in ["main..change", "main...change", "main..", "HEAD~1..HEAD", "main"] {
        let done = place.run(&["compare", "--git", revisions, "Dockerfile"]);
        let text = out(&done) + &err(&done);
        assert!(text.contains("pools `old` and `new` break"), "{revisions}: {text}");
        assert!(text.contains("Dockerfile") && !text.contains("/tmp/"), "{revisions}: {text}");
    }
    for (before, after) in [("main:Dockerfile", "change:Dockerfile"), ("main:Dockerfile", "Dockerfile")] {
        let report = place.json(&["compare", before, after]);
        assert_eq!((&report["before"], &report["after"]), (&Value::from(before), &Value::from(after)));
        assert_eq!(report["images"].as_array().map(Vec::len), Some(1), "{report}");
        assert!(!report.to_string().contains("imagelint-"), "{report}");
    }
    // What the Dockerfile copies is of the revision as well: no code for an H100 in the older release.
    let report = place.json(&["compare", "--git", "main..change", "app/Dockerfile"]);
    assert_eq!(report["images"][0]["name"], "app/Dockerfile");
    assert!(changes(&report).contains(&"new breaks".to_owned()), "{report}");
    let report = place.json(&["compare", "--git", "main..change"]);
    let names = report["images"].as_array().expect("images").iter().map(|image| image["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["Dockerfile", "app/Dockerfile"]);
    // From a folder below, both sides are called as from the root.
    for revisions in ["main", "main..change"] {
        let mut command = place.command(&["compare", "--git", revisions, "--format", "markdown", "Dockerfile"]);
        let text = out(&command.current_dir(place.path("app")).output().expect("a run"));
        assert!(text.contains("### `app/Dockerfile`\n"), "{text}");
    }
    let mut command = place.command(&["compare", "--git", "main", "--format", "json", "Dockerfile"]);
    let text = out(&command.current_dir(place.path("app")).output().expect("a run"));
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&report["after"], &report["images"][0]["after"]), (&json!("app/Dockerfile"), &json!("app/Dockerfile")));
    // Nothing is left behind, and the working tree is as it was.
    place.file("Dockerfile", DOCKERFILE);
    let done = place.run(&["compare", "--git", "main", "Dockerfile"]);
    assert!(code(&done) == 0 && out(&done).contains("changes nothing"), "{}", out(&done));
}

#[test]
fn unknown_revisions_and_paths_are_reported() {
    let place = repository();
    for (arguments, said) in [
        (&["--git", "nowhere..change", "Dockerfile"][..], "`nowhere` is not a revision"),
        (&["--git=--output=x..change", "Dockerfile"], "is not a revision"),
        (&["--git", "main..change", "nowhere"], "nowhere does not exist in main..change"),
        (&["--git", "main..change", "../x"], "outside the repository"),
        (&["nowhere:Dockerfile", "Dockerfile"], "nowhere:Dockerfile: `nowhere` is not a revision"),
        (&["Dockerfile", "HEAD~99:Dockerfile"], "`HEAD~99` is not a revision"),
        (&["HEAD~99:no-such-file", "Dockerfile"], "not an image reference"),
    ] {
        let done = place.run(&[&["compare"], arguments].concat());
        assert!(
            code(&done) == 2 && err(&done).contains(said) || out(&done).contains(said),
            "{arguments:?} {}",
            err(&done)
        );
    }
    let place = TestRepository::empty();
    fs::remove_dir(place.path(".git")).expect("an empty folder");
    place.file("Dockerfile", DOCKERFILE);
    let done = place.run(&["compare", "--git", "main", "Dockerfile"]);
    assert!(code(&done) == 2 && err(&done).contains("this directory is not in a git repository"), "{}", err(&done));
}

/// A file that is new breaks what it fails on; one that is gone breaks nothing.
#[test]
fn added_and_removed_files_are_reported() {
    let place = repository();
    git(&place, &["mv", "Dockerfile", "x.Dockerfile"]);
    git(&place, &["commit", "-q", "-m", "third"]);
    let report = place.json(&["compare", "--git", "main..change", "x.Dockerfile"]);
    assert_eq!(report["images"][0]["before"], Value::Null);
    assert_eq!(report["images"][0]["summary"][0], "is new");
    let done = place.run(&["compare", "--git", "main..change", "Dockerfile"]);
    assert!(code(&done) == 0 && out(&done).contains("is removed"), "{}{}", out(&done), err(&done));
}

/// A repository may say what it likes in its own configuration: nothing of it is run.
#[cfg(unix)]
#[test]
fn nothing_of_a_repository_is_run() {
    let place = repository();
    let mark = place.path("run");
    let touch = format!("touch '{}'", mark.display());
    place.file("Dockerfile", CUDA_12);
    place.file(".gitattributes", "* filter=x diff=x\n");
    std::os::unix::fs::symlink("/etc/hostname", place.path("app/out.txt")).expect("a link");
    git(&place, &["add", "-A", "app", ".gitattributes"]);
    git(&place, &["commit", "-q", "-m", "hostile"]);
    for key in [
        "core.fsmonitor",
        "core.pager",
        "pager.cat-file",
        "core.sshCommand",
        "core.editor",
        "core.askPass",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.smudge",
        "filter.x.clean",
        "filter.x.process",
        "gpg.program",
        "credential.helper",
        "remote.origin.uploadpack",
    ] {
        git(&place, &["config", key, &touch]);
    }
    for (key, value) in [
        ("alias.cat-file", format!("!{touch}")),
        ("remote.origin.url", format!("ext::sh -c {}", touch.replace(' ', "% "))),
        ("remote.origin.promisor", "true".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("core.repositoryFormatVersion", "1".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
    ] {
        git(&place, &["config", key, &value]);
    }
    let _ = fs::remove_file(&mark);
    let done = place.run(&["compare", "--git", "main..change", "app/Dockerfile"]);
    assert!(out(&done).contains("app/Dockerfile"), "{}{}", out(&done), err(&done));
    assert!(!mark.exists(), "something was run");
    // A file that was never fetched is an error, and is not fetched.
    let id =
        Command::new("git").current_dir(place.path(".")).args(["rev-parse", "main:app/r.txt"]).output().expect("git");
    let id = String::from_utf8(id.stdout).expect("an id");
    let object = place.path(&format!(".git/objects/{}/{}", &id[..2], id[2..].trim()));
    fs::remove_file(object).expect("a loose object");
    let _ = fs::remove_file(&mark);
    let done = place.run(&["compare", "--git", "main..change", "app/Dockerfile"]);
    assert_eq!(code(&done), 2, "{}{}", out(&done), err(&done));
    assert!(!mark.exists(), "something was run to fetch a file");
}

#[test]
fn unreadable_input_is_neither_removed_nor_new() {
    let place = TestRepository::new();
    for inputs in [["Dockerfile", "zzz"], ["zzz", "Dockerfile"]] {
        let done = place.run(&["compare", inputs[0], inputs[1]]);
        assert_eq!(code(&done), 2);
        let said = out(&done) + &err(&done);
        assert!(said.contains("zzz: not found"), "{said}");
        assert!(!said.contains("any more") && !said.contains("is new"), "{said}");
    }
}

#[test]
fn a_new_image_is_reported_with_its_outcome() {
    let place = three();
    place.file("was/keep.Dockerfile", CUDA_12);
    for folder in ["is/keep.Dockerfile", "is/added.Dockerfile"] {
        place.file(folder, if folder.contains("added") { NEWER } else { CUDA_12 });
    }
    let report = place.json(&["compare", "was", "is"]);
    let images = report["images"].as_array().expect("images");
    let new = images.iter().find(|image| image["before"].is_null()).expect("a new one");
    let summary = new["summary"].to_string();
    assert!(
        summary.starts_with(r#"["is new","no failure found on `newest`","fails on `desk` and `older`""#),
        "{summary}"
    );
    let whole = report["summary"].to_string();
    assert!(whole.contains("is new and starts: ") && !whole.contains("nothing newly works"), "{whole}");
    // What is gone and what stays says nothing of the kind.
    let report = place.json(&["compare", "is", "was"]);
    let whole = report["summary"].to_string();
    assert!(!whole.contains("is new") && whole.contains("nothing newly works"), "{whole}");
}

/// An input of one file has that file's name, whatever stands on the other side.
#[test]
fn a_single_checked_file_keeps_its_name() {
    let place = three();
    place.file("one/Dockerfile", CUDA_12);
    place.file("many/a/Dockerfile", NEWER);
    place.file("many/b/Dockerfile", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n");
    for (before, after, expected) in [
        ("one/Dockerfile", "one/Dockerfile", &["one/Dockerfile"][..]),
        ("old.Dockerfile", "one/Dockerfile", &["one/Dockerfile"]),
        ("one/Dockerfile", "many", &["one/Dockerfile", "a/Dockerfile", "b/Dockerfile"]),
        ("many", "one/Dockerfile", &["one/Dockerfile", "a/Dockerfile", "b/Dockerfile"]),
    ] {
        let report = place.json(&["compare", before, after]);
        let names = report["images"].as_array().expect("images").iter().filter_map(|image| image["name"].as_str());
        let mut names: Vec<&str> = names.collect();
        let mut expected = expected.to_vec();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{before} {after}: {report}");
        let text = out(&place.run(&["compare", before, after]));
        assert!(text.starts_with(|first: char| !first.is_whitespace()) && !text.contains("``"), "{text}");
    }
}

/// Whoever declares no fleet reads which one was judged against.
#[test]
fn built_in_reference_fleet_is_named() {
    let told = "checked against built-in example pools";
    let declared = three();
    let bare = TestRepository::empty();
    for name in ["old.Dockerfile", "new.Dockerfile"] {
        bare.file(name, &fs::read_to_string(declared.path(name)).expect("a file"));
    }
    for (place, expected) in [(&bare, true), (&declared, false)] {
        for format in ["human", "markdown"] {
            let difference = ["compare", "old.Dockerfile", "new.Dockerfile", "--format", format];
            let changed = ["fleet", "what-if", "old.Dockerfile", "--add", "b: gpu=B200", "--format", format];
            for arguments in [&difference[..], &changed] {
                let text = out(&place.run(arguments));
                assert_eq!(text.contains(told), expected, "{arguments:?}: {text}");
            }
        }
    }
}

/// A list that is named from the root of the repository makes that root the build context, in every revision.
#[test]
fn requirements_files_read_from_the_repository_root_are_compared() {
    let place = TestRepository::new();
    git(&place, &["init", "-q", "-b", "main"]);
    place.file("Dockerfile", CUDA_12);
    place.file("svc/f/Dockerfile", "FROM python:3.8-slim\nWORKDIR /app\nCOPY . .\nRUN pip install -r svc/f/req.txt\n");
    place.file("svc/f/req.txt", "-r ../../common/gpu.txt\n");
    place.file("common/gpu.txt", "torch==2.4.0\n");
    git(&place, &["add", "fleet.toml", "Dockerfile", "svc", "common"]);
    git(&place, &["commit", "-q", "-m", "first"]);
    git(&place, &["checkout", "-q", "-b", "change"]);
    place.file("common/gpu.txt", "torch==1.12.1\n");
    git(&place, &["commit", "-q", "-a", "-m", "second"]);
    for revisions in ["main...change", "main"] {
        let report = place.json(&["compare", "--git", revisions]);
        let images = report["images"].as_array().expect("images");
        let of = |name: &str| images.iter().find(|image| image["name"] == name).expect("an image");
        assert!(of("svc/f/Dockerfile")["pools"].to_string().contains("breaks"), "{revisions}: {report}");
        assert!(!of("Dockerfile")["pools"].to_string().contains("breaks"), "{revisions}: {report}");
    }
}
