//! One side of a difference: inputs read as `check` and `scan` read them, with the settings that hold for them.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::access::Registries;
use crate::cli::args::AccessArgs;
use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::args::JudgingArgs;
use crate::cli::describe;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::output::Judge;
use crate::cli::output::Run;
use crate::cli::parallel;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::scan;
use crate::cli::settings;
use crate::cli::settings::Held;
use crate::cli::settings::Loaded;
use crate::cli::workloads;
use crate::fleet::Fleet;
use crate::judge::Detail;
use crate::judge::Inferred;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::least::Images;
use crate::report::model;
use crate::report::model::InputError;
use crate::rules::RuleBook;
use crate::source::Sources;

/// How inputs are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// Build arguments and target.
    pub(crate) build: &'a BuildArgs,
    /// Platforms and which targets.
    pub(crate) set: &'a BuildSet,
    /// Who asks registries.
    pub(crate) access: &'a AccessArgs,
    /// Whether to ask registries about base images.
    pub(crate) pull: bool,
    /// What to judge against.
    pub(crate) judging: &'a JudgingArgs,
    /// The fleet.
    pub(crate) fleet: &'a Fleet,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

/// Some pools of a fleet.
pub(crate) struct Part<'a> {
    /// The fleet.
    pub(crate) fleet: &'a Fleet,
    /// Their names; none for all.
    pub(crate) pools: Vec<String>,
    /// How much is told of them.
    pub(crate) detail: Detail,
}

/// What was read.
pub(crate) struct Side {
    /// To judge.
    pub(crate) subjects: Vec<Subject>,
    /// What could not be read.
    pub(crate) errors: Vec<InputError>,
    loaded: Loaded,
    /// Folders that stand for something else, and what for.
    stands: Vec<(String, String)>,
}

/// What holds an image, and not text.
pub(crate) fn is_image(input: &str) -> bool {
    let path = Path::new(input);
    if path.exists() { describe::holds_image(path) } else { describe::is_image(input) }
}

impl Side {
    /// Of nothing.
    pub(crate) fn empty() -> Self {
        Self { subjects: Vec::new(), errors: Vec::new(), loaded: Loaded::none(), stands: Vec::new() }
    }

    /// Of what people name: files, folders, images.
    pub(crate) fn of_inputs(inputs: &[String], reading: Reading<'_>, sources: &mut Sources) -> Result<Self, Failure> {
        let (images, files): (Vec<&String>, Vec<&String>) = inputs.iter().partition(|input| is_image(input));
        let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
        let mut side = Self::of_files(&files, reading, sources)?;
        if images.is_empty() {
            return Ok(side);
        }
        let Reading { build, access, fleet, knowledge, .. } = reading;
        let platforms = scan::platforms(fleet, knowledge);
        let keep = !build.no_cache;
        let names = || images.iter().map(|name| name.as_str());
        let puller = access::puller(access, &access::registries(names()), keep)?;
        for name in names() {
            match scan::with_layers(name, &platforms, &puller, keep) {
                Ok(subject) => side.subjects.push(subject),
                Err(message) => side.error(name, message),
            }
        }
        Ok(side)
    }

    /// Of files and folders.
    pub(crate) fn of_files(paths: &[PathBuf], reading: Reading<'_>, sources: &mut Sources) -> Result<Self, Failure> {
        let Reading { build, set, access, pull, judging, fleet, knowledge } = reading;
        let first = paths.iter().map(PathBuf::as_path).find(|path| path.exists());
        let settings = Mutex::new(Loaded::new(&judging.config, first, sources)?);
        let keep = !build.no_cache;
        let build =
            Build { args: build, set, stdin_filename: None, jobs: judging.jobs(), settings: &settings, knowledge };
        let mut inputs = Inputs::read(paths, &build, sources);
        settings::of_inputs(&settings, &mut inputs.subjects, fleet, sources)?;
        let platforms: Vec<String> = scan::platforms(fleet, knowledge).iter().map(ToString::to_string).collect();
        let wanted = if pull { pull::wanted(&inputs, &platforms) } else { Wanted::default() };
        let puller = if pull { Some(access::puller(access, &Registries::new(), keep)?) } else { None };
        let pulling = puller.as_ref().map(|puller| (&wanted, puller));
        known::add(&mut inputs, first, pulling, &build, sources);
        if let Some(folder) = folder_of(fleet) {
            inputs.seen_from(&folder);
        }
        for subject in &mut inputs.subjects {
            workloads::note_unplaced(subject, fleet, knowledge);
        }
        let Inputs { subjects, errors, .. } = inputs;
        let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Self { subjects, errors, loaded, stands: Vec::new() })
    }

    /// Calls the subjects something else, and puts them elsewhere for the patterns of the pools.
    pub(crate) fn rename(&mut self, fleet: &Fleet, sources: &mut Sources, name: impl Fn(&str) -> (String, PathBuf)) {
        let folder = folder_of(fleet).and_then(|folder| folder.canonicalize().ok());
        for subject in &mut self.subjects {
            let old = PathBuf::from(&subject.name);
            let (new, place) = name(&subject.name);
            self.loaded.keep(&new, Some(&old), sources);
            let inside = folder.as_deref().and_then(|folder| place.strip_prefix(folder).ok()).unwrap_or(&place);
            (subject.name, subject.path) = (new, inside.display().to_string());
        }
        for error in &mut self.errors {
            error.input = name(&error.input).0;
        }
    }

    /// Shows places below a folder as those of a revision.
    pub(crate) fn stood_in(&mut self, folder: &Path, revision: &str) {
        let (folder, shown) = (format!("{}/", folder.display()), format!("{revision}:"));
        for error in &mut self.errors {
            error.message = error.message.replace(folder.as_str(), &shown);
            if let Some(location) = &mut error.location {
                location.path = location.path.replace(folder.as_str(), &shown);
            }
        }
        self.stands.push((folder, shown));
    }

    /// Shows the places of a fleet file as those of its revision.
    pub(crate) fn shown(&self, fleet: &mut model::Fleet) {
        for pool in &mut fleet.pools {
            let of_fields = pool.fields.iter_mut().filter_map(|field| field.location.as_mut());
            for location in of_fields.chain(&mut pool.location) {
                for (folder, shown) in &self.stands {
                    location.path = location.path.replace(folder.as_str(), shown);
                    location.label = location.label.replace(folder.as_str(), shown);
                }
            }
        }
    }

    fn told(&self, mut judged: model::Subject) -> model::Subject {
        for (folder, shown) in &self.stands {
            let put = |text: &mut String| *text = text.replace(folder.as_str(), shown);
            for finding in &mut judged.findings {
                put(&mut finding.message);
                finding.help.iter_mut().for_each(put);
                for location in &mut finding.locations {
                    put(&mut location.path);
                    put(&mut location.label);
                }
            }
            judged.inspected.notes.iter_mut().for_each(put);
        }
        judged
    }

    fn error(&mut self, input: &str, message: String) {
        self.errors.push(InputError { input: input.to_owned(), message, location: None });
    }

    /// Judges all of it, in some detail.
    pub(crate) fn judged(
        &self,
        reading: Reading<'_>,
        book: &RuleBook,
        sources: &Sources,
        detail: Detail,
    ) -> Vec<model::Subject> {
        let Reading { judging, fleet, knowledge, .. } = reading;
        let settings = Some(Held { loaded: &self.loaded, whole: &[] });
        let subjects = &self.subjects;
        let run = Run { fleet, options: judging, knowledge, sources, settings, command: "check" };
        let judge = Judge::new(run, subjects, book, detail);
        parallel::map(judging.jobs(), subjects, |subject| self.told(judge.judge(subject)))
    }

    /// Judges all of it on each of these parts, and says what was inferred of each subject for some platforms: once for all
    /// of them. Subjects have the order of what was read, part by part.
    pub(crate) fn judged_on(
        &self,
        parts: &[Part<'_>],
        platforms: &[String],
        reading: Reading<'_>,
        (book, sources): (&RuleBook, &Sources),
    ) -> (Vec<Vec<model::Subject>>, Vec<Images>) {
        let Reading { judging, knowledge, .. } = reading;
        let settings = Some(Held { loaded: &self.loaded, whole: &[] });
        let of_part = |part: &Part<'_>| JudgingArgs { pools: part.pools.clone(), ..judging.clone() };
        let options: Vec<JudgingArgs> = parts.iter().map(of_part).collect();
        let runs = parts.iter().zip(&options).map(|(Part { fleet, detail, .. }, options)| {
            (Run { fleet, options, knowledge, sources, settings, command: "check" }, *detail)
        });
        let of_parts: Vec<Judge<'_>> =
            runs.map(|(run, detail)| Judge::new(run, &self.subjects, book, detail)).collect();
        let told = parallel::map(judging.jobs(), &self.subjects, |subject| {
            let inferred = Inferred::default();
            let of_part = |judge: &Judge<'_>| self.told(judge.judge_again(subject, &inferred));
            let judged: Vec<model::Subject> = of_parts.iter().map(of_part).collect();
            let as_of = judging.as_of.or(subject.as_of);
            (judged, Images::known(subject, platforms, as_of, knowledge, &inferred))
        });
        let mut judged: Vec<Vec<model::Subject>> = parts.iter().map(|_| Vec::with_capacity(told.len())).collect();
        let mut images = Vec::with_capacity(told.len());
        for (subjects, own) in told {
            judged.iter_mut().zip(subjects).for_each(|(all, subject)| all.push(subject));
            images.push(own);
        }
        (judged, images)
    }

    /// The report of all of it without its subjects.
    pub(crate) fn head(&self, reading: Reading<'_>, book: &RuleBook, sources: &Sources) -> model::Report {
        let Reading { judging, fleet, knowledge, .. } = reading;
        let run = Run { fleet, options: judging, knowledge, sources, settings: None, command: "check" };
        Judge::new(run, &self.subjects, book, Detail::Fates).head(Vec::new())
    }
}

/// The folder that the patterns of a fleet file mean.
fn folder_of(fleet: &Fleet) -> Option<PathBuf> {
    let folder = Path::new(&fleet.name).parent().filter(|_| !fleet.built_in)?;
    Some(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() })
}
