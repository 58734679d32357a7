//! The Python environment of a container's program, among the several that an image may have.

use std::collections::BTreeMap;

use crate::build::chooses_python_environment;
use crate::cuda::split_path;
use crate::layer::installed::{FileEvidence, PackageDirectory, RecordLocation, locate_record};
use crate::layer::{EntryKind, ImageEntry, MergedLayers};
use crate::registry::{ImageConfig, PulledImage};

/// The Python interpreter that the image starts, if known, with its search path.
pub(super) struct EntrypointPython {
    interpreter: Option<Interpreter>,
    /// Whether the interpreter belongs to a virtual environment.
    of_its_own: bool,
    /// Whether the virtual environment includes the system site-packages.
    open: bool,
    /// Folders that `PYTHONPATH` adds.
    added: Vec<String>,
    /// Folders that path files in site-packages add, each with the site-packages folders of those files.
    by_file: BTreeMap<String, Vec<PackageDirectory>>,
}

impl EntrypointPython {
    /// Finds the interpreter that the command line of the image leads to.
    pub(super) fn from_image(image: &PulledImage, tree: &MergedLayers) -> Self {
        let interpreter = find_interpreter(&image.config, tree);
        let settings = interpreter.as_ref().and_then(|own| venv_config(tree, &own.prefix));
        let open = settings.as_ref().is_some_and(|placed| match placed.kind {
            EntryKind::Read(list) => {
                list.iter().any(|one| matches!(one, FileEvidence::Environment { system: true, .. }))
            }
            _ => false,
        });
        let added = image.config.variable("PYTHONPATH").unwrap_or_default().split(':');
        let added = added.map(|folder| folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty());
        Self {
            of_its_own: settings.is_some(),
            interpreter,
            open,
            added: added.collect(),
            by_file: folders_of_path_files(tree.entries()),
        }
    }

    /// Returns the position of a folder in the search path of the interpreter; `None` where it is not searched or
    /// unknown.
    fn search_rank(&self, site: &PackageDirectory) -> Option<(u8, bool)> {
        let added = self.by_file.get(&site.folder).into_iter().flatten();
        let own = self.rank_without_path_files(site).map(|rank| (rank, false));
        own.into_iter().chain(added.filter_map(|by| Some((self.rank_without_path_files(by)?, true)))).min()
    }

    /// Returns the position of a folder in the search path, without the folders that path files add.
    fn rank_without_path_files(&self, site: &PackageDirectory) -> Option<u8> {
        if self.added.contains(&site.folder) {
            return Some(0);
        }
        let Interpreter { prefix: own, version } = self.interpreter.as_ref()?;
        if site.python.as_ref().zip(version.as_ref()).is_some_and(|(of, own)| of != own) {
            return None;
        }
        let own = own.as_str();
        let of_system = || {
            let distribution = site.folder.ends_with("dist-packages");
            match site.prefix.as_str() {
                prefix if prefix.ends_with("/.local") => Some(2),
                "usr/local" if distribution || own == "usr/local" || own == "usr" => Some(3),
                "usr" if own == "usr" || self.open => Some(4),
                _ => None,
            }
        };
        if site.prefix == own && !matches!(own, "usr" | "usr/local") {
            return Some(1);
        }
        let system = !self.of_its_own && matches!(own, "usr" | "usr/local" | "");
        if system || self.open { of_system() } else { None }
    }

    /// Returns those of several site-packages folders that the interpreter searches first; all of them where it
    /// searches none.
    pub(super) fn first_searched_sites<'a>(
        &self,
        sites: impl IntoIterator<Item = &'a PackageDirectory>,
    ) -> Vec<&'a PackageDirectory> {
        let mut by_rank: BTreeMap<(u8, bool), Vec<&PackageDirectory>> = BTreeMap::new();
        for site in sites {
            by_rank.entry(self.search_rank(site).unwrap_or((u8::MAX, true))).or_default().push(site);
        }
        by_rank.into_values().next().unwrap_or_default()
    }
}

/// Returns the folders that path files add, each with the site-packages folders of those files.
fn folders_of_path_files<'a>(entries: impl Iterator<Item = ImageEntry<'a>>) -> BTreeMap<String, Vec<PackageDirectory>> {
    let mut found: BTreeMap<String, Vec<PackageDirectory>> = BTreeMap::new();
    for placed in entries {
        let EntryKind::Read(list) = placed.kind else { continue };
        for one in list {
            if let FileEvidence::Folders(folders) = one
                && let Some(RecordLocation::Site(site)) = locate_record(placed.path)
            {
                for folder in folders {
                    found.entry(folder.clone()).or_default().push(site.clone());
                }
            }
        }
    }
    found
}

/// Value of PATH in an image that sets none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
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
        if chooses_python_environment(name) || word.starts_with("PATH=") {
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
