//! Replays the start of an image for every kind of GPU, launch method and known driver, and summarizes its needs: CUDA
//! releases, GPU architectures and drivers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jiff::civil::Date;

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fix::minimum_driver;
use crate::fix::minimum_driver::all_driver_releases;
use crate::fix::needs::equivalent_gpus::{EquivalentGpus, group_equivalent_gpus};
use crate::fix::needs::launch_setup::{LaunchSetup, SurveyHostBuilder, launch_setups};
use crate::fix::needs::model;
use crate::fix::needs::model::{BlockingOutcome, CodeCoverage, ComponentNeeds, GpuGroupNeeds, LaunchNeeds};
use crate::fleet::{Host, Launch};
use crate::knowledge::{GpuClass, Knowledge};
use crate::model::fact::{Component, ComponentRole, Facts, ImageFacts, Origin, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::{
    Basis, DiscardingRecorder, FullRecorder, Replay, StartRoute, StartStep, StartupResult, StepRecord, StepResult,
    explanations, replay,
};
use crate::text::source::Sources;

/// Determines the needs of each build of an image, component by component.
pub fn survey_builds(
    name: &str,
    platform: &str,
    images: &[ImageFacts],
    as_of: Option<Date>,
    sources: &Sources,
    knowledge: Knowledge,
) -> Vec<model::ImageNeeds> {
    let drivers = all_driver_releases(knowledge);
    let maker = SurveyHostBuilder { platform, drivers: &drivers, as_of, knowledge };
    // The report is about one build, even if the name has others.
    let own: Vec<ImageFacts> = images.iter().map(|image| restrict_to_platform(image, platform)).collect();
    let day = as_of.unwrap_or_else(|| knowledge.newest_source_date());
    let telling: Vec<Vec<usize>> =
        own.iter().map(|image| distinct_driver_indices(image, &drivers, knowledge)).collect();
    let searches = own.iter().zip(&telling).enumerate().filter(|(_, (image, _))| image.gpu_content);
    let searches: Vec<(usize, ComponentSurvey<'_>)> = searches
        .flat_map(|(build, (image, telling))| {
            let core = image.components.iter().filter(|component| component.role == ComponentRole::Core);
            core.map(move |component| (build, ComponentSurvey { image, component, telling, sources, day, knowledge }))
        })
        .collect();
    let mut components: Vec<Vec<ComponentNeeds>> = vec![Vec::new(); own.len()];
    let groups = gpu_groups(&searches.iter().map(|(_, search)| *search).collect::<Vec<_>>(), maker);
    for ((build, search), groups) in searches.iter().zip(groups) {
        if let Some(components) = components.get_mut(*build) {
            components.push(search.component_needs(groups));
        }
    }
    let builds = images.iter().zip(&own).zip(components);
    builds
        .map(|((image, own), components)| model::ImageNeeds {
            name: name.to_owned(),
            platform: platform.to_owned(),
            build: own.build.as_ref().map(ToString::to_string),
            platforms: image.platforms.known().cloned().unwrap_or_default(),
            summary: summary_sentence(&components, own, knowledge),
            newest_driver: drivers.last().map(ToString::to_string),
            components,
        })
        .collect()
}

/// Returns the indices of the drivers that the start-up of an image can distinguish, oldest first.
fn distinct_driver_indices(image: &ImageFacts, drivers: &[DriverVersion], knowledge: Knowledge) -> Vec<usize> {
    let mut found = minimum_driver::distinguishable_releases(std::iter::once(image), Vec::new(), drivers, knowledge);
    found.sort_unstable();
    found
}

/// Returns a copy of the image whose only platform is `platform`; an unchanged copy if it does not support it.
fn restrict_to_platform(image: &ImageFacts, platform: &str) -> ImageFacts {
    let mut own = image.clone();
    let is_supported = match &image.platforms.state {
        ValueState::Known(list) => list.iter().any(|one| one.starts_with(platform)),
        ValueState::Absent { .. } => true,
        ValueState::Unknown(_) => false,
    };
    if is_supported {
        own.platforms.state = ValueState::Known(vec![platform.to_owned()]);
    }
    own
}

/// Returns the GPU groups of each component survey, in order of compute capability.
fn gpu_groups(searches: &[ComponentSurvey<'_>], maker: SurveyHostBuilder<'_>) -> Vec<Vec<GpuGroupNeeds>> {
    let kinds = group_equivalent_gpus(maker.knowledge);
    // Each group with the place of the kind that stands for it.
    let mut groups: Vec<Vec<(GpuGroupNeeds, usize)>> = vec![Vec::new(); searches.len()];
    for (at, kind) in kinds.iter().enumerate() {
        let ways = launch_setups(kind, maker.knowledge).into_iter().map(|way| (way, maker.hosts(kind, way)));
        let ways: Vec<(LaunchSetup, Vec<Host>)> = ways.collect();
        for (search, groups) in searches.iter().zip(&mut groups) {
            let group = search.group_needs(kind, &ways);
            match groups.iter_mut().find(|(other, _)| have_same_needs(other, &group)) {
                Some((known, _)) => merge_group(known, group),
                None => groups.push((group, at)),
            }
        }
    }
    for (at, kind) in kinds.iter().enumerate() {
        let own = searches.iter().zip(&mut groups);
        let own = own.filter_map(|(search, groups)| Some((*search, &mut groups.iter_mut().find(|one| one.1 == at)?.0)));
        add_older_toolkits(&mut own.collect::<Vec<_>>(), kind, maker);
    }
    groups.into_iter().map(|groups| groups.into_iter().map(|(group, _)| group).collect()).collect()
}

/// Adds to the groups the older container toolkits whose result differs from the newest toolkit.
fn add_older_toolkits(
    groups: &mut [(ComponentSurvey<'_>, &mut GpuGroupNeeds)],
    kind: &EquivalentGpus,
    maker: SurveyHostBuilder<'_>,
) {
    if groups.is_empty() {
        return;
    }
    for (place, newest) in
        launch_setups(kind, maker.knowledge).into_iter().enumerate().filter(|(_, way)| way.toolkit.is_some())
    {
        for row in maker.knowledge.container_toolkits().iter().filter(|row| newest.toolkit != Some(row.sample)) {
            let hosts = maker.hosts(kind, LaunchSetup { toolkit: Some(row.sample), ..newest });
            for (search, group) in groups.iter_mut() {
                let Some(now) = group.ways.get(place) else { continue };
                let span = supported_drivers(&hosts, &search.driver_runs(&hosts));
                if span == now.span {
                    continue;
                }
                let before = row.before.map(|version| version.to_string());
                let continues = |one: &&mut model::OlderToolkit| {
                    one.launch == now.launch && one.span == span && one.before == Some(version_text(row.from))
                };
                if let Some(known) = group.older_toolkits.last_mut().filter(continues) {
                    known.before = before;
                } else {
                    let from = version_text(row.from);
                    let (title, launch) = (now.title, now.launch);
                    group.older_toolkits.push(model::OlderToolkit { title, launch, from, before, span });
                }
            }
        }
    }
}

/// The survey of one component of an image.
#[derive(Clone, Copy)]
struct ComponentSurvey<'a> {
    image: &'a ImageFacts,
    component: &'a Component,
    /// Indices of the drivers to replay first.
    telling: &'a [usize],
    sources: &'a Sources,
    /// The date on which drivers count as supported.
    day: Date,
    knowledge: Knowledge,
}

/// Consecutive drivers with the same result.
#[derive(Debug, PartialEq, Eq)]
struct DriverRun {
    fate: StartupResult,
    first: usize,
    last: usize,
}

impl<'a> ComponentSurvey<'a> {
    /// Returns the needs of the component, with its GPU groups.
    fn component_needs(self, groups: Vec<GpuGroupNeeds>) -> ComponentNeeds {
        let component = self.component;
        let targets = self.image.facts.get(component.code.id);
        ComponentNeeds {
            name: component.name.clone(),
            cuda: component.cuda.known().map(ToString::to_string),
            code: match &targets.state {
                ValueState::Known(value) => value.to_string().split(", ").map(str::to_owned).collect(),
                ValueState::Absent { .. } | ValueState::Unknown(_) => Vec::new(),
            },
            groups,
        }
    }

    /// Returns the needs of one kind of GPU, as a group.
    fn group_needs(self, kind: &EquivalentGpus, ways: &[(LaunchSetup, Vec<Host>)]) -> GpuGroupNeeds {
        GpuGroupNeeds {
            capabilities: vec![kind.capability.to_string()],
            classes: vec![gpu_class_name(kind.class)],
            gpus: kind.names.clone(),
            driver_in_support: kind.has_supported_driver(self.day, self.knowledge),
            code: self.code_coverage(ways),
            ways: ways.iter().map(|(way, hosts)| self.launch_needs(*way, hosts)).collect(),
            older_toolkits: Vec::new(),
        }
    }

    /// Returns the needs of one launch method.
    fn launch_needs(self, way: LaunchSetup, hosts: &[Host]) -> LaunchNeeds {
        let runs = self.driver_runs(hosts);
        LaunchNeeds {
            title: way.title(),
            launch: way.launch,
            toolkit: way.toolkit.map(|version| version.to_string()),
            span: supported_drivers(hosts, &runs),
            because: last_blocked_run(&runs).and_then(|run| self.blocking_step(hosts.get(run.last)?)),
        }
    }

    /// Prepares the replay on a host.
    fn replay_on<'h>(self, host: &'h Host) -> Replay<'h>
    where
        'a: 'h,
    {
        Replay::new(self.image, self.component, host, self.knowledge)
    }

    /// Returns the runs of all drivers; only distinguishable drivers are replayed, and those between different
    /// results.
    fn driver_runs(self, hosts: &[Host]) -> Vec<DriverRun> {
        let one_a_driver = self.telling.last().is_some_and(|last| last + 1 == hosts.len());
        if one_a_driver {
            self.driver_runs_at(hosts, self.telling.iter().copied())
        } else {
            self.driver_runs_at(hosts, 0..hosts.len())
        }
    }

    /// Returns the runs of all drivers from replays at some indices.
    fn driver_runs_at(self, hosts: &[Host], places: impl Iterator<Item = usize>) -> Vec<DriverRun> {
        let mut runs: Vec<DriverRun> = Vec::new();
        let mut meet = |at: usize, fate: StartupResult| match runs.last_mut() {
            Some(run) if run.fate == fate => run.last = at,
            _ => runs.push(DriverRun { fate, first: at, last: at }),
        };
        let fate = |at: usize| Some(replay(self.replay_on(hosts.get(at)?), &mut DiscardingRecorder));
        let mut before: Option<(usize, StartupResult)> = None;
        for at in places {
            let Some(now) = fate(at) else { break };
            let between = before.filter(|(_, was)| *was != now).map_or(at..at, |(last, _)| last + 1..at);
            for (at, fate) in between.filter_map(|at| Some((at, fate(at)?))) {
                meet(at, fate);
            }
            meet(at, now);
            before = Some((at, now));
        }
        runs
    }

    /// Returns how the GPU code is covered, on the newest driver without a container.
    fn code_coverage(self, ways: &[(LaunchSetup, Vec<Host>)]) -> CodeCoverage {
        let native = ways.iter().find(|(way, _)| way.launch == Launch::Native);
        let Some(host) = native.and_then(|(_, hosts)| hosts.last()) else { return CodeCoverage::Unknown };
        let mut steps = FullRecorder::default();
        replay(self.replay_on(host), &mut steps);
        match steps.0.iter().find(|step| step.step == StartStep::Code).map(|step| step.result) {
            Some(StepResult::Passes(StartRoute::Jit)) => CodeCoverage::Jit,
            Some(StepResult::Passes(_)) => CodeCoverage::Native,
            Some(StepResult::Stops(_)) => CodeCoverage::None,
            _ => CodeCoverage::Unknown,
        }
    }

    /// Returns the step that stops the start on a host, or leaves it undetermined.
    fn blocking_step(self, host: &Host) -> Option<model::BlockingStep> {
        let mut steps = FullRecorder::default();
        let fate = replay(self.replay_on(host), &mut steps);
        let deciding = |step: &&StepRecord| match fate {
            StartupResult::Fails(_) => matches!(step.result, StepResult::Stops(_)),
            _ => step.result == StepResult::Unknown,
        };
        // A step that waits for an earlier one says nothing by itself.
        let says =
            |step: &&StepRecord| deciding(step) && !explanations::waits_for_earlier_step(self.replay_on(host), step);
        let step = steps.0.iter().find(says).or_else(|| steps.0.iter().find(deciding))?;
        let outcome = match fate {
            StartupResult::Fails(failure) => BlockingOutcome::Fails(failure.outcome()),
            _ => BlockingOutcome::Undetermined,
        };
        Some(model::BlockingStep {
            driver: host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
            outcome,
            step: step.step,
            message: explanations::describe_step(self.replay_on(host), step),
            evidence: step.facts.iter().filter_map(|basis| self.evidence(basis)).collect(),
        })
    }

    /// Returns the evidence for a fact or table row; `None` for host properties.
    fn evidence(self, basis: Basis) -> Option<model::NeedsEvidence> {
        match basis {
            Basis::Image(id) => {
                let entry = self.image.facts.get(id);
                let value = match &entry.state {
                    ValueState::Known(value) => Some(value.to_string()),
                    ValueState::Absent { .. } | ValueState::Unknown(_) => None,
                };
                Some(model::NeedsEvidence {
                    key: entry.name(),
                    value,
                    place: fact_locations(&self.image.facts, id, self.sources),
                })
            }
            Basis::Row(row) => Some(model::NeedsEvidence {
                key: format!("{}[{}]", row.table, row.row),
                value: None,
                place: format!("{} ({})", row.source, row.checked),
            }),
            // The hosts are made up here.
            Basis::Pool(_) | Basis::Entry(_) => None,
        }
    }
}

/// Formats a version.
fn version_text(version: CudaVersion) -> String {
    version.to_string()
}

/// Returns the index range of the last consecutive runs that start.
fn lasting_runs(runs: &[DriverRun]) -> Range<usize> {
    minimum_driver::last_unbroken_range(runs.len(), |at| {
        runs.get(at).is_some_and(|run| matches!(run.fate, StartupResult::Starts(_)))
    })
}

/// Returns the last run that blocks the start; if none starts, the newest whose driver knows the GPU.
fn last_blocked_run(runs: &[DriverRun]) -> Option<&DriverRun> {
    let lasting = lasting_runs(runs);
    if !lasting.is_empty() {
        return runs.get(lasting.start.checked_sub(1)?);
    }
    let known = |run: &&DriverRun| !matches!(run.fate, StartupResult::Fails(failure) if failure.outcome() == Outcome::GpuUnsupported);
    runs.iter().rfind(known).or(runs.last())
}

/// Converts runs to driver ranges: those that start permanently, other starts and undetermined ones.
fn supported_drivers(hosts: &[Host], runs: &[DriverRun]) -> model::SupportedDrivers {
    let driver = |at: usize| hosts.get(at).and_then(|host| host.driver).map(|driver| driver.to_string());
    let range = |run: &DriverRun| {
        let route = match run.fate {
            StartupResult::Starts(route) => Some(route),
            StartupResult::Fails(_) | StartupResult::Undetermined => None,
        };
        Some(model::DriverRange { from: driver(run.first)?, to: driver(run.last)?, route })
    };
    let lasting = lasting_runs(runs);
    let older = runs.get(..lasting.start).unwrap_or_default();
    let last = runs.get(lasting.clone()).unwrap_or_default().last();
    model::SupportedDrivers {
        smallest_driver: runs.get(lasting.clone()).and_then(|runs| driver(runs.first()?.first)),
        up_to: last.filter(|_| lasting.end < runs.len()).and_then(|run| driver(run.last)),
        also: older.iter().filter(|run| matches!(run.fate, StartupResult::Starts(_))).filter_map(range).collect(),
        undetermined: runs.iter().filter(|run| run.fate == StartupResult::Undetermined).filter_map(range).collect(),
    }
}

/// Whether two groups have the same results in all that is reported.
fn have_same_needs(one: &GpuGroupNeeds, other: &GpuGroupNeeds) -> bool {
    let ends = |group: &GpuGroupNeeds| -> Vec<_> {
        let end = |way: &LaunchNeeds| {
            let because = way.because.as_ref().map(|because| (because.outcome, because.step));
            (way.launch, way.span.clone(), because)
        };
        group.ways.iter().map(end).collect()
    };
    one.code == other.code && one.driver_in_support == other.driver_in_support && ends(one) == ends(other)
}

/// Adds the capabilities, classes and GPUs of another group.
fn merge_group(into: &mut GpuGroupNeeds, group: GpuGroupNeeds) {
    for capability in group.capabilities {
        if !into.capabilities.contains(&capability) {
            into.capabilities.push(capability);
        }
    }
    for class in group.classes {
        if !into.classes.contains(&class) {
            into.classes.push(class);
        }
    }
    into.gpus.extend(group.gpus);
}

/// Returns the name of a GPU class.
pub(super) const fn gpu_class_name(class: GpuClass) -> &'static str {
    match class {
        GpuClass::DataCenter => "data-center",
        GpuClass::Consumer => "consumer",
        GpuClass::Workstation => "workstation",
        GpuClass::Jetson => "jetson",
        GpuClass::Vgpu => "vgpu",
        GpuClass::Other => "other",
    }
}

/// Returns the locations of the origins of a fact, separated by commas.
fn fact_locations(facts: &Facts, id: crate::model::fact::FactId, sources: &Sources) -> String {
    let place = |origin: &Origin| match origin {
        Origin::File { source, span } => {
            let text = sources.get(*source);
            format!("{}:{}", text.name(), text.position(span.start))
        }
        Origin::Config { field, .. } => field.clone(),
        Origin::Layer { digest, path, .. } => format!("{digest}:{path}"),
        Origin::Option(option) => (*option).to_owned(),
        Origin::Report(report) => report.clone(),
    };
    facts.origins(id).iter().map(place).collect::<Vec<_>>().join(", ")
}

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
    drivers: BTreeMap<Launch, DriverBounds>,
}

/// The rows by compute capability.
type CapabilityRows = BTreeMap<ComputeCapability, CapabilityRow>;

/// Returns the summary sentence.
fn summary_sentence(components: &[ComponentNeeds], image: &ImageFacts, knowledge: Knowledge) -> String {
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
    predicate: impl Fn(&GpuGroupNeeds) -> bool,
) -> CapabilityRows {
    let mut rows = CapabilityRows::new();
    for component in components {
        let mut own: BTreeMap<ComputeCapability, ((bool, CapabilityResult), CapabilityRow)> = BTreeMap::new();
        for group in component.groups.iter().filter(|group| predicate(group) && !is_other_platform(group)) {
            for gpu in group.gpus.iter().filter_map(|name| knowledge.gpu(name)) {
                let row = CapabilityRow {
                    architecture: gpu.architecture,
                    end: group_result(group),
                    jit: group.code == CodeCoverage::Jit,
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
    known.drivers.retain(|launch, _| row.drivers.contains_key(launch));
    for (launch, (smallest, largest)) in &mut known.drivers {
        if let Some((other, until)) = row.drivers.get(launch) {
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
fn drivers_by_launch(group: &GpuGroupNeeds) -> BTreeMap<Launch, DriverBounds> {
    let of = |way: &LaunchNeeds| {
        let smallest = way.span.smallest_driver.as_ref()?.parse().ok()?;
        Some((way.launch, (smallest, way.span.up_to.as_ref().and_then(|driver| driver.parse().ok()))))
    };
    container_launches(group).filter_map(of).collect()
}

/// Returns the container launch methods of a group.
fn container_launches(group: &GpuGroupNeeds) -> impl Iterator<Item = &LaunchNeeds> {
    group.ways.iter().filter(|way| !way.is_without_container())
}

/// Returns the names of architectures with matching rows; partial matches list their capabilities in brackets.
fn architecture_names(
    rows: &CapabilityRows,
    predicate: impl Fn(&ComputeCapability, &CapabilityRow) -> bool,
) -> Vec<String> {
    let mut names: Vec<(&str, Vec<String>)> = Vec::new();
    for (capability, row) in rows.iter().filter(|(capability, row)| predicate(capability, row)) {
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
    let mut launches: Vec<Launch> = starting.iter().flat_map(|(_, row)| row.drivers.keys().copied()).collect();
    launches.sort_unstable_by_key(|launch| launch.as_str());
    launches.dedup();
    let mut alike: Vec<(String, Vec<Launch>)> = Vec::new();
    for launch in launches {
        let text = launch_drivers_text(rows, launch);
        match alike.iter_mut().find(|(known, _)| *known == text) {
            Some((_, own)) => own.push(launch),
            None => alike.push((text, vec![launch])),
        }
    }
    match alike.as_slice() {
        [] => "no known driver".to_owned(),
        [(text, launches)] if launches.iter().all(|launch| count_exceptions(rows, *launch) <= MAX_EXCEPTIONS) => {
            text.clone()
        }
        _ => short_drivers_text(rows, alike.into_iter().flat_map(|(_, launches)| launches).collect()),
    }
}

/// Maximum number of different drivers for some GPUs within the sentence.
const MAX_EXCEPTIONS: usize = 2;

/// Returns the smallest driver of a launch method on any GPU on which the image starts.
fn smallest_driver_of(rows: &CapabilityRows, launch: Launch) -> Option<DriverVersion> {
    let starting = rows.values().filter(|row| row.end == CapabilityResult::Starts);
    starting.filter_map(|row| row.drivers.get(&launch)).map(|(smallest, _)| *smallest).min()
}

/// Counts the different drivers that other GPUs need.
fn count_exceptions(rows: &CapabilityRows, launch: Launch) -> usize {
    let common = smallest_driver_of(rows, launch).map(|smallest| (smallest, None));
    let starting = rows.values().filter(|row| row.end == CapabilityResult::Starts);
    let others: BTreeSet<Option<DriverBounds>> =
        starting.map(|row| row.drivers.get(&launch).copied()).filter(|own| *own != common).collect();
    others.len()
}

/// Formats the drivers in short: `driver 570.86.10 or newer (535.54.03 with docker-cdi); other drivers for Rubin`.
fn short_drivers_text(rows: &CapabilityRows, mut launches: Vec<Launch>) -> String {
    launches.sort_by_key(|launch| (*launch != Launch::DockerGpus, launch.as_str()));
    let smallest = |launch: &Launch| Some((*launch, smallest_driver_of(rows, *launch)?));
    let Some((main, driver)) = launches.iter().find_map(smallest) else {
        return "no known driver".to_owned();
    };
    let mut others: BTreeMap<DriverVersion, Vec<&str>> = BTreeMap::new();
    for launch in launches.iter().filter(|launch| **launch != main) {
        if let Some(other) = smallest_driver_of(rows, *launch).filter(|other| *other != driver) {
            others.entry(other).or_default().push(launch.as_str());
        }
    }
    let others: Vec<String> =
        others.iter().map(|(driver, names)| format!("{driver} with {}", names.join(" and "))).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let differs = |row: &CapabilityRow| {
        let own = |launch: Launch| row.drivers.get(&launch).copied();
        let common = |launch: Launch| smallest_driver_of(rows, launch).map(|smallest| (smallest, None));
        launches.iter().any(|launch| own(*launch) != common(*launch))
    };
    let names = architecture_names(rows, |_, row| row.end == CapabilityResult::Starts && differs(row));
    let names = if names.is_empty() { String::new() } else { format!("; other drivers for {}", names.join(", ")) };
    format!("driver {driver} or newer{others}{names}")
}

/// Formats the drivers of one launch method, with architectures that need other drivers in brackets.
fn launch_drivers_text(rows: &CapabilityRows, launch: Launch) -> String {
    let Some(smallest) = smallest_driver_of(rows, launch) else { return "no known driver".to_owned() };
    let common: DriverBounds = (smallest, None);
    let mut others: Vec<Option<DriverBounds>> = Vec::new();
    for row in rows.values().filter(|row| row.end == CapabilityResult::Starts) {
        let own = row.drivers.get(&launch).copied();
        if own != Some(common) && !others.contains(&own) {
            others.push(own);
        }
    }
    let other = |drivers: &Option<DriverBounds>| {
        let names = architecture_names(rows, |_, row| {
            row.end == CapabilityResult::Starts && row.drivers.get(&launch).copied() == *drivers
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

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
