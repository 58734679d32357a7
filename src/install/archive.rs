//! Archives of a framework's libraries: the address or the name of the file tells version and CUDA.

use crate::dockerfile::Resolved;
use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Variant;
use crate::install::VariantSource;
use crate::install::VersionSpec;
use crate::install::requirement::empty;
use crate::install::variant::is_tag;
use crate::install::variant::tag_of_version;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

/// Reads the addresses that `curl` and its kin are given.
pub(super) fn fetched(words: &[Word], command: &Command, knowledge: Knowledge, found: &mut Installs) {
    let program = words.first().and_then(Word::known).and_then(|word| word.rsplit('/').next());
    if !matches!(program, Some("curl" | "wget" | "aria2c")) {
        return;
    }
    let archives = words.iter().skip(1).filter(|word| word.raw.contains("://")).filter_map(|word| one(word, knowledge));
    found.packages.extend(archives.map(|one| Install { conditional: command.conditional, ..one }));
}

/// The folder that an archive unpacks into, where a command fetches one.
pub fn archive_of(command: &Command, knowledge: Knowledge) -> Option<&'static str> {
    command.words.iter().filter(|word| word.raw.contains("://")).find_map(|word| Some(named(&word.raw, knowledge)?.0))
}

/// Whether a path or address is that of an archive of a framework.
pub fn is_archive(text: &str, knowledge: Knowledge) -> bool {
    named(text, knowledge).is_some_and(|(.., rest)| stem(rest).is_some())
}

/// The folder that the archive at a path or address unpacks into.
pub fn archive_folder(text: &str, knowledge: Knowledge) -> Option<&'static str> {
    named(text, knowledge).map(|(folder, ..)| folder)
}

/// What is in the archive at a path or address.
pub fn archive(text: &str, span: Span, knowledge: Knowledge) -> Option<Install> {
    let (_, distribution, rest) = named(text, knowledge)?;
    let empty = empty(distribution, span);
    let version = stem(rest)?.rsplit('-').next().unwrap_or_default().to_owned();
    let tag = tag_of_version(&version).or_else(|| text.split('/').find(|part| is_tag(part)).map(str::to_owned));
    let variant = tag.map(|tag| Variant { tag, from: VariantSource::WheelUrl, span, source: None });
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        let why = format!("the archive contains version `{version}`");
        return Some(Install { version: VersionSpec::Unresolved, untold: Some(why), variant, ..empty });
    }
    Some(Install { version: VersionSpec::Exact(version), variant, ..empty })
}

/// What is in the archive that a command unpacks, where the file's own name tells it.
pub fn unpacked(command: &Command, knowledge: Knowledge) -> Option<Install> {
    let program = command.program()?;
    if !matches!(program, "unzip" | "tar" | "bsdtar" | "7z") {
        return None;
    }
    let file = |word: &Word| {
        word.known().filter(|text| !text.contains("://")).and_then(|text| archive(text, word.span, knowledge))
    };
    let found = command.words.iter().skip(1).find_map(file)?;
    Some(Install { conditional: command.conditional, ..found })
}

fn one(word: &Word, knowledge: Knowledge) -> Option<Install> {
    let text = word.known().unwrap_or(&word.raw);
    if let Resolved::Unresolved { reason, .. } = &word.value {
        let (_, distribution, _) = named(text, knowledge)?;
        let (why, builds) = (reason.clone(), Builds::Unknown(reason.clone()));
        let empty = empty(distribution, word.span);
        return Some(Install { version: VersionSpec::Unresolved, untold: Some(why), builds, ..empty });
    }
    archive(text, word.span, knowledge)
}

/// What stands between the name of an archive and its ending, as versions are written.
fn stem(rest: &str) -> Option<String> {
    let stem = rest.strip_suffix(".zip").or_else(|| rest.strip_suffix(".tar.gz"))?;
    Some(stem.replace("%2B", "+").replace("%2b", "+"))
}

/// The archive, the distribution that it is of, and the rest of the file's name; none for other systems.
fn named(address: &str, knowledge: Knowledge) -> Option<(&'static str, &'static str, &str)> {
    let path = address.trim_matches(['"', '\'']).split(['?', '#']).next()?;
    let file = path.rsplit('/').next()?;
    let frameworks = knowledge.frameworks().iter();
    let mut all = frameworks.flat_map(|row| row.archives.iter().map(move |archive| (*archive, row.distribution)));
    let (archive, distribution) = all.find(|(archive, _)| file.starts_with(archive))?;
    let rest = file.strip_prefix(archive)?.strip_prefix('-')?;
    let other = rest.split('-').any(|part| part.starts_with("macos") || part.starts_with("win"));
    (!other).then_some((archive, distribution, rest))
}
