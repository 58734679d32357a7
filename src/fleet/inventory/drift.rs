//! Differences between a fleet file and the actual machines.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::inventory::fleet_file::{assign_pools, is_same_gpu, matches_driver};
use crate::fleet::inventory::pool_drafts::draft_pools;
use crate::fleet::inventory::{Inventory, InventoryMachine, MachineGpu};
use crate::fleet::{Fleet, GpuSpec, Pool, PoolField, mig_division_text};
use crate::knowledge::Knowledge;

/// Prefixes of labels for a driver or a GPU, with the differences that already report their values.
const LABELS_COVERED_BY_FIELDS: &[(&str, &[&str])] = &[
    ("nvidia.com/cuda.driver", &["driver"]),
    ("nvidia.com/gpu.product", &["gpu", "mig"]),
    ("nvidia.com/gpu.compute.", &["gpu"]),
    ("nvidia.com/gpu.count", &["count", "mig"]),
];

/// One difference between a declared pool and the actual machines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// The declared pool; of new nodes the name that an import would give them.
    pub pool: String,
    /// `new`, `vanished`, `nodes`, `gpu`, `mig`, `count`, `driver`, `platform`, `labels`.
    pub what: &'static str,
    /// The value in the file.
    pub declared: String,
    /// What is so.
    pub seen: String,
}

/// Returns every difference, in the order of the pools; new machines come last.
pub fn fleet_drift(fleet: &Fleet, inventory: &Inventory, knowledge: Knowledge) -> Vec<Drift> {
    let mut placed: BTreeMap<usize, Vec<&InventoryMachine>> = BTreeMap::new();
    let mut new = Inventory::default();
    let pools = assign_pools(fleet, &inventory.machines, knowledge);
    for (machine, pool) in inventory.machines.iter().zip(pools) {
        match pool {
            Some(at) => placed.entry(at).or_default().push(machine),
            None => new.machines.push(machine.clone()),
        }
    }
    let mut found = Vec::new();
    for (at, pool) in fleet.pools.iter().enumerate() {
        pool_drift(pool, placed.get(&at).map_or(&[], Vec::as_slice), knowledge, &mut found);
    }
    for draft in draft_pools(&new) {
        let gpus: Vec<String> = draft.build.gpus.iter().map(describe_gpu).collect();
        let gpus = if gpus.is_empty() { "an unknown GPU".to_owned() } else { gpus.join(", ") };
        let driver = draft.build.driver.map_or_else(String::new, |driver| format!(", driver {driver}"));
        let seen = format!("{} with {gpus}{driver}", node_count_text(draft.nodes.unwrap_or(1)));
        found.push(Drift { pool: draft.name, what: "new", declared: String::new(), seen });
    }
    found
}

/// Returns the name of a GPU with its MIG devices.
fn describe_gpu(gpu: &MachineGpu) -> String {
    let name = if gpu.name.is_empty() { "an unknown GPU" } else { &gpu.name };
    let parts = gpu.parts.undeclared_partitions(&[]);
    if gpu.parts.is_mig() { format!("{name} ({})", parts.join(", ")) } else { name.to_owned() }
}

/// Adds the differences of one pool.
fn pool_drift(pool: &Pool, machines: &[&InventoryMachine], knowledge: Knowledge, found: &mut Vec<Drift>) {
    let mut reported: Vec<&'static str> = Vec::new();
    let mut add = |what, declared: String, seen: String| {
        reported.push(what);
        found.push(Drift { pool: pool.name.value.clone(), what, declared, seen });
    };
    let declared = pool.nodes.as_ref().map(|nodes| nodes.value);
    let number = machines.iter().fold(0_u32, |all, machine| all.saturating_add(machine.nodes.unwrap_or(1)));
    if machines.is_empty() {
        if declared != Some(0) {
            let declared = declared.map_or_else(|| "no number of nodes".to_owned(), node_count_text);
            add("vanished", declared, "no node".to_owned());
        }
        return;
    }
    if let Some(nodes) = declared.filter(|nodes| *nodes != number) {
        add("nodes", nodes.to_string(), number.to_string());
    }
    let builds = || machines.iter().map(|machine| &machine.build);
    // What a node does not say of itself is no difference.
    let gpus: BTreeSet<&str> = builds().flat_map(|build| &build.gpus).map(|gpu| gpu.name.as_str()).collect();
    let other =
        |name: &&&str| !name.is_empty() && !pool.gpu.iter().any(|spec| is_same_gpu(&spec.value.name, name, knowledge));
    let others: Vec<&str> = gpus.iter().filter(other).copied().collect();
    if !pool.gpu.is_empty() && !others.is_empty() {
        add("gpu", pool.field_text(PoolField::Gpu).unwrap_or_default(), others.join(", "));
    }
    for (declared, seen) in mig_differences(pool, machines, knowledge) {
        add("mig", declared, seen);
    }
    for spec in &pool.gpu {
        let Some(declared) = spec.value.count else { continue };
        let same = builds().flat_map(|build| &build.gpus).filter(|gpu| gpu.parts.may_match(&spec.value));
        let same = same.filter(|gpu| is_same_gpu(&spec.value.name, &gpu.name, knowledge));
        let counts: BTreeSet<u32> = same.filter_map(|gpu| gpu.count).collect();
        if counts.iter().any(|count| *count != declared) {
            add("count", declared.to_string(), join_values(counts.iter()));
        }
    }
    let drivers: BTreeSet<_> = builds().filter_map(|build| build.driver).collect();
    let newer =
        |driver: &&crate::cuda::DriverVersion| !pool.driver.iter().any(|spec| matches_driver(&spec.value, **driver));
    let others: Vec<_> = drivers.iter().filter(newer).collect();
    if !pool.driver.is_empty() && !others.is_empty() {
        add("driver", pool.driver_text().unwrap_or_default(), join_values(others.into_iter()));
    }
    if let Some(platform) = &pool.platform {
        let seen: BTreeSet<&str> = builds().filter_map(|build| build.platform.as_deref()).collect();
        let others: Vec<&&str> = seen.iter().filter(|seen| !platform.value.starts_with(**seen)).collect();
        if !others.is_empty() {
            add("platform", platform.value.clone(), join_values(others.into_iter()));
        }
    }
    label_drift(pool, machines, &reported, found);
}

/// Adds the labels that nodes of a pool lack or have with another value, unless another difference covers it.
fn label_drift(pool: &Pool, machines: &[&InventoryMachine], reported: &[&str], found: &mut Vec<Drift>) {
    for (name, value) in &pool.labels {
        let labelled = machines.iter().filter(|machine| !machine.labels.is_empty());
        let mut seen: BTreeSet<&str> =
            labelled.map(|machine| machine.labels.get(name).map_or("", String::as_str)).collect();
        // A different value is reported above, a missing one is not.
        let is_reported = |kind: &&str| reported.contains(kind);
        if LABELS_COVERED_BY_FIELDS
            .iter()
            .any(|(start, kinds)| name.starts_with(start) && kinds.iter().any(is_reported))
        {
            seen.retain(|seen| seen.is_empty());
        }
        if seen.iter().any(|seen| *seen != value.value) {
            let pool = pool.name.value.clone();
            let declared = format!("{name} = {}", value.value);
            found.push(Drift { pool, what: "labels", declared, seen: join_values(seen.iter().map(label_value_text)) });
        }
    }
}

/// Returns declared and actual MIG devices of the GPUs that are partitioned otherwise than declared.
fn mig_differences(pool: &Pool, machines: &[&InventoryMachine], knowledge: Knowledge) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for gpu in machines.iter().flat_map(|machine| &machine.build.gpus) {
        // What a node does not name is what is declared.
        let named = |spec: &&GpuSpec| gpu.name.is_empty() || is_same_gpu(&spec.name, &gpu.name, knowledge);
        let declared: Vec<&GpuSpec> = pool.gpu.iter().map(|spec| &spec.value).filter(named).collect();
        let others = gpu.parts.undeclared_partitions(&declared);
        if !declared.is_empty() && !others.is_empty() {
            let own = |spec: &&GpuSpec| format!("{} {}", spec.name, mig_division_text(spec.mig.as_deref()));
            found.insert((join_values(declared.iter().map(own)), others.join(", ")));
        }
    }
    found
}

/// Returns the value of a label, or a text for an absent one.
fn label_value_text<'a>(value: &&'a str) -> &'a str {
    if value.is_empty() { "no such label" } else { value }
}

/// Returns a number of nodes as text.
fn node_count_text(number: u32) -> String {
    if number == 1 { "1 node".to_owned() } else { format!("{number} nodes") }
}

/// Joins values with commas.
fn join_values<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}
