//! Requirements of pip: a name with extras and versions, or the URL of a wheel, with the build that they determine.

use std::str::FromStr;

use pep440_rs::Version;

use crate::dockerfile::ExpandedText;
use crate::install::context::OpenedFile;
use crate::install::effects::{BuildVariant, PackageInstall, VariantSource};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{
    IndexSelection, PackageManager, PackageName, PackageVersion, VersionRange, is_plain_version,
};
use crate::text::source::Span;

/// Parses `name[extra]==1.0; marker`, `name @ URL`, or the URL of a wheel; `None` for anything else.
pub fn parse_requirement(text: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let text = text.trim();
    if let Some(found) = parse_git_requirement(text, span, knowledge) {
        return Some(found);
    }
    if let Some((name, url)) = text.split_once('@')
        && !text.starts_with("git+")
        && is_distribution_name(name.trim().split('[').next().unwrap_or(""))
    {
        let url = url.trim();
        let mut found = parse_wheel(url, span, knowledge).unwrap_or_else(|| built_from_reference(url, span));
        (found.requirement.name, found.requirement.extras) = parse_name_and_extras(name.trim())?;
        return Some(found);
    }
    if text.contains('/') || text.to_ascii_lowercase().ends_with(".whl") {
        return parse_wheel(text, span, knowledge);
    }
    let text = text.split(';').next().unwrap_or(text).trim();
    let end = text.find(['=', '<', '>', '!', '~', ' ']).unwrap_or(text.len());
    let (name, extras) = parse_name_and_extras(text[..end].trim())?;
    let version = parse_specifier(text[end..].trim());
    let mut found = PackageInstall::new(PackageManager::Pip, name, version, span);
    found.requirement.extras = extras;
    found.variant = local_variant(&found.requirement.version, span);
    Some(found)
}

/// Parses `git+https://github.com/owner/name@tag#egg=name`, with or without a name in front: a build with unknown
/// version and CUDA. `None` for a repository that concerns no GPU.
fn parse_git_requirement(text: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let (before, address) = text.split_once("git+")?;
    let name = before.trim_end().strip_suffix('@').map(str::trim);
    if !before.is_empty() && name.is_none() {
        return None;
    }
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let path = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = path.split_once('/').map_or(path, |(_, path)| path);
    let path = path.split(['@', '?']).next().unwrap_or(path).trim_end_matches('/').trim_end_matches(".git");
    let egg = fragment.split('&').find_map(|part| part.strip_prefix("egg="));
    let (name, extras) = match name.or(egg) {
        Some(name) => parse_name_and_extras(name)?,
        None => (PackageName::python(&knowledge.distribution_of_repository(path)?), Vec::new()),
    };
    let why = Cause::BuiltFromSources { path: path.to_owned() };
    let indexes = IndexSelection::Unknown(why.clone());
    let mut found = PackageInstall::new(PackageManager::Pip, name, PackageVersion::Unresolved(why), span);
    found.requirement.extras = extras;
    Some(found.with_indexes(indexes))
}

/// Parses the URL of a wheel with an unknown beginning: the file name contains the version, but no index determines
/// the build.
pub(super) fn parse_partial_wheel_url(raw: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let path = known_file_path(raw)?;
    let found = parse_wheel(&path, span, knowledge)?;
    let word = raw.trim_matches(['"', '\'']).to_owned();
    let indexes = match &found.variant {
        None => IndexSelection::Unknown(Cause::WheelAddressNotKnown { word }),
        Some(_) if knowledge.has_variants(&found.requirement.name) && !is_index_path(&path) => {
            IndexSelection::Unknown(Cause::OutsideIndex { address: word })
        }
        Some(_) => IndexSelection::Default,
    };
    Some(found.with_indexes(indexes))
}

/// File extensions of the archives that pip builds packages from.
const SOURCE_ARCHIVE_SUFFIXES: &[&str] = &[".tar.bz2", ".tar.gz", ".tar.xz", ".tgz", ".zip"];

/// Whether a requirement is a repository or a source archive at a URL.
pub fn is_source_requirement(text: &str) -> bool {
    let address = text.split_once("git+").map_or(text, |(_, address)| address);
    let Some((scheme, place)) = address.split_once("://") else { return false };
    let path = place.split(['?', '#']).next().unwrap_or(place);
    let archive = || SOURCE_ARCHIVE_SUFFIXES.iter().any(|end| path.ends_with(end));
    scheme.rsplit(['@', ' ']).next() != Some("file") && (text.contains("git+") || archive())
}

/// Whether a requirement is a repository, a source archive or a wheel at a URL whose own dependencies are in no table.
pub(super) fn has_unknown_dependencies(text: &str, knowledge: Knowledge) -> bool {
    if !text.contains("://") {
        return false;
    }
    let by_name = || text.split_once('@').filter(|(name, _)| !name.contains("://"));
    let (before, address) = text.split_once("git+").or_else(by_name).unwrap_or(("", text));
    let (address, fragment) = address.trim().split_once('#').unwrap_or((address.trim(), ""));
    let place = address.split_once("://").map_or(address, |(_, place)| place);
    let path = place.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['@', '?']).next().unwrap_or(path);
    let wheel = path.strip_suffix(".whl").filter(|_| remote_place(address).is_some());
    if wheel.is_none() && !is_source_requirement(text) {
        return false;
    }
    let egg = fragment.split('&').find_map(|part| part.strip_prefix("egg="));
    let named = before.trim().trim_end_matches('@').trim();
    let of_wheel = wheel.and_then(|path| path.rsplit('/').next()?.split('-').next());
    let named = Some(named).filter(|name| !name.is_empty()).or(egg).or(of_wheel);
    let repository = path.trim_end_matches('/').trim_end_matches(".git");
    let repository: Vec<&str> = repository.split('/').take(2).collect();
    let own = repository.last().copied().unwrap_or_default();
    let name = PackageName::python(named.unwrap_or(own).split('[').next().unwrap_or_default());
    let of_repository = || knowledge.distribution_of_repository(&repository.join("/"));
    let known = match wheel {
        // A wheel that neither an index nor its own project serves may have other requirements.
        Some(_) if is_outside_index(address) && of_repository().is_none_or(|own| name != own) => {
            knowledge.framework(&name).is_some() && knowledge.torch_requirements_of(&name).next().is_none()
        }
        _ => of_repository().is_some() || knowledge.distribution_of_repository(&name).is_some(),
    };
    !known && !knowledge.is_library_free(&name, |_| true)
}

/// Returns the host and the path of a URL; `None` for other addresses, such as those of files.
fn remote_place(address: &str) -> Option<&str> {
    address.split_once("://").filter(|(scheme, _)| *scheme != "file").map(|(_, place)| place)
}

/// Returns a pip package of any version, with all other fields at their defaults.
pub(super) fn pip_package(name: &str, span: Span) -> PackageInstall {
    PackageInstall::new(PackageManager::Pip, PackageName::python(name), PackageVersion::any(), span)
}

/// Returns the build in the local part of an exact version.
fn local_variant(version: &PackageVersion, span: Span) -> Option<BuildVariant> {
    let PackageVersion::Exact(version) = version else { return None };
    tag_of_version(version.as_str()).map(|tag| BuildVariant {
        tag,
        from: VariantSource::LocalVersion,
        span,
        source: None,
    })
}

/// Whether a text is a valid name of a distribution.
fn is_distribution_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    edge(name.bytes().next())
        && edge(name.bytes().last())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Parses `name[extra,…]` into the normalised name and extras.
fn parse_name_and_extras(text: &str) -> Option<(PackageName, Vec<PackageName>)> {
    let (name, extras) = match text.split_once('[') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix(']')?),
        None => (text, ""),
    };
    let extras = extras.split(',').map(str::trim).filter(|extra| !extra.is_empty()).map(PackageName::python).collect();
    is_distribution_name(name).then(|| (PackageName::python(name), extras))
}

/// Parses a version specifier such as `==2.1` or `>=2,<3`.
pub(super) fn parse_specifier(text: &str) -> PackageVersion {
    if text.is_empty() {
        return PackageVersion::any();
    }
    if let Some(version) = text.strip_prefix("===") {
        let version = version.trim();
        // It excludes the local versions that `==` includes.
        let only = !version.contains('+') && is_plain_version(version);
        return if only { PackageVersion::range(text) } else { PackageVersion::exact(version) };
    }
    // As nearly all lines of a long list are.
    if let Some(version) = text.strip_prefix("==").filter(|version| is_plain_version(version)) {
        return PackageVersion::exact(version);
    }
    let range = VersionRange::from(text);
    range.pinned_version().map_or(PackageVersion::Range(range), PackageVersion::Exact)
}

/// Parses the path or URL of a wheel.
fn parse_wheel(address: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let path = address.split(['#', '?']).next().unwrap_or(address);
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.strip_suffix(".whl")?;
    let decoded = stem.replace("%2B", "+").replace("%2b", "+");
    let mut parts = decoded.split('-');
    let name = parts.next().filter(|name| is_distribution_name(name))?;
    let written = parts.next()?;
    let version = Version::from_str(written).map_or_else(|_| written.to_owned(), |version| version.to_string());
    let of_folder = || folder.split('/').find(|part| is_build_tag(part)).map(str::to_owned);
    let tag = tag_of_version(&version).or_else(|| tag_of_url(&format!("{folder}/"))).or_else(of_folder);
    let variant = tag.map(|tag| BuildVariant { tag, from: VariantSource::WheelUrl, span, source: None });
    let indexes = if variant.is_none() && is_custom_wheel(&decoded, &PackageName::python(name), path, knowledge) {
        IndexSelection::Unknown(Cause::CustomWheel { file: file.to_owned() })
    } else {
        IndexSelection::Default
    };
    let found = pip_package(name, span).with_version(PackageVersion::exact(version)).with_indexes(indexes);
    let found = PackageInstall { variant, ..found };
    // For other packages, the builds are those of what they require.
    let own_builds = knowledge.has_variants(&found.requirement.name);
    Some(match &found.variant {
        // The wheel at a local path may be a build of one's own with the usual name.
        Some(_) if own_builds && remote_place(path).is_none() => {
            found.with_indexes(IndexSelection::Unknown(Cause::OutsideIndex { address: path.to_owned() }))
        }
        Some(_) if !own_builds => found,
        _ => mark_outside_index(path, found),
    })
}

/// Parses the repository, URL or path that a table of a project or lock file names instead of an index; `None` if it
/// names none.
pub(super) fn parse_direct_reference<'t>(
    name: &str,
    field: impl Fn(&str) -> Option<&'t str>,
    span: Span,
    knowledge: Knowledge,
) -> Option<PackageInstall> {
    if let Some(repository) = field("git") {
        return parse_requirement(&format!("{name} @ git+{repository}"), span, knowledge);
    }
    let place = ["url", "file", "path", "directory", "editable"].into_iter().find_map(field)?;
    let mut found = parse_wheel(place, span, knowledge).unwrap_or_else(|| built_from_reference(place, span));
    found.requirement.name = PackageName::python(name);
    Some(found)
}

/// Returns a package without a name that is built from an archive at a URL, or from the sources at a path.
fn built_from_reference(place: &str, span: Span) -> PackageInstall {
    let found = pip_package("", span);
    if remote_place(place).is_some() {
        return mark_outside_index(place.split(['?', '#']).next().unwrap_or(place), found);
    }
    let why = Cause::BuiltFromSources { path: place.to_owned() };
    found.with_version(PackageVersion::Unresolved(why.clone())).with_indexes(IndexSelection::Unknown(why))
}

/// Marks a package at a URL outside any index, since its build may differ from that of the index.
fn mark_outside_index(address: &str, found: PackageInstall) -> PackageInstall {
    if is_outside_index(address) {
        let address = without_credentials(address);
        found.with_indexes(IndexSelection::Unknown(Cause::OutsideIndex { address }))
    } else {
        found
    }
}

/// Returns a URL without the user name and password in front of its host.
pub(super) fn without_credentials(address: &str) -> String {
    let Some((scheme, place)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or(host))
}

/// Whether a URL is not one of a package index or of its copy, by its folders.
fn is_outside_index(address: &str) -> bool {
    remote_place(address).is_some_and(|place| !is_index_path(place))
}

/// Whether a path with its host, or the known end of one, is that of a file of a package index or of its copy.
fn is_index_path(place: &str) -> bool {
    let folders: Vec<&str> = place.split('/').skip(1).collect();
    let (_, folders) = folders.split_last().unwrap_or((&"", &[]));
    let hexadecimal = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    // An index keeps each file below its digest, which three folders contain.
    let digest = |at: usize| folders.len() == at + 4 && folders.iter().skip(at + 1).all(hexadecimal);
    folders.iter().enumerate().any(|(at, part)| match *part {
        "simple" => true,
        "packages" => digest(at),
        // Forks and buckets have this name as well; an index has a folder of wheels or of a build below it.
        "pytorch" => folders.get(at + 1).is_some_and(|next| is_wheel_folder(next) || is_build_tag(next)),
        part => is_wheel_folder(part),
    })
}

/// Whether a wheel of a distribution with CUDA builds comes from no index: it is for plain `linux`, its version has no
/// build tag, and its URL is not one of an index.
fn is_custom_wheel(stem: &str, name: &str, address: &str, knowledge: Knowledge) -> bool {
    let plain = stem.rsplit('-').next().is_some_and(|platform| platform.starts_with("linux_"));
    let variants = knowledge.framework(name).is_some_and(|framework| framework.variants);
    plain && variants && !stem.contains('+') && !remote_place(address).is_some_and(is_index_path)
}

/// Returns a package by name and version, as lock files and project files write it.
pub(super) fn package_with_version(name: &str, version: PackageVersion, span: Span) -> PackageInstall {
    let mut found = pip_package(name, span).with_version(version);
    found.variant = local_variant(&found.requirement.version, span);
    found
}

/// Records that a package is written in a file.
pub(super) fn set_source(package: &mut PackageInstall, opened: &OpenedFile) {
    package.source = opened.source;
    if let Some(variant) = &mut package.variant {
        variant.source = opened.source;
    }
}

/// Converts `^2.1`, `~2.1`, `2.1.0`, `*` or a range of PEP 440 to a version of PEP 440.
pub(super) fn parse_poetry_range(text: &str) -> PackageVersion {
    let text = text.trim();
    if matches!(text, "" | "*" | "latest") {
        return PackageVersion::any();
    }
    if text.contains("||") {
        return PackageVersion::Unresolved(Cause::NotARange { range: text.to_owned() });
    }
    let part = |part: &str| {
        let part = part.trim();
        let (mark, version) = match part.chars().next() {
            Some(mark @ ('^' | '~')) if !part.starts_with("~=") => (Some(mark), part[1..].trim()),
            _ => (None, part),
        };
        let numbers: Vec<u64> = version.split('.').map_while(|number| number.parse().ok()).collect();
        let kept = match mark {
            Some('^') => numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len().saturating_sub(1)),
            Some(_) => usize::from(numbers.len() > 1),
            None if part.starts_with(|c: char| c.is_ascii_digit()) => return format!("=={part}"),
            None => return part.to_owned(),
        };
        let mut upper: Vec<u64> = numbers.iter().take(kept + 1).copied().collect();
        if let Some(last) = upper.last_mut() {
            *last = last.saturating_add(1);
        }
        let upper: Vec<String> = upper.iter().map(ToString::to_string).collect();
        format!(">={version},<{}", upper.join("."))
    };
    parse_specifier(&text.split(',').map(part).collect::<Vec<_>>().join(","))
}

/// Placeholder for an unknown part of an address.
const UNKNOWN_PART: char = '\u{2}';

/// Returns the address in the value of an option, or its known end if that determines the build; otherwise why it is
/// unknown.
pub(super) fn resolve_address(value: &ExpandedText, raw: &str) -> Result<String, Cause> {
    match value {
        ExpandedText::Known { value, .. } => Ok(value.clone()),
        ExpandedText::Unresolved { reason, .. } => known_address_end(raw).ok_or_else(|| (**reason).clone()),
    }
}

/// Returns the known end of an address that determines the build: a folder of one build after the last variable, or a
/// `/simple` path.
pub(super) fn known_address_end(raw: &str) -> Option<String> {
    let marked = mark_substitutions(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(UNKNOWN_PART)?;
    let path = behind.get(behind.find('/')?..)?;
    let of_host = marked.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let plain = of_host.is_some_and(|(_, path)| !path.contains(UNKNOWN_PART))
        && path.trim_end_matches('/').ends_with("/simple");
    (plain || tag_of_url(path).is_some()).then(|| path.to_owned())
}

/// Returns the path of a file after the last unknown part of an address; `None` if the file name itself is partly
/// unknown.
pub(super) fn known_file_path(raw: &str) -> Option<String> {
    let marked = mark_substitutions(raw.trim_matches(['"', '\'']))?;
    let (_, behind) = marked.rsplit_once(UNKNOWN_PART)?;
    Some(behind.get(behind.find('/')?..)?.to_owned())
}

/// Replaces every substitution in a text by `UNKNOWN_PART`; `None` if one does not end.
fn mark_substitutions(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at)?);
        out.push(UNKNOWN_PART);
        let (sign, after) = (rest.get(at..=at)?, rest.get(at + 1..)?);
        rest = match (sign, after.get(..1)) {
            ("`", _) => after.split_once('`')?.1,
            (_, Some("(")) => text_after_brackets(after, '(', ')')?,
            (_, Some("{")) => text_after_brackets(after, '{', '}')?,
            _ => after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'),
        };
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the text after the bracket that closes the first one.
fn text_after_brackets(text: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return text.get(at + c.len_utf8()..);
            }
        }
    }
    None
}

/// Whether a word is a build tag.
pub(super) fn is_build_tag(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match word {
        "cpu" | "xpu" => true,
        _ => {
            word.strip_prefix("cu").is_some_and(|rest| digits(rest) && (2..=3).contains(&rest.len()))
                || word.strip_prefix("rocm").is_some_and(|rest| !rest.is_empty() && rest.split('.').all(digits))
        }
    }
}

/// Returns the build tag in a local version: `cu118` in `2.1.0+cu118`; a suffix after a dot is dropped.
pub(super) fn tag_of_version(version: &str) -> Option<String> {
    let local = version.split_once('+')?.1;
    let first = local.split(['.', '-', '_']).next().unwrap_or(local);
    [local, first].into_iter().find(|part| is_build_tag(part)).map(str::to_owned)
}

/// Returns the build tag in the URL of an index: the part after `/whl/`, on any host.
pub fn tag_of_url(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheel_folder(part)).skip(1);
    parts.find_map(|part| Some(part).filter(|part| is_build_tag(part)).map(str::to_owned).or_else(|| tag_of_page(part)))
}

/// Returns the build tag of the folder directly below one of these paths: `cu126` in `.../packages/stable/cu126/`.
pub(super) fn tag_below_folder(url: &str, folders: &[&str]) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let below = |folder: &&str| path.split_once(&format!("/{folder}/")).map(|(_, rest)| rest);
    let first = folders.iter().find_map(below)?.split('/').next()?;
    Some(first).filter(|part| is_build_tag(part)).map(str::to_owned)
}

/// Whether a path component is the wheel folder of torch's index or of a mirror.
fn is_wheel_folder(part: &str) -> bool {
    matches!(part, "whl" | "pytorch-wheels" | "pytorch")
}

/// Returns the build tag in the name of a page such as `torch-2.1.0+cu121.html`.
fn tag_of_page(part: &str) -> Option<String> {
    tag_of_version(part.strip_suffix(".html")?)
}

/// The kind of pre-release that an index serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrereleaseKind {
    /// Nightly builds, and nothing else.
    Nightly,
    /// Release candidates, with the version of the next release.
    Candidate,
}

impl PrereleaseKind {
    /// Returns the plural name for use in a sentence.
    pub(super) fn plural_name(self) -> &'static str {
        match self {
            Self::Nightly => "nightly builds",
            Self::Candidate => "release candidates",
        }
    }
}

/// Whether a URL is the default index or a mirror of all of it, with a short path that ends in `simple`.
pub(super) fn is_default_index(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    path.ends_with("/simple") && path.matches('/').count() <= 2
}

/// Returns the kind of pre-release that the index at a URL serves, by the folder below the wheel folder.
pub(super) fn prerelease_kind_of_url(url: &str) -> Option<PrereleaseKind> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let mut parts = path.split('/').skip_while(|part| !is_wheel_folder(part)).skip(1);
    match parts.next()? {
        "nightly" => Some(PrereleaseKind::Nightly),
        "test" => Some(PrereleaseKind::Candidate),
        _ => None,
    }
}

/// Whether a URL serves all builds of every version side by side; the page in the folder of one build does not.
pub(super) fn serves_every_build(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let below = path.split('/').any(is_wheel_folder) && tag_of_url(url).is_none();
    below && (is_wheel_folder(last) || matches!(last, "torch_stable.html" | "torch_nightly.html" | "nightly" | "test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poetry_s_ranges_become_those_of_pep_440() {
        for (text, expected) in [
            ("^2.1", PackageVersion::range(">=2.1,<3")),
            ("^0.3.1", PackageVersion::range(">=0.3.1,<0.4")),
            ("~2.1", PackageVersion::range(">=2.1,<2.2")),
            ("~2", PackageVersion::range(">=2,<3")),
            ("2.1.0", PackageVersion::exact("2.1.0")),
            ("2.1.0+cu121", PackageVersion::exact("2.1.0+cu121")),
            (">=2.0,<2.5", PackageVersion::range(">=2.0,<2.5")),
            ("*", PackageVersion::any()),
            ("^1 || ^2", PackageVersion::Unresolved(Cause::NotARange { range: "^1 || ^2".to_owned() })),
            ("2.*", PackageVersion::range("==2.*")),
            ("^", PackageVersion::range(">=,<")),
        ] {
            assert_eq!(parse_poetry_range(text), expected, "{text}");
        }
    }
}

#[cfg(test)]
mod address_tests {
    use super::*;

    #[test]
    fn file_names_are_known_after_an_unknown_part() {
        for (raw, expected) in [
            ("$U/torch-2.4.0-cp310-cp310-linux_x86_64.whl", Some("/torch-2.4.0-cp310-cp310-linux_x86_64.whl")),
            ("\"${U}/cu118/a.whl\"", Some("/cu118/a.whl")),
            ("https://host/$V/a.whl", Some("/a.whl")),
            ("$U", None),
            ("$U/torch-$V.whl", None),
            ("${U}a.whl", None),
            ("https://host/a.whl", None),
        ] {
            assert_eq!(known_file_path(raw).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn known_ends_of_partly_unknown_addresses() {
        for (raw, expected) in [
            ("https://$HOST/whl/cu118", Some("/whl/cu118")),
            ("\"https://${USER:-a/b}:$(cat /run/t)@corp.example/pypi/simple/\"", Some("/pypi/simple/")),
            ("$MIRROR/whl/nightly/cu128", Some("/whl/nightly/cu128")),
            ("https://`host`/simple", Some("/simple")),
            ("https://download.pytorch.org/whl/cu$CU", None),
            ("https://download.pytorch.org/whl/$CHANNEL/cu118", None),
            ("https://download.pytorch.org/whl/cu$(echo /whl/cu118)", None),
            ("https://corp.example/$REPO/simple", None),
            ("$IDX", None),
            ("${IDX}/cu118", None),
            ("https://$HOST/cu118", None),
            ("https://${HOST/whl/cu118", None),
            ("https://corp.example/whl/cu118", None),
            ("", None),
            ("\u{e9}$", None),
        ] {
            assert_eq!(known_address_end(raw).as_deref(), expected, "{raw}");
        }
    }
}
