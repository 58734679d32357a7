//! `imagelint lock`: writes down what registries say of base images, or says whether it still holds.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::access::Registries;
use crate::cli::args::BuildSet;
use crate::cli::args::LockArgs;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::known::NotRead;
use crate::cli::parallel;
use crate::cli::pull;
use crate::cli::render;
use crate::cli::settings;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_text;
use crate::knowledge::Knowledge;
use crate::lock;
use crate::lock::Entry;
use crate::lock::Lock;
use crate::oci::PulledImage;
use crate::reference::ImageReference;
use crate::source::SourceText;
use crate::source::Sources;

/// Platforms that GPU images are built for.
const PLATFORMS: &[&str] = &["linux/amd64", "linux/arm64"];

/// What one registry said of one base.
type Read = (ImageReference, Result<Vec<PulledImage>, String>);

/// Runs it.
pub(crate) fn run(options: &LockArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut paths = options.paths.clone();
    if paths.is_empty() && options.bake.is_empty() && options.compose.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let mut sources = Sources::default();
    let files = paths.iter().chain(&options.bake).chain(&options.compose);
    let start = files.map(PathBuf::as_path).find(|path| path.exists());
    let settings = Mutex::new(Loaded::new(&options.settings.whole(), start, &mut sources)?);
    let inputs = inputs(options, &paths, &settings, knowledge, &mut sources);
    if let Some(broken) = settings::lock(&settings).broken.take() {
        return Err(Failure::Said(broken));
    }
    for error in &inputs.errors {
        writeln!(streams::err(), "error: cannot read {}: {}", error.input, error.message)?;
    }
    let start = start.unwrap_or(Path::new("."));
    let (path, before) = target(options, start)?;
    let platforms: Vec<String> = if options.platforms.is_empty() {
        PLATFORMS.iter().map(|platform| (*platform).to_owned()).collect()
    } else {
        options.platforms.clone()
    };
    let wanted = pull::wanted(&inputs, &platforms);
    if wanted.is_empty() && inputs.errors.is_empty() {
        writeln!(streams::err(), "nothing to lock: no Dockerfile names a base image")?;
        return Ok(Exit::Nothing);
    }
    let refused = |registry: &str| settings::lock(&settings).refuses(registry, &sources);
    let puller = access::puller(&options.access, &Registries::new(), !options.build.no_cache)?;
    let read = pull::read(&wanted, &puller, parallel::default_jobs(), &refused);
    let told = if options.check { check(&before, &read)? } else { write(&path, &before, &read)? };
    Ok(if inputs.errors.is_empty() { told } else { Exit::Broken })
}

fn inputs(
    options: &LockArgs,
    paths: &[PathBuf],
    settings: &Mutex<Loaded>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Inputs {
    let set = BuildSet { platforms: Vec::new(), all_targets: options.all_targets };
    let jobs = parallel::default_jobs();
    let build = Build { args: &options.build, set: &set, stdin_filename: None, jobs, settings, knowledge };
    let mut inputs = Inputs::read(paths, &build, sources);
    inputs.bakes(&options.bake, &build, sources);
    inputs.composes(&options.compose, &build, Vec::new(), sources);
    inputs
}

/// Where the lock file is, or belongs: where one is found, beside the fleet file, at the repository's root; with what
/// it holds now.
fn target(options: &LockArgs, start: &Path) -> Result<(PathBuf, Lock), Failure> {
    if let Some(path) = &options.output {
        return Ok((path.clone(), if path.exists() { held(path)? } else { Lock::default() }));
    }
    if let Some((path, read)) = known::lock_from(start) {
        return match read {
            Ok((_, lock)) => Ok((path, lock)),
            // What cannot be read is written anew; a check needs it.
            Err(_) if !options.check && !is_link(&path) => Ok((path, Lock::default())),
            Err(error) => {
                let why = match error {
                    NotRead::Closed(error) => error,
                    NotRead::Wrong(_, errors) => render(errors.as_ref()),
                };
                Err(Failure::Said(format!("error: cannot read {}: {why}", path.display())))
            }
        };
    }
    let beside = fleet::upwards(start, fleet::FILE).and_then(|fleet| Some(fleet.parent()?.to_path_buf()));
    let folder = beside.or_else(|| root(start)).unwrap_or_default();
    let path = folder.join(lock::FILE);
    if is_link(&path) {
        return Err(Failure::Said(format!("error: {} is a symbolic link and is not overwritten", path.display())));
    }
    Ok((path, Lock::default()))
}

fn held(path: &Path) -> Result<Lock, Failure> {
    let text = read_text(path, MAX_TEXT)
        .map_err(|error| Failure::Said(format!("error: cannot read {}: {error}", path.display())))?;
    let text = SourceText::new(path.display().to_string(), text);
    Lock::read(&text).map_err(|errors| Failure::Said(render(errors.as_ref())))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// The folder with `.git` that `start` lies in, else its own.
fn root(start: &Path) -> Option<PathBuf> {
    let start = start.canonicalize().ok()?;
    let own = if start.is_dir() { start.as_path() } else { start.parent()? };
    Some(own.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(own).to_path_buf())
}

/// Says what moved, what is not locked and what could not be read.
fn check(before: &Lock, read: &[Read]) -> Result<Exit, Failure> {
    let mut out = streams::out();
    let (mut exit, mut count) = (Exit::Clean, 0);
    for (reference, images) in read {
        let images = match images {
            Ok(images) => images,
            Err(error) => {
                writeln!(streams::err(), "error: cannot read base image {reference}: {error}")?;
                exit = Exit::Broken;
                continue;
            }
        };
        for image in images {
            let Some(now) = entry(reference, image)? else { continue };
            let was = before.of(&now.reference.value).find(|entry| entry.platform == now.platform).cloned();
            let told = match was {
                Some(was) if was.digest == now.digest => {
                    count += 1;
                    continue;
                }
                Some(was) => format!("changed from {} to {}", was.digest, now.digest),
                None => "is not locked".to_owned(),
            };
            writeln!(out, "{} for {} {told}", now.reference.value, now.platform)?;
            exit = if exit == Exit::Broken { exit } else { Exit::Found };
        }
    }
    if exit == Exit::Clean {
        writeln!(out, "up to date: {count} locked")?;
    }
    Ok(exit)
}

/// What is written down of an image; told where that is nothing.
fn entry(reference: &ImageReference, image: &PulledImage) -> Result<Option<Entry>, Failure> {
    let entry = lock::entry(reference, image);
    if entry.is_none() {
        writeln!(streams::err(), "warning: base image {reference} does not declare its platform and is not locked")?;
    }
    Ok(entry)
}

/// Writes the lock file; a base that could not be read keeps what was locked of it. Where none could be read and nothing
/// was locked, what is there stays as it is.
fn write(path: &Path, before: &Lock, read: &[Read]) -> Result<Exit, Failure> {
    let (mut lock, mut exit) = (Lock::default(), Exit::Clean);
    for (reference, images) in read {
        match images {
            Ok(images) => {
                for image in images {
                    entry(reference, image)?.into_iter().for_each(|entry| lock.put(entry));
                }
            }
            Err(error) => {
                let kept: Vec<_> = before.of(&lock::name(reference)).cloned().collect();
                let still = if kept.is_empty() { "" } else { "; its locked entry is kept" };
                writeln!(streams::err(), "error: cannot read base image {reference}{still}: {error}")?;
                for entry in kept {
                    lock.put(entry);
                }
                exit = Exit::Broken;
            }
        }
    }
    if exit == Exit::Broken && lock.entries.is_empty() {
        return Ok(exit);
    }
    fs::write(path, lock.to_toml())
        .map_err(|error| Failure::Said(format!("error: cannot write {}: {error}", path.display())))?;
    writeln!(streams::out(), "{}: {} locked", path.display(), lock.entries.len())?;
    Ok(exit)
}
