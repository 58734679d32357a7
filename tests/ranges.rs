//! Which release a range of versions means: that of the day, for the Python of the image, where nothing else decides.

#[path = "support/place.rs"]
#[expect(dead_code, reason = "every test of the program takes what it needs")]
mod place;

use place::Place;

const POOL: &str = "[[pool]]\nname = \"a100\"\ngpu = \"A100\"\ndriver = \"550.90.07\"\nplatform = \"linux/amd64\"\n\
    launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";

/// The versions of a component that are known on a day, by the report of a Dockerfile.
fn versions(lines: &str, component: &str, day: Option<&str>) -> Vec<String> {
    let place = Place::bare();
    place.file("fleet.toml", POOL);
    place.file("Dockerfile", lines);
    let mut arguments = vec!["check", "Dockerfile"];
    arguments.extend(day.map(|day| ["--as-of", day]).into_iter().flatten());
    let report = place.json(&arguments);
    let facts = report["subjects"][0]["facts"].as_array().cloned().unwrap_or_default();
    let of_version =
        facts.iter().filter(|fact| fact["key"] == format!("{component}.version") && fact["state"] == "known");
    of_version.filter_map(|fact| fact["value"].as_str().map(str::to_owned)).collect()
}

#[test]
fn an_open_range_means_the_newest_release_of_the_day_for_that_python() {
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
    ] {
        let lines = format!("FROM {base}\nRUN pip install {install}\n");
        assert_eq!(versions(&lines, component, day), [expected], "{base} {install} {day:?}");
    }
}

#[test]
fn a_range_means_no_release_where_something_else_decides() {
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
        // Which release goes with that torch is not in the tables.
        ("FROM python:3.10-slim\nRUN pip install torch==2.3.0 vllm\n", "vllm", None),
        ("FROM python:3.10-slim\nRUN pip install xformers==0.0.27 vllm\n", "vllm", None),
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
fn what_is_in_an_image_is_not_what_an_installer_would_take() {
    let place = Place::bare();
    place.file("fleet.toml", POOL);
    place.file("one.image.toml", "base = \"python:3.10-slim\"\n[packages.pip]\nonnxruntime-gpu = \">=1.15\"\n");
    let report = place.json(&["check", "one.image.toml"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    assert!(verdicts.iter().all(|one| one["fate"] == "undetermined"), "{verdicts:?}");
}
