//! Code actions for an editor: fixes of findings, and comments that suppress them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::language_server::diagnostics::{LocationMapper, finding_diagnostic};
use crate::cli::language_server::open_documents::OpenDocuments;
use crate::cli::language_server::position::{LineIndex, LspRange};
use crate::cli::language_server::protocol::{LspDiagnostic, LspTextEdit};
use crate::dockerfile::Dockerfile;
use crate::report::kinds::{FixSafety, LocationKind};
use crate::report::model::{Finding, Fix, Report};
use crate::report::primary_location::PrimaryLocation;
use crate::text::source::Span;

/// The document and the selection for which code actions are computed.
pub(super) struct CodeActionRequest<'a> {
    /// The document, by its URI.
    pub(super) uri: &'a str,
    /// The name of the document in the report.
    pub(super) name: &'a str,
    /// The text of the document, with its line index.
    pub(super) lines: &'a LineIndex<'a>,
    /// The parsed Dockerfile, if the document is one.
    pub(super) dockerfile: Option<&'a Dockerfile>,
    /// The selected range.
    pub(super) range: LspRange,
    /// Whether the client supports edits of a document at a version.
    pub(super) versioned: bool,
    /// All open documents.
    pub(super) open_documents: &'a OpenDocuments,
}

/// Returns all code actions for the selection: fixes of the findings there, and comments that suppress them.
pub(super) fn collect_code_actions(
    report: &Report,
    places: &LocationMapper<'_, '_>,
    request: &CodeActionRequest<'_>,
) -> Vec<Value> {
    let mut cures = Vec::new();
    let mut ignores: BTreeMap<(usize, String), Value> = BTreeMap::new();
    for subject in &report.subjects {
        for finding in &subject.findings {
            let spot = PrimaryLocation::of_finding(finding, subject, &report.fleet);
            let shown = finding_diagnostic(places, finding, spot);
            if places.uri(spot.path) != request.uri || !shown.range.touches(request.range) {
                continue;
            }
            let mut preferred = false;
            for fix in &finding.fixes {
                let safe =
                    fix.safety == FixSafety::Safe && fix.breaks.is_empty() && fix.removes_failure() && !preferred;
                if let Some(offer) = fix_action(fix, safe, &shown, places, request) {
                    preferred |= safe;
                    add_fix_action(&mut cures, offer);
                }
            }
            if let Some((at, offer)) = suppression_action(finding, &shown, request) {
                ignores.entry((at, finding.rule.clone())).or_insert(offer);
            }
        }
    }
    cures.into_iter().chain(ignores.into_values()).collect()
}

/// Adds the code action of a fix, or adds its diagnostics to an existing action with the same title and edit.
fn add_fix_action(cures: &mut Vec<Value>, offer: Value) {
    let same = |one: &&mut Value| one["title"] == offer["title"] && one["edit"] == offer["edit"];
    let Some(there) = cures.iter_mut().find(same) else { return cures.push(offer) };
    let preferred = there["isPreferred"] == true || offer["isPreferred"] == true;
    there["isPreferred"] = preferred.into();
    let more = offer["diagnostics"].as_array().cloned().unwrap_or_default();
    if let Some(list) = there["diagnostics"].as_array_mut() {
        list.extend(more.into_iter().filter(|one| !list.contains(one)).collect::<Vec<_>>());
    }
}

/// Returns the code action that applies a fix; `None` if the fix has no edits.
fn fix_action(
    fix: &Fix,
    preferred: bool,
    shown: &LspDiagnostic,
    places: &LocationMapper<'_, '_>,
    request: &CodeActionRequest<'_>,
) -> Option<Value> {
    let mut edits: BTreeMap<String, Vec<LspTextEdit>> = BTreeMap::new();
    for edit in &fix.edits {
        let range = places.range(&edit.path, Some(edit.region));
        edits
            .entry(places.uri(&edit.path))
            .or_default()
            .push(LspTextEdit { range, new_text: edit.replacement.clone() });
    }
    if edits.is_empty() {
        return None;
    }
    Some(json!({
        "title": fix.describe(),
        "kind": "quickfix",
        "isPreferred": preferred,
        "diagnostics": [shown],
        "edit": workspace_edit(edits, request),
    }))
}

/// Returns the code action that inserts an ignore comment above the instruction of a finding, with the byte offset of
/// the insertion.
fn suppression_action(
    finding: &Finding,
    shown: &LspDiagnostic,
    request: &CodeActionRequest<'_>,
) -> Option<(usize, Value)> {
    let dockerfile = request.dockerfile?;
    let places =
        finding.locations.iter().filter(|place| place.kind == LocationKind::File && place.path == request.name);
    let mut regions = places.filter_map(|place| place.region);
    let instruction = regions.find_map(|region| {
        let touched = |span: Span| region.start_byte < span.end && span.start < region.end_byte;
        dockerfile.instructions.iter().find(|one| touched(one.span))
    })?;
    // Behind parser directives, which precede the first instruction: this is inserted right above its own.
    let (start, line) = request.lines.line_at(instruction.span.start);
    let indent: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
    let place = request.lines.position(start);
    let new_text = format!("{indent}# imagelint: ignore[{}] {}", finding.rule, request.lines.line_ending_at(start));
    let edit = LspTextEdit { range: LspRange { start: place, end: place }, new_text };
    let edits = BTreeMap::from([(request.uri.to_owned(), vec![edit])]);
    let action = json!({
        "title": format!("Ignore {} here", finding.rule),
        "kind": "quickfix",
        "diagnostics": [shown],
        "edit": workspace_edit(edits, request),
    });
    Some((start, action))
}

/// Returns an LSP workspace edit, with the versions of the documents if the client supports them.
fn workspace_edit(edits: BTreeMap<String, Vec<LspTextEdit>>, request: &CodeActionRequest<'_>) -> Value {
    if !request.versioned {
        return json!({ "changes": edits });
    }
    let change = |(uri, edits): (String, Vec<LspTextEdit>)| {
        let version = request.open_documents.get(&uri).map(|document| document.version);
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
        add_fix_action(&mut cures, offer("take the tag", 1, "refused", false));
        add_fix_action(&mut cures, offer("take the tag", 1, "no-gpu", true));
        add_fix_action(&mut cures, offer("take the tag", 1, "refused", false));
        assert_eq!(
            cures,
            [json!({
                "title": "take the tag", "edit": 1, "diagnostics": ["refused", "no-gpu"], "isPreferred": true
            })]
        );
        // Another edit, or another title, is another change.
        add_fix_action(&mut cures, offer("take the tag", 2, "refused", false));
        add_fix_action(&mut cures, offer("take a tag", 1, "refused", false));
        assert_eq!(cures.len(), 3, "{cures:?}");
        assert_eq!(cures[1]["diagnostics"], json!(["refused"]));
        assert_eq!(cures[2]["isPreferred"], false);
    }
}
