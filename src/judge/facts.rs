//! The facts of a subject as the report lists them: one numbering over all builds and platforms.

use crate::fact::Entry;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::State;
use crate::fact::Value;
use crate::judge::Build;
use crate::judge::place::Places;
use crate::knowledge::RowInfo;
use crate::report::kinds::FactState;
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
                State::Known(Value::Text(text)) => {
                    (FactState::Known, Some(serde_json::Value::from(text.as_str())), None)
                }
                State::Known(Value::List(list)) => {
                    (FactState::Known, Some(serde_json::Value::from(list.clone())), None)
                }
                State::Absent { searched } => (FactState::Absent, None, Some(format!("searched: {searched}"))),
                State::Unknown(why) => (FactState::Unknown, None, Some(format!("{}; {}", why.reason, why.supply))),
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
                state,
                value,
                origins: origins.iter().map(|origin| places.origin(origin, entry.name())).collect(),
                derived_from,
                why,
            }
        })
        .collect()
}

/// Frameworks with their versions, and their CUDA: `torch 2.4.0, CUDA 12.4 (from the base image)`.
pub(super) fn about(builds: &[Build]) -> Option<String> {
    let facts: Vec<(FactId, String, &Entry)> =
        builds.first()?.image.facts.iter().map(|(id, entry)| (id, entry.name(), entry)).collect();
    let known = |name: &str| {
        facts.iter().find(|(_, own, _)| own == name).and_then(|(_, _, entry)| match &entry.state {
            State::Known(Value::Text(text)) => Some((*entry, text.as_str())),
            _ => None,
        })
    };
    let component = |name: &'_ str| name.strip_suffix(".cuda").filter(|own| !own.contains('.')).map(str::to_owned);
    let mut components: Vec<String> = Vec::new();
    for own in facts.iter().filter_map(|(_, name, _)| component(name)) {
        if !components.contains(&own) {
            components.push(own);
        }
    }
    let versions = components.iter().filter_map(|own| Some((own, known(&format!("{own}.version"))?)));
    let versions: Vec<_> = versions.take(MOST_ABOUT).collect();
    // A later fact about the CUDA of a component takes the place of an earlier one.
    let latest = |own: &String| {
        let name = format!("{own}.cuda");
        match facts.iter().rev().find(|(_, other, _)| *other == name).map(|(_, _, entry)| (*entry, &entry.state)) {
            Some((entry, State::Known(Value::Text(text)))) => Some((entry, text.as_str())),
            _ => None,
        }
    };
    let cuda = components.iter().find_map(latest).or_else(|| known("image.base.cuda"));
    let mut words: Vec<String> = versions.iter().map(|(own, (_, version))| format!("{own} {version}")).collect();
    words.extend(cuda.map(|(_, version)| format!("CUDA {version}")));
    let base = |id: &FactId| {
        facts.iter().any(|(one, name, _)| one == id && (name == "image.base" || name == "image.base.cuda"))
    };
    let of_base = |entry: &Entry| matches!(&entry.evidence, Evidence::Derived { from, .. } if from.iter().any(base));
    let mut entries = versions.iter().map(|(_, (entry, _))| *entry).chain(cuda.map(|(entry, _)| entry));
    let from = if entries.all(of_base) { " (from the base image)" } else { "" };
    (!words.is_empty()).then(|| format!("{}{from}", words.join(", ")))
}

/// So many frameworks are named.
const MOST_ABOUT: usize = 2;

/// The id of a fact in the report.
pub(super) fn fact_id(build: &Build, id: FactId) -> String {
    FactId(build.first_fact + id.0).to_string()
}

/// The id of a table row in the report.
pub(super) fn row_id(row: &RowInfo) -> String {
    format!("{}/{}", row.table, row.row)
}
