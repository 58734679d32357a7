//! Lists of packages and scripts among the inputs: the Dockerfiles that read them are checked in their place.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::gather::ITSELF;
use crate::cli::gather::gather;
use crate::cli::inputs::Build;
use crate::cli::parallel;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_text;
use crate::cli::walk::Found;
use crate::cli::walk::found;
use crate::cli::walk::is_description;
use crate::cli::walk::is_dockerfile;
use crate::context::Files;
use crate::context::Missing;
use crate::dockerfile::Dockerfile;
use crate::dockerfile::EvaluateOptions;
use crate::extract::Bases;
use crate::source::Sources;

/// No repository has more Dockerfiles that are looked through.
const MOST: usize = 4096;

/// A Dockerfile that reads files among the inputs.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// The build context in which it reads them, where that is not its own folder.
    pub(super) context: Option<PathBuf>,
    /// The files that it stands for, as they were named.
    pub(super) stands_for: Vec<String>,
}

impl Reader {
    /// What the report says of it.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let context = self.context.as_ref().map_or_else(String::new, |context| {
            let shown = if context.as_os_str().is_empty() { Path::new(".") } else { context };
            format!(" in the build context {}", shown.display())
        });
        self.stands_for.iter().map(move |file| format!("checked in place of {file}, which it reads{context}"))
    }
}

/// What is left to check, and the files that no Dockerfile reads.
pub(super) fn instead(files: Vec<Found>, build: &Build<'_>) -> (Vec<Found>, Vec<String>) {
    let mut left = Vec::new();
    let mut lists: BTreeMap<PathBuf, Vec<(String, PathBuf)>> = BTreeMap::new();
    for file in files {
        match file {
            Found::File(path) if is_list(&path) => {
                let Ok(real) = path.canonicalize() else { continue };
                lists.entry(root(&real)).or_default().push((path.display().to_string(), real));
            }
            other => left.push(other),
        }
    }
    let mut unread = Vec::new();
    for (root, wanted) in lists {
        let readers = readers(&root, &wanted, build);
        let read = |name: &String| readers.iter().any(|reader| reader.stands_for.contains(name));
        unread.extend(wanted.iter().map(|(name, _)| name.clone()).filter(|name| !read(name)));
        for reader in readers {
            let same = |one: &Found| match one {
                Found::File(path) => path.canonicalize().ok() == reader.path.canonicalize().ok(),
                _ => false,
            };
            match left.iter_mut().find(|one| same(one)) {
                Some(Found::File(path)) => {
                    let path = std::mem::take(path);
                    left.retain(|one| !matches!(one, Found::File(path) if path.as_os_str().is_empty()));
                    left.push(Found::Reader(Reader { path, ..reader }));
                }
                _ => left.push(Found::Reader(reader)),
            }
        }
    }
    (left, unread)
}

/// Whether a file lists packages, or is a script, by its name; a Dockerfile by another name is none.
pub(super) fn is_list(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if is_dockerfile(&name) || is_description(&name) || !path.is_file() {
        return false;
    }
    let exact = ["pyproject.toml", "pixi.toml", "uv.toml", "pipfile", "pip.conf", "setup.py", "setup.cfg"];
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    // `pylock.toml`, and `pylock.gpu.toml` for one of several.
    let lock = name.strip_prefix("pylock.").is_some_and(|rest| rest.ends_with("toml") && rest.matches('.').count() < 2);
    match ending {
        _ if lock || exact.contains(&name.as_str()) => true,
        "lock" | "yml" | "yaml" | "sh" => true,
        "txt" | "in" => read_text(path, MAX_TEXT).is_ok_and(|text| Dockerfile::parse(&text).stages.is_empty()),
        _ => false,
    }
}

/// Whether the name alone says that a file lists packages; any other text is no input.
pub(super) fn is_named_list(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let own = name.rsplit_once('/').map_or(name.as_str(), |(_, own)| own);
    !matches!(ending, "txt" | "in")
        || ["requirements", "constraints"].iter().any(|word| name.contains(word))
        || ["dependencies", "packages", "deps", "reqs"].iter().any(|word| own.contains(word))
}

/// The root of the repository that a file lies in; its own folder where there is none.
fn root(real: &Path) -> PathBuf {
    let folder = real.parent().unwrap_or(real);
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder).to_path_buf()
}

/// The Dockerfiles below a root that read one of the files.
fn readers(root: &Path, wanted: &[(String, PathBuf)], build: &Build<'_>) -> Vec<Reader> {
    let dockerfile = |found: Found| match found {
        Found::File(path) => {
            path.file_name().is_some_and(|name| is_dockerfile(&name.to_string_lossy())).then_some(path)
        }
        _ => None,
    };
    let dockerfiles: Vec<PathBuf> =
        found(root, &build.choice()).into_iter().filter_map(dockerfile).take(MOST).collect();
    let readers = parallel::map(build.jobs, &dockerfiles, |path| reader(path, root, wanted, build));
    readers.into_iter().flatten().collect()
}

fn reader(path: &Path, root: &Path, wanted: &[(String, PathBuf)], build: &Build<'_>) -> Option<Reader> {
    let text = read_text(path, MAX_TEXT).ok()?;
    let dockerfile = Dockerfile::parse(&text);
    let mut targets: Vec<Option<String>> = vec![build.args.target.clone()];
    if build.set.all_targets {
        targets = dockerfile.leaves().iter().map(|stage| Some(stage.to_string())).collect();
    }
    let read = |context: &Path| -> Vec<Files> {
        let one = |target: &Option<String>| {
            let options = EvaluateOptions {
                build_args: build.args.build_args.iter().cloned().collect(),
                target: target.clone(),
                platforms: build.set.platforms.clone(),
                ..EvaluateOptions::new(build.knowledge)
            };
            let name = path.display().to_string();
            gather((&name, ITSELF), &dockerfile, &options, Some(context), &Bases::default(), &mut Sources::default()).0
        };
        targets.iter().map(one).collect()
    };
    let stands_for = |context: &Path, files: &[Files]| -> Vec<String> {
        let reads = |real: &PathBuf| {
            let asked = files.iter().flat_map(Files::asked).filter(|(_, file)| file.is_ok());
            asked.into_iter().any(|(own, _)| context.join(own).canonicalize().is_ok_and(|own| own == *real))
        };
        wanted.iter().filter(|(_, real)| reads(real)).map(|(name, _)| name.clone()).collect()
    };
    let own = path.parent().unwrap_or(root);
    let first = build.args.context.as_deref().unwrap_or(own);
    let files = read(first);
    let found = stands_for(first, &files);
    if !found.is_empty() {
        return Some(Reader { path: seen(path), context: None, stands_for: found });
    }
    // A build may be started in a folder above its Dockerfile.
    let missing = |context: &&Path| {
        let mut asked = files.iter().flat_map(Files::asked).filter(|(_, file)| **file == Err(Missing::NotThere));
        asked.any(|(own, _)| context.join(own).is_file())
    };
    let above = own.ancestors().skip(1).take_while(|above| above.starts_with(root));
    let mut above = above.filter(|_| build.args.context.is_none()).filter(missing);
    above.find_map(|context| {
        let found = stands_for(context, &read(context));
        (!found.is_empty()).then(|| Reader { path: seen(path), context: Some(seen(context)), stands_for: found })
    })
}

/// A path as seen from the current folder.
fn seen(path: &Path) -> PathBuf {
    let here = env::current_dir().and_then(|here| here.canonicalize()).ok();
    here.and_then(|here| path.strip_prefix(here).map(Path::to_path_buf).ok()).unwrap_or_else(|| path.to_path_buf())
}
