//! The Python that commands install for.

use std::borrow::Cow;

use crate::dockerfile::BaseKind;
use crate::dockerfile::Lookup;
use crate::dockerfile::RunInstruction;
use crate::extract::install::Reader;
use crate::fact::Manager;
use crate::fact::PackageSeen;
use crate::install;
use crate::knowledge::How;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

/// The file in which a project names its Python.
const PINNED: &str = ".python-version";
/// The file in which it says which ones it admits.
const PROJECT: &str = "pyproject.toml";

/// The Python that a command installs for: the one that it names, else the base's where no command brings another.
pub(super) fn python(
    reader: &Reader<'_>,
    command: &Command,
    base: Option<&'static str>,
    run: &RunInstruction,
    lookup: &dyn Fn(&str) -> Lookup,
) -> Option<String> {
    match chosen(reader, command, run, lookup) {
        Told::Nothing => {}
        Told::Untold => return None,
        Told::Version(version) => return Some(version),
    }
    let project = works_on_project(command);
    let another = if project { reader.done.other_python } else { reader.seen.other_python };
    let own = base.filter(|_| !another)?;
    let another = |package: &PackageSeen| {
        let version = package.name.strip_prefix("python").filter(|rest| rest.starts_with("3."));
        version.is_some_and(|version| version.split('-').next() != Some(own))
    };
    let apt = reader.seen.packages.iter().filter(|package| package.manager == Manager::Apt);
    (!apt.into_iter().any(another)).then(|| own.to_owned())
}

/// The Python that a command names, that it is told to take, or of the environment that it installs into.
pub(super) fn chosen(
    reader: &Reader<'_>,
    command: &Command,
    run: &RunInstruction,
    lookup: &dyn Fn(&str) -> Lookup,
) -> Told {
    if let Some(named) = install::python_named(command) {
        return Told::Version(named);
    }
    match if works_on_project(command) { told(reader, command, run, lookup) } else { Told::Nothing } {
        Told::Nothing => reader.of_environment(command, run, lookup).map_or(Told::Nothing, Told::Version),
        told => told,
    }
}

/// The Python of a base image.
pub(super) fn of_base(base: &BaseKind, knowledge: Knowledge) -> Option<&'static str> {
    let BaseKind::Image(base) = base else { return None };
    let row = knowledge.python_of_image(base)?;
    // A marker leaves packages out for good: a row from memory is not enough for that.
    (row.info.how > How::Memory).then_some(row.python)
}

/// Whether a command brings or chooses a Python that is not the image's own.
pub(super) fn other(command: &Command) -> bool {
    let chosen = |word: &&str| matches!(*word, "python" | "venv" | "sync" | "run") || word.starts_with("--python");
    brings_another(command) || is_uv(command) && words(command).skip(1).any(|word| chosen(&word))
}

/// Whether a command brings a Python that uv may take in place of the one that is there, or an environment with one.
pub(super) fn brings_another(command: &Command) -> bool {
    let tool = |word: &str| {
        let plain = !word.bytes().any(|byte| byte.is_ascii_uppercase());
        let word = if plain { Cow::Borrowed(word) } else { Cow::Owned(word.to_ascii_lowercase()) };
        ["conda", "mamba", "pyenv", "deadsnakes", "pixi"].iter().any(|name| word.contains(name))
    };
    let chosen =
        |word: &str| matches!(word, "python" | "venv" | "--managed-python" | "-p") || word.starts_with("--python");
    words(command).any(tool) || (is_uv(command) && words(command).skip(1).any(chosen))
}

/// Whether `uv venv` takes the one Python that lies in the image: it is told no other, and none was brought.
pub(super) fn takes_own(reader: &Reader<'_>, command: &Command, run: &RunInstruction) -> bool {
    let lookup = |name: &str| run.scope.lookup(name);
    let makes = is_uv(command) && words(command).nth(1) == Some("venv");
    let told_otherwise = |word: &str| word.contains("python") && word.starts_with("--");
    makes
        && !words(command).any(told_otherwise)
        && run.path_head.is_none()
        && !reader.done.other_python
        && lies_there(reader)
        && matches!(told(reader, command, run, &lookup), Told::Nothing)
        && reader.open("", PROJECT, run).is_err()
}

/// Whether the Python that the tables know of the image lies there by now: the image is named by it, or the package of the
/// distribution was installed.
fn lies_there(reader: &Reader<'_>) -> bool {
    let BaseKind::Image(base) = &reader.tree.evaluated.base.kind else { return false };
    let named = reader.knowledge.python_of_image(base).is_some_and(|row| row.version == row.python);
    let of_system = |package: &&PackageSeen| package.manager == Manager::Apt && package.conditional.is_none();
    let mut packages = reader.seen.packages.iter().filter(of_system);
    named || packages.any(|package| package.name == "python3" || package.name.starts_with("python3-"))
}

fn words(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().filter_map(Word::known)
}

fn is_uv(command: &Command) -> bool {
    command.program() == Some("uv")
}

/// Whether uv makes the environment of a project: it takes the first Python that is there and that the project admits.
fn works_on_project(command: &Command) -> bool {
    is_uv(command) && words(command).nth(1).is_some_and(|verb| matches!(verb, "sync" | "run" | "add"))
}

/// What a command is told of the Python that it shall take.
pub(super) enum Told {
    /// Nothing: it takes one that is there.
    Nothing,
    /// One that is not known.
    Untold,
    /// This version.
    Version(String),
}

impl Told {
    fn of(version: Option<String>) -> Self {
        version.map_or(Self::Untold, Self::Version)
    }
}

/// The Python that uv is told to take.
fn told(reader: &Reader<'_>, command: &Command, run: &RunInstruction, lookup: &dyn Fn(&str) -> Lookup) -> Told {
    let value = |name: &str| match (command.variable(name), lookup(name)) {
        (Some(own), _) => own.known().map(str::to_owned),
        (None, Lookup::Known(value, _)) => Some(value),
        (None, _) => None,
    };
    let mut rest = words(command).skip(1);
    while let Some(word) = rest.next() {
        match word.split_once('=') {
            _ if matches!(word, "--python" | "-p") => return Told::of(rest.next().and_then(version)),
            Some(("--python", value)) => return Told::of(version(value)),
            _ => {}
        }
    }
    if let Some(named) = value("UV_PYTHON") {
        return Told::of(version(&named));
    }
    if let Ok(pinned) = reader.open("", PINNED, run) {
        let mut lines = pinned.text.text().lines().map(str::trim);
        return Told::of(lines.find(|line| !line.is_empty() && !line.starts_with('#')).and_then(version));
    }
    let managed = value("UV_PYTHON_PREFERENCE").is_some_and(|preference| preference == "only-managed");
    if managed || value("UV_MANAGED_PYTHON").is_some() { Told::Untold } else { Told::Nothing }
}

/// The version in `3.11`, `3.11.7`, `python3.11` and `cpython-3.11.7`.
pub(super) fn version(named: &str) -> Option<String> {
    let named = named.trim_start_matches('c').trim_start_matches("python").trim_start_matches(['-', '@']);
    let mut parts = named.split(['.', '-', '+']);
    let (first, second) = (parts.next()?, parts.next()?);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|one| one.is_ascii_digit());
    (number(first) && number(second)).then(|| format!("{first}.{second}"))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn uv_is_told_a_python_in_several_forms() {
        for (named, expected) in [
            ("3.11", Some("3.11")),
            ("3.11.7", Some("3.11")),
            ("python3.12", Some("3.12")),
            ("cpython-3.10.2", Some("3.10")),
            ("cpython@3.13", Some("3.13")),
            ("3", None),
            (">=3.10", None),
            ("pypy3.10", None),
            ("python", None),
            ("/usr/bin/python3", None),
            ("", None),
        ] {
            assert_eq!(version(named).as_deref(), expected, "{named}");
        }
    }
}
