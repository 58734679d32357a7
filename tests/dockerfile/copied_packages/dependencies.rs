//! Library packages that a wheel requires, and that a command skips or removes.

use crate::copied_packages::FLEET;
use crate::copied_packages::pool_verdicts::verdicts_by_pool;
use crate::copied_packages::test_repository::{TestRepository, code, out};

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

/// Its wheel depends on no package of NVIDIA, and opens cuDNN with the first GPU.
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
