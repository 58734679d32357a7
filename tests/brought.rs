//! What a copy, an extra or a range brings into an image, and what nobody has seen of it.

#[path = "support/ends.rs"]
mod ends;
#[path = "support/place.rs"]
#[expect(dead_code, reason = "every test of the program takes what it needs")]
mod place;

use ends::NEW_AND_OLD as FLEET;
use ends::ends;
use place::Place;

fn installed(base: &str, packages: &str) -> (String, String) {
    let place = Place::bare();
    place.file("fleet.toml", FLEET);
    place.file("Dockerfile", &format!("FROM {base}\nRUN pip install {packages}\n"));
    let (_, fate, outcome) = ends(&place, "Dockerfile").into_iter().next().expect("a verdict");
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
        let place = Place::bare();
        place.file("fleet.toml", FLEET);
        place.file("Dockerfile", &format!("FROM python:3.11-slim\n{copy}\nRUN pip install torch==2.5.1\n"));
        let word = |(_, fate, outcome): &(String, String, String)| {
            if outcome.is_empty() { fate.clone() } else { outcome.clone() }
        };
        let ends: Vec<String> = ends(&place, "Dockerfile").iter().map(word).collect();
        assert_eq!(ends, [new, geforce], "{copy}");
    }
}

#[test]
fn an_extra_that_is_described_brings_what_the_installer_brings() {
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
        let place = Place::bare();
        place.file("fleet.toml", FLEET);
        place.file("x.image.toml", &format!("base = \"python:3.11-slim\"\n[packages.pip]\n{pip}\n"));
        let ends = ends(&place, "x.image.toml");
        let first = ends.first().map_or("not-applicable", |(_, fate, _)| fate.as_str());
        assert_eq!(first, expected, "{pip}");
    }
}

#[test]
fn nobody_has_seen_the_base_that_a_description_names() {
    for (tag, package, expected) in [
        // There are no such tags.
        ("12.8.0-cudnn9-runtime-ubuntu22.04", "torch==2.6.0", "undetermined"),
        ("12.4.1-base-ubuntu99.04", "torch==2.6.0", "undetermined"),
        ("12.4.1-runtime-ubuntu24.04", "torch==2.6.0", "undetermined"),
        ("12.4-base", "torch==2.6.0", "undetermined"),
        // It needs the libraries of CUDA 11, and the base has those of 12.
        ("12.1.0-cudnn8-runtime-ubuntu22.04", "onnxruntime-gpu==1.18.0", "undetermined"),
        ("12.4.1-base-ubuntu22.04", "torch==2.6.0", "starts"),
        ("12.8.0-cudnn-runtime-ubuntu22.04", "torch==2.6.0", "starts"),
        ("12.6.3-runtime-ubuntu24.04", "torch==2.6.0", "starts"),
        ("11.8.0-cudnn8-runtime-ubuntu22.04", "onnxruntime-gpu==1.18.0", "starts"),
    ] {
        let place = Place::bare();
        place.file("fleet.toml", FLEET.split("\n\n").next().expect("a pool"));
        place.file("Dockerfile", &format!("FROM nvidia/cuda:{tag}\nRUN pip install {package}\n"));
        let (name, version) = package.split_once("==").expect("a version");
        let described = format!("base = \"nvidia/cuda:{tag}\"\n[packages.pip]\n{name} = \"{version}\"\n");
        place.file("again.image.toml", &described);
        for input in ["Dockerfile", "again.image.toml"] {
            let fates: Vec<String> = ends(&place, input).into_iter().map(|end| end.1).collect();
            assert_eq!(fates, [expected], "{input} of {tag} with {package}");
        }
    }
    // Whoever says that its list of packages is whole has looked into the image.
    let place = Place::bare();
    place.file("fleet.toml", FLEET);
    let of = |complete: &str| {
        let described = format!(
            "base = \"nvidia/cuda:12.1.0-cudnn8-runtime-ubuntu22.04\"\ncomplete = [{complete}]\n[packages.pip]\n\
             onnxruntime-gpu = \"1.18.0\"\n"
        );
        place.file("whole.image.toml", &described);
        ends(&place, "whole.image.toml").first().map(|end| end.2.clone())
    };
    assert_eq!(of("\"packages\"").as_deref(), Some("library-missing"));
    assert_eq!(of("").as_deref(), Some(""));
}

#[test]
fn a_cpu_build_that_somebody_chose_does_not_decide_beside_what_uses_a_gpu() {
    let index = "--index-url https://download.pytorch.org/whl/cpu";
    for (packages, fate, outcome) in [
        ("torch==2.5.1+cpu 'tensorflow[and-cuda]==2.17.0'", "starts", ""),
        ("torch==2.5.1+cpu cupy-cuda12x==13.3.0", "starts", ""),
        (&format!("torch==2.5.1 {index} && pip install cupy-cuda12x==13.3.0"), "starts", ""),
        // Of what is beside it the newest is taken; where that cannot be told, it may use a GPU.
        ("torch==2.5.1+cpu 'tensorflow[and-cuda]'", "starts", ""),
        ("torch==2.5.1+cpu \"tensorflow[and-cuda]==$NOWHERE\"", "undetermined", ""),
        // Nothing else is there, or only what runs on that torch.
        ("torch==2.5.1+cpu", "fails", "cpu-only"),
        ("torch==2.5.1+cpu nvidia-cublas-cu12==12.4.5.8", "fails", "cpu-only"),
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
fn a_range_is_settled_where_all_its_releases_end_alike() {
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
