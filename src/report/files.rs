//! The files that a run looks at, each with what in it concerns a GPU or why nothing does.

use std::io;

use crate::report::escape::clean;
use crate::report::model::Fact;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::words::count;
use crate::report::words::title;

/// Writes one line per subject and per input that cannot be read.
pub fn files(report: &Report, out: &mut impl io::Write) -> io::Result<()> {
    for subject in &report.subjects {
        writeln!(out, "{}: {}: {}", title(subject), clean(&subject.kind), clean(&reason(subject)))?;
    }
    for error in &report.errors {
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
                None => format!("{} is not known", fact.key),
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

fn without_content(subject: &Subject) -> String {
    let base = subject.facts.iter().find(|fact| fact.key == "image.base").and_then(|fact| fact.value.as_ref());
    let Some(base) = base else { return "no GPU content: there is no stage to judge".to_owned() };
    let packages = subject.facts.iter().filter(|fact| fact.key.starts_with("package.")).count();
    let unread = |fact: &&Fact| fact.key.starts_with("requirements.") && fact.state == "unknown";
    let lists: Vec<&str> =
        subject.facts.iter().filter(unread).filter_map(|fact| Some(fact.key.split_once('.')?.1)).collect();
    if !lists.is_empty() {
        return format!(
            "no GPU content was seen: {} was not read, none of {} needs a GPU, no variable NVIDIA_* is set",
            lists.join(", "),
            count(packages, "package")
        );
    }
    if subject.facts.iter().any(|fact| speaks_of_cuda(fact) && fact.state == "unknown") {
        return format!(
            "no GPU content was seen: the base {} was not read, none of {} needs a GPU, no variable NVIDIA_* is set",
            shown(base),
            count(packages, "package")
        );
    }
    format!(
        "no GPU content: the base {} holds no CUDA, none of {} needs a GPU, no variable NVIDIA_* is set",
        shown(base),
        count(packages, "package")
    )
}

/// Whether a fact makes a subject one with GPU content.
fn concerns_gpu(fact: &Fact) -> bool {
    let known = fact.state == "known";
    let cuda = speaks_of_cuda(fact) && fact.state != "absent";
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
