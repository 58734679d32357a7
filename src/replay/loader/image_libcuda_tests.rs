//! What a program gets where the host's libcuda stays outside.

use crate::model::fact::ImageFacts;
use crate::replay::StartStep;
use crate::replay::step_tests::{image_from_description, pool_hosts, step_result_and_text};

/// Pool fields that select the legacy mode.
const LEGACY_POOL: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
/// Pool fields that select the jit-cdi mode.
const JIT_CDI_POOL: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
/// Description lines of the toolkit's stub libcuda with its soname link.
const STUB_FILES: &str = "\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n\
    \"/usr/local/cuda/lib64/stubs/libcuda.so.1\" = { link = \"libcuda.so\" }\n";
/// Description line of a libcuda in the image whose version differs from the host's driver.
const OTHER_DRIVER_FILE: &str = "\"/usr/lib64/libcuda.so.535.54.03\" = {}\n";
/// Description line of a libcuda in the image that has the version of the host's driver.
const HOST_DRIVER_FILE: &str = "\"/usr/lib64/libcuda.so.550.54.15\" = {}\n";

/// Returns a completely described image with these variables and files.
fn complete_image(variables: &str, files: &str) -> ImageFacts {
    image_from_description(&format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{variables}\n\
         [files]\n{files}[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
    ))
}

/// Compares the devices, capabilities and loader steps if the host's libcuda is not mounted, for several images.
#[test]
fn libcuda_of_the_image_is_loaded_if_the_host_mounts_none() {
    let utility = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    let stub = format!("LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"\n{utility}");
    let unset = "LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"";
    let none = "LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"\nNVIDIA_VISIBLE_DEVICES = \"none\"";
    let link_only = "\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n";
    for (variables, files, devices, capabilities, loader) in [
        (utility, "", "passes", "no-gpu 35", "n/a"),
        (utility, OTHER_DRIVER_FILE, "passes", "no-gpu", "passes"),
        (utility, HOST_DRIVER_FILE, "passes", "unknown", "passes"),
        (utility, STUB_FILES, "passes", "no-gpu 35", "n/a"),
        (&stub, STUB_FILES, "passes", "n/a", "stub-library 34"),
        (&stub, link_only, "passes", "no-gpu 35", "n/a"),
        ("", "", "no-gpu 35", "n/a", "n/a"),
        ("", OTHER_DRIVER_FILE, "no-gpu 100", "n/a", "passes"),
        (unset, STUB_FILES, "n/a", "n/a", "stub-library 34"),
        (unset, link_only, "no-gpu 35", "n/a", "n/a"),
        (none, STUB_FILES, "passes", "passes", "stub-library 34"),
        (none, link_only, "no-gpu 100", "passes", "passes"),
    ] {
        let (image, host) = (complete_image(variables, files), &pool_hosts(LEGACY_POOL)[0]);
        let found = [StartStep::Devices, StartStep::Capabilities, StartStep::Loader]
            .map(|one| step_result_and_text(&image, host, one).0);
        assert_eq!(found, [devices, capabilities, loader], "{variables} {files}");
    }
}

/// Outside legacy mode the capabilities variable is not read, and the host's libcuda is mounted.
#[test]
fn other_modes_mount_libcuda_with_any_capabilities() {
    let utility = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    let (image, host) = (complete_image(utility, OTHER_DRIVER_FILE), &pool_hosts(JIT_CDI_POOL)[0]);
    let found = [StartStep::Devices, StartStep::Capabilities, StartStep::Loader]
        .map(|one| step_result_and_text(&image, host, one).0);
    assert_eq!(found, ["passes", "n/a", "passes"]);
}
