//! `imagelint lock`: writes the lock file of base images from their registries, or checks whether it is up to date.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::cli::args::{BuildTargetArgs, LockArgs};
use crate::cli::base_images::LockFileError;
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::Exit;
use crate::cli::registry_access::RegistryHosts;
use crate::cli::settings::LoadedSettings;
use crate::cli::text_file::{MAX_TEXT_BYTES, read_text};
use crate::cli::{base_images, fleet_file, parallel, pull, registry_access, settings, streams};
use crate::knowledge::Knowledge;
use crate::model::reference::ImageReference;
use crate::registry::lock::{BaseImageLock, LockedBaseImage};
use crate::registry::{PulledImage, lock};
use crate::text::source::{SourceText, Sources};

/// Platforms that are locked when none is specified: those that GPU images are built for.
const DEFAULT_PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];

/// A base image with its pulled manifest and configuration for each platform, or the error.
type BaseImageResult = (ImageReference, Result<Vec<PulledImage>, String>);

/// Runs `imagelint lock`.
pub(crate) fn run(options: &LockArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut paths = options.paths.clone();
    if paths.is_empty() && options.bake.is_empty() && options.compose.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let mut sources = Sources::default();
    let files = paths.iter().chain(&options.bake).chain(&options.compose);
    let start = files.map(PathBuf::as_path).find(|path| path.exists());
    let settings = Mutex::new(LoadedSettings::new(&options.settings.to_config_args(), start, &mut sources)?);
    let inputs = read_inputs(options, &paths, &settings, knowledge, &mut sources);
    if let Some(broken) = settings::lock_settings(&settings).broken.take() {
        return Err(CommandError::Message(broken));
    }
    for error in &inputs.errors {
        writeln!(streams::stderr(), "error: cannot read {}: {}", error.input, error.message)?;
    }
    let start = start.unwrap_or(Path::new("."));
    let (path, before) = lock_file_target(options, start)?;
    let platforms: Vec<String> = if options.platforms.is_empty() {
        DEFAULT_PLATFORMS.iter().map(|platform| (*platform).to_owned()).collect()
    } else {
        options.platforms.clone()
    };
    let requests = pull::base_image_requests(&inputs, &platforms);
    if requests.is_empty() && inputs.errors.is_empty() {
        writeln!(streams::stderr(), "nothing to lock: no Dockerfile names a base image")?;
        return Ok(Exit::Nothing);
    }
    let refused = |registry: &str| settings::lock_settings(&settings).untrusted_registry_message(registry, &sources);
    let puller = registry_access::create_puller(&options.access, &RegistryHosts::new(), !options.build.no_cache)?;
    let read = pull::pull_base_images(&requests, &puller, parallel::default_jobs(), &refused);
    let exit = if options.check { check_lock(&before, &read)? } else { write_lock_file(&path, &before, &read)? };
    Ok(if inputs.errors.is_empty() { exit } else { Exit::Broken })
}

/// Reads the Dockerfiles, bake files and compose files whose base images are locked.
fn read_inputs(
    options: &LockArgs,
    paths: &[PathBuf],
    settings: &Mutex<LoadedSettings>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> CommandInputs {
    let set = BuildTargetArgs { platforms: Vec::new(), all_targets: options.all_targets };
    let jobs = parallel::default_jobs();
    let build = InputOptions { args: &options.build, set: &set, stdin_filename: None, jobs, settings, knowledge };
    let mut inputs = CommandInputs::read(paths, &build, sources);
    inputs.read_bake_files(&options.bake, &build, sources);
    inputs.read_compose_files(&options.compose, &build, Vec::new(), sources);
    inputs
}

/// Returns path and entries of the lock file; the default path is next to the fleet file, else at the repository
/// root.
fn lock_file_target(options: &LockArgs, start: &Path) -> Result<(PathBuf, BaseImageLock), CommandError> {
    if let Some(path) = &options.output {
        return Ok((path.clone(), if path.exists() { read_lock_file(path)? } else { BaseImageLock::default() }));
    }
    if let Some((path, read)) = base_images::find_lock_file(start) {
        return match read {
            Ok((_, lock)) => Ok((path, lock)),
            // What cannot be read is written anew; a check needs it.
            Err(_) if !options.check && !is_symlink(&path) => Ok((path, BaseImageLock::default())),
            Err(error) => {
                let why = match error {
                    LockFileError::Unreadable(error) => error,
                    LockFileError::Invalid(_, errors) => render_diagnostic(errors.as_ref()),
                };
                Err(CommandError::Message(format!("error: cannot read {}: {why}", path.display())))
            }
        };
    }
    let fleet_folder = fleet_file::find_file_upwards(start, fleet_file::FLEET_FILE_NAME)
        .and_then(|fleet| Some(fleet.parent()?.to_path_buf()));
    let folder = fleet_folder.or_else(|| repository_root(start)).unwrap_or_default();
    let path = folder.join(lock::LOCK_FILE_NAME);
    if is_symlink(&path) {
        return Err(CommandError::Message(format!(
            "error: {} is a symbolic link and is not overwritten",
            path.display()
        )));
    }
    Ok((path, BaseImageLock::default()))
}

/// Reads an existing lock file.
fn read_lock_file(path: &Path) -> Result<BaseImageLock, CommandError> {
    let text = read_text(path, MAX_TEXT_BYTES)
        .map_err(|error| CommandError::Message(format!("error: cannot read {}: {error}", path.display())))?;
    let text = SourceText::new(path.display().to_string(), text);
    BaseImageLock::parse(&text).map_err(|errors| CommandError::Message(render_diagnostic(errors.as_ref())))
}

/// Whether a path is a symbolic link.
fn is_symlink(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Returns the nearest folder with `.git` at or above `start`, else the folder of `start` itself.
fn repository_root(start: &Path) -> Option<PathBuf> {
    let start = start.canonicalize().ok()?;
    let own = if start.is_dir() { start.as_path() } else { start.parent()? };
    Some(own.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(own).to_path_buf())
}

/// Prints the base images whose digest changed, that are not locked, or that could not be read.
fn check_lock(before: &BaseImageLock, read: &[BaseImageResult]) -> Result<Exit, CommandError> {
    let mut out = streams::stdout();
    let (mut exit, mut count) = (Exit::Clean, 0);
    for (reference, images) in read {
        let images = match images {
            Ok(images) => images,
            Err(error) => {
                writeln!(streams::stderr(), "error: cannot read base image {reference}: {error}")?;
                exit = Exit::Broken;
                continue;
            }
        };
        for image in images {
            let Some(now) = lock_entry(reference, image)? else { continue };
            let was = before.entries_for(&now.reference.value).find(|entry| entry.platform == now.platform).cloned();
            let change = match was {
                Some(was) if was.digest == now.digest => {
                    count += 1;
                    continue;
                }
                Some(was) => format!("changed from {} to {}", was.digest, now.digest),
                None => "is not locked".to_owned(),
            };
            writeln!(out, "{} for {} {change}", now.reference.value, now.platform)?;
            exit = if exit == Exit::Broken { exit } else { Exit::Found };
        }
    }
    if exit == Exit::Clean {
        writeln!(out, "up to date: {count} locked")?;
    }
    Ok(exit)
}

/// Returns the lock entry of an image, and warns if the image declares no platform.
fn lock_entry(reference: &ImageReference, image: &PulledImage) -> Result<Option<LockedBaseImage>, CommandError> {
    let entry = lock::locked_base_image(reference, image);
    if entry.is_none() {
        writeln!(streams::stderr(), "warning: base image {reference} does not declare its platform and is not locked")?;
    }
    Ok(entry)
}

/// Writes the lock file; a base image that could not be read keeps its previous entry.
fn write_lock_file(path: &Path, before: &BaseImageLock, read: &[BaseImageResult]) -> Result<Exit, CommandError> {
    let (mut lock, mut exit) = (BaseImageLock::default(), Exit::Clean);
    for (reference, images) in read {
        match images {
            Ok(images) => {
                for image in images {
                    lock_entry(reference, image)?.into_iter().for_each(|entry| lock.insert(entry));
                }
            }
            Err(error) => {
                let kept: Vec<_> = before.entries_for(&lock::reference_with_default_tag(reference)).cloned().collect();
                let still = if kept.is_empty() { "" } else { "; its locked entry is kept" };
                writeln!(streams::stderr(), "error: cannot read base image {reference}{still}: {error}")?;
                for entry in kept {
                    lock.insert(entry);
                }
                exit = Exit::Broken;
            }
        }
    }
    if exit == Exit::Broken && lock.entries.is_empty() {
        return Ok(exit);
    }
    fs::write(path, lock.to_toml())
        .map_err(|error| CommandError::Message(format!("error: cannot write {}: {error}", path.display())))?;
    writeln!(streams::stdout(), "{}: {} locked", path.display(), lock.entries.len())?;
    Ok(exit)
}
