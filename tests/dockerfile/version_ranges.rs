//! Which release a range of versions means: that of the day, for the Python of the image, where nothing else decides.

use test_repository::TestRepository;

use crate::support::test_repository;

const POOL: &str = "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"550.90.07\"\nplatform = \"linux/amd64\"\n\
    launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";

/// The versions of a component that are known on a day, by the report of a Dockerfile.
fn versions(lines: &str, component: &str, day: Option<&str>) -> Vec<String> {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", POOL);
    repository.file("Dockerfile", lines);
    let mut arguments = vec!["check", "Dockerfile"];
    arguments.extend(day.map(|day| ["--as-of", day]).into_iter().flatten());
    let report = repository.json(&arguments);
    let facts = report["subjects"][0]["facts"].as_array().cloned().unwrap_or_default();
    let of_version =
        facts.iter().filter(|fact| fact["key"] == format!("{component}.version") && fact["state"] == "known");
    let mut found: Vec<String> = of_version.filter_map(|fact| fact["value"].as_str().map(str::to_owned)).collect();
    // A tag of which there may be several builds tells it of each.
    found.dedup();
    found
}

#[test]
fn a_version_range_selects_no_release_if_another_fact_decides() {
    for (lines, component, day) in [
        // The Python is not known, and it decides.
        ("FROM ubuntu:22.04\nRUN apt-get install -y python3.9 && pip install onnxruntime-gpu\n", "onnxruntime", None),
        ("FROM continuumio/miniconda3\nRUN pip install onnxruntime-gpu\n", "onnxruntime", None),
        // The base may bring it.
        ("FROM registry.example/ml:1\nRUN pip install onnxruntime-gpu\n", "onnxruntime", None),
        ("FROM pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime\nRUN pip install onnxruntime-gpu\n", "onnxruntime", None),
        // A command that may not run, and a version in a variable.
        ("FROM python:3.10-slim\nRUN [ -e /x ] && pip install onnxruntime-gpu || true\n", "onnxruntime", None),
        ("FROM python:3.10-slim\nRUN pip install onnxruntime-gpu==$NOWHERE\n", "onnxruntime", None),
        // What was there first may do.
        ("FROM python:3.10-slim\nRUN pip install 'tensorflow<2.12'\nRUN pip install tensorflow\n", "tensorflow", None),
        // No release of that day, and none for that Python.
        ("FROM python:3.10-slim\nRUN pip install onnxruntime-gpu\n", "onnxruntime", Some("2020-01-01")),
        ("FROM python:3.15-slim\nRUN pip install onnxruntime-gpu\n", "onnxruntime", None),
        // Nothing says for which Pythons there are wheels of it.
        ("FROM python:3.10-slim\nRUN pip install ctranslate2\n", "ctranslate2", None),
    ] {
        assert_eq!(versions(lines, component, day), Vec::<String>::new(), "{lines} {day:?}");
    }
}

#[test]
fn version_range_in_a_description_is_not_resolved_like_pip() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", POOL);
    repository.file("one.image.toml", "base = \"python:3.10-slim\"\n[packages.pip]\nonnxruntime-gpu = \">=1.15\"\n");
    let report = repository.json(&["check", "one.image.toml"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    assert!(verdicts.iter().all(|one| one["fate"] == "undetermined"), "{verdicts:?}");
}

const POOLS: &str = "[[pool]]\nname = \"new\"\ngpu = \"A100\"\ndriver = \"550.90.07\"\nlaunch = \"native\"\n\
    [[pool]]\nname = \"old\"\ngpu = \"A100\"\ndriver = \"470.82.01\"\nlaunch = \"native\"\n\
    [[pool]]\nname = \"next\"\ngpu = \"B200\"\ndriver = \"570.211.01\"\nplatform = \"linux/amd64\"\nlaunch = \"native\"\n";

#[test]
fn scenarios_name_the_deciding_releases_of_a_range() {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", POOLS);
    let text = "base = \"python:3.11-slim\"\n[packages.pip]\ntorch = \">=2.4,<2.6\"\n";
    repository.file("one.image.toml", text);
    let report = repository.json(&["check", "one.image.toml"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let of_image = verdicts.iter().filter(|verdict| verdict["component"].is_null());
    let builds = |verdict: &serde_json::Value| -> Vec<String> {
        let scenarios = verdict["scenarios"].as_array().expect("scenarios").iter();
        scenarios.filter_map(|one| one["when"]["build"].as_str().map(str::to_owned)).collect()
    };
    // No release of the range has code for the newest GPU, so that no scenario has a release there.
    let found: Vec<Vec<String>> = of_image.map(builds).collect();
    assert_eq!(found, [vec!["torch 2.5.1"], vec!["torch 2.5.1"], Vec::new()]);
}

#[test]
fn runtime_selected_library_without_gpu_code_is_listed_as_not_seen() {
    let of = |name: &str, target: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", POOL);
        let own = "[[gpu_code]]\nfile = \"torch/lib/libtorch_cuda.so\"\ncomponent = \"torch\"\nsass = [\"sm_80\"]\nptx = []\n";
        let other = format!(
            "[[gpu_code]]\nfile = \"torch/lib/{name}\"\ncomponent = \"torch\"\nsass = [\"{target}\"]\nptx = []\n"
        );
        let head = "base = \"python:3.11-slim\"\n[packages.pip]\ntorch = \"2.4.0\"\n";
        repository.file("one.image.toml", &format!("{head}{own}{other}"));
        let report = repository.json(&["check", "one.image.toml"]);
        let verdict = &report["subjects"][0]["verdicts"][0];
        let list = verdict["not_seen"].as_array().expect("a list").iter();
        let named = list.filter_map(|one| one.as_str()).any(|one| one.contains(name));
        (verdict["outcome"].as_str().or(verdict["fate"].as_str()).unwrap_or_default().to_owned(), named)
    };
    assert_eq!(of("libattention.so", "sm_90"), ("starts".to_owned(), true));
    assert_eq!(of("libattention.so", "sm_80"), ("starts".to_owned(), false));
    assert_eq!(of("libtorch_cuda_cu.so", "sm_90"), ("no-kernel-image".to_owned(), false));
}
