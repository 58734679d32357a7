//! The report in SARIF 2.1.0, as code scanning services read it: results as they come, the rules behind them.

use std::io;

use serde_json::Value;
use serde_json::json;

use crate::report::concise::of_error;
use crate::report::escape::visible;
use crate::report::fingerprint::Fingerprints;
use crate::report::json::Escaping;
use crate::report::model::Finding;
use crate::report::model::Fix;
use crate::report::model::Region;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sarif_rules::descriptor;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;
use crate::report::spot::one_line;
use crate::report::spot::utf16;
use crate::report::uri::uri;
use crate::report::words::count;
use crate::report::words::title;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// More results of one run are refused by those who read them.
const MOST: usize = 25_000;
/// What paths are relative to.
const ROOT: &str = "SRCROOT";

/// Writes results as they come, and keeps the names of their rules.
pub struct Sarif<'a> {
    setting: Setting<'a>,
    prints: Fingerprints,
    rules: Vec<String>,
    results: usize,
}

impl<'a> Sarif<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting, prints: Fingerprints::of_book(setting.book), rules: Vec::new(), results: 0 }
    }

    fn result(&mut self, finding: &Finding, subject: &Subject) -> Value {
        let known = self.rules.iter().position(|name| *name == finding.rule);
        let rule = known.unwrap_or_else(|| {
            self.rules.push(finding.rule.clone());
            self.rules.len() - 1
        });
        let spot = Spot::of(finding, subject, self.setting.fleet);
        let print = self.setting.fingerprint(&mut self.prints, finding, subject);
        let mut location = self.location(spot.path, spot.region);
        location["logicalLocations"] = json!([{"fullyQualifiedName": title(subject), "kind": "module"}]);
        let mut result = json!({
            "ruleId": finding.rule,
            "ruleIndex": rule,
            "level": finding.severity,
            "message": message(&named_advice(finding, subject, &spot)),
            "locations": [location],
            "partialFingerprints": {"primaryLocationLineHash": format!("{print}:1")},
            "properties": {"pools": finding.pools, "subject": title(subject)},
        });
        let related: Vec<Value> = spot
            .others(finding)
            .enumerate()
            .map(|(at, (place, region))| {
                let mut location = self.location(&place.path, Some(region));
                location["id"] = (at + 1).into();
                location["message"] = message(&place.label);
                location
            })
            .collect();
        if !related.is_empty() {
            result["relatedLocations"] = related.into();
        }
        // What an image does not need for certain, or what breaks a pool, is written by nobody unasked.
        let fixes = finding.fixes.iter().filter(|fix| fix.may_be_taken());
        let fixes: Vec<Value> = fixes.map(|fix| self.fix(fix)).collect();
        if !fixes.is_empty() {
            result["fixes"] = fixes.into();
        }
        result
    }

    fn artifact(&self, path: &str) -> Value {
        let path = (self.setting.from_root)(path);
        if path.starts_with('/') { json!({"uri": uri(&path)}) } else { json!({"uri": uri(&path), "uriBaseId": ROOT}) }
    }

    fn location(&self, path: &str, region: Option<Region>) -> Value {
        // Nothing is shown of a result without a line, so what has none is on the first.
        let region = match region {
            Some(region) => self.region(path, one_line(region, self.setting.text(path))),
            None => json!({"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}),
        };
        json!({"physicalLocation": {"artifactLocation": self.artifact(path), "region": region}})
    }

    fn region(&self, path: &str, region: Region) -> Value {
        let (start, end) = utf16(region, self.setting.text(path));
        let (first, last) = (region.start_line, region.end_line);
        json!({"startLine": first, "startColumn": start, "endLine": last, "endColumn": end})
    }

    fn fix(&self, fix: &Fix) -> Value {
        let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
        for edit in &fix.edits {
            let change = json!({
                "deletedRegion": self.region(&edit.path, edit.region),
                "insertedContent": {"text": edit.replacement},
            });
            match files.iter_mut().find(|(path, _)| *path == edit.path) {
                Some((_, changes)) => changes.push(change),
                None => files.push((&edit.path, vec![change])),
            }
        }
        let files: Vec<Value> = files
            .into_iter()
            .map(|(path, changes)| json!({"artifactLocation": self.artifact(path), "replacements": changes}))
            .collect();
        json!({"description": message(&fix.told()), "artifactChanges": files})
    }

    /// What went wrong beside the findings: inputs that could not be read, results without room.
    fn invocation(&self, head: &Report) -> Value {
        let mut notes: Vec<Value> = head
            .errors
            .iter()
            .map(|error| {
                let spot = of_error(error);
                json!({
                    "level": "error",
                    "message": message(&format!("cannot read {}: {}", error.input, error.message)),
                    "locations": [self.location(spot.path, spot.region)],
                })
            })
            .collect();
        if self.results > MOST {
            let more = format!("omitted here: {}", count(self.results - MOST, "more finding"));
            notes.push(json!({"level": "warning", "message": message(&more)}));
        }
        json!({"executionSuccessful": head.errors.is_empty(), "toolExecutionNotifications": notes})
    }
}

impl Sink for Sarif<'_> {
    fn begin(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        write!(out, "{{\n\"$schema\": \"{SCHEMA}\",\n\"version\": \"2.1.0\",\n\"runs\": [{{\n\"results\": [")
    }

    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            self.results += 1;
            if self.results <= MOST {
                let result = self.result(finding, subject);
                write!(out, "{}", if self.results == 1 { "\n" } else { ",\n" })?;
                put(&result, out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let rules: Vec<Value> = self.rules.iter().map(|name| descriptor(name, self.setting.book.get(name))).collect();
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
            ("invocations", json!([self.invocation(head)])),
        ] {
            write!(out, ",\n\"{key}\": ")?;
            put(&value, out)?;
        }
        writeln!(out, "\n}}]\n}}")
    }
}

fn put(value: &Value, out: &mut dyn io::Write) -> io::Result<()> {
    let mut out = out;
    serde_json::to_writer(Escaping(&mut out), value).map_err(io::Error::from)
}

/// Plain words: what a viewer would take for a link is none.
fn message(text: &str) -> Value {
    json!({"text": visible(text).replace("](", "] (")})
}
