//! The list of checked files, each with its GPU content or the reason why none was found.

use std::io;

use crate::model::note::Note;
use crate::report::escape::escape_one_line;
use crate::report::kinds::FactState;
use crate::report::model::{Fact, InputError, Subject};
use crate::report::phrases::{pluralize, subject_title};

/// Maximum number of unread files that are named.
const MAX_NAMED_FILES: usize = 4;

/// Writes one line per subject in their order, then one per input that cannot be read.
pub fn write_checked_files(
    subjects: impl Iterator<Item = Subject>,
    errors: &[InputError],
    out: &mut impl io::Write,
) -> io::Result<()> {
    for subject in subjects {
        writeln!(
            out,
            "{}: {}: {}",
            subject_title(&subject),
            subject.kind,
            escape_one_line(&gpu_content_summary(&subject))
        )?;
    }
    for error in errors {
        writeln!(out, "{}: cannot be read: {}", escape_one_line(&error.input), escape_one_line(&error.message))?;
    }
    Ok(())
}

/// Returns a line with the GPU facts of a subject, or the reason why it has none.
fn gpu_content_summary(subject: &Subject) -> String {
    if subject.gpu_content {
        let mut gpu_facts: Vec<&Fact> = subject.facts.iter().filter(|fact| is_gpu_content(fact)).collect();
        gpu_facts.sort_by_key(|fact| !is_cuda_fact(fact));
        let mut words: Vec<String> = Vec::new();
        for fact in gpu_facts {
            let word = match &fact.value {
                Some(value) => format!("{} = {}", fact.key, value_text(value)),
                None => format!("{} is unknown", fact.key),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.truncate(4);
        return format!("GPU content: {}", words.join(", "));
    }
    // Only what the builder refuses is reported for such a subject.
    let refused = match subject.findings.len() {
        0 => String::new(),
        many => format!("; {many} of its lines cannot be read"),
    };
    format!("{}{refused}", no_gpu_content_reason(subject))
}

/// Returns the requirements files that a subject installs and that were not read.
fn unread_requirements(subject: &Subject) -> Vec<&str> {
    let open = |fact: &&Fact| fact.key.starts_with("requirements.") && fact.state == FactState::Unknown;
    subject.facts.iter().filter(open).filter_map(|fact| Some(fact.key.split_once('.')?.1)).collect()
}

/// Returns `; not read: ...` with the files of subjects without GPU content that were not read; empty if there are
/// none.
pub(super) fn unread_suffix<'a>(subjects: impl IntoIterator<Item = &'a Subject>) -> String {
    let unread = |subject: &'a Subject| subject.inspected.notes.iter().filter_map(Note::unread_name);
    let mut lists: Vec<&str> = subjects.into_iter().filter(|subject| !subject.gpu_content).flat_map(unread).collect();
    lists.sort_unstable();
    lists.dedup();
    let more = lists.len().saturating_sub(MAX_NAMED_FILES);
    lists.truncate(MAX_NAMED_FILES);
    match (lists.as_slice(), more) {
        ([], _) => String::new(),
        (_, 0) => format!("; not read: {}", lists.join(", ")),
        (_, more) => format!("; not read: {} and {more} more", lists.join(", ")),
    }
}

/// Returns why no GPU content was found in a subject.
fn no_gpu_content_reason(subject: &Subject) -> String {
    let base = subject.facts.iter().find(|fact| fact.key == "image.base").and_then(|fact| fact.value.as_ref());
    let packages = subject.facts.iter().filter(|fact| fact.key.starts_with("package.")).count();
    let Some(base) = base else {
        let reason = subject.facts.iter().find(|fact| fact.key == "image.base").and_then(|fact| fact.why.as_ref());
        let Some(why) = reason else { return "no GPU content: there is no stage to check".to_owned() };
        return format!(
            "no GPU content found: the base image is unknown ({}), none of {} needs a GPU, no variable NVIDIA_* \
                is set",
            why,
            pluralize(packages, "package")
        );
    };
    let lists = unread_requirements(subject);
    if !lists.is_empty() {
        return format!(
            "no GPU content found: {} was not read, none of {} needs a GPU, no variable NVIDIA_* is set",
            lists.join(", "),
            pluralize(packages, "package")
        );
    }
    if subject.facts.iter().any(|fact| is_cuda_fact(fact) && fact.state == FactState::Unknown) {
        return format!(
            "no GPU content found: the base image {} was not read, none of {} needs a GPU, no variable NVIDIA_* \
                is set",
            value_text(base),
            pluralize(packages, "package")
        );
    }
    format!(
        "no GPU content: the base image {} includes no CUDA, none of {} needs a GPU, no variable NVIDIA_* is set",
        value_text(base),
        pluralize(packages, "package")
    )
}

/// Whether a fact counts as GPU content.
fn is_gpu_content(fact: &Fact) -> bool {
    let known = fact.state == FactState::Known;
    let cuda = is_cuda_fact(fact) && fact.state != FactState::Absent;
    let variable = fact.key.starts_with("env.NVIDIA_") && known;
    cuda || variable || (known && matches!(fact.key.as_str(), "image.compat" | "image.driver_libraries"))
}

/// Whether a fact is about the CUDA of an image or of a package.
fn is_cuda_fact(fact: &Fact) -> bool {
    fact.key.rsplit_once('.').is_some_and(|(_, last)| last == "cuda")
}

/// Returns a value as text of at most 60 characters.
fn value_text(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{} ...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
