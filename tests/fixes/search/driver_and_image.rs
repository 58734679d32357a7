//! A newer driver together with a change of the image, and changes for another platform.

use crate::search::fixes;
use crate::search::several_changes::{Pool, on};

const B200: Pool<'_> = ("b200", "B200", "550.54.15", "docker-gpus", "1.17.8");
const H100: Pool<'_> = ("h100", "H100", "470.57.02", "docker-gpus", "1.17.8");
const A100: Pool<'_> = ("a100", "A100", "550.54.15", "docker-gpus", "1.17.8");
const NEW: Pool<'_> = ("b200", "B200", "570.86.10", "docker-gpus", "1.17.8");
const TORCH: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install torch==2.5.1\n";

fn titles(pools: &[Pool<'_>], dockerfile: &str, pool: &str) -> Vec<(String, String)> {
    let report = on(pools, dockerfile).json(&["check", "--show-fixes", "Dockerfile"]);
    let told = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    fixes(&report, pool).iter().map(|one| (told(one, "title"), told(one, "safety"))).collect()
}

#[test]
fn an_unsupported_gpu_gets_a_driver_and_an_image_as_recommendation() {
    for (pools, dockerfile, pool, expected) in [
        (
            &[B200][..],
            TORCH,
            "b200",
            "driver 570.86.10 on `b200`, and install torch==2.7.1+cu128 from the index https://download.pytorch.org/whl/cu128",
        ),
        (
            &[A100, B200],
            TORCH,
            "b200",
            "driver 570.86.10 on `b200`, and install torch==2.7.1+cu128 from the index https://download.pytorch.org/whl/cu128",
        ),
        (
            &[B200],
            "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n",
            "b200",
            "driver 570.86.10 on `b200`, and use the tag 2.7.0-cuda12.8-cudnn9-runtime of pytorch/pytorch",
        ),
    ] {
        let found = titles(pools, dockerfile, pool);
        // Nobody writes the driver of a node, and the image alone would be of no avail.
        assert_eq!(found, [(expected.to_owned(), "manual".to_owned())], "{dockerfile}");
        let place = on(pools, dockerfile);
        place.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
        let text = std::fs::read_to_string(place.path("Dockerfile")).expect("a file");
        assert_eq!(text, dockerfile, "nothing is written");
    }
}

#[test]
fn combined_change_is_not_offered_if_one_change_suffices() {
    let both = |found: &[(String, String)]| {
        found.iter().any(|(title, _)| title.contains(", and ") && title.contains("driver "))
    };
    for (pools, dockerfile, pool) in [
        // The driver knows the GPU: the image alone.
        (&[NEW][..], TORCH, "b200"),
        // The image has the code: the driver alone.
        (
            &[B200],
            "FROM python:3.11\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.7.1+cu128 --index-url https://download.pytorch.org/whl/cu128\n",
            "b200",
        ),
        (
            &[H100],
            "FROM python:3.11\nRUN pip install torch==2.0.1+cu118 --index-url https://download.pytorch.org/whl/cu118\n",
            "h100",
        ),
        // Nothing fails.
        (&[A100], TORCH, "a100"),
    ] {
        let found = titles(pools, dockerfile, pool);
        assert!(!both(&found), "{dockerfile}: {found:?}");
    }
}

#[test]
fn platform_change_and_cuda_wheel_are_offered_together() {
    let place =
        on(&[], "FROM --platform=linux/amd64 nvidia/cuda:12.8.1-runtime-ubuntu22.04\nRUN pip install torch==2.7.1\n");
    place.file(
        "fleet.toml",
        "[[pool]]\nname = \"gh\"\ngpu = \"GH200\"\ndriver = \"570.86.15\"\nplatform = \"linux/arm64\"\n",
    );
    let report = place.json(&["check", "--show-fixes", "Dockerfile"]);
    let found = fixes(&report, "gh");
    let title = found.first().and_then(|one| one["title"].as_str()).unwrap_or_default().to_owned();
    assert!(title.starts_with("build it for linux/arm64 as well") && title.contains("torch==2.7.1+cu128"), "{report}");
}
