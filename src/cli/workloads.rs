//! Workloads of a cluster: the images they run, and the pools they run on.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use crate::cli::scan::InspectedImages;
use crate::cli::{CommandError, build_definitions, image_names, streams};
use crate::cluster::{ContainerCommand, Start, Workload};
use crate::fleet::{Fleet, Pool};
use crate::judge::{AnalysisSubject, PoolRestriction, SubjectContent};
use crate::knowledge::Knowledge;
use crate::oci::{Platform, PulledImage};
use crate::report::model::{InputError, Location};
use crate::report::phrases::pluralize;
use crate::source::{SourceText, Span};
use crate::{cluster, extract, judge};

/// Largest number of pools named in a note.
const MAX_NAMED_POOLS: usize = 5;

/// An image to scan with the workloads that run it; without workloads if it comes from the command line or a list.
#[derive(Debug)]
pub(crate) struct RequestedImage {
    pub(crate) name: String,
    /// The location in the list file that names the image.
    pub(crate) at: Option<Location>,
    /// The workloads, each with the location in the manifest that names its image.
    pub(crate) workloads: Vec<(Workload, Option<Location>)>,
}

/// A subject, or the error why there is none.
pub(crate) type WorkloadResult = Result<AnalysisSubject, Box<InputError>>;

impl RequestedImage {
    /// Creates an image to scan that no workload runs.
    pub(crate) fn without_workloads(name: String, at: Option<Location>) -> Self {
        Self { name, at, workloads: Vec::new() }
    }

    /// Returns the input error for an image that cannot be read, with its workloads and its location.
    pub(crate) fn read_error(&self, message: &str) -> InputError {
        let location = self.at.clone().or_else(|| self.workloads.first()?.1.clone());
        let runs = match self.workloads.as_slice() {
            [] => String::new(),
            [(one, _)] => format!(" (run by {})", one.name),
            [(one, _), rest @ ..] => format!(" (run by {} and {} more)", one.name, rest.len()),
        };
        InputError { input: self.name.clone(), message: format!("{message}{runs}"), location }
    }

    /// Returns the platforms to read: those of the fleet and those that workloads request.
    pub(crate) fn platforms_to_read(&self, of_fleet: &[Platform]) -> Vec<Platform> {
        let mut all = of_fleet.to_vec();
        for asked in self.workloads.iter().filter_map(|(workload, _)| requested_platform(workload)) {
            if !all.iter().any(|known| asked.accepts(known)) {
                all.push(asked);
            }
        }
        all
    }

    /// Returns the image as a subject for each workload that runs it.
    pub(crate) fn subjects(
        &self,
        images: &InspectedImages,
        fleet: &Fleet,
        knowledge: Knowledge,
    ) -> Vec<WorkloadResult> {
        if self.workloads.is_empty() {
            return vec![Ok(AnalysisSubject { named_at: self.at.clone(), ..images.build_subject(PulledImage::clone) })];
        }
        // Workloads that differ in their names, nodes and places see the same.
        let mut seen: BTreeMap<LaunchOverrides<'_>, AnalysisSubject> = BTreeMap::new();
        let mut all = Vec::new();
        for (workload, at) in &self.workloads {
            let launched = LaunchOverrides::from_workload(workload);
            let subject =
                seen.entry(launched).or_insert_with(|| images.build_subject(|image| launched.apply_to_image(image)));
            all.push(Ok(subject_on_nodes(
                &AnalysisSubject { named_at: at.clone(), ..subject.clone() },
                workload,
                fleet,
                knowledge,
            )));
        }
        all
    }
}

/// Environment variables that select the Python interpreter and its packages.
const INTERPRETER_VARIABLES: [&str; 2] = ["PATH", "PYTHONPATH"];

/// The settings of a workload that determine which program runs in which environment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LaunchOverrides<'a> {
    command: &'a ContainerCommand,
    variables: [Option<&'a Option<String>>; INTERPRETER_VARIABLES.len()],
}

impl<'a> LaunchOverrides<'a> {
    /// Returns the overrides of a workload.
    fn from_workload(workload: &'a Workload) -> Self {
        Self { command: &workload.command, variables: INTERPRETER_VARIABLES.map(|name| workload.env.get(name)) }
    }

    /// Returns the image with command and environment of the workload; without a command if it is unknown.
    fn apply_to_image(&self, image: &PulledImage) -> PulledImage {
        let mut image = image.clone();
        let config = &mut image.config;
        let words = self.command.resolve(&config.entrypoint, &config.cmd);
        if words.is_none() {
            config.env.push((INTERPRETER_VARIABLES[0].to_owned(), String::new()));
        }
        (config.entrypoint, config.cmd) = words.unwrap_or_default();
        if let Some(folder) = &self.command.folder {
            config.working_dir.clone_from(folder);
        }
        for (name, value) in INTERPRETER_VARIABLES.iter().zip(self.variables) {
            config.env.extend(value.map(|value| ((*name).to_owned(), value.clone().unwrap_or_default())));
        }
        image
    }
}

/// Reads a file of workloads; returns the images to scan, and the errors of parts that could not be resolved.
pub(crate) fn read_workloads(
    path: &Path,
    password: bool,
) -> Result<(Vec<RequestedImage>, Vec<InputError>), CommandError> {
    let text = image_names::read_file_or_stdin(path, password, cluster::MAX_FILE_BYTES as u64)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let found = cluster::read_workloads(&text, &build_definitions::read_env_file(folder), &|path| {
        build_definitions::read_referenced_file(folder, path)
    })
    .map_err(|error| CommandError::Said(format!("error: cannot read {}: {error}", path.display())))?;
    let text = SourceText::new(path.display().to_string(), text);
    let mut images: BTreeMap<String, Vec<(Workload, Option<Location>)>> = BTreeMap::new();
    for workload in found.list {
        let written = workload.written.as_ref().unwrap_or(&workload.image);
        let at = workload
            .image_span
            .0
            .and_then(|(start, end)| image_names::name_location(&text, written, Span::new(start, end)));
        images.entry(workload.image.clone()).or_default().push((workload, at));
    }
    if found.ended > 0 {
        let ended = pluralize(found.ended, "pod");
        let _ = writeln!(streams::stderr(), "note: {} contains {ended} that ended, which are skipped", path.display());
    }
    if images.is_empty() && found.notes.is_empty() {
        let without = match found.without_gpu {
            0 => "it contains no container".to_owned(),
            number => format!("it contains {} without GPUs", pluralize(number, "container")),
        };
        let _ = writeln!(streams::stderr(), "note: no container of {} requests a GPU: {without}", path.display());
    }
    let error = |message| InputError { input: path.display().to_string(), message, location: None };
    let errors = found.notes.into_iter().map(error).collect();
    let asked = |(name, workloads)| RequestedImage { name, at: None, workloads };
    Ok((images.into_iter().map(asked).collect(), errors))
}

/// Returns the platform that a workload requests.
fn requested_platform(workload: &Workload) -> Option<Platform> {
    workload.platform.as_ref()?.parse().ok()
}

/// Returns a subject as a workload runs it: its nodes, platform, environment and command.
fn subject_on_nodes(
    subject: &AnalysisSubject,
    workload: &Workload,
    fleet: &Fleet,
    knowledge: Knowledge,
) -> AnalysisSubject {
    let name = format!("{} ({})", subject.name, workload.name);
    let mut placed =
        AnalysisSubject { name, only: Some(PoolRestriction::Nodes(workload.nodes.clone())), ..subject.clone() };
    if let Some(written) = workload.written.as_ref().filter(|_| workload.is_from_status) {
        placed.notes.push(format!("{written} runs as {}, according to the status of the pod", workload.image));
    }
    placed.start = workload.start;
    placed.notes.extend(ignored_launch_note(fleet, workload.start));
    note_missing_pool(&mut placed, fleet, knowledge);
    if let (Some(asked), SubjectContent::ByPlatform(list)) = (requested_platform(workload), &mut placed.content) {
        let is_it = |own: &str| own.parse().is_ok_and(|own| asked.accepts(&own));
        if list.iter().any(|(own, _)| is_it(own)) {
            list.retain(|(own, _)| is_it(own));
            placed.images.retain(|image| is_it(&image.platform));
        } else {
            placed.notes.push(format!("the file requests the image for {asked}, which does not exist"));
        }
    }
    if let SubjectContent::ByPlatform(list) = &mut placed.content {
        for (_, seen) in list {
            extract::set_start_variables(seen, &workload.env, workload.env_from);
            if !workload.command.is_image_default() {
                extract::mark_entrypoint_overridden(seen);
            }
        }
    }
    placed
}

/// Returns a note on pools whose `launch` is ignored because the workload requests GPUs in another manner.
fn ignored_launch_note(fleet: &Fleet, start: Start) -> Option<String> {
    let launch = |pool: &Pool| pool.launch.as_ref().map(|launch| launch.value);
    let other = |pool: &&Pool| {
        launch(pool).is_some_and(|own| pool.for_start(start).as_ref().and_then(launch).is_some_and(|told| told != own))
    };
    let names: Vec<&str> =
        fleet.pools.iter().filter(other).map(|pool| pool.name.value.as_str()).take(MAX_NAMED_POOLS).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the file requests GPUs through {}: `launch` of {} is ignored",
            start.setting_description(),
            names.join(", ")
        )
    })
}

/// The note of a subject whose required nodes no pool has.
const NO_POOL_NOTE: &str = "not checked: no pool of the fleet has the nodes that it requires";

/// Whether no pool has the nodes that a subject requires.
pub(crate) fn has_no_matching_pool(subject: &AnalysisSubject, fleet: &Fleet, knowledge: Knowledge) -> bool {
    matches!(subject.only, Some(PoolRestriction::Nodes(_)))
        && !fleet.pools.iter().any(|pool| judge::matches_restriction(subject, pool, fleet, knowledge))
}

/// Adds a note if no pool has the nodes that a subject requires; a note from a saved report is removed first.
pub(crate) fn note_missing_pool(subject: &mut AnalysisSubject, fleet: &Fleet, knowledge: Knowledge) {
    subject.notes.retain(|note| note != NO_POOL_NOTE);
    if has_no_matching_pool(subject, fleet, knowledge) {
        subject.notes.insert(0, NO_POOL_NOTE.to_owned());
    }
}
