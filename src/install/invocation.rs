//! Which program of those that install a command runs, and where the words for it begin.

use crate::shell::Command;
use crate::shell::Word;
use crate::shell::inner;

/// Options in front of what `uv run` and its kin run, which a value follows.
const RUN_WITH_VALUE: &[&str] = &[
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

/// How a command comes to install.
pub(super) enum Invocation {
    /// The command stands after so many words.
    Inside(usize),
    /// pip's own arguments stand after so many words; whether it is uv.
    Pip(usize, bool),
    /// A tool is installed to run once; its name or options stand after so many words.
    Once(usize),
    /// pip-tools make the environment as files say.
    Synced,
    /// The arguments of a tool for projects stand after so many words.
    Tool(usize),
    Conda,
    CondaLock,
    System,
}

/// How a program that is called with these words, itself the first, comes to install; none where it does not.
pub(super) fn invocation(program: &str, words: &[Word]) -> Option<Invocation> {
    let word = |at: usize| words.get(at).and_then(Word::known).unwrap_or("");
    let numbered = |base: &str| {
        program.strip_prefix(base).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    match program {
        _ if inner(words) > 0 => Some(Invocation::Inside(inner(words))),
        "xargs" => {
            let mut at = 1;
            while word(at).starts_with('-') {
                at += 1 + usize::from(matches!(word(at), "-n" | "-P" | "-I" | "-L" | "-a" | "-d" | "-s" | "-E"));
            }
            Some(Invocation::Inside(at))
        }
        "uv" if word(1) == "pip" => Some(Invocation::Pip(2, true)),
        "uv" if word(1) == "tool" && word(2) == "install" => Some(Invocation::Pip(2, true)),
        "uv" if word(1) == "tool" && word(2) == "run" => Some(Invocation::Once(3)),
        "uvx" => Some(Invocation::Once(1)),
        "pipx" if word(1) == "install" => Some(Invocation::Pip(1, false)),
        "pipx" if word(1) == "run" => Some(Invocation::Once(2)),
        "uv" | "poetry" | "pdm" | "pixi" | "pipenv" if word(1) == "run" => {
            let mut at = 2;
            while word(at).starts_with('-') {
                at += 1 + usize::from(RUN_WITH_VALUE.contains(&word(at)));
            }
            Some(Invocation::Inside(at))
        }
        "uv" | "poetry" | "pdm" | "pixi" | "pipenv" => Some(Invocation::Tool(1)),
        "conda" | "mamba" | "micromamba" if word(1) == "run" => {
            let mut at = 2;
            while word(at).starts_with('-') {
                let takes_value = matches!(word(at), "-n" | "-p" | "--name" | "--prefix" | "--cwd");
                at += 1 + usize::from(takes_value);
            }
            Some(Invocation::Inside(at))
        }
        "conda" | "mamba" | "micromamba" => Some(Invocation::Conda),
        "pip-sync" => Some(Invocation::Synced),
        "conda-lock" => Some(Invocation::CondaLock),
        "apt" | "apt-get" | "aptitude" | "dpkg" | "dnf" | "dnf5" | "yum" | "microdnf" | "tdnf" | "zypper" | "rpm" => {
            Some(Invocation::System)
        }
        // OpenMMLab's front to pip takes pip's own arguments.
        "mim" => Some(Invocation::Pip(1, false)),
        _ if numbered("pip") => Some(Invocation::Pip(1, false)),
        _ if numbered("python") => {
            let module = (1..words.len().min(8)).find(|at| matches!(word(*at), "-m" | "-c"))?;
            if word(module) == "-c" {
                return None;
            }
            match word(module + 1) {
                "pip" | "pipx" => Some(Invocation::Pip(module + 2, false)),
                "uv" if word(module + 2) == "pip" => Some(Invocation::Pip(module + 3, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The Python that a command names by its version.
pub fn python_named(command: &Command) -> Option<String> {
    command.words.iter().filter_map(Word::known).find_map(|word| python_of(word.rsplit('/').next().unwrap_or(word)))
}

/// The version in `python3.11` and `pip3.11`.
pub fn python_of(program: &str) -> Option<String> {
    let version = program.strip_prefix("python").or_else(|| program.strip_prefix("pip"))?;
    let number = version.contains('.') && version.split('.').all(|part| part.bytes().all(|one| one.is_ascii_digit()));
    number.then(|| version.to_owned())
}

/// Whether a command installs packages of the operating system.
pub fn is_of_system(command: &Command) -> bool {
    let program = |word: &Word| {
        let program = word.known()?.rsplit('/').next()?;
        matches!(invocation(program, std::slice::from_ref(word)), Some(Invocation::System)).then_some(())
    };
    command.words.iter().take(8).any(|word| program(word).is_some())
}
