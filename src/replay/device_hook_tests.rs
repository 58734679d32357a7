//! Which containers the hook and the engine refuse, and which capabilities they grant.

use crate::replay::StartStep;
use crate::replay::step_tests::{expect_step_results, image_from_description, pool_hosts, step_result_and_text};

/// Pool fields for the NVIDIA runtime in legacy mode.
const LEGACY: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
/// Pool fields for the NVIDIA runtime in just-in-time CDI mode.
const JIT: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
/// Pool fields for `docker run --gpus`.
const GPUS: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
/// Pool fields for the NVIDIA runtime on a node with four GPUs.
const COUNTED: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ngpu = { name = \"A100\", count = 4 }";
/// Pool fields for enroot.
const ENROOT: &str = "launch = \"enroot\"\ntoolkit = \"1.17.8\"";

#[test]
fn only_a_privileged_container_configures_mig() {
    let config = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_MIG_CONFIG_DEVICES = \"all\"";
    let monitor = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_MIG_MONITOR_DEVICES = \"all\"";
    let privileged = format!("{LEGACY}\nprivileged = true");
    let message = "cannot set MIG_CONFIG_DEVICES in non privileged container";
    expect_step_results(
        StartStep::Devices,
        &[
            (LEGACY, config, "device", message),
            (GPUS, config, "device", message),
            (LEGACY, monitor, "device", "cannot set MIG_MONITOR_DEVICES"),
            (&privileged, config, "passes", ""),
            (JIT, config, "passes", ""),
            (LEGACY, "NVIDIA_MIG_CONFIG_DEVICES = \"all\"", "no-gpu 35", ""),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_MIG_CONFIG_DEVICES = \"\"", "passes", ""),
        ],
    );
}

#[test]
fn the_hook_refuses_every_mode_but_legacy() {
    let message = "invoking the NVIDIA Container Runtime Hook directly";
    let orin = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ngpu = \"Jetson AGX Orin\"\nplatform = \"linux/arm64\"";
    let cdi = format!("{GPUS}\n[pool.host.nvidia-container-runtime]\nmode = \"cdi\"");
    let blind = format!("{cdi}\n[pool.host.nvidia-container-runtime-hook]\nskip-mode-detection = true");
    let under = format!("{orin}\nruntime = \"nvidia\"");
    expect_step_results(
        StartStep::Devices,
        &[
            (orin, "", "hook", message),
            (&cdi, "", "hook", message),
            (&blind, "", "passes", ""),
            (&under, "", "passes", ""),
            (&cdi, "NVIDIA_DRIVER_CAPABILITIES = \"compute,foo\"", "capability", "(allowed 'compute')"),
            (&cdi, "NVIDIA_DRIVER_CAPABILITIES = \"compute\"", "hook", message),
            (&cdi, "NVIDIA_MIG_CONFIG_DEVICES = \"all\"", "device", "cannot set MIG_CONFIG_DEVICES"),
            (&cdi.replace("1.17.8", "1.13.5"), "NVIDIA_DRIVER_CAPABILITIES = \"compute,foo\"", "hook", message),
            (&cdi.replace("1.17.8", "1.13.5"), "NVIDIA_MIG_CONFIG_DEVICES = \"all\"", "hook", message),
            (GPUS, "", "passes", ""),
            ("launch = \"docker-gpus\"\nmode = \"cdi\"\ntoolkit = \"1.17.8\"", "", "passes", ""),
        ],
    );
}

#[test]
fn engine_and_cdi_specs_decide_the_mode_of_the_gpus_flag() {
    let engine = |rest: &str| format!("launch = \"docker-gpus\"\ntoolkit = \"1.18.2\"\n{rest}");
    for (rest, expected) in [
        ("engine = \"docker 28.2\"", vec!["legacy"]),
        ("engine = \"docker 28.2\"\ncdi_specs = true", vec!["legacy"]),
        ("engine = \"docker 29.2\"\ncdi_specs = false", vec!["legacy"]),
        ("engine = \"docker 29.2\"\ncdi_specs = true", vec!["cdi"]),
        ("engine = \"docker 29.2\"", vec!["legacy", "cdi"]),
        ("cdi_specs = true", vec!["legacy", "cdi"]),
        ("", vec!["legacy"]),
        ("engine = \"docker 29.2\"\nruntime = \"nvidia\"", vec!["jit-cdi"]),
        ("mode = \"legacy\"\nengine = \"docker 29.2\"\ncdi_specs = true", vec!["legacy"]),
    ] {
        let modes: Vec<&str> = pool_hosts(&engine(rest)).iter().map(|host| host.mode.as_str()).collect();
        assert_eq!(modes, expected, "{rest}");
    }
}

#[test]
fn capabilities_are_those_of_the_configuration_and_the_version() {
    let narrow = format!("{GPUS}\n[pool.host]\nsupported-driver-capabilities = \"compute,utility\"");
    let old = "launch = \"docker-gpus\"\ntoolkit = \"1.3.0\"";
    let middle = "launch = \"docker-gpus\"\ntoolkit = \"1.5.1\"";
    let caps = |value: &str| format!("NVIDIA_DRIVER_CAPABILITIES = \"{value}\"");
    expect_step_results(
        StartStep::Capabilities,
        &[
            (GPUS, "", "passes", "includes compute"),
            (GPUS, &caps(""), "passes", ""),
            (GPUS, &caps("all"), "passes", ""),
            (GPUS, &caps("video,utility"), "passes", "includes video"),
            (GPUS, &caps("utility"), "no-gpu 35", "lacks compute"),
            (GPUS, &caps(","), "no-gpu 35", "lacks compute"),
            (GPUS, &caps("graphics"), "no-gpu 35", "lacks compute"),
            (GPUS, &caps("utility,foo,compute"), "capability", "'compute,foo,utility' (allowed 'compute,utility')"),
            (GPUS, &caps("none"), "capability", "'none' (allowed '')"),
            (GPUS, &caps("Compute"), "capability", "'Compute' (allowed '')"),
            (&narrow, &caps("compute,video"), "capability", "'compute,video' (allowed 'compute')"),
            (&narrow, &caps("all"), "passes", ""),
            (old, "", "no-gpu 35", "the default lacks compute"),
            (old, "CUDA_VERSION = \"12.4.1\"", "passes", ""),
            (middle, "", "passes", ""),
            (middle, &caps("compute,foo"), "capability", "unknown driver capability: foo"),
            (middle, &caps("zoo,compute,bar"), "capability", "unknown driver capability: zoo"),
            (JIT, &caps("foo"), "n/a", "this mode does not read"),
            (LEGACY, &caps("foo"), "n/a", "without devices"),
        ],
    );
}

#[test]
fn enroot_uses_a_separate_hook() {
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let with = |line: &str| format!("{all}\n{line}");
    expect_step_results(
        StartStep::Devices,
        &[
            (ENROOT, "", "no-gpu 35", "is not set"),
            (ENROOT, "CUDA_VERSION = \"12.4.1\"", "no-gpu 35", "is not set"),
            (ENROOT, &with("NVIDIA_DRIVER_CAPABILITIES = \"compute\""), "passes", ""),
        ],
    );
    expect_step_results(
        StartStep::Capabilities,
        &[
            (ENROOT, all, "no-gpu 35", "the default lacks compute"),
            (ENROOT, &with("NVIDIA_DRIVER_CAPABILITIES = \"compute,utility\""), "passes", ""),
            (ENROOT, &with("NVIDIA_DRIVER_CAPABILITIES = \"all\""), "passes", ""),
            (
                ENROOT,
                &with("NVIDIA_DRIVER_CAPABILITIES = \"ngx\""),
                "capability",
                "Unknown NVIDIA driver capability: ngx",
            ),
        ],
    );
}

#[test]
fn the_first_failure_is_reported() {
    let both = "NVIDIA_VISIBLE_DEVICES = \"none\"\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"";
    expect_step_results(
        StartStep::Devices,
        &[(LEGACY, both, "passes", "without a GPU"), (JIT, both, "no-gpu 100", "")],
    );
    expect_step_results(StartStep::Requirement, &[(LEGACY, both, "requirement", "cuda>=12.9")]);
    let utility = "NVIDIA_DRIVER_CAPABILITIES = \"utility\"\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"";
    expect_step_results(StartStep::Capabilities, &[(GPUS, utility, "passes", "lacks compute")]);
    let words = "NVIDIA_VISIBLE_DEVICES = \"9\"\nNVIDIA_DRIVER_CAPABILITIES = \"foo\"";
    expect_step_results(StartStep::Devices, &[(COUNTED, words, "passes", "")]);
    expect_step_results(StartStep::Capabilities, &[(COUNTED, words, "capability", "foo")]);
}

#[test]
fn an_unknown_variable_matters_only_where_it_is_read() {
    let image = image_from_description("cuda_runtime = \"12.4\"\nbase = \"registry.example.com/own:1\"\n");
    for (fields, expected) in [
        (LEGACY, "unknown"),
        (GPUS, "passes"),
        ("launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }", "passes"),
    ] {
        for host in pool_hosts(fields) {
            assert_eq!(step_result_and_text(&image, &host, StartStep::Devices).0, expected, "{fields}");
        }
    }
}

#[test]
fn an_unknown_selection_of_gpus_is_not_all_gpus() {
    let found = |unknown_variable: &str, fields: &str| {
        let image = image_from_description(&format!(
            "env_unknown = [\"{unknown_variable}\"]\ncuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
             [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ));
        step_result_and_text(&image, &pool_hosts(fields)[0], StartStep::Devices).0
    };
    assert_eq!(found("CUDA_VISIBLE_DEVICES", GPUS), "unknown");
    assert_eq!(found("CUDA_VISIBLE_DEVICES", &format!("{GPUS}\nenv = {{ CUDA_VISIBLE_DEVICES = \"0\" }}")), "passes");
    assert_eq!(found("CUDA_DEVICE_ORDER", GPUS), "passes");
    // Nothing is given that could be left out.
    assert_eq!(found("CUDA_VISIBLE_DEVICES", LEGACY), "no-gpu 35");
}

#[test]
fn an_invalid_first_entry_hides_every_gpu() {
    let with = |value: &str, fields: &str| {
        let image = image_from_description(&format!(
            "[env]\nCUDA_VISIBLE_DEVICES = \"{value}\"\n[packages.pip]\ntorch = \"2.4.0\"\n"
        ));
        step_result_and_text(&image, &pool_hosts(fields)[0], StartStep::Devices).0
    };
    let end = |value: &str| with(value, GPUS);
    for value in ["", "-1", "none", "void", "all", "NoDevFiles", ",0", "-1,0"] {
        assert_eq!(end(value), "no-gpu 100", "{value:?}");
    }
    for value in ["0", "0,1", " 0", "+0", "0gpu", "0,none", "0,7"] {
        assert_eq!(end(value), "passes", "{value:?}");
    }
    // How many there are is not declared, or how they are called.
    for value in ["1", "1gpu", "7,0", "GPU-8932f937", "gpu-8932f937", "MIG-GPU-1/2/3"] {
        assert_eq!(end(value), "unknown", "{value:?}");
    }
    let two = &format!("{GPUS}\ngpu = {{ name = \"A100\", count = 2 }}");
    for (value, expected) in [
        ("0", "passes"),
        ("1", "passes"),
        ("1,7", "passes"),
        ("2", "no-gpu 100"),
        ("7,0", "no-gpu 100"),
        ("GPU-8932f937", "unknown"),
    ] {
        assert_eq!(with(value, two), expected, "{value:?} of two");
    }
    // A container that gets one of four.
    let one = |value: &str| {
        let env = format!("[env]\nNVIDIA_VISIBLE_DEVICES = \"3\"\nCUDA_VISIBLE_DEVICES = \"{value}\"\n");
        step_result_and_text(
            &image_from_description(&format!("{env}[packages.pip]\ntorch = \"2.4.0\"\n")),
            &pool_hosts(COUNTED)[0],
            StartStep::Devices,
        )
        .0
    };
    assert_eq!((one("0").as_str(), one("1").as_str()), ("passes", "no-gpu 100"));
}
