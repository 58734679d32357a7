//! Facts of a subject for the report, numbered over all builds and platforms.

use crate::judge::PlatformBuild;
use crate::judge::location::LocationBuilder;
use crate::knowledge::RowInfo;
use crate::model::fact::{Evidence, FactEntry, FactId, FactKey, PrintedValue, ValueState};
use crate::report::kinds::FactState;
use crate::report::model;

/// Returns the report facts of every build; only the unknown ones unless `every`.
pub(super) fn report_facts(builds: &[PlatformBuild], places: LocationBuilder<'_>, every: bool) -> Vec<model::Fact> {
    builds.iter().flat_map(|build| build_facts(build, places, every)).collect()
}

/// Returns the report facts of one build.
fn build_facts(build: &PlatformBuild, places: LocationBuilder<'_>, every: bool) -> Vec<model::Fact> {
    let facts = &build.image.facts;
    facts
        .iter()
        // What may be a dependency is no fact about the image.
        .filter(|(_, entry)| entry.key != FactKey::Dependency)
        .filter(|(_, entry)| every || matches!(entry.state, ValueState::Unknown(_)))
        .map(|(id, entry)| {
            let (state, value, why) = match &entry.state {
                ValueState::Known(PrintedValue::Text(text)) => {
                    (FactState::Known, Some(serde_json::Value::from(text.as_str())), None)
                }
                ValueState::Known(PrintedValue::List(list)) => {
                    (FactState::Known, Some(serde_json::Value::from(list.clone())), None)
                }
                ValueState::Absent { searched } => (FactState::Absent, None, Some(format!("searched: {searched}"))),
                ValueState::Unknown(why) => {
                    (FactState::Unknown, None, Some(format!("{}; {}", why.reason(), why.remedy())))
                }
            };
            let (origins, derived_from) = match &entry.evidence {
                Evidence::Leaf(origins) => (origins.clone(), Vec::new()),
                Evidence::Derived { from, row, .. } => {
                    let is_reported = |id: &&FactId| facts.get(**id).key != FactKey::Dependency;
                    let own = from.iter().filter(is_reported).map(|id| report_fact_id(build, *id));
                    (facts.origins(id), own.chain(row.map(report_row_id)).collect())
                }
            };
            model::Fact {
                id: report_fact_id(build, id),
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

/// Returns the frameworks with their versions, and their CUDA: `torch 2.4.0, CUDA 12.4 (from the base image)`.
pub(super) fn framework_summary(builds: &[PlatformBuild]) -> Option<String> {
    let facts: Vec<(FactId, String, &FactEntry)> =
        builds.first()?.image.facts.iter().map(|(id, entry)| (id, entry.name(), entry)).collect();
    let known = |name: &str| {
        facts.iter().find(|(_, own, _)| own == name).and_then(|(_, _, entry)| match &entry.state {
            ValueState::Known(PrintedValue::Text(text)) => Some((*entry, text.as_str())),
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
    let versions: Vec<_> = versions.take(MAX_SUMMARY_FRAMEWORKS).collect();
    // A later fact about the CUDA of a component takes the place of an earlier one.
    let latest = |own: &String| {
        let name = format!("{own}.cuda");
        match facts.iter().rev().find(|(_, other, _)| *other == name).map(|(_, _, entry)| (*entry, &entry.state)) {
            Some((entry, ValueState::Known(PrintedValue::Text(text)))) => Some((entry, text.as_str())),
            _ => None,
        }
    };
    let cuda = components.iter().find_map(latest).or_else(|| known("image.base.cuda"));
    let mut words: Vec<String> = versions.iter().map(|(own, (_, version))| format!("{own} {version}")).collect();
    words.extend(cuda.map(|(_, version)| format!("CUDA {version}")));
    let base = |id: &FactId| {
        facts.iter().any(|(one, name, _)| one == id && (name == "image.base" || name == "image.base.cuda"))
    };
    let of_base =
        |entry: &FactEntry| matches!(&entry.evidence, Evidence::Derived { from, .. } if from.iter().any(base));
    let mut entries = versions.iter().map(|(_, (entry, _))| *entry).chain(cuda.map(|(entry, _)| entry));
    let from = if entries.all(of_base) { " (from the base image)" } else { "" };
    (!words.is_empty()).then(|| format!("{}{from}", words.join(", ")))
}

/// Maximum number of frameworks in a summary.
const MAX_SUMMARY_FRAMEWORKS: usize = 2;

/// Returns the ID of a fact in the report.
pub(super) fn report_fact_id(build: &PlatformBuild, id: FactId) -> String {
    FactId(build.first_fact + id.0).to_string()
}

/// Returns the ID of a knowledge table row in the report.
pub(super) fn report_row_id(row: &RowInfo) -> String {
    format!("{}/{}", row.table, row.row)
}
