//! What is told of the place under the pointer: the pools on which the image runs, and why.

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Kind;
use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::kinds::FactState;
use crate::report::kinds::VerdictKind;
use crate::report::model::Fact;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::words;
use crate::report::words::sentence;
use crate::source::Span;

/// So many pools are told, and so many facts.
const MOST: usize = 32;
/// A value is told in so many characters.
const LONGEST: usize = 200;

/// Whether the editor shows Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    Plain,
}

impl Form {
    /// Text from outside, on one line, which means nothing but itself.
    fn say(self, text: &str) -> String {
        let text = clean(text);
        match self {
            Self::Plain => text.into_owned(),
            Self::Markdown => {
                let special = |c: char| "\\`*_{}[]<>()#+!|&~".contains(c);
                text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
            }
        }
    }

    fn strong(self, text: &str) -> String {
        match self {
            Self::Plain => self.say(text),
            Self::Markdown => format!("**{}**", self.say(text)),
        }
    }
}

/// What is told of a byte of a text, and the span that it is told of.
pub(super) fn of(
    report: &Report,
    name: &str,
    text: &str,
    is_dockerfile: bool,
    at: usize,
    form: Form,
) -> Option<(String, Span)> {
    let from = is_dockerfile.then(|| from_at(text, at)).flatten();
    let mut told = Vec::new();
    let mut span = from;
    for subject in &report.subjects {
        let facts: Vec<(&Fact, Span)> =
            subject.facts.iter().filter_map(|fact| Some((fact, read_at(fact, name, at)?))).collect();
        if from.is_none() && facts.is_empty() {
            continue;
        }
        let smallest = facts.iter().map(|(_, span)| *span).min_by_key(|span| span.len());
        span = span.or(smallest);
        told.push(of_subject(subject, &facts, form));
    }
    Some((told.join("\n\n"), span?)).filter(|(text, _)| !text.is_empty())
}

/// The base image of a FROM that a byte is in.
fn from_at(text: &str, at: usize) -> Option<Span> {
    let dockerfile = Dockerfile::parse(text);
    let inside = |span: Span| span.start <= at && at <= span.end;
    let found = dockerfile.instructions.iter().find(|one| one.kind == Kind::From && inside(one.span))?;
    Some(found.span)
}

/// Where a fact was read, if that is around a byte of this text.
fn read_at(fact: &Fact, name: &str, at: usize) -> Option<Span> {
    let places = fact.origins.iter().filter(|place| place.path == name);
    let spans = places.filter_map(|place| place.region).map(|region| Span::new(region.start_byte, region.end_byte));
    spans.filter(|span| span.start <= at && at <= span.end).min_by_key(|span| span.len())
}

fn of_subject(subject: &Subject, facts: &[(&Fact, Span)], form: Form) -> String {
    let mut lines = Vec::new();
    let title = form.strong(&words::title(subject));
    let main: Vec<_> = subject.verdicts.iter().filter(|verdict| verdict.component.is_none()).collect();
    if !subject.gpu_content {
        lines.push(format!("{title}: it contains nothing for GPUs"));
    } else if main.is_empty() {
        lines.push(format!("{title}: assigned to no pool of the fleet"));
    } else {
        let starts = main.iter().filter(|verdict| verdict.fate == VerdictKind::Starts).count();
        lines.push(format!("{title} starts on {starts} of {}", words::count(main.len(), "pool")));
        lines.push(String::new());
        for verdict in main.iter().take(MOST) {
            lines.push(format!("- {} {}", form.strong(&verdict.pool), form.say(&sentence(verdict))));
            let missing =
                verdict.missing.iter().map(|one| format!("  - {}: {}", form.say(&one.key), form.say(&one.supply)));
            lines.extend(missing.take(4));
        }
        if main.len() > MOST {
            lines.push(format!("- and {} more", main.len() - MOST));
        }
    }
    let read = in_words(facts);
    if !read.is_empty() {
        lines.extend([String::new(), "Detected here:".to_owned(), String::new()]);
        let read = read.iter().take(MOST).map(|line| format!("- {}", form.say(&shorten(&clean(line), LONGEST))));
        lines.extend(read);
    }
    lines.join("\n")
}

/// Parts of a name that only the trace of a check shows.
const INTERNAL: &[&str] = &["image", "package", "cuda", "build", "notice"];

/// What was read at a place, in words: the base image, components with their CUDA and code, variables that are set.
fn in_words(facts: &[(&Fact, Span)]) -> Vec<String> {
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
        let Some(version) = text(&fact.key).filter(|_| !INTERNAL.contains(&component)) else { continue };
        let cuda =
            text(&format!("{component}.cuda")).map_or_else(String::new, |cuda| format!(", built for CUDA {cuda}"));
        lines.push(format!("{component} {version}{cuda}{}", code(facts, component)));
    }
    for (fact, _) in facts {
        let value = fact.value.as_ref().and_then(|value| value.as_str());
        if let (Some(name), Some(value)) = (fact.key.strip_prefix("env."), value) {
            lines.push(format!("{name}={value}"));
        }
    }
    lines.dedup();
    lines
}

/// The GPU code of a component: `; native code sm_50 … sm_90, no PTX`.
fn code(facts: &[(&Fact, Span)], component: &str) -> String {
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
        assert_eq!(Form::Markdown.say("[a](http://x) `b`\n*c*"), "\\[a\\]\\(http://x\\) \\`b\\`\\\\n\\*c\\*");
        assert_eq!(Form::Plain.say("[a] \u{1b}"), "[a] \\u{1b}");
    }

    #[test]
    fn a_from_is_found_under_every_byte_of_it_alone() {
        let text = "FROM x AS y\nRUN z\n";
        for (at, there) in [(0, true), (5, true), (11, true), (12, false), (17, false), (99, false)] {
            assert_eq!(from_at(text, at).is_some(), there, "{at}");
        }
    }
}
