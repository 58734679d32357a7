//! Whether nothing of a build can bring a shared library beside the base and the packages that it names.

use crate::dockerfile::BaseKind;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::Evaluated;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::normalised;
use crate::knowledge::BroughtRow;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;
use crate::shell::Command;
use crate::shell::Word;

/// Commands that put no program and no library into an image.
const HARMLESS: &[&str] = &[
    "addgroup", "adduser", "cd", "chgrp", "chmod", "chown", "echo", "exit", "export", "false", "groupadd", "ls",
    "mkdir", "printf", "pwd", "rm", "rmdir", "set", "sleep", "test", "touch", "true", "umask", "unset", "useradd", ":",
    "[",
];
/// Installers, and what they are told to do without bringing anything.
const INSTALLERS: &[&str] = &["apt", "apt-get", "pip", "pip3"];
const UPKEEP: &[&str] =
    &["autoclean", "autoremove", "cache", "check", "clean", "list", "purge", "remove", "uninstall", "update"];
/// Options of pip that the address of an index follows.
const INDEXES: &[&str] = &["--index-url", "--extra-index-url", "-i"];
/// Files that no loader takes for a library and no shell unpacks.
pub(super) const PLAIN: &[&str] =
    &["cfg", "csv", "in", "ini", "json", "lock", "md", "py", "toml", "txt", "yaml", "yml"];

/// Whether a program puts no program and no library into an image.
pub(super) fn is_harmless(program: &str) -> bool {
    HARMLESS.contains(&program)
}

/// Whether what a command brings is all in the packages that it was found to install.
pub(super) fn is_told(command: &Command, found: &Installs, knowledge: Knowledge) -> bool {
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
    let alone = !found.packages.is_empty() && found.packages.iter().all(of_build);
    let of_index = |at: usize| alone && known(at - 1).is_some_and(|before| INDEXES.contains(&before));
    let of_index = |at: &usize| !of_index(*at);
    let mut words = (1..command.words.len()).filter(of_index).map(|at| known(at).unwrap_or("."));
    let upkeep = words.clone().find(|word| !word.starts_with('-')).is_some_and(|word| UPKEEP.contains(&word));
    if found.packages.is_empty() {
        return upkeep && INSTALLERS.contains(&program);
    }
    let plain = |install: &Install| match install.manager {
        Manager::Pip => {
            let told = found.usual || alone;
            told && install.extras.iter().all(|extra| is_listed(&install.name, extra, knowledge))
        }
        Manager::Apt => true,
        Manager::Conda => knowledge.is_told_whole(&install.name),
    };
    found.packages.iter().all(plain) && !words.any(own)
}

/// Whether a command may install packages that it was not found to install: out of a list, a project or a repository that
/// was not read.
pub(super) fn may_bring_more(command: &Command, found: &Installs, knowledge: Knowledge) -> bool {
    if !found.unresolved.is_empty() || found.files.iter().any(|file| !file.constraint) {
        return true;
    }
    let of_extra = |install: &Install| {
        let told = |extra: &String| {
            is_listed(&install.name, extra, knowledge) || knowledge.is_free_extra(&install.name, &normalised(extra))
        };
        install.manager == Manager::Pip && !install.alone && !install.extras.iter().all(told)
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
    let told = found.packages.iter().filter(|one| one.untold.is_some() || one.source.is_some()).count();
    (by_hand && found.packages.is_empty()) || (of_pip && projects > told)
}

/// Whether a command is one of an installer that keeps what is there of the packages that it is given, and takes of others
/// those that go with them.
pub(super) fn keeps_named(command: &Command) -> bool {
    let known = |at: usize| command.words.get(at).and_then(Word::known);
    command.program() == Some("uv") && known(1) == Some("pip") && known(2) == Some("install")
}

/// Whether a command is one of an installer that takes the newest of all that it brings along, whatever is there.
pub(super) fn renews(command: &Command) -> bool {
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

/// Whether it is one build of a package, and comes without what it depends on.
fn of_build(install: &Install) -> bool {
    install.manager == Manager::Pip && install.alone && install.variant.is_some()
}

/// What commands may have brought that nobody can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Beyond {
    #[default]
    Nothing,
    /// Links to files that are there, at the most.
    Links,
    /// Any file.
    Files,
}

/// Whether a command does no more than link files and tell the loader of them.
pub(super) fn is_linking(command: &Command) -> bool {
    matches!(command.program(), Some("ln" | "ldconfig"))
}

/// Whether the tables tell what an extra brings along.
fn is_listed(distribution: &str, extra: &str, knowledge: Knowledge) -> bool {
    let extra = normalised(extra);
    let told = |row: &BroughtRow| row.distribution == distribution && row.extra == extra;
    let with = |row: &LibraryNeedsRow| row.distribution == distribution && row.with == Some(extra.as_str());
    knowledge.brought_packages().iter().any(told) || knowledge.library_needs().iter().any(with)
}

/// Whether the base is an image of a registry, and nothing is copied but plain texts of the context.
pub(super) fn is_plain(evaluated: &Evaluated) -> bool {
    let text = |copy: &CopyInstruction| {
        let sources = copy.sources.iter().all(|(source, _)| {
            let ending = source.known().and_then(|path| Some(path.rsplit_once('.')?.1));
            ending.is_some_and(|ending| PLAIN.contains(&ending))
        });
        copy.from.is_none() && sources && !copy.sources.is_empty()
    };
    matches!(&evaluated.base.kind, BaseKind::Image(reference) if !reference.is_made_here())
        && evaluated.copies.iter().all(text)
}
