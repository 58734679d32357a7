//! Paragraphs and sentences of Markdown and help texts, and what is over a limit in them.

use std::sync::LazyLock;

use regex::Regex;

use crate::writing::{LONGEST, MEAN, PARAGRAPH, SHORTEST};

/// Words that the project used in a sense of its own, as patterns. Plain English has others for them.
const PRIVATE: &[&str] = &[
    "told",
    "tell",
    "tells",
    "says",
    "said",
    "hold",
    "holds",
    "held",
    "ask",
    "asks",
    "asked",
    "beside",
    "nobody",
    "stand",
    "stands",
    "hang on",
    "hangs on",
    "rest on",
    "rests on",
    "ride on",
    "rides on",
    "bring",
    "brings",
    "brought",
    "whatever",
    "meet",
    "meets",
    "goes with",
    "by hand",
    "as far as was seen",
    "as far as it was seen",
    "cure",
    "cures",
    "cured",
    "judge",
    "judges",
    "judged",
    "fate",
    "fates",
    "alone",
    "behind",
    "speak",
    "speaks",
    "hear",
    "hears",
    "cannot tell",
    "demand",
    "demands",
    "demanded",
    "mended",
    "table rows?",
    "truth value",
    "wished for",
];

/// Fixed terms of others that contain a private word.
const TERMS: &[&str] = &["stands for"];

static WORDS: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"\b({})\b", PRIVATE.join("|"))));
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"`[^`]*`"));
static LINK: LazyLock<Regex> = LazyLock::new(|| pattern(r"!?\[([^\]]*)\]\([^)]*\)"));
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"</?[A-Za-z][^>]*>"));
static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)<!--.*?-->"));
static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[-*+]|\d+\.)\s+(.*)"));
static SHORT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(e\.g|i\.e|etc|vs)\."));
static BRACKETS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[(?:default|possible values|aliases?|env)[^\]]*\]"));
static HOLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{[^{}]*\}"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Paragraphs and list items of Markdown with the line where each begins; without headings, tables and code.
pub(crate) fn paragraphs(markdown: &str) -> Vec<(usize, String)> {
    // The lines stay where they are.
    let text = COMMENT.replace_all(markdown, |found: &regex::Captures<'_>| "\n".repeat(found[0].matches('\n').count()));
    let (mut found, mut open, mut start) = (Vec::new(), Vec::<String>::new(), 0);
    let mut fence: Option<String> = None;
    for (number, line) in text.lines().chain([""]).enumerate() {
        let line = line.trim();
        if let Some(end) = &fence {
            if line == end {
                fence = None;
            }
            continue;
        }
        let item = ITEM.captures(line);
        let marks: String = line.chars().take_while(|&sign| sign == '`').collect();
        let ends = line.is_empty() || line.starts_with(['#', '|']) || line.starts_with("{{") || marks.len() >= 3;
        if (ends || item.is_some()) && !open.is_empty() {
            found.push((start, open.join(" ")));
            open.clear();
        }
        if marks.len() >= 3 {
            fence = Some(marks);
        } else if let Some(item) = item {
            start = number + 1;
            open.push(item[1].to_owned());
        } else if !ends {
            if open.is_empty() {
                start = number + 1;
            }
            open.push(line.trim_start_matches("> ").to_owned());
        }
    }
    found
}

/// The possible values of a help text with their meanings.
pub(crate) fn values(text: &str) -> Vec<(usize, String)> {
    let value = pattern(r"^\s+- [^ ]+:\s+(.*)$");
    text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, value.captures(line)?[1].to_owned()))).collect()
}

/// Paragraphs of a help text: without flags, usage, lists of commands' names and examples.
pub(crate) fn help(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open, mut start, mut examples) = (Vec::new(), Vec::<String>::new(), 0, false);
    for (number, line) in text.lines().chain([""]).enumerate() {
        let words = line.trim();
        examples = (examples && !words.is_empty()) || words.starts_with("Example");
        let flag = words.starts_with('-') || (words.starts_with(['<', '[']) && !words.starts_with("[default"));
        let entry = pattern(r"^  [a-z][a-z-]*(  +|$)").is_match(line);
        let title = words.ends_with(':') || words.starts_with("Usage");
        if (words.is_empty() || flag || entry || title || examples) && !open.is_empty() {
            found.push((start, open.join(" ")));
            open.clear();
        }
        let rest = if entry { words.split_once("  ").map_or("", |(_, rest)| rest.trim()) } else { words };
        if !rest.is_empty() && !flag && !title && !examples {
            if open.is_empty() {
                start = number + 1;
            }
            open.push(BRACKETS.replace_all(rest, "").into_owned());
        }
    }
    found
}

/// The commands that a help text lists.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let list = text.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let name = pattern(r"(?m)^  ([a-z][a-z-]*)(?:  | *$)");
    name.captures_iter(list).map(|found| found[1].to_owned()).filter(|name| name != "help").collect()
}

/// A message with a word in the place of each value.
pub(crate) fn filled(message: &str) -> String {
    HOLE.replace_all(message, "value").into_owned()
}

fn sentences(paragraph: &str) -> Vec<String> {
    let text = LINK.replace_all(paragraph, "$1");
    let text = CODE.replace_all(&text, "Code");
    let text = TAG.replace_all(&text, "");
    let text = SHORT.replace_all(&text, "$1");
    let signs: Vec<char> = text.chars().collect();
    let (mut found, mut open) = (Vec::new(), String::new());
    for (at, &sign) in signs.iter().enumerate() {
        open.push(sign);
        let mut after = signs[at + 1..].iter().skip_while(|sign| "\"')]*".contains(**sign));
        let ends = ".!?".contains(sign) && after.next().is_none_or(|sign| sign.is_whitespace());
        let next = after.find(|sign| !sign.is_whitespace());
        let begins = next.is_none_or(|sign| sign.is_uppercase() || sign.is_ascii_digit() || "\"'([*_".contains(*sign));
        if ends && begins {
            found.push(std::mem::take(&mut open));
        }
    }
    found.push(open);
    found
}

/// What a group of texts comes to.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    words: usize,
    sentences: usize,
    over: Vec<String>,
    jargon: Vec<String>,
}

impl Measure {
    /// Adds a paragraph.
    pub(crate) fn add(&mut self, place: &str, paragraph: &str) {
        let length = paragraph.split_whitespace().count();
        if length > PARAGRAPH {
            self.over.push(format!("{place}: {length} words in a paragraph, more than {PARAGRAPH}"));
        }
        for sentence in sentences(paragraph) {
            let length = sentence.split_whitespace().count();
            if length > SHORTEST {
                self.words += length;
                self.sentences += 1;
            }
            if length > LONGEST {
                let begin: String = sentence.trim().chars().take(70).collect();
                self.over.push(format!("{place}: {length} words in a sentence, more than {LONGEST}: {begin}"));
            }
        }
        self.add_words(place, paragraph);
    }

    /// Adds a text that is no sentence, such as a heading, a table row or a label: only its words count.
    pub(crate) fn add_words(&mut self, place: &str, text: &str) {
        for sentence in sentences(text) {
            let plain = TERMS.iter().fold(sentence.to_ascii_lowercase(), |text, term| text.replace(term, "term"));
            let begin: String = sentence.trim().chars().take(70).collect();
            let found = WORDS.find_iter(&plain).map(|word| format!("{place}: `{}`: {begin}", word.as_str()));
            self.jargon.extend(found);
        }
    }

    /// Everything that is over a limit, or a private word.
    pub(crate) fn places(&self) -> Vec<String> {
        self.over.iter().chain(&self.jargon).cloned().collect()
    }

    /// Fails if the texts are over a limit.
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    #[expect(clippy::print_stdout, reason = "the figures of a test")]
    pub(crate) fn check(&self, name: &str) {
        let mean = self.words as f64 / self.sentences.max(1) as f64;
        let mut wrong = self.over.clone();
        if mean > MEAN {
            wrong.push(format!("{mean:.1} words in a sentence on average, more than {MEAN}"));
        }
        wrong.extend(self.jargon.iter().cloned());
        println!("{name}: {} words, {mean:.1} in a sentence", self.words);
        assert!(wrong.is_empty(), "{name}: {} places\n{}", wrong.len(), wrong.join("\n"));
    }
}
