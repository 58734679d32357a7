//! The report as workflow commands of GitHub Actions, which show findings beside the lines of a pull request.

use std::fmt::Write as _;
use std::io;

use crate::report::concise::of_error;
use crate::report::escape::clean;
use crate::report::escape::is_unsafe;
use crate::report::escape::push;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;
use crate::report::spot::one_line;
use crate::report::spot::utf16;
use crate::report::words::count;

/// So many are shown of one step; what comes after is dropped without a word.
const MOST: usize = 10;
/// Commands by how bad they are, with the word for what they tell.
const LEVELS: [(&str, FindingSeverity); 3] =
    [("error", FindingSeverity::Error), ("warning", FindingSeverity::Warning), ("notice", FindingSeverity::Note)];

/// Writes the worst findings at the end.
pub struct Github<'a> {
    setting: Setting<'a>,
    /// The first of each level, and how many there are of it.
    found: [(Vec<String>, usize); 3],
}

impl<'a> Github<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting, found: Default::default() }
    }

    fn add(&mut self, severity: FindingSeverity, title: &str, message: &str, spot: &Spot<'_>) {
        let level = LEVELS.iter().position(|(_, word)| *word == severity).unwrap_or(LEVELS.len() - 1);
        let (Some((command, _)), Some((lines, number))) = (LEVELS.get(level), self.found.get_mut(level)) else {
            return;
        };
        *number += 1;
        if lines.len() < MOST {
            lines.push(annotation(command, title, message, spot, self.setting));
        }
    }
}

impl Sink for Github<'_> {
    fn subject(&mut self, subject: &Subject, _: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            self.add(finding.severity, &finding.rule, &named_advice(finding, subject, &spot), &spot);
        }
        Ok(())
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            self.add(
                FindingSeverity::Error,
                "cannot-read",
                &format!("{}: {}", error.input, error.message),
                &of_error(error),
            );
        }
        let mut room = MOST;
        let mut rest = Vec::new();
        for ((_, word), (lines, number)) in LEVELS.iter().zip(&self.found) {
            let shown = lines.len().min(room);
            room -= shown;
            for line in lines.iter().take(shown) {
                writeln!(out, "{line}")?;
            }
            if shown < *number {
                rest.push(count(number - shown, word.word()));
            }
        }
        if !rest.is_empty() {
            writeln!(out, "not shown next to their lines: {}; another format lists them", rest.join(", "))?;
        }
        Ok(())
    }
}

fn annotation(command: &str, title: &str, message: &str, spot: &Spot<'_>, setting: Setting<'_>) -> String {
    let mut line = format!("::{command} file={}", property(&(setting.from_root)(spot.path)));
    if let Some(region) = spot.region {
        let text = setting.text(spot.path);
        let region = one_line(region, text);
        let (start, end) = utf16(region, text);
        let (first, last) = (region.start_line, region.end_line);
        // The last column is that of the last character.
        let end = end.saturating_sub(1).max(start);
        let _ = write!(line, ",line={first},endLine={last},col={start},endColumn={end}");
    }
    let _ = write!(line, ",title={}::{}", property(title), data(message));
    line
}

/// A message: a runner reads `%25`, `%0D` and `%0A` back.
fn data(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            c if is_unsafe(c) => push(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// A property, in which colons and commas mean something too.
fn property(text: &str) -> String {
    data(&clean(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command_or_a_property() {
        assert_eq!(data("50% a\r\n::error::b\u{1b}[0m"), "50%25 a%0D%0A::error::b\\u{1b}[0m");
        assert_eq!(property("a,line=1::x\n%"), "a%2Cline=1%3A%3Ax\\n%25");
    }
}
