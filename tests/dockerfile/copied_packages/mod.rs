//! Packages from COPY, extras and version ranges, and their unknown content.

use crate::support::{pool_verdicts, test_repository};
mod dependencies;
mod removed_libraries;

use pool_verdicts::{NEW_AND_OLD as FLEET, verdicts_by_pool};
use test_repository::TestRepository;

fn installed(base: &str, packages: &str) -> (String, String) {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    repository.file("Dockerfile", &format!("FROM {base}\nRUN pip install {packages}\n"));
    let (_, fate, outcome) = verdicts_by_pool(&repository, "Dockerfile").into_iter().next().expect("a verdict");
    (fate, outcome)
}

#[test]
fn described_extra_adds_the_same_packages_as_pip() {
    for (pip, expected) in [
        ("\"jax[cuda12]\" = \"0.4.30\"", "starts"),
        ("\"jax[cuda12]\" = \"*\"", "starts"),
        ("\"jax[cuda11_pip]\" = \"0.4.20\"", "starts"),
        ("\"jax[cuda12_pip]\" = \"0.4.10\"", "starts"),
        ("\"jax[cuda]\" = \"0.3.25\"", "starts"),
        ("\"tensorflow[and-cuda]\" = \"2.15.1\"", "starts"),
        ("\"jax[cuda]\" = { unknown = \"nobody knows\" }", "undetermined"),
        // An extra without packages, or one that this release did not have.
        ("jax = \"0.4.30\"", "not-applicable"),
        ("\"jax[cpu]\" = \"0.4.30\"", "not-applicable"),
        ("\"jax[]\" = \"0.4.30\"", "not-applicable"),
        ("\"jax[cuda12]\" = \"0.4.20\"", "not-applicable"),
        ("\"jax[cuda12_pip]\" = \"0.4.6\"", "not-applicable"),
        ("\"jax[cuda12_pip]\" = \"0.6.0\"", "not-applicable"),
        ("\"jax[cuda11_cudnn82]\" = \"0.4.13\"", "not-applicable"),
        ("\"jax[cuda13]\" = \"0.4.30\"", "not-applicable"),
        ("\"numpy[cuda12]\" = \"2.0.0\"", "not-applicable"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("x.image.toml", &format!("base = \"python:3.11-slim\"\n[packages.pip]\n{pip}\n"));
        let verdicts_by_pool = verdicts_by_pool(&repository, "x.image.toml");
        let first = verdicts_by_pool.first().map_or("not-applicable", |(_, fate, _)| fate.as_str());
        assert_eq!(first, expected, "{pip}");
    }
}

#[test]
fn a_version_range_is_decided_if_all_its_releases_have_the_same_outcome() {
    for (packages, fate, outcome) in [
        ("'tensorflow[and-cuda]~=2.14.0'", "starts", ""),
        ("'tensorflow[and-cuda]>=2.16.1,<2.17'", "starts", ""),
        // CUDA 11.8 and 12.2, of which the newest is taken; what may come tomorrow.
        ("'tensorflow[and-cuda]>=2.14,<2.16'", "starts", ""),
        ("'tensorflow[and-cuda]>=2.21'", "starts", ""),
        // None that is known; a variable.
        ("'tensorflow[and-cuda]>=98,<99'", "undetermined", ""),
        ("\"tensorflow[and-cuda]==$NOWHERE\"", "undetermined", ""),
        // A constraint counts, and one that says nothing settles nothing.
        ("'tensorflow[and-cuda]' 'tensorflow~=2.14.0'", "starts", ""),
    ] {
        assert_eq!(installed("python:3.11-slim", packages), (fate.to_owned(), outcome.to_owned()), "{packages}");
    }
}

fn on(fleet: &str, dockerfile: &str, files: &[(&str, &str)]) -> (String, String) {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", fleet);
    repository.file("Dockerfile", dockerfile);
    for (path, text) in files {
        repository.file(path, text);
    }
    let (_, fate, outcome) = verdicts_by_pool(&repository, "Dockerfile").into_iter().next().expect("a verdict");
    (fate, outcome)
}

#[test]
fn a_library_is_missing_if_all_its_possible_sources_are_known() {
    let own = "onnxruntime-gpu==1.20.1";
    let slim = "FROM python:3.11-slim\n";
    let cuda = "FROM nvidia/cuda:12.4.1";
    let python = "RUN apt-get update && apt-get install -y python3-pip && rm -rf /var/lib/apt/lists/*\n";
    for (text, expected) in [
        (format!("{slim}RUN pip install {own}"), "library-missing"),
        (format!("{slim}RUN pip install -U pip && pip install --no-cache-dir numpy {own}"), "library-missing"),
        (format!("{slim}COPY requirements.txt /tmp/\nRUN pip install -r /tmp/requirements.txt"), "library-missing"),
        (format!("{slim}RUN pip install tensorflow==2.15.0"), "library-missing"),
        (format!("{slim}RUN pip install {own} pandas opencv-python-headless"), "library-missing"),
        (
            format!("{slim}RUN pip install {own}\nRUN pip install 'scikit-learn>=1.2' transformers==4.40.0"),
            "library-missing",
        ),
        (format!("{slim}RUN pip install tensorflow==2.15.0 pandas"), "library-missing"),
        (format!("{slim}RUN pip install {own} diffusers"), "library-missing"),
        (format!("{cuda}-base-ubuntu22.04\n{python}RUN pip install {own}"), "library-missing"),
        // It is there, or may be.
        (format!("{cuda}-cudnn-runtime-ubuntu22.04\n{python}RUN pip install {own}"), ""),
        (format!("{slim}RUN pip install torch==2.5.1 {own}"), ""),
        (format!("{slim}RUN pip install {own} nvidia-cublas-cu12"), ""),
        (format!("{slim}RUN pip install 'onnxruntime-gpu[cuda,cudnn]==1.21.0'"), ""),
        (format!("{slim}RUN pip install 'tensorflow[and-cuda]==2.15.0'"), ""),
        (format!("{slim}RUN pip install rembg {own}"), ""),
        (format!("{slim}RUN pip install {own} numpy pandas of-our-own"), ""),
        (format!("{slim}RUN pip install {own} xgboost"), ""),
        (format!("{slim}RUN pip install {own} pandas==2.2.0+cu12"), ""),
        (format!("{slim}RUN pip install {own} diffusers==0.1.0"), ""),
        (format!("{slim}RUN pip install {own} 'diffusers<0.2'"), ""),
        (format!("{slim}RUN pip install ctranslate2==4.4.0"), ""),
        (format!("{slim}RUN pip install {own} --extra-index-url https://a.example/cuda-12/simple/"), ""),
        (format!("{slim}ENV PIP_INDEX_URL=https://a.example/simple\nRUN pip install {own}"), ""),
        (format!("{slim}COPY . /app\nRUN pip install {own}"), ""),
        (
            format!(
                "{slim}COPY --from=nvidia/cuda:12.4.1-devel-ubuntu22.04 /usr/local /usr/local\nRUN pip install {own}"
            ),
            "",
        ),
        (format!("{slim}RUN pip install {own} && curl -L https://a.example/x.sh | sh"), ""),
        (format!("{slim}RUN pip install {own} && python setup.py install"), ""),
        (format!("{slim}RUN pip install {own} ./x.whl"), ""),
        (format!("{slim}RUN apt-get update && apt-get install -y nvidia-cudnn\nRUN pip install {own}"), ""),
        (format!("FROM registry.example.com/base:1\nRUN pip install {own}"), ""),
    ] {
        let (fate, outcome) = on(FLEET, &text, &[("requirements.txt", "onnxruntime-gpu==1.20.1\n")]);
        assert_eq!(outcome == "library-missing", expected == "library-missing", "{text}: {fate} {outcome}");
        assert_eq!(fate == "fails", expected == "library-missing", "{text}: {fate} {outcome}");
    }
    for more in ["'transformers[torch]'", "sentence-transformers", "accelerate", "torchvision"] {
        let (_, outcome) = on(FLEET, &format!("{slim}RUN pip install {own} {more}"), &[]);
        assert_ne!(outcome, "library-missing", "{more}");
    }
}

#[test]
fn unread_requirements_file_makes_verdict_unknown_only_with_gpu_hints() {
    let list = "RUN pip install -r requirements.txt";
    let gpu = "RUN pip install -r requirements-gpu.txt";
    for (dockerfile, fate, said) in [
        (gpu.to_owned(), "undetermined", "requirements-gpu.txt"),
        (format!("{list} --extra-index-url https://download.pytorch.org/whl/cu121"), "undetermined", "cu121"),
        (format!("ENV TORCH_CUDA_ARCH_LIST=8.0\n{list}"), "undetermined", "requirements.txt"),
        (format!("{list}\nRUN nvidia-smi"), "undetermined", "requirements.txt"),
        ("ENV USE_CUDA=1\nRUN pip install $PACKAGES".to_owned(), "undetermined", "installs unknown packages"),
        // Nothing speaks of one.
        (list.to_owned(), "not-applicable", "not read: requirements.txt"),
        (
            "RUN pip install -r requirements-no-gpu.txt".to_owned(),
            "not-applicable",
            "not read: requirements-no-gpu.txt",
        ),
        ("ARG PACKAGES\nRUN pip install $PACKAGES".to_owned(), "not-applicable", "not read: $PACKAGES"),
        (format!("{list} --index-url https://download.pytorch.org/whl/cpu"), "not-applicable", "not read"),
        (format!("ENV CUDA_VISIBLE_DEVICES=-1 USE_CUDA=0\n{list}"), "not-applicable", "not read"),
        // Nothing is left to be read.
        (
            "ENV TORCH_CUDA_ARCH_LIST=8.0\nRUN pip install flask".to_owned(),
            "not-applicable",
            "nothing in it uses a GPU",
        ),
        ("RUN apt-get install -y $PACKAGES".to_owned(), "not-applicable", "nothing in it uses a GPU"),
        ("RUN pip install flask==3.0.0".to_owned(), "not-applicable", "nothing in it uses a GPU"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM python:3.11-slim\n{dockerfile}\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        let subject = &report["subjects"][0];
        let verdict = &subject["verdicts"][0];
        let message = verdict["message"].as_str().unwrap_or_default();
        assert_eq!(verdict["fate"], fate, "{dockerfile}: {message}");
        assert!(message.contains(said), "{dockerfile}: {message}");
        let findings = subject["findings"].as_array().map_or(0, Vec::len);
        assert_eq!(findings > 0, fate == "undetermined", "{dockerfile}");
    }
}
