//! Arguments of `apt-get install`, `dnf install` and the like.

use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::VersionSpec;
use crate::shell::Command;
use crate::shell::Word;

const WITH_VALUE: &[&str] =
    &["-o", "--option", "-t", "--target-release", "-c", "--config-file", "--setopt", "--repo", "--releasever"];

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
        python: None,
        span: word.span,
        source: None,
        conditional: command.conditional,
    });
}
