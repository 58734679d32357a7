//! Another build or release of a Python distribution, in a command or in a list of packages.

use crate::cure::Companion;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::framework::is_unnamed;
use crate::cure::wish;
use crate::cure::wish::package_of;
use crate::cure::write::Texts;
use crate::cure::write::Way;
use crate::cure::write::alone;
use crate::cure::write::index;
use crate::cure::write::index::EXTRA;
use crate::cure::write::index::Style;
use crate::cure::write::index::instruction;
use crate::cure::write::index::style;
use crate::cure::write::places;
use crate::cure::write::private::is_private;
use crate::cure::write::word::shell_word;
use crate::edit;
use crate::edit::TextEdit;
use crate::fact::Manager;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::install::public;
use crate::source::SourceId;
use crate::source::Span;

/// The ways to write it, the local version first.
pub(super) fn ways(case: &Case<'_>, texts: &Texts<'_>, wish: &Wish) -> Vec<Way> {
    let Wish::Build { package, from, to, old_build, build, page, companions } = wish else { return Vec::new() };
    let Some(own) = package_of(&case.seen, package) else { return Vec::new() };
    let spots = places(case, own.fact);
    let Some((source, word)) = spots.first().copied() else { return Vec::new() };
    let Some(style) = style(texts, source, word) else { return Vec::new() };
    let text = texts.sources.get(source).text();
    let edit = |(span, replacement): (Span, String)| TextEdit { source, span, replacement };
    if is_direct(texts, (source, word)) {
        return Vec::new();
    }
    let Some(mut beside) = others(case, texts, companions) else { return Vec::new() };
    beside.extend(bounds(case, own.command, package, to));
    let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, word) } else { vec![word] };
    let mut found: Vec<Way> = Vec::new();
    let mut add = |edits: Vec<TextEdit>, elsewhere: bool| {
        let mut edits = [edits, beside.clone()].concat();
        edits.sort();
        edits.dedup();
        found.push(Way { edits, elsewhere });
    };
    // Ways to write the release alone.
    let releases: Vec<Vec<TextEdit>> = match from {
        Some(from) if from == to => vec![Vec::new()],
        Some(from) => {
            let ways = edit::respell(text, &leaves, from, to).into_iter();
            ways.map(|way| way.into_iter().map(edit).collect()).collect()
        }
        None => pinned(text, word, package, to).into_iter().map(|one| vec![edit(one)]).collect(),
    };
    let more = page.as_ref().and_then(|page| index::one_more(texts, (source, word), style, (EXTRA, page)));
    let more: Option<Vec<TextEdit>> = more.map(|more| more.into_iter().map(edit).collect());
    // What takes its wheels from a place that the tables do not know may have no way to another.
    let private = is_private(case, texts, (source, word), spots.get(1).copied());
    match (old_build, build) {
        (old, new) if old == new => releases.into_iter().for_each(|release| add(release, false)),
        (Some(old), Some(new)) => {
            let change = (old.as_str(), new.as_str());
            let mut near = index::around(texts, (source, word));
            near.extend(spots.get(1));
            let wide = [near.clone(), index::everywhere(texts, old)].concat();
            let words = of_words(case, texts, Some(own.command), change);
            let all = of_words(case, texts, None, change);
            for release in releases {
                // What is built on it and comes by another command is of the same build.
                for (words, places) in [(&all, &wide), (&words, &near)] {
                    let edits = of_addresses(texts, places, change);
                    add([release.clone(), words.clone(), edits].concat(), false);
                }
                let words = [release, words.clone()].concat();
                if let Some(more) = &more {
                    add([words, more.clone()].concat(), private);
                }
            }
        }
        // Beside the default index, the wheel without CUDA is taken of that.
        (None, Some(new)) if is_unnamed(case, to, new) => {
            let only = more.and_then(|more| alone::instead(case, texts, (own, source, word), style, more));
            for release in only.iter().flat_map(|_| &releases) {
                add([release.clone(), only.clone().unwrap_or_default()].concat(), private);
            }
        }
        (None, Some(new)) => {
            let named = matches!(&own.offered, Offered::Beside(tags) if tags.contains(new));
            let Some(more) = more.map(|more| if named { Vec::new() } else { more }) else { return Vec::new() };
            let local = match from {
                Some(from) => literal(text, word, from).map(|span| (span, format!("{to}+{new}"))),
                None => pinned(text, word, package, &format!("{to}+{new}")),
            };
            let more = [more, followers(case, texts, own.command, page.as_deref())].concat();
            let elsewhere = private && !more.is_empty();
            if let Some(local) = local {
                add([vec![edit(local)], more.clone()].concat(), elsewhere);
            }
            for release in releases {
                add([release, more.clone()].concat(), elsewhere);
            }
        }
        (_, None) => {}
    }
    found
}

/// The ways to write another version of a package of conda wherever it is asked for.
pub(super) fn of_conda(case: &Case<'_>, texts: &Texts<'_>, name: &str, (from, to): (&str, &str)) -> Vec<Way> {
    let mut found = vec![Way::default()];
    for package in case.seen.packages.iter().filter(|one| wish::of_conda(one, name)) {
        let Some((source, word)) = places(case, package.fact).into_iter().next() else { return Vec::new() };
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, word) } else { vec![word] };
        let edit = |(span, replacement): (Span, String)| TextEdit { source, span, replacement };
        let ways: Vec<Way> = edit::respell(text, &leaves, from, to)
            .into_iter()
            .map(|way| Way::of(way.into_iter().map(edit).collect()))
            .collect();
        found = super::together(&found, &ways);
    }
    for way in &mut found {
        way.edits.sort();
        way.edits.dedup();
    }
    found
}

/// Another extra in the brackets of a package.
pub(super) fn extra(case: &Case<'_>, texts: &Texts<'_>, name: &str, (from, to): (&str, &str)) -> Option<TextEdit> {
    let (source, word) = places(case, package_of(&case.seen, name)?.fact).into_iter().next()?;
    let style = style(texts, source, word)?;
    let slice = written(texts, (source, word));
    if from.is_empty() {
        let (span, replacement) = bracketed(texts, (source, word), style, another(slice, word, name, to)?)?;
        return Some(TextEdit { source, span, replacement });
    }
    let open = slice.find('[')? + 1;
    let inside = slice.get(open..)?.split(']').next()?;
    let mut at = open;
    for extra in inside.split(',') {
        let start = at + extra.len() - extra.trim_start().len();
        at += extra.len() + 1;
        if extra.trim().to_ascii_lowercase().replace(['_', '.'], "-") == from {
            let start = word.start + start;
            let span = Span::new(start, start + extra.trim().len());
            return Some(TextEdit { source, span, replacement: to.to_owned() });
        }
    }
    None
}

/// A package by another name wherever it is asked for.
pub(super) fn renamed(case: &Case<'_>, texts: &Texts<'_>, (from, to): (&str, &str)) -> Option<Vec<TextEdit>> {
    let asked = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip && one.name == from);
    let mut edits = Vec::new();
    for package in asked {
        let (source, word) = places(case, package.fact).into_iter().next()?;
        style(texts, source, word)?;
        let name = name(texts.sources.get(source).text(), word, from)?;
        edits.push(TextEdit { source, span: name, replacement: to.to_owned() });
    }
    edits.sort();
    edits.dedup();
    Some(edits)
}

/// Where the name of a package stands at the beginning of its word.
fn name(text: &str, word: Span, package: &str) -> Option<Span> {
    let slice = text.get(word.start..word.end)?;
    let start = word.start + slice.len() - slice.trim_start_matches(['"', '\'']).len();
    let span = Span::new(start, start + package.len());
    let written = text.get(span.start..span.end)?;
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let whole = !text.get(span.end..word.end).is_some_and(|rest| rest.starts_with(goes_on));
    (whole && written.to_ascii_lowercase().replace(['_', '.'], "-") == package).then_some(span)
}

/// One more extra of a package, in its brackets or in new ones: where it goes, and what.
fn another(slice: &str, word: Span, name: &str, extra: &str) -> Option<(Span, String)> {
    let quote = slice.len() - slice.trim_start_matches(['"', '\'']).len();
    let own = slice.get(quote..quote + name.len())?;
    if own.to_ascii_lowercase().replace(['_', '.'], "-") != name {
        return None;
    }
    let behind = quote + own.len();
    let put = |at: usize, text: String| (Span::new(word.start + at, word.start + at), text);
    match slice.get(behind..)?.strip_prefix('[') {
        Some(inside) => Some(put(behind + 1 + inside.find(']')?, format!(",{extra}"))),
        None => Some(put(behind, format!("[{extra}]"))),
    }
}

/// An insertion of brackets into a word, as the text around it takes them: for a shell they are a pattern of names of
/// files. None where the quotes are such that nobody can tell.
fn bracketed(
    texts: &Texts<'_>,
    (source, word): (SourceId, Span),
    style: Style,
    (at, more): (Span, String),
) -> Option<(Span, String)> {
    let text = texts.sources.get(source).text();
    let slice = text.get(word.start..word.end)?;
    if matches!(style, Style::List | Style::Table) || slice.starts_with(['"', '\'']) {
        return Some((at, more));
    }
    let begins = instruction(texts, word).filter(|_| source == texts.source).map_or(0, |one| one.span.start);
    let before = text.get(begins..word.start)?;
    let (front, behind) = (text.get(word.start..at.start)?, text.get(at.start..word.end)?);
    let whole = format!("{front}{more}{behind}");
    if style == Style::Words {
        // A word of the list is no word of a shell; what is a command of one holds more than it.
        let alone = before.ends_with('"') && text.get(word.end..)?.starts_with('"');
        let quote = if whole.contains('$') { "\\\"" } else { "'" };
        return Some((word, if alone { whole } else { format!("{quote}{whole}{quote}") }));
    }
    let plain = !whole.contains(['"', '\'', '\\', '`']);
    plain.then(|| (word, shell_word(before, &whole)))
}

/// Where a version stands in its word as it is.
fn literal(text: &str, word: Span, version: &str) -> Option<Span> {
    let at = word.start + text.get(word.start..word.end)?.find(version)?;
    Some(Span::new(at, at + version.len()))
}

/// A requirement that nothing pins, with one version: `torch>=2.0` as `torch==2.6.0`.
fn pinned(text: &str, word: Span, package: &str, version: &str) -> Option<(Span, String)> {
    let name = name(text, word, package)?;
    let behind = text.get(name.end..word.end)?;
    let extras = if behind.starts_with('[') { behind.find(']')? + 1 } else { 0 };
    let said = behind.get(extras..)?;
    // What follows a blank, a marker or a quote is no version.
    let length = said.find(['"', '\'', ';', '#', ' ', '\r', '\n']).unwrap_or(said.len());
    let kept = text.get(name.start..name.end + extras)?;
    // With its name, so that it is no insertion: another one may begin where it ends.
    Some((Span::new(name.start, name.end + extras + length), format!("{kept}=={version}")))
}

/// The build in every word of a command, or of all of them.
fn of_words(case: &Case<'_>, texts: &Texts<'_>, command: Option<u32>, (old, new): (&str, &str)) -> Vec<TextEdit> {
    let mut edits: Vec<TextEdit> = Vec::new();
    let of_command = case
        .seen
        .packages
        .iter()
        .filter(|one| one.manager == Manager::Pip && command.is_none_or(|command| one.command == command));
    let local = format!("+{old}");
    for (source, span) in of_command.filter_map(|one| places(case, one.fact).into_iter().next()) {
        let text = texts.sources.get(source).text();
        for (at, _) in text.get(span.start..span.end).unwrap_or_default().match_indices(&local) {
            let start = span.start + at + 1;
            edits.push(TextEdit { source, span: Span::new(start, start + old.len()), replacement: new.to_owned() });
        }
    }
    edits
}

/// The build in the addresses of indexes.
pub(super) fn of_addresses(
    texts: &Texts<'_>,
    addresses: &[(SourceId, Span)],
    (old, new): (&str, &str),
) -> Vec<TextEdit> {
    let mut edits = Vec::new();
    for (source, span) in addresses.iter().copied() {
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, span) } else { vec![span] };
        let way = edit::respell(text, &leaves, old, new).into_iter().next().unwrap_or_default();
        edits.extend(way.into_iter().map(|(span, replacement)| TextEdit { source, span, replacement }));
    }
    edits
}

/// Whether a requirement names one file or repository: its address decides what is installed, and no index does.
fn is_direct(texts: &Texts<'_>, (source, word): (SourceId, Span)) -> bool {
    let text = texts.sources.get(source).text();
    let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, word) } else { vec![word] };
    let direct = |span: Span| {
        let slice = text.get(span.start..span.end).unwrap_or_default();
        slice.contains("://")
            || slice.trim_end_matches(['"', '\'']).rsplit_once('.').is_some_and(|(_, extension)| extension == "whl")
    };
    // `name @ address` of a list.
    let behind = text.get(word.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    leaves.into_iter().any(direct) || behind.starts_with('@')
}

/// What is written at a place.
fn written<'a>(texts: &Texts<'a>, (source, span): (SourceId, Span)) -> &'a str {
    texts.sources.get(source).text().get(span.start..span.end).unwrap_or_default()
}

/// The index of a build in every other command that asks for what goes with it: its builds are for one CUDA.
fn followers(case: &Case<'_>, texts: &Texts<'_>, command: u32, page: Option<&str>) -> Vec<TextEdit> {
    let mut done = vec![command];
    let mut edits = Vec::new();
    for package in case.seen.packages.iter().filter(|one| follows(case, one)) {
        let place = places(case, package.fact).into_iter().next().filter(|_| !done.contains(&package.command));
        let (Some((source, word)), Some(page)) = (place, page) else { continue };
        let more =
            style(texts, source, word).and_then(|style| index::one_more(texts, (source, word), style, (EXTRA, page)));
        done.push(package.command);
        edits.extend(more.into_iter().flatten().map(|(span, replacement)| TextEdit { source, span, replacement }));
    }
    edits
}

/// Whether a package goes with the framework, build by build, and is one of the default index.
fn follows(case: &Case<'_>, package: &PackageSeen) -> bool {
    package.manager == Manager::Pip
        && package.offered == Offered::Default
        && package.variant.is_none()
        && case.knowledge().is_built_with_torch(&package.name)
        && match &package.version {
            PackageVersion::Exact(text) => !text.contains('+'),
            PackageVersion::Open(_) => true,
            PackageVersion::Unresolved(_) => false,
        }
}

/// The version in the lists that bound it, where one is pinned there.
fn bounds(case: &Case<'_>, command: u32, package: &str, to: &str) -> Vec<TextEdit> {
    let own = case.seen.bounds.iter().filter(|one| one.name == package && one.command == command);
    let mut edits = Vec::new();
    for bound in own {
        let PackageVersion::Exact(version) = &bound.version else { continue };
        let version = public(version);
        let Some((source, span)) = places(case, bound.fact).into_iter().next().filter(|_| version != to) else {
            continue;
        };
        let text = case.settings.sources.get(source).text();
        let place = literal(text, span, version);
        edits.extend(place.map(|span| TextEdit { source, span, replacement: to.to_owned() }));
    }
    edits
}

/// What changes with it; none where it is not written where it can be changed.
fn others(case: &Case<'_>, texts: &Texts<'_>, companions: &[Companion]) -> Option<Vec<TextEdit>> {
    let mut edits = Vec::new();
    for one in companions {
        let package = package_of(&case.seen, &one.package)?;
        let (source, span) = places(case, package.fact).into_iter().next()?;
        style(texts, source, span)?;
        if is_direct(texts, (source, span)) {
            return None;
        }
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, span) } else { vec![span] };
        let way = match &one.from {
            Some(from) => edit::respell(text, &leaves, from, &one.to).into_iter().next()?,
            None => vec![pinned(text, span, &one.package, &one.to)?],
        };
        edits.extend(way.into_iter().map(|(span, replacement)| TextEdit { source, span, replacement }));
    }
    Some(edits)
}
