//! The inputs of a command: subjects to judge, and what could not be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::cli::args::{BuildArgs, BuildTargetArgs};
use crate::cli::file_search::FileFilter;
use crate::cli::settings;
use crate::cli::settings::LoadedSettings;
use crate::dockerfile::context::ContextFiles;
use crate::dockerfile::{Dockerfile, EvaluateError, EvaluateOptions, LazyDockerfile};
use crate::fleet::cluster::Start;
use crate::judge::{AnalysisSubject, CachedTargetObservations, SubjectContent};
use crate::knowledge::Knowledge;
use crate::knowledge::toml_reader::Problems;
use crate::model::reference::ImageReference;
use crate::report::kinds::{LocationKind, SubjectKind};
use crate::report::model::{InputError, Location, Region};
use crate::text::source::{SourceId, SourceText, Sources};

/// The images that a build depends on, each with the index of the build that produces it.
pub(super) type BuildDependencies = Vec<(ImageReference, usize)>;

/// A build that other builds may depend on.
#[derive(Clone, Debug)]
pub(super) struct ReferencedBuild {
    pub(super) path: String,
    pub(super) source: SourceId,
    pub(super) dockerfile: LazyDockerfile,
    pub(super) options: EvaluateOptions,
    pub(super) context: PathBuf,
    pub(super) on: BuildDependencies,
}

/// Options for reading inputs: how they are built, and which settings apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputOptions<'a> {
    /// Arguments and target.
    pub(crate) args: &'a BuildArgs,
    /// Platforms and which targets.
    pub(crate) set: &'a BuildTargetArgs,
    /// Name of the Dockerfile on standard input.
    pub(crate) stdin_filename: Option<&'a Path>,
    /// How many files to read at once.
    pub(crate) jobs: usize,
    /// What settings say of each file.
    pub(crate) settings: &'a Mutex<LoadedSettings>,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

impl InputOptions<'_> {
    /// Returns which files of a directory are included.
    pub(super) fn file_selection(&self) -> FileFilter {
        let loaded = settings::lock_settings(self.settings);
        let found = loaded.run_chain().map(|found| &found.settings);
        let list = |list: Option<&Vec<_>>| list.cloned().unwrap_or_default();
        FileFilter {
            include: list(found.and_then(|settings| settings.include.as_ref())),
            exclude: list(found.and_then(|settings| settings.exclude.as_ref())),
        }
    }

    /// Returns how a Dockerfile is built: the command line takes precedence over its settings.
    pub(super) fn evaluate_options(&self, name: &str, sources: &mut Sources) -> EvaluateOptions {
        let mut loaded = settings::lock_settings(self.settings);
        let path = Path::new(name);
        let at = loaded.find_for_path(path, sources);
        let real = path.canonicalize().ok();
        let own = loaded.settings_at(at, real.as_deref());
        let mut options = EvaluateOptions {
            target: self.args.target.clone(),
            platforms: self.set.platforms.clone(),
            ..EvaluateOptions::new(self.knowledge)
        };
        if let Some(own) = own {
            let args = own.build_args().into_iter();
            options.build_args.extend(args.map(|(name, value)| (name.clone(), value.value.clone())));
            options.target = options.target.or_else(|| own.target().map(|target| target.value.clone()));
            if options.platforms.is_empty() {
                let platforms = own.platforms().unwrap_or_default();
                options.platforms = platforms.iter().map(|platform| platform.value.clone()).collect();
            }
        }
        options.build_args.extend(self.args.build_args.iter().cloned());
        options
    }
}

/// Subjects that were read from the inputs, with errors and skipped files.
#[derive(Debug, Default)]
pub(crate) struct CommandInputs {
    /// To judge, in the order of the paths, folders sorted.
    pub(crate) subjects: Vec<AnalysisSubject>,
    /// What could not be read.
    pub(crate) errors: Vec<InputError>,
    /// Lists of packages that no Dockerfile reads, so that there is nothing to check for them.
    pub(crate) unread: Vec<String>,
    /// Skipped inputs, with the reason: files named like Dockerfiles that are not text, and services without a GPU.
    pub(crate) skipped: Vec<(String, &'static str)>,
    /// Services that request no GPU, by their names: whether they get one is for their images to say.
    pub(super) unrequested: BTreeSet<String>,
    /// The build context of a subject, by its name, where neither the command line nor the Dockerfile's folder says it.
    pub(super) contexts: BTreeMap<String, PathBuf>,
    /// The builds of files that say how images are built, by their numbers; none for those that could not be read.
    pub(super) referred: Vec<Option<ReferencedBuild>>,
    /// The builds that the build of a subject is based on, by the name of the subject.
    pub(super) base_builds: BTreeMap<String, BuildDependencies>,
}

impl CommandInputs {
    /// Adds one target of the Dockerfile at `path`.
    pub(super) fn add_target(
        &mut self,
        name: &str,
        path: &str,
        source: SourceId,
        dockerfile: LazyDockerfile,
        options: EvaluateOptions,
    ) {
        if let Some(error) =
            options.target.as_deref().and_then(|target| unknown_stage_message(target, &dockerfile.parsed_uncached()))
        {
            return self.add_error(name, error);
        }
        if dockerfile.is_too_long() {
            return self.add_error(name, EvaluateError::TooLong.to_string());
        }
        let (files, bases, cached_target) =
            (ContextFiles::default(), Arc::default(), CachedTargetObservations::default());
        let content = SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target };
        let (name, path) = (name.to_owned(), path.to_owned());
        self.subjects.push(AnalysisSubject {
            name,
            path,
            kind: SubjectKind::Dockerfile,
            digest: None,
            images: Vec::new(),
            notes: Vec::new(),
            as_of: None,
            only: None,
            start: Start::default(),
            named_at: None,
            content,
        });
    }

    /// Adds an error without a location.
    pub(super) fn add_error(&mut self, input: &str, message: String) {
        self.errors.push(InputError { input: input.to_owned(), message, location: None });
    }

    /// Adds every error in a TOML file, with its location.
    pub(super) fn add_toml_problems(&mut self, text: SourceText, errors: &Problems, sources: &mut Sources) {
        for problem in errors.all() {
            let help = problem.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
            let (kind, path, region) =
                (LocationKind::File, text.name().to_owned(), Region::from_span(&text, problem.span));
            let location = Location { kind, path, label: String::new(), region: Some(region), made_by: None };
            let message = format!("{}{help}", problem.message);
            self.errors.push(InputError { input: text.name().to_owned(), message, location: Some(location) });
        }
        let _ = sources.add(text);
    }
}

/// Returns the error message if a Dockerfile has stages, but not this one.
fn unknown_stage_message(target: &str, dockerfile: &Dockerfile) -> Option<String> {
    if dockerfile.stages.is_empty() || dockerfile.find_stage(target).is_some() {
        return None;
    }
    let unknown = EvaluateError::UnknownTarget(target.to_owned());
    let names: Vec<&str> = dockerfile.stages.iter().filter_map(|stage| stage.name.as_deref()).collect();
    let has =
        if names.is_empty() { "its stages have no names".to_owned() } else { format!("it has {}", names.join(", ")) };
    Some(format!("{unknown}; {has}"))
}
