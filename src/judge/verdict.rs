//! Verdicts as the report carries them.

use jiff::civil::Date;

use crate::fact::Role;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::judge::Build;
use crate::judge::Settings;
use crate::judge::facts::fact_id;
use crate::judge::facts::row_id;
use crate::judge::missing::missing;
use crate::judge::missing::unread_files;
use crate::judge::missing::unread_names;
use crate::judge::missing::unread_notes;
use crate::judge::opened::Opened;
use crate::knowledge::Knowledge;
use crate::report::kinds::StepStatus;
use crate::report::kinds::VerdictKind;
use crate::report::model;
use crate::start::Basis;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Verdict;
use crate::start::Wall;
use crate::start::deciding;
use crate::start::field_value;
use crate::start::words;

/// A subject without GPU content, one for another processor, or one of which nothing could be read: nothing to judge.
pub(super) fn not_applicable(pool: &str, builds: &[Build]) -> model::Verdict {
    if let Some(why) = builds.iter().filter(|build| build.image.gpu_content).find_map(|build| build.other.as_ref()) {
        return plain(pool, VerdictKind::NotApplicable, format!("no GPU is used: {why}"), Vec::new());
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
    plain(pool, VerdictKind::NotApplicable, message, files)
}

/// A pool that nothing in the tables answers to.
pub(super) fn no_host(pool: &str, day: Option<Date>) -> model::Verdict {
    let until = day.map_or_else(String::new, |day| format!(" until {day}"));
    let message = format!("unknown: no version of the container toolkit{until} has the `mode` of the pool");
    let supply = "set `toolkit` of the pool to the version of its nodes, or leave `mode` out".to_owned();
    let missing = model::Missing { key: PoolField::Toolkit.name().to_owned(), supply };
    plain(pool, kind_of(Some(Fate::Undetermined)), message, vec![missing])
}

fn plain(pool: &str, fate: VerdictKind, message: String, missing: Vec<model::Missing>) -> model::Verdict {
    model::Verdict {
        pool: pool.to_owned(),
        component: None,
        fate,
        outcome: None,
        reason: None,
        codes: model::Codes::default(),
        route: None,
        message,
        confidence: "declared".to_owned(),
        missing,
        not_seen: Vec::new(),
        notes: Vec::new(),
        scenarios: Vec::new(),
    }
}

/// One verdict, of all on this pool.
pub(super) fn report(
    verdict: &Verdict<'_>,
    all: &[Verdict<'_>],
    pool: &Pool,
    builds: &[Build],
    settings: Settings<'_>,
) -> model::Verdict {
    let knowledge = settings.knowledge;
    let wall = match verdict.fate {
        Some(Fate::Fails(wall)) => Some(wall),
        _ => None,
    };
    let (certain, possible) = verdict.codes();
    let told = settings.detail.speaks();
    model::Verdict {
        pool: pool.name.value.clone(),
        component: verdict.component.map(str::to_owned),
        fate: kind_of(verdict.fate),
        outcome: wall.map(|wall| wall.outcome().name().to_owned()),
        reason: wall.and_then(Wall::reason).map(|reason| reason.name().to_owned()),
        codes: model::Codes { certain, possible },
        route: match verdict.fate {
            Some(Fate::Starts(route)) => Some(route.name().to_owned()),
            _ => None,
        },
        message: message(verdict, knowledge),
        confidence: verdict.confidence.name().to_owned(),
        missing: if told {
            missing(verdict, knowledge).into_iter().chain(unread_files(builds)).collect()
        } else {
            Vec::new()
        },
        not_seen: if told {
            let unread = if verdict.component.is_none() { unread_names(builds) } else { Vec::new() };
            not_seen(verdict, all, knowledge).into_iter().chain(unread).collect()
        } else {
            Vec::new()
        },
        notes: if told {
            let unread = if verdict.component.is_none() { unread_notes(builds) } else { Vec::new() };
            unread.into_iter().chain(notes(verdict, all, knowledge)).collect()
        } else {
            Vec::new()
        },
        scenarios: if settings.detail.steps() {
            verdict.hosts.iter().map(|host| scenario(host, builds, settings)).collect()
        } else {
            Vec::new()
        },
    }
}

/// An image whose build stops is not inspected, so that no failure found is all there is to report.
pub(super) fn not_built(verdict: &mut model::Verdict, installer: &str) {
    if verdict.route.is_some() {
        verdict.not_seen.insert(0, format!("the image, because its build stops: `{installer}` is missing"));
    }
}

fn kind_of(fate: Option<Fate>) -> VerdictKind {
    match fate {
        Some(Fate::Starts(_)) => VerdictKind::Starts,
        Some(Fate::Fails(_)) => VerdictKind::Fails,
        Some(Fate::Undetermined) => VerdictKind::Undetermined,
        None => VerdictKind::Depends,
    }
}

/// What a user would see, or why it cannot be told.
pub(super) fn message(verdict: &Verdict<'_>, knowledge: Knowledge) -> String {
    match verdict.fate {
        Some(Fate::Fails(wall)) => match verdict.typical() {
            Some(host) => {
                let own = match host.fate {
                    Fate::Fails(own) => own,
                    Fate::Starts(_) | Fate::Undetermined => wall,
                };
                format!("{}{}", words::message(host.replay(knowledge), own), elsewhere(verdict, wall))
            }
            None => wall.outcome().to_string(),
        },
        // The route is that of its code; none of it runs where a library is missing that it goes without.
        Some(Fate::Starts(route)) => {
            let without = verdict.hosts.iter().all(|host| words::goes_without_gpu(host.replay(knowledge)));
            format!("starts ({}){}", route.name(), if without { ", and uses no GPU" } else { "" })
        }
        Some(Fate::Undetermined) | None => {
            Opened::of(verdict, knowledge).map_or_else(String::new, |opened| opened.text())
        }
    }
}

/// What is wrong, or may be, without the error that is printed.
pub(super) fn title(verdict: &Verdict<'_>, knowledge: Knowledge) -> String {
    let wall = |fate: Fate| match fate {
        Fate::Fails(wall) => Some(wall),
        Fate::Starts(_) | Fate::Undetermined => None,
    };
    let of = |host: &HostFate<'_>| wall(host.fate).map(|wall| words::title_of(host.replay(knowledge), wall));
    match verdict.fate {
        Some(Fate::Fails(_)) => verdict.typical().and_then(of),
        Some(Fate::Starts(_) | Fate::Undetermined) | None => None,
    }
    .unwrap_or_else(|| message(verdict, knowledge))
}

/// What users of several pools would see that meet this wall, without the GPU and the driver of each.
pub(super) fn message_of_several(host: &HostFate<'_>, wall: Wall, knowledge: Knowledge) -> String {
    words::message_of_several(host.replay(knowledge), wall)
}

/// What other nodes of a pool, or other builds behind the tag, meet, where all fail and not all at this wall.
pub(super) fn elsewhere(verdict: &Verdict<'_>, wall: Wall) -> String {
    let here = |host: &&HostFate<'_>| matches!(host.fate, Fate::Fails(own) if own.outcome() == wall.outcome() && own.reason() == wall.reason());
    let elsewhere = || verdict.hosts.iter().filter(|host| !here(host));
    let mut others: Vec<String> = elsewhere().map(|host| outcome_name(host.fate)).collect();
    others.sort();
    others.dedup();
    // The same host ends otherwise with another build of the image, or with another release of what it runs.
    let same_host = |same_image: bool| {
        elsewhere().any(|other| {
            let same = |host: &HostFate<'_>| {
                std::ptr::eq(host.host, other.host) && std::ptr::eq(host.image, other.image) == same_image
            };
            verdict.hosts.iter().filter(here).any(same)
        })
    };
    let what = match () {
        () if others.is_empty() => return String::new(),
        () if same_host(false) => "the build that the tag names",
        () if same_host(true) => "the release",
        () => match told_apart(verdict, here) {
            Some(field) => in_words(field),
            None => return format!("; other nodes fail with {}", others.join(" or ")),
        },
    };
    format!("; depending on {what}, it fails with {} instead", others.join(" or "))
}

/// The field that the pool leaves open and by which alone the hosts that fail here differ from those that fail elsewhere.
fn told_apart(verdict: &Verdict<'_>, here: impl Fn(&&HostFate<'_>) -> bool) -> Option<PoolField> {
    let (own, others): (Vec<_>, Vec<_>) = verdict.hosts.iter().partition(|host| here(host));
    let open = |field: &&PoolField| verdict.hosts.iter().all(|host| host.host.assumed.contains(field));
    let apart = |field: &&PoolField| {
        let value = |host: &HostFate<'_>| field_value(**field, host.host);
        !own.iter().any(|one| others.iter().any(|other| value(one) == value(other)))
    };
    PoolField::ALL.iter().filter(open).find(apart).copied()
}

/// A field of a pool in words.
pub(super) fn in_words(field: PoolField) -> &'static str {
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

pub(super) fn outcome_name(fate: Fate) -> String {
    match fate {
        Fate::Starts(_) => "starts".to_owned(),
        Fate::Fails(wall) => wall.outcome().rule().to_owned(),
        Fate::Undetermined => "unknown".to_owned(),
    }
}

pub(super) fn all_missing(verdict: &Verdict<'_>, knowledge: Knowledge) -> Vec<words::MissingFact> {
    let mut found: Vec<words::MissingFact> = Vec::new();
    for host in &verdict.hosts {
        for step in host.steps.iter().filter(|step| step.result == StepResult::Unknown) {
            for missing in words::missing(host.replay(knowledge), step) {
                if !found.contains(&missing) {
                    found.push(missing);
                }
            }
        }
    }
    found
}

/// What was asked for and not seen: GPU code, libraries; for the image that of every core component.
fn not_seen(verdict: &Verdict<'_>, all: &[Verdict<'_>], knowledge: Knowledge) -> Vec<String> {
    if verdict.component.is_some() {
        return unseen(verdict, knowledge);
    }
    let core = all.iter().filter(|one| one.component.is_some() && !is_extension(one));
    core.flat_map(|one| unseen(one, knowledge)).collect()
}

fn unseen(verdict: &Verdict<'_>, knowledge: Knowledge) -> Vec<String> {
    let Some(first) = verdict.hosts.first() else { return Vec::new() };
    if first.component.role == Role::Container {
        return vec!["programs that call CUDA".to_owned()];
    }
    let name = first.component.called();
    let met = |step: Step| {
        let mut steps = verdict.hosts.iter().flat_map(|host| &host.steps);
        // What fails later was looked for and is not there.
        steps.any(|one| one.step == step && matches!(one.result, StepResult::NotSeen | StepResult::FailsLater))
    };
    let told = [
        (Step::Mounts, "the device /dev/nvidia-modeset of the nodes".to_owned()),
        (
            Step::Code,
            match first.component.name.as_str() {
                crate::fact::OWN_RUNTIME => "native code and PTX of your program".to_owned(),
                name => format!("native code and PTX of {name}"),
            },
        ),
        (Step::Libraries, format!("libraries that {name} needs")),
        (Step::OpenedLater, format!("libraries that {name} opens later")),
    ];
    let mut list: Vec<String> = told.into_iter().filter(|(step, _)| met(*step)).map(|(_, what)| what).collect();
    let starting = verdict.hosts.iter().filter_map(|host| match host.fate {
        Fate::Starts(route) => Some(words::unseen_libraries(host.replay(knowledge), route)),
        Fate::Fails(_) | Fate::Undetermined => None,
    });
    for what in starting.flatten() {
        if !list.contains(&what) {
            list.push(what);
        }
    }
    list
}

/// What decides nothing and is worth knowing: libraries without which no GPU is used, and, beside the image's verdict,
/// what of its extensions fails.
fn notes(verdict: &Verdict<'_>, all: &[Verdict<'_>], knowledge: Knowledge) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in verdict.hosts.iter().flat_map(|host| words::notes(host.replay(knowledge))) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if verdict.component.is_some() {
        return notes;
    }
    for other in all.iter().filter(|other| is_extension(other)) {
        // What stops the image stops its extensions as well.
        if let (Some(name), Some(Fate::Fails(wall))) = (other.component, other.fate)
            && name != crate::fact::OWN_RUNTIME
            && !matches!(verdict.fate, Some(Fate::Fails(own)) if own.outcome() == wall.outcome())
        {
            notes.push(format!("the extension {name} fails on its own: {}", message(other, knowledge)));
        }
    }
    notes
}

/// Why what starts on a pool uses no GPU there.
pub(super) fn without_gpu(all: &[Verdict<'_>], knowledge: Knowledge) -> Option<String> {
    let starts = |verdict: &&Verdict<'_>| matches!(verdict.fate, Some(Fate::Starts(_)));
    all.first().filter(starts)?;
    let mut hosts = all.iter().filter(starts).flat_map(|verdict| &verdict.hosts);
    hosts.find_map(|host| words::without_gpu(host.replay(knowledge)))
}

/// What starts on a pool and will fail on every node of it, for want of a library that it opens as it runs.
pub(super) fn fails_later(all: &[Verdict<'_>], knowledge: Knowledge) -> Option<String> {
    let starts = |verdict: &&Verdict<'_>| matches!(verdict.fate, Some(Fate::Starts(_)));
    all.first().filter(starts)?;
    let core = all.iter().filter(starts).filter(|one| one.component.is_some() && !is_extension(one));
    let told = core.filter_map(|verdict| {
        let mut hosts = verdict.hosts.iter().map(|host| words::fails_later(host.replay(knowledge)));
        let first = hosts.next()??;
        hosts.all(|other| other.is_some()).then_some(first)
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn is_extension(verdict: &Verdict<'_>) -> bool {
    verdict.hosts.first().is_some_and(|host| host.component.role == Role::Extension)
}

fn scenario(host: &HostFate<'_>, builds: &[Build], settings: Settings<'_>) -> model::Scenario {
    let machine = host.host;
    let open = |field| machine.assumed.contains(&field).then(|| field_value(field, machine));
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
        fate: kind_of(Some(host.fate)),
        outcome: match host.fate {
            Fate::Fails(wall) => Some(wall.outcome().name().to_owned()),
            _ => None,
        },
        steps: host.steps.iter().map(|record| step(host, record, builds, settings)).collect(),
    }
}

fn status(result: StepResult) -> StepStatus {
    match result {
        StepResult::Passes(_) => StepStatus::Passes,
        StepResult::Stops(_) => StepStatus::Stops,
        StepResult::Unknown => StepStatus::Unknown,
        StepResult::NotSeen => StepStatus::NotSeen,
        StepResult::FailsLater => StepStatus::FailsLater,
        StepResult::NotApplicable => StepStatus::NotApplicable,
    }
}

fn step(host: &HostFate<'_>, record: &StepRecord, builds: &[Build], settings: Settings<'_>) -> model::Step {
    let build = builds.iter().find(|build| std::ptr::eq(build.image.as_ref(), host.image));
    let facts = deciding(record, host.host).into_iter().filter_map(|basis| match basis {
        Basis::Image(id) => build.map(|build| fact_id(build, id)),
        Basis::Pool(field) => Some(field.name().to_owned()),
        Basis::Entry(entry) => Some(entry.key(host.host)),
        Basis::Row(row) => Some(row_id(row)),
    });
    model::Step {
        step: record.step.name().to_owned(),
        result: status(record.result),
        text: if settings.detail.speaks() {
            words::step(host.replay(settings.knowledge), record)
        } else {
            String::new()
        },
        facts: facts.collect(),
        cite: record.cite.0.to_owned(),
    }
}
