//! Reads the GPU workloads of a cluster from `kubectl get -o json` or `-o yaml`, manifests and Compose files.

mod compose;
mod container_command;
mod container_environment;
mod gpu_access;
mod image_markers;
mod node_requirements;
mod pod;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use thiserror::Error;

use crate::builds::FileOpener;
use crate::cluster::container_environment::ConfigMaps;

pub use container_command::{ArgumentOverride, ContainerCommand};
pub use gpu_access::{GpuProvider, Start};
pub use image_markers::ImageSpan;
pub use node_requirements::{LabelCondition, LabelState, MIG_RESOURCE_PREFIX, NodeRequirement, NodeRequirements};

/// Maximum size in bytes of a file; ten thousand pods are about 100 MB.
pub const MAX_FILE_BYTES: usize = 256 << 20;
/// Maximum number of containers in a file.
const MAX_WORKLOADS: usize = 200_000;

/// A container that requests GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// `namespace/Deployment/name: container`, or `service name`.
    pub name: String,
    /// The image reference.
    pub image: String,
    /// The image as written in the file, if it contains variables or the pod status names another one.
    pub written: Option<String>,
    /// The span of the image name in the file.
    pub image_span: ImageSpan,
    /// Whether the image comes from the status of the pod.
    pub is_from_status: bool,
    /// Environment variables; `None` for a value that is not in the file.
    pub env: BTreeMap<String, Option<String>>,
    /// The source of further variables that was not read.
    pub env_from: Option<&'static str>,
    /// The command that it is started with.
    pub command: ContainerCommand,
    /// How it gets its GPUs.
    pub start: Start,
    /// The requested platform; `None` for that of the node.
    pub platform: Option<String>,
    /// The requirements on its node.
    pub nodes: NodeRequirements,
}

/// The GPU workloads of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    /// The containers by name, each once even if it has several pods.
    pub list: BTreeSet<Workload>,
    /// The number of containers that request no GPU.
    pub without_gpu: usize,
    /// The number of pods that have ended.
    pub ended: usize,
    /// Messages about workloads that could not be read.
    pub notes: BTreeSet<String>,
    /// The spans of the image names by the number of their marker.
    image_spans: Vec<(usize, usize)>,
    /// The config maps in the file.
    config_maps: ConfigMaps,
}

impl Workloads {
    /// Returns the image of a container object, and its span in the file.
    fn image_of(&self, value: &Value) -> Option<(String, ImageSpan)> {
        let (image, mark) = image_markers::remove_marker(text_at(value, &["image"])?);
        Some((image, ImageSpan(mark.and_then(|mark| self.image_spans.get(mark).copied()))))
    }
}

/// Why no workloads can be read from a file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClusterError {
    /// The file is neither JSON nor YAML.
    #[error("it is not Kubernetes JSON or YAML, or a compose file ({0}); expected `kubectl get pods -A -o json`")]
    Unreadable(String),
    /// The file contains no workload.
    #[error(
        "found no pod, workload or service with an image: expected `kubectl get pods -A -o json`, manifests or a \
         compose file"
    )]
    Nothing,
    /// The file or the number of its workloads exceeds the limit.
    #[error("the file exceeds the size limit")]
    TooBig,
}

/// Reads the workloads of a JSON or YAML file; `variables` come from `.env`, and `open` opens files that Compose
/// refers to.
pub fn read_workloads(
    text: &str,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
) -> Result<Workloads, ClusterError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(ClusterError::TooBig);
    }
    let copy = image_markers::mark_images(text);
    let marked = copy.as_ref().and_then(|(copy, _)| parse_documents(copy).ok());
    let documents = marked.map_or_else(|| parse_documents(text), Ok)?;
    let places = copy.map_or_else(Vec::new, |(_, places)| places);
    let mut found = Workloads { image_spans: places, ..Workloads::default() };
    for document in &documents {
        found.config_maps.add(document);
    }
    let mut seen = false;
    for document in documents {
        seen |= read_object(&document, variables, open, &mut found);
        if found.list.len() > MAX_WORKLOADS {
            return Err(ClusterError::TooBig);
        }
    }
    if seen { Ok(found) } else { Err(ClusterError::Nothing) }
}

/// Parses all JSON or YAML documents of a text.
fn parse_documents(text: &str) -> Result<Vec<Value>, ClusterError> {
    let unreadable = |text: String| {
        ClusterError::Unreadable(text.lines().next().unwrap_or("no document").trim_start_matches("error: ").to_owned())
    };
    if text.trim_start().starts_with('{') {
        let objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        return objects.collect::<Result<_, _>>().map_err(|error| unreadable(error.to_string()));
    }
    serde_saphyr::from_multiple(text).map_err(|error| unreadable(error.to_string()))
}

/// Reads the workloads of an object or of a list of objects; false if it is neither.
fn read_object(
    value: &Value,
    variables: &BTreeMap<String, String>,
    open: FileOpener<'_>,
    found: &mut Workloads,
) -> bool {
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        // What the API prints as a list of one kind says the kind once.
        let kind = text_at(value, &["kind"]).and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        for item in items {
            match kind.filter(|_| item.get("kind").is_none()) {
                Some(kind) => pod::read_pods_of_kind(item, kind, found),
                None => pod::read_pods(item, found),
            };
        }
        return true;
    }
    if value.get("services").is_some_and(Value::is_object) && value.get("kind").is_none() {
        compose::read_services(value, variables, open, found);
        return true;
    }
    pod::read_pods(value, found)
}

/// Returns the string at a path of keys.
fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    value_at(value, path)?.as_str()
}

/// Returns the value at a path of keys.
fn value_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Returns the items of the list at a path of keys; empty if there is no list.
fn items_at<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    value_at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
