//! Virtual environments that commands create: packages installed there do not see those of the base image.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::{Command, Word, is_at_or_below_pattern};
use crate::dockerfile::VariableLookup;
use crate::extract::changed_files::TransferredPath;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::install;

/// Folders of system programs.
pub(super) const SYSTEM_PROGRAM_FOLDERS: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The default folder of the project environment of uv.
const PROJECT_FOLDER: &str = ".venv";
/// The variable that sets another folder for it.
const PROJECT_VARIABLE: &str = "UV_PROJECT_ENVIRONMENT";
/// The variable by which uv adds pip to the environments that it creates.
const SEED_VARIABLE: &str = "UV_VENV_SEED";

/// The number of environments beyond which no copies of them are recorded.
const MAX_ENVIRONMENTS: usize = 64;
/// The shell function that leaves the active environment.
pub(super) const DEACTIVATION: &str = "deactivate";

/// The virtual environments created so far, by their folders.
#[derive(Clone, Debug, Default)]
pub(super) struct VirtualEnvironments {
    made: BTreeSet<String>,
    /// Those that include the system site-packages.
    sharing: BTreeSet<String>,
    /// Those that uv created without pip, so that `pip` is another one there.
    without_pip: BTreeSet<String>,
    /// The one that the shell of the current RUN activated.
    entered: Option<String>,
    /// The Python versions of those created with a named version.
    pythons: BTreeMap<String, String>,
    /// The Python version that pyenv was set to.
    of_pyenv: Option<String>,
}

impl VirtualEnvironments {
    /// Starts a RUN, whose shell has no active environment.
    pub(super) fn start_run(&mut self) {
        self.entered = None;
    }

    /// Records an environment that a command creates, activates, copies, moves or removes.
    pub(super) fn record_command(&mut self, step: CommandStep<'_>) {
        let CommandStep { command, folder, .. } = step;
        self.record_transfers(step);
        let words: Vec<&str> = command.words.iter().map(|word| word.known().unwrap_or("?")).collect();
        let program = command.program().unwrap_or("");
        if matches!(program, "." | "source") {
            let script = words.get(1).map(|script| absolute_path(folder, script));
            let entered = script.and_then(|script| Some(script.strip_suffix("/bin/activate")?.to_owned()));
            self.entered = entered.filter(|entered| self.made.contains(entered)).or_else(|| self.entered.take());
            return;
        }
        if program == DEACTIVATION {
            self.entered = None;
        }
        if program == "pyenv" && words.get(1) == Some(&"global") {
            self.of_pyenv = words.get(2).and_then(|named| parse_python_version(named)).filter(|_| !command.conditional);
        }
        let Some(arguments) = creation_arguments(program, &words) else { return };
        let path = environment_folder(arguments).or((program == "uv").then_some(PROJECT_FOLDER));
        let Some(path) = path.filter(|path| !path.contains('?')).map(|path| absolute_path(folder, path)) else {
            return;
        };
        match requested_version(program, arguments).filter(|_| !command.conditional) {
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
        } else {
            self.sharing.remove(&path);
        }
        if command.conditional {
            self.made.remove(&path);
        } else {
            self.made.insert(path);
        }
    }

    /// Records what a command does to the folders of environments.
    fn record_transfers(&mut self, step: CommandStep<'_>) {
        if step.command.conditional || self.made.is_empty() {
            return;
        }
        for TransferredPath { from, to, .. } in step.transfers {
            let copied = |folder: &str| Some(absolute_path(to, strip_folder(folder, from)?));
            if self.made.len() < MAX_ENVIRONMENTS && self.made.iter().any(|folder| copied(folder).is_some()) {
                let before = self.clone();
                self.extend_copied(&before, copied);
            }
        }
        for path in step.certainly_removed_paths() {
            self.retain_folders(|folder| !is_at_or_below_pattern(folder, &path));
        }
    }

    /// Forgets the environments in other folders than those that satisfy a condition.
    fn retain_folders(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.made.retain(|folder| is_kept(folder));
        self.sharing.retain(|folder| is_kept(folder));
        self.without_pip.retain(|folder| is_kept(folder));
        self.pythons.retain(|folder, _| is_kept(folder));
    }

    /// Adds the environments of another stage that are copied, each at the path that `copied` returns.
    pub(super) fn extend_copied(&mut self, other: &Self, copied: impl Fn(&str) -> Option<String>) {
        self.made.extend(other.made.iter().filter_map(|folder| copied(folder)));
        self.sharing.extend(other.sharing.iter().filter_map(|folder| copied(folder)));
        self.without_pip.extend(other.without_pip.iter().filter_map(|folder| copied(folder)));
        self.pythons
            .extend(other.pythons.iter().filter_map(|(folder, version)| Some((copied(folder)?, version.clone()))));
    }

    /// Forgets which environments lack pip, after a command installed pip into one of them.
    pub(super) fn forget_missing_pip(&mut self) {
        self.without_pip.clear();
    }

    /// Whether a command runs the `pip` of the image because the active environment has none.
    fn uses_image_pip(&self, command: &Command, head: Option<&str>, lookup: &dyn Fn(&str) -> VariableLookup) -> bool {
        let plain = command.program().is_some_and(|program| matches!(program, "pip" | "pip3"));
        let has_python_option = command.words.iter().filter_map(Word::known).any(|word| word.starts_with("--python"));
        let by_path = command.words.first().and_then(Word::known).is_some_and(|first| first.contains('/'));
        let reached = self.entered.as_deref().or_else(|| head?.strip_suffix("/bin"));
        let lacks = reached.is_some_and(|reached| self.without_pip.contains(reached));
        plain && lacks && !has_python_option && !by_path && variable_value(command, SEED_VARIABLE, lookup).is_none()
    }

    /// Whether the environment in a folder includes the packages of the Python that created it.
    pub(super) fn includes_system_packages(&self, folder: &str) -> bool {
        self.sharing.contains(folder)
    }

    /// Whether a command installs into one of the environments; `head` is the first directory of PATH, if known.
    fn installs_into(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> bool {
        let value = |name: &str| variable_value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if command.program() == Some("uv") && is_project_command(&words) {
            let active = words.contains(&"--active").then(|| value("VIRTUAL_ENV")).flatten();
            return self.creates_project_environment(folder, active.or_else(|| value(PROJECT_VARIABLE)).as_deref());
        }
        if self.made.is_empty() || self.uses_image_pip(command, head, lookup) {
            return false;
        }
        let first = words.first().copied().unwrap_or("");
        if first.contains('/') && self.contains_program(&absolute_path(folder, first)) {
            return true;
        }
        if command.program() == Some("uv") {
            let system = words.iter().any(|word| matches!(*word, "--system" | "--target" | "--prefix" | "-p"));
            if system || words.iter().any(|word| word.starts_with("--python")) || value("UV_SYSTEM_PYTHON").is_some() {
                return false;
            }
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            return active.map_or_else(|| self.has_project_environment(folder), |active| self.made.contains(&active));
        }
        self.entered.is_some() || head.is_some_and(|head| self.contains_program(&format!("{head}/python")))
    }

    /// Returns the folder of the environment that a command installs into, if any.
    pub(super) fn target_folder(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> Option<String> {
        let value = |name: &str| variable_value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let made = |path: &str| self.made.get(path).cloned();
        let of_python = |python: &str| {
            let path = absolute_path(folder, python);
            made(&path).or_else(|| made(path.rsplit_once("/bin/")?.0))
        };
        let uv = command.program() == Some("uv");
        if let Some(python) = option_value(&words, if uv { &["--python", "-p"] } else { &["--python"] }) {
            return of_python(python);
        }
        if !self.installs_into(command, folder, head, lookup) {
            return None;
        }
        if uv && is_project_command(&words) {
            let active = words.contains(&"--active").then(|| value("VIRTUAL_ENV")).flatten();
            return Some(absolute_path(
                folder,
                active.or_else(|| value(PROJECT_VARIABLE)).as_deref().unwrap_or(PROJECT_FOLDER),
            ));
        }
        let first = words.first().copied().unwrap_or("");
        if first.contains('/')
            && let Some(own) = of_python(first)
        {
            return Some(own);
        }
        if uv {
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            let mut above = folder_and_parents(folder);
            return active.or_else(|| above.find_map(|folder| made(&absolute_path(folder, PROJECT_FOLDER))));
        }
        self.entered.clone().or_else(|| made(head?.strip_suffix("/bin")?))
    }

    /// Whether a command that installs into no environment certainly reaches the Python of the image, by PATH or by
    /// its path.
    pub(super) fn uses_system_python(
        &self,
        command: &Command,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> bool {
        let value = |name: &str| variable_value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if command.program() == Some("uv") {
            return words.contains(&"--system") || value("UV_SYSTEM_PYTHON").is_some();
        }
        let first = words.first().copied().unwrap_or("");
        if let Some((folder, _)) = first.rsplit_once('/') {
            return SYSTEM_PROGRAM_FOLDERS.contains(&folder);
        }
        let is_first_on_path = self.entered.is_none() && head.is_none_or(|head| SYSTEM_PROGRAM_FOLDERS.contains(&head));
        self.uses_image_pip(command, head, lookup) || is_first_on_path && value("VIRTUAL_ENV").is_none()
    }

    /// Returns the Python version that a command installs for, if its environment was created with a named version.
    pub(super) fn target_python(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> Option<String> {
        let value = |name: &str| variable_value(command, name, lookup);
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        let first = words.first().copied().unwrap_or("");
        let made = |path: &str| self.pythons.get(path).cloned();
        let of_program = |program: &str| made(program.rsplit_once("/bin/")?.0);
        if command.program() == Some("uv") {
            let chosen = option_value(&words, &["--python", "-p"]);
            if let Some(chosen) = chosen {
                let path = absolute_path(folder, chosen);
                return parse_python_version(chosen).or_else(|| made(&path)).or_else(|| of_program(&path));
            }
            if words.iter().any(|word| matches!(*word, "--system" | "--target" | "--prefix"))
                || value("UV_SYSTEM_PYTHON").is_some()
            {
                return None;
            }
            let of_project = is_project_command(&words);
            let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
            let environment = if of_project { value(PROJECT_VARIABLE) } else { active };
            if let Some(environment) = environment {
                return made(&absolute_path(folder, &environment));
            }
            let mut folders = folder_and_parents(folder);
            return folders.find_map(|folder| made(&absolute_path(folder, PROJECT_FOLDER)));
        }
        if first.contains('/') {
            return of_program(&absolute_path(folder, first));
        }
        if self.uses_image_pip(command, head, lookup) {
            return None;
        }
        if let Some(entered) = &self.entered {
            return made(entered);
        }
        let head = head?;
        let of_pyenv = || self.of_pyenv.clone().filter(|_| head.contains("pyenv"));
        of_program(&format!("{head}/python")).or_else(of_pyenv)
    }

    /// Whether uv creates a new project environment in a folder. Another folder that no command created may come from
    /// the base image.
    fn creates_project_environment(&self, folder: &str, path: Option<&str>) -> bool {
        let path = absolute_path(folder, path.unwrap_or(PROJECT_FOLDER));
        let usual = path.rsplit('/').next() == Some(PROJECT_FOLDER);
        let mut above = folder_and_parents(folder);
        let shares = self.sharing.contains(&path)
            || usual && above.any(|folder| self.sharing.contains(&absolute_path(folder, PROJECT_FOLDER)));
        self.made.contains(&path) || usual && !shares
    }

    /// Whether a program belongs to one of the environments.
    fn contains_program(&self, program: &str) -> bool {
        program.rsplit_once("/bin/").is_some_and(|(folder, _)| self.made.contains(folder))
    }

    /// Whether `.venv` is in a folder or in a parent folder, where uv searches it.
    fn has_project_environment(&self, folder: &str) -> bool {
        let mut folders = folder_and_parents(folder);
        folders.any(|folder| self.made.contains(&absolute_path(folder, PROJECT_FOLDER)))
    }
}

/// Returns a folder and its parent folders.
fn folder_and_parents(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| Some(folder.rsplit_once('/')?.0))
}

/// Whether uv installs into the environment of a project.
fn is_project_command(words: &[&str]) -> bool {
    matches!(words.get(1), Some(&("sync" | "add" | "run")))
}

/// Whether a command installs a tool into a separate environment that is created for it.
pub(super) fn installs_isolated_tool(command: &Command) -> bool {
    let word = |at: usize| command.words.get(at).and_then(Word::known).unwrap_or("");
    match command.program() {
        Some("pipx" | "uvx") => true,
        Some("uv") => word(1) == "tool",
        Some(program) if program.starts_with("python") => word(1) == "-m" && word(2) == "pipx",
        _ => false,
    }
}

/// Returns the arguments of a command that creates an environment.
fn creation_arguments<'a>(program: &str, words: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let module = || words.windows(2).position(|pair| matches!(pair, ["-m", "venv" | "virtualenv"]));
    match program {
        "uv" if words.get(1) == Some(&"venv") => words.get(2..),
        "virtualenv" => words.get(1..),
        _ if program.starts_with("python") => words.get(module()? + 2..),
        _ => None,
    }
}

/// Returns the Python version that a command requests for a new environment: `python3.14 -m venv`, `uv venv --python
/// 3.14`.
fn requested_version(program: &str, arguments: &[&str]) -> Option<String> {
    let requested = option_value(arguments, &["--python", "-p"]);
    match requested {
        Some(requested) => {
            let name = requested.rsplit('/').next().unwrap_or(requested);
            parse_python_version(name)
        }
        None => install::python_version_of_program(program).and_then(|version| parse_python_version(&version)),
    }
}

/// Returns the value of an option, as the next argument or after `=`.
fn option_value<'a>(words: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let separate_value = words.windows(2).find_map(|pair| match pair {
        [name, value] => names.contains(name).then_some(*value),
        _ => None,
    });
    let joined = || words.iter().find_map(|word| word.split_once('=').filter(|(name, _)| names.contains(name)));
    separate_value.or_else(|| joined().map(|(_, value)| value))
}

/// Returns the value of a variable for a command, if known.
fn variable_value(command: &Command, name: &str, lookup: &dyn Fn(&str) -> VariableLookup) -> Option<String> {
    match command.variable(name) {
        Some(value) => value.known_text().map(str::to_owned),
        None => match lookup(name) {
            VariableLookup::Known(value, _) => Some(value),
            VariableLookup::Unset | VariableLookup::NoValue | VariableLookup::Unknown(..) => None,
        },
    }
}

/// Returns the folder among the arguments: the last one that is neither an option nor its value.
fn environment_folder<'a>(arguments: &[&'a str]) -> Option<&'a str> {
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

/// Returns the version in `3.11`, `3.11.7`, `python3.11` and `cpython-3.11.7`.
pub(super) fn parse_python_version(named: &str) -> Option<String> {
    let named = named.trim_start_matches('c').trim_start_matches("python").trim_start_matches(['-', '@']);
    let mut parts = named.split(['.', '-', '+']);
    let (first, second) = (parts.next()?, parts.next()?);
    let number = |part: &str| !part.is_empty() && part.bytes().all(|one| one.is_ascii_digit());
    (number(first) && number(second)).then(|| format!("{first}.{second}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::MappedText;
    use crate::extract::command_step::with_step;
    use crate::shell::script_commands;

    /// Returns what the environments of a script yield for its last command.
    fn for_last_command<T: Default>(
        script: &str,
        variables: &[(&str, &str)],
        says: impl Fn(&VirtualEnvironments, &Command, Option<&str>, &dyn Fn(&str) -> VariableLookup) -> T,
    ) -> T {
        let lookup = |name: &str| match variables.iter().find(|(own, _)| *own == name) {
            Some((_, value)) => VariableLookup::Known((*value).to_owned(), Vec::new()),
            None => VariableLookup::Unset,
        };
        let mut environments = VirtualEnvironments::default();
        let mut result = T::default();
        for command in script_commands(&MappedText::contiguous(script, 0)) {
            with_step(&command, "/app", |step| environments.record_command(step));
            let head = variables.iter().find(|(own, _)| *own == "PATH").map(|(_, head)| *head);
            result = says(&environments, &command, head, &lookup);
        }
        result
    }

    /// Whether the last command of a script installs into an environment.
    fn installs_last_into(script: &str, variables: &[(&str, &str)]) -> bool {
        for_last_command(script, variables, |all, command, head, lookup| {
            let target = all.target_folder(command, "/app", head, lookup);
            target.is_some_and(|target| !all.includes_system_packages(&target))
        })
    }

    /// Returns the Python version that the last command of a script installs for.
    fn last_target_python(script: &str, variables: &[(&str, &str)]) -> Option<String> {
        for_last_command(script, variables, |all, command, head, lookup| {
            all.target_python(command, "/app", head, lookup)
        })
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
            assert_eq!(last_target_python(script, variables).as_deref(), expected, "{script} {variables:?}");
        }
    }

    #[test]
    fn tools_have_separate_environments() {
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
            let commands = script_commands(&MappedText::contiguous(script, 0));
            assert_eq!(commands.first().is_some_and(installs_isolated_tool), expected, "{script}");
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
            assert_eq!(installs_last_into(script, variables), expected, "{script} {variables:?}");
        }
    }

    #[test]
    fn python_versions_have_several_forms() {
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
            assert_eq!(parse_python_version(named).as_deref(), expected, "{named}");
        }
    }
}
