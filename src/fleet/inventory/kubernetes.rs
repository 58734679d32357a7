//! Reads the nodes of a Kubernetes cluster by their labels: those of GPU Feature Discovery, by their new and old names,
//! and those of cloud providers.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::Launch;
use crate::fleet::inventory::{
    GpuPartitioning, Inventory, InventoryError, InventoryMachine, MachineConfig, MachineGpu,
};
use crate::knowledge::names_vgpu_profile;

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
                add_node(&node_from_object(item), &mut found);
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

/// Labels that name the node pool; the first one that a node has is used.
pub(super) const POOL_LABELS: &[&str] = &[
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
];

/// Labels that distinguish nodes, without those of the pool and the driver, the most specific first.
pub(super) const IDENTIFYING_LABELS: &[&str] = &[
    "nvidia.com/gpu.product",
    "nvidia.com/cuda.driver-version.full",
    "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor",
    "nvidia.com/cuda.driver.rev",
    "nvidia.com/gpu.compute.major",
    "nvidia.com/gpu.compute.minor",
    "nvidia.com/gpu.count",
    "nvidia.com/mig.strategy",
    "nvidia.com/gpu.sharing-strategy",
    "nvidia.com/gpu.present",
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
];

const DRIVER_LABEL: &str = "nvidia.com/cuda.driver-version";
const OLD_DRIVER_LABEL: &str = "nvidia.com/cuda.driver";
const CUDA_LABEL: &str = "nvidia.com/cuda.runtime-version";
const OLD_CUDA_LABEL: &str = "nvidia.com/cuda.runtime";
/// Labels of Node Feature Discovery for an NVIDIA device on the PCI bus: of any class, a display or a 3D controller.
const PCI_DEVICE_LABELS: [&str; 3] = [
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
];
const GKE_ACCELERATOR_LABEL: &str = "cloud.google.com/gke-accelerator";
/// The label for the MIG profile of all GPUs of a GKE node.
const GKE_PARTITION_LABEL: &str = "cloud.google.com/gke-gpu-partition-size";
/// The prefix of resources for MIG devices, before their profile.
const MIG_RESOURCE_PREFIX: &str = "nvidia.com/mig-";
/// The suffix of a resource that several containers share.
const SHARED_SUFFIX: &str = ".shared";
/// The resources for whole GPUs, or for MIG devices under the strategy `single`.
const GPU_RESOURCES: [&str; 2] = ["nvidia.com/gpu", "nvidia.com/gpu.shared"];
/// GPU resources of the device plugins of other vendors.
const OTHER_VENDORS: [(&str, &str); 3] =
    [("amd.com/gpu", "AMD"), ("gpu.intel.com/i915", "Intel"), ("gpu.intel.com/xe", "Intel")];
const PRODUCT_LABEL: &str = "nvidia.com/gpu.product";

/// Labels by name.
type LabelMap = BTreeMap<String, String>;

/// Returns the value of a label, if it is not empty.
fn label_value<'a>(labels: &'a LabelMap, name: &str) -> Option<&'a str> {
    labels.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// Joins the components of a version from labels with these suffixes.
fn joined_version(labels: &LabelMap, name: &str, parts: &[&str]) -> Option<String> {
    let mut text = label_value(labels, &format!("{name}.{}", parts.first()?))?.to_owned();
    for part in parts.iter().skip(1) {
        let Some(value) = label_value(labels, &format!("{name}.{part}")) else { break };
        text.push('.');
        text.push_str(value);
    }
    Some(text)
}

/// Returns the driver version from the new labels, else the old ones, and adds notes on inconsistent labels.
fn driver_from_labels(labels: &LabelMap, build: &mut MachineConfig) -> Option<DriverVersion> {
    let full = label_value(labels, &format!("{DRIVER_LABEL}.full")).map(str::to_owned);
    let new = full.or_else(|| joined_version(labels, DRIVER_LABEL, &["major", "minor", "revision"]));
    let old = joined_version(labels, OLD_DRIVER_LABEL, &["major", "minor", "rev"]);
    if let (Some(new), Some(old)) = (&new, &old)
        && new != old
    {
        build
            .notes
            .insert(format!("the old labels specify driver {old}, the new ones {new}: the new ones take precedence"));
    }
    let text = new.or(old)?;
    let version = text.parse::<DriverVersion>().ok().filter(|version| !version.is_branch_only());
    if version.is_none() {
        build.notes.insert(format!("a label specifies driver `{text}`, which is not a driver version"));
    }
    version
}

/// Returns the CUDA version of the driver from the new labels, else the old ones.
fn cuda_from_labels(labels: &LabelMap) -> Option<CudaVersion> {
    let new = label_value(labels, &format!("{CUDA_LABEL}.full")).map(str::to_owned);
    let new = new.or_else(|| joined_version(labels, CUDA_LABEL, &["major", "minor"]));
    new.or_else(|| joined_version(labels, OLD_CUDA_LABEL, &["major", "minor"]))?.parse().ok()
}

/// Returns the compute capability from the labels.
fn capability_from_labels(labels: &LabelMap) -> Option<ComputeCapability> {
    joined_version(labels, "nvidia.com/gpu.compute", &["major", "minor"])?.parse().ok()
}

/// Adds a node to the machines with GPUs, or to the skipped nodes.
fn add_node(node: &KubernetesNode, found: &mut Inventory) {
    let labels = &node.labels;
    let resources = node.resources.iter().filter(|(name, count)| is_gpu_resource(name) && **count > 0);
    let has_resource = resources.count() > 0;
    let has_gpu_label = label_value(labels, PRODUCT_LABEL).is_some()
        || label_value(labels, GKE_ACCELERATOR_LABEL).is_some()
        || label_value(labels, "nvidia.com/gpu.present") == Some("true")
        || label_value(labels, "kubernetes.azure.com/accelerator") == Some("nvidia");
    let on_the_bus = PCI_DEVICE_LABELS.iter().any(|name| label_value(labels, name) == Some("true"));
    if !has_resource && !has_gpu_label && !on_the_bus {
        let other =
            OTHER_VENDORS.iter().find(|(resource, _)| node.resources.get(*resource).is_some_and(|count| *count > 0));
        let why = other.map_or_else(|| "without GPUs".to_owned(), |(_, maker)| format!("with {maker} GPUs"));
        found.skip_node(labels, &why);
        return;
    }
    let mut build = MachineConfig::default();
    if !has_resource && !has_gpu_label {
        let message = "the labels list an NVIDIA device on the PCI bus of these nodes, but no GPU for containers; check \
                    the device plugin";
        build.notes.insert(message.to_owned());
    }
    build.driver = driver_from_labels(labels, &mut build);
    build.cuda = cuda_from_labels(labels);
    build.gpus = node_gpus(node, &mut build);
    build.pool = POOL_LABELS.iter().find_map(|name| label_value(labels, name)).map(str::to_owned);
    let system = node.system.as_deref().or_else(|| label_value(labels, "kubernetes.io/os")).unwrap_or("linux");
    if system != "linux" {
        found.notes.insert(format!("{}: skipped, because the node runs {system}", node.name));
        found.skip_node(labels, &format!("that run {system}"));
        return;
    }
    let arch = node.architecture.as_deref().or_else(|| label_value(labels, "kubernetes.io/arch"));
    build.platform = arch.map(|arch| format!("linux/{arch}"));
    build.wsl = node.kernel.as_deref().is_some_and(|kernel| kernel.to_lowercase().contains("microsoft"));
    // Two launches are possible if the cloud has its own device plugin.
    build.launch = label_value(labels, GKE_ACCELERATOR_LABEL).is_none().then_some(Launch::Kubernetes);
    if label_value(labels, PRODUCT_LABEL).is_none() && label_value(labels, OLD_DRIVER_LABEL).is_none() {
        build.notes.insert("GPU Feature Discovery has not labelled these nodes".to_owned());
    }
    if label_value(labels, "nvidia.com/vgpu.present") == Some("true") {
        let has_profile = label_value(labels, PRODUCT_LABEL).is_some_and(names_vgpu_profile);
        let profile = if has_profile { "" } else { ", with an unknown profile" };
        build.notes.insert(format!("these are virtual GPUs{profile}"));
    }
    build.labels = identifying_labels(labels);
    let engine = node.engine.as_deref().and_then(|engine| engine.split_once("://"));
    found.machines.push(InventoryMachine {
        name: node.name.clone(),
        nodes: Some(1),
        engine: engine.map(|(name, version)| format!("{name} {version}")),
        build,
        labels: labels.clone(),
    });
}

/// Returns the labels that distinguish a node, without the version components if a full driver version is present.
fn identifying_labels(labels: &LabelMap) -> LabelMap {
    let whole = labels.contains_key("nvidia.com/cuda.driver-version.full");
    let kept = IDENTIFYING_LABELS.iter().filter(|name| !(whole && name.starts_with("nvidia.com/cuda.driver.")));
    kept.filter_map(|name| Some(((*name).to_owned(), label_value(labels, name)?.to_owned()))).collect()
}

/// Whether a resource is an NVIDIA GPU or MIG device.
fn is_gpu_resource(resource: &str) -> bool {
    let of = |name: &str| {
        matches!(name, "gpu" | "gpu.shared" | "pgpu") || name.starts_with("mig-") || name.starts_with("gpu-")
    };
    resource.strip_prefix("nvidia.com/").is_some_and(of)
}

/// Returns the GPUs of a node from its labels and device plugin resources.
fn node_gpus(node: &KubernetesNode, build: &mut MachineConfig) -> Vec<MachineGpu> {
    let labels = &node.labels;
    let slices = mig_devices(node);
    let mut parts = GpuPartitioning::Whole;
    if !slices.is_empty() {
        let whole = GPU_RESOURCES.iter().filter_map(|name| node.resources.get(*name)).max();
        let has_whole_gpus = match whole {
            Some(count) => Some(*count > 0),
            None => node.resources.keys().any(|name| name.starts_with(MIG_RESOURCE_PREFIX)).then_some(false),
        };
        let device_counts: Vec<String> = slices.iter().map(|(profile, count)| format!("{count} x {profile}")).collect();
        let how = match has_whole_gpus {
            Some(true) => "MIG devices and whole GPUs",
            Some(false) => "MIG devices and no whole GPU",
            None => "MIG devices, and possibly whole GPUs",
        };
        build.notes.insert(format!("{how}: {}", device_counts.join(", ")));
        parts = GpuPartitioning::mig(slices.keys().map(String::as_str), has_whole_gpus);
    }
    let Some(product) = label_value(labels, PRODUCT_LABEL) else {
        let partition = label_value(labels, GKE_PARTITION_LABEL);
        let parts = match partition {
            Some(profile) => GpuPartitioning::mig([profile], Some(false)),
            None if parts.is_mig() => parts,
            // No label shows that a GPU is not partitioned.
            None => GpuPartitioning::Unknown,
        };
        let name = label_value(labels, GKE_ACCELERATOR_LABEL).unwrap_or_default();
        if name.is_empty() && !parts.is_mig() {
            return Vec::new();
        }
        let count = node.resources.get("nvidia.com/gpu").copied();
        if let Some((profile, count)) = partition.zip(count) {
            build.notes.insert(mig_device_note(count, profile));
        }
        let count = count.filter(|_| !parts.is_mig());
        return vec![MachineGpu { name: name.to_owned(), count, parts, capability: capability_from_labels(labels) }];
    };
    let shared = product.strip_suffix("-SHARED");
    let replicas = label_value(labels, "nvidia.com/gpu.replicas").filter(|replicas| !matches!(*replicas, "0" | "1"));
    if shared.is_some() || replicas.is_some() {
        let each = replicas.map_or_else(String::new, |replicas| format!(", {replicas} containers per GPU"));
        let how = match label_value(labels, "nvidia.com/gpu.sharing-strategy") {
            Some("mps") => "shared with MPS",
            _ => "shared with time slicing",
        };
        build.notes.insert(format!("the GPUs are {how}{each}"));
    }
    let product = shared.unwrap_or(product);
    let count = label_value(labels, "nvidia.com/gpu.count").and_then(|count| count.parse().ok());
    let mut count = count.filter(|count: &u32| *count > 0);
    let (name, profile) = product.split_once("-MIG-").map_or((product, None), |(name, profile)| (name, Some(profile)));
    if let Some(profile) = profile {
        parts = GpuPartitioning::mig([profile], Some(false));
        // Under the strategy `single` the label counts devices, of which a GPU has several.
        if let Some(count) = count.take() {
            build.notes.insert(mig_device_note(count, profile));
        }
    }
    if profile == Some("INVALID") {
        build
            .notes
            .insert("the MIG strategy `single` is not compatible with the MIG devices of these nodes".to_owned());
    }
    vec![MachineGpu { name: name.to_owned(), count, parts, capability: capability_from_labels(labels) }]
}

/// Returns a note on the number of MIG devices of a node.
fn mig_device_note(count: u32, profile: &str) -> String {
    format!("MIG devices per node: {count} x {profile}; the number of GPUs is unknown")
}

/// Returns the profiles of MIG devices in resources and labels, with their counts.
fn mig_devices(node: &KubernetesNode) -> BTreeMap<String, String> {
    let offered = node.resources.iter().filter_map(|(name, count)| {
        let profile = name.strip_prefix(MIG_RESOURCE_PREFIX)?;
        Some((profile.strip_suffix(SHARED_SUFFIX).unwrap_or(profile), count.to_string()))
    });
    let labelled = node.labels.iter().filter_map(|(name, count)| {
        Some((name.strip_prefix(MIG_RESOURCE_PREFIX)?.strip_suffix(".count")?, count.trim().to_owned()))
    });
    let all = offered.chain(labelled).filter(|(_, count)| count != "0");
    all.map(|(profile, count)| (profile.to_owned(), count)).collect()
}
