//! Environments of Python that commands make beside the image's own: what is installed there does not see what the base
//! image brings.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::dockerfile::Lookup;
use crate::extract::pythons;
use crate::extract::tree::absolute;
use crate::install;
use crate::shell::Command;
use crate::shell::Word;

/// Folders of programs of the system.
pub(super) const OF_SYSTEM: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Where uv makes the environment of a project, and the variable that says another place.
const USUAL: &str = ".venv";
const PROJECT: &str = "UV_PROJECT_ENVIRONMENT";
/// By which uv brings a pip into what it makes.
const SEED: &str = "UV_VENV_SEED";

/// The environments made so far, by their folders.
#[derive(Clone, Debug, Default)]
pub(super) struct Environments {
    made: BTreeSet<String>,
    /// Those that see what the image has as well.
    sharing: BTreeSet<String>,
    /// Those that uv made without a pip of their own: `pip` is another's there.
    without_pip: BTreeSet<String>,
    /// The one that a shell went into: until its RUN ends.
    entered: Option<String>,
    /// The Python of those that were made with one that is named.
    pythons: BTreeMap<String, String>,
    /// The Python that pyenv was told to take.
    of_pyenv: Option<String>,
}

impl Environments {
    /// A RUN begins: its shell is in none.
    pub(super) fn begin(&mut self) {
        self.entered = None;
    }

    /// Notes an environment that a command makes in or from `folder`, or goes into.
    pub(super) fn note(&mut self, command: &Command, folder: &str) {
        let words: Vec<&str> = command.words.iter().map(|word| word.known().unwrap_or("?")).collect();
        let program = command.program().unwrap_or("");
        if matches!(program, "." | "source") {
            let script = words.get(1).map(|script| absolute(folder, script));
            let entered = script.and_then(|script| Some(script.strip_suffix("/bin/activate")?.to_owned()));
            self.entered = entered.filter(|entered| self.made.contains(entered)).or_else(|| self.entered.take());
            return;
        }
        if program == "pyenv" && words.get(1) == Some(&"global") {
            self.of_pyenv = words.get(2).and_then(|named| pythons::version(named)).filter(|_| !command.conditional);
        }
        let Some(arguments) = arguments(program, &words) else { return };
        let path = folder_of(arguments).or((program == "uv").then_some(USUAL));
        let Some(path) = path.filter(|path| !path.contains('?')).map(|path| absolute(folder, path)) else { return };
        match named(program, arguments).filter(|_| !command.conditional) {
            Some(python) => self.pythons.insert(path.clone(), python),
            None => self.pythons.remove(&path),
        };
        if program == "uv" && !arguments.contains(&"--seed") {
            self.without_pip.insert(path.clone());
        } else {
            self.without_pip.remove(&path);
        }
        let shares = arguments.iter().any(|word| word.ends_with("system-site-packages"));
        if shares {
            self.sharing.insert(path.clone());
        }
        if command.conditional || shares {
            self.made.remove(&path);
        } else {
            self.made.insert(path);
        }
    }

    /// Something brought a pip into one of them: from here on nobody can tell which lack it.
    pub(super) fn with_pip(&mut self) {
        self.without_pip.clear();
    }

    /// Whether a command is the `pip` of the image itself, for the environment that it is run in has none.
    fn is_of_image(&self, command: &Command, head: Option<&str>, lookup: &dyn Fn(&str) -> Lookup) -> bool {
        let plain = command.program().is_some_and(|program| matches!(program, "pip" | "pip3"));
        let told = command.words.iter().filter_map(Word::known).any(|word| word.starts_with("--python"));
        let by_path = command.words.first().and_then(Word::known).is_some_and(|first| first.contains('/'));
        let reached = self.entered.as_deref().or_else(|| head?.strip_suffix("/bin"));
        let lacks = reached.is_some_and(|reached| self.without_pip.contains(reached));
        plain && lacks && !told && !by_path && value(command, SEED, lookup).is_none()
    }

    /// Whether what a command installs goes into one of them; `head` is the first directory that programs are looked
    /// for in, where that is told.
    pub(super) fn takes(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> Lookup,
    ) -> bool {
        let value = |name: &str| value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if command.program() == Some("uv") && fills_project(&words) {
            let active = words.contains(&"--active").then(|| value("VIRTUAL_ENV")).flatten();
            return self.is_of_project(folder, active.or_else(|| value(PROJECT)).as_deref());
        }
        if self.made.is_empty() || self.is_of_image(command, head, lookup) {
            return false;
        }
        let first = words.first().copied().unwrap_or("");
        if first.contains('/') && self.holds(&absolute(folder, first)) {
            return true;
        }
        if command.program() == Some("uv") {
            let system = words.iter().any(|word| matches!(*word, "--system" | "--target" | "--prefix" | "-p"));
            if system || words.iter().any(|word| word.starts_with("--python")) || value("UV_SYSTEM_PYTHON").is_some() {
                return false;
            }
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            return active.map_or_else(|| self.is_above(folder), |active| self.made.contains(&active));
        }
        self.entered.is_some() || head.is_some_and(|head| self.holds(&format!("{head}/python")))
    }

    /// The folder of the environment that a command installs into, where it is one that was made here and sees nothing of
    /// what the image has.
    pub(super) fn home(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> Lookup,
    ) -> Option<String> {
        let value = |name: &str| value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let made = |path: &str| self.made.get(path).cloned();
        let of_python = |python: &str| {
            let path = absolute(folder, python);
            made(&path).or_else(|| made(path.rsplit_once("/bin/")?.0))
        };
        let uv = command.program() == Some("uv");
        if let Some(python) = option(&words, if uv { &["--python", "-p"] } else { &["--python"] }) {
            return of_python(python);
        }
        if !self.takes(command, folder, head, lookup) {
            return None;
        }
        if uv && fills_project(&words) {
            let active = words.contains(&"--active").then(|| value("VIRTUAL_ENV")).flatten();
            return Some(absolute(folder, active.or_else(|| value(PROJECT)).as_deref().unwrap_or(USUAL)));
        }
        let first = words.first().copied().unwrap_or("");
        if first.contains('/')
            && let Some(own) = of_python(first)
        {
            return Some(own);
        }
        if uv {
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            let mut above = and_above(folder);
            return active.or_else(|| above.find_map(|folder| made(&absolute(folder, USUAL))));
        }
        self.entered.clone().or_else(|| made(head?.strip_suffix("/bin")?))
    }

    /// Whether a command that installs into none of them certainly reaches the Python of the image: one that is found by
    /// PATH where nothing of the image stands in front of that, or one of the system's by its path.
    pub(super) fn is_of_system(&self, command: &Command, head: Option<&str>, lookup: &dyn Fn(&str) -> Lookup) -> bool {
        let value = |name: &str| value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if command.program() == Some("uv") {
            return words.contains(&"--system") || value("UV_SYSTEM_PYTHON").is_some();
        }
        let first = words.first().copied().unwrap_or("");
        if let Some((folder, _)) = first.rsplit_once('/') {
            return OF_SYSTEM.contains(&folder);
        }
        let plain = self.entered.is_none() && value("VIRTUAL_ENV").is_none();
        self.is_of_image(command, head, lookup) || plain && head.is_none_or(|head| OF_SYSTEM.contains(&head))
    }

    /// The Python that a command installs for, where it reaches an environment that was made with a named one.
    pub(super) fn python(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> Lookup,
    ) -> Option<String> {
        let value = |name: &str| value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let first = words.first().copied().unwrap_or("");
        let made = |path: &str| self.pythons.get(path).cloned();
        let of_program = |program: &str| made(program.rsplit_once("/bin/")?.0);
        if command.program() == Some("uv") {
            let chosen = option(&words, &["--python", "-p"]);
            if let Some(chosen) = chosen {
                let path = absolute(folder, chosen);
                return pythons::version(chosen).or_else(|| made(&path)).or_else(|| of_program(&path));
            }
            if words.iter().any(|word| matches!(*word, "--system" | "--target" | "--prefix"))
                || value("UV_SYSTEM_PYTHON").is_some()
            {
                return None;
            }
            let of_project = fills_project(&words);
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            let told = if of_project { value(PROJECT) } else { active };
            if let Some(told) = told {
                return made(&absolute(folder, &told));
            }
            let mut folders = and_above(folder);
            return folders.find_map(|folder| made(&absolute(folder, USUAL)));
        }
        if first.contains('/') {
            return of_program(&absolute(folder, first));
        }
        if self.is_of_image(command, head, lookup) {
            return None;
        }
        if let Some(entered) = &self.entered {
            return made(entered);
        }
        let head = head?;
        let of_pyenv = || self.of_pyenv.clone().filter(|_| head.contains("pyenv"));
        of_program(&format!("{head}/python")).or_else(of_pyenv)
    }

    /// Whether uv makes the environment of a project in a folder afresh: its usual one, or that of a path. Of another
    /// that no command made, the base may have it.
    fn is_of_project(&self, folder: &str, path: Option<&str>) -> bool {
        let path = absolute(folder, path.unwrap_or(USUAL));
        let usual = path.rsplit('/').next() == Some(USUAL);
        let mut above = and_above(folder);
        let shares = self.sharing.contains(&path)
            || usual && above.any(|folder| self.sharing.contains(&absolute(folder, USUAL)));
        self.made.contains(&path) || usual && !shares
    }

    /// Whether a program is one of an environment's own.
    fn holds(&self, program: &str) -> bool {
        program.rsplit_once("/bin/").is_some_and(|(folder, _)| self.made.contains(folder))
    }

    /// Whether `.venv` lies in a folder or above it, where uv looks.
    fn is_above(&self, folder: &str) -> bool {
        let mut folders = and_above(folder);
        folders.any(|folder| self.made.contains(&absolute(folder, USUAL)))
    }
}

/// A folder, and those that it lies in.
fn and_above(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| Some(folder.rsplit_once('/')?.0))
}

/// Whether uv is told to fill the environment of a project.
fn fills_project(words: &[&str]) -> bool {
    matches!(words.get(1), Some(&("sync" | "add" | "run")))
}

/// Whether a command installs a tool into an environment that is made for it alone.
pub(super) fn has_its_own(command: &Command) -> bool {
    let word = |at: usize| command.words.get(at).and_then(Word::known).unwrap_or("");
    match command.program() {
        Some("pipx" | "uvx") => true,
        Some("uv") => word(1) == "tool",
        Some(program) if program.starts_with("python") => word(1) == "-m" && word(2) == "pipx",
        _ => false,
    }
}

/// What stands behind the command that makes an environment.
fn arguments<'a>(program: &str, words: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let module = || words.windows(2).position(|pair| matches!(pair, ["-m", "venv" | "virtualenv"]));
    match program {
        "uv" if words.get(1) == Some(&"venv") => words.get(2..),
        "virtualenv" => words.get(1..),
        _ if program.starts_with("python") => words.get(module()? + 2..),
        _ => None,
    }
}

/// The version that is named where an environment is made: `python3.14 -m venv`, `uv venv --python 3.14`.
fn named(program: &str, arguments: &[&str]) -> Option<String> {
    let told = option(arguments, &["--python", "-p"]);
    match told {
        Some(told) => {
            let name = told.rsplit('/').next().unwrap_or(told);
            pythons::version(name)
        }
        None => install::python_of(program).and_then(|version| pythons::version(&version)),
    }
}

/// The value of an option, in a word of its own or behind `=`.
fn option<'a>(words: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let apart = words.windows(2).find_map(|pair| match pair {
        [name, value] => names.contains(name).then_some(*value),
        _ => None,
    });
    let joined = || words.iter().find_map(|word| word.split_once('=').filter(|(name, _)| names.contains(name)));
    apart.or_else(|| joined().map(|(_, value)| value))
}

/// The value of a variable as a command has it, where that is told.
fn value(command: &Command, name: &str, lookup: &dyn Fn(&str) -> Lookup) -> Option<String> {
    match command.variable(name) {
        Some(value) => value.known().map(str::to_owned),
        None => match lookup(name) {
            Lookup::Known(value, _) => Some(value),
            Lookup::Unset | Lookup::NoValue | Lookup::Unknown(..) => None,
        },
    }
}

/// The folder among the arguments: the last word that is no option and no value of one.
fn folder_of<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let mut found = None;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if matches!(*word, "-p" | "--python" | "--prompt" | "--seeder" | "--app-data") {
            rest.next();
        } else if !word.starts_with('-') {
            found = Some(*word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Mapped;
    use crate::shell::script_commands;

    /// What the environments of a script say of its last command.
    fn last<T: Default>(
        script: &str,
        variables: &[(&str, &str)],
        says: impl Fn(&Environments, &Command, Option<&str>, &dyn Fn(&str) -> Lookup) -> T,
    ) -> T {
        let lookup = |name: &str| match variables.iter().find(|(own, _)| *own == name) {
            Some((_, value)) => Lookup::Known((*value).to_owned(), Vec::new()),
            None => Lookup::Unset,
        };
        let mut environments = Environments::default();
        let mut said = T::default();
        for command in script_commands(&Mapped::whole(script, 0)) {
            environments.note(&command, "/app");
            let head = variables.iter().find(|(own, _)| *own == "PATH").map(|(_, head)| *head);
            said = says(&environments, &command, head, &lookup);
        }
        said
    }

    /// Whether the last command of a script installs into an environment.
    fn into(script: &str, variables: &[(&str, &str)]) -> bool {
        last(script, variables, |all, command, head, lookup| all.takes(command, "/app", head, lookup))
    }

    /// The Python that the last command of a script installs for.
    fn for_python(script: &str, variables: &[(&str, &str)]) -> Option<String> {
        last(script, variables, |all, command, head, lookup| all.python(command, "/app", head, lookup))
    }

    #[test]
    fn an_environment_has_the_python_that_it_is_made_with() {
        for (script, variables, expected) in [
            ("python3.14 -m venv /opt/v; /opt/v/bin/pip install x", &[][..], Some("3.14")),
            ("python3.14 -m venv /opt/v; . /opt/v/bin/activate; pip install x", &[], Some("3.14")),
            ("python3.14 -m venv /opt/v; pip install x", &[("PATH", "/opt/v/bin")], Some("3.14")),
            ("virtualenv -p python3.12 v; v/bin/python -m pip install x", &[], Some("3.12")),
            ("virtualenv --python=/usr/bin/python3.12 v; v/bin/pip install x", &[], Some("3.12")),
            ("uv venv -p 3.14; uv pip install x", &[], Some("3.14")),
            ("uv venv --python=3.14.0 /opt/v; uv pip install x", &[("VIRTUAL_ENV", "/opt/v")], Some("3.14")),
            ("uv venv --python 3.14 /opt/v; uv pip install -p /opt/v/bin/python x", &[], Some("3.14")),
            ("uv venv --python 3.14 /opt/v; uv pip install --python /opt/v x", &[], Some("3.14")),
            ("uv pip install --system --python 3.12 x", &[], Some("3.12")),
            ("uv venv -p 3.13; uv sync", &[], Some("3.13")),
            ("uv venv --seed -p 3.14 /opt/v; . /opt/v/bin/activate; pip install x", &[], Some("3.14")),
            (
                "pyenv install 3.12.3; pyenv global 3.12.3; pip install x",
                &[("PATH", "/root/.pyenv/shims")],
                Some("3.12"),
            ),
            // Another environment, or a version that nobody names.
            ("python3.14 -m venv /opt/v; pip install x", &[], None),
            ("python3.14 -m venv /opt/v; /opt/w/bin/pip install x", &[], None),
            ("python3.14 -m venv /opt/v; python3 -m venv /opt/v; /opt/v/bin/pip install x", &[], None),
            ("uv venv -p 3.14; uv pip install --system x", &[], None),
            ("uv venv -p 3.14; uv pip install x", &[("UV_SYSTEM_PYTHON", "1")], None),
            ("uv venv -p 3.14; uv pip install x", &[("VIRTUAL_ENV", "/opt/w")], None),
            ("uv venv -p 3.14; uv pip install -p /usr/bin/python3 x", &[], None),
            ("uv venv -p 3; uv pip install x", &[], None),
            ("uv venv; uv pip install x", &[], None),
            ("uv venv -p 3.14 /opt/v; . /opt/v/bin/activate; pip install x", &[], None),
            ("python3 -m venv /opt/v; /opt/v/bin/pip install x", &[], None),
            ("pyenv global 3.12.3; pip install x", &[("PATH", "/usr/local/bin")], None),
            ("pyenv global system; pip install x", &[("PATH", "/root/.pyenv/shims")], None),
            ("pip install x", &[], None),
        ] {
            assert_eq!(for_python(script, variables).as_deref(), expected, "{script} {variables:?}");
        }
    }

    #[test]
    fn tools_have_environments_of_their_own() {
        for (script, expected) in [
            ("pipx install vllm", true),
            ("/root/.local/bin/uv tool install vllm", true),
            ("uvx --with torch ruff", true),
            ("python3 -m pipx install vllm", true),
            ("uv pip install tool", false),
            ("pip install pipx", false),
            ("python3 -m pip install pipx", false),
            ("", false),
        ] {
            let commands = script_commands(&Mapped::whole(script, 0));
            assert_eq!(commands.first().is_some_and(has_its_own), expected, "{script}");
        }
    }

    #[test]
    fn a_command_installs_into_the_environment_that_it_reaches() {
        for (script, variables, expected) in [
            ("python3 -m venv /opt/v; /opt/v/bin/pip install x", &[][..], true),
            ("python3.11 -m venv --copies v; v/bin/python -m pip install x", &[], true),
            ("virtualenv -p python3 /opt/v; . /opt/v/bin/activate; pip install x", &[], true),
            ("python -m venv /opt/v; pip install x", &[("PATH", "/opt/v/bin")], true),
            ("python -m venv /opt/v; uv pip install x", &[("VIRTUAL_ENV", "/opt/v")], true),
            ("uv venv; uv pip install x", &[], true),
            ("uv venv --python 3.12 /opt/v; uv pip install x", &[("VIRTUAL_ENV", "/opt/v")], true),
            // uv makes that of a project by itself.
            ("uv sync", &[], true),
            ("uv sync --frozen --no-dev", &[("VIRTUAL_ENV", "/opt/other")], true),
            ("uv add x", &[("UV_PROJECT_ENVIRONMENT", "/app/.venv")], true),
            ("uv venv /opt/v; uv sync", &[("UV_PROJECT_ENVIRONMENT", "/opt/v")], true),
            ("uv venv /opt/v; uv sync --active", &[("VIRTUAL_ENV", "/opt/v")], true),
            ("uv sync", &[("UV_PROJECT_ENVIRONMENT", "/usr/local")], false),
            ("uv sync", &[("UV_PROJECT_ENVIRONMENT", "/opt/v")], false),
            ("uv sync --active", &[("VIRTUAL_ENV", "/opt/v")], false),
            ("uv venv --system-site-packages; uv sync", &[], false),
            ("uv venv --system-site-packages /.venv; uv sync", &[], false),
            ("uv lock", &[], false),
            // Not reached, or sharing what the image has.
            ("python -m venv /opt/v; pip install x", &[], false),
            ("python -m venv /opt/v; pip install x", &[("PATH", "/opt/w/bin")], false),
            ("python -m venv --system-site-packages /opt/v; /opt/v/bin/pip install x", &[], false),
            ("uv venv --system-site-packages; uv pip install x", &[], false),
            ("uv venv; uv pip install --system x", &[], false),
            ("uv venv; uv pip install x", &[("UV_SYSTEM_PYTHON", "1")], false),
            ("uv venv; pip install x", &[], false),
            // uv brings no pip along unless it is told to: the one of the image is run.
            ("uv venv /opt/v; . /opt/v/bin/activate; pip install x", &[], false),
            ("uv venv /opt/v; . /opt/v/bin/activate; pip3 install x", &[], false),
            ("uv venv /opt/v; pip install x", &[("PATH", "/opt/v/bin")], false),
            ("uv venv --seed /opt/v; . /opt/v/bin/activate; pip install x", &[], true),
            ("uv venv /opt/v; pip install x", &[("PATH", "/opt/v/bin"), ("UV_VENV_SEED", "1")], true),
            ("uv venv /opt/v; . /opt/v/bin/activate; pip --python /opt/v/bin/python install x", &[], true),
            ("uv venv /opt/v; . /opt/v/bin/activate; python -m pip install x", &[], true),
            ("uv venv /opt/v; . /opt/v/bin/activate; uv pip install x", &[], true),
            ("uv venv /opt/v; uv venv --seed /opt/v; pip install x", &[("PATH", "/opt/v/bin")], true),
            ("uv venv /opt/v; uv pip install x", &[], false),
            ("uv venv; uv pip install x", &[("VIRTUAL_ENV", "/opt/w")], false),
            ("python -m venv /opt/v; . /opt/w/bin/activate; pip install x", &[], false),
            ("python -m venv \"$(place)\"; pip install x", &[], false),
            ("uv pip install x", &[], false),
        ] {
            assert_eq!(into(script, variables), expected, "{script} {variables:?}");
        }
    }
}
