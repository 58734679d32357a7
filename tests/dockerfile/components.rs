//! The components of an image, each with its CUDA runtime, from the packages of a Dockerfile.

use imagelint::dockerfile::context::ContextFiles;
use imagelint::dockerfile::{Dockerfile, EvaluateOptions};
use imagelint::extract;
use imagelint::infer::infer_image_facts;
use imagelint::knowledge::Knowledge;
use imagelint::model::fact::ValueState;
use imagelint::text::source::{SourceText, Sources};

use crate::support::test_repository::TestRepository;

/// `name CUDA` of every component; `?` for an unknown one, `none` for a build without CUDA.
fn components(run: &str, platform: &str) -> String {
    components_on("python:3.10-slim", run, platform)
}

fn components_on(base: &str, run: &str, platform: &str) -> String {
    let text = format!("FROM {base}\nRUN {run}\n");
    let dockerfile = Dockerfile::parse(&text);
    let source = Sources::default().add(SourceText::new("Dockerfile", text.as_str()));
    let options = EvaluateOptions { platform: platform.to_owned(), ..EvaluateOptions::new(Knowledge::built_in()) };
    let target = extract::observe_dockerfile(source, &dockerfile, &options, &ContextFiles::default()).expect("a stage");
    let images = infer_image_facts(&target.seen, platform, None, Knowledge::built_in());
    let image = images.first().expect("a build");
    let said = image.components.iter().map(|component| match &component.cuda.state {
        ValueState::Known(cuda) => format!("{} {cuda}", component.name),
        ValueState::Absent { .. } => format!("{} none", component.name),
        ValueState::Unknown(_) => format!("{} ?", component.name),
    });
    said.collect::<Vec<_>>().join(", ")
}

fn check(platform: &str, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(run, expected)| (run, expected, components(run, platform)))
        .filter(|(_, expected, said)| said != *expected)
        .map(|(run, expected, said)| format!("{run}\n  expected `{expected}`, said `{said}`"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const AMD64: &str = "linux/amd64";

#[test]
fn extra_selects_the_gpu_build() {
    check(
        AMD64,
        &[
            ("pip install 'jax[cuda12]==0.4.30'", "jax 12"),
            ("pip install 'jax[cuda12_pip]==0.4.30'", "jax 12"),
            // The newest has no such extra.
            ("pip install -U 'jax[cuda12_pip]'", ""),
            // The last release for this Python has no such extra.
            ("pip install 'jax[cuda13]'", ""),
            ("pip install 'jax[cuda13]==0.7.2'", "jax 13"),
            ("pip install jax==0.4.30", ""),
            ("pip install 'jax[tpu]==0.4.30'", ""),
            ("pip install 'jax[cuda99]==0.4.30'", ""),
            ("pip install transformers", ""),
            ("pip install 'diffusers[quality]'", ""),
            ("if [ -n \"$GPU\" ]; then pip install 'jax[cuda12]==0.4.30'; fi", "jax ?"),
        ],
    );
}

#[test]
fn cuda_runtime_without_a_framework_is_a_component() {
    check(
        AMD64,
        &[
            ("pip install nvidia-cuda-runtime-cu12==12.4.127", "nvidia-cuda-runtime-cu12 12.4"),
            ("apt-get install -y cuda-cudart-12-4", "cuda-cudart-12-4 12.4"),
            ("apt-get install -y nvidia-cuda-toolkit", "nvidia-cuda-toolkit ?"),
            ("apt-get install -y nvidia-cuda-toolkit=11.5.1-1ubuntu1", "nvidia-cuda-toolkit 11.5"),
            ("dnf install -y cuda-toolkit-12.8.1-1", "cuda-toolkit 12.8"),
            ("yum install -y cuda-cudart-11-8-11.8.89", "cuda-cudart-11-8 11.8"),
            ("dpkg -i cuda-cudart-12-4_12.4.127-1_amd64.deb", "cuda-cudart-12-4 12.4"),
            ("apt-get install -y cuda-cudart-$RELEASE", "cuda-cudart-$RELEASE ?"),
            ("zypper in -y 'cuda-toolkit>=12.8'", "cuda-toolkit ?"),
            ("dnf install -y cuda-gdb-12-4-12.4.127", ""),
            ("dpkg --info cuda-cudart-12-4_12.4.127-1_amd64.deb", ""),
            ("rpm -qip cuda-cudart-12-4-12.4.127-1.x86_64.rpm", ""),
            ("conda install -y cudatoolkit=11.3", "cudatoolkit 11.3"),
            ("conda install -y cudatoolkit", "cudatoolkit ?"),
            ("pip install nvidia-cudnn-cu12==9.1.0.70", "nvidia-cudnn-cu12 12"),
            ("apt-get install -y cuda-keyring", ""),
            ("apt-get install -y nvidia-cuda-toolkit-doc", ""),
            ("apt-get install -y cuda-cudart-twelve", ""),
            ("conda install -y cpuonly", ""),
            ("[ -z \"$GPU\" ] || apt-get install -y cuda-cudart-12-4", "cuda-cudart-12-4 ?"),
        ],
    );
}

#[test]
fn other_frameworks_get_cuda_versions_only_from_the_database() {
    check(
        AMD64,
        &[
            ("pip install cupy-cuda12x", "cupy 12"),
            ("pip install cupy", "cupy ?"),
            ("pip install onnxruntime-gpu", "onnxruntime 12.2"),
            ("pip install onnxruntime-gpu==$NOWHERE", "onnxruntime ?"),
            ("pip install onnxruntime", ""),
            ("pip install paddlepaddle-gpu", "paddle ?"),
            // All releases that it may be have the same CUDA.
            ("pip install faster-whisper", "ctranslate2 12"),
            ("pip install faster-whisper==1.0.3", "ctranslate2 12"),
            ("pip install faster-whisper==0.10.1", "ctranslate2 11"),
            ("pip install faster-whisper==0.2.0", "ctranslate2 ?"),
            ("pip install faster-whisper==$NOWHERE", "ctranslate2 ?"),
            ("pip install 'ctranslate2>=3.22'", "ctranslate2 ?"),
            ("pip install 'ctranslate2>=3.22,<5'", "ctranslate2 ?"),
            ("pip install tensorrt-cu12==10.0.1", "tensorrt 12"),
            ("pip install tensorrt", "tensorrt ?"),
            ("pip install tensorflow==2.3.0rc0", "tensorflow 10.1"),
            ("pip install tensorflow==2.3.99", "tensorflow 10.1"),
            ("pip install tensorflow==2.99.0", "tensorflow ?"),
            ("pip install tensorflow==2", "tensorflow ?"),
            ("pip install tensorflow-gpu==1.4.1", "tensorflow 8.0"),
            ("pip install tensorflow-gpu==1.10.1", "tensorflow 9.0"),
            ("pip install tensorflow==1.10.0", "tensorflow none"),
            ("pip install tensorflow-cpu==2.10.0", ""),
            ("pip install tf-nightly", "tensorflow ?"),
        ],
    );
}

#[test]
fn the_cuda_of_a_local_version_counts_in_addition_to_the_base_image() {
    let page = "-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html";
    for (run, expected) in [
        (format!("pip install 'jax[cuda11_pip]==0.4.13' {page}"), "jaxlib 11, cuda 11.8.0"),
        (format!("pip install jaxlib==0.4.13+cuda11.cudnn86 {page}"), "jaxlib 11, cuda 11.8.0"),
        // Builds without CUDA, and parts of CUDA itself.
        ("pip install jax==0.4.13 jaxlib==0.4.13 flax".to_owned(), "cuda 11.8.0"),
        ("pip install nvidia-cudnn-cu11==8.9.5.29".to_owned(), "cuda 11.8.0"),
        ("apt-get install -y libcudnn8=8.9.7.29-1+cuda11.8".to_owned(), "cuda 11.8.0"),
    ] {
        let said = components_on("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", &run, AMD64);
        assert_eq!(said, expected, "{run}");
    }
}

#[test]
fn an_architecture_may_have_no_build_for_gpus() {
    check(
        "linux/arm64",
        &[
            ("pip install tensorflow==2.15.0", "tensorflow none"),
            ("pip install tensorflow", "tensorflow none"),
            ("pip install tf-nightly", "tensorflow none"),
        ],
    );
}

#[test]
fn the_reason_for_an_unknown_release_names_the_compatibility_database() {
    let text = "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN pip install torch==2.4.0 bitsandbytes==99.0\n";
    let repository = TestRepository::empty();
    repository.file("Dockerfile", text);
    let report = repository.json(&["check", "Dockerfile", "--fail-on", "never"]);
    let facts = report["subjects"][0]["facts"].as_array().cloned().unwrap_or_default();
    let cuda = facts.iter().find(|fact| fact["key"] == "bitsandbytes.cuda").expect("a fact");
    assert!(cuda["why"].as_str().is_some_and(|why| why.contains("newer than the compatibility database")), "{cuda}");
}
