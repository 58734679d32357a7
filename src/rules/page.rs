//! One rule as one Markdown page: header, prose, examples.

use std::fmt::Write as _;

use crate::outcome::Cause;
use crate::rules::blocks::Block;
use crate::rules::blocks::blocks;
use crate::rules::example::Example;
use crate::rules::example::Level;
use crate::rules::example::examples;
use crate::rules::example::is_name;
use crate::rules::header::FixKind;
use crate::rules::header::Kind;
use crate::rules::header::Persona;
use crate::rules::header::Severity;
use crate::rules::header::Status;
use crate::rules::header::header;
use crate::rules::pattern::Patterns;
use crate::rules::problem::Fault;
use crate::rules::problem::PageError;
use crate::rules::problem::did_you_mean;
use crate::rules::template::Template;
use crate::rules::vocabulary::Vocabulary;
use crate::source::Span;

/// A rule page, read and checked.
#[derive(Clone, Debug)]
pub struct Page {
    /// Name of the rule: heading and file stem.
    pub name: String,
    /// Former names of the rule, the first one first; they work wherever the name does.
    pub aliases: Vec<String>,
    /// What it is about.
    pub kind: Kind,
    /// How bad its findings are.
    pub severity: Severity,
    /// Who asked for it.
    pub persona: Persona,
    /// Whether it speaks unasked.
    pub status: Status,
    /// What can be done about it.
    pub fix: FixKind,
    /// First version of imagelint that has it.
    pub since: String,
    /// The fact or pool field whose place is shown first.
    pub blame: String,
    /// What is wrong, in one line.
    pub message: Template,
    /// The rule of CUDA, Docker or pip that causes it, in one line; only of pages with a condition.
    pub cause: Option<Template>,
    /// What to do, in one line.
    pub help: Template,
    /// The same for causes that have a cure of their own.
    pub help_for: Vec<(Cause, Template)>,
    /// What it detects, in one line; empty if the page does not say it.
    pub detects: String,
    /// The prose.
    pub sections: Sections,
    /// What it says of given inputs.
    pub examples: Vec<Example>,
    /// Path as given.
    pub path: String,
    /// The whole page.
    pub text: String,
}

/// The prose of a page, as Markdown; empty where the page has no such section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// `## What goes wrong`.
    pub wrong: String,
    /// `## Why`.
    pub why: String,
    /// `## What to do`.
    pub remedy: String,
    /// `## When to ignore it`.
    pub ignore: String,
    /// `## References`.
    pub references: String,
}

/// Headings in their order, and whether a page must have them.
const HEADINGS: &[(&str, bool)] = &[
    ("What goes wrong", true),
    ("Why", false),
    ("What to do", true),
    ("When to ignore it", false),
    ("References", false),
    ("Examples", true),
];
const REFERENCES: usize = 4;
const EXAMPLES: usize = 5;
const LARGEST: usize = 1 << 18;

impl Page {
    /// Reads a page; `path` ends in the name of the rule and `.md`.
    pub fn read(path: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, Box<PageError>> {
        read(path, text, vocabulary, Patterns::AtOnce).map_err(|fault| Box::new(fault.of(path, text)))
    }

    /// Reads a page that comes with the program: it has every section, one of a start-up failure the words of the
    /// error, and its patterns are compiled when they are asked for.
    pub fn read_built_in(path: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, Box<PageError>> {
        let whole = |page: Self| page.lacks().map_or(Ok(page), Err);
        let read = read(path, text, vocabulary, Patterns::WhenAsked).and_then(whole);
        read.map_err(|fault| Box::new(fault.of(path, text)))
    }

    /// The sections that a page should have and may lack, those that this one lacks.
    pub fn sections_missing(&self) -> impl Iterator<Item = &'static str> {
        let parts = &self.sections;
        let found = [&parts.wrong, &parts.why, &parts.remedy, &parts.ignore];
        let named = ["What goes wrong", "Why", "What to do", "When to ignore it"].into_iter().zip(found);
        let references = std::iter::once(("References", &parts.references));
        named.chain(references).filter(|(_, text)| text.is_empty()).map(|(name, _)| name)
    }

    /// The first block of plain text in what goes wrong: what a user reads.
    pub fn error_text(&self) -> Option<&str> {
        let (_, rest) = self.sections.wrong.split_once("```text\n")?;
        rest.split_once("\n```").map(|(text, _)| text.trim()).filter(|text| !text.is_empty())
    }

    /// Why a page cannot come with the program.
    fn lacks(&self) -> Option<Fault> {
        let title = Span::new(0, self.name.len() + 2);
        if self.detects.is_empty() {
            return Some(Fault::new(title, "a line `Detects ...` follows the header"));
        }
        if let Some(name) = self.sections_missing().next() {
            return Some(Fault::new(title, format!("the page has no section `## {name}`")));
        }
        let silent = matches!(self.kind, Kind::Startup(_)) && self.error_text().is_none();
        silent.then(|| {
            Fault::new(title, "the section on what goes wrong does not contain the error message")
                .help("put it into a block with the info string `text`".to_owned())
        })
    }

    /// The name and all former names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// The first name that the rule had: fingerprints contain it, and so survive a new name.
    pub fn first_name(&self) -> &str {
        self.aliases.first().unwrap_or(&self.name)
    }

    /// What to do about a failure of this cause.
    pub fn help_of(&self, cause: Option<Cause>) -> &Template {
        let own = self.help_for.iter().find(|(other, _)| Some(*other) == cause);
        own.map_or(&self.help, |(_, help)| help)
    }

    /// Whether it may speak of one pool, and not only of the image whichever pool it runs on.
    pub fn is_about_pools(&self) -> bool {
        let of_pool = |name: &String| ["pool.", "verdict.", "step."].iter().any(|word| name.starts_with(word));
        match &self.kind {
            Kind::Startup(_) | Kind::Reader(_) => true,
            Kind::Practice(condition) => condition.facts().iter().any(of_pool),
        }
    }

    /// The Markdown between the header and the examples.
    pub fn prose(&self) -> String {
        let mut text = self.detects.clone();
        let parts = &self.sections;
        for (name, section) in HEADINGS.iter().map(|(name, _)| *name).zip([
            &parts.wrong,
            &parts.why,
            &parts.remedy,
            &parts.ignore,
            &parts.references,
        ]) {
            if !section.is_empty() {
                let _ = write!(text, "\n\n## {name}\n\n{section}");
            }
        }
        text.trim_start().to_owned()
    }

    /// What it detects, else the first sentence of what goes wrong, on one line.
    pub fn summary(&self) -> String {
        if !self.detects.is_empty() {
            return self.detects.clone();
        }
        let paragraph = self.sections.wrong.split("\n\n").next().unwrap_or_default();
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = line.find(". ").map_or(line.len(), |at| at + 1);
        line.get(..end).unwrap_or(&line).trim_end_matches(':').to_owned()
    }
}

fn read(path: &str, text: &str, vocabulary: &Vocabulary, patterns: Patterns) -> Result<Page, Fault> {
    if text.len() > LARGEST {
        return Err(Fault::new(Span::new(0, 1), "a page has at most 256 KiB"));
    }
    if text.starts_with('\u{feff}') {
        return Err(Fault::new(Span::new(0, 3), "a byte order mark: save the page without it"));
    }
    let parts = blocks(text)?;
    let Some(Block::Heading { level: 1, text: name, span: title }) = parts.first() else {
        return Err(Fault::new(
            parts.first().map(Block::span).unwrap_or_default(),
            "a page begins with `# name-of-the-rule`",
        ));
    };
    check_name(name, path, *title)?;
    let body = match parts.get(1) {
        Some(Block::Fence { info, body, .. }) if info == "toml rule" => body,
        other => {
            let span = other.map_or(*title, Block::span);
            return Err(Fault::new(span, "a block with the info string `toml rule` follows the name"));
        }
    };
    let header = header(&text[body.start..body.end], vocabulary, patterns);
    let header = header.map_err(|fault| fault.shifted(body.start))?;
    let lead = parts[2..].iter().take_while(|part| matches!(part, Block::Line(_))).count();
    let detects: Vec<&str> = parts[2..2 + lead]
        .iter()
        .filter_map(|part| text.get(part.span().start..part.span().end))
        .map(str::trim)
        .collect();
    let detects = detects.join(" ");
    if !(detects.is_empty() || detects.starts_with("Detects ") && detects.ends_with('.')) {
        return Err(Fault::new(parts[2].span(), "text before the first `##` section")
            .help("only one sentence `Detects ...` follows the header".to_owned()));
    }
    let sections = split(&parts[2 + lead..])?;
    let prose = |index: usize| sections[index].map_or_else(String::new, |blocks| prose(blocks, text));
    let listed = sections[EXAMPLES].unwrap_or_default();
    let heading = listed.first().map_or(*title, Block::span);
    let examples = examples(listed.get(1..).unwrap_or_default(), text, heading)?;
    check_examples(name, header.severity, &examples, heading)?;
    Ok(Page {
        name: name.clone(),
        aliases: header.aliases,
        kind: header.kind,
        severity: header.severity,
        persona: header.persona,
        status: header.status,
        fix: header.fix,
        since: header.since,
        blame: header.blame,
        message: header.message,
        cause: header.cause,
        help: header.help,
        help_for: header.help_for,
        detects,
        sections: Sections {
            wrong: prose(0),
            why: prose(1),
            remedy: prose(2),
            ignore: prose(3),
            references: prose(REFERENCES),
        },
        examples,
        path: path.to_owned(),
        text: text.to_owned(),
    })
}

fn check_name(name: &str, path: &str, title: Span) -> Result<(), Fault> {
    let span = Span::new(title.start + 2, title.end);
    if !is_name(name) {
        return Err(Fault::new(span, "a rule name consists of lower-case words joined by hyphens"));
    }
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match file.strip_suffix(".md") {
        Some(stem) if stem == name => Ok(()),
        _ => Err(Fault::new(span, format!("the page is named `{name}`, its file `{file}`"))
            .help(format!("name the file `{name}.md`"))),
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    HEADINGS.iter().map(|(name, _)| *name)
}

type Split<'a> = [Option<&'a [Block]>; HEADINGS.len()];

/// The blocks of every section, its heading first.
fn split(parts: &[Block]) -> Result<Split<'_>, Fault> {
    let mut sections: Split<'_> = [None; HEADINGS.len()];
    let mut last = None;
    let is_heading = |part: &Block| matches!(part, Block::Heading { level: 1 | 2, .. });
    let mut rest = parts;
    while let Some(part) = rest.first() {
        let Block::Heading { level: 2, text, span } = part else {
            return Err(Fault::new(part.span(), "text before the first `##` section"));
        };
        let Some(index) = HEADINGS.iter().position(|(name, _)| name == text) else {
            let help = did_you_mean(text, names())
                .unwrap_or_else(|| format!("one of: {}", names().collect::<Vec<_>>().join(", ")));
            return Err(Fault::new(*span, format!("a page has no section `{text}`")).help(help));
        };
        // References stood behind the examples once, and may.
        let late = last.is_some_and(|last| index <= last) && !(index == REFERENCES && last == Some(EXAMPLES));
        if late || sections[index].is_some() {
            return Err(Fault::new(*span, "this section is duplicate or misplaced")
                .help(format!("the order is: {}", names().collect::<Vec<_>>().join(", "))));
        }
        last = Some(index);
        let end = rest[1..].iter().position(is_heading).map_or(rest.len(), |at| at + 1);
        if end == 1 {
            return Err(Fault::new(*span, "this section is empty"));
        }
        sections[index] = Some(&rest[..end]);
        rest = &rest[end..];
    }
    match HEADINGS.iter().zip(&sections).find(|((_, needed), section)| *needed && section.is_none()) {
        Some(((name, _), _)) => {
            let span = parts.last().map(Block::span).unwrap_or_default();
            Err(Fault::new(span, format!("the page has no section `## {name}`")))
        }
        None => Ok(sections),
    }
}

/// The Markdown of a section without its heading.
fn prose(blocks: &[Block], text: &str) -> String {
    let (Some(heading), Some(last)) = (blocks.first(), blocks.last()) else { return String::new() };
    text.get(heading.span().end..last.span().end).unwrap_or_default().trim().to_owned()
}

/// A page shows itself speaking and silent, with the severity that it has.
fn check_examples(name: &str, severity: Severity, examples: &[Example], heading: Span) -> Result<(), Fault> {
    let own =
        |example: &Example| example.expect.iter().find(|expected| expected.rule == name).map(|expected| expected.level);
    for example in examples {
        if let Some(level) = own(example)
            && level != Level::Undetermined
            && level.word() != severity.word()
        {
            return Err(Fault::new(
                example.at,
                format!("the page has severity {severity}, this example expects {level}"),
            ));
        }
    }
    if !examples.iter().any(|example| own(example).is_some_and(|level| level != Level::Undetermined)) {
        return Err(Fault::new(heading, "missing: an example with a finding of this page")
            .help(format!("write `# {severity}: {name}` above the input")));
    }
    if !examples.iter().any(|example| example.expect.is_empty()) {
        return Err(Fault::new(heading, "missing: an example without a finding")
            .help("add an input that differs in one fact, without a first line that expects a rule".to_owned()));
    }
    Ok(())
}
