//! Labels: what a place shows, in words.

use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::OWN_RUNTIME;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::UNCALLED;
use crate::fleet::Pool;
use crate::fleet::PoolField;

/// The longest value in a label, and the longest list of paths.
const LONGEST: usize = 60;
const LONGEST_LIST: usize = 200;

/// A fact in a label: what it is, with its value.
pub(super) fn label(image: &ImageFacts, id: FactId) -> String {
    let entry = image.facts.get(id);
    let of = entry.of.as_deref().unwrap_or_default();
    let value = match &entry.state {
        State::Known(value) => value.to_string(),
        State::Absent { .. } => {
            return match entry.key {
                FactKey::Env => format!("{of} is not set"),
                FactKey::ComponentCuda => without_cuda(image, id),
                key => format!("no {}", noun(key, of)),
            };
        }
        State::Unknown(_) => return format!("leaves {} unknown", unknown(entry.key, of)),
    };
    let newest = image.facts.newest(id);
    let newest = newest.map_or_else(String::new, |row| format!(" (newest for this image on {})", row.checked));
    let text = match entry.key {
        FactKey::Base | FactKey::TagNow | FactKey::Package | FactKey::BuildAsk | FactKey::ArchList => short(&value),
        FactKey::BaseCuda => format!("includes CUDA {value}"),
        FactKey::CudaRuntime => format!("CUDA runtime {value}"),
        FactKey::Env => format!("{of}={}", short(&value)),
        FactKey::ComponentVersion => format!("{} {}", whose(of), short(&value)),
        FactKey::ComponentVariant => format!("{} {}, build {value}", whose(of), version(image, of)).replace(" ,", ","),
        FactKey::ComponentCuda => format!("{} was built with CUDA {value}", versioned(image, of)),
        FactKey::ComponentCode | FactKey::Code => format!("built for {}", ends(&value)),
        FactKey::ComponentFloor => format!("{} supports compute capability {value} and newer", whose(of)),
        FactKey::ComponentNeeds | FactKey::FileNeeds => format!("{} needs {}", whose(of), short(&value)),
        FactKey::ComponentOpens => format!("{} opens {} at run time", whose(of), short(&value)),
        FactKey::Compat => format!("{} from cuda-compat", short(&value)),
        FactKey::DriverLibraries => format!("driver libraries in the image: {}", short(&value)),
        FactKey::Platforms => format!("built for {}", short(&value)),
        FactKey::Entrypoint => format!("entrypoint: {}", short(&value)),
        FactKey::Command => format!("command: {}", short(&value)),
        _ => format!("{}: {}", noun(entry.key, of), short(&value)),
    };
    format!("{text}{newest}")
}

/// What keeps a component from CUDA: a variable, or the build of the component or of the one that it runs on.
fn without_cuda(image: &ImageFacts, id: FactId) -> String {
    if let Some(variable) = image.facts.variable(id) {
        return label(image, variable);
    }
    let decider = image.facts.get(image.facts.without_cuda(id));
    format!("{} was built without CUDA", versioned(image, decider.of.as_deref().unwrap_or_default()))
}

/// The places of a fact, each with its label.
pub(super) fn labelled(image: &ImageFacts, id: FactId) -> Vec<(Origin, String)> {
    let label = label(image, id);
    let entry = image.facts.get(id);
    let variable = image.facts.variable(id).filter(|_| entry.key == FactKey::ComponentCuda);
    let of_variable = variable.map(|variable| image.facts.origins(variable));
    let origins = image.facts.origins(id).into_iter();
    origins
        .map(|origin| match &of_variable {
            Some(own) if !own.contains(&origin) && !matches!(entry.state, State::Unknown(_)) => {
                let of = entry.of.as_deref().unwrap_or_default();
                (origin, versioned(image, of))
            }
            _ => (origin, label.clone()),
        })
        .collect()
}

/// A field of a pool, as the fleet file declares it.
pub(super) fn pool_field(pool: &Pool, field: PoolField) -> String {
    let key = field.name().trim_start_matches("pool.");
    let text = pool.text_of(field).unwrap_or_default();
    pool_label(pool, &format!("{key} = {}", quoted(&text)))
}

/// An entry of a table of a pool.
pub(super) fn pool_entry(pool: &Pool, name: &str, value: &str) -> String {
    pool_label(pool, &format!("{name} = {}", quoted(value)))
}

/// What a pool declares.
pub(super) fn pool_label(pool: &Pool, what: &str) -> String {
    format!("pool {}: {what}", pool.name.value)
}

fn quoted(text: &str) -> String {
    if matches!(text, "true" | "false") { text.to_owned() } else { format!("\"{text}\"") }
}

/// What is unknown, with the article that a sentence needs.
fn unknown(key: FactKey, of: &str) -> String {
    match key {
        // Whoever does not know one variable of the base image knows none of them.
        FactKey::Env => "the environment variables".to_owned(),
        FactKey::Package | FactKey::File | FactKey::Compat => noun(key, of),
        FactKey::Requirements => format!("the {}", noun(key, of)),
        _ if of == UNCALLED => "what uses the GPU".to_owned(),
        _ => format!("the {}", noun(key, of)),
    }
}

/// What a fact is about.
fn noun(key: FactKey, of: &str) -> String {
    let component = whose(of);
    match key {
        FactKey::Base => "base image".to_owned(),
        FactKey::Platforms => "platforms".to_owned(),
        FactKey::Env => of.to_owned(),
        FactKey::Package => format!("package {of}"),
        FactKey::Requirements => format!("packages from {of}"),
        FactKey::File => format!("file {of}"),
        FactKey::FileNeeds | FactKey::ComponentNeeds => format!("libraries that {component} needs"),
        FactKey::ComponentOpens => format!("libraries that {component} opens at run time"),
        FactKey::Code | FactKey::ComponentCode => format!("GPU code of {component}"),
        FactKey::BuildAsk => "command of the build".to_owned(),
        FactKey::Complete => "complete lists".to_owned(),
        FactKey::ArchList => "list of GPU architectures".to_owned(),
        FactKey::CudaRuntime => "CUDA runtime".to_owned(),
        FactKey::TagNow => "current image of the tag".to_owned(),
        FactKey::BaseCuda => "CUDA release of the base image".to_owned(),
        FactKey::Compat => "cuda-compat".to_owned(),
        FactKey::DriverLibraries => "driver libraries in the image".to_owned(),
        FactKey::Entrypoint => "entrypoint".to_owned(),
        FactKey::Command => "command".to_owned(),
        FactKey::CompatProbe => "entrypoint that probes cuda-compat".to_owned(),
        FactKey::LibraryDirectory => "directory of the driver libraries".to_owned(),
        FactKey::LdConf => "directories for ldconfig".to_owned(),
        FactKey::LdCache => "loader cache".to_owned(),
        FactKey::Firmware => "driver firmware in the image".to_owned(),
        FactKey::ComponentVersion => format!("version of {component}"),
        FactKey::ComponentVariant => format!("build of {component}"),
        FactKey::ComponentCuda => format!("CUDA release of {component}"),
        FactKey::ComponentFloor => format!("oldest GPU for {component}"),
    }
}

/// A component as people call it.
fn whose(of: &str) -> &str {
    if matches!(of, OWN_RUNTIME | UNCALLED) { "the image" } else { of }
}

/// A component with its version, if that is known.
fn versioned(image: &ImageFacts, of: &str) -> String {
    format!("{} {}", whose(of), version(image, of)).trim_end().to_owned()
}

fn version(image: &ImageFacts, of: &str) -> String {
    let mut entries = image.facts.iter().map(|(_, entry)| entry);
    let found = entries.find(|entry| entry.key == FactKey::ComponentVersion && entry.of.as_deref() == Some(of));
    match found.map(|entry| &entry.state) {
        Some(State::Known(value)) => value.to_string(),
        _ => String::new(),
    }
}

/// A long list by its first and last entries.
fn ends(words: &str) -> String {
    let items: Vec<&str> = words.split(", ").collect();
    match items.as_slice() {
        [head, .., tail] if items.len() > 4 => format!("{head}, …, {tail}"),
        _ => words.to_owned(),
    }
}

fn short(value: &str) -> String {
    let longest = if value.starts_with('/') && value.contains(':') { LONGEST_LIST } else { LONGEST };
    let short: String = value.chars().take(longest).collect();
    if short.len() == value.len() {
        return short;
    }
    // A list of paths is cut after a path.
    match short.rfind(':').and_then(|end| short.get(..=end)).filter(|list| list.starts_with('/')) {
        Some(list) => format!("{list}..."),
        None => format!("{} ...", short.rsplit_once(' ').map_or(short.as_str(), |(words, _)| words)),
    }
}
