//! The Python version that commands install packages for.

use std::borrow::Cow;

use crate::build::{Command, FileEffect, Word};
use crate::dockerfile::{BaseKind, RunInstruction, VariableLookup};
use crate::extract::command_reader::CommandReader;
use crate::extract::command_step::CommandStep;
use crate::extract::virtual_environments::{TargetPython, parse_python_version};
use crate::install;
use crate::knowledge::{How, Knowledge};
use crate::model::package::{ObservedPackage, PackageManager};

/// The file that pins the Python version of a project.
const PIN_FILE: &str = ".python-version";
/// The file that constrains the Python version of a project.
const PROJECT_FILE: &str = "pyproject.toml";

/// Returns the Python version that a command installs for: the requested one, else that of the base image if no other
/// was added.
pub(super) fn target_python_version(
    reader: &CommandReader<'_>,
    command: &Command,
    base: Option<&'static str>,
    run: &RunInstruction,
    lookup: &dyn Fn(&str) -> VariableLookup,
) -> Option<String> {
    match requested_python(reader, command, run, lookup) {
        RequestedPython::Nothing => {}
        RequestedPython::Unknown => return None,
        RequestedPython::Version(version) => return Some(version),
    }
    let project = is_uv_project_command(command);
    let another = if project { reader.state.other_python } else { reader.seen.other_python };
    let own = base.filter(|_| !another)?;
    let another = |package: &ObservedPackage| {
        let version = package.requirement.name.strip_prefix("python").filter(|rest| rest.starts_with("3."));
        version.is_some_and(|version| version.split('-').next() != Some(own))
    };
    let apt = reader.seen.packages.iter().filter(|package| package.requirement.manager == PackageManager::System);
    (!apt.into_iter().any(another)).then(|| own.to_owned())
}

/// Returns the Python that a command requests by its name, its options or its virtual environment.
pub(super) fn requested_python(
    reader: &CommandReader<'_>,
    command: &Command,
    run: &RunInstruction,
    lookup: &dyn Fn(&str) -> VariableLookup,
) -> RequestedPython {
    if let Some(named) = install::python_version_of_command(command) {
        return RequestedPython::Version(named);
    }
    match if is_uv_project_command(command) {
        python_requested_of_uv(reader, command, run, lookup)
    } else {
        RequestedPython::Nothing
    } {
        RequestedPython::Nothing => {
            reader.environment_python(command, run, lookup).map_or(RequestedPython::Nothing, RequestedPython::Version)
        }
        requested => requested,
    }
}

/// Returns the Python version of a base image.
pub(super) fn base_image_python(base: &BaseKind, knowledge: Knowledge) -> Option<&'static str> {
    let BaseKind::Image(base) = base else { return None };
    let row = knowledge.image_python(base)?;
    // A marker leaves packages out for good: a row from memory is not enough for that.
    (row.info.how > How::Memory).then_some(row.python)
}

/// Whether a command adds or selects a Python other than that of the base image.
pub(super) fn may_change_python(step: CommandStep<'_>) -> bool {
    let command = step.command;
    let chosen = |word: &str| matches!(word, "sync" | "run" | "add");
    may_add_python(step)
        || is_uv_command(command) && !is_uv_pip_command(command) && known_arguments(command).any(chosen)
}

/// Whether a command adds a Python, or an environment with one, that uv may prefer to the present one.
pub(super) fn may_add_python(step: CommandStep<'_>) -> bool {
    let command = step.command;
    let tool = |word: &str| {
        let plain = !word.bytes().any(|byte| byte.is_ascii_uppercase());
        let word = if plain { Cow::Borrowed(word) } else { Cow::Owned(word.to_ascii_lowercase()) };
        ["conda", "mamba", "pyenv", "deadsnakes", "pixi"].iter().any(|name| word.contains(name))
    };
    let chooses = |word: &str| matches!(word, "--managed-python" | "-p") || word.starts_with("--python");
    let creates = |word: &str| matches!(word, "python" | "venv");
    let may_download = || {
        !is_uv_pip_command(command) && known_arguments(command).skip(1).any(creates)
            || known_arguments(command).skip(1).any(chooses)
    };
    let only_changes_folders = matches!(step.effect, FileEffect::Remove(_) | FileEffect::MakeDirectory(_));
    (!only_changes_folders && known_arguments(command).any(tool)) || (is_uv_command(command) && may_download())
}

/// Whether uv uses the only Python of the image: `uv venv` where no other is requested or was added, or `uv pip` with the
/// path of that Python or of an environment. Another Python counts when the environment is created.
pub(super) fn uses_image_python(reader: &CommandReader<'_>, command: &Command, run: &RunInstruction) -> bool {
    let lookup = |name: &str| run.scope.lookup(name);
    if is_uv_pip_command(command) {
        // `--python-version` and `--managed-python` select another one.
        let selects = |word: &str| word.starts_with("--python-") || word == "--managed-python";
        let (folder, head) = (&reader.folder, run.path_head.as_deref());
        return !known_arguments(command).any(selects)
            && reader.state.environments.target(command, folder, head, &lookup) != TargetPython::Other;
    }
    let makes = is_uv_command(command) && known_arguments(command).nth(1) == Some("venv");
    let is_python_option = |word: &str| word.contains("python") && word.starts_with("--");
    makes
        && !known_arguments(command).any(is_python_option)
        && run.path_head.is_none()
        && !reader.state.other_python
        && has_image_python(reader)
        && matches!(python_requested_of_uv(reader, command, run, &lookup), RequestedPython::Nothing)
        && reader.open_image_file("", PROJECT_FILE, run).is_err()
}

/// Whether the Python that the tables list for the base image is present at this command.
fn has_image_python(reader: &CommandReader<'_>) -> bool {
    let BaseKind::Image(base) = &reader.tree.evaluated.base.kind else { return false };
    let named = reader.knowledge.image_python(base).is_some_and(|row| row.version == row.python);
    let of_system = |package: &&ObservedPackage| {
        package.requirement.manager == PackageManager::System && package.conditional.is_none()
    };
    let mut packages = reader.seen.packages.iter().filter(of_system);
    named
        || packages
            .any(|package| package.requirement.name == "python3" || package.requirement.name.starts_with("python3-"))
}

/// Returns the known arguments of a command, its program included.
fn known_arguments(command: &Command) -> impl Iterator<Item = &str> {
    command.words.iter().filter_map(Word::known)
}

/// Whether the program of a command is uv.
fn is_uv_command(command: &Command) -> bool {
    command.program() == Some("uv")
}

/// Whether a command is `uv pip`, which uses a present Python.
fn is_uv_pip_command(command: &Command) -> bool {
    is_uv_command(command) && known_arguments(command).nth(1) == Some("pip")
}

/// Whether uv creates the environment of a project, with the first present Python that the project admits.
fn is_uv_project_command(command: &Command) -> bool {
    is_uv_command(command) && known_arguments(command).nth(1).is_some_and(|verb| matches!(verb, "sync" | "run" | "add"))
}

/// The Python version that a command requests.
pub(super) enum RequestedPython {
    /// No version: the command uses one that is present.
    Nothing,
    /// An unknown version.
    Unknown,
    /// This version.
    Version(String),
}

impl RequestedPython {
    /// Wraps a version; `None` becomes an unknown one.
    fn from_version(version: Option<String>) -> Self {
        version.map_or(Self::Unknown, Self::Version)
    }
}

/// Returns the Python that options, variables or the pin file request of uv.
fn python_requested_of_uv(
    reader: &CommandReader<'_>,
    command: &Command,
    run: &RunInstruction,
    lookup: &dyn Fn(&str) -> VariableLookup,
) -> RequestedPython {
    let value = |name: &str| match (command.variable(name), lookup(name)) {
        (Some(own), _) => own.known_text().map(str::to_owned),
        (None, VariableLookup::Known(value, _)) => Some(value),
        (None, _) => None,
    };
    let mut rest = known_arguments(command).skip(1);
    while let Some(word) = rest.next() {
        match word.split_once('=') {
            _ if matches!(word, "--python" | "-p") => {
                return RequestedPython::from_version(rest.next().and_then(parse_python_version));
            }
            Some(("--python", value)) => return RequestedPython::from_version(parse_python_version(value)),
            _ => {}
        }
    }
    if let Some(named) = value("UV_PYTHON") {
        return RequestedPython::from_version(parse_python_version(&named));
    }
    if let Ok(pinned) = reader.open_image_file("", PIN_FILE, run) {
        let mut lines = pinned.text.text().lines().map(str::trim);
        return RequestedPython::from_version(
            lines.find(|line| !line.is_empty() && !line.starts_with('#')).and_then(parse_python_version),
        );
    }
    let managed = value("UV_PYTHON_PREFERENCE").is_some_and(|preference| preference == "only-managed");
    if managed || value("UV_MANAGED_PYTHON").is_some() { RequestedPython::Unknown } else { RequestedPython::Nothing }
}

impl CommandReader<'_> {
    /// Returns the Python version of the environment that a command installs into, if one was named for it.
    fn environment_python(
        &self,
        command: &Command,
        run: &RunInstruction,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> Option<String> {
        self.state.environments.target_python(command, &self.folder, run.path_head.as_deref(), lookup)
    }
}
