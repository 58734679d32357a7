//! `imagelint recommend` prints existing wheels: each for the Python and the processor of the image, in compatible
//! releases. A package that is compiled for one torch starts only with that torch.

use serde_json::Value;
use test_repository::{TestRepository, code, err, out};

use crate::support::test_repository;

fn pool(name: &str, gpu: &str, driver: &str, platform: &str) -> String {
    format!(
        "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"{platform}\"\n\
         launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
    )
}

fn with(pools: &[(&str, &str, &str)]) -> TestRepository {
    let repository = TestRepository::empty();
    let pools: Vec<String> = pools.iter().map(|(name, gpu, driver)| pool(name, gpu, driver, "linux/amd64")).collect();
    repository.file("fleet.toml", &pools.concat());
    repository
}

fn of_arm64() -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &pool("gh200", "GH200", "550.90.07", "linux/arm64"));
    repository
}

fn recommend(repository: &TestRepository, more: &[&str]) -> Value {
    repository.json(&[&["recommend"], more].concat())
}

fn combinations(report: &Value) -> &[Value] {
    report["combinations"].as_array().expect("combinations")
}

/// `torch 2.6.0 cu118` of each package of a combination.
fn packages(one: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    one["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|own| (text(&own["name"]), text(&own["version"])))
        .collect()
}

fn refused(repository: &TestRepository, wishes: &[&str]) -> String {
    let done = repository.run(&[&["recommend"], wishes].concat());
    assert_eq!(code(&done), 2, "{wishes:?}: {}{}", out(&done), err(&done));
    assert_eq!(out(&done), "", "{wishes:?}");
    err(&done)
}

/// The fate of the image as a whole on the only pool.
fn fate(repository: &TestRepository, dockerfile: &str) -> String {
    repository.file("Dockerfile", dockerfile);
    let report = repository.json(&["check", "Dockerfile"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    let whole: Vec<&Value> = verdicts.filter(|verdict| verdict["component"].is_null()).collect();
    assert_eq!(whole.len(), 1, "{dockerfile}");
    whole[0]["fate"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn only_releases_with_an_unyanked_wheel_are_tried() {
    let repository = with(&[("t4", "T4", "470.223.02"), ("a100", "A100", "535.161.08")]);
    let wishes = ["--torch", ">=2.5", "--with", "torchaudio", "--with", "torchvision", "--limit", "400"];
    let report = recommend(&repository, &wishes);
    assert_eq!(combinations(&report).len(), 30, "{report}");
    for one in combinations(&report) {
        let of = packages(one);
        assert_eq!(of.len(), 3, "{one}");
        let vision = of.iter().find(|(name, _)| name == "torchvision").map(|(_, version)| version.as_str());
        let minor = vision.and_then(|version| version.split('.').nth(1)).and_then(|minor| minor.parse::<u32>().ok());
        assert!(minor.is_some_and(|minor| minor >= 20), "{one}");
    }
    // Each torchvision of that torch is newer, and older ones have wheels for older Pythons alone.
    let told = refused(&repository, &["--torch", "2.6", "--with", "torchvision<0.20"]);
    assert!(told.contains("has no Python version with wheels of all of torch==2.6.* torchvision<0.20"), "{told}");
    let told = refused(&repository, &["--torch", "2.6", "--with", "torchvision<0.3"]);
    assert!(told.contains("has no wheel of `torchvision<0.3` for linux/amd64"), "{told}");
    assert!(refused(&repository, &["--with", "torchvision", "--python", "3.5"]).contains("Python 3.5"));
}

#[test]
fn wheels_match_the_cpu_architecture_of_the_fleet() {
    let (amd64, arm64) = (with(&[("h100", "H100 SXM5 80GB", "550.90.07")]), of_arm64());
    for wish in ["paddlepaddle-gpu", "xformers", "faiss-gpu-cu12"] {
        let told = refused(&arm64, &["--with", wish]);
        assert!(told.contains(&format!("has no wheel of `{wish}` for linux/arm64")), "{told}");
        assert_ne!(code(&amd64.run(&["recommend", "--with", wish])), 2, "{wish}");
    }
    // Since 1.29 there is one for both.
    let report = recommend(&arm64, &["--with", "onnxruntime-gpu", "--limit", "99"]);
    assert!(!combinations(&report).is_empty(), "{report}");
    for one in combinations(&report) {
        assert!(packages(one).iter().all(|(_, version)| version.as_str() >= "1.29"), "{one}");
    }
    let report = recommend(&amd64, &["--with", "onnxruntime-gpu", "--limit", "99"]);
    assert!(combinations(&report).iter().any(|one| packages(one)[0].1 == "1.18.1"), "{report}");
    assert!(refused(&arm64, &["--with", "onnxruntime-gpu<1.29"]).contains("for linux/arm64"));
}

#[test]
fn no_wheel_is_combined_with_an_unsupported_python() {
    let repository = with(&[("t4", "T4", "450.248.02"), ("b200", "B200", "580.95.05")]);
    for wish in ["cupy", "cupy-cuda11x"] {
        let report = recommend(&repository, &["--with", wish, "--limit", "99"]);
        let of_split = report["split"].as_array().expect("split").iter().map(|part| &part["combination"]);
        for one in combinations(&report).iter().chain(of_split) {
            assert_ne!(one["python"], "3.8", "{one}");
        }
    }
    let told = refused(&repository, &["--with", "cupy-cuda11x", "--base", "nvidia/cuda:11.0.3-base-ubuntu20.04"]);
    assert!(told.contains("cupy-cuda11x"), "{told}");
}

#[test]
fn missing_wheel_is_the_stated_reason_for_no_base() {
    let arm64 = of_arm64();
    let told = refused(&arm64, &["--torch", ">=2.1,<2.3", "--python", "3.12"]);
    assert!(told.contains("has torch>=2.1,<2.3 for linux/arm64 only in images"), "{told}");
    assert!(!told.contains("no tag of a base"), "{told}");
    let amd64 = with(&[("h100", "H100 SXM5 80GB", "550.90.07")]);
    assert_eq!(code(&amd64.run(&["recommend", "--torch", ">=2.2,<2.3", "--python", "3.12"])), 0);
}

#[test]
fn companion_packages_share_one_torch_release() {
    let repository = with(&[("a100", "A100", "525.147.05"), ("h100", "H100 SXM5 80GB", "550.90.07")]);
    for (other, own) in [("torchvision", "0.21.0"), ("torchaudio", "2.6.0")] {
        let report = recommend(&repository, &["--with", "vllm", "--with", other]);
        let best = &combinations(&report)[0];
        let expected =
            [("vllm", "0.8.5.post1"), (other, own)].map(|(name, version)| (name.to_owned(), version.to_owned()));
        assert_eq!(packages(best), expected, "{report}");
    }
    for wishes in [
        &["--with", "vllm==0.8.5.post1", "--with", "torchvision==0.20.1"][..],
        &["--with", "vllm==0.8.5.post1", "--with", "torchaudio==2.7.0"],
        &["--with", "cupy-cuda11x", "--with", "cupy-cuda12x"],
    ] {
        assert!(refused(&repository, wishes).contains("no compatible releases of "), "{wishes:?}");
    }
}

#[test]
fn a_package_that_is_requested_twice_is_recommended_once() {
    let repository = with(&[("a100", "A100", "535.161.08")]);
    for wishes in [&["--torch", "--with", "torch"][..], &["--torch", ">=2.4", "--with", "torch<2.6"]] {
        let report = recommend(&repository, &[wishes, &["--limit", "99"]].concat());
        assert!(!combinations(&report).is_empty(), "{report}");
        for one in combinations(&report) {
            assert_eq!(packages(one).len(), 1, "{one}");
            let minor = packages(one)[0].1.clone();
            assert!(wishes.len() == 3 || minor.starts_with("2.4.") || minor.starts_with("2.5."), "{one}");
        }
    }
    assert!(refused(&repository, &["--torch", ">=2.6", "--with", "torch<2.5"]).contains("torch>=2.6 torch<2.5"));
    let two = ["--with", "torch==2.6.0+cu118", "--with", "torch==2.6.0+cu124"];
    assert!(refused(&repository, &two).contains("two builds of the same package"));
}

#[test]
fn two_packages_with_nvidia_library_wheels_are_not_combined() {
    let repository = with(&[("a100", "A100", "550.54.15")]);
    for wishes in [
        &["--torch", "2.6", "--with", "jax[cuda12]"][..],
        &["--torch", "2.5", "--with", "jax[cuda12]"],
        &["--with", "vllm", "--with", "jax[cuda12]"],
        &["--torch", "2.6", "--with", "tensorflow[and-cuda]"],
    ] {
        let told = refused(&repository, wishes);
        assert!(told.contains("both depend on NVIDIA's pip packages"), "{wishes:?}: {told}");
    }
    for wishes in [
        &["--torch", "2.6", "--with", "torchvision"][..],
        &["--torch", "2.6", "--with", "cupy-cuda12x"],
        &["--with", "jax[cuda12]"],
    ] {
        assert_eq!(code(&repository.run(&[&["recommend"], wishes].concat())), 0, "{wishes:?}");
    }
}

#[test]
fn a_repository_of_framework_images_is_a_base() {
    let repository = with(&[("l4", "L4", "535.183.01")]);
    for base in ["vllm/vllm-openai", "pytorch/pytorch", "tensorflow/tensorflow"] {
        let done = repository.run(&["recommend", "--base", base]);
        assert_ne!(code(&done), 2, "{base}: {}", err(&done));
        let report = recommend(&repository, &["--base", base]);
        for one in combinations(&report) {
            assert!(one["base"].as_str().unwrap_or_default().starts_with(&format!("{base}:")), "{one}");
        }
    }
    assert!(!combinations(&recommend(&repository, &["--base", "vllm/vllm-openai"])).is_empty());
    for base in ["python", "ubuntu", "python:3.11-slim"] {
        assert!(
            refused(&repository, &["--base", base]).contains(&format!("{base} contains nothing for GPUs")),
            "{base}"
        );
    }
}

#[test]
fn requested_package_is_always_installed() {
    let repository = with(&[("a100", "A100", "535.161.08"), ("b200", "B200", "580.95.05")]);
    let report = recommend(&repository, &["--with", "sglang"]);
    let of_split = report["split"].as_array().expect("split").iter().map(|part| &part["combination"]);
    let all: Vec<&Value> = combinations(&report).iter().chain(of_split).collect();
    assert!(!all.is_empty(), "{report}");
    for one in all {
        assert!(one["dockerfile"].as_str().is_some_and(|text| text.contains("sglang==")), "{one}");
    }
}

#[test]
fn newer_release_with_unknown_libraries_states_the_reason() {
    let report = recommend(&of_arm64(), &["--with", "cupy-cuda12x", "--limit", "9"]);
    let newer = combinations(&report).iter().find(|one| packages(one)[0].1 == "14.2.0").expect("14.2.0");
    assert_eq!(newer["lost_because"], "the libraries it requires are not in the compatibility database", "{report}");
}

/// The image contains vllm 0.8.5, whose wheel requires torch 2.6.0.
#[test]
fn extension_compiled_for_one_torch_starts_only_with_that_torch() {
    let repository = with(&[("h100", "H100 SXM5 80GB", "570.86.15")]);
    let from = |base: &str, lines: &str| format!("FROM {base}\n{lines}");
    let (vllm, triton) = ("vllm/vllm-openai:v0.8.5", "nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3");
    let (eleven, plain) = ("pytorch/pytorch:2.7.1-cuda11.8-cudnn9-runtime", "python:3.11-slim");
    for (base, lines, expected) in [
        (vllm, "RUN pip install torch==2.7.1\n", "undetermined"),
        (vllm, "RUN pip install torch==2.5.1\n", "undetermined"),
        (vllm, "RUN pip install torchvision==0.22.1\n", "undetermined"),
        (vllm, "RUN pip install torch==2.6.0\n", "starts"),
        (vllm, "RUN pip install numpy\n", "starts"),
        (triton, "RUN pip install torch==2.7.1\n", "undetermined"),
        (plain, "RUN pip install vllm==0.8.5.post1\nRUN pip install torch==2.7.1\n", "undetermined"),
        (plain, "RUN pip install vllm==0.8.5.post1\n", "starts"),
        (plain, "RUN pip install vllm==0.8.5.post1 torch==2.6.0\n", "starts"),
        (plain, "RUN pip install torch==2.7.1\nRUN pip install vllm==0.8.5.post1\n", "starts"),
        (plain, "RUN pip install torch==2.7.1\nRUN pip install --no-deps vllm==0.8.5.post1\n", "undetermined"),
        (eleven, "RUN pip install sgl-kernel==0.3.21\n", "undetermined"),
        (plain, "RUN pip install torch==2.9.1 sgl-kernel==0.3.21\n", "starts"),
        (plain, "RUN pip install torch==2.8.0 sgl-kernel==0.3.21\n", "undetermined"),
        (plain, "RUN pip install torch==2.6.0 bitsandbytes==0.45.5\n", "starts"),
    ] {
        assert_eq!(fate(&repository, &from(base, lines)), expected, "{base}\n{lines}");
    }
}

#[test]
fn torch_is_not_replaced_in_images_with_compiled_extensions() {
    let repository = with(&[("l4", "L4", "535.183.01"), ("t4", "T4", "470.256.02")]);
    for wishes in [&["--torch", "--with", "vllm"][..], &["--torch", "--with", "sgl-kernel"]] {
        let report = recommend(&repository, &[wishes, &["--limit", "99"]].concat());
        for one in combinations(&report) {
            let own = one["packages"].as_array().expect("packages").iter();
            let brings_more = own.clone().any(|own| own["spec"].is_null() && own["name"] != "torch");
            let installs = own.filter(|own| !own["spec"].is_null()).count();
            assert!(!brings_more || installs == 0, "{one}");
            assert!(!one["dockerfile"].as_str().unwrap_or_default().contains("sgl-kernel"), "{one}");
        }
    }
}
