//! Library packages that a wheel requires, and that a command skips or removes.

use crate::copied_packages::FLEET;
use crate::copied_packages::pool_verdicts::verdicts_by_pool;
use crate::copied_packages::test_repository::{TestRepository, code, out};

/// A Dockerfile ends so, and so does its description.
fn ends_alike(text: &str, fate: &str, outcome: &str) {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
    repository.file("Dockerfile", text);
    let described = out(&repository.run(&["describe", "Dockerfile"]));
    repository.file("again.image.toml", &described);
    for input in ["Dockerfile", "again.image.toml"] {
        let (_, said, why) = verdicts_by_pool(&repository, input).into_iter().next().expect("a verdict");
        assert_eq!((said.as_str(), why.as_str()), (fate, outcome), "{input}: {text}\n{described}");
    }
}

/// A wheel of torch holds its libraries up to 1.12; from then on packages of their own bring them, unless they are left out.
#[test]
fn torch_without_its_library_packages_does_not_start() {
    let slim = "FROM python:3.11-slim\n";
    let (bare, whole) = (format!("{slim}RUN pip install --no-deps torch==2.5.1"), "RUN pip install torch==2.5.1");
    let cuda = |tag: &str| format!("FROM nvidia/cuda:{tag}-ubuntu22.04\nRUN pip install --no-deps torch==2.5.1");
    let wheels = "nvidia-cuda-runtime-cu12==12.4.127 nvidia-cuda-cupti-cu12==12.4.127 nvidia-cusparse-cu12==12.3.1.170 \
                  nvidia-cufft-cu12==11.2.1.3 nvidia-curand-cu12==10.3.5.147 nvidia-cublas-cu12==12.4.5.8 \
                  nvidia-nccl-cu12==2.21.5";
    let index = "--index-url https://download.pytorch.org/whl";
    for (text, fate, outcome) in [
        (bare.clone(), "fails", "library-missing"),
        (format!("{slim}ENV PIP_NO_DEPS=1\n{whole}"), "fails", "library-missing"),
        (format!("{bare} torchvision==0.20.1"), "fails", "library-missing"),
        (format!("{slim}RUN pip install --no-deps torch==1.13.1"), "fails", "library-missing"),
        (format!("{slim}RUN pip install --no-deps torch==2.11.0"), "fails", "library-missing"),
        (format!("{slim}{whole} && pip uninstall -y nvidia-cublas-cu12"), "fails", "library-missing"),
        (format!("{slim}{whole}\nRUN pip uninstall -y nvidia-cudnn-cu12"), "fails", "library-missing"),
        (format!("{bare} {wheels}"), "fails", "library-missing"),
        (format!("{bare} {wheels} nvidia-cudnn-cu12==8.9.2.26"), "fails", "library-missing"),
        // Libraries of an older one stay behind, of which cuDNN is of another major release.
        (
            format!("{slim}RUN pip install torch==2.3.1\nRUN pip install --no-deps -U torch==2.5.1"),
            "fails",
            "library-missing",
        ),
        (cuda("12.1.1-cudnn8-runtime"), "fails", "library-missing"),
        // They came along, were put there by name, or are in the base.
        (format!("{slim}{whole}"), "starts", ""),
        (format!("{slim}RUN pip install torch==2.4.1\nRUN pip install --no-deps -U torch==2.5.1"), "starts", ""),
        (format!("{bare} {wheels} nvidia-cudnn-cu12==9.1.0.70"), "starts", ""),
        (format!("{bare} && pip install torch==2.5.1"), "starts", ""),
        (format!("{bare} && pip install torchvision==0.20.1"), "starts", ""),
        (cuda("12.4.1-cudnn-runtime"), "starts", ""),
        (
            "FROM pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime\nRUN pip install --no-deps torch==2.5.1".to_owned(),
            "starts",
            "",
        ),
        // What is taken away is no library that it asks for, or comes back.
        (format!("{slim}{whole} && pip uninstall -y nvidia-cublas-cu11 nvidia-cusolver-cu12"), "starts", ""),
        (format!("{slim}{whole} && pip uninstall -y nvidia-cublas-cu12 && {}", &whole[4..]), "starts", ""),
        // Builds of the project's own index that ask for the same.
        (format!("{slim}RUN pip install --no-deps torch==2.5.1+cu121 {index}/cu121"), "fails", "library-missing"),
        (format!("{slim}RUN pip install --no-deps torch==2.5.1 {index}/cu124"), "fails", "library-missing"),
        (format!("{slim}RUN pip install --no-deps torch==2.2.2 {index}/cu121"), "fails", "library-missing"),
        (format!("{}+cu124 {index}/cu124", cuda("12.1.1-cudnn8-runtime")), "fails", "library-missing"),
        (format!("{slim}RUN pip install torch==2.5.1+cu121 {index}/cu121"), "starts", ""),
        (format!("{}+cu124 {index}/cu124", cuda("12.4.1-cudnn-runtime")), "starts", ""),
        (
            format!(
                "{slim}RUN pip install --no-deps torch==2.5.1+cu121 {wheels} nvidia-cudnn-cu12==9.1.0.70 {index}/cu121"
            ),
            "starts",
            "",
        ),
        // Of some builds it is not known.
        (format!("{slim}RUN pip install --no-deps torch==2.5.1+cu118 {index}/cu118"), "undetermined", ""),
        (format!("{slim}RUN pip install --no-deps torch==2.13.0+cu126 {index}/cu126"), "undetermined", ""),
        (format!("{slim}RUN pip install torch==2.5.1+cu118 {index}/cu118"), "starts", ""),
        (
            format!(
                "{slim}RUN pip install --no-deps torch==2.5.1+cu118 torchvision==0.20.1+cu118 {index}/cu118\nRUN pip install torchvision==0.20.1+cu118 {index}/cu118"
            ),
            "starts",
            "",
        ),
        // Wheels that hold their libraries.
        (format!("{slim}RUN pip install --no-deps torch==1.12.1+cu113 {index}/cu113"), "starts", ""),
        (format!("{slim}RUN pip install --no-deps torch==1.13.1 {index}/cu117"), "starts", ""),
        (format!("{slim}RUN pip install --no-deps torch==2.1.2+cu118 {index}/cu118"), "starts", ""),
        (format!("{slim}RUN pip install --no-deps torch==2.5.1+cpu {index}/cpu"), "not-applicable", ""),
        // Something else may bring them.
        (format!("{slim}COPY . .\n{}", &bare[slim.len()..]), "undetermined", ""),
        (format!("{bare} && pip install rembg"), "undetermined", ""),
    ] {
        ends_alike(&text, fate, outcome);
    }
}

#[test]
fn package_list_with_one_cuda_library_must_list_all() {
    let of = |packages: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        let text = format!(
            "base = \"python:3.11-slim\"\ncomplete = [\"packages\"]\n[packages.pip]\ntorch = \"2.5.1\"\n{packages}"
        );
        repository.file("one.image.toml", &text);
        let (_, fate, outcome) = verdicts_by_pool(&repository, "one.image.toml").into_iter().next().expect("a verdict");
        format!("{fate} {outcome}")
    };
    assert_eq!(of("nvidia-cudnn-cu12 = \"9.1.0.70\"\n"), "fails library-missing");
    assert_eq!(of("nvidia-cublas-cu11 = \"11.10.3.66\"\n"), "starts ");
    assert_eq!(of("numpy = \"1.26.4\"\n"), "starts ");
    assert_eq!(of(""), "starts ");
}

/// JAX's plugin brings the libraries of CUDA with an extra alone; without them it leaves the GPUs aside.
#[test]
fn jax_without_cuda_extra_libraries_uses_no_gpu() {
    let slim = "FROM python:3.11-slim\nRUN pip install";
    let cuda = |tag: &str| format!("FROM nvidia/cuda:{tag}-ubuntu22.04\nRUN pip install");
    let wheels = "nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.8.90 nvidia-cusparse-cu12==12.5.8.93 \
                  nvidia-cufft-cu12==11.3.3.83 nvidia-cublas-cu12==12.8.4.1";
    for (text, fate, outcome) in [
        (format!("{slim} jax[cuda12-local]==0.6.2"), "fails", "library-missing"),
        (format!("{slim} 'jax[cuda12_local]==0.6.2'"), "fails", "library-missing"),
        (format!("{slim} jax==0.6.2 jax-cuda12-plugin==0.6.2"), "fails", "library-missing"),
        (format!("{slim} jax[cuda12]==0.6.2 && pip uninstall -y nvidia-cudnn-cu12"), "fails", "library-missing"),
        (format!("{slim} 'jax[cuda12_local]==0.4.30'"), "fails", "library-missing"),
        (format!("{slim} jax[cuda12-local]==0.5.3 pandas"), "fails", "library-missing"),
        (format!("{slim} jax[cuda12-local]"), "fails", "library-missing"),
        (format!("{} jax[cuda12-local]==0.4.30", cuda("11.8.0-cudnn8-runtime")), "fails", "library-missing"),
        (format!("{} jax[cuda12-local]==0.6.2", cuda("12.4.1-base")), "fails", "library-missing"),
        (format!("{} jax[cuda12-local]==0.6.2", cuda("12.6.3-runtime")), "fails", "library-missing"),
        // They come along, or are put there by name.
        (format!("{slim} jax[cuda12]==0.6.2"), "starts", ""),
        (format!("{slim} jax[cuda]==0.6.2"), "starts", ""),
        (format!("{slim} jax==0.6.2 jax-cuda12-plugin[with-cuda]==0.6.2"), "starts", ""),
        (format!("{slim} jax==0.6.2 jax-cuda12-plugin[with_cuda]==0.6.2"), "starts", ""),
        (format!("{slim} jax[cuda12-local]==0.6.2 {wheels} nvidia-cudnn-cu12==9.8.0.87"), "starts", ""),
        (format!("{slim} torch==2.7.1 jax[cuda12-local]==0.6.2"), "starts", ""),
        (format!("{} jax[cuda12-local]==0.6.2", cuda("12.6.3-cudnn-devel")), "starts", ""),
        (format!("{slim} jax[cuda12]==0.4.30"), "starts", ""),
        (format!("{} jax[cuda12-local]==0.4.30", cuda("12.4.1-cudnn-devel")), "starts", ""),
        // Whether an older one looks for them in the same way is not known.
        (format!("{slim} jax[cuda12-local]==0.4.28"), "starts", ""),
        // What somebody puts beside it may bring them.
        (format!("{slim} jax[cuda12-local]==0.6.2 {wheels}"), "starts", ""),
        (format!("{slim} jax[cuda12-local]==0.6.2 rembg"), "starts", ""),
        ("FROM python:3.11-slim\nCOPY . .\nRUN pip install jax[cuda12-local]==0.6.2".to_owned(), "starts", ""),
    ] {
        ends_alike(&text, fate, outcome);
    }
}

#[test]
fn unlisted_libraries_are_missing_only_if_the_list_is_complete() {
    let of = |complete: &str, packages: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        let text = format!(
            "base = \"python:3.11-slim\"\ncomplete = [{complete}]\n[packages.pip]\njax = \"0.6.2\"\njaxlib = \"0.6.2\"\n\
             jax-cuda12-plugin = \"0.6.2\"\njax-cuda12-pjrt = \"0.6.2\"\n{packages}"
        );
        repository.file("one.image.toml", &text);
        let (_, fate, outcome) = verdicts_by_pool(&repository, "one.image.toml").into_iter().next().expect("a verdict");
        format!("{fate} {outcome}")
    };
    assert_eq!(of("\"packages\", \"libraries\"", ""), "fails library-missing");
    assert_eq!(of("\"packages\"", "nvidia-cudnn-cu12 = \"9.8.0.87\"\n"), "fails library-missing");
    assert_eq!(of("\"packages\"", ""), "starts ");
    assert_eq!(of("\"libraries\"", ""), "starts ");
    assert_eq!(of("", ""), "starts ");
}

/// Every release that a range may give opens the library, and imports without.
#[test]
fn version_range_fails_later_if_all_releases_open_a_missing_library() {
    let verdicts_by_pool = |base: &str, packages: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        repository.file(
            "Dockerfile",
            &format!("FROM {base}\nRUN apt-get install -y python3-pip && pip install {packages}\n"),
        );
        let ran = repository.run(&["check", "Dockerfile"]);
        let told = out(&ran).contains("ctranslate2 starts, and fails when it opens\n  libcublas.so.12");
        let (_, fate, _) = verdicts_by_pool(&repository, "Dockerfile").into_iter().next().expect("a verdict");
        assert_eq!(code(&ran), 0, "{base} {packages}");
        format!("{fate} {told}")
    };
    let slim = "python:3.11-slim";
    for (base, packages, expected) in [
        (slim, "'ctranslate2>=4,<5'", "starts true"),
        (slim, "ctranslate2~=4.5", "starts true"),
        (slim, "ctranslate2==4.4.0", "starts true"),
        (slim, "faster-whisper==1.1.1 pandas", "starts true"),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "faster-whisper==1.1.1", "starts true"),
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "faster-whisper==1.1.1", "starts false"),
        ("nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "'ctranslate2>=4,<5'", "starts false"),
        // What a range without an end gives on a later day is not known, nor what of two majors of CUDA it is.
        (slim, "'ctranslate2>=4'", "undetermined false"),
        (slim, "'ctranslate2>=3.20,<4.8'", "undetermined false"),
        (slim, "'ctranslate2<5'", "undetermined false"),
        // Something else may bring it.
        (slim, "faster-whisper==1.1.1 torch==2.5.1", "starts false"),
        (slim, "faster-whisper==1.1.1 of-our-own", "starts false"),
    ] {
        assert_eq!(verdicts_by_pool(base, packages), expected, "{base} {packages}");
    }
}

/// Its wheel brings no package of NVIDIA, and opens cuDNN with the first GPU.
#[test]
fn paddle_fails_later_where_there_is_no_cudnn() {
    let warned = |base: &str, packages: &str| {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        repository.file("Dockerfile", &format!("FROM {base}\nRUN pip install {packages}\n"));
        out(&repository.run(&["check", "Dockerfile"])).contains("library-missing-later")
    };
    for (base, packages, expected) in [
        ("python:3.10-slim", "paddlepaddle-gpu==2.6.2", true),
        ("python:3.10-slim", "paddlepaddle-gpu==2.5.0", true),
        ("nvidia/cuda:11.8.0-runtime-ubuntu22.04", "paddlepaddle-gpu==2.6.2", true),
        ("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", "paddlepaddle-gpu==2.6.2", false),
        ("python:3.10-slim", "paddlepaddle-gpu==2.6.2 nvidia-cudnn-cu11==8.9.5.29", false),
        ("python:3.10-slim", "paddlepaddle==2.6.2", false),
        ("python:3.10-slim", "paddlepaddle-gpu==2.0.2", false),
    ] {
        assert_eq!(warned(base, packages), expected, "{base} {packages}");
    }
}
