//! Machines of one build make a pool, with a name that does not change with their number or order.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::inventory::Build;
use crate::inventory::Inventory;

/// A pool in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its name.
    pub name: String,
    /// What its machines are.
    pub build: Build,
    /// How many there are; none where nobody says.
    pub nodes: Option<u32>,
    /// Their names.
    pub machines: BTreeSet<String>,
    /// Their engines.
    pub engines: BTreeSet<String>,
}

/// The pools of an inventory, by name.
pub fn drafts(inventory: &Inventory) -> Vec<Draft> {
    let mut builds: BTreeMap<&Build, Draft> = BTreeMap::new();
    for machine in &inventory.machines {
        let draft = builds.entry(&machine.build).or_insert_with(|| Draft {
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
    let mut drafts: Vec<Draft> = builds.into_values().collect();
    name(&mut drafts);
    drafts.sort_by(|one, other| one.name.cmp(&other.name));
    drafts
}

/// A part of a name.
type Part<'a> = &'a dyn Fn(&Build) -> Option<String>;

/// Names each by its pool or its GPU, and those that would be called alike by more and more of what they are.
fn name(drafts: &mut [Draft]) {
    let more: [Part<'_>; 5] = [
        &|build| build.gpus.first().filter(|_| build.pool.is_some()).map(gpu_word),
        &|build| build.gpus.first()?.count.map(|count| format!("x{count}")),
        &|build| build.driver.map(|driver| driver.branch().to_string()),
        &|build| build.driver.map(|driver| driver.to_string()),
        &|build| build.platform.as_deref()?.split('/').nth(1).map(str::to_owned),
    ];
    for draft in drafts.iter_mut() {
        let build = &draft.build;
        let mut name = build.pool.clone().or_else(|| build.gpus.first().map(gpu_word)).unwrap_or_default();
        if build.pool.is_none() && build.gpus.first().is_some_and(|gpu| gpu.parts.is_mig()) {
            name.push_str("-mig");
        }
        draft.name = slug(&name);
    }
    for part in more {
        let twice = twice(drafts);
        for draft in drafts.iter_mut().filter(|draft| twice.contains(&draft.name)) {
            if let Some(part) = part(&draft.build) {
                draft.name = slug(&format!("{}-{part}", draft.name));
            }
        }
    }
    // What is left differs in labels or notes alone.
    let twice = twice(drafts);
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

fn twice(drafts: &[Draft]) -> BTreeSet<String> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for draft in drafts {
        *counts.entry(&draft.name).or_default() += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name.to_owned()).collect()
}

/// What a GPU is called in the name of a pool.
fn gpu_word(gpu: &crate::inventory::Gpu) -> String {
    let name = if gpu.name.is_empty() { "gpu" } else { &gpu.name };
    let lower = name.to_lowercase();
    lower.trim_start_matches("nvidia").trim_start_matches([' ', '-']).to_owned()
}

/// Lower-case words with dashes between them.
fn slug(text: &str) -> String {
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
