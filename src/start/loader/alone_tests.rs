//! What a program gets where the host's libcuda stays outside.

use crate::fact::ImageFacts;
use crate::start::Step;
use crate::start::step_tests::hosts;
use crate::start::step_tests::image;
use crate::start::step_tests::step;

const LEGACY: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
const JIT: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"";
const STUB: &str = "\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n\
    \"/usr/local/cuda/lib64/stubs/libcuda.so.1\" = { link = \"libcuda.so\" }\n";
const BAKED: &str = "\"/usr/lib64/libcuda.so.535.54.03\" = {}\n";
const OWN: &str = "\"/usr/lib64/libcuda.so.550.54.15\" = {}\n";

/// An image of which everything is known, with these variables and files.
fn holding(variables: &str, files: &str) -> ImageFacts {
    image(&format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{variables}\n\
         [files]\n{files}[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
    ))
}

/// What two steps find where the host's libcuda stays outside, and what is in the image.
#[test]
fn a_libcuda_of_the_image_answers_where_none_is_put_in() {
    let utility = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    let stub = format!("LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"\n{utility}");
    let unset = "LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"";
    let none = "LD_LIBRARY_PATH = \"/usr/local/cuda/lib64/stubs\"\nNVIDIA_VISIBLE_DEVICES = \"none\"";
    let link_only = "\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n";
    for (variables, files, devices, capabilities, loader) in [
        (utility, "", "passes", "no-gpu 35", "n/a"),
        (utility, BAKED, "passes", "no-gpu", "passes"),
        (utility, OWN, "passes", "unknown", "passes"),
        (utility, STUB, "passes", "no-gpu 35", "n/a"),
        (&stub, STUB, "passes", "n/a", "stub-library 34"),
        (&stub, link_only, "passes", "no-gpu 35", "n/a"),
        ("", "", "no-gpu 35", "n/a", "n/a"),
        ("", BAKED, "no-gpu 100", "n/a", "passes"),
        (unset, STUB, "n/a", "n/a", "stub-library 34"),
        (unset, link_only, "no-gpu 35", "n/a", "n/a"),
        (none, STUB, "passes", "passes", "stub-library 34"),
        (none, link_only, "no-gpu 100", "passes", "passes"),
    ] {
        let (image, host) = (holding(variables, files), &hosts(LEGACY)[0]);
        let found = [Step::Devices, Step::Capabilities, Step::Loader].map(|one| step(&image, host, one).0);
        assert_eq!(found, [devices, capabilities, loader], "{variables} {files}");
    }
}

/// Nobody asks the variable outside of legacy mode: the host's libcuda is there.
#[test]
fn other_modes_bring_libcuda_whatever_is_asked() {
    let utility = "NVIDIA_VISIBLE_DEVICES = \"all\"\nNVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    let (image, host) = (holding(utility, BAKED), &hosts(JIT)[0]);
    let found = [Step::Devices, Step::Capabilities, Step::Loader].map(|one| step(&image, host, one).0);
    assert_eq!(found, ["passes", "n/a", "passes"]);
}
