//! Another build or release of a Python distribution, in a command or in a list of packages.

use crate::cure::Companion;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::wish;
use crate::cure::wish::package_of;
use crate::cure::write::Texts;
use crate::cure::write::places;
use crate::cure::write::word::addresses;
use crate::cure::write::word::word_end;
use crate::edit;
use crate::edit::TextEdit;
use crate::fact::Manager;
use crate::source::SourceId;
use crate::source::Span;

/// How the words of a text are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A command of a shell.
    Shell,
    /// A list of requirements, one a line.
    List,
}

/// The way of a text; none where nobody edits it by hand.
fn style(texts: &Texts<'_>, source: SourceId) -> Option<Style> {
    if source == texts.source {
        return Some(Style::Shell);
    }
    let name = texts.sources.get(source).name();
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("txt" | "in") => Some(Style::List),
        Some("sh" | "bash") => Some(Style::Shell),
        _ => None,
    }
}

/// The ways to write it, the local version first.
pub(super) fn ways(case: &Case<'_>, texts: &Texts<'_>, wish: &Wish) -> Vec<Vec<TextEdit>> {
    let Wish::Build { package, from, to, old_build, build, page, companions } = wish else { return Vec::new() };
    let Some(own) = package_of(&case.seen, package) else { return Vec::new() };
    let spots = places(case, own.fact);
    let Some((source, word)) = spots.first().copied() else { return Vec::new() };
    let Some(style) = style(texts, source) else { return Vec::new() };
    let text = texts.sources.get(source).text();
    let edit = |(span, replacement): (Span, String)| TextEdit { source, span, replacement };
    let Some(beside) = others(case, texts, companions) else { return Vec::new() };
    let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, word) } else { vec![word] };
    let mut found: Vec<Vec<TextEdit>> = Vec::new();
    let mut add = |parts: Vec<TextEdit>| {
        let mut way: Vec<TextEdit> = parts.into_iter().chain(beside.clone()).collect();
        way.sort();
        way.dedup();
        found.push(way);
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
    match (old_build, build) {
        (old, new) if old == new => releases.into_iter().for_each(add),
        (Some(old), Some(new)) => {
            let mut places = indexes(texts, (source, word));
            places.extend(spots.get(1));
            let builds = named(case, texts, own.command, &places, (old, new));
            for release in releases {
                add(release.into_iter().chain(builds.clone()).collect());
            }
        }
        (None, Some(new)) => {
            let page = page.as_ref().and_then(|page| index(text, word, style, page)).map(edit);
            let Some(page) = page else { return Vec::new() };
            let local = match from {
                Some(from) => literal(text, word, from).map(|span| (span, format!("{to}+{new}"))),
                None => pinned(text, word, package, &format!("{to}+{new}")),
            };
            if let Some(local) = local {
                add(vec![edit(local), page.clone()]);
            }
            for release in releases {
                add(release.into_iter().chain([page.clone()]).collect());
            }
        }
        (_, None) => {}
    }
    found
}

/// The ways to write another version of a package of conda wherever it is asked for.
pub(super) fn of_conda(case: &Case<'_>, texts: &Texts<'_>, name: &str, (from, to): (&str, &str)) -> Vec<Vec<TextEdit>> {
    let mut found: Vec<Vec<TextEdit>> = vec![Vec::new()];
    for package in case.seen.packages.iter().filter(|one| wish::of_conda(one, name)) {
        let Some((source, word)) = places(case, package.fact).into_iter().next() else { return Vec::new() };
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, word) } else { vec![word] };
        let edit = |(span, replacement): (Span, String)| TextEdit { source, span, replacement };
        let ways: Vec<Vec<TextEdit>> =
            edit::respell(text, &leaves, from, to).into_iter().map(|way| way.into_iter().map(edit).collect()).collect();
        found = super::together(&found, &ways);
    }
    for way in &mut found {
        way.sort();
        way.dedup();
    }
    found
}

/// Where a version stands in its word as it is.
fn literal(text: &str, word: Span, version: &str) -> Option<Span> {
    let at = word.start + text.get(word.start..word.end)?.find(version)?;
    Some(Span::new(at, at + version.len()))
}

/// A requirement that nothing pins, with one version: `torch>=2.0` as `torch==2.6.0`.
fn pinned(text: &str, word: Span, package: &str, version: &str) -> Option<(Span, String)> {
    let slice = text.get(word.start..word.end)?;
    let quote = slice.len() - slice.trim_start_matches(['"', '\'']).len();
    let rest = slice.get(quote..)?;
    let name = rest.get(..package.len()).filter(|name| name.to_ascii_lowercase().replace('_', "-") == package)?;
    let behind = rest.get(name.len()..)?;
    let extras = if behind.starts_with('[') { behind.find(']')? + 1 } else { 0 };
    let said = behind.get(extras..)?;
    // What follows a blank, a marker or a quote is no version.
    let length = said.find(['"', '\'', ';', '#', ' ', '\r', '\n']).unwrap_or(said.len());
    let start = word.start + quote + name.len() + extras;
    Some((Span::new(start, start + length), format!("=={version}")))
}

/// One more index: behind the word in a command, on a line of its own in a list.
fn index(text: &str, word: Span, style: Style, page: &str) -> Option<(Span, String)> {
    let option = format!("--extra-index-url {page}");
    match style {
        Style::Shell => {
            let at = word_end(text, word);
            Some((Span::new(at, at), format!(" {option}")))
        }
        Style::List => {
            let at = edit::line_start(text, word.start);
            (!text.contains(&option)).then(|| (Span::new(at, at), format!("{option}{}", edit::line_ending(text))))
        }
    }
}

/// The build in every word of a command, and in the addresses of its indexes.
fn named(
    case: &Case<'_>,
    texts: &Texts<'_>,
    command: u32,
    addresses: &[(SourceId, Span)],
    (old, new): (&str, &str),
) -> Vec<TextEdit> {
    let mut edits: Vec<TextEdit> = Vec::new();
    let of_command = case.seen.packages.iter().filter(|one| one.manager == Manager::Pip && one.command == command);
    let local = format!("+{old}");
    for (source, span) in of_command.filter_map(|one| places(case, one.fact).into_iter().next()) {
        let text = texts.sources.get(source).text();
        for (at, _) in text.get(span.start..span.end).unwrap_or_default().match_indices(&local) {
            let start = span.start + at + 1;
            edits.push(TextEdit { source, span: Span::new(start, start + old.len()), replacement: new.to_owned() });
        }
    }
    for (source, span) in addresses.iter().copied() {
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, span) } else { vec![span] };
        let way = edit::respell(text, &leaves, old, new).into_iter().next().unwrap_or_default();
        edits.extend(way.into_iter().map(|(span, replacement)| TextEdit { source, span, replacement }));
    }
    edits.sort();
    edits.dedup();
    edits
}

/// The addresses of indexes around a word: of its instruction, of its list, and of the instructions that name the list.
/// Where the version says the build itself, an index that is for the old build alone has none for the new one.
fn indexes(texts: &Texts<'_>, (source, word): (SourceId, Span)) -> Vec<(SourceId, Span)> {
    let whole = |id: SourceId| texts.sources.get(id).text();
    let list = if source == texts.source { None } else { file_name(texts.sources.get(source).name()) };
    let holds = |span: Span| match list {
        Some(name) => texts.text.get(span.start..span.end).is_some_and(|text| names(text, name)),
        None => span.start <= word.start && word.end <= span.end,
    };
    let spans = texts.dockerfile.instructions.iter().map(|one| one.span).filter(|span| holds(*span));
    let mut regions: Vec<(SourceId, Span)> = spans.map(|span| (texts.source, span)).collect();
    regions.extend(list.map(|_| (source, Span::new(0, whole(source).len()))));
    let of_region = |(id, span): (SourceId, Span)| {
        let found = addresses(whole(id).get(span.start..span.end).unwrap_or_default());
        found.into_iter().map(move |one| (id, Span::new(span.start + one.start, span.start + one.end)))
    };
    regions.into_iter().flat_map(of_region).collect()
}

/// Whether a text names a file: not one with a longer name that ends like it.
fn names(text: &str, file: &str) -> bool {
    let before = |at: usize| text.get(..at).and_then(|before| before.chars().next_back());
    text.match_indices(file)
        .any(|(at, _)| before(at).is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.')))
}

/// The last part of a path.
fn file_name(path: &str) -> Option<&str> {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

/// What changes with it; none where it is not written where it can be changed.
fn others(case: &Case<'_>, texts: &Texts<'_>, companions: &[Companion]) -> Option<Vec<TextEdit>> {
    let mut edits = Vec::new();
    for one in companions {
        let package = package_of(&case.seen, &one.package)?;
        let (source, span) = places(case, package.fact).into_iter().next()?;
        style(texts, source)?;
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::leaves(texts.dockerfile, text, span) } else { vec![span] };
        let way = edit::respell(text, &leaves, &one.from, &one.to).into_iter().next()?;
        edits.extend(way.into_iter().map(|(span, replacement)| TextEdit { source, span, replacement }));
    }
    Some(edits)
}
