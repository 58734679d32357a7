//! `--bake` and `--compose`: each build of such a file as a subject of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use crate::builds;
use crate::builds::Build as Described;
use crate::builds::BuildsError;
use crate::builds::Recipe;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::spliced::Referred;
use crate::cli::spliced::circle;
use crate::cli::spliced::round;
use crate::cli::spliced::splice;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_named;
use crate::cli::texts::read_text;
use crate::cli::unrequested;
use crate::dockerfile::EvaluateOptions;
use crate::dockerfile::OnDemand;
use crate::judge::Only;
use crate::nearest::unread;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;
use crate::source::Span;

/// Characters that are shown of a line that breaks off.
const SHOWN: usize = 80;

/// What kind of file says how images are built.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A bake file.
    Bake,
    /// A compose file, with the pools that give a GPU to a service without a request.
    Compose(Vec<String>),
}

/// A file that says how images are built; of several, the first one.
struct Written<'a> {
    name: &'a str,
    text: &'a str,
    file: &'a Path,
    kind: Kind,
}

impl<'a> Written<'a> {
    /// The folder that the paths of a build are seen from. Compose takes that of its file; Bake takes the one that it is
    /// called in (github.com/docker/buildx/issues/1028), and where the files lie beside the bake file alone, whoever
    /// wrote it calls it there.
    fn folder(&self, build: &Described) -> &'a Path {
        let (here, own) = (Path::new(""), self.file.parent().unwrap_or(Path::new("")));
        let is_there = |folder: &Path| match &build.recipe {
            Recipe::Path(path) => folder.join(&build.context).join(path).is_file(),
            Recipe::Inline(_) | Recipe::Unknown(_) => folder.join(&build.context).is_dir(),
        };
        if matches!(self.kind, Kind::Compose(_)) || (!is_there(here) && is_there(own)) { own } else { here }
    }
}

impl Inputs {
    /// Reads every build of bake files that are given together: they make one definition.
    pub(crate) fn bakes(&mut self, files: &[PathBuf], build: &Build<'_>, sources: &mut Sources) {
        let Some(first) = files.first() else { return };
        let mut read: Vec<(String, String)> = Vec::new();
        for file in files {
            let name = file.display().to_string();
            match read_named(file, MAX_TEXT) {
                Ok(text) => read.push((name, text)),
                Err(error) => return self.error(&name, error),
            }
        }
        let texts: Vec<(&str, &str)> = read.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (name, text) = texts.first().copied().unwrap_or_default();
        match builds::bake_merged(&texts) {
            Ok(described) => {
                self.described(&described, &Written { name, text, file: first, kind: Kind::Bake }, build, sources);
            }
            Err((at, error)) => {
                let (name, text) = texts.get(at).copied().unwrap_or((name, text));
                self.errors.push(broken(name, text, &error));
            }
        }
    }

    /// Reads every build of compose files that are given together: they make one definition. A service that requests no GPU
    /// is read for the pools that give one to every image that asks for it.
    pub(crate) fn composes(&mut self, files: &[PathBuf], build: &Build<'_>, pools: Vec<String>, sources: &mut Sources) {
        let Some(first) = files.first() else { return };
        let mut read: Vec<(String, String)> = Vec::new();
        for file in files {
            let name = file.display().to_string();
            match read_named(file, MAX_TEXT) {
                Ok(text) => read.push((name, text)),
                Err(error) => return self.error(&name, error),
            }
        }
        let folder = first.parent().unwrap_or(Path::new(""));
        let open = |path: &str| beside(folder, path);
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        let Some((name, text)) = read.first() else { return };
        let written = Written { name, text, file: first, kind: Kind::Compose(pools) };
        match builds::compose_merged(&texts, &environment(folder), &open) {
            Ok(described) => self.described(&described, &written, build, sources),
            Err((at, error)) => {
                let (name, text) = read.get(at).map_or((name, text), |(name, text)| (name, text));
                self.errors.push(broken(name, text, &error));
            }
        }
    }

    fn described(&mut self, described: &[Described], written: &Written<'_>, build: &Build<'_>, sources: &mut Sources) {
        let Written { name, text, .. } = *written;
        let mut read: BTreeMap<PathBuf, (SourceId, OnDemand)> = BTreeMap::new();
        let first = self.referred.len();
        for one in described {
            let title = format!("{name}:{}", one.name);
            // Where the default runtime gives GPUs, the image decides whether the service gets one.
            let pools = match &written.kind {
                Kind::Compose(pools) if !one.asked && !one.refuses => pools.as_slice(),
                Kind::Compose(_) | Kind::Bake => &[],
            };
            if matches!(written.kind, Kind::Compose(_)) && !one.asked && pools.is_empty() {
                self.passed.push((title.clone(), unrequested::WHY));
            }
            if let Some(names) = circle(one, described) {
                self.errors.extend(one.asked.then(|| round(&title, name, text, &names)));
                self.referred.push(None);
                continue;
            }
            let folder = written.folder(one);
            let recipe = recipe(one, folder, &mut read, &title, sources);
            let context = folder.join(&one.context);
            let mut options = options(one, build);
            let on = splice(one, described, first, &mut options);
            self.referred.push(recipe.as_ref().ok().cloned().map(|(path, source, dockerfile)| {
                let options = EvaluateOptions { target: one.target.clone(), ..options.clone() };
                Referred { path, source, dockerfile, options, context: context.clone(), on: on.clone() }
            }));
            match recipe {
                _ if !one.asked && pools.is_empty() => {}
                Err(_) if !one.asked => self.passed.push((title, unrequested::WHY)),
                Ok((path, source, dockerfile)) => {
                    let before = self.subjects.len();
                    self.contexts.insert(title.clone(), context);
                    self.on.insert(title.clone(), on);
                    self.target(&title, &path, source, dockerfile, options);
                    for subject in self.subjects.iter_mut().skip(before) {
                        subject.notes.extend(one.notes.iter().cloned());
                        if !one.asked {
                            subject.only = Some(Only::Pools(pools.to_vec()));
                            self.unrequested.insert(title.clone());
                        }
                    }
                }
                Err(error) => self.error(&title, error),
            }
        }
    }
}

/// Why such a file gives no builds, at the line where it breaks off.
fn broken(name: &str, text: &str, error: &BuildsError) -> InputError {
    let at = |line: usize, column: usize| {
        let source = SourceText::new(name, text.to_owned());
        let whole = text.split('\n').nth(line.checked_sub(1)?)?;
        let start: usize = text.split('\n').take(line - 1).map(|line| line.len() + 1).sum();
        let from = whole.char_indices().nth(column.saturating_sub(1)).map_or(whole.len(), |(at, _)| at);
        let region = Region::of(&source, Span::new(start + from, start + whole.len()));
        let (kind, path, label) = ("builds".to_owned(), name.to_owned(), whole.trim().chars().take(SHOWN).collect());
        Some(Location { kind, path, label, region: Some(region), made_by: None })
    };
    let (message, location) = match error {
        BuildsError::Broken { line, column, message } => (message.clone(), at(*line, *column)),
        BuildsError::Unreadable(_) | BuildsError::TooBig => (error.to_string(), None),
    };
    InputError { input: name.to_owned(), message, location }
}

/// What the build is told: the command line first, then the file.
fn options(described: &Described, build: &Build<'_>) -> EvaluateOptions {
    let mut options = EvaluateOptions {
        target: build.args.target.clone().or_else(|| described.target.clone()),
        platforms: if build.set.platforms.is_empty() { &described.platforms } else { &build.set.platforms }.clone(),
        ..EvaluateOptions::new(build.knowledge)
    };
    for (name, value) in &described.args {
        match value {
            Some(value) => drop(options.build_args.insert(name.clone(), value.clone())),
            None => drop(options.unknown_args.insert(name.clone())),
        }
    }
    let context = |(name, value): (&String, &Option<String>)| {
        (name.clone(), value.clone().unwrap_or_else(|| "a context that the file does not define".to_owned()))
    };
    options.contexts.extend(described.contexts.iter().map(context));
    options.build_args.extend(build.args.build_args.iter().cloned());
    options
}

/// The Dockerfile of a build: its path, its text, and what it says.
fn recipe(
    described: &Described,
    folder: &Path,
    read: &mut BTreeMap<PathBuf, (SourceId, OnDemand)>,
    title: &str,
    sources: &mut Sources,
) -> Result<(String, SourceId, OnDemand), String> {
    let written = match &described.recipe {
        Recipe::Inline(text) => {
            let text = SourceText::new(title, text.as_str());
            let dockerfile = OnDemand::new(text.shared());
            return Ok((title.to_owned(), sources.add(text), dockerfile));
        }
        Recipe::Unknown(why) => return Err(why.clone()),
        Recipe::Path(_) if !described.is_local() => {
            return Err(format!("its context `{}` is not a directory and is not read", described.context));
        }
        Recipe::Path(path) => folder.join(&described.context).join(path),
    };
    let path = inside(&written, folder)?;
    let shown = path.display().to_string();
    if let Some((source, dockerfile)) = read.get(&path) {
        return Ok((shown, *source, dockerfile.clone()));
    }
    let text = read_text(&path, MAX_TEXT).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = SourceText::new(shown.clone(), text);
    let dockerfile = OnDemand::new(text.shared());
    let source = sources.add(text);
    read.insert(path, (source, dockerfile.clone()));
    Ok((shown, source, dockerfile))
}

/// A path that lies below the repository's root, links followed, as seen from here; the root is the folder
/// with `.git`, else the folder of the file itself.
pub(super) fn inside(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let found = path
        .canonicalize()
        .map_err(|error| format!("cannot read {}: {}", path.display(), unread(path, &error, "a file")))?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = folder.canonicalize().map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let root = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    if !found.starts_with(root) {
        return Err(format!("{} is outside the repository and is not read", path.display()));
    }
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let seen = here.and_then(|here| found.strip_prefix(here).map(Path::to_path_buf).ok());
    Ok(seen.unwrap_or(found))
}

/// The text of a file that a compose file names, by its path from its folder.
pub(crate) fn beside(folder: &Path, path: &str) -> Option<String> {
    read_text(&inside(&folder.join(path), folder).ok()?, MAX_TEXT).ok()
}

/// The variables of the `.env` file beside a compose file.
pub(crate) fn environment(folder: &Path) -> BTreeMap<String, String> {
    let file = folder.join(".env");
    let text = inside(&file, folder).ok().and_then(|file| read_text(&file, MAX_TEXT).ok());
    text.map(|text| builds::environment_file(&text)).unwrap_or_default()
}
