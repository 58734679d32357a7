//! Pods, and objects that contain a pod template.

use serde_json::Value;

use crate::fleet::cluster::json::{items_at, text_at, value_at};
use crate::fleet::cluster::{
    GpuProvider, Start, Workload, Workloads, container_command, container_environment, node_requirements,
};

/// Prefix of the resources of NVIDIA's device plugins: whole GPUs, shared ones and MIG slices.
const GPU_RESOURCE_PREFIX: &str = "nvidia.com/";
/// The runtime class of the NVIDIA container toolkit.
const NVIDIA_RUNTIME_CLASS: &str = "nvidia";

/// Phases of pods that have ended.
const ENDED_PHASES: [&str; 2] = ["Succeeded", "Failed"];

/// Maximum depth at which pod specifications are searched in other objects.
const MAX_POD_SPEC_DEPTH: usize = 16;

/// Reads the pods of an object; false if it defines none.
pub(super) fn read_pods(value: &Value, found: &mut Workloads) -> bool {
    read_pods_of_kind(value, text_at(value, &["kind"]).unwrap_or_default(), found)
}

/// Reads the pods of an object of the given kind; false if it defines none.
pub(super) fn read_pods_of_kind(value: &Value, kind: &str, found: &mut Workloads) -> bool {
    let path: &[&str] = match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &["spec", "template", "spec"]
        }
        "List" => return value.get("items").is_some(),
        _ => return read_nested_pods(&workload_name(value, kind), value, 0, found),
    };
    let Some(spec) = value_at(value, path) else { return false };
    if kind == "Pod" && text_at(value, &["status", "phase"]).is_some_and(|phase| ENDED_PHASES.contains(&phase)) {
        found.ended += 1;
        return true;
    }
    let status = value.get("status").filter(|_| kind == "Pod").unwrap_or(&Value::Null);
    read_containers(&workload_name(value, kind), spec, status, found);
    true
}

/// Reads pod specifications anywhere in an object of any other kind, such as a training job; false if there are none.
fn read_nested_pods(whole: &str, value: &Value, depth: usize, found: &mut Workloads) -> bool {
    if depth > MAX_POD_SPEC_DEPTH {
        return false;
    }
    let below = |inner: &Value, found: &mut Workloads| read_nested_pods(whole, inner, depth + 1, found);
    match value {
        Value::Object(_) if items_at(value, &["containers"]).iter().any(|one| text_at(one, &["image"]).is_some()) => {
            read_containers(whole, value, &Value::Null, found);
            true
        }
        Value::Object(map) => map.values().filter(|inner| below(inner, found)).count() > 0,
        Value::Array(list) => list.iter().filter(|inner| below(inner, found)).count() > 0,
        _ => false,
    }
}

/// Reads all containers of a pod specification.
fn read_containers(whole: &str, spec: &Value, status: &Value, found: &mut Workloads) {
    for (list, statuses) in [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")] {
        for container in items_at(spec, &[list]) {
            let own = |one: &&Value| one.get("name").is_some() && one.get("name") == container.get("name");
            let status = items_at(status, &[statuses]).iter().find(own);
            read_container(whole, spec, (container, status), found);
        }
    }
}

/// Returns the image that runs according to the container status: `docker-pullable://a/b@sha256:…`. `None` if it
/// names none by digest.
fn running_image(status: &Value) -> Option<&str> {
    let image_id = text_at(status, &["imageID"])?;
    let image = image_id.split_once("://").map_or(image_id, |(_, image)| image);
    let (repository, digest) = image.split_once('@')?;
    let sum = digest.strip_prefix("sha256:")?;
    let whole = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    (whole && !repository.is_empty()).then_some(image)
}

/// Returns namespace, kind and name; those of the owner if a pod has one, since the pod's own name is generated.
fn workload_name(value: &Value, kind: &str) -> String {
    let owner = items_at(value, &["metadata", "ownerReferences"]).first();
    let (kind, name) = match owner.and_then(|owner| text_at(owner, &["kind"]).zip(text_at(owner, &["name"]))) {
        Some(owner) => owner,
        None => (kind, text_at(value, &["metadata", "name"]).unwrap_or("without name")),
    };
    let namespace = text_at(value, &["metadata", "namespace"]).unwrap_or("default");
    format!("{namespace}/{kind}/{name}")
}

/// Reads a container of a pod specification, with its status.
fn read_container(whole: &str, spec: &Value, (container, status): (&Value, Option<&Value>), found: &mut Workloads) {
    let name = format!("{whole}: {}", text_at(container, &["name"]).unwrap_or("without name"));
    let Some((image, place)) = found.image_of(container).filter(|(image, _)| !image.is_empty()) else {
        found.notes.insert(format!("{name}: it has no image"));
        return;
    };
    let Some(start) = gpu_access(spec, container) else {
        found.without_gpu += 1;
        return;
    };
    let maps = found.config_maps.in_namespace(whole.split('/').next().unwrap_or_default());
    let (env, whole_env) = container_environment::read_container_environment(container, &maps);
    let env_from = (!whole_env).then_some("`envFrom` of the pod");
    let pinned = |running: &&str| running.split_once('@').is_none_or(|(_, digest)| !image.ends_with(digest));
    let running = status.and_then(running_image).filter(pinned).map(str::to_owned);
    let of_status = running.is_some();
    let written = running.as_ref().map(|_| image.clone());
    found.list.insert(Workload {
        name,
        image: running.unwrap_or(image),
        written,
        image_span: place,
        is_from_status: of_status,
        command: container_command::read_pod_command(container, &env, env_from.is_some()),
        env,
        env_from,
        start,
        platform: None,
        nodes: node_requirements::read_node_requirements(spec),
    });
}

/// Returns how a container gets its GPUs: by resource, by claim, or by its runtime class; `None` if it gets none.
fn gpu_access(spec: &Value, container: &Value) -> Option<Start> {
    let asks = |list: &str| {
        let resources = value_at(container, &["resources", list]).and_then(Value::as_object);
        resources.is_some_and(|list| {
            list.iter().any(|(name, count)| {
                name.starts_with(GPU_RESOURCE_PREFIX) && !node_requirements::is_zero_quantity(count)
            })
        })
    };
    let nvidia = text_at(spec, &["runtimeClassName"]).is_some_and(|class| class.starts_with(NVIDIA_RUNTIME_CLASS));
    let plugin = asks("limits") || asks("requests") || !items_at(container, &["resources", "claims"]).is_empty();
    let by = if plugin { GpuProvider::Plugin } else { GpuProvider::Class };
    (plugin || nvidia).then_some(Start { by, nvidia })
}
