//! Archives of a framework's libraries that a command fetches: the address tells version and CUDA.

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

/// Reads the addresses that `curl` and its kin are given.
pub(super) fn fetched(words: &[Word], command: &Command, found: &mut Installs) {
    let program = words.first().and_then(Word::known).and_then(|word| word.rsplit('/').next());
    if !matches!(program, Some("curl" | "wget" | "aria2c")) {
        return;
    }
    let archives = words.iter().skip(1).filter(|word| word.raw.contains("://")).filter_map(one);
    found.packages.extend(archives.map(|one| Install { conditional: command.conditional, ..one }));
}

/// The folder that an archive unpacks into, where a command fetches one.
pub fn archive_of(command: &Command) -> Option<&'static str> {
    command.words.iter().filter(|word| word.raw.contains("://")).find_map(|word| Some(named(&word.raw)?.0))
}

fn one(word: &Word) -> Option<Install> {
    let text = word.known().unwrap_or(&word.raw);
    let (_, distribution, rest) = named(text)?;
    let empty = empty(distribution, word.span);
    if let Resolved::Unresolved { reason, .. } = &word.value {
        let (why, builds) = (reason.clone(), Builds::Unknown(reason.clone()));
        return Some(Install { version: VersionSpec::Unresolved, untold: Some(why), builds, ..empty });
    }
    let stem = rest.strip_suffix(".zip").or_else(|| rest.strip_suffix(".tar.gz"))?;
    let stem = stem.replace("%2B", "+").replace("%2b", "+");
    let version = stem.rsplit('-').next().unwrap_or_default().to_owned();
    let tag = tag_of_version(&version).or_else(|| text.split('/').find(|part| is_tag(part)).map(str::to_owned));
    let variant = tag.map(|tag| Variant { tag, from: VariantSource::WheelUrl, span: word.span, source: None });
    if !version.starts_with(|c: char| c.is_ascii_digit()) {
        let why = format!("the archive is that of `{version}`");
        return Some(Install { version: VersionSpec::Unresolved, untold: Some(why), variant, ..empty });
    }
    Some(Install { version: VersionSpec::Exact(version), variant, ..empty })
}

/// The archive, the distribution that it is of, and the rest of the file's name; none for other systems.
fn named(address: &str) -> Option<(&'static str, &'static str, &str)> {
    let path = address.trim_matches(['"', '\'']).split(['?', '#']).next()?;
    let file = path.rsplit('/').next()?;
    let frameworks = Knowledge::built_in().frameworks().iter();
    let mut all = frameworks.flat_map(|row| row.archives.iter().map(move |archive| (*archive, row.distribution)));
    let (archive, distribution) = all.find(|(archive, _)| file.starts_with(archive))?;
    let rest = file.strip_prefix(archive)?.strip_prefix('-')?;
    let other = rest.split('-').any(|part| part.starts_with("macos") || part.starts_with("win"));
    (!other).then_some((archive, distribution, rest))
}
