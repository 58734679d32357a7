//! Edits that set the index of one build in all commands that install an unpinned framework and its companion
//! packages.

use std::collections::BTreeMap;

use crate::dockerfile::edit::SourceEdit;
use crate::fix::ProposedChange;
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::write::dockerfile_texts::{DockerfileTexts, EditVariant};
use crate::fix::write::index_urls;
use crate::fix::write::index_urls::{EXTRA_INDEX_OPTION, INDEX_OPTION, RequirementSyntax, requirement_syntax};
use crate::fix::write::package_build::index_url_edits;
use crate::fix::write::private_index::uses_private_index;
use crate::model::package::{IndexSelection, ObservedPackage, PackageManager};
use crate::text::source::{SourceId, Span};

/// One command, or its requirements file, that installs unpinned framework packages.
struct UnpinnedInstall<'a> {
    /// Spans of the requirements, in text order.
    places: Vec<(SourceId, Span)>,
    /// Names of the required packages.
    names: Vec<&'a str>,
    /// The first package that is built for each CUDA release.
    first: &'a ObservedPackage,
    style: RequirementSyntax,
}

/// Returns the variants of the edits for another build index; empty where the framework command needs other packages.
pub(super) fn index_edit_variants(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    change: &ProposedChange,
) -> Vec<EditVariant> {
    let ProposedChange::Index { package, from, build, page } = change else { return Vec::new() };
    let Some(commands) = unpinned_installs(case, texts, package) else { return Vec::new() };
    if let Some(old) = from {
        let change = (old.as_str(), build.as_str());
        let of_it = |one: &&UnpinnedInstall<'_>| matches!(&one.first.requirement.indexes, IndexSelection::Only(tag) if tag == old);
        let words = commands.iter().filter(of_it).filter_map(|one| one.places.first().copied());
        let near: Vec<(SourceId, Span)> = words.flat_map(|word| index_urls::nearby_index_urls(texts, word)).collect();
        let wide = [near.clone(), index_urls::all_build_index_urls(texts, old)].concat();
        let way = |addresses: &Vec<(SourceId, Span)>| {
            let mut edits = index_url_edits(texts, addresses, change);
            edits.sort();
            edits.dedup();
            EditVariant::from_edits(edits)
        };
        return [near, wide].iter().map(way).collect();
    }
    let mut edits: Vec<SourceEdit> = Vec::new();
    for one in &commands {
        let own = one.names.contains(&package.as_str());
        match install_edits(texts, one, (build, page), own) {
            Some(more) => edits.extend(more),
            None if own => return Vec::new(),
            None => {}
        }
    }
    edits.sort();
    edits.dedup();
    let words = commands.iter().flat_map(|one| one.places.iter().copied());
    let elsewhere = words.into_iter().any(|word| uses_private_index(case, texts, word, None));
    vec![EditVariant { edits, elsewhere }]
}

/// Returns the commands with unpinned framework packages; `None` where one of these packages cannot be edited.
fn unpinned_installs<'a>(
    case: &'a FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    package: &str,
) -> Option<Vec<UnpinnedInstall<'a>>> {
    let knowledge = case.knowledge();
    let is_open = |one: &&ObservedPackage| {
        one.requirement.manager == PackageManager::Pip
            && (one.requirement.name == package || knowledge.is_built_with_torch(&one.requirement.name))
            && one.requirement.version.is_range()
    };
    let mut found: BTreeMap<u32, UnpinnedInstall<'a>> = BTreeMap::new();
    for one in case.seen.packages.iter().filter(is_open) {
        let place = fact_spans(case, one.fact).into_iter().next()?;
        let style = requirement_syntax(texts, place.0, place.1)?;
        let own = found.entry(one.command).or_insert_with(|| UnpinnedInstall {
            places: Vec::new(),
            names: Vec::new(),
            first: one,
            style,
        });
        own.places.push(place);
        own.places.sort_unstable();
        own.names.push(&one.requirement.name);
    }
    Some(found.into_values().collect())
}

/// Returns the edits of one command: a replaced index where it has all packages, else an extra index for companions.
fn install_edits(
    texts: &DockerfileTexts<'_>,
    one: &UnpinnedInstall<'_>,
    (build, page): (&str, &str),
    own: bool,
) -> Option<Vec<SourceEdit>> {
    let (first, last) = (*one.places.first()?, *one.places.last()?);
    let place = if one.style == RequirementSyntax::List { first } else { last };
    let installs_nothing_else = one.places.iter().all(|(source, _)| *source == place.0)
        && index_urls::installs_only(texts, place, one.style, &one.names);
    let (source, _) = place;
    let edit = |(span, replacement): (Span, String)| SourceEdit { source, span, replacement };
    let insert_option = |option: &str| index_urls::add_index(texts, place, one.style, (option, page));
    let found = match &one.first.requirement.indexes {
        IndexSelection::Default if installs_nothing_else => insert_option(INDEX_OPTION)?,
        IndexSelection::Default if !own => insert_option(EXTRA_INDEX_OPTION)?,
        IndexSelection::DefaultAndExtra(tags) if installs_nothing_else && tags.iter().any(|tag| tag == build) => {
            vec![index_urls::replace_extra_index_option(texts, place, build)?]
        }
        _ => return None,
    };
    Some(found.into_iter().map(edit).collect())
}
