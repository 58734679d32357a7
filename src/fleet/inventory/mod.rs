//! Reads descriptions of existing machines (`kubectl get nodes`, nvidia-smi, cloud machine types, lists of targets)
//! and writes them as pools of a fleet file.

mod csv;
mod drift;
mod fleet_file;
mod gpu_targets;
mod kubernetes;
mod partitioning;
mod pool_drafts;
mod pool_suitability;
mod selector;
mod smi_list;
mod smi_xml;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::Launch;
use crate::knowledge::Knowledge;

pub use self::drift::{Drift, fleet_drift};
pub use self::fleet_file::{fleet_file_toml, matching_pools, pool_as_observed};
pub use self::partitioning::GpuPartitioning;
pub use self::pool_drafts::{PoolDraft, draft_pools};
pub use self::pool_suitability::can_schedule_on_pool;
pub use self::selector::{NodeLabels, NodeSelectorTerm, affinity_yaml, node_selector_terms};

/// The largest file that is read; the output for five thousand nodes is 100 MB.
pub const MAX_FILE_SIZE: usize = 256 << 20;
/// The largest number of machines in one inventory.
const MAX_MACHINES: usize = 100_000;

/// GPUs of one model in a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineGpu {
    /// As the source calls it.
    pub name: String,
    /// How many.
    pub count: Option<u32>,
    /// Whether it is whole.
    pub parts: GpuPartitioning,
    /// Compute capability, if the source contains it.
    pub capability: Option<ComputeCapability>,
}

/// The configuration that all machines of a pool share.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineConfig {
    /// What the source calls the pool.
    pub pool: Option<String>,
    /// GPUs; several = a machine has each of them. Empty = not known.
    pub gpus: Vec<MachineGpu>,
    /// Driver.
    pub driver: Option<DriverVersion>,
    /// Newest CUDA of the driver, if the source contains it.
    pub cuda: Option<CudaVersion>,
    /// `linux/amd64`.
    pub platform: Option<String>,
    /// How containers are started, where the source is of one way alone.
    pub launch: Option<Launch>,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// Labels that distinguish pools.
    pub labels: BTreeMap<String, String>,
    /// What is to be known of it and has no field.
    pub notes: BTreeSet<String>,
}

/// A machine, or a number of machines with the same configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryMachine {
    /// Its name; a file's where it has none.
    pub name: String,
    /// How many it stands for, if known.
    pub nodes: Option<u32>,
    /// `containerd 1.7.2`.
    pub engine: Option<String>,
    /// What it is.
    pub build: MachineConfig,
    /// Every label of it.
    pub labels: BTreeMap<String, String>,
}

/// The machines and skipped nodes in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Machines with GPUs of NVIDIA.
    pub machines: Vec<InventoryMachine>,
    /// Labels of the nodes that are left out, for selectors that must not match them.
    pub left_out: Vec<BTreeMap<String, String>>,
    /// Why they are, as `without GPUs`, with how many there are.
    pub why_left_out: BTreeMap<String, usize>,
    /// What could not be followed.
    pub notes: BTreeSet<String>,
}

impl Inventory {
    /// Adds the GPUs of cloud machine types to nodes for which only the type is known.
    #[must_use]
    pub fn with_instance_type_gpus(mut self, knowledge: Knowledge) -> Self {
        let nameless = |machine: &&mut InventoryMachine| machine.build.gpus.iter().all(|gpu| gpu.name.is_empty());
        for machine in self.machines.iter_mut().filter(nameless) {
            let Some(kind) = machine.build.labels.get("node.kubernetes.io/instance-type") else { continue };
            let Some(row) = knowledge.cloud_instance(kind) else { continue };
            let parts = machine.build.gpus.pop().map_or(GpuPartitioning::Unknown, |gpu| gpu.parts);
            let count = row.count.filter(|_| !parts.is_mig());
            let gpu = MachineGpu { name: row.gpu.to_owned(), count, parts, capability: None };
            machine.build.notes.insert(format!("the GPU is that of {}: {}", row.name, row.info.source));
            machine.build.gpus = vec![gpu];
        }
        self
    }

    /// Records a node as skipped, with the reason.
    fn skip_node(&mut self, labels: &BTreeMap<String, String>, why: &str) {
        self.left_out.push(labels.clone());
        *self.why_left_out.entry(why.to_owned()).or_default() += 1;
    }

    /// Returns a text on the skipped nodes; `None` if there are none.
    pub fn skipped_summary(&self) -> Option<String> {
        let one = |(why, number): (&String, &usize)| {
            if *number == 1 { format!("1 node {why}") } else { format!("{number} nodes {why}") }
        };
        let all: Vec<String> = self.why_left_out.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Adds the machines and notes of another inventory.
    pub fn merge(&mut self, other: Self) {
        self.machines.extend(other.machines);
        self.left_out.extend(other.left_out);
        for (why, number) in other.why_left_out {
            *self.why_left_out.entry(why).or_default() += number;
        }
        self.notes.extend(other.notes);
    }
}

/// The reason why a source cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InventoryError {
    /// It is broken.
    #[error("{0}")]
    Unreadable(String),
    /// It is none of the forms that are read.
    #[error(
        "unknown format: expected `kubectl get nodes -o json` or `-o yaml`, `nvidia-smi -q -x`, `nvidia-smi \
         --query-gpu=name,driver_version,compute_cap --format=csv`, `nvidia-smi -L` or a gpu-targets.yml"
    )]
    Unknown,
    /// It is out of all proportion.
    #[error("the file exceeds the size limit")]
    TooBig,
}

/// The format of a text that lists the GPUs of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InventoryFormat {
    Smi,
    NodesJson,
    NodesYaml,
    Listing,
    Targets,
    Table,
}

impl InventoryFormat {
    /// Detects the format from the start of a text without a byte order mark.
    fn detect(text: &str) -> Self {
        match text.trim_start().as_bytes().first() {
            Some(b'<') => Self::Smi,
            Some(b'{') => Self::NodesJson,
            _ if smi_list::is_gpu_list(text) => Self::Listing,
            _ if has_yaml_key(text, &["targets"]) => Self::Targets,
            _ if has_yaml_key(text, &["kind", "items", "apiVersion"]) => Self::NodesYaml,
            _ => Self::Table,
        }
    }
}

/// Returns a command that produces a readable source of the same format as a text that cannot be read.
pub fn example_command(text: &str) -> &'static str {
    match InventoryFormat::detect(text) {
        InventoryFormat::NodesJson | InventoryFormat::NodesYaml => {
            "kubectl get nodes -o json | imagelint fleet import -"
        }
        InventoryFormat::Listing => "nvidia-smi -L | imagelint fleet import -",
        InventoryFormat::Targets => "imagelint fleet import gpu-targets.yml",
        InventoryFormat::Smi => "nvidia-smi -q -x | imagelint fleet import -",
        InventoryFormat::Table => {
            "for a machine: nvidia-smi -q -x | imagelint fleet import -; for a cluster: kubectl get nodes -o json | \
             imagelint fleet import -"
        }
    }
}

/// Reads a source in any supported format; `name` is the name of its file.
pub fn read_inventory(name: &str, text: &str, knowledge: Knowledge) -> Result<Inventory, InventoryError> {
    if text.len() > MAX_FILE_SIZE {
        return Err(InventoryError::TooBig);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = match InventoryFormat::detect(text) {
        InventoryFormat::Smi => smi_xml::read_smi_xml(name, text.trim_start())?,
        InventoryFormat::NodesJson => kubernetes::read_json(text)?,
        InventoryFormat::NodesYaml => kubernetes::read_yaml(text)?,
        InventoryFormat::Listing => smi_list::read_gpu_list(name, text)?,
        InventoryFormat::Targets => gpu_targets::read_targets(text)?,
        InventoryFormat::Table => csv::read_csv(name, text, knowledge)?,
    };
    if found.machines.len() > MAX_MACHINES { Err(InventoryError::TooBig) } else { Ok(found) }
}

/// Whether a line starts with one of these YAML keys.
fn has_yaml_key(text: &str, keys: &[&str]) -> bool {
    text.lines().take(10_000).any(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim_matches(['"', '\'']));
        key.is_some_and(|key| keys.contains(&key))
    })
}

/// Returns machines of a cloud machine type; `None` if the tables do not list it.
pub fn inventory_of_instance_type(
    instance_type: &str,
    node_count: Option<u32>,
    knowledge: Knowledge,
) -> Option<Inventory> {
    let row = knowledge.cloud_instance(instance_type)?;
    let gpu =
        MachineGpu { name: row.gpu.to_owned(), count: row.count, parts: GpuPartitioning::Unknown, capability: None };
    let mut notes = BTreeSet::from([format!("{} of {}: {}", row.name, row.provider, row.info.source)]);
    if row.count.is_none() {
        notes.insert("a machine has a part of one GPU".to_owned());
    }
    let build = MachineConfig { pool: Some(row.name.to_owned()), gpus: vec![gpu], notes, ..MachineConfig::default() };
    let machine =
        InventoryMachine { name: row.name.to_owned(), nodes: node_count, build, ..InventoryMachine::default() };
    Some(Inventory { machines: vec![machine], ..Inventory::default() })
}
