//! Virtual environments that commands create: packages installed there do not see those of the base image.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::{Command, Word, is_at_or_below_pattern, is_versioned_program};
use crate::dockerfile::VariableLookup;
use crate::extract::changed_files::TransferredPath;
use crate::extract::command_step::CommandStep;
use crate::extract::stage_files::{absolute_path, strip_folder};
use crate::install::{self, PackageInstall};
use crate::model::package::PackageName;

/// Folders of system programs.
pub(super) const SYSTEM_PROGRAM_FOLDERS: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The default folder of the project environment of uv.
const PROJECT_FOLDER: &str = ".venv";
/// The variable that sets another folder for it.
pub(super) const PROJECT_VARIABLE: &str = "UV_PROJECT_ENVIRONMENT";
/// The variable by which uv adds pip to the environments that it creates.
const SEED_VARIABLE: &str = "UV_VENV_SEED";

/// The number of environments beyond which no copies of them are recorded.
const MAX_ENVIRONMENTS: usize = 64;
/// The shell function that leaves the active environment.
pub(super) const DEACTIVATION: &str = "deactivate";

/// The option that selects a Python.
const PYTHON_OPTION: &str = "--python";

/// Returns the value of `--python`, as written, if its text is unknown.
fn unknown_python_option(words: &[Word]) -> Option<&str> {
    let next = words.iter().skip(1).map(Some).chain([None]);
    words.iter().zip(next).find_map(|(word, next)| match word.known() {
        Some(PYTHON_OPTION | "-p") => next.filter(|next| next.known().is_none()).map(|next| next.raw.trim_matches('"')),
        Some(_) => None,
        None => Some(word.raw.trim_matches('"').strip_prefix(PYTHON_OPTION)?.strip_prefix('=')?.trim_matches('"')),
    })
}

/// Whether a shell replaces a text by the path of the first Python on PATH: `$(which python3)`.
fn is_python_on_path(text: &str) -> bool {
    let inner = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| text.strip_prefix('`')?.strip_suffix('`'));
    match inner.map(|inner| inner.split_whitespace().collect::<Vec<_>>()).as_deref() {
        Some(["which", program] | ["command", "-v", program]) => is_versioned_program(program, "python"),
        _ => false,
    }
}

/// The Python whose packages a command changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetPython {
    /// That of the environment in a folder, which a command created.
    Environment(String),
    /// The Python of the image, outside of environments.
    Image,
    /// Another Python, or an unknown one.
    Other,
}

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
        let Some(path) = created_folder(program, arguments, folder) else { return };
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

    /// Returns the Python whose packages a command changes; `head` is the first directory of PATH, if known.
    pub(super) fn target(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> TargetPython {
        let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
        if command.program() == Some("uv") {
            return self.target_of_uv(command, &words, folder, head, lookup);
        }
        if let Some(python) = option_value(&words, &["--python"]) {
            return self.python_at(&absolute_path(folder, python));
        }
        if self.uses_image_pip(command, head, lookup) {
            return TargetPython::Image;
        }
        let first = words.first().copied().unwrap_or("");
        if first.contains('/') {
            return self.python_at(&absolute_path(folder, first));
        }
        if let Some(entered) = &self.entered {
            return TargetPython::Environment(entered.clone());
        }
        match head {
            Some(head) if !SYSTEM_PROGRAM_FOLDERS.contains(&head) => self.python_at(&format!("{head}/python")),
            _ if variable_value(command, "VIRTUAL_ENV", lookup).is_none() => TargetPython::Image,
            _ => TargetPython::Other,
        }
    }

    /// Returns the Python whose packages a command of uv changes.
    fn target_of_uv(
        &self,
        command: &Command,
        words: &[&str],
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> TargetPython {
        let value = |name: &str| variable_value(command, name, lookup);
        if is_project_command(words) {
            let active = words.contains(&"--active").then(|| value("VIRTUAL_ENV")).flatten();
            let named = active.or_else(|| value(PROJECT_VARIABLE));
            let path = absolute_path(folder, named.as_deref().unwrap_or(PROJECT_FOLDER));
            return if self.creates_project_environment(folder, &path) {
                TargetPython::Environment(path)
            } else {
                TargetPython::Other
            };
        }
        if let Some(python) = unknown_python_option(&command.words) {
            let of_path = head.filter(|_| is_python_on_path(python));
            return of_path.map_or(TargetPython::Other, |head| self.python_at(&format!("{head}/python")));
        }
        if let Some(arguments) = creation_arguments("uv", words) {
            return created_folder("uv", arguments, folder)
                .map_or(TargetPython::Other, |created| self.environment_in(&created));
        }
        // A version only selects among the Pythons that uv would find.
        let python = option_value(words, &[PYTHON_OPTION, "-p"]);
        let is_version = |python: &&str| python.starts_with(|first: char| first.is_ascii_digit());
        if let Some(python) = python.filter(|python| !is_version(python)) {
            return self.python_at(&absolute_path(folder, python));
        }
        if words.contains(&"--system") || value("UV_SYSTEM_PYTHON").is_some() {
            return TargetPython::Image;
        }
        let active = value("VIRTUAL_ENV").or_else(|| self.entered.clone());
        if let Some(active) = active {
            let version = python.and_then(parse_python_version);
            let is_other = |own: &String| version.as_ref().is_some_and(|version| version != own);
            let is_skipped = self.pythons.get(active.trim_end_matches('/')).is_some_and(is_other);
            return if is_skipped { TargetPython::Other } else { self.environment_in(&active) };
        }
        let mut above = folder_and_parents(folder).map(|folder| absolute_path(folder, PROJECT_FOLDER));
        if let Some(project) = above.find(|path| self.made.contains(path)) {
            return TargetPython::Environment(project);
        }
        let own_path = value("PATH");
        let head = own_path.as_deref().and_then(|path| path.split(':').next()).or(head);
        head.and_then(|head| head.strip_suffix("/bin"))
            .map_or(TargetPython::Other, |folder| self.environment_in(folder))
    }

    /// Returns the Python at the path of a program or of an environment.
    fn python_at(&self, path: &str) -> TargetPython {
        match path.rsplit_once('/') {
            _ if self.made.contains(path) => TargetPython::Environment(path.to_owned()),
            Some((folder, _)) if SYSTEM_PROGRAM_FOLDERS.contains(&folder) => TargetPython::Image,
            Some((folder, _)) => {
                folder.strip_suffix("/bin").map_or(TargetPython::Other, |root| self.environment_in(root))
            }
            None => TargetPython::Other,
        }
    }

    /// Returns the environment in a folder, if a command created it.
    fn environment_in(&self, folder: &str) -> TargetPython {
        let folder = folder.trim_end_matches('/');
        if self.made.contains(folder) { TargetPython::Environment(folder.to_owned()) } else { TargetPython::Other }
    }

    /// Whether a command created the environment in a folder.
    pub(super) fn contains(&self, folder: &str) -> bool {
        self.made.contains(folder)
    }

    /// Returns the Python version that a command installs for, if its environment was created with a named version.
    pub(super) fn target_python(
        &self,
        command: &Command,
        folder: &str,
        head: Option<&str>,
        lookup: &dyn Fn(&str) -> VariableLookup,
    ) -> Option<String> {
        if command.program() == Some("uv") {
            let words: Vec<&str> = command.words.iter().filter_map(Word::known).collect();
            let chosen = option_value(&words, &[PYTHON_OPTION, "-p"]);
            if let Some(version) = chosen.and_then(parse_python_version) {
                return Some(version);
            }
        }
        match self.target(command, folder, head, lookup) {
            TargetPython::Environment(environment) => self.pythons.get(&environment).cloned(),
            TargetPython::Other => self.of_pyenv.clone().filter(|_| head.is_some_and(|head| head.contains("pyenv"))),
            TargetPython::Image => None,
        }
    }

    /// Whether uv creates a new project environment in a folder. Another folder that no command created may come from
    /// the base image.
    fn creates_project_environment(&self, folder: &str, path: &str) -> bool {
        let usual = path.rsplit('/').next() == Some(PROJECT_FOLDER);
        let mut above = folder_and_parents(folder);
        let shares = self.sharing.contains(path)
            || usual && above.any(|folder| self.sharing.contains(&absolute_path(folder, PROJECT_FOLDER)));
        self.made.contains(path) || usual && !shares
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

/// The options of a tool installer whose value is a package that is installed with the tool.
const EXTRA_PACKAGE_OPTIONS: &[&str] = &["--with", "-w", "--preinstall"];

/// A program that installs or runs each tool in an environment of its own, and the folder of these environments.
struct ToolInstaller {
    /// The variables that set the folder, each with the path below its value.
    variables: &'static [(&'static str, &'static str)],
    /// The folder below the home directory of the user.
    default: &'static str,
}

/// The installed tools of uv.
const UV_TOOLS: ToolInstaller = ToolInstaller {
    variables: &[("UV_TOOL_DIR", ""), ("XDG_DATA_HOME", "/uv/tools")],
    default: ".local/share/uv/tools",
};
/// The tools that uv runs once.
const UV_CACHE: ToolInstaller =
    ToolInstaller { variables: &[("UV_CACHE_DIR", ""), ("XDG_CACHE_HOME", "/uv")], default: ".cache/uv" };
/// The tools of pipx.
const PIPX: ToolInstaller = ToolInstaller { variables: &[("PIPX_HOME", "/venvs")], default: ".local/share/pipx/venvs" };

/// Returns the installer of tools that a command runs.
fn tool_installer(command: &Command) -> Option<&'static ToolInstaller> {
    let word = |at: usize| command.words.get(at).and_then(Word::known).unwrap_or("");
    match command.program()? {
        "pipx" => Some(&PIPX),
        "uvx" => Some(&UV_CACHE),
        "uv" if word(1) == "tool" => Some(if word(2) == "run" { &UV_CACHE } else { &UV_TOOLS }),
        _ => None,
    }
}

/// Returns the folder of the environment into which a command installs a tool, with its `packages`; `None` if the
/// command installs none.
pub(super) fn tool_environment(
    command: &Command,
    packages: &[PackageInstall],
    lookup: &dyn Fn(&str) -> VariableLookup,
) -> Option<String> {
    let installer = tool_installer(command)?;
    let value = |name: &str| variable_value(command, name, lookup);
    let set = installer.variables.iter().find_map(|(name, below)| Some(format!("{}{below}", value(name)?)));
    let folder = set.unwrap_or_else(|| {
        let home = value("HOME").unwrap_or_else(|| "/root".to_owned());
        format!("{home}/{}", installer.default)
    });
    let words: Vec<&str> = command.words.iter().map(|word| word.known().unwrap_or("?")).collect();
    let tool = words.windows(2).find_map(|pair| {
        let [before, word] = pair else { return None };
        let is_sign = |letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter));
        let name = PackageName::python(word.split(is_sign).next()?);
        let is_named = packages.iter().any(|package| package.requirement.name == name);
        (is_named && !EXTRA_PACKAGE_OPTIONS.contains(before)).then_some(name)
    });
    Some(tool.map_or_else(|| folder.clone(), |name| format!("{folder}/{name}")))
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

/// Returns the folder of a new environment, from the arguments that follow the command; `None` if it is unknown.
fn created_folder(program: &str, arguments: &[&str], folder: &str) -> Option<String> {
    let path = environment_folder(arguments).or((program == "uv").then_some(PROJECT_FOLDER))?;
    (!path.contains('?')).then(|| absolute_path(folder, path))
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
    use crate::model::package::{PackageManager, PackageVersion};
    use crate::shell::script_commands;
    use crate::text::source::Span;

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
            let target = all.target(command, "/app", head, lookup);
            matches!(target, TargetPython::Environment(folder) if !all.includes_system_packages(&folder))
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
            // Another environment, or a version that is not named.
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
    fn each_tool_has_an_environment() {
        for (script, variables, expected) in [
            ("pipx install vllm", &[][..], Some("/root/.local/share/pipx/venvs/vllm")),
            ("pipx install --force vllm==0.6.0", &[("PIPX_HOME", "/opt/pipx")], Some("/opt/pipx/venvs/vllm")),
            ("python3 -m pipx install 'vllm[audio]'", &[], Some("/root/.local/share/pipx/venvs/vllm")),
            ("/root/.local/bin/uv tool install vllm", &[], Some("/root/.local/share/uv/tools/vllm")),
            ("uv tool install --with torch vllm", &[("HOME", "/home/me")], Some("/home/me/.local/share/uv/tools/vllm")),
            ("uv tool install vllm --with torch", &[("UV_TOOL_DIR", "/tools")], Some("/tools/vllm")),
            ("uv tool install $TOOL", &[], Some("/root/.local/share/uv/tools")),
            ("uvx --with torch vllm", &[], Some("/root/.cache/uv/vllm")),
            ("uvx --from vllm serve", &[("XDG_CACHE_HOME", "/cache")], Some("/cache/uv/vllm")),
            ("uv tool run vllm", &[], Some("/root/.cache/uv/vllm")),
            ("uv pip install tool", &[], None),
            ("pip install pipx", &[], None),
            ("python3 -m pip install pipx", &[], None),
        ] {
            let package = |name: &str| {
                PackageInstall::new(
                    PackageManager::Pip,
                    PackageName::python(name),
                    PackageVersion::any(),
                    Span::default(),
                )
            };
            let packages = ["torch", "vllm"].map(package);
            let folder = for_last_command(script, variables, |_, command, _, lookup| {
                tool_environment(command, &packages, lookup)
            });
            assert_eq!(folder.as_deref(), expected, "{script}");
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
            // uv installs no pip without `--seed`: that of the image runs.
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
