//! Arguments of system package managers: `apt-get install`, `dnf install` and similar commands.

use crate::install::effects::{InstallEffects, PackageInstall, RequirementFile};
use crate::install::system_package_name;
use crate::install::system_package_name::SystemPackageSpec;
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{IndexSelection, PackageManager, PackageVersion};
use crate::shell::{Command, Word};

/// Options of apt that take the next word as their value.
const APT_OPTIONS_WITH_VALUE: &[&str] =
    &["-o", "--option", "-t", "--target-release", "--default-release", "-c", "--config-file"];
/// Options of RPM package managers that take the next word as their value.
const RPM_OPTIONS_WITH_VALUE: &[&str] = &[
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
const DRY_RUN_OPTIONS: &[&str] = &[
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
/// Words in the names of packages that set up a repository or a container runtime.
const SETUP_PACKAGE_WORDS: &[&str] = &["container", "docker", "keyring", "repo"];
/// Letters of the apt options without a value.
const APT_FLAGS: &str = "yqfmuVbds";
/// Letters of the apt options with which nothing is installed.
const APT_DRY_RUN_FLAGS: &str = "ds";

/// Whether an option makes a command only simulate or download.
fn is_dry_run(text: &str, command: &Command) -> bool {
    let apt = command.program().is_some_and(|program| program.starts_with("apt"));
    let letters = text.strip_prefix('-').filter(|rest| rest.chars().all(|letter| APT_FLAGS.contains(letter)));
    DRY_RUN_OPTIONS.contains(&text)
        || (apt && letters.is_some_and(|rest| rest.contains(|letter| APT_DRY_RUN_FLAGS.contains(letter))))
}

/// Reads the effects of a system package manager from its arguments.
pub(super) fn read_arguments(
    program: &str,
    words: &[Word],
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    if words.iter().filter_map(Word::known).any(|text| is_dry_run(text, command)) {
        return;
    }
    match program {
        "apt" | "apt-get" | "aptitude" => read_named_packages(words, false, (command, knowledge), found),
        "dpkg" | "rpm" => read_package_files(program == "rpm", words, (command, knowledge), found),
        _ => read_named_packages(words, true, (command, knowledge), found),
    }
}

/// Reads packages that are given by name: `apt-get install NAME …`, `dnf module install MODULE …`.
fn read_named_packages(
    words: &[Word],
    rpm: bool,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let with_value = if rpm { RPM_OPTIONS_WITH_VALUE } else { APT_OPTIONS_WITH_VALUE };
    let (mut verb, mut module) = (None, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if verb.is_some() {
                add_unresolved_word(word, rpm, (command, knowledge), found);
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
        if system_package_name::is_32_bit_package(text, rpm) {
            continue;
        }
        if system_package_name::is_package_file(text) {
            add_package_file(text, removes, word, (command, knowledge), found);
        } else if !text.contains("://") && !text.starts_with(['.', '/', '~']) {
            add_named_package(text, (rpm, module), removes, word, command, found);
        }
    }
}

/// Adds a package that is given by name to the installed or removed ones.
fn add_named_package(
    text: &str,
    (rpm, module): (bool, bool),
    removes: bool,
    word: &Word,
    command: &Command,
    found: &mut InstallEffects,
) {
    let asked = match (rpm, module && !text.starts_with('@')) {
        (false, _) => Some(system_package_name::parse_apt_package(text)),
        (true, false) => system_package_name::parse_rpm_package(text),
        (true, true) => system_package_name::parse_rpm_package(&format!("@{text}")),
    };
    let Some(SystemPackageSpec { name, version }) = asked else { return };
    let dropped = name.strip_suffix('-').filter(|_| !removes && !rpm);
    if removes || dropped.is_some() {
        found.removed.push((PackageManager::System, dropped.unwrap_or(&name).to_owned(), word.span));
    } else {
        add_system_package(&name, version, word, command, found);
    }
}

/// Reads packages that are given by file: `dpkg -i FILE …`, `rpm -Uvh FILE …`, and their removals.
fn read_package_files(
    rpm: bool,
    words: &[Word],
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
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
            Some(text) if text.starts_with('-') || system_package_name::is_32_bit_package(text, rpm) => {}
            None if installs => add_unresolved_word(word, rpm, (command, knowledge), found),
            Some(text) if installs && system_package_name::is_package_file(text) => {
                add_package_file(text, false, word, (command, knowledge), found);
            }
            Some(text) if removes => add_named_package(text, (rpm, false), true, word, command, found),
            _ => {}
        }
    }
}

/// Adds the package in a package file.
fn add_package_file(
    text: &str,
    removes: bool,
    word: &Word,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    match system_package_name::parse_package_file_name(text) {
        _ if removes => {}
        Some(SystemPackageSpec { name, version }) => add_system_package(&name, version, word, command, found),
        None => {
            let name = text.rsplit('/').next().unwrap_or(text);
            let told = SETUP_PACKAGE_WORDS.iter().any(|what| name.contains(what));
            if !told && knowledge.may_contain_libraries(&name.to_ascii_lowercase()) {
                found.files.push(RequirementFile {
                    path: word.value.clone(),
                    constraint: false,
                    extras: Vec::new(),
                    span: word.span,
                    why: Some(Cause::PackageNotNamed),
                });
            }
        }
    }
}

/// Adds a word that is partly unknown, as a package if its name is known.
fn add_unresolved_word(
    word: &Word,
    rpm: bool,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let name = system_package_name::partly_known_name(&word.raw, rpm);
    let whole = name.as_ref().is_some_and(|name| !name.contains(['$', '`']));
    if let Some(name) = name.filter(|name| whole || knowledge.may_contain_libraries(name)) {
        add_system_package(&name, PackageVersion::behind_variable(), word, command, found);
    }
    if !whole {
        found.unresolved.push((word.value.clone(), word.span));
    }
}

/// Adds a system package to the installed ones.
pub(super) fn add_system_package(
    name: &str,
    version: PackageVersion,
    word: &Word,
    command: &Command,
    found: &mut InstallEffects,
) {
    found.packages.push(PackageInstall {
        manager: PackageManager::System,
        name: name.to_owned(),
        extras: Vec::new(),
        version,
        variant: None,
        indexes: IndexSelection::Default,
        prerelease: None,
        upgrade: false,
        no_deps: false,
        build: None,
        channel: None,
        python: None,
        span: word.span,
        source: None,
        conditional: command.conditional,
    });
}
