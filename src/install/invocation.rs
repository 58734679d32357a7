//! Which installer a command runs, and where its arguments begin.

use crate::build::{Command, Word, installer_of_command, is_versioned_program};
use crate::knowledge::{InstallerCommandRow, InstallerSyntax};
use crate::shell::wrapped_program_index;

/// Options of `uv run` and similar commands that take a value, by `uv run --help` of uv 0.13.9; the last ones are those of
/// pixi.
const RUN_OPTIONS_WITH_VALUE: &[&str] = &[
    "--allow-insecure-host",
    "--cache-dir",
    "--color",
    "--config-file",
    "-C",
    "--config-setting",
    "--config-settings-package",
    "--default-index",
    "--directory",
    "--env-file",
    "--exclude-newer",
    "--exclude-newer-package",
    "--extra",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--fork-strategy",
    "--group",
    "--index",
    "--index-strategy",
    "-i",
    "--index-url",
    "--keyring-provider",
    "--link-mode",
    "--no-binary-package",
    "--no-build-isolation-package",
    "--no-build-package",
    "--no-editable-package",
    "--no-extra",
    "--no-group",
    "--no-sources-package",
    "--only-group",
    "--package",
    "--prerelease",
    "--prerelease-package",
    "--project",
    "-p",
    "--python",
    "--python-platform",
    "--refresh-package",
    "--reinstall-package",
    "--resolution",
    "-P",
    "--upgrade-package",
    "--upgrade-group",
    "-w",
    "--with",
    "--with-editable",
    "--with-requirements",
    "-e",
    "--environment",
    "--manifest-path",
];

/// How a command runs an installer.
pub(super) enum InstallerInvocation {
    /// Another command, which begins at this word.
    Inside(usize),
    /// An installer of the table, whose arguments begin at this word.
    Installer(&'static InstallerCommandRow, usize),
}

/// Returns how a program with these words, itself the first, runs an installer; `None` if it runs none.
pub(super) fn installer_invocation(program: &str, words: &[Word]) -> Option<InstallerInvocation> {
    let word = |at: usize| words.get(at).and_then(Word::known).unwrap_or("");
    match program {
        _ if wrapped_program_index(words) > 0 => Some(InstallerInvocation::Inside(wrapped_program_index(words))),
        "xargs" => {
            let takes_value = |option: &str| matches!(option, "-n" | "-P" | "-I" | "-L" | "-a" | "-d" | "-s" | "-E");
            Some(InstallerInvocation::Inside(options_end(words, 1, takes_value)))
        }
        _ if is_versioned_program(program, "python") => {
            let module = (1..words.len().min(8)).find(|at| matches!(word(*at), "-m" | "-c"))?;
            let name = Some(word(module + 1)).filter(|_| word(module) == "-m")?;
            let row = installer_of_command(name, words.get(module + 1..)?)?;
            Some(InstallerInvocation::Installer(row, module + 1 + row.words.len()))
        }
        _ => {
            let row = installer_of_command(program, words)?;
            Some(InstallerInvocation::Installer(row, row.words.len()))
        }
    }
}

/// Whether a command calls pip, or another program with the syntax of pip.
pub fn is_pip_command(command: &Command) -> bool {
    let Some(program) = command.program() else { return false };
    let Some(InstallerInvocation::Installer(row, _)) = installer_invocation(program, &command.words) else {
        return false;
    };
    matches!(row.syntax, InstallerSyntax::Pip | InstallerSyntax::Uv)
}

/// Returns the index of the command that `uv run`, `conda run` and similar commands run, whose options begin at a word.
pub(super) fn run_command_index(syntax: InstallerSyntax, words: &[Word], from: usize) -> usize {
    match syntax {
        InstallerSyntax::CondaRun => {
            options_end(words, from, |option| matches!(option, "-n" | "-p" | "--name" | "--prefix" | "--cwd"))
        }
        _ => options_end(words, from, |option| RUN_OPTIONS_WITH_VALUE.contains(&option)),
    }
}

/// Returns the index of the first word behind options that begin at a word.
fn options_end(words: &[Word], from: usize, takes_value: impl Fn(&str) -> bool) -> usize {
    let mut at = from;
    while let Some(option) = words.get(at).and_then(Word::known).filter(|option| option.starts_with('-')) {
        at += 1 + usize::from(takes_value(option));
    }
    at
}

/// Returns the Python version in the program names of a command.
pub fn python_version_of_command(command: &Command) -> Option<String> {
    command
        .words
        .iter()
        .filter_map(Word::known)
        .find_map(|word| python_version_of_program(word.rsplit('/').next().unwrap_or(word)))
}

/// Returns the Python version in a program name such as `python3.11` or `pip3.11`.
pub fn python_version_of_program(program: &str) -> Option<String> {
    let version = program.strip_prefix("python").or_else(|| program.strip_prefix("pip"))?;
    let number = version.contains('.') && version.split('.').all(|part| part.bytes().all(|one| one.is_ascii_digit()));
    number.then(|| version.to_owned())
}

/// Whether a command runs a system package manager.
pub fn is_system_package_command(command: &Command) -> bool {
    let program = |word: &Word| {
        let program = word.known()?.rsplit('/').next()?;
        installer_of_command(program, std::slice::from_ref(word))
            .filter(|row| row.syntax == InstallerSyntax::System)
            .map(drop)
    };
    command.words.iter().take(8).any(|word| program(word).is_some())
}
