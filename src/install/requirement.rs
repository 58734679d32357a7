//! One requirement of pip: a name, extras and versions, or the address of a wheel.

use std::str::FromStr;

use pep440_rs::Operator;
use pep440_rs::Version;
use pep440_rs::VersionSpecifiers;

use crate::install::Builds;
use crate::install::Install;
use crate::install::Manager;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::address::file_behind;
use crate::install::range::is_plain;
use crate::install::variant::is_tag;
use crate::install::variant::is_wheels;
use crate::install::variant::tag_of_url;
use crate::install::variant::tag_of_version;
use crate::knowledge::Knowledge;
use crate::source::Span;

/// A distribution's name in PEP 503's form: lower case, one `-` for every run of `-`, `_` and `.`.
pub fn normalised(name: &str) -> String {
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

/// Reads `name[extra]==1.0; marker`, `name @ URL`, or the address of a wheel; `None` where it is neither.
pub fn requirement(text: &str, span: Span, knowledge: Knowledge) -> Option<Install> {
    let text = text.trim();
    if let Some(found) = from_sources(text, span, knowledge) {
        return Some(found);
    }
    if let Some((name, url)) = text.split_once('@')
        && !text.starts_with("git+")
        && is_name(name.trim().split('[').next().unwrap_or(""))
    {
        let mut found = wheel(url.trim(), span, knowledge).unwrap_or_else(|| elsewhere(url.trim(), empty(name, span)));
        (found.name, found.extras) = name_and_extras(name.trim())?;
        return Some(found);
    }
    if text.contains('/') || text.to_ascii_lowercase().ends_with(".whl") {
        return wheel(text, span, knowledge);
    }
    let text = text.split(';').next().unwrap_or(text).trim();
    let end = text.find(['=', '<', '>', '!', '~', ' ']).unwrap_or(text.len());
    let (name, extras) = name_and_extras(text[..end].trim())?;
    let version = specifier(text[end..].trim());
    let mut found = Install { name, extras, version, ..empty("", span) };
    found.variant = local_variant(&found.version, span);
    Some(found)
}

/// `git+https://github.com/owner/name@tag#egg=name`, with the name of the package in front or not: a build whose version
/// and CUDA nobody tells. Of a repository that concerns no GPU, nothing.
fn from_sources(text: &str, span: Span, knowledge: Knowledge) -> Option<Install> {
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
        Some(name) => name_and_extras(name)?,
        None => (knowledge.distribution_of_sources(path)?, Vec::new()),
    };
    let why = format!("it is built from the sources of {path} with the CUDA toolkit of that build step");
    let builds = Builds::Unknown(why.clone());
    Some(Install { extras, version: VersionSpec::Unresolved, untold: Some(why), builds, ..empty(&name, span) })
}

/// A wheel at an address of which the end alone is known: its name tells the version, and no index tells the build.
pub(super) fn wheel_behind(raw: &str, span: Span, knowledge: Knowledge) -> Option<Install> {
    let found = wheel(&file_behind(raw)?, span, knowledge)?;
    let word = raw.trim_matches(['"', '\'']);
    let why =
        || format!("the address of the wheel in `{word}` is unknown, and its name does not include the CUDA version");
    let builds = if found.variant.is_none() { Builds::Unknown(why()) } else { found.builds };
    Some(Install { builds, ..found })
}

/// How the names of archives end that pip builds packages from.
const ARCHIVES: &[&str] = &[".tar.bz2", ".tar.gz", ".tar.xz", ".tgz", ".zip"];

/// Whether a requirement is for sources at an address: a repository, or an archive.
pub fn is_source(text: &str) -> bool {
    let address = text.split_once("git+").map_or(text, |(_, address)| address);
    let Some((scheme, place)) = address.split_once("://") else { return false };
    let path = place.split(['?', '#']).next().unwrap_or(place);
    let archive = || ARCHIVES.iter().any(|end| path.ends_with(end));
    scheme.rsplit(['@', ' ']).next() != Some("file") && (text.contains("git+") || archive())
}

/// Whether a requirement is for sources somewhere else whose own requirements no table tells: a repository, or an archive
/// at an address.
pub(super) fn is_unknown_source(text: &str, knowledge: Knowledge) -> bool {
    if !is_source(text) {
        return false;
    }
    let by_name = || text.split_once('@').filter(|(name, _)| !name.contains("://"));
    let (before, address) = text.split_once("git+").or_else(by_name).unwrap_or(("", text));
    let (address, fragment) = address.trim().split_once('#').unwrap_or((address.trim(), ""));
    let place = address.split_once("://").map_or(address, |(_, place)| place);
    let path = place.split_once('/').map_or("", |(_, path)| path);
    let egg = fragment.split('&').find_map(|part| part.strip_prefix("egg="));
    let named = before.trim().trim_end_matches('@').trim();
    let named = Some(named).filter(|name| !name.is_empty()).or(egg);
    let repository = path.split(['@', '?']).next().unwrap_or(path).trim_end_matches('/').trim_end_matches(".git");
    let repository: Vec<&str> = repository.split('/').take(2).collect();
    let own = repository.last().copied().unwrap_or_default();
    let name = normalised(named.unwrap_or(own).split('[').next().unwrap_or_default());
    let told =
        knowledge.distribution_of_sources(&repository.join("/")).or_else(|| knowledge.distribution_of_sources(&name));
    told.is_none() && !knowledge.is_library_free(&name, |_| true)
}

pub(super) fn empty(name: &str, span: Span) -> Install {
    Install {
        manager: Manager::Pip,
        name: normalised(name),
        extras: Vec::new(),
        version: VersionSpec::None,
        untold: None,
        variant: None,
        builds: Builds::Default,
        early: None,
        upgrade: false,
        alone: false,
        build: None,
        channel: None,
        python: None,
        span,
        source: None,
        conditional: false,
    }
}

pub(super) fn local_variant(version: &VersionSpec, span: Span) -> Option<Variant> {
    let VersionSpec::Exact(version) = version else { return None };
    tag_of_version(version).map(|tag| Variant { tag, from: VariantSource::LocalVersion, span, source: None })
}

fn is_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    edge(name.bytes().next())
        && edge(name.bytes().last())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn name_and_extras(text: &str) -> Option<(String, Vec<String>)> {
    let (name, extras) = match text.split_once('[') {
        Some((name, rest)) => (name.trim(), rest.trim_end().strip_suffix(']')?),
        None => (text, ""),
    };
    let extras = extras.split(',').map(str::trim).filter(|extra| !extra.is_empty()).map(normalised).collect();
    is_name(name).then(|| (normalised(name), extras))
}

pub(super) fn specifier(text: &str) -> VersionSpec {
    if text.is_empty() {
        return VersionSpec::None;
    }
    if let Some(version) = text.strip_prefix("===") {
        return VersionSpec::Exact(version.trim().to_owned());
    }
    // As nearly all lines of a long list are.
    if let Some(version) = text.strip_prefix("==").filter(|version| is_plain(version)) {
        return VersionSpec::Exact(version.to_owned());
    }
    let Ok(all) = VersionSpecifiers::from_str(text) else { return VersionSpec::Range(text.to_owned()) };
    match all.iter().find(|one| matches!(one.operator(), Operator::Equal | Operator::ExactEqual)) {
        Some(one) => VersionSpec::Exact(one.version().to_string()),
        None => VersionSpec::Range(text.to_owned()),
    }
}

fn wheel(address: &str, span: Span, knowledge: Knowledge) -> Option<Install> {
    let path = address.split(['#', '?']).next().unwrap_or(address);
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.strip_suffix(".whl")?;
    let decoded = stem.replace("%2B", "+").replace("%2b", "+");
    let mut parts = decoded.split('-');
    let name = parts.next().filter(|name| is_name(name))?;
    let written = parts.next()?;
    let version = Version::from_str(written).map_or_else(|_| written.to_owned(), |version| version.to_string());
    let of_folder = || folder.split('/').find(|part| is_tag(part)).map(str::to_owned);
    let tag = tag_of_version(&version).or_else(|| tag_of_url(&format!("{folder}/"))).or_else(of_folder);
    let variant = tag.map(|tag| Variant { tag, from: VariantSource::WheelUrl, span, source: None });
    let builds = if variant.is_none() && is_of_somebody(&decoded, &normalised(name), folder, knowledge) {
        Builds::Unknown(format!("{file} is a custom wheel, and its name does not include the CUDA version"))
    } else {
        Builds::Default
    };
    let found = Install { version: VersionSpec::Exact(version), variant, builds, ..empty(name, span) };
    Some(if found.variant.is_none() { elsewhere(path, found) } else { found })
}

/// A package at an address: outside of an index, its build need not be that of the index.
fn elsewhere(address: &str, found: Install) -> Install {
    let Some((_, place)) = address.split_once("://").filter(|(scheme, _)| *scheme != "file") else { return found };
    let mut folders = place.split('/').skip(1);
    let wheels = folders.clone().any(|part| is_wheels(part) || part == "simple");
    // An index keeps each file three folders below that of all its packages.
    let kept = folders.any(|part| part == "packages") && folders.count() == 4;
    if wheels || kept { found } else { Install { builds: Builds::Elsewhere(address.to_owned()), ..found } }
}

/// Whether a wheel of a distribution with a build for each CUDA comes from nobody's index: the default index takes none
/// for plain `linux`, and the project's own says the build in folder or version.
fn is_of_somebody(stem: &str, name: &str, folder: &str, knowledge: Knowledge) -> bool {
    let plain = stem.rsplit('-').next().is_some_and(|platform| platform.starts_with("linux_"));
    let variants = knowledge.framework(name).is_some_and(|framework| framework.variants);
    plain && variants && !stem.contains('+') && !folder.split('/').any(is_wheels)
}

/// A requirement that a lock or project file writes as a name and a version.
pub(super) fn named(name: &str, version: VersionSpec, span: Span) -> Install {
    let mut found = Install { version, ..empty(name, span) };
    found.variant = local_variant(&found.version, span);
    found
}
