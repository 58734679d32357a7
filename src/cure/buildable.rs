//! Whether an image whose packages are others still builds, as far as its texts and the tables tell: hashes are of one
//! wheel, bounds are for one release, and a build lies in the indexes that have it and in no other.

use crate::cuda::CudaVersion;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::left;
use crate::cure::left::Goes;
use crate::cure::stays;
use crate::cure::wish::package_of;
use crate::cure::write::places;
use crate::cure::write::shown::writes_unknown;
use crate::cure::write::written;
use crate::edit::TextEdit;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::infer::variant_cuda;
use crate::install::EVERY_BUILD;
use crate::install::admits;
use crate::install::public;
use crate::judge;
use crate::judge::Content;
use crate::source::SourceId;
use crate::source::Span;

/// Nothing that can be edited line by line holds it.
pub(super) const BY_HAND: &str = "manual: no single value in a file selects it";
const HASHED: &str = "manual: its hashes are those of other wheels";
const UNHASHED: &str = "manual: its dependencies need hashes as well";
const BOUNDED: &str = "manual: another list limits it to another release";
const UNTOLD: &str = "manual: whether a package built on it exists for that CUDA is unknown";
const BEHIND: &str = "manual: another command installs a package built on it, which stays a build for another CUDA";
const UNSHOWN: &str = "manual: no source shows that the address of that build exists";
const NOWHERE: &str = "manual: no index of that command is known to contain it";

/// What asks for wheels by their hashes.
const HASHES: [&str; 4] = ["--hash=", "--hash ", "--require-hashes", "PIP_REQUIRE_HASHES"];

/// What a wish wants of one package.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) build: Option<&'a str>,
}

/// The packages of a wish.
fn wanted(wish: &Wish) -> Vec<Wanted<'_>> {
    match wish {
        Wish::Build { package, to, build, companions, .. } => {
            let own = Wanted { name: package, version: to, build: build.as_deref() };
            let others = companions.iter().map(|one| Wanted { name: &one.package, version: &one.to, build: None });
            others.chain([own]).collect()
        }
        Wish::All(list) => list.iter().flat_map(wanted).collect(),
        _ => Vec::new(),
    }
}

/// Whether a text names what the wish changes: the Dockerfile, or a file that names what its variables are.
pub(super) fn is_named(case: &Case<'_>, wish: &Wish) -> bool {
    if matches!(wish, Wish::Base { .. } | Wish::Whole { .. } | Wish::DropPackage(_)) {
        return true;
    }
    let wanted = wanted(wish);
    !wanted.is_empty() && wanted.iter().all(|one| package_of(&case.seen, one.name).is_some())
}

/// What keeps edits that grant a wish from being written.
pub(super) fn hindrance(
    case: &Case<'_>,
    wish: &Wish,
    edits: &[TextEdit],
    after: &Observations,
) -> Option<&'static str> {
    if brings_more(wish) && asks_for_hashes(case) {
        return Some(UNHASHED);
    }
    if writes_unknown(case, edits) {
        return Some(UNSHOWN);
    }
    let wanted = wanted(wish);
    if let Some(why) = stays::stays(case, &wanted, after) {
        return Some(why);
    }
    if wanted.is_empty() && !renames(wish) {
        return None;
    }
    if edits.iter().any(|edit| has_hashes(case, edit.source, edit.span)) {
        return Some(HASHED);
    }
    if wanted.iter().any(|one| is_bounded(after, one)) {
        return Some(BOUNDED);
    }
    if wanted.iter().filter_map(|one| Some((one, one.build?))).any(|(one, build)| goes_untold(case, one, build, after))
    {
        return Some(UNTOLD);
    }
    if wanted.iter().any(|one| one.build.is_some_and(|build| stays_behind(case, one, build, after))) {
        return Some(BEHIND);
    }
    let left = |one: &Wanted<'_>| {
        left::left(case, Goes { name: one.name, version: one.version, build: one.build }, edits, after)
    };
    if let Some(why) = wanted.iter().find_map(left) {
        return Some(why);
    }
    (!are_offered(case, &wanted, edits, after)).then_some(NOWHERE)
}

/// Whether packages that nothing names come with a wish.
fn brings_more(wish: &Wish) -> bool {
    match wish {
        Wish::All(list) => list.iter().any(brings_more),
        one => matches!(one, Wish::Whole { .. } | Wish::Extra { .. }),
    }
}

/// Whether a package is another one with a wish, or comes from elsewhere.
fn renames(wish: &Wish) -> bool {
    match wish {
        Wish::All(list) => list.iter().any(renames),
        one => matches!(one, Wish::Extra { .. } | Wish::Name { .. } | Wish::Index { .. }),
    }
}

/// Whether something with GPU code of its own goes to another build with what is wanted, and no table says that it is
/// built for that CUDA: the project's index has some of them for some.
fn goes_untold(case: &Case<'_>, wanted: &Wanted<'_>, build: &str, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let chosen = |package: &'_ PackageSeen| match local(case, package) {
        Some(local) => Some(local.to_owned()),
        None => match &package.offered {
            Offered::Only(tag) => Some(tag.clone()),
            Offered::Default | Offered::Beside(_) | Offered::Unknown(_) => None,
        },
    };
    let others = after.packages.iter().filter(|one| one.manager == Manager::Pip && one.name != wanted.name);
    let mut follows = others.filter(|one| {
        let code = knowledge.framework(&one.name).is_some() && knowledge.has_build_index(&one.name);
        code && !knowledge.is_built_with_torch(&one.name)
    });
    follows.any(|one| {
        let before = package_of(&case.seen, &one.name).and_then(chosen);
        chosen(one).as_deref() == Some(build) && before.as_deref() != Some(build)
    })
}

/// Whether what goes with the framework, build by build, stays one for another CUDA major: each is loaded by the other.
fn stays_behind(case: &Case<'_>, wanted: &Wanted<'_>, build: &str, after: &Observations) -> bool {
    let knowledge = case.knowledge();
    let major = |tag: &str| variant_cuda(tag).map(CudaVersion::major);
    let arch = case.platform.split('/').nth(1).unwrap_or_default();
    let of_index = || {
        let row = knowledge.torch(wanted.version).filter(|_| knowledge.is_built_framework(wanted.name))?;
        row.default_variant.iter().find(|one| one.arch == arch).map(|one| one.value)
    };
    let told = |one: &&PackageSeen| {
        one.manager == Manager::Pip
            && knowledge.is_built_with_torch(&one.name)
            && !matches!(one.version, PackageVersion::Unresolved(_))
    };
    after.packages.iter().filter(told).any(|one| {
        let tag = match (local(case, one), &one.offered) {
            (Some(local), _) => Some(local),
            (None, Offered::Only(tag)) => Some(tag.as_str()),
            (None, Offered::Beside(tags)) if tags.iter().any(|tag| tag == build) => Some(build),
            (None, Offered::Default | Offered::Beside(_)) => of_index(),
            (None, Offered::Unknown(_)) => None,
        };
        tag.is_some_and(|tag| major(tag).is_some_and(|own| Some(own) != major(build)))
    })
}

/// Whether the list or the instruction that holds a place names wheels by their hashes.
fn has_hashes(case: &Case<'_>, source: SourceId, place: Span) -> bool {
    let text = case.settings.sources.get(source).text();
    let own = match &case.subject.content {
        Content::Dockerfile { source: own, dockerfile, .. } if *own == source => {
            let holds = |span: &Span| span.start <= place.start && place.end <= span.end;
            let mut spans = dockerfile.instructions.iter().map(|one| one.span);
            spans.find(holds).and_then(|span| text.get(span.start..span.end)).unwrap_or_default()
        }
        _ => text,
    };
    holds_hashes(own)
}

/// Whether a text names wheels by their hashes, or asks for those of all.
fn holds_hashes(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.any(|line| HASHES.iter().any(|words| line.contains(words)))
}

/// Whether anything that the build reads has hashes: with one of them, pip wants those of all that it installs.
fn asks_for_hashes(case: &Case<'_>) -> bool {
    let Content::Dockerfile { source, files, .. } = &case.subject.content else { return false };
    let read = files.asked().filter_map(|(_, file)| Some(file.as_ref().ok()?.source));
    let mut texts = read.chain([*source]).map(|source| case.settings.sources.get(source).text());
    texts.any(holds_hashes)
}

/// Whether a list that bounds versions does not admit what is wanted.
fn is_bounded(after: &Observations, one: &Wanted<'_>) -> bool {
    let Some(package) = package_of(after, one.name) else { return false };
    let own = after.bounds.iter().filter(|bound| bound.name == one.name && bound.command == package.command);
    own.into_iter().any(|bound| match &bound.version {
        PackageVersion::Exact(text) => {
            let local = text.split_once('+').map(|(_, local)| local);
            public(text) != one.version || (local.is_some() && local != one.build)
        }
        PackageVersion::Open(range) => !range.is_empty() && admits(range, one.version) == Some(false),
        PackageVersion::Unresolved(_) => true,
    })
}

/// The build that a version names: `cu118` of `2.4.0+cu118`, where there are indexes of it.
fn local<'a>(case: &Case<'_>, package: &'a PackageSeen) -> Option<&'a str> {
    let PackageVersion::Exact(text) = &package.version else { return None };
    let (_, local) = text.split_once('+')?;
    let pip = package.manager == Manager::Pip && case.knowledge().has_build_index(&package.name);
    (pip && local.starts_with("cu")).then_some(local)
}

/// Whether every build that a version names lies in an index that its command asks. The version says the build, so that
/// nothing asks then which indexes there are: the text is read once more with versions that say none.
fn are_offered(case: &Case<'_>, wanted: &[Wanted<'_>], edits: &[TextEdit], after: &Observations) -> bool {
    let named: Vec<(&PackageSeen, &str)> =
        after.packages.iter().filter_map(|one| Some((one, local(case, one)?))).collect();
    if named.is_empty() {
        return true;
    }
    let mut less: Vec<TextEdit> = Vec::new();
    for package in case.seen.packages.iter().filter(|one| local(case, one).is_some()) {
        let place = places(case, package.fact).into_iter().next();
        less.extend(place.and_then(|place| without_build(case, place)).filter(|edit| !less.contains(edit)));
    }
    let within = |edit: &TextEdit, gone: &TextEdit| {
        // What is put in behind it stays.
        edit.source == gone.source && gone.span.start <= edit.span.start && edit.span.start < gone.span.end
    };
    let kept: Vec<TextEdit> = edits
        .iter()
        .filter(|edit| !less.iter().any(|gone| within(edit, gone)))
        .map(|edit| {
            let builds = wanted.iter().filter_map(|one| one.build);
            let replacement =
                builds.fold(edit.replacement.clone(), |text, build| text.replace(&format!("+{build}"), ""));
            TextEdit { replacement, ..edit.clone() }
        })
        .collect();
    less.extend(kept);
    let read = written(case.subject, case.settings.sources, &less)
        .and_then(|subject| judge::observations(&subject.content, &case.platform));
    let Some(read) = read else { return false };
    named.into_iter().all(|(package, build)| {
        let mut same = read.packages.iter().rev().filter(|one| one.manager == Manager::Pip && one.name == package.name);
        let own = wanted.iter().any(|one| one.name == package.name);
        match same.find(|one| one.command == package.command) {
            Some(one) if local(case, one).is_none() => has(&one.offered, build),
            // A wheel that is named by its address, and a version that stands elsewhere.
            _ => !own,
        }
    })
}

/// The edit that takes the build out of the version at a place; none where it is no version in a word.
fn without_build(case: &Case<'_>, (source, span): (SourceId, Span)) -> Option<TextEdit> {
    let word = case.settings.sources.get(source).text().get(span.start..span.end)?;
    let at = word.find('+').filter(|_| !word.contains("://"))?;
    let rest = word.get(at..)?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | ',' | ')' | ']' | '#' | '\\');
    let end = rest.find(ends).unwrap_or(rest.len());
    let span = Span::new(span.start + at, span.start + at + end);
    Some(TextEdit { source, span, replacement: String::new() })
}

/// Whether what a command chooses from holds a build.
fn has(offered: &Offered, build: &str) -> bool {
    match offered {
        Offered::Default => false,
        Offered::Only(tag) => tag == build,
        Offered::Beside(tags) => tags.iter().any(|tag| tag == build),
        Offered::Unknown(why) => why.reason == EVERY_BUILD,
    }
}
