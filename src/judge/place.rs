//! Places for reports: origins and pool fields as locations that somebody can look at.

use crate::fact::ImageFacts;
use crate::fact::Origin;
use crate::fact::is_step_field;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::fleet::PoolField;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::source::SourceId;
use crate::source::Sources;
use crate::source::Span;

/// Where places are looked up.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) sources: &'a Sources,
    pub(super) fleet: &'a Fleet,
}

impl Places<'_> {
    /// The place of an origin.
    pub(super) fn origin(self, origin: &Origin, label: String) -> Location {
        match origin {
            Origin::File { source, span } => self.text("file", *source, *span, label),
            Origin::Config { field, .. } => plain("config", field, label),
            Origin::Layer { digest, path, made_by, .. } => {
                Location { made_by: made_by.clone(), ..plain("layer", &format!("{digest}:{path}"), label) }
            }
            Origin::Option(name) => plain("option", name, label),
            Origin::Report(path) => plain("description", path, label),
        }
    }

    /// Puts the line that names the image before places that have none: a finding on the configuration of a base image is
    /// shown where somebody chose it. A layer or a step that no line made is shown by itself.
    pub(super) fn named(self, found: &mut Vec<Location>, image: &ImageFacts) {
        let without = |place: &Location| place.kind == "config";
        let on_a_line = |place: &Location| place.region.is_some() && place.kind != "fleet";
        let of_step = |place: &Location| without(place) && is_step_field(&place.path);
        if !found.iter().any(without) || found.iter().any(|place| on_a_line(place) || of_step(place)) {
            return;
        }
        let origins = image.base.map(|id| image.facts.origins(id)).unwrap_or_default();
        let mut lines = origins.iter().map(|origin| self.origin(origin, "base image".to_owned()));
        if let Some(line) = lines.find(on_a_line) {
            found.insert(0, line);
        }
    }

    /// The place of a pool's field, else of its name; none for the built-in fleet.
    pub(super) fn pool(self, pool: &Pool, field: Option<PoolField>, label: String) -> Option<Location> {
        self.pool_span(field.and_then(|field| pool.span_of(field)).unwrap_or(pool.name.span), label)
    }

    /// A place in the fleet file; none for the built-in fleet.
    pub(super) fn pool_span(self, span: Span, label: String) -> Option<Location> {
        (!self.fleet.built_in).then(|| self.text("fleet", self.fleet.source, span, label))
    }

    /// The name of a variable instead of its value, if it is written before that.
    pub(super) fn name_of(self, origin: &Origin, variable: &str) -> Origin {
        let Origin::File { source, span } = origin else { return origin.clone() };
        let before = self.sources.get(*source).text().get(..span.start).unwrap_or_default();
        let before = before.strip_suffix(['"', '\'']).unwrap_or(before);
        let named = before.strip_suffix(['=', ' ']).filter(|named| named.ends_with(variable));
        match named {
            Some(named) => Origin::File { source: *source, span: Span::new(named.len() - variable.len(), named.len()) },
            None => origin.clone(),
        }
    }

    /// A place in a text.
    pub(super) fn text(self, kind: &str, source: SourceId, span: Span, label: String) -> Location {
        let text = self.sources.get(source);
        let region = Some(Region::of(text, span));
        Location { kind: kind.to_owned(), path: text.name().to_owned(), label, region, made_by: None }
    }
}

/// Puts the line of a list or a manifest that names the image before places in no text of the input.
pub(super) fn listed(found: &mut Vec<Location>, line: Option<&Location>) {
    if let Some(line) = line.filter(|_| !found.iter().any(|place| place.region.is_some() && place.kind != "fleet")) {
        found.insert(0, line.clone());
    }
}

fn plain(kind: &str, path: &str, label: String) -> Location {
    Location { kind: kind.to_owned(), path: path.to_owned(), label, region: None, made_by: None }
}
