//! Pods, and what makes them.

use serde_json::Value;

use crate::cluster::By;
use crate::cluster::Start;
use crate::cluster::Workload;
use crate::cluster::Workloads;
use crate::cluster::at;
use crate::cluster::command;
use crate::cluster::demand;
use crate::cluster::items;
use crate::cluster::text;
use crate::cluster::variables;

/// Resources that a device plugin of NVIDIA offers: whole GPUs, shared ones and slices.
const RESOURCE: &str = "nvidia.com/";
/// The runtime class of the container toolkit.
const RUNTIME: &str = "nvidia";

/// Phases of pods that run nothing any more.
const ENDED: [&str; 2] = ["Succeeded", "Failed"];

/// Specifications of pods lie less deep in any object that makes some.
const DEEPEST: usize = 16;

/// Reads one object; false where it makes no pods.
pub(super) fn read(value: &Value, found: &mut Workloads) -> bool {
    read_as(value, text(value, &["kind"]).unwrap_or_default(), found)
}

/// The same for one whose list says of what kind it is.
pub(super) fn read_as(value: &Value, kind: &str, found: &mut Workloads) -> bool {
    let path: &[&str] = match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            &["spec", "template", "spec"]
        }
        "List" => return value.get("items").is_some(),
        _ => return others(&name(value, kind), value, 0, found),
    };
    let Some(spec) = at(value, path) else { return false };
    if kind == "Pod" && text(value, &["status", "phase"]).is_some_and(|phase| ENDED.contains(&phase)) {
        found.ended += 1;
        return true;
    }
    let status = value.get("status").filter(|_| kind == "Pod").unwrap_or(&Value::Null);
    containers(&name(value, kind), spec, status, found);
    true
}

/// The pods that an object of any other kind describes, wherever in it: those of training jobs, sets of servers,
/// templates. False where there are none.
fn others(whole: &str, value: &Value, depth: usize, found: &mut Workloads) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let below = |inner: &Value, found: &mut Workloads| others(whole, inner, depth + 1, found);
    match value {
        Value::Object(_) if items(value, &["containers"]).iter().any(|one| text(one, &["image"]).is_some()) => {
            containers(whole, value, &Value::Null, found);
            true
        }
        Value::Object(map) => map.values().filter(|inner| below(inner, found)).count() > 0,
        Value::Array(list) => list.iter().filter(|inner| below(inner, found)).count() > 0,
        _ => false,
    }
}

fn containers(whole: &str, spec: &Value, status: &Value, found: &mut Workloads) {
    for (list, statuses) in [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")] {
        for container in items(spec, &[list]) {
            let own = |one: &&Value| one.get("name").is_some() && one.get("name") == container.get("name");
            let status = items(status, &[statuses]).iter().find(own);
            read_container(whole, spec, (container, status), found);
        }
    }
}

/// The image that runs, as the engine of the node names it: `docker-pullable://a/b@sha256:…`. None where it names none
/// by the digest that a registry has it under.
fn running(status: &Value) -> Option<&str> {
    let told = text(status, &["imageID"])?;
    let image = told.split_once("://").map_or(told, |(_, image)| image);
    let (repository, digest) = image.split_once('@')?;
    let sum = digest.strip_prefix("sha256:")?;
    let whole = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    (whole && !repository.is_empty()).then_some(image)
}

/// Namespace, kind and name; those of the owner where a pod has one, since its own is made up.
fn name(value: &Value, kind: &str) -> String {
    let owner = items(value, &["metadata", "ownerReferences"]).first();
    let (kind, name) = match owner.and_then(|owner| text(owner, &["kind"]).zip(text(owner, &["name"]))) {
        Some(owner) => owner,
        None => (kind, text(value, &["metadata", "name"]).unwrap_or("without name")),
    };
    let namespace = text(value, &["metadata", "namespace"]).unwrap_or("default");
    format!("{namespace}/{kind}/{name}")
}

fn read_container(whole: &str, spec: &Value, (container, status): (&Value, Option<&Value>), found: &mut Workloads) {
    let name = format!("{whole}: {}", text(container, &["name"]).unwrap_or("without name"));
    let Some((image, place)) = found.image(container).filter(|(image, _)| !image.is_empty()) else {
        found.notes.insert(format!("{name}: it has no image"));
        return;
    };
    let Some(start) = start(spec, container) else {
        found.without_gpu += 1;
        return;
    };
    let maps = found.maps.of(whole.split('/').next().unwrap_or_default());
    let (env, whole_env) = variables::of(container, &maps);
    let env_from = (!whole_env).then_some("`envFrom` of the pod");
    let pinned = |running: &&str| running.split_once('@').is_none_or(|(_, digest)| !image.ends_with(digest));
    let running = status.and_then(running).filter(pinned).map(str::to_owned);
    let of_status = running.is_some();
    let written = running.as_ref().map(|_| image.clone());
    found.list.insert(Workload {
        name,
        image: running.unwrap_or(image),
        written,
        place,
        of_status,
        command: command::of_pod(container, &env, env_from.is_some()),
        env,
        env_from,
        start,
        platform: None,
        nodes: demand::of_pod(spec),
    });
}

/// How a container comes to its GPUs: by resource, by claim, or by the runtime that it is under; none where it gets none.
fn start(spec: &Value, container: &Value) -> Option<Start> {
    let asks = |list: &str| {
        let resources = at(container, &["resources", list]).and_then(Value::as_object);
        resources
            .is_some_and(|list| list.iter().any(|(name, count)| name.starts_with(RESOURCE) && !demand::is_zero(count)))
    };
    let nvidia = text(spec, &["runtimeClassName"]).is_some_and(|class| class.starts_with(RUNTIME));
    let plugin = asks("limits") || asks("requests") || !items(container, &["resources", "claims"]).is_empty();
    let by = if plugin { By::Plugin } else { By::Class };
    (plugin || nvidia).then_some(Start { by, nvidia })
}
