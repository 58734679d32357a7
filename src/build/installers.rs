//! Commands that install packages, by the table `installer_commands`.

use crate::build::command::Word;
use crate::knowledge::{InstallerCommandRow, InstallerSyntax, Knowledge};

/// Returns the longest row of the table that a command begins with; `program` is the name of its first word.
pub fn installer_of_command(program: &str, words: &[Word]) -> Option<&'static InstallerCommandRow> {
    let begins = |row: &&InstallerCommandRow| {
        let Some((name, subcommands)) = row.words.split_first() else { return false };
        let is_named = if row.versioned { is_versioned_program(program, name) } else { program == *name };
        let named = |(at, subcommand): (usize, &&str)| words.get(at + 1).and_then(Word::known) == Some(*subcommand);
        is_named && subcommands.iter().enumerate().all(named)
    };
    Knowledge::built_in().installer_commands().iter().filter(begins).max_by_key(|row| row.words.len())
}

/// Whether a program has a name, with or without a version: `pip3.11`.
pub fn is_versioned_program(program: &str, name: &str) -> bool {
    let version = program.strip_prefix(name);
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')))
}

/// Whether a program chooses by itself in which Python environment another one runs: `poetry run`, `conda run`, `pipx`.
pub fn chooses_python_environment(program: &str) -> bool {
    let chooses = |syntax| match syntax {
        InstallerSyntax::SingleRun
        | InstallerSyntax::Project
        | InstallerSyntax::ProjectRun
        | InstallerSyntax::Conda
        | InstallerSyntax::CondaRun => true,
        InstallerSyntax::Pip
        | InstallerSyntax::Uv
        | InstallerSyntax::Requirements
        | InstallerSyntax::NewEnvironment
        | InstallerSyntax::Synchronize
        | InstallerSyntax::CondaLock
        | InstallerSyntax::System => false,
    };
    let mut rows = Knowledge::built_in().installer_commands().iter();
    rows.any(|row| row.words.first() == Some(&program) && chooses(row.syntax))
}

/// Whether a command runs a system package manager.
pub fn is_system_package_manager(program: &str) -> bool {
    let rows = Knowledge::built_in().installer_commands().iter();
    rows.filter(|row| row.syntax == InstallerSyntax::System).any(|row| row.words == [program])
}
