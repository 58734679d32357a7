//! Nodes of a cluster.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::inventory::Inventory;
use crate::inventory::InventoryError;
use crate::inventory::labels;

/// A node, a list of nodes, or something else that stands between them.
#[derive(Debug, Default, Deserialize)]
struct Object {
    kind: Option<String>,
    items: Option<Vec<Self>>,
    metadata: Option<Metadata>,
    status: Option<Status>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    capacity: Option<BTreeMap<String, Quantity>>,
    node_info: Option<NodeInfo>,
}

/// A quantity, which YAML may hold as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Quantity {
    Number(u64),
    Text(String),
}

impl Quantity {
    fn count(&self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(*number).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeInfo {
    architecture: Option<String>,
    operating_system: Option<String>,
    container_runtime_version: Option<String>,
    kernel_version: Option<String>,
}

/// A node as far as it counts.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    /// Resources of device plugins, and others, with how many there are.
    pub(super) resources: BTreeMap<String, u32>,
    pub(super) architecture: Option<String>,
    pub(super) system: Option<String>,
    /// `containerd://1.7.2`.
    pub(super) engine: Option<String>,
    pub(super) kernel: Option<String>,
}

fn unreadable(error: &dyn std::error::Error) -> InventoryError {
    let text = error.to_string();
    InventoryError::Unreadable(text.lines().next().unwrap_or("neither JSON nor YAML").to_owned())
}

/// What `-o json` prints.
pub(super) fn read_json(text: &str) -> Result<Inventory, InventoryError> {
    let objects = serde_json::Deserializer::from_str(text).into_iter::<Object>();
    let objects: Vec<Object> = objects.collect::<Result<_, _>>().map_err(|error| unreadable(&error))?;
    nodes(objects)
}

/// What `-o yaml` prints.
pub(super) fn read_yaml(text: &str) -> Result<Inventory, InventoryError> {
    nodes(serde_saphyr::from_multiple(text).map_err(|error| unreadable(&error))?)
}

fn nodes(objects: Vec<Object>) -> Result<Inventory, InventoryError> {
    let mut found = Inventory::default();
    let mut seen = false;
    for mut object in objects {
        let of_nodes = object.kind.as_deref() == Some("NodeList");
        // A list of nodes may be empty; a list of anything may hold some.
        seen |= of_nodes;
        let items = object.items.take().into_iter().flatten();
        for item in items.chain([object]) {
            if item.kind.as_deref() == Some("Node") || (of_nodes && item.kind.is_none()) {
                seen = true;
                labels::add(&node(item), &mut found);
            }
        }
    }
    if seen { Ok(found) } else { Err(InventoryError::Unreadable("it contains no node".to_owned())) }
}

/// A value of a label as a fleet file and a selector can have it: Kubernetes takes no blank at its ends, and no sign that
/// ends a line.
fn plain(value: &str) -> String {
    value.trim().chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

fn node(item: Object) -> Node {
    let metadata = item.metadata.unwrap_or_default();
    let status = item.status.unwrap_or_default();
    let info = status.node_info.unwrap_or_default();
    let resources = status.capacity.unwrap_or_default().into_iter();
    Node {
        name: metadata.name.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default().into_iter().map(|(name, value)| (name, plain(&value))).collect(),
        resources: resources.filter_map(|(name, count)| Some((name, count.count()?))).collect(),
        architecture: info.architecture,
        system: info.operating_system,
        engine: info.container_runtime_version,
        kernel: info.kernel_version,
    }
}
