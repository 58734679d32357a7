//! Which Python interpreter the command line of an image leads to.

use crate::cuda::split_path;
use crate::layer::Placed;
use crate::layer::Tree;
use crate::oci::ImageConfig;

/// Where programs lie where nothing says it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Tools that choose the environment by themselves.
const CHOOSERS: [&str; 9] = ["conda", "mamba", "micromamba", "pixi", "poetry", "uv", "pdm", "pipenv", "hatch"];
/// The folder of programs that look for the version to start.
const SHIMS: &str = "/shims";
/// What parts the words of a line that a shell runs.
const BETWEEN: [char; 9] = [';', '&', '|', '(', ')', '{', '}', '"', '\''];

/// An interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// Where it is installed, without the first `/`: `opt/venv`.
    pub(super) prefix: String,
    /// `3.11`, where its name or a link to it says so.
    pub(super) version: Option<String>,
}

/// The interpreter that is named, or whose environment is, else the first on `PATH`; none where that is not known.
pub(super) fn interpreter(config: &ImageConfig, tree: &Tree) -> Option<Interpreter> {
    let mut search = config.variable("PATH").unwrap_or(PATH).to_owned();
    for word in words(config) {
        let (folder, name) = split_path(&word);
        let folder = folder_of(config, &word, folder);
        if CHOOSERS.contains(&name) || word.starts_with("PATH=") {
            return None;
        }
        match folder {
            Some(folder) if name == "activate" => {
                settings(tree, above(&folder))?;
                search = format!("{folder}:{search}");
            }
            Some(folder) if is_python(name) => return at(tree, &folder, name),
            Some(folder) => {
                let own = |folder: &str| settings(tree, above(folder)).is_some();
                let behind = || Some(split_path(&tree.resolve(&format!("{folder}/{name}"))?).0.to_owned());
                let Some(folder) =
                    Some(folder.clone()).filter(|one| own(one)).or_else(|| behind().filter(|one| own(one)))
                else {
                    continue;
                };
                return at(tree, &folder, "python3");
            }
            None if is_python(name) => return on_path(tree, &search, name),
            None => {}
        }
    }
    on_path(tree, &search, "python3").or_else(|| on_path(tree, &search, "python"))
}

/// The settings of the virtual environment at a path, if it is one.
pub(super) fn settings<'a>(tree: &'a Tree, prefix: &str) -> Option<Placed<'a>> {
    tree.get(&tree.resolve(&format!("{prefix}/pyvenv.cfg"))?)
}

/// The words of the command line, with those of a line that it hands to a shell.
fn words(config: &ImageConfig) -> Vec<String> {
    let parted = |word: &String| -> Vec<String> {
        let parts = word.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c));
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    config.entrypoint.iter().chain(&config.cmd).flat_map(parted).collect()
}

/// The folder of a word that is a path, from the root.
fn folder_of(config: &ImageConfig, word: &str, folder: &str) -> Option<String> {
    match word {
        _ if !word.contains('/') || word.contains("://") || word.starts_with('-') => None,
        _ if word.starts_with('/') => Some(folder.to_owned()),
        _ => Some(format!("{}/{folder}", config.working_dir.trim_end_matches('/'))),
    }
}

/// `python`, `python3` and `python3.11`.
fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

fn above(folder: &str) -> &str {
    split_path(folder.trim_end_matches('/')).0
}

/// The first of a name in the folders of `PATH`; none behind programs that choose among several.
fn on_path(tree: &Tree, search: &str, name: &str) -> Option<Interpreter> {
    let folders = search.split(':').filter(|folder| folder.starts_with('/')).map(|folder| folder.trim_end_matches('/'));
    let there = |folder: &str| {
        tree.resolve(&format!("{folder}/{name}")).is_some_and(|path| tree.get(&path).is_some())
            || tree.get(&format!("{folder}/{name}")).is_some()
    };
    let folder = folders.into_iter().find(|folder| folder.ends_with(SHIMS) || there(folder))?;
    if folder.ends_with(SHIMS) { None } else { at(tree, folder, name) }
}

/// The interpreter of a name in a folder. A virtual environment is where it is called; any other where its file lies.
fn at(tree: &Tree, folder: &str, name: &str) -> Option<Interpreter> {
    let behind = tree.resolve(&format!("{folder}/{name}"))?;
    let (home, real) = split_path(&behind);
    let version = real.strip_prefix("python").filter(|version| version.contains('.')).map(str::to_owned);
    let own = tree.resolve(folder).filter(|folder| settings(tree, above(folder)).is_some());
    let folder = own.as_deref().unwrap_or(home);
    let prefix = folder.trim_end_matches('/').strip_suffix("/bin")?;
    Some(Interpreter { prefix: prefix.trim_start_matches('/').to_owned(), version })
}
