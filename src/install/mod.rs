//! What commands install: Python distributions, conda packages and system packages.

mod conda;
mod pip;
mod requirement;
mod system;
mod variant;

use crate::dockerfile::Lookup;
use crate::dockerfile::Resolved;
use crate::dockerfile::RunInstruction;
use crate::shell::Command;
use crate::shell::Word;
use crate::source::Span;

pub use requirement::normalised;
pub use requirement::requirement;
pub use variant::tag_of_url;

/// Who installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manager {
    /// pip, or uv in pip's place.
    Pip,
    /// conda, mamba or micromamba.
    Conda,
    /// apt, dnf or yum.
    Apt,
}

/// Which version a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSpec {
    /// One version, with its local part.
    Exact(String),
    /// Anything in a range.
    Range(String),
    /// Whatever there is.
    None,
    /// A variable that the file does not give.
    Unresolved,
}

/// Where a variant is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariantSource {
    /// `+cu118` in the version.
    LocalVersion,
    /// The index that replaces the usual one.
    IndexUrl,
    /// A further index, which decides since the version is exact.
    ExtraIndex,
    /// The address of a wheel.
    WheelUrl,
    /// A page of links.
    FindLinks,
    /// uv's choice of a backend.
    TorchBackend,
}

/// Which build of a distribution: `cu118`, `cpu`, `rocm6.0`, `xpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The tag.
    pub tag: String,
    /// Where it is read from.
    pub from: VariantSource,
    /// Where that is written.
    pub span: Span,
}

/// One package that a command installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// Who installs it.
    pub manager: Manager,
    /// Its name; for pip in PEP 503's form.
    pub name: String,
    /// The extras in brackets.
    pub extras: Vec<String>,
    /// The version.
    pub version: VersionSpec,
    /// The build, where the command decides it.
    pub variant: Option<Variant>,
    /// The tag of a further index that does not decide.
    pub extra_index: Option<String>,
    /// conda's build string, where it is asked for.
    pub build: Option<String>,
    /// The word that names it.
    pub span: Span,
    /// Whether the command may not run.
    pub conditional: bool,
}

/// `-r FILE` or `-c FILE`, or an environment file of conda.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementFile {
    /// The path as the command names it.
    pub path: Resolved,
    /// Whether it only constrains versions.
    pub constraint: bool,
    /// Where it is written.
    pub span: Span,
}

/// What one command does to the packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installs {
    /// What it installs.
    pub packages: Vec<Install>,
    /// What it takes away again, and where that is written.
    pub removed: Vec<(Manager, String, Span)>,
    /// Files that name more.
    pub files: Vec<RequirementFile>,
    /// Words that might name packages but are not known, with the reason.
    pub unresolved: Vec<(Resolved, Span)>,
}

/// What a command of a RUN installs and removes.
pub fn installs(command: &Command, run: &RunInstruction) -> Installs {
    installs_with(command, &|name| run.scope.lookup(name))
}

/// The same, with another source of the variables that the command itself does not set.
pub fn installs_with(command: &Command, lookup: &dyn Fn(&str) -> Lookup) -> Installs {
    let variable = |name: &str| match command.variable(name) {
        Some(value) => value.known().map(str::to_owned),
        None => match lookup(name) {
            Lookup::Known(value, _) => Some(value),
            _ => None,
        },
    };
    let mut found = Installs::default();
    let mut words = command.words.as_slice();
    for _ in 0..8 {
        let Some(program) = words.first().and_then(Word::known) else { break };
        let program = program.rsplit('/').next().unwrap_or(program);
        match invocation(program, words) {
            Some(Invocation::Inside(skip)) => words = words.get(skip..).unwrap_or(&[]),
            Some(Invocation::Pip(skip, uv)) => {
                pip::read(words.get(skip..).unwrap_or(&[]), uv, command, &variable, &mut found);
                break;
            }
            Some(Invocation::Conda) => {
                conda::read(words.get(1..).unwrap_or(&[]), command, &mut found);
                break;
            }
            Some(Invocation::System) => {
                system::read(words.get(1..).unwrap_or(&[]), command, &mut found);
                break;
            }
            None => break,
        }
    }
    found
}

enum Invocation {
    /// The command stands after so many words.
    Inside(usize),
    /// pip's own arguments stand after so many words; whether it is uv.
    Pip(usize, bool),
    Conda,
    System,
}

fn invocation(program: &str, words: &[Word]) -> Option<Invocation> {
    let word = |at: usize| words.get(at).and_then(Word::known).unwrap_or("");
    let numbered = |base: &str| {
        program.strip_prefix(base).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    match program {
        "sudo" | "env" | "nice" | "exec" | "command" | "time" | "eatmydata" | "travis_retry" => {
            let option = |one: &Word| one.known().is_some_and(|text| text.starts_with('-') || text.contains('='));
            Some(Invocation::Inside(1 + words.iter().skip(1).take_while(|one| option(one)).count()))
        }
        "uv" if word(1) == "pip" => Some(Invocation::Pip(2, true)),
        "conda" | "mamba" | "micromamba" if word(1) == "run" => {
            let mut at = 2;
            while word(at).starts_with('-') {
                let takes_value = matches!(word(at), "-n" | "-p" | "--name" | "--prefix" | "--cwd");
                at += 1 + usize::from(takes_value);
            }
            Some(Invocation::Inside(at))
        }
        "conda" | "mamba" | "micromamba" => Some(Invocation::Conda),
        "apt" | "apt-get" | "aptitude" | "dnf" | "yum" | "microdnf" | "tdnf" => Some(Invocation::System),
        _ if numbered("pip") => Some(Invocation::Pip(1, false)),
        _ if numbered("python") => {
            let module = (1..words.len().min(8)).find(|at| word(*at) == "-m")?;
            match word(module + 1) {
                "pip" => Some(Invocation::Pip(module + 2, false)),
                "uv" if word(module + 2) == "pip" => Some(Invocation::Pip(module + 3, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
