//! Replays the start of an image for every kind of GPU, launch method and known driver.

use std::ops::Range;

use jiff::civil::Date;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fact::{Component, ComponentRole, Facts, ImageFacts, Origin, ValueState};
use crate::fleet::{Host, Launch};
use crate::knowledge::{GpuClass, Knowledge};
use crate::minimum_driver;
use crate::minimum_driver::all_driver_releases;
use crate::needs::equivalent_gpus::{EquivalentGpus, group_equivalent_gpus};
use crate::needs::launch_setup::{LaunchSetup, SurveyHostBuilder, launch_setups};
use crate::needs::model;
use crate::needs::summary::summary_sentence;
use crate::outcome::Outcome;
use crate::replay::{
    Basis, DiscardingRecorder, FullRecorder, Replay, Route, StartStep, StartupResult, StepRecord, StepResult,
    explanations, replay,
};
use crate::source::Sources;

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
    // What is told of is one build, whatever else there is under the same name.
    let own: Vec<ImageFacts> = images.iter().map(|image| image_for_platform(image, platform)).collect();
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
    let mut components: Vec<Vec<model::ComponentNeeds>> = vec![Vec::new(); own.len()];
    let groups = gpu_groups(&searches.iter().map(|(_, search)| *search).collect::<Vec<_>>(), maker);
    for ((build, search), groups) in searches.iter().zip(groups) {
        if let Some(components) = components.get_mut(*build) {
            components.push(search.component_needs(groups));
        }
    }
    let told = images.iter().zip(&own).zip(components);
    told.map(|((image, own), components)| model::ImageNeeds {
        name: name.to_owned(),
        platform: platform.to_owned(),
        build: own.build.clone(),
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

/// Returns the image as its build for one platform, where it supports that platform or any.
fn image_for_platform(image: &ImageFacts, platform: &str) -> ImageFacts {
    let mut own = image.clone();
    let asked = match &image.platforms.state {
        ValueState::Known(list) => list.iter().any(|one| one.starts_with(platform)),
        ValueState::Absent { .. } => true,
        ValueState::Unknown(_) => false,
    };
    if asked {
        own.platforms.state = ValueState::Known(vec![platform.to_owned()]);
    }
    own
}

/// Returns the GPU groups of each component survey, in order of compute capability.
fn gpu_groups(searches: &[ComponentSurvey<'_>], maker: SurveyHostBuilder<'_>) -> Vec<Vec<model::GpuGroupNeeds>> {
    let kinds = group_equivalent_gpus(maker.knowledge);
    // Each group with the place of the kind that stands for it.
    let mut groups: Vec<Vec<(model::GpuGroupNeeds, usize)>> = vec![Vec::new(); searches.len()];
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
    groups: &mut [(ComponentSurvey<'_>, &mut model::GpuGroupNeeds)],
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
                    one.title == now.title && one.span == span && one.before == Some(version_text(row.from))
                };
                if let Some(known) = group.older_toolkits.last_mut().filter(continues) {
                    known.before = before;
                } else {
                    let from = version_text(row.from);
                    group.older_toolkits.push(model::OlderToolkit { title: now.title, from, before, span });
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
    fn component_needs(self, groups: Vec<model::GpuGroupNeeds>) -> model::ComponentNeeds {
        let component = self.component;
        let targets = self.image.facts.get(component.code.id);
        model::ComponentNeeds {
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
    fn group_needs(self, kind: &EquivalentGpus, ways: &[(LaunchSetup, Vec<Host>)]) -> model::GpuGroupNeeds {
        model::GpuGroupNeeds {
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
    fn launch_needs(self, way: LaunchSetup, hosts: &[Host]) -> model::LaunchNeeds {
        let runs = self.driver_runs(hosts);
        model::LaunchNeeds {
            title: way.title(),
            launch: way.launch.as_str(),
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
    fn code_coverage(self, ways: &[(LaunchSetup, Vec<Host>)]) -> &'static str {
        let native = ways.iter().find(|(way, _)| way.launch == Launch::Native);
        let Some(host) = native.and_then(|(_, hosts)| hosts.last()) else { return "unknown" };
        let mut steps = FullRecorder::default();
        replay(self.replay_on(host), &mut steps);
        match steps.0.iter().find(|step| step.step == StartStep::Code).map(|step| step.result) {
            Some(StepResult::Passes(Route::Jit)) => "jit",
            Some(StepResult::Passes(_)) => "native",
            Some(StepResult::Stops(_)) => "none",
            _ => "unknown",
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
            StartupResult::Fails(wall) => model::BlockingOutcome::Fails(wall.outcome()),
            _ => model::BlockingOutcome::Undetermined,
        };
        Some(model::BlockingStep {
            driver: host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
            outcome,
            step: step.step.name(),
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
    let known =
        |run: &&DriverRun| !matches!(run.fate, StartupResult::Fails(wall) if wall.outcome() == Outcome::GpuUnsupported);
    runs.iter().rfind(known).or(runs.last())
}

/// Converts runs to driver ranges: those that start permanently, other starts and undetermined ones.
fn supported_drivers(hosts: &[Host], runs: &[DriverRun]) -> model::SupportedDrivers {
    let driver = |at: usize| hosts.get(at).and_then(|host| host.driver).map(|driver| driver.to_string());
    let range = |run: &DriverRun| {
        let route = match run.fate {
            StartupResult::Starts(route) => Some(route.into()),
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
fn have_same_needs(one: &model::GpuGroupNeeds, other: &model::GpuGroupNeeds) -> bool {
    let ends = |group: &model::GpuGroupNeeds| -> Vec<_> {
        let end = |way: &model::LaunchNeeds| {
            let because = way.because.as_ref().map(|because| (because.outcome, because.step));
            (way.title, way.span.clone(), because)
        };
        group.ways.iter().map(end).collect()
    };
    one.code == other.code && one.driver_in_support == other.driver_in_support && ends(one) == ends(other)
}

/// Adds the capabilities, classes and GPUs of another group.
fn merge_group(into: &mut model::GpuGroupNeeds, group: model::GpuGroupNeeds) {
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
fn fact_locations(facts: &Facts, id: crate::fact::FactId, sources: &Sources) -> String {
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

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
