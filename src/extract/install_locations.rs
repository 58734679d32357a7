//! Where the commands of a stage install packages and programs, and where they copy, move, pack or clone them.

use std::collections::BTreeMap;

use crate::build::{Command, Word};
use crate::dockerfile::{RunInstruction, ShellPattern, VariableLookup};
use crate::extract::compiled_programs;
use crate::extract::fetched_files::download_path;
use crate::extract::package_locations::{PackageLocation, default_locations, is_package_copied};
use crate::extract::stage_files::absolute_path;
use crate::install::downloaded_archive_folder;
use crate::knowledge::Knowledge;
use crate::model::fact::FactId;
use crate::model::package::ObservedPackage;

/// Maximum number of locations that are tracked per package.
const MAX_LOCATIONS: usize = 32;
/// Setting of poetry that decides whether it creates virtual environments.
const POETRY_CREATE_SETTING: &str = "virtualenvs.create";
/// System directories of programs on PATH.
pub(super) const SYSTEM_BIN_FOLDERS: &[&str] =
    &["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];
/// Names of conda programs, and of the folders in which they are installed by default.
const CONDA_NAMES: &[&str] = &["conda", "mamba", "miniconda", "miniforge", "micromamba"];

/// Other programs that create, activate or move environments, and those that compile.
const TRACKED_PROGRAMS: &[&str] = &[
    ".",
    "bsdtar",
    "cmake",
    "conda-pack",
    "cp",
    "make",
    "mv",
    "ninja",
    "nvcc",
    "poetry",
    "rsync",
    "source",
    "tar",
    "unzip",
];

/// Where the packages and programs of a stage may lie, by their facts.
#[derive(Clone, Debug, Default)]
pub(super) struct InstallLocations {
    packages: BTreeMap<FactId, Vec<PackageLocation>>,
    programs: BTreeMap<FactId, Vec<String>>,
    /// Where the current RUN puts the programs that it compiles.
    compiled: Vec<String>,
    /// What the current RUN moves: source and destination.
    moved: Vec<(String, String)>,
    /// poetry makes no environments, and installs for the Python that it finds.
    poetry_in_place: bool,
    /// The environment that the shell went into, until its RUN ends.
    entered: Option<PackageLocation>,
}

/// A command with its RUN and working directory.
#[derive(Clone, Copy)]
pub(super) struct LocatedCommand<'a> {
    pub(super) command: &'a Command,
    pub(super) run: &'a RunInstruction,
    /// The working directory.
    pub(super) folder: &'a str,
    pub(super) knowledge: Knowledge,
}

impl LocatedCommand<'_> {
    /// Returns a path resolved against the working directory; `None` if that is unknown.
    pub(super) fn resolve_path(&self, path: &str) -> Option<String> {
        let known = path.starts_with(['/', '~']) || self.run.workdir.is_some() || *self.folder != *self.run.folder;
        known.then(|| absolute_path(self.folder, path))
    }

    /// Returns the value of a variable for the command, if it is known.
    fn variable(&self, name: &str) -> Option<String> {
        match self.command.variable(name) {
            Some(value) => value.known_text().map(str::to_owned),
            None => match self.run.scope.lookup(name) {
                VariableLookup::Known(value, _) => Some(value),
                VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(..) => None,
            },
        }
    }
}

impl InstallLocations {
    /// Starts a RUN: its shell is in no environment, unless SHELL names one.
    pub(super) fn begin_run(&mut self, run: &RunInstruction) {
        let words: Vec<&str> = run.shell.iter().flatten().map(String::as_str).collect();
        self.entered = match words.as_slice() {
            [program, "run", rest @ ..] if CONDA_NAMES.contains(program) => conda_environment_option(rest),
            _ => None,
        };
        self.compiled.clear();
        self.moved.clear();
    }

    /// Returns source and destination of what the current RUN moves.
    pub(super) fn moved_paths(&self) -> &[(String, String)] {
        &self.moved
    }

    /// Returns where the programs that the current RUN compiled may lie.
    pub(super) fn compiled_paths(&self) -> &[String] {
        &self.compiled
    }

    /// Returns where a package may lie.
    pub(super) fn package_locations(&self, fact: FactId) -> &[PackageLocation] {
        self.packages.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Returns where a program may lie.
    pub(super) fn program_paths(&self, fact: FactId) -> &[String] {
        self.programs.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Sets where a package may lie.
    pub(super) fn set_package_locations(&mut self, fact: FactId, places: Vec<PackageLocation>) {
        self.packages.insert(fact, places);
    }

    /// Sets where a program may lie.
    pub(super) fn set_program_paths(&mut self, fact: FactId, places: Vec<String>) {
        self.programs.insert(fact, places);
    }

    /// Records the environments, compilations and moves of a command, and adds the locations of moved `packages`.
    pub(super) fn record_command(&mut self, at: LocatedCommand<'_>, packages: &[ObservedPackage]) {
        if !at
            .command
            .program()
            .is_some_and(|program| CONDA_NAMES.contains(&program) || TRACKED_PROGRAMS.contains(&program))
        {
            return;
        }
        let words: Vec<&str> = at.command.words.iter().filter_map(Word::known).collect();
        let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        if let Some([.., value]) =
            plain.windows(3).find(|three| matches!(three, ["config", setting, _] if *setting == POETRY_CREATE_SETTING))
        {
            self.poetry_in_place = is_falsy(value);
        }
        if let Some(entered) = activated_environment(&plain, at) {
            self.entered = Some(entered);
        }
        for place in compiled_programs::compiled_program_paths(at.command, &words, at.folder) {
            if place != "/" && !self.compiled.contains(&place) && self.compiled.len() < MAX_LOCATIONS {
                self.compiled.push(place);
            }
        }
        for (from, to) in find_package_moves(&words, &plain, at, self.entered.as_ref()) {
            if let (MoveSource::Path(from), PackageLocation::Prefix(to)) = (&from, &to)
                && self.moved.len() < MAX_LOCATIONS
                && self.moved.iter().all(|(other, _)| other != from)
            {
                self.moved.push((from.clone(), to.clone()));
            }
            for package in packages {
                let Some(places) = self.packages.get_mut(&package.fact).filter(|places| places.len() < MAX_LOCATIONS)
                else {
                    continue;
                };
                let is_moved = match &from {
                    MoveSource::Path(path) if path.contains('*') => {
                        places.iter().any(|place| is_pattern_match(place, path))
                    }
                    MoveSource::Path(path) => {
                        is_package_copied(path, package.requirement.manager, &package.requirement.name, places)
                    }
                    MoveSource::Env(name) => is_in_conda_environment(places, name),
                };
                if is_moved && !places.contains(&to) {
                    places.push(to.clone());
                }
            }
        }
    }

    /// Returns where the packages that a command installs may lie.
    pub(super) fn locations_for_command(&self, at: LocatedCommand<'_>) -> Vec<PackageLocation> {
        let words: Vec<&str> = at.command.words.iter().filter_map(Word::known).collect();
        if let Some(folder) = downloaded_archive_folder(at.command, at.knowledge) {
            let inside = at.resolve_path(folder).map(PackageLocation::Prefix);
            let file = download_path(at.command, at.folder).map(PackageLocation::Prefix);
            return std::iter::once(PackageLocation::Named(folder)).chain(inside).chain(file).collect();
        }
        let path = |long: &str, short: &str| option_value(&words, long, short).and_then(|path| at.resolve_path(path));
        let program = words.first().copied().unwrap_or_default();
        let (folder, program) = program.rsplit_once('/').map_or((None, program), |(folder, name)| (Some(folder), name));
        if let Some(places) = self.project_locations(program, &words, at) {
            return places;
        }
        if let Some(folder) = path("--target", "-t").or_else(|| at.variable("PIP_TARGET")) {
            return vec![PackageLocation::Flat(folder)];
        }
        // Of uv, `-p` names a Python.
        let short = if program == "uv" { "" } else { "-p" };
        let root_location = |root| {
            if CONDA_NAMES.contains(&program) {
                PackageLocation::Prefix(root)
            } else {
                PackageLocation::CustomRoot(root)
            }
        };
        if let Some(root) = path("--prefix", short).or_else(|| at.variable("PIP_PREFIX")) {
            return vec![root_location(root)];
        }
        if let Some(root) = path("--root", "").or_else(|| at.variable("PIP_ROOT")) {
            let root = root.trim_end_matches('/');
            let below = |place| match place {
                PackageLocation::Prefix(usual) => root_location(format!("{root}{usual}")),
                other => other,
            };
            return default_locations().into_iter().map(below).collect();
        }
        if words.contains(&"--user") {
            let home = at.variable("HOME").unwrap_or_else(|| "/root".to_owned());
            return vec![PackageLocation::Prefix(
                at.variable("PYTHONUSERBASE").unwrap_or_else(|| format!("{home}/.local")),
            )];
        }
        let root = folder.and_then(|folder| folder.strip_suffix("/bin")).and_then(|root| at.resolve_path(root));
        if CONDA_NAMES.contains(&program) {
            let from_file = words.windows(2).any(|pair| matches!(pair, ["env", "create" | "update"]));
            let entered = self.entered.as_ref().filter(|place| matches!(place, PackageLocation::Env(_)));
            let own = conda_environment_option(&words)
                .or_else(|| from_file.then(|| PackageLocation::Env(String::new())))
                .or(entered.cloned());
            return match (root, &own) {
                (Some(root), None) => vec![PackageLocation::Prefix(root)],
                (Some(root), Some(_)) if from_file => {
                    std::iter::once(PackageLocation::Prefix(root)).chain(own).collect()
                }
                _ => conda_locations(own).collect(),
            };
        }
        let python = option_value(&words, "--python", if program == "uv" { "-p" } else { "" });
        let of_python = |python: &str| match python.split_once("/bin/") {
            Some((root, _)) => Some(root.to_owned()),
            None => python.starts_with('/').then(|| python.to_owned()),
        };
        let root = root.or_else(|| python.and_then(of_python));
        let root = match (root, &self.entered) {
            (None, Some(PackageLocation::Env(name))) => {
                return conda_locations(Some(PackageLocation::Env(name.clone()))).collect();
            }
            (None, Some(PackageLocation::Prefix(root))) => Some(root.clone()),
            (root, _) => root,
        };
        let root = root
            .or_else(|| at.variable("VIRTUAL_ENV").filter(|_| !words.contains(&"--system")))
            .or_else(|| first_environment_on_path(at));
        match root {
            Some(root) if root != "/usr" && !root.is_empty() => vec![PackageLocation::Prefix(root)],
            _ => default_locations(),
        }
    }

    /// Returns where a tool that works on a project installs packages; `None` if it installs like pip.
    fn project_locations(&self, program: &str, words: &[&str], at: LocatedCommand<'_>) -> Option<Vec<PackageLocation>> {
        let has = |word: &str| words.contains(&word);
        let of_uv = has("uv") && (has("sync") || has("add") || words.windows(2).any(|pair| pair == ["uv", "run"]));
        let home = || at.variable("HOME").unwrap_or_else(|| "/root".to_owned());
        let own = || at.resolve_path(".venv").map_or(PackageLocation::Named(".venv"), PackageLocation::Prefix);
        Some(match program {
            _ if of_uv => {
                let environment = at.variable("UV_PROJECT_ENVIRONMENT").and_then(|path| at.resolve_path(&path));
                vec![environment.map_or_else(own, PackageLocation::Prefix)]
            }
            "poetry" => {
                let in_place = at.variable("POETRY_VIRTUALENVS_CREATE").map(|value| is_falsy(&value));
                if in_place.unwrap_or(self.poetry_in_place) || at.variable("VIRTUAL_ENV").is_some() {
                    return None;
                }
                let cache = at.variable("POETRY_CACHE_DIR").unwrap_or_else(|| format!("{}/.cache/pypoetry", home()));
                let made = at.variable("POETRY_VIRTUALENVS_PATH").unwrap_or_else(|| format!("{cache}/virtualenvs"));
                vec![own(), PackageLocation::Within(made)]
            }
            "pdm" => vec![own()],
            "pixi" => {
                vec![at.resolve_path(".pixi/envs").map_or(PackageLocation::Named(".pixi"), PackageLocation::Within)]
            }
            "pipenv" if !has("--system") => {
                let made = at.variable("WORKON_HOME").unwrap_or_else(|| format!("{}/.local/share/virtualenvs", home()));
                vec![own(), PackageLocation::Within(made)]
            }
            _ => return None,
        })
    }
}

/// Whether a setting has a false value.
fn is_falsy(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Returns all default locations of conda, and an environment.
fn conda_locations(own: Option<PackageLocation>) -> impl Iterator<Item = PackageLocation> {
    CONDA_NAMES.iter().map(|name| PackageLocation::Named(name)).chain(own)
}

/// Returns the conda environment that options name; `None` for the base environment.
fn conda_environment_option(words: &[&str]) -> Option<PackageLocation> {
    let root = option_value(words, "--prefix", "-p").map(|root| PackageLocation::Prefix(root.to_owned()));
    root.or_else(|| option_value(words, "--name", "-n").filter(|name| *name != "base").map(conda_environment))
}

/// Returns a conda environment by its name or path.
fn conda_environment(name: &str) -> PackageLocation {
    if name.contains('/') {
        PackageLocation::Prefix(name.trim_end_matches('/').to_owned())
    } else {
        PackageLocation::Env(name.to_owned())
    }
}

/// Whether a package lies in the conda environment of a name.
fn is_in_conda_environment(places: &[PackageLocation], name: &str) -> bool {
    let own = |place: &PackageLocation| match place {
        PackageLocation::Env(own) => Some(own.clone()),
        PackageLocation::Prefix(root) => root.rsplit_once("/envs/").map(|(_, own)| own.to_owned()),
        PackageLocation::Named(_)
        | PackageLocation::Flat(_)
        | PackageLocation::CustomRoot(_)
        | PackageLocation::Within(_) => None,
    };
    let mut own = places.iter().filter_map(own).peekable();
    if name != "base" {
        return own.any(|own| own.is_empty() || own == name);
    }
    let of_conda = |place: &PackageLocation| match place {
        PackageLocation::Named(folder) => CONDA_NAMES.contains(folder),
        PackageLocation::Prefix(root) => CONDA_NAMES.iter().any(|conda| root.rsplit('/').next() == Some(*conda)),
        PackageLocation::Env(_)
        | PackageLocation::Flat(_)
        | PackageLocation::CustomRoot(_)
        | PackageLocation::Within(_) => false,
    };
    own.peek().is_none() && places.iter().any(of_conda)
}

/// Whether a location is a file that matches a pattern.
fn is_pattern_match(place: &PackageLocation, pattern: &str) -> bool {
    let PackageLocation::Prefix(path) = place else { return false };
    ShellPattern::compile(pattern).and_then(|pattern| pattern.matches(path)) == Some(true)
}

/// Returns the environment that a command activates: `. /v/bin/activate`, `conda activate x`.
fn activated_environment(plain: &[&str], at: LocatedCommand<'_>) -> Option<PackageLocation> {
    match plain {
        ["." | "source", script, name, ..] if script.rsplit('/').next() == Some("activate") => {
            Some(conda_environment(name))
        }
        ["." | "source", script, ..] => {
            Some(PackageLocation::Prefix(at.resolve_path(script.strip_suffix("/bin/activate")?)?))
        }
        [program, "activate", name, ..] if CONDA_NAMES.contains(program) => Some(conda_environment(name)),
        _ => None,
    }
}

/// Returns the root of the environment whose `bin` comes first on PATH, before the system directories.
fn first_environment_on_path(at: LocatedCommand<'_>) -> Option<String> {
    let path = at.variable("PATH").or_else(|| at.run.path_head.clone())?;
    let first = path.split(':').next().filter(|first| !SYSTEM_BIN_FOLDERS.contains(first))?;
    first.strip_suffix("/bin").map(str::to_owned)
}

/// The source of a copied, packed, unpacked or cloned environment.
pub(super) enum MoveSource {
    /// A folder, or an archive of a folder.
    Path(String),
    /// A conda environment, by its name.
    Env(String),
}

/// Returns the sources that a command copies, packs, unpacks or clones, each with its destination.
fn find_package_moves(
    words: &[&str],
    plain: &[&str],
    at: LocatedCommand<'_>,
    entered: Option<&PackageLocation>,
) -> Vec<(MoveSource, PackageLocation)> {
    let Some((first, arguments)) = plain.split_first() else { return Vec::new() };
    let program = first.rsplit('/').next().unwrap_or(first);
    let path = |long: &str, short: &str| option_value(words, long, short).and_then(|path| at.resolve_path(path));
    let from = |place: Option<PackageLocation>| match place {
        Some(PackageLocation::Prefix(root)) => at.resolve_path(&root).map(MoveSource::Path),
        Some(PackageLocation::Env(name)) => Some(MoveSource::Env(name)),
        _ => Some(MoveSource::Env("base".to_owned())),
    };
    match program {
        "cp" | "mv" | "rsync" => {
            let Some((to, sources)) = arguments.split_last() else { return Vec::new() };
            let Some(to) = at.resolve_path(to) else { return Vec::new() };
            let one = |source: &&str| {
                let source = at.resolve_path(source.trim_end_matches("/."))?;
                let name = source.rsplit('/').next().unwrap_or_default().to_owned();
                // Whether the folder was there before decides between the two.
                let places = [to.clone(), format!("{to}/{name}")];
                Some(places.map(|to| (MoveSource::Path(source.clone()), PackageLocation::Prefix(to))))
            };
            sources.iter().filter_map(one).flatten().collect()
        }
        "unzip" => {
            let to = path("", "-d").or_else(|| at.resolve_path("."));
            let file = arguments.first().and_then(|file| at.resolve_path(file));
            file.map(MoveSource::Path).zip(to.map(PackageLocation::Prefix)).into_iter().collect()
        }
        "tar" | "bsdtar" => tar_moves(words, arguments, at),
        _ if program == "conda-pack" || (CONDA_NAMES.contains(&program) && arguments.first() == Some(&"pack")) => {
            let own = conda_environment_option(words).or_else(|| entered.cloned());
            let name = match &own {
                Some(PackageLocation::Prefix(root)) => root.rsplit('/').next().unwrap_or_default().to_owned(),
                Some(PackageLocation::Env(name)) => name.clone(),
                _ => "base".to_owned(),
            };
            let to = path("--output", "-o").or_else(|| at.resolve_path(&format!("{name}.tar.gz")));
            from(own).zip(to.map(PackageLocation::Prefix)).into_iter().collect()
        }
        _ if CONDA_NAMES.contains(&program) => {
            let source = option_value(words, "--clone", "");
            let source = source.and_then(|name| from(Some(conda_environment(name))));
            let to = conda_environment_option(words).and_then(|place| match place {
                PackageLocation::Prefix(root) => at.resolve_path(&root).map(PackageLocation::Prefix),
                other => Some(other),
            });
            source.zip(to).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the sources that `tar` packs or unpacks, each with its destination.
fn tar_moves(words: &[&str], arguments: &[&str], at: LocatedCommand<'_>) -> Vec<(MoveSource, PackageLocation)> {
    let first = words.get(1).copied().unwrap_or_default();
    let letters = |word: &&str| word.strip_prefix('-').is_some_and(|word| !word.starts_with('-'));
    let flags = || words.iter().skip(1).copied().filter(letters).chain((!first.starts_with('-')).then_some(first));
    let has = |letter: char, long: &str| flags().any(|word| word.contains(letter)) || words.contains(&long);
    let folder = option_value(words, "--directory", "-C");
    let Some(there) = at.resolve_path(folder.unwrap_or(".")) else { return Vec::new() };
    // Option letters without a dash, as in `tar xzf`, are among the arguments.
    let arguments = if first.starts_with('-') { arguments } else { arguments.get(1..).unwrap_or_default() };
    let mut paths = arguments.iter().copied().filter(|path| Some(*path) != folder);
    // The archive follows the letter `f`; after letters without a dash it is the first argument.
    let behind = words.windows(2).find(|pair| letters(&pair[0]) && pair[0].ends_with('f')).map(|pair| pair[1]);
    let file = option_value(words, "--file", "").or(behind).or_else(|| paths.next());
    let Some(archive) = file.and_then(|file| at.resolve_path(file)) else { return Vec::new() };
    if has('x', "--extract") {
        return vec![(MoveSource::Path(archive), PackageLocation::Prefix(there))];
    }
    let packed =
        paths.filter(|path| Some(*path) != file && has('c', "--create")).map(|path| absolute_path(&there, path));
    packed.map(|path| (MoveSource::Path(path), PackageLocation::Prefix(archive.clone()))).collect()
}

/// Returns the value of an option, after `=` or as the next argument.
pub(super) fn option_value<'a>(words: &[&'a str], long: &str, short: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(long).filter(|_| !long.is_empty()) {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if !short.is_empty() && *word == short => words.get(at + 1).copied(),
        None => None,
    })
}
