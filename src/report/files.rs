//! The files that a run looks at, each with what in it concerns a GPU or why nothing does.

use std::io;

use crate::report::escape::clean;
use crate::report::kinds::FactState;
use crate::report::model::Fact;
use crate::report::model::InputError;
use crate::report::model::Subject;
use crate::report::words::count;
use crate::report::words::title;

/// How the note begins of a command whose words are not all known.
const MORE_THAN_TOLD: &str = "a command installs unknown packages";
/// So many lists are named that were not read.
const MOST_NAMED: usize = 4;

/// Writes one line per subject, as they come, and per input that cannot be read.
pub fn files(
    subjects: impl Iterator<Item = Subject>,
    errors: &[InputError],
    out: &mut impl io::Write,
) -> io::Result<()> {
    for subject in subjects {
        writeln!(out, "{}: {}: {}", title(&subject), clean(&subject.kind), clean(&reason(&subject)))?;
    }
    for error in errors {
        writeln!(out, "{}: cannot be read: {}", clean(&error.input), clean(&error.message))?;
    }
    Ok(())
}

fn reason(subject: &Subject) -> String {
    if subject.gpu_content {
        let mut told: Vec<&Fact> = subject.facts.iter().filter(|fact| concerns_gpu(fact)).collect();
        told.sort_by_key(|fact| !speaks_of_cuda(fact));
        let mut words: Vec<String> = Vec::new();
        for fact in told {
            let word = match &fact.value {
                Some(value) => format!("{} = {}", fact.key, shown(value)),
                None => format!("{} is unknown", fact.key),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.truncate(4);
        return format!("GPU content: {}", words.join(", "));
    }
    // What is told of such a subject is what the builder refuses in it.
    let refused = match subject.findings.len() {
        0 => String::new(),
        many => format!("; {many} of its lines cannot be read"),
    };
    format!("{}{refused}", without_content(subject))
}

/// The lists of packages that a subject reads and that were not at hand.
fn unread(subject: &Subject) -> Vec<&str> {
    let open = |fact: &&Fact| fact.key.starts_with("requirements.") && fact.state == FactState::Unknown;
    subject.facts.iter().filter(open).filter_map(|fact| Some(fact.key.split_once('.')?.1)).collect()
}

/// What notes say was not read, whether or not a format has the facts.
fn noted(subject: &Subject) -> impl Iterator<Item = &str> {
    let notes = subject.inspected.notes.iter();
    notes.filter_map(|note| {
        let words = note.starts_with(MORE_THAN_TOLD).then_some("words of a command");
        let unread = || [" was not read: ", " was not inspected: "].iter().find_map(|words| note.split_once(words));
        words.or_else(|| Some(unread()?.0))
    })
}

/// What is said of subjects without GPU content, where lists were not read that might have named some.
pub(super) fn unread_in<'a>(subjects: impl IntoIterator<Item = &'a Subject>) -> String {
    let mut lists: Vec<&str> = subjects.into_iter().filter(|subject| !subject.gpu_content).flat_map(noted).collect();
    lists.sort_unstable();
    lists.dedup();
    let more = lists.len().saturating_sub(MOST_NAMED);
    lists.truncate(MOST_NAMED);
    match (lists.as_slice(), more) {
        ([], _) => String::new(),
        (_, 0) => format!("; not read: {}", lists.join(", ")),
        (_, more) => format!("; not read: {} and {more} more", lists.join(", ")),
    }
}

fn without_content(subject: &Subject) -> String {
    let base = subject.facts.iter().find(|fact| fact.key == "image.base").and_then(|fact| fact.value.as_ref());
    let packages = subject.facts.iter().filter(|fact| fact.key.starts_with("package.")).count();
    let Some(base) = base else {
        let told = subject.facts.iter().find(|fact| fact.key == "image.base").and_then(|fact| fact.why.as_ref());
        let Some(why) = told else { return "no GPU content: there is no stage to check".to_owned() };
        return format!(
            "no GPU content found: the base image is unknown ({}), none of {} needs a GPU, no variable NVIDIA_* \
                is set",
            why,
            count(packages, "package")
        );
    };
    let lists = unread(subject);
    if !lists.is_empty() {
        return format!(
            "no GPU content found: {} was not read, none of {} needs a GPU, no variable NVIDIA_* is set",
            lists.join(", "),
            count(packages, "package")
        );
    }
    if subject.facts.iter().any(|fact| speaks_of_cuda(fact) && fact.state == FactState::Unknown) {
        return format!(
            "no GPU content found: the base image {} was not read, none of {} needs a GPU, no variable NVIDIA_* \
                is set",
            shown(base),
            count(packages, "package")
        );
    }
    format!(
        "no GPU content: the base image {} includes no CUDA, none of {} needs a GPU, no variable NVIDIA_* is set",
        shown(base),
        count(packages, "package")
    )
}

/// Whether a fact makes a subject one with GPU content.
fn concerns_gpu(fact: &Fact) -> bool {
    let known = fact.state == FactState::Known;
    let cuda = speaks_of_cuda(fact) && fact.state != FactState::Absent;
    let variable = fact.key.starts_with("env.NVIDIA_") && known;
    cuda || variable || (known && matches!(fact.key.as_str(), "image.compat" | "image.driver_libraries"))
}

fn speaks_of_cuda(fact: &Fact) -> bool {
    fact.key.rsplit_once('.').is_some_and(|(_, last)| last == "cuda")
}

fn shown(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{} ...", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
