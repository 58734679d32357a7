//! What a cluster runs: containers that ask for GPUs, out of what `kubectl get -o json` or `-o yaml` prints, manifests
//! and compose files. Text in, plain values out.

mod command;
mod compose;
mod demand;
mod marks;
mod pod;
mod start;
mod variables;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use serde_json::Value;
use thiserror::Error;

use crate::builds::Opens;
use crate::cluster::variables::Maps;

pub use command::Command;
pub use command::Words;
pub use demand::Demand;
pub use demand::Holds;
pub use demand::Label;
pub use demand::Nodes;
pub use demand::SLICE;
pub use marks::Place;
pub use start::By;
pub use start::Start;

/// Longer files are nobody's; ten thousand pods print as 100 MB.
pub const LONGEST: usize = 256 << 20;
/// More containers are no cluster's.
const MOST: usize = 200_000;

/// A container that asks for GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// `namespace/Deployment/name: container`, or `service name`.
    pub name: String,
    /// The image.
    pub image: String,
    /// The image as the file asks for it, where variables were put into it or the status of its pod names what runs.
    pub written: Option<String>,
    /// Where the file names it.
    pub place: Place,
    /// Whether the image is the one that the status of its pod names.
    pub of_status: bool,
    /// Variables set at run time; none where the value stands elsewhere.
    pub env: BTreeMap<String, Option<String>>,
    /// Where further variables stand, and was not read.
    pub env_from: Option<&'static str>,
    /// What it is started with.
    pub command: Command,
    /// How it comes to its GPUs.
    pub start: Start,
    /// The platform that it asks an image of; that of the node where it asks for none.
    pub platform: Option<String>,
    /// What it asks of a node: all of one list. Anywhere where there is no list.
    pub nodes: Nodes,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    /// Each container once, however many pods it has, by name.
    pub list: BTreeSet<Workload>,
    /// How many containers ask for no GPU.
    pub without_gpu: usize,
    /// How many pods have ended, and run nothing any more.
    pub ended: usize,
    /// What could not be followed.
    pub notes: BTreeSet<String>,
    /// Where the file names images, by the numbers of their marks.
    places: Vec<(usize, usize)>,
    /// The config maps in it.
    maps: Maps,
}

impl Workloads {
    /// The image of an object, and where the file names it.
    fn image(&self, value: &Value) -> Option<(String, Place)> {
        let (image, mark) = marks::unmarked(text(value, &["image"])?);
        Some((image, Place(mark.and_then(|mark| self.places.get(mark).copied()))))
    }
}

/// Why a file says nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClusterError {
    /// Neither JSON nor YAML.
    #[error("it is not Kubernetes JSON or YAML, or a compose file ({0}); expected `kubectl get pods -A -o json`")]
    Unreadable(String),
    /// Nothing in it is a workload.
    #[error(
        "found no pod, workload or service with an image: expected `kubectl get pods -A -o json`, manifests or a \
         compose file"
    )]
    Nothing,
    /// It is out of all proportion.
    #[error("the file exceeds the size limit")]
    TooBig,
}

/// Reads JSON, YAML of one or more documents, and lists of objects. `variables` are those of the `.env` file beside the
/// file, which a compose file may name; `open` opens a file that it includes or extends, by its path from its folder.
pub fn workloads(text: &str, variables: &BTreeMap<String, String>, open: Opens<'_>) -> Result<Workloads, ClusterError> {
    if text.len() > LONGEST {
        return Err(ClusterError::TooBig);
    }
    let copy = marks::marked(text);
    let marked = copy.as_ref().and_then(|(copy, _)| documents(copy).ok());
    let documents = marked.map_or_else(|| documents(text), Ok)?;
    let places = copy.map_or_else(Vec::new, |(_, places)| places);
    let mut found = Workloads { places, ..Workloads::default() };
    for document in &documents {
        found.maps.keep(document);
    }
    let mut seen = false;
    for document in documents {
        seen |= object(&document, variables, open, &mut found);
        if found.list.len() > MOST {
            return Err(ClusterError::TooBig);
        }
    }
    if seen { Ok(found) } else { Err(ClusterError::Nothing) }
}

fn documents(text: &str) -> Result<Vec<Value>, ClusterError> {
    let unreadable = |text: String| {
        ClusterError::Unreadable(text.lines().next().unwrap_or("no document").trim_start_matches("error: ").to_owned())
    };
    if text.trim_start().starts_with('{') {
        let objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        return objects.collect::<Result<_, _>>().map_err(|error| unreadable(error.to_string()));
    }
    serde_saphyr::from_multiple(text).map_err(|error| unreadable(error.to_string()))
}

/// Reads an object or a list of them; false where it is neither.
fn object(value: &Value, variables: &BTreeMap<String, String>, open: Opens<'_>, found: &mut Workloads) -> bool {
    if let Some(items) = value.get("items").and_then(Value::as_array) {
        // What the API prints as a list of one kind says the kind once.
        let kind = text(value, &["kind"]).and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        for item in items {
            match kind.filter(|_| item.get("kind").is_none()) {
                Some(kind) => pod::read_as(item, kind, found),
                None => pod::read(item, found),
            };
        }
        return true;
    }
    if value.get("services").is_some_and(Value::is_object) && value.get("kind").is_none() {
        compose::read(value, variables, open, found);
        return true;
    }
    pod::read(value, found)
}

/// The text of a field.
fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The value behind some names.
fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// The items of a list; none where there is no list.
fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
