//! Rendering of a diagnostic in a terminal: a frame at its cause, then its other locations and its facts, a line
//! each.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, ReportHandler, Severity, SourceCode};

use crate::report::terminal_colors::{TextStyle, paint};
use crate::report::wrap::{display_width, wrap};

/// Renders diagnostics in the width of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct DiagnosticRenderer {
    /// With colors.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// Spaces before the text that continues a line such as `= cause:`.
const CONTINUATION_INDENT: usize = 4;

impl ReportHandler for DiagnosticRenderer {
    fn debug(&self, diagnostic: &dyn Diagnostic, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_title(diagnostic, out)?;
        if let Some(source) = diagnostic.source_code() {
            let labels: Vec<LabeledSpan> = diagnostic.labels().into_iter().flatten().collect();
            let first = labels.iter().find(|label| label.primary()).or(labels.first());
            if let Some(label) = first {
                self.write_snippet(source, label, out)?;
            }
        }
        for related in diagnostic.related().into_iter().flatten() {
            let text = related.to_string();
            match related.code() {
                Some(key) => self.write_keyed_line(&key.to_string(), &text, out)?,
                None => writeln!(out, " {} {}", self.faint("-->"), wrap(&text, 5, 5, self.width))?,
            }
        }
        if let Some(help) = diagnostic.help() {
            self.write_keyed_line("help", &help.to_string(), out)?;
        }
        if let Some(url) = diagnostic.url() {
            self.write_keyed_line("docs", &url.to_string(), out)?;
        }
        Ok(())
    }
}

impl DiagnosticRenderer {
    /// Returns the text in a faint color, if colors are on.
    fn faint(self, text: &str) -> String {
        paint(text, TextStyle::Faint, self.color).into_owned()
    }

    /// Writes the severity, the rule and the message.
    fn write_title(self, diagnostic: &dyn Diagnostic, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, tone) = match diagnostic.severity() {
            Some(Severity::Error) | None => ("error", TextStyle::Bad),
            Some(Severity::Warning) => ("warning", TextStyle::Open),
            Some(Severity::Advice) => ("note", TextStyle::Strong),
        };
        let head = diagnostic.code().map_or_else(|| word.to_owned(), |code| format!("{word}[{code}]"));
        let title = diagnostic.to_string();
        let title = wrap(&title, display_width(&head) + 2, 2, self.width);
        writeln!(out, "{}: {}", paint(&head, tone, self.color), title)
    }

    /// Writes a line `= key: text`.
    fn write_keyed_line(self, key: &str, text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = 6 + display_width(key);
        writeln!(out, "  {} {}: {}", self.faint("="), key, wrap(text, begin, CONTINUATION_INDENT, self.width))
    }

    /// Writes the marked lines with their numbers, and the label below them.
    fn write_snippet(self, source: &dyn SourceCode, label: &LabeledSpan, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(read) = source.read_span(label.inner(), 0, 0) else { return Ok(()) };
        let name = read.name().unwrap_or_default();
        writeln!(out, " {} {name}:{}:{}", self.faint("-->"), read.line() + 1, read.column() + 1)?;
        let text = String::from_utf8_lossy(read.data());
        let gutter = display_width(&(read.line() + read.line_count().max(1)).to_string()).max(3);
        let (mut at, mut mark) = (read.span().offset(), (0, 0));
        let (start, end) = (label.offset(), label.offset() + label.len());
        for (number, line) in text.split('\n').enumerate() {
            let shown = line.replace('\t', "    ");
            let bar = self.faint("|");
            let line_text = format!("{:>gutter$} {bar} {shown}", read.line() + 1 + number);
            writeln!(out, "{}", line_text.trim_end())?;
            let upto = |end: usize| {
                let before = line.get(..end.saturating_sub(at).min(line.len())).unwrap_or(line);
                display_width(&before.replace('\t', "    "))
            };
            let indent = display_width(&shown) - display_width(shown.trim_start());
            mark = (upto(start).max(indent), upto(end));
            at += line.len() + 1;
        }
        let (from, long) = (mark.0, mark.1.saturating_sub(mark.0).max(1));
        let under = paint(&"^".repeat(long), TextStyle::Bad, self.color).into_owned();
        let (blank, bar) = (" ".repeat(gutter), self.faint("|"));
        let label = label.label().unwrap_or_default();
        let begin = gutter + 3 + from;
        if label.is_empty() {
            return writeln!(out, "{blank} {bar} {:from$}{under}", "");
        }
        if begin + long + 1 + display_width(label) <= self.width {
            return writeln!(out, "{blank} {bar} {:from$}{under} {label}", "");
        }
        writeln!(out, "{blank} {bar} {:from$}{under}", "")?;
        let room = self.width.saturating_sub(begin);
        let from = if display_width(label) <= room { from } else { from.min(4) };
        let hang = gutter + 3 + from;
        let wrapped = wrap(label, hang, hang, self.width);
        for (number, line) in wrapped.lines().enumerate() {
            let line = if number == 0 { line } else { line.trim_start() };
            writeln!(out, "{blank} {bar} {:from$}{line}", "")?;
        }
        Ok(())
    }
}
