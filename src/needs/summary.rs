//! Summarizes the needs of an image in one sentence: CUDA releases, GPU architectures and drivers.

use std::collections::{BTreeMap, BTreeSet};

use crate::cuda::{ComputeCapability, DriverVersion};
use crate::fact::{ImageFacts, ValueState};
use crate::fleet::Launch;
use crate::knowledge::{GpuClass, Knowledge};
use crate::needs::launch_setup::NO_CONTAINER;
use crate::needs::model::{BlockingOutcome, ComponentNeeds, GpuGroupNeeds, LaunchNeeds};
use crate::needs::survey::gpu_class_name;
use crate::outcome::Outcome;

/// The best result of an image on the GPUs of one compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CapabilityResult {
    Starts,
    Unknown,
    Fails,
}

/// The drivers of one launch method: the smallest that starts, and the newest if newer ones fail.
type DriverBounds = (DriverVersion, Option<DriverVersion>);

/// The result of one compute capability: the worst over all components, with drivers by launch method.
#[derive(Debug)]
struct CapabilityRow {
    architecture: &'static str,
    end: CapabilityResult,
    /// Whether some component has only PTX for it.
    jit: bool,
    drivers: BTreeMap<&'static str, DriverBounds>,
}

/// The rows by compute capability.
type CapabilityRows = BTreeMap<ComputeCapability, CapabilityRow>;

/// Returns the summary sentence.
pub(super) fn summary_sentence(components: &[ComponentNeeds], image: &ImageFacts, knowledge: Knowledge) -> String {
    if components.is_empty() {
        return match &image.env.others.state {
            ValueState::Unknown(why) => {
                format!("no GPU content found, but the base image is unknown: {}; {}", why.reason(), why.remedy())
            }
            ValueState::Known(_) | ValueState::Absent { .. } => "no GPU content: no requirements".to_owned(),
        };
    }
    let mut parts = vec![cuda_releases_text(components)];
    let starts = |rows: &CapabilityRows| rows.values().any(|row| row.end == CapabilityResult::Starts);
    let supported = capability_rows(components, knowledge, |group| group.driver_in_support && !is_jetson(group));
    let rows_of_all = || capability_rows(components, knowledge, |_| true);
    let rows = if starts(&supported) { supported } else { rows_of_all() };
    let Some((first, _)) = rows.iter().find(|(_, row)| row.end == CapabilityResult::Starts) else {
        let unknown = rows.values().any(|row| row.end == CapabilityResult::Unknown);
        parts.push(if unknown { "supported GPUs unknown" } else { "no supported GPU" }.to_owned());
        return parts.join("; ");
    };
    parts.push(architecture_range(&rows));
    parts.push(drivers_text(&rows));
    let jit = architecture_names(&rows, |_, row| row.end == CapabilityResult::Starts && row.jit);
    if !jit.is_empty() {
        parts.push(format!("{} only through PTX JIT", jit.join(", ")));
    }
    for (end, word) in [(CapabilityResult::Fails, "not"), (CapabilityResult::Unknown, "unknown on")] {
        let named = architecture_names(&rows, |capability, row| capability > first && row.end == end);
        if !named.is_empty() {
            parts.push(format!("{word} {}", named.join(", ")));
        }
    }
    parts.join("; ")
}

/// Formats the CUDA releases of the components: `CUDA 12.1 and 12.4`.
fn cuda_releases_text(components: &[ComponentNeeds]) -> String {
    let mut known: Vec<&str> = components.iter().filter_map(|component| component.cuda.as_deref()).collect();
    known.sort_unstable();
    known.dedup();
    if known.is_empty() { "CUDA release unknown".to_owned() } else { format!("CUDA {}", known.join(" and ")) }
}

/// Whether a group contains Jetson modules.
fn is_jetson(group: &GpuGroupNeeds) -> bool {
    group.classes.contains(&gpu_class_name(GpuClass::Jetson))
}

/// Returns the rows of the selected groups; data-center GPUs decide the drivers of a capability that includes them.
fn capability_rows(
    components: &[ComponentNeeds],
    knowledge: Knowledge,
    wanted: impl Fn(&GpuGroupNeeds) -> bool,
) -> CapabilityRows {
    let mut rows = CapabilityRows::new();
    for component in components {
        let mut own: BTreeMap<ComputeCapability, ((bool, CapabilityResult), CapabilityRow)> = BTreeMap::new();
        for group in component.groups.iter().filter(|group| wanted(group) && !is_other_platform(group)) {
            for gpu in group.gpus.iter().filter_map(|name| knowledge.gpu(name)) {
                let row = CapabilityRow {
                    architecture: gpu.architecture,
                    end: group_result(group),
                    jit: group.code == "jit",
                    drivers: drivers_by_launch(group),
                };
                let rank = (gpu.class != GpuClass::DataCenter, row.end);
                match own.get_mut(&gpu.capability) {
                    Some((known, _)) if *known < rank => {}
                    Some((known, other)) if *known == rank => merge_row(other, &row),
                    _ => drop(own.insert(gpu.capability, (rank, row))),
                }
            }
        }
        for (capability, (_, row)) in own {
            match rows.get_mut(&capability) {
                Some(known) => merge_row(known, &row),
                None => drop(rows.insert(capability, row)),
            }
        }
    }
    rows
}

/// Merges the row of another component: the worse result, common launch methods and stricter drivers.
fn merge_row(known: &mut CapabilityRow, row: &CapabilityRow) {
    known.end = known.end.max(row.end);
    known.jit |= row.jit;
    known.drivers.retain(|title, _| row.drivers.contains_key(title));
    for (title, (smallest, largest)) in &mut known.drivers {
        if let Some((other, until)) = row.drivers.get(title) {
            *smallest = (*smallest).max(*other);
            *largest = [*largest, *until].into_iter().flatten().min();
        }
    }
}

/// Whether these GPUs belong to machines of another platform than the image.
pub(super) fn is_other_platform(group: &GpuGroupNeeds) -> bool {
    let wrong = BlockingOutcome::Fails(Outcome::WrongPlatform);
    group.ways.iter().all(|way| way.because.as_ref().is_some_and(|because| because.outcome == wrong))
}

/// Returns the best result of a group over its container launch methods.
fn group_result(group: &GpuGroupNeeds) -> CapabilityResult {
    let starts = |way: &LaunchNeeds| way.span.smallest_driver.is_some() || !way.span.also.is_empty();
    if container_launches(group).any(starts) {
        CapabilityResult::Starts
    } else if container_launches(group).any(|way| !way.span.undetermined.is_empty()) {
        CapabilityResult::Unknown
    } else {
        CapabilityResult::Fails
    }
}

/// Returns the drivers of each container launch method.
fn drivers_by_launch(group: &GpuGroupNeeds) -> BTreeMap<&'static str, DriverBounds> {
    let of = |way: &LaunchNeeds| {
        let smallest = way.span.smallest_driver.as_ref()?.parse().ok()?;
        Some((way.launch, (smallest, way.span.up_to.as_ref().and_then(|driver| driver.parse().ok()))))
    };
    container_launches(group).filter_map(of).collect()
}

/// Returns the container launch methods of a group.
fn container_launches(group: &GpuGroupNeeds) -> impl Iterator<Item = &LaunchNeeds> {
    group.ways.iter().filter(|way| way.title != NO_CONTAINER)
}

/// Returns the names of architectures with matching rows; partial matches list their capabilities in brackets.
fn architecture_names(
    rows: &CapabilityRows,
    wanted: impl Fn(&ComputeCapability, &CapabilityRow) -> bool,
) -> Vec<String> {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for (capability, row) in rows.iter().filter(|(capability, row)| wanted(capability, row)) {
        match names.iter_mut().find(|(name, _)| *name == row.architecture) {
            Some((_, own)) => own.push(capability.to_string()),
            None => names.push((row.architecture, vec![capability.to_string()])),
        }
    }
    let whole = |name: &str, own: &[String]| rows.values().filter(|row| row.architecture == name).count() == own.len();
    let word = |(name, own): (&str, Vec<String>)| {
        if whole(name, &own) { name.to_owned() } else { format!("{name} ({})", own.join(", ")) }
    };
    names.into_iter().map(word).collect()
}

/// Formats the range of architectures on which the image starts: `Turing to Hopper`.
fn architecture_range(rows: &CapabilityRows) -> String {
    let names = architecture_names(rows, |_, row| row.end == CapabilityResult::Starts);
    match names.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        one => one.concat(),
    }
}

/// Formats the drivers: `driver 525.60.13 or newer (Blackwell: 570.86.15 or newer; docker --gpus: 550.54.14 or
/// newer)`.
fn drivers_text(rows: &CapabilityRows) -> String {
    // What most launch methods need on each capability, and the launch methods that need something else there.
    let starting: Vec<(&ComputeCapability, &CapabilityRow)> =
        rows.iter().filter(|(_, row)| row.end == CapabilityResult::Starts).collect();
    let mut titles: Vec<&'static str> = starting.iter().flat_map(|(_, row)| row.drivers.keys().copied()).collect();
    titles.sort_unstable();
    titles.dedup();
    let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
    for title in titles {
        let text = launch_drivers_text(rows, title);
        match alike.iter_mut().find(|(known, _)| *known == text) {
            Some((_, own)) => own.push(title),
            None => alike.push((text, vec![title])),
        }
    }
    match alike.as_slice() {
        [] => "no known driver".to_owned(),
        [(text, titles)] if titles.iter().all(|title| count_exceptions(rows, title) <= MAX_EXCEPTIONS) => text.clone(),
        _ => short_drivers_text(rows, &alike.iter().flat_map(|(_, titles)| titles.iter().copied()).collect::<Vec<_>>()),
    }
}

/// Maximum number of different drivers for some GPUs within the sentence.
const MAX_EXCEPTIONS: usize = 2;

/// Returns the smallest driver of a launch method on any GPU on which the image starts.
fn smallest_driver_of(rows: &CapabilityRows, title: &str) -> Option<DriverVersion> {
    let starting = rows.values().filter(|row| row.end == CapabilityResult::Starts);
    starting.filter_map(|row| row.drivers.get(title)).map(|(smallest, _)| *smallest).min()
}

/// Counts the different drivers that other GPUs need.
fn count_exceptions(rows: &CapabilityRows, title: &str) -> usize {
    let common = smallest_driver_of(rows, title).map(|smallest| (smallest, None));
    let starting = rows.values().filter(|row| row.end == CapabilityResult::Starts);
    let others: BTreeSet<Option<DriverBounds>> =
        starting.map(|row| row.drivers.get(title).copied()).filter(|own| *own != common).collect();
    others.len()
}

/// Formats the drivers in short: `driver 570.86.10 or newer (535.54.03 with docker-cdi); other drivers for Rubin`.
fn short_drivers_text(rows: &CapabilityRows, titles: &[&'static str]) -> String {
    let mut titles: Vec<&str> = titles.to_vec();
    titles.sort_by_key(|title| (*title != Launch::DockerGpus.as_str(), *title));
    let Some((main, driver)) = titles.iter().find_map(|title| Some((*title, smallest_driver_of(rows, title)?))) else {
        return "no known driver".to_owned();
    };
    let mut others: BTreeMap<DriverVersion, Vec<&str>> = BTreeMap::new();
    for title in titles.iter().filter(|title| **title != main) {
        if let Some(other) = smallest_driver_of(rows, title).filter(|other| *other != driver) {
            others.entry(other).or_default().push(title);
        }
    }
    let others: Vec<String> =
        others.iter().map(|(driver, titles)| format!("{driver} with {}", titles.join(" and "))).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let differs = |row: &CapabilityRow| {
        let own = |title: &&str| row.drivers.get(*title).copied();
        titles.iter().any(|title| own(title) != smallest_driver_of(rows, title).map(|smallest| (smallest, None)))
    };
    let names = architecture_names(rows, |_, row| row.end == CapabilityResult::Starts && differs(row));
    let names = if names.is_empty() { String::new() } else { format!("; other drivers for {}", names.join(", ")) };
    format!("driver {driver} or newer{others}{names}")
}

/// Formats the drivers of one launch method, with architectures that need other drivers in brackets.
fn launch_drivers_text(rows: &CapabilityRows, title: &str) -> String {
    let Some(smallest) = smallest_driver_of(rows, title) else { return "no known driver".to_owned() };
    let common: DriverBounds = (smallest, None);
    let mut others: Vec<Option<DriverBounds>> = Vec::new();
    for row in rows.values().filter(|row| row.end == CapabilityResult::Starts) {
        let own = row.drivers.get(title).copied();
        if own != Some(common) && !others.contains(&own) {
            others.push(own);
        }
    }
    let other = |drivers: &Option<DriverBounds>| {
        let names = architecture_names(rows, |_, row| {
            row.end == CapabilityResult::Starts && row.drivers.get(title).copied() == *drivers
        });
        let names = names.join(", ");
        match drivers {
            Some((from, Some(to))) if *from == smallest => format!("{names}: up to {to}"),
            Some((from, Some(to))) => format!("{names}: {from} to {to}"),
            Some((from, None)) => format!("{names}: {from} or newer"),
            None => format!("{names}: no known driver"),
        }
    };
    let others: Vec<String> = others.iter().map(other).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
    format!("driver {smallest} or newer{others}")
}
