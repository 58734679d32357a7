//! Services of a Compose file that use GPUs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::dockerfile::builds::{
    FileOpener, ResolvedService, parse_environment_file, resolve_services, scalar_text, substitute_variables,
};
use crate::fleet::cluster::json::{items_at, text_at};
use crate::fleet::cluster::{GpuProvider, NodeRequirements, Start, Workload, Workloads, container_command};

/// The name of NVIDIA's device driver and container runtime in Compose files.
const NVIDIA: &str = "nvidia";

/// Reads the services with those that they extend; `variables` come from `.env`, and `open_file` opens a path
/// relative to the file.
pub(super) fn read_services(
    file: &Value,
    variables: &BTreeMap<String, String>,
    open_file: FileOpener<'_>,
    found: &mut Workloads,
) {
    for ResolvedService { name, service, missing, variables } in
        resolve_services(file, variables, open_file).unwrap_or_default()
    {
        let plain = |text: &str| substitute_variables(text, &variables);
        let (name, service) = (format!("service {name}"), &service);
        let open = missing.is_some();
        found.notes.extend(missing.map(|missing| format!("{name}: {missing}")));
        let start = gpu_access(service, open);
        if start.is_none() {
            // The part that was not read may request one.
            found.without_gpu += usize::from(!open);
            continue;
        }
        let image = found.image_of(service);
        let reason = match image.map(|(written, place)| (plain(&written), written, place)) {
            Some((Some(image), written, place)) => {
                let (mut env, whole) = read_env_files(service.get("env_file"), plain, open_file);
                let env_file = (!whole).then_some("`env_file` of the service");
                let env_from = open.then_some("the base that the service extends").or(env_file);
                env.extend(read_environment(service.get("environment"), plain));
                let command = container_command::read_service_command(service, plain);
                let written = (written != image).then_some(written);
                let nodes = NodeRequirements::default();
                found.list.insert(Workload {
                    name,
                    image,
                    written,
                    image_span: place,
                    is_from_status: false,
                    env,
                    env_from,
                    command,
                    start: start.unwrap_or_default(),
                    platform: text_at(service, &["platform"]).and_then(plain),
                    nodes,
                });
                continue;
            }
            Some((None, ..)) => "its image depends on a variable without a value; set it in `.env` or add a default",
            None if open => continue,
            None => "it has no image; use `check --compose` for images that are built",
        };
        found.notes.insert(format!("{name}: {reason}"));
    }
}

/// Returns how a service gets its GPUs; `None` if it gets none. An `open` service extends another that was not read.
fn gpu_access(service: &Value, open: bool) -> Option<Start> {
    let devices = items_at(service, &["deploy", "resources", "reservations", "devices"]);
    let named =
        |device: &Value| items_at(device, &["device_ids"]).iter().filter_map(Value::as_str).any(is_nvidia_cdi_name);
    let requested = |device: &Value| {
        let capable =
            items_at(device, &["capabilities"]).iter().any(|one| matches!(one.as_str(), Some("gpu" | "nvidia")));
        let nvidia = text_at(device, &["driver"]) == Some(NVIDIA);
        !named(device) && (nvidia || (capable && !has_other_driver(device)))
    };
    // The administrator names the resources of swarm nodes; NVIDIA's own guide has `NVIDIA-GPU`.
    let swarm = items_at(service, &["deploy", "resources", "reservations", "generic_resources"]);
    let offered = |one: &Value| {
        let kind = text_at(one, &["discrete_resource_spec", "kind"]).unwrap_or_default().to_ascii_lowercase();
        kind.contains("gpu") || kind.contains("nvidia")
    };
    let mut others = items_at(service, &["devices"]).iter().filter_map(Value::as_str);
    let gpus = match service.get("gpus") {
        Some(Value::Array(list)) => list.iter().any(|device| !has_other_driver(device)),
        gpus => gpus.is_some_and(Value::is_string),
    };
    let nvidia = text_at(service, &["runtime"]) == Some(NVIDIA);
    let by = if gpus || devices.iter().any(requested) {
        GpuProvider::Engine
    } else if devices.iter().any(named) || others.any(is_nvidia_cdi_name) {
        GpuProvider::Names
    } else if swarm.iter().any(offered) || (nvidia && open) {
        GpuProvider::Unknown
    } else if nvidia {
        GpuProvider::Runtime
    } else {
        return None;
    };
    Some(Start { by, nvidia })
}

/// Whether a device belongs to a driver other than NVIDIA's.
fn has_other_driver(device: &Value) -> bool {
    text_at(device, &["driver"]).is_some_and(|driver| !driver.is_empty() && driver != NVIDIA && !driver.contains('$'))
}

/// Whether a device is an NVIDIA device of the Container Device Interface.
fn is_nvidia_cdi_name(device: &str) -> bool {
    device.starts_with("nvidia.com/")
}

/// Returns the variables of the `env_file` entries of a service, where later files override earlier ones, and whether
/// all files were read.
fn read_env_files(
    written: Option<&Value>,
    plain: impl Fn(&str) -> Option<String>,
    open_file: FileOpener<'_>,
) -> (BTreeMap<String, Option<String>>, bool) {
    let (mut env, mut whole) = (BTreeMap::new(), true);
    let one = |value: &Value| value.as_str().or_else(|| text_at(value, &["path"])).and_then(&plain);
    let files: Vec<Option<String>> = match written {
        Some(Value::Array(list)) => list.iter().map(one).collect(),
        Some(value) => vec![one(value)],
        None => Vec::new(),
    };
    for file in files {
        let Some(text) = file.and_then(|file| open_file(&file)) else {
            // It may set what an earlier one has set.
            for value in env.values_mut() {
                *value = None;
            }
            whole = false;
            continue;
        };
        // Variables within values come from the shell that starts the service.
        let value = |value: String| Some(value).filter(|value| !value.contains('$'));
        env.extend(parse_environment_file(&text).into_iter().map(|(name, raw_value)| (name, value(raw_value))));
    }
    (env, whole)
}

/// Returns the variables of `environment`, a map or a list.
fn read_environment(
    written: Option<&Value>,
    plain: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Option<String>> {
    match written {
        Some(Value::Object(map)) => {
            map.iter().map(|(name, value)| (name.clone(), scalar_text(value).and_then(|text| plain(&text)))).collect()
        }
        Some(Value::Array(list)) => {
            let entry = |item: &str| match item.split_once('=') {
                Some((name, value)) => (name.to_owned(), plain(value)),
                None => (item.to_owned(), None),
            };
            list.iter().filter_map(Value::as_str).map(entry).collect()
        }
        _ => BTreeMap::new(),
    }
}
