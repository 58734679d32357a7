//! Report locations of fact origins and pool fields.

use crate::fleet::{Fleet, Pool, PoolField};
use crate::model::fact::{ImageFacts, Origin, is_history_field};
use crate::report::kinds::LocationKind;
use crate::report::model::{Location, Region};
use crate::text::source::{SourceId, Sources, Span};

/// Builds report locations from the texts and the fleet.
#[derive(Clone, Copy)]
pub(super) struct LocationBuilder<'a> {
    pub(super) sources: &'a Sources,
    pub(super) fleet: &'a Fleet,
}

impl LocationBuilder<'_> {
    /// Returns the location of an origin.
    pub(super) fn origin(self, origin: &Origin, label: String) -> Location {
        match origin {
            Origin::File { source, span } => self.text(LocationKind::File, *source, *span, label),
            Origin::Config { field, .. } => location_without_region(LocationKind::Config, field, label),
            Origin::Layer { digest, path, made_by, .. } => Location {
                made_by: made_by.clone(),
                ..location_without_region(LocationKind::Layer, &format!("{digest}:{path}"), label)
            },
            Origin::Option(name) => location_without_region(LocationKind::Option, name, label),
            Origin::Report(path) => location_without_region(LocationKind::Description, path, label),
        }
    }

    /// Inserts the line that names the base image before locations in its configuration, so that findings on them are
    /// shown at that line.
    pub(super) fn insert_image_line(self, found: &mut Vec<Location>, image: &ImageFacts) {
        let without = |place: &Location| place.kind == LocationKind::Config;
        let on_a_line = |place: &Location| place.region.is_some() && place.kind != LocationKind::Fleet;
        let of_step = |place: &Location| without(place) && is_history_field(&place.path);
        if !found.iter().any(without) || found.iter().any(|place| on_a_line(place) || of_step(place)) {
            return;
        }
        let origins = image.base.map(|id| image.facts.origins(id)).unwrap_or_default();
        let mut lines = origins.iter().map(|origin| self.origin(origin, "base image".to_owned()));
        if let Some(line) = lines.find(on_a_line) {
            found.insert(0, line);
        }
    }

    /// Returns the location of a pool field, else of the pool name; `None` for the built-in fleet.
    pub(super) fn pool(self, pool: &Pool, field: Option<PoolField>, label: String) -> Option<Location> {
        self.pool_span(field.and_then(|field| pool.field_span(field)).unwrap_or(pool.name.span), label)
    }

    /// Returns a location in the fleet file; `None` for the built-in fleet.
    pub(super) fn pool_span(self, span: Span, label: String) -> Option<Location> {
        (!self.fleet.built_in).then(|| self.text(LocationKind::Fleet, self.fleet.source, span, label))
    }

    /// Returns the origin of the name of a variable instead of its value, if the name is written before it.
    pub(super) fn variable_name_origin(self, origin: &Origin, variable: &str) -> Origin {
        let Origin::File { source, span } = origin else { return origin.clone() };
        let before = self.sources.get(*source).text().get(..span.start).unwrap_or_default();
        let before = before.strip_suffix(['"', '\'']).unwrap_or(before);
        let named = before.strip_suffix(['=', ' ']).filter(|named| named.ends_with(variable));
        match named {
            Some(named) => Origin::File { source: *source, span: Span::new(named.len() - variable.len(), named.len()) },
            None => origin.clone(),
        }
    }

    /// Returns a location in a text.
    pub(super) fn text(self, kind: LocationKind, source: SourceId, span: Span, label: String) -> Location {
        let text = self.sources.get(source);
        let region = Some(Region::from_span(text, span));
        Location { kind, path: text.name().to_owned(), label, region, made_by: None }
    }
}

/// Inserts the line of a list or manifest that names the image before locations outside the input texts.
pub(super) fn insert_list_line(found: &mut Vec<Location>, line: Option<&Location>) {
    if let Some(line) =
        line.filter(|_| !found.iter().any(|place| place.region.is_some() && place.kind != LocationKind::Fleet))
    {
        found.insert(0, line.clone());
    }
}

/// Returns a location without a region.
fn location_without_region(kind: LocationKind, path: &str, label: String) -> Location {
    Location { kind, path: path.to_owned(), label, region: None, made_by: None }
}
