//! Hover text: the pools on which the image starts, and what was detected at the position.

use std::collections::BTreeSet;

use crate::dockerfile::{Dockerfile, InstructionKind};
use crate::report::escape::{escape_one_line, shorten};
use crate::report::kinds::{FactState, VerdictKind};
use crate::report::model::{Fact, Report, Subject};
use crate::report::phrases;
use crate::report::phrases::verdict_sentence;
use crate::text::source::Span;

/// Maximum number of pools, and of detected values, in a hover text.
const MAX_ENTRIES: usize = 32;
/// Maximum number of characters of a detected value.
const MAX_VALUE_CHARS: usize = 200;

/// The markup of a hover text that the client supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkupKind {
    Markdown,
    Plain,
}

impl MarkupKind {
    /// Returns external text on one line, with its markup characters escaped.
    fn escape(self, text: &str) -> String {
        let text = escape_one_line(text);
        match self {
            Self::Plain => text.into_owned(),
            Self::Markdown => {
                let special = |c: char| "\\`*_{}[]<>()#+!|&~".contains(c);
                text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
            }
        }
    }

    /// Returns escaped text in bold, if the markup supports it.
    fn bold(self, text: &str) -> String {
        match self {
            Self::Plain => self.escape(text),
            Self::Markdown => format!("**{}**", self.escape(text)),
        }
    }
}

/// Returns the hover text for a byte of a document, and the span that it applies to.
pub(super) fn hover_text(
    report: &Report,
    name: &str,
    text: &str,
    is_dockerfile: bool,
    at: usize,
    form: MarkupKind,
) -> Option<(String, Span)> {
    let from = is_dockerfile.then(|| from_instruction_at(text, at)).flatten();
    let mut sections = Vec::new();
    let mut span = from;
    for subject in &report.subjects {
        let facts: Vec<(&Fact, Span)> =
            subject.facts.iter().filter_map(|fact| Some((fact, fact_span_at(fact, name, at)?))).collect();
        if from.is_none() && facts.is_empty() {
            continue;
        }
        let smallest = facts.iter().map(|(_, span)| *span).min_by_key(|span| span.len());
        span = span.or(smallest);
        sections.push(subject_text(subject, &facts, form));
    }
    Some((sections.join("\n\n"), span?)).filter(|(text, _)| !text.is_empty())
}

/// Returns the span of the FROM instruction that contains a byte.
fn from_instruction_at(text: &str, at: usize) -> Option<Span> {
    let dockerfile = Dockerfile::parse(text);
    let inside = |span: Span| span.start <= at && at <= span.end;
    let found = dockerfile.instructions.iter().find(|one| one.kind == InstructionKind::From && inside(one.span))?;
    Some(found.span)
}

/// Returns the smallest span around a byte of the text from which a fact was read.
fn fact_span_at(fact: &Fact, name: &str, at: usize) -> Option<Span> {
    let places = fact.origins.iter().filter(|place| place.path == name);
    let spans = places.filter_map(|place| place.region).map(|region| Span::new(region.start_byte, region.end_byte));
    spans.filter(|span| span.start <= at && at <= span.end).min_by_key(|span| span.len())
}

/// Returns the hover text for one subject.
fn subject_text(subject: &Subject, facts: &[(&Fact, Span)], form: MarkupKind) -> String {
    let mut lines = Vec::new();
    let title = form.bold(&phrases::subject_title(subject));
    let main: Vec<_> = subject.verdicts.iter().filter(|verdict| verdict.component.is_none()).collect();
    if !subject.gpu_content {
        lines.push(format!("{title}: it contains nothing for GPUs"));
    } else if main.is_empty() {
        lines.push(format!("{title}: assigned to no pool of the fleet"));
    } else {
        let starts = main.iter().filter(|verdict| verdict.fate == VerdictKind::Starts).count();
        lines.push(format!("{title} starts on {starts} of {}", phrases::pluralize(main.len(), "pool")));
        lines.push(String::new());
        for verdict in main.iter().take(MAX_ENTRIES) {
            lines.push(format!("- {} {}", form.bold(&verdict.pool), form.escape(&verdict_sentence(verdict))));
            let missing = verdict
                .missing
                .iter()
                .map(|one| format!("  - {}: {}", form.escape(&one.key), form.escape(&one.supply)));
            lines.extend(missing.take(4));
        }
        if main.len() > MAX_ENTRIES {
            lines.push(format!("- and {} more", main.len() - MAX_ENTRIES));
        }
    }
    let read = describe_facts(facts);
    if !read.is_empty() {
        lines.extend([String::new(), "Detected here:".to_owned(), String::new()]);
        let read = read
            .iter()
            .take(MAX_ENTRIES)
            .map(|line| format!("- {}", form.escape(&shorten(&escape_one_line(line), MAX_VALUE_CHARS))));
        lines.extend(read);
    }
    lines.join("\n")
}

/// First parts of fact keys that are not names of components.
const INTERNAL_KEY_PREFIXES: &[&str] = &["image", "package", "cuda", "build", "notice"];

/// Describes the facts at a position: base image, components with CUDA version and GPU code, environment variables.
fn describe_facts(facts: &[(&Fact, Span)]) -> Vec<String> {
    let fact = |key: &str| facts.iter().map(|(fact, _)| *fact).find(|fact| fact.key == key);
    let text = |key: &str| fact(key)?.value.as_ref()?.as_str().map(str::to_owned);
    let mut lines = Vec::new();
    if let Some(base) = text("image.base") {
        let cuda = match (text("image.base.cuda"), fact("image.base.cuda").map(|fact| fact.state)) {
            (Some(cuda), _) => format!(", CUDA {cuda}"),
            (None, Some(FactState::Absent)) => ", no CUDA".to_owned(),
            (None, _) => String::new(),
        };
        lines.push(format!("base image: {base}{cuda}"));
    }
    for (fact, _) in facts {
        let Some((component, "version")) = fact.key.rsplit_once('.') else { continue };
        let Some(version) = text(&fact.key).filter(|_| !INTERNAL_KEY_PREFIXES.contains(&component)) else { continue };
        let cuda =
            text(&format!("{component}.cuda")).map_or_else(String::new, |cuda| format!(", built for CUDA {cuda}"));
        lines.push(format!("{component} {version}{cuda}{}", describe_gpu_code(facts, component)));
    }
    for (fact, _) in facts {
        let value = fact.value.as_ref().and_then(|value| value.as_str());
        if let (Some(name), Some(value)) = (fact.key.strip_prefix("env."), value) {
            lines.push(format!("{name}={value}"));
        }
    }
    // Several stages, or several facts of one variable, are read from the same place.
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

/// Describes the GPU code of a component: `; native code sm_50 … sm_90, no PTX`.
fn describe_gpu_code(facts: &[(&Fact, Span)], component: &str) -> String {
    let key = format!("{component}.code");
    let value = facts.iter().find(|(fact, _)| fact.key == key).and_then(|(fact, _)| fact.value.as_ref());
    let Some(list) = value.and_then(|value| value.as_array()) else { return String::new() };
    let all: Vec<&str> = list.iter().filter_map(|one| one.as_str()).collect();
    let of = |prefix: &str| -> Vec<&str> { all.iter().copied().filter(|one| one.starts_with(prefix)).collect() };
    let native = match of("sm_").as_slice() {
        [] => "; no native code".to_owned(),
        [one] => format!("; native code {one}"),
        [first, .., newest] => format!("; native code {first} … {newest}"),
    };
    match of("compute_").as_slice() {
        [] => format!("{native}, no PTX"),
        list => format!("{native}, PTX {}", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_no_markdown() {
        assert_eq!(MarkupKind::Markdown.escape("[a](http://x) `b`\n*c*"), "\\[a\\]\\(http://x\\) \\`b\\`\\\\n\\*c\\*");
        assert_eq!(MarkupKind::Plain.escape("[a] \u{1b}"), "[a] \\u{1b}");
    }

    #[test]
    fn a_from_is_found_only_within_its_bytes() {
        let text = "FROM x AS y\nRUN z\n";
        for (at, there) in [(0, true), (5, true), (11, true), (12, false), (17, false), (99, false)] {
            assert_eq!(from_instruction_at(text, at).is_some(), there, "{at}");
        }
    }
}
