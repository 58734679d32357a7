//! The index of one build, in every command that asks for a framework and what is built with it and pins neither.

use std::collections::BTreeMap;

use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::write::Texts;
use crate::cure::write::Way;
use crate::cure::write::build::of_addresses;
use crate::cure::write::index;
use crate::cure::write::index::EXTRA;
use crate::cure::write::index::OWN;
use crate::cure::write::index::Style;
use crate::cure::write::index::style;
use crate::cure::write::places;
use crate::cure::write::private::is_private;
use crate::edit::TextEdit;
use crate::fact::Manager;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::source::SourceId;
use crate::source::Span;

/// One command, or the list that it reads.
struct Asked<'a> {
    /// Where what it asks for is written, in the order of the text.
    places: Vec<(SourceId, Span)>,
    /// What it asks for.
    names: Vec<&'a str>,
    /// The first of the packages that are built for each CUDA.
    first: &'a PackageSeen,
    style: Style,
}

/// The ways to write it; none where the framework's own command asks for more than the index has.
pub(super) fn ways(case: &Case<'_>, texts: &Texts<'_>, wish: &Wish) -> Vec<Way> {
    let Wish::Index { package, from, build, page } = wish else { return Vec::new() };
    let Some(commands) = asked(case, texts, package) else { return Vec::new() };
    if let Some(old) = from {
        let change = (old.as_str(), build.as_str());
        let of_it = |one: &&Asked<'_>| matches!(&one.first.offered, Offered::Only(tag) if tag == old);
        let words = commands.iter().filter(of_it).filter_map(|one| one.places.first().copied());
        let near: Vec<(SourceId, Span)> = words.flat_map(|word| index::around(texts, word)).collect();
        let wide = [near.clone(), index::everywhere(texts, old)].concat();
        let way = |addresses: &Vec<(SourceId, Span)>| {
            let mut edits = of_addresses(texts, addresses, change);
            edits.sort();
            edits.dedup();
            Way::of(edits)
        };
        return [near, wide].iter().map(way).collect();
    }
    let mut edits: Vec<TextEdit> = Vec::new();
    for one in &commands {
        let own = one.names.contains(&package.as_str());
        match edits_of(texts, one, (build, page), own) {
            Some(more) => edits.extend(more),
            None if own => return Vec::new(),
            None => {}
        }
    }
    edits.sort();
    edits.dedup();
    let words = commands.iter().flat_map(|one| one.places.iter().copied());
    let elsewhere = words.into_iter().any(|word| is_private(case, texts, word, None));
    vec![Way { edits, elsewhere }]
}

/// The commands that ask for the framework, or for what is built with it, and pin neither; none where one of these is
/// written where nobody edits it.
fn asked<'a>(case: &'a Case<'_>, texts: &Texts<'_>, package: &str) -> Option<Vec<Asked<'a>>> {
    let knowledge = case.knowledge();
    let is_open = |one: &&PackageSeen| {
        one.manager == Manager::Pip
            && (one.name == package || knowledge.is_built_with_torch(&one.name))
            && matches!(one.version, PackageVersion::Open(_))
    };
    let mut found: BTreeMap<u32, Asked<'a>> = BTreeMap::new();
    for one in case.seen.packages.iter().filter(is_open) {
        let place = places(case, one.fact).into_iter().next()?;
        let style = style(texts, place.0, place.1)?;
        let own = found.entry(one.command).or_insert_with(|| Asked {
            places: Vec::new(),
            names: Vec::new(),
            first: one,
            style,
        });
        own.places.push(place);
        own.places.sort_unstable();
        own.names.push(&one.name);
    }
    Some(found.into_values().collect())
}

/// The index in one command: instead of the default one where it has all that is asked for, else beside that for what is
/// not the framework itself.
fn edits_of(texts: &Texts<'_>, one: &Asked<'_>, (build, page): (&str, &str), own: bool) -> Option<Vec<TextEdit>> {
    let (first, last) = (*one.places.first()?, *one.places.last()?);
    let place = if one.style == Style::List { first } else { last };
    let alone = one.places.iter().all(|(source, _)| *source == place.0)
        && index::asks_for_nothing_else(texts, place, one.style, &one.names);
    let (source, _) = place;
    let edit = |(span, replacement): (Span, String)| TextEdit { source, span, replacement };
    let put = |option: &str| index::one_more(texts, place, one.style, (option, page));
    let found = match &one.first.offered {
        Offered::Default if alone => put(OWN)?,
        Offered::Default if !own => put(EXTRA)?,
        Offered::Beside(tags) if alone && tags.iter().any(|tag| tag == build) => {
            vec![index::made_own(texts, place, build)?]
        }
        _ => return None,
    };
    Some(found.into_iter().map(edit).collect())
}
