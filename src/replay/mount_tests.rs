//! What keeps files and devices from being mounted, by launch, configuration and files of the image.

use crate::replay::StartStep;
use crate::replay::step_tests::{expect_step_results, image_from_description, pool_hosts, step_result_and_text};

/// Pool fields that select the jit-cdi mode.
const JIT_CDI_POOL: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
/// Pool fields for containers started with `docker run --gpus`.
const GPUS_FLAG_POOL: &str = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";

#[test]
fn missing_modeset_device_stops_the_mount() {
    let headless = format!("{GPUS_FLAG_POOL}\nmodeset = false");
    let all = "NVIDIA_DRIVER_CAPABILITIES = \"all\"";
    expect_step_results(
        StartStep::Mounts,
        &[
            (&headless, all, "mount", "mount error: stat failed: /dev/nvidia-modeset"),
            (&headless, "", "n/a", ""),
            (&headless, "NVIDIA_DRIVER_CAPABILITIES = \"compute,graphics\"", "n/a", ""),
            (GPUS_FLAG_POOL, all, "n/a", ""),
            (&format!("{GPUS_FLAG_POOL}\nmodeset = true"), all, "n/a", ""),
            (&format!("{JIT_CDI_POOL}\nmodeset = false"), all, "n/a", ""),
            (
                &GPUS_FLAG_POOL.replace("docker-gpus", "enroot"),
                &format!("NVIDIA_VISIBLE_DEVICES = \"all\"\n{all}"),
                "not seen",
                "modeset",
            ),
            (&format!("{GPUS_FLAG_POOL}\n[pool.host]\nnvidia-container-cli.load-kmods = false"), all, "not seen", ""),
            (&format!("{GPUS_FLAG_POOL}\n[pool.host]\nnvidia-container-cli.load-kmods = true"), all, "n/a", ""),
            (&headless.replace("1.17.8", "1.20.0"), all, "mount", "stat failed"),
            (&headless.replace("1.17.8", "1.20.1"), all, "n/a", ""),
        ],
    );
}

#[test]
fn compat_libraries_in_several_directories_stop_the_mount() {
    let with = |env: &str, files: &str| {
        image_from_description(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [files]\n{files}\n[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ))
    };
    let own = "\"/usr/local/cuda/compat/libcuda.so.575.57.08\" = {}";
    let link = "\"/usr/local/cuda/compat/libcuda.so.575.51.03\" = { link = \"/opt/c/libcuda.so.575.51.03\" }\n\
        \"/opt/c/libcuda.so.575.51.03\" = {}";
    let both = format!("{own}\n{link}");
    let older = both.replace("575.5", "470.5");
    let (pool, mount) = (GPUS_FLAG_POOL, &GPUS_FLAG_POOL.replace("1.17.8", "1.17.3"));
    for (env, files, fields, expected) in [
        ("", both.as_str(), pool, "mount"),
        ("NVIDIA_DRIVER_CAPABILITIES = \"utility\"", &both, pool, "n/a"),
        ("", own, pool, "n/a"),
        ("", link, pool, "n/a"),
        ("", &older, pool, "n/a"),
        ("", &both, mount, "n/a"),
        ("", &both, JIT_CDI_POOL, "n/a"),
    ] {
        for host in pool_hosts(fields) {
            let (found, text) = step_result_and_text(&with(env, files), &host, StartStep::Mounts);
            assert_eq!(found, expected, "{env} {files} {text}");
        }
    }
}

#[test]
fn file_at_the_firmware_directory_stops_the_mount() {
    let with = |files: &str| {
        image_from_description(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[files]\n{files}\n\
             [[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
        ))
    };
    for (files, fields, expected) in [
        ("\"/lib/firmware/nvidia/550.54.15\" = {}", GPUS_FLAG_POOL, "mount"),
        ("\"/lib/firmware/nvidia/550.54.15\" = { link = \"/../../tmp\" }", GPUS_FLAG_POOL, "outside"),
        ("\"/lib/firmware/nvidia/550.54.15\" = { link = \"/opt/firmware\" }", GPUS_FLAG_POOL, "n/a"),
        (
            "\"/lib/firmware/nvidia/550.54.15\" = { link = \"/opt/firmware\" }\n\"/opt/firmware\" = {}",
            GPUS_FLAG_POOL,
            "mount",
        ),
        ("\"/lib/firmware/nvidia/550.54.14\" = {}", GPUS_FLAG_POOL, "n/a"),
        ("\"/lib/firmware/nvidia/550.54.15/gsp_ga10x.bin\" = {}", GPUS_FLAG_POOL, "n/a"),
        ("\"/lib/firmware/nvidia/550.54.15\" = {}", JIT_CDI_POOL, "n/a"),
    ] {
        for host in pool_hosts(fields) {
            let (found, text) = step_result_and_text(&with(files), &host, StartStep::Mounts);
            assert_eq!(found, expected.replace("outside", "mount"), "{files} {text}");
            let path = "path error: .../lib/firmware/nvidia/550.54.15";
            assert_eq!(text.contains(&format!("{path}/gsp_")), expected == "mount", "{text}");
            assert_eq!(text.contains(&format!("{path} resolves outside")), expected == "outside", "{text}");
        }
    }
}
