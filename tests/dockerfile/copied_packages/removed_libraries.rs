//! Libraries without a package, and libraries that a command removes or replaces.

use crate::copied_packages::FLEET;
use crate::copied_packages::pool_verdicts::verdicts_by_pool;
use crate::copied_packages::test_repository::{TestRepository, code};

const TENSORFLOW: &str = "RUN apt-get update && apt-get install -y python3-pip && pip3 install tensorflow==2.12.0\n";
const CUDA: &str = "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\n";
const CUDNN: &str = "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04";

fn repository(text: &str) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
    repository.file("Dockerfile", text);
    repository
}

/// The rules of which something is found.
fn found(text: &str) -> Vec<String> {
    let report = repository(text).json(&["check", "--preview", "Dockerfile"]);
    let findings = report["subjects"][0]["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().map(|one| one["rule"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What the image ends in on a new driver.
fn end(text: &str) -> String {
    let (_, fate, outcome) = verdicts_by_pool(&repository(text), "Dockerfile").into_iter().next().expect("a verdict");
    if outcome.is_empty() { fate } else { outcome }
}

#[test]
fn cuda_libraries_copied_by_name_are_not_missing() {
    let lib = "/usr/lib/x86_64-linux-gnu";
    let archive = "https://mirror.example/cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz";
    for text in [
        format!("{CUDNN} AS c\n{CUDA}COPY --from=c {lib}/libcudnn* {lib}/\n{TENSORFLOW}"),
        format!(
            "{CUDA}COPY --from=nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04 {lib}/libcudnn.so.8 {lib}/\n{TENSORFLOW}"
        ),
        format!(
            "{CUDNN} AS c\n{CUDA}RUN --mount=type=bind,from=c,source={lib},target=/m cp -a /m/libcudnn* {lib}/\n{TENSORFLOW}"
        ),
        format!("{CUDA}RUN curl -sSL {archive} | tar -xJ -C /usr/local/cuda --strip-components=1\n{TENSORFLOW}"),
        format!(
            "{CUDA}RUN wget {archive} && tar xf cudnn*.tar.xz && cp -P cuda/lib64/libcudnn* /usr/local/cuda/lib64/\n{TENSORFLOW}"
        ),
        format!("{CUDA}ADD cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz /opt/\n{TENSORFLOW}"),
        format!("{CUDA}COPY cudnn/lib64/ /usr/local/cuda/lib64/\n{TENSORFLOW}"),
        format!("{CUDA}COPY libs/ /usr/local/lib/\n{TENSORFLOW}"),
        format!("FROM ubuntu:22.04 AS b\nRUN curl -O {archive}\n{CUDA}COPY --from=b /opt /opt\n{TENSORFLOW}"),
    ] {
        let found = found(&text);
        assert!(!found.iter().any(|rule| rule == "no-gpu-used" || rule == "library-missing"), "{found:?} {text}");
    }
}

#[test]
fn unrelated_copies_do_not_supply_a_missing_library() {
    let lib = "/usr/lib/x86_64-linux-gnu";
    let nine = "https://mirror.example/cudnn-linux-x86_64-9.1.0.70_cuda12-archive.tar.xz";
    for text in [
        format!("{CUDA}COPY . /app\n{TENSORFLOW}"),
        format!("{CUDA}COPY run.sh /usr/local/lib/\n{TENSORFLOW}"),
        format!("{CUDA}COPY bin/ /usr/local/bin/\n{TENSORFLOW}"),
        format!("{CUDA}RUN curl -sSL {nine} | tar -xJ -C /opt\n{TENSORFLOW}"),
        format!("{CUDA}COPY --from=nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04 {lib}/libcudnn* {lib}/\n{TENSORFLOW}"),
        format!("{CUDA}COPY --from=nvidia/cuda:11.8.0-runtime-ubuntu22.04 {lib}/ {lib}/\n{TENSORFLOW}"),
        format!("{CUDA}COPY --from=python:3.11 {lib}/ {lib}/\n{TENSORFLOW}"),
        format!("{CUDA}COPY --from=mirror.example/x:1 {lib}/libcudnn.so.9 {lib}/\n{TENSORFLOW}"),
        format!("{CUDA}COPY --from=mirror.example/x:1 {lib}/libcublas* {lib}/\n{TENSORFLOW}"),
        format!("FROM ubuntu:22.04 AS b\nRUN curl -O {nine}\n{CUDA}COPY --from=b /opt /opt\n{TENSORFLOW}"),
    ] {
        assert!(found(&text).contains(&"no-gpu-used".to_owned()), "{text}");
    }
}

#[test]
fn removed_base_image_libraries_are_missing() {
    let install = "RUN apt-get update && apt-get install -y python3-pip";
    let onnx = "pip3 install onnxruntime-gpu==1.16.3";
    let tensorflow = "pip3 install tensorflow==2.12.0";
    for (text, expected) in [
        (format!("RUN apt-get purge -y libcudnn8\n{install} && {tensorflow}"), "library-missing"),
        (format!("RUN apt-get remove -y --purge libcublas-11-8 libcudnn8\n{install} && {onnx}"), "library-missing"),
        (format!("{install} && {onnx} && rm -rf /usr/local/cuda*"), "library-missing"),
        (format!("{install} && {tensorflow}\nRUN rm -rf /usr/local/cuda /usr/local/cuda-11.8"), "library-missing"),
        (format!("{install} && {onnx} && rm -rf /usr/local/cuda/lib64/libcublas*"), "library-missing"),
        // Nothing that it needs, not for certain, or not for good.
        (format!("RUN apt-get purge -y libcudnn8-dev curl\n{install} && {tensorflow}"), "starts"),
        (format!("{install} && {onnx} && rm -rf /usr/local/cuda/doc /usr/local/cuda/lib64/*.a"), "starts"),
        (format!("{install} && {onnx} && rm -rf /usr/local/cuda*/compat"), "starts"),
        (format!("{install} && {onnx} && rm -rf /usr/local/cuda-12*"), "starts"),
        (format!("{install} && {onnx} && if ls /x; then rm -rf /usr/local/cuda*; fi"), "starts"),
        (format!("{install} && {tensorflow} && if ls /x; then apt-get purge -y libcudnn8; fi"), "starts"),
        (format!("RUN apt-get purge -y libcudnn8\n{install} libcudnn8 && {tensorflow}"), "starts"),
        (format!("{install} && {onnx}"), "starts"),
    ] {
        let text = format!("{CUDNN}\n{text}");
        assert_eq!(end(&text), expected, "{text}");
    }
}

#[test]
fn the_toolkit_of_conda_has_no_cudnn() {
    let conda = "FROM continuumio/miniconda3:23.5.2-0\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN conda install -y";
    for (packages, expected) in [
        ("cudatoolkit=11.2 -c conda-forge && pip install tensorflow==2.10.0", "library-missing"),
        ("cudatoolkit=11.2 -c conda-forge && pip install tensorflow==2.10.0\nENV A=1", "library-missing"),
        ("-c conda-forge cudatoolkit=11.2 cudnn=8.1 && pip install tensorflow==2.10.0", "starts"),
        ("cudnn=8.1 -c conda-forge && pip install tensorflow==2.10.0", "starts"),
        ("cudatoolkit=11.2 no-such-thing && pip install tensorflow==2.10.0", "starts"),
    ] {
        let text = format!("{conda} {packages}");
        assert_eq!(end(&text), expected, "{text}");
    }
}

#[test]
fn libraries_opened_through_the_loader_are_not_found_in_wheels() {
    let wheels = "RUN pip install ctranslate2==4.5.0 nvidia-cublas-cu12 nvidia-cudnn-cu12\n";
    let site = "/usr/local/lib/python3.11/site-packages/nvidia";
    let slim = "FROM python:3.11-slim\n";
    let later = |text: &str| found(text).contains(&"library-missing-later".to_owned());
    for text in [
        format!("{slim}{wheels}"),
        format!("{slim}RUN pip install ctranslate2==4.4.0 nvidia-cublas-cu12 nvidia-cudnn-cu12==8.9.7.29\n"),
        format!("{slim}RUN pip install ctranslate2==4.5.0\n"),
    ] {
        assert!(later(&text), "{text}");
    }
    for text in [
        format!("{slim}{wheels}ENV LD_LIBRARY_PATH={site}/cublas/lib:{site}/cudnn/lib\n"),
        format!("{slim}{wheels}CMD LD_LIBRARY_PATH={site}/cublas/lib:{site}/cudnn/lib python a.py\n"),
        format!("{slim}{wheels}RUN pip install torch==2.5.1\n"),
        format!("{slim}{wheels}COPY . /app\n"),
        format!("FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\n{wheels}"),
    ] {
        assert!(!later(&text), "{text}");
    }
    assert_eq!(code(&repository(&format!("{slim}{wheels}")).run(&["check", "Dockerfile"])), 0);
}
