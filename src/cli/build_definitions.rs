//! `--bake` and `--compose`: each build of a bake or compose file as a subject.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::build_dependencies::{cycle_error, dependency_cycle, replace_build_contexts};
use crate::cli::command_inputs::{CommandInputs, InputOptions, ReferencedBuild};
use crate::cli::services_without_gpu;
use crate::cli::text_file::{MAX_TEXT_BYTES, path_in_repository, read_command_line_file, read_text};
use crate::dockerfile::builds::{BuildsError, DockerfileSource, ImageBuild};
use crate::dockerfile::{EvaluateOptions, LazyDockerfile, builds};
use crate::judge::PoolRestriction;
use crate::model::note::Note;
use crate::report::kinds::LocationKind;
use crate::report::model::{InputError, Location, Region};
use crate::text::source::{SourceId, SourceText, Sources, Span};

/// Maximum number of characters shown of a line with a syntax error.
const MAX_SHOWN_CHARS: usize = 80;

/// Kind of a file that defines builds: a bake file or a compose file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BuildDefinitionKind {
    /// A bake file.
    Bake,
    /// A compose file, with the pools that give a GPU to a service without a request.
    Compose(Vec<String>),
}

/// A bake or compose file; if several make one definition, the first of them.
struct BuildDefinition<'a> {
    name: &'a str,
    text: &'a str,
    file: &'a Path,
    kind: BuildDefinitionKind,
}

impl<'a> BuildDefinition<'a> {
    /// Returns the directory to which the paths of a build are relative. Compose uses the directory of its file. Bake
    /// uses the current directory (github.com/docker/buildx/issues/1028), unless the files exist only in the
    /// directory of the bake file.
    fn base_directory(&self, build: &ImageBuild) -> &'a Path {
        let (here, own) = (Path::new(""), self.file.parent().unwrap_or(Path::new("")));
        let is_there = |folder: &Path| match &build.recipe {
            DockerfileSource::Path(path) => folder.join(&build.context).join(path).is_file(),
            DockerfileSource::Inline(_) | DockerfileSource::Unknown(_) => folder.join(&build.context).is_dir(),
        };
        if matches!(self.kind, BuildDefinitionKind::Compose(_)) || (!is_there(here) && is_there(own)) {
            own
        } else {
            here
        }
    }
}

impl CommandInputs {
    /// Reads every build of the bake files, which together make one definition.
    pub(crate) fn read_bake_files(&mut self, files: &[PathBuf], build: &InputOptions<'_>, sources: &mut Sources) {
        let Some(first) = files.first() else { return };
        let mut read: Vec<(String, String)> = Vec::new();
        for file in files {
            let name = file.display().to_string();
            match read_command_line_file(file, MAX_TEXT_BYTES) {
                Ok(text) => read.push((name, text)),
                Err(error) => return self.add_error(&name, error),
            }
        }
        let texts: Vec<(&str, &str)> = read.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (name, text) = texts.first().copied().unwrap_or_default();
        match builds::read_bake_files(&texts) {
            Ok(described) => {
                self.add_builds(
                    &described,
                    &BuildDefinition { name, text, file: first, kind: BuildDefinitionKind::Bake },
                    build,
                    sources,
                );
            }
            Err((at, error)) => {
                let (name, text) = texts.get(at).copied().unwrap_or((name, text));
                self.errors.push(build_definition_error(name, text, &error));
            }
        }
    }

    /// Reads every build of the compose files, which together make one definition. Services without a GPU request are
    /// checked on `pools` only.
    pub(crate) fn read_compose_files(
        &mut self,
        files: &[PathBuf],
        build: &InputOptions<'_>,
        pools: Vec<String>,
        sources: &mut Sources,
    ) {
        let Some(first) = files.first() else { return };
        let mut read: Vec<(String, String)> = Vec::new();
        for file in files {
            let name = file.display().to_string();
            match read_command_line_file(file, MAX_TEXT_BYTES) {
                Ok(text) => read.push((name, text)),
                Err(error) => return self.add_error(&name, error),
            }
        }
        let folder = first.parent().unwrap_or(Path::new(""));
        let open = |path: &str| read_referenced_file(folder, path);
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        let Some((name, text)) = read.first() else { return };
        let written = BuildDefinition { name, text, file: first, kind: BuildDefinitionKind::Compose(pools) };
        match builds::read_compose_files(&texts, &read_env_file(folder), &open) {
            Ok(described) => self.add_builds(&described, &written, build, sources),
            Err((at, error)) => {
                let (name, text) = read.get(at).map_or((name, text), |(name, text)| (name, text));
                self.errors.push(build_definition_error(name, text, &error));
            }
        }
    }

    /// Adds a subject for each build of a bake or compose file.
    fn add_builds(
        &mut self,
        described: &[ImageBuild],
        written: &BuildDefinition<'_>,
        build: &InputOptions<'_>,
        sources: &mut Sources,
    ) {
        let BuildDefinition { name, text, .. } = *written;
        let mut read: BTreeMap<PathBuf, (SourceId, LazyDockerfile)> = BTreeMap::new();
        let first = self.referred.len();
        for one in described {
            let title = format!("{name}:{}", one.name);
            // Where the default runtime gives GPUs, the image decides whether the service gets one.
            let pools = match &written.kind {
                BuildDefinitionKind::Compose(pools) if !one.requested && !one.refuses => pools.as_slice(),
                BuildDefinitionKind::Compose(_) | BuildDefinitionKind::Bake => &[],
            };
            if matches!(written.kind, BuildDefinitionKind::Compose(_)) && !one.requested && pools.is_empty() {
                self.skipped.push((title.clone(), services_without_gpu::SKIP_REASON));
            }
            if let Some(names) = dependency_cycle(one, described) {
                self.errors.extend(one.requested.then(|| cycle_error(&title, name, text, &names)));
                self.referred.push(None);
                continue;
            }
            let folder = written.base_directory(one);
            let recipe = read_dockerfile(one, folder, &mut read, &title, sources);
            let context = folder.join(&one.context);
            let mut options = build_options(one, build);
            let on = replace_build_contexts(one, described, first, &mut options);
            self.referred.push(recipe.as_ref().ok().cloned().map(|(path, source, dockerfile)| {
                let options = EvaluateOptions { target: one.target.clone(), ..options.clone() };
                ReferencedBuild { path, source, dockerfile, options, context: context.clone(), on: on.clone() }
            }));
            match recipe {
                _ if !one.requested && pools.is_empty() => {}
                Err(_) if !one.requested => self.skipped.push((title, services_without_gpu::SKIP_REASON)),
                Ok((path, source, dockerfile)) => {
                    let before = self.subjects.len();
                    self.contexts.insert(title.clone(), context);
                    self.base_builds.insert(title.clone(), on);
                    self.add_target(&title, &path, source, dockerfile, options);
                    for subject in self.subjects.iter_mut().skip(before) {
                        subject.notes.extend(one.notes.iter().map(|note| Note::from(note.to_string())));
                        if !one.requested {
                            subject.only = Some(PoolRestriction::Pools(pools.to_vec()));
                            self.unrequested.insert(title.clone());
                        }
                    }
                }
                Err(error) => self.add_error(&title, error),
            }
        }
    }
}

/// Returns the error for a bake or compose file that cannot be parsed, at the line of the syntax error.
fn build_definition_error(name: &str, text: &str, error: &BuildsError) -> InputError {
    let at = |line: usize, column: usize| {
        let source = SourceText::new(name, text.to_owned());
        let whole = text.split('\n').nth(line.checked_sub(1)?)?;
        let start: usize = text.split('\n').take(line - 1).map(|line| line.len() + 1).sum();
        let from = whole.char_indices().nth(column.saturating_sub(1)).map_or(whole.len(), |(at, _)| at);
        let region = Region::from_span(&source, Span::new(start + from, start + whole.len()));
        let (kind, path, label) =
            (LocationKind::Builds, name.to_owned(), whole.trim().chars().take(MAX_SHOWN_CHARS).collect());
        Some(Location { kind, path, label, region: Some(region), made_by: None })
    };
    let (message, location) = match error {
        BuildsError::Broken { line, column, message } => (message.clone(), at(*line, *column)),
        BuildsError::Unreadable(_) | BuildsError::TooBig => (error.to_string(), None),
    };
    InputError { input: name.to_owned(), message, location }
}

/// Returns the options of a build: those of the command line take precedence over those of the file.
fn build_options(described: &ImageBuild, build: &InputOptions<'_>) -> EvaluateOptions {
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

/// Reads the Dockerfile of a build: its path, its source and its parsed form.
fn read_dockerfile(
    described: &ImageBuild,
    folder: &Path,
    read: &mut BTreeMap<PathBuf, (SourceId, LazyDockerfile)>,
    title: &str,
    sources: &mut Sources,
) -> Result<(String, SourceId, LazyDockerfile), String> {
    let written = match &described.recipe {
        DockerfileSource::Inline(text) => {
            let text = SourceText::new(title, text.as_str());
            let dockerfile = LazyDockerfile::new(text.shared_text());
            return Ok((title.to_owned(), sources.add(text), dockerfile));
        }
        DockerfileSource::Unknown(why) => return Err(why.to_string()),
        DockerfileSource::Path(_) if !described.has_local_context() => {
            return Err(format!("its context `{}` is not a directory and is not read", described.context));
        }
        DockerfileSource::Path(path) => folder.join(&described.context).join(path),
    };
    let path = path_in_repository(&written, folder)?;
    let shown = path.display().to_string();
    if let Some((source, dockerfile)) = read.get(&path) {
        return Ok((shown, *source, dockerfile.clone()));
    }
    let text = read_text(&path, MAX_TEXT_BYTES).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = SourceText::new(shown.clone(), text);
    let dockerfile = LazyDockerfile::new(text.shared_text());
    let source = sources.add(text);
    read.insert(path, (source, dockerfile.clone()));
    Ok((shown, source, dockerfile))
}

/// Returns the text of a file that a compose file references by its path from `folder`.
pub(crate) fn read_referenced_file(folder: &Path, path: &str) -> Option<String> {
    read_text(&path_in_repository(&folder.join(path), folder).ok()?, MAX_TEXT_BYTES).ok()
}

/// Returns the variables of the `.env` file in the directory of a compose file.
pub(crate) fn read_env_file(folder: &Path) -> BTreeMap<String, String> {
    let file = folder.join(".env");
    let text = path_in_repository(&file, folder).ok().and_then(|file| read_text(&file, MAX_TEXT_BYTES).ok());
    text.map(|text| builds::parse_environment_file(&text)).unwrap_or_default()
}
