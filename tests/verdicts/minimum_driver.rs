//! The smallest driver: one definition, whichever command tells it.

use serde_json::Value;
use test_repository::{TestRepository, out};

use crate::support::test_repository;

/// Of this base the compat library is for some older branches, and not for those in between.
const GAP: &str = "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\n\
     RUN pip install torch==2.7.1+cu128 --index-url https://download.pytorch.org/whl/cu128\n";
const OLD: &str = "FROM nvidia/cuda:12.1.0-runtime-ubuntu22.04\n\
     RUN pip install torch==2.2.0+cu121 --index-url https://download.pytorch.org/whl/cu121\n";

fn repository(driver: &str, toolkit: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        &format!(
            "[[pool]]\nname = \"a\"\ngpu = \"Tesla T4\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"docker-gpus\"\ntoolkit = \"{toolkit}\"\n"
        ),
    );
    repository.file("new.Dockerfile", GAP);
    repository.file("old.Dockerfile", OLD);
    repository
}

/// The newest container toolkit of the tables, with which `needs` tries.
fn newest_toolkit() -> String {
    let knowledge = imagelint::knowledge::Knowledge::built_in();
    knowledge.container_toolkits().last().expect("a toolkit").sample.to_string()
}

fn what_if_minimum_driver(repository: &TestRepository, images: &[&str]) -> Value {
    repository.json(&[&["fleet", "what-if"], images].concat())["drivers"][0].clone()
}

fn fate(repository: &TestRepository, driver: &str) -> String {
    let set = format!("a.driver={driver}");
    let told = repository.json(&["fleet", "what-if", "new.Dockerfile", "--set", &set]);
    told["drivers"][0]["enough"].to_string()
}

#[test]
fn every_command_reports_the_same_minimum_driver() {
    let toolkit = newest_toolkit();
    let repository = repository("520.61.05", &toolkit);
    let told = what_if_minimum_driver(&repository, &["new.Dockerfile"]);
    let smallest = told["smallest"].as_str().expect("a driver");
    assert_eq!((&told["enough"], &told["below"]), (&Value::Bool(false), &Value::Bool(false)), "{told}");
    // An older one starts, which is why there is something to agree about.
    assert_eq!(fate(&repository, "470.57.02"), "true");
    assert_eq!(fate(&repository, "530.30.02"), "false");
    assert_eq!(fate(&repository, smallest), "true");

    let compared = repository.json(&["compare", "old.Dockerfile", "new.Dockerfile"]);
    let drivers = &compared["images"][0]["drivers"][0];
    assert_eq!(drivers["after"], smallest, "{compared}");
    // The older one is named, and is none of the smallest.
    let older = drivers["older_after"]["driver"].as_str().expect("an older one");
    assert!(older < smallest && older.starts_with("470."), "{compared}");
    assert_eq!(drivers["older_after"]["route"], "forward-compat");
    assert_eq!(fate(&repository, older), "true");
    let summary = format!("to {smallest}; it also starts with some older drivers from {older} on (forward-compat)");
    assert!(compared["summary"][0].as_str().is_some_and(|told| told.ends_with(&summary)), "{compared}");
    assert_eq!(drivers["older_before"]["driver"], older, "{compared}");

    let needs = repository.json(&["needs", "new.Dockerfile"]);
    let components = needs["subjects"][0]["components"].as_array().expect("components").iter();
    let groups = components.flat_map(|one| one["groups"].as_array().expect("groups"));
    let of_gpu = |group: &&Value| group["gpus"].as_array().expect("GPUs").iter().any(|gpu| gpu == "Tesla T4");
    let ways = groups.filter(of_gpu).flat_map(|group| group["ways"].as_array().expect("ways"));
    let docker: Vec<&Value> = ways.filter(|way| way["launch"] == "docker-gpus").collect();
    assert!(docker.iter().all(|way| way["toolkit"] == toolkit), "{docker:?}");
    assert!(docker.iter().any(|way| way["smallest_driver"] == smallest), "{smallest}: {docker:?}");

    let wished = ["recommend", "--torch", "==2.7.1+cu128", "--base", "nvidia/cuda:12.8.1-runtime-ubuntu22.04"];
    let fleet = std::fs::read_to_string(repository.path("fleet.toml")).expect("a fleet");
    repository.file("fleet.toml", &fleet.replace("520.61.05", "580.95.05"));
    assert_eq!(repository.json(&wished)["combinations"][0]["pools"][0]["smallest_driver"], smallest);
}

#[test]
fn a_pool_below_a_gap_is_reported_and_is_no_minimum() {
    let repository = repository("470.57.02", "1.14.3");
    let told = what_if_minimum_driver(&repository, &["new.Dockerfile"]);
    assert_eq!((&told["enough"], &told["below"]), (&Value::Bool(true), &Value::Bool(true)), "{told}");
    let text = out(&repository.run(&["fleet", "what-if", "new.Dockerfile"]));
    assert!(text.contains("(now 470.57.02, with which they also start)"), "{text}");
    let compared = repository.json(&["compare", "old.Dockerfile", "new.Dockerfile"]);
    let drivers = &compared["images"][0]["drivers"][0];
    assert_eq!(drivers["below"], serde_json::json!(["a"]), "{compared}");
    assert_ne!(drivers["after"], "470.57.02", "it is no minimum: {compared}");

    // Not below, although it starts; and below, where it does not.
    for (driver, enough) in [("580.95.05", true), ("520.61.05", false), ("530.30.02", false)] {
        let told = what_if_minimum_driver(&self::repository(driver, "1.14.3"), &["new.Dockerfile"]);
        assert_eq!((&told["enough"], &told["below"]), (&Value::Bool(enough), &Value::Bool(false)), "{driver}: {told}");
        assert_ne!(told["smallest"], "470.57.02", "{driver}");
    }
}

/// From the smallest on, every release that the tables know does for all images; the release before it does not.
#[test]
fn every_release_from_the_minimum_on_starts() {
    let repository = repository("535.161.08", "1.14.3");
    let told = what_if_minimum_driver(&repository, &["new.Dockerfile", "old.Dockerfile"]);
    let smallest = told["smallest"].as_str().expect("a driver").to_owned();
    let knowledge = imagelint::knowledge::Knowledge::built_in();
    let releases: Vec<String> =
        imagelint::fix::minimum_driver::all_driver_releases(knowledge).iter().map(ToString::to_string).collect();
    let at = releases.iter().position(|one| *one == smallest).expect("a release of the tables");
    assert!(at > 0 && at + 1 < releases.len(), "{smallest}");
    let pools: Vec<String> = releases
        .iter()
        .map(|driver| {
            std::fs::read_to_string(repository.path("fleet.toml"))
                .expect("a fleet")
                .replace("\"a\"", &format!("\"{driver}\""))
                .replace("535.161.08", driver)
        })
        .collect();
    repository.file("all.toml", &pools.concat());
    let images = ["check", "--fleet", "all.toml", "--fail-on", "never", "new.Dockerfile", "old.Dockerfile"];
    let report = repository.json(&images);
    let starts = |driver: &str| {
        let subjects = report["subjects"].as_array().expect("images").iter();
        let verdicts = subjects.flat_map(|one| one["verdicts"].as_array().expect("verdicts"));
        let mut own = verdicts.filter(|one| one["pool"] == driver && one["component"].is_null()).peekable();
        own.peek().is_some() && own.all(|one| one["fate"] == "starts")
    };
    for (number, driver) in releases.iter().enumerate().skip(at - 1) {
        assert_eq!(starts(driver), number >= at, "{driver}, where the smallest is {smallest}");
    }
}
