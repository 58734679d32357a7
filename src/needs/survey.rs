//! The search: every kind of GPU, every way, every known driver, replayed.

use std::borrow::Cow;
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
use crate::needs::way::Way;
use crate::needs::way::drivers_of;
use crate::needs::way::hosts;
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

/// What an image demands, component by component.
pub fn survey(
    name: &str,
    platform: &str,
    image: &ImageFacts,
    as_of: Option<Date>,
    sources: &Sources,
    knowledge: Knowledge,
) -> model::Needs {
    let platforms = image.platforms.known().cloned().unwrap_or_default();
    let drivers = all_releases(knowledge);
    let kinds = kinds(knowledge);
    // What is told of is one build, whatever else there is under the same name.
    let own = of_platform(image, platform);
    let image = &own;
    let core = image.components.iter().filter(|component| component.role == Role::Core && image.gpu_content);
    model::Needs {
        name: name.to_owned(),
        platform: platform.to_owned(),
        build: image.build.clone(),
        platforms,
        newest_driver: drivers.last().map(ToString::to_string),
        components: core
            .map(|component| {
                let search = Search { image, component, platform, as_of, drivers: &drivers, sources, knowledge };
                let targets = image.facts.get(component.code.id);
                model::Component {
                    name: component.name.clone(),
                    cuda: component.cuda.known().map(ToString::to_string),
                    code: match &targets.state {
                        State::Known(value) => value.to_string().split(", ").map(str::to_owned).collect(),
                        State::Absent { .. } | State::Unknown(_) => Vec::new(),
                    },
                    groups: search.groups(&kinds),
                }
            })
            .collect(),
    }
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

#[derive(Clone, Copy)]
struct Search<'a> {
    image: &'a ImageFacts,
    component: &'a Component,
    platform: &'a str,
    as_of: Option<Date>,
    drivers: &'a [DriverVersion],
    sources: &'a Sources,
    knowledge: Knowledge,
}

/// Consecutive drivers with one end.
struct Run {
    fate: Fate,
    first: usize,
    last: usize,
}

impl<'a> Search<'a> {
    /// Kinds that end alike in everything make one group, in the order of their capabilities.
    fn groups(self, kinds: &[Kind]) -> Vec<model::Group> {
        let mut groups: Vec<(model::Group, &Kind)> = Vec::new();
        for kind in kinds {
            let group = self.group(kind);
            match groups.iter_mut().find(|(other, _)| alike(other, &group)) {
                Some((known, _)) => join(known, group),
                None => groups.push((group, kind)),
            }
        }
        groups
            .into_iter()
            .map(|(group, kind)| model::Group { older_toolkits: self.older_toolkits(&group, kind), ..group })
            .collect()
    }

    fn group(self, kind: &Kind) -> model::Group {
        let ways: Vec<model::Way> = ways(kind, self.knowledge).into_iter().map(|way| self.way(kind, way)).collect();
        model::Group {
            capabilities: vec![kind.capability.to_string()],
            classes: vec![class_word(kind.class)],
            gpus: kind.names.clone(),
            code: self.coverage(kind),
            ways,
            older_toolkits: Vec::new(),
        }
    }

    fn drivers(self, kind: &Kind) -> Cow<'a, [DriverVersion]> {
        drivers_of(kind, self.drivers, self.knowledge)
    }

    fn way(self, kind: &Kind, way: Way) -> model::Way {
        let hosts = hosts(kind, way, self.platform, &self.drivers(kind), self.as_of, self.knowledge);
        let runs = self.runs(&hosts);
        model::Way {
            title: way.title(),
            launch: way.launch.as_str(),
            toolkit: way.toolkit.map(|version| version.to_string()),
            span: span(&hosts, &runs),
            because: stopped(&runs).and_then(|run| self.because(hosts.get(run.last)?)),
        }
    }

    fn replay<'h>(self, host: &'h Host) -> Replay<'h>
    where
        'a: 'h,
    {
        Replay { image: self.image, component: self.component, host, knowledge: self.knowledge }
    }

    fn runs(self, hosts: &[Host]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (at, host) in hosts.iter().enumerate() {
            let fate = replay(self.replay(host), &mut NoRecord);
            match runs.last_mut() {
                Some(run) if run.fate == fate => run.last = at,
                _ => runs.push(Run { fate, first: at, last: at }),
            }
        }
        runs
    }

    /// How the GPU code is covered, on the newest driver and without a container in the way.
    fn coverage(self, kind: &Kind) -> &'static str {
        let way = Way { launch: Launch::Native, toolkit: None };
        let drivers = self.drivers(kind);
        let newest = drivers.last().map(std::slice::from_ref).unwrap_or_default();
        let hosts = hosts(kind, way, self.platform, newest, self.as_of, self.knowledge);
        let Some(host) = hosts.first() else { return "unknown" };
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

    /// Older container toolkits under which a way ends otherwise than under the newest.
    fn older_toolkits(self, group: &model::Group, kind: &Kind) -> Vec<model::OlderToolkit> {
        let mut found: Vec<model::OlderToolkit> = Vec::new();
        for now in group.ways.iter().filter(|way| way.toolkit.is_some()) {
            let Ok(launch) = now.launch.parse::<Launch>() else { continue };
            for row in self.knowledge.container_toolkits() {
                let way = Way { launch, toolkit: Some(row.sample) };
                let hosts = hosts(kind, way, self.platform, &self.drivers(kind), self.as_of, self.knowledge);
                let span = span(&hosts, &self.runs(&hosts));
                if span == now.span {
                    continue;
                }
                let before = row.before.map(|version| version.to_string());
                let continues = |one: &&mut model::OlderToolkit| {
                    one.title == now.title && one.span == span && one.before == Some(text(row.from))
                };
                match found.last_mut().filter(continues) {
                    Some(known) => known.before = before,
                    None => {
                        found.push(model::OlderToolkit { title: now.title, from: text(row.from), before, span });
                    }
                }
            }
        }
        found
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
    one.code == other.code && ends(one) == ends(other)
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

const fn class_word(class: GpuClass) -> &'static str {
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
