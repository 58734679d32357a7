//! A judgement as diagnostics, file by file.

use std::collections::BTreeMap;

use crate::lsp::document::Open;
use crate::lsp::place::Encoding;
use crate::lsp::place::Lines;
use crate::lsp::place::Range;
use crate::lsp::wire::Diagnostic;
use crate::lsp::wire::Related;
use crate::lsp::wire::Site;
use crate::lsp::world::Judged;
use crate::lsp::world::World;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Finding;
use crate::report::model::InputError;
use crate::report::model::Region;
use crate::report::spot::Spot;
use crate::report::spot::advice;
use crate::source::Span;

/// Of the findings of one document no more are shown.
const MOST: usize = 1000;
/// A finding points to so many other places.
const MOST_OTHERS: usize = 16;

const SOURCE: &str = "imagelint";
const ERROR: u8 = 1;

/// Places of a judgement as an editor knows them.
pub(super) struct Places<'a, 'w> {
    judged: &'a Judged,
    world: &'w dyn World,
    open: &'w Open,
    /// The URI of the document that was judged.
    own: &'w str,
    lines: BTreeMap<&'a str, Lines<'a>>,
}

/// What a text without a file is called.
pub(super) const NAMELESS: &str = "-";

impl<'a, 'w> Places<'a, 'w> {
    pub(super) fn new(
        judged: &'a Judged,
        world: &'w dyn World,
        open: &'w Open,
        own: &'w str,
        encoding: Encoding,
    ) -> Self {
        let lines = judged.sources.iter().map(|text| (text.name(), Lines::new(text.text(), encoding))).collect();
        Self { judged, world, open, own, lines }
    }

    /// The URI of a file that a report names.
    pub(super) fn uri(&self, name: &str) -> String {
        if name == NAMELESS {
            return self.own.to_owned();
        }
        self.open.uri_of(&self.world.full(name))
    }

    /// Where a region of a text is; its beginning where there is none.
    pub(super) fn range(&self, name: &str, region: Option<Region>) -> Range {
        let span = region.map_or(Span::default(), |region| Span::new(region.start_byte, region.end_byte));
        self.lines.get(name).map_or_else(Range::default, |lines| lines.range(span))
    }
}

/// What is told of a judgement, by URI; what has no file of its own is told at the document that was judged.
pub(super) fn of(places: &Places<'_, '_>) -> BTreeMap<String, Vec<Diagnostic>> {
    let mut found: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    let own = places.own;
    let mut add = |uri: String, diagnostic: Diagnostic| {
        let list = found.entry(uri).or_default();
        if list.len() < MOST && !list.contains(&diagnostic) {
            list.push(diagnostic);
        }
    };
    if let Some(why) = &places.judged.refused {
        add(own.to_owned(), plain(Range::default(), why));
    }
    for (name, span, message) in &places.judged.mistakes {
        let range = places.lines.get(name.as_str()).map_or_else(Range::default, |lines| lines.range(*span));
        add(places.uri(name), plain(range, message));
    }
    let Some(report) = &places.judged.report else { return found };
    for error in &report.errors {
        let (uri, diagnostic) = input(places, error);
        add(uri, diagnostic);
    }
    for subject in &report.subjects {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, &report.fleet);
            let in_text = places.lines.contains_key(spot.path);
            let uri = if in_text { places.uri(spot.path) } else { own.to_owned() };
            add(uri, diagnostic(places, finding, spot));
        }
    }
    found
}

/// A finding at its place.
pub(super) fn diagnostic(places: &Places<'_, '_>, finding: &Finding, spot: Spot<'_>) -> Diagnostic {
    let others = spot.others(finding).filter(|(place, _)| places.lines.contains_key(place.path.as_str()));
    let related = others.take(MOST_OTHERS).map(|(place, region)| Related {
        location: Site { uri: places.uri(&place.path), range: places.range(&place.path, Some(region)) },
        message: place.label.clone(),
    });
    Diagnostic {
        range: places.range(spot.path, spot.region),
        severity: match finding.severity {
            FindingSeverity::Error => ERROR,
            FindingSeverity::Warning => 2,
            FindingSeverity::Note => 3,
        },
        code: Some(finding.rule.clone()),
        source: SOURCE,
        message: advice(finding),
        related_information: related.collect(),
    }
}

/// Why something could not be read.
fn input(places: &Places<'_, '_>, error: &InputError) -> (String, Diagnostic) {
    let place = error.location.as_ref().filter(|place| places.lines.contains_key(place.path.as_str()));
    match place {
        Some(place) => (places.uri(&place.path), plain(places.range(&place.path, place.region), &error.message)),
        None => (places.own.to_owned(), plain(Range::default(), &format!("{}: {}", error.input, error.message))),
    }
}

pub(super) fn plain(range: Range, message: &str) -> Diagnostic {
    Diagnostic {
        range,
        severity: ERROR,
        code: None,
        source: SOURCE,
        message: message.to_owned(),
        related_information: Vec::new(),
    }
}
