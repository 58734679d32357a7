//! Device requests by launch method, mode, configuration and variable.

use super::devices_step;
use crate::knowledge::Knowledge;
use crate::replay::step_tests::{expect_step_results, image_with_env, pool_hosts};
use crate::replay::{Replay, StartStep, explanations};

/// Pool fields for the NVIDIA runtime in legacy mode.
const LEGACY: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
/// Pool fields for the NVIDIA runtime in just-in-time CDI mode.
const JIT: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
/// Pool fields for `docker run --gpus`.
const GPUS: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
/// Pool fields for the NVIDIA runtime in legacy mode on a node with four GPUs.
const COUNTED: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ngpu = { name = \"A100\", count = 4 }";
/// Pool fields for just-in-time CDI mode on a node with four GPUs.
const COUNTED_JIT: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\ngpu = { name = \"A100\", count = 4 }";
/// Pool fields for a node that ignores the device variable in unprivileged containers.
const UNPRIVILEGED: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\n[pool.host]\n\
    accept-nvidia-visible-devices-envvar-when-unprivileged = false";

#[test]
fn the_nvidia_runtime_obeys_the_variable() {
    expect_step_results(
        StartStep::Devices,
        &[
            (LEGACY, "", "no-gpu 35", "is not set"),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"\"", "no-gpu 35", "is ``"),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"all,void\"", "no-gpu 35", "is `all,void`"),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"none\"", "no-gpu 100", "is `none`"),
            (JIT, "NVIDIA_VISIBLE_DEVICES = \"none\"", "no-gpu 100", "is `none`"),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"all\"", "passes", "requests GPUs"),
            (LEGACY, "CUDA_VERSION = \"12.4.1\"", "passes", "requests GPUs"),
            (LEGACY, "CUDA_VERSION = \"12.4.1\"\nNVIDIA_REQUIRE_CUDA = \"cuda>=12\"", "no-gpu 35", "not set"),
            (LEGACY, "CUDA_VERSION = \"12.4.1\"\nNVIDIA_VISIBLE_DEVICES = \"\"", "no-gpu 35", "is ``"),
        ],
    );
}

#[test]
fn duplicate_devices_add_an_empty_name() {
    expect_step_results(
        StartStep::Devices,
        &[
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"0,0\"", "no-gpu 100", ""),
            (&COUNTED_JIT.replace("1.18.2", "1.18.1"), "NVIDIA_VISIBLE_DEVICES = \"0,0\"", "passes", ""),
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"0,1\"", "passes", ""),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"0,0\"", "passes", ""),
            (
                &format!("{COUNTED_JIT}\n[pool.host]\nnvidia-container-runtime.mode = \"cdi\""),
                "NVIDIA_VISIBLE_DEVICES = \"0,0\"",
                "device",
                "unresolvable CDI devices nvidia.com/gpu=none",
            ),
        ],
    );
}

#[test]
fn a_swarm_resource_overrides_the_engine() {
    let swarm = format!("{GPUS}\n[pool.host]\nswarm-resource = \"DOCKER_RESOURCE_GPU\"");
    expect_step_results(
        StartStep::Devices,
        &[
            (&swarm, "DOCKER_RESOURCE_GPU = \"void\"", "no-gpu 35", "DOCKER_RESOURCE_GPU is `void`"),
            (&swarm, "DOCKER_RESOURCE_GPU = \"all\"", "passes", ""),
            (&swarm, "NVIDIA_VISIBLE_DEVICES = \"void\"", "passes", ""),
            (GPUS, "DOCKER_RESOURCE_GPU = \"void\"", "passes", ""),
        ],
    );
}

#[test]
fn a_listed_device_exists_or_is_missing_or_unknown() {
    expect_step_results(
        StartStep::Devices,
        &[
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"3\"", "passes", ""),
            (
                COUNTED,
                "NVIDIA_VISIBLE_DEVICES = \"0,4\"",
                "device",
                "nvidia-container-cli: device error: 4: unknown device",
            ),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"foo\"", "device", "device error: foo: unknown device"),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"99999999999\"", "device", "99999999999: unknown device"),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"GPU-8d2f\"", "unknown", "whether the node has the device"),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"0:0\"", "unknown", "whether the node has the device"),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"0\"", "passes", ""),
            (LEGACY, "NVIDIA_VISIBLE_DEVICES = \"1\"", "unknown", "does not declare the number of GPUs"),
            // The command-line tool knows `ALL`, the toolkit's own code does not.
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"ALL\"", "passes", ""),
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"ALL\"", "device", "no device `ALL`"),
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"4\"", "device", "no device `4`"),
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"0,nvidia.com/gpu=1\"", "device", "runtime.nvidia.com"),
        ],
    );
}

#[test]
fn qualified_names_choose_the_cdi_mode_from_their_version_on() {
    let old = "launch = \"nvidia-runtime\"\ntoolkit = \"1.13.5\"\ngpu = { name = \"A100\", count = 4 }";
    let fixed =
        "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\n[pool.host.nvidia-container-runtime]\nmode = \"legacy\"";
    let name = "NVIDIA_VISIBLE_DEVICES = \"nvidia.com/gpu=0\"";
    expect_step_results(
        StartStep::Mode,
        &[
            (COUNTED, name, "passes", "mode cdi"),
            (COUNTED_JIT, name, "passes", "mode cdi"),
            (COUNTED_JIT, "NVIDIA_VISIBLE_DEVICES = \"0\"", "passes", "mode jit-cdi"),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"nvidia.com/gpu=0,1\"", "passes", "mode legacy"),
            (COUNTED, "", "passes", "mode legacy"),
            (old, name, "passes", "mode legacy"),
            (fixed, name, "passes", "mode legacy"),
        ],
    );
    expect_step_results(
        StartStep::Devices,
        &[
            (COUNTED, name, "passes", ""),
            (
                COUNTED,
                "NVIDIA_VISIBLE_DEVICES = \"nvidia.com/gpu=7\"",
                "device",
                "unresolvable CDI devices nvidia.com/gpu=7",
            ),
            (COUNTED, "NVIDIA_VISIBLE_DEVICES = \"vendor.com/net=7\"", "unknown", "vendor.com/net=7"),
            (old, name, "device", "device error: nvidia.com/gpu=0: unknown device"),
            (fixed, name, "device", "device error: nvidia.com/gpu=0: unknown device"),
        ],
    );
}

#[test]
fn the_value_none_depends_on_the_mode() {
    let runtime = |rest: &str| format!("launch = \"nvidia-runtime\"\n{rest}");
    let orin = |toolkit: &str| {
        format!(
            "launch = \"nvidia-runtime\"\ntoolkit = \"{toolkit}\"\ngpu = \"Jetson AGX Orin\"\nplatform = \"linux/arm64\""
        )
    };
    let cdi = |toolkit: &str| {
        runtime(&format!("toolkit = \"{toolkit}\"\n[pool.host.nvidia-container-runtime]\nmode = \"cdi\""))
    };
    let none = "NVIDIA_VISIBLE_DEVICES = \"none\"";
    let void = "NVIDIA_VISIBLE_DEVICES = \"void\"";
    expect_step_results(
        StartStep::Devices,
        &[
            (LEGACY, none, "no-gpu 100", "is `none`"),
            (JIT, none, "no-gpu 100", "is `none`"),
            (&runtime("toolkit = \"1.18.1\""), none, "passes", ""),
            (&runtime("toolkit = \"1.18.1\""), void, "no-gpu 35", ""),
            (&orin("1.17.8"), none, "passes", ""),
            (&orin("1.19.1"), none, "passes", ""),
            (&orin("1.19.1"), void, "no-gpu 35", ""),
            (&orin("1.17.8"), "", "no-gpu 35", ""),
            (&cdi("1.18.2"), none, "device", "unresolvable CDI devices nvidia.com/gpu=none"),
            (&cdi("1.17.8"), none, "device", "unresolvable CDI devices nvidia.com/gpu="),
            (&cdi("1.18.2"), "NVIDIA_VISIBLE_DEVICES = \"none,all\"", "device", "nvidia.com/gpu=none"),
            (&cdi("1.18.2"), void, "no-gpu 35", ""),
            (&cdi("1.18.2"), "NVIDIA_VISIBLE_DEVICES = \"all\"", "passes", ""),
        ],
    );
}

#[test]
fn csv_mode_reads_device_names_since_one_toolkit_release() {
    let orin = |toolkit: &str, count: u32| {
        format!(
            "launch = \"nvidia-runtime\"\ntoolkit = \"{toolkit}\"\ngpu = {{ name = \"Jetson AGX Orin\", count = {count} }}\n\
             platform = \"linux/arm64\""
        )
    };
    let (old, new, two) = (orin("1.18.2", 1), orin("1.19.0", 1), orin("1.19.0", 2));
    let message = "failed to construct device spec generators: unsupported device id: ";
    expect_step_results(
        StartStep::Devices,
        &[
            (&old, "NVIDIA_VISIBLE_DEVICES = \"1\"", "passes", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"GPU-8d2f\"", "passes", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"\"", "no-gpu 35", ""),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"0\"", "passes", ""),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"all\"", "passes", ""),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"1\"", "device", &format!("{message}1")),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"00\"", "device", &format!("{message}00")),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"GPU-8d2f\"", "device", &format!("{message}GPU-8d2f")),
            (&two, "NVIDIA_VISIBLE_DEVICES = \"1\"", "passes", ""),
            (&two, "NVIDIA_VISIBLE_DEVICES = \"2\"", "device", &format!("{message}2")),
            (&two, "NVIDIA_VISIBLE_DEVICES = \"GPU-8d2f\"", "unknown", ""),
        ],
    );
}

#[test]
fn runtime_cdi_names_cannot_be_mixed_with_others() {
    let cdi = format!("{COUNTED_JIT}\n[pool.host.nvidia-container-runtime]\nmode = \"cdi\"");
    let asks = |names: &str| format!("NVIDIA_VISIBLE_DEVICES = \"{names}\"");
    let message = "vendor 'runtime.nvidia.com' is not supported";
    expect_step_results(
        StartStep::Devices,
        &[
            (COUNTED_JIT, &asks("runtime.nvidia.com/gpu=0,1"), "passes", ""),
            (COUNTED_JIT, &asks("runtime.nvidia.com/gpu=0,runtime.nvidia.com/gpu=1"), "passes", ""),
            (COUNTED_JIT, &asks("0,nvidia.com/gpu=1"), "device", message),
            (COUNTED_JIT, &asks("runtime.nvidia.com/gpu=0,nvidia.com/gpu=1"), "device", message),
            (&cdi, &asks("0,nvidia.com/gpu=1"), "passes", ""),
            (&cdi, &asks("0,runtime.nvidia.com/gpu=1"), "device", message),
            (COUNTED, &asks("0,nvidia.com/gpu=1"), "device", "nvidia.com/gpu=1: unknown device"),
        ],
    );
}

#[test]
fn the_launch_method_overrides_the_image() {
    let kubernetes = "launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"envvar\"";
    let cri = "launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"cdi-cri\"";
    let annotations = "launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"cdi-annotations\"";
    let void = "NVIDIA_VISIBLE_DEVICES = \"void\"";
    expect_step_results(
        StartStep::Devices,
        &[
            (GPUS, void, "passes", "launch method docker-gpus"),
            (kubernetes, void, "passes", "launch method kubernetes"),
            (cri, void, "passes", ""),
            (annotations, void, "passes", ""),
            ("launch = \"podman-cdi\"\ntoolkit = \"1.17.8\"", void, "passes", ""),
            ("launch = \"gke\"", void, "passes", ""),
            (UNPRIVILEGED, "NVIDIA_VISIBLE_DEVICES = \"all\"", "no-gpu 35", "unprivileged"),
            (UNPRIVILEGED, "", "no-gpu 35", ""),
        ],
    );
    let privileged = format!("privileged = true\n{UNPRIVILEGED}");
    let gpus = UNPRIVILEGED.replace("nvidia-runtime", "docker-gpus");
    let none = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ngpu = { name = \"A100\", count = 0 }";
    expect_step_results(
        StartStep::Devices,
        &[
            (&privileged, "NVIDIA_VISIBLE_DEVICES = \"all\"", "passes", ""),
            (&gpus, "NVIDIA_VISIBLE_DEVICES = \"all\"", "no-gpu 35", "unprivileged"),
            (none, "NVIDIA_VISIBLE_DEVICES = \"all\"", "no-gpu 35", "the launch requests none"),
        ],
    );
}

#[test]
fn the_image_variable_applies_with_cdi_cri_under_the_nvidia_runtime() {
    let cri = "launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"cdi-cri\"\nruntime = \"nvidia\"";
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"";
    let void = "NVIDIA_VISIBLE_DEVICES = \"void\"\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.9\"";
    expect_step_results(StartStep::Mode, &[(cri, all, "passes", "mode legacy"), (cri, void, "passes", "mode cdi")]);
    expect_step_results(
        StartStep::Requirement,
        &[(cri, all, "requirement", "cuda>=12.9"), (cri, void, "n/a", "mode cdi")],
    );
    let runc = cri.replace("\"nvidia\"", "\"runc\"");
    expect_step_results(StartStep::Requirement, &[(&runc, all, "n/a", "mode cdi")]);
}

#[test]
fn volume_mounts_depend_on_the_configuration() {
    let base = "launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"volume-mounts\"";
    let option = "accept-nvidia-visible-devices-as-volume-mounts";
    let accepting = format!("{base}\n[pool.host]\n{option} = true");
    let refused = format!("{base}\n[pool.host]\n{option} = false");
    let ignored = format!("{refused}\naccept-nvidia-visible-devices-envvar-when-unprivileged = false");
    let folder = "device error: /var/run/nvidia-container-devices: unknown device";
    expect_step_results(
        StartStep::Devices,
        &[
            (&accepting, "NVIDIA_VISIBLE_DEVICES = \"void\"", "passes", ""),
            (&refused, "NVIDIA_VISIBLE_DEVICES = \"all\"", "device", folder),
            (&ignored, "NVIDIA_VISIBLE_DEVICES = \"all\"", "no-gpu 35", ""),
        ],
    );
    let both = pool_hosts(base);
    let accepted: Vec<bool> = both.iter().map(|host| host.options.accept_mounts).collect();
    assert_eq!(accepted, [false, true], "not declared: either");
}

#[test]
fn a_swarm_resource_replaces_the_variable() {
    let hook = format!("{LEGACY}\n[pool.host]\nswarm-resource = \"DOCKER_RESOURCE_GPU\"");
    let jit = format!("{JIT}\n[pool.host]\nswarm-resource = \"DOCKER_RESOURCE_GPU\"");
    let newer = jit.replace("1.18.2", "1.19.0");
    let given = "NVIDIA_VISIBLE_DEVICES = \"void\"\nDOCKER_RESOURCE_GPU = \"0\"";
    let voided = "NVIDIA_VISIBLE_DEVICES = \"all\"\nDOCKER_RESOURCE_GPU = \"void\"";
    expect_step_results(
        StartStep::Devices,
        &[
            (&hook, given, "passes", ""),
            (&hook, voided, "no-gpu 35", "is `void`"),
            (&hook, "NVIDIA_VISIBLE_DEVICES = \"all\"", "passes", ""),
            // Before 1.19 the hook alone reads the option.
            (&jit, given, "no-gpu 35", ""),
            (&newer, given, "passes", ""),
            (LEGACY, given, "no-gpu 35", ""),
        ],
    );
}

/// Returns key and reason of each fact that the devices step lacks on a pool.
fn missing_device_facts(fields: &str, variables: &str) -> Vec<(String, String)> {
    let image = image_with_env(variables);
    let hosts = pool_hosts(fields);
    let replay = Replay::new(&image, &image.components[0], &hosts[0], Knowledge::built_in());
    let found = explanations::missing_facts(replay, &devices_step(replay));
    found.into_iter().map(|one| (one.key, one.cause.to_string())).collect()
}

#[test]
fn a_visible_device_is_known_by_the_number_of_gpus() {
    let see = |value: &str| format!("NVIDIA_VISIBLE_DEVICES = \"all\"\nCUDA_VISIBLE_DEVICES = \"{value}\"");
    for (value, key, says) in [
        ("1", "pool.gpu", "a GPU `1` for CUDA_VISIBLE_DEVICES: the pool does not declare the number"),
        (" 3,0", "pool.gpu", "a GPU `3`"),
        ("GPU-8932f937", "env.CUDA_VISIBLE_DEVICES", "has `GPU-8932f937`, which CUDA_VISIBLE_DEVICES lists"),
    ] {
        let found = missing_device_facts(LEGACY, &see(value));
        assert!(matches!(found.as_slice(), [(own, why)] if own == key && why.contains(says)), "{value}: {found:?}");
    }
    for (fields, value) in
        [(LEGACY, "0"), (LEGACY, "0,1"), (COUNTED, "3"), (COUNTED, "4"), (LEGACY, "-1"), (LEGACY, "")]
    {
        assert_eq!(missing_device_facts(fields, &see(value)), [], "{fields} {value}");
    }
    // It does not matter if no GPU is requested.
    assert_eq!(missing_device_facts(LEGACY, "CUDA_VISIBLE_DEVICES = \"1\""), []);
    // In a pool without a declared GPU, the number is what is missing.
    let bare = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\nbrand = \"tesla\"";
    assert!(
        missing_device_facts(bare, &see("2")).iter().all(|(_, why)| why.contains("the number of GPUs")),
        "{:?}",
        missing_device_facts(bare, &see("2"))
    );
}

#[test]
fn mode_none_adds_no_gpu() {
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let none = |launch: &str| format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\"\nmode = \"none\"");
    expect_step_results(
        StartStep::Devices,
        &[
            (&none("nvidia-runtime"), all, "no-gpu 35", "the pool uses no container toolkit (mode `none`)"),
            (&none("docker-gpus"), all, "no-gpu 35", "the pool uses no container toolkit (mode `none`)"),
            (&none("kubernetes"), "", "no-gpu 35", "the pool uses no container toolkit (mode `none`)"),
            // The engine provides them without a toolkit.
            (&none("docker-cdi"), "", "passes", "docker-cdi"),
            (&none("native"), "", "passes", "native"),
            (&none("singularity"), "", "passes", "singularity"),
            (LEGACY, all, "passes", "requests GPUs"),
        ],
    );
}
