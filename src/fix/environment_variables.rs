//! Changes of environment variables of the image: devices, driver capabilities, CUDA requirement, library search
//! path.

use crate::cuda::{CudaVersion, LIB64_DIRECTORY, debian_library_directory, library_path_directories};
use crate::fix::driver_capabilities::capability_lists;
use crate::fix::fix_context::FixContext;
use crate::fix::{FixCandidate, ProposedChange};
use crate::judge::SubjectContent;
use crate::model::fact::Origin;
use crate::model::outcome::Outcome;
use crate::replay::GKE_DRIVER_DIRECTORY;
use crate::report::kinds::{ChangeKind, FixSafety};

const DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";
const CUDA_DEVICES: &str = "CUDA_VISIBLE_DEVICES";
const CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";
const REQUIREMENT: &str = "NVIDIA_REQUIRE_CUDA";
const CUDA_VERSION: &str = "CUDA_VERSION";
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";
/// The prefix of variables that each state a requirement.
const REQUIREMENT_PREFIX: &str = "NVIDIA_REQUIRE_";
/// A variable with that prefix that is an option for Jetson modules, not a requirement.
const JETPACK_OPTION: &str = "NVIDIA_REQUIRE_JETPACK";
/// Variables that only privileged containers may set.
const PRIVILEGED_VARIABLES: [&str; 2] = ["NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"];

/// Returns candidates that set or shorten environment variables of the image.
pub(super) fn environment_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let mut changes: Vec<(String, FixSafety, ProposedChange)> = Vec::new();
    let mut set = |list: &[(&str, &str)], safety: FixSafety| {
        let text = |value: &'_ str| if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        let assignments: Vec<String> = list.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let change =
            ProposedChange::Env(list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        changes.push((format!("set {}", assignments.join(" and ")), safety, change));
    };
    let value = |name: &str| case.image.env.get(name).known().cloned();
    let devices = (DEVICES, "all");
    let capability_choices = capability_lists(case, value(CAPABILITIES).as_deref());
    let hidden = value(DEVICES).as_deref() != Some("all");
    if hidden {
        set(&[devices], FixSafety::Safe);
    }
    for (capabilities, safety) in &capability_choices {
        set(&[(CAPABILITIES, capabilities)], *safety);
        if hidden {
            set(&[devices, (CAPABILITIES, capabilities)], *safety);
        }
    }
    // Hiding all GPUs from CUDA may be intended.
    if value(CUDA_DEVICES).is_some_and(|list| hides_all_devices(&list)) {
        set(&[(CUDA_DEVICES, "0")], FixSafety::Unsafe);
    }
    if case.has_outcome(Outcome::Refused) && is_set_in_file(case, REQUIREMENT) {
        // Of several conditions each is intended.
        let several = value(REQUIREMENT).is_none_or(|value| value.split_whitespace().count() > 1);
        let safety = if several { FixSafety::Manual } else { FixSafety::Unsafe };
        for cuda in case.core_components().filter_map(|component| component.cuda.known()) {
            for minor in [cuda.minor(), 0] {
                set(&[(REQUIREMENT, &format!("cuda>={}.{minor}", cuda.major()))], safety);
            }
        }
    }
    // Without its own requirement, an image requires this CUDA; what else reads the variable is unknown.
    if case.has_outcome(Outcome::Refused)
        && is_set_in_file(case, CUDA_VERSION)
        && value(REQUIREMENT).is_none_or(|value| value.is_empty())
    {
        let safety = if is_used_later(case, CUDA_VERSION) { FixSafety::Manual } else { FixSafety::Unsafe };
        if let Some(cuda) = value(CUDA_VERSION).and_then(|value| value.parse::<CudaVersion>().ok()) {
            set(&[(CUDA_VERSION, &format!("{}.0", cuda.major()))], safety);
        } else {
            // What is no version is refused by every driver.
            for cuda in case.core_components().filter_map(|component| component.cuda.known()) {
                set(&[(CUDA_VERSION, &format!("{}.{}", cuda.major(), cuda.minor()))], safety);
            }
            set(&[(CUDA_VERSION, "")], safety);
        }
    }
    // These are intentional: conditions with other names, and requests of privileged containers only.
    if case.has_outcome(Outcome::Refused) {
        let names: Vec<&str> =
            case.seen.env.keys().map(String::as_str).filter(|name| is_set_in_file(case, name)).collect();
        let asks = |name: &&str| value(name).is_some_and(|value| !value.is_empty());
        let conditions =
            |name: &&str| name.starts_with(REQUIREMENT_PREFIX) && *name != REQUIREMENT && *name != JETPACK_OPTION;
        let conditions: Vec<&str> = names.iter().copied().filter(conditions).filter(asks).collect();
        let privileged: Vec<&str> =
            names.into_iter().filter(|name| PRIVILEGED_VARIABLES.contains(name)).filter(asks).collect();
        let both = [conditions.as_slice(), &privileged].concat();
        let mixed = !conditions.is_empty() && !privileged.is_empty();
        for list in [conditions, privileged] {
            for name in &list {
                set(&[(name, "")], FixSafety::Unsafe);
            }
            if list.len() > 1 {
                set(&list.iter().map(|name| (*name, "")).collect::<Vec<_>>(), FixSafety::Unsafe);
            }
        }
        if mixed {
            set(&both.iter().map(|name| (*name, "")).collect::<Vec<_>>(), FixSafety::Unsafe);
        }
    }
    if is_set_in_file(case, SEARCH_PATH) {
        for holds in ["/compat", "/stubs"] {
            if value(SEARCH_PATH).is_none_or(|path| path.contains(holds)) {
                let title = format!("remove the directories with `{holds}` from {SEARCH_PATH}");
                let change = ProposedChange::EnvWithout { name: SEARCH_PATH.to_owned(), holds: vec![holds] };
                changes.push((title, FixSafety::Safe, change));
            }
        }
    }
    if let Some(path) = search_path_with_driver(case, value(SEARCH_PATH).as_deref()) {
        let title = format!("add {GKE_DRIVER_DIRECTORY} to {SEARCH_PATH}");
        changes.push((title, FixSafety::Safe, ProposedChange::Env(vec![(SEARCH_PATH.to_owned(), path)])));
    }
    for path in search_paths_with_host_first(case, value(SEARCH_PATH).as_deref()) {
        let title = format!(
            "set {SEARCH_PATH}={path}, so that the libcuda of the host is found before that of the compat directory"
        );
        changes.push((title, FixSafety::Unsafe, ProposedChange::Env(vec![(SEARCH_PATH.to_owned(), path)])));
    }
    let candidate =
        |(step, (title, safety, change))| FixCandidate { kind: ChangeKind::Environment, step, title, safety, change };
    changes.into_iter().enumerate().map(candidate).collect()
}

/// Returns the search path with the directory appended into which some nodes mount the driver, if that may help.
fn search_path_with_driver(case: &FixContext<'_>, now: Option<&str>) -> Option<String> {
    let outside = case.has_outcome(Outcome::NoGpu) || case.has_outcome(Outcome::LibraryMissing);
    let is_known = !case.image.env.get(SEARCH_PATH).is_unknown();
    let pieces: Vec<&str> = now.into_iter().flat_map(library_path_directories).collect();
    let named = pieces.contains(&GKE_DRIVER_DIRECTORY);
    let path = pieces.into_iter().chain([GKE_DRIVER_DIRECTORY]).collect::<Vec<_>>().join(":");
    (outside && is_known && !named).then_some(path)
}

/// Whether a device list ends before its first entry, so that no GPU is visible.
fn hides_all_devices(list: &str) -> bool {
    let first = list.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first.starts_with('-')
}

/// Returns search paths that put the host's libraries before a compat directory configured for `ldconfig`. The first
/// has the known directory of the host, the second all possible ones.
fn search_paths_with_host_first(case: &FixContext<'_>, now: Option<&str>) -> Vec<String> {
    let image = &case.image;
    let Some(compat) = image.compat.known().filter(|_| !image.env.get(SEARCH_PATH).is_unknown()) else {
        return Vec::new();
    };
    let holds = |directory: &String| compat.libraries.iter().any(|library| library.directories.contains(directory));
    let listed = image.ld_conf.known().into_iter().flatten().flat_map(|file| &file.directories).any(holds);
    if !listed {
        return Vec::new();
    }
    let own = image.library_directory.known().map(String::as_str);
    let others = case
        .archs
        .iter()
        .map(|arch| debian_library_directory(arch))
        .chain([LIB64_DIRECTORY])
        .filter(|directory| Some(*directory) != own);
    let known_directory: Vec<&str> = own.into_iter().collect();
    let all: Vec<&str> = own.into_iter().chain(others).collect();
    let ways = [known_directory, all].into_iter().filter(|way| !way.is_empty());
    ways.map(|mut way| {
        for piece in now.into_iter().flat_map(library_path_directories) {
            if !way.contains(&piece) {
                way.push(piece);
            }
        }
        way.join(":")
    })
    .collect()
}

/// Whether the image sets a variable itself, in one of its source files.
fn is_set_in_file(case: &FixContext<'_>, name: &str) -> bool {
    let fact = case.seen.env.get(name).map(|(_, fact)| *fact);
    fact.is_some_and(|fact| case.seen.facts.origins(fact).iter().any(|origin| matches!(origin, Origin::File { .. })))
}

/// Whether a later instruction uses a variable, so that another value changes the effect of that instruction.
fn is_used_later(case: &FixContext<'_>, name: &str) -> bool {
    let SubjectContent::Dockerfile { source, dockerfile, .. } = &case.subject.content else { return false };
    let fact = case.seen.env.get(name).map(|(_, fact)| *fact);
    let places = fact.map(|fact| case.seen.facts.origins(fact)).unwrap_or_default().into_iter();
    let starts = places.filter_map(|origin| match origin {
        Origin::File { source: own, span } if own == *source => Some(span.end),
        _ => None,
    });
    let from = starts.min().unwrap_or(0);
    let text = case.settings.sources.get(*source).text();
    let later = dockerfile.instructions.iter().map(|one| one.span).filter(|span| span.start >= from);
    let mut texts = later.filter_map(|span| text.get(span.start..span.end));
    texts.any(|text| references_variable(text, name))
}

/// Whether a text references a variable: `$NAME`, `${NAME}` or `${NAME:-x}`.
fn references_variable(text: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.split('$').skip(1).any(|one| {
        // `${!NAME}` and `${#NAME}` take its value too.
        let one = one.strip_prefix('{').map_or(one, |inner| inner.trim_start_matches(['!', '#']));
        one.strip_prefix(name).is_some_and(|rest| !goes_on(rest))
    })
}
