//! One input for every cause, and similar inputs that start or fail for another cause.

use super::*;
use crate::knowledge::Knowledge;
use crate::model::outcome::FailureCause;
use crate::replay::explanations::failure_message;
use crate::replay::platform::host_in_selected_mode;
use crate::replay::step_tests::{image_from_description, pool_hosts};
use crate::replay::{DiscardingRecorder, StartupResult, replay};

/// Returns the outcome, the cause and the message on the only host of a pool.
fn outcome_and_cause(fields: &str, description: &str) -> (String, Option<FailureCause>, String) {
    let image = image_from_description(description);
    let hosts = pool_hosts(fields);
    let [host] = hosts.as_slice() else { panic!("{fields}: {} hosts", hosts.len()) };
    let component = image.components.first().expect("a component");
    let here = Replay::new(&image, component, host_in_selected_mode(&image, host), Knowledge::built_in());
    match replay(here, &mut DiscardingRecorder) {
        StartupResult::Fails(failure) => {
            (failure.outcome().name().to_owned(), failure_cause(here, failure), failure_message(here, failure))
        }
        StartupResult::Starts(_) => ("starts".to_owned(), None, String::new()),
        StartupResult::Undetermined => ("undetermined".to_owned(), None, String::new()),
    }
}

/// Pool fields for a node with the NVIDIA container runtime.
const RUNTIME: &str = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\ngpu = { name = \"A100\", count = 2 }\n";
/// Pool fields for a node where containers start with `docker run --gpus`.
const GPUS: &str = "launch = \"docker-gpus\"\nengine = \"docker 27\"\ntoolkit = \"1.17.8\"\n";
/// Image variable that requests all GPUs.
const ALL: &str = "NVIDIA_VISIBLE_DEVICES = \"all\"\n";

/// Describes an image whose facts are all known, with these variables and files.
fn complete_image(variables: &str, files: &str) -> String {
    format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{variables}\n\
         [files]\n\"/etc/debian_version\" = {{}}\n{files}\n[[gpu_code]]\nsass = [\"sm_80\"]\nptx = []\n"
    )
}

/// Pool fields, variables, files, and the expected outcome, cause and part of the message.
type CauseCase<'a> = (&'a str, &'a str, &'a str, &'a str, Option<FailureCause>, &'a str);

/// Asserts the outcome, cause and message of each case.
fn assert_causes(rows: &[CauseCase<'_>]) {
    for (fields, variables, files, outcome, cause, expected_text) in rows {
        let (found, by, message) = outcome_and_cause(fields, &complete_image(variables, files));
        assert_eq!((found.as_str(), by), (*outcome, *cause), "{fields}\n{variables}\n{files}\n{message}");
        assert!(message.contains(expected_text), "{expected_text}: {message}");
    }
}

#[test]
fn a_container_without_gpu_reports_its_cause() {
    let host = |option: &str| format!("{RUNTIME}[pool.host]\n{option}\n");
    let unread = host("accept-nvidia-visible-devices-envvar-when-unprivileged = false");
    let privileged = format!("privileged = true\n{unread}");
    let none = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\ngpu = { name = \"A100\", count = 0 }";
    let kubernetes = |more: &str| format!("launch = \"kubernetes\"\ntoolkit = \"1.17.8\"\n{more}\n");
    let runc = kubernetes("runtime = \"runc\"\ndevice_list_strategy = \"envvar\"");
    let mounts = kubernetes(
        "runtime = \"nvidia\"\ndevice_list_strategy = \"volume-mounts\"\n[pool.host]\naccept-nvidia-visible-devices-as-volume-mounts = false\naccept-nvidia-visible-devices-envvar-when-unprivileged = false",
    );
    let gke = "launch = \"gke\"\n";
    let path = "LD_LIBRARY_PATH = \"/usr/local/nvidia/lib64\"\n";
    assert_causes(&[
        (RUNTIME, "", "", "no-gpu", None, "NVIDIA_VISIBLE_DEVICES is not set"),
        (
            RUNTIME,
            "NVIDIA_VISIBLE_DEVICES = \"void\"",
            "",
            "no-gpu",
            Some(FailureCause::VariableRequestsNone),
            "is `void`",
        ),
        (RUNTIME, "NVIDIA_VISIBLE_DEVICES = \"\"", "", "no-gpu", Some(FailureCause::VariableRequestsNone), "is ``"),
        (RUNTIME, "NVIDIA_VISIBLE_DEVICES = \"none\"", "", "no-gpu", Some(FailureCause::DriverOnly), "is `none`"),
        (RUNTIME, ALL, "", "starts", None, ""),
        (GPUS, "NVIDIA_VISIBLE_DEVICES = \"void\"", "", "starts", None, ""),
        (none, ALL, "", "no-gpu", Some(FailureCause::LaunchRequestsNone), "the launch requests none"),
        (
            &runc,
            ALL,
            "",
            "no-gpu",
            Some(FailureCause::PlainRuntime),
            "only the NVIDIA runtime reads NVIDIA_VISIBLE_DEVICES",
        ),
        (&kubernetes("runtime = \"nvidia\"\ndevice_list_strategy = \"envvar\""), ALL, "", "starts", None, ""),
        (
            &unread,
            ALL,
            "",
            "no-gpu",
            Some(FailureCause::VariableIgnored),
            "the node ignores NVIDIA_VISIBLE_DEVICES in an unprivileged container",
        ),
        (
            &unread,
            "NVIDIA_VISIBLE_DEVICES = \"void\"",
            "",
            "no-gpu",
            Some(FailureCause::VariableRequestsNone),
            "is `void`",
        ),
        (&privileged, ALL, "", "starts", None, ""),
        (&mounts, ALL, "", "no-gpu", Some(FailureCause::MountsIgnored), "device lists given as volume mounts"),
        (
            RUNTIME,
            &format!("{ALL}CUDA_VISIBLE_DEVICES = \"-1\""),
            "",
            "no-gpu",
            Some(FailureCause::Hidden),
            "CUDA_VISIBLE_DEVICES=`-1` hides all GPUs",
        ),
        (RUNTIME, &format!("{ALL}CUDA_VISIBLE_DEVICES = \"1\""), "", "starts", None, ""),
        (
            RUNTIME,
            &format!("{ALL}NVIDIA_DRIVER_CAPABILITIES = \"utility\""),
            "",
            "no-gpu",
            Some(FailureCause::WithoutCompute),
            "lacks compute",
        ),
        (RUNTIME, &format!("{ALL}NVIDIA_DRIVER_CAPABILITIES = \"video\""), "", "starts", None, ""),
        (gke, "", "", "no-gpu", Some(FailureCause::DriverElsewhere), "/usr/local/nvidia/lib64"),
        (gke, path, "", "starts", None, ""),
    ]);
}

#[test]
fn a_refused_container_reports_its_cause() {
    let host = |option: &str| format!("{RUNTIME}[pool.host]\n{option}\n");
    let old = RUNTIME.replace("1.17.8", "1.4.0");
    let forbidden = format!("{old}[pool.host]\naccept-nvidia-visible-devices-envvar-when-unprivileged = false\n");
    let jit = RUNTIME.replace("1.17.8", "1.18.2");
    let mounts = "launch = \"kubernetes\"\nruntime = \"nvidia\"\ntoolkit = \"1.17.8\"\ndevice_list_strategy = \"volume-mounts\"\n[pool.host]\naccept-nvidia-visible-devices-as-volume-mounts = false\n";
    let wsl = format!("{GPUS}wsl = true\n");
    let modeset = |node: bool| format!("{}modeset = {node}\n", GPUS.replace("1.17.8", "1.14.3"));
    let jetson = "gpu = { name = \"Jetson AGX Orin\", count = 1 }\ndriver = \"540.4.0\"\nplatform = \"linux/amd64\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\nmode = \"csv\"\n";
    let with = |more: &str| format!("{ALL}{more}");
    let link = "\"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1\" = { link = \"libnvidia-ml.so.535.54.03\" }\n\"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.54.03\" = {}";
    let together = "\"/usr/local/cuda/compat/libcuda.so.575.57.08\" = {}";
    let scattered = format!(
        "{together}\n\"/usr/local/cuda/compat/libcuda.so.575.51.03\" = {{ link = \"/opt/c/libcuda.so.575.51.03\" }}\n\
         \"/opt/c/libcuda.so.575.51.03\" = {{}}"
    );
    let firmware = |version: &str| format!("\"/usr/lib/firmware/nvidia/{version}\" = {{}}");
    assert_causes(&[
        (GPUS, &with("NVIDIA_REQUIRE_CUDA = \"cuda>=13.0\""), "", "refused", None, "cuda>=13.0"),
        (GPUS, &with("NVIDIA_REQUIRE_CUDA = \"cuda>=12.4\""), "", "starts", None, ""),
        (
            GPUS,
            &with("NVIDIA_REQUIRE_CUDA = \"cuda>>12\""),
            "",
            "refused",
            Some(FailureCause::MalformedRequirement),
            "",
        ),
        (
            GPUS,
            &with("NVIDIA_DRIVER_CAPABILITIES = \"compute,foo\""),
            "",
            "refused",
            Some(FailureCause::Capability),
            "foo",
        ),
        (
            &host("supported-driver-capabilities = \"utility\""),
            &with("NVIDIA_DRIVER_CAPABILITIES = \"compute\""),
            "",
            "refused",
            Some(FailureCause::Capability),
            "",
        ),
        (RUNTIME, "NVIDIA_VISIBLE_DEVICES = \"2\"", "", "refused", Some(FailureCause::MissingDevice), "unknown device"),
        (RUNTIME, "NVIDIA_VISIBLE_DEVICES = \"1\"", "", "starts", None, ""),
        (&jit, "NVIDIA_VISIBLE_DEVICES = \"0,nvidia.com/gpu=1\"", "", "refused", Some(FailureCause::MixedDevices), ""),
        (mounts, ALL, "", "refused", Some(FailureCause::MountsRefused), "nvidia-container-devices"),
        (&forbidden, ALL, "", "refused", Some(FailureCause::VariableForbidden), "insufficient privileges"),
        (
            GPUS,
            &with("NVIDIA_MIG_CONFIG_DEVICES = \"all\""),
            "",
            "refused",
            Some(FailureCause::MigVariable),
            "MIG_CONFIG_DEVICES",
        ),
        (&format!("privileged = true\n{GPUS}"), &with("NVIDIA_MIG_CONFIG_DEVICES = \"all\""), "", "starts", None, ""),
        (&wsl, ALL, link, "refused", Some(FailureCause::DriverLink), "libnvidia-ml.so.1"),
        (GPUS, ALL, &firmware("550.54.15"), "refused", Some(FailureCause::Firmware), "550.54.15"),
        (GPUS, ALL, &firmware("535.54.03"), "starts", None, ""),
        (
            &modeset(false),
            &with("NVIDIA_DRIVER_CAPABILITIES = \"compute,display\""),
            "",
            "refused",
            Some(FailureCause::NoModeset),
            "nvidia-modeset",
        ),
        (&modeset(true), &with("NVIDIA_DRIVER_CAPABILITIES = \"compute,display\""), "", "starts", None, ""),
        (GPUS, ALL, &scattered, "refused", Some(FailureCause::CompatScattered), "several directories"),
        (GPUS, ALL, together, "starts", None, ""),
        (jetson, ALL, "", "refused", Some(FailureCause::Hook), "invoking the NVIDIA Container Runtime Hook"),
    ]);
}

#[test]
fn an_unsupported_gpu_reports_which_library_lacks_it() {
    let pool = |driver: &str| {
        format!("launch = \"docker-gpus\"\ntoolkit = \"1.14.3\"\ngpu = \"Tesla K80\"\ndriver = \"{driver}\"\n")
    };
    let newer = "\"/usr/local/cuda/compat/libcuda.so.545.23.06\" = {}";
    for (driver, files, cause) in [
        ("470.82.01", newer, Some(FailureCause::LibraryUnaware)),
        // Neither knows it.
        ("535.54.03", newer, None),
        ("535.54.03", "", None),
    ] {
        let (outcome, by, message) = outcome_and_cause(&pool(driver), &complete_image(ALL, files));
        assert_eq!((outcome.as_str(), by), ("gpu-unsupported", cause), "{driver} {files}: {message}");
    }
}
