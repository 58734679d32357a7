//! Information that is missing for a verdict, and how to supply it.

use crate::cause::Cause;
use crate::fact::{FactKey, PrintedValue, ValueState};
use crate::fleet::PoolField;
use crate::judge::PlatformBuild;
use crate::judge::verdict::missing_facts;
use crate::knowledge::Knowledge;
use crate::replay::{StartupResult, StartupVerdict};
use crate::report::model;

/// Returns what would decide a verdict that is unknown or depends on something.
pub(super) fn missing_for_verdict(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Vec<model::Missing> {
    let mut list: Vec<model::Missing> = Vec::new();
    if verdict.fate.is_none() {
        list.extend(verdict.open_fields.iter().map(|field| model::Missing {
            key: field.open_field_key().to_owned(),
            supply: supply_for_verdict(*field, verdict).to_owned(),
        }));
        if verdict.open_build {
            list.push(missing_base_build(verdict));
        }
    }
    let undetermined = verdict.hosts.iter().any(|host| host.fate == StartupResult::Undetermined);
    if undetermined && verdict.fate.is_none_or(|fate| fate == StartupResult::Undetermined) {
        for missing in missing_facts(verdict, knowledge) {
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

/// Returns how to supply a pool field for a verdict; the pool may declare no value, or several.
fn supply_for_verdict(field: PoolField, verdict: &StartupVerdict<'_>) -> &'static str {
    let unnamed = || verdict.hosts.iter().any(|host| host.host.gpu.as_ref().is_some_and(|gpu| !gpu.named));
    if field == PoolField::Gpu && unnamed() { "set `gpu` of the pool" } else { supply_instruction(field) }
}

/// Returns how to supply a pool field.
fn supply_instruction(field: PoolField) -> &'static str {
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

/// Returns the unread files that name packages to install, each once.
pub(super) fn unread_files(builds: &[PlatformBuild]) -> Vec<model::Missing> {
    let missing = |(key, why): (String, &Cause)| model::Missing { key, supply: why.remedy() };
    unread_requirements(builds).into_iter().map(missing).collect()
}

/// Returns the unread files as notes.
pub(super) fn unread_notes(builds: &[PlatformBuild]) -> Vec<String> {
    unread_requirements(builds).into_iter().map(|(_, why)| why.reason()).collect()
}

/// Returns the unread files as entries of the list of uninspected parts.
pub(super) fn unread_names(builds: &[PlatformBuild]) -> Vec<String> {
    let entries = builds.iter().flat_map(|build| build.image.facts.iter()).map(|(_, entry)| entry);
    let unread =
        entries.filter(|entry| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_)));
    let mut names: Vec<String> = Vec::new();
    let packages = |of: &str| match of {
        "words of a command" => "packages of a command".to_owned(),
        variable if variable.starts_with('$') => format!("packages in {variable}"),
        file => format!("what {file} installs"),
    };
    for name in unread.filter_map(|entry| entry.subject.as_deref()).map(packages) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns unread requirement files and commands with the cause, each cause once.
fn unread_requirements(builds: &[PlatformBuild]) -> Vec<(String, &Cause)> {
    let mut found: Vec<(String, &Cause)> = Vec::new();
    for (_, entry) in builds.iter().flat_map(|build| build.image.facts.iter()) {
        if let (FactKey::Requirements, ValueState::Unknown(why)) = (entry.key, &entry.state)
            && !found.iter().any(|(_, other)| *other == why)
        {
            found.push((entry.name(), why));
        }
    }
    found
}

/// Returns the entry for an unknown build of the base image, and what identifies it.
fn missing_base_build(verdict: &StartupVerdict<'_>) -> model::Missing {
    let supply = if is_base_pinned(verdict) {
        "set the date of the build with --as-of, because the compatibility database has no entry for this digest; or run `imagelint scan` on the built image"
    } else if verdict.hosts.iter().any(|host| host.image.build.as_deref().is_some_and(is_system_variant)) {
        "name the operating system in the tag, pin the digest, or set the date of the build with --as-of"
    } else {
        "pin the digest, or set the date of the build with --as-of"
    };
    model::Missing { key: "image.base.digest".to_owned(), supply: supply.to_owned() }
}

/// Whether a build differs from others in its operating system, which the tag does not name.
fn is_system_variant(build: &str) -> bool {
    build.starts_with("on ")
}

/// Whether the base image is pinned to a digest.
pub(super) fn is_base_pinned(verdict: &StartupVerdict<'_>) -> bool {
    let base = verdict.hosts.first().and_then(|host| host.image.base.map(|id| &host.image.facts.get(id).state));
    matches!(base, Some(ValueState::Known(PrintedValue::Text(name))) if name.contains('@'))
}
