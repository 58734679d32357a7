//! The report as Markdown, short enough for a comment on a pull request, or for the summary of a job: the matrix, then the
//! findings.

use std::fmt::Write as _;
use std::io;

use crate::report::closing::Counted;
use crate::report::closing::closing;
use crate::report::closing::images;
use crate::report::concise::of_error;
use crate::report::escape::clean;
use crate::report::escape::is_unsafe;
use crate::report::escape::push;
use crate::report::files::unread_in;
use crate::report::kinds::VerdictKind;
use crate::report::matrix::image_verdict;
use crate::report::model::Finding;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::short;
use crate::report::spot::Spot;
use crate::report::summary::remarks;
use crate::report::words::cell;
use crate::report::words::count;
use crate::report::words::title;

/// How much room there is where the text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A comment, of which forges take 65,536 characters: a report and a comparison beside it.
    Comment,
    /// The summary of a job, of which forges take 1 MiB.
    Summary,
}

impl Room {
    /// Longest report in bytes.
    const fn report(self) -> usize {
        match self {
            Self::Comment => 40_000,
            Self::Summary => 900_000,
        }
    }

    /// What the matrix may take of it.
    const fn matrix(self) -> usize {
        self.report() / 8 * 5
    }

    /// Longest comparison in bytes.
    pub const fn comparison(self) -> usize {
        match self {
            Self::Comment => 24_000,
            Self::Summary => 900_000,
        }
    }
}

/// So many places are named of a finding that is told once for several.
const NAMED: usize = 4;

/// Writes it.
pub fn markdown(report: &Report, room: Room, out: &mut dyn io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    let mut text = String::from("## imagelint\n\n");
    text.push_str(&prose(&sentence(report, &subjects)?));
    text.push('\n');
    matrix(report, &subjects, room.matrix(), &mut text);
    listed("Not read", &errors(report), room, &mut text);
    listed("Findings", &findings(report), room, &mut text);
    listed("Notes", &notes(&subjects)?, room, &mut text);
    out.write_all(text.as_bytes())
}

fn sentence(report: &Report, subjects: &[&Subject]) -> io::Result<String> {
    let mut line = Vec::new();
    if subjects.is_empty() {
        let unread = unread_in(&report.subjects);
        return Ok(format!("no GPU content in {}: nothing to check{unread}", count(images(report), "image")));
    }
    closing(report, subjects, Counted::PerImage, &mut line)?;
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    let fleet = if report.fleet.built_in { "; checked against built-in example pools" } else { "" };
    Ok(format!("{line}{fleet}"))
}

fn matrix(report: &Report, subjects: &[&Subject], most: usize, text: &mut String) {
    if subjects.is_empty() || report.fleet.pools.is_empty() {
        return;
    }
    let heads: Vec<String> = report.fleet.pools.iter().map(|pool| in_cell(&code(&pool.name))).collect();
    let head = format!("\n| image | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    let mut left = subjects.len();
    if text.len() + head.len() < most {
        text.push_str(&head);
        for subject in subjects {
            let cells: Vec<String> = report.fleet.pools.iter().map(|pool| fate(subject, &pool.name)).collect();
            let row = format!("| {} | {} |\n", in_cell(&code(&title(subject))), cells.join(" | "));
            if most < text.len() + row.len() {
                break;
            }
            text.push_str(&row);
            left -= 1;
        }
    }
    if left > 0 {
        let _ = write!(text, "\n{} omitted from the table because of the size limit.\n", are(left, "image"));
    }
}

fn are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}

fn fate(subject: &Subject, pool: &str) -> String {
    let Some(verdict) = image_verdict(subject, pool) else { return "-".to_owned() };
    let sign = match verdict.fate {
        VerdictKind::Starts if !verdict.not_seen.is_empty() => "☑️ ",
        VerdictKind::Starts => "✅ ",
        VerdictKind::Fails => "❌ ",
        VerdictKind::NotApplicable => "",
        VerdictKind::Depends | VerdictKind::Undetermined => "❓ ",
    };
    format!("{sign}{}", prose(&cell(verdict)))
}

/// The same finding at several places is told once.
fn findings(report: &Report) -> Vec<String> {
    let mut causes: Vec<(&Finding, Vec<String>)> = Vec::new();
    for subject in &report.subjects {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, &report.fleet);
            let image = spot.unnamed(subject).map_or_else(String::new, |image| format!(" ({image})"));
            let place = format!("{}{image}", place(&spot));
            let key = |one: &Finding| (one.rule.clone(), one.message.clone(), one.help.clone());
            match causes.iter_mut().find(|(first, _)| key(first) == key(finding)) {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => causes.push((finding, vec![place])),
            }
        }
    }
    causes.sort_by_key(|(finding, _)| finding.severity);
    causes.iter().map(|(finding, places)| item(finding, places)).collect()
}

fn item(finding: &Finding, places: &[String]) -> String {
    let mut named: Vec<String> = places.iter().take(NAMED).map(|place| code(place)).collect();
    if NAMED < places.len() {
        named.push(format!("{} more", places.len() - NAMED));
    }
    let (severity, rule, message) = (finding.severity, code(&finding.rule), prose(&finding.message));
    let mut item = format!("- **{severity}** {rule} at {}: {message}", named.join(", "));
    if !finding.pools.is_empty() {
        let pools: Vec<String> = finding.pools.iter().map(|pool| code(pool)).collect();
        let _ = write!(item, " (on {})", pools.join(", "));
    }
    for (key, text) in [("cause", &finding.cause), ("you will see", &finding.symptom)] {
        if let Some(text) = text {
            let _ = write!(item, "\n  - {key}: {}", prose(text));
        }
    }
    for other in &finding.also_unknown {
        let _ = write!(item, "\n  - also unknown: {}", prose(other));
    }
    if let Some(help) = finding.help.as_ref().filter(|_| finding.fixes.is_empty()) {
        let _ = write!(item, "\n  - help: {}", prose(help));
    }
    for fix in finding.fixes.iter().take(NAMED) {
        let _ =
            write!(item, "\n  - fix ({}): {}", prose(&format!("{}; {}", fix.safety, fix.effects())), prose(&fix.title));
    }
    item.push('\n');
    item
}

fn errors(report: &Report) -> Vec<String> {
    let errors = report.errors.iter();
    errors.map(|error| format!("- {}: {}\n", code(&place(&of_error(error))), prose(&error.message))).collect()
}

fn notes(subjects: &[&Subject]) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    remarks(subjects, &mut lines)?;
    Ok(String::from_utf8_lossy(&lines).lines().map(|line| format!("- {}\n", prose(line))).collect())
}

/// A heading and its items, as far as there is room.
fn listed(heading: &str, items: &[String], room: Room, text: &mut String) {
    // Room for the words that say what is left out, of this list and of those behind it.
    const TAIL: usize = 500;
    let mut left = items.len();
    for (at, item) in items.iter().enumerate() {
        let head = if at == 0 { format!("\n### {heading}\n\n") } else { String::new() };
        if room.report() - TAIL < text.len() + head.len() + item.len() {
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

fn place(spot: &Spot<'_>) -> String {
    let path = short(spot.path);
    spot.region.map_or_else(|| path.to_owned(), |region| format!("{path}:{}", region.start_line))
}

/// Text from outside between backticks: nothing in it is a mention, a link or a tag.
pub(crate) fn code(text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest > 0 || text.trim() != text { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

/// The same in a cell of a table, which a bar would end.
pub(crate) fn in_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Our own sentence: what stands between two backticks is code, and everything else means itself.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return plain(text);
    }
    let told = parts.iter().enumerate().map(|(at, part)| match at % 2 {
        1 if !part.is_empty() => in_cell(&code(part)),
        _ => plain(part),
    });
    told.collect()
}

fn plain(text: &str) -> String {
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
            c if is_unsafe(c) => {
                out.push('\\');
                push(&mut out, c);
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
            assert_eq!(prose(text), expected, "{text:?}");
        }
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("x\ny"), "`x\\ny`");
    }
}
