//! Archives of framework libraries, such as `LibTorch`, whose address or file name contains the version and the CUDA
//! version.

use crate::build::{Command, FileEffect, Word};
use crate::dockerfile::ExpandedText;
use crate::install::effects::{BuildVariant, InstallEffects, PackageInstall, VariantSource};
use crate::install::requirement::{is_build_tag, known_file_path, pip_package, tag_of_version, without_credentials};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::package::{IndexSelection, PackageVersion};
use crate::text::source::Span;

/// Reads the framework archives that a command downloads.
pub(super) fn read_downloads(words: &[Word], command: &Command, knowledge: Knowledge, found: &mut InstallEffects) {
    let archives: Vec<PackageInstall> = words
        .iter()
        .skip(1)
        .filter(|word| word.raw.contains("://") || word.raw.trim_start_matches('"').starts_with('$'))
        .filter_map(|word| downloaded_package(word, knowledge))
        .collect();
    if archives.is_empty() {
        return;
    }
    let downloading = Command { words: words.to_vec(), ..command.clone() };
    if matches!(FileEffect::of_command(&downloading), FileEffect::Download { .. }) {
        found
            .packages
            .extend(archives.into_iter().map(|one| PackageInstall { conditional: command.conditional, ..one }));
    }
}

/// Returns the folder that a framework archive downloaded by a command unpacks into.
pub fn downloaded_archive_folder(command: &Command, knowledge: Knowledge) -> Option<&'static str> {
    command
        .words
        .iter()
        .filter(|word| word.raw.contains("://"))
        .find_map(|word| Some(split_archive_name(&word.raw, knowledge)?.0))
}

/// Whether a path or URL is that of a framework archive.
pub fn is_framework_archive(text: &str, knowledge: Knowledge) -> bool {
    split_archive_name(text, knowledge).is_some_and(|(.., rest)| version_part(rest).is_some())
}

/// Returns the folder that the framework archive at a path or URL unpacks into.
pub fn archive_folder(text: &str, knowledge: Knowledge) -> Option<&'static str> {
    split_archive_name(text, knowledge).map(|(folder, ..)| folder)
}

/// Returns the package in the framework archive at a path or URL. Elsewhere than below a folder of the same name, as its
/// project serves it, its GPU code is unknown.
pub fn parse_archive(text: &str, span: Span, knowledge: Knowledge) -> Option<PackageInstall> {
    let (archive, distribution, rest) = split_archive_name(text, knowledge)?;
    let mut package = pip_package(distribution, span);
    let mut folders = text.split_once("://").map_or("", |(_, place)| place).split('/').skip(1);
    if !folders.any(|folder| folder == archive) {
        let address = without_credentials(text.split(['?', '#']).next().unwrap_or(text));
        package.requirement.indexes = IndexSelection::Unknown(Cause::OutsideIndex { address });
    }
    let version = version_part(rest)?.rsplit('-').next().unwrap_or_default().to_owned();
    let tag = tag_of_version(&version).or_else(|| text.split('/').find(|part| is_build_tag(part)).map(str::to_owned));
    let variant = tag.map(|tag| BuildVariant { tag, from: VariantSource::WheelUrl, span, source: None });
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        let why = Cause::ArchiveVersion { version };
        return Some(PackageInstall { variant, ..package.with_version(PackageVersion::Unresolved(why)) });
    }
    Some(PackageInstall { variant, ..package.with_version(PackageVersion::exact(version)) })
}

/// Returns the package in the archive that a command unpacks, if the file name identifies it.
pub fn unpacked_archive(command: &Command, effect: &FileEffect, knowledge: Knowledge) -> Option<PackageInstall> {
    let FileEffect::Unpack { archive: Some(archive), .. } = effect else { return None };
    let name = archive.text.as_deref().filter(|text| !text.contains("://"))?;
    let found = parse_archive(name, archive.span, knowledge)?;
    Some(PackageInstall { conditional: command.conditional, ..found })
}

/// Returns the package in the archive whose URL a word of a download command contains.
fn downloaded_package(word: &Word, knowledge: Knowledge) -> Option<PackageInstall> {
    let text = word.known().unwrap_or(&word.raw);
    // After a variable, the file name determines the build, and its folders whether the project serves it.
    if let Some(path) = known_file_path(&word.raw)
        && let Some(found) = parse_archive(&format!("file://{path}"), word.span, knowledge)
    {
        let address = word.raw.trim_matches(['"', '\'']).to_owned();
        let indexes = match found.requirement.indexes.clone() {
            IndexSelection::Unknown(_) => IndexSelection::Unknown(Cause::OutsideIndex { address }),
            known => known,
        };
        return Some(found.with_indexes(indexes));
    }
    if let ExpandedText::Unresolved { reason, .. } = &word.value {
        let (_, distribution, _) = split_archive_name(text, knowledge)?;
        let why = Cause::ArchiveNotKnown { because: reason.clone() };
        let indexes = IndexSelection::Unknown(why.clone());
        let package = pip_package(distribution, word.span);
        return Some(package.with_version(PackageVersion::Unresolved(why)).with_indexes(indexes));
    }
    parse_archive(text, word.span, knowledge)
}

/// Returns the version in the rest of an archive's file name, without the extension and with `%2B` decoded.
fn version_part(rest: &str) -> Option<String> {
    let stem = rest.strip_suffix(".zip").or_else(|| rest.strip_suffix(".tar.gz"))?;
    Some(stem.replace("%2B", "+").replace("%2b", "+"))
}

/// Returns the name of the archive, its distribution, and the rest of the file name; `None` for other operating
/// systems.
fn split_archive_name(address: &str, knowledge: Knowledge) -> Option<(&'static str, &'static str, &str)> {
    let path = address.trim_matches(['"', '\'']).split(['?', '#']).next()?;
    let file = path.rsplit('/').next()?;
    let frameworks = knowledge.frameworks().iter();
    let mut all = frameworks.flat_map(|row| row.archives.iter().map(move |archive| (*archive, row.distribution)));
    let (archive, distribution) = all.find(|(archive, _)| file.starts_with(archive))?;
    let rest = file.strip_prefix(archive)?.strip_prefix('-')?;
    let other = rest.split('-').any(|part| part.starts_with("macos") || part.starts_with("win"));
    (!other).then_some((archive, distribution, rest))
}
