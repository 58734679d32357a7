//! Reads the nodes of a Kubernetes cluster.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::inventory::{Inventory, InventoryError, node_labels};

/// A node, a list of nodes, or another object in the output of `kubectl`.
#[derive(Debug, Default, Deserialize)]
struct KubernetesObject {
    kind: Option<String>,
    items: Option<Vec<Self>>,
    metadata: Option<KubernetesMetadata>,
    status: Option<NodeStatus>,
}

/// The metadata of an object.
#[derive(Debug, Default, Deserialize)]
struct KubernetesMetadata {
    name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

/// The status of a node.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    capacity: Option<BTreeMap<String, ResourceQuantity>>,
    node_info: Option<NodeSystemInfo>,
}

/// A resource quantity, which YAML may contain as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ResourceQuantity {
    Number(u64),
    Text(String),
}

impl ResourceQuantity {
    /// Returns the quantity as a whole number; `None` if it has a unit or a fraction.
    fn as_count(&self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(*number).ok(),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// The system information in the status of a node.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeSystemInfo {
    architecture: Option<String>,
    operating_system: Option<String>,
    container_runtime_version: Option<String>,
    kernel_version: Option<String>,
}

/// The properties of a node that are used.
#[derive(Debug, Default)]
pub(super) struct KubernetesNode {
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

/// Returns an error with the first line of a parser message.
fn unreadable_error(error: &dyn std::error::Error) -> InventoryError {
    let text = error.to_string();
    InventoryError::Unreadable(text.lines().next().unwrap_or("neither JSON nor YAML").to_owned())
}

/// Reads the output of `kubectl get nodes -o json`.
pub(super) fn read_json(text: &str) -> Result<Inventory, InventoryError> {
    let objects = serde_json::Deserializer::from_str(text).into_iter::<KubernetesObject>();
    let objects: Vec<KubernetesObject> = objects.collect::<Result<_, _>>().map_err(|error| unreadable_error(&error))?;
    collect_nodes(objects)
}

/// Reads the output of `kubectl get nodes -o yaml`.
pub(super) fn read_yaml(text: &str) -> Result<Inventory, InventoryError> {
    collect_nodes(serde_saphyr::from_multiple(text).map_err(|error| unreadable_error(&error))?)
}

/// Collects the nodes among objects and lists of objects.
fn collect_nodes(objects: Vec<KubernetesObject>) -> Result<Inventory, InventoryError> {
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
                node_labels::add_node(&node_from_object(item), &mut found);
            }
        }
    }
    if seen { Ok(found) } else { Err(InventoryError::Unreadable("it contains no node".to_owned())) }
}

/// Returns a label value without surrounding blanks and control characters, which Kubernetes does not allow.
fn clean_label_value(value: &str) -> String {
    value.trim().chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect()
}

/// Returns the properties of a node object.
fn node_from_object(item: KubernetesObject) -> KubernetesNode {
    let metadata = item.metadata.unwrap_or_default();
    let status = item.status.unwrap_or_default();
    let info = status.node_info.unwrap_or_default();
    let resources = status.capacity.unwrap_or_default().into_iter();
    KubernetesNode {
        name: metadata.name.unwrap_or_default(),
        labels: metadata
            .labels
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| (name, clean_label_value(&value)))
            .collect(),
        resources: resources.filter_map(|(name, count)| Some((name, count.as_count()?))).collect(),
        architecture: info.architecture,
        system: info.operating_system,
        engine: info.container_runtime_version,
        kernel: info.kernel_version,
    }
}
