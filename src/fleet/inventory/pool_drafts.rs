//! Groups machines with the same configuration into pools, with names that do not depend on their number or order.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::inventory::{Inventory, MachineConfig};

/// A pool to be written to a fleet file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolDraft {
    /// Its name.
    pub name: String,
    /// What its machines are.
    pub build: MachineConfig,
    /// How many there are, if known.
    pub nodes: Option<u32>,
    /// Their names.
    pub machines: BTreeSet<String>,
    /// Their engines.
    pub engines: BTreeSet<String>,
}

/// Returns the pools of an inventory, sorted by name.
pub fn draft_pools(inventory: &Inventory) -> Vec<PoolDraft> {
    let mut builds: BTreeMap<&MachineConfig, PoolDraft> = BTreeMap::new();
    for machine in &inventory.machines {
        let draft = builds.entry(&machine.build).or_insert_with(|| PoolDraft {
            name: String::new(),
            build: machine.build.clone(),
            nodes: Some(0),
            machines: BTreeSet::new(),
            engines: BTreeSet::new(),
        });
        draft.nodes = draft.nodes.zip(machine.nodes).map(|(all, more)| all.saturating_add(more));
        draft.machines.insert(machine.name.clone());
        draft.engines.extend(machine.engine.clone());
    }
    let mut drafts: Vec<PoolDraft> = builds.into_values().collect();
    assign_names(&mut drafts);
    drafts.sort_by(|one, other| one.name.cmp(&other.name));
    drafts
}

/// A property of a configuration that is appended to a pool name to make it unique.
type NameSuffix<'a> = &'a dyn Fn(&MachineConfig) -> Option<String>;

/// Names each pool after its source or its GPU, and appends further properties while names are equal.
fn assign_names(drafts: &mut [PoolDraft]) {
    let more: [NameSuffix<'_>; 5] = [
        &|build| build.gpus.first().filter(|_| build.pool.is_some()).map(gpu_name_for_pool),
        &|build| build.gpus.first()?.count.map(|count| format!("x{count}")),
        &|build| build.driver.map(|driver| driver.branch().to_string()),
        &|build| build.driver.map(|driver| driver.to_string()),
        &|build| build.platform.as_deref()?.split('/').nth(1).map(str::to_owned),
    ];
    for draft in drafts.iter_mut() {
        let build = &draft.build;
        let mut name = build.pool.clone().or_else(|| build.gpus.first().map(gpu_name_for_pool)).unwrap_or_default();
        if build.pool.is_none() && build.gpus.first().is_some_and(|gpu| gpu.parts.is_mig()) {
            name.push_str("-mig");
        }
        draft.name = slugify(&name);
    }
    for part in more {
        let twice = duplicate_names(drafts);
        for draft in drafts.iter_mut().filter(|draft| twice.contains(&draft.name)) {
            if let Some(part) = part(&draft.build) {
                draft.name = slugify(&format!("{}-{part}", draft.name));
            }
        }
    }
    // What is left differs in labels or notes alone.
    let twice = duplicate_names(drafts);
    let mut used: BTreeSet<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    for name in twice {
        let mut number = 1_u32;
        for draft in drafts.iter_mut().filter(|draft| draft.name == name).skip(1) {
            loop {
                number += 1;
                let own = format!("{name}-{number}");
                if used.insert(own.clone()) {
                    draft.name = own;
                    break;
                }
            }
        }
    }
}

/// Returns the names that several pools have.
fn duplicate_names(drafts: &[PoolDraft]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for draft in drafts {
        *counts.entry(&draft.name).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_owned()).collect()
}

/// Returns the name of a GPU for use in a pool name.
fn gpu_name_for_pool(gpu: &crate::fleet::inventory::MachineGpu) -> String {
    let name = if gpu.name.is_empty() { "gpu" } else { &gpu.name };
    let lower = name.to_lowercase();
    lower.trim_start_matches("nvidia").trim_start_matches([' ', '-']).to_owned()
}

/// Returns a text in lower case with each run of other characters replaced by a dash.
fn slugify(text: &str) -> String {
    let mut slug = String::new();
    for sign in text.chars().take(80) {
        if sign.is_ascii_alphanumeric() || sign == '.' || sign == '_' {
            slug.push(sign.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "pool".to_owned() } else { slug.to_owned() }
}
