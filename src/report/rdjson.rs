//! The report as lines for reviewdog: one diagnostic of its format (`rdjsonl`) a line.

use std::io;

use serde_json::Value;
use serde_json::json;

use crate::report::concise::of_error;
use crate::report::escape::clean;
use crate::report::escape::visible;
use crate::report::json::Escaping;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::FixSafety;
use crate::report::model::Edit;
use crate::report::model::Fix;
use crate::report::model::Region;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::sink::short;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;
use crate::source::SourceText;

/// Writes diagnostics as they come.
pub struct Rdjson<'a> {
    setting: Setting<'a>,
}

impl<'a> Rdjson<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting }
    }
}

impl Sink for Rdjson<'_> {
    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            let severity = match finding.severity {
                FindingSeverity::Error => "ERROR",
                FindingSeverity::Warning => "WARNING",
                FindingSeverity::Note => "INFO",
            };
            let mut diagnostic = diagnostic(&named_advice(finding, subject, &spot), severity, &finding.rule, &spot);
            let related: Vec<Value> = spot
                .others(finding)
                .map(|(place, region)| json!({"message": visible(&place.label), "location": location(&place.path, Some(region))}))
                .collect();
            if !related.is_empty() {
                diagnostic["related_locations"] = Value::Array(related);
            }
            // What an image does not need for certain, or what breaks a pool, is written by nobody unasked. A suggestion
            // is an edit without a word, so what is only ever done by hand is none.
            let fixes = finding.fixes.iter().filter(|fix| fix.may_be_taken() && fix.safety != FixSafety::Manual);
            let suggestions: Vec<Value> =
                fixes.filter_map(|fix| suggestion(fix, spot.path, self.setting.text(spot.path))).collect();
            if !suggestions.is_empty() {
                diagnostic["suggestions"] = Value::Array(suggestions);
            }
            line(&diagnostic, out)?;
        }
        Ok(())
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            line(&diagnostic(&error.message, "ERROR", "cannot-read", &of_error(error)), out)?;
        }
        Ok(())
    }
}

fn diagnostic(message: &str, severity: &str, rule: &str, spot: &Spot<'_>) -> Value {
    json!({
        "message": visible(message),
        "location": location(spot.path, spot.region),
        "severity": severity,
        "source": {"name": "imagelint"},
        "code": {"value": clean(rule)},
    })
}

/// So many bytes between two changes are written again with them.
const BETWEEN: usize = 4096;

/// A suggestion is one change in the file of the diagnostic: several in that file become one, with what stands between
/// them. What takes another file as well is told by other formats.
fn suggestion(fix: &Fix, path: &str, text: Option<&SourceText>) -> Option<Value> {
    let mut edits: Vec<&Edit> = fix.edits.iter().collect();
    edits.sort_by_key(|edit| (edit.region.start_byte, edit.region.end_byte));
    let (first, rest) = edits.split_first()?;
    let (mut whole, mut replacement) = (first.region, first.replacement.clone());
    for edit in rest {
        if edit.region.start_byte != whole.end_byte {
            let between = text?.text().get(whole.end_byte..edit.region.start_byte)?;
            replacement.push_str(Some(between).filter(|between| between.len() <= BETWEEN)?);
        }
        replacement.push_str(&edit.replacement);
        let Region { end_line, end_column, end_byte, .. } = edit.region;
        whole = Region { end_line, end_column, end_byte, ..whole };
    }
    let here = edits.iter().all(|edit| edit.path == path);
    here.then(|| json!({"range": range(whole), "text": replacement}))
}

fn location(path: &str, region: Option<Region>) -> Value {
    match region {
        Some(region) => json!({"path": short(path), "range": range(region)}),
        None => json!({"path": short(path)}),
    }
}

fn range(region: Region) -> Value {
    json!({
        "start": {"line": region.start_line, "column": region.start_column},
        "end": {"line": region.end_line, "column": region.end_column},
    })
}

fn line(diagnostic: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    let mut out = out;
    serde_json::to_writer(Escaping(&mut out), diagnostic).map_err(io::Error::from)?;
    out.write_all(b"\n")
}
