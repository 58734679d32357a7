//! Services of a compose file that run with GPUs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builds::Opens;
use crate::builds::Whole;
use crate::builds::interpolate;
use crate::builds::services_of;
use crate::cluster::Nodes;
use crate::cluster::Workload;
use crate::cluster::Workloads;
use crate::cluster::command;
use crate::cluster::items;
use crate::cluster::text;

/// Reads the services with what they extend; `variables` are those of the `.env` file beside the compose file, and `open`
/// opens a file by its path from there.
pub(super) fn read(file: &Value, variables: &BTreeMap<String, String>, open: Opens<'_>, found: &mut Workloads) {
    for Whole { name, service, missing, variables } in services_of(file, variables, open).unwrap_or_default() {
        let plain = |text: &str| interpolate(text, &variables);
        let (name, service) = (format!("service {name}"), &service);
        let open = missing.is_some();
        found.notes.extend(missing.map(|missing| format!("{name}: {missing}")));
        if !has_gpu(service) {
            // What was not read may ask for one.
            found.without_gpu += usize::from(!open);
            continue;
        }
        let image = found.image(service);
        let told = match image.map(|(written, place)| (plain(&written), written, place)) {
            Some((Some(image), written, place)) => {
                let env_from = open || service.get("env_file").is_some();
                let env = environment(service.get("environment"), plain);
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
                    nodes,
                });
                continue;
            }
            Some((None, ..)) => "its image is named by a variable that neither `.env` nor a default gives",
            None if open => continue,
            None => "it has no image: `check --compose` judges what is built",
        };
        found.notes.insert(format!("{name}: {told}"));
    }
}

fn has_gpu(service: &Value) -> bool {
    let devices = items(service, &["deploy", "resources", "reservations", "devices"]);
    let nvidia = |device: &Value| {
        let capable = items(device, &["capabilities"]).iter().any(|one| matches!(one.as_str(), Some("gpu" | "nvidia")));
        let named = items(device, &["device_ids"]).iter().filter_map(Value::as_str).any(is_cdi);
        capable || named || text(device, &["driver"]) == Some("nvidia")
    };
    // What nodes of a swarm offer is called by whoever sets them up; NVIDIA's own guide has `NVIDIA-GPU`.
    let swarm = items(service, &["deploy", "resources", "reservations", "generic_resources"]);
    let offered = |one: &Value| {
        let kind = text(one, &["discrete_resource_spec", "kind"]).unwrap_or_default().to_ascii_lowercase();
        kind.contains("gpu") || kind.contains("nvidia")
    };
    let named = items(service, &["devices"]).iter().filter_map(Value::as_str);
    let gpus = service.get("gpus").is_some_and(|gpus| gpus.is_array() || gpus.is_string());
    let runtime = text(service, &["runtime"]) == Some("nvidia");
    runtime || gpus || devices.iter().any(nvidia) || swarm.iter().any(offered) || named.into_iter().any(is_cdi)
}

/// Whether a device is named as the container device interface names NVIDIA's.
fn is_cdi(device: &str) -> bool {
    device.starts_with("nvidia.com/")
}

fn environment(written: Option<&Value>, plain: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Option<String>> {
    let scalar = |value: &Value| match value {
        Value::String(text) => plain(text),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match written {
        Some(Value::Object(map)) => map.iter().map(|(name, value)| (name.clone(), scalar(value))).collect(),
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
