//! Changes that make an image start: those of the examples, none without a source in the tables, and the message if there
//! is none.

use crate::support::test_repository;
mod compiler_targets;
mod conflicts;
mod driver_and_image;
mod images;
mod libraries;
mod messages;
mod several_changes;
mod variables;

use std::path::Path;

use imagelint::knowledge::Knowledge;
use imagelint::model::reference::ImageReference;
use serde_json::Value;
use test_repository::{TestRepository, err};

/// The report of an input of the repository with its fixes.
fn report(arguments: &[&str]) -> Value {
    let repository = TestRepository::empty();
    let mut command = repository.command(&["check", "--show-fixes", "--format", "json"]);
    let done = command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().expect("a run");
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&done)))
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn words(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// Every fix of the findings that hold for a pool.
fn fixes(report: &Value, pool: &str) -> Vec<Value> {
    let findings = list(&report["subjects"][0]["findings"]);
    let own = findings.iter().filter(|one| words(&one["pools"]).iter().any(|name| name == pool));
    own.flat_map(|one| list(&one["fixes"])).collect()
}

/// A report for a terminal as one line, wherever it is wrapped.
fn unwrapped(told: &str) -> String {
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether every line of a report for a terminal tells of a start, or of no failure.
fn clean(told: &str) -> bool {
    let well = told.contains("✓ starts") || told.contains("~ no failure found");
    well && !["fails", "may fail", "? unknown"].iter().any(|word| told.contains(word))
}

fn kinds(fixes: &[Value]) -> Vec<String> {
    fixes.iter().filter_map(|one| one["kind"].as_str().map(str::to_owned)).collect()
}

#[test]
fn first_fix_of_the_a100_example_keeps_base_and_framework() {
    let report = report(&["examples/a100-torch-1.12/Dockerfile"]);
    let found = fixes(&report, "legacy-460");
    let first = found.first().expect("a cure");
    assert_eq!((first["kind"].as_str(), first["safety"].as_str()), (Some("framework-variant"), Some("safe")));
    assert!(first["title"].as_str().is_some_and(|title| title.contains("torch==1.12.1+cu113")), "{first}");
    assert_eq!(list(&first["edits"]).len(), 2, "the version, and the index that has it: {first}");
    assert_eq!(words(&first["cures"]).len(), 6, "every mode of the story: {first}");
    assert_eq!(words(&first["breaks"]), [""; 0]);
    assert!(list(&first["edits"]).iter().all(|edit| edit["region"]["start_line"] == 3), "{first}");
}

#[test]
fn fixed_a100_example_needs_a_different_driver_in_each_mode() {
    let report = report(&["examples/a100-torch-1.12/Dockerfile.cure"]);
    for pool in ["legacy-460", "jit-cdi-460"] {
        let found = fixes(&report, pool);
        let driver = found.iter().find(|one| one["kind"] == "driver").expect("a driver");
        assert_eq!((driver["safety"].as_str(), list(&driver["edits"]).len()), (Some("manual"), 0));
        let title = driver["title"].as_str().unwrap_or_default();
        assert!(title.contains(&format!("`{pool}`")) && title.starts_with("driver 4"), "{title}");
        assert!(words(&driver["cures"]).contains(&pool.to_owned()), "{driver}");
    }
    assert!(fixes(&report, "cdi-460").is_empty() && fixes(&report, "legacy-525").is_empty(), "these start");
}

/// A newer release on a base of its CUDA, of the changes offered.
fn newer(fixes: &[Value]) -> Option<&Value> {
    fixes.iter().find(|fix| !list(&fix["drivers"]).is_empty())
}

#[test]
fn a100_example_lists_its_fix_with_the_driver_of_each_mode() {
    let report = report(&["examples/a100-torch-1.12/Dockerfile"]);
    let found = fixes(&report, "legacy-460");
    assert_eq!(found.len(), 3, "a short list: {found:?}");
    assert_eq!(newer(&found), found.last(), "the smaller ones come first");
    let recipe = newer(&found).expect("the recipe");
    let title = recipe["title"].as_str().unwrap_or_default();
    assert_eq!(title, "use the tag 11.7.1-base-ubuntu18.04 of nvidia/cuda, and install torch==1.13.1");
    assert_eq!((recipe["kind"].as_str(), recipe["safety"].as_str()), (Some("framework-version"), Some("manual")));
    assert!(list(&recipe["edits"]).is_empty() && words(&recipe["breaks"]).is_empty(), "{recipe}");
    assert_eq!(words(&recipe["cures"]), ["cdi-460", "legacy-525", "cdi-525", "jit-cdi-525"]);
    let drivers = |pool: &str| -> Vec<(String, String, Option<String>)> {
        let text = |one: &Value, field: &str| one[field].as_str().map(str::to_owned);
        let of_pool =
            list(&recipe["drivers"]).into_iter().filter(|one| words(&one["pools"]).contains(&pool.to_owned()));
        of_pool.filter_map(|one| Some((text(&one, "route")?, text(&one, "from")?, text(&one, "to")))).collect()
    };
    let range = |route: &str, from: &str, to: Option<&str>| (route.to_owned(), from.to_owned(), to.map(str::to_owned));
    let native = range("native", "515.43.04", None);
    let minor = range("minor-version", "450.80.02", Some("510.108.03"));
    let compat = [("450.36.06", "450.248.02"), ("470.42.01", "470.256.02"), ("510.39.01", "510.108.03")];
    let mut taken: Vec<_> = compat.iter().map(|(from, to)| range("forward-compat", from, Some(to))).collect();
    taken.push(native.clone());
    for (pool, expected) in [("cdi-460", vec![minor, native]), ("legacy-460", taken.clone()), ("jit-cdi-460", taken)] {
        assert_eq!(drivers(pool), expected, "{pool}");
    }
    let done = TestRepository::empty()
        .command(&["check", "--show-fixes", "examples/a100-torch-1.12/Dockerfile"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("a run");
    let told = unwrapped(&String::from_utf8_lossy(&done.stdout));
    // One fix, from its head to the next line of its finding.
    let fixes: Vec<&str> = told.split(" = ").filter(|line| line.starts_with("fix: ")).collect();
    for words in ["450.80.02 to 510.108.03 (minor-version)", "515.43.04 or newer (native)", "(forward-compat)"] {
        assert!(fixes.iter().any(|fix| fix.contains(title) && fix.contains(words)), "{words}: {told}");
    }
}

#[test]
fn newer_release_and_base_are_suggested_only_for_missing_gpu_code() {
    let pool = |gpu: &str, driver: &str| {
        format!(
            "[[pool]]\nname = \"a\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-cdi\"\ntoolkit = \"1.17.4\"\n"
        )
    };
    let python = "RUN apt-get update && apt-get install -y python3.8 python3-pip\n";
    let of = |base: &str, torch: &str| format!("FROM {base}\n{python}RUN python3.8 -m pip install {torch}\n");
    for (gpu, driver, dockerfile, expected) in [
        ("A100", "470.182.03", of("nvidia/cuda:10.2-base-ubuntu18.04", "torch==1.12.1"), true),
        // The GPU has code, and what fails is the driver.
        ("T4", "418.226.00", of("nvidia/cuda:10.2-base-ubuntu18.04", "torch==1.12.1+cu116"), false),
        // No base of another CUDA is known, or none that is newer is wanted.
        ("A100", "470.182.03", of("ubuntu:18.04", "torch==1.12.1"), false),
        ("A100", "470.182.03", of("mirror.example/nvidia/cuda-like:10.2-base", "torch==1.12.1"), false),
        ("A100", "470.182.03", of("nvidia/cuda:12.4.1-base-ubuntu20.04", "torch==1.12.1"), false),
        ("A100", "470.182.03", of("nvidia/cuda:10.2-base-ubuntu18.04", "torch"), false),
        // The newer release has no code for it either.
        ("B200", "580.95.05", of("nvidia/cuda:10.2-base-ubuntu18.04", "torch==1.12.1"), false),
    ] {
        let repository = TestRepository::new();
        repository.file("fleet.toml", &pool(gpu, driver));
        repository.file("Dockerfile", &dockerfile);
        let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
        let found = fixes(&report, "a");
        assert_eq!(newer(&found).is_some(), expected, "{dockerfile}: {found:?}");
    }
}

#[test]
fn error_804_example_has_three_fixes() {
    for input in ["examples/error-804/Dockerfile.11.3.1", "examples/error-804/cuda-11.3.1.image.toml"] {
        let report = report(&[input]);
        for pool in ["rtx-2080-ti-450", "rtx-2080-ti-460"] {
            let found = fixes(&report, pool);
            // The base that starts on both is three minors older.
            let first: Vec<String> = kinds(&found).into_iter().take(3).collect();
            assert_eq!(first, ["driver", "compat", "base-tag"], "{input} on {pool}");
            for fix in found.iter().take(3) {
                assert!(words(&fix["cures"]).contains(&pool.to_owned()), "{fix}");
                assert!(!words(&fix["breaks"]).contains(&"t4-450".to_owned()), "the T4 goes on to start: {fix}");
            }
        }
        let written = fixes(&report, "rtx-2080-ti-450").iter().any(|fix| !list(&fix["edits"]).is_empty());
        assert_eq!(written, input.contains("Dockerfile"), "a description is not what is built");
    }
}

#[test]
fn every_recommended_fix_is_in_the_database() {
    let knowledge = Knowledge::built_in();
    let repository = TestRepository::new();
    let mut tags = 0;
    for (tag, driver) in [
        ("12.8.1-base-ubuntu22.04", "470.182.03"),
        ("12.4.1-cudnn-devel-ubuntu22.04", "450.80.02"),
        ("11.8.0-cudnn8-runtime-ubuntu20.04", "418.226.00"),
        ("13.0.0-devel-ubi9", "535.161.08"),
        ("12.6.3-runtime-rockylinux9", "525.60.13"),
    ] {
        repository.file("Dockerfile", &format!("FROM nvidia/cuda:{tag}\n"));
        let pool = format!(
            "[[pool]]\nname = \"a\"\ngpu = \"GeForce RTX 2080 Ti\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        );
        repository.file("fleet.toml", &pool);
        let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
        for fix in fixes(&report, "a").iter().filter(|fix| fix["kind"] == "base-tag") {
            let title = fix["title"].as_str().unwrap_or_default();
            let offered = title.split_whitespace().nth(3).expect("a tag");
            ImageReference::parse(&format!("nvidia/cuda:{offered}")).expect("a reference");
            let parts: Vec<&str> = offered.split('-').collect();
            let row = knowledge.cuda_image(parts[0]).unwrap_or_else(|| panic!("{offered} is not in the tables"));
            let (flavour, os) = (parts[parts.len() - 2], parts[parts.len() - 1]);
            assert!(row.flavours.contains(&flavour) && row.os.contains(&os), "{offered}");
            assert!(knowledge.withdrawn_tag("nvidia/cuda", parts[0]).is_none(), "{offered} is gone");
            if let Some(word) = parts.iter().find(|word| word.starts_with("cudnn")) {
                let words = knowledge.cudnn_tags().iter().find(|row| row.version == parts[0]);
                assert!(words.is_some_and(|row| row.words.contains(word)), "{offered}");
            }
            tags += 1;
        }
    }
    assert!(tags >= 3, "only {tags} tags were offered");
}

#[test]
fn fix_that_breaks_another_pool_is_listed_last() {
    let repository = TestRepository::empty();
    // The older build has no code for the newer GPU, and the newer build asks for more than the older driver.
    let pools = [("old", "T4", "450.80.02"), ("new", "NVIDIA GeForce RTX 5090", "570.124.06")];
    let fleet = pools.map(|(name, gpu, driver)| {
        format!("[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n")
    });
    repository.file("fleet.toml", &fleet.concat());
    repository.file(
        "Dockerfile",
        "FROM python:3.11-slim\nRUN pip install torch==2.7.0 --index-url https://wheels.example.com/whl/cu128\n",
    );
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let found = fixes(&report, "old");
    let broken: Vec<bool> = found.iter().map(|fix| !words(&fix["breaks"]).is_empty()).collect();
    assert!(broken.contains(&true), "{found:?}");
    assert!(broken.windows(2).all(|pair| pair[0] <= pair[1]), "what breaks comes last: {broken:?}");
    assert_eq!(kinds(&found).first().map(String::as_str), Some("driver"), "{found:?}");
    let notes = words(&report["subjects"][0]["inspected"]["notes"]).join("\n");
    for part in ["need different images", "`old`", "`new`", "or driver"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let done = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(test_repository::out(&done), "", "nothing that breaks a pool is written");
}

#[test]
fn fixes_are_listed_only_on_request_and_for_failures() {
    let repository = TestRepository::new();
    let clean = repository.json(&["check", "--show-fixes", "--pool", "new", "Dockerfile"]);
    assert!(fixes(&clean, "new").is_empty());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let input = root.join("examples/a100-torch-1.12/Dockerfile").display().to_string();
    let silent = repository.json(&["check", &input]);
    assert!(fixes(&silent, "legacy-460").is_empty());
}

#[test]
fn a_fix_that_removes_a_failure_does_not_claim_a_start() {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        "[[pool]]\nname = \"a\"\ngpu = \"T4\"\ndriver = \"450.80.02\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    );
    repository.file("Dockerfile", "FROM example.com/team/base:1\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.0 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DISABLE_REQUIRE=false\nRUN pip install torch==2.4.0\n");
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let found = fixes(&report, "a");
    for fix in &found {
        assert_eq!(words(&fix["cures"]), [""; 0], "the base is not known: {fix}");
        assert_eq!(words(&fix["lifts"]), ["a"], "{fix}");
    }
    assert!(kinds(&found).contains(&"driver".to_owned()), "{found:?}");
    let done = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(test_repository::out(&done), "", "what is not proved is not written");
}

#[test]
fn a_requirement_check_is_disabled_only_on_pools_that_fail_it() {
    let repository = TestRepository::empty();
    // The one is refused, the other takes the library of the image and has no use for it.
    let pools = [("t4", "Tesla T4", "535.161.08"), ("desk", "GeForce RTX 3090", "460.91.03")];
    let fleet = pools.map(|(name, gpu, driver)| {
        format!("[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n")
    });
    repository.file("fleet.toml", &fleet.concat());
    repository
        .file("Dockerfile", "FROM python:3.11\nENV NVIDIA_REQUIRE_CUDA=cuda>=12.6\nRUN pip install torch==2.4.0\n");
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let found = fixes(&report, "t4");
    let unchecked = found.iter().find(|fix| fix["kind"] == "run-environment").expect("a variable at the start");
    let title = unchecked["title"].as_str().unwrap_or_default();
    assert!(title.contains("`t4`") && !title.contains("`desk`"), "{title}");
    assert_eq!(words(&unchecked["cures"]), ["t4"]);
}

/// One pool, and a Dockerfile.
fn one(pool: &str, dockerfile: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &format!("[[pool]]\nname = \"a\"\nplatform = \"linux/amd64\"\n{pool}"));
    repository.file("Dockerfile", dockerfile);
    repository
}

#[test]
fn fixes_for_a_possible_failure_are_listed_but_not_written() {
    // Which container toolkit a node has decides whether the compat library of the image is taken.
    let pool = "gpu = \"GeForce RTX 3090\"\ndriver = \"460.67\"\nlaunch = \"docker-gpus\"\n";
    let dockerfile = "FROM nvidia/cuda:11.3.0-cudnn8-devel-ubuntu20.04\n";
    let repository = one(pool, dockerfile);
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "depends", "{report}");
    let found = fixes(&report, "a");
    let compat = found.iter().find(|fix| fix["kind"] == "compat").expect("the compat library left out");
    assert_eq!((words(&compat["settles"]), words(&compat["cures"])), (vec!["a".to_owned()], Vec::new()), "{compat}");
    assert!(!list(&compat["edits"]).is_empty(), "it can be written by hand: {compat}");
    for fix in &found {
        assert_eq!((words(&fix["cures"]), words(&fix["lifts"])), (Vec::new(), Vec::new()), "nothing fails: {fix}");
        assert!(!words(&fix["settles"]).is_empty() || !words(&fix["narrows"]).is_empty(), "{fix}");
    }
    let told = unwrapped(&test_repository::out(&repository.run(&["check", "--show-fixes", "Dockerfile"])));
    assert!(told.contains("fix: leave out the compat library"), "{told}");
    // The driver is older than the one of that CUDA, and the program may ask for what came with it.
    let with =
        "so that the libcuda of the host is used, by minor version compatibility: code that requires the newer driver";
    assert!(told.contains(with), "{told}");
    assert!(told.contains("starts on a for all unknown values"), "{told}");

    let done = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(test_repository::out(&done), "", "nothing is written where nothing fails for certain");
    for format in ["sarif", "rdjsonl"] {
        let told = test_repository::out(&repository.run(&["check", "--show-fixes", "--format", format, "Dockerfile"]));
        assert!(
            told.contains("\"message\"") && !told.contains("\"fixes\"") && !told.contains("\"suggestions\""),
            "{format}: {told}"
        );
    }
}

#[test]
fn sarif_and_rdjsonl_contain_fixes_without_the_flag() {
    let pool = "gpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let repository = one(pool, "FROM python:3.8-slim\nRUN pip install torch==1.12.1\n");
    let told = |repository: &TestRepository, arguments: &[&str]| -> Value {
        let done = repository.run(&[&["check"][..], arguments, &["Dockerfile"]].concat());
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", err(&done)))
    };
    let log = told(&repository, &["--format", "sarif"]);
    let results = list(&log["runs"][0]["results"]);
    let fix = results.iter().find_map(|result| list(&result["fixes"]).first().cloned()).expect("a fix");
    let change = fix["artifactChanges"][0]["replacements"][0].clone();
    assert!(change["insertedContent"]["text"].as_str().is_some_and(|text| text.contains("+cu11")), "{fix}");
    assert_eq!(change["deletedRegion"]["startLine"], 2, "{fix}");
    let line = told(&repository, &["--format", "rdjsonl"]);
    assert!(line["suggestions"][0]["text"].as_str().is_some_and(|text| text.contains("+cu11")), "{line}");
    // Other formats contain fixes only on request, with any additional format.
    let fixes_of = |report: &Value| list(&report["subjects"][0]["findings"][0]["fixes"]).len();
    assert_eq!(fixes_of(&told(&repository, &["--format", "json"])), 0);
    let beside = ["--format", "json", "--format", "sarif=x.sarif", "--format", "rdjsonl=x.rdjsonl"];
    assert_eq!(told(&repository, &beside), told(&repository, &["--format", "json"]));
    assert!(std::fs::read_to_string(repository.path("x.sarif")).expect("SARIF").contains("\"fixes\":"));
    assert!(std::fs::read_to_string(repository.path("x.rdjsonl")).expect("lines").contains("\"suggestions\":"));
    let asked = [&beside[..], &["--show-fixes"]].concat();
    assert!(fixes_of(&told(&repository, &asked)) > 0);
    assert!(std::fs::read_to_string(repository.path("x.sarif")).expect("SARIF").contains("\"fixes\":"));
    // Nothing is sought where nothing fails, nor of what has no text.
    for (pool, dockerfile) in [
        (
            pool,
            "FROM python:3.8-slim\nRUN pip install torch==1.12.1+cu113 --index-url https://download.pytorch.org/whl/cu113\n",
        ),
        (pool, "FROM debian\n"),
        (
            "gpu = \"GeForce RTX 3090\"\ndriver = \"460.67\"\nlaunch = \"docker-gpus\"\n",
            "FROM nvidia/cuda:11.3.0-cudnn8-devel-ubuntu20.04\n",
        ),
    ] {
        let log = told(&one(pool, dockerfile), &["--format", "sarif"]);
        let results = log["runs"][0]["results"].as_array().expect("results");
        assert!(results.iter().all(|result| result["fixes"].is_null()), "{dockerfile}: {log}");
    }
}

#[test]
fn fix_with_an_assumption_about_unread_parts_states_the_assumption() {
    let pool = "gpu = \"T4\"\ndriver = \"450.80.02\"\nlaunch = \"docker-gpus\"\n";
    let repository = one(pool, "FROM example.com/team/base:1\nRUN pip install torch==2.4.0\n");
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "undetermined", "{report}");
    let found = fixes(&report, "a");
    let driver = found.iter().find(|fix| fix["kind"] == "driver").unwrap_or_else(|| panic!("a driver: {found:?}"));
    assert!(driver["supposes"].as_str().is_some_and(|what| what.contains("unread")), "{driver}");
    assert!(found.iter().all(|fix| words(&fix["cures"]).is_empty()), "{found:?}");
    assert!(found.iter().filter(|fix| !fix["supposes"].is_null()).all(|fix| list(&fix["edits"]).is_empty()));
    let done = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(test_repository::out(&done), "", "what is supposed is not written");
}

#[test]
fn no_fix_is_offered_if_no_change_helps() {
    // No node is known, and the image is: only the pool can say more.
    let repository = one("launch = \"docker-gpus\"\n", "FROM scratch\nENV NVIDIA_REQUIRE_CUDA=cuda>=99.0\n");
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    for fix in fixes(&report, "a") {
        assert!(!words(&fix["settles"]).is_empty() || !words(&fix["cures"]).is_empty(), "{fix}");
    }
    // What starts needs no change, asked or not.
    let pool = "gpu = \"A100-SXM4-40GB\"\ndriver = \"580.95.05\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let repository = one(pool, "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n");
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    assert_eq!(fixes(&report, "a"), Vec::<Value>::new());
}

#[test]
fn a_wheel_for_one_torch_release_is_not_kept_with_another() {
    let pool = "gpu = \"B200\"\ndriver = \"580.95.05\"\nlaunch = \"kubernetes\"\ntoolkit = \"1.18.0\"\n";
    let base = "FROM python:3.10-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.6.0\n";
    let wheel = "RUN pip install https://wheels.example.com/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n";
    let releases = |dockerfile: &str| {
        let report = one(pool, dockerfile).json(&["check", "--show-fixes", "Dockerfile"]);
        let found = fixes(&report, "a").into_iter().filter(|fix| fix["kind"] == "framework-version");
        found.collect::<Vec<Value>>()
    };
    let alone = releases(base);
    assert!(alone.iter().any(|fix| fix["safety"] == "unsafe" && !list(&fix["edits"]).is_empty()), "{alone:?}");
    let beside = releases(&format!("{base}{wheel}"));
    assert!(!beside.is_empty());
    for fix in &beside {
        assert_eq!((fix["safety"].as_str(), list(&fix["edits"]).len()), (Some("manual"), 0), "{fix}");
        assert!(fix["title"].as_str().is_some_and(|title| title.contains("a build of flash-attn for it")), "{fix}");
    }
    let repository = one(pool, &format!("{base}{wheel}"));
    let done = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
    assert_eq!(test_repository::out(&done), "", "the wheel would no longer load");
}

/// What is supposed for each of the fixes of pool `a`, with their kinds.
fn supposed(repository: &TestRepository) -> Vec<(String, String)> {
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let told = |fix: &Value| Some((fix["kind"].as_str()?.to_owned(), fix["supposes"].as_str()?.to_owned()));
    fixes(&report, "a").iter().filter_map(told).collect()
}

#[test]
fn fix_assuming_a_usual_base_is_suggested_for_an_unknown_base() {
    let docker = "gpu = \"GTX 1050 Ti\"\ndriver = \"525.125.06\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    let native = "gpu = \"GTX 1050 Ti\"\ndriver = \"525.125.06\"\nlaunch = \"native\"\n";
    let unknown = "FROM example.com/team/base:1\nRUN pip install torch==2.3.0\n";
    let repository = one(docker, unknown);
    let found = supposed(&repository);
    for kind in ["driver", "compat"] {
        let told = found.iter().find(|(own, _)| own == kind).map(|(_, what)| what.as_str());
        let told = told.unwrap_or_else(|| panic!("{kind}: {found:?}"));
        assert!(told.starts_with("the unread part of the image is as in nvidia/cuda:12.1."), "{told}");
    }
    let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
    let written = |fix: &&Value| !fix["supposes"].is_null() && !list(&fix["edits"]).is_empty();
    assert_eq!(fixes(&report, "a").iter().filter(written).count(), 0, "{report}");
    for (why, pool, dockerfile) in [
        ("nothing is in a container", native, unknown),
        ("the base is known", docker, "FROM python:3.11\nRUN pip install torch==2.3.0\n"),
        ("its CUDA is known", docker, "FROM nvidia/cuda:12.1.1-base-ubuntu22.04\nRUN pip install torch==2.3.0\n"),
        ("no CUDA is known", docker, "FROM example.com/team/base-gpu:1\n"),
    ] {
        let found = supposed(&one(pool, dockerfile));
        assert!(found.iter().all(|(_, what)| !what.contains("is as in")), "{why}: {found:?}");
    }
}

#[test]
fn tag_without_a_release_is_tried_as_the_newest_known_one() {
    let pool = "gpu = \"T4\"\ndriver = \"450.80.02\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    let of = |from: &str| supposed(&one(pool, &format!("FROM {from}\n")));
    let found = of("tensorflow/tensorflow:latest-gpu");
    let driver = found.iter().find(|(kind, _)| kind == "driver").unwrap_or_else(|| panic!("a driver: {found:?}"));
    assert!(driver.1.starts_with("`tensorflow/tensorflow:latest-gpu` has the contents of its tag "), "{driver:?}");
    assert!(driver.1.ends_with("-gpu, the newest in the compatibility database"), "{driver:?}");
    for from in [
        "example.com/tensorflow:latest-gpu",
        "tensorflow/tensorflow:latest",
        "tensorflow/tensorflow:99.1.0-gpu",
        "tensorflow/tensorflow:2.14.0-gpu",
    ] {
        let found = of(from);
        assert!(found.iter().all(|(_, what)| !what.contains("has the contents of its tag")), "{from}: {found:?}");
    }
}

#[test]
fn distant_releases_are_listed_after_near_fixes() {
    let pool = "gpu = \"T4\"\ndriver = \"450.80.02\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    // Of the neighbours one build starts, and nothing further away is needed.
    let repository = one(pool, "FROM python:3.9\nRUN pip install torch==2.8.0\n");
    let found = fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a");
    let titles: Vec<&str> = found.iter().filter_map(|fix| fix["title"].as_str()).collect();
    assert!(
        titles.contains(&"install torch==2.7.1+cu118 from the index https://download.pytorch.org/whl/cu118"),
        "{titles:?}"
    );
    assert!(!titles.iter().any(|title| title.contains("torch==1.") || title.contains("torch==2.0")), "{titles:?}");
    // No neighbouring release starts: the last resort follows the driver, and is not written.
    let repository = one(pool, "FROM python:3.12\nRUN pip install torch==2.13.0\n");
    let found = fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a");
    assert_eq!(kinds(&found), ["driver", "framework-version"], "{found:?}");
    assert_eq!((&found[1]["safety"], list(&found[1]["edits"]).len()), (&Value::from("manual"), 0), "{found:?}");
}

#[test]
fn conda_build_is_edited_at_its_version() {
    let pool = "gpu = \"T4\"\ndriver = \"440.33.01\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\n";
    let from = "FROM continuumio/miniconda3:4.10.3\n";
    let diff = |rest: &str, file: Option<&str>| {
        let repository = one(pool, &format!("{from}{rest}"));
        if let Some(text) = file {
            repository.file("environment.yml", text);
        }
        let told = test_repository::out(&repository.run(&["check", "--diff", "Dockerfile"]));
        let changed =
            |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
        told.lines().filter(changed).map(str::to_owned).collect::<Vec<_>>()
    };
    let installed = |cuda: &str| format!("RUN conda install -y pytorch=1.12.1 {cuda} -c pytorch\n");
    assert_eq!(
        diff(&installed("cudatoolkit=11.3"), None),
        [
            "-RUN conda install -y pytorch=1.12.1 cudatoolkit=11.3 -c pytorch",
            "+RUN conda install -y pytorch=1.12.1 cudatoolkit=10.2 -c pytorch"
        ]
    );
    let argument = format!("ARG CUDA=11.6\n{}", installed("cudatoolkit=${CUDA}"));
    assert_eq!(diff(&argument, None), ["-ARG CUDA=11.6", "+ARG CUDA=10.2"]);
    let copied = "COPY environment.yml .\nRUN conda env update -n base -f environment.yml\n";
    let file = "name: x\nchannels: [pytorch]\ndependencies:\n  - pytorch=1.12.1\n  - cudatoolkit=11.3   # ours\n";
    assert_eq!(diff(copied, Some(file)), ["-  - cudatoolkit=11.3   # ours", "+  - cudatoolkit=10.2   # ours"]);
    for (why, rest) in [
        ("another channel has other builds", installed("cudatoolkit=11.3").replace("-c pytorch", "-c conda-forge")),
        ("no build of that release is older", installed("pytorch-cuda=11.8").replace("1.12.1", "2.1.0")),
        (
            "the build is named itself",
            installed("cudatoolkit=11.3").replace("1.12.1", "1.12.1=py3.9_cuda11.3_cudnn8_0"),
        ),
        ("nothing chooses", installed("numpy")),
        ("something else is of that CUDA", installed("cudatoolkit=11.3 cudatoolkit-dev=11.3")),
        ("the version is no release", installed("cudatoolkit=11.3.1")),
    ] {
        assert_eq!(diff(&rest, None), Vec::<String>::new(), "{why}");
    }
}

#[test]
fn platform_change_is_suggested_if_the_base_has_that_platform() {
    let pool = |platform: &str| {
        format!(
            "[[pool]]\nname = \"a\"\ngpu = \"NVIDIA GH200 480GB\"\ndriver = \"560.35.05\"\nplatform = \"{platform}\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
        )
    };
    let arm64 = pool("linux/arm64");
    let on = |base: &str| {
        format!(
            "FROM --platform=linux/amd64 {base}\nRUN pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124\n"
        )
    };
    let repository = TestRepository::empty();
    let told = |fleet: &str, dockerfile: &str| {
        repository.file("fleet.toml", fleet);
        repository.file("Dockerfile", dockerfile);
        fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a")
    };
    let found = told(&arm64, &on("nvidia/cuda:12.4.1-runtime-ubuntu22.04"));
    assert_eq!(kinds(&found), ["platform"], "{found:?}");
    assert_eq!(words(&found[0]["cures"]), ["a"], "{found:?}");
    assert_eq!((&found[0]["safety"], list(&found[0]["edits"]).len()), (&Value::from("manual"), 0), "{found:?}");
    for (what, dockerfile) in [
        ("a base that is not there for it", on("nvidia/cuda:10.2-runtime-ubuntu18.04")),
        ("a base of which that is not known", on("example.com/team/base:1")),
        ("no platform is fixed", on("nvidia/cuda:12.4.1-runtime-ubuntu22.04").replace("--platform=linux/amd64 ", "")),
        ("a release without a wheel for it", on("nvidia/cuda:12.4.1-runtime-ubuntu22.04").replace("2.5.1", "9.9.9")),
    ] {
        let found = told(&arm64, &dockerfile);
        let cures = found.iter().any(|fix| fix["kind"] == "platform" && !words(&fix["cures"]).is_empty());
        assert!(!cures, "{what}: {found:?}");
    }
    let found = told(&pool("linux/amd64"), &on("nvidia/cuda:12.4.1-runtime-ubuntu22.04"));
    assert!(!kinds(&found).contains(&"platform".to_owned()), "it is built for that platform: {found:?}");
}

#[test]
fn fix_for_only_some_nodes_is_not_reported_as_complete() {
    // The driver is not said: with code for its GPU the release starts on nodes that have a driver for it.
    let dockerfile = "FROM python:3.11\nRUN pip install vllm==0.4.0\n";
    let told = |pool: &str| {
        let repository = one(pool, dockerfile);
        let report = repository.json(&["check", "--show-fixes", "Dockerfile"]);
        assert_eq!(report["subjects"][0]["verdicts"][0]["fate"], "fails", "{report}");
        fixes(&report, "a")
    };
    let found = told("gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n");
    let first = found.first().expect("a change");
    assert!(first["title"].as_str().is_some_and(|title| title.contains("vllm==0.4.0.post1")), "{first}");
    assert_eq!((words(&first["cures"]), words(&first["lifts"])), (Vec::new(), vec!["a".to_owned()]), "{first}");
    // No release has code for these, whatever the driver; and an old driver is one wall more.
    for pool in [
        "gpu = \"Tesla K80\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
        "gpu = \"Tesla M60\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
        "gpu = \"T4\"\ndriver = \"418.87.00\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
    ] {
        let found = told(pool);
        let release = |fix: &&Value| fix["title"].as_str().is_some_and(|title| title.starts_with("install vllm=="));
        assert!(!found.iter().any(|fix| release(&fix)), "{pool}: {found:?}");
    }
}

#[test]
fn host_libraries_precede_the_compat_directory_of_the_image() {
    let found = |toolkit: &str, driver: &str, tag: &str| {
        let pool = format!(
            "gpu = \"NVIDIA H100 80GB HBM3\"\ndriver = \"{driver}\"\nlaunch = \"nvidia-runtime\"\ntoolkit = \"{toolkit}\"\n"
        );
        let repository = one(&pool, &format!("FROM vllm/vllm-openai:{tag}\n"));
        let all = fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "a");
        all.into_iter().find(|fix| fix["title"].as_str().is_some_and(|title| title.contains("LD_LIBRARY_PATH=")))
    };
    // Legacy mode mounts where Debian keeps libraries; with CDI they are where the node has them.
    for (toolkit, first) in [
        ("1.17.6", "=/usr/lib/x86_64-linux-gnu:/usr/local/nvidia/lib64:"),
        ("1.18.1", "=/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/local/nvidia/lib64:"),
    ] {
        let fix = found(toolkit, "580.95.05", "v0.15.0").expect("a variable");
        assert!(fix["title"].as_str().is_some_and(|title| title.contains(first)), "{fix}");
        assert_eq!((&fix["kind"], &fix["safety"]), (&Value::from("environment"), &Value::from("unsafe")), "{fix}");
        assert_eq!(words(&fix["cures"]), ["a"], "{fix}");
    }
    for (toolkit, driver, tag) in [
        ("1.17.8", "580.95.05", "v0.15.0"),
        ("1.14.3", "580.95.05", "v0.15.0"),
        // Its compat library is what lets it start there, or is of no use either.
        ("1.18.1", "570.124.06", "v0.15.0"),
        ("1.17.6", "450.80.02", "v0.15.0"),
        // No configuration names the compat directory, or that is unknown.
        ("1.17.6", "580.95.05", "v0.6.0"),
        ("1.17.6", "580.95.05", "v99.0.0"),
    ] {
        assert_eq!(found(toolkit, driver, tag), None, "{toolkit} {driver} {tag}");
    }
}
