//! Which variables of a base image a lock file keeps: what the start-up and the installs ask for, and no secret.

/// Names, or their beginnings before `*`, each with the reason why its value is kept.
pub const KEPT: &[(&str, &str)] = &[
    ("CONDA_*", "where conda keeps its environments"),
    ("CUDA_*", "the CUDA release, and requirements for the driver"),
    ("CUDNN_*", "the cuDNN release"),
    ("LD_LIBRARY_PATH", "the first search path of the loader"),
    ("LD_PRELOAD", "libraries that the loader loads first"),
    ("NCCL_*", "the NCCL release"),
    ("NVIDIA_*", "requests to the container toolkit: requirements, devices, capabilities"),
    ("NV_*", "the releases of the packages in NVIDIA's images"),
    ("PATH", "which programs commands run"),
    ("PYTHON*", "which Python runs"),
    ("PYTORCH_*", "the torch release of framework images"),
    ("TENSORFLOW_*", "the TensorFlow release of framework images"),
    ("TORCH_CUDA_ARCH_LIST", "the GPU architectures of extensions"),
    ("VIRTUAL_ENV", "where packages are installed"),
    ("_CUDA_COMPAT_*", "the state of the cuda-compat package, as detected by entrypoints"),
];

/// Parts of names that speak of secrets, whatever they begin with.
const SECRET: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// No value that the start-up reads is longer.
const LONGEST: usize = 8192;

/// Whether the value of a variable is kept.
pub(super) fn is_kept(name: &str, value: &str) -> bool {
    let named = |(pattern, _): &(&str, &str)| {
        pattern.strip_suffix('*').map_or(name == *pattern, |beginning| name.starts_with(beginning))
    };
    let upper = name.to_ascii_uppercase();
    KEPT.iter().any(named)
        && !SECRET.iter().any(|part| upper.contains(part))
        && !has_login(value)
        && value.len() <= LONGEST
}

/// Whether an address in the value carries a login: `https://user:password@host`.
fn has_login(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| rest.split(['/', ' ', ',']).next().is_some_and(|host| host.contains('@')))
}
