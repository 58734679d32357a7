//! Checks that every name of the vocabulary has a value of its type in the scope.

use jiff::civil::date;

use crate::describe::ImageDescription;
use crate::extract;
use crate::infer::infer_image_facts;
use crate::judge::scope::{PoolSummary, RuleScope};
use crate::knowledge::Knowledge;
use crate::model::fact::{BuildMachineProperty, Observations};
use crate::replay::StartStep;
use crate::report::kinds::VerdictKind;
use crate::rules::{FactLookup, FactScope as _, Vocabulary};
use crate::text::source::SourceText;

/// An image description with every kind of content.
const COMPLETE_DESCRIPTION: &str = r#"
base = "nvcr.io/nvidia/pytorch:24.05-py3"
platform = "linux/amd64"
entrypoint = ["/app/start", "--port=1"]
complete = ["env", "packages", "files", "code"]

[packages.pip]
torch = "2.1.0+cu121"
numpy = "1.26.4"
flash-attn = { version = ">=2" }

[env]
LD_LIBRARY_PATH = "/usr/local/cuda/lib64/stubs:/usr/lib"
TORCH_CUDA_ARCH_LIST = "7.5 8.6;9.0+PTX"
"#;

/// Returns the observations of an image description.
fn observations_of_description(text: &str) -> Observations {
    let text = SourceText::new("x.image.toml", text.to_owned());
    let description = ImageDescription::read(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    extract::observe_description(&description, None, None)
}

/// Returns the values of names as texts.
fn lookup_texts(seen: &Observations, pool: Option<&PoolSummary>, names: &[&str]) -> Vec<String> {
    let knowledge = Knowledge::built_in();
    let images = infer_image_facts(seen, "linux/amd64", None, knowledge);
    let day = date(2026, 11, 21);
    let subject = RuleScope { image: &images[0], seen: Some(seen), knowledge, day, pool };
    let texts = names.iter().map(|name| match subject.value(name) {
        FactLookup::Known(value) => value.to_string(),
        FactLookup::Absent => "absent".to_owned(),
        FactLookup::Unknown => "unknown".to_owned(),
    });
    texts.collect()
}

#[test]
fn every_name_of_the_vocabulary_is_answered_in_its_type() {
    let knowledge = Knowledge::built_in();
    for text in
        [COMPLETE_DESCRIPTION, "base = \"ubuntu:22.04\"\n", "complete = [\"env\", \"packages\", \"files\", \"code\"]\n"]
    {
        let seen = observations_of_description(text);
        let images = infer_image_facts(&seen, "linux/amd64", None, knowledge);
        let words = PoolSummary::default();
        let pool = Some(&words);
        let subject = RuleScope { image: &images[0], seen: Some(&seen), knowledge, day: date(2026, 11, 21), pool };
        let own = |name: &str| !name.starts_with("component.") && !name.starts_with("notice.");
        for entry in Vocabulary::built_in().entries.iter().filter(|entry| own(entry.name)) {
            let name = entry.name.replace('*', "x");
            let Some(blamed) = subject.lookup(&name) else { panic!("judge/scope has no line for `{name}`") };
            if let FactLookup::Known(value) = blamed.lookup {
                assert_eq!(value.value_type(), entry.kind, "{name}");
            }
        }
        for name in ["image.bas", "torch.x", "pool.x", "verdict.x", "step.x", "x", ""] {
            assert!(subject.lookup(name).is_none(), "{name}");
        }
    }
}

#[test]
fn values_of_an_image_match_its_description() {
    let whole = observations_of_description(COMPLETE_DESCRIPTION);
    for (name, expected) in [
        ("day", "2026-11-21"),
        ("image.entrypoint", "/app/start, --port=1"),
        ("image.base.ngc", "true"),
        ("image.base.nvidia", "false"),
        ("image.base.entrypoint_replaced", "true"),
        ("image.platforms", "linux/amd64"),
        ("image.stub_paths", "/usr/local/cuda/lib64/stubs"),
        ("image.packages", "flash-attn, numpy, torch"),
        ("package.numpy", "1.26.4"),
        ("package.flash_attn", "unknown"),
        ("package.scipy", "absent"),
        ("arch_list.entries", "7.5, 8.6, 9.0+PTX"),
        ("arch_list.ptx", "true"),
        ("arch_list.refused", "absent"),
        ("image.packages.named", "flash-attn, numpy, torch"),
        ("image.env_misspelt", "absent"),
        ("image.driver_links", "absent"),
        ("image.packages.other_cuda", "absent"),
        ("torch.index_without_effect", "absent"),
        ("build.gpu_asks", "absent"),
        ("build.missing_installers", "absent"),
        ("toolkit.cuda", "12.4.1"),
        ("pool.name", "unknown"),
    ] {
        assert_eq!(lookup_texts(&whole, None, &[name]), [expected], "{name}");
    }
}

#[test]
fn unobserved_values_are_unknown() {
    let names =
        ["image.entrypoint", "image.packages", "package.numpy", "arch_list.ptx", "image.stub_paths", "toolkit.cuda"];
    assert_eq!(
        lookup_texts(&observations_of_description("base = \"corp.example/x:1\"\n"), None, &names),
        ["unknown"; 6]
    );
    let runtime = observations_of_description(
        "base = \"nvidia/cuda:12.4.1-runtime-ubuntu22.04\"\n[packages.pip]\nnumpy = \"1.26.4\"\n",
    );
    assert_eq!(lookup_texts(&runtime, None, &["image.packages"]), ["numpy, and uninspected entries"]);
    let names = [
        "toolkit.cuda",
        "arch_list.ptx",
        "image.base.entrypoint_replaced",
        "image.compat.present",
        "image.compat.count",
    ];
    assert_eq!(lookup_texts(&runtime, None, &names), ["unknown", "false", "false", "true", "1"]);
    let nothing = observations_of_description("complete = [\"env\", \"packages\", \"files\", \"code\"]\n");
    let names = ["image.compat.count", "image.stub_paths", "image.packages", "image.base.ngc", "image.compat.cuda"];
    assert_eq!(lookup_texts(&nothing, None, &names), ["0", "absent", "absent", "absent", "absent"]);
}

#[test]
fn mismatched_settings_are_reported() {
    let lookup_text = |text: &str, name: &str| lookup_texts(&observations_of_description(text), None, &[name]).concat();
    let base = "base = \"nvidia/cuda:12.4.1-devel-ubuntu22.04\"\n";
    for (text, name, expected) in [
        ("[env]\nTORCH_CUDA_ARCH_LIST = \"7.0 12.0+PTX Ada\"\n", "arch_list.refused", "12.0+PTX"),
        ("[env]\nTORCH_CUDA_ARCH_LIST = \"9.0a\"\n", "arch_list.refused", "absent"),
        ("[env]\nTORCH_CUDA_ARCH_LIST = \"7.0 12.0+PTX Ada\"\n", "arch_list.name", "TORCH_CUDA_ARCH_LIST"),
        ("[files]\n\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n", "image.driver_libraries", "absent"),
        (
            "[files]\n\"/usr/lib/libcuda.so.1\" = { link = \"/usr/local/cuda/lib64/stubs/libcuda.so\" }\n",
            "image.driver_libraries",
            "/usr/lib/libcuda.so.1",
        ),
        (
            "[env]\nnvidia_visible_devices = \"all\"\n",
            "image.env_misspelt",
            "nvidia_visible_devices (did you mean NVIDIA_VISIBLE_DEVICES?)",
        ),
        (
            "[env]\nNVIDIA_REQUIRES_CUDA = \"x\"\n",
            "image.env_misspelt",
            "NVIDIA_REQUIRES_CUDA (did you mean NVIDIA_REQUIRE_CUDA?)",
        ),
        ("[env]\nNVIDIA_REQUIRE_CUDAS = \"x\"\n", "image.env_misspelt", "absent"),
        ("[env]\nNVIDIA_VERSION = \"x\"\n", "image.env_misspelt", "absent"),
        ("[packages.apt]\nlibnccl2 = \"2.21.5-1+cuda11.0\"\n", "image.packages.other_cuda", "libnccl2"),
        ("[packages.apt]\nlibcudnn9-cuda-13 = \"9.1\"\n", "image.packages.other_cuda", "libcudnn9-cuda-13"),
        ("[packages.apt]\nlibnccl2 = \"2.21.5-1+cuda12.2\"\n", "image.packages.other_cuda", "absent"),
        (
            "[packages.pip]\ntorch = \"2.1.0+cu118\"\ncupy-cuda12x = \"13.2.0\"\n",
            "image.cuda_mix",
            "cupy (CUDA 12), torch (CUDA 11.8)",
        ),
        ("[packages.pip]\ntorch = \"2.1.0+cu121\"\ncupy-cuda12x = \"13.2.0\"\n", "image.cuda_mix", "absent"),
        (
            "complete = [\"packages\"]\n[packages.pip]\nonnxruntime = \"1.19.2\"\n",
            "image.processor_packages",
            "onnxruntime",
        ),
        ("[packages.pip]\nonnxruntime = \"1.19.2\"\n", "image.processor_packages", "onnxruntime"),
        ("[packages.pip]\njax = \"0.4.30\"\nflax = \"0.8.5\"\n", "image.processor_packages", "jax"),
        ("[packages.pip]\njax = \"0.4.30\"\njax-cuda12-plugin = \"0.4.30\"\n", "image.processor_packages", "absent"),
        (
            "[packages.pip]\njax = \"0.4.13\"\njaxlib = \"0.4.13+cuda11.cudnn86\"\n",
            "image.processor_packages",
            "absent",
        ),
        (
            "[packages.pip]\nonnxruntime = \"1.19.2\"\nonnxruntime-gpu = \"1.19.2\"\n",
            "image.processor_packages",
            "absent",
        ),
        ("[packages.pip]\nonnxruntime = \"1.19.2\"\ntorch = \"2.1.0+cu121\"\n", "image.processor_packages", "absent"),
        (
            "[packages.pip]\ntorch = \"2.1.0+cu121\"\ntorchaudio = \"2.1.0+cu118\"\n",
            "image.cuda_mix",
            "torch (CUDA 12.1), torchaudio (CUDA 11.8)",
        ),
        ("[packages.pip]\ntorch = \"2.1.0+cu121\"\ntorchaudio = \"2.1.0+cu121\"\n", "image.cuda_mix", "absent"),
        ("[packages.pip]\ntorch = \"2.1.0+cu121\"\ntorchaudio = \"2.1.0+cpu\"\n", "image.cuda_mix", "absent"),
        ("[packages.pip]\ntorch = \"2.1.0+cu121\"\nx = \"1.0+cu12\"\n", "image.cuda_mix", "absent"),
    ] {
        assert_eq!(lookup_text(&format!("{base}{text}"), name), expected, "{text}");
    }
    // Without its compiler it is unknown what a toolkit refuses.
    let runtime = "base = \"nvidia/cuda:12.4.1-runtime-ubuntu22.04\"\n[env]\nTORCH_CUDA_ARCH_LIST = \"7.0\"\n";
    assert_eq!(lookup_text(runtime, "arch_list.refused"), "unknown");
}

#[test]
fn pool_has_the_table_facts_of_its_driver() {
    let names = ["pool.driver.cuda", "pool.driver.end_of_support", "pool.forward_compat"];
    let words = |gpu: &str, branch| PoolSummary { gpu: Some(gpu.to_owned()), branch, ..PoolSummary::default() };
    let image = observations_of_description("base = \"python:3.11-slim\"\n[packages.pip]\ntorch = \"2.4.0+cu121\"\n");
    for (gpu, branch, expected) in [
        ("NVIDIA A100-SXM4-40GB", Some(470), ["11.4", "2024-07-31", "true"]),
        ("NVIDIA GeForce RTX 3090", Some(470), ["11.4", "2024-07-31", "false"]),
        ("NVIDIA A100-SXM4-40GB", Some(999), ["unknown", "unknown", "unknown"]),
        ("NVIDIA A100-SXM4-40GB", None, ["unknown", "unknown", "unknown"]),
        ("No such GPU", Some(470), ["11.4", "2024-07-31", "unknown"]),
    ] {
        assert_eq!(lookup_texts(&image, Some(&words(gpu, branch)), &names), expected, "{gpu} {branch:?}");
    }
}

#[test]
fn step_variable_contains_its_result() {
    let words = PoolSummary {
        steps: vec![
            (StartStep::Requirement, Some("stops")),
            (StartStep::UserMode, Some("passes")),
            (StartStep::Code, None),
        ],
        ..PoolSummary::default()
    };
    let names = ["step.requirement", "step.user_mode_driver", "step.code", "step.loader"];
    let image = observations_of_description("base = \"ubuntu:22.04\"\n");
    assert_eq!(lookup_texts(&image, Some(&words), &names), ["stops", "passes", "unknown", "unknown"]);
    assert_eq!(lookup_texts(&image, None, &names), ["unknown"; 4]);
    for name in ["step.user-mode-driver", "step.x", "step."] {
        assert!(Vocabulary::built_in().find_entry(name).is_none(), "{name}");
    }
}

#[test]
fn pool_has_its_declared_fields() {
    let words = PoolSummary {
        name: "desk".to_owned(),
        capability: "8.6".parse().ok(),
        branch: Some(535),
        fate: Some(VerdictKind::Starts),
        ..PoolSummary::default()
    };
    let names =
        ["pool.name", "pool.gpu", "pool.gpu.arch", "pool.driver", "pool.driver.branch", "pool.mode", "verdict.outcome"];
    let values = lookup_texts(&observations_of_description("base = \"ubuntu:22.04\"\n"), Some(&words), &names);
    assert_eq!(values, ["desk", "unknown", "8.6", "unknown", "535", "unknown", "absent"]);
}

#[test]
fn every_command_that_queries_the_build_machine_names_a_property_of_it() {
    let rows = Knowledge::built_in().build_probes();
    let unknown: Vec<&str> =
        rows.iter().map(|row| row.what).filter(|what| what.parse::<BuildMachineProperty>().is_err()).collect();
    assert!(!rows.is_empty() && unknown.is_empty(), "{unknown:?}");
}
