//! Labels of report locations.

use crate::fleet::{Pool, PoolField};
use crate::model::fact::{
    CONTAINER_COMPONENT, CUDA_RUNTIME_COMPONENT, FactId, FactKey, ImageFacts, Origin, ValueState,
};

/// Maximum length in characters of a value in a label.
const MAX_VALUE_LENGTH: usize = 60;
/// Maximum length in characters of a list of paths in a label.
const MAX_LIST_LENGTH: usize = 200;

/// Returns the label of a fact: what it is about, with its value.
pub(super) fn fact_label(image: &ImageFacts, id: FactId) -> String {
    let entry = image.facts.get(id);
    let of = entry.subject.as_deref().unwrap_or_default();
    let value = match &entry.state {
        ValueState::Known(value) => value.to_string(),
        ValueState::Absent { .. } => {
            return match entry.key {
                FactKey::Env => format!("{of} is not set"),
                FactKey::ComponentCuda => without_cuda_label(image, id),
                key => format!("no {}", fact_noun(key, of)),
            };
        }
        ValueState::Unknown(_) => return format!("leaves {} unknown", unknown_fact_noun(entry.key, of)),
    };
    let newest = image.facts.newest_release_row(id);
    let newest = newest.map_or_else(String::new, |row| format!(" (newest for this image on {})", row.checked));
    let text = match entry.key {
        FactKey::Base
        | FactKey::TagNow
        | FactKey::Package
        | FactKey::Dependency
        | FactKey::BuildAsk
        | FactKey::ArchList => truncate_value(&value),
        FactKey::BaseCuda => format!("includes CUDA {value}"),
        FactKey::CudaRuntime => format!("CUDA runtime {value}"),
        FactKey::Env => format!("{of}={}", truncate_value(&value)),
        FactKey::ComponentVersion => format!("{} {}", component_display_name(of), truncate_value(&value)),
        FactKey::ComponentVariant => {
            format!("{} {}, build {value}", component_display_name(of), component_version(image, of)).replace(" ,", ",")
        }
        FactKey::ComponentCuda => format!("{} was built with CUDA {value}", component_with_version(image, of)),
        FactKey::ComponentCode | FactKey::Code => format!("built for {}", abbreviate_list(&value)),
        FactKey::ComponentFloor => {
            format!("{} supports compute capability {value} and newer", component_display_name(of))
        }
        FactKey::ComponentNeeds | FactKey::FileNeeds => {
            format!("{} needs {}", component_display_name(of), truncate_value(&value))
        }
        FactKey::ComponentOpens => {
            format!("{} opens {} at run time", component_display_name(of), truncate_value(&value))
        }
        FactKey::Compat => format!("{} from cuda-compat", truncate_value(&value)),
        FactKey::DriverLibraries => format!("driver libraries in the image: {}", truncate_value(&value)),
        FactKey::Platforms => format!("built for {}", truncate_value(&value)),
        FactKey::Entrypoint => format!("entrypoint: {}", truncate_value(&value)),
        FactKey::Command => format!("command: {}", truncate_value(&value)),
        _ => format!("{}: {}", fact_noun(entry.key, of), truncate_value(&value)),
    };
    format!("{text}{newest}")
}

/// Returns why a component has no CUDA: a variable, or the build of the component or of its framework.
fn without_cuda_label(image: &ImageFacts, id: FactId) -> String {
    if let Some(variable) = image.facts.env_variable(id) {
        return fact_label(image, variable);
    }
    let decider = image.facts.get(image.facts.cuda_absence_source(id));
    format!("{} was built without CUDA", component_with_version(image, decider.subject.as_deref().unwrap_or_default()))
}

/// Returns the origins of a fact, each with its label.
pub(super) fn labelled_origins(image: &ImageFacts, id: FactId) -> Vec<(Origin, String)> {
    let label = fact_label(image, id);
    let entry = image.facts.get(id);
    let variable = image.facts.env_variable(id).filter(|_| entry.key == FactKey::ComponentCuda);
    let of_variable = variable.map(|variable| image.facts.origins(variable));
    let origins = image.facts.origins(id).into_iter();
    origins
        .map(|origin| match &of_variable {
            Some(own) if !own.contains(&origin) && !matches!(entry.state, ValueState::Unknown(_)) => {
                let of = entry.subject.as_deref().unwrap_or_default();
                (origin, component_with_version(image, of))
            }
            _ => (origin, label.clone()),
        })
        .collect()
}

/// Returns the label of a pool field as the fleet file declares it.
pub(super) fn pool_field_label(pool: &Pool, field: PoolField) -> String {
    let key = field.name().trim_start_matches("pool.");
    let text = pool.field_text(field).unwrap_or_default();
    pool_label(pool, &format!("{key} = {}", quote_value(&text)))
}

/// Returns the label of an entry of a table of a pool.
pub(super) fn pool_entry_label(pool: &Pool, name: &str, value: &str) -> String {
    pool_label(pool, &format!("{name} = {}", quote_value(value)))
}

/// Returns a label that begins with the name of the pool.
pub(super) fn pool_label(pool: &Pool, what: &str) -> String {
    format!("pool {}: {what}", pool.name.value)
}

/// Quotes a value, unless it is a boolean.
fn quote_value(text: &str) -> String {
    if matches!(text, "true" | "false") { text.to_owned() } else { format!("\"{text}\"") }
}

/// Returns what is unknown, with the article that a sentence needs.
fn unknown_fact_noun(key: FactKey, of: &str) -> String {
    match key {
        // If one variable of the base image is unknown, all are.
        FactKey::Env => "the environment variables".to_owned(),
        FactKey::Package | FactKey::Dependency | FactKey::File | FactKey::Compat => fact_noun(key, of),
        FactKey::Requirements => format!("the {}", fact_noun(key, of)),
        _ if of == CONTAINER_COMPONENT => "what uses the GPU".to_owned(),
        _ => format!("the {}", fact_noun(key, of)),
    }
}

/// Returns a noun for what a fact is about.
fn fact_noun(key: FactKey, of: &str) -> String {
    let component = component_display_name(of);
    match key {
        FactKey::Base => "base image".to_owned(),
        FactKey::Platforms => "platforms".to_owned(),
        FactKey::Env => of.to_owned(),
        FactKey::Package | FactKey::Dependency => format!("package {of}"),
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

/// Returns the display name of a component.
fn component_display_name(of: &str) -> &str {
    if matches!(of, CUDA_RUNTIME_COMPONENT | CONTAINER_COMPONENT) { "the image" } else { of }
}

/// Returns a component with its version, if that is known.
fn component_with_version(image: &ImageFacts, of: &str) -> String {
    format!("{} {}", component_display_name(of), component_version(image, of)).trim_end().to_owned()
}

/// Returns the version of a component; empty if it is unknown.
fn component_version(image: &ImageFacts, of: &str) -> String {
    let mut entries = image.facts.iter().map(|(_, entry)| entry);
    let found = entries.find(|entry| entry.key == FactKey::ComponentVersion && entry.subject.as_deref() == Some(of));
    match found.map(|entry| &entry.state) {
        Some(ValueState::Known(value)) => value.to_string(),
        _ => String::new(),
    }
}

/// Abbreviates a long list to its first and last entries.
fn abbreviate_list(words: &str) -> String {
    let items: Vec<&str> = words.split(", ").collect();
    match items.as_slice() {
        [head, .., tail] if items.len() > 4 => format!("{head}, …, {tail}"),
        _ => words.to_owned(),
    }
}

/// Truncates a long value at a word or path boundary.
fn truncate_value(value: &str) -> String {
    let longest = if value.starts_with('/') && value.contains(':') { MAX_LIST_LENGTH } else { MAX_VALUE_LENGTH };
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
