//! What an editor offers to change: cures of findings, and comments that leave them out.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

use crate::dockerfile::Dockerfile;
use crate::lsp::diagnose::Places;
use crate::lsp::diagnose::diagnostic;
use crate::lsp::document::Open;
use crate::lsp::place::Lines;
use crate::lsp::place::Range;
use crate::lsp::wire::Diagnostic;
use crate::lsp::wire::TextEdit;
use crate::report::kinds::FixSafety;
use crate::report::model::Finding;
use crate::report::model::Fix;
use crate::report::model::Report;
use crate::report::spot::Spot;
use crate::source::Span;

/// What is asked for.
pub(super) struct Asked<'a> {
    /// The document, by its URI.
    pub(super) uri: &'a str,
    /// Its name in the report.
    pub(super) name: &'a str,
    /// Its text, by lines.
    pub(super) lines: &'a Lines<'a>,
    /// Where it is a Dockerfile: itself.
    pub(super) dockerfile: Option<&'a Dockerfile>,
    /// The part that is selected.
    pub(super) range: Range,
    /// Whether the editor follows edits of documents at a version.
    pub(super) versioned: bool,
    /// All that is open.
    pub(super) open: &'a Open,
}

/// Everything that is offered for a part of a document.
pub(super) fn of(report: &Report, places: &Places<'_, '_>, asked: &Asked<'_>) -> Vec<Value> {
    let mut cures = Vec::new();
    let mut ignores: BTreeMap<(usize, String), Value> = BTreeMap::new();
    for subject in &report.subjects {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, &report.fleet);
            let shown = diagnostic(places, finding, spot);
            if places.uri(spot.path) != asked.uri || !shown.range.touches(asked.range) {
                continue;
            }
            let mut preferred = false;
            for fix in &finding.fixes {
                let safe = fix.safety == FixSafety::Safe && fix.breaks.is_empty() && fix.is_for_failure() && !preferred;
                if let Some(offer) = cure(fix, safe, &shown, places, asked) {
                    preferred |= safe;
                    offered(&mut cures, offer);
                }
            }
            if let Some((at, offer)) = ignore(finding, &shown, asked) {
                ignores.entry((at, finding.rule.clone())).or_insert(offer);
            }
        }
    }
    cures.into_iter().chain(ignores.into_values()).collect()
}

/// Adds what is offered; where the same edit is offered already, it is one that answers both findings.
fn offered(cures: &mut Vec<Value>, offer: Value) {
    let same = |one: &&mut Value| one["title"] == offer["title"] && one["edit"] == offer["edit"];
    let Some(there) = cures.iter_mut().find(same) else { return cures.push(offer) };
    let preferred = there["isPreferred"] == true || offer["isPreferred"] == true;
    there["isPreferred"] = preferred.into();
    let more = offer["diagnostics"].as_array().cloned().unwrap_or_default();
    if let Some(list) = there["diagnostics"].as_array_mut() {
        list.extend(more.into_iter().filter(|one| !list.contains(one)).collect::<Vec<_>>());
    }
}

fn cure(fix: &Fix, preferred: bool, shown: &Diagnostic, places: &Places<'_, '_>, asked: &Asked<'_>) -> Option<Value> {
    let mut edits: BTreeMap<String, Vec<TextEdit>> = BTreeMap::new();
    for edit in &fix.edits {
        let range = places.range(&edit.path, Some(edit.region));
        edits.entry(places.uri(&edit.path)).or_default().push(TextEdit { range, new_text: edit.replacement.clone() });
    }
    if edits.is_empty() {
        return None;
    }
    Some(json!({
        "title": fix.told(),
        "kind": "quickfix",
        "isPreferred": preferred,
        "diagnostics": [shown],
        "edit": workspace(edits, asked),
    }))
}

/// A comment above the instruction that a finding is about; with the byte where it goes.
fn ignore(finding: &Finding, shown: &Diagnostic, asked: &Asked<'_>) -> Option<(usize, Value)> {
    let dockerfile = asked.dockerfile?;
    let places = finding.locations.iter().filter(|place| place.kind == "file" && place.path == asked.name);
    let mut regions = places.filter_map(|place| place.region);
    let instruction = regions.find_map(|region| {
        let touched = |span: Span| region.start_byte < span.end && span.start < region.end_byte;
        dockerfile.instructions.iter().find(|one| touched(one.span))
    })?;
    // Behind parser directives: they stand above the first instruction, and this goes right above its own.
    let (start, line) = asked.lines.line_at(instruction.span.start);
    let indent: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
    let place = asked.lines.position(start);
    let new_text = format!("{indent}# imagelint: ignore[{}] {}", finding.rule, asked.lines.ending(start));
    let edit = TextEdit { range: Range { start: place, end: place }, new_text };
    let edits = BTreeMap::from([(asked.uri.to_owned(), vec![edit])]);
    let action = json!({
        "title": format!("Ignore {} here", finding.rule),
        "kind": "quickfix",
        "diagnostics": [shown],
        "edit": workspace(edits, asked),
    });
    Some((start, action))
}

/// Edits of several documents, each at the version that was judged.
fn workspace(edits: BTreeMap<String, Vec<TextEdit>>, asked: &Asked<'_>) -> Value {
    if !asked.versioned {
        return json!({ "changes": edits });
    }
    let change = |(uri, edits): (String, Vec<TextEdit>)| {
        let version = asked.open.get(&uri).map(|document| document.version);
        json!({ "textDocument": { "uri": uri, "version": version }, "edits": edits })
    };
    json!({ "documentChanges": edits.into_iter().map(change).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_edit_is_offered_once_for_all_findings_that_it_answers() {
        let offer = |title: &str, edit: u32, about: &str, preferred: bool| json!({ "title": title, "edit": edit, "diagnostics": [about], "isPreferred": preferred });
        let mut cures = Vec::new();
        offered(&mut cures, offer("take the tag", 1, "refused", false));
        offered(&mut cures, offer("take the tag", 1, "no-gpu", true));
        offered(&mut cures, offer("take the tag", 1, "refused", false));
        assert_eq!(
            cures,
            [json!({
                "title": "take the tag", "edit": 1, "diagnostics": ["refused", "no-gpu"], "isPreferred": true
            })]
        );
        // Another edit, or another title, is another change.
        offered(&mut cures, offer("take the tag", 2, "refused", false));
        offered(&mut cures, offer("take a tag", 1, "refused", false));
        assert_eq!(cures.len(), 3, "{cures:?}");
        assert_eq!(cures[1]["diagnostics"], json!(["refused"]));
        assert_eq!(cures[2]["isPreferred"], false);
    }
}
