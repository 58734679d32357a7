//! Variables of the image: devices, driver capabilities, its own requirement, the search path, lists of GPUs.

use crate::cuda::CudaVersion;
use crate::cuda::LIB64;
use crate::cuda::debian_directory;
use crate::cuda::library_path;
use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::capabilities::capabilities;
use crate::cure::case::Case;
use crate::fact::Origin;
use crate::judge::Content;
use crate::report::kinds::FixSafety;
use crate::start::DRIVER_DIRECTORY;

const DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";
const CUDA_DEVICES: &str = "CUDA_VISIBLE_DEVICES";
const CAPABILITIES: &str = "NVIDIA_DRIVER_CAPABILITIES";
const REQUIREMENT: &str = "NVIDIA_REQUIRE_CUDA";
const VERSION: &str = "CUDA_VERSION";
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";
/// Every variable with this beginning is a condition.
const REQUIRING: &str = "NVIDIA_REQUIRE_";
/// This one is none, but an option of Jetson modules.
const CSV_MOUNTS: &str = "NVIDIA_REQUIRE_JETPACK";
/// What a container has to be privileged for.
const PRIVILEGED: [&str; 2] = ["NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"];

/// Variables that may be what is wrong.
pub(super) fn environment(case: &Case<'_>) -> Vec<Candidate> {
    let mut wishes: Vec<(String, FixSafety, Wish)> = Vec::new();
    let mut set = |list: &[(&str, &str)], safety: FixSafety| {
        let text = |value: &'_ str| if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        let told: Vec<String> = list.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let wish = Wish::Env(list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        wishes.push((format!("set {}", told.join(" and ")), safety, wish));
    };
    let value = |name: &str| case.image.env.get(name).known().cloned();
    let devices = (DEVICES, "all");
    let wanted = capabilities(case, value(CAPABILITIES).as_deref());
    let hidden = value(DEVICES).as_deref() != Some("all");
    if hidden {
        set(&[devices], FixSafety::Safe);
    }
    for (wanted, safety) in &wanted {
        set(&[(CAPABILITIES, wanted)], *safety);
        if hidden {
            set(&[devices, (CAPABILITIES, wanted)], *safety);
        }
    }
    // Whoever hides all GPUs from CUDA may mean it.
    if value(CUDA_DEVICES).is_some_and(|list| hides_all(&list)) {
        set(&[(CUDA_DEVICES, "0")], FixSafety::Unsafe);
    }
    if case.ends("refused") && own(case, REQUIREMENT) {
        // Of several conditions somebody meant each.
        let several = value(REQUIREMENT).is_none_or(|value| value.split_whitespace().count() > 1);
        let safety = if several { FixSafety::Manual } else { FixSafety::Unsafe };
        for cuda in case.core().filter_map(|component| component.cuda.known()) {
            for minor in [cuda.minor(), 0] {
                set(&[(REQUIREMENT, &format!("cuda>={}.{minor}", cuda.major()))], safety);
            }
        }
    }
    // Without a requirement of its own, an image asks for this CUDA; what else reads the variable is not known.
    if case.ends("refused") && own(case, VERSION) && value(REQUIREMENT).is_none_or(|value| value.is_empty()) {
        let safety = if named_later(case, VERSION) { FixSafety::Manual } else { FixSafety::Unsafe };
        if let Some(cuda) = value(VERSION).and_then(|value| value.parse::<CudaVersion>().ok()) {
            set(&[(VERSION, &format!("{}.0", cuda.major()))], safety);
        } else {
            // What is no version is refused by every driver.
            for cuda in case.core().filter_map(|component| component.cuda.known()) {
                set(&[(VERSION, &format!("{}.{}", cuda.major(), cuda.minor()))], safety);
            }
            set(&[(VERSION, "")], safety);
        }
    }
    // Somebody meant these: conditions of other names, and what only privileged containers may ask for.
    if case.ends("refused") {
        let names: Vec<&str> = case.seen.env.keys().map(String::as_str).filter(|name| own(case, name)).collect();
        let asks = |name: &&str| value(name).is_some_and(|value| !value.is_empty());
        let conditions = |name: &&str| name.starts_with(REQUIRING) && *name != REQUIREMENT && *name != CSV_MOUNTS;
        let conditions: Vec<&str> = names.iter().copied().filter(conditions).filter(asks).collect();
        let privileged: Vec<&str> = names.into_iter().filter(|name| PRIVILEGED.contains(name)).filter(asks).collect();
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
    if own(case, SEARCH_PATH) {
        for holds in ["/compat", "/stubs"] {
            if value(SEARCH_PATH).is_none_or(|path| path.contains(holds)) {
                let title = format!("remove the directories with `{holds}` from {SEARCH_PATH}");
                let wish = Wish::EnvWithout { name: SEARCH_PATH.to_owned(), holds: vec![holds] };
                wishes.push((title, FixSafety::Safe, wish));
            }
        }
    }
    if let Some(path) = with_driver(case, value(SEARCH_PATH).as_deref()) {
        let title = format!("add {DRIVER_DIRECTORY} to {SEARCH_PATH}");
        wishes.push((title, FixSafety::Safe, Wish::Env(vec![(SEARCH_PATH.to_owned(), path)])));
    }
    for path in host_first(case, value(SEARCH_PATH).as_deref()) {
        let title = format!(
            "set {SEARCH_PATH}={path}, so that the libcuda of the host is found before that of the compat directory"
        );
        wishes.push((title, FixSafety::Unsafe, Wish::Env(vec![(SEARCH_PATH.to_owned(), path)])));
    }
    let candidate = |(step, (title, safety, wish))| Candidate { kind: Kind::Environment, step, title, safety, wish };
    wishes.into_iter().enumerate().map(candidate).collect()
}

/// The search path with the directory where some nodes put the driver, behind all others.
fn with_driver(case: &Case<'_>, now: Option<&str>) -> Option<String> {
    let outside = case.ends("no-gpu") || case.ends("library-missing");
    let told = !case.image.env.get(SEARCH_PATH).is_unknown();
    let pieces: Vec<&str> = now.into_iter().flat_map(library_path).collect();
    let named = pieces.contains(&DRIVER_DIRECTORY);
    let path = pieces.into_iter().chain([DRIVER_DIRECTORY]).collect::<Vec<_>>().join(":");
    (outside && told && !named).then_some(path)
}

/// Whether a list of devices ends before its first one.
fn hides_all(list: &str) -> bool {
    let first = list.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first.starts_with('-')
}

/// The search path with the directory of the host's libraries first, where the image itself names its compat directory
/// to `ldconfig`: that one, then all that it may be.
fn host_first(case: &Case<'_>, now: Option<&str>) -> Vec<String> {
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
    let others =
        case.archs.iter().map(|arch| debian_directory(arch)).chain([LIB64]).filter(|directory| Some(*directory) != own);
    let alone: Vec<&str> = own.into_iter().collect();
    let all: Vec<&str> = own.into_iter().chain(others).collect();
    let ways = [alone, all].into_iter().filter(|way| !way.is_empty());
    ways.map(|mut way| {
        for piece in now.into_iter().flat_map(library_path) {
            if !way.contains(&piece) {
                way.push(piece);
            }
        }
        way.join(":")
    })
    .collect()
}

/// Whether the image sets a variable itself, in a file that somebody wrote.
fn own(case: &Case<'_>, name: &str) -> bool {
    let fact = case.seen.env.get(name).map(|(_, fact)| *fact);
    fact.is_some_and(|fact| case.seen.facts.origins(fact).iter().any(|origin| matches!(origin, Origin::File { .. })))
}

/// Whether an instruction behind the one that sets a variable names it: another value changes what that does.
fn named_later(case: &Case<'_>, name: &str) -> bool {
    let Content::Dockerfile { source, dockerfile, .. } = &case.subject.content else { return false };
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
    texts.any(|text| names(text, name))
}

/// Whether a text names a variable: `$NAME`, `${NAME}` or `${NAME:-x}`.
fn names(text: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    text.split('$').skip(1).any(|one| {
        // `${!NAME}` and `${#NAME}` take its value too.
        let one = one.strip_prefix('{').map_or(one, |inner| inner.trim_start_matches(['!', '#']));
        one.strip_prefix(name).is_some_and(|rest| !goes_on(rest))
    })
}
