//! Another base image, where the one that is there lacks libraries.

use crate::chains::on;
use crate::fixes;
use crate::list;
use imagelint::knowledge::Knowledge;
use serde_json::Value;

#[test]
fn a_cuda_image_is_told_where_libraries_are_missing_and_the_base_is_a_system_alone() {
    let knowledge = Knowledge::built_in();
    for (base, package, expected) in [
        ("python:3.11-slim", "onnxruntime-gpu==1.19.2", true),
        ("ubuntu:22.04", "onnxruntime-gpu==1.19.2", true),
        // It asks for none, or brings its own.
        ("python:3.11-slim", "onnxruntime==1.19.2", false),
        ("python:3.11-slim", "torch==2.4.0", false),
        // What the base brings is not known, it has them, or another tag of it does.
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
            let tag = title.strip_prefix("take nvidia/cuda:").and_then(|rest| rest.split(' ').next());
            let tag = tag.unwrap_or_else(|| panic!("{title}"));
            let row = knowledge.cuda_image(tag.split('-').next().unwrap_or_default()).expect("a release of the tables");
            assert!(tag.contains("-cudnn-runtime-") && row.os.iter().any(|os| tag.ends_with(os)), "{title}");
        }
    }
}
