//! The examples of a page: inputs with what must be said of them.

use std::fmt;
use std::str::FromStr;

use crate::nearest::nearest;
use crate::rules::blocks::Block;
use crate::rules::header::words;
use crate::rules::problem::Fault;
use crate::rules::problem::did_you_mean;
use crate::source::Span;

words! {
    /// What an example expects of a rule.
    Level {
        /// A note.
        Note = "note",
        /// A warning.
        Warning = "warning",
        /// An error.
        Error = "error",
        /// That it cannot be told.
        Undetermined = "undetermined",
    }
}

/// One expected finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// How it is reported.
    pub level: Level,
    /// By which rule.
    pub rule: String,
}

/// What an example judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExampleInput {
    /// Text of a Dockerfile.
    Dockerfile(String),
    /// An image description in TOML.
    Image(String),
}

impl ExampleInput {
    /// The text, of whichever kind.
    pub fn text(&self) -> &str {
        match self {
            Self::Dockerfile(text) | Self::Image(text) => text,
        }
    }
}

/// One example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its heading.
    pub title: String,
    /// The fleet: its own, or the first one of the page.
    pub fleet: Option<String>,
    /// What is judged.
    pub input: ExampleInput,
    /// What must be said; where empty, nothing may be.
    pub expect: Vec<Expectation>,
    /// Place of the input in the page.
    pub at: Span,
}

/// So many examples a page has at most, and so many pools the fleet of one: all are judged by every test.
const MOST_EXAMPLES: usize = 128;
const MOST_POOLS: usize = 32;

const INFOS: &[&str] = &["toml fleet", "dockerfile", "toml image"];

/// The examples among the blocks of the section; `heading` is the section's own.
pub(super) fn examples(blocks: &[Block], text: &str, heading: Span) -> Result<Vec<Example>, Fault> {
    let mut found = Vec::new();
    let mut first_fleet = None;
    let starts =
        blocks.iter().enumerate().filter_map(|(at, block)| matches!(block, Block::Heading { .. }).then_some(at));
    let starts: Vec<usize> = starts.collect();
    let lead = &blocks[..starts.first().copied().unwrap_or(blocks.len())];
    if let Some(fence) = lead.iter().find(|block| matches!(block, Block::Fence { .. })) {
        return Err(Fault::new(fence.span(), "an example begins with a `###` heading"));
    }
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(blocks.len());
        let mut example = example(&blocks[*start..end], text)?;
        if first_fleet.is_none() {
            first_fleet.clone_from(&example.fleet);
        }
        example.fleet = example.fleet.or_else(|| first_fleet.clone());
        found.push(example);
    }
    if found.len() > MOST_EXAMPLES {
        return Err(Fault::new(heading, format!("a page has at most {MOST_EXAMPLES} examples")));
    }
    if found.is_empty() {
        return Err(Fault::new(heading, "a page has examples"));
    }
    Ok(found)
}

/// One example: its heading, then its blocks.
fn example(blocks: &[Block], text: &str) -> Result<Example, Fault> {
    let Some(Block::Heading { level: 3, text: title, span }) = blocks.first() else {
        return Err(Fault::new(blocks.first().map(Block::span).unwrap_or_default(), "an example has a `###` heading"));
    };
    let (mut fleet, mut input) = (None, None);
    for block in blocks {
        let Block::Fence { info, info_span, body, .. } = block else { continue };
        let content = text[body.start..body.end].to_owned();
        let twice = || Err(Fault::new(*info_span, "an example has at most one fleet and one input"));
        match info.as_str() {
            "toml fleet" if content.matches("[[pool]]").count() > MOST_POOLS => {
                return Err(Fault::new(*info_span, format!("the fleet of an example has at most {MOST_POOLS} pools")));
            }
            "toml fleet" if fleet.is_none() => fleet = Some(content),
            "dockerfile" if input.is_none() => input = Some((ExampleInput::Dockerfile(content), *body)),
            "toml image" if input.is_none() => input = Some((ExampleInput::Image(content), *body)),
            info if INFOS.contains(&info) => return twice(),
            _ => {
                let help = did_you_mean(info, INFOS.iter().copied());
                let help = help.unwrap_or_else(|| format!("one of: {}", INFOS.join(", ")));
                return Err(Fault::new(*info_span, "an example does not support this block").help(help));
            }
        }
    }
    let Some((input, at)) = input else {
        return Err(Fault::new(*span, "this example has nothing to check")
            .help("add a `dockerfile` or `toml image` block".to_owned()));
    };
    let expect = expectations(input.text()).map_err(|fault| fault.shifted(at.start))?;
    Ok(Example { title: title.clone(), fleet, input, expect, at })
}

/// The comment lines that say what is expected.
fn expectations(text: &str) -> Result<Vec<Expectation>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((level, rule)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(':')) else { continue };
        let rule = rule.trim();
        if !is_name(rule) {
            continue;
        }
        if let Ok(level) = level.parse() {
            found.push(Expectation { level, rule: rule.to_owned() });
        } else if let Some(meant) = nearest(level, Level::WORDS.iter().copied()) {
            let span = Span::new(start + 2, start + 2 + level.len());
            let fault = Fault::new(span, format!("`{level}` is not an expectation"));
            return Err(fault.help(format!("did you mean `{meant}`?")));
        }
    }
    Ok(found)
}

/// Whether a text could name a rule: lower-case words joined by hyphens.
pub(super) fn is_name(text: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.len() <= 64 && text.split('-').all(word)
}
