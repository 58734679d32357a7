//! `imagelint recommend`: what is recommended starts, by the same judge that `check` asks.

use crate::support::test_repository;
mod several_packages;

use serde_json::Value;
use test_repository::{TestRepository, code, err, out};

fn pool(name: &str, gpu: &str, driver: &str) -> String {
    format!(
        "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
         launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
    )
}

fn with(pools: &[String]) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", &pools.concat());
    repository
}

fn new_and_old() -> TestRepository {
    with(&[pool("kepler", "Tesla K80", "470.182.03"), pool("blackwell", "B200", "580.95.05")])
}

fn recommend(repository: &TestRepository, more: &[&str]) -> Value {
    repository.json(&[&["recommend"], more].concat())
}

fn combinations(report: &Value) -> &[Value] {
    report["combinations"].as_array().expect("combinations")
}

/// Pool, fate and route of the image as a whole, of a Dockerfile with this text.
fn checked(repository: &TestRepository, dockerfile: &str) -> Vec<String> {
    repository.file("Dockerfile", dockerfile);
    let report = repository.json(&["check", "Dockerfile"]);
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    let whole = verdicts.filter(|verdict| verdict["component"].is_null());
    whole.map(|verdict| format!("{} {}", verdict["pool"], verdict["fate"]).replace('"', "")).collect()
}

#[test]
fn every_combination_starts_on_every_pool_by_check_too() {
    let repository = TestRepository::empty();
    for wishes in [
        &["--torch", ">=2.4"][..],
        &["--torch", "2.7", "--with", "torchvision", "--base", "nvidia/cuda"],
        &["--jax", "--base", "python", "--limit", "2"],
        &["--base", "nvidia/cuda", "--limit", "2"],
        &["--torch", "--base", "pytorch/pytorch", "--limit", "2"],
    ] {
        let report = recommend(&repository, wishes);
        assert!(!combinations(&report).is_empty(), "{wishes:?}: {report}");
        for one in combinations(&report) {
            let dockerfile = one["dockerfile"].as_str().expect("a text");
            let fates = checked(&repository, dockerfile);
            assert_eq!(fates.len(), 7, "{dockerfile}");
            assert!(fates.iter().all(|fate| fate.ends_with(" starts")), "{dockerfile}: {fates:?}");
            let done = repository.run(&["check", "--fail-on", "warning", "Dockerfile"]);
            assert_eq!(code(&done), 0, "{dockerfile}{}", out(&done));
        }
    }
}

/// No release has machine code for a B200, and it is unknown whether the libraries of its CUDA have any code for it.
#[test]
fn combination_with_only_ptx_for_a_gpu_is_not_recommended() {
    let report = recommend(&TestRepository::empty(), &["--tensorflow", "--limit", "3"]);
    assert!(combinations(&report).is_empty(), "{report}");
    assert_eq!(report["never"].to_string(), r#"["b200"]"#, "{report}");
    assert_eq!(report["split"][0]["on"].as_array().map(Vec::len), Some(6), "{report}");
}

#[test]
fn old_driver_gets_the_build_for_its_cuda_and_newer_ones_are_rejected() {
    let repository = with(&[pool("t4", "T4", "470.182.03"), pool("v100", "V100", "470.182.03")]);
    let report = recommend(&repository, &["--torch", ">=2.0", "--base", "python"]);
    let best = &combinations(&report)[0];
    assert_eq!(best["packages"][0]["spec"], "torch==2.7.1+cu118", "{report}");
    assert_eq!(
        best["pip"][0].as_str().unwrap_or_default().split("--index-url ").nth(1).unwrap_or_default().rsplit('/').next(),
        Some("cu118")
    );
    for one in combinations(&report) {
        assert_eq!(one["packages"][0]["build"], "cu118", "a build of CUDA 12 cannot start on 470: {one}");
    }
    let rejected = report["rejected"].as_array().expect("rejected");
    assert!(!rejected.is_empty(), "{report}");
    for one in rejected {
        assert_eq!(one["pools"][0]["outcome"], "insufficient-driver", "{one}");
    }
    // A driver upgrade of one pool alone is not enough.
    let repository = with(&[pool("t4", "T4", "470.182.03"), pool("v100", "V100", "550.54.15")]);
    let report = recommend(&repository, &["--torch", ">=2.0", "--base", "python"]);
    assert_eq!(combinations(&report)[0]["packages"][0]["build"], "cu118");
}

#[test]
fn pools_needing_different_images_are_listed_with_the_smallest_split() {
    let repository = new_and_old();
    // Of wheels alone: an image made by conda holds machine code of the one and PTX for the other.
    let report = recommend(&repository, &["--torch", ">=2.0", "--base", "python"]);
    assert!(combinations(&report).is_empty(), "{report}");
    let split = report["split"].as_array().expect("a split");
    let on: Vec<String> = split.iter().map(|part| part["on"].to_string()).collect();
    assert_eq!(on, [r#"["kepler"]"#, r#"["blackwell"]"#], "{report}");
    for part in split {
        let dockerfile = part["combination"]["dockerfile"].as_str().expect("a text");
        let own = part["on"][0].as_str().expect("a pool");
        for fate in checked(&repository, dockerfile) {
            assert_eq!(fate.ends_with(" starts"), fate.starts_with(own), "{fate}: {dockerfile}");
        }
    }
    let done = repository.run(&["recommend", "--torch", ">=2.0", "--base", "python"]);
    assert_eq!(code(&done), 1, "{}", out(&done));
    assert!(out(&done).contains("these pools need different images: kepler | blackwell"), "{}", out(&done));
    // Each pool for itself has something.
    for pool in ["kepler", "blackwell"] {
        assert_eq!(
            code(&repository.run(&["recommend", "--torch", ">=2.0", "--base", "python", "--pool", pool])),
            0,
            "{pool}"
        );
    }
}

#[test]
fn months_of_a_framework_container_are_ranked_by_the_drivers_of_the_fleet() {
    let best = |pools: &[String]| {
        let report = recommend(&with(pools), &["--base", "nvcr.io/nvidia/pytorch", "--limit", "30"]);
        let found: Vec<String> =
            combinations(&report).iter().filter_map(|one| one["base"].as_str().map(str::to_owned)).collect();
        (found, report)
    };
    let (new, _) = best(&[pool("h100", "H100 SXM5 80GB", "595.58.03")]);
    let knowledge = imagelint::knowledge::Knowledge::built_in();
    let known = |base: &String| {
        let month = base.strip_prefix("nvcr.io/nvidia/pytorch:").and_then(|tag| tag.strip_suffix("-py3"));
        month.is_some_and(|month| knowledge.ngc_releases().iter().any(|row| row.month == month && row.torch.is_some()))
    };
    assert!(new.len() > 5 && new.iter().all(known), "only months that there are: {new:?}");
    let newest = knowledge.ngc_releases().iter().rfind(|row| row.torch.is_some()).expect("one").month;
    assert_eq!(new[0], format!("nvcr.io/nvidia/pytorch:{newest}-py3"), "{new:?}");
    // A GeForce takes no compat library: its driver has to be one for the CUDA of the month.
    let (old, report) = best(&[pool("desk", "GeForce RTX 3090", "525.125.06")]);
    assert!(!old.is_empty() && old[0] != new[0], "{old:?}: {report}");
    for base in &old {
        let repository = with(&[pool("desk", "GeForce RTX 3090", "525.125.06")]);
        assert_eq!(checked(&repository, &format!("FROM {base}\n")), ["desk starts"], "{base}");
    }
}

#[test]
fn a_pool_where_no_image_starts_is_reported() {
    let repository = with(&[pool("ancient", "Tesla K80", "390.157"), pool("l4", "L4", "570.211.01")]);
    let report = recommend(&repository, &["--torch", ">=2.0"]);
    assert_eq!(report["never"].to_string(), r#"["ancient"]"#, "{report}");
    assert!(combinations(&report).is_empty());
    let done = repository.run(&["recommend", "--torch", ">=2.0"]);
    assert!(out(&done).contains("none starts on `ancient`"), "{}", out(&done));
    let done = repository.run(&["recommend", "--torch", ">=2.0", "--format", "dockerfile"]);
    assert_eq!((code(&done), out(&done).as_str()), (1, ""), "nothing to paste: {}", err(&done));
    // The failures are reported, for the newest of the releases with the same one.
    let report = recommend(&with(&[pool("b200", "B200", "580.95.05")]), &["--torch", "2.6"]);
    let rejected = report["rejected"].as_array().expect("a list");
    assert!(combinations(&report).is_empty() && !rejected.is_empty(), "{report}");
    let ends: Vec<&str> = rejected.iter().filter_map(|one| one["pools"][0]["outcome"].as_str()).collect();
    assert!(ends.contains(&"no-kernel-image"), "{report}");
    assert!(rejected.iter().all(|one| one["pools"][0]["pool"] == "b200"), "{report}");
}

/// The header names a node that has the driver in its own directory, and no other node.
#[test]
fn the_header_names_the_driver_directory_if_a_node_needs_it() {
    let docker = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n";
    let gke = pool("l4", "L4", "535.161.08").replace(docker, "launch = \"gke\"\n");
    let line = "ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib64\n";
    for (pools, named) in [
        (vec![gke.clone()], true),
        (vec![gke, pool("a", "L4", "535.161.08")], true),
        (vec![pool("a", "L4", "535.161.08")], false),
    ] {
        let repository = with(&pools);
        let report = recommend(&repository, &["--torch", "2.4", "--base", "python", "--python", "3.11"]);
        let best = combinations(&report).first().unwrap_or_else(|| panic!("{report}"));
        let dockerfile = best["dockerfile"].as_str().expect("a text");
        assert_eq!(dockerfile.contains(line), named, "{dockerfile}");
        assert!(checked(&repository, dockerfile).iter().all(|fate| fate.ends_with(" starts")), "{dockerfile}");
    }
}

#[test]
fn an_unknown_version_to_recommend_is_an_error_with_alternatives() {
    let repository = TestRepository::empty();
    for (wishes, said) in [
        (&["--torch", ">=99"][..], " has no `torch>=99`; it has torch "),
        (&["--torch", "==2.4.0+cu130"], "; its builds of that release are cu118, cu121, cu124"),
        (&["--torch", "foo"], "`foo` is not a version or version range of torch"),
        (&["--jax", "latest"], "`latest` is not a version or version range of jax"),
        (&["--torch", ">=foo"], "is not a version range"),
        (&["--with", "torc"], "did you mean `torch`?"),
        (&["--with", "no-such-thing-at-all"], "has no releases of `no-such-thing-at-all`"),
        (&["--with", "torch => 2"], "is not a version range"),
        (&["--with", "https://example.org/x.whl"], "is not a requirement"),
        (&["--with", ""], "is not a requirement"),
        (&["--torch", ">=2.6", "--python", "3.8"], "no wheel of torch>=2.6 for Python 3.8; choose one of 3.9, "),
        (&["--tensorflow", "2.18", "--python", "3.13"], "for Python 3.13; choose one of 3.9, 3.10, 3.11, 3.12\n"),
        (
            &["--torch", "--base", "ubuntu", "--python", "3.11"],
            "has no tag of ubuntu with Python 3.11; its tags include 3.8, 3.10, 3.12",
        ),
        (
            &["--torch", "==2.6.0", "--base", "nvidia/cuda", "--python", "3.8"],
            "no wheel of torch==2.6.0 for Python 3.8; choose one of 3.9, ",
        ),
        (&["--torch", "--base", "nvidia/cudaa"], "did you mean `nvidia/cuda`?"),
        (&["--torch", "--base", "alpine"], "has no tags of `alpine`"),
        (&["--torch", "--base", "A B"], "is not an image reference"),
        (
            &["--torch", "--base", "tensorflow/tensorflow"],
            "no tag of tensorflow/tensorflow that is compatible with torch",
        ),
        (&["--base", "python"], " contains nothing for GPUs: name what runs in it with --torch, "),
        (&["--base", "python:3.11-slim"], " contains nothing for GPUs: name what runs in it with --torch, "),
        (&["--base", "ubuntu:22.04", "--python", "3.10"], "or --with 'NAME>=VERSION'"),
        (&["--base", "nvcr.io/nvidia/pytorch", "--torch", ">=2.4"], "use only --base, without torch>=2.4"),
        (
            &["--base", "nvcr.io/nvidia/pytorch", "--python", "3.11"],
            "has no tag of nvcr.io/nvidia/pytorch with Python 3.11; its tags include no known Python",
        ),
        (&["--base", "nvcr.io/nvidia/pytorchh"], "did you mean `nvcr.io/nvidia/pytorch`?"),
        (&["--base", "nvcr.io/nvidia/mxnet"], "has no tags of `nvcr.io/nvidia/mxnet`"),
        (&["--torch", "--python", "three"], "is not a Python version"),
        (&["--torch", "==2.6.0", "--with", "torchvision==0.15.1"], "has no compatible releases of"),
        (&[], "name what runs with --torch, --tensorflow, --jax, or --with 'NAME>=VERSION'"),
        (&[], "with --base"),
        (&["--python", "3.11"], "nothing to recommend: name what runs with --torch, "),
        (&["--format", "dockerfile"], "nothing to recommend: name what runs with --torch, "),
        (&["--torch", "--pool", "nowhere"], "has no pool `nowhere`"),
    ] {
        let done = repository.run(&[&["recommend"], wishes].concat());
        assert_eq!(code(&done), 2, "{wishes:?}: {}", out(&done));
        assert!(err(&done).contains(said), "{wishes:?}: {}", err(&done));
        assert_eq!(out(&done), "", "{wishes:?}");
    }
}

#[test]
fn dockerfile_format_is_valid_input_for_check() {
    let repository = TestRepository::empty();
    let done = repository.run(&["recommend", "--torch", ">=2.4", "--python", "3.11", "--format", "dockerfile"]);
    assert_eq!((code(&done), err(&done).as_str()), (0, ""));
    let text = out(&done);
    assert!(text.starts_with("FROM python:3.11-slim\nRUN pip install ") && text.ends_with('\n'), "{text}");
    assert!(checked(&repository, &text).iter().all(|fate| fate.ends_with(" starts")), "{text}");
    assert_eq!(
        text,
        recommend(&repository, &["--torch", ">=2.4", "--python", "3.11"])["combinations"][0]["dockerfile"]
    );
}

/// The three wishes together: a base without that Python is given it.
#[test]
fn a_missing_python_is_installed_in_the_recommended_image() {
    let repository = TestRepository::empty();
    for (base, python, fetched) in [
        ("nvidia/cuda", "3.11", true),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "3.11", true),
        ("nvidia/cuda", "3.10", false),
        ("nvidia/cuda", "3.12", false),
    ] {
        let report = recommend(&repository, &["--torch", ">=2.4", "--base", base, "--python", python]);
        let first = combinations(&report).first().unwrap_or_else(|| panic!("{base} {python}: {report}"));
        let text = first["dockerfile"].as_str().expect("a text");
        assert!(text.starts_with(&format!("FROM {base}")), "{text}");
        assert_eq!(first["python"], python, "{first}");
        assert_eq!(text.contains(&format!("uv venv --seed --python {python} /opt/venv\n")), fetched, "{text}");
        assert!(checked(&repository, text).iter().all(|fate| fate.ends_with(" starts")), "{text}");
        let said = report["notes"].to_string();
        assert_eq!(said.contains("uv installs it"), fetched, "{said}");
    }
}

#[test]
fn visible_devices_variable_is_set_only_if_required() {
    // Without a variable of the image this launch gives no GPU.
    let asked = pool("plain", "A100", "570.211.01").replace("docker-gpus", "nvidia-runtime");
    let repository = with(&[asked]);
    let report = recommend(&repository, &["--torch", "2.7", "--base", "python"]);
    let text = combinations(&report)[0]["dockerfile"].as_str().expect("a text");
    assert!(text.contains("\nENV NVIDIA_VISIBLE_DEVICES=all "), "{text}");
    let repository = with(&[pool("a100", "A100", "570.211.01")]);
    let report = recommend(&repository, &["--torch", "2.7", "--base", "python"]);
    assert!(!combinations(&report)[0]["dockerfile"].to_string().contains("ENV"), "{report}");
}

#[test]
fn combination_that_uses_no_gpu_is_not_recommended() {
    let repository = with(&[pool("h100", "H100", "550.54.15")]);
    let report = recommend(&repository, &["--with", "tensorflow==2.18.0", "--base", "python", "--limit", "9"]);
    assert!(!combinations(&report).is_empty(), "{report}");
    for one in combinations(&report) {
        assert_eq!(one["packages"][0]["spec"], "tensorflow[and-cuda]==2.18.0", "the plain one finds no library: {one}");
    }
    let rejected = report["rejected"].as_array().expect("a list");
    let plain = rejected.iter().find(|one| one["packages"] == "tensorflow==2.18.0").expect("the plain one");
    assert!(plain["pools"].as_array().expect("pools").iter().all(|one| one["outcome"] == "library-missing"), "{plain}");
}

#[test]
fn json_report_has_its_schema_and_reasons_for_lower_ranks() {
    let repository = TestRepository::empty();
    let report = recommend(&repository, &["--torch", ">=2.4", "--limit", "4"]);
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["fleet"]["built_in"], true);
    assert_eq!(report["wishes"]["with"].to_string(), r#"["torch>=2.4"]"#);
    let all = combinations(&report);
    assert_eq!(all.len(), 4);
    assert!(report["more"].as_u64() > Some(0));
    assert!(report["split"].as_array().is_some_and(Vec::is_empty));
    for (at, one) in all.iter().enumerate() {
        assert_eq!(one["rank"], at + 1);
        assert_eq!(one["lost_because"].is_null(), at == 0, "{one}");
        let pools = one["pools"].as_array().expect("pools");
        assert_eq!(pools.len(), 7);
        for pool in pools {
            assert_eq!(pool["fate"], "starts", "{pool}");
            assert!(pool["route"].is_string() && pool["smallest_driver"].is_string(), "{pool}");
        }
        assert!(one["base"].is_string() && one["packages"][0]["version"].is_string(), "{one}");
    }
}

#[test]
fn an_unknown_base_of_a_tag_is_no_recommendation() {
    let repository = TestRepository::empty();
    let report = recommend(&repository, &["--torch", "2.7", "--base", "registry.example.org/team/base:1"]);
    assert!(combinations(&report).is_empty(), "nobody knows what lies in it: {report}");
    assert!(report["undetermined"]["combinations"].as_u64() > Some(0), "{report}");
    assert!(report["undetermined"]["because"].is_string(), "{report}");
}

#[test]
fn packages_are_recommended_in_compatible_releases() {
    let repository = with(&[pool("t4", "T4", "525.60.13"), pool("b200", "B200", "580.95.05")]);
    for (torch, beside, expected) in [
        ("", "torchaudio", "torchaudio==2.11.0"),
        ("2.11.0", "torchaudio>=2", "torchaudio==2.11.0"),
        ("2.10.0", "torchaudio", "torchaudio==2.10.0"),
        ("2.8.0", "torchvision", "torchvision==0.23.0"),
    ] {
        let report = recommend(&repository, &["--torch", torch, "--with", beside, "--limit", "50"]);
        assert_eq!(combinations(&report)[0]["packages"][1]["spec"], expected, "{torch} {beside}: {report}");
        let old = |one: &&Value| one["packages"][1]["version"] == "0.10.2" && one["packages"][0]["version"] != "1.10.2";
        assert_eq!(combinations(&report).iter().find(old), None, "that one asks for torch 1.10.2");
    }
    // A release that no wheel of it was made for.
    let done = repository.run(&["recommend", "--torch", "2.12.0", "--with", "torchaudio==2.10.0"]);
    assert!(code(&done) != 0 && err(&done).contains("has no compatible releases of"), "{}{}", out(&done), err(&done));
}

#[test]
fn python_is_installed_by_the_package_manager_of_the_base() {
    let repository = with(&[pool("a100", "A100", "570.211.01")]);
    for (base, tool) in [
        ("rockylinux:9", "dnf"),
        ("rockylinux:9-minimal", "microdnf"),
        ("almalinux:9-minimal", "microdnf"),
        ("almalinux:9", "dnf"),
        ("nvidia/cuda:12.2.2-base-ubi9", "dnf"),
        ("nvidia/cuda:12.2.2-base-rockylinux9", "dnf"),
        ("debian:12", "apt-get"),
        ("nvidia/cuda:12.2.2-base-ubuntu22.04", "apt-get"),
        ("python:3.11-slim", ""),
        ("pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime", ""),
    ] {
        let report = recommend(&repository, &["--torch", "2.4", "--base", base]);
        let text = combinations(&report)[0]["dockerfile"].as_str().expect("a text");
        for other in ["dnf install", "microdnf install", "apt-get install", "zypper install"] {
            let runs = text.contains(&format!("RUN {other}")) || text.contains(&format!("&& {other}"));
            assert_eq!(runs, !tool.is_empty() && other.starts_with(tool), "{base}: {text}");
        }
        assert_eq!(text.contains("python3 -m venv"), !tool.is_empty(), "{base}: {text}");
    }
    for (base, why) in [
        ("alpine:3.20", "alpine uses the C library musl"),
        ("python:3.11-alpine", "alpine uses the C library musl"),
        ("nvidia/cuda:12.2.2-base-centos7", "the compatibility database does not list how to install Python on centos"),
        // Another tool, or another Python, by the release.
        ("amazonlinux:2", "the compatibility database does not list how to install Python on amazonlinux"),
        ("fedora:34", "the compatibility database does not list how to install Python on fedora"),
        // Its Python is 3.6.
        ("opensuse/leap:15.5", "no tag of opensuse/leap:15.5"),
    ] {
        let done = repository.run(&["recommend", "--torch", "2.4", "--base", base]);
        assert!(code(&done) != 0 && err(&done).contains(why), "{base}: {}{}", out(&done), err(&done));
    }
}

#[test]
fn an_older_base_image_is_tried_before_separate_pools_are_suggested() {
    let repository = with(&[pool("t4", "T4", "525.60.13"), pool("rtx5090", "RTX 5090", "575.57.08")]);
    for python in ["3.10", "3.11"] {
        let report = recommend(&repository, &["--torch", ">=2.0", "--base", "nvidia/cuda", "--python", python]);
        assert!(report["split"].as_array().is_some_and(Vec::is_empty), "{report}");
        let first = &combinations(&report)[0];
        assert_eq!((&first["base"], &first["cuda"]), (&"nvidia/cuda:12.0.1-base-ubuntu22.04".into(), &"12.8".into()));
        let fates = checked(&repository, first["dockerfile"].as_str().expect("a text"));
        assert!(fates.len() == 2 && fates.iter().all(|fate| fate.ends_with(" starts")), "{fates:?}");
    }
    // Where the base of its own CUDA starts, that one stays.
    let repository = with(&[pool("a100", "A100", "570.211.01")]);
    let report = recommend(&repository, &["--torch", "2.7", "--base", "nvidia/cuda"]);
    for one in combinations(&report) {
        assert!(!one["base"].to_string().contains(":12.0."), "{one}");
    }
}

#[test]
fn builds_with_equal_verdicts_are_reported_with_their_difference() {
    let repository = with(&[pool("a100", "A100", "570.211.01")]);
    let report = recommend(&repository, &["--torch", "2.11.0", "--base", "python", "--limit", "9"]);
    let because: Vec<String> = combinations(&report).iter().map(|one| one["lost_because"].to_string()).collect();
    assert!(because.iter().any(|why| why.contains("with the build for CUDA 12.")), "{because:?}");
    assert!(because.iter().all(|why| !why.contains("installs more")), "{because:?}");
}

#[test]
fn split_without_ptx_jit_is_listed_next_to_an_image_with_ptx_jit() {
    let repository = with(&[pool("t4", "T4", "450.80.02"), pool("b200", "B200", "580.95.05")]);
    let report = recommend(&repository, &["--torch", "--limit", "2"]);
    let first = &combinations(&report)[0];
    assert!(first["unseen"] == true && first["pools"].to_string().contains("jit"), "{report}");
    let split = report["split"].as_array().expect("a split");
    let on: Vec<String> = split.iter().map(|part| part["on"].to_string()).collect();
    assert_eq!(on, [r#"["t4"]"#, r#"["b200"]"#], "{report}");
    for part in split {
        assert!(!part["combination"]["pools"].to_string().contains("jit"), "{part}");
        let own = part["on"][0].as_str().expect("a pool");
        let fates = checked(&repository, part["combination"]["dockerfile"].as_str().expect("a text"));
        assert!(fates.contains(&format!("{own} starts")), "{fates:?}");
    }
    let text = out(&repository.run(&["recommend", "--torch", "--limit", "2"]));
    assert!(text.contains("Without PTX JIT: a separate image for each of t4 | b200"), "{text}");
    // Only a combination that starts everywhere with its own code is reported.
    for drivers in [["535.161.08", "580.95.05"], ["570.211.01", "570.211.01"]] {
        let [old, new] = drivers;
        let report =
            recommend(&with(&[pool("t4", "T4", old), pool("b200", "B200", new)]), &["--torch", "--limit", "2"]);
        assert!(!combinations(&report)[0]["pools"].to_string().contains("jit"), "{report}");
        assert!(report["split"].as_array().is_some_and(Vec::is_empty), "{report}");
    }
}

#[test]
fn build_for_the_cuda_of_the_requested_base_is_first() {
    let gke = "[[pool]]\nname = \"g\"\ngpu = \"A100\"\ndriver = \"535.161.08\"\nlaunch = \"gke\"\n";
    for (base, cuda) in [("12.4.1-runtime-ubuntu22.04", "12"), ("11.8.0-base-ubuntu22.04", "11")] {
        for pools in [gke.to_owned(), pool("a", "A100", "535.161.08"), pool("h", "H100", "570.211.01")] {
            let repository = with(&[pools]);
            let base = format!("nvidia/cuda:{base}");
            let report = recommend(&repository, &["--torch", "--base", &base, "--limit", "1"]);
            let first = &combinations(&report)[0];
            assert_eq!(first["cuda"].as_str().and_then(|own| own.split('.').next()), Some(cuda), "{base}: {report}");
            repository.file("Dockerfile", first["dockerfile"].as_str().expect("a text"));
            let done = repository.run(&["check", "--fail-on", "warning", "Dockerfile"]);
            assert_eq!(code(&done), 0, "{}", out(&done));
        }
    }
    // If no build for its CUDA starts, the others are reported.
    let repository = with(&[pool("old", "T4", "470.182.03")]);
    let base = "nvidia/cuda:11.8.0-base-ubuntu22.04";
    let report = recommend(&repository, &["--torch", ">=2.0", "--base", base, "--limit", "1"]);
    assert!(combinations(&report).iter().all(|one| one["packages"][0]["build"] == "cu118"), "{report}");
}

#[test]
fn after_the_driver_directory_the_driver_is_the_reason() {
    for (driver, wish) in [("535.161.08", ">=2.15"), ("450.80.02", ">=2.13")] {
        let gke = format!("[[pool]]\nname = \"g\"\ngpu = \"A100\"\ndriver = \"{driver}\"\nlaunch = \"gke\"\n");
        for base in [&["--base", "python"][..], &[]] {
            let report = recommend(&with(std::slice::from_ref(&gke)), &[&["--torch", wish], base].concat());
            for one in report["rejected"].as_array().expect("rejected") {
                assert_eq!(one["pools"][0]["outcome"], "insufficient-driver", "{driver} {base:?}: {one}");
            }
            assert_ne!(report["undetermined"]["combinations"].as_u64(), None);
        }
    }
}

/// A wheel that is in no index of builds is that of the default index, with any torch.
#[test]
fn cuda_version_of_a_default_wheel_does_not_follow_torch() {
    let repository = with(&[pool("t4", "T4", "470.223.02"), pool("a100", "A100", "535.161.08")]);
    let page = "https://download.pytorch.org/whl/cu118";
    for (packages, option, starts) in [
        ("torch==2.7.1+cu118 vllm==0.10.1.1", "--index-url", false),
        ("torch==2.7.1+cu118 vllm==0.10.1.1", "--extra-index-url", false),
        ("torch==2.7.1+cu118 xformers==0.0.31.post1", "--index-url", true),
        ("torch==2.7.1+cu118", "--index-url", true),
    ] {
        let text = format!(
            "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
             RUN pip install {packages} {option} {page}\n"
        );
        let fates = checked(&repository, &text);
        assert_eq!(fates.contains(&"a100 starts".to_owned()), starts, "{packages} {option}: {fates:?}");
    }
    let report = recommend(&repository, &["--torch", ">=2.4", "--with", "vllm", "--limit", "3"]);
    for one in combinations(&report) {
        let text = one["dockerfile"].as_str().expect("a text");
        assert!(
            !text.contains("cu118") && checked(&repository, text).iter().all(|fate| fate.ends_with(" starts")),
            "{text}"
        );
    }
}

#[test]
fn older_bases_are_tried_if_no_other_candidate_starts() {
    let repository = with(&[pool("t4", "T4", "470.223.02"), pool("a100", "A100", "535.161.08")]);
    for wish in [&["--jax"][..], &["--with", "jax[cuda12]"]] {
        let report = recommend(&repository, &[wish, &["--limit", "1"]].concat());
        let first = combinations(&report).first().unwrap_or_else(|| panic!("{report}"));
        assert_eq!(first["base"], "nvidia/cuda:12.0.1-base-ubuntu22.04", "{report}");
        let fates = checked(&repository, first["dockerfile"].as_str().expect("a text"));
        assert!(fates.iter().all(|fate| fate.ends_with(" starts")), "{fates:?}");
    }
    // If another one starts, they are not reported.
    let repository = with(&[pool("a100", "A100", "535.161.08")]);
    let report = recommend(&repository, &["--jax", "--limit", "9"]);
    assert!(combinations(&report).iter().all(|one| one["base"] != "nvidia/cuda:12.0.1-base-ubuntu22.04"), "{report}");
}

#[test]
fn working_driver_below_the_minimum_is_listed() {
    let repository = with(&[pool("t4", "T4", "470.223.02"), pool("a100", "A100", "535.161.08")]);
    let wish = ["--torch", "2.4", "--base", "nvidia/cuda", "--limit", "1"];
    let report = recommend(&repository, &wish);
    let of = |name: &str| {
        let pools = combinations(&report)[0]["pools"].as_array().cloned().unwrap_or_default();
        pools.into_iter().find(|one| one["pool"] == name).expect("a pool")
    };
    let smallest = of("t4")["smallest_driver"].as_str().expect("a driver").to_owned();
    let older = smallest.split('.').next().and_then(|major| major.parse::<u32>().ok()) > Some(470);
    assert_eq!(of("t4")["below"], older, "{report}");
    assert_eq!(of("a100")["below"], false, "{report}");
    let text = out(&repository.run(&[&["recommend"], &wish[..]].concat()));
    assert_eq!(
        text.contains(&format!("t4 from {smallest} (the older driver of the pool starts as well)")),
        older,
        "{text}"
    );
    assert!(older, "a pool below a gap: {report}");
}
