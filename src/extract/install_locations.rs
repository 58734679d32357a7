//! Where the commands of a stage install packages and programs, and where they copy, move, pack or clone them.

use std::collections::BTreeMap;

use crate::build::Word;
use crate::dockerfile::{RunInstruction, ShellPattern};
use crate::extract::command_step::{LocatedCommand, PossibleMove};
use crate::extract::compiled_programs;
use crate::extract::fetched_files::download_path;
use crate::extract::package_locations::{PackageLocation, default_locations, is_package_copied};
use crate::extract::virtual_environments::{DEACTIVATION, TargetPython, VirtualEnvironments};
use crate::install::downloaded_archive_folder;
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
const TRACKED_PROGRAMS: &[&str] =
    &[".", "cmake", "conda-pack", "deactivate", "make", "ninja", "nvcc", "poetry", "source"];

/// The possible locations of the packages and programs of a stage, by their facts.
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

    /// Returns the possible paths of the programs that the current RUN compiled.
    pub(super) fn compiled_paths(&self) -> &[String] {
        &self.compiled
    }

    /// Returns the possible locations of a package.
    pub(super) fn package_locations(&self, fact: FactId) -> &[PackageLocation] {
        self.packages.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Returns the possible paths of a program.
    pub(super) fn program_paths(&self, fact: FactId) -> &[String] {
        self.programs.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Sets the possible locations of a package.
    pub(super) fn set_package_locations(&mut self, fact: FactId, places: Vec<PackageLocation>) {
        self.packages.insert(fact, places);
    }

    /// Sets the possible paths of a program.
    pub(super) fn set_program_paths(&mut self, fact: FactId, places: Vec<String>) {
        self.programs.insert(fact, places);
    }

    /// Records the environments, compilations and moves of a command, and adds the locations of moved `packages`.
    pub(super) fn record_command(
        &mut self,
        at: LocatedCommand<'_>,
        moves: &[PossibleMove],
        packages: &[ObservedPackage],
    ) {
        let command = at.step.command;
        for moved in moves {
            self.record_move(moved, packages);
        }
        let is_tracked = |program| CONDA_NAMES.contains(&program) || TRACKED_PROGRAMS.contains(&program);
        if !command.program().is_some_and(is_tracked) {
            return;
        }
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        if let Some([.., value]) =
            plain.windows(3).find(|three| matches!(three, ["config", setting, _] if *setting == POETRY_CREATE_SETTING))
        {
            self.poetry_in_place = is_falsy(value);
        }
        if let Some(entered) = activated_environment(&plain, at) {
            self.entered = Some(entered);
        }
        if matches!(plain.as_slice(), [DEACTIVATION, ..] | [_, DEACTIVATION, ..]) {
            self.entered = None;
        }
        for place in compiled_programs::compiled_program_paths(command, &words, at.step.folder) {
            if place != "/" && !self.compiled.contains(&place) && self.compiled.len() < MAX_LOCATIONS {
                self.compiled.push(place);
            }
        }
        if let Some((from, to)) = conda_copy(&words, &plain, at, self.entered.as_ref()) {
            match from {
                PackageLocation::Env(name) => {
                    for package in packages {
                        let places = self.packages.get_mut(&package.fact);
                        if let Some(places) = places.filter(|places| is_in_conda_environment(places, &name)) {
                            add_location(places, to.clone());
                        }
                    }
                }
                PackageLocation::Prefix(from) => {
                    if let PackageLocation::Prefix(to) = to {
                        self.record_move(&PossibleMove { from, to: vec![to] }, packages);
                    }
                }
                _ => {}
            }
        }
    }

    /// Forgets the locations whose root satisfies a condition, and returns the packages that have none left.
    pub(super) fn forget_locations(&mut self, is_removed: impl Fn(&str) -> bool) -> Vec<FactId> {
        let mut gone = Vec::new();
        for (fact, places) in &mut self.packages {
            let before = places.len();
            places.retain(|place| !place.root().is_some_and(&is_removed));
            if places.is_empty() && before > 0 {
                gone.push(*fact);
            }
        }
        gone
    }

    /// Records that files are copied or moved, with the packages and programs among them.
    fn record_move(&mut self, moved: &PossibleMove, packages: &[ObservedPackage]) {
        if self.moved.len() < MAX_LOCATIONS && self.moved.iter().all(|(other, _)| *other != moved.from) {
            self.moved.extend(moved.to.first().map(|to| (moved.from.clone(), to.clone())));
        }
        for places in self.programs.values_mut().chain([&mut self.compiled]) {
            if compiled_programs::is_program_copied(&moved.from, places) {
                for to in &moved.to {
                    if !places.contains(to) && places.len() < MAX_LOCATIONS {
                        places.push(to.clone());
                    }
                }
            }
        }
        for package in packages {
            let Some(places) = self.packages.get_mut(&package.fact) else { continue };
            let (manager, name) = (package.requirement.manager, &package.requirement.name);
            let is_moved = |place: &PackageLocation| {
                is_pattern_match(place, &moved.from)
                    || is_package_copied(&moved.from, manager, name, std::slice::from_ref(place))
            };
            let new: Vec<PackageLocation> =
                places.iter().filter(|place| is_moved(place)).flat_map(|place| moved_locations(place, moved)).collect();
            for place in new {
                add_location(places, place);
            }
        }
    }

    /// Returns the possible locations of the packages that a command installs.
    pub(super) fn locations_for_command(
        &self,
        at: LocatedCommand<'_>,
        target: &TargetPython,
        environments: &VirtualEnvironments,
    ) -> Vec<PackageLocation> {
        let words: Vec<&str> = at.step.command.words.iter().filter_map(Word::known).collect();
        if let Some(folder) = downloaded_archive_folder(at.step.command, at.knowledge) {
            let inside = at.resolve_path(folder).map(PackageLocation::Prefix);
            let file = download_path(at.step).map(PackageLocation::Prefix);
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
        let root = match (root, &self.entered, target) {
            (Some(root), _, _) => Some(root),
            (None, Some(PackageLocation::Env(name)), _) => {
                return conda_locations(Some(PackageLocation::Env(name.clone()))).collect();
            }
            (None, _, TargetPython::Environment(folder)) => Some(folder.clone()),
            (None, Some(PackageLocation::Prefix(root)), _) if !environments.contains(root) => Some(root.clone()),
            (None, _, TargetPython::Image) => conda_on_path(at),
            (None, _, TargetPython::Other) => at.variable("VIRTUAL_ENV").or_else(|| first_environment_on_path(at)),
        };
        match root {
            Some(root) if root != "/usr" && !root.is_empty() => vec![PackageLocation::Prefix(root)],
            _ => default_locations(),
        }
    }

    /// Returns where a tool that works on a project installs packages; `None` if it installs like pip.
    fn project_locations(&self, program: &str, words: &[&str], at: LocatedCommand<'_>) -> Option<Vec<PackageLocation>> {
        let has = |word: &str| words.contains(&word);
        let follows_uv = |verb: &str| words.windows(2).any(|pair| *pair == ["uv", verb]);
        let of_uv = has("uv") && !follows_uv("pip") && (has("sync") || has("add") || follows_uv("run"));
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

/// Whether a package is in the conda environment of a name.
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

/// Returns the root of a conda whose `bin` is on PATH before the system directories.
fn conda_on_path(at: LocatedCommand<'_>) -> Option<String> {
    let path = at.variable("PATH").or_else(|| at.run.path_head.clone())?;
    let folders = path.split(':').take_while(|folder| !SYSTEM_BIN_FOLDERS.contains(folder));
    let mut roots = folders.filter_map(|folder| folder.strip_suffix("/bin"));
    roots.find(|root| CONDA_NAMES.iter().any(|name| root.contains(name))).map(str::to_owned)
}

/// Adds a location that is not in the list yet.
fn add_location(places: &mut Vec<PackageLocation>, place: PackageLocation) {
    if !places.contains(&place) && places.len() < MAX_LOCATIONS {
        places.push(place);
    }
}

/// Returns the locations of packages of `place` after a command has copied or moved them.
fn moved_locations(place: &PackageLocation, moved: &PossibleMove) -> Vec<PackageLocation> {
    let whole = place.root().map_or_else(Vec::new, |root| moved.new_paths(root));
    if !whole.is_empty() {
        return whole.into_iter().map(|root| place.with_root(root)).collect();
    }
    let is_package_folder = moved.from.trim_end_matches("/*").ends_with("-packages");
    let part = |to: &String| {
        if is_package_folder { PackageLocation::Flat(to.clone()) } else { PackageLocation::Prefix(to.clone()) }
    };
    moved.to.iter().map(part).collect()
}

/// Returns the environment that a conda command packs or clones, and where it puts it.
fn conda_copy(
    words: &[&str],
    plain: &[&str],
    at: LocatedCommand<'_>,
    entered: Option<&PackageLocation>,
) -> Option<(PackageLocation, PackageLocation)> {
    let (first, arguments) = plain.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let resolve = |place: PackageLocation| match place {
        PackageLocation::Prefix(root) => at.resolve_path(&root).map(PackageLocation::Prefix),
        place => Some(place),
    };
    let is_conda = CONDA_NAMES.contains(&program);
    if program == "conda-pack" || is_conda && arguments.first() == Some(&"pack") {
        let own = conda_environment_option(words).or_else(|| entered.cloned());
        let name = match &own {
            Some(PackageLocation::Prefix(root)) => root.rsplit('/').next().unwrap_or_default().to_owned(),
            Some(PackageLocation::Env(name)) => name.clone(),
            _ => "base".to_owned(),
        };
        let to = option_value(words, "--output", "-o").map_or_else(|| format!("{name}.tar.gz"), str::to_owned);
        let own = own.filter(|own| matches!(own, PackageLocation::Prefix(_) | PackageLocation::Env(_)));
        let own = own.unwrap_or_else(|| PackageLocation::Env("base".to_owned()));
        return Some((resolve(own)?, PackageLocation::Prefix(at.resolve_path(&to)?)));
    }
    let source = option_value(words, "--clone", "").filter(|_| is_conda)?;
    Some((resolve(conda_environment(source))?, resolve(conda_environment_option(words)?)?))
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
