//! Verdicts for the report: the deciding scenario, what is missing for an open verdict, and how to supply it.

use std::fmt;

use crate::fleet::{Pool, PoolField};
use crate::judge::facts::{report_fact_id, report_row_id};
use crate::judge::{AnalysisSettings, PlatformBuild};
use crate::knowledge::Knowledge;
use crate::model::cause::{Cause, Explanation};
use crate::model::fact::{BaseImageBuild, ComponentRole, Confidence, FactKey, PrintedValue, UNNAMED_WORDS, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::explanations::FailureMessage;
use crate::replay::{
    Basis, HostResult, ReplayFailure, StartRoute, StartStep, StartupResult, StartupVerdict, StepRecord, StepResult,
    deciding_facts, explanations, pool_field_value,
};
use crate::report::kinds::{StepStatus, VerdictKind};
use crate::report::model;
use crate::report::phrases::unused_gpu_message;

/// Returns the verdict on a subject without GPU content, for another processor, or without readable content.
pub(super) fn not_applicable_verdict(pool: &str, builds: &[PlatformBuild]) -> model::Verdict {
    if let Some(why) =
        builds.iter().filter(|build| build.image.gpu_content).find_map(|build| build.other_processor.as_ref())
    {
        let message = unused_gpu_message(why);
        let verdict = verdict_without_scenarios(pool, VerdictKind::NotApplicable, message, Vec::new());
        return model::Verdict { unused_gpu: Some(why.clone()), ..verdict };
    }
    let unread = builds.iter().any(|build| build.image.base_cuda.is_unknown());
    let files = unread_files(builds);
    let names: Vec<&str> = files.iter().map(|file| file.key.split_once('.').map_or("", |(_, name)| name)).collect();
    let message = match builds {
        [] => "no stage to check".to_owned(),
        _ if !names.is_empty() => format!("nothing that was read uses a GPU; not read: {}", names.join(", ")),
        _ if unread => "nothing in it uses a GPU; its base image is unknown and was not read".to_owned(),
        _ => "nothing in it uses a GPU".to_owned(),
    };
    verdict_without_scenarios(pool, VerdictKind::NotApplicable, message, files)
}

/// Returns the verdict on a pool that no host of the knowledge tables matches.
pub(super) fn no_host_verdict(pool: &str, cause: &Cause) -> model::Verdict {
    let missing = model::Missing { key: PoolField::Toolkit.name().to_owned(), supply: cause.remedy() };
    let (kind, message) = (verdict_kind(Some(StartupResult::Undetermined)), format!("unknown: {cause}"));
    let verdict = verdict_without_scenarios(pool, kind, message, vec![missing]);
    model::Verdict { explanation: Some(cause.to_string()), ..verdict }
}

/// Returns a verdict without scenarios.
fn verdict_without_scenarios(
    pool: &str,
    fate: VerdictKind,
    message: String,
    missing: Vec<model::Missing>,
) -> model::Verdict {
    model::Verdict {
        pool: pool.to_owned(),
        component: None,
        fate,
        outcome: None,
        reason: None,
        codes: model::Codes::default(),
        route: None,
        message,
        explanation: None,
        confidence: Confidence::Declared,
        missing,
        not_seen: Vec::new(),
        notes: Vec::new(),
        scenarios: Vec::new(),
        unused_gpu: None,
    }
}

/// Returns one of the verdicts on a pool for the report.
pub(super) fn report_verdict(
    verdict: &StartupVerdict<'_>,
    all: &[StartupVerdict<'_>],
    pool: &Pool,
    builds: &[PlatformBuild],
    settings: AnalysisSettings<'_>,
) -> model::Verdict {
    let knowledge = settings.knowledge;
    let failure = match verdict.fate {
        Some(StartupResult::Fails(failure)) => Some(failure),
        _ => None,
    };
    let (certain, possible) = verdict.error_codes();
    let with_findings = settings.detail.includes_findings();
    let message = VerdictMessage::of(verdict, knowledge);
    model::Verdict {
        pool: pool.name.value.clone(),
        component: verdict.component.map(str::to_owned),
        fate: verdict_kind(verdict.fate),
        outcome: failure.map(ReplayFailure::outcome),
        reason: failure.and_then(ReplayFailure::reason),
        codes: model::Codes { certain, possible },
        route: match verdict.fate {
            Some(StartupResult::Starts(route)) => Some(route),
            _ => None,
        },
        message: message.to_string(),
        explanation: with_findings.then(|| message.explanation(certain)),
        confidence: verdict.confidence,
        missing: if with_findings {
            missing_for_verdict(verdict, knowledge).into_iter().chain(unread_files(builds)).collect()
        } else {
            Vec::new()
        },
        not_seen: if with_findings {
            let unread = if verdict.component.is_none() { unread_names(builds) } else { Vec::new() };
            uninspected_parts(verdict, all, knowledge).into_iter().chain(unread).collect()
        } else {
            Vec::new()
        },
        notes: if with_findings {
            let unread = if verdict.component.is_none() { unread_notes(builds) } else { Vec::new() };
            unread.into_iter().chain(verdict_notes(verdict, all, knowledge)).collect()
        } else {
            Vec::new()
        },
        scenarios: if settings.detail.includes_steps() {
            verdict.hosts.iter().map(|host| report_scenario(host, builds, settings)).collect()
        } else {
            Vec::new()
        },
        unused_gpu: None,
    }
}

/// Notes on a starting verdict that the image was not inspected, because its build stops without `installer`.
pub(super) fn note_failed_build(verdict: &mut model::Verdict, installer: &str) {
    if verdict.route.is_some() {
        verdict.not_seen.insert(0, format!("the image, because its build stops: `{installer}` is missing"));
    }
}

/// Returns the kind of a verdict in the report.
fn verdict_kind(fate: Option<StartupResult>) -> VerdictKind {
    match fate {
        Some(StartupResult::Starts(_)) => VerdictKind::Starts,
        Some(StartupResult::Fails(_)) => VerdictKind::Fails,
        Some(StartupResult::Undetermined) => VerdictKind::Undetermined,
        None => VerdictKind::Depends,
    }
}

/// What the message of a start adds where the program uses no GPU.
const WITHOUT_GPU: &str = "and uses no GPU";

/// The message of a verdict: the error that a user would see, or why the result is unknown.
enum VerdictMessage {
    /// How it fails.
    Fails(FailureMessage),
    /// How it starts.
    Starts {
        /// The route of its code.
        route: StartRoute,
        /// Whether it uses no GPU, because a library is missing that it goes without.
        without_gpu: bool,
    },
    /// Why it is unknown or what it depends on.
    Open(OpenVerdict),
    /// Nothing is known.
    Empty,
}

impl VerdictMessage {
    /// Returns the message of a verdict.
    fn of(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Self {
        match verdict.fate {
            Some(StartupResult::Fails(failure)) => Self::Fails(failing_message(verdict, failure, knowledge)),
            Some(StartupResult::Starts(route)) => {
                let runs_without_gpu = |host: &HostResult<'_>| explanations::runs_without_gpu(host.replay(knowledge));
                Self::Starts { route, without_gpu: verdict.hosts.iter().all(runs_without_gpu) }
            }
            Some(StartupResult::Undetermined) | None => {
                OpenVerdict::from_verdict(verdict, knowledge).map_or(Self::Empty, Self::Open)
            }
        }
    }

    /// Returns the message without the kind and the route of the verdict; `certain` is its CUDA error.
    fn explanation(&self, certain: Option<u16>) -> String {
        match self {
            Self::Fails(message) => message.explanation(certain),
            Self::Starts { without_gpu: true, .. } => WITHOUT_GPU.to_owned(),
            Self::Open(opened) => opened.explanation(),
            Self::Starts { without_gpu: false, .. } | Self::Empty => String::new(),
        }
    }
}

impl fmt::Display for VerdictMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails(message) => message.fmt(f),
            Self::Starts { route, without_gpu: true } => write!(f, "starts ({}), {WITHOUT_GPU}", route.name()),
            Self::Starts { route, without_gpu: false } => write!(f, "starts ({})", route.name()),
            Self::Open(opened) => f.write_str(&opened.text()),
            Self::Empty => Ok(()),
        }
    }
}

/// Returns the message of a failing verdict, with how other nodes fail.
fn failing_message(verdict: &StartupVerdict<'_>, failure: ReplayFailure, knowledge: Knowledge) -> FailureMessage {
    let Some(host) = verdict.typical_host() else {
        return FailureMessage::without_error(failure.outcome().to_string());
    };
    let own = match host.fate {
        StartupResult::Fails(own) => own,
        StartupResult::Starts(_) | StartupResult::Undetermined => failure,
    };
    let mut message = explanations::failure_message_parts(host.replay(knowledge), own);
    message.push_str(&other_failures_text(verdict, failure));
    message
}

/// Returns the error that a user would see, or why the result is unknown.
pub(super) fn verdict_message(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> String {
    VerdictMessage::of(verdict, knowledge).to_string()
}

/// Returns what is or may be wrong, without the printed error.
pub(super) fn verdict_title(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> String {
    let failure = |fate: StartupResult| match fate {
        StartupResult::Fails(failure) => Some(failure),
        StartupResult::Starts(_) | StartupResult::Undetermined => None,
    };
    let of = |host: &HostResult<'_>| {
        failure(host.fate).map(|failure| explanations::failure_title(host.replay(knowledge), failure))
    };
    match verdict.fate {
        Some(StartupResult::Fails(_)) => verdict.typical_host().and_then(of),
        Some(StartupResult::Starts(_) | StartupResult::Undetermined) | None => None,
    }
    .unwrap_or_else(|| verdict_message(verdict, knowledge))
}

/// Returns the error that users of several pools would see, without GPU and driver.
pub(super) fn message_without_host(host: &HostResult<'_>, failure: ReplayFailure, knowledge: Knowledge) -> String {
    explanations::general_failure_message(host.replay(knowledge), failure)
}

/// Returns how other nodes of a pool, or other builds behind the tag, fail, if all fail but not all alike.
pub(super) fn other_failures_text(verdict: &StartupVerdict<'_>, failure: ReplayFailure) -> String {
    let here = |host: &&HostResult<'_>| matches!(host.fate, StartupResult::Fails(own) if own.outcome() == failure.outcome() && own.reason() == failure.reason());
    let elsewhere = || verdict.hosts.iter().filter(|host| !here(host));
    let mut others: Vec<String> = elsewhere().map(|host| PossibleResult::from(host.fate).name().to_owned()).collect();
    others.sort();
    others.dedup();
    // The same host ends otherwise with another build of the image, or with another release of what it runs.
    let same_host = |same_image: bool| {
        elsewhere().any(|other| {
            let same = |host: &HostResult<'_>| {
                std::ptr::eq(host.host, other.host) && std::ptr::eq(host.image, other.image) == same_image
            };
            verdict.hosts.iter().filter(here).any(same)
        })
    };
    let what = match () {
        () if others.is_empty() => return String::new(),
        () if same_host(false) => "the build that the tag names",
        () if same_host(true) => "the release",
        () => match distinguishing_field(verdict, here) {
            Some(field) => field.description(),
            None => return format!("; other nodes fail with {}", others.join(" or ")),
        },
    };
    format!("; depending on {what}, it fails with {} instead", others.join(" or "))
}

/// Returns the open pool field in which the hosts with this failure differ from those with another.
fn distinguishing_field(verdict: &StartupVerdict<'_>, here: impl Fn(&&HostResult<'_>) -> bool) -> Option<PoolField> {
    let (own, others): (Vec<_>, Vec<_>) = verdict.hosts.iter().partition(|host| here(host));
    let open = |field: &&PoolField| verdict.hosts.iter().all(|host| host.host.assumed.contains(field));
    let is_distinguishing = |field: &&PoolField| {
        let value = |host: &HostResult<'_>| pool_field_value(**field, host.host);
        !own.iter().any(|one| others.iter().any(|other| value(one) == value(other)))
    };
    PoolField::ALL.iter().filter(open).find(is_distinguishing).copied()
}

/// Returns the missing facts of all unknown steps, each once.
pub(super) fn missing_facts(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Vec<explanations::MissingFact> {
    let mut found: Vec<explanations::MissingFact> = Vec::new();
    for host in &verdict.hosts {
        for step in host.steps.iter().filter(|step| step.result == StepResult::Unknown) {
            for missing in explanations::missing_facts(host.replay(knowledge), step) {
                if !found.contains(&missing) {
                    found.push(missing);
                }
            }
        }
    }
    found
}

/// Returns the GPU code and libraries that were not inspected; for the image those of every core component.
fn uninspected_parts(verdict: &StartupVerdict<'_>, all: &[StartupVerdict<'_>], knowledge: Knowledge) -> Vec<String> {
    if verdict.component.is_some() {
        return uninspected_component_parts(verdict, knowledge);
    }
    let core = all.iter().filter(|one| one.component.is_some() && !is_extension(one));
    core.flat_map(|one| uninspected_component_parts(one, knowledge)).collect()
}

/// Returns the GPU code and libraries of one component that were not inspected.
fn uninspected_component_parts(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Vec<String> {
    let Some(first) = verdict.hosts.first() else { return Vec::new() };
    if first.component.role == ComponentRole::Container {
        return vec!["programs that call CUDA".to_owned()];
    }
    let name = first.component.display_name();
    let met = |step: StartStep| {
        let mut steps = verdict.hosts.iter().flat_map(|host| &host.steps);
        // What fails later was looked for and is not there.
        steps.any(|one| one.step == step && matches!(one.result, StepResult::NotSeen | StepResult::FailsLater))
    };
    let parts = [
        (StartStep::Mounts, "the device /dev/nvidia-modeset of the nodes".to_owned()),
        (
            StartStep::Code,
            match first.component.name.as_str() {
                crate::model::fact::CUDA_RUNTIME_COMPONENT => "native code and PTX of your program".to_owned(),
                name => {
                    let address = match &first.component.code.state {
                        ValueState::Unknown(why) => why.address_outside_index(),
                        _ => None,
                    };
                    address.map_or_else(
                        || format!("native code and PTX of {name}"),
                        |address| format!("native code and PTX of {name} from {address}"),
                    )
                }
            },
        ),
        (StartStep::Libraries, format!("libraries that {name} needs")),
        (StartStep::OpenedLater, format!("libraries that {name} opens later")),
    ];
    let mut list: Vec<String> = parts.into_iter().filter(|(step, _)| met(*step)).map(|(_, what)| what).collect();
    let starting = verdict.hosts.iter().filter_map(|host| match host.fate {
        StartupResult::Starts(route) => Some(explanations::unknown_gpu_code(host.replay(knowledge), route)),
        StartupResult::Fails(_) | StartupResult::Undetermined => None,
    });
    for what in starting.flatten() {
        if !list.contains(&what) {
            list.push(what);
        }
    }
    list
}

/// Returns notes that decide nothing: libraries without which no GPU is used, and failing extensions of the image.
fn verdict_notes(verdict: &StartupVerdict<'_>, all: &[StartupVerdict<'_>], knowledge: Knowledge) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in verdict.hosts.iter().flat_map(|host| explanations::missing_library_notes(host.replay(knowledge))) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if verdict.component.is_some() {
        return notes;
    }
    for other in all.iter().filter(|other| is_extension(other)) {
        // What stops the image stops its extensions as well.
        if let (Some(name), Some(StartupResult::Fails(failure))) = (other.component, other.fate)
            && name != crate::model::fact::CUDA_RUNTIME_COMPONENT
            && !matches!(verdict.fate, Some(StartupResult::Fails(own)) if own.outcome() == failure.outcome())
        {
            notes.push(format!("the extension {name} fails on its own: {}", verdict_message(other, knowledge)));
        }
    }
    notes
}

/// Returns why what starts on a pool uses no GPU there.
pub(super) fn no_gpu_reason(all: &[StartupVerdict<'_>], knowledge: Knowledge) -> Option<String> {
    let starts = |verdict: &&StartupVerdict<'_>| matches!(verdict.fate, Some(StartupResult::Starts(_)));
    all.first().filter(starts)?;
    let mut hosts = all.iter().filter(starts).flat_map(|verdict| &verdict.hosts);
    hosts.find_map(|host| explanations::unused_gpu_reason(host.replay(knowledge)))
}

/// Returns what starts on a pool but fails later on all its nodes, because a library that it opens is missing.
pub(super) fn later_failure(all: &[StartupVerdict<'_>], knowledge: Knowledge) -> Option<String> {
    let starts = |verdict: &&StartupVerdict<'_>| matches!(verdict.fate, Some(StartupResult::Starts(_)));
    all.first().filter(starts)?;
    let core = all.iter().filter(starts).filter(|one| one.component.is_some() && !is_extension(one));
    let failures = core.filter_map(|verdict| {
        let mut hosts = verdict.hosts.iter().map(|host| explanations::later_failure(host.replay(knowledge)));
        let first = hosts.next()??;
        hosts.all(|other| other.is_some()).then_some(first)
    });
    let failures: Vec<String> = failures.collect();
    (!failures.is_empty()).then(|| failures.join("; "))
}

/// Whether a verdict is on an extension of another framework.
fn is_extension(verdict: &StartupVerdict<'_>) -> bool {
    verdict.hosts.first().is_some_and(|host| host.component.role == ComponentRole::Extension)
}

/// Returns the result on one host for the report.
fn report_scenario(host: &HostResult<'_>, builds: &[PlatformBuild], settings: AnalysisSettings<'_>) -> model::Scenario {
    let machine = host.host;
    let open = |field| machine.assumed.contains(&field).then(|| pool_field_value(field, machine));
    model::Scenario {
        when: model::When {
            gpu: machine.gpu.as_ref().map(|gpu| gpu.name.clone()),
            driver: machine.driver.map(|driver| driver.to_string()),
            launch: Some(machine.launch.as_str().to_owned()),
            mode: Some(machine.mode.as_str().to_owned()),
            toolkit: machine.toolkit_version.map(|version| version.to_string()),
            brand: open(PoolField::Brand),
            library_directory: open(PoolField::LibraryDirectory),
            build: host
                .image
                .build
                .as_ref()
                .map(ToString::to_string)
                .into_iter()
                .chain(host.component.release.clone())
                .chain(machine.takes_compat.map(|takes_compat| {
                    if takes_compat { "with the libcuda of cuda-compat" } else { "without the libcuda of cuda-compat" }
                        .to_owned()
                }))
                .reduce(|one, other| one + ", " + &other),
        },
        fate: verdict_kind(Some(host.fate)),
        outcome: match host.fate {
            StartupResult::Fails(failure) => Some(failure.outcome()),
            _ => None,
        },
        steps: host.steps.iter().map(|record| report_step(host, record, builds, settings)).collect(),
    }
}

/// Returns the status of a step in the report.
fn step_status(result: StepResult) -> StepStatus {
    match result {
        StepResult::Passes(_) => StepStatus::Passes,
        StepResult::Stops(_) => StepStatus::Stops,
        StepResult::Unknown => StepStatus::Unknown,
        StepResult::NotSeen => StepStatus::NotSeen,
        StepResult::FailsLater => StepStatus::FailsLater,
        StepResult::NotApplicable => StepStatus::NotApplicable,
    }
}

/// Returns a step for the report.
fn report_step(
    host: &HostResult<'_>,
    record: &StepRecord,
    builds: &[PlatformBuild],
    settings: AnalysisSettings<'_>,
) -> model::Step {
    let build = builds.iter().find(|build| std::ptr::eq(build.image.as_ref(), host.image));
    let facts = deciding_facts(record, host.host).into_iter().filter_map(|basis| match basis {
        Basis::Image(id) => build.map(|build| report_fact_id(build, id)),
        Basis::Pool(field) => Some(field.name().to_owned()),
        Basis::Entry(entry) => Some(entry.report_key(host.host)),
        Basis::Row(row) => Some(report_row_id(row)),
    });
    model::Step {
        step: record.step,
        result: step_status(record.result),
        text: if settings.detail.includes_findings() {
            explanations::describe_step(host.replay(settings.knowledge), record)
        } else {
            String::new()
        },
        facts: facts.collect(),
        cite: record.cite.0.to_owned(),
    }
}

/// Returns what would decide a verdict that is unknown or depends on something.
pub(super) fn missing_for_verdict(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Vec<model::Missing> {
    let mut list: Vec<model::Missing> = Vec::new();
    if verdict.fate.is_none() {
        list.extend(verdict.open_fields.iter().map(|field| model::Missing {
            key: field.open_field_key().to_owned(),
            supply: remedy_for_verdict(*field, verdict).to_owned(),
        }));
        if verdict.open_build {
            list.push(missing_base_build(verdict));
        }
    }
    let undetermined = verdict.hosts.iter().any(|host| host.fate == StartupResult::Undetermined);
    if undetermined && verdict.fate.is_none_or(|fate| fate == StartupResult::Undetermined) {
        for missing in missing_facts(verdict, knowledge) {
            let missing = model::Missing { key: missing.key, supply: missing.cause.remedy() };
            // A field that decides the verdict is requested once.
            if !list.iter().any(|other| other.key == missing.key) {
                list.push(missing);
            }
        }
    }
    // In a pool that declares neither, every other field matters less.
    let first = [PoolField::Gpu, PoolField::Driver].map(PoolField::name);
    if first.iter().all(|name| list.iter().any(|one| one.key == *name)) {
        list.sort_by_key(|one| first.iter().position(|name| one.key == *name).unwrap_or(first.len()));
    }
    list
}

/// Returns how to supply a pool field for a verdict; the pool may declare no value, or several.
fn remedy_for_verdict(field: PoolField, verdict: &StartupVerdict<'_>) -> &'static str {
    let unnamed = verdict.hosts.iter().any(|host| host.host.gpu.as_ref().is_some_and(|gpu| !gpu.named));
    if unnamed { field.remedy_if_undeclared() } else { field.remedy() }
}

/// Returns the unread files that name packages to install, each once.
fn unread_files(builds: &[PlatformBuild]) -> Vec<model::Missing> {
    let missing = |(key, why): (String, &Cause)| model::Missing { key, supply: why.remedy() };
    unread_requirements(builds).into_iter().map(missing).collect()
}

/// Returns the unread files as notes.
fn unread_notes(builds: &[PlatformBuild]) -> Vec<String> {
    unread_requirements(builds).into_iter().map(|(_, why)| why.reason()).collect()
}

/// Returns the unread files as entries of the list of uninspected parts.
fn unread_names(builds: &[PlatformBuild]) -> Vec<String> {
    let entries = builds.iter().flat_map(|build| build.image.facts.iter()).map(|(_, entry)| entry);
    let unread =
        entries.filter(|entry| entry.key == FactKey::Requirements && matches!(entry.state, ValueState::Unknown(_)));
    let mut names: Vec<String> = Vec::new();
    let packages = |of: &str| match of {
        UNNAMED_WORDS => "packages of a command".to_owned(),
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

/// Returns the entry for an unknown build of the base image.
fn missing_base_build(verdict: &StartupVerdict<'_>) -> model::Missing {
    let differs_by_system = |host: &HostResult<'_>| host.image.build.as_ref().is_some_and(BaseImageBuild::names_system);
    let cause = if is_base_pinned(verdict) {
        Cause::BuildOfDigest
    } else if verdict.hosts.iter().any(differs_by_system) {
        Cause::BuildOfSystem
    } else {
        Cause::BuildOfDate
    };
    model::Missing { key: "image.base.digest".to_owned(), supply: cause.remedy() }
}

/// Whether the base image is pinned to a digest.
fn is_base_pinned(verdict: &StartupVerdict<'_>) -> bool {
    let base = verdict.hosts.first().and_then(|host| host.image.base.map(|id| &host.image.facts.get(id).state));
    matches!(base, Some(ValueState::Known(PrintedValue::Text(name))) if name.contains('@'))
}

/// Why a verdict is unknown, or what it depends on.
pub(super) enum OpenVerdict {
    /// The distinct reasons why it is unknown.
    Reasons(Vec<UnknownReason>),
    /// What it depends on, and the sorted outcomes.
    Depends(VerdictDependency, Vec<PossibleResult>),
}

/// What decides a verdict that is not the same on all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VerdictDependency {
    /// The build of the base image that the digest names.
    DigestBuild,
    /// The build of the base image that the tag names.
    TagBuild,
    /// Open fields of the pool.
    Fields(Vec<PoolField>),
}

impl fmt::Display for VerdictDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DigestBuild => f.write_str("the build that the digest names"),
            Self::TagBuild => f.write_str("the build that the tag names"),
            Self::Fields(fields) => {
                f.write_str(&fields.iter().map(|field| field.description()).collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// A result that a start may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PossibleResult {
    Starts,
    Unknown,
    Fails(Outcome),
}

impl From<StartupResult> for PossibleResult {
    fn from(result: StartupResult) -> Self {
        match result {
            StartupResult::Starts(_) => Self::Starts,
            StartupResult::Undetermined => Self::Unknown,
            StartupResult::Fails(failure) => Self::Fails(failure.outcome()),
        }
    }
}

impl PossibleResult {
    /// Returns `starts`, `unknown` or the rule of the failure.
    const fn name(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Unknown => "unknown",
            Self::Fails(outcome) => outcome.rule_name(),
        }
    }

    /// Returns a verb phrase: `starts`, `fails (no-gpu)`.
    fn verb_phrase(self) -> String {
        match self {
            Self::Fails(outcome) => format!("fails ({})", outcome.rule_name()),
            Self::Starts | Self::Unknown => self.name().to_owned(),
        }
    }
}

/// Something that is unknown, and why.
#[derive(Clone, PartialEq)]
pub(super) struct UnknownReason {
    /// What is unknown, and why.
    pub(super) why: Explanation,
    /// How to supply it, as an imperative; empty if that is impossible.
    pub(super) supply: String,
}

/// The texts of a finding on an open verdict.
pub(super) struct OpenVerdictTexts {
    pub(super) title: String,
    pub(super) cause_text: Option<String>,
    /// How to supply what the title says is unknown; empty if that is impossible.
    pub(super) help: String,
    /// What else is unknown, each with how to supply it.
    pub(super) also_unknown: Vec<String>,
}

impl OpenVerdict {
    /// Returns what leaves a verdict open; `None` if it starts or fails.
    pub(super) fn from_verdict(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> Option<Self> {
        match verdict.fate {
            Some(StartupResult::Undetermined) => {
                let mut reasons: Vec<UnknownReason> = Vec::new();
                for missing in missing_facts(verdict, knowledge) {
                    let reason = UnknownReason { why: missing.cause.explain(), supply: missing.cause.remedy() };
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                }
                Some(Self::Reasons(reasons))
            }
            None => {
                let on = match (verdict.open_build, is_base_pinned(verdict)) {
                    (true, true) => VerdictDependency::DigestBuild,
                    (true, false) => VerdictDependency::TagBuild,
                    (false, _) => VerdictDependency::Fields(verdict.open_fields.clone()),
                };
                let mut ends: Vec<PossibleResult> =
                    verdict.hosts.iter().map(|host| PossibleResult::from(host.fate)).collect();
                ends.sort_by_key(|end| end.name());
                ends.dedup();
                Some(Self::Depends(on, ends))
            }
            Some(StartupResult::Starts(_) | StartupResult::Fails(_)) => None,
        }
    }

    /// Whether another open verdict has the same causes, in any order.
    pub(super) fn has_same_cause(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Reasons(own), Self::Reasons(others)) => {
                own.len() == others.len() && own.iter().all(|one| others.contains(one))
            }
            (Self::Depends(on, own), Self::Depends(same, others)) => on == same && own == others,
            (Self::Reasons(_), Self::Depends(..)) | (Self::Depends(..), Self::Reasons(_)) => false,
        }
    }

    /// Returns the reasons in one line, after the kind of the verdict.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Reasons(_) => format!("unknown: {}", self.explanation()),
            Self::Depends(..) => self.explanation(),
        }
    }

    /// Returns the reasons in one line.
    fn explanation(&self) -> String {
        match self {
            Self::Reasons(reasons) if reasons.is_empty() => "nothing known decides it".to_owned(),
            Self::Reasons(reasons) => {
                group_reasons(reasons).iter().map(ReasonGroup::sentence).collect::<Vec<_>>().join("; ")
            }
            Self::Depends(on, ends) => {
                let names: Vec<&str> = ends.iter().map(|end| end.name()).collect();
                format!("depends on {on}: {}", names.join(" or "))
            }
        }
    }

    /// Returns the texts of a finding: what is unknown and why, or what the verdict depends on.
    pub(super) fn finding_texts(&self) -> OpenVerdictTexts {
        let of = |title: String, cause_text| OpenVerdictTexts {
            title,
            cause_text,
            help: String::new(),
            also_unknown: Vec::new(),
        };
        let reasons = match self {
            Self::Reasons(reasons) => reasons,
            Self::Depends(on, ends) => {
                let ends: Vec<String> = ends.iter().map(|end| end.verb_phrase()).collect();
                return of(self.text(), Some(format!("{}, depending on {on}", ends.join(" or "))));
            }
        };
        let mut folded = group_reasons(reasons).into_iter();
        let Some(first) = folded.next() else {
            return of("the verdict is unknown: nothing known decides it".to_owned(), None);
        };
        // A name with what was not done says enough; the rest of the reason says what is unknown for it.
        let mut texts = if first.subjects.is_empty() {
            of(first.sentence(), None)
        } else if let Some((title, rest)) = &first.why.title {
            let unknown = format!("{} unknown", subject_with_verb(&first.subjects));
            let cause = rest.as_ref().map_or_else(|| unknown.clone(), |rest| format!("{rest}, so {unknown}"));
            of(title.clone(), Some(cause))
        } else {
            of(first.sentence(), None)
        };
        texts.help = first.help();
        texts.also_unknown = folded.map(|other| other.sentence_with_help()).collect();
        texts
    }

    /// Whether a base image or its configuration is missing, before anything else.
    pub(super) fn needs_base(&self) -> bool {
        let Self::Reasons(reasons) = self else { return false };
        group_reasons(reasons).first().is_some_and(|first| first.why.cause.is_base_not_read())
    }

    /// Whether the verdict may be a failure, rather than unknown.
    pub(super) fn may_fail(&self) -> bool {
        matches!(self, Self::Depends(..))
    }
}

/// Things that are unknown for the same reason.
struct ReasonGroup<'r> {
    /// What is unknown; empty if the reason is a sentence of its own.
    subjects: Vec<&'r str>,
    why: &'r Explanation,
    supplies: Vec<&'r str>,
}

/// Groups things that are unknown for the same reason.
fn group_reasons(reasons: &[UnknownReason]) -> Vec<ReasonGroup<'_>> {
    let mut all: Vec<ReasonGroup<'_>> = Vec::new();
    for reason in reasons {
        let (subject, supply) = (reason.why.subject.as_deref(), reason.supply.as_str());
        let alike = |one: &&mut ReasonGroup<'_>| {
            one.why.has_same_reason(&reason.why) && one.subjects.is_empty() == subject.is_none()
        };
        if let Some(one) = all.iter_mut().find(alike) {
            one.subjects.extend(subject.filter(|subject| !one.subjects.contains(subject)));
            one.supplies.push(supply);
        } else {
            let subjects = subject.into_iter().collect();
            all.push(ReasonGroup { subjects, why: &reason.why, supplies: vec![supply] });
        }
    }
    all
}

impl ReasonGroup<'_> {
    /// Returns what is unknown and why, in one sentence.
    fn sentence(&self) -> String {
        match self.subjects.as_slice() {
            [] => self.why.reason.clone(),
            subjects => format!("{} unknown: {}", subject_with_verb(subjects), self.why.reason),
        }
    }

    /// Returns how to supply them, each instruction once; the longer text if one contains another.
    fn help(&self) -> String {
        let mut ways: Vec<&str> = Vec::new();
        for supply in self.supplies.iter().filter(|supply| !supply.is_empty()) {
            if !ways.iter().any(|way| way.contains(supply)) {
                ways.retain(|way| !supply.contains(way));
                ways.push(supply);
            }
        }
        ways.join("; ")
    }

    /// Returns the sentence, followed by the help in parentheses.
    fn sentence_with_help(&self) -> String {
        let (sentence, help) = (self.sentence(), self.help());
        if help.is_empty() { sentence } else { format!("{sentence} (help: {help})") }
    }
}

/// Joins subjects and adds the verb: `a is`, `a and b are`.
fn subject_with_verb(whats: &[&str]) -> String {
    format!("{} {}", whats.join(" and "), if whats.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cause::Cause;

    fn reasons(all: &[&str]) -> OpenVerdict {
        let reason = |text: &&str| UnknownReason { why: Cause::recorded(*text, "").explain(), supply: String::new() };
        OpenVerdict::Reasons(all.iter().map(reason).collect())
    }

    fn depends(on: PoolField, ends: &[PossibleResult]) -> OpenVerdict {
        OpenVerdict::Depends(VerdictDependency::Fields(vec![on]), ends.to_vec())
    }

    #[test]
    fn one_reason_for_two_things_is_printed_once() {
        for (all, expected) in [
            (&["a is unknown: x", "b is unknown: x"][..], "a and b are unknown: x"),
            (&["a is unknown: x", "b is unknown: y"], "a is unknown: x; b is unknown: y"),
            (&["a is unknown: x", "no source says", "b is unknown: x"], "a and b are unknown: x; no source says"),
            (&["x", "a is unknown: x"], "x; a is unknown: x"),
            (&["no source says"], "no source says"),
            (&[], "nothing known decides it"),
        ] {
            assert_eq!(reasons(all).text(), format!("unknown: {expected}"), "{all:?}");
        }
    }

    #[test]
    fn verdict_title_names_the_unread_file() {
        let unread = "`nvidia/cuda:13` was not read, and the compatibility database lacks this tag";
        let (a, b) = (format!("a is unknown: {unread}"), format!("b is unknown: {unread}"));
        for (all, title, cause, also) in [
            (
                &[a.as_str(), b.as_str()][..],
                "`nvidia/cuda:13` was not read",
                Some("the compatibility database lacks this tag, so a and b are unknown"),
                None,
            ),
            (&["a is unknown: `x` has no tag"], "`x` has no tag", Some("a is unknown"), None),
            (&["A is unknown: no default"], "A is unknown: no default", None, None),
            (&["uv decides", "b is unknown: x"], "uv decides", None, Some("b is unknown: x")),
            (&["uv decides"], "uv decides", None, None),
            (&[], "the verdict is unknown: nothing known decides it", None, None),
        ] {
            let texts = reasons(all).finding_texts();
            assert_eq!((texts.title.as_str(), texts.cause_text.as_deref()), (title, cause));
            assert_eq!(texts.also_unknown.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(also));
        }
    }

    #[test]
    fn each_unknown_has_its_own_help() {
        let reason = |text: &str, supply: &str| UnknownReason {
            why: Cause::recorded(text, "").explain(),
            supply: supply.to_owned(),
        };
        let all = vec![
            reason("a is unknown: `x` was not read", "describe `x`"),
            reason("i.sh was not read", "add i.sh"),
            reason("b is unknown: `x` was not read", "describe `x` or pull it"),
        ];
        let texts = OpenVerdict::Reasons(all).finding_texts();
        assert_eq!(texts.title, "`x` was not read");
        assert_eq!(texts.cause_text.as_deref(), Some("a and b are unknown"));
        assert_eq!(texts.help, "describe `x` or pull it");
        assert_eq!(texts.also_unknown, ["i.sh was not read (help: add i.sh)"]);
    }

    #[test]
    fn pools_with_the_same_reasons_are_alike() {
        let (starts, refused, no_gpu) =
            (PossibleResult::Starts, PossibleResult::Fails(Outcome::Refused), PossibleResult::Fails(Outcome::NoGpu));
        let own = depends(PoolField::Driver, &[refused, starts]);
        assert!(own.has_same_cause(&depends(PoolField::Driver, &[refused, starts])));
        assert_eq!(own.text(), "depends on the driver: container-refused or starts");
        assert_eq!(
            own.finding_texts().cause_text.as_deref(),
            Some("fails (container-refused) or starts, depending on the driver")
        );
        assert!(!own.has_same_cause(&depends(PoolField::Driver, &[no_gpu, starts])));
        assert!(!own.has_same_cause(&depends(PoolField::Driver, &[refused])));
        assert!(!own.has_same_cause(&depends(PoolField::Launch, &[refused, starts])));
        assert!(!own.has_same_cause(&reasons(&["a"])));
        let own = reasons(&["a", "b"]);
        assert!(own.has_same_cause(&reasons(&["b", "a"])));
        assert!(!own.has_same_cause(&reasons(&["a"])) && !reasons(&["a"]).has_same_cause(&own));
        assert!(
            !own.has_same_cause(&reasons(&["a", "c"])) && !own.has_same_cause(&depends(PoolField::Driver, &[refused]))
        );
        assert_eq!(own.text(), "unknown: a; b");
    }
}
