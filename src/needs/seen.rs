//! What was detected in an image, in words: the lines before an image description.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::fact::Compat;
use crate::fact::Component;
use crate::fact::DriverLibrary;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::ImageFacts;
use crate::fact::OWN_RUNTIME;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::needs::tell::built;
use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::words::listed;
use crate::report::words::named;

/// Longer values are cut.
const LONGEST: usize = 100;
/// So many things are named in one list.
const MOST: usize = 6;
/// So many reasons are shown of what is unknown.
const REASONS: usize = 3;

/// One line: what it is about, and what was found, or why it is unknown.
type Line = (String, Result<String, Why>);

/// The lines for the possible builds of one image: each once, with the alternatives of builds that differ.
pub fn lines(images: &[ImageFacts]) -> Vec<String> {
    let mut merged: Vec<(String, Vec<String>)> = Vec::new();
    let mut unknown: BTreeMap<Why, Vec<String>> = BTreeMap::new();
    for image in images {
        for component in &image.components {
            if let State::Unknown(why) = &component.code.state {
                let (why, label) = if component.name == OWN_RUNTIME {
                    // That it was not inspected is all that is to be said of a program that the file does not show.
                    let why = Why { reason: String::new(), supply: why.supply.clone() };
                    (why, "native code and PTX of the program you add".to_owned())
                } else {
                    (why.clone(), format!("native code and PTX of {}", component.called()))
                };
                note(&mut unknown, why, label);
            }
        }
        for (label, found) in of_image(image) {
            let text = found.unwrap_or_else(|why| {
                note(&mut unknown, why, label.clone());
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
    lines.extend(of_unknown(unknown));
    lines.into_iter().map(|line| clean(&line).into_owned()).collect()
}

fn note(unknown: &mut BTreeMap<Why, Vec<String>>, why: Why, label: String) {
    let labels = unknown.entry(why).or_default();
    if !labels.contains(&label) {
        labels.push(label);
    }
}

/// The most frequent reasons, each with what it leaves unknown and how to supply it.
fn of_unknown(unknown: BTreeMap<Why, Vec<String>>) -> Vec<String> {
    let mut reasons: Vec<(Why, Vec<String>)> = unknown.into_iter().collect();
    reasons.sort_by_key(|(_, labels)| Reverse(labels.len()));
    let more = reasons.len().saturating_sub(REASONS);
    let text = |(why, labels): (Why, Vec<String>)| {
        let reason = if why.reason.is_empty() { String::new() } else { format!(", because {}", why.reason) };
        format!("unknown: {}{reason}; {}", list(&labels), why.supply)
    };
    let mut lines: Vec<String> = reasons.into_iter().take(REASONS).map(text).collect();
    match more {
        0 => {}
        1 => lines.push("1 more property is unknown".to_owned()),
        more => lines.push(format!("{more} more properties are unknown")),
    }
    lines
}

fn of_image(image: &ImageFacts) -> Vec<Line> {
    let mut lines = Vec::new();
    if image.base.is_some() {
        lines.push(("base image".to_owned(), base(image)));
    }
    for component in &image.components {
        lines.push((named(&component.name).to_owned(), Ok(of_component(image, component))));
    }
    let variable = |name: &str| (name.to_owned(), value(image.env.get(name), "not set", String::clone));
    lines.push(variable("NVIDIA_REQUIRE_CUDA"));
    let libraries = |compat: &Compat| {
        let names: Vec<String> = compat.libraries.iter().map(|one| format!("libcuda {}", one.version)).collect();
        if names.is_empty() { "none".to_owned() } else { list(&names) }
    };
    lines.push(("cuda-compat package".to_owned(), value(&image.compat, "none", libraries)));
    let paths = |libraries: &Vec<DriverLibrary>| {
        let paths: Vec<String> = libraries.iter().map(|library| library.path.clone()).collect();
        if paths.is_empty() { "none".to_owned() } else { list(&paths) }
    };
    lines.push(("driver libraries in the image".to_owned(), value(&image.driver_libraries, "none", paths)));
    lines.push(variable("NVIDIA_VISIBLE_DEVICES"));
    lines
}

fn base(image: &ImageFacts) -> Result<String, Why> {
    let Some(id) = image.base else { return Ok("none".to_owned()) };
    let reference = match &image.facts.get(id).state {
        State::Known(value) => value.to_string(),
        State::Absent { .. } => return Ok("none".to_owned()),
        State::Unknown(why) => return Err(why.clone()),
    };
    Ok(match &image.base_cuda.state {
        State::Known(cuda) => format!("{reference}, CUDA {cuda}"),
        State::Absent { .. } => format!("{reference}, no CUDA"),
        State::Unknown(_) => format!("{reference}, CUDA release unknown"),
    })
}

/// `2.4.0, CUDA 12.1 (cu121), built for sm_80, sm_90, no PTX`.
fn of_component(image: &ImageFacts, component: &Component) -> String {
    let mut parts: Vec<String> = own(image, component, FactKey::ComponentVersion).into_iter().collect();
    let variant = own(image, component, FactKey::ComponentVariant).map(|variant| format!(" ({variant})"));
    let variant = variant.unwrap_or_default();
    parts.push(match &component.cuda.state {
        State::Known(cuda) => format!("CUDA {cuda}{variant}"),
        State::Absent { .. } => format!("CPU-only{variant}"),
        State::Unknown(_) => format!("CUDA release unknown{variant}"),
    });
    if !matches!(component.cuda.state, State::Absent { .. }) {
        parts.push(match &component.code.state {
            State::Known(code) => match Value::from(code) {
                Value::List(targets) => built(&targets),
                Value::Text(text) => text,
            },
            State::Absent { .. } => "no native code or PTX".to_owned(),
            State::Unknown(_) => "native code and PTX unknown".to_owned(),
        });
    }
    parts.join(", ")
}

/// A known fact of a component.
fn own(image: &ImageFacts, component: &Component, key: FactKey) -> Option<String> {
    let mut entries = image.facts.iter().map(|(_, entry)| entry);
    let found = entries.find(|entry| entry.key == key && entry.of.as_deref() == Some(&component.name))?;
    match &found.state {
        State::Known(value) => Some(value.to_string()),
        State::Absent { .. } | State::Unknown(_) => None,
    }
}

fn value<T>(fact: &Fact<T>, absent: &str, text: impl Fn(&T) -> String) -> Result<String, Why> {
    match &fact.state {
        State::Known(value) => Ok(shorten(&clean(&text(value)), LONGEST).into_owned()),
        State::Absent { .. } => Ok(absent.to_owned()),
        State::Unknown(why) => Err(why.clone()),
    }
}

fn list(names: &[String]) -> String {
    listed(names, MOST, ", ")
}
