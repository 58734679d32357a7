//! Reads the documents of a file, and the workloads in each.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use crate::dockerfile::builds::FileOpener;
use crate::fleet::cluster::json::text_at;
use crate::fleet::cluster::workload::{MAX_WORKLOADS, Workloads};
use crate::fleet::cluster::{compose, image_markers, pod};

/// Maximum size in bytes of a file; ten thousand pods are about 100 MB.
pub const MAX_FILE_BYTES: usize = 256 << 20;

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
        // A list of one kind that the API prints contains the kind once.
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

#[cfg(test)]
#[path = "workload_reader_tests.rs"]
mod tests;
