//! The report in the `rdjsonl` format of reviewdog: one diagnostic per line.

use std::io;

use serde_json::{Value, json};

use crate::report::concise::error_location;
use crate::report::escape::{escape_multiline, escape_one_line};
use crate::report::json::EscapingWriter;
use crate::report::kinds::{FindingSeverity, FixSafety};
use crate::report::model::{Edit, Fix, Region, Report, Subject};
use crate::report::primary_location::{PrimaryLocation, message_with_image};
use crate::report::report_writer::{ReportContext, ReportWriter, strip_current_dir};
use crate::text::source::SourceText;

/// Writes each finding as a diagnostic of reviewdog.
pub struct RdjsonWriter<'a> {
    setting: ReportContext<'a>,
}

impl<'a> RdjsonWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting }
    }
}

impl ReportWriter for RdjsonWriter<'_> {
    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Error => "ERROR",
                FindingSeverity::Warning => "WARNING",
                FindingSeverity::Note => "INFO",
            };
            let mut diagnostic =
                diagnostic_json(&message_with_image(finding, subject, &location), severity, &finding.rule, &location);
            let related: Vec<Value> = location
                .other_locations(finding)
                .map(|(place, region)| json!({"message": escape_multiline(&place.label), "location": location_json(&place.path, Some(region))}))
                .collect();
            if !related.is_empty() {
                diagnostic["related_locations"] = Value::Array(related);
            }
            // A fix of a failure that is only possible, or one that breaks a pool, is never applied automatically. A
            // suggestion is an edit without a description, so a manual fix is none.
            let fixes = finding.fixes.iter().filter(|fix| fix.is_auto_applicable() && fix.safety != FixSafety::Manual);
            let suggestions: Vec<Value> = fixes
                .filter_map(|fix| suggestion_json(fix, location.path, self.setting.source_text(location.path)))
                .collect();
            if !suggestions.is_empty() {
                diagnostic["suggestions"] = Value::Array(suggestions);
            }
            write_line(&diagnostic, out)?;
        }
        Ok(())
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            write_line(&diagnostic_json(&error.message, "ERROR", "cannot-read", &error_location(error)), out)?;
        }
        Ok(())
    }
}

/// Returns the diagnostic of a finding or an error.
fn diagnostic_json(message: &str, severity: &str, rule: &str, location: &PrimaryLocation<'_>) -> Value {
    json!({
        "message": escape_multiline(message),
        "location": location_json(location.path, location.region),
        "severity": severity,
        "source": {"name": "imagelint"},
        "code": {"value": escape_one_line(rule)},
    })
}

/// Maximum number of bytes between two edits that are joined to one suggestion.
const MAX_BYTES_BETWEEN_EDITS: usize = 4096;

/// Returns the edits of a fix as one suggestion, with the text between them; `None` if the fix edits another file as
/// well.
fn suggestion_json(fix: &Fix, path: &str, text: Option<&SourceText>) -> Option<Value> {
    let mut edits: Vec<&Edit> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| (edit.region.start_byte, edit.region.end_byte));
    let (first, rest) = edits.split_first()?;
    let (mut whole, mut replacement) = (first.region, first.replacement.clone());
    for edit in rest {
        if edit.region.start_byte != whole.end_byte {
            let between = text?.text().get(whole.end_byte..edit.region.start_byte)?;
            replacement.push_str(Some(between).filter(|between| between.len() <= MAX_BYTES_BETWEEN_EDITS)?);
        }
        replacement.push_str(&edit.replacement);
        let Region { end_line, end_column, end_byte, .. } = edit.region;
        whole = Region { end_line, end_column, end_byte, ..whole };
    }
    let here = edits.iter().all(|edit| edit.path == path);
    here.then(|| json!({"range": range_json(whole), "text": replacement}))
}

/// Returns a path with a region.
fn location_json(path: &str, region: Option<Region>) -> Value {
    match region {
        Some(region) => json!({"path": strip_current_dir(path), "range": range_json(region)}),
        None => json!({"path": strip_current_dir(path)}),
    }
}

/// Returns a region as a range.
fn range_json(region: Region) -> Value {
    json!({
        "start": {"line": region.start_line, "column": region.start_column},
        "end": {"line": region.end_line, "column": region.end_column},
    })
}

/// Writes a diagnostic as one line.
fn write_line(diagnostic: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    let mut out = out;
    serde_json::to_writer(EscapingWriter(&mut out), diagnostic).map_err(io::Error::from)?;
    out.write_all(b"\n")
}
