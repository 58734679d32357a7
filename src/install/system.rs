//! Arguments of `apt-get install`, `dnf install` and the like.

use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::VersionSpec;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

const WITH_VALUE: &[&str] =
    &["-o", "--option", "-t", "--target-release", "-c", "--config-file", "--setopt", "--repo", "--releasever"];

/// Options with which the installer of a driver installs nothing.
const LOOKS: &[&str] = &[
    "-x",
    "--extract-only",
    "-i",
    "--info",
    "--check",
    "--list",
    "--lsm",
    "-h",
    "--help",
    "-A",
    "--advanced-options",
    "-v",
    "--version",
    "--uninstall",
];

pub(super) fn read(words: &[Word], command: &Command, found: &mut Installs) {
    let mut verb = None;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if verb.is_some() {
                unresolved(word, command, found);
            }
            continue;
        };
        if text.starts_with('-') {
            if WITH_VALUE.contains(&text) {
                rest.next();
            }
            continue;
        }
        let Some(removes) = verb else {
            verb = Some(match text {
                "install" | "reinstall" | "localinstall" => false,
                "remove" | "purge" | "autoremove" | "erase" => true,
                _ => return,
            });
            continue;
        };
        if text.contains('/') && text.contains('.') {
            continue;
        }
        let (name, version) = text.split_once('=').map_or((text, None), |(name, version)| (name, Some(version)));
        let name = name.split(['/', ':']).next().unwrap_or(name);
        let dropped = name.strip_suffix('-').filter(|_| !removes);
        if removes || dropped.is_some() {
            found.removed.push((Manager::Apt, dropped.unwrap_or(name).to_owned(), word.span));
            continue;
        }
        let version = match version {
            Some(version) if version.contains('*') => VersionSpec::Range(version.to_owned()),
            Some(version) => VersionSpec::Exact(version.to_owned()),
            None => VersionSpec::None,
        };
        push(name, version, word, command, found);
    }
}

/// The installer of a driver, which brings its version in its name: `sh NVIDIA-Linux-x86_64-535.54.03.run -s`.
pub(super) fn installer(words: &[Word], command: &Command, found: &mut Installs) {
    let file = |word: &Word| word.known().map(|text| text.rsplit('/').next().unwrap_or(text).to_owned());
    let shell = words.first().and_then(file).is_some_and(|name| matches!(name.as_str(), "sh" | "bash" | "dash"));
    let mut rest = words.iter().skip(usize::from(shell));
    let Some(word) = rest.find(|word| !word.known().is_some_and(|text| text.starts_with('-'))) else { return };
    let Some(name) = file(word) else { return };
    let row = Knowledge::built_in().driver_package(&name).filter(|row| row.prefix);
    let version = row.and_then(|row| name.strip_prefix(row.name)?.strip_suffix(".run"));
    // These only unpack it, or tell of it.
    let looks = |word: &Word| word.known().is_some_and(|text| LOOKS.contains(&text));
    if let Some(version) = version.filter(|_| !rest.any(looks)) {
        let version = version.split('-').next().unwrap_or(version).to_owned();
        push(&name, VersionSpec::Exact(version), word, command, found);
    }
}

fn unresolved(word: &Word, command: &Command, found: &mut Installs) {
    match word.raw.trim_matches(['"', '\'']).split_once('=') {
        Some((name, _)) if !name.contains(['$', '`']) => push(name, VersionSpec::Unresolved, word, command, found),
        _ => found.unresolved.push((word.value.clone(), word.span)),
    }
}

fn push(name: &str, version: VersionSpec, word: &Word, command: &Command, found: &mut Installs) {
    found.packages.push(Install {
        manager: Manager::Apt,
        name: name.to_owned(),
        extras: Vec::new(),
        version,
        variant: None,
        builds: Builds::Default,
        upgrade: false,
        build: None,
        channel: None,
        python: None,
        span: word.span,
        source: None,
        conditional: command.conditional,
    });
}
