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
fn a_copied_driver_library_is_one_of_the_image() {
    let cuda = "nvidia/cuda:12.8.0-base-ubuntu22.04";
    for (copy, new, geforce) in [
        ("COPY libcuda.so.570.86.15 /usr/local/cuda/compat/".to_owned(), "starts", "compat-not-supported"),
        (format!("COPY --from={cuda} /usr/local/cuda /usr/local/cuda"), "starts", "compat-not-supported"),
        (
            format!("COPY --from={cuda} /usr/local/cuda-12.8/compat /usr/local/cuda/compat"),
            "starts",
            "compat-not-supported",
        ),
        (
            "COPY --from=a/b:1 /x/libcuda.so.550.54.15 /usr/lib/x86_64-linux-gnu/".to_owned(),
            "starts",
            "driver-mismatch",
        ),
        ("COPY libcuda.so* /usr/lib/x86_64-linux-gnu/".to_owned(), "undetermined", "undetermined"),
        ("COPY libcuda.so.570.86.15 /usr/lib/x86_64-linux-gnu/libcuda.so.1".to_owned(), "undetermined", "undetermined"),
        ("COPY compat /usr/local/cuda/compat".to_owned(), "undetermined", "undetermined"),
        // None of these is found by anybody.
        ("COPY libcuda.so.570.86.15 /srv/".to_owned(), "starts", "starts"),
        ("COPY libcudart.so.12 /usr/lib/x86_64-linux-gnu/".to_owned(), "starts", "starts"),
        ("COPY . /usr/src/app".to_owned(), "starts", "starts"),
        (format!("COPY --from={cuda} /usr/local/cuda /opt/cuda"), "starts", "starts"),
        (format!("COPY --from={cuda} /usr/local/cuda/lib64 /usr/local/cuda/lib64"), "starts", "starts"),
        (
            "COPY --from=ubuntu:22.04 /usr/local/cuda /usr/local/cuda\nRUN rm -rf /usr/local/cuda/compat".to_owned(),
            "starts",
            "starts",
        ),
        (
            format!("COPY --from={cuda} /usr/local/cuda /usr/local/cuda\nRUN rm -rf /usr/local/cuda/compat"),
            "starts",
            "starts",
        ),
        (
            "COPY libcuda.so.570.86.15 /usr/local/cuda/compat/\nRUN rm -rf /usr/local/cuda/compat".to_owned(),
            "starts",
            "starts",
        ),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM python:3.11-slim\n{copy}\nRUN pip install torch==2.5.1\n"));
        let word = |(_, fate, outcome): &(String, String, String)| {
            if outcome.is_empty() { fate.clone() } else { outcome.clone() }
        };
        let verdicts_by_pool: Vec<String> = verdicts_by_pool(&repository, "Dockerfile").iter().map(word).collect();
        assert_eq!(verdicts_by_pool, [new, geforce], "{copy}");
    }
}

#[test]
fn driver_package_is_recognized_for_every_package_manager() {
    let mut wrong = Vec::new();
    for (run, new, geforce) in [
        ("dnf install -y nvidia-driver-cuda-libs-550.54.14", "starts", "driver-mismatch"),
        ("yum install -y nvidia-driver-cuda-libs-3:550.54.14-1.el9.x86_64", "starts", "driver-mismatch"),
        ("zypper -n in nvidia-compute-G06=550.54.14", "starts", "driver-mismatch"),
        ("rpm -i --nodeps https://a.b/nvidia-driver-cuda-libs-550.54.14-1.el9.x86_64.rpm", "starts", "driver-mismatch"),
        ("dnf install -y ./nvidia-driver-cuda-libs-550.54.14-1.el9.x86_64.rpm", "starts", "driver-mismatch"),
        ("dpkg -i /tmp/libnvidia-compute-550_550.54.14-0ubuntu1_amd64.deb", "starts", "driver-mismatch"),
        ("apt-get install -y ./libnvidia-compute-550_550.54.14-0ubuntu1_amd64.deb", "starts", "driver-mismatch"),
        ("apt-get install -y nvidia-headless-no-dkms-550-server-open=550.54.14-0ubuntu1", "starts", "driver-mismatch"),
        ("apt-get install -y nvidia-headless-550", "starts", "driver-mismatch"),
        ("apt-get install -y libnvidia-compute-550:amd64/jammy", "starts", "driver-mismatch"),
        // Ubuntu has moved this branch on to others: which one comes is told by the day.
        ("apt-get install -y nvidia-headless-550-server", "undetermined", "undetermined"),
        ("apt-get install -y cuda-drivers=550.54.14-1", "starts", "driver-mismatch"),
        ("dnf install -y @nvidia-driver:550-dkms", "starts", "driver-mismatch"),
        ("dnf module install -y nvidia-driver:550", "starts", "driver-mismatch"),
        (
            "wget -O d.deb https://a.b/libnvidia-compute-550_550.54.14-0ubuntu1_amd64.deb && dpkg -i d.deb",
            "starts",
            "driver-mismatch",
        ),
        // Which release comes is not said.
        ("dnf module install -y nvidia-driver:latest-dkms", "undetermined", "undetermined"),
        ("apt-get install -y cuda-drivers", "undetermined", "undetermined"),
        ("apt-get install -y cuda-12-4", "undetermined", "undetermined"),
        ("apt-get install -y cuda=12.4.1-1", "undetermined", "undetermined"),
        ("apt-get install -y libnvidia-compute-$BRANCH", "undetermined", "undetermined"),
        ("apt-get install -y cuda-compat-$RELEASE", "undetermined", "undetermined"),
        ("dpkg -i /tmp/nvidia-driver.deb", "undetermined", "undetermined"),
        ("rpm -i /tmp/cuda.rpm", "undetermined", "undetermined"),
        (
            "if [ -n \"$A\" ]; then cp /x/libcuda.so.550.54.14 /usr/lib/x86_64-linux-gnu/; fi",
            "undetermined",
            "undetermined",
        ),
        // No library of the driver is in these, or none is installed.
        ("dnf install -y cuda-toolkit-12-4-12.4.1-1", "starts", "starts"),
        ("apt-get install -y cuda-toolkit-12-4 nvidia-modprobe nvidia-kernel-source-550", "starts", "starts"),
        ("dnf module enable -y nvidia-driver:550", "starts", "starts"),
        ("dnf module install -y nvidia-driver:550/src", "starts", "starts"),
        ("dnf download nvidia-driver-cuda-libs-550.54.14", "starts", "starts"),
        ("dpkg -x libnvidia-compute-550_550.54.14-0ubuntu1_amd64.deb /opt/x", "starts", "starts"),
        ("dpkg -i cuda-keyring_1.1-1_all.deb && rpm -i cuda-repo-rhel9.rpm", "starts", "starts"),
        ("dpkg -i /tmp/app.deb /tmp/cudnn.deb /tmp/nvidia-container-toolkit.deb", "starts", "starts"),
        (
            "dnf install -y nvidia-driver-cuda-libs-550.54.14 && dnf remove -y nvidia-driver-cuda-libs",
            "starts",
            "starts",
        ),
        ("dpkg -i libcuda1_550.54.14-1_amd64.deb && dpkg --purge libcuda1", "starts", "starts"),
        ("apt-get install -y curl-$X nvidia-container-toolkit", "starts", "starts"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", &format!("FROM python:3.11-slim\nRUN {run}\nRUN pip install torch==2.5.1\n"));
        let word = |(_, fate, outcome): &(String, String, String)| {
            if outcome.is_empty() { fate.clone() } else { outcome.clone() }
        };
        let verdicts_by_pool: Vec<String> = verdicts_by_pool(&repository, "Dockerfile").iter().map(word).collect();
        if verdicts_by_pool != [new, geforce] {
            wrong.push(format!("{run}\n  expected {new} {geforce}, said {}", verdicts_by_pool.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
        // No extra that brings anything, or one that this release did not have.
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
fn an_unknown_tag_leaves_the_verdict_unknown_in_a_description_too() {
    for (tag, package, expected) in [
        // There are no such tags.
        ("12.8.0-cudnn9-runtime-ubuntu22.04", "torch==2.6.0", "undetermined"),
        ("12.4.1-base-ubuntu99.04", "torch==2.6.0", "undetermined"),
        ("12.4.1-runtime-ubuntu24.04", "torch==2.6.0", "undetermined"),
        ("12.4-base", "torch==2.6.0", "undetermined"),
        // It needs the libraries of CUDA 11, and the base has those of 12: commands tell of all that there is.
        ("12.1.0-cudnn8-runtime-ubuntu22.04", "onnxruntime-gpu==1.18.0", "fails"),
        ("12.4.1-base-ubuntu22.04", "torch==2.6.0", "starts"),
        ("12.8.0-cudnn-runtime-ubuntu22.04", "torch==2.6.0", "starts"),
        ("12.6.3-runtime-ubuntu24.04", "torch==2.6.0", "starts"),
        ("11.8.0-cudnn8-runtime-ubuntu22.04", "onnxruntime-gpu==1.18.0", "starts"),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        repository.file("Dockerfile", &format!("FROM nvidia/cuda:{tag}\nRUN pip install {package}\n"));
        let (name, version) = package.split_once("==").expect("a version");
        let described = format!("base = \"nvidia/cuda:{tag}\"\n[packages.pip]\n{name} = \"{version}\"\n");
        repository.file("again.image.toml", &described);
        for input in ["Dockerfile", "again.image.toml"] {
            let fates: Vec<String> = verdicts_by_pool(&repository, input).into_iter().map(|end| end.1).collect();
            let expected = if input != "Dockerfile" && expected == "fails" { "undetermined" } else { expected };
            assert_eq!(fates, [expected], "{input} of {tag} with {package}");
        }
    }
    // Whoever says that its list of packages is whole has looked into the image.
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let of = |complete: &str| {
        let described = format!(
            "base = \"nvidia/cuda:12.1.0-cudnn8-runtime-ubuntu22.04\"\ncomplete = [{complete}]\n[packages.pip]\n\
             onnxruntime-gpu = \"1.18.0\"\n"
        );
        repository.file("whole.image.toml", &described);
        verdicts_by_pool(&repository, "whole.image.toml").first().map(|end| end.2.clone())
    };
    assert_eq!(of("\"packages\"").as_deref(), Some("library-missing"));
    assert_eq!(of("").as_deref(), Some(""));
}

#[test]
fn a_chosen_cpu_build_does_not_decide_if_another_component_uses_the_gpu() {
    let index = "--index-url https://download.pytorch.org/whl/cpu";
    for (packages, fate, outcome) in [
        ("torch==2.5.1+cpu 'tensorflow[and-cuda]==2.17.0'", "starts", ""),
        ("torch==2.5.1+cpu cupy-cuda12x==13.3.0", "starts", ""),
        (&format!("torch==2.5.1 {index} && pip install cupy-cuda12x==13.3.0"), "starts", ""),
        // Of what is beside it the newest is taken; where that cannot be told, it may use a GPU.
        ("torch==2.5.1+cpu 'tensorflow[and-cuda]'", "starts", ""),
        ("torch==2.5.1+cpu \"tensorflow[and-cuda]==$NOWHERE\"", "undetermined", ""),
        // Nothing else is there: the image is for the CPU.
        ("torch==2.5.1+cpu", "not-applicable", ""),
        ("torch==2.5.1+cpu nvidia-cublas-cu12==12.4.5.8", "not-applicable", ""),
        ("torch==2.5.1+cpu torch-scatter==2.1.2", "not-applicable", ""),
        // A package that runs on that torch expects a GPU.
        ("torch==2.5.1+cpu vllm==0.6.5", "fails", "cpu-only"),
        ("torch==2.5.1+cpu xformers==0.0.29", "fails", "cpu-only"),
        ("torch==2.5.1+cpu vllm==0.6.5 'tensorflow[and-cuda]==2.17.0'", "fails", "cpu-only"),
    ] {
        assert_eq!(
            installed("nvidia/cuda:12.4.1-base-ubuntu22.04", packages),
            (fate.to_owned(), outcome.to_owned()),
            "{packages}"
        );
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

#[test]
fn package_for_another_cuda_major_than_torch_is_unknown() {
    let of = |cuda: &str, cudnn: &str| format!("pytorch/pytorch:2.4.0-cuda{cuda}-cudnn{cudnn}-runtime");
    let other = "torch==2.4.0 --index-url https://download.pytorch.org/whl/cu118 && pip install";
    for (base, packages, fate) in [
        (of("11.8", "9"), "vllm==0.6.3".to_owned(), "undetermined"),
        ("python:3.11-slim".to_owned(), format!("{other} vllm==0.6.3"), "undetermined"),
        // Of the same major, of a torch that is replaced, and of an index or a build that is said.
        (of("12.1", "9"), "vllm==0.6.3".to_owned(), "starts"),
        (of("12.4", "9"), "vllm==0.6.3".to_owned(), "starts"),
        (of("11.8", "9"), "vllm==0.6.4".to_owned(), "starts"),
        (of("11.8", "9"), "vllm==0.6.3+cu118".to_owned(), "starts"),
        ("python:3.11-slim".to_owned(), "vllm==0.6.3".to_owned(), "starts"),
        (
            "python:3.11-slim".to_owned(),
            format!("{other} xformers --index-url https://download.pytorch.org/whl/cu118"),
            "starts",
        ),
        ("python:3.11-slim".to_owned(), format!("{other} torchvision==0.19.0"), "starts"),
    ] {
        assert_eq!(installed(&base, &packages), (fate.to_owned(), String::new()), "{base} {packages}");
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
fn gpu_optional_package_with_a_cpu_build_needs_no_gpu() {
    let fleet = "[[pool]]\nname = \"p\"\ngpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"nvidia-runtime\"\n\
                 mode = \"legacy\"\ntoolkit = \"1.17.8\"\n";
    for (packages, expected) in [
        ("torch==2.6.0+cpu xgboost==1.7.0", "not-applicable"),
        ("torch xgboost==1.7.0 --index-url https://download.pytorch.org/whl/cpu", "not-applicable"),
        // It does without a GPU by itself.
        ("xgboost==1.7.0", "not-applicable"),
        // Nobody chose, or it is there for the GPU.
        ("torch==2.6.0 xgboost==1.7.0", "fails"),
        ("torch==2.6.0+cpu onnxruntime-gpu==1.20.1", "fails"),
        ("torch==2.6.0+cpu cupy-cuda12x==13.3.0", "fails"),
    ] {
        let (fate, outcome) = on(fleet, &format!("FROM python:3.11-slim\nRUN pip install {packages}\n"), &[]);
        assert_eq!(fate, expected, "{packages}: {outcome}");
        assert_eq!(outcome == "no-gpu", expected == "fails", "{packages}: {outcome}");
    }
}

#[test]
fn markers_in_files_use_the_python_of_the_base_image() {
    let lines = "torch==1.10.0; python_version < \"3.9\"\ntorch==2.6.0; python_version >= \"3.9\"\n";
    let project = "[project]\nname = \"x\"\nversion = \"1\"\ndependencies = [\n\
                   \"torch==1.10.0; python_version < '3.9'\", \"torch==2.6.0; python_version >= '3.9'\"]\n";
    let files = [("requirements.txt", lines), ("pyproject.toml", project)];
    // The release for older Pythons has no code for an A100.
    for (base, old) in [("python:3.8-slim", true), ("python:3.11-slim", false), ("continuumio/miniconda3", false)] {
        for command in ["pip install -r requirements.txt", "pip install .", "pip install -c requirements.txt torch"] {
            let text = format!("FROM {base}\nCOPY . .\nRUN {command}\n");
            let (fate, outcome) = on(FLEET, &text, &files);
            assert_eq!(outcome == "no-kernel-image", old, "{base}, {command}: {fate} {outcome}");
            assert_eq!(fate == "undetermined", base.starts_with("continuum"), "{base}, {command}: {fate} {outcome}");
        }
    }
}

#[test]
fn ptx_on_a_newer_gpu_leaves_cuda_libraries_uninspected() {
    let fleet = |gpu: &str| {
        format!(
            "[[pool]]\nname = \"p\"\ngpu = \"{gpu}\"\ndriver = \"580.95.05\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.18.1\"\n"
        )
    };
    let conda = "RUN conda install pytorch==1.12.1 cudatoolkit=11.3 -c pytorch";
    // The PTX of TensorFlow was refused on such GPUs.
    let tensorflow = "FROM python:3.11-slim\nRUN pip install tensorflow[and-cuda]==2.18.0\n";
    let end = |gpu: &str| on(&fleet(gpu), tensorflow, &[]).0;
    assert_eq!((end("B200").as_str(), end("H100").as_str()), ("undetermined", "starts"));
    for (gpu, base, command, libraries) in [
        ("A100", "python:3.8-slim", "RUN pip install torch==1.5.1", Some("CUDA 10.2")),
        ("H100", "continuumio/miniconda3", conda, Some("CUDA 11.3")),
        // Machine code of its own, or a GPU that its CUDA knows.
        ("B200", "python:3.11-slim", "RUN pip install torch==2.7.0+cu128", None),
        ("H100", "python:3.11-slim", "RUN pip install torch==2.6.0+cu126", None),
        ("V100", "python:3.8-slim", "RUN pip install torch==1.5.1", None),
        ("A100", "continuumio/miniconda3", conda, None),
    ] {
        let repository = TestRepository::empty();
        repository.file("fleet.toml", &fleet(gpu));
        repository.file("Dockerfile", &format!("FROM {base}\n{command}\n"));
        let report = repository.json(&["check", "Dockerfile"]);
        let verdict = &report["subjects"][0]["verdicts"][0];
        assert_eq!(verdict["fate"], "starts", "{command} on {gpu}: {}", verdict["message"]);
        let unseen = verdict["not_seen"].to_string();
        assert_eq!(unseen.contains("in the libraries of CUDA"), libraries.is_some(), "{command} on {gpu}: {unseen}");
        assert!(libraries.is_none_or(|cuda| unseen.contains(cuda)), "{command} on {gpu}: {unseen}");
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
