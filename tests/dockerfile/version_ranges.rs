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
fn open_range_selects_the_newest_release_for_date_and_python() {
    for (base, install, component, day, expected) in [
        ("python:3.10-slim", "onnxruntime-gpu", "onnxruntime", None, "1.23.2"),
        ("python:3.9-slim", "onnxruntime-gpu", "onnxruntime", None, "1.19.2"),
        ("python:3.10-slim", "'onnxruntime-gpu>=1.15'", "onnxruntime", Some("2024-06-01"), "1.18.0"),
        ("python:3.10-slim", "'onnxruntime-gpu<1.19'", "onnxruntime", None, "1.18.1"),
        ("python:3.8-slim", "tensorflow", "tensorflow", None, "2.13.1"),
        ("python:3.11-slim", "'tensorflow[and-cuda]'", "tensorflow", Some("2024-01-01"), "2.15.0.post1"),
        // The distribution's own Python, that which a tag names, and one that a command names.
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "onnxruntime-gpu", "onnxruntime", None, "1.23.2"),
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu20.04", "tensorflow", "tensorflow", None, "2.13.1"),
        // A package that asks for a torch of its own.
        ("python:3.12-slim", "vllm", "vllm", Some("2024-12-31"), "0.6.6.post1"),
        // The release for the torch of the command, as uv 0.9.9 selects it.
        ("python:3.10-slim", "torch==2.3.0 vllm", "vllm", None, "0.5.1"),
        ("python:3.10-slim", "torch==2.4.0 xformers", "xformers", None, "0.0.27.post2"),
        ("python:3.10-slim", "xformers==0.0.27 vllm", "vllm", None, "0.5.3.post1"),
    ] {
        let lines = format!("FROM {base}\nRUN pip install {install}\n");
        assert_eq!(versions(&lines, component, day), [expected], "{base} {install} {day:?}");
    }
}

#[test]
fn torch_constraint_selects_the_release_of_dependent_packages() {
    let bounded = |bound: &str| format!("FROM python:3.12-slim\nRUN echo '{bound}' > /c && pip install -c /c vllm\n");
    for (bound, expected) in [
        ("torch==2.5.1", Some("0.7.3")),
        ("torch==2.5.1+cu124", Some("0.7.3")),
        ("torch<2.5", Some("0.6.3.post1")),
        ("numpy<2", Some("0.33.0")),
        ("vllm<0.7", Some("0.6.6.post1")),
        ("torch==2.3.1.post7", None),
        ("torch==$NOWHERE", None),
        ("torch<2.5; sys_platform == $NOWHERE", None),
    ] {
        let said = versions(&bounded(bound), "vllm", None);
        assert_eq!(said, expected.into_iter().collect::<Vec<_>>(), "{bound}");
    }
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

/// How a file ends on the three pools, with the releases of which the scenarios tell.
fn ends(file: &str, text: &str) -> Vec<(String, Vec<String>)> {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", POOLS);
    repository.file(file, text);
    let report = repository.json(&["check", file]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let of_image = verdicts.iter().filter(|verdict| verdict["component"].is_null());
    let told = |verdict: &serde_json::Value| {
        let end = verdict["outcome"].as_str().or(verdict["fate"].as_str()).unwrap_or_default().to_owned();
        let scenarios = verdict["scenarios"].as_array().expect("scenarios").iter();
        (end, scenarios.filter_map(|one| one["when"]["build"].as_str().map(str::to_owned)).collect())
    };
    of_image.map(told).collect()
}

/// Fates of a description with a range of torch on the three pools.
fn of_range(range: &str, more: &str) -> Vec<String> {
    let text = format!("base = \"python:3.11-slim\"\n{more}[packages.pip]\ntorch = \"{range}\"\n");
    ends("one.image.toml", &text).into_iter().map(|(end, _)| end).collect()
}

#[test]
fn version_range_has_the_common_outcome_of_its_releases() {
    let (starts, old, no_code, open) = ("starts", "insufficient-driver", "no-kernel-image", "undetermined");
    for (range, more, expected) in [
        // CUDA 12.1 and 12.4.
        (">=2.4,<2.6", "", [starts, old, no_code]),
        (">=2.2,<2.6", "", [starts, old, no_code]),
        // CUDA 11.7 and 12.1: the older driver takes the one of them.
        (">=2.0,<2.2", "", [starts, open, no_code]),
        // CUDA 12.6 and 12.8, and only the later has code for the newest GPU.
        (">=2.7,<2.9", "", [starts, old, open]),
        // A release of tomorrow may be meant; of a day all are known.
        (">=2.4", "", [open, open, open]),
        (">=2.4,<3", "", [open, open, open]),
        ("", "", [open, open, open]),
        (">=2.4,<3", "as_of = 2025-01-15\n", [starts, old, no_code]),
        // No release.
        (">=2.4,<2.4", "", [open, open, open]),
    ] {
        assert_eq!(of_range(range, more), expected, "{range} {more}");
    }
    let text = "base = \"python:3.11-slim\"\n[packages.pip]\ntorch = \">=2.4,<2.6\"\n";
    let told: Vec<Vec<String>> = ends("one.image.toml", text).into_iter().map(|(_, builds)| builds).collect();
    // What all of them have in common needs no trial: none has code for the newest GPU.
    assert_eq!(told, [vec!["torch 2.5.1"], vec!["torch 2.5.1"], Vec::new()]);
}

#[test]
fn conditionally_replaced_torch_has_two_possible_versions() {
    let of = |first: &str, then: &str| {
        let text =
            format!("FROM python:3.11-slim\nRUN pip install {first}\nRUN [ -e /x ] && pip install {then} || true\n");
        ends("Dockerfile", &text).into_iter().map(|(end, _)| end).collect::<Vec<_>>()
    };
    let (starts, old, no_code, open) = ("starts", "insufficient-driver", "no-kernel-image", "undetermined");
    for (first, then, expected) in [
        ("torch==2.5.1", "torch==2.4.0", [starts, old, no_code]),
        ("torch==2.5.1", "vllm==0.6.0", [starts, old, no_code]),
        ("torch==2.5.1", "torch==2.0.1", [starts, open, no_code]),
        ("torch==2.5.1", "torch==2.8.0", [starts, old, open]),
        ("torch==2.5.1", "torch==$NOWHERE", [open, open, open]),
    ] {
        assert_eq!(of(first, then), expected, "{first}, {then}");
    }
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
