//! Verdicts of one pool, and the locations and names that findings on them share.

use crate::fleet::Pool;
use crate::judge::labels::{labelled_origins, pool_entry_label, pool_field_label};
use crate::judge::location::LocationBuilder;
use crate::model::fact::ImageFacts;
use crate::replay::{Basis, StartupVerdict};
use crate::report::kinds::LocationKind;
use crate::report::model::Location;

/// A pool with its verdicts.
pub(super) struct JudgedPool<'a> {
    pub(super) pool: &'a Pool,
    pub(super) verdicts: Vec<StartupVerdict<'a>>,
}

/// Maximum number of pools that a help text names.
pub(super) const MAX_NAMED_POOLS: usize = 3;

/// Returns pools by name: `pool t4`, `pools a and b`, `5 pools`.
pub(super) fn pool_list_text(names: &[String]) -> String {
    match names {
        [one] => format!("pool {one}"),
        [others @ .., last] if names.len() <= MAX_NAMED_POOLS => format!("pools {} and {last}", others.join(", ")),
        _ => format!("these {} pools", names.len()),
    }
}

/// Returns the labelled locations of the deciding facts, then those of the pool fields.
pub(super) fn basis_locations(
    image: &ImageFacts,
    basis: &[Basis],
    pool: &Pool,
    places: LocationBuilder<'_>,
) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    for one in basis {
        match one {
            Basis::Image(id) => {
                for (origin, label) in labelled_origins(image, *id) {
                    push_unique_location(&mut found, places.origin(&origin, label));
                }
            }
            Basis::Pool(field) if pool.field_span(*field).is_some() => {
                found.extend(places.pool(pool, Some(*field), pool_field_label(pool, *field)));
            }
            Basis::Entry(entry) => {
                if let Some((name, value)) = entry.declaration_in(pool) {
                    found.extend(places.pool_span(value.span, pool_entry_label(pool, name, &value.value)));
                }
            }
            Basis::Pool(_) | Basis::Row(_) => {}
        }
    }
    places.insert_image_line(&mut found, image);
    if !found.iter().any(|location| location.kind == LocationKind::Fleet) {
        found.extend(places.pool(pool, None, format!("pool {}", pool.name.value)));
    }
    found
}

/// Adds a location unless it is there already.
pub(super) fn push_unique_location(found: &mut Vec<Location>, location: Location) {
    if !found
        .iter()
        .any(|other| other.kind == location.kind && other.path == location.path && other.region == location.region)
    {
        found.push(location);
    }
}
