//! Where the commands of a stage put what they install, and where they move it to.

use std::collections::BTreeMap;

use crate::dockerfile::Lookup;
use crate::dockerfile::Pattern;
use crate::dockerfile::RunInstruction;
use crate::extract::compiled;
use crate::extract::fetched::fetched_to;
use crate::extract::landing::Place;
use crate::extract::landing::brings;
use crate::extract::landing::usual;
use crate::extract::moves::From;
use crate::extract::moves::moves;
use crate::extract::moves::option;
use crate::extract::tree::absolute;
use crate::fact::FactId;
use crate::fact::PackageSeen;
use crate::install::archive_of;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::shell::Word;

/// A package lies in no more places.
const MOST: usize = 32;
/// The setting of poetry that says whether it makes environments.
const IN_PLACE: &str = "virtualenvs.create";
/// Directories of the system's own programs on PATH.
pub(super) const SYSTEM: &[&str] = &["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];
/// Where conda is, where nothing says it.
pub(super) const CONDA: &[&str] = &["conda", "mamba", "miniconda", "miniforge", "micromamba"];

/// What else makes, enters or moves environments, and what compiles.
const TOLD: &[&str] = &[
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
pub(super) struct Lands {
    packages: BTreeMap<FactId, Vec<Place>>,
    programs: BTreeMap<FactId, Vec<String>>,
    /// Where the RUN at hand leaves programs that it compiles.
    compiled: Vec<String>,
    /// What the RUN at hand moves: from where, and to where.
    moved: Vec<(String, String)>,
    /// poetry makes no environments, and installs for the Python that it finds.
    poetry_in_place: bool,
    /// The environment that the shell went into, until its RUN ends.
    entered: Option<Place>,
}

/// A command where it runs.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) command: &'a Command,
    pub(super) run: &'a RunInstruction,
    /// The working directory.
    pub(super) folder: &'a str,
    pub(super) knowledge: Knowledge,
}

impl At<'_> {
    /// A path as seen from the working directory; `None` where that is not known.
    pub(super) fn absolute(&self, path: &str) -> Option<String> {
        let known = path.starts_with(['/', '~']) || self.run.workdir.is_some() || *self.folder != *self.run.folder;
        known.then(|| absolute(self.folder, path))
    }

    fn variable(&self, name: &str) -> Option<String> {
        match self.command.variable(name) {
            Some(value) => value.known().map(str::to_owned),
            None => match self.run.scope.lookup(name) {
                Lookup::Known(value, _) => Some(value),
                Lookup::Unset | Lookup::NoValue | Lookup::Unknown(..) => None,
            },
        }
    }
}

impl Lands {
    /// A RUN begins: its shell is in no environment, but for one that SHELL names.
    pub(super) fn begin(&mut self, run: &RunInstruction) {
        let words: Vec<&str> = run.shell.iter().flatten().map(String::as_str).collect();
        self.entered = match words.as_slice() {
            [program, "run", rest @ ..] if CONDA.contains(program) => named(rest),
            _ => None,
        };
        self.compiled.clear();
        self.moved.clear();
    }

    /// What the RUN at hand moves: from where, and to where.
    pub(super) fn moved(&self) -> &[(String, String)] {
        &self.moved
    }

    /// Where the programs may lie that the RUN at hand compiled.
    pub(super) fn compiled(&self) -> &[String] {
        &self.compiled
    }

    /// Where a package may lie.
    pub(super) fn package(&self, fact: FactId) -> &[Place] {
        self.packages.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Where a program may lie.
    pub(super) fn program(&self, fact: FactId) -> &[String] {
        self.programs.get(&fact).map_or(&[], Vec::as_slice)
    }

    /// Says where a package lies.
    pub(super) fn put(&mut self, fact: FactId, places: Vec<Place>) {
        self.packages.insert(fact, places);
    }

    /// Says where a program lies.
    pub(super) fn put_program(&mut self, fact: FactId, places: Vec<String>) {
        self.programs.insert(fact, places);
    }

    /// Notes what a command says of environments and where it compiles, and follows what it moves of `packages`.
    pub(super) fn note(&mut self, at: At<'_>, packages: &[PackageSeen]) {
        if !at.command.program().is_some_and(|program| CONDA.contains(&program) || TOLD.contains(&program)) {
            return;
        }
        let words: Vec<&str> = at.command.words.iter().filter_map(Word::known).collect();
        let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        if let Some([.., value]) =
            plain.windows(3).find(|three| matches!(three, ["config", setting, _] if *setting == IN_PLACE))
        {
            self.poetry_in_place = is_no(value);
        }
        if let Some(entered) = entered(&plain, at) {
            self.entered = Some(entered);
        }
        for place in compiled::of_command(at.command, &words, at.folder) {
            if place != "/" && !self.compiled.contains(&place) && self.compiled.len() < MOST {
                self.compiled.push(place);
            }
        }
        for (from, to) in moves(&words, &plain, at, self.entered.as_ref()) {
            if let (From::Path(from), Place::Prefix(to)) = (&from, &to)
                && self.moved.len() < MOST
                && self.moved.iter().all(|(other, _)| other != from)
            {
                self.moved.push((from.clone(), to.clone()));
            }
            for package in packages {
                let Some(places) = self.packages.get_mut(&package.fact).filter(|places| places.len() < MOST) else {
                    continue;
                };
                let along = match &from {
                    From::Path(path) if path.contains('*') => places.iter().any(|place| is_like(place, path)),
                    From::Path(path) => brings(path, package.manager, &package.name, places),
                    From::Env(name) => lies_in(places, name),
                };
                if along && !places.contains(&to) {
                    places.push(to.clone());
                }
            }
        }
    }

    /// Where the packages may land that a command installs.
    pub(super) fn of_command(&self, at: At<'_>) -> Vec<Place> {
        let words: Vec<&str> = at.command.words.iter().filter_map(Word::known).collect();
        if let Some(folder) = archive_of(at.command, at.knowledge) {
            let inside = at.absolute(folder).map(Place::Prefix);
            let file = fetched_to(at.command, at.folder).map(Place::Prefix);
            return std::iter::once(Place::Named(folder)).chain(inside).chain(file).collect();
        }
        let path = |long: &str, short: &str| option(&words, long, short).and_then(|path| at.absolute(path));
        let program = words.first().copied().unwrap_or_default();
        let (folder, program) = program.rsplit_once('/').map_or((None, program), |(folder, name)| (Some(folder), name));
        if let Some(places) = self.of_project(program, &words, at) {
            return places;
        }
        if let Some(folder) = path("--target", "-t").or_else(|| at.variable("PIP_TARGET")) {
            return vec![Place::Flat(folder)];
        }
        // Of uv, `-p` names a Python.
        let short = if program == "uv" { "" } else { "-p" };
        let aside = |root| if CONDA.contains(&program) { Place::Prefix(root) } else { Place::Aside(root) };
        if let Some(root) = path("--prefix", short).or_else(|| at.variable("PIP_PREFIX")) {
            return vec![aside(root)];
        }
        if let Some(root) = path("--root", "").or_else(|| at.variable("PIP_ROOT")) {
            let root = root.trim_end_matches('/');
            let below = |place| match place {
                Place::Prefix(usual) => aside(format!("{root}{usual}")),
                other => other,
            };
            return usual().into_iter().map(below).collect();
        }
        if words.contains(&"--user") {
            let home = at.variable("HOME").unwrap_or_else(|| "/root".to_owned());
            return vec![Place::Prefix(at.variable("PYTHONUSERBASE").unwrap_or_else(|| format!("{home}/.local")))];
        }
        let root = folder.and_then(|folder| folder.strip_suffix("/bin")).and_then(|root| at.absolute(root));
        if CONDA.contains(&program) {
            let from_file = words.windows(2).any(|pair| matches!(pair, ["env", "create" | "update"]));
            let entered = self.entered.as_ref().filter(|place| matches!(place, Place::Env(_)));
            let own = named(&words).or_else(|| from_file.then(|| Place::Env(String::new()))).or(entered.cloned());
            return match (root, &own) {
                (Some(root), None) => vec![Place::Prefix(root)],
                (Some(root), Some(_)) if from_file => std::iter::once(Place::Prefix(root)).chain(own).collect(),
                _ => anywhere(own).collect(),
            };
        }
        let python = option(&words, "--python", if program == "uv" { "-p" } else { "" });
        let of_python = |python: &str| match python.split_once("/bin/") {
            Some((root, _)) => Some(root.to_owned()),
            None => python.starts_with('/').then(|| python.to_owned()),
        };
        let root = root.or_else(|| python.and_then(of_python));
        let root = match (root, &self.entered) {
            (None, Some(Place::Env(name))) => return anywhere(Some(Place::Env(name.clone()))).collect(),
            (None, Some(Place::Prefix(root))) => Some(root.clone()),
            (root, _) => root,
        };
        let root = root
            .or_else(|| at.variable("VIRTUAL_ENV").filter(|_| !words.contains(&"--system")))
            .or_else(|| first_on_path(at));
        match root {
            Some(root) if root != "/usr" && !root.is_empty() => vec![Place::Prefix(root)],
            _ => usual(),
        }
    }

    /// Where a tool that works on a project installs; `None` where that is as with pip.
    fn of_project(&self, program: &str, words: &[&str], at: At<'_>) -> Option<Vec<Place>> {
        let has = |word: &str| words.contains(&word);
        let of_uv = has("uv") && (has("sync") || has("add") || words.windows(2).any(|pair| pair == ["uv", "run"]));
        let home = || at.variable("HOME").unwrap_or_else(|| "/root".to_owned());
        let own = || at.absolute(".venv").map_or(Place::Named(".venv"), Place::Prefix);
        Some(match program {
            _ if of_uv => {
                let told = at.variable("UV_PROJECT_ENVIRONMENT").and_then(|path| at.absolute(&path));
                vec![told.map_or_else(own, Place::Prefix)]
            }
            "poetry" => {
                let told = at.variable("POETRY_VIRTUALENVS_CREATE").map(|value| is_no(&value));
                if told.unwrap_or(self.poetry_in_place) || at.variable("VIRTUAL_ENV").is_some() {
                    return None;
                }
                let cache = at.variable("POETRY_CACHE_DIR").unwrap_or_else(|| format!("{}/.cache/pypoetry", home()));
                let made = at.variable("POETRY_VIRTUALENVS_PATH").unwrap_or_else(|| format!("{cache}/virtualenvs"));
                vec![own(), Place::Within(made)]
            }
            "pdm" => vec![own()],
            "pixi" => vec![at.absolute(".pixi/envs").map_or(Place::Named(".pixi"), Place::Within)],
            "pipenv" if !has("--system") => {
                let made = at.variable("WORKON_HOME").unwrap_or_else(|| format!("{}/.local/share/virtualenvs", home()));
                vec![own(), Place::Within(made)]
            }
            _ => return None,
        })
    }
}

fn is_no(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Wherever conda may be, and an environment of its own.
fn anywhere(own: Option<Place>) -> impl Iterator<Item = Place> {
    CONDA.iter().map(|name| Place::Named(name)).chain(own)
}

/// The environment of conda that options name; none for the one that it comes with.
pub(super) fn named(words: &[&str]) -> Option<Place> {
    let root = option(words, "--prefix", "-p").map(|root| Place::Prefix(root.to_owned()));
    root.or_else(|| option(words, "--name", "-n").filter(|name| *name != "base").map(environment))
}

/// An environment of conda by its name or path.
pub(super) fn environment(name: &str) -> Place {
    if name.contains('/') { Place::Prefix(name.trim_end_matches('/').to_owned()) } else { Place::Env(name.to_owned()) }
}

/// Whether a package lies in conda's environment of a name.
fn lies_in(places: &[Place], name: &str) -> bool {
    let own = |place: &Place| match place {
        Place::Env(own) => Some(own.clone()),
        Place::Prefix(root) => root.rsplit_once("/envs/").map(|(_, own)| own.to_owned()),
        Place::Named(_) | Place::Flat(_) | Place::Aside(_) | Place::Within(_) => None,
    };
    let mut own = places.iter().filter_map(own).peekable();
    if name != "base" {
        return own.any(|own| own.is_empty() || own == name);
    }
    let of_conda = |place: &Place| match place {
        Place::Named(folder) => CONDA.contains(folder),
        Place::Prefix(root) => CONDA.iter().any(|conda| root.rsplit('/').next() == Some(*conda)),
        Place::Env(_) | Place::Flat(_) | Place::Aside(_) | Place::Within(_) => false,
    };
    own.peek().is_none() && places.iter().any(of_conda)
}

/// Whether a place is a file that a pattern means.
fn is_like(place: &Place, pattern: &str) -> bool {
    let Place::Prefix(path) = place else { return false };
    Pattern::new(pattern).and_then(|pattern| pattern.matches(path)) == Some(true)
}

/// The environment that a command goes into: `. /v/bin/activate`, `conda activate x`.
fn entered(plain: &[&str], at: At<'_>) -> Option<Place> {
    match plain {
        ["." | "source", script, name, ..] if script.rsplit('/').next() == Some("activate") => Some(environment(name)),
        ["." | "source", script, ..] => Some(Place::Prefix(at.absolute(script.strip_suffix("/bin/activate")?)?)),
        [program, "activate", name, ..] if CONDA.contains(program) => Some(environment(name)),
        _ => None,
    }
}

/// The root of the environment whose `bin` stands first on PATH, before the system's.
fn first_on_path(at: At<'_>) -> Option<String> {
    let path = at.variable("PATH").or_else(|| at.run.path_head.clone())?;
    let first = path.split(':').next().filter(|first| !SYSTEM.contains(first))?;
    first.strip_suffix("/bin").map(str::to_owned)
}
