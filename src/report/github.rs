//! The report as workflow commands of GitHub Actions, which annotate the lines of a pull request.

use std::fmt::Write as _;
use std::io;

use crate::report::concise::error_location;
use crate::report::escape::{escape_one_line, is_unsafe_char, push_escaped};
use crate::report::kinds::FindingSeverity;
use crate::report::model::{Report, Subject};
use crate::report::phrases::pluralize;
use crate::report::primary_location::{PrimaryLocation, first_line_region, message_with_image, utf16_columns};
use crate::report::report_writer::{ReportContext, ReportWriter};

/// Maximum number of annotations of a step; GitHub drops further ones silently.
const MAX_ANNOTATIONS: usize = 10;
/// Workflow commands with their severity, the worst first.
const COMMANDS: [(&str, FindingSeverity); 3] =
    [("error", FindingSeverity::Error), ("warning", FindingSeverity::Warning), ("notice", FindingSeverity::Note)];

/// Collects the findings, and writes the worst ones at the end.
pub struct GithubWriter<'a> {
    setting: ReportContext<'a>,
    /// The first of each level, and how many there are of it.
    found: [(Vec<String>, usize); 3],
}

impl<'a> GithubWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting, found: Default::default() }
    }

    /// Counts a finding, and keeps its annotation unless there are too many.
    fn add_annotation(
        &mut self,
        severity: FindingSeverity,
        title: &str,
        message: &str,
        location: &PrimaryLocation<'_>,
    ) {
        let level = COMMANDS.iter().position(|(_, word)| *word == severity).unwrap_or(COMMANDS.len() - 1);
        let (Some((command, _)), Some((lines, number))) = (COMMANDS.get(level), self.found.get_mut(level)) else {
            return;
        };
        *number += 1;
        if lines.len() < MAX_ANNOTATIONS {
            lines.push(annotation_command(command, title, message, location, self.setting));
        }
    }
}

impl ReportWriter for GithubWriter<'_> {
    fn write_subject(&mut self, subject: &Subject, _: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            self.add_annotation(
                finding.severity,
                &finding.rule,
                &message_with_image(finding, subject, &location),
                &location,
            );
        }
        Ok(())
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            self.add_annotation(
                FindingSeverity::Error,
                "cannot-read",
                &format!("{}: {}", error.input, error.message),
                &error_location(error),
            );
        }
        let mut room = MAX_ANNOTATIONS;
        let mut rest = Vec::new();
        for ((_, word), (lines, number)) in COMMANDS.iter().zip(&self.found) {
            let shown = lines.len().min(room);
            room -= shown;
            for line in lines.iter().take(shown) {
                writeln!(out, "{line}")?;
            }
            if shown < *number {
                rest.push(pluralize(number - shown, word.name()));
            }
        }
        if !rest.is_empty() {
            writeln!(out, "not shown next to their lines: {}; another format lists them", rest.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the workflow command of a finding.
fn annotation_command(
    command: &str,
    title: &str,
    message: &str,
    location: &PrimaryLocation<'_>,
    setting: ReportContext<'_>,
) -> String {
    let mut line = format!("::{command} file={}", escape_property(&(setting.from_root)(location.path)));
    if let Some(region) = location.region {
        let text = setting.source_text(location.path);
        let region = first_line_region(region, text);
        let (start, end) = utf16_columns(region, text);
        let (first, last) = (region.start_line, region.end_line);
        // The last column is that of the last character.
        let end = end.saturating_sub(1).max(start);
        let _ = write!(line, ",line={first},endLine={last},col={start},endColumn={end}");
    }
    let _ = write!(line, ",title={}::{}", escape_property(title), escape_message(message));
    line
}

/// Escapes a message; a runner decodes `%25`, `%0D` and `%0A`.
fn escape_message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            c if is_unsafe_char(c) => push_escaped(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// Escapes a property, in which colons and commas are special as well.
fn escape_property(text: &str) -> String {
    escape_message(&escape_one_line(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command_or_a_property() {
        assert_eq!(escape_message("50% a\r\n::error::b\u{1b}[0m"), "50%25 a%0D%0A::error::b\\u{1b}[0m");
        assert_eq!(escape_property("a,line=1::x\n%"), "a%2Cline=1%3A%3Ax\\n%25");
    }
}
