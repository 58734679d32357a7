//! The examples of a rule page: inputs with the findings that are expected for them.

use std::fmt;
use std::str::FromStr;

use crate::rules::markdown::MarkdownBlock;
use crate::rules::page_error::{Fault, did_you_mean};
use crate::rules::page_header::{is_rule_name, words};
use crate::text::nearest::nearest_word;
use crate::text::source::Span;

words! {
    /// What an example expects of a rule.
    Level {
        /// A note.
        Note = "note",
        /// A warning.
        Warning = "warning",
        /// An error.
        Error = "error",
        /// The finding cannot be determined.
        Undetermined = "undetermined",
    }
}

/// An expected finding of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The expected level.
    pub level: Level,
    /// The name of the rule.
    pub rule: String,
}

/// The input of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExampleInput {
    /// The text of a Dockerfile.
    Dockerfile(String),
    /// An image description in TOML.
    Image(String),
}

impl ExampleInput {
    /// Returns the text of the input.
    pub fn text(&self) -> &str {
        match self {
            Self::Dockerfile(text) | Self::Image(text) => text,
        }
    }
}

/// An example of a rule page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The heading of the example.
    pub title: String,
    /// The fleet file of the example, or else that of the first example with one.
    pub fleet: Option<String>,
    /// The input.
    pub input: ExampleInput,
    /// The expected findings; if empty, no finding may be reported.
    pub expect: Vec<Expectation>,
    /// The span of the input in the page.
    pub at: Span,
}

/// The maximum number of examples of a page; every test judges all of them.
const MAX_EXAMPLES: usize = 128;
/// The maximum number of pools in the fleet of an example.
const MAX_POOLS: usize = 32;

/// The info strings of the code blocks that an example may have.
const FENCE_INFOS: &[&str] = &["toml fleet", "dockerfile", "toml image"];

/// Reads the examples from the blocks of the section; `heading` is the span of the section's heading.
pub(super) fn read_examples(blocks: &[MarkdownBlock], text: &str, heading: Span) -> Result<Vec<Example>, Fault> {
    let mut found = Vec::new();
    let mut first_fleet = None;
    let starts = blocks
        .iter()
        .enumerate()
        .filter_map(|(at, block)| matches!(block, MarkdownBlock::Heading { .. }).then_some(at));
    let starts: Vec<usize> = starts.collect();
    let lead = &blocks[..starts.first().copied().unwrap_or(blocks.len())];
    if let Some(fence) = lead.iter().find(|block| matches!(block, MarkdownBlock::Fence { .. })) {
        return Err(Fault::new(fence.span(), "an example begins with a `###` heading"));
    }
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(blocks.len());
        let mut example = read_example(&blocks[*start..end], text)?;
        if first_fleet.is_none() {
            first_fleet.clone_from(&example.fleet);
        }
        example.fleet = example.fleet.or_else(|| first_fleet.clone());
        found.push(example);
    }
    if found.len() > MAX_EXAMPLES {
        return Err(Fault::new(heading, format!("a page has at most {MAX_EXAMPLES} examples")));
    }
    if found.is_empty() {
        return Err(Fault::new(heading, "a page has examples"));
    }
    Ok(found)
}

/// Reads one example: its heading, then its code blocks.
fn read_example(blocks: &[MarkdownBlock], text: &str) -> Result<Example, Fault> {
    let Some(MarkdownBlock::Heading { level: 3, text: title, span }) = blocks.first() else {
        return Err(Fault::new(
            blocks.first().map(MarkdownBlock::span).unwrap_or_default(),
            "an example has a `###` heading",
        ));
    };
    let (mut fleet, mut input) = (None, None);
    for block in blocks {
        let MarkdownBlock::Fence { info, info_span, body, .. } = block else { continue };
        let content = text[body.start..body.end].to_owned();
        let twice = || Err(Fault::new(*info_span, "an example has at most one fleet and one input"));
        match info.as_str() {
            "toml fleet" if content.matches("[[pool]]").count() > MAX_POOLS => {
                return Err(Fault::new(*info_span, format!("the fleet of an example has at most {MAX_POOLS} pools")));
            }
            "toml fleet" if fleet.is_none() => fleet = Some(content),
            "dockerfile" if input.is_none() => input = Some((ExampleInput::Dockerfile(content), *body)),
            "toml image" if input.is_none() => input = Some((ExampleInput::Image(content), *body)),
            info if FENCE_INFOS.contains(&info) => return twice(),
            _ => {
                let help = did_you_mean(info, FENCE_INFOS.iter().copied());
                let help = help.unwrap_or_else(|| format!("one of: {}", FENCE_INFOS.join(", ")));
                return Err(Fault::new(*info_span, "an example does not support this block").with_help(help));
            }
        }
    }
    let Some((input, at)) = input else {
        return Err(Fault::new(*span, "this example has nothing to check")
            .with_help("add a `dockerfile` or `toml image` block".to_owned()));
    };
    let expect = read_expectations(input.text()).map_err(|fault| fault.shifted(at.start))?;
    Ok(Example { title: title.clone(), fleet, input, expect, at })
}

/// Reads the expected findings from comment lines such as `# warning: rule-name`.
fn read_expectations(text: &str) -> Result<Vec<Expectation>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((level, rule)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(':')) else { continue };
        let rule = rule.trim();
        if !is_rule_name(rule) {
            continue;
        }
        if let Ok(level) = level.parse() {
            found.push(Expectation { level, rule: rule.to_owned() });
        } else if let Some(suggestion) = nearest_word(level, Level::WORDS.iter().copied()) {
            let span = Span::new(start + 2, start + 2 + level.len());
            let fault = Fault::new(span, format!("`{level}` is not an expectation"));
            return Err(fault.with_help(format!("did you mean `{suggestion}`?")));
        }
    }
    Ok(found)
}
