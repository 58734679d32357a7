//! One side of a comparison: inputs read as `check` and `scan` read them, with the settings that apply to them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::cli::args::{BuildArgs, BuildTargetArgs, JudgingArgs, RegistryArgs};
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::error::CommandError;
use crate::cli::judging::{Judge, JudgingRun};
use crate::cli::pull::BaseImageRequests;
use crate::cli::registry_access::RegistryHosts;
use crate::cli::settings::{LoadedSettings, RunSettings};
use crate::cli::{base_images, describe, parallel, pull, registry_access, scan, settings};
use crate::fix::minimum_driver::SubjectImages;
use crate::fleet::Fleet;
use crate::judge::{AnalysisSubject, InferenceCache, ReportDetail};
use crate::knowledge::Knowledge;
use crate::report::model;
use crate::report::model::InputError;
use crate::rules::RuleBook;
use crate::text::source::Sources;

/// Options for reading and judging the inputs of a side.
#[derive(Clone, Copy)]
pub(crate) struct SideOptions<'a> {
    /// Build arguments and target.
    pub(crate) build: &'a BuildArgs,
    /// Platforms and which targets.
    pub(crate) set: &'a BuildTargetArgs,
    /// Options for access to registries.
    pub(crate) access: &'a RegistryArgs,
    /// Whether to pull base images from registries.
    pub(crate) pull: bool,
    /// What to judge against.
    pub(crate) judging: &'a JudgingArgs,
    /// The fleet.
    pub(crate) fleet: &'a Fleet,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

/// Some pools of a fleet to judge on, and in which detail.
pub(crate) struct PoolSelection<'a> {
    /// The fleet.
    pub(crate) fleet: &'a Fleet,
    /// Names of the pools; empty for all.
    pub(crate) pools: Vec<String>,
    /// Detail of the verdicts.
    pub(crate) detail: ReportDetail,
}

/// The inputs of one side of a comparison.
pub(crate) struct ComparisonSide {
    /// The subjects to judge.
    pub(crate) subjects: Vec<AnalysisSubject>,
    /// The inputs that could not be read.
    pub(crate) errors: Vec<InputError>,
    loaded: LoadedSettings,
    /// Path prefixes of snapshot folders, and the revision prefix that replaces each of them in the output.
    path_replacements: Vec<(String, String)>,
}

/// Whether an input is an image or image folder instead of a text file.
fn is_image_input(input: &str) -> bool {
    let path = Path::new(input);
    if path.exists() { describe::is_image_path(path) } else { describe::is_image_name(input) }
}

impl ComparisonSide {
    /// Creates a side without inputs.
    pub(crate) fn empty() -> Self {
        Self {
            subjects: Vec::new(),
            errors: Vec::new(),
            loaded: LoadedSettings::empty(),
            path_replacements: Vec::new(),
        }
    }

    /// Reads inputs from the command line: files, folders and images.
    pub(crate) fn from_inputs(
        inputs: &[String],
        reading: SideOptions<'_>,
        sources: &mut Sources,
    ) -> Result<Self, CommandError> {
        let (images, files): (Vec<&String>, Vec<&String>) = inputs.iter().partition(|input| is_image_input(input));
        let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
        let mut side = Self::from_files(&files, reading, sources)?;
        if images.is_empty() {
            return Ok(side);
        }
        let SideOptions { build, access, fleet, knowledge, .. } = reading;
        let platforms = scan::fleet_platforms(fleet, knowledge);
        let keep = !build.no_cache;
        let names = || images.iter().map(|name| name.as_str());
        let puller = registry_access::create_puller(access, &registry_access::registry_hosts(names()), keep)?;
        for name in names() {
            match scan::read_image_with_layers(name, &platforms, &puller, keep) {
                Ok(subject) => side.subjects.push(subject),
                Err(message) => side.add_error(name, message),
            }
        }
        Ok(side)
    }

    /// Reads files and folders.
    pub(crate) fn from_files(
        paths: &[PathBuf],
        reading: SideOptions<'_>,
        sources: &mut Sources,
    ) -> Result<Self, CommandError> {
        let SideOptions { build, set, access, pull, judging, fleet, knowledge } = reading;
        let first = paths.iter().map(PathBuf::as_path).find(|path| path.exists());
        let settings = Mutex::new(LoadedSettings::new(&judging.config, first, sources)?);
        let keep = !build.no_cache;
        let build = InputOptions {
            args: build,
            set,
            stdin_filename: None,
            jobs: judging.jobs(),
            settings: &settings,
            knowledge,
        };
        let mut inputs = CommandInputs::read(paths, &build, sources);
        settings::assign_to_inputs(&settings, &mut inputs.subjects, fleet, sources)?;
        let platforms: Vec<String> = scan::fleet_platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
        let requests = if pull { pull::base_image_requests(&inputs, &platforms) } else { BaseImageRequests::default() };
        let puller =
            if pull { Some(registry_access::create_puller(access, &RegistryHosts::new(), keep)?) } else { None };
        let pulling = puller.as_ref().map(|puller| (&requests, puller));
        base_images::add_known_bases(&mut inputs, first, pulling, &build, sources);
        if let Some(folder) = fleet_folder(fleet) {
            inputs.make_paths_relative_to(&folder);
        }
        for subject in &mut inputs.subjects {
            scan::note_missing_pool(subject, fleet, knowledge);
        }
        let CommandInputs { subjects, errors, .. } = inputs;
        let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self { subjects, errors, loaded, path_replacements: Vec::new() })
    }

    /// Renames the subjects, and changes the paths that are matched against the patterns of the pools.
    pub(crate) fn rename_subjects(
        &mut self,
        fleet: &Fleet,
        sources: &mut Sources,
        name: impl Fn(&str) -> (String, PathBuf),
    ) {
        let folder = fleet_folder(fleet).and_then(|folder| folder.canonicalize().ok());
        for subject in &mut self.subjects {
            let old = PathBuf::from(&subject.name);
            let (new, place) = name(&subject.name);
            self.loaded.assign_to_subject(&new, Some(&old), sources);
            let inside = folder.as_deref().and_then(|folder| place.strip_prefix(folder).ok()).unwrap_or(&place);
            (subject.name, subject.path) = (new, inside.display().to_string());
        }
        for error in &mut self.errors {
            error.input = name(&error.input).0;
        }
    }

    /// Displays paths below a snapshot folder as paths of a revision.
    pub(crate) fn replace_folder_by_revision(&mut self, folder: &Path, revision: &str) {
        let (folder, shown) = (format!("{}/", folder.display()), format!("{revision}:"));
        for error in &mut self.errors {
            error.message = error.message.replace(folder.as_str(), &shown);
            if let Some(location) = &mut error.location {
                location.path = location.path.replace(folder.as_str(), &shown);
            }
        }
        self.path_replacements.push((folder, shown));
    }

    /// Replaces snapshot folders by revisions in the locations of a fleet.
    pub(crate) fn replace_fleet_paths(&self, fleet: &mut model::Fleet) {
        for pool in &mut fleet.pools {
            let of_fields = pool.fields.iter_mut().filter_map(|field| field.location.as_mut());
            for location in of_fields.chain(&mut pool.location) {
                for (folder, shown) in &self.path_replacements {
                    location.path = location.path.replace(folder.as_str(), shown);
                    location.label = location.label.replace(folder.as_str(), shown);
                }
            }
        }
    }

    /// Replaces snapshot folders by revisions in the findings and notes of a judged subject.
    fn replace_subject_paths(&self, mut judged: model::Subject) -> model::Subject {
        for (folder, shown) in &self.path_replacements {
            let replace_folder = |text: &mut String| *text = text.replace(folder.as_str(), shown);
            for finding in &mut judged.findings {
                replace_folder(&mut finding.message);
                finding.help.iter_mut().for_each(replace_folder);
                for location in &mut finding.locations {
                    replace_folder(&mut location.path);
                    replace_folder(&mut location.label);
                }
            }
            judged.inspected.notes.iter_mut().for_each(|note| note.replace_path(folder, shown));
        }
        judged
    }

    /// Adds an input error.
    fn add_error(&mut self, input: &str, message: String) {
        self.errors.push(InputError { input: input.to_owned(), message, location: None });
    }

    /// Judges all subjects.
    pub(crate) fn judge_all(
        &self,
        reading: SideOptions<'_>,
        book: &RuleBook,
        sources: &Sources,
        detail: ReportDetail,
    ) -> Vec<model::Subject> {
        let SideOptions { judging, fleet, knowledge, .. } = reading;
        let settings = Some(RunSettings { loaded: &self.loaded, whole: &[] });
        let subjects = &self.subjects;
        let run = JudgingRun { fleet, options: judging, knowledge, sources, settings, command: "check" };
        let judge = Judge::new(run, subjects, book, detail);
        parallel::map(judging.jobs(), subjects, |subject| self.replace_subject_paths(judge.judge(subject)))
    }

    /// Judges all subjects on several pool selections and infers their images once for all of them; subjects keep
    /// their order.
    pub(crate) fn judge_on_selections(
        &self,
        parts: &[PoolSelection<'_>],
        platforms: &[String],
        reading: SideOptions<'_>,
        (book, sources): (&RuleBook, &Sources),
    ) -> (Vec<Vec<model::Subject>>, Vec<SubjectImages>) {
        let SideOptions { judging, knowledge, .. } = reading;
        let settings = Some(RunSettings { loaded: &self.loaded, whole: &[] });
        let of_part = |part: &PoolSelection<'_>| JudgingArgs { pools: part.pools.clone(), ..judging.clone() };
        let options: Vec<JudgingArgs> = parts.iter().map(of_part).collect();
        let runs = parts.iter().zip(&options).map(|(PoolSelection { fleet, detail, .. }, options)| {
            (JudgingRun { fleet, options, knowledge, sources, settings, command: "check" }, *detail)
        });
        let of_parts: Vec<Judge<'_>> =
            runs.map(|(run, detail)| Judge::new(run, &self.subjects, book, detail)).collect();
        let outcomes = parallel::map(judging.jobs(), &self.subjects, |subject| {
            let inferred = InferenceCache::default();
            let of_part =
                |judge: &Judge<'_>| self.replace_subject_paths(judge.judge_sharing_inference(subject, &inferred));
            let judged: Vec<model::Subject> = of_parts.iter().map(of_part).collect();
            let as_of = judging.as_of.or(subject.as_of);
            (judged, SubjectImages::infer_with(subject, platforms, as_of, knowledge, &inferred))
        });
        let mut judged: Vec<Vec<model::Subject>> = parts.iter().map(|_| Vec::with_capacity(outcomes.len())).collect();
        let mut images = Vec::with_capacity(outcomes.len());
        for (subjects, own) in outcomes {
            judged.iter_mut().zip(subjects).for_each(|(all, subject)| all.push(subject));
            images.push(own);
        }
        (judged, images)
    }

    /// Returns the report without its subjects.
    pub(crate) fn report_head(&self, reading: SideOptions<'_>, book: &RuleBook, sources: &Sources) -> model::Report {
        let SideOptions { judging, fleet, knowledge, .. } = reading;
        let run = JudgingRun { fleet, options: judging, knowledge, sources, settings: None, command: "check" };
        Judge::new(run, &self.subjects, book, ReportDetail::Fates).report_head(Vec::new())
    }
}

/// Returns the folder that the path patterns of a fleet file are relative to; `None` for the built-in fleet.
fn fleet_folder(fleet: &Fleet) -> Option<PathBuf> {
    let folder = Path::new(&fleet.name).parent().filter(|_| !fleet.built_in)?;
    Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() })
}
