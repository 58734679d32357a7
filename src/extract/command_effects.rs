//! Whether the commands of a build can add shared libraries besides those of the base image and of known packages.

use crate::dockerfile::{BaseKind, CopyInstruction, EvaluatedTarget};
use crate::install::{InstallEffects, PackageInstall, normalise_name};
use crate::knowledge::{BroughtRow, Knowledge, LibraryNeedsRow};
use crate::model::cause::Cause;
use crate::model::fact::{PackageManager, PackageVersion};
use crate::shell::{Command, Word};

/// Programs that add no program and no library to an image.
const HARMLESS_PROGRAMS: &[&str] = &[
    "addgroup", "adduser", "cd", "chgrp", "chmod", "chown", "echo", "exit", "export", "false", "groupadd", "ls",
    "mkdir", "printf", "pwd", "rm", "rmdir", "set", "sleep", "test", "touch", "true", "umask", "unset", "useradd", ":",
    "[",
];
/// Installers that add nothing when run with a maintenance subcommand.
const INSTALLERS: &[&str] = &["apt", "apt-get", "pip", "pip3"];
/// Subcommands of installers that add nothing to an image.
const MAINTENANCE_SUBCOMMANDS: &[&str] =
    &["autoclean", "autoremove", "cache", "check", "clean", "list", "purge", "remove", "uninstall", "update"];
/// Options of pip that take the URL of an index.
const INDEX_OPTIONS: &[&str] = &["--index-url", "--extra-index-url", "-i"];
/// Extensions of files that no loader takes for a library and no shell unpacks.
pub(super) const PLAIN_EXTENSIONS: &[&str] =
    &["cfg", "csv", "in", "ini", "json", "lock", "md", "py", "toml", "txt", "yaml", "yml"];

/// Whether a program adds no program and no library to an image.
pub(super) fn is_harmless(program: &str) -> bool {
    HARMLESS_PROGRAMS.contains(&program)
}

/// Whether everything that a command adds is in the packages that it was found to install.
pub(super) fn is_fully_known(command: &Command, found: &InstallEffects, knowledge: Knowledge) -> bool {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    let Some(program) = known(0) else { return false };
    let program = program.rsplit('/').next().unwrap_or(program);
    if is_harmless(program) {
        return true;
    }
    if !found.unresolved.is_empty() || !found.files.is_empty() {
        return false;
    }
    // A project, or a file of a package, may hold what it likes; an extra brings more than the name says.
    let own = |word: &str| (word.contains('/') && !word.starts_with('-')) || word.starts_with('.');
    let own = |word: &str| own(word) && word.rsplit('.').next() != Some("txt");
    // Of builds that say which they are, and come without what they depend on, it is the same wherever they come from.
    let alone = !found.packages.is_empty() && found.packages.iter().all(is_single_build);
    let of_index = |at: usize| alone && known(at - 1).is_some_and(|before| INDEX_OPTIONS.contains(&before));
    let of_index = |at: &usize| !of_index(*at);
    let mut words = (1..command.words.len()).filter(of_index).map(|at| known(at).unwrap_or("."));
    let upkeep =
        words.clone().find(|word| !word.starts_with('-')).is_some_and(|word| MAINTENANCE_SUBCOMMANDS.contains(&word));
    if found.packages.is_empty() {
        return upkeep && INSTALLERS.contains(&program);
    }
    let plain = |install: &PackageInstall| match install.manager {
        PackageManager::Pip => {
            let told = found.default_index_only || alone;
            told && install.extras.iter().all(|extra| is_known_extra(&install.name, extra, knowledge))
        }
        PackageManager::System => true,
        PackageManager::Conda => knowledge.has_known_content(&install.name),
    };
    found.packages.iter().all(plain) && !words.any(own)
}

/// Whether a command may install further packages, from a list, a project or a repository that was not read.
pub(super) fn may_install_more(command: &Command, found: &InstallEffects, knowledge: Knowledge) -> bool {
    if !found.unresolved.is_empty() || found.files.iter().any(|file| !file.constraint) {
        return true;
    }
    let of_extra = |install: &PackageInstall| {
        let told = |extra: &String| {
            is_known_extra(&install.name, extra, knowledge)
                || knowledge.is_library_free_extra(&install.name, &normalise_name(extra))
        };
        install.manager == PackageManager::Pip && !install.no_deps && !install.extras.iter().all(told)
    };
    if found.packages.iter().any(of_extra) {
        return true;
    }
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    let program = command.program().unwrap_or_default();
    let of_pip = (program.starts_with("pip") || words.contains(&"pip")) && words.contains(&"install");
    let by_hand = program.starts_with("python")
        && words.iter().any(|word| word.rsplit('/').next() == Some("setup.py"))
        && words.iter().any(|word| matches!(*word, "install" | "develop"));
    let list = |word: &str| word.rsplit('.').next() == Some("txt");
    let project = |word: &&str| word.contains("git+") || (word.starts_with(['.', '/']) && !list(word));
    let projects = words.iter().skip(1).filter(|word| project(word)).count();
    // Of what is built from sources, no command tells the version.
    let has_unknown_version = |one: &PackageInstall| matches!(&one.version, PackageVersion::Unresolved(why) if *why != Cause::VariableWithoutValue);
    let told = found.packages.iter().filter(|one| has_unknown_version(one) || one.source.is_some()).count();
    (by_hand && found.packages.is_empty()) || (of_pip && projects > told)
}

/// Whether a command keeps installed versions of the packages that it names, and fits other packages to them: `uv pip
/// install`.
pub(super) fn keeps_installed_packages(command: &Command) -> bool {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    command.program() == Some("uv") && known(1) == Some("pip") && known(2) == Some("install")
}

/// Whether a command installs the newest version of every dependency, whatever is installed already.
pub(super) fn upgrades_dependencies(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    let upgrades = has(&["-U", "--upgrade"]);
    let eager =
        has(&["--upgrade-strategy=eager"]) || words.windows(2).any(|pair| pair == ["--upgrade-strategy", "eager"]);
    if !has(&["install"]) {
        return false;
    }
    match command.program() {
        Some("uv") => words.get(1) == Some(&"pip") && (upgrades || has(&["--reinstall"])),
        Some(program) if program.starts_with("pip") || words.contains(&"pip") => {
            has(&["-I", "--force-reinstall", "--ignore-installed"]) || (upgrades && eager)
        }
        _ => false,
    }
}

/// Whether an install is one specific build of a package, without its dependencies.
fn is_single_build(install: &PackageInstall) -> bool {
    install.manager == PackageManager::Pip && install.no_deps && install.variant.is_some()
}

/// What commands may have added to an image beyond what is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnknownAdditions {
    /// Nothing unknown.
    #[default]
    Nothing,
    /// At most links to existing files.
    Links,
    /// Any file.
    Files,
}

/// Whether a command only links files or updates the loader configuration: `ln`, `ldconfig`.
pub(super) fn is_linking(command: &Command) -> bool {
    matches!(command.program(), Some("ln" | "ldconfig"))
}

/// Whether the knowledge tables list the dependencies of an extra.
fn is_known_extra(distribution: &str, extra: &str, knowledge: Knowledge) -> bool {
    let extra = normalise_name(extra);
    let told = |row: &BroughtRow| row.distribution == distribution && row.extra == extra;
    let with = |row: &LibraryNeedsRow| row.distribution == distribution && row.with == Some(extra.as_str());
    knowledge.brought_packages().iter().any(told) || knowledge.library_needs().iter().any(with)
}

/// Whether the base is an image of a registry, and COPY adds nothing but plain text files of the build context.
pub(super) fn has_only_plain_copies(evaluated: &EvaluatedTarget) -> bool {
    let text = |copy: &CopyInstruction| {
        let sources = copy.sources.iter().all(|(source, _)| {
            let ending = source.known_text().and_then(|path| Some(path.rsplit_once('.')?.1));
            ending.is_some_and(|ending| PLAIN_EXTENSIONS.contains(&ending))
        });
        copy.from.is_none() && sources && !copy.sources.is_empty()
    };
    matches!(&evaluated.base.kind, BaseKind::Image(reference) if !reference.is_build_target())
        && evaluated.copies.iter().all(text)
}
