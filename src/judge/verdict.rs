//! Verdicts for the report.

use jiff::civil::Date;

use crate::fact::ComponentRole;
use crate::fleet::{Pool, PoolField};
use crate::judge::facts::{report_fact_id, report_row_id};
use crate::judge::missing_information::{missing_for_verdict, unread_files, unread_names, unread_notes};
use crate::judge::open_verdict::OpenVerdict;
use crate::judge::{AnalysisSettings, PlatformBuild};
use crate::knowledge::Knowledge;
use crate::replay::{
    Basis, HostResult, ReplayFailure, StartStep, StartupResult, StartupVerdict, StepRecord, StepResult, deciding_facts,
    explanations, pool_field_value,
};
use crate::report::kinds::{StepStatus, VerdictConfidence, VerdictKind};
use crate::report::model;

/// Returns the verdict on a subject without GPU content, for another processor, or without readable content.
pub(super) fn not_applicable_verdict(pool: &str, builds: &[PlatformBuild]) -> model::Verdict {
    if let Some(why) =
        builds.iter().filter(|build| build.image.gpu_content).find_map(|build| build.other_processor.as_ref())
    {
        return verdict_without_scenarios(
            pool,
            VerdictKind::NotApplicable,
            format!("no GPU is used: {why}"),
            Vec::new(),
        );
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
pub(super) fn no_host_verdict(pool: &str, day: Option<Date>) -> model::Verdict {
    let until = day.map_or_else(String::new, |day| format!(" until {day}"));
    let message = format!("unknown: no version of the container toolkit{until} has the `mode` of the pool");
    let supply = "set `toolkit` of the pool to the version of its nodes, or leave `mode` out".to_owned();
    let missing = model::Missing { key: PoolField::Toolkit.name().to_owned(), supply };
    verdict_without_scenarios(pool, verdict_kind(Some(StartupResult::Undetermined)), message, vec![missing])
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
        confidence: VerdictConfidence::Declared,
        missing,
        not_seen: Vec::new(),
        notes: Vec::new(),
        scenarios: Vec::new(),
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
    let wall = match verdict.fate {
        Some(StartupResult::Fails(wall)) => Some(wall),
        _ => None,
    };
    let (certain, possible) = verdict.error_codes();
    let told = settings.detail.includes_findings();
    model::Verdict {
        pool: pool.name.value.clone(),
        component: verdict.component.map(str::to_owned),
        fate: verdict_kind(verdict.fate),
        outcome: wall.map(ReplayFailure::outcome),
        reason: wall.and_then(ReplayFailure::reason),
        codes: model::Codes { certain, possible },
        route: match verdict.fate {
            Some(StartupResult::Starts(route)) => Some(route.into()),
            _ => None,
        },
        message: verdict_message(verdict, knowledge),
        confidence: verdict.confidence.into(),
        missing: if told {
            missing_for_verdict(verdict, knowledge).into_iter().chain(unread_files(builds)).collect()
        } else {
            Vec::new()
        },
        not_seen: if told {
            let unread = if verdict.component.is_none() { unread_names(builds) } else { Vec::new() };
            uninspected_parts(verdict, all, knowledge).into_iter().chain(unread).collect()
        } else {
            Vec::new()
        },
        notes: if told {
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

/// Returns the error that a user would see, or why the result is unknown.
pub(super) fn verdict_message(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> String {
    match verdict.fate {
        Some(StartupResult::Fails(wall)) => match verdict.typical_host() {
            Some(host) => {
                let own = match host.fate {
                    StartupResult::Fails(own) => own,
                    StartupResult::Starts(_) | StartupResult::Undetermined => wall,
                };
                format!(
                    "{}{}",
                    explanations::failure_message(host.replay(knowledge), own),
                    other_failures_text(verdict, wall)
                )
            }
            None => wall.outcome().to_string(),
        },
        // The route is that of its code; none of it runs where a library is missing that it goes without.
        Some(StartupResult::Starts(route)) => {
            let without = verdict.hosts.iter().all(|host| explanations::runs_without_gpu(host.replay(knowledge)));
            format!("starts ({}){}", route.name(), if without { ", and uses no GPU" } else { "" })
        }
        Some(StartupResult::Undetermined) | None => {
            OpenVerdict::from_verdict(verdict, knowledge).map_or_else(String::new, |opened| opened.text())
        }
    }
}

/// Returns what is or may be wrong, without the printed error.
pub(super) fn verdict_title(verdict: &StartupVerdict<'_>, knowledge: Knowledge) -> String {
    let wall = |fate: StartupResult| match fate {
        StartupResult::Fails(wall) => Some(wall),
        StartupResult::Starts(_) | StartupResult::Undetermined => None,
    };
    let of =
        |host: &HostResult<'_>| wall(host.fate).map(|wall| explanations::failure_title(host.replay(knowledge), wall));
    match verdict.fate {
        Some(StartupResult::Fails(_)) => verdict.typical_host().and_then(of),
        Some(StartupResult::Starts(_) | StartupResult::Undetermined) | None => None,
    }
    .unwrap_or_else(|| verdict_message(verdict, knowledge))
}

/// Returns the error that users of several pools would see, without GPU and driver.
pub(super) fn message_without_host(host: &HostResult<'_>, wall: ReplayFailure, knowledge: Knowledge) -> String {
    explanations::general_failure_message(host.replay(knowledge), wall)
}

/// Returns how other nodes of a pool, or other builds behind the tag, fail, if all fail but not all alike.
pub(super) fn other_failures_text(verdict: &StartupVerdict<'_>, wall: ReplayFailure) -> String {
    let here = |host: &&HostResult<'_>| matches!(host.fate, StartupResult::Fails(own) if own.outcome() == wall.outcome() && own.reason() == wall.reason());
    let elsewhere = || verdict.hosts.iter().filter(|host| !here(host));
    let mut others: Vec<String> = elsewhere().map(|host| outcome_name(host.fate)).collect();
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
            Some(field) => field_description(field),
            None => return format!("; other nodes fail with {}", others.join(" or ")),
        },
    };
    format!("; depending on {what}, it fails with {} instead", others.join(" or "))
}

/// Returns the open pool field in which the hosts with this failure differ from those with another.
fn distinguishing_field(verdict: &StartupVerdict<'_>, here: impl Fn(&&HostResult<'_>) -> bool) -> Option<PoolField> {
    let (own, others): (Vec<_>, Vec<_>) = verdict.hosts.iter().partition(|host| here(host));
    let open = |field: &&PoolField| verdict.hosts.iter().all(|host| host.host.assumed.contains(field));
    let apart = |field: &&PoolField| {
        let value = |host: &HostResult<'_>| pool_field_value(**field, host.host);
        !own.iter().any(|one| others.iter().any(|other| value(one) == value(other)))
    };
    PoolField::ALL.iter().filter(open).find(apart).copied()
}

/// Returns the description of a pool field.
pub(super) fn field_description(field: PoolField) -> &'static str {
    match field {
        PoolField::Gpu => "the GPU",
        PoolField::Brand => "the brand of the GPU",
        PoolField::ComputeCapability => "the compute capability",
        PoolField::Driver => "the driver",
        PoolField::DriverCuda => "the CUDA version of the driver",
        PoolField::Platform => "the platform of the nodes",
        PoolField::Launch => "the launch method",
        PoolField::Toolkit => "the version of the container toolkit",
        PoolField::LibnvidiaContainer => "the version of libnvidia-container",
        PoolField::Mode => "the mode of the container toolkit",
        PoolField::Env => "the environment of the container",
        PoolField::Wsl => "whether the nodes run WSL",
        PoolField::Host => "`accept-nvidia-visible-devices-as-volume-mounts`",
        PoolField::Engine => "the container engine",
        PoolField::CdiSpecs => "the CDI specifications of the nodes",
        PoolField::Runtime => "the container runtime",
        PoolField::Strategy => "`device_list_strategy`",
        PoolField::Privileged => "whether the container is privileged",
        PoolField::Modeset => "whether the nodes load nvidia-modeset",
        PoolField::LibraryDirectory => "the library directory of the nodes",
    }
}

/// Returns the name of an outcome: `starts`, `unknown` or the rule of the failure.
pub(super) fn outcome_name(fate: StartupResult) -> String {
    match fate {
        StartupResult::Starts(_) => "starts".to_owned(),
        StartupResult::Fails(wall) => wall.outcome().rule_name().to_owned(),
        StartupResult::Undetermined => "unknown".to_owned(),
    }
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
    let told = [
        (StartStep::Mounts, "the device /dev/nvidia-modeset of the nodes".to_owned()),
        (
            StartStep::Code,
            match first.component.name.as_str() {
                crate::fact::CUDA_RUNTIME_COMPONENT => "native code and PTX of your program".to_owned(),
                name => format!("native code and PTX of {name}"),
            },
        ),
        (StartStep::Libraries, format!("libraries that {name} needs")),
        (StartStep::OpenedLater, format!("libraries that {name} opens later")),
    ];
    let mut list: Vec<String> = told.into_iter().filter(|(step, _)| met(*step)).map(|(_, what)| what).collect();
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
        if let (Some(name), Some(StartupResult::Fails(wall))) = (other.component, other.fate)
            && name != crate::fact::CUDA_RUNTIME_COMPONENT
            && !matches!(verdict.fate, Some(StartupResult::Fails(own)) if own.outcome() == wall.outcome())
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
    let told = core.filter_map(|verdict| {
        let mut hosts = verdict.hosts.iter().map(|host| explanations::later_failure(host.replay(knowledge)));
        let first = hosts.next()??;
        hosts.all(|other| other.is_some()).then_some(first)
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
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
                .iter()
                .chain(&host.component.release)
                .cloned()
                .chain(machine.takes_compat.map(|taken| {
                    if taken { "with the libcuda of cuda-compat" } else { "without the libcuda of cuda-compat" }
                        .to_owned()
                }))
                .reduce(|one, other| one + ", " + &other),
        },
        fate: verdict_kind(Some(host.fate)),
        outcome: match host.fate {
            StartupResult::Fails(wall) => Some(wall.outcome()),
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
        step: record.step.name().to_owned(),
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
