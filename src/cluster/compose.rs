//! Services of a compose file that run with GPUs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::Opens;
use crate::builds::Whole;
use crate::builds::environment_file;
use crate::builds::interpolate;
use crate::builds::scalar;
use crate::builds::services_of;
use crate::cluster::By;
use crate::cluster::Nodes;
use crate::cluster::Start;
use crate::cluster::Workload;
use crate::cluster::Workloads;
use crate::cluster::command;
use crate::cluster::items;
use crate::cluster::text;

/// The driver of a device, and the runtime of the container toolkit.
const NVIDIA: &str = "nvidia";

/// Reads the services with what they extend; `variables` are those of the `.env` file beside the compose file, and `open_file`
/// opens a file by its path from there.
pub(super) fn read(file: &Value, variables: &BTreeMap<String, String>, open_file: Opens<'_>, found: &mut Workloads) {
    for Whole { name, service, missing, variables } in services_of(file, variables, open_file).unwrap_or_default() {
        let plain = |text: &str| interpolate(text, &variables);
        let (name, service) = (format!("service {name}"), &service);
        let open = missing.is_some();
        found.notes.extend(missing.map(|missing| format!("{name}: {missing}")));
        let start = start(service, open);
        if start.is_none() {
            // What was not read may ask for one.
            found.without_gpu += usize::from(!open);
            continue;
        }
        let image = found.image(service);
        let told = match image.map(|(written, place)| (plain(&written), written, place)) {
            Some((Some(image), written, place)) => {
                let (mut env, whole) = of_files(service.get("env_file"), plain, open_file);
                let env_file = (!whole).then_some("`env_file` of the service");
                let env_from = open.then_some("the base that the service extends").or(env_file);
                env.extend(environment(service.get("environment"), plain));
                let command = command::of_service(service, plain);
                let written = (written != image).then_some(written);
                let nodes = Nodes::default();
                found.list.insert(Workload {
                    name,
                    image,
                    written,
                    place,
                    of_status: false,
                    env,
                    env_from,
                    command,
                    start: start.unwrap_or_default(),
                    platform: text(service, &["platform"]).and_then(plain),
                    nodes,
                });
                continue;
            }
            Some((None, ..)) => "its image depends on a variable without a value; set it in `.env` or add a default",
            None if open => continue,
            None => "it has no image; use `check --compose` for images that are built",
        };
        found.notes.insert(format!("{name}: {told}"));
    }
}

/// How a service comes to its GPUs; none where it gets none. What was not read of an `open` one may ask for more.
fn start(service: &Value, open: bool) -> Option<Start> {
    let devices = items(service, &["deploy", "resources", "reservations", "devices"]);
    let named = |device: &Value| items(device, &["device_ids"]).iter().filter_map(Value::as_str).any(is_cdi);
    let handed = |device: &Value| {
        let capable = items(device, &["capabilities"]).iter().any(|one| matches!(one.as_str(), Some("gpu" | "nvidia")));
        let nvidia = text(device, &["driver"]) == Some(NVIDIA);
        !named(device) && (nvidia || (capable && !is_of_another(device)))
    };
    // What nodes of a swarm offer is called by whoever sets them up; NVIDIA's own guide has `NVIDIA-GPU`.
    let swarm = items(service, &["deploy", "resources", "reservations", "generic_resources"]);
    let offered = |one: &Value| {
        let kind = text(one, &["discrete_resource_spec", "kind"]).unwrap_or_default().to_ascii_lowercase();
        kind.contains("gpu") || kind.contains("nvidia")
    };
    let mut others = items(service, &["devices"]).iter().filter_map(Value::as_str);
    let gpus = match service.get("gpus") {
        Some(Value::Array(list)) => list.iter().any(|device| !is_of_another(device)),
        gpus => gpus.is_some_and(Value::is_string),
    };
    let nvidia = text(service, &["runtime"]) == Some(NVIDIA);
    let by = if gpus || devices.iter().any(handed) {
        By::Engine
    } else if devices.iter().any(named) || others.any(is_cdi) {
        By::Names
    } else if swarm.iter().any(offered) || (nvidia && open) {
        By::Untold
    } else if nvidia {
        By::Runtime
    } else {
        return None;
    };
    Some(Start { by, nvidia })
}

/// Whether a device is of a driver other than NVIDIA's.
fn is_of_another(device: &Value) -> bool {
    text(device, &["driver"]).is_some_and(|driver| !driver.is_empty() && driver != NVIDIA && !driver.contains('$'))
}

/// Whether a device is named as the container device interface names NVIDIA's.
fn is_cdi(device: &str) -> bool {
    device.starts_with("nvidia.com/")
}

/// The variables of the files that a service names, the later file above the earlier, and whether all of them were read.
fn of_files(
    written: Option<&Value>,
    plain: impl Fn(&str) -> Option<String>,
    open_file: Opens<'_>,
) -> (BTreeMap<String, Option<String>>, bool) {
    let (mut env, mut whole) = (BTreeMap::new(), true);
    let one = |value: &Value| value.as_str().or_else(|| text(value, &["path"])).and_then(&plain);
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
        // Variables within values are those of whoever starts the service.
        let value = |value: String| Some(value).filter(|value| !value.contains('$'));
        env.extend(environment_file(&text).into_iter().map(|(name, told)| (name, value(told))));
    }
    (env, whole)
}

fn environment(written: Option<&Value>, plain: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Option<String>> {
    match written {
        Some(Value::Object(map)) => {
            map.iter().map(|(name, value)| (name.clone(), scalar(value).and_then(|text| plain(&text)))).collect()
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
