//! What is missing of a verdict, and how to supply it.

use crate::fact::FactKey;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::fleet::PoolField;
use crate::judge::Build;
use crate::judge::verdict::all_missing;
use crate::knowledge::Knowledge;
use crate::report::model;
use crate::start::Fate;
use crate::start::Verdict;

/// What would settle a verdict that cannot be told or depends.
pub(super) fn missing(verdict: &Verdict<'_>, knowledge: Knowledge) -> Vec<model::Missing> {
    let mut list: Vec<model::Missing> = Vec::new();
    if verdict.fate.is_none() {
        list.extend(verdict.open_fields.iter().map(|field| model::Missing {
            key: field.key().to_owned(),
            supply: settled_by(*field, verdict).to_owned(),
        }));
        if verdict.open_build {
            list.push(which_build(verdict));
        }
    }
    let undetermined = verdict.hosts.iter().any(|host| host.fate == Fate::Undetermined);
    if undetermined && verdict.fate.is_none_or(|fate| fate == Fate::Undetermined) {
        for missing in all_missing(verdict, knowledge) {
            let missing = model::Missing { key: missing.key, supply: missing.supply };
            // A field that settles the verdict is asked for once.
            if !list.iter().any(|other| other.key == missing.key) {
                list.push(missing);
            }
        }
    }
    // Of a pool that says neither, every other field counts for less.
    let first = [PoolField::Gpu, PoolField::Driver].map(PoolField::name);
    if first.iter().all(|name| list.iter().any(|one| one.key == *name)) {
        list.sort_by_key(|one| first.iter().position(|name| one.key == *name).unwrap_or(first.len()));
    }
    list
}

/// How to settle a verdict by a field: a pool may say nothing there, or more than one thing.
fn settled_by(field: PoolField, verdict: &Verdict<'_>) -> &'static str {
    let unnamed = || verdict.hosts.iter().any(|host| host.host.gpu.as_ref().is_some_and(|gpu| !gpu.named));
    if field == PoolField::Gpu && unnamed() { "set `gpu` of the pool" } else { supply(field) }
}

fn supply(field: PoolField) -> &'static str {
    match field {
        PoolField::Gpu => "split the pool by `gpu`",
        PoolField::Brand => "set `brand` of the pool",
        PoolField::ComputeCapability => "set `compute_capability` of the pool",
        PoolField::DriverCuda => "set `driver_cuda` of the pool",
        PoolField::LibnvidiaContainer => "set `libnvidia_container` of the pool",
        PoolField::Driver => "set `driver` of the pool to one version",
        PoolField::Launch => "set `launch` of the pool",
        PoolField::Toolkit => "set `toolkit` of the pool",
        PoolField::Mode => "set `mode` of the pool",
        PoolField::Platform => "set `platform` of the pool",
        PoolField::Env => "set `env` of the pool",
        PoolField::Wsl => "set `wsl` of the pool",
        PoolField::Host => "set `accept-nvidia-visible-devices-as-volume-mounts` under `[pool.host]`",
        PoolField::Engine => "set `engine` of the pool, with its version",
        PoolField::CdiSpecs => "set `cdi_specs` of the pool",
        PoolField::Runtime => "set `runtime` of the pool",
        PoolField::Strategy => "set `device_list_strategy` of the pool",
        PoolField::Privileged => "set `privileged` of the pool",
        PoolField::Modeset => "set `modeset` of the pool",
        PoolField::LibraryDirectory => "set `library_directory` of the pool",
    }
}

/// The files that name packages for a command to install and were not read, each once.
pub(super) fn unread_files(builds: &[Build]) -> Vec<model::Missing> {
    let missing = |(key, why): (String, &Why)| model::Missing { key, supply: why.supply.clone() };
    unread(builds).into_iter().map(missing).collect()
}

/// The same as notes.
pub(super) fn unread_notes(builds: &[Build]) -> Vec<String> {
    unread(builds).into_iter().map(|(_, why)| why.reason.clone()).collect()
}

/// The same as things that were not seen.
pub(super) fn unread_names(builds: &[Build]) -> Vec<String> {
    let entries = builds.iter().flat_map(|build| build.image.facts.iter()).map(|(_, entry)| entry);
    let unread = entries.filter(|entry| entry.key == FactKey::Requirements && matches!(entry.state, State::Unknown(_)));
    let mut names: Vec<String> = Vec::new();
    let packages = |of: &str| match of {
        "words of a command" => "packages of a command".to_owned(),
        variable if variable.starts_with('$') => format!("packages in {variable}"),
        file => format!("what {file} installs"),
    };
    for name in unread.filter_map(|entry| entry.of.as_deref()).map(packages) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn unread(builds: &[Build]) -> Vec<(String, &Why)> {
    let mut found: Vec<(String, &Why)> = Vec::new();
    for (_, entry) in builds.iter().flat_map(|build| build.image.facts.iter()) {
        if let (FactKey::Requirements, State::Unknown(why)) = (entry.key, &entry.state)
            && !found.iter().any(|(_, other)| *other == why)
        {
            found.push((entry.name(), why));
        }
    }
    found
}

/// That it is open which of several builds of the base is meant, and what tells it.
fn which_build(verdict: &Verdict<'_>) -> model::Missing {
    let supply = if is_pinned(verdict) {
        "set the date of the build with --as-of, because the compatibility database has no entry for this digest; or run `imagelint scan` on the built image"
    } else if verdict.hosts.iter().any(|host| host.image.build.as_deref().is_some_and(is_of_system)) {
        "name the operating system in the tag, pin the digest, or set the date of the build with --as-of"
    } else {
        "pin the digest, or set the date of the build with --as-of"
    };
    model::Missing { key: "image.base.digest".to_owned(), supply: supply.to_owned() }
}

/// Whether a build is told from others by its operating system, because the tag names none.
fn is_of_system(build: &str) -> bool {
    build.starts_with("on ")
}

/// Whether the base is given by its digest.
pub(super) fn is_pinned(verdict: &Verdict<'_>) -> bool {
    let base = verdict.hosts.first().and_then(|host| host.image.base.map(|id| &host.image.facts.get(id).state));
    matches!(base, Some(State::Known(Value::Text(name))) if name.contains('@'))
}
