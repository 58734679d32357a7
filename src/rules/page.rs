//! Parses a rule page, a Markdown document with a header, prose and examples.

use std::fmt::Write as _;

use crate::model::outcome::FailureCause;
use crate::rules::example::{Example, Level, read_examples};
use crate::rules::markdown::{MarkdownBlock, split_blocks};
use crate::rules::page_error::{Fault, RulePageError, did_you_mean};
use crate::rules::page_header::{FixKind, PageKind, Persona, Severity, Status, is_rule_name, parse_header};
use crate::rules::pattern::PatternCompilation;
use crate::rules::template::MessageTemplate;
use crate::rules::vocabulary::Vocabulary;
use crate::text::source::Span;

/// A parsed and checked rule page.
#[derive(Clone, Debug)]
pub struct RulePage {
    /// The name of the rule, equal to the heading and to the file stem.
    pub name: String,
    /// The former names of the rule, the first one first; they are accepted like the current name.
    pub aliases: Vec<String>,
    /// The subject of the page.
    pub kind: PageKind,
    /// The severity of its findings.
    pub severity: Severity,
    /// The persona from which on the rule is active.
    pub persona: Persona,
    /// Whether the page is active by default.
    pub status: Status,
    /// The kind of fix for its findings.
    pub fix: FixKind,
    /// The first version of imagelint with this rule.
    pub since: String,
    /// The fact or pool field whose location is shown first.
    pub blame: String,
    /// The message of a finding, in one line.
    pub message: MessageTemplate,
    /// The rule of CUDA, Docker or pip that causes the problem, in one line; only on pages with a condition.
    pub cause: Option<MessageTemplate>,
    /// The advice of a finding, in one line.
    pub help: MessageTemplate,
    /// The advice for particular causes, which replaces `help`.
    pub help_for: Vec<(FailureCause, MessageTemplate)>,
    /// The sentence `Detects …` below the header; empty if the page has none.
    pub detects: String,
    /// The prose sections.
    pub sections: PageSections,
    /// The examples with their expected findings.
    pub examples: Vec<Example>,
    /// The path of the page, as passed by the caller.
    pub path: String,
    /// The source text of the page.
    pub text: String,
}

/// The prose sections of a page in Markdown; a missing section is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSections {
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

/// The headings of the sections in order, and whether each is required.
const SECTION_HEADINGS: &[(&str, bool)] = &[
    ("What goes wrong", true),
    ("Why", false),
    ("What to do", true),
    ("When to ignore it", false),
    ("References", false),
    ("Examples", true),
];
/// The index of the section `References`.
const REFERENCES_INDEX: usize = 4;
/// The index of the section `Examples`.
const EXAMPLES_INDEX: usize = 5;
/// The maximum size of a page in bytes.
const MAX_PAGE_BYTES: usize = 1 << 18;

impl RulePage {
    /// Parses a page of a user; `path` must end in the rule name and `.md`.
    pub fn read(path: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, Box<RulePageError>> {
        parse_page(path, text, vocabulary, PatternCompilation::AtOnce)
            .map_err(|fault| Box::new(fault.into_page_error(path, text)))
    }

    /// Parses a built-in page, which must have every section; its regular expressions are compiled at their first
    /// use.
    pub fn read_built_in(path: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, Box<RulePageError>> {
        let whole = |page: Self| page.built_in_fault().map_or(Ok(page), Err);
        let read = parse_page(path, text, vocabulary, PatternCompilation::AtFirstUse).and_then(whole);
        read.map_err(|fault| Box::new(fault.into_page_error(path, text)))
    }

    /// Returns the headings of the prose sections that the page does not have.
    pub fn missing_sections(&self) -> impl Iterator<Item = &'static str> {
        let parts = &self.sections;
        let found = [&parts.wrong, &parts.why, &parts.remedy, &parts.ignore];
        let named = ["What goes wrong", "Why", "What to do", "When to ignore it"].into_iter().zip(found);
        let references = std::iter::once(("References", &parts.references));
        named.chain(references).filter(|(_, text)| text.is_empty()).map(|(name, _)| name)
    }

    /// Returns the first `text` code block of the section `What goes wrong`: the error message that a user sees.
    pub fn error_text(&self) -> Option<&str> {
        let (_, rest) = self.sections.wrong.split_once("```text\n")?;
        rest.split_once("\n```").map(|(text, _)| text.trim()).filter(|text| !text.is_empty())
    }

    /// Returns why the page cannot be a built-in one: a missing section, `Detects` sentence or error message.
    fn built_in_fault(&self) -> Option<Fault> {
        let title = Span::new(0, self.name.len() + 2);
        if self.detects.is_empty() {
            return Some(Fault::new(title, "a line `Detects ...` follows the header"));
        }
        if let Some(name) = self.missing_sections().next() {
            return Some(Fault::new(title, format!("the page has no section `## {name}`")));
        }
        let silent = matches!(self.kind, PageKind::Startup(_)) && self.error_text().is_none();
        silent.then(|| {
            Fault::new(title, "the section on what goes wrong does not contain the error message")
                .with_help("put it into a block with the info string `text`".to_owned())
        })
    }

    /// Returns the current name and all former names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    /// Returns the oldest name of the rule; fingerprints contain it and so survive a rename.
    pub fn first_name(&self) -> &str {
        self.aliases.first().unwrap_or(&self.name)
    }

    /// Returns the advice for a failure with this cause.
    pub fn help_for_cause(&self, cause: Option<FailureCause>) -> &MessageTemplate {
        let own = self.help_for.iter().find(|(other, _)| Some(*other) == cause);
        own.map_or(&self.help, |(_, help)| help)
    }

    /// Whether the findings of the page depend on a pool, rather than on the image alone.
    pub fn depends_on_pool(&self) -> bool {
        let of_pool = |name: &String| ["pool.", "verdict.", "step."].iter().any(|word| name.starts_with(word));
        match &self.kind {
            PageKind::Startup(_) | PageKind::Reader(_) => true,
            PageKind::Practice(condition) => condition.facts().iter().any(of_pool),
        }
    }

    /// Returns the Markdown between the header and the examples.
    pub fn prose(&self) -> String {
        let mut text = self.detects.clone();
        let parts = &self.sections;
        for (name, section) in SECTION_HEADINGS.iter().map(|(name, _)| *name).zip([
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

    /// Returns what the rule detects, or else the first sentence of `What goes wrong`, on one line.
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

/// Parses and checks a page.
fn parse_page(
    path: &str,
    text: &str,
    vocabulary: &Vocabulary,
    patterns: PatternCompilation,
) -> Result<RulePage, Fault> {
    if text.len() > MAX_PAGE_BYTES {
        return Err(Fault::new(Span::new(0, 1), "a page has at most 256 KiB"));
    }
    if text.starts_with('\u{feff}') {
        return Err(Fault::new(Span::new(0, 3), "a byte order mark: save the page without it"));
    }
    let parts = split_blocks(text)?;
    let Some(MarkdownBlock::Heading { level: 1, text: name, span: title }) = parts.first() else {
        return Err(Fault::new(
            parts.first().map(MarkdownBlock::span).unwrap_or_default(),
            "a page begins with `# name-of-the-rule`",
        ));
    };
    check_page_name(name, path, *title)?;
    let body = match parts.get(1) {
        Some(MarkdownBlock::Fence { info, body, .. }) if info.split(' ').eq(["toml", "rule"]) => body,
        other => {
            let span = other.map_or(*title, MarkdownBlock::span);
            return Err(Fault::new(span, "a block with the info string `toml rule` follows the name"));
        }
    };
    let header = parse_header(&text[body.start..body.end], vocabulary, patterns);
    let header = header.map_err(|fault| fault.shifted(body.start))?;
    let lead = parts[2..].iter().take_while(|part| matches!(part, MarkdownBlock::Line(_))).count();
    let detects: Vec<&str> = parts[2..2 + lead]
        .iter()
        .filter_map(|part| text.get(part.span().start..part.span().end))
        .map(str::trim)
        .collect();
    let detects = detects.join(" ");
    if !(detects.is_empty() || detects.starts_with("Detects ") && detects.ends_with('.')) {
        return Err(Fault::new(parts[2].span(), "text before the first `##` section")
            .with_help("only one sentence `Detects ...` follows the header".to_owned()));
    }
    let sections = split_sections(&parts[2 + lead..])?;
    let prose = |index: usize| sections[index].map_or_else(String::new, |blocks| section_prose(blocks, text));
    let listed = sections[EXAMPLES_INDEX].unwrap_or_default();
    let heading = listed.first().map_or(*title, MarkdownBlock::span);
    let examples = read_examples(listed.get(1..).unwrap_or_default(), text, heading)?;
    check_examples(name, header.severity, &examples, heading)?;
    Ok(RulePage {
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
        sections: PageSections {
            wrong: prose(0),
            why: prose(1),
            remedy: prose(2),
            ignore: prose(3),
            references: prose(REFERENCES_INDEX),
        },
        examples,
        path: path.to_owned(),
        text: text.to_owned(),
    })
}

/// Checks that a page's name is a valid rule name and equal to its file stem.
fn check_page_name(name: &str, path: &str, title: Span) -> Result<(), Fault> {
    let span = Span::new(title.start + 2, title.end);
    if !is_rule_name(name) {
        return Err(Fault::new(span, "a rule name consists of lower-case words joined by hyphens"));
    }
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match file.strip_suffix(".md") {
        Some(stem) if stem == name => Ok(()),
        _ => Err(Fault::new(span, format!("the page is named `{name}`, its file `{file}`"))
            .with_help(format!("name the file `{name}.md`"))),
    }
}

/// Returns the headings of all sections in order.
fn section_names() -> impl Iterator<Item = &'static str> {
    SECTION_HEADINGS.iter().map(|(name, _)| *name)
}

/// The blocks of each section by index, including its heading; `None` for a missing section.
type SectionBlocks<'a> = [Option<&'a [MarkdownBlock]>; SECTION_HEADINGS.len()];

/// Splits blocks into sections and checks their names and order.
fn split_sections(parts: &[MarkdownBlock]) -> Result<SectionBlocks<'_>, Fault> {
    let mut sections: SectionBlocks<'_> = [None; SECTION_HEADINGS.len()];
    let mut last = None;
    let is_heading = |part: &MarkdownBlock| matches!(part, MarkdownBlock::Heading { level: 1 | 2, .. });
    let mut rest = parts;
    while let Some(part) = rest.first() {
        let MarkdownBlock::Heading { level: 2, text, span } = part else {
            return Err(Fault::new(part.span(), "text before the first `##` section"));
        };
        let Some(index) = SECTION_HEADINGS.iter().position(|(name, _)| name == text) else {
            let help = did_you_mean(text, section_names())
                .unwrap_or_else(|| format!("one of: {}", section_names().collect::<Vec<_>>().join(", ")));
            return Err(Fault::new(*span, format!("a page has no section `{text}`")).with_help(help));
        };
        // References stood behind the examples once, and may.
        let late =
            last.is_some_and(|last| index <= last) && !(index == REFERENCES_INDEX && last == Some(EXAMPLES_INDEX));
        if late || sections[index].is_some() {
            return Err(Fault::new(*span, "this section is duplicate or misplaced")
                .with_help(format!("the order is: {}", section_names().collect::<Vec<_>>().join(", "))));
        }
        last = Some(index);
        let end = rest[1..].iter().position(is_heading).map_or(rest.len(), |at| at + 1);
        if end == 1 {
            return Err(Fault::new(*span, "this section is empty"));
        }
        sections[index] = Some(&rest[..end]);
        rest = &rest[end..];
    }
    match SECTION_HEADINGS.iter().zip(&sections).find(|((_, needed), section)| *needed && section.is_none()) {
        Some(((name, _), _)) => {
            let span = parts.last().map(MarkdownBlock::span).unwrap_or_default();
            Err(Fault::new(span, format!("the page has no section `## {name}`")))
        }
        None => Ok(sections),
    }
}

/// Returns the Markdown of a section without its heading.
fn section_prose(blocks: &[MarkdownBlock], text: &str) -> String {
    let (Some(heading), Some(last)) = (blocks.first(), blocks.last()) else { return String::new() };
    text.get(heading.span().end..last.span().end).unwrap_or_default().trim().to_owned()
}

/// Checks that the examples include one with a finding of the page's severity, and one without any finding.
fn check_examples(name: &str, severity: Severity, examples: &[Example], heading: Span) -> Result<(), Fault> {
    let own =
        |example: &Example| example.expect.iter().find(|expected| expected.rule == name).map(|expected| expected.level);
    for example in examples {
        if let Some(level) = own(example)
            && level != Level::Undetermined
            && level.name() != severity.name()
        {
            return Err(Fault::new(
                example.at,
                format!("the page has severity {severity}, this example expects {level}"),
            ));
        }
    }
    if !examples.iter().any(|example| own(example).is_some_and(|level| level != Level::Undetermined)) {
        return Err(Fault::new(heading, "missing: an example with a finding of this page")
            .with_help(format!("write `# {severity}: {name}` above the input")));
    }
    if !examples.iter().any(|example| example.expect.is_empty()) {
        return Err(Fault::new(heading, "missing: an example without a finding")
            .with_help("add an input that differs in one fact, without a first line that expects a rule".to_owned()));
    }
    Ok(())
}
