//! GPU requests of services in compose files.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::compose::scalar_text;
use crate::builds::compose_services::{FileOpener, join_path};
use crate::builds::interpolation::{parse_environment_file, substitute_variables};

/// Driver name of a device, and part of the runtime name.
const NVIDIA_NAME: &str = "nvidia";
/// Variable that requests GPUs under a default runtime of the container toolkit.
const DEVICES_VARIABLE: &str = "NVIDIA_VISIBLE_DEVICES";

/// Whether a service requests GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServiceGpuRequest {
    /// It requests a GPU, or may do so through a variable or a file that was not read.
    Made,
    /// It has no request: under a default runtime that provides GPUs, the image decides.
    Absent,
    /// It disables GPUs that a default runtime would provide.
    Refused,
}

/// The value of `NVIDIA_VISIBLE_DEVICES` that a service sets.
enum DevicesValue {
    /// A known value.
    Known(String),
    /// An unknown value.
    Unknown,
}

impl DevicesValue {
    /// Converts a value; it is unknown if it contains a variable.
    fn from_text(value: Option<String>) -> Self {
        value.filter(|value| !value.contains('$')).map_or(Self::Unknown, Self::Known)
    }
}

/// Returns whether a service of a file in `folder` requests GPUs. Unresolved variables count as a request.
pub(super) fn service_gpu_request(
    service: &Value,
    folder: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> ServiceGpuRequest {
    let reservations = |kind: &str| array_elements(service.pointer(&format!("/deploy/resources/reservations/{kind}")));
    let devices = reservations("devices").any(may_reserve_gpu);
    let resources = reservations("generic_resources").any(|one| {
        let kind = one.pointer("/discrete_resource_spec/kind").and_then(Value::as_str).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        kind.contains("gpu") || may_name_nvidia(&kind)
    });
    let mapped = array_elements(service.get("devices")).any(|one| {
        let source = one.as_str().or_else(|| one.get("source").and_then(Value::as_str));
        source.is_some_and(may_name_nvidia)
    });
    let runtime = service.get("runtime").and_then(Value::as_str).filter(|runtime| !runtime.is_empty());
    if devices || resources || mapped || requests_gpus(service.get("gpus")) || runtime.is_some_and(may_name_nvidia) {
        return ServiceGpuRequest::Made;
    }
    let visible = devices_in_environment(service.get("environment"));
    match visible.or_else(|| devices_in_env_files(service.get("env_file"), folder, variables, open)) {
        _ if runtime.is_some() => ServiceGpuRequest::Refused,
        Some(DevicesValue::Known(value)) if matches!(value.as_str(), "" | "none" | "void") => {
            ServiceGpuRequest::Refused
        }
        Some(_) => ServiceGpuRequest::Made,
        None => ServiceGpuRequest::Absent,
    }
}

/// Returns the elements of an array; none for any other value.
fn array_elements(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a text contains `nvidia` or a variable.
fn may_name_nvidia(text: &str) -> bool {
    text.contains(NVIDIA_NAME) || text.contains('$')
}

/// Whether a reserved device may be an NVIDIA GPU.
fn may_reserve_gpu(device: &Value) -> bool {
    let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
    let texts = |key: &str| array_elements(device.get(key)).filter_map(Value::as_str);
    let capable = texts("capabilities").any(|one| matches!(one, "gpu" | NVIDIA_NAME) || one.contains('$'));
    may_name_nvidia(driver) || texts("device_ids").any(may_name_nvidia) || (capable && driver.is_empty())
}

/// Whether the attribute `gpus` requests a GPU.
fn requests_gpus(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "0"),
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::Array(devices)) => devices.iter().any(|device| {
            let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
            driver.is_empty() || may_name_nvidia(driver)
        }),
        _ => false,
    }
}

/// Returns the value that the attribute `environment` sets.
fn devices_in_environment(written: Option<&Value>) -> Option<DevicesValue> {
    match written? {
        Value::Object(map) => map.get(DEVICES_VARIABLE).map(|value| DevicesValue::from_text(scalar_text(value))),
        Value::Array(items) => {
            let one = |item: &Value| {
                let item = item.as_str()?;
                let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
                (name == DEVICES_VARIABLE).then(|| DevicesValue::from_text(value.map(str::to_owned)))
            };
            items.iter().rev().find_map(one)
        }
        _ => None,
    }
}

/// Returns the value that the last matching file of `env_file` sets; unknown if a required file was not read.
fn devices_in_env_files(
    written: Option<&Value>,
    folder: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Option<DevicesValue> {
    let files = match written? {
        Value::Array(files) => files.clone(),
        one => vec![one.clone()],
    };
    let of_file = |file: &Value| {
        let path = file.as_str().or_else(|| file.get("path").and_then(Value::as_str))?;
        let needed = file.get("required").and_then(Value::as_bool).unwrap_or(true);
        let text = substitute_variables(path, variables).and_then(|path| open(&join_path(folder, &path)));
        match text {
            Some(text) => Some(DevicesValue::from_text(Some(parse_environment_file(&text).remove(DEVICES_VARIABLE)?))),
            None => needed.then_some(DevicesValue::Unknown),
        }
    };
    files.iter().rev().find_map(of_file)
}
