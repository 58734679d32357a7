//! The search: every kind of GPU, every way, every known driver, replayed.

use std::ops::Range;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::Component;
use crate::fact::Facts;
use crate::fact::ImageFacts;
use crate::fact::Origin;
use crate::fact::Role;
use crate::fact::State;
use crate::fleet::Host;
use crate::fleet::Launch;
use crate::knowledge::GpuClass;
use crate::knowledge::Knowledge;
use crate::least;
use crate::least::all_releases;
use crate::needs::kind::Kind;
use crate::needs::kind::kinds;
use crate::needs::model;
use crate::needs::sentence::sentence;
use crate::needs::way::Maker;
use crate::needs::way::Way;
use crate::needs::way::ways;
use crate::outcome::Outcome;
use crate::source::Sources;
use crate::start::Basis;
use crate::start::Fate;
use crate::start::NoRecord;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Steps;
use crate::start::replay;
use crate::start::words;

/// What each build of an image demands, component by component.
pub fn survey(
    name: &str,
    platform: &str,
    images: &[ImageFacts],
    as_of: Option<Date>,
    sources: &Sources,
    knowledge: Knowledge,
) -> Vec<model::Needs> {
    let drivers = all_releases(knowledge);
    let maker = Maker { platform, drivers: &drivers, as_of, knowledge };
    // What is told of is one build, whatever else there is under the same name.
    let own: Vec<ImageFacts> = images.iter().map(|image| of_platform(image, platform)).collect();
    let day = as_of.unwrap_or_else(|| knowledge.newest_date());
    let telling: Vec<Vec<usize>> = own.iter().map(|image| told_apart(image, &drivers, knowledge)).collect();
    let searches = own.iter().zip(&telling).enumerate().filter(|(_, (image, _))| image.gpu_content);
    let searches: Vec<(usize, Search<'_>)> = searches
        .flat_map(|(build, (image, telling))| {
            let core = image.components.iter().filter(|component| component.role == Role::Core);
            core.map(move |component| (build, Search { image, component, telling, sources, day, knowledge }))
        })
        .collect();
    let mut components: Vec<Vec<model::Component>> = vec![Vec::new(); own.len()];
    let groups = groups(&searches.iter().map(|(_, search)| *search).collect::<Vec<_>>(), maker);
    for ((build, search), groups) in searches.iter().zip(groups) {
        if let Some(components) = components.get_mut(*build) {
            components.push(search.component(groups));
        }
    }
    let told = images.iter().zip(&own).zip(components);
    told.map(|((image, own), components)| model::Needs {
        name: name.to_owned(),
        platform: platform.to_owned(),
        build: own.build.clone(),
        platforms: image.platforms.known().cloned().unwrap_or_default(),
        summary: sentence(&components, own, knowledge),
        newest_driver: drivers.last().map(ToString::to_string),
        components,
    })
    .collect()
}

/// The places of the drivers that the start-up of an image can tell apart, oldest first.
fn told_apart(image: &ImageFacts, drivers: &[DriverVersion], knowledge: Knowledge) -> Vec<usize> {
    let mut found = least::telling(std::iter::once(image), Vec::new(), drivers, knowledge);
    found.sort_unstable();
    found
}

/// The image as its build for one platform: where that is one of its platforms, or none is fixed, others do not run it.
fn of_platform(image: &ImageFacts, platform: &str) -> ImageFacts {
    let mut own = image.clone();
    let asked = match &image.platforms.state {
        State::Known(list) => list.iter().any(|one| one.starts_with(platform)),
        State::Absent { .. } => true,
        State::Unknown(_) => false,
    };
    if asked {
        own.platforms.state = State::Known(vec![platform.to_owned()]);
    }
    own
}

/// The groups of each search. Kinds that end alike in everything make one group, in the order of their capabilities.
fn groups(searches: &[Search<'_>], maker: Maker<'_>) -> Vec<Vec<model::Group>> {
    let kinds = kinds(maker.knowledge);
    // Each group with the place of the kind that stands for it.
    let mut groups: Vec<Vec<(model::Group, usize)>> = vec![Vec::new(); searches.len()];
    for (at, kind) in kinds.iter().enumerate() {
        let ways = ways(kind, maker.knowledge).into_iter().map(|way| (way, maker.hosts(kind, way)));
        let ways: Vec<(Way, Vec<Host>)> = ways.collect();
        for (search, groups) in searches.iter().zip(&mut groups) {
            let group = search.group(kind, &ways);
            match groups.iter_mut().find(|(other, _)| alike(other, &group)) {
                Some((known, _)) => join(known, group),
                None => groups.push((group, at)),
            }
        }
    }
    for (at, kind) in kinds.iter().enumerate() {
        let own = searches.iter().zip(&mut groups);
        let own = own.filter_map(|(search, groups)| Some((*search, &mut groups.iter_mut().find(|one| one.1 == at)?.0)));
        older_toolkits(&mut own.collect::<Vec<_>>(), kind, maker);
    }
    groups.into_iter().map(|groups| groups.into_iter().map(|(group, _)| group).collect()).collect()
}

/// Tells the older container toolkits under which a way of these groups, for which one kind stands, ends otherwise than
/// under the newest.
fn older_toolkits(groups: &mut [(Search<'_>, &mut model::Group)], kind: &Kind, maker: Maker<'_>) {
    if groups.is_empty() {
        return;
    }
    for (place, newest) in ways(kind, maker.knowledge).into_iter().enumerate().filter(|(_, way)| way.toolkit.is_some())
    {
        for row in maker.knowledge.container_toolkits().iter().filter(|row| newest.toolkit != Some(row.sample)) {
            let hosts = maker.hosts(kind, Way { toolkit: Some(row.sample), ..newest });
            for (search, group) in groups.iter_mut() {
                let Some(now) = group.ways.get(place) else { continue };
                let span = span(&hosts, &search.runs(&hosts));
                if span == now.span {
                    continue;
                }
                let before = row.before.map(|version| version.to_string());
                let continues = |one: &&mut model::OlderToolkit| {
                    one.title == now.title && one.span == span && one.before == Some(text(row.from))
                };
                if let Some(known) = group.older_toolkits.last_mut().filter(continues) {
                    known.before = before;
                } else {
                    let from = text(row.from);
                    group.older_toolkits.push(model::OlderToolkit { title: now.title, from, before, span });
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Search<'a> {
    image: &'a ImageFacts,
    component: &'a Component,
    /// The places of the drivers that are asked before others.
    telling: &'a [usize],
    sources: &'a Sources,
    /// The date for which drivers count as supported.
    day: Date,
    knowledge: Knowledge,
}

/// Consecutive drivers with one end.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    fate: Fate,
    first: usize,
    last: usize,
}

impl<'a> Search<'a> {
    fn component(self, groups: Vec<model::Group>) -> model::Component {
        let component = self.component;
        let targets = self.image.facts.get(component.code.id);
        model::Component {
            name: component.name.clone(),
            cuda: component.cuda.known().map(ToString::to_string),
            code: match &targets.state {
                State::Known(value) => value.to_string().split(", ").map(str::to_owned).collect(),
                State::Absent { .. } | State::Unknown(_) => Vec::new(),
            },
            groups,
        }
    }

    fn group(self, kind: &Kind, ways: &[(Way, Vec<Host>)]) -> model::Group {
        model::Group {
            capabilities: vec![kind.capability.to_string()],
            classes: vec![class_word(kind.class)],
            gpus: kind.names.clone(),
            driver_in_support: kind.is_driven(self.day, self.knowledge),
            code: self.coverage(ways),
            ways: ways.iter().map(|(way, hosts)| self.way(*way, hosts)).collect(),
            older_toolkits: Vec::new(),
        }
    }

    fn way(self, way: Way, hosts: &[Host]) -> model::Way {
        let runs = self.runs(hosts);
        model::Way {
            title: way.title(),
            launch: way.launch.as_str(),
            toolkit: way.toolkit.map(|version| version.to_string()),
            span: span(hosts, &runs),
            because: stopped(&runs).and_then(|run| self.because(hosts.get(run.last)?)),
        }
    }

    fn replay<'h>(self, host: &'h Host) -> Replay<'h>
    where
        'a: 'h,
    {
        Replay::of(self.image, self.component, host, self.knowledge)
    }

    /// The runs of all drivers. Those that the start-up can tell apart are asked, and what lies between two of them that
    /// end otherwise.
    fn runs(self, hosts: &[Host]) -> Vec<Run> {
        let one_a_driver = self.telling.last().is_some_and(|last| last + 1 == hosts.len());
        if one_a_driver {
            self.runs_of(hosts, self.telling.iter().copied())
        } else {
            self.runs_of(hosts, 0..hosts.len())
        }
    }

    fn runs_of(self, hosts: &[Host], places: impl Iterator<Item = usize>) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        let mut meet = |at: usize, fate: Fate| match runs.last_mut() {
            Some(run) if run.fate == fate => run.last = at,
            _ => runs.push(Run { fate, first: at, last: at }),
        };
        let fate = |at: usize| Some(replay(self.replay(hosts.get(at)?), &mut NoRecord));
        let mut before: Option<(usize, Fate)> = None;
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

    /// How the GPU code is covered, on the newest driver and without a container in the way.
    fn coverage(self, ways: &[(Way, Vec<Host>)]) -> &'static str {
        let native = ways.iter().find(|(way, _)| way.launch == Launch::Native);
        let Some(host) = native.and_then(|(_, hosts)| hosts.last()) else { return "unknown" };
        let mut steps = Steps::default();
        replay(self.replay(host), &mut steps);
        match steps.0.iter().find(|step| step.step == Step::Code).map(|step| step.result) {
            Some(StepResult::Passes(Route::Jit)) => "jit",
            Some(StepResult::Passes(_)) => "native",
            Some(StepResult::Stops(_)) => "none",
            _ => "unknown",
        }
    }

    fn because(self, host: &Host) -> Option<model::Because> {
        let mut steps = Steps::default();
        let fate = replay(self.replay(host), &mut steps);
        let deciding = |step: &&StepRecord| match fate {
            Fate::Fails(_) => matches!(step.result, StepResult::Stops(_)),
            _ => step.result == StepResult::Unknown,
        };
        // A step that waits for an earlier one says nothing by itself.
        let says = |step: &&StepRecord| deciding(step) && !words::waits(self.replay(host), step);
        let step = steps.0.iter().find(says).or_else(|| steps.0.iter().find(deciding))?;
        let outcome = match fate {
            Fate::Fails(wall) => wall.outcome().name(),
            _ => "undetermined",
        };
        Some(model::Because {
            driver: host.driver.map(|driver| driver.to_string()).unwrap_or_default(),
            outcome: outcome.to_owned(),
            step: step.step.name(),
            message: words::step(self.replay(host), step),
            evidence: step.facts.iter().filter_map(|basis| self.evidence(basis)).collect(),
        })
    }

    fn evidence(self, basis: Basis) -> Option<model::Evidence> {
        match basis {
            Basis::Image(id) => {
                let entry = self.image.facts.get(id);
                let value = match &entry.state {
                    State::Known(value) => Some(value.to_string()),
                    State::Absent { .. } | State::Unknown(_) => None,
                };
                Some(model::Evidence { key: entry.name(), value, place: places(&self.image.facts, id, self.sources) })
            }
            Basis::Row(row) => Some(model::Evidence {
                key: format!("{}[{}]", row.table, row.row),
                value: None,
                place: format!("{} ({})", row.source, row.checked),
            }),
            // The hosts are made up here.
            Basis::Pool(_) | Basis::Entry(_) => None,
        }
    }
}

fn text(version: CudaVersion) -> String {
    version.to_string()
}

/// The last runs that start, one after the other, as a range of places.
fn lasting(runs: &[Run]) -> Range<usize> {
    least::lasting(runs.len(), |at| runs.get(at).is_some_and(|run| matches!(run.fate, Fate::Starts(_))))
}

/// The run before those that start for good; where none starts, what stops the newest drivers that know the GPU.
fn stopped(runs: &[Run]) -> Option<&Run> {
    let lasting = lasting(runs);
    if !lasting.is_empty() {
        return runs.get(lasting.start.checked_sub(1)?);
    }
    let known = |run: &&Run| !matches!(run.fate, Fate::Fails(wall) if wall.outcome() == Outcome::GpuUnsupported);
    runs.iter().rfind(known).or(runs.last())
}

/// The runs as ranges: those that start for good, and what else starts or cannot be told.
fn span(hosts: &[Host], runs: &[Run]) -> model::Span {
    let driver = |at: usize| hosts.get(at).and_then(|host| host.driver).map(|driver| driver.to_string());
    let range = |run: &Run| {
        let route = match run.fate {
            Fate::Starts(route) => Some(route.name()),
            Fate::Fails(_) | Fate::Undetermined => None,
        };
        Some(model::Range { from: driver(run.first)?, to: driver(run.last)?, route })
    };
    let lasting = lasting(runs);
    let older = runs.get(..lasting.start).unwrap_or_default();
    let last = runs.get(lasting.clone()).unwrap_or_default().last();
    model::Span {
        smallest_driver: runs.get(lasting.clone()).and_then(|runs| driver(runs.first()?.first)),
        up_to: last.filter(|_| lasting.end < runs.len()).and_then(|run| driver(run.last)),
        also: older.iter().filter(|run| matches!(run.fate, Fate::Starts(_))).filter_map(range).collect(),
        undetermined: runs.iter().filter(|run| run.fate == Fate::Undetermined).filter_map(range).collect(),
    }
}

/// Whether two groups end alike in everything that is told of them.
fn alike(one: &model::Group, other: &model::Group) -> bool {
    let ends = |group: &model::Group| -> Vec<_> {
        let end = |way: &model::Way| {
            let because = way.because.as_ref().map(|because| (because.outcome.clone(), because.step));
            (way.title, way.span.clone(), because)
        };
        group.ways.iter().map(end).collect()
    };
    one.code == other.code && one.driver_in_support == other.driver_in_support && ends(one) == ends(other)
}

fn join(into: &mut model::Group, group: model::Group) {
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

pub(super) const fn class_word(class: GpuClass) -> &'static str {
    match class {
        GpuClass::DataCenter => "data-center",
        GpuClass::Consumer => "consumer",
        GpuClass::Workstation => "workstation",
        GpuClass::Jetson => "jetson",
        GpuClass::Vgpu => "vgpu",
        GpuClass::Other => "other",
    }
}

/// Where a fact stands, at the bottom of its evidence.
fn places(facts: &Facts, id: crate::fact::FactId, sources: &Sources) -> String {
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
