//! Images and drivers before 2021: reported versions, requirements and error messages.

use serde_json::Value;
use test_repository::TestRepository;

use crate::support::test_repository;

/// How a Dockerfile ends on one pool as of a day: fate, outcome, the codes, and the message.
fn end(dockerfile: &str, pool: &str, day: &str) -> (String, String, Value, String) {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &format!("[[pool]]\nname = \"p\"\nplatform = \"linux/amd64\"\n{pool}"));
    repository.file("Dockerfile", dockerfile);
    let report = repository.json(&["check", "--as-of", day, "Dockerfile"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().cloned().unwrap_or_default();
    let whole = verdicts.into_iter().find(|one| one["component"].is_null()).expect("a verdict on the image");
    let text = |key: &str| whole[key].as_str().unwrap_or_default().to_owned();
    (text("fate"), text("outcome"), whole["codes"].clone(), text("message"))
}

fn pool(gpu: &str, driver: &str, launch: &str) -> String {
    format!("gpu = \"{gpu}\"\ndriver = \"{driver}\"\nlaunch = \"{launch}\"\n")
}

#[test]
fn reported_driver_version_decides_whether_a_base_starts() {
    for (base, driver, day, fate, outcome) in [
        ("10.1-base", "415.27", "2019-09-01", "fails", "refused"),
        ("10.0-base", "415.27", "2019-09-01", "starts", ""),
        ("10.1-base", "412.27", "2019-09-01", "fails", "refused"),
        ("10.2-base", "430.50", "2020-02-01", "fails", "refused"),
        ("10.2-base", "430.40", "2020-02-01", "fails", "refused"),
        // These two report 10.2: nothing refuses them, and what the runtime does no source says.
        ("10.2-base", "430.14", "2020-02-01", "undetermined", ""),
        ("10.2-base", "430.26", "2020-02-01", "undetermined", ""),
        ("10.1-base", "430.26", "2020-02-01", "starts", ""),
        ("10.1-base", "430.50", "2020-02-01", "starts", ""),
        ("10.1-base", "430", "2020-02-01", "starts", ""),
        ("10.2-base", "430", "2020-02-01", "depends", ""),
    ] {
        let dockerfile = format!("FROM nvidia/cuda:{base}\n");
        let found = end(&dockerfile, &pool("RTX 2080 Ti", driver, "nvidia-runtime"), day);
        assert_eq!((found.0.as_str(), found.1.as_str()), (fate, outcome), "{base} on {driver}: {found:?}");
    }
    for driver in ["378.13", "381.22"] {
        for (base, outcome) in [("8.0-runtime", ""), ("9.0-base", "refused")] {
            let dockerfile = format!("FROM nvidia/cuda:{base}\n");
            let found = end(&dockerfile, &pool("GTX 1080", driver, "nvidia-runtime"), "2018-02-01");
            assert_eq!(found.1, outcome, "{base} on {driver}: {found:?}");
        }
    }
}

/// A driver of a branch that no table has: its container may be refused, or stop with 35.
#[test]
fn an_error_code_is_certain_only_if_no_earlier_step_can_fail() {
    let codes = |driver| end("FROM nvidia/cuda:10.1-base\n", &pool("GTX 1080", driver, "nvidia-runtime"), "2019-09-01");
    let (fate, outcome, found, _) = codes("416.94");
    assert_eq!((fate.as_str(), outcome.as_str()), ("fails", "insufficient-driver"), "{found}");
    assert!(found["certain"].is_null(), "{found}");
    assert_eq!(found["possible"], serde_json::json!([35]));
    let off = "FROM nvidia/cuda:10.1-base\nENV NVIDIA_DISABLE_REQUIRE=1\n";
    let (_, outcome, found, _) = end(off, &pool("GTX 1080", "416.94", "nvidia-runtime"), "2019-09-01");
    assert_eq!((outcome.as_str(), &found["certain"]), ("insufficient-driver", &serde_json::json!(35)));
}

#[test]
fn a_refusal_has_the_error_text_of_its_toolkit_version() {
    let advice = "cuda>=10.0, please update your driver to a newer version, or use an earlier cuda container";
    for (day, expected) in [
        ("2018-11-01", "brand = tesla"),
        ("2019-03-03", "brand = tesla"),
        ("2019-09-01", "cuda>=10.0"),
        ("2019-12-01", advice),
    ] {
        let (_, outcome, _, message) =
            end("FROM nvidia/cuda:10.0-base\n", &pool("GTX 1080 Ti", "390.77", "nvidia-runtime"), day);
        assert_eq!(outcome, "refused", "{day}: {message}");
        assert!(message.ends_with(&format!("unsatisfied condition: {expected}")), "{day}: {message}");
    }
}

#[test]
fn tensorflow_image_has_the_requirement_of_its_base() {
    for (tag, driver, fate, outcome) in [
        ("2.11.0-gpu", "440.33.01", "fails", "refused"),
        ("2.5.0-gpu-jupyter", "440.33.01", "fails", "refused"),
        ("2.4.1-gpu", "440.33.01", "fails", "refused"),
        ("2.3.0-gpu", "440.33.01", "starts", ""),
        ("2.3.0-gpu", "410.48", "fails", "refused"),
        ("1.15.2-gpu-py3", "410.48", "starts", ""),
        ("1.13.1-gpu", "390.77", "fails", "refused"),
        ("2.11.0-gpu", "470.57.02", "starts", ""),
        // Its recipe was not read.
        ("2.15.0-gpu", "440.33.01", "undetermined", ""),
        // Without GPUs in its name it asks for none.
        ("2.11.0", "440.33.01", "not-applicable", ""),
    ] {
        let launch = "docker-gpus";
        let found =
            end(&format!("FROM tensorflow/tensorflow:{tag}\n"), &pool("GTX 1080", driver, launch), "2024-01-10");
        assert_eq!((found.0.as_str(), found.1.as_str()), (fate, outcome), "{tag} on {driver}: {found:?}");
    }
}

/// cupy opens NVRTC as it compiles: it comes with the runtime flavour of its own CUDA, or as a package.
#[test]
fn library_opened_later_is_found_by_base_image_flavour() {
    let repository = TestRepository::empty();
    repository.file(
        "fleet.toml",
        &format!("[[pool]]\nname = \"p\"\nplatform = \"linux/amd64\"\n{}", pool("T4", "550.54.15", "docker-gpus")),
    );
    for (dockerfile, missing) in [
        (
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0\n",
            "libnvrtc.so.12",
        ),
        (
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda11x==13.0.0\n",
            "libnvrtc.so.11.2",
        ),
        (
            "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install ctranslate2==4.5.0\n",
            "libcudnn_cnn.so.9",
        ),
        (
            "FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install ctranslate2==4.4.0\n",
            "libcudnn_cnn_infer.so.8",
        ),
        (
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0\n",
            "",
        ),
        (
            "FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda11x==13.0.0\n",
            "",
        ),
        (
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0\n",
            "",
        ),
        (
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0 nvidia-cuda-nvrtc-cu12\n",
            "",
        ),
        (
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0\nRUN ./more.sh\n",
            "",
        ),
        (
            "FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nCOPY lib /usr/lib\nRUN apt-get install -y python3-pip && pip install cupy-cuda12x==13.3.0\n",
            "",
        ),
        (
            "FROM nvidia/cuda:12.2.2-cudnn8-devel-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install ctranslate2==4.4.0\n",
            "",
        ),
    ] {
        repository.file("Dockerfile", dockerfile);
        let report = repository.json(&["check", "Dockerfile"]).to_string();
        let told = report.contains("starts, and fails when it opens");
        assert_eq!(told, !missing.is_empty(), "{dockerfile}");
        assert!(report.contains(missing), "{dockerfile}");
    }
}
