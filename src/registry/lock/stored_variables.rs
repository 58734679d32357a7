//! Which environment variables of a base image the lock file stores: those that affect start-up or installs, and no
//! secrets.

/// Names of the stored variables, or prefixes that end in `*`, each with the reason for storing them.
pub const STORED_VARIABLES: &[(&str, &str)] = &[
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

/// Parts of variable names that indicate a secret.
const SECRET_NAME_PARTS: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// Maximum length in bytes of a stored value.
const MAX_VALUE_BYTES: usize = 8192;

/// Whether the lock file stores the value of a variable.
pub(super) fn is_stored(name: &str, value: &str) -> bool {
    let named = |(pattern, _): &(&str, &str)| {
        pattern.strip_suffix('*').map_or(name == *pattern, |beginning| name.starts_with(beginning))
    };
    let upper = name.to_ascii_uppercase();
    STORED_VARIABLES.iter().any(named)
        && !SECRET_NAME_PARTS.iter().any(|part| upper.contains(part))
        && !has_url_credentials(value)
        && value.len() <= MAX_VALUE_BYTES
}

/// Whether a URL in the value has credentials, as in `https://user:password@host`.
fn has_url_credentials(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| rest.split(['/', ' ', ',']).next().is_some_and(|host| host.contains('@')))
}
