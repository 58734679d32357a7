//! The report as Markdown, short enough for a comment on a pull request or the summary of a job: the table of
//! verdicts, then the findings.

use std::fmt::Write as _;
use std::io;

use crate::report::checked_files::unread_suffix;
use crate::report::concise::error_location;
use crate::report::escape::{escape_one_line, is_unsafe_char, push_escaped};
use crate::report::kinds::VerdictKind;
use crate::report::model::{Finding, Report, Subject};
use crate::report::phrases::{pluralize, subject_title, verdict_phrase};
use crate::report::primary_location::PrimaryLocation;
use crate::report::report_writer::strip_current_dir;
use crate::report::result_line::{FindingCounting, image_count, write_result_line};
use crate::report::summary::write_remarks;
use crate::report::verdict_table::image_verdict;

/// Where the Markdown is shown, which limits its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkdownTarget {
    /// A comment, limited to 65,536 characters by forges: a report and a comparison.
    Comment,
    /// The summary of a job, of which forges take 1 MiB.
    Summary,
}

impl MarkdownTarget {
    /// Maximum length of a report in bytes.
    const fn max_report_bytes(self) -> usize {
        match self {
            Self::Comment => 40_000,
            Self::Summary => 900_000,
        }
    }

    /// Maximum length in bytes of a report up to the end of its table of verdicts.
    const fn max_table_bytes(self) -> usize {
        self.max_report_bytes() / 8 * 5
    }

    /// Maximum length of a comparison in bytes.
    pub const fn max_comparison_bytes(self) -> usize {
        match self {
            Self::Comment => 24_000,
            Self::Summary => 900_000,
        }
    }
}

/// Maximum number of locations, and of fixes, listed for one finding.
const MAX_LISTED: usize = 4;

/// Writes the report.
pub fn write_markdown(report: &Report, room: MarkdownTarget, out: &mut dyn io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    let mut text = String::from("## imagelint\n\n");
    text.push_str(&escape_prose(&result_sentence(report, &subjects)?));
    text.push('\n');
    push_table(report, &subjects, room.max_table_bytes(), &mut text);
    push_section("Not read", &error_items(report), room, &mut text);
    push_section("Findings", &finding_items(report), room, &mut text);
    push_section("Notes", &note_items(&subjects)?, room, &mut text);
    out.write_all(text.as_bytes())
}

/// Returns the result in one sentence.
fn result_sentence(report: &Report, subjects: &[&Subject]) -> io::Result<String> {
    let mut line = Vec::new();
    if subjects.is_empty() {
        let unread = unread_suffix(&report.subjects);
        return Ok(format!("no GPU content in {}: nothing to check{unread}", pluralize(image_count(report), "image")));
    }
    write_result_line(report, subjects, FindingCounting::PerImage, &mut line)?;
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let fleet = if report.fleet.built_in { "; checked against built-in example pools" } else { "" };
    Ok(format!("{line}{fleet}"))
}

/// Appends the table of verdicts, with as many rows as fit.
fn push_table(report: &Report, subjects: &[&Subject], most: usize, text: &mut String) {
    if subjects.is_empty() || report.fleet.pools.is_empty() {
        return;
    }
    let heads: Vec<String> = report.fleet.pools.iter().map(|pool| escape_table_cell(&code_span(&pool.name))).collect();
    let head = format!("\n| image | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let mut left = subjects.len();
    if text.len() + head.len() < most {
        text.push_str(&head);
        for subject in subjects {
            let cells: Vec<String> = report.fleet.pools.iter().map(|pool| verdict_text(subject, &pool.name)).collect();
            let row =
                format!("| {} | {} |\n", escape_table_cell(&code_span(&subject_title(subject))), cells.join(" | "));
            if most < text.len() + row.len() {
                break;
            }
            text.push_str(&row);
            left -= 1;
        }
    }
    if left > 0 {
        let _ =
            write!(text, "\n{} omitted from the table because of the size limit.\n", count_with_verb(left, "image"));
    }
}

/// Returns a number with its noun and the verb: `1 image is`, `2 images are`.
fn count_with_verb(number: usize, noun: &str) -> String {
    format!("{} {}", pluralize(number, noun), if number == 1 { "is" } else { "are" })
}

/// Returns the verdict on a subject on a pool, with a symbol.
fn verdict_text(subject: &Subject, pool: &str) -> String {
    let Some(verdict) = image_verdict(subject, pool) else { return "-".to_owned() };
    let sign = match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => "☑️ ",
        VerdictKind::Starts => "✅ ",
        VerdictKind::Fails => "❌ ",
        VerdictKind::NotApplicable => "",
        VerdictKind::Depends | VerdictKind::Undetermined => "❓ ",
    };
    format!("{sign}{}", escape_prose(&verdict_phrase(verdict)))
}

/// Returns a list item for each finding; the same finding at several locations is one item.
fn finding_items(report: &Report) -> Vec<String> {
    let mut causes: Vec<(&Finding, Vec<String>)> = Vec::new();
    for subject in &report.subjects {
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, &report.fleet);
            let image = location.unnamed_image(subject).map_or_else(String::new, |image| format!(" ({image})"));
            let place = format!("{}{image}", path_and_line(&location));
            let key = |one: &Finding| (one.rule.clone(), one.message.clone(), one.help.clone());
            match causes.iter_mut().find(|(first, _)| key(first) == key(finding)) {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => causes.push((finding, vec![place])),
            }
        }
    }
    causes.sort_by_key(|(finding, _)| finding.severity);
    causes.iter().map(|(finding, places)| finding_item(finding, places)).collect()
}

/// Returns the list item of a finding with its locations.
fn finding_item(finding: &Finding, places: &[String]) -> String {
    let mut named: Vec<String> = places.iter().take(MAX_LISTED).map(|place| code_span(place)).collect();
    if MAX_LISTED < places.len() {
        named.push(format!("{} more", places.len() - MAX_LISTED));
    }
    let (severity, rule, message) = (finding.severity, code_span(&finding.rule), escape_prose(&finding.message));
    let mut item = format!("- **{severity}** {rule} at {}: {message}", named.join(", "));
    if !finding.pools.is_empty() {
        let pools: Vec<String> = finding.pools.iter().map(|pool| code_span(pool)).collect();
        let _ = write!(item, " (on {})", pools.join(", "));
    }
    for (key, text) in [("cause", &finding.cause), ("you will see", &finding.symptom)] {
        if let Some(text) = text {
            let _ = write!(item, "\n  - {key}: {}", escape_prose(text));
        }
    }
    for other in &finding.also_unknown {
        let _ = write!(item, "\n  - also unknown: {}", escape_prose(other));
    }
    if let Some(help) = finding.help.as_ref().filter(|_| finding.fixes.is_empty()) {
        let _ = write!(item, "\n  - help: {}", escape_prose(help));
    }
    for fix in finding.fixes.iter().take(MAX_LISTED) {
        let _ = write!(
            item,
            "\n  - fix ({}): {}",
            escape_prose(&format!("{}; {}", fix.safety, fix.effects())),
            escape_prose(&fix.title)
        );
    }
    item.push('\n');
    item
}

/// Returns a list item for each input that could not be read.
fn error_items(report: &Report) -> Vec<String> {
    let errors = report.errors.iter();
    errors
        .map(|error| {
            format!("- {}: {}\n", code_span(&path_and_line(&error_location(error))), escape_prose(&error.message))
        })
        .collect()
}

/// Returns a list item for each note.
fn note_items(subjects: &[&Subject]) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    write_remarks(subjects, &mut lines)?;
    Ok(String::from_utf8_lossy(&lines).lines().map(|line| format!("- {}\n", escape_prose(line))).collect())
}

/// Appends a heading and its items, as many as fit.
fn push_section(heading: &str, items: &[String], room: MarkdownTarget, text: &mut String) {
    // Room for the words that say what is left out, of this list and of those behind it.
    const RESERVED_BYTES: usize = 500;
    let mut left = items.len();
    for (at, item) in items.iter().enumerate() {
        let head = if at == 0 { format!("\n### {heading}\n\n") } else { String::new() };
        if room.max_report_bytes() - RESERVED_BYTES < text.len() + head.len() + item.len() {
            break;
        }
        text.push_str(&head);
        text.push_str(item);
        left -= 1;
    }
    if left > 0 {
        let kind = heading.to_lowercase();
        let _ = write!(
            text,
            "\n{left} more under \"{kind}\" omitted because of the size limit; another format \
            lists them.\n"
        );
    }
}

/// Returns `path:line`.
fn path_and_line(location: &PrimaryLocation<'_>) -> String {
    let path = strip_current_dir(location.path);
    location.region.map_or_else(|| path.to_owned(), |region| format!("{path}:{}", region.start_line))
}

/// Returns untrusted text as a code span, in which nothing is a mention, a link or a tag.
pub(crate) fn code_span(text: &str) -> String {
    let text = escape_one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest > 0 || text.trim() != text { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// Escapes a text for a table cell, which a vertical bar would end.
pub(crate) fn escape_table_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Escapes a message of imagelint: text between backticks is code, everything else is literal.
pub(crate) fn escape_prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape_literal(text);
    }
    let escaped = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        1 if !part.is_empty() => escape_table_cell(&code_span(part)),
        _ => escape_literal(part),
    });
    escaped.collect()
}

/// Escapes a text that contains no code, so that Markdown shows it literally.
fn escape_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A comment after it keeps a forge from making it a mention, a reference or a link.
            '@' | '#' => out.extend(['\\', c].into_iter().chain("<!-- -->".chars())),
            ':' => out.push_str(":<!-- -->"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '!' | '~' | '$' => out.extend(['\\', c]),
            c if is_unsafe_char(c) => {
                out.push('\\');
                push_escaped(&mut out, c);
            }
            c => out.push(c),
        }
    }
    // A colon before a blank begins no link.
    out.replace(":<!-- --> ", ": ").trim_end_matches("<!-- -->").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_more_than_itself() {
        for (text, expected) in [
            ("pool `a|b`: x", "pool `a\\|b`: x"),
            ("a ` b", "a \\` b"),
            ("<script>@all #1", "&lt;script&gt;\\@<!-- -->all \\#<!-- -->1"),
            ("[x](https://e)", "\\[x\\](https:<!-- -->//e)"),
            ("a\u{1b}\nb", "a\\\\u{1b}\\\\nb"),
        ] {
            assert_eq!(escape_prose(text), expected, "{text:?}");
        }
        assert_eq!(code_span("a``b"), "``` a``b ```");
        assert_eq!(code_span("x\ny"), "`x\\ny`");
    }
}
