//! Commands of tools that work on a project: `uv sync`, `uv add`, `uvx`, poetry, pipenv, pdm and pixi.

use crate::build::{Command, Word};
use crate::dockerfile::ExpandedText;
use crate::install::context::{CommandContext, OpenedFile};
use crate::install::dependency_selection::DependencySelection;
use crate::install::effects::{InstallEffects, PackageInstall, RequirementFile};
use crate::install::marker::evaluate_marker;
use crate::install::package_index::{IndexOptions, apply_index_option};
use crate::install::pip_options::{apply_unresolved_option, option_value};
use crate::install::requirement::{package_with_version, parse_poetry_range, parse_requirement, pip_package};
use crate::install::{conda, lock_file, pipenv, pyproject};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::InstallerBehavior;

/// Options that take a value and select no package.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "--project",
    "--directory",
    "-C",
    "-p",
    "--python",
    "-L",
    "--lockfile",
    "--cache-dir",
    "--link-mode",
    "-e",
    "--environment",
    "--manifest-path",
    "--source",
    "--platform",
    "--categories",
];

/// Reads the effects of a project tool from the arguments after its name; a dry run has none.
pub(super) fn read_arguments(
    tool: &str,
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    let mut own = words.iter().map(|word| word.known().unwrap_or_default()).take_while(|text| *text != "run");
    if !own.any(|text| text == "--dry-run") {
        read_command(tool, words, command, context, found);
    }
}

/// Marks the packages from an index on as replacing installed ones: a project tool chooses versions for its lock file,
/// whatever is installed.
fn replace_installed(found: &mut InstallEffects, from: usize) {
    for package in found.packages.iter_mut().skip(from) {
        package.requirement.upgrade = true;
    }
}

/// Reads the effects of a project tool, for a command that is no dry run.
#[expect(clippy::too_many_lines, reason = "one tool after the other")]
fn read_command(
    tool: &str,
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    let mut rest = words.iter();
    let mut verb = None;
    let mut environment = None;
    let mut folder = String::new();
    let mut unsynced = false;
    let mut parts = DependencySelection::default();
    let mut names: Vec<&Word> = Vec::new();
    let mut indexes = IndexOptions { first_index: tool == "uv", ..IndexOptions::default() };
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if apply_unresolved_option(word, true, &mut indexes, found) {
                continue;
            }
            if verb.is_some() {
                found.unresolved.push((word.value.clone(), word.span));
            }
            continue;
        };
        if !text.starts_with('-') {
            match verb {
                None => verb = Some(text),
                Some(_) => names.push(word),
            }
            continue;
        }
        let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
        let mut value = || inline.clone().or_else(|| rest.next().and_then(Word::known).map(str::to_owned));
        if verb == Some("run") && matches!(name, "--with" | "--with-requirements") {
            read_run_packages(name, value(), word, (command, context.knowledge), found);
            continue;
        }
        unsynced |= matches!(name, "--no-sync" | "--no-project" | "--isolated" | "--script" | "-s");
        if parts.apply_option(tool, name, &mut value) {
            continue;
        }
        match name {
            "-e" | "--environment" if tool == "pixi" => environment = value(),
            "--project" | "--directory" | "-C" => folder = value().unwrap_or_default(),
            "--manifest-path" => folder = parent_folder(&value().unwrap_or_default()),
            _ if OPTIONS_WITH_VALUE.contains(&name) => drop(value()),
            _ => {
                let given = || option_value(inline.as_deref(), word, &mut rest);
                let _applied: bool = apply_index_option(name, given, &mut indexes);
            }
        }
    }
    let from = found.packages.len();
    let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let open = |name: &str| (context.open)("", &path(name));
    if tool == "uv" && parts.default_groups.is_none() {
        parts.default_groups = open("pyproject.toml").ok().and_then(|opened| pyproject::uv_default_groups(&opened));
    }
    let parts = parts;
    let manifest = |found: &mut InstallEffects, indexes: &mut IndexOptions| match open("pyproject.toml") {
        Ok(opened) => pyproject::read_project(&opened, tool, &parts, context, indexes, found),
        Err(why) => add_unread_file(&path("pyproject.toml"), why, command, found),
    };
    match (tool, verb) {
        ("uv", Some("run"))
            if unsynced
                || [open("uv.lock"), open("pyproject.toml")].into_iter().all(|one| is_certainly_missing(&one)) => {}
        ("uv", Some("sync" | "run")) | ("poetry" | "pdm", Some("install" | "sync")) => {
            let file = format!("{tool}.lock");
            let read = |opened: &OpenedFile| match tool {
                "uv" => lock_file::read_uv_lock(opened, &parts, context),
                _ => lock_file::read_lock_file(opened, tool, &parts, open("pyproject.toml").ok().as_ref(), context),
            };
            match open(&file).map(|opened| read(&opened)) {
                Ok(Some(packages)) => {
                    found.behaviors.insert(InstallerBehavior::IgnoresRequirements);
                    found.packages.extend(packages);
                }
                Ok(None) => add_unread_file(&path(&file), Cause::NotOfFormat { tool: tool.to_owned() }, command, found),
                Err(why @ Cause::NotInContext) => add_unread_file(&path(&file), why, command, found),
                Err(_) => manifest(found, &mut indexes),
            }
            replace_installed(found, from);
        }
        ("uv" | "poetry" | "pdm", Some("add")) => {
            found.packages.extend(names.into_iter().filter_map(|word| added_package(tool, word, context.knowledge)));
            if let (Ok(opened), "uv") = (open("pyproject.toml"), tool) {
                pyproject::read_dependencies(&opened, true, &parts, context, &mut indexes, found);
            }
            replace_installed(found, from);
        }
        ("pipenv", Some("install" | "sync")) if names.is_empty() => {
            read_pipenv_files(words, command, context, &path, found);
        }
        ("pipenv", Some("install")) => {
            found.packages.extend(names.iter().filter_map(|word| added_package(tool, word, context.knowledge)));
        }
        ("pixi", Some("install" | "run" | "shell" | "shell-hook")) => match open("pixi.lock") {
            Ok(opened) => {
                conda::read_lock_file(&opened, environment.as_deref().unwrap_or("default"), context, found);
            }
            Err(why) if verb == Some("run") && means_missing(&why) => {}
            Err(why) => add_unread_file(&path("pixi.lock"), why, command, found),
        },
        ("pixi", Some("add")) => {
            found
                .packages
                .extend(names.iter().filter_map(|word| conda::parse_match_spec(word.known().unwrap_or(""), word.span)));
        }
        _ => {}
    }
    indexes.apply_environment(tool == "uv", command, context);
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
        indexes.choose_builds(package, context.knowledge);
    }
}

/// Returns the package that a word after `add` names.
fn added_package(tool: &str, word: &Word, knowledge: Knowledge) -> Option<PackageInstall> {
    let text = word.known().unwrap_or("");
    match text.split_once('@').filter(|_| tool == "poetry" && !text.contains("://")) {
        Some((name, range)) => Some(package_with_version(name, parse_poetry_range(range), word.span)),
        None => parse_requirement(text, word.span, knowledge),
    }
}

/// Reads what `uvx` and similar commands install to run a tool once: the packages in options, and the tool.
pub(super) fn read_single_run(words: &[Word], command: &Command, knowledge: Knowledge, found: &mut InstallEffects) {
    let mut rest = words.iter();
    let mut from = None;
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { return };
        let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if !text.starts_with('-') {
            found.packages.extend(from.or_else(|| parse_requirement(&text.replace('@', "=="), word.span, knowledge)));
            break;
        }
        let mut value = || inline.or_else(|| rest.next().and_then(Word::known)).unwrap_or("");
        match name {
            "--from" | "--spec" => from = parse_requirement(value(), word.span, knowledge),
            "--with" => {
                found
                    .packages
                    .extend(value().split(',').filter_map(|one| parse_requirement(one, word.span, knowledge)));
            }
            "-p" | "--python" | "--index-url" | "--index" | "--extra-index-url" | "--pip-args" => drop(value()),
            _ => {}
        }
    }
    for package in &mut found.packages {
        package.conditional |= command.conditional;
    }
}

/// Reads the packages that a tool installs into each environment that it creates.
pub(super) fn read_seed_packages(
    seeds: &[&str],
    command: &Command,
    context: &CommandContext<'_>,
    found: &mut InstallEffects,
) {
    for seed in seeds {
        let (name, marker) = seed.split_once(';').map_or((*seed, None), |(name, marker)| (name, Some(marker)));
        let holds = marker.map_or(Some(true), |marker| evaluate_marker(marker, context.environment));
        if holds != Some(false) {
            let conditional = command.conditional || holds.is_none();
            found.packages.push(PackageInstall { conditional, ..pip_package(name, command.span) });
        }
    }
}

/// Reads the additional packages of `uv run --with`.
fn read_run_packages(
    name: &str,
    value: Option<String>,
    word: &Word,
    (command, knowledge): (&Command, Knowledge),
    found: &mut InstallEffects,
) {
    let Some(value) = value else { return };
    if name == "--with" {
        found.packages.extend(value.split(',').filter_map(|one| parse_requirement(one, word.span, knowledge)));
    } else {
        add_unread_file(&value, Cause::UvRunArgument, command, found);
    }
}

/// Whether a file certainly does not exist.
fn is_certainly_missing(opened: &Result<OpenedFile, Cause>) -> bool {
    opened.as_ref().is_err_and(means_missing)
}

/// Whether a cause means that the file does not exist.
fn means_missing(why: &Cause) -> bool {
    matches!(why, Cause::NotCopied | Cause::NotThere)
}

/// Returns the parent folder of a path.
fn parent_folder(path: &str) -> String {
    path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
}

/// Reads the packages in the `Pipfile.lock` or `Pipfile` of a project.
fn read_pipenv_files(
    words: &[Word],
    command: &Command,
    context: &CommandContext<'_>,
    path: &dyn Fn(&str) -> String,
    found: &mut InstallEffects,
) {
    let open = |name: &str| (context.open)("", &path(name));
    let given = |option: &str| words.iter().any(|word| word.known() == Some(option));
    let parts = pipenv::selected_sections(words);
    let lock = if given("--skip-lock") { Err(Cause::LockSkipped) } else { open("Pipfile.lock") };
    let read = match (&lock, open("Pipfile")) {
        (Ok(opened), _) => pipenv::read_pipfile_lock(opened, &parts, context).ok_or("Pipfile.lock"),
        (Err(_), Ok(opened)) => pipenv::read_pipfile(&opened, &parts, context).ok_or("Pipfile"),
        (Err(why), Err(_)) => return add_unread_file(&path("Pipfile.lock"), why.clone(), command, found),
    };
    match read {
        Ok(packages) => {
            found.behaviors.extend(lock.is_ok().then_some(InstallerBehavior::IgnoresRequirements));
            found.packages.extend(packages);
        }
        Err(file) => add_unread_file(&path(file), Cause::NotOfFormat { tool: "pipenv".to_owned() }, command, found),
    }
}

/// Records a file that was not read.
fn add_unread_file(path: &str, why: Cause, command: &Command, found: &mut InstallEffects) {
    let path = ExpandedText::literal(path);
    found.files.push(RequirementFile {
        path,
        constraint: false,
        extras: Vec::new(),
        span: command.span,
        why: Some(why),
    });
}
