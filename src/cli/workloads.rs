//! The workloads of a cluster: which images they run, and on which pools.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::builds;
use crate::cli::names;
use crate::cli::scan::ReadImages;
use crate::cli::streams;
use crate::cluster;
use crate::cluster::Command;
use crate::cluster::Start;
use crate::cluster::Workload;
use crate::extract;
use crate::fleet::Fleet;
use crate::fleet::Pool;
use crate::judge;
use crate::judge::Content;
use crate::judge::Only;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Platform;
use crate::oci::PulledImage;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::words::count;
use crate::source::SourceText;
use crate::source::Span;

/// So many pools are named.
const MOST_POOLS: usize = 5;

/// An image, and the workloads that run it; none where it is asked about by itself.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) name: String,
    /// Where a list names it.
    pub(crate) at: Option<Location>,
    /// Each with the place where a manifest names its image.
    pub(crate) workloads: Vec<(Workload, Option<Location>)>,
}

/// A subject, or why there is none.
pub(crate) type Looked = Result<Subject, Box<InputError>>;

impl Asked {
    /// An image by itself.
    pub(crate) fn image(name: String, at: Option<Location>) -> Self {
        Self { name, at, workloads: Vec::new() }
    }

    /// That the image cannot be read, with who runs it and where that is said.
    pub(crate) fn error(&self, message: &str) -> InputError {
        let location = self.at.clone().or_else(|| self.workloads.first()?.1.clone());
        let runs = match self.workloads.as_slice() {
            [] => String::new(),
            [(one, _)] => format!(" (run by {})", one.name),
            [(one, _), rest @ ..] => format!(" (run by {} and {} more)", one.name, rest.len()),
        };
        InputError { input: self.name.clone(), message: format!("{message}{runs}"), location }
    }

    /// The platforms to look at: those of the fleet, and those that workloads ask for.
    pub(crate) fn platforms(&self, of_fleet: &[Platform]) -> Vec<Platform> {
        let mut all = of_fleet.to_vec();
        for asked in self.workloads.iter().filter_map(|(workload, _)| asked_platform(workload)) {
            if !all.iter().any(|known| asked.accepts(known)) {
                all.push(asked);
            }
        }
        all
    }

    /// The image as each workload runs it.
    pub(crate) fn placed(&self, images: &ReadImages, fleet: &Fleet, knowledge: Knowledge) -> Vec<Looked> {
        if self.workloads.is_empty() {
            return vec![Ok(Subject { named_at: self.at.clone(), ..images.subject(PulledImage::clone) })];
        }
        // Workloads that differ in their names, nodes and places see the same.
        let mut seen: BTreeMap<Launched<'_>, Subject> = BTreeMap::new();
        let mut all = Vec::new();
        for (workload, at) in &self.workloads {
            let launched = Launched::of(workload);
            let subject = seen.entry(launched).or_insert_with(|| images.subject(|image| launched.image(image)));
            all.push(Ok(placed(&Subject { named_at: at.clone(), ..subject.clone() }, workload, fleet, knowledge)));
        }
        all
    }
}

/// Variables that choose an interpreter of Python and its packages.
const CHOOSING: [&str; 2] = ["PATH", "PYTHONPATH"];

/// What of a workload decides which program runs, and in which environment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launched<'a> {
    command: &'a Command,
    variables: [Option<&'a Option<String>>; CHOOSING.len()],
}

impl<'a> Launched<'a> {
    fn of(workload: &'a Workload) -> Self {
        Self { command: &workload.command, variables: CHOOSING.map(|name| workload.env.get(name)) }
    }

    /// The image with the words and the variables that it is started with; with none where they are not known.
    fn image(&self, image: &PulledImage) -> PulledImage {
        let mut image = image.clone();
        let config = &mut image.config;
        let words = self.command.over(&config.entrypoint, &config.cmd);
        if words.is_none() {
            config.env.push((CHOOSING[0].to_owned(), String::new()));
        }
        (config.entrypoint, config.cmd) = words.unwrap_or_default();
        if let Some(folder) = &self.command.folder {
            config.working_dir.clone_from(folder);
        }
        for (name, value) in CHOOSING.iter().zip(self.variables) {
            config.env.extend(value.map(|value| ((*name).to_owned(), value.clone().unwrap_or_default())));
        }
        image
    }
}

/// What a file of workloads asks about, by image; and what of it could not be followed.
pub(crate) fn read(path: &Path, password: bool) -> Result<(Vec<Asked>, Vec<InputError>), Failure> {
    let text = names::text(path, password, cluster::LONGEST as u64)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let found = cluster::workloads(&text, &builds::environment(folder), &|path| builds::beside(folder, path))
        .map_err(|error| Failure::Said(format!("error: cannot read {}: {error}", path.display())))?;
    let text = SourceText::new(path.display().to_string(), text);
    let mut images: BTreeMap<String, Vec<(Workload, Option<Location>)>> = BTreeMap::new();
    for workload in found.list {
        let written = workload.written.as_ref().unwrap_or(&workload.image);
        let at = workload.place.0.and_then(|(start, end)| names::place(&text, written, Span::new(start, end)));
        images.entry(workload.image.clone()).or_default().push((workload, at));
    }
    if found.ended > 0 {
        let ended = count(found.ended, "pod");
        let _ = writeln!(streams::err(), "note: {} contains {ended} that ended, which are skipped", path.display());
    }
    if images.is_empty() && found.notes.is_empty() {
        let without = match found.without_gpu {
            0 => "it contains no container".to_owned(),
            number => format!("it contains {} without GPUs", count(number, "container")),
        };
        let _ = writeln!(streams::err(), "note: no container of {} requests a GPU: {without}", path.display());
    }
    let error = |message| InputError { input: path.display().to_string(), message, location: None };
    let errors = found.notes.into_iter().map(error).collect();
    let asked = |(name, workloads)| Asked { name, at: None, workloads };
    Ok((images.into_iter().map(asked).collect(), errors))
}

/// The platform that a workload asks an image of.
fn asked_platform(workload: &Workload) -> Option<Platform> {
    workload.platform.as_ref()?.parse().ok()
}

fn placed(subject: &Subject, workload: &Workload, fleet: &Fleet, knowledge: Knowledge) -> Subject {
    let name = format!("{} ({})", subject.name, workload.name);
    let mut placed = Subject { name, only: Some(Only::Nodes(workload.nodes.clone())), ..subject.clone() };
    if let Some(written) = workload.written.as_ref().filter(|_| workload.of_status) {
        placed.notes.push(format!("{written} runs as {}, according to the status of the pod", workload.image));
    }
    placed.start = workload.start;
    placed.notes.extend(started(fleet, workload.start));
    note_unplaced(&mut placed, fleet, knowledge);
    if let (Some(asked), Content::ByPlatform(list)) = (asked_platform(workload), &mut placed.content) {
        let is_it = |own: &str| own.parse().is_ok_and(|own| asked.accepts(&own));
        if list.iter().any(|(own, _)| is_it(own)) {
            list.retain(|(own, _)| is_it(own));
            placed.images.retain(|image| is_it(&image.platform));
        } else {
            placed.notes.push(format!("the file requests the image for {asked}, which does not exist"));
        }
    }
    if let Content::ByPlatform(list) = &mut placed.content {
        for (_, seen) in list {
            extract::set_at_run_time(seen, &workload.env, workload.env_from);
            if !workload.command.is_of_image() {
                extract::started_at_run_time(seen);
            }
        }
    }
    placed
}

/// That pools declare a launch which does not count, where the file says another.
fn started(fleet: &Fleet, start: Start) -> Option<String> {
    let launch = |pool: &Pool| pool.launch.as_ref().map(|launch| launch.value);
    let other = |pool: &&Pool| {
        launch(pool).is_some_and(|own| pool.started(start).as_ref().and_then(launch).is_some_and(|told| told != own))
    };
    let names: Vec<&str> =
        fleet.pools.iter().filter(other).map(|pool| pool.name.value.as_str()).take(MOST_POOLS).collect();
    (!names.is_empty()).then(|| {
        format!("the file requests GPUs through {}: `launch` of {} is ignored", start.words(), names.join(", "))
    })
}

/// What is noted of a subject that no pool has nodes for.
const UNPLACED: &str = "not checked: no pool of the fleet has the nodes that it requires";

/// Whether no pool has nodes that a subject asks for.
pub(crate) fn unplaced(subject: &Subject, fleet: &Fleet, knowledge: Knowledge) -> bool {
    matches!(subject.only, Some(Only::Nodes(_)))
        && !fleet.pools.iter().any(|pool| judge::fits(subject, pool, fleet, knowledge))
}

/// Notes that no pool has nodes that a subject asks for, where that is so; a saved report may say it of another fleet.
pub(crate) fn note_unplaced(subject: &mut Subject, fleet: &Fleet, knowledge: Knowledge) {
    subject.notes.retain(|note| note != UNPLACED);
    if unplaced(subject, fleet, knowledge) {
        subject.notes.insert(0, UNPLACED.to_owned());
    }
}
