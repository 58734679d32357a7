//! Known base images of the Dockerfiles among the inputs: from the lock file, the settings and, with `--pull`,
//! registries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::pull::BaseImageRequests;
use crate::cli::text_file::{MAX_TEXT_BYTES, path_in_repository, read_text};
use crate::cli::{fleet_file, pull, settings};
use crate::describe::ImageDescription;
use crate::extract;
use crate::extract::{KnownBase, KnownBases};
use crate::knowledge::toml_reader::Problems;
use crate::registry::lock::BaseImageLock;
use crate::registry::{Puller, lock};
use crate::text::source::{SourceText, Sources};

/// Adds the known base images to every Dockerfile input: from files at or above `start`, and from registries if
/// `pull` is set.
pub(crate) fn add_known_bases(
    inputs: &mut CommandInputs,
    start: Option<&Path>,
    pull: Option<(&BaseImageRequests, &Puller)>,
    build: &InputOptions<'_>,
    sources: &mut Sources,
) {
    let start = start.unwrap_or(Path::new("."));
    let mut bases = KnownBases::default();
    add_locked_bases(inputs, start, &mut bases, sources);
    let chain: Vec<(PathBuf, SourceText, bool)> = {
        let loaded = settings::lock_settings(build.settings);
        let found = loaded.run_chain().into_iter();
        found.flat_map(|run| run.chain.iter().map(|(path, text, _)| (path.clone(), text.clone(), run.own))).collect()
    };
    for (path, text, own) in &chain {
        add_described_bases(inputs, path, text, *own, &mut bases, sources);
    }
    if let Some((requests, puller)) = pull {
        pull::add_pulled_bases(requests, puller, build, &mut bases, sources);
    }
    inputs.gather_build_contexts(&Arc::new(bases), build, sources);
}

/// A lock file with its text, or the reason why it cannot be read.
pub(crate) type LockFileResult = Result<(SourceText, BaseImageLock), LockFileError>;

/// Reason why a lock file cannot be read.
pub(crate) enum LockFileError {
    /// The file cannot be opened or read.
    Unreadable(String),
    /// The file contains errors.
    Invalid(SourceText, Box<Problems>),
}

/// Finds the lock file in the folder of `start` or above it, and reads it.
pub(crate) fn find_lock_file(start: &Path) -> Option<(PathBuf, LockFileResult)> {
    let path = fleet_file::find_file_upwards(start, lock::LOCK_FILE_NAME)?;
    let read = read_text_in_repository(&path).map_err(LockFileError::Unreadable).and_then(|text| {
        match BaseImageLock::parse(&text) {
            Ok(lock) => Ok((text, lock)),
            Err(errors) => Err(LockFileError::Invalid(text, errors)),
        }
    });
    Some((path, read))
}

/// Adds the base images of the lock file, or the errors in that file.
fn add_locked_bases(inputs: &mut CommandInputs, start: &Path, bases: &mut KnownBases, sources: &mut Sources) {
    let Some((path, read)) = find_lock_file(start) else { return };
    match read {
        Ok((text, lock)) => {
            let name = text.name().to_owned();
            let source = sources.add(text);
            for entry in &lock.entries {
                let seen = extract::observe_lock_entry(entry, source);
                let origin = format!("{} as locked in {name}, configuration {}", entry.digest, entry.config);
                let platform = entry.platform.parse().ok();
                let base = KnownBase { platform, seen, origin, layers: Vec::new() };
                bases.add_locked(&entry.reference.value, &entry.digest, base);
            }
        }
        Err(LockFileError::Unreadable(error)) => inputs.add_error(&path.display().to_string(), error),
        Err(LockFileError::Invalid(text, errors)) => inputs.add_toml_problems(text, &errors, sources),
    }
}

/// Adds base images from the image descriptions that a settings file names; repository settings may name only files
/// of that repository.
fn add_described_bases(
    inputs: &mut CommandInputs,
    path: &Path,
    text: &SourceText,
    own: bool,
    bases: &mut KnownBases,
    sources: &mut Sources,
) {
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut broken: Vec<(SourceText, Box<Problems>)> = Vec::new();
    let mut load = |written: &str| {
        let path = folder.join(written);
        let path = if own { path } else { settings::path_in_repository(&path, &folder)? };
        let shown = path.display().to_string();
        let text = SourceText::new(shown.as_str(), read_text(&path, MAX_TEXT_BYTES)?);
        let description = ImageDescription::read(&text).map_err(|errors| {
            broken.push((text.clone(), errors));
            format!("`{shown}` is not an image description")
        })?;
        let seen = extract::observe_description(&description, Some(sources.add(text)), None);
        Ok(KnownBase { platform: None, seen, origin: format!("described by {shown}"), layers: Vec::new() })
    };
    match lock::read_base_mappings(text, &mut load) {
        Ok(mappings) => bases.add_mapped(mappings),
        Err(errors) => inputs.add_toml_problems(text.clone(), &errors, sources),
    }
    for (text, errors) in broken {
        inputs.add_toml_problems(text, &errors, sources);
    }
}

/// Reads the text of a file in the repository, following symbolic links.
fn read_text_in_repository(path: &Path) -> Result<SourceText, String> {
    let real = path_in_repository(path, path.parent().unwrap_or(Path::new("")))?;
    let text = read_text(&real, MAX_TEXT_BYTES).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(SourceText::new(path.display().to_string(), text))
}
