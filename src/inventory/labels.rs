//! What the labels of a node say: those of GPU Feature Discovery, by their new and old names, and those of clouds.

use std::collections::BTreeMap;

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::Launch;
use crate::inventory::Build;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::Machine;
use crate::inventory::Parts;
use crate::inventory::kubernetes::Node;
use crate::knowledge::names_share;

/// Labels that pools are known by, the first that a node has.
pub(super) const POOL_LABELS: &[&str] = &[
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
];

/// Labels that say what a node is, beside those of its pool and its driver: the most telling first.
pub(super) const TELLING: &[&str] = &[
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

const DRIVER: &str = "nvidia.com/cuda.driver-version";
const OLD_DRIVER: &str = "nvidia.com/cuda.driver";
const CUDA: &str = "nvidia.com/cuda.runtime-version";
const OLD_CUDA: &str = "nvidia.com/cuda.runtime";
/// Node Feature Discovery has seen a device of NVIDIA on the bus: of any class, or one that draws or computes.
const ON_THE_BUS: [&str; 3] = [
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0300_10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
];
const GKE: &str = "cloud.google.com/gke-accelerator";
/// The profile of the devices that MIG makes of each GPU of a node.
const GKE_PARTITION: &str = "cloud.google.com/gke-gpu-partition-size";
/// What MIG devices are called that are no `nvidia.com/gpu`, before their profile.
const SLICE: &str = "nvidia.com/mig-";
/// What ends the name of a resource that several containers share.
const SHARED: &str = ".shared";
/// What whole GPUs are called, or under the strategy `single` MIG devices.
const WHOLE: [&str; 2] = ["nvidia.com/gpu", "nvidia.com/gpu.shared"];
/// What device plugins of other makers call their GPUs.
const OTHER_MAKERS: [(&str, &str); 3] =
    [("amd.com/gpu", "AMD"), ("gpu.intel.com/i915", "Intel"), ("gpu.intel.com/xe", "Intel")];
const PRODUCT: &str = "nvidia.com/gpu.product";

type Labels = BTreeMap<String, String>;

/// The value of a label, where it is not empty.
fn get<'a>(labels: &'a Labels, name: &str) -> Option<&'a str> {
    labels.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// The parts of a version under labels that end in these words.
fn joined(labels: &Labels, name: &str, parts: &[&str]) -> Option<String> {
    let mut text = get(labels, &format!("{name}.{}", parts.first()?))?.to_owned();
    for part in parts.iter().skip(1) {
        let Some(value) = get(labels, &format!("{name}.{part}")) else { break };
        text.push('.');
        text.push_str(value);
    }
    Some(text)
}

/// The driver, by its new labels, else by its old ones; and what is odd about them.
fn driver(labels: &Labels, build: &mut Build) -> Option<DriverVersion> {
    let full = get(labels, &format!("{DRIVER}.full")).map(str::to_owned);
    let new = full.or_else(|| joined(labels, DRIVER, &["major", "minor", "revision"]));
    let old = joined(labels, OLD_DRIVER, &["major", "minor", "rev"]);
    if let (Some(new), Some(old)) = (&new, &old)
        && new != old
    {
        build
            .notes
            .insert(format!("the old labels specify driver {old}, the new ones {new}: the new ones take precedence"));
    }
    let text = new.or(old)?;
    let version = text.parse::<DriverVersion>().ok().filter(|version| !version.is_branch());
    if version.is_none() {
        build.notes.insert(format!("a label specifies driver `{text}`, which is not a driver version"));
    }
    version
}

fn cuda(labels: &Labels) -> Option<CudaVersion> {
    let new = get(labels, &format!("{CUDA}.full")).map(str::to_owned);
    let new = new.or_else(|| joined(labels, CUDA, &["major", "minor"]));
    new.or_else(|| joined(labels, OLD_CUDA, &["major", "minor"]))?.parse().ok()
}

fn capability(labels: &Labels) -> Option<ComputeCapability> {
    joined(labels, "nvidia.com/gpu.compute", &["major", "minor"])?.parse().ok()
}

/// Adds a node to those with GPUs, or to those without.
pub(super) fn add(node: &Node, found: &mut Inventory) {
    let labels = &node.labels;
    let resources = node.resources.iter().filter(|(name, count)| is_gpu(name) && **count > 0);
    let has_resource = resources.count() > 0;
    let said = get(labels, PRODUCT).is_some()
        || get(labels, GKE).is_some()
        || get(labels, "nvidia.com/gpu.present") == Some("true")
        || get(labels, "kubernetes.azure.com/accelerator") == Some("nvidia");
    let on_the_bus = ON_THE_BUS.iter().any(|name| get(labels, name) == Some("true"));
    if !has_resource && !said && !on_the_bus {
        let other =
            OTHER_MAKERS.iter().find(|(resource, _)| node.resources.get(*resource).is_some_and(|count| *count > 0));
        let why = other.map_or_else(|| "without GPUs".to_owned(), |(_, maker)| format!("with {maker} GPUs"));
        found.leave_out(labels, &why);
        return;
    }
    let mut build = Build::default();
    if !has_resource && !said {
        let told = "the labels list an NVIDIA device on the PCI bus of these nodes, but no GPU for containers; check \
                    the device plugin";
        build.notes.insert(told.to_owned());
    }
    build.driver = driver(labels, &mut build);
    build.cuda = cuda(labels);
    build.gpus = gpus(node, &mut build);
    build.pool = POOL_LABELS.iter().find_map(|name| get(labels, name)).map(str::to_owned);
    let system = node.system.as_deref().or_else(|| get(labels, "kubernetes.io/os")).unwrap_or("linux");
    if system != "linux" {
        found.notes.insert(format!("{}: skipped, because the node runs {system}", node.name));
        found.leave_out(labels, &format!("that run {system}"));
        return;
    }
    let arch = node.architecture.as_deref().or_else(|| get(labels, "kubernetes.io/arch"));
    build.platform = arch.map(|arch| format!("linux/{arch}"));
    build.wsl = node.kernel.as_deref().is_some_and(|kernel| kernel.to_lowercase().contains("microsoft"));
    // Two launches are possible where the cloud brings a device plugin of its own.
    build.launch = get(labels, GKE).is_none().then_some(Launch::Kubernetes);
    if get(labels, PRODUCT).is_none() && get(labels, OLD_DRIVER).is_none() {
        build.notes.insert("GPU Feature Discovery has not labelled these nodes".to_owned());
    }
    if get(labels, "nvidia.com/vgpu.present") == Some("true") {
        let told = get(labels, PRODUCT).is_some_and(names_share);
        let profile = if told { "" } else { ", with an unknown profile" };
        build.notes.insert(format!("these are virtual GPUs{profile}"));
    }
    build.labels = telling(labels);
    let engine = node.engine.as_deref().and_then(|engine| engine.split_once("://"));
    found.machines.push(Machine {
        name: node.name.clone(),
        nodes: Some(1),
        engine: engine.map(|(name, version)| format!("{name} {version}")),
        build,
        labels: labels.clone(),
    });
}

/// The labels that say what a node is; where one label says all of a driver, its parts are left out.
fn telling(labels: &Labels) -> Labels {
    let whole = labels.contains_key("nvidia.com/cuda.driver-version.full");
    let kept = TELLING.iter().filter(|name| !(whole && name.starts_with("nvidia.com/cuda.driver.")));
    kept.filter_map(|name| Some(((*name).to_owned(), get(labels, name)?.to_owned()))).collect()
}

fn is_gpu(resource: &str) -> bool {
    let of = |name: &str| {
        matches!(name, "gpu" | "gpu.shared" | "pgpu") || name.starts_with("mig-") || name.starts_with("gpu-")
    };
    resource.strip_prefix("nvidia.com/").is_some_and(of)
}

/// The GPUs of a node by its labels, and by what its device plugin offers.
fn gpus(node: &Node, build: &mut Build) -> Vec<Gpu> {
    let labels = &node.labels;
    let slices = slices(node);
    let mut parts = Parts::Whole;
    if !slices.is_empty() {
        let whole = WHOLE.iter().filter_map(|name| node.resources.get(*name)).max();
        let beside = match whole {
            Some(count) => Some(*count > 0),
            None => node.resources.keys().any(|name| name.starts_with(SLICE)).then_some(false),
        };
        let told: Vec<String> = slices.iter().map(|(profile, count)| format!("{count} x {profile}")).collect();
        let how = match beside {
            Some(true) => "MIG devices and whole GPUs",
            Some(false) => "MIG devices and no whole GPU",
            None => "MIG devices, and possibly whole GPUs",
        };
        build.notes.insert(format!("{how}: {}", told.join(", ")));
        parts = Parts::mig(slices.keys().map(String::as_str), beside);
    }
    let Some(product) = get(labels, PRODUCT) else {
        let partition = get(labels, GKE_PARTITION);
        let parts = match partition {
            Some(profile) => Parts::mig([profile], Some(false)),
            None if parts.is_mig() => parts,
            // No label says that a GPU is whole.
            None => Parts::Untold,
        };
        let name = get(labels, GKE).unwrap_or_default();
        if name.is_empty() && !parts.is_mig() {
            return Vec::new();
        }
        let count = node.resources.get("nvidia.com/gpu").copied();
        if let Some((profile, count)) = partition.zip(count) {
            build.notes.insert(devices(count, profile));
        }
        let count = count.filter(|_| !parts.is_mig());
        return vec![Gpu { name: name.to_owned(), count, parts, capability: capability(labels) }];
    };
    let shared = product.strip_suffix("-SHARED");
    let replicas = get(labels, "nvidia.com/gpu.replicas").filter(|replicas| !matches!(*replicas, "0" | "1"));
    if shared.is_some() || replicas.is_some() {
        let each = replicas.map_or_else(String::new, |replicas| format!(", {replicas} containers per GPU"));
        let how = match get(labels, "nvidia.com/gpu.sharing-strategy") {
            Some("mps") => "shared with MPS",
            _ => "shared with time slicing",
        };
        build.notes.insert(format!("the GPUs are {how}{each}"));
    }
    let product = shared.unwrap_or(product);
    let count = get(labels, "nvidia.com/gpu.count").and_then(|count| count.parse().ok());
    let mut count = count.filter(|count: &u32| *count > 0);
    let (name, profile) = product.split_once("-MIG-").map_or((product, None), |(name, profile)| (name, Some(profile)));
    if let Some(profile) = profile {
        parts = Parts::mig([profile], Some(false));
        // Under the strategy `single` the label counts devices, of which a GPU has several.
        if let Some(count) = count.take() {
            build.notes.insert(devices(count, profile));
        }
    }
    if profile == Some("INVALID") {
        build
            .notes
            .insert("the MIG strategy `single` is not compatible with the MIG devices of these nodes".to_owned());
    }
    vec![Gpu { name: name.to_owned(), count, parts, capability: capability(labels) }]
}

fn devices(count: u32, profile: &str) -> String {
    format!("MIG devices per node: {count} x {profile}; the number of GPUs is unknown")
}

/// The MIG devices that have resources or labels of their own, with how many there are.
fn slices(node: &Node) -> BTreeMap<String, String> {
    let offered = node.resources.iter().filter_map(|(name, count)| {
        let profile = name.strip_prefix(SLICE)?;
        Some((profile.strip_suffix(SHARED).unwrap_or(profile), count.to_string()))
    });
    let labelled = node
        .labels
        .iter()
        .filter_map(|(name, count)| Some((name.strip_prefix(SLICE)?.strip_suffix(".count")?, count.trim().to_owned())));
    let all = offered.chain(labelled).filter(|(_, count)| count != "0");
    all.map(|(profile, count)| (profile.to_owned(), count)).collect()
}
