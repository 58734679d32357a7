//! What a fleet file says and the machines do not.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fleet::Fleet;
use crate::fleet::GpuSpec;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::fleet::division;
use crate::inventory::Gpu;
use crate::inventory::Inventory;
use crate::inventory::Machine;
use crate::inventory::group::drafts;
use crate::inventory::placed::goes_with;
use crate::inventory::placed::is_of;
use crate::inventory::placed::spread;
use crate::knowledge::Knowledge;

/// How labels begin that say a driver or a GPU, and the differences that tell their values, too.
const TOLD: &[(&str, &[&str])] = &[
    ("nvidia.com/cuda.driver", &["driver"]),
    ("nvidia.com/gpu.product", &["gpu", "mig"]),
    ("nvidia.com/gpu.compute.", &["gpu"]),
    ("nvidia.com/gpu.count", &["count", "mig"]),
];

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// The declared pool; of new nodes the name that an import would give them.
    pub pool: String,
    /// `new`, `vanished`, `nodes`, `gpu`, `mig`, `count`, `driver`, `platform`, `labels`.
    pub what: &'static str,
    /// What the file says.
    pub declared: String,
    /// What is so.
    pub seen: String,
}

/// Every difference, in the order of the pools, new machines last.
pub fn drift(fleet: &Fleet, inventory: &Inventory, knowledge: Knowledge) -> Vec<Drift> {
    let mut placed: BTreeMap<usize, Vec<&Machine>> = BTreeMap::new();
    let mut new = Inventory::default();
    let pools = spread(fleet, &inventory.machines, knowledge);
    for (machine, pool) in inventory.machines.iter().zip(pools) {
        match pool {
            Some(at) => placed.entry(at).or_default().push(machine),
            None => new.machines.push(machine.clone()),
        }
    }
    let mut found = Vec::new();
    for (at, pool) in fleet.pools.iter().enumerate() {
        of_pool(pool, placed.get(&at).map_or(&[], Vec::as_slice), knowledge, &mut found);
    }
    for draft in drafts(&new) {
        let gpus: Vec<String> = draft.build.gpus.iter().map(described).collect();
        let gpus = if gpus.is_empty() { "an unknown GPU".to_owned() } else { gpus.join(", ") };
        let driver = draft.build.driver.map_or_else(String::new, |driver| format!(", driver {driver}"));
        let seen = format!("{} with {gpus}{driver}", nodes(draft.nodes.unwrap_or(1)));
        found.push(Drift { pool: draft.name, what: "new", declared: String::new(), seen });
    }
    found
}

/// A GPU as its source calls it, with what MIG makes of it.
fn described(gpu: &Gpu) -> String {
    let name = if gpu.name.is_empty() { "an unknown GPU" } else { &gpu.name };
    let parts = gpu.parts.others(&[]);
    if gpu.parts.is_mig() { format!("{name} ({})", parts.join(", ")) } else { name.to_owned() }
}

/// The differences of one pool.
fn of_pool(pool: &Pool, machines: &[&Machine], knowledge: Knowledge, found: &mut Vec<Drift>) {
    let mut told: Vec<&'static str> = Vec::new();
    let mut add = |what, declared: String, seen: String| {
        told.push(what);
        found.push(Drift { pool: pool.name.value.clone(), what, declared, seen });
    };
    let declared = pool.nodes.as_ref().map(|nodes| nodes.value);
    let number = machines.iter().fold(0_u32, |all, machine| all.saturating_add(machine.nodes.unwrap_or(1)));
    if machines.is_empty() {
        if declared != Some(0) {
            let declared = declared.map_or_else(|| "no number of nodes".to_owned(), nodes);
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
        |name: &&&str| !name.is_empty() && !pool.gpu.iter().any(|spec| is_of(&spec.value.name, name, knowledge));
    let others: Vec<&str> = gpus.iter().filter(other).copied().collect();
    if !pool.gpu.is_empty() && !others.is_empty() {
        add("gpu", pool.text_of(PoolField::Gpu).unwrap_or_default(), others.join(", "));
    }
    for (declared, seen) in divisions(pool, machines, knowledge) {
        add("mig", declared, seen);
    }
    for spec in &pool.gpu {
        let Some(declared) = spec.value.count else { continue };
        let same = builds().flat_map(|build| &build.gpus).filter(|gpu| gpu.parts.may_be(&spec.value));
        let same = same.filter(|gpu| is_of(&spec.value.name, &gpu.name, knowledge));
        let counts: BTreeSet<u32> = same.filter_map(|gpu| gpu.count).collect();
        if counts.iter().any(|count| *count != declared) {
            add("count", declared.to_string(), listed(counts.iter()));
        }
    }
    let drivers: BTreeSet<_> = builds().filter_map(|build| build.driver).collect();
    let newer = |driver: &&crate::cuda::DriverVersion| !pool.driver.iter().any(|spec| goes_with(&spec.value, **driver));
    let others: Vec<_> = drivers.iter().filter(newer).collect();
    if !pool.driver.is_empty() && !others.is_empty() {
        add("driver", pool.driver_text().unwrap_or_default(), listed(others.into_iter()));
    }
    if let Some(platform) = &pool.platform {
        let seen: BTreeSet<&str> = builds().filter_map(|build| build.platform.as_deref()).collect();
        let others: Vec<&&str> = seen.iter().filter(|seen| !platform.value.starts_with(**seen)).collect();
        if !others.is_empty() {
            add("platform", platform.value.clone(), listed(others.into_iter()));
        }
    }
    labels(pool, machines, &told, found);
}

/// Labels that nodes of a pool lack, or have with another value that is not told by these differences.
fn labels(pool: &Pool, machines: &[&Machine], told: &[&str], found: &mut Vec<Drift>) {
    for (name, value) in &pool.labels {
        let labelled = machines.iter().filter(|machine| !machine.labels.is_empty());
        let mut seen: BTreeSet<&str> =
            labelled.map(|machine| machine.labels.get(name).map_or("", String::as_str)).collect();
        // Another value is told above; that there is none is not.
        let told = |kind: &&str| told.contains(kind);
        if TOLD.iter().any(|(start, kinds)| name.starts_with(start) && kinds.iter().any(told)) {
            seen.retain(|seen| seen.is_empty());
        }
        if seen.iter().any(|seen| *seen != value.value) {
            let pool = pool.name.value.clone();
            let declared = format!("{name} = {}", value.value);
            found.push(Drift { pool, what: "labels", declared, seen: listed(seen.iter().map(said)) });
        }
    }
}

/// Where GPUs of a declared name are divided otherwise than declared: as they are declared, and as they are.
fn divisions(pool: &Pool, machines: &[&Machine], knowledge: Knowledge) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for gpu in machines.iter().flat_map(|machine| &machine.build.gpus) {
        // What a node does not name is what is declared.
        let named = |spec: &&GpuSpec| gpu.name.is_empty() || is_of(&spec.name, &gpu.name, knowledge);
        let declared: Vec<&GpuSpec> = pool.gpu.iter().map(|spec| &spec.value).filter(named).collect();
        let others = gpu.parts.others(&declared);
        if !declared.is_empty() && !others.is_empty() {
            let own = |spec: &&GpuSpec| format!("{} {}", spec.name, division(spec.mig.as_deref()));
            found.insert((listed(declared.iter().map(own)), others.join(", ")));
        }
    }
    found
}

/// The value of a label; an empty one is none.
fn said<'a>(value: &&'a str) -> &'a str {
    if value.is_empty() { "no such label" } else { value }
}

fn nodes(number: u32) -> String {
    if number == 1 { "1 node".to_owned() } else { format!("{number} nodes") }
}

fn listed<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}
