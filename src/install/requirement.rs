//! Parses pip requirements: a name with extras and versions, or the URL of a wheel.

use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifiers};

use crate::install::build_variant::{is_build_tag, is_wheel_folder, tag_of_url, tag_of_version};
use crate::install::context::OpenedFile;
use crate::install::effects::{BuildVariant, PackageInstall, VariantSource};
use crate::install::partial_url::known_file_path;
use crate::install::version_range::is_plain_version;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{IndexSelection, PackageManager, PackageVersion};
use crate::text::source::Span;

/// Normalises the name of a distribution (PEP 503): lower case, one `-` for every run of `-`, `_` and `.`.
pub fn normalise_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if out.ends_with('-') => {}
            '-' | '_' | '.' => out.push('-'),
            other => out.push(other.to_ascii_lowercase()),
        }
    }
    out
}

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
        let mut found = parse_wheel(url.trim(), span, knowledge)
            .unwrap_or_else(|| mark_outside_index(url.trim(), pip_package(name, span)));
        (found.name, found.extras) = parse_name_and_extras(name.trim())?;
        return Some(found);
    }
    if text.contains('/') || text.to_ascii_lowercase().ends_with(".whl") {
        return parse_wheel(text, span, knowledge);
    }
    let text = text.split(';').next().unwrap_or(text).trim();
    let end = text.find(['=', '<', '>', '!', '~', ' ']).unwrap_or(text.len());
    let (name, extras) = parse_name_and_extras(text[..end].trim())?;
    let version = parse_specifier(text[end..].trim());
    let mut found = PackageInstall { name, extras, version, ..pip_package("", span) };
    found.variant = local_variant(&found.version, span);
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
        None => (knowledge.distribution_of_repository(path)?, Vec::new()),
    };
    let why = Cause::BuiltFromSources { path: path.to_owned() };
    let indexes = IndexSelection::Unknown(why.clone());
    Some(PackageInstall { extras, version: PackageVersion::Unresolved(why), indexes, ..pip_package(&name, span) })
}

/// Parses the URL of a wheel with an unknown beginning: the file name contains the version, but no index determines
/// the build.
pub(super) fn parse_partial_wheel_url(raw: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let found = parse_wheel(&known_file_path(raw)?, span, knowledge)?;
    let word = raw.trim_matches(['"', '\'']);
    let indexes = if found.variant.is_none() {
        IndexSelection::Unknown(Cause::WheelAddressNotKnown { word: word.to_owned() })
    } else {
        found.indexes
    };
    Some(PackageInstall { indexes, ..found })
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
    let name = normalise_name(named.unwrap_or(own).split('[').next().unwrap_or_default());
    let of_repository = || knowledge.distribution_of_repository(&repository.join("/"));
    let known = match wheel {
        // A wheel that neither an index nor its own project serves may have other requirements.
        Some(_) if is_outside_index(address) && of_repository().as_ref() != Some(&name) => {
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
    PackageInstall {
        manager: PackageManager::Pip,
        name: normalise_name(name),
        extras: Vec::new(),
        version: PackageVersion::any(),
        variant: None,
        indexes: IndexSelection::Default,
        prerelease: None,
        upgrade: false,
        no_deps: false,
        build: None,
        channel: None,
        python: None,
        span,
        source: None,
        conditional: false,
    }
}

/// Returns the build in the local part of an exact version.
fn local_variant(version: &PackageVersion, span: Span) -> Option<BuildVariant> {
    let PackageVersion::Exact(version) = version else { return None };
    tag_of_version(version).map(|tag| BuildVariant { tag, from: VariantSource::LocalVersion, span, source: None })
}

/// Whether a text is a valid name of a distribution.
fn is_distribution_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    edge(name.bytes().next())
        && edge(name.bytes().last())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Parses `name[extra,…]` into the normalised name and extras.
fn parse_name_and_extras(text: &str) -> Option<(String, Vec<String>)> {
    let (name, extras) = match text.split_once('[') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix(']')?),
        None => (text, ""),
    };
    let extras = extras.split(',').map(str::trim).filter(|extra| !extra.is_empty()).map(normalise_name).collect();
    is_distribution_name(name).then(|| (normalise_name(name), extras))
}

/// Parses a version specifier such as `==2.1` or `>=2,<3`.
pub(super) fn parse_specifier(text: &str) -> PackageVersion {
    if text.is_empty() {
        return PackageVersion::any();
    }
    if let Some(version) = text.strip_prefix("===") {
        return PackageVersion::Exact(version.trim().to_owned());
    }
    // As nearly all lines of a long list are.
    if let Some(version) = text.strip_prefix("==").filter(|version| is_plain_version(version)) {
        return PackageVersion::Exact(version.to_owned());
    }
    let Ok(all) = VersionSpecifiers::from_str(text) else { return PackageVersion::Range(text.to_owned()) };
    match all.iter().find(|one| matches!(one.operator(), Operator::Equal | Operator::ExactEqual)) {
        Some(one) => PackageVersion::Exact(one.version().to_string()),
        None => PackageVersion::Range(text.to_owned()),
    }
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
    let indexes = if variant.is_none() && is_custom_wheel(&decoded, &normalise_name(name), folder, knowledge) {
        IndexSelection::Unknown(Cause::CustomWheel { file: file.to_owned() })
    } else {
        IndexSelection::Default
    };
    let found = PackageInstall { version: PackageVersion::Exact(version), variant, indexes, ..pip_package(name, span) };
    // For other packages, the builds are those of what they require.
    let of_url = found.variant.is_none() || knowledge.has_variants(&found.name);
    Some(if of_url { mark_outside_index(path, found) } else { found })
}

/// Marks a package at a URL outside any index, since its build may differ from that of the index.
fn mark_outside_index(address: &str, found: PackageInstall) -> PackageInstall {
    if is_outside_index(address) {
        PackageInstall {
            indexes: IndexSelection::Unknown(Cause::OutsideIndex { address: address.to_owned() }),
            ..found
        }
    } else {
        found
    }
}

/// Whether a URL is not one of a package index or of its copy, by its folders.
fn is_outside_index(address: &str) -> bool {
    let Some(place) = remote_place(address) else { return false };
    let mut folders = place.split('/').skip(1);
    let wheels = folders.clone().any(|part| is_wheel_folder(part) || part == "simple");
    // An index keeps each file three folders below that of all its packages.
    let kept = folders.any(|part| part == "packages") && folders.count() == 4;
    !wheels && !kept
}

/// Whether a wheel of a distribution with CUDA builds comes from no index: it is for plain `linux`, and neither
/// folder nor version has a build tag.
fn is_custom_wheel(stem: &str, name: &str, folder: &str, knowledge: Knowledge) -> bool {
    let plain = stem.rsplit('-').next().is_some_and(|platform| platform.starts_with("linux_"));
    let variants = knowledge.framework(name).is_some_and(|framework| framework.variants);
    plain && variants && !stem.contains('+') && !folder.split('/').any(is_wheel_folder)
}

/// Returns a package by name and version, as lock files and project files write it.
pub(super) fn package_with_version(name: &str, version: PackageVersion, span: Span) -> PackageInstall {
    let mut found = PackageInstall { version, ..pip_package(name, span) };
    found.variant = local_variant(&found.version, span);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poetry_s_ranges_become_those_of_pep_440() {
        for (text, expected) in [
            ("^2.1", PackageVersion::Range(">=2.1,<3".to_owned())),
            ("^0.3.1", PackageVersion::Range(">=0.3.1,<0.4".to_owned())),
            ("~2.1", PackageVersion::Range(">=2.1,<2.2".to_owned())),
            ("~2", PackageVersion::Range(">=2,<3".to_owned())),
            ("2.1.0", PackageVersion::Exact("2.1.0".to_owned())),
            ("2.1.0+cu121", PackageVersion::Exact("2.1.0+cu121".to_owned())),
            (">=2.0,<2.5", PackageVersion::Range(">=2.0,<2.5".to_owned())),
            ("*", PackageVersion::any()),
            ("^1 || ^2", PackageVersion::Unresolved(Cause::NotARange { range: "^1 || ^2".to_owned() })),
            ("2.*", PackageVersion::Range("==2.*".to_owned())),
            ("^", PackageVersion::Range(">=,<".to_owned())),
        ] {
            assert_eq!(parse_poetry_range(text), expected, "{text}");
        }
    }
}
