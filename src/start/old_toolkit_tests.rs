//! Steps as older container toolkits took them.

use crate::fleet;
use crate::fleet::GpuName;
use crate::knowledge::Knowledge;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::start::Step;
use crate::start::step_tests::expect;
use crate::start::step_tests::hosts;
use crate::start::step_tests::step;
use crate::start::step_tests::with_env;

fn runtime(toolkit: &str) -> String {
    format!("launch = \"nvidia-runtime\"\ntoolkit = \"{toolkit}\"\ngpu = {{ name = \"A100\", count = 2 }}")
}

fn gpus(toolkit: &str) -> String {
    format!("launch = \"docker-gpus\"\ntoolkit = \"{toolkit}\"")
}

#[test]
fn capabilities_are_compared_as_texts_before_they_are_sets() {
    let (set, text, words) = (gpus("1.14.0"), gpus("1.13.5"), gpus("1.6.0"));
    let wants = |value: &str| format!("NVIDIA_DRIVER_CAPABILITIES = \"{value}\"");
    let blank = wants("compute, utility");
    let (comma, both, alone) = (wants("compute,utility,"), wants("compute,all"), wants("all,foo"));
    expect(
        Step::Capabilities,
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
                &gpus("1.7.0"),
                &comma,
                "capability",
                "unsupported capabilities found in 'compute,utility,' (allowed 'compute,utility')",
            ),
            (&text, &both, "capability", "unsupported capabilities found in 'compute,all' (allowed 'compute')"),
            (&text, &wants("foo,compute"), "capability", "found in 'foo,compute' (allowed 'compute')"),
            (&words, &blank, "capability", "unknown driver capability:  utility"),
            (&words, &comma, "passes", ""),
            (&words, &both, "capability", "unknown driver capability: all"),
            (&words, &alone, "capability", "unknown driver capability: all"),
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
fn each_reading_names_its_release() {
    let image = with_env("NVIDIA_DRIVER_CAPABILITIES = \"compute, utility\"");
    for (toolkit, release) in [("1.17.8", "v1.20.0"), ("1.13.5", "v1.13.5"), ("1.6.0", "v1.6.0")] {
        let hosts = hosts(&gpus(toolkit));
        let component = image.components.first().expect("a component");
        let knowledge = Knowledge::built_in();
        let replay = crate::start::Replay::of(&image, component, &hosts[0], knowledge);
        let cite = crate::start::device::capabilities(replay).cite;
        assert!(cite.0.contains(release), "{toolkit}: {}", cite.0);
    }
}

#[test]
fn words_for_devices_are_the_whole_value_before_they_are_part_of_a_list() {
    let (list, whole) = (runtime("1.12.0"), runtime("1.11.0"));
    let asks = |value: &str| format!("NVIDIA_VISIBLE_DEVICES = \"{value}\"");
    expect(
        Step::Devices,
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
fn the_old_hook_reads_every_requirement_and_scans_the_version() {
    let (new, old) = (runtime("1.10.0"), runtime("1.9.0"));
    let all = |more: &str| format!("NVIDIA_VISIBLE_DEVICES = \"all\"\n{more}");
    let jetpack = all("NVIDIA_REQUIRE_JETPACK = \"csv-mounts=all\"");
    let version = |value: &str| format!("CUDA_VERSION = \"{value}\"");
    expect(
        Step::Requirement,
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
fn devices_that_may_not_be_asked_for_end_the_oldest_hook() {
    let option = "\n[pool.host]\naccept-nvidia-visible-devices-envvar-when-unprivileged = false";
    let (old, new) = (runtime("1.4.0") + option, runtime("1.4.1") + option);
    let engine = gpus("1.4.0") + option;
    let privileged = runtime("1.4.0") + "\nprivileged = true" + option;
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let said = "insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES envvar";
    expect(
        Step::Devices,
        &[
            (&old, all, "device", said),
            (&engine, "", "device", said),
            (&new, all, "no-gpu 35", "the node ignores NVIDIA_VISIBLE_DEVICES"),
            (&old, "", "no-gpu 35", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"void\"", "no-gpu 35", ""),
            (&privileged, all, "passes", ""),
            (&runtime("1.4.0"), all, "passes", ""),
        ],
    );
}

#[test]
fn the_last_variable_that_is_set_counts_before_the_first_does() {
    let option = "\n[pool.host]\nswarm-resource = \"DOCKER_RESOURCE_GPU\"";
    let (old, new) = (runtime("1.5.0") + option, runtime("1.6.0") + option);
    let both = "NVIDIA_VISIBLE_DEVICES = \"void\"\nDOCKER_RESOURCE_GPU = \"0\"";
    expect(
        Step::Devices,
        &[
            (&old, both, "no-gpu 35", ""),
            (&new, both, "passes", ""),
            (&old, "NVIDIA_VISIBLE_DEVICES = \"0\"\nDOCKER_RESOURCE_GPU = \"void\"", "passes", ""),
            (&new, "NVIDIA_VISIBLE_DEVICES = \"0\"\nDOCKER_RESOURCE_GPU = \"void\"", "no-gpu 35", ""),
            (&old, "DOCKER_RESOURCE_GPU = \"0\"", "passes", ""),
            (&(gpus("1.5.0") + option), "DOCKER_RESOURCE_GPU = \"void\"", "passes", ""),
            (&(gpus("1.6.0") + option), "DOCKER_RESOURCE_GPU = \"void\"", "no-gpu 35", ""),
        ],
    );
}

#[test]
fn jit_cdi_takes_whole_identifiers() {
    let jit = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\ngpu = { name = \"A100\", count = 2 }";
    let legacy = runtime("1.17.8");
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
        expect(Step::Devices, &[(jit, &asks(value), "device", "device")]);
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
        expect(Step::Devices, &[(jit, &asks(value), "unknown", "")]);
    }
    // The command line compares in its own way.
    expect(Step::Devices, &[(&legacy, &asks("GPU-3"), "unknown", ""), (&legacy, &asks("gpu-x"), "unknown", "")]);
}

#[test]
fn a_driver_that_is_declared_by_its_cuda_alone_has_no_number() {
    let image = with_env("");
    // The words of the comment keep the usual driver out.
    let cuda = "launch = \"native\"\ndriver_cuda = \"11.6\" # driver =";
    for host in hosts(cuda) {
        let (result, said) = step(&image, &host, Step::Runtime);
        assert_eq!(result, "insufficient-driver 35", "{said}");
        let component = image.components.first().expect("a component");
        let knowledge = Knowledge::built_in();
        let replay = crate::start::Replay::of(&image, component, &host, knowledge);
        let mut steps = crate::start::Steps::default();
        let crate::start::Fate::Fails(wall) = crate::start::replay(replay, &mut steps) else { panic!("it fails") };
        let said = crate::start::words::message(replay, wall);
        assert!(said.contains("driver for CUDA 11.6") && !said.contains("510"), "{said}");
        let (_, loader) = step(&image, &host, Step::Loader);
        assert!(loader.contains("libcuda of the host") && !loader.contains("510"), "{loader}");
    }
    for named in ["driver = \"510.39.01\"", "driver = \"510.39.01\"\ndriver_cuda = \"11.6\""] {
        let hosts = hosts(&format!("launch = \"native\"\n{named}"));
        let (_, loader) = step(&image, &hosts[0], Step::Loader);
        assert!(loader.contains("510.39.01"), "{loader}");
    }
}

/// The container toolkits that are tried on a day where a pool says nothing of its own.
fn tried(fields: &str, day: Option<&str>) -> Vec<String> {
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\ngpu = \"RTX 2080 Ti\"\n{fields}"));
    let fleet = fleet::read(SourceId(0), &text, &|_| GpuName::Known).expect("good fleet");
    let hosts = fleet.pools[0].hosts(Knowledge::built_in(), day.map(|day| day.parse().expect(day)));
    // That a container has no driver unless it asks for one is said of a declared toolkit alone.
    assert!(hosts.iter().all(|host| host.behaviour.default_capabilities.has("compute")));
    hosts.iter().filter_map(|host| host.toolkit_version).map(|version| version.to_string()).collect()
}

#[test]
fn toolkits_of_a_day_are_those_that_were_there() {
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
        assert_eq!(tried(fields, Some(day)), expected, "{fields} {day}");
    }
    // Without a day the oldest have to be declared.
    let today = tried(&old, None);
    assert!(!today.is_empty() && !today.iter().any(|one| one == "1.3.0"), "{today:?}");
}
