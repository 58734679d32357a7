//! The Python interpreter that the command line of an image starts.

use crate::cuda::split_path;
use crate::layer::{ImageEntry, MergedLayers};
use crate::registry::ImageConfig;

/// Value of PATH in an image that sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Tools that choose the Python environment by themselves.
const ENVIRONMENT_TOOLS: [&str; 9] = ["conda", "mamba", "micromamba", "pixi", "poetry", "uv", "pdm", "pipenv", "hatch"];
/// Folder of shims, which choose the Python version when they are run.
const SHIMS_FOLDER: &str = "/shims";
/// Characters that separate the words of a line that a shell runs.
const SHELL_SEPARATORS: [char; 9] = [';', '&', '|', '(', ')', '{', '}', '"', '\''];

/// A Python interpreter in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// Where it is installed, without the first `/`: `opt/venv`.
    pub(super) prefix: String,
    /// `3.11`, where its name or a link to it says so.
    pub(super) version: Option<String>,
}

/// Returns the interpreter that the command line names, or of the environment that it names, else the first on
/// `PATH`; `None` if unknown.
pub(super) fn find_interpreter(config: &ImageConfig, tree: &MergedLayers) -> Option<Interpreter> {
    let mut search = config.variable("PATH").unwrap_or(DEFAULT_PATH).to_owned();
    for word in command_words(config) {
        let (folder, name) = split_path(&word);
        let folder = word_folder(config, &word, folder);
        if ENVIRONMENT_TOOLS.contains(&name) || word.starts_with("PATH=") {
            return None;
        }
        match folder {
            Some(folder) if name == "activate" => {
                venv_config(tree, parent_folder(&folder))?;
                search = format!("{folder}:{search}");
            }
            Some(folder) if is_python(name) => return interpreter_at(tree, &folder, name),
            Some(folder) => {
                let own = |folder: &str| venv_config(tree, parent_folder(folder)).is_some();
                let behind = || Some(split_path(&tree.resolve(&format!("{folder}/{name}"))?).0.to_owned());
                let Some(folder) =
                    Some(folder.clone()).filter(|one| own(one)).or_else(|| behind().filter(|one| own(one)))
                else {
                    continue;
                };
                return interpreter_at(tree, &folder, "python3");
            }
            None if is_python(name) => return find_on_path(tree, &search, name),
            None => {}
        }
    }
    find_on_path(tree, &search, "python3").or_else(|| find_on_path(tree, &search, "python"))
}

/// Returns the `pyvenv.cfg` of the virtual environment at a path, if it is one.
pub(super) fn venv_config<'a>(tree: &'a MergedLayers, prefix: &str) -> Option<ImageEntry<'a>> {
    tree.get(&tree.resolve(&format!("{prefix}/pyvenv.cfg"))?)
}

/// Returns the words of the command line, including those of a line that it passes to a shell.
fn command_words(config: &ImageConfig) -> Vec<String> {
    let parted = |word: &String| -> Vec<String> {
        let parts = word.split(|c: char| c.is_whitespace() || SHELL_SEPARATORS.contains(&c));
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    config.entrypoint.iter().chain(&config.cmd).flat_map(parted).collect()
}

/// Returns the absolute folder of a word that is a path.
fn word_folder(config: &ImageConfig, word: &str, folder: &str) -> Option<String> {
    match word {
        _ if !word.contains('/') || word.contains("://") || word.starts_with('-') => None,
        _ if word.starts_with('/') => Some(folder.to_owned()),
        _ => Some(format!("{}/{folder}", config.working_dir.trim_end_matches('/'))),
    }
}

/// Whether a program name is that of Python: `python`, `python3` and `python3.11`.
fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// Returns the parent of a folder.
fn parent_folder(folder: &str) -> &str {
    split_path(folder.trim_end_matches('/')).0
}

/// Returns the first interpreter of a name in the folders of `PATH`; `None` if shims come first.
fn find_on_path(tree: &MergedLayers, search: &str, name: &str) -> Option<Interpreter> {
    let folders = search.split(':').filter(|folder| folder.starts_with('/')).map(|folder| folder.trim_end_matches('/'));
    let there = |folder: &str| {
        tree.resolve(&format!("{folder}/{name}")).is_some_and(|path| tree.get(&path).is_some())
            || tree.get(&format!("{folder}/{name}")).is_some()
    };
    let folder = folders.into_iter().find(|folder| folder.ends_with(SHIMS_FOLDER) || there(folder))?;
    if folder.ends_with(SHIMS_FOLDER) { None } else { interpreter_at(tree, folder, name) }
}

/// Returns the interpreter of a name in a folder. A virtual environment is located by its folder; any other by its
/// resolved file.
fn interpreter_at(tree: &MergedLayers, folder: &str, name: &str) -> Option<Interpreter> {
    let behind = tree.resolve(&format!("{folder}/{name}"))?;
    let (home, real) = split_path(&behind);
    let version = real.strip_prefix("python").filter(|version| version.contains('.')).map(str::to_owned);
    let own = tree.resolve(folder).filter(|folder| venv_config(tree, parent_folder(folder)).is_some());
    let folder = own.as_deref().unwrap_or(home);
    let prefix = folder.trim_end_matches('/').strip_suffix("/bin")?;
    Some(Interpreter { prefix: prefix.trim_start_matches('/').to_owned(), version })
}
