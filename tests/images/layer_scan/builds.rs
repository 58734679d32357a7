//! Builds without CUDA that no command selected, and the build strings of conda.

use serde_json::Value;

use crate::layer_scan::image::{Image, Layer};
use crate::layer_scan::test_repository::TestRepository;
use crate::layer_scan::{GPUS, PATH, SITE, debian, facts, fate, oci_layout, scan, test_repository};

const FLEET: &str = r#"[[pool]]
name = "gh200"
gpu = "GH200"
driver = "570.211.01"
platform = "linux/arm64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// torch without CUDA: its record, and what it says of itself.
fn torch(record: &str, said: &str) -> Layer {
    let metadata = format!("Metadata-Version: 2.1\nName: torch\nVersion: {record}\n");
    let built = format!("__version__ = '{said}'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n");
    Layer::new()
        .text(&format!("{SITE}/torch-{record}.dist-info/METADATA"), &metadata)
        .text(&format!("{SITE}/torch/version.py"), &built)
}

fn on_arm(layer: Layer) -> TestRepository {
    let image = Image::new(&[PATH]).of("arm64").layer("ADD rootfs", debian()).layer("RUN pip install torch", layer);
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let folder = repository.path("images");
    oci_layout::finish(&folder, &[("one", image.write(&folder))]);
    repository
}

/// Whether the image is one for GPUs, and what becomes of it.
fn on_gh200(report: &Value) -> (bool, String) {
    let subject = &report["subjects"][0];
    (subject["gpu_content"] == true, fate(report, "gh200"))
}

#[test]
fn default_cpu_only_build_of_a_platform_fails_as_cpu_only() {
    let cpu_only = (true, "fails cpu-only".to_owned());
    for (what, layer) in [
        ("without a local part", torch("2.6.0", "2.6.0")),
        ("with one that its record does not have", torch("2.6.0", "2.6.0+cpu")),
    ] {
        let report = on_arm(layer).json(&["scan", "oci:images:one"]);
        assert_eq!(on_gh200(&report), cpu_only, "{what}: {report:#}");
    }
    // A description of it says the same.
    let repository = on_arm(torch("2.6.0", "2.6.0"));
    let described = test_repository::out(&repository.run(&["describe", "oci:images:one"]));
    repository.file("one.image.toml", &described);
    assert_eq!(on_gh200(&repository.json(&["check", "one.image.toml"])), cpu_only, "{described}");
    let chosen = on_arm(torch("2.6.0+cpu", "2.6.0+cpu")).json(&["scan", "oci:images:one"]);
    assert!(!on_gh200(&chosen).0, "{chosen:#}");
    // If a plain install has CUDA, a build without it was selected.
    let image = Image::new(&[PATH]).layer("ADD rootfs", debian()).layer("RUN pip install", torch("2.6.0", "2.6.0"));
    let report = scan(&image);
    assert_eq!(report["subjects"][0]["gpu_content"], false, "{report:#}");
}

#[test]
fn a_dockerfile_shows_whether_a_cpu_build_was_chosen() {
    let check = |line: &str| {
        let repository = on_arm(torch("2.5.1", "2.5.1"));
        repository.file("Dockerfile", &format!("FROM python:3.11\nRUN {line}\n"));
        let alone = repository.json(&["check", "Dockerfile"]);
        let built = repository.json(&["check", "Dockerfile", "--built", "oci:images:one"]);
        (on_gh200(&alone), on_gh200(&built))
    };
    let (alone, built) = check("pip install torch==2.5.1");
    assert_eq!(alone, (true, "fails cpu-only".to_owned()));
    assert_eq!(built, alone);
    let (alone, built) = check("pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cpu");
    assert!(!alone.0 && !built.0, "{alone:?} {built:?}");
}

/// A record of conda.
fn conda(names: &[&str]) -> Image {
    let put = |layer: Layer, name: &&str| layer.text(&format!("/opt/conda/conda-meta/{name}.json"), "{}");
    let layer = names.iter().fold(Layer::new(), put);
    let image = Image::new(&["PATH=/opt/conda/bin:/usr/bin"]).layer("ADD rootfs", debian());
    image.layer("RUN conda install", layer)
}

/// The reported value of a fact.
fn fact_value(report: &Value, key: &str) -> Value {
    let fact = facts(report).iter().rfind(|fact| fact["key"] == key);
    fact.map_or(Value::Null, |fact| fact["value"].clone())
}

#[test]
fn conda_build_string_decides_the_cuda() {
    for (name, key, cuda) in [
        ("pytorch-2.1.2-py3.10_cuda12.1_cudnn8.9.2_0", "torch.cuda", "12.1"),
        ("pytorch-2.1.2-cuda120_py310h5d94b2e_301", "torch.cuda", "12.0"),
        ("pytorch-2.5.1-cuda126_generic_py310_h478e78a_207", "torch.cuda", "12.6"),
        ("tensorflow-2.15.0-cuda120py310h9360858_3", "tensorflow.cuda", "12.0"),
        ("jaxlib-0.4.23-cuda120py310h5d94b2e_200", "jaxlib.cuda", "12.0"),
    ] {
        let report = scan(&conda(&[name]));
        assert_eq!(fact_value(&report, key), cuda, "{name}: {report:#}");
        assert_eq!(report["subjects"][0]["gpu_content"], true, "{name}");
    }
}

#[test]
fn conda_build_without_cuda_in_its_name_has_no_cuda_facts() {
    for name in [
        "pytorch-2.3.1-cpu_generic_py310_hc5c8043_0",
        "pytorch-2.3.1-py3.10_cpu_0",
        "jaxlib-0.4.23-cpu_py310h7b56e4f_1",
        "jaxlib-0.4.23-py310h478e78a_1",
        "numpy-1.26.4-py310hb13e2d6_0",
    ] {
        let report = scan(&conda(&[name]));
        assert_eq!(report["subjects"][0]["gpu_content"], false, "{name}: {report:#}");
    }
    // What the table has of a wheel says nothing of a build of conda.
    let report = scan(&conda(&["tensorflow-2.15.0-mkl_py310h1234567_0"]));
    assert_eq!(fact_value(&report, "tensorflow.cuda"), Value::Null, "{report:#}");
    let gpus = Image::new(&[GPUS]).layer("ADD rootfs", debian());
    let layer = Layer::new().text("/opt/conda/conda-meta/jaxlib-0.4.23-cuda12_0.json", "{}");
    let report = scan(&gpus.layer("RUN conda install", layer));
    assert_eq!(fact_value(&report, "jaxlib.cuda"), Value::Null, "{report:#}");
}
