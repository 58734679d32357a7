//! Arguments of `apt-get install`, `dnf install` and the like.

use crate::install::Builds;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::RequirementFile;
use crate::install::VersionSpec;
use crate::install::package_name;
use crate::install::package_name::Named;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

/// Options of apt, and of RPM's managers, that take the next word.
const APT_VALUES: &[&str] = &["-o", "--option", "-t", "--target-release", "--default-release", "-c", "--config-file"];
const RPM_VALUES: &[&str] = &[
    "-c",
    "-R",
    "-d",
    "-e",
    "-p",
    "-r",
    "-t",
    "-x",
    "--config",
    "--disableplugin",
    "--disablerepo",
    "--enableplugin",
    "--enablerepo",
    "--exclude",
    "--forcearch",
    "--from",
    "--installroot",
    "--plus-repo",
    "--releasever",
    "--repo",
    "--repoid",
    "--root",
    "--setopt",
    "--type",
];

/// Options with which nothing is installed.
const DRY: &[&str] = &[
    "--download-only",
    "--downloadonly",
    "--simulate",
    "--just-print",
    "--dry-run",
    "--recon",
    "--no-act",
    "--print-uris",
    "--test",
];
/// Words in the names of packages that set up a repository, or bring what starts containers.
const SETS_UP: &[&str] = &["container", "docker", "keyring", "repo"];
/// The letters of apt that stand alone, and those of them with which nothing is installed.
const LETTERS: &str = "yqfmuVbds";
const DRY_LETTERS: &str = "ds";

/// Whether an option makes a command look or fetch alone.
fn is_dry(text: &str, command: &Command) -> bool {
    let apt = command.program().is_some_and(|program| program.starts_with("apt"));
    let letters = text.strip_prefix('-').filter(|rest| rest.chars().all(|letter| LETTERS.contains(letter)));
    DRY.contains(&text) || (apt && letters.is_some_and(|rest| rest.contains(|letter| DRY_LETTERS.contains(letter))))
}

/// Reads the arguments of a manager of packages.
pub(super) fn read(program: &str, words: &[Word], (command, knowledge): (&Command, Knowledge), found: &mut Installs) {
    if words.iter().filter_map(Word::known).any(|text| is_dry(text, command)) {
        return;
    }
    match program {
        "apt" | "apt-get" | "aptitude" => by_name(words, false, (command, knowledge), found),
        "dpkg" | "rpm" => by_file(program == "rpm", words, (command, knowledge), found),
        _ => by_name(words, true, (command, knowledge), found),
    }
}

/// `apt-get install NAME …`, `dnf module install MODULE …`.
fn by_name(words: &[Word], rpm: bool, (command, knowledge): (&Command, Knowledge), found: &mut Installs) {
    let with_value = if rpm { RPM_VALUES } else { APT_VALUES };
    let (mut verb, mut module) = (None, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if verb.is_some() {
                unresolved(word, rpm, (command, knowledge), found);
            }
            continue;
        };
        if text.starts_with('-') {
            if with_value.contains(&text) {
                rest.next();
            }
            continue;
        }
        let Some(removes) = verb else {
            verb = match text {
                "module" if rpm => {
                    module = true;
                    None
                }
                "in" if rpm => Some(false),
                "rm" if rpm => Some(true),
                "install" | "reinstall" | "localinstall" => Some(false),
                "remove" | "purge" | "autoremove" | "erase" => Some(true),
                _ => return,
            };
            continue;
        };
        if package_name::is_narrow(text, rpm) {
            continue;
        }
        if package_name::is_file(text) {
            file(text, removes, word, (command, knowledge), found);
        } else if !text.contains("://") && !text.starts_with(['.', '/', '~']) {
            named(text, (rpm, module), removes, word, command, found);
        }
    }
}

/// A package that a manager is asked for by its name.
fn named(text: &str, (rpm, module): (bool, bool), removes: bool, word: &Word, command: &Command, found: &mut Installs) {
    let asked = match (rpm, module && !text.starts_with('@')) {
        (false, _) => Some(package_name::of_apt(text)),
        (true, false) => package_name::of_rpm(text),
        (true, true) => package_name::of_rpm(&format!("@{text}")),
    };
    let Some(Named { name, version }) = asked else { return };
    let dropped = name.strip_suffix('-').filter(|_| !removes && !rpm);
    if removes || dropped.is_some() {
        found.removed.push((Manager::Apt, dropped.unwrap_or(&name).to_owned(), word.span));
    } else {
        push(&name, version, word, command, found);
    }
}

/// `dpkg -i FILE …`, `rpm -Uvh FILE …` and what they take away.
fn by_file(rpm: bool, words: &[Word], (command, knowledge): (&Command, Knowledge), found: &mut Installs) {
    let (mut installs, mut removes) = (false, false);
    for text in words.iter().filter_map(Word::known).filter(|text| text.starts_with('-')) {
        // Into the root of another system.
        if text.starts_with("--root") || text.starts_with("--instdir") {
            return;
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        if rpm {
            let asks = letters.contains(['q', 'V', 'K']);
            installs |= matches!(text, "--install" | "--upgrade") || (letters.contains(['i', 'U']) && !asks);
            removes |= text == "--erase" || (letters.contains('e') && !asks);
        } else {
            installs |= matches!(text, "--install" | "--unpack") || letters.starts_with('i');
            removes |= matches!(text, "--remove" | "--purge" | "-r" | "-P");
        }
    }
    for word in words {
        match word.known() {
            Some(text) if text.starts_with('-') || package_name::is_narrow(text, rpm) => {}
            None if installs => unresolved(word, rpm, (command, knowledge), found),
            Some(text) if installs && package_name::is_file(text) => {
                file(text, false, word, (command, knowledge), found);
            }
            Some(text) if removes => named(text, (rpm, false), true, word, command, found),
            _ => {}
        }
    }
}

/// A file that holds a package.
fn file(text: &str, removes: bool, word: &Word, (command, knowledge): (&Command, Knowledge), found: &mut Installs) {
    match package_name::in_file(text) {
        _ if removes => {}
        Some(Named { name, version }) => push(&name, version, word, command, found),
        None => {
            let name = text.rsplit('/').next().unwrap_or(text);
            let told = SETS_UP.iter().any(|what| name.contains(what));
            if !told && knowledge.carries_libraries(&name.to_ascii_lowercase()) {
                found.files.push(RequirementFile {
                    path: word.value.clone(),
                    constraint: false,
                    extras: Vec::new(),
                    span: word.span,
                    why: "its file name does not identify the package".to_owned(),
                });
            }
        }
    }
}

/// A word of which a part is not known.
fn unresolved(word: &Word, rpm: bool, (command, knowledge): (&Command, Knowledge), found: &mut Installs) {
    let name = package_name::partly(&word.raw, rpm);
    let whole = name.as_ref().is_some_and(|name| !name.contains(['$', '`']));
    if let Some(name) = name.filter(|name| whole || knowledge.carries_libraries(name)) {
        push(&name, VersionSpec::Unresolved, word, command, found);
    }
    if !whole {
        found.unresolved.push((word.value.clone(), word.span));
    }
}

pub(super) fn push(name: &str, version: VersionSpec, word: &Word, command: &Command, found: &mut Installs) {
    found.packages.push(Install {
        manager: Manager::Apt,
        name: name.to_owned(),
        extras: Vec::new(),
        version,
        untold: None,
        variant: None,
        builds: Builds::Default,
        early: None,
        upgrade: false,
        alone: false,
        build: None,
        channel: None,
        python: None,
        span: word.span,
        source: None,
        conditional: command.conditional,
    });
}
