//! What is known of base images: the lock file, the settings, and with `--pull` their registries.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::builds::inside;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::settings;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_text;
use crate::describe::Description;
use crate::extract;
use crate::extract::Bases;
use crate::extract::KnownBase;
use crate::lock;
use crate::lock::Lock;
use crate::oci::Puller;
use crate::source::SourceText;
use crate::source::Sources;
use crate::toml_reader::Problems;

/// Puts what is known of base images under every Dockerfile: from files in the folder of `start` or above it, and
/// from registries where `pull` names those to ask for; with the files that it asks for then.
pub(crate) fn add(
    inputs: &mut Inputs,
    start: Option<&Path>,
    pull: Option<(&Wanted, &Puller)>,
    build: &Build<'_>,
    sources: &mut Sources,
) {
    let start = start.unwrap_or(Path::new("."));
    let mut bases = Bases::default();
    locked(inputs, start, &mut bases, sources);
    let chain: Vec<(PathBuf, SourceText, bool)> = {
        let loaded = settings::lock(build.settings);
        let found = loaded.of_run().into_iter();
        found.flat_map(|run| run.chain.iter().map(|(path, text, _)| (path.clone(), text.clone(), run.own))).collect()
    };
    for (path, text, own) in &chain {
        mapped(inputs, path, text, *own, &mut bases, sources);
    }
    if let Some((wanted, puller)) = pull {
        pull::add(wanted, puller, build, &mut bases, sources);
    }
    inputs.build_on(&Arc::new(bases), build, sources);
}

/// A lock file with its text, or why it cannot be read.
pub(crate) type Locked = Result<(SourceText, Lock), NotRead>;

/// Why a lock file cannot be read.
pub(crate) enum NotRead {
    /// It cannot be opened.
    Closed(String),
    /// It contains errors.
    Wrong(SourceText, Box<Problems>),
}

/// Reads the lock file that is found from `start` upwards, where there is one.
pub(crate) fn lock_from(start: &Path) -> Option<(PathBuf, Locked)> {
    let path = fleet::upwards(start, lock::FILE)?;
    let read = text_of(&path).map_err(NotRead::Closed).and_then(|text| match Lock::read(&text) {
        Ok(lock) => Ok((text, lock)),
        Err(errors) => Err(NotRead::Wrong(text, errors)),
    });
    Some((path, read))
}

fn locked(inputs: &mut Inputs, start: &Path, bases: &mut Bases, sources: &mut Sources) {
    let Some((path, read)) = lock_from(start) else { return };
    match read {
        Ok((text, lock)) => {
            let name = text.name().to_owned();
            let source = sources.add(text);
            for entry in &lock.entries {
                let seen = extract::of_locked(entry, source);
                let told = format!("{} as locked in {name}, configuration {}", entry.digest, entry.config);
                let platform = entry.platform.parse().ok();
                let base = KnownBase { platform, seen, told, layers: Vec::new() };
                bases.locked(&entry.reference.value, &entry.digest, base);
            }
        }
        Err(NotRead::Closed(error)) => inputs.error(&path.display().to_string(), error),
        Err(NotRead::Wrong(text, errors)) => inputs.problems(text, &errors, sources),
    }
}

/// Reads which image descriptions a settings file names, and those; one of a repository names its own alone.
fn mapped(inputs: &mut Inputs, path: &Path, text: &SourceText, own: bool, bases: &mut Bases, sources: &mut Sources) {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut broken: Vec<(SourceText, Box<Problems>)> = Vec::new();
    let mut load = |written: &str| {
        let path = folder.join(written);
        let path = if own { path } else { settings::within(&path, &folder)? };
        let shown = path.display().to_string();
        let text = SourceText::new(shown.as_str(), read_text(&path, MAX_TEXT)?);
        let description = Description::read(&text).map_err(|errors| {
            broken.push((text.clone(), errors));
            format!("`{shown}` is not an image description")
        })?;
        let seen = extract::of_description(&description, Some(sources.add(text)), None);
        Ok(KnownBase { platform: None, seen, told: format!("described by {shown}"), layers: Vec::new() })
    };
    match lock::mappings(text, &mut load) {
        Ok(mappings) => bases.mapped(mappings),
        Err(errors) => inputs.problems(text.clone(), &errors, sources),
    }
    for (text, errors) in broken {
        inputs.problems(text, &errors, sources);
    }
}

/// The text of a file that lies in the repository, links followed.
fn text_of(path: &Path) -> Result<SourceText, String> {
    let real = inside(path, path.parent().unwrap_or(Path::new("")))?;
    let text = read_text(&real, MAX_TEXT).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(SourceText::new(path.display().to_string(), text))
}
