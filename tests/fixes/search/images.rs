//! Another base image, where the one that is there lacks libraries.

use imagelint::knowledge::Knowledge;
use serde_json::Value;

use crate::search::several_changes::on;
use crate::search::{fixes, list};

#[test]
fn a_cuda_base_image_is_recommended_for_missing_libraries_on_a_plain_system() {
    let knowledge = Knowledge::built_in();
    for (base, package, expected) in [
        ("python:3.11-slim", "onnxruntime-gpu==1.19.2", true),
        ("ubuntu:22.04", "onnxruntime-gpu==1.19.2", true),
        // It requests none, or has its own.
        ("python:3.11-slim", "onnxruntime==1.19.2", false),
        ("python:3.11-slim", "torch==2.4.0", false),
        // The contents of the base are unknown, it has the libraries, or another tag of it does.
        ("mirror.example/own/python:3.11", "onnxruntime-gpu==1.19.2", false),
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "onnxruntime-gpu==1.19.2", false),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "onnxruntime-gpu==1.19.2", false),
    ] {
        let t4 = ("t4", "T4", "550.54.15", "docker-gpus", "1.17.8");
        let text = format!("FROM {base}\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install {package}\n");
        let report = on(&[t4], &text).json(&["check", "--show-fixes", "Dockerfile"]);
        let found: Vec<Value> = fixes(&report, "t4").into_iter().filter(|fix| fix["kind"] == "base-image").collect();
        assert_eq!(!found.is_empty(), expected, "{base} {package}: {found:?}");
        for fix in found {
            assert_eq!((&fix["safety"], list(&fix["edits"]).len()), (&Value::from("manual"), 0), "{fix}");
            let title = fix["title"].as_str().unwrap_or_default();
            let tag = title.strip_prefix("use nvidia/cuda:").and_then(|rest| rest.split(' ').next());
            let tag = tag.unwrap_or_else(|| panic!("{title}"));
            let row = knowledge.cuda_image(tag.split('-').next().unwrap_or_default()).expect("a release of the tables");
            assert!(tag.contains("-cudnn-runtime-") && row.os.iter().any(|os| tag.ends_with(os)), "{title}");
        }
    }
}

/// Known facts about a digest are reported for its image; a lock file may name the tag.
#[test]
fn base_pinned_by_digest_has_the_fixes_of_its_tag() {
    let t4 = ("t4", "T4", "470.57.02", "docker-gpus", "1.17.8");
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let by_digest = format!("nvidia/cuda@{digest}");
    let lock = |reference: &str| {
        format!(
            "version = 1\n[[base]]\nreference = \"{reference}\"\nplatform = \"linux/amd64\"\ndigest = \"{digest}\"\n\
             config = \"{digest}\"\nplatforms = [\"linux/amd64\"]\n[base.env]\nCUDA_VERSION = \"12.8.1\"\n\
             NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DRIVER_CAPABILITIES = \"compute,utility\"\n\
             NVIDIA_REQUIRE_CUDA = \"cuda>=12.8\"\n"
        )
    };
    let found = |lock: Option<String>, from: &str| -> Vec<Value> {
        let place = on(&[t4], &format!("FROM {from}\nCMD [\"/app\"]\n"));
        if let Some(lock) = &lock {
            place.file("imagelint.lock", lock);
        }
        let found = fixes(&place.json(&["check", "--show-fixes", "Dockerfile"]), "t4");
        let of_tag = |fix: &Value| fix["kind"] == "base-tag";
        assert!(found.iter().all(|fix| !of_tag(fix) || (fix["safety"] == "manual" && list(&fix["edits"]).is_empty())));
        found.into_iter().filter(of_tag).collect()
    };
    let title = |fixes: &[Value]| fixes.first().map(|fix| fix["title"].to_string()).unwrap_or_default();
    let tagged = title(&found(Some(lock("nvidia/cuda:12.8.1-runtime-ubuntu22.04")), &by_digest));
    assert!(tagged.contains("-runtime-ubuntu22.04 of nvidia/cuda, and its digest"), "{tagged}");
    let alone = title(&found(Some(lock(&by_digest)), &by_digest));
    assert!(alone.contains("use a tag of nvidia/cuda for CUDA 12.") && alone.contains("such as 12."), "{alone}");
    // The tag of another digest or of another image says nothing, and neither does nothing.
    let other = format!("nvidia/cuda@sha256:{}", "f".repeat(64));
    let tag = "nvidia/cuda:12.8.1-runtime-ubuntu22.04";
    for (lock, from) in [
        (Some(lock(tag)), other.as_str()),
        (Some(lock("mirror.example/cuda:12.8.1-runtime-ubuntu22.04")), &by_digest),
        (None, &by_digest),
    ] {
        assert_eq!(found(lock, from), Vec::<Value>::new(), "{from}");
    }
}

/// The tags of most months are unknown.
#[test]
fn unknown_monthly_tags_are_not_suggested() {
    let t4 = || ("t4", "T4", "470.57.02", "docker-gpus", "1.13.5");
    for (image, known) in [
        ("nvcr.io/nvidia/pytorch:25.06-py3", true),
        ("nvcr.io/nvidia/pytorch:25.06-py3-foo", false),
        ("nvcr.io/nvidia/cuda-dl-base:25.06-cuda12.9-devel-ubuntu24.04", true),
        ("nvcr.io/nvidia/cuda-dl-base:25.06-cuda12.9-devel-ubuntu22.04", false),
        ("nvcr.io/nvidia/tritonserver:24.05-py3", true),
        ("nvcr.io/nvidia/tritonserver:24.05-py3-bogus", false),
        ("nvcr.io/nvidia/tensorflow:23.02-tf1-py3", true),
        ("nvcr.io/nvidia/tensorflow:23.02-py3", false),
    ] {
        let (repository, tag) = image.split_once(':').expect("a tag");
        let family = Knowledge::built_in().base_family(repository).expect("a family");
        let own = Knowledge::built_in().tags_of_other_months(family, tag);
        assert_eq!(!own.is_empty(), known, "{image}: {own:?}");
        let place = on(&[t4()], &format!("FROM {image}\n"));
        let found = fixes(&place.json(&["check", "--show-fixes", "Dockerfile"]), "t4");
        let of_tags: Vec<&Value> = found.iter().filter(|fix| fix["kind"] == "base-tag").collect();
        for fix in &of_tags {
            let title = fix["title"].as_str().unwrap_or_default();
            let named = title.starts_with("use the tag ");
            assert_eq!(named, known, "{image}: {title}");
            let told = title.strip_prefix("use the tag ").and_then(|rest| rest.split(' ').next());
            assert!(told.is_none_or(|told| own.iter().any(|one| one == told)), "{image}: {title}");
            assert!(known || (fix["safety"] == "manual" && list(&fix["edits"]).is_empty()), "{image}: {fix}");
        }
        let before = format!("FROM {image}\n");
        place.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let after = std::fs::read_to_string(place.path("Dockerfile")).expect("a file");
        assert!(known || after == before, "{after}");
    }
}
