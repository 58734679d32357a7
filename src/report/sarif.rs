//! The report as SARIF 2.1.0 for code scanning services: the results, then their rules.

use std::io;

use serde_json::{Value, json};

use crate::report::concise::error_location;
use crate::report::escape::escape_multiline;
use crate::report::fingerprint::FingerprintGenerator;
use crate::report::json::EscapingWriter;
use crate::report::model::{Finding, Fix, Region, Report, Subject};
use crate::report::phrases::{pluralize, subject_title};
use crate::report::primary_location::{PrimaryLocation, first_line_region, message_with_image, utf16_columns};
use crate::report::report_writer::{ReportContext, ReportWriter};
use crate::report::sarif_rules::rule_descriptor;
use crate::report::uri::path_to_uri;

/// URL of the SARIF schema.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Maximum number of results of a run that code scanning services accept.
const MAX_RESULTS: usize = 25_000;
/// Name of the base URI that paths are relative to.
const ROOT: &str = "SRCROOT";

/// Writes the results of each subject, and collects the names of their rules.
pub struct SarifWriter<'a> {
    setting: ReportContext<'a>,
    prints: FingerprintGenerator,
    rules: Vec<String>,
    results: usize,
}

impl<'a> SarifWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting, prints: FingerprintGenerator::for_rules(setting.book), rules: Vec::new(), results: 0 }
    }

    /// Returns the result of a finding.
    fn result_json(&mut self, finding: &Finding, subject: &Subject) -> Value {
        let known = self.rules.iter().position(|name| *name == finding.rule);
        let rule = known.unwrap_or_else(|| {
            self.rules.push(finding.rule.clone());
            self.rules.len() - 1
        });
        let spot = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
        let print = self.setting.finding_hash(&mut self.prints, finding, subject);
        let mut location = self.location_json(spot.path, spot.region);
        location["logicalLocations"] = json!([{"fullyQualifiedName": subject_title(subject), "kind": "module"}]);
        let mut result = json!({
            "ruleId": finding.rule,
            "ruleIndex": rule,
            "level": finding.severity,
            "message": message_json(&message_with_image(finding, subject, &spot)),
            "locations": [location],
            "partialFingerprints": {"primaryLocationLineHash": format!("{print}:1")},
            "properties": {"pools": finding.pools, "subject": subject_title(subject)},
        });
        let related: Vec<Value> = spot
            .other_locations(finding)
            .enumerate()
            .map(|(at, (place, region))| {
                let mut location = self.location_json(&place.path, Some(region));
                location["id"] = (at + 1).into();
                location["message"] = message_json(&place.label);
                location
            })
            .collect();
        if !related.is_empty() {
            result["relatedLocations"] = related.into();
        }
        // A fix of a failure that is only possible, or one that breaks a pool, is never applied automatically.
        let fixes = finding.fixes.iter().filter(|fix| fix.is_auto_applicable());
        let fixes: Vec<Value> = fixes.map(|fix| self.fix_json(fix)).collect();
        if !fixes.is_empty() {
            result["fixes"] = fixes.into();
        }
        result
    }

    /// Returns a path as the location of an artifact.
    fn artifact_location(&self, path: &str) -> Value {
        let path = (self.setting.from_root)(path);
        if path.starts_with('/') {
            json!({"uri": path_to_uri(&path)})
        } else {
            json!({"uri": path_to_uri(&path), "uriBaseId": ROOT})
        }
    }

    /// Returns a path with a region; without one, with the first line.
    fn location_json(&self, path: &str, region: Option<Region>) -> Value {
        // Nothing is shown of a result without a line, so what has none is on the first.
        let region = match region {
            Some(region) => self.region_json(path, first_line_region(region, self.setting.source_text(path))),
            None => json!({"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}),
        };
        json!({"physicalLocation": {"artifactLocation": self.artifact_location(path), "region": region}})
    }

    /// Returns a region with columns in UTF-16 units.
    fn region_json(&self, path: &str, region: Region) -> Value {
        let (start, end) = utf16_columns(region, self.setting.source_text(path));
        let (first, last) = (region.start_line, region.end_line);
        json!({"startLine": first, "startColumn": start, "endLine": last, "endColumn": end})
    }

    /// Returns a fix with its replacements by file.
    fn fix_json(&self, fix: &Fix) -> Value {
        let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
        for edit in &fix.edits {
            let change = json!({
                "deletedRegion": self.region_json(&edit.path, edit.region),
                "insertedContent": {"text": edit.replacement},
            });
            match files.iter_mut().find(|(path, _)| *path == edit.path) {
                Some((_, changes)) => changes.push(change),
                None => files.push((&edit.path, vec![change])),
            }
        }
        let files: Vec<Value> = files
            .into_iter()
            .map(|(path, changes)| json!({"artifactLocation": self.artifact_location(path), "replacements": changes}))
            .collect();
        json!({"description": message_json(&fix.describe()), "artifactChanges": files})
    }

    /// Returns the invocation with its notifications: inputs that could not be read, and omitted results.
    fn invocation_json(&self, head: &Report) -> Value {
        let mut notes: Vec<Value> = head
            .errors
            .iter()
            .map(|error| {
                let spot = error_location(error);
                json!({
                    "level": "error",
                    "message": message_json(&format!("cannot read {}: {}", error.input, error.message)),
                    "locations": [self.location_json(spot.path, spot.region)],
                })
            })
            .collect();
        if self.results > MAX_RESULTS {
            let more = format!("omitted here: {}", pluralize(self.results - MAX_RESULTS, "more finding"));
            notes.push(json!({"level": "warning", "message": message_json(&more)}));
        }
        json!({"executionSuccessful": head.errors.is_empty(), "toolExecutionNotifications": notes})
    }
}

impl ReportWriter for SarifWriter<'_> {
    fn write_start(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        write!(out, "{{\n\"$schema\": \"{SCHEMA}\",\n\"version\": \"2.1.0\",\n\"runs\": [{{\n\"results\": [")
    }

    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            self.results += 1;
            if self.results <= MAX_RESULTS {
                let result = self.result_json(finding, subject);
                write!(out, "{}", if self.results == 1 { "\n" } else { ",\n" })?;
                write_json_value(&result, out)?;
            }
        }
        Ok(())
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let rules: Vec<Value> =
            self.rules.iter().map(|name| rule_descriptor(name, self.setting.book.get(name))).collect();
        let tool = json!({"driver": {
            "name": "imagelint",
            "version": head.tool.version,
            "semanticVersion": head.tool.version,
            "rules": rules,
            "properties": {"knowledge": head.tool.knowledge},
        }});
        let root = json!({ROOT: {"description": {"text": "The root of the repository."}}});
        let id = json!({"id": format!("imagelint/{}/", self.setting.category)});
        write!(out, "\n]")?;
        for (key, value) in [
            ("tool", tool),
            ("automationDetails", id),
            ("columnKind", "utf16CodeUnits".into()),
            ("originalUriBaseIds", root),
            ("invocations", json!([self.invocation_json(head)])),
        ] {
            write!(out, ",\n\"{key}\": ")?;
            write_json_value(&value, out)?;
        }
        writeln!(out, "\n}}]\n}}")
    }
}

/// Writes a value as JSON.
fn write_json_value(value: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    let mut out = out;
    serde_json::to_writer(EscapingWriter(&mut out), value).map_err(io::Error::from)
}

/// Returns a text as a plain message, in which a viewer finds no link.
fn message_json(text: &str) -> Value {
    json!({"text": escape_multiline(text).replace("](", "] (")})
}
