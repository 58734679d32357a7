//! The needs of an image in one sentence: its CUDA releases, the GPU architectures on which it starts, the driver.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::cuda::ComputeCapability;
use crate::cuda::DriverVersion;
use crate::fact::ImageFacts;
use crate::fact::State;
use crate::fleet::Launch;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::needs::model::Component;
use crate::needs::model::Group;
use crate::needs::model::Way;
use crate::needs::survey::class_word;
use crate::needs::way::NO_CONTAINER;
use crate::outcome::Outcome;

/// What becomes of an image on the GPUs of one compute capability, on the best launch method and driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Starts,
    Unknown,
    Fails,
}

/// The drivers of one launch method: the smallest that starts, and the newest if newer ones fail.
type Drivers = (DriverVersion, Option<DriverVersion>);

/// One compute capability: the worst end of all components, and the drivers by launch method.
#[derive(Debug)]
struct Row {
    architecture: &'static str,
    end: End,
    /// Whether some component has only PTX for it.
    jit: bool,
    drivers: BTreeMap<&'static str, Drivers>,
}

type Rows = BTreeMap<ComputeCapability, Row>;

/// The sentence.
pub(super) fn sentence(components: &[Component], image: &ImageFacts, knowledge: Knowledge) -> String {
    if components.is_empty() {
        return match &image.env.others.state {
            State::Unknown(why) => {
                format!("no GPU content found, but the base image is unknown: {}; {}", why.reason, why.supply)
            }
            State::Known(_) | State::Absent { .. } => "no GPU content: no requirements".to_owned(),
        };
    }
    let mut parts = vec![releases(components)];
    let starts = |rows: &Rows| rows.values().any(|row| row.end == End::Starts);
    let supported = rows(components, knowledge, |group| group.driver_in_support && !is_jetson(group));
    let rows_of_all = || rows(components, knowledge, |_| true);
    let rows = if starts(&supported) { supported } else { rows_of_all() };
    let Some((first, _)) = rows.iter().find(|(_, row)| row.end == End::Starts) else {
        let unknown = rows.values().any(|row| row.end == End::Unknown);
        parts.push(if unknown { "supported GPUs unknown" } else { "no supported GPU" }.to_owned());
        return parts.join("; ");
    };
    parts.push(range(&rows));
    parts.push(drivers(&rows));
    let jit = named(&rows, |_, row| row.end == End::Starts && row.jit);
    if !jit.is_empty() {
        parts.push(format!("{} only through PTX JIT", jit.join(", ")));
    }
    for (end, word) in [(End::Fails, "not"), (End::Unknown, "unknown on")] {
        let named = named(&rows, |capability, row| capability > first && row.end == end);
        if !named.is_empty() {
            parts.push(format!("{word} {}", named.join(", ")));
        }
    }
    parts.join("; ")
}

/// `CUDA 12.1 and 12.4`.
fn releases(components: &[Component]) -> String {
    let mut known: Vec<&str> = components.iter().filter_map(|component| component.cuda.as_deref()).collect();
    known.sort_unstable();
    known.dedup();
    if known.is_empty() { "CUDA release unknown".to_owned() } else { format!("CUDA {}", known.join(" and ")) }
}

fn is_jetson(group: &Group) -> bool {
    group.classes.contains(&class_word(GpuClass::Jetson))
}

/// The rows of all GPUs in some groups. Data-center GPUs decide the driver of a capability that has some.
fn rows(components: &[Component], knowledge: Knowledge, wanted: impl Fn(&Group) -> bool) -> Rows {
    let mut rows = Rows::new();
    for component in components {
        let mut own: BTreeMap<ComputeCapability, ((bool, End), Row)> = BTreeMap::new();
        for group in component.groups.iter().filter(|group| wanted(group) && !of_other_machines(group)) {
            for gpu in group.gpus.iter().filter_map(|name| knowledge.gpu(name)) {
                let row = Row {
                    architecture: gpu.architecture,
                    end: end(group),
                    jit: group.code == "jit",
                    drivers: by_launch(group),
                };
                let rank = (gpu.class != GpuClass::DataCenter, row.end);
                match own.get_mut(&gpu.capability) {
                    Some((known, _)) if *known < rank => {}
                    Some((known, other)) if *known == rank => join(other, &row),
                    _ => drop(own.insert(gpu.capability, (rank, row))),
                }
            }
        }
        for (capability, (_, row)) in own {
            match rows.get_mut(&capability) {
                Some(known) => join(known, &row),
                None => drop(rows.insert(capability, row)),
            }
        }
    }
    rows
}

/// Every component has to start: the worst end, the launch methods of both, the drivers of both.
fn join(known: &mut Row, row: &Row) {
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

/// Whether these GPUs are part of machines of another platform than the image.
pub(super) fn of_other_machines(group: &Group) -> bool {
    let wrong = Outcome::WrongPlatform.name();
    group.ways.iter().all(|way| way.because.as_ref().is_some_and(|because| because.outcome == wrong))
}

fn end(group: &Group) -> End {
    let starts = |way: &Way| way.span.smallest_driver.is_some() || !way.span.also.is_empty();
    if containers(group).any(starts) {
        End::Starts
    } else if containers(group).any(|way| !way.span.undetermined.is_empty()) {
        End::Unknown
    } else {
        End::Fails
    }
}

fn by_launch(group: &Group) -> BTreeMap<&'static str, Drivers> {
    let of = |way: &Way| {
        let smallest = way.span.smallest_driver.as_ref()?.parse().ok()?;
        Some((way.launch, (smallest, way.span.up_to.as_ref().and_then(|driver| driver.parse().ok()))))
    };
    containers(group).filter_map(of).collect()
}

/// The launch methods of containers.
fn containers(group: &Group) -> impl Iterator<Item = &Way> {
    group.ways.iter().filter(|way| way.title != NO_CONTAINER)
}

/// The names of architectures with some of these rows; a part of an architecture has its capabilities in brackets.
fn named(rows: &Rows, wanted: impl Fn(&ComputeCapability, &Row) -> bool) -> Vec<String> {
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

/// `Turing to Hopper`.
fn range(rows: &Rows) -> String {
    let names = named(rows, |_, row| row.end == End::Starts);
    match names.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        one => one.concat(),
    }
}

/// `driver 525.60.13 or newer (Blackwell: 570.86.15 or newer; docker --gpus: 550.54.14 or newer)`.
fn drivers(rows: &Rows) -> String {
    // What most launch methods need on each capability, and the launch methods that need something else there.
    let starting: Vec<(&ComputeCapability, &Row)> = rows.iter().filter(|(_, row)| row.end == End::Starts).collect();
    let mut titles: Vec<&'static str> = starting.iter().flat_map(|(_, row)| row.drivers.keys().copied()).collect();
    titles.sort_unstable();
    titles.dedup();
    let mut alike: Vec<(String, Vec<&str>)> = Vec::new();
    for title in titles {
        let text = of_launch(rows, title);
        match alike.iter_mut().find(|(known, _)| *known == text) {
            Some((_, own)) => own.push(title),
            None => alike.push((text, vec![title])),
        }
    }
    match alike.as_slice() {
        [] => "no known driver".to_owned(),
        [(text, titles)] if titles.iter().all(|title| exceptions(rows, title) <= MOST_EXCEPTIONS) => text.clone(),
        _ => shortest(rows, &alike.iter().flat_map(|(_, titles)| titles.iter().copied()).collect::<Vec<_>>()),
    }
}

/// So many different drivers of some GPUs are part of the sentence.
const MOST_EXCEPTIONS: usize = 2;

/// The smallest driver of a launch method on any GPU on which the image starts.
fn smallest(rows: &Rows, title: &str) -> Option<DriverVersion> {
    let starting = rows.values().filter(|row| row.end == End::Starts);
    starting.filter_map(|row| row.drivers.get(title)).map(|(smallest, _)| *smallest).min()
}

/// How many different drivers other GPUs need.
fn exceptions(rows: &Rows, title: &str) -> usize {
    let common = smallest(rows, title).map(|smallest| (smallest, None));
    let starting = rows.values().filter(|row| row.end == End::Starts);
    let others: BTreeSet<Option<Drivers>> =
        starting.map(|row| row.drivers.get(title).copied()).filter(|own| *own != common).collect();
    others.len()
}

/// `driver 570.86.10 or newer (535.54.03 with docker-cdi); other drivers for Rubin`.
fn shortest(rows: &Rows, titles: &[&'static str]) -> String {
    let mut titles: Vec<&str> = titles.to_vec();
    titles.sort_by_key(|title| (*title != Launch::DockerGpus.as_str(), *title));
    let Some((main, driver)) = titles.iter().find_map(|title| Some((*title, smallest(rows, title)?))) else {
        return "no known driver".to_owned();
    };
    let mut others: BTreeMap<DriverVersion, Vec<&str>> = BTreeMap::new();
    for title in titles.iter().filter(|title| **title != main) {
        if let Some(other) = smallest(rows, title).filter(|other| *other != driver) {
            others.entry(other).or_default().push(title);
        }
    }
    let others: Vec<String> =
        others.iter().map(|(driver, titles)| format!("{driver} with {}", titles.join(" and "))).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let differs = |row: &Row| {
        let own = |title: &&str| row.drivers.get(*title).copied();
        titles.iter().any(|title| own(title) != smallest(rows, title).map(|smallest| (smallest, None)))
    };
    let names = named(rows, |_, row| row.end == End::Starts && differs(row));
    let names = if names.is_empty() { String::new() } else { format!("; other drivers for {}", names.join(", ")) };
    format!("driver {driver} or newer{others}{names}")
}

/// The drivers of one launch method, with the architectures that need another driver in brackets.
fn of_launch(rows: &Rows, title: &str) -> String {
    let Some(smallest) = smallest(rows, title) else { return "no known driver".to_owned() };
    let common: Drivers = (smallest, None);
    let mut others: Vec<Option<Drivers>> = Vec::new();
    for row in rows.values().filter(|row| row.end == End::Starts) {
        let own = row.drivers.get(title).copied();
        if own != Some(common) && !others.contains(&own) {
            others.push(own);
        }
    }
    let other = |drivers: &Option<Drivers>| {
        let names = named(rows, |_, row| row.end == End::Starts && row.drivers.get(title).copied() == *drivers);
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
