//! Steps as older container toolkits took them.

use crate::fleet;
use crate::fleet::GpuNameLookup;
use crate::knowledge::Knowledge;
use crate::replay::StartStep;
use crate::replay::step_tests::{expect_step_results, image_with_env, pool_hosts, step_result_and_text};
use crate::text::source::{SourceId, SourceText};

/// Returns pool fields for the NVIDIA runtime with this toolkit and two GPUs.
fn nvidia_runtime_pool(toolkit: &str) -> String {
    format!("launch = \"nvidia-runtime\"\ntoolkit = \"{toolkit}\"\ngpu = {{ name = \"A100\", count = 2 }}")
}

/// Returns pool fields for `docker run --gpus` with this toolkit.
fn gpus_flag_pool(toolkit: &str) -> String {
    format!("launch = \"docker-gpus\"\ntoolkit = \"{toolkit}\"")
}

#[test]
fn older_toolkits_compare_capabilities_as_texts() {
    let (set, text, words) = (gpus_flag_pool("1.14.0"), gpus_flag_pool("1.13.5"), gpus_flag_pool("1.6.0"));
    let wants = |value: &str| format!("NVIDIA_DRIVER_CAPABILITIES = \"{value}\"");
    let blank = wants("compute, utility");
    let (comma, both, with_unknown) = (wants("compute,utility,"), wants("compute,all"), wants("all,foo"));
    expect_step_results(
        StartStep::Capabilities,
        &[
            (&set, &blank, "passes", ""),
            (&set, &comma, "passes", ""),
            (&set, &both, "passes", ""),
            (
                &text,
                &blank,
                "capability",
                "unsupported capabilities found in 'compute, utility' (allowed 'compute,utility')",
            ),
            (
                &gpus_flag_pool("1.7.0"),
                &comma,
                "capability",
                "unsupported capabilities found in 'compute,utility,' (allowed 'compute,utility')",
            ),
            (&text, &both, "capability", "unsupported capabilities found in 'compute,all' (allowed 'compute')"),
            (&text, &wants("foo,compute"), "capability", "found in 'foo,compute' (allowed 'compute')"),
            (&words, &blank, "capability", "unknown driver capability:  utility"),
            (&words, &comma, "passes", ""),
            (&words, &both, "capability", "unknown driver capability: all"),
            (&words, &with_unknown, "capability", "unknown driver capability: all"),
            (&text, &wants("compute,utility"), "passes", ""),
            (&text, &wants("utility,compute"), "passes", ""),
            (&text, &wants("all"), "passes", ""),
            (&words, &wants("all"), "passes", ""),
            (&words, "", "passes", ""),
            (&text, "", "passes", ""),
        ],
    );
}

#[test]
fn each_capability_reading_cites_its_release() {
    let image = image_with_env("NVIDIA_DRIVER_CAPABILITIES = \"compute, utility\"");
    for (toolkit, release) in [("1.17.8", "v1.20.0"), ("1.13.5", "v1.13.5"), ("1.6.0", "v1.6.0")] {
        let hosts = pool_hosts(&gpus_flag_pool(toolkit));
        let component = image.components.first().expect("a component");
        let knowledge = Knowledge::built_in();
        let replay = crate::replay::Replay::new(&image, component, &hosts[0], knowledge);
        let cite = crate::replay::device::capabilities_step(replay).cite;
        assert!(cite.0.contains(release), "{toolkit}: {}", cite.0);
    }
}

#[test]
fn older_toolkits_accept_special_device_names_only_as_the_whole_value() {
    let (list, whole) = (nvidia_runtime_pool("1.12.0"), nvidia_runtime_pool("1.11.0"));
    let asks = |value: &str| format!("NVIDIA_VISIBLE_DEVICES = \"{value}\"");
    expect_step_results(
        StartStep::Devices,
        &[
            (&list, &asks("0,void"), "no-gpu 35", ""),
            (&list, &asks("0,none"), "no-gpu 100", ""),
            (&list, &asks("none,all"), "no-gpu 100", ""),
            (&list, &asks(" all"), "passes", ""),
            (&whole, &asks("0,void"), "device", "nvidia-container-cli: device error: void: unknown device"),
            (&whole, &asks("0,none"), "device", "device error: none: unknown device"),
            (&whole, &asks("none,all"), "device", "device error: none: unknown device"),
            (&whole, &asks(" all"), "device", "device error:  all: unknown device"),
            // The command line takes all from that word on, and looks no further.
            (&whole, &asks("all,void"), "passes", ""),
            (&whole, &asks("0,all"), "passes", ""),
            (&whole, &asks("0, 1"), "passes", ""),
            (&whole, &asks("0, 2"), "device", "unknown device"),
            (&whole, &asks("void"), "no-gpu 35", ""),
            (&whole, &asks("none"), "no-gpu 100", ""),
            (&whole, &asks(","), "no-gpu 100", ""),
            (&whole, &asks("all"), "passes", ""),
            (&whole, "CUDA_VERSION = \"12.4.1\"", "passes", ""),
        ],
    );
}

#[test]
fn old_hook_reads_every_requirement_and_parses_cuda_version_leniently() {
    let (new, old) = (nvidia_runtime_pool("1.10.0"), nvidia_runtime_pool("1.9.0"));
    let all = |more: &str| format!("NVIDIA_VISIBLE_DEVICES = \"all\"\n{more}");
    let jetpack = all("NVIDIA_REQUIRE_JETPACK = \"csv-mounts=all\"");
    let version = |value: &str| format!("CUDA_VERSION = \"{value}\"");
    expect_step_results(
        StartStep::Requirement,
        &[
            (&new, &jetpack, "passes", ""),
            (&old, &jetpack, "malformed-requirement", "invalid expression"),
            (&old, &all("NVIDIA_REQUIRE_JETPACK = \"cuda>=11.0\""), "passes", ""),
            (&old, &all("NVIDIA_DISABLE_REQUIRE = \"1\"\nNVIDIA_REQUIRE_JETPACK = \"csv-mounts=all\""), "n/a", ""),
            (&new, &version("10.02"), "malformed-requirement", "invalid CUDA version"),
            (&old, &version("10.02"), "passes", ""),
            (&old, &version("010.2"), "passes", ""),
            (&old, &version("99.02"), "requirement", "unsatisfied condition: cuda>=99.2"),
            (&old, &version("cu121"), "malformed-requirement", "invalid CUDA version: cu121"),
            (&old, &version("v10.2"), "malformed-requirement", "invalid CUDA version: v10.2"),
            (&old, &version("10.2."), "malformed-requirement", "invalid CUDA version: 10.2."),
            (&old, &version("10.2.89.1"), "malformed-requirement", "invalid CUDA version"),
            (&old, &version("10.2.89"), "passes", ""),
        ],
    );
}

#[test]
fn oldest_hook_fails_on_devices_that_are_not_permitted() {
    let option = "\n[pool.host]\naccept-nvidia-visible-devices-envvar-when-unprivileged = false";
    let (old, new) = (nvidia_runtime_pool("1.4.0") + option, nvidia_runtime_pool("1.4.1") + option);
    let engine = gpus_flag_pool("1.4.0") + option;
    let privileged = nvidia_runtime_pool("1.4.0") + "\nprivileged = true" + option;
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let message = "insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES envvar";
    expect_step_results(
        StartStep::Devices,
        &[
            (&old, all, "device", message),
            (&engine, "", "device", message),
            (&new, all, "no-gpu 35", "the node ignores NVIDIA_VISIBLE_DEVICES"),
            (&old, "", "no-gpu 35", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"void\"", "no-gpu 35", ""),
            (&privileged, all, "passes", ""),
            (&nvidia_runtime_pool("1.4.0"), all, "passes", ""),
        ],
    );
}

#[test]
fn older_toolkits_use_the_last_set_variable() {
    let option = "\n[pool.host]\nswarm-resource = \"DOCKER_RESOURCE_GPU\"";
    let (old, new) = (nvidia_runtime_pool("1.5.0") + option, nvidia_runtime_pool("1.6.0") + option);
    let both = "NVIDIA_VISIBLE_DEVICES = \"void\"\nDOCKER_RESOURCE_GPU = \"0\"";
    expect_step_results(
        StartStep::Devices,
        &[
            (&old, both, "no-gpu 35", ""),
            (&new, both, "passes", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"0\"\nDOCKER_RESOURCE_GPU = \"void\"", "passes", ""),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"0\"\nDOCKER_RESOURCE_GPU = \"void\"", "no-gpu 35", ""),
            (&old, "DOCKER_RESOURCE_GPU = \"0\"", "passes", ""),
            (&(gpus_flag_pool("1.5.0") + option), "DOCKER_RESOURCE_GPU = \"void\"", "passes", ""),
            (&(gpus_flag_pool("1.6.0") + option), "DOCKER_RESOURCE_GPU = \"void\"", "no-gpu 35", ""),
        ],
    );
}

#[test]
fn jit_cdi_accepts_only_full_device_identifiers() {
    let jit = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\ngpu = { name = \"A100\", count = 2 }";
    let legacy = nvidia_runtime_pool("1.17.8");
    let asks = |value: &str| format!("NVIDIA_VISIBLE_DEVICES = \"{value}\"");
    let uuid = "b1028956-cfa2-0990-bf4a-5da9abb51763";
    let refused = [
        "GPU-3",
        "GPU-",
        "gpu-x",
        "MIG-1",
        "mig",
        "MIG-",
        "0:",
        ":0",
        "0:1:2",
        "GPU-b1028956-cfa2-0990-bf4a-5da9abb5176",
        "GPU-b1028956-cfa2-0990-bf4a-5da9abb5176g",
        "gpu-b1028956-cfa2-0990-bf4a-5da9abb51763",
        "MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3",
        "runtime.nvidia.com/gpu=GPU-3",
    ];
    for value in refused {
        expect_step_results(StartStep::Devices, &[(jit, &asks(value), "device", "device")]);
    }
    let open = [
        format!("GPU-{uuid}"),
        format!("MIG-{uuid}"),
        format!("MIG-GPU-{uuid}/3/0"),
        format!("GPU-{}", uuid.replace('-', "")),
        format!("runtime.nvidia.com/gpu=GPU-{uuid}"),
        "0:0".to_owned(),
    ];
    for value in &open {
        expect_step_results(StartStep::Devices, &[(jit, &asks(value), "unknown", "")]);
    }
    // The command line compares in its own way.
    expect_step_results(
        StartStep::Devices,
        &[(&legacy, &asks("GPU-3"), "unknown", ""), (&legacy, &asks("gpu-x"), "unknown", "")],
    );
}

#[test]
fn driver_declared_only_by_cuda_has_no_version_in_texts() {
    let image = image_with_env("");
    // The words of the comment keep the usual driver out.
    let cuda = "launch = \"native\"\ndriver_cuda = \"11.6\" # driver =";
    for host in pool_hosts(cuda) {
        let (result, text) = step_result_and_text(&image, &host, StartStep::Runtime);
        assert_eq!(result, "insufficient-driver 35", "{text}");
        let component = image.components.first().expect("a component");
        let knowledge = Knowledge::built_in();
        let replay = crate::replay::Replay::new(&image, component, &host, knowledge);
        let mut steps = crate::replay::FullRecorder::default();
        let crate::replay::StartupResult::Fails(failure) = crate::replay::replay(replay, &mut steps) else {
            panic!("it fails")
        };
        let message = crate::replay::explanations::failure_message(replay, failure);
        assert!(message.contains("driver for CUDA 11.6") && !message.contains("510"), "{message}");
        let (_, loader) = step_result_and_text(&image, &host, StartStep::Loader);
        assert!(loader.contains("libcuda of the host") && !loader.contains("510"), "{loader}");
    }
    for named in ["driver = \"510.39.01\"", "driver = \"510.39.01\"\ndriver_cuda = \"11.6\""] {
        let hosts = pool_hosts(&format!("launch = \"native\"\n{named}"));
        let (_, loader) = step_result_and_text(&image, &hosts[0], StartStep::Loader);
        assert!(loader.contains("510.39.01"), "{loader}");
    }
}

/// Returns the container toolkits that are assumed on a day if a pool declares none.
fn assumed_toolkits(fields: &str, day: Option<&str>) -> Vec<String> {
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\ngpu = \"RTX 2080 Ti\"\n{fields}"));
    let fleet = fleet::read_fleet(SourceId(0), &text, &|_| GpuNameLookup::Known).expect("good fleet");
    let hosts = fleet.pools[0].hosts(Knowledge::built_in(), day.map(|day| day.parse().expect(day)));
    // Only a declared toolkit can have no driver libraries by default.
    assert!(hosts.iter().all(|host| host.behaviour.default_capabilities.contains("compute")));
    hosts.iter().filter_map(|host| host.toolkit_version).map(|version| version.to_string()).collect()
}

#[test]
fn assumed_toolkits_were_current_on_that_day() {
    let gpus = |driver: &str| format!("launch = \"docker-gpus\"\ndriver = \"{driver}\"\n");
    let (old, new) = (gpus("450.102.04"), gpus("550.54.15"));
    let declared = format!("{old}toolkit = \"1.14.3\"\n");
    for (fields, day, expected) in [
        (&old, "2021-06-29", &["1.3.0", "1.5.1"][..]),
        (&old, "2020-10-01", &["1.3.0"]),
        (&old, "2023-12-13", &["1.3.0", "1.14.3"]),
        // Superseded for more than three years.
        (&old, "2023-12-15", &["1.14.3"]),
        (&new, "2024-06-01", &["1.14.3"]),
        // What is declared is what there is, whatever the day.
        (&declared, "2021-06-29", &["1.14.3"]),
    ] {
        assert_eq!(assumed_toolkits(fields, Some(day)), expected, "{fields} {day}");
    }
    // Without a day the oldest have to be declared.
    let today = assumed_toolkits(&old, None);
    assert!(!today.is_empty() && !today.iter().any(|one| one == "1.3.0"), "{today:?}");
}
