//! Converts the analysis of a document into LSP diagnostics, grouped by file.

use std::collections::BTreeMap;

use crate::cli::language_server::open_documents::OpenDocuments;
use crate::cli::language_server::position::{LineIndex, LspRange, PositionEncoding};
use crate::cli::language_server::protocol::{DocumentLocation, LspDiagnostic, RelatedInformation};
use crate::cli::language_server::workspace::{DocumentAnalysis, Workspace};
use crate::report::kinds::FindingSeverity;
use crate::report::model::{Finding, InputError, Region};
use crate::report::primary_location::{PrimaryLocation, full_message};
use crate::text::source::Span;

/// Maximum number of diagnostics per document.
const MAX_DIAGNOSTICS: usize = 1000;
/// Maximum number of related locations per diagnostic.
const MAX_RELATED_LOCATIONS: usize = 16;

/// The value of `source` in every diagnostic.
const DIAGNOSTIC_SOURCE: &str = "imagelint";
/// The LSP severity of an error.
const SEVERITY_ERROR: u8 = 1;

/// Maps file names and regions of a report to URIs and ranges in the editor.
pub(super) struct LocationMapper<'a, 'w> {
    analysis: &'a DocumentAnalysis,
    workspace: &'w dyn Workspace,
    open_documents: &'w OpenDocuments,
    /// The URI of the analyzed document.
    document_uri: &'w str,
    lines: BTreeMap<&'a str, LineIndex<'a>>,
}

/// The name in reports of a text that has no file.
pub(super) const UNNAMED_TEXT: &str = "-";

impl<'a, 'w> LocationMapper<'a, 'w> {
    /// Indexes the lines of all texts of an analysis.
    pub(super) fn new(
        judged: &'a DocumentAnalysis,
        world: &'w dyn Workspace,
        open: &'w OpenDocuments,
        own: &'w str,
        encoding: PositionEncoding,
    ) -> Self {
        let lines = judged.sources.iter().map(|text| (text.name(), LineIndex::new(text.text(), encoding))).collect();
        Self { analysis: judged, workspace: world, open_documents: open, document_uri: own, lines }
    }

    /// Returns the URI of a file that a report names.
    pub(super) fn uri(&self, name: &str) -> String {
        if name == UNNAMED_TEXT {
            return self.document_uri.to_owned();
        }
        self.open_documents.uri_of(&self.workspace.absolute_path(name))
    }

    /// Returns the range of a region of a file; the start of the file if there is no region.
    pub(super) fn range(&self, name: &str, region: Option<Region>) -> LspRange {
        let span = region.map_or(Span::default(), |region| Span::new(region.start_byte, region.end_byte));
        self.lines.get(name).map_or_else(LspRange::default, |lines| lines.range(span))
    }
}

/// Returns the diagnostics of an analysis by URI; those without a file of their own go to the analyzed document.
pub(super) fn diagnostics_by_uri(places: &LocationMapper<'_, '_>) -> BTreeMap<String, Vec<LspDiagnostic>> {
    let mut found: BTreeMap<String, Vec<LspDiagnostic>> = BTreeMap::new();
    let own = places.document_uri;
    let mut add = |uri: String, diagnostic: LspDiagnostic| {
        let list = found.entry(uri).or_default();
        if list.len() < MAX_DIAGNOSTICS && !list.contains(&diagnostic) {
            list.push(diagnostic);
        }
    };
    if let Some(why) = &places.analysis.refused {
        add(own.to_owned(), error_diagnostic(LspRange::default(), why));
    }
    for (name, span, message) in &places.analysis.mistakes {
        let range = places.lines.get(name.as_str()).map_or_else(LspRange::default, |lines| lines.range(*span));
        add(places.uri(name), error_diagnostic(range, message));
    }
    let Some(report) = &places.analysis.report else { return found };
    for error in &report.errors {
        let (uri, diagnostic) = input_error_diagnostic(places, error);
        add(uri, diagnostic);
    }
    for subject in &report.subjects {
        for finding in &subject.findings {
            let spot = PrimaryLocation::of_finding(finding, subject, &report.fleet);
            let in_text = places.lines.contains_key(spot.path);
            let uri = if in_text { places.uri(spot.path) } else { own.to_owned() };
            add(uri, finding_diagnostic(places, finding, spot));
        }
    }
    found
}

/// Returns the diagnostic of a finding at its location.
pub(super) fn finding_diagnostic(
    places: &LocationMapper<'_, '_>,
    finding: &Finding,
    spot: PrimaryLocation<'_>,
) -> LspDiagnostic {
    let others = spot.other_locations(finding).filter(|(place, _)| places.lines.contains_key(place.path.as_str()));
    let related = others.take(MAX_RELATED_LOCATIONS).map(|(place, region)| RelatedInformation {
        location: DocumentLocation { uri: places.uri(&place.path), range: places.range(&place.path, Some(region)) },
        message: place.label.clone(),
    });
    LspDiagnostic {
        range: places.range(spot.path, spot.region),
        severity: match finding.severity {
            FindingSeverity::Error => SEVERITY_ERROR,
            FindingSeverity::Warning => 2,
            FindingSeverity::Note => 3,
        },
        code: Some(finding.rule.clone()),
        source: DIAGNOSTIC_SOURCE,
        message: full_message(finding),
        related_information: related.collect(),
    }
}

/// Returns the diagnostic of an input that could not be read, with its URI.
fn input_error_diagnostic(places: &LocationMapper<'_, '_>, error: &InputError) -> (String, LspDiagnostic) {
    let place = error.location.as_ref().filter(|place| places.lines.contains_key(place.path.as_str()));
    match place {
        Some(place) => {
            (places.uri(&place.path), error_diagnostic(places.range(&place.path, place.region), &error.message))
        }
        None => (
            places.document_uri.to_owned(),
            error_diagnostic(LspRange::default(), &format!("{}: {}", error.input, error.message)),
        ),
    }
}

/// Returns an error diagnostic that belongs to no rule.
pub(super) fn error_diagnostic(range: LspRange, message: &str) -> LspDiagnostic {
    LspDiagnostic {
        range,
        severity: SEVERITY_ERROR,
        code: None,
        source: DIAGNOSTIC_SOURCE,
        message: message.to_owned(),
        related_information: Vec::new(),
    }
}
