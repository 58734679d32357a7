//! Lines that would not build with a change, or would be of another build: the fix is reported, and never written.

use std::fs;

use crate::search::fixes;
use crate::search::several_changes::{Pool, on};

const T4: Pool<'_> = ("a", "T4", "470.223.02", "docker-gpus", "1.14.3");
const B200: Pool<'_> = ("a", "B200", "580.95.05", "docker-gpus", "1.17.8");
const RTX: Pool<'_> = ("a", "RTX 4090", "535.183.01", "docker-gpus", "1.17.8");
const V100: Pool<'_> = ("a", "V100", "535.161.08", "docker-gpus", "1.17.8");
const SETUP: &str = "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\
     setup(name=\"x_cuda\", ext_modules=[CUDAExtension(\"x_cuda\", [\"k.cu\"])], cmdclass={\"build_ext\": BuildExtension})\n";

/// The first reported change of the image, and whether it is manual.
fn first(pool: Pool<'_>, dockerfile: &str) -> (String, bool) {
    let place = on(&[pool], dockerfile);
    place.file("setup.py", SETUP);
    place.file("k.cu", "");
    let report = place.json(&["check", "--show-fixes", "Dockerfile"]);
    let found = fixes(&report, "a");
    let one = found.iter().find(|one| one["kind"] != "driver").unwrap_or_else(|| panic!("no change: {report}"));
    (one["title"].as_str().unwrap_or_default().to_owned(), one["safety"] == "manual")
}

#[test]
fn fixes_with_find_links_or_pins_of_another_build_are_manual() {
    let pip = |rest: &str| format!("FROM python:3.11-slim\nRUN pip install {rest}\n");
    for (pool, rest, by_hand) in [
        (T4, "torch==2.4.0 && pip install torch-scatter -f https://data.pyg.org/whl/torch-2.4.0+cu121.html", true),
        (T4, "torch==2.4.0 dgl -f https://data.dgl.ai/wheels/torch-2.4/cu121/repo.html", true),
        (T4, "torch==2.4.0 nvidia-cudnn-cu12==9.1.0.70", true),
        (B200, "torch==2.6.0 && pip install pyg-lib -f https://data.pyg.org/whl/torch-2.6.0+cu124.html", true),
        (B200, "torch==2.6.0 triton==3.2.0", true),
        (B200, "torch==2.6.0 sympy==1.13.1", true),
        // The page of the build that is written, an address that names none, and pins of what goes with every release.
        (T4, "torch==2.4.0 && pip install torch-scatter -f https://data.pyg.org/whl/torch-2.4.0+cu118.html", false),
        (T4, "torch==2.4.0 && pip install x -f https://mirror.example/wheels/", false),
        (T4, "torch==2.4.0 triton==3.0.0", false),
        (T4, "torch==2.4.0 numpy==1.26.4", false),
        (T4, "torch==2.4.0 && echo -f https://data.pyg.org/whl/other.html", false),
        (B200, "torch==2.6.0 networkx==3.3", false),
        (B200, "torch==2.6.0 typing-extensions==4.12.2", false),
        (B200, "torch==2.6.0 sympy==1.13.3", false),
        (B200, "torch==2.6.0 setuptools==69.5.1", false),
        (T4, "torch==2.6.0 sympy==1.13.1", false),
        (B200, "torch==2.6.0 numpy==1.26.4", false),
    ] {
        let (title, manual) = first(pool, &pip(rest));
        assert_eq!((title.contains("manual: "), manual), (by_hand, by_hand), "{rest}: {title}");
    }
}

#[test]
fn a_recommended_base_image_has_a_compiler_for_the_architectures_of_the_build() {
    let torch = |tag: &str, list: &str| {
        format!(
            "FROM pytorch/pytorch:{tag}\nENV TORCH_CUDA_ARCH_LIST=\"{list}\"\nCOPY setup.py k.cu /s/\nRUN pip install /s\n"
        )
    };
    let nvcc = |archs: &[&str]| {
        let archs: Vec<String> = archs.iter().map(|one| format!("-gencode arch=compute_{one},code=sm_{one}")).collect();
        let archs = archs.join(" ");
        format!(
            "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nCOPY k.cu .\nRUN nvcc {archs} k.cu -o /app\nCMD [\"/app\"]\n"
        )
    };
    for (pool, dockerfile, title, by_hand) in [
        (RTX, torch("2.7.1-cuda12.8-cudnn9-devel", "8.9;12.0"), "cuda11.8-cudnn9-devel", true),
        (RTX, nvcc(&["89", "120"]), "12.2.2-devel", true),
        (RTX, torch("2.7.1-cuda12.8-cudnn9-devel", "8.9"), "cuda11.8-cudnn9-devel", false),
        (RTX, nvcc(&["80", "89"]), "12.2.2-devel", false),
        // What a list calls by its name is no reason for another base.
        (V100, torch("2.3.1-cuda12.1-cudnn8-devel", "Ampere"), "add 7.0 to TORCH_CUDA_ARCH_LIST", false),
        (V100, torch("2.3.1-cuda12.1-cudnn8-devel", "8.0"), "add 7.0 to TORCH_CUDA_ARCH_LIST", false),
    ] {
        let (found, manual) = first(pool, &dockerfile);
        assert!(found.contains(title) && !found.contains("runtime"), "{dockerfile}: {found}");
        assert_eq!(manual, by_hand, "{dockerfile}: {found}");
    }
}

#[test]
fn version_without_an_arm64_wheel_is_not_written() {
    let fleet = "[[pool]]\nname = \"a\"\ngpu = \"GH200\"\ndriver = \"570.86.15\"\nplatform = \"linux/arm64\"\n";
    for (torch, named) in [("2.5.1", false), ("2.4.0", false), ("2.7.1", true)] {
        let place = on(
            &[],
            &format!("FROM python:3.12-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch=={torch}\n"),
        );
        place.file("fleet.toml", fleet);
        let report = place.json(&["check", "--show-fixes", "Dockerfile"]);
        let found = fixes(&report, "a");
        let first = found.first().unwrap_or_else(|| panic!("no change: {report}"));
        assert_eq!(first["edits"].to_string().contains(&format!("{torch}+cu")), named, "{torch}: {first}");
    }
}

#[test]
fn uninstallable_or_unknown_extras_are_not_offered() {
    let l4: Pool<'_> = ("a", "L4", "550.54.15", "docker-gpus", "1.17.8");
    for (python, version, offered) in [
        ("3.11", "2.15.0", false),
        ("3.10", "2.15.0", false),
        ("3.11", "2.14.1", false),
        ("3.11", "2.16.1", false),
        ("3.10", "2.14.1", true),
        ("3.11", "2.15.1", true),
        ("3.11", "2.16.2", true),
    ] {
        let report = on(&[l4], &format!("FROM python:{python}-slim\nRUN pip install tensorflow=={version}\n")).json(&[
            "check",
            "--show-fixes",
            "Dockerfile",
        ]);
        let extra = format!("tensorflow[and-cuda]=={version}");
        let told =
            fixes(&report, "a").iter().any(|one| one["title"].as_str().is_some_and(|title| title.contains(&extra)));
        assert_eq!(told, offered, "{python} {version}: {report}");
    }
}

#[test]
fn byte_order_mark_of_a_requirements_file_is_kept() {
    let file = "FROM python:3.11-slim\nCOPY r.txt /r.txt\nRUN pip install -r /r.txt\n";
    let place = on(&[T4], file);
    place.file("r.txt", "\u{feff}torch==2.4.0\r\nnumpy\r\n");
    place.run(&["check", "--fix", "Dockerfile"]);
    let text = fs::read_to_string(place.path("r.txt")).expect("a list");
    let page = "--extra-index-url https://download.pytorch.org/whl/cu118\r\n";
    assert_eq!(text, format!("\u{feff}{page}torch==2.4.0+cu118\r\nnumpy\r\n"));
    // A list in UTF-16 is read as pip reads it, and never written.
    for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let wide: Vec<u8> = "\u{feff}torch==2.4.0\r\n".encode_utf16().flat_map(bytes).collect();
        fs::write(place.path("r.txt"), &wide).expect("a list");
        let report = place.json(&["check", "Dockerfile"]);
        assert_eq!(report["subjects"][0]["verdicts"][0]["outcome"], "insufficient-driver", "{report}");
        place.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(fs::read(place.path("r.txt")).expect("a list"), wide);
    }
}
