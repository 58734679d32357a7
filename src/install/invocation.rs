//! Which installer a command runs, and where its arguments begin.

use crate::build::{Command, Word};
use crate::shell::wrapped_program_index;

/// Options of `uv run` and similar commands that take a value.
const RUN_OPTIONS_WITH_VALUE: &[&str] = &[
    "--python",
    "-p",
    "--with",
    "--with-requirements",
    "--with-editable",
    "--extra",
    "--no-extra",
    "--group",
    "--no-group",
    "--only-group",
    "--package",
    "--project",
    "--directory",
    "--env-file",
    "--index",
    "--default-index",
    "--index-url",
    "--extra-index-url",
    "--find-links",
    "--index-strategy",
    "--link-mode",
    "--cache-dir",
    "--manifest-path",
    "--environment",
    "-e",
];

/// How a command runs an installer.
pub(super) enum InstallerInvocation {
    /// Another command, which begins at this word.
    Inside(usize),
    /// pip, whose arguments begin at this word; the flag is whether it is uv.
    Pip(usize, bool),
    /// A tool that is installed for one run, whose options and name begin at this word.
    Once(usize),
    /// `pip-sync`, which makes the environment match requirement files.
    Synced,
    /// A project tool such as uv or poetry, whose arguments begin at this word.
    Tool(usize),
    /// conda, mamba or micromamba.
    Conda,
    /// conda-lock.
    CondaLock,
    /// A system package manager.
    System,
}

/// Returns how a program with these words, itself the first, runs an installer; `None` if it runs none.
pub(super) fn installer_invocation(program: &str, words: &[Word]) -> Option<InstallerInvocation> {
    let word = |at: usize| words.get(at).and_then(Word::known).unwrap_or("");
    let numbered = |base: &str| {
        program.strip_prefix(base).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    match program {
        _ if wrapped_program_index(words) > 0 => Some(InstallerInvocation::Inside(wrapped_program_index(words))),
        "xargs" => {
            let mut at = 1;
            while word(at).starts_with('-') {
                at += 1 + usize::from(matches!(word(at), "-n" | "-P" | "-I" | "-L" | "-a" | "-d" | "-s" | "-E"));
            }
            Some(InstallerInvocation::Inside(at))
        }
        "uv" if word(1) == "pip" => Some(InstallerInvocation::Pip(2, true)),
        "uv" if word(1) == "tool" && word(2) == "install" => Some(InstallerInvocation::Pip(2, true)),
        "uv" if word(1) == "tool" && word(2) == "run" => Some(InstallerInvocation::Once(3)),
        "uvx" => Some(InstallerInvocation::Once(1)),
        "pipx" if word(1) == "install" => Some(InstallerInvocation::Pip(1, false)),
        "pipx" if word(1) == "run" => Some(InstallerInvocation::Once(2)),
        "uv" | "poetry" | "pdm" | "pixi" | "pipenv" if word(1) == "run" => {
            let mut at = 2;
            while word(at).starts_with('-') {
                at += 1 + usize::from(RUN_OPTIONS_WITH_VALUE.contains(&word(at)));
            }
            Some(InstallerInvocation::Inside(at))
        }
        "uv" | "poetry" | "pdm" | "pixi" | "pipenv" => Some(InstallerInvocation::Tool(1)),
        "conda" | "mamba" | "micromamba" if word(1) == "run" => {
            let mut at = 2;
            while word(at).starts_with('-') {
                let takes_value = matches!(word(at), "-n" | "-p" | "--name" | "--prefix" | "--cwd");
                at += 1 + usize::from(takes_value);
            }
            Some(InstallerInvocation::Inside(at))
        }
        "conda" | "mamba" | "micromamba" => Some(InstallerInvocation::Conda),
        "pip-sync" => Some(InstallerInvocation::Synced),
        "conda-lock" => Some(InstallerInvocation::CondaLock),
        "apt" | "apt-get" | "aptitude" | "dpkg" | "dnf" | "dnf5" | "yum" | "microdnf" | "tdnf" | "zypper" | "rpm" => {
            Some(InstallerInvocation::System)
        }
        // OpenMMLab's front to pip takes pip's own arguments.
        "mim" => Some(InstallerInvocation::Pip(1, false)),
        _ if numbered("pip") => Some(InstallerInvocation::Pip(1, false)),
        _ if numbered("python") => {
            let module = (1..words.len().min(8)).find(|at| matches!(word(*at), "-m" | "-c"))?;
            if word(module) == "-c" {
                return None;
            }
            match word(module + 1) {
                "pip" | "pipx" => Some(InstallerInvocation::Pip(module + 2, false)),
                "uv" if word(module + 2) == "pip" => Some(InstallerInvocation::Pip(module + 3, true)),
                _ => None,
            }
        }
        _ => None,
    }
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
        matches!(installer_invocation(program, std::slice::from_ref(word)), Some(InstallerInvocation::System))
            .then_some(())
    };
    command.words.iter().take(8).any(|word| program(word).is_some())
}
