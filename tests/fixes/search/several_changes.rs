//! Fixes of several changes, distant releases, and images without a fix.

use std::fs;

use serde_json::Value;

use crate::search::test_repository::{TestRepository, code, out};
use crate::search::{fixes, list, words};

pub(crate) type Pool<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

const T4: Pool<'_> = ("t4", "T4", "525.60.13", "docker-gpus", "1.17.8");
const B200: Pool<'_> = ("b200", "B200", "580.95.05", "nvidia-runtime", "1.18.2");
const DESK: Pool<'_> = ("desk", "RTX 4090", "535.171.04", "nvidia-runtime", "1.18.2");
const RTX: Pool<'_> = ("rtx", "RTX 5090", "575.57.08", "docker-gpus", "1.17.8");

pub(crate) fn on(pools: &[Pool<'_>], dockerfile: &str) -> TestRepository {
    let repository = TestRepository::empty();
    let pool = |(name, gpu, driver, launch, toolkit): &Pool<'_>| {
        format!(
            "[[pool]]\nname = \"{name}\"\ngpu = \"{gpu}\"\ndriver = \"{driver}\"\nplatform = \"linux/amd64\"\n\
             launch = \"{launch}\"\ntoolkit = \"{toolkit}\"\n"
        )
    };
    repository.file("fleet.toml", &pools.iter().map(pool).collect::<String>());
    repository.file("Dockerfile", dockerfile);
    repository
}

fn report_with_fixes(repository: &TestRepository) -> Value {
    repository.json(&["check", "--show-fixes", "Dockerfile"])
}

fn text_of(repository: &TestRepository) -> String {
    fs::read_to_string(repository.path("Dockerfile")).expect("a file")
}

fn notes(report: &Value) -> String {
    report["subjects"][0]["inspected"]["notes"].to_string()
}

/// Whether every pool starts after `--fix --unsafe-fixes`.
fn fixed(repository: &TestRepository) -> bool {
    repository.run(&["check", "--fix", "--unsafe-fixes", "Dockerfile"]);
    let done = repository.run(&["check", "Dockerfile"]);
    code(&done) == 0 && !out(&done).contains("fails") && !out(&done).contains("unknown")
}

#[test]
fn two_successive_failures_have_one_combined_fix() {
    let all = "ENV NVIDIA_VISIBLE_DEVICES=all";
    for (pools, dockerfile, parts) in [
        (&[B200][..], "FROM python:3.11-slim\nRUN pip install torch==2.6.0\n", [all, "torch==2.7.1+cu128"]),
        (&[B200, RTX], "FROM python:3.11-slim\nRUN pip install torch==2.6.0\n", [all, "torch==2.7.1+cu128"]),
        (&[T4, DESK], "FROM python:3.11-slim\nRUN pip install torch==2.11.0\n", [all, "torch==2.11.0+cu12"]),
        (
            &[T4],
            "FROM python:3.11\nENV NVIDIA_DRIVER_CAPABILITIES=utility\nRUN pip install torch==2.11.0\n",
            ["NVIDIA_DRIVER_CAPABILITIES=utility,compute", "torch==2.11.0+cu12"],
        ),
    ] {
        let repository = on(pools, dockerfile);
        let report = report_with_fixes(&repository);
        for (pool, ..) in pools {
            let found = fixes(&report, pool);
            let first = found.first().unwrap_or_else(|| panic!("{dockerfile} {pool}: {report}"));
            assert_eq!(words(&first["cures"]).len(), pools.len(), "{first}");
            assert!(list(&first["edits"]).len() >= 2 && words(&first["breaks"]).is_empty(), "{first}");
        }
        assert!(!notes(&report).contains("no known change"), "{report}");
        assert!(fixed(&repository), "{dockerfile}");
        let text = text_of(&repository);
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn one_sufficient_change_is_not_combined_with_another() {
    for dockerfile in [
        "FROM python:3.11-slim\nRUN pip install torch==2.7.1+cu128 --index-url https://download.pytorch.org/whl/cu128\n",
        "FROM python:3.11-slim\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install torch==2.6.0\n",
    ] {
        let repository = on(&[B200], dockerfile);
        for fix in fixes(&report_with_fixes(&repository), "b200") {
            assert!(!fix["title"].to_string().contains(", and "), "{fix}");
        }
        assert!(fixed(&repository), "{dockerfile}");
    }
}

#[test]
fn a_distant_release_is_offered_last() {
    let old: [Pool<'_>; 2] = [
        ("a100", "A100", "460.32.03", "docker-gpus", "1.14.3"),
        ("t4-450", "T4", "450.119.04", "docker-cdi", "1.17.4"),
    ];
    for (pools, python, from, to) in [(&[T4, DESK], "3.12", "0.33.0", "0.19.1"), (&old, "3.10", "0.6.3", "0.2.1.post1")]
    {
        let repository =
            on(pools, &format!("FROM python:{python}\nENV NVIDIA_VISIBLE_DEVICES=all\nRUN pip install vllm=={from}\n"));
        let report = report_with_fixes(&repository);
        let found = fixes(&report, pools[0].0);
        let far = found.iter().find(|fix| fix["title"].to_string().contains(&format!("vllm=={to}")));
        let far = far.unwrap_or_else(|| panic!("{report}"));
        assert_eq!((far["safety"].as_str(), words(&far["cures"]).len()), (Some("manual"), 2), "{far}");
        assert!(!notes(&report).contains("no known change"), "{report}");
        assert_ne!(found.first(), Some(far), "a driver comes before it");
    }
}

#[test]
fn fix_removes_compat_libraries_of_base_and_package_together() {
    let repository = on(
        &[T4, DESK],
        "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y cuda-compat-12-4 python3-pip\n\
         ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH\nRUN pip install torch==2.4.1\n",
    );
    let found = fixes(&report_with_fixes(&repository), "desk");
    let first = found.first().expect("a cure");
    assert_eq!((first["kind"].as_str(), first["safety"].as_str()), (Some("compat"), Some("safe")), "{first}");
    assert!(fixed(&repository));
    let text = text_of(&repository);
    assert!(text.contains("RUN rm -rf /usr/local/cuda/compat") && !text.contains("cuda-compat-12-4"), "{text}");
}

#[test]
fn available_driver_fixes_are_not_denied() {
    let three: [Pool<'_>; 3] = [
        ("t4-450", "T4", "450.119.04", "docker-gpus", "1.14.3"),
        ("k80", "K80", "470.161.03", "docker-gpus", "1.14.3"),
        RTX,
    ];
    let repository = on(
        &three,
        "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN pip install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128\n",
    );
    let report = report_with_fixes(&repository);
    assert!(fixes(&report, "t4-450").iter().any(|fix| fix["kind"] == "driver"), "{report}");
    assert!(!notes(&report).contains("no known change makes it start on `t4-450`"), "{report}");
    // A GPU that its driver no longer supports wants an older one.
    let repository =
        on(&[("v", "V100", "590.44.01", "docker-gpus", "1.17.8")], "FROM python:3.11\nRUN pip install torch==2.6.0\n");
    let found = fixes(&report_with_fixes(&repository), "v");
    assert!(found.iter().any(|fix| fix["title"].to_string().contains("driver 580.")), "{found:?}");
    // And where nothing does, that is said of one pool as of many.
    let repository = on(
        &[("k80", "K80", "470.161.03", "docker-gpus", "1.14.3")],
        "FROM scratch\nCOPY app /app\nENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_REQUIRE_CUDA=cuda>=99.0\n",
    );
    let report = report_with_fixes(&repository);
    let nothing = fixes(&report, "k80").is_empty();
    assert_eq!(notes(&report).contains("no known change makes it start on `k80`"), nothing, "{report}");
}

#[test]
fn base_images_with_another_major_version_are_ranked_last() {
    for (pool, dockerfile, first, offered) in [
        // Without the compat library it starts on its own base: no older base is offered.
        (
            DESK,
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH\n\
             RUN pip install torch==2.4.1\n",
            "compat",
            false,
        ),
        // No other change of the image helps.
        (
            T4,
            "FROM nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04\n\
             RUN pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128\n",
            "driver",
            true,
        ),
        (T4, "FROM nvidia/cuda:13.0.1-base-ubuntu24.04\n", "driver", true),
    ] {
        let found = fixes(&report_with_fixes(&on(&[pool], dockerfile)), pool.0);
        assert_eq!(found.first().and_then(|fix| fix["kind"].as_str()), Some(first), "{found:?}");
        let base = found.iter().find(|fix| fix["kind"] == "base-tag");
        assert_eq!(base.is_some(), offered, "{dockerfile}: {found:?}");
        let back =
            |fix: &Value| fix["title"].as_str().is_some_and(|title| title.contains("which goes back from CUDA 13"));
        assert!(base.is_none_or(|fix| back(fix) && fix["safety"] == "manual"), "{found:?}");
    }
}

#[test]
fn hidden_cuda_devices_can_be_made_visible() {
    for (value, offered) in [("\"\"", true), ("-1", true), ("-1,0", true), ("0", false), ("0,-1", false)] {
        let repository =
            on(&[T4], &format!("FROM python:3.11\nENV CUDA_VISIBLE_DEVICES={value}\nRUN pip install torch==2.4.1\n"));
        let found = fixes(&report_with_fixes(&repository), "t4");
        let shown = found.iter().find(|fix| fix["title"] == "set CUDA_VISIBLE_DEVICES=0");
        assert_eq!(shown.is_some(), offered, "{value}: {found:?}");
        assert!(shown.is_none_or(|fix| fix["safety"] == "unsafe"), "somebody may mean it");
        assert!(fixed(&repository), "{value}");
    }
}

#[test]
fn several_manual_changes_follow_an_equally_good_written_fix() {
    let old: Pool<'_> = ("t4", "T4", "525.60.13", "docker-gpus", "1.18.2");
    let new: Pool<'_> = ("b200", "B200", "580.95.05", "nvidia-runtime", "1.18.2");
    let pip = "RUN pip install --index-url https://mirror.example/simple 'torch>=2.4'\n";
    let repository = on(&[old, new], &format!("FROM python:3.11-slim\n{pip}"));
    let report = report_with_fixes(&repository);
    let list_of = |pool: &str| -> Vec<(bool, String)> {
        let found = fixes(&report, pool);
        let title = |fix: &Value| fix["title"].as_str().unwrap_or_default().to_owned();
        found
            .iter()
            .map(|fix| (title(fix).contains(", and "), fix["safety"].as_str().unwrap_or_default().to_owned()))
            .collect()
    };
    for pool in ["t4", "b200"] {
        let found = list_of(pool);
        let several = found.iter().position(|(several, safety)| *several && safety == "manual").expect("a chain");
        let written = found.iter().position(|(several, safety)| !several && safety != "manual").expect("one change");
        assert!(written < several, "{pool}: {found:?}");
    }
    let first = fixes(&report, "b200");
    assert_eq!((&first[0]["safety"], &first[0]["kind"]), (&Value::from("safe"), &Value::from("environment")));
    // Where the one change helps on fewer of the pools of a finding, it does not come before the several.
    let both: Pool<'_> = ("l4", "L4", "525.60.13", "nvidia-runtime", "1.18.2");
    let repository = on(&[old, both], "FROM python:3.11-slim\nRUN pip install torch==2.11.0\n");
    let report = report_with_fixes(&repository);
    let found = fixes(&report, "l4");
    assert!(found[0]["title"].as_str().is_some_and(|title| title.contains(", and ")), "{found:?}");
}

/// The base of the build has a compat library, which a GPU of a desk refuses.
#[test]
fn base_and_build_change_omits_an_incompatible_compat_package() {
    let repository = on(
        &[
            ("h100", "H100", "535.161.08", "docker-gpus", "1.17.8"),
            ("desk", "GeForce RTX 3090", "470.223.02", "docker-gpus", "1.14.3"),
        ],
        "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
         RUN pip3 install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128\n",
    );
    let found = fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "desk");
    let of_three = |fix: &&Value| {
        let title = fix["title"].as_str().unwrap_or_default();
        ["-base-ubuntu22.04", "torch==2.7.1+cu118", "leave out the compat library"]
            .iter()
            .all(|word| title.contains(word))
    };
    let three = found.iter().find(of_three).unwrap_or_else(|| panic!("{found:?}"));
    assert!(words(&three["cures"]).contains(&"desk".to_owned()) && words(&three["breaks"]).is_empty(), "{three}");
    // Where nothing refuses the library it stays.
    let repository = on(
        &[("t4", "T4", "470.223.02", "docker-gpus", "1.14.3")],
        "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n\
         RUN pip3 install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128\n",
    );
    let found = fixes(&repository.json(&["check", "--show-fixes", "Dockerfile"]), "t4");
    assert!(!found.iter().any(|fix| of_three(&fix)), "{found:?}");
}
