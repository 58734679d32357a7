//! Describes the facts detected in an image, as lines that precede an image description.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::fix::needs::print::code_targets_text;
use crate::model::cause::Cause;
use crate::model::fact::{
    CUDA_RUNTIME_COMPONENT, CompatDirectory, Component, DriverLibrary, FactKey, ImageFacts, PrintedValue, TypedFact,
    ValueState,
};
use crate::report::escape::{escape_one_line, shorten};
use crate::report::phrases::{component_label, join_first};

/// Maximum length of a value before it is shortened.
const MAX_VALUE_LENGTH: usize = 100;
/// Maximum number of names in one list.
const MAX_NAMES: usize = 6;
/// Maximum number of reasons for unknown facts.
const MAX_REASONS: usize = 3;

/// Something unknown about an image.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    /// The GPU code of a program that the file does not show, with the way to supply it.
    ProgramCode(String),
    /// A fact, with the cause.
    Fact(Cause),
}

impl Gap {
    /// Returns why it is unknown, as a clause; empty for a program that the file does not show.
    fn because(&self) -> String {
        match self {
            Self::ProgramCode(_) => String::new(),
            Self::Fact(cause) => format!(", because {cause}"),
        }
    }

    /// Returns what the user can do.
    fn remedy(&self) -> String {
        match self {
            Self::ProgramCode(remedy) => remedy.clone(),
            Self::Fact(cause) => cause.remedy(),
        }
    }
}

/// A label with the value of a fact, or the reason why it is unknown.
type LabelledFact = (String, Result<String, Cause>);

/// Describes the possible builds of one image: each fact once, with the alternatives of builds that differ.
pub fn describe_facts(images: &[ImageFacts]) -> Vec<String> {
    let mut merged: Vec<(String, Vec<String>)> = Vec::new();
    let mut unknown: BTreeMap<Gap, Vec<String>> = BTreeMap::new();
    for image in images {
        for component in &image.components {
            if let ValueState::Unknown(why) = &component.code.state {
                let (gap, label) = if component.name == CUDA_RUNTIME_COMPONENT {
                    (Gap::ProgramCode(why.remedy()), "native code and PTX of the program you add".to_owned())
                } else {
                    (Gap::Fact(why.clone()), format!("native code and PTX of {}", component.display_name()))
                };
                add_unknown(&mut unknown, gap, label);
            }
        }
        for (label, found) in image_facts(image) {
            let text = found.unwrap_or_else(|why| {
                add_unknown(&mut unknown, Gap::Fact(why), label.clone());
                "unknown".to_owned()
            });
            match merged.iter_mut().find(|(known, _)| *known == label) {
                Some((_, texts)) if texts.contains(&text) => {}
                Some((_, texts)) => texts.push(text),
                None => merged.push((label, vec![text])),
            }
        }
    }
    let mut lines: Vec<String> =
        merged.into_iter().map(|(label, texts)| format!("{label}: {}", texts.join(", or "))).collect();
    lines.extend(unknown_lines(unknown));
    lines.into_iter().map(|line| escape_one_line(&line).into_owned()).collect()
}

/// Records the label of an unknown fact under its reason.
fn add_unknown(unknown: &mut BTreeMap<Gap, Vec<String>>, gap: Gap, label: String) {
    let labels = unknown.entry(gap).or_default();
    if !labels.contains(&label) {
        labels.push(label);
    }
}

/// Returns lines for the most frequent reasons, with the unknown facts and how to supply them.
fn unknown_lines(unknown: BTreeMap<Gap, Vec<String>>) -> Vec<String> {
    let mut reasons: Vec<(Gap, Vec<String>)> = unknown.into_iter().collect();
    reasons.sort_by_key(|(_, labels)| Reverse(labels.len()));
    let more = reasons.len().saturating_sub(MAX_REASONS);
    let text = |(gap, labels): (Gap, Vec<String>)| {
        format!("unknown: {}{}; {}", join_names(&labels), gap.because(), gap.remedy())
    };
    let mut lines: Vec<String> = reasons.into_iter().take(MAX_REASONS).map(text).collect();
    match more {
        0 => {}
        1 => lines.push("1 more property is unknown".to_owned()),
        more => lines.push(format!("{more} more properties are unknown")),
    }
    lines
}

/// Returns the labelled facts of an image.
fn image_facts(image: &ImageFacts) -> Vec<LabelledFact> {
    let mut lines = Vec::new();
    if image.base.is_some() {
        lines.push(("base image".to_owned(), base_image_text(image)));
    }
    for component in &image.components {
        lines.push((component_label(&component.name).to_owned(), Ok(component_text(image, component))));
    }
    let variable = |name: &str| (name.to_owned(), fact_text(image.env.get(name), "not set", String::clone));
    lines.push(variable("NVIDIA_REQUIRE_CUDA"));
    let libraries = |compat: &CompatDirectory| {
        let names: Vec<String> = compat.libraries.iter().map(|one| format!("libcuda {}", one.version)).collect();
        if names.is_empty() { "none".to_owned() } else { join_names(&names) }
    };
    lines.push(("cuda-compat package".to_owned(), fact_text(&image.compat, "none", libraries)));
    let paths = |libraries: &Vec<DriverLibrary>| {
        let paths: Vec<String> = libraries.iter().map(|library| library.path.clone()).collect();
        if paths.is_empty() { "none".to_owned() } else { join_names(&paths) }
    };
    lines.push(("driver libraries in the image".to_owned(), fact_text(&image.driver_libraries, "none", paths)));
    lines.push(variable("NVIDIA_VISIBLE_DEVICES"));
    lines
}

/// Describes the base image and its CUDA release.
fn base_image_text(image: &ImageFacts) -> Result<String, Cause> {
    let Some(id) = image.base else { return Ok("none".to_owned()) };
    let reference = match &image.facts.get(id).state {
        ValueState::Known(value) => value.to_string(),
        ValueState::Absent { .. } => return Ok("none".to_owned()),
        ValueState::Unknown(why) => return Err(why.clone()),
    };
    Ok(match &image.base_cuda.state {
        ValueState::Known(cuda) => format!("{reference}, CUDA {cuda}"),
        ValueState::Absent { .. } => format!("{reference}, no CUDA"),
        ValueState::Unknown(_) => format!("{reference}, CUDA release unknown"),
    })
}

/// Describes a component: `2.4.0, CUDA 12.1 (cu121), built for sm_80, sm_90, no PTX`.
fn component_text(image: &ImageFacts, component: &Component) -> String {
    let mut parts: Vec<String> = component_fact(image, component, FactKey::ComponentVersion).into_iter().collect();
    let variant = component_fact(image, component, FactKey::ComponentVariant).map(|variant| format!(" ({variant})"));
    let variant = variant.unwrap_or_default();
    parts.push(match &component.cuda.state {
        ValueState::Known(cuda) => format!("CUDA {cuda}{variant}"),
        ValueState::Absent { .. } => format!("CPU-only{variant}"),
        ValueState::Unknown(_) => format!("CUDA release unknown{variant}"),
    });
    if !component.is_without_cuda() {
        parts.push(match &component.code.state {
            ValueState::Known(code) => match PrintedValue::from(code) {
                PrintedValue::List(targets) => code_targets_text(&targets),
                PrintedValue::Text(text) => text,
            },
            ValueState::Absent { .. } => "no native code or PTX".to_owned(),
            ValueState::Unknown(_) => "native code and PTX unknown".to_owned(),
        });
    }
    parts.join(", ")
}

/// Returns a known fact of a component.
fn component_fact(image: &ImageFacts, component: &Component, key: FactKey) -> Option<String> {
    let mut entries = image.facts.iter().map(|(_, entry)| entry);
    let found = entries.find(|entry| entry.key == key && entry.subject.as_deref() == Some(&component.name))?;
    match &found.state {
        ValueState::Known(value) => Some(value.to_string()),
        ValueState::Absent { .. } | ValueState::Unknown(_) => None,
    }
}

/// Formats the value of a fact, or returns the reason why it is unknown.
fn fact_text<T>(fact: &TypedFact<T>, absent: &str, text: impl Fn(&T) -> String) -> Result<String, Cause> {
    match &fact.state {
        ValueState::Known(value) => Ok(shorten(&escape_one_line(&text(value)), MAX_VALUE_LENGTH).into_owned()),
        ValueState::Absent { .. } => Ok(absent.to_owned()),
        ValueState::Unknown(why) => Err(why.clone()),
    }
}

/// Joins names into a list of limited length.
fn join_names(names: &[String]) -> String {
    join_first(names, MAX_NAMES, ", ")
}
