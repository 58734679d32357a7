//! What machines there are, as others wrote it down: `kubectl get nodes`, nvidia-smi, machine types of clouds, a list of
//! targets. Text in, pools of a fleet file out; what a source does not say stays unsaid.

mod csv;
mod drift;
mod group;
mod kubernetes;
mod labels;
mod likeness;
mod listing;
mod parts;
mod placed;
mod selector;
mod smi;
mod suits;
mod targets;
mod write;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use thiserror::Error;

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fleet::Launch;
use crate::knowledge::Knowledge;

pub use self::drift::{Drift, drift};
pub use self::group::{Draft, drafts};
pub use self::parts::Parts;
pub use self::placed::{as_seen, places};
pub use self::selector::{Labels, Term, choose, to_yaml};
pub use self::suits::suits;
pub use self::write::to_toml;

/// Longer files are nobody's: five thousand nodes print as 100 MB.
pub const LONGEST: usize = 256 << 20;
/// More machines are no fleet's.
const MOST: usize = 100_000;

/// A GPU of a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gpu {
    /// As the source calls it.
    pub name: String,
    /// How many.
    pub count: Option<u32>,
    /// Whether it is whole.
    pub parts: Parts,
    /// Compute capability, where the source says it.
    pub capability: Option<ComputeCapability>,
}

/// What machines have in common that make a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    /// What the source calls the pool.
    pub pool: Option<String>,
    /// GPUs; several = a machine has each of them. Empty = not known.
    pub gpus: Vec<Gpu>,
    /// Driver.
    pub driver: Option<DriverVersion>,
    /// Newest CUDA of the driver, where the source says it.
    pub cuda: Option<CudaVersion>,
    /// `linux/amd64`.
    pub platform: Option<String>,
    /// How containers are started, where the source is of one way alone.
    pub launch: Option<Launch>,
    /// Windows Subsystem for Linux.
    pub wsl: bool,
    /// Labels that tell pools apart.
    pub labels: BTreeMap<String, String>,
    /// What is to be known of it and has no field.
    pub notes: BTreeSet<String>,
}

/// Some machines of one build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its name; a file's where it has none.
    pub name: String,
    /// How many it stands for; none where nobody says.
    pub nodes: Option<u32>,
    /// `containerd 1.7.2`.
    pub engine: Option<String>,
    /// What it is.
    pub build: Build,
    /// Every label of it.
    pub labels: BTreeMap<String, String>,
}

/// What a source says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Machines with GPUs of NVIDIA.
    pub machines: Vec<Machine>,
    /// Labels of the nodes that are left out, for selectors that must not meet them.
    pub left_out: Vec<BTreeMap<String, String>>,
    /// Why they are, as `without GPUs`, with how many there are.
    pub why_left_out: BTreeMap<String, usize>,
    /// What could not be followed.
    pub notes: BTreeSet<String>,
}

impl Inventory {
    /// With the GPUs of machine types, where a node is known by its type alone.
    #[must_use]
    pub fn with_types(mut self, knowledge: Knowledge) -> Self {
        let nameless = |machine: &&mut Machine| machine.build.gpus.iter().all(|gpu| gpu.name.is_empty());
        for machine in self.machines.iter_mut().filter(nameless) {
            let Some(kind) = machine.build.labels.get("node.kubernetes.io/instance-type") else { continue };
            let Some(row) = knowledge.cloud_instance(kind) else { continue };
            let parts = machine.build.gpus.pop().map_or(Parts::Untold, |gpu| gpu.parts);
            let count = row.count.filter(|_| !parts.is_mig());
            let gpu = Gpu { name: row.gpu.to_owned(), count, parts, capability: None };
            machine.build.notes.insert(format!("the GPU is that of {}: {}", row.name, row.info.source));
            machine.build.gpus = vec![gpu];
        }
        self
    }

    /// Leaves out a node.
    fn leave_out(&mut self, labels: &BTreeMap<String, String>, why: &str) {
        self.left_out.push(labels.clone());
        *self.why_left_out.entry(why.to_owned()).or_default() += 1;
    }

    /// What is left out, in words; none where nothing is.
    pub fn told_left_out(&self) -> Option<String> {
        let one = |(why, number): (&String, &usize)| {
            if *number == 1 { format!("1 node {why}") } else { format!("{number} nodes {why}") }
        };
        let all: Vec<String> = self.why_left_out.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// With what another source says.
    pub fn join(&mut self, other: Self) {
        self.machines.extend(other.machines);
        self.left_out.extend(other.left_out);
        for (why, number) in other.why_left_out {
            *self.why_left_out.entry(why).or_default() += number;
        }
        self.notes.extend(other.notes);
    }
}

/// Why a source says nothing.
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

/// The form of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Smi,
    NodesJson,
    NodesYaml,
    Listing,
    Targets,
    Table,
}

impl Form {
    /// The form that a text without a byte order mark begins as.
    fn of(text: &str) -> Self {
        match text.trim_start().as_bytes().first() {
            Some(b'<') => Self::Smi,
            Some(b'{') => Self::NodesJson,
            _ if listing::is_one(text) => Self::Listing,
            _ if has_key(text, &["targets"]) => Self::Targets,
            _ if has_key(text, &["kind", "items", "apiVersion"]) => Self::NodesYaml,
            _ => Self::Table,
        }
    }
}

/// What prints a source of the same form as a text that cannot be read.
pub fn command_for(text: &str) -> &'static str {
    match Form::of(text) {
        Form::NodesJson | Form::NodesYaml => "kubectl get nodes -o json | imagelint fleet import -",
        Form::Listing => "nvidia-smi -L | imagelint fleet import -",
        Form::Targets => "imagelint fleet import gpu-targets.yml",
        Form::Smi => "nvidia-smi -q -x | imagelint fleet import -",
        Form::Table => {
            "for a machine: nvidia-smi -q -x | imagelint fleet import -; for a cluster: kubectl get nodes -o json | \
             imagelint fleet import -"
        }
    }
}

/// Reads a source in whichever form it is; `name` is what the file is called.
pub fn read(name: &str, text: &str, knowledge: Knowledge) -> Result<Inventory, InventoryError> {
    if text.len() > LONGEST {
        return Err(InventoryError::TooBig);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = match Form::of(text) {
        Form::Smi => smi::read(name, text.trim_start())?,
        Form::NodesJson => kubernetes::read_json(text)?,
        Form::NodesYaml => kubernetes::read_yaml(text)?,
        Form::Listing => listing::read(name, text)?,
        Form::Targets => targets::read(text)?,
        Form::Table => csv::read(name, text, knowledge)?,
    };
    if found.machines.len() > MOST { Err(InventoryError::TooBig) } else { Ok(found) }
}

/// Whether a line begins with one of these keys of YAML.
fn has_key(text: &str, keys: &[&str]) -> bool {
    text.lines().take(10_000).any(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim_matches(['"', '\'']));
        key.is_some_and(|key| keys.contains(&key))
    })
}

/// Machines of a cloud's type; none where the tables do not have it.
pub fn of_instance(kind: &str, nodes: Option<u32>, knowledge: Knowledge) -> Option<Inventory> {
    let row = knowledge.cloud_instance(kind)?;
    let gpu = Gpu { name: row.gpu.to_owned(), count: row.count, parts: Parts::Untold, capability: None };
    let mut told = BTreeSet::from([format!("{} of {}: {}", row.name, row.provider, row.info.source)]);
    if row.count.is_none() {
        told.insert("a machine has a part of one GPU".to_owned());
    }
    let build = Build { pool: Some(row.name.to_owned()), gpus: vec![gpu], notes: told, ..Build::default() };
    let machine = Machine { name: row.name.to_owned(), nodes, build, ..Machine::default() };
    Some(Inventory { machines: vec![machine], ..Inventory::default() })
}
