//! Installers of drivers and CUDA toolkits that are not packages: scripts by their URL, and NVIDIA's runfiles.

use crate::build::{Command, Word, is_shell};
use crate::install::effects::InstallEffects;
use crate::install::system_packages::add_system_package;
use crate::knowledge::Knowledge;
use crate::model::package::PackageVersion;

/// Options with which a driver installer installs nothing.
const NO_INSTALL_OPTIONS: &[&str] = &[
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

/// Reads a driver installer: a program, a script by its URL, or a runfile such as
/// `NVIDIA-Linux-x86_64-535.54.03.run`.
pub(super) fn read_installer(words: &[Word], command: &Command, knowledge: Knowledge, found: &mut InstallEffects) {
    let shell = words.first().and_then(file_name).is_some_and(is_shell);
    let mut rest = words.iter().skip(usize::from(shell));
    let Some(word) = rest.find(|word| !word.known().is_some_and(|text| text.starts_with('-'))) else { return };
    let Some(name) = file_name(word) else { return };
    let options: Vec<&str> = rest.map(|word| word.known().unwrap_or_default()).collect();
    let verb = options.iter().find(|text| !text.starts_with('-')).copied().unwrap_or_default();
    let address = word.known().and_then(|text| text.split_once("://")).map_or("", |(_, rest)| rest);
    let address = address.split(['?', '#']).next().unwrap_or_default().trim_start_matches("www.");
    for known in [format!("{name} {verb}"), address.to_owned()] {
        if knowledge.driver_package(&known).is_some_and(|row| row.chance) {
            add_system_package(&known, PackageVersion::any(), word, command, found);
            return;
        }
    }
    let Some(row) = knowledge.driver_package(name).filter(|row| row.prefix) else { return };
    let Some(versions) = name.strip_prefix(row.name) else { return };
    if let Some(toolkit) = row.beside {
        read_toolkit_runfile(name, versions, toolkit, &options, word, command, found);
    } else if let Some(version) =
        versions.strip_suffix(".run").filter(|_| !options.iter().any(|one| NO_INSTALL_OPTIONS.contains(one)))
    {
        let version = version.split('-').next().unwrap_or(version).to_owned();
        add_system_package(name, PackageVersion::exact(version), word, command, found);
    }
}

/// Returns the last component of a word that is a path or a URL.
fn file_name(word: &Word) -> Option<&str> {
    let text = word.known()?;
    let text = if text.contains("://") { text.split(['?', '#']).next()? } else { text };
    text.rsplit('/').next()
}

/// Reads a toolkit runfile, such as `cuda_11.7.1_515.65.01_linux.run`: toolkit and driver, or those that options
/// select.
fn read_toolkit_runfile(
    name: &str,
    versions: &str,
    toolkit: &str,
    options: &[&str],
    word: &Word,
    command: &Command,
    found: &mut InstallEffects,
) {
    let mut parts = versions.split('_');
    let Some(cuda) = parts.next().filter(|cuda| cuda.split('.').count() == 3) else { return };
    let rest: Vec<&str> = parts.collect();
    let Some(system) = rest.iter().position(|part| part.starts_with("linux")) else { return };
    let driver = rest.first().filter(|_| system > 0);
    let given = |names: &[&str]| {
        options.iter().any(|option| {
            let plain = option.trim_start_matches('-').split('=').next().unwrap_or_default();
            option.starts_with('-') && names.contains(&plain)
        })
    };
    if given(&["extract", "help", "uninstall", "version", "check", "info", "list", "noexec", "tar"]) {
        return;
    }
    let has_selection = given(&["driver", "toolkit", "samples"]);
    if given(&["driver"]) || !has_selection {
        let version = driver.map_or_else(PackageVersion::any, |driver| PackageVersion::exact(*driver));
        add_system_package(name, version, word, command, found);
    }
    if given(&["toolkit"]) || !has_selection {
        let release: Vec<&str> = cuda.split('.').take(2).collect();
        let package = format!("{toolkit}{}", release.join("-"));
        add_system_package(&package, PackageVersion::exact(cuda), word, command, found);
    }
}
