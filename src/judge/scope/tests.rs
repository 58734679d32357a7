//! Every name of the vocabulary has its line in the scope, and answers what it promises.

use jiff::civil::date;

use crate::describe::Description;
use crate::extract;
use crate::fact::Observations;
use crate::infer::infer;
use crate::judge::scope::PoolWords;
use crate::judge::scope::Subject;
use crate::knowledge::Knowledge;
use crate::rules::Lookup;
use crate::rules::Scope as _;
use crate::rules::Vocabulary;
use crate::source::SourceText;
use crate::start::Step;

const WHOLE: &str = r#"
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

fn seen(text: &str) -> Observations {
    let text = SourceText::new("x.image.toml", text.to_owned());
    let description = Description::read(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    extract::of_description(&description, None, None)
}

fn said(seen: &Observations, pool: Option<&PoolWords>, names: &[&str]) -> Vec<String> {
    let knowledge = Knowledge::built_in();
    let images = infer(seen, "linux/amd64", None, knowledge);
    let day = date(2026, 11, 21);
    let subject = Subject { image: &images[0], seen: Some(seen), knowledge, day, pool };
    let told = names.iter().map(|name| match subject.value(name) {
        Lookup::Known(value) => value.to_string(),
        Lookup::Absent => "absent".to_owned(),
        Lookup::Unknown => "unknown".to_owned(),
    });
    told.collect()
}

#[test]
fn every_name_of_the_vocabulary_is_answered_in_its_type() {
    let knowledge = Knowledge::built_in();
    for text in [WHOLE, "base = \"ubuntu:22.04\"\n", "complete = [\"env\", \"packages\", \"files\", \"code\"]\n"] {
        let seen = seen(text);
        let images = infer(&seen, "linux/amd64", None, knowledge);
        let words = PoolWords::default();
        let pool = Some(&words);
        let subject = Subject { image: &images[0], seen: Some(&seen), knowledge, day: date(2026, 11, 21), pool };
        let own = |name: &str| !name.starts_with("component.") && !name.starts_with("notice.");
        for entry in Vocabulary::built_in().entries.iter().filter(|entry| own(entry.name)) {
            let name = entry.name.replace('*', "x");
            let Some(said) = subject.said(&name) else { panic!("judge/scope has no line for `{name}`") };
            if let Lookup::Known(value) = said.lookup {
                assert_eq!(value.kind(), entry.kind, "{name}");
            }
        }
        for name in ["image.bas", "torch.x", "pool.x", "verdict.x", "step.x", "x", ""] {
            assert!(subject.said(name).is_none(), "{name}");
        }
    }
}

#[test]
fn what_is_told_of_an_image_is_what_was_seen() {
    let whole = seen(WHOLE);
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
        assert_eq!(said(&whole, None, &[name]), [expected], "{name}");
    }
}

#[test]
fn what_was_not_seen_is_not_told() {
    let names =
        ["image.entrypoint", "image.packages", "package.numpy", "arch_list.ptx", "image.stub_paths", "toolkit.cuda"];
    assert_eq!(said(&seen("base = \"corp.example/x:1\"\n"), None, &names), ["unknown"; 6]);
    let runtime = seen("base = \"nvidia/cuda:12.4.1-runtime-ubuntu22.04\"\n[packages.pip]\nnumpy = \"1.26.4\"\n");
    assert_eq!(said(&runtime, None, &["image.packages"]), ["numpy, and uninspected entries"]);
    let names = [
        "toolkit.cuda",
        "arch_list.ptx",
        "image.base.entrypoint_replaced",
        "image.compat.present",
        "image.compat.count",
    ];
    assert_eq!(said(&runtime, None, &names), ["unknown", "false", "false", "true", "1"]);
    let nothing = seen("complete = [\"env\", \"packages\", \"files\", \"code\"]\n");
    let names = ["image.compat.count", "image.stub_paths", "image.packages", "image.base.ngc", "image.compat.cuda"];
    assert_eq!(said(&nothing, None, &names), ["0", "absent", "absent", "absent", "absent"]);
}

#[test]
fn what_is_told_of_two_things_that_do_not_go_together() {
    let told = |text: &str, name: &str| said(&seen(text), None, &[name]).concat();
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
        assert_eq!(told(&format!("{base}{text}"), name), expected, "{text}");
    }
    // Without its compiler nobody knows what a toolkit refuses.
    let runtime = "base = \"nvidia/cuda:12.4.1-runtime-ubuntu22.04\"\n[env]\nTORCH_CUDA_ARCH_LIST = \"7.0\"\n";
    assert_eq!(told(runtime, "arch_list.refused"), "unknown");
}

#[test]
fn a_pool_tells_what_the_tables_say_of_its_driver() {
    let names = ["pool.driver.cuda", "pool.driver.end_of_support", "pool.forward_compat"];
    let words = |gpu: &str, branch| PoolWords { gpu: Some(gpu.to_owned()), branch, ..PoolWords::default() };
    let image = seen("base = \"python:3.11-slim\"\n[packages.pip]\ntorch = \"2.4.0+cu121\"\n");
    for (gpu, branch, expected) in [
        ("NVIDIA A100-SXM4-40GB", Some(470), ["11.4", "2024-07-31", "true"]),
        ("NVIDIA GeForce RTX 3090", Some(470), ["11.4", "2024-07-31", "false"]),
        ("NVIDIA A100-SXM4-40GB", Some(999), ["unknown", "unknown", "unknown"]),
        ("NVIDIA A100-SXM4-40GB", None, ["unknown", "unknown", "unknown"]),
        ("No such GPU", Some(470), ["11.4", "2024-07-31", "unknown"]),
    ] {
        assert_eq!(said(&image, Some(&words(gpu, branch)), &names), expected, "{gpu} {branch:?}");
    }
}

#[test]
fn a_step_tells_how_it_ended() {
    let words = PoolWords {
        steps: vec![(Step::Requirement, Some("stops")), (Step::UserMode, Some("passes")), (Step::Code, None)],
        ..PoolWords::default()
    };
    let names = ["step.requirement", "step.user_mode_driver", "step.code", "step.loader"];
    let image = seen("base = \"ubuntu:22.04\"\n");
    assert_eq!(said(&image, Some(&words), &names), ["stops", "passes", "unknown", "unknown"]);
    assert_eq!(said(&image, None, &names), ["unknown"; 4]);
    for name in ["step.user-mode-driver", "step.x", "step."] {
        assert!(Vocabulary::built_in().find(name).is_none(), "{name}");
    }
}

#[test]
fn a_pool_tells_what_it_declares() {
    let words = PoolWords {
        name: "desk".to_owned(),
        capability: "8.6".parse().ok(),
        branch: Some(535),
        fate: "starts".to_owned(),
        ..PoolWords::default()
    };
    let names =
        ["pool.name", "pool.gpu", "pool.gpu.arch", "pool.driver", "pool.driver.branch", "pool.mode", "verdict.outcome"];
    let told = said(&seen("base = \"ubuntu:22.04\"\n"), Some(&words), &names);
    assert_eq!(told, ["desk", "unknown", "8.6", "unknown", "535", "unknown", "absent"]);
}
