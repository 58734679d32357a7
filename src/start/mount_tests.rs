//! What keeps files and devices from being mounted, by launch, configuration and files of the image.

use crate::start::Step;
use crate::start::step_tests::expect;
use crate::start::step_tests::hosts;
use crate::start::step_tests::image;
use crate::start::step_tests::step;

const JIT: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
const GPUS: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";

#[test]
fn files_and_devices_in_the_way() {
    let headless = format!("{GPUS}\nmodeset = false");
    let all = "NVIDIA_DRIVER_CAPABILITIES = \"all\"";
    expect(
        Step::Mounts,
        &[
            (&headless, all, "mount", "mount error: stat failed: /dev/nvidia-modeset"),
            (&headless, "", "n/a", ""),
            (&headless, "NVIDIA_DRIVER_CAPABILITIES = \"compute,graphics\"", "n/a", ""),
            (GPUS, all, "n/a", ""),
            (&format!("{GPUS}\nmodeset = true"), all, "n/a", ""),
            (&format!("{JIT}\nmodeset = false"), all, "n/a", ""),
            (
                &GPUS.replace("docker-gpus", "enroot"),
                &format!("NVIDIA_VISIBLE_DEVICES = \"all\"\n{all}"),
                "not seen",
                "modeset",
            ),
            (&format!("{GPUS}\n[pool.host]\nnvidia-container-cli.load-kmods = false"), all, "not seen", ""),
            (&format!("{GPUS}\n[pool.host]\nnvidia-container-cli.load-kmods = true"), all, "n/a", ""),
            (&headless.replace("1.17.8", "1.20.0"), all, "mount", "stat failed"),
            (&headless.replace("1.17.8", "1.20.1"), all, "n/a", ""),
        ],
    );
}

#[test]
fn compat_libraries_lie_in_one_directory() {
    let with = |env: &str, files: &str| {
        image(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [files]\n{files}\n[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ))
    };
    let own = "\"/usr/local/cuda/compat/libcuda.so.575.57.08\" = {}";
    let link = "\"/usr/local/cuda/compat/libcuda.so.575.51.03\" = { link = \"/opt/c/libcuda.so.575.51.03\" }\n\
        \"/opt/c/libcuda.so.575.51.03\" = {}";
    let both = format!("{own}\n{link}");
    let older = both.replace("575.5", "470.5");
    let (pool, mount) = (GPUS, &GPUS.replace("1.17.8", "1.17.3"));
    for (env, files, fields, expected) in [
        ("", both.as_str(), pool, "mount"),
        ("NVIDIA_DRIVER_CAPABILITIES = \"utility\"", &both, pool, "n/a"),
        ("", own, pool, "n/a"),
        ("", link, pool, "n/a"),
        ("", &older, pool, "n/a"),
        ("", &both, mount, "n/a"),
        ("", &both, JIT, "n/a"),
    ] {
        for host in hosts(fields) {
            let (found, said) = step(&with(env, files), &host, Step::Mounts);
            assert_eq!(found, expected, "{env} {files} {said}");
        }
    }
}

#[test]
fn firmware_goes_into_a_directory() {
    let with = |files: &str| {
        image(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[files]\n{files}\n\
             [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ))
    };
    for (files, fields, expected) in [
        ("\"/lib/firmware/nvidia/550.54.15\" = {}", GPUS, "mount"),
        ("\"/lib/firmware/nvidia/550.54.15\" = { link = \"/../../tmp\" }", GPUS, "outside"),
        ("\"/lib/firmware/nvidia/550.54.15\" = { link = \"/opt/firmware\" }", GPUS, "n/a"),
        ("\"/lib/firmware/nvidia/550.54.15\" = { link = \"/opt/firmware\" }\n\"/opt/firmware\" = {}", GPUS, "mount"),
        ("\"/lib/firmware/nvidia/550.54.14\" = {}", GPUS, "n/a"),
        ("\"/lib/firmware/nvidia/550.54.15/gsp_ga10x.bin\" = {}", GPUS, "n/a"),
        ("\"/lib/firmware/nvidia/550.54.15\" = {}", JIT, "n/a"),
    ] {
        for host in hosts(fields) {
            let (found, said) = step(&with(files), &host, Step::Mounts);
            assert_eq!(found, expected.replace("outside", "mount"), "{files} {said}");
            let path = "path error: .../lib/firmware/nvidia/550.54.15";
            assert_eq!(said.contains(&format!("{path}/gsp_")), expected == "mount", "{said}");
            assert_eq!(said.contains(&format!("{path} resolves outside")), expected == "outside", "{said}");
        }
    }
}
