//! Whether a service of a compose file requests a GPU.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::compose::scalar;
use crate::builds::extends::Opens;
use crate::builds::extends::below;
use crate::builds::interpolate::environment_file;
use crate::builds::interpolate::interpolate;

/// The driver of a device, and a part of the name of the runtime.
const NVIDIA: &str = "nvidia";
/// Under a default runtime of the container toolkit, this variable is the request.
const DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";

/// What a service says of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// It requests one, or a variable or a file that was not read may.
    Made,
    /// It says nothing: under a default runtime that gives GPUs, the image decides.
    Absent,
    /// It refuses what a default runtime would give.
    Refused,
}

/// The value that a service gives the variable.
enum Devices {
    /// This one.
    Known(String),
    /// One that nobody knows.
    Unknown,
}

impl Devices {
    /// A value; nobody knows it where a variable stands in it.
    fn of(value: Option<String>) -> Self {
        value.filter(|value| !value.contains('$')).map_or(Self::Unknown, Self::Known)
    }
}

/// What a service, of a file in `folder`, says of GPUs. What follows from variables counts as a request.
pub(super) fn request(service: &Value, folder: &str, variables: &BTreeMap<String, String>, open: Opens<'_>) -> Request {
    let reservations = |kind: &str| list(service.pointer(&format!("/deploy/resources/reservations/{kind}")));
    let devices = reservations("devices").any(is_gpu);
    let resources = reservations("generic_resources").any(|one| {
        let kind = one.pointer("/discrete_resource_spec/kind").and_then(Value::as_str).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        kind.contains("gpu") || is_nvidia(&kind)
    });
    let mapped = list(service.get("devices")).any(|one| {
        let source = one.as_str().or_else(|| one.get("source").and_then(Value::as_str));
        source.is_some_and(is_nvidia)
    });
    let runtime = service.get("runtime").and_then(Value::as_str).filter(|runtime| !runtime.is_empty());
    if devices || resources || mapped || gpus(service.get("gpus")) || runtime.is_some_and(is_nvidia) {
        return Request::Made;
    }
    let visible = of_environment(service.get("environment"));
    match visible.or_else(|| of_files(service.get("env_file"), folder, variables, open)) {
        _ if runtime.is_some() => Request::Refused,
        Some(Devices::Known(value)) if matches!(value.as_str(), "" | "none" | "void") => Request::Refused,
        Some(_) => Request::Made,
        None => Request::Absent,
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a text names NVIDIA, or a variable may.
fn is_nvidia(text: &str) -> bool {
    text.contains(NVIDIA) || text.contains('$')
}

/// Whether a device that a service reserves may be a GPU of NVIDIA.
fn is_gpu(device: &Value) -> bool {
    let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
    let texts = |key: &str| list(device.get(key)).filter_map(Value::as_str);
    let capable = texts("capabilities").any(|one| matches!(one, "gpu" | NVIDIA) || one.contains('$'));
    is_nvidia(driver) || texts("device_ids").any(is_nvidia) || (capable && driver.is_empty())
}

/// Whether the value of `gpus` requests one.
fn gpus(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !matches!(text.as_str(), "" | "0"),
        Some(Value::Number(number)) => number.as_u64() != Some(0),
        Some(Value::Array(devices)) => devices.iter().any(|device| {
            let driver = device.get("driver").and_then(Value::as_str).unwrap_or_default();
            driver.is_empty() || is_nvidia(driver)
        }),
        _ => false,
    }
}

/// The value of the variable that an environment sets.
fn of_environment(written: Option<&Value>) -> Option<Devices> {
    match written? {
        Value::Object(map) => map.get(DEVICES).map(|value| Devices::of(scalar(value))),
        Value::Array(items) => {
            let one = |item: &Value| {
                let item = item.as_str()?;
                let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
                (name == DEVICES).then(|| Devices::of(value.map(str::to_owned)))
            };
            items.iter().rev().find_map(one)
        }
        _ => None,
    }
}

/// The same of the files that a service reads its variables from, of which the last one counts. A file that was not read
/// may set it, unless the service starts without it.
fn of_files(
    written: Option<&Value>,
    folder: &str,
    variables: &BTreeMap<String, String>,
    open: Opens<'_>,
) -> Option<Devices> {
    let files = match written? {
        Value::Array(files) => files.clone(),
        one => vec![one.clone()],
    };
    let of_file = |file: &Value| {
        let path = file.as_str().or_else(|| file.get("path").and_then(Value::as_str))?;
        let needed = file.get("required").and_then(Value::as_bool).unwrap_or(true);
        let text = interpolate(path, variables).and_then(|path| open(&below(folder, &path)));
        match text {
            Some(text) => Some(Devices::of(Some(environment_file(&text).remove(DEVICES)?))),
            None => needed.then_some(Devices::Unknown),
        }
    };
    files.iter().rev().find_map(of_file)
}
