//! The commands of tools that work on a project: `uv sync`, `uv add`, `uvx`, poetry, pipenv, pdm and pixi.

use crate::context::Missing;
use crate::dockerfile::Resolved;
use crate::install::Around;
use crate::install::Install;
use crate::install::Installs;
use crate::install::NAMED;
use crate::install::NOT_BROUGHT;
use crate::install::Opened;
use crate::install::RequirementFile;
use crate::install::conda;
use crate::install::environment;
use crate::install::index::Indexes;
use crate::install::lock;
use crate::install::lock::Parts;
use crate::install::pip;
use crate::install::pipenv;
use crate::install::project;
use crate::install::requirement::named;
use crate::install::requirement::requirement;
use crate::install::uv_lock;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

const WITH_VALUE: &[&str] = &[
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

/// Reads the arguments behind the tool's name: nothing is installed where it only tells what it would install.
pub(super) fn read(tool: &str, words: &[Word], command: &Command, around: &Around<'_>, found: &mut Installs) {
    let mut own = words.iter().map(|word| word.known().unwrap_or_default()).take_while(|text| *text != "run");
    if !own.any(|text| text == "--dry-run") {
        performed(tool, words, command, around, found);
    }
}

fn performed(tool: &str, words: &[Word], command: &Command, around: &Around<'_>, found: &mut Installs) {
    let mut rest = words.iter();
    let mut verb = None;
    let mut environment = None;
    let mut folder = String::new();
    let mut unsynced = false;
    let mut parts = Parts::default();
    let mut names: Vec<&Word> = Vec::new();
    let mut indexes = Indexes { first_index: tool == "uv", ..Indexes::default() };
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            if pip::inside(word, true, &mut indexes, found) {
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
            given_to_run(name, value(), word, (command, around.knowledge), found);
            continue;
        }
        unsynced |= matches!(name, "--no-sync" | "--no-project" | "--isolated" | "--script" | "-s");
        if parts.option(tool, name, &mut value) {
            continue;
        }
        match name {
            "-e" | "--environment" if tool == "pixi" => environment = value(),
            "--project" | "--directory" | "-C" => folder = value().unwrap_or_default(),
            "--manifest-path" => folder = above(&value().unwrap_or_default()),
            _ if WITH_VALUE.contains(&name) => drop(value()),
            _ => {
                let given = || pip::given(inline.as_deref(), word, &mut rest);
                let _taken: bool = pip::option(name, given, &mut indexes);
            }
        }
    }
    let from = found.packages.len();
    let path = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let open = |name: &str| (around.open)("", &path(name));
    if tool == "uv" && parts.unasked.is_none() {
        parts.unasked = open("pyproject.toml").ok().and_then(|opened| project::unasked_groups(&opened));
    }
    let parts = parts;
    let manifest = |found: &mut Installs, indexes: &mut Indexes| match open("pyproject.toml") {
        Ok(opened) => project::all(&opened, tool, &parts, around, indexes, found),
        Err(why) => missing(&path("pyproject.toml"), why, command, found),
    };
    match (tool, verb) {
        ("uv", Some("run"))
            if unsynced || [open("uv.lock"), open("pyproject.toml")].into_iter().all(|one| is_nowhere(&one)) => {}
        ("uv", Some("sync" | "run")) | ("poetry" | "pdm", Some("install" | "sync")) => {
            let file = format!("{tool}.lock");
            let read = |opened: &Opened| match tool {
                "uv" => uv_lock::uv(opened, &parts, around),
                _ => lock::flat(opened, tool, &parts, open("pyproject.toml").ok().as_ref(), around),
            };
            match open(&file).map(|opened| read(&opened)) {
                Ok(Some(packages)) => found.packages.extend(packages),
                Ok(None) => missing(&path(&file), format!("it does not have the format of {tool}"), command, found),
                Err(why) if why == NAMED => missing(&path(&file), why, command, found),
                Err(_) => manifest(found, &mut indexes),
            }
        }
        ("uv" | "poetry" | "pdm", Some("add")) => {
            found.packages.extend(names.into_iter().filter_map(|word| added(tool, word, around.knowledge)));
            if let (Ok(opened), "uv") = (open("pyproject.toml"), tool) {
                project::pep621(&opened, true, &parts, around, &mut indexes, found);
            }
        }
        ("pipenv", Some("install" | "sync")) if names.is_empty() => {
            pipenv_files(words, command, around, &path, found);
        }
        ("pipenv", Some("install")) => {
            found.packages.extend(names.iter().filter_map(|word| added(tool, word, around.knowledge)));
        }
        ("pixi", Some("install" | "run" | "shell" | "shell-hook")) => match open("pixi.lock") {
            Ok(opened) => environment::lock(&opened, environment.as_deref().unwrap_or("default"), around, found),
            Err(why) if verb == Some("run") && is_absent(&why) => {}
            Err(why) => missing(&path("pixi.lock"), why, command, found),
        },
        ("pixi", Some("add")) => {
            found.packages.extend(names.iter().filter_map(|word| conda::spec(word.known().unwrap_or(""), word.span)));
        }
        _ => {}
    }
    indexes.defaults(tool == "uv", command, around);
    for package in found.packages.get_mut(from..).unwrap_or_default() {
        package.conditional |= command.conditional;
        indexes.choose(package, around.knowledge);
    }
}

/// A package that a tool adds to a project.
fn added(tool: &str, word: &Word, knowledge: Knowledge) -> Option<Install> {
    let text = word.known().unwrap_or("");
    match text.split_once('@').filter(|_| tool == "poetry" && !text.contains("://")) {
        Some((name, range)) => Some(named(name, project::poetry_range(range), word.span)),
        None => requirement(text, word.span, knowledge),
    }
}

/// What `uvx` and its kin install to run a tool once: what they are told to, and the tool unless that brings it.
pub(super) fn once(words: &[Word], command: &Command, knowledge: Knowledge, found: &mut Installs) {
    let mut rest = words.iter();
    let mut from = None;
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { return };
        let (name, inline) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if !text.starts_with('-') {
            found.packages.extend(from.or_else(|| requirement(&text.replace('@', "=="), word.span, knowledge)));
            break;
        }
        let mut value = || inline.or_else(|| rest.next().and_then(Word::known)).unwrap_or("");
        match name {
            "--from" | "--spec" => from = requirement(value(), word.span, knowledge),
            "--with" => {
                found.packages.extend(value().split(',').filter_map(|one| requirement(one, word.span, knowledge)));
            }
            "-p" | "--python" | "--index-url" | "--index" | "--extra-index-url" | "--pip-args" => drop(value()),
            _ => {}
        }
    }
    for package in &mut found.packages {
        package.conditional |= command.conditional;
    }
}

/// What `uv run --with` asks for beside the project.
fn given_to_run(
    name: &str,
    value: Option<String>,
    word: &Word,
    (command, knowledge): (&Command, Knowledge),
    found: &mut Installs,
) {
    let Some(value) = value else { return };
    if name == "--with" {
        found.packages.extend(value.split(',').filter_map(|one| requirement(one, word.span, knowledge)));
    } else {
        missing(&value, "this argument of `uv run` is not supported".to_owned(), command, found);
    }
}

/// Whether a file is known not to be there.
fn is_nowhere(opened: &Result<Opened, String>) -> bool {
    opened.as_ref().is_err_and(|why| is_absent(why))
}

fn is_absent(why: &str) -> bool {
    why == NOT_BROUGHT || why == Missing::NotThere.to_string()
}

fn above(path: &str) -> String {
    path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()
}

/// What pipenv installs by the files of a project.
fn pipenv_files(
    words: &[Word],
    command: &Command,
    around: &Around<'_>,
    path: &dyn Fn(&str) -> String,
    found: &mut Installs,
) {
    let open = |name: &str| (around.open)("", &path(name));
    let given = |option: &str| words.iter().any(|word| word.known() == Some(option));
    let parts = pipenv::parts(words);
    let lock = if given("--skip-lock") { Err("it is skipped".to_owned()) } else { open("Pipfile.lock") };
    let read = match (&lock, open("Pipfile")) {
        (Ok(opened), _) => pipenv::lock(opened, &parts, around).ok_or("Pipfile.lock"),
        (Err(_), Ok(opened)) => pipenv::pipfile(&opened, &parts, around).ok_or("Pipfile"),
        (Err(why), Err(_)) => return missing(&path("Pipfile.lock"), why.clone(), command, found),
    };
    match read {
        Ok(packages) => found.packages.extend(packages),
        Err(file) => missing(&path(file), "it does not have the format of pipenv".to_owned(), command, found),
    }
}

fn missing(path: &str, why: String, command: &Command, found: &mut Installs) {
    let path = Resolved::literal(path);
    found.files.push(RequirementFile { path, constraint: false, extras: Vec::new(), span: command.span, why });
}
