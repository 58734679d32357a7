//! The facts of a subject as the report lists them: one numbering over all builds and platforms.

use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::State;
use crate::fact::Value;
use crate::judge::Build;
use crate::judge::place::Places;
use crate::knowledge::RowInfo;
use crate::report::model;

/// Every fact of every build; else those alone that are not known.
pub(super) fn report(builds: &[Build], places: Places<'_>, every: bool) -> Vec<model::Fact> {
    builds.iter().flat_map(|build| of_build(build, places, every)).collect()
}

fn of_build(build: &Build, places: Places<'_>, every: bool) -> Vec<model::Fact> {
    let facts = &build.image.facts;
    facts
        .iter()
        .filter(|(_, entry)| every || matches!(entry.state, State::Unknown(_)))
        .map(|(id, entry)| {
            let (state, value, why) = match &entry.state {
                State::Known(Value::Text(text)) => ("known", Some(serde_json::Value::from(text.as_str())), None),
                State::Known(Value::List(list)) => ("known", Some(serde_json::Value::from(list.clone())), None),
                State::Absent { searched } => ("absent", None, Some(format!("searched: {searched}"))),
                State::Unknown(why) => ("unknown", None, Some(format!("{}; {}", why.reason, why.supply))),
            };
            let (origins, derived_from) = match &entry.evidence {
                Evidence::Leaf(origins) => (origins.clone(), Vec::new()),
                Evidence::Derived { from, row, .. } => {
                    let own = from.iter().map(|id| fact_id(build, *id));
                    (facts.origins(id), own.chain(row.map(row_id)).collect())
                }
            };
            model::Fact {
                id: fact_id(build, id),
                key: entry.name(),
                state: state.to_owned(),
                value,
                origins: origins.iter().map(|origin| places.origin(origin, entry.name())).collect(),
                derived_from,
                why,
            }
        })
        .collect()
}

/// The id of a fact in the report.
pub(super) fn fact_id(build: &Build, id: FactId) -> String {
    FactId(build.first_fact + id.0).to_string()
}

/// The id of a table row in the report.
pub(super) fn row_id(row: &RowInfo) -> String {
    format!("{}/{}", row.table, row.row)
}
