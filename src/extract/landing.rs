//! Where a RUN puts what it installs, and which copied directories bring that along.

use crate::dockerfile::Lookup;
use crate::dockerfile::RunInstruction;
use crate::fact::Manager;
use crate::install;
use crate::install::normalised;
use crate::shell;
use crate::shell::Command;
use crate::shell::Word;

/// Where packages may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Under the root of a Python environment: `/usr/local`, `/opt/venv`.
    Prefix(String),
    /// In a directory of their own.
    Flat(String),
    /// Under a directory of this name, wherever that is.
    Named(&'static str),
    /// In one of the environments of this directory, under a name that a tool makes up.
    Within(String),
    /// In conda's environment of this name, wherever conda is; in one of any name where it is empty.
    Env(String),
}

/// The setting of poetry that says whether it makes environments.
const IN_PLACE: &str = "virtualenvs.create";

/// What the commands of a stage told tools about environments.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// poetry makes none, and installs for the Python that it finds.
    poetry_in_place: bool,
}

impl Tools {
    /// Notes what a RUN tells them.
    pub(super) fn note(&mut self, run: &RunInstruction) {
        if !run.mentions(IN_PLACE) {
            return;
        }
        for command in shell::commands(run) {
            let words: Vec<&str> =
                command.words.iter().filter_map(Word::known).filter(|one| !one.starts_with('-')).collect();
            let told = words.windows(3).find(|three| matches!(three, ["config", setting, _] if *setting == IN_PLACE));
            if let Some([.., value]) = told {
                self.poetry_in_place = is_no(value);
            }
        }
    }
}

fn is_no(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Environments that a Python without further words may have; which one, the base image knows.
const USUAL: &[&str] = &["/usr/local", "/opt/conda"];
/// Directories of the system's own programs on PATH.
const SYSTEM: &[&str] = &["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];
/// Where conda is, where nothing says it.
const CONDA: &[&str] = &["conda", "mamba", "miniconda", "miniforge", "micromamba"];

/// Where the packages that an image comes with may lie.
pub(super) fn usual() -> Vec<Place> {
    USUAL.iter().map(|root| Place::Prefix((*root).to_owned())).collect()
}

/// Where the packages of a RUN may land.
pub(super) fn of_run(run: &RunInstruction, tools: &Tools) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    let mut activated = None;
    let installs = |command: &Command| {
        let found = install::installs(command, run);
        !(found.packages.is_empty() && found.files.is_empty() && found.unresolved.is_empty())
    };
    let commands = shell::commands(run).into_iter().map(|command| (installs(&command), command));
    let commands: Vec<(bool, Command)> = commands.collect();
    // Where none is seen to install, a script does.
    let by_command = commands.iter().any(|(installs, _)| *installs);
    for (installs, command) in commands {
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if let ["." | "source", script, ..] = words.as_slice() {
            activated = script.strip_suffix("/bin/activate").and_then(|root| absolute(root, run)).or(activated);
        }
        if by_command && !installs {
            continue;
        }
        if let Some(folder) = install::archive_of(&command) {
            found.push(Place::Named(folder));
            found.extend(run.workdir.iter().map(|inside| Place::Prefix(format!("{inside}/{folder}"))));
            continue;
        }
        for place in of_command(&command, &words, run, activated.as_deref(), tools) {
            if !found.contains(&place) {
                found.push(place);
            }
        }
    }
    found
}

/// Where else the packages of conda lie after a RUN: an environment cloned, packed into a file, unpacked from it.
pub(super) fn cloned(run: &RunInstruction) -> Vec<Place> {
    if !["conda", "mamba"].iter().any(|tool| run.mentions(tool)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut folder = run.workdir.clone();
    for command in shell::commands(run) {
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let path = |long: &str, short: &str| option(&words, long, short).and_then(|path| absolute(path, run));
        match words.as_slice() {
            ["cd", to] => folder = absolute(to, run),
            [first, ..] if first.ends_with("tar") => {
                let unpacks = words.get(1).is_some_and(|flags| flags.contains('x')) || words.contains(&"--extract");
                let to = path("--directory", "-C").or_else(|| folder.clone());
                found.extend(to.filter(|_| unpacks).map(Place::Prefix));
            }
            [first, ..] if first.ends_with("conda-pack") || words.contains(&"pack") => {
                found.extend(path("--output", "-o").map(Place::Prefix));
            }
            _ if words.contains(&"--clone") => {
                found.extend(path("--prefix", "-p").map(Place::Prefix));
                found.extend(option(&words, "--name", "-n").map(|name| Place::Env(name.to_owned())));
            }
            _ => {}
        }
    }
    found
}

fn of_command(
    command: &Command,
    words: &[&str],
    run: &RunInstruction,
    activated: Option<&str>,
    tools: &Tools,
) -> Vec<Place> {
    let variable = |name: &str| variable(command, run, name);
    let option = |long: &str, short: &str| option(words, long, short).and_then(|path| absolute(path, run));
    let program = words.first().copied().unwrap_or_default();
    let (folder, program) = program.rsplit_once('/').map_or((None, program), |(folder, name)| (Some(folder), name));
    if let Some(places) = of_project(program, words, run, tools, &variable) {
        return places;
    }
    if let Some(folder) = option("--target", "-t").or_else(|| variable("PIP_TARGET")) {
        return vec![Place::Flat(folder)];
    }
    if let Some(root) = option("--prefix", "-p").or_else(|| variable("PIP_PREFIX")) {
        return vec![Place::Prefix(root)];
    }
    if let Some(root) = option("--root", "") {
        return USUAL.iter().map(|usual| Place::Prefix(format!("{root}{usual}"))).collect();
    }
    if words.contains(&"--user") {
        let home = variable("HOME").unwrap_or_else(|| "/root".to_owned());
        return vec![Place::Prefix(variable("PYTHONUSERBASE").unwrap_or_else(|| format!("{home}/.local")))];
    }
    let root = folder.and_then(|folder| folder.strip_suffix("/bin"));
    if CONDA.contains(&program) {
        let named = self::option(words, "--name", "-n").filter(|name| *name != "base");
        let from_file = words.windows(2).any(|pair| matches!(pair, ["env", "create" | "update"]));
        let own = named.or(from_file.then_some("")).map(|name| Place::Env(name.to_owned()));
        return match (root, named) {
            (Some(root), None) => std::iter::once(Place::Prefix(root.to_owned())).chain(own).collect(),
            _ => CONDA.iter().map(|name| Place::Named(name)).chain(own).collect(),
        };
    }
    let root = root
        .or(activated)
        .map(str::to_owned)
        .or_else(|| {
            self::option(words, "--python", "")
                .and_then(|python| python.split_once("/bin/"))
                .map(|(root, _)| root.to_owned())
        })
        .or_else(|| variable("VIRTUAL_ENV").filter(|_| !words.contains(&"--system")))
        .or_else(|| first_on_path(command, run));
    match root {
        Some(root) if root != "/usr" && !root.is_empty() => vec![Place::Prefix(root)],
        _ => usual(),
    }
}

/// Where a tool that works on a project installs; `None` where that is as with pip.
fn of_project(
    program: &str,
    words: &[&str],
    run: &RunInstruction,
    tools: &Tools,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<Vec<Place>> {
    let has = |word: &str| words.contains(&word);
    let of_uv = has("uv") && (has("sync") || has("add") || words.windows(2).any(|pair| pair == ["uv", "run"]));
    let home = || variable("HOME").unwrap_or_else(|| "/root".to_owned());
    let own = || absolute(".venv", run).map_or(Place::Named(".venv"), Place::Prefix);
    Some(match program {
        _ if of_uv => {
            let told = variable("UV_PROJECT_ENVIRONMENT").and_then(|path| absolute(&path, run));
            vec![told.map_or_else(own, Place::Prefix)]
        }
        "poetry" => {
            let told = variable("POETRY_VIRTUALENVS_CREATE").map(|value| is_no(&value));
            if told.unwrap_or(tools.poetry_in_place) || variable("VIRTUAL_ENV").is_some() {
                return None;
            }
            let cache = variable("POETRY_CACHE_DIR").unwrap_or_else(|| format!("{}/.cache/pypoetry", home()));
            let made = variable("POETRY_VIRTUALENVS_PATH").unwrap_or_else(|| format!("{cache}/virtualenvs"));
            vec![own(), Place::Within(made)]
        }
        "pdm" => vec![own()],
        "pixi" => vec![absolute(".pixi/envs", run).map_or(Place::Named(".pixi"), Place::Within)],
        "pipenv" if !has("--system") => {
            let made = variable("WORKON_HOME").unwrap_or_else(|| format!("{}/.local/share/virtualenvs", home()));
            vec![own(), Place::Within(made)]
        }
        _ => return None,
    })
}

/// The root of the environment whose `bin` stands first on PATH, before the system's.
fn first_on_path(command: &Command, run: &RunInstruction) -> Option<String> {
    let path = variable(command, run, "PATH").or_else(|| run.path_head.clone())?;
    let first = path.split(':').next().filter(|first| !SYSTEM.contains(first))?;
    first.strip_suffix("/bin").map(str::to_owned)
}

fn variable(command: &Command, run: &RunInstruction, name: &str) -> Option<String> {
    match command.variable(name) {
        Some(value) => value.known().map(str::to_owned),
        None => match run.scope.lookup(name) {
            Lookup::Known(value, _) => Some(value),
            Lookup::Unset | Lookup::NoValue | Lookup::Unknown(..) => None,
        },
    }
}

/// The value of an option, behind `=` or as the next word.
fn option<'a>(words: &[&'a str], long: &str, short: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(long) {
        Some("") => words.get(at + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None if !short.is_empty() && *word == short => words.get(at + 1).copied(),
        None => None,
    })
}

/// A path as seen from the working directory of a RUN.
fn absolute(path: &str, run: &RunInstruction) -> Option<String> {
    let path = path.trim_end_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    let workdir = run.workdir.as_deref()?.trim_end_matches('/');
    Some(if path == "." || path.is_empty() { workdir.to_owned() } else { format!("{workdir}/{path}") })
}

/// Whether copying `source` out of a stage brings a package that may lie in one of `places`.
pub(super) fn brings(source: &str, manager: Manager, name: &str, places: &[Place]) -> bool {
    let source = rooted(source);
    match manager {
        Manager::Apt => matches!(source.as_str(), "/" | "/usr"),
        Manager::Pip | Manager::Conda => places.iter().any(|place| match place {
            Place::Flat(folder) => covers(&source, folder) || names(below(folder, &source), name),
            Place::Prefix(root) => covers(&source, root) || library(below(root, &source), name),
            Place::Named(folder) => {
                source == "/" || source.split('/').next_back().is_some_and(|last| last.starts_with(folder))
            }
            Place::Within(folder) => covers(&source, folder) || environment(below(folder, &source), name),
            Place::Env(own) => {
                let whole = format!("{source}/");
                let inside = whole.split_once("/envs/").map(|(_, rest)| rest.trim_end_matches('/'));
                inside.is_some_and(|inside| {
                    let called = inside.split('/').next().unwrap_or_default();
                    (called.is_empty() || own.is_empty() || called == own) && environment(Some(inside), name)
                })
            }
        }),
    }
}

/// Whether the whole tree is copied.
pub(super) fn whole(source: &str) -> bool {
    rooted(source) == "/"
}

/// A source of COPY as a path from the root of its stage, without `.`, `*` and `/` at its end.
fn rooted(source: &str) -> String {
    let parts: Vec<&str> = source.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let parts = if parts.last() == Some(&"*") { parts.get(..parts.len() - 1).unwrap_or_default() } else { &parts };
    format!("/{}", parts.join("/"))
}

fn covers(source: &str, folder: &str) -> bool {
    source == "/" || below(source, folder).is_some()
}

/// What follows `folder` in `path`, where it lies there.
fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Whether a path below a directory of environments is that of one, or holds the package.
fn environment(rest: Option<&str>, name: &str) -> bool {
    rest.is_some_and(|rest| rest.split_once('/').is_none_or(|(_, inside)| library(Some(inside), name)))
}

/// Whether a path below the root of an environment holds the package: `lib`, `lib/python3.11`, its `site-packages`.
fn library(rest: Option<&str>, name: &str) -> bool {
    let Some(rest) = rest else { return false };
    let mut parts = rest.split('/');
    if !parts.next().is_some_and(|part| matches!(part, "lib" | "lib64" | "lib*")) {
        return false;
    }
    match (parts.next(), parts.next()) {
        (None, _) => true,
        (Some(python), None) => python.starts_with("python") || python == "*",
        (Some(_), Some("site-packages" | "dist-packages" | "*-packages")) => {
            parts.next().is_none_or(|own| names(Some(own), name))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Whether a directory name is that of a package, with or without its version.
fn names(own: Option<&str>, name: &str) -> bool {
    own.is_some_and(|own| {
        let own = own.split('/').next().unwrap_or(own);
        let (stem, star) = own.strip_suffix('*').map_or((own, false), |stem| (stem, true));
        own.is_empty() || normalised(stem) == name || (star && name.starts_with(&normalised(stem)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_comes_along_where_its_directory_does() {
        let usual: Vec<Place> = USUAL.iter().map(|root| Place::Prefix((*root).to_owned())).collect();
        let venv = [Place::Prefix("/opt/venv".to_owned())];
        let flat = [Place::Flat("/deps".to_owned())];
        let made = [Place::Within("/app/.pixi/envs".to_owned())];
        let gpu = [Place::Env("gpu".to_owned())];
        for (source, places, expected) in [
            ("/", &usual[..], true),
            (".", &usual, true),
            ("/*", &usual, true),
            ("/usr/local", &usual, true),
            ("/usr/local/lib", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/", &usual, true),
            ("usr/local/lib/python3.10/dist-packages", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/torch", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/tor*", &usual, true),
            ("/usr/local/lib/python3.10/site-packages/numpy", &usual, false),
            ("/opt/conda", &usual, true),
            ("/usr/local/bin", &usual, false),
            ("/usr/local/cuda", &usual, false),
            ("/usr/locale", &usual, false),
            ("/app", &usual, false),
            ("/opt", &venv, true),
            ("/opt/venv", &venv, true),
            ("/opt/venv/lib", &venv, true),
            ("/opt/venv/bin", &venv, false),
            ("/opt/ven", &venv, false),
            ("/usr/local", &venv, false),
            ("/deps", &flat, true),
            ("/deps/torch", &flat, true),
            ("/deps/numpy", &flat, false),
            ("/app/.venv", &[Place::Named(".venv")], true),
            ("/app", &[Place::Named(".venv")], false),
            ("/app", &made, true),
            ("/app/.pixi/envs/default", &made, true),
            ("/app/.pixi/envs/default/lib/python3.11/site-packages", &made, true),
            ("/app/.pixi/envs/default/bin", &made, false),
            ("/app/.pixi/cache", &made, false),
            ("/opt/conda/envs/gpu", &gpu, true),
            ("/opt/conda/envs/gpu/lib", &gpu, true),
            ("/opt/conda/envs", &gpu, true),
            ("/opt/conda/envs/web", &gpu, false),
            ("/opt/conda/envs/gpu/bin", &gpu, false),
            ("/opt/conda/bin", &gpu, false),
            ("/srv/environment", &gpu, false),
        ] {
            assert_eq!(brings(source, Manager::Pip, "torch", places), expected, "{source} {places:?}");
        }
        assert!(brings("/usr", Manager::Apt, "x", &[]) && !brings("/usr/local", Manager::Apt, "x", &[]));
        assert!(whole("/") && whole("./") && whole("/*") && !whole("/opt"));
    }
}
