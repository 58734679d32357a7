//! Edits to another build or release of a Python distribution, in commands and in requirement lists.

use crate::dockerfile::edit;
use crate::dockerfile::edit::SourceEdit;
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::proposed_change::last_pip_package;
use crate::fix::versions::is_build_selected_by_index;
use crate::fix::write::dockerfile_texts::{DockerfileTexts, EditVariant, combine_variants};
use crate::fix::write::index_urls::{EXTRA_INDEX_OPTION, RequirementSyntax, instruction_at, requirement_syntax};
use crate::fix::write::private_index::uses_private_index;
use crate::fix::write::value_edits::quote_shell_word;
use crate::fix::write::{index_urls, sole_index};
use crate::fix::{PackageEdit, ProposedChange, proposed_change};
use crate::model::package::{IndexSelection, ObservedPackage, PackageManager, PackageName, PackageVersion};
use crate::text::source::{SourceId, Span};

/// Returns the variants of the edits for another build or release, the local version label first.
pub(super) fn build_edit_variants(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    change: &ProposedChange,
) -> Vec<EditVariant> {
    let ProposedChange::Build { package, old_build, page, companions } = change else { return Vec::new() };
    let PackageEdit { name: package, from, to: version, build } = package;
    let to = version.as_str();
    let Some(own) = last_pip_package(&case.seen, package) else { return Vec::new() };
    let spots = fact_spans(case, own.fact);
    let Some((source, word)) = spots.first().copied() else { return Vec::new() };
    let Some(style) = requirement_syntax(texts, source, word) else { return Vec::new() };
    let text = texts.sources.get(source).text();
    let edit = |(span, replacement): (Span, String)| SourceEdit { source, span, replacement };
    if is_direct_reference(texts, (source, word)) {
        return Vec::new();
    }
    let Some(mut common_edits) = companion_edits(case, texts, companions) else { return Vec::new() };
    common_edits.extend(constraint_edits(case, own.command, package, to));
    let leaves = if source == texts.source { edit::value_spans(texts.dockerfile, text, word) } else { vec![word] };
    let mut found: Vec<EditVariant> = Vec::new();
    let mut add = |edits: Vec<SourceEdit>, elsewhere: bool| {
        let mut edits = [edits, common_edits.clone()].concat();
        edits.sort();
        edits.dedup();
        found.push(EditVariant { edits, elsewhere });
    };
    // Ways to write the release alone.
    let releases: Vec<Vec<SourceEdit>> = match from {
        Some(from) if from.as_str() == to => vec![Vec::new()],
        Some(from) => {
            let ways = edit::replacement_candidates(text, &leaves, from.as_str(), to).into_iter();
            ways.map(|way| way.into_iter().map(edit).collect()).collect()
        }
        None => pin_requirement(text, word, package, to).into_iter().map(|one| vec![edit(one)]).collect(),
    };
    let more =
        page.as_ref().and_then(|page| index_urls::add_index(texts, (source, word), style, (EXTRA_INDEX_OPTION, page)));
    let more: Option<Vec<SourceEdit>> = more.map(|more| more.into_iter().map(edit).collect());
    // What takes its wheels from a place that the tables do not know may have no way to another.
    let private = uses_private_index(case, texts, (source, word), spots.get(1).copied());
    match (old_build, build) {
        (old, new) if old == new => releases.into_iter().for_each(|release| add(release, false)),
        (Some(old), Some(new)) => {
            let change = (old.as_str(), new.as_str());
            let mut near = index_urls::nearby_index_urls(texts, (source, word));
            near.extend(spots.get(1));
            let wide = [near.clone(), index_urls::all_build_index_urls(texts, old)].concat();
            let words = local_version_edits(case, texts, Some(own.command), change);
            let all = local_version_edits(case, texts, None, change);
            for release in releases {
                // What is built on it and comes by another command is of the same build.
                for (words, places) in [(&all, &wide), (&words, &near)] {
                    let edits = index_url_edits(texts, places, change);
                    add([release.clone(), words.clone(), edits].concat(), false);
                }
                let words = [release, words.clone()].concat();
                if let Some(more) = &more {
                    add([words, more.clone()].concat(), private);
                }
            }
        }
        // With the default index, the wheel without CUDA comes from that index.
        (None, Some(new)) if is_build_selected_by_index(case, version, new) => {
            let only =
                more.and_then(|more| sole_index::replace_default_index(case, texts, (own, source, word), style, more));
            for release in only.iter().flat_map(|_| &releases) {
                add([release.clone(), only.clone().unwrap_or_default()].concat(), private);
            }
        }
        (None, Some(new)) => {
            let named = matches!(&own.requirement.indexes, IndexSelection::DefaultAndExtra(tags) if tags.contains(new));
            let Some(more) = more.map(|more| if named { Vec::new() } else { more }) else { return Vec::new() };
            let local = match from {
                Some(from) => version_span(text, word, from.as_str()).map(|span| (span, format!("{to}+{new}"))),
                None => pin_requirement(text, word, package, &format!("{to}+{new}")),
            };
            let more = [more, follower_index_edits(case, texts, own.command, page.as_deref())].concat();
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

/// Returns the variants of the edits for another version of a conda package, in every command that names it.
pub(super) fn conda_edit_variants(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    name: &str,
    (from, to): (&str, &str),
) -> Vec<EditVariant> {
    let mut found = vec![EditVariant::default()];
    for package in case.seen.packages.iter().filter(|one| proposed_change::is_conda_package(one, name)) {
        let Some((source, word)) = fact_spans(case, package.fact).into_iter().next() else { return Vec::new() };
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::value_spans(texts.dockerfile, text, word) } else { vec![word] };
        let edit = |(span, replacement): (Span, String)| SourceEdit { source, span, replacement };
        let ways: Vec<EditVariant> = edit::replacement_candidates(text, &leaves, from, to)
            .into_iter()
            .map(|way| EditVariant::from_edits(way.into_iter().map(edit).collect()))
            .collect();
        found = combine_variants(&found, &ways);
    }
    for way in &mut found {
        way.edits.sort();
        way.edits.dedup();
    }
    found
}

/// Returns the edit that replaces or adds an extra of a package.
pub(super) fn extra_edit(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    name: &str,
    (from, to): (Option<&PackageName>, &str),
) -> Option<SourceEdit> {
    let (source, word) = fact_spans(case, last_pip_package(&case.seen, name)?.fact).into_iter().next()?;
    let style = requirement_syntax(texts, source, word)?;
    let slice = text_at(texts, (source, word));
    let Some(from) = from else {
        let (span, replacement) =
            quote_bracket_insertion(texts, (source, word), style, extra_insertion(slice, word, name, to)?)?;
        return Some(SourceEdit { source, span, replacement });
    };
    let open = slice.find('[')? + 1;
    let inside = slice.get(open..)?.split(']').next()?;
    let mut at = open;
    for extra in inside.split(',') {
        let start = at + extra.len() - extra.trim_start().len();
        at += extra.len() + 1;
        if PackageName::python(extra.trim()) == *from {
            let start = word.start + start;
            let span = Span::new(start, start + extra.trim().len());
            return Some(SourceEdit { source, span, replacement: to.to_owned() });
        }
    }
    None
}

/// Returns the edits that rename a package in each requirement; `None` where one cannot be edited.
pub(super) fn rename_package(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    (from, to): (&str, &str),
) -> Option<Vec<SourceEdit>> {
    let packages = case
        .seen
        .packages
        .iter()
        .filter(|one| one.requirement.manager == PackageManager::Pip && one.requirement.name == from);
    let mut edits = Vec::new();
    for package in packages {
        let (source, word) = fact_spans(case, package.fact).into_iter().next()?;
        requirement_syntax(texts, source, word)?;
        let name = package_name_span(texts.sources.get(source).text(), word, from)?;
        edits.push(SourceEdit { source, span: name, replacement: to.to_owned() });
    }
    edits.sort();
    edits.dedup();
    Some(edits)
}

/// Returns the span of the package name at the start of a requirement.
fn package_name_span(text: &str, word: Span, package: &str) -> Option<Span> {
    let slice = text.get(word.start..word.end)?;
    let start = word.start + slice.len() - slice.trim_start_matches(['"', '\'']).len();
    let span = Span::new(start, start + package.len());
    let written = text.get(span.start..span.end)?;
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let whole = !text.get(span.end..word.end).is_some_and(|rest| rest.starts_with(goes_on));
    (whole && PackageName::python(written) == package).then_some(span)
}

/// Returns the insertion of one more extra of a package, in existing or new brackets.
fn extra_insertion(slice: &str, word: Span, name: &str, extra: &str) -> Option<(Span, String)> {
    let quote = slice.len() - slice.trim_start_matches(['"', '\'']).len();
    let own = slice.get(quote..quote + name.len())?;
    if PackageName::python(own) != name {
        return None;
    }
    let behind = quote + own.len();
    let insert_at = |at: usize, text: String| (Span::new(word.start + at, word.start + at), text);
    match slice.get(behind..)?.strip_prefix('[') {
        Some(inside) => Some(insert_at(behind + 1 + inside.find(']')?, format!(",{extra}"))),
        None => Some(insert_at(behind, format!("[{extra}]"))),
    }
}

/// Quotes an insertion of brackets where a shell would read them as a glob; `None` where quoting is ambiguous.
fn quote_bracket_insertion(
    texts: &DockerfileTexts<'_>,
    (source, word): (SourceId, Span),
    style: RequirementSyntax,
    (at, more): (Span, String),
) -> Option<(Span, String)> {
    let text = texts.sources.get(source).text();
    let slice = text.get(word.start..word.end)?;
    if matches!(style, RequirementSyntax::List | RequirementSyntax::Table) || slice.starts_with(['"', '\'']) {
        return Some((at, more));
    }
    let begins = instruction_at(texts, word).filter(|_| source == texts.source).map_or(0, |one| one.span.start);
    let before = text.get(begins..word.start)?;
    let (front, behind) = (text.get(word.start..at.start)?, text.get(at.start..word.end)?);
    let whole = format!("{front}{more}{behind}");
    if style == RequirementSyntax::Words {
        // A word of the list is no word of a shell; what is a command of one holds more than it.
        let is_whole_string = before.ends_with('"') && text.get(word.end..)?.starts_with('"');
        let quote = if whole.contains('$') { "\\\"" } else { "'" };
        return Some((word, if is_whole_string { whole } else { format!("{quote}{whole}{quote}") }));
    }
    let plain = !whole.contains(['"', '\'', '\\', '`']);
    plain.then(|| (word, quote_shell_word(before, &whole)))
}

/// Returns the span of a literal version within a word.
fn version_span(text: &str, word: Span, version: &str) -> Option<Span> {
    let at = word.start + text.get(word.start..word.end)?.find(version)?;
    Some(Span::new(at, at + version.len()))
}

/// Pins an unpinned requirement to one version: `torch>=2.0` as `torch==2.6.0`.
fn pin_requirement(text: &str, word: Span, package: &str, version: &str) -> Option<(Span, String)> {
    let name = package_name_span(text, word, package)?;
    let behind = text.get(name.end..word.end)?;
    let extras = if behind.starts_with('[') { behind.find(']')? + 1 } else { 0 };
    let specifier = behind.get(extras..)?;
    // What follows a blank, a marker or a quote is no version.
    let length = specifier.find(['"', '\'', ';', '#', ' ', '\r', '\n']).unwrap_or(specifier.len());
    let kept = text.get(name.start..name.end + extras)?;
    // With its name, so that it is no insertion: another one may begin where it ends.
    Some((Span::new(name.start, name.end + extras + length), format!("{kept}=={version}")))
}

/// Returns edits of the local version label in the requirements of one command, or of all commands.
fn local_version_edits(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    command: Option<u32>,
    (old, new): (&str, &str),
) -> Vec<SourceEdit> {
    let mut edits: Vec<SourceEdit> = Vec::new();
    let of_command = case.seen.packages.iter().filter(|one| {
        one.requirement.manager == PackageManager::Pip && command.is_none_or(|command| one.command == command)
    });
    let local = format!("+{old}");
    for (source, span) in of_command.filter_map(|one| fact_spans(case, one.fact).into_iter().next()) {
        let text = texts.sources.get(source).text();
        for (at, _) in text.get(span.start..span.end).unwrap_or_default().match_indices(&local) {
            let start = span.start + at + 1;
            edits.push(SourceEdit { source, span: Span::new(start, start + old.len()), replacement: new.to_owned() });
        }
    }
    edits
}

/// Returns edits that replace the build in index URLs.
pub(super) fn index_url_edits(
    texts: &DockerfileTexts<'_>,
    addresses: &[(SourceId, Span)],
    (old, new): (&str, &str),
) -> Vec<SourceEdit> {
    let mut edits = Vec::new();
    for (source, span) in addresses.iter().copied() {
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::value_spans(texts.dockerfile, text, span) } else { vec![span] };
        let way = edit::replacement_candidates(text, &leaves, old, new).into_iter().next().unwrap_or_default();
        edits.extend(way.into_iter().map(|(span, replacement)| SourceEdit { source, span, replacement }));
    }
    edits
}

/// Whether a requirement is a direct reference to a file or repository, so that no index applies.
fn is_direct_reference(texts: &DockerfileTexts<'_>, (source, word): (SourceId, Span)) -> bool {
    let text = texts.sources.get(source).text();
    let leaves = if source == texts.source { edit::value_spans(texts.dockerfile, text, word) } else { vec![word] };
    let direct = |span: Span| {
        let slice = text.get(span.start..span.end).unwrap_or_default();
        slice.contains("://")
            || slice.trim_end_matches(['"', '\'']).rsplit_once('.').is_some_and(|(_, extension)| extension == "whl")
    };
    // `name @ address` of a list.
    let behind = text.get(word.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    leaves.into_iter().any(direct) || behind.starts_with('@')
}

/// Returns the text of a span.
fn text_at<'a>(texts: &DockerfileTexts<'a>, (source, span): (SourceId, Span)) -> &'a str {
    texts.sources.get(source).text().get(span.start..span.end).unwrap_or_default()
}

/// Returns edits that add the index of a build to other commands with packages built for the framework.
fn follower_index_edits(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    command: u32,
    page: Option<&str>,
) -> Vec<SourceEdit> {
    let mut done = vec![command];
    let mut edits = Vec::new();
    for package in case.seen.packages.iter().filter(|one| follows_framework_build(case, one)) {
        let place = fact_spans(case, package.fact).into_iter().next().filter(|_| !done.contains(&package.command));
        let (Some((source, word)), Some(page)) = (place, page) else { continue };
        let more = requirement_syntax(texts, source, word)
            .and_then(|style| index_urls::add_index(texts, (source, word), style, (EXTRA_INDEX_OPTION, page)));
        done.push(package.command);
        edits.extend(more.into_iter().flatten().map(|(span, replacement)| SourceEdit { source, span, replacement }));
    }
    edits
}

/// Whether a package is built for each framework build and comes from the default index.
fn follows_framework_build(case: &FixContext<'_>, package: &ObservedPackage) -> bool {
    package.requirement.manager == PackageManager::Pip
        && package.requirement.indexes == IndexSelection::Default
        && package.variant.is_none()
        && case.knowledge().is_built_with_torch(&package.requirement.name)
        && match &package.requirement.version {
            PackageVersion::Exact(text) => text.local().is_none(),
            PackageVersion::Range(_) => true,
            PackageVersion::Unresolved(_) => false,
        }
}

/// Returns edits of constraint files in which the version is pinned.
fn constraint_edits(case: &FixContext<'_>, command: u32, package: &str, to: &str) -> Vec<SourceEdit> {
    let own = case.seen.bounds.iter().filter(|one| one.requirement.name == package && one.command == command);
    let mut edits = Vec::new();
    for bound in own {
        let PackageVersion::Exact(version) = &bound.requirement.version else { continue };
        let version = version.public();
        let Some((source, span)) = fact_spans(case, bound.fact).into_iter().next().filter(|_| version != to) else {
            continue;
        };
        let text = case.settings.sources.get(source).text();
        let place = version_span(text, span, version);
        edits.extend(place.map(|span| SourceEdit { source, span, replacement: to.to_owned() }));
    }
    edits
}

/// Returns edits of the companion packages; `None` where one of them cannot be edited.
fn companion_edits(
    case: &FixContext<'_>,
    texts: &DockerfileTexts<'_>,
    companions: &[PackageEdit],
) -> Option<Vec<SourceEdit>> {
    let mut edits = Vec::new();
    for one in companions {
        let package = last_pip_package(&case.seen, &one.name)?;
        let (source, span) = fact_spans(case, package.fact).into_iter().next()?;
        requirement_syntax(texts, source, span)?;
        if is_direct_reference(texts, (source, span)) {
            return None;
        }
        let text = texts.sources.get(source).text();
        let leaves = if source == texts.source { edit::value_spans(texts.dockerfile, text, span) } else { vec![span] };
        let way = match &one.from {
            Some(from) => {
                edit::replacement_candidates(text, &leaves, from.as_str(), one.to.as_str()).into_iter().next()?
            }
            None => vec![pin_requirement(text, span, &one.name, one.to.as_str())?],
        };
        edits.extend(way.into_iter().map(|(span, replacement)| SourceEdit { source, span, replacement }));
    }
    Some(edits)
}
