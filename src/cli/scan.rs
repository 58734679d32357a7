//! `imagelint scan`: judges images from registries, archives and container engines, by their configuration, SBOM or
//! layers, and the workloads of a cluster. Each subject is printed as soon as it is complete.

use std::collections::BTreeMap;
use std::io;
use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::cli::args::{ProgressMode, ScanArgs, ScanDepth};
use crate::cli::baseline::BaselineFilter;
use crate::cli::error::CommandError;
use crate::cli::exit::{Exit, ExitTally};
use crate::cli::image_names::ImageNames;
use crate::cli::judging::{Judge, JudgingRun};
use crate::cli::layers::{ImageLayers, LayerScanner};
use crate::cli::progress::ScanProgress;
use crate::cli::settings::{LoadedSettings, RunSettings};
use crate::cli::text_file::not_an_image_error;
use crate::cli::{build_definitions, fleet_file, image_names, judging, parallel, registry_access, settings, streams};
use crate::fleet::cluster::{ContainerCommand, Start, Workload};
use crate::fleet::{Fleet, Pool, cluster};
use crate::judge::{AnalysisSubject, PoolRestriction, ReportDetail, SubjectContent};
use crate::knowledge::Knowledge;
use crate::model::fact::Observations;
use crate::model::note::Note;
use crate::model::reference::ImageReference;
use crate::registry::{ImageSbom, ImageSource, LayerBlobs, OpenedImages, Platform, PullProblem, PulledImage, Puller};
use crate::report::escape::escape_one_line;
use crate::report::kinds::SubjectKind;
use crate::report::model::{ImageOf, InputError, Location};
use crate::report::ndjson;
use crate::report::ndjson::{Line, SubjectCounts};
use crate::report::phrases::pluralize;
use crate::rules::RuleBook;
use crate::text::source::{SourceText, Sources, Span};
use crate::{extract, judge};

/// Default number of images read in parallel; most of the time is spent waiting for a registry.
const DEFAULT_PARALLEL_IMAGES: usize = 4;

/// Runs `imagelint scan`.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    judging::check_report_files(&options.judging)?;
    let mut sources = Sources::default();
    let loaded = LoadedSettings::new(&options.judging.config, None, &mut sources)?;
    let judging = loaded.merge_with_options(&options.judging, &sources)?;
    let mut fleet = fleet_file::load_fleet(&judging, None, knowledge, &mut sources)?;
    let book = judging::custom_rule_book(&judging)?;
    settings::check_names_in_settings(&loaded, book.as_ref(), &fleet, &options.judging)?;
    if judging.config.show_settings {
        return settings::show_settings(&loaded, &judging, &options.judging, &[], &fleet.name, &sources);
    }
    judging::warn_about_empty_rule_folders(&judging)?;
    retain_pools_with_platforms(&mut fleet, &options.platforms, knowledge)?;
    let platforms = fleet_platforms(&fleet, knowledge);
    let refused = |name: &String| untrusted_registry_error(&loaded, name, &sources);
    if let Some(error) = options.images.iter().find_map(|name| not_an_image_error(name)) {
        return Err(CommandError::Message(format!("error: {error}")));
    }
    let (mut requested, places) = image_names::requested_names(options)?;
    let mut left = Vec::new();
    requested.retain(|name| options.images.contains(name) || refused(name).map(|error| left.push(error)).is_none());
    let (mut cluster, unplaced) = match &options.from_kubernetes {
        Some(path) => read_workloads(path, options.access.password_stdin)?,
        None => Default::default(),
    };
    cluster.retain(|one| refused(&one.name).map(|error| left.push(error)).is_none());
    let named = registry_access::registry_hosts(options.images.iter().map(String::as_str));
    let puller = registry_access::create_puller(&options.access, &named, !options.no_cache)?;
    let ImageNames { list, mut errors } = image_names::expand_names(requested, options, &puller)?;
    errors.extend(left);
    errors.extend(unplaced);
    let image = |name: String| {
        let at = image_names::location_of_image(&name, &places);
        RequestedImage::without_workloads(name, at)
    };
    let list: Vec<RequestedImage> = list.into_iter().map(image).chain(cluster).collect();
    let progress = ScanProgress::new(options.progress, list.len());
    let layers = LayerScanner::new(options.max_layer_bytes, options.judging.jobs(), !options.no_cache, &progress);
    let looking = ImageReader { depth: options.depth, layers: &layers };
    // A repository may contain artifacts besides images, which the user did not name.
    let of_tags = image_names::expands_tags(options);
    let look = |request: &RequestedImage| {
        let name = &request.name;
        progress.begin_image(name);
        let opened = if request.workloads.is_empty() {
            looking.open(&puller, name, &platforms)
        } else {
            open_registry_image(&puller, name, &request.platforms_to_read(&platforms))
        };
        let looked = opened.map(|opened| InspectedImages::read_all(name, &opened, looking));
        progress.finish_image(name);
        match looked {
            Ok(images) => {
                let faults = images.input_errors().into_iter().map(|fault| Err(Box::new(fault)));
                request.subjects(&images, &fleet, knowledge).into_iter().chain(faults).collect()
            }
            Err(error) if of_tags && request.workloads.is_empty() && error.is_artifact => {
                let note = format!("note: {name} is skipped: {}", image_names::strip_name_prefix(&error.message, name));
                progress.suspend_bars(|| drop(writeln!(streams::stderr(), "{}", escape_one_line(&note))));
                Vec::new()
            }
            Err(error) => {
                let message = image_names::strip_name_prefix(&error.message, name).to_owned();
                vec![Err(Box::new(request.read_error(&message)))]
            }
        }
    };
    let jobs = options.judging.jobs.map_or(DEFAULT_PARALLEL_IMAGES, NonZero::get);
    let (options, sources) = (&judging, &sources);
    let settings = Some(RunSettings { loaded: &loaded, whole: &[] });
    let run = JudgingRun { fleet: &fleet, options, knowledge, sources, settings, command: "scan" };
    let exit = if judging::is_ndjson_only(options) {
        let each = SubjectSource { items: &list, jobs, look: &look, progress: &progress };
        judge_and_stream(run, errors, &each)
    } else {
        let mut subjects = Vec::new();
        for looked in parallel::map(jobs, &list, look).into_iter().flatten() {
            match looked {
                Ok(subject) => subjects.push(subject),
                Err(error) => errors.push(*error),
            }
        }
        progress.finish();
        judging::judge_and_print(run, subjects, errors)
    };
    if let Some(why) = layers.cache_error() {
        let _ = writeln!(streams::stderr(), "note: {why}; later runs read all layers again");
    }
    exit
}

/// Returns the input error of an image whose registry the settings do not trust.
fn untrusted_registry_error(loaded: &LoadedSettings, name: &str, sources: &Sources) -> Option<InputError> {
    let Ok(ImageSource::Registry(reference)) = ImageSource::parse(name) else { return None };
    let message = loaded.untrusted_registry_message(reference.registry(), sources)?;
    Some(InputError { input: name.to_owned(), message, location: None })
}

/// Removes the pools without a node of one of these platforms; an empty list keeps all pools.
fn retain_pools_with_platforms(
    fleet: &mut Fleet,
    platforms: &[String],
    knowledge: Knowledge,
) -> Result<(), CommandError> {
    let requested: Vec<Platform> = platforms.iter().filter_map(|text| text.parse().ok()).collect();
    if requested.is_empty() {
        return Ok(());
    }
    let of =
        |text: &str| text.parse::<Platform>().is_ok_and(|own| requested.iter().any(|platform| platform.accepts(&own)));
    fleet.pools.retain(|pool| pool.hosts(knowledge, None).iter().any(|host| of(&host.platform)));
    if fleet.pools.is_empty() {
        return Err(CommandError::Message(format!(
            "error: no pool of the fleet has the platform {}",
            platforms.join(" or ")
        )));
    }
    Ok(())
}

/// Returns all platforms of the hosts of a fleet.
pub(crate) fn fleet_platforms(fleet: &Fleet, knowledge: Knowledge) -> Vec<Platform> {
    let mut found: Vec<Platform> = Vec::new();
    let hosts = fleet.pools.iter().flat_map(|pool| pool.hosts(knowledge, None));
    for platform in hosts.filter_map(|host| host.platform.parse().ok()) {
        if !found.contains(&platform) {
            found.push(platform);
        }
    }
    found
}

/// Reads one image with its layers; if none of the platforms exists, all platforms of the image are read.
pub(crate) fn read_image_with_layers(
    name: &str,
    platforms: &[Platform],
    puller: &Puller,
    cached: bool,
) -> Result<AnalysisSubject, String> {
    let progress = ScanProgress::new(ProgressMode::None, 1);
    let layers = LayerScanner::new(None, parallel::default_jobs(), cached, &progress);
    let look = ImageReader { depth: ScanDepth::Layers, layers: &layers };
    let opened = look.open(puller, name, platforms).map_err(|error| error.message)?;
    Ok(InspectedImages::read_all(name, &opened, look).build_subject(PulledImage::clone))
}

/// Pulls the images of a `FROM` reference, which always names an image in a registry.
pub(crate) fn pull_reference(
    reference: &ImageReference,
    platforms: &[Platform],
    puller: &Puller,
) -> Result<Vec<PulledImage>, String> {
    let opened = open_source(puller, &ImageSource::Registry(reference.clone()), platforms, ScanDepth::Config);
    opened.map(|opened| opened.images).map_err(|error| error.message)
}

/// Opens the image of a workload, which is always an image in a registry.
fn open_registry_image(puller: &Puller, name: &str, platforms: &[Platform]) -> Result<OpenedImages, ImageOpenError> {
    let reference = ImageReference::parse(name).map_err(|error| ImageOpenError::from_error(&error))?;
    open_source(puller, &ImageSource::Registry(reference), platforms, ScanDepth::Layers)
}

/// Reason why an image could not be opened.
pub(crate) struct ImageOpenError {
    pub(crate) message: String,
    /// Whether the reference names an artifact that is not a container image.
    is_artifact: bool,
}

impl ImageOpenError {
    /// Creates the reason from an error.
    fn from_error(error: &impl ToString) -> Self {
        Self { message: error.to_string(), is_artifact: false }
    }
}

/// Opens an image for some platforms; if none of them exists, opens all platforms of the image.
fn open_source(
    puller: &Puller,
    source: &ImageSource,
    platforms: &[Platform],
    depth: ScanDepth,
) -> Result<OpenedImages, ImageOpenError> {
    let open = |platforms: &[Platform]| match depth {
        ScanDepth::Layers => puller.open(source, platforms),
        ScanDepth::Config | ScanDepth::Sbom => puller.open_config(source, platforms),
    };
    match open(platforms) {
        Err(error) if matches!(*error.problem, PullProblem::MissingPlatform { .. }) => open(&[]),
        other => other,
    }
    .map_err(|error| ImageOpenError {
        is_artifact: matches!(*error.problem, PullProblem::NotAnImage { .. }),
        ..ImageOpenError::from_error(&error)
    })
}

/// Reads images to a certain depth: configuration, SBOM or layers.
#[derive(Clone, Copy)]
pub(crate) struct ImageReader<'a> {
    pub(crate) depth: ScanDepth,
    pub(crate) layers: &'a LayerScanner<'a>,
}

impl ImageReader<'_> {
    /// Opens the images of a name from the command line or a list.
    pub(crate) fn open(
        self,
        puller: &Puller,
        name: &str,
        platforms: &[Platform],
    ) -> Result<OpenedImages, ImageOpenError> {
        let source = ImageSource::parse(name).map_err(|error| ImageOpenError::from_error(&error))?;
        open_source(puller, &source, platforms, self.depth).map_err(|error| match source.same_name_note(name) {
            Some(note) => ImageOpenError { message: format!("{}; {note}", error.message), ..error },
            None => error,
        })
    }

    /// Returns the observations about one image, notes on skipped parts, and errors of parts that could not be
    /// inspected.
    pub(crate) fn observations(
        self,
        image: &PulledImage,
        blobs: &LayerBlobs,
    ) -> (Observations, Vec<Note>, Vec<String>) {
        let read = self.read(image, blobs);
        let (seen, notes) = read.observations(image);
        (seen, notes, read.faults().to_vec())
    }

    /// Reads as much of an image as the depth requires.
    fn read(self, image: &PulledImage, blobs: &LayerBlobs) -> ImageContents {
        match self.depth {
            ScanDepth::Config => ImageContents::Config(None),
            ScanDepth::Sbom => match blobs.sbom(image) {
                Ok(Some(claims)) => ImageContents::Claims(claims),
                Ok(None) => {
                    let note = "found no list of packages (SBOM) for the image: only its configuration was read";
                    ImageContents::Config(Some(note.to_owned()))
                }
                Err(error) => ImageContents::Config(Some(format!(
                    "cannot read the list of packages (SBOM) of the image, only its configuration was read: {error}"
                ))),
            },
            ScanDepth::Layers => ImageContents::Layers(self.layers.read_image_layers(image, blobs)),
        }
    }
}

/// The parts of an image that were read.
enum ImageContents {
    /// The configuration only, with a note why nothing else was read.
    Config(Option<String>),
    /// The configuration and the SBOM.
    Claims(ImageSbom),
    /// The configuration and all layers.
    Layers(ImageLayers),
}

impl ImageContents {
    /// Returns the observations and notes about an image with this configuration.
    fn observations(&self, image: &PulledImage) -> (Observations, Vec<Note>) {
        match self {
            Self::Config(note) => (extract::observe_config(image), note.iter().cloned().map(Note::from).collect()),
            Self::Claims(claims) => extract::observe_sbom(image, claims),
            Self::Layers(stacked) => stacked.observations(image),
        }
    }

    /// Returns the errors of parts that could not be inspected.
    fn faults(&self) -> &[String] {
        match self {
            Self::Layers(stacked) => stacked.faults(),
            Self::Config(_) | Self::Claims(_) => &[],
        }
    }
}

/// The images of one name, one per platform, with the contents read of each.
pub(crate) struct InspectedImages {
    name: String,
    digest: Option<String>,
    list: Vec<(PulledImage, ImageContents)>,
}

impl InspectedImages {
    /// Reads the contents of all opened images.
    fn read_all(name: &str, opened: &OpenedImages, look: ImageReader<'_>) -> Self {
        let read = |image: &PulledImage| (image.clone(), look.read(image, &opened.blobs));
        Self { name: name.to_owned(), digest: opened_digest(opened), list: opened.images.iter().map(read).collect() }
    }

    /// Returns the errors of parts that could not be inspected, in addition to the verdicts on the other parts.
    pub(crate) fn input_errors(&self) -> Vec<InputError> {
        let all = self.list.iter().flat_map(|(image, read)| {
            let platform = &image.config.platform;
            let named =
                |fault: &String| if self.list.len() > 1 { format!("{platform}: {fault}") } else { fault.clone() };
            read.faults().iter().map(named).collect::<Vec<_>>()
        });
        all.map(|message| InputError { input: self.name.clone(), message, location: None }).collect()
    }

    /// Builds one subject of all images; `started` applies the command and environment of a workload to each.
    pub(crate) fn build_subject(&self, started: impl Fn(&PulledImage) -> PulledImage) -> AnalysisSubject {
        let (mut list, mut notes) = (Vec::new(), Vec::new());
        for (image, read) in &self.list {
            let platform = image.config.platform.to_string();
            let (seen, image_notes) = read.observations(&started(image));
            let several = self.list.len() > 1;
            let named = |note: Note| if several { note.on_platform(&platform) } else { note };
            notes.extend(image_notes.into_iter().map(named));
            list.push((platform, seen));
        }
        AnalysisSubject {
            name: self.name.clone(),
            path: self.name.clone(),
            kind: SubjectKind::Image,
            digest: self.digest.clone(),
            images: image_digests(self.list.iter().map(|(image, _)| image)),
            notes,
            as_of: None,
            only: None,
            start: Start::default(),
            named_at: None,
            content: SubjectContent::ByPlatform(list),
        }
    }
}

/// Returns the platform and the digests of each image.
pub(crate) fn image_digests<'a>(all: impl Iterator<Item = &'a PulledImage>) -> Vec<ImageOf> {
    let of = |image: &PulledImage| ImageOf {
        platform: image.config.platform.to_string(),
        manifest: image.manifest_digest.clone(),
        index: image.index_digest.clone(),
    };
    all.map(of).collect()
}

/// Returns the digest that the image reference resolves to.
pub(crate) fn opened_digest(opened: &OpenedImages) -> Option<String> {
    let image = opened.images.first()?;
    Some(image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()))
}

/// Items, and the function that reads the subjects of each item.
pub(crate) struct SubjectSource<'a, T, F> {
    pub(crate) items: &'a [T],
    pub(crate) jobs: usize,
    pub(crate) look: &'a F,
    pub(crate) progress: &'a ScanProgress,
}

/// State of a report that is printed line by line.
#[derive(Default)]
struct StreamedReport {
    counts: SubjectCounts,
    tally: ExitTally,
    errors: Vec<InputError>,
    /// Why the output can no longer be written, if so.
    broken: Option<io::Error>,
}

impl StreamedReport {
    /// Prints one line, unless an earlier one could not be printed.
    fn print_line(&mut self, line: &Line<'_>, progress: &ScanProgress) {
        if self.broken.is_none() {
            let outcome = progress.suspend_bars(|| {
                let mut out = io::BufWriter::new(streams::stdout());
                ndjson::write_ndjson_line(line, &mut out).and_then(|()| out.flush())
            });
            self.broken = outcome.err();
        }
    }

    /// Prints an error, and stores it for the summary.
    fn print_error(&mut self, error: InputError, progress: &ScanProgress) {
        self.print_line(&Line::Error(&error), progress);
        self.errors.push(error);
    }
}

/// Judges each subject and prints a line for it, and a summary line at the end.
fn judge_and_stream<T, F>(
    run: JudgingRun<'_>,
    errors: Vec<InputError>,
    each: &SubjectSource<'_, T, F>,
) -> Result<Exit, CommandError>
where
    T: Sync,
    F: Fn(&T) -> Vec<WorkloadResult> + Sync,
{
    let own = judging::custom_rule_book(run.options)?;
    let book = own.as_ref().unwrap_or(RuleBook::built_in());
    let judge = Judge::new(run, &[], book, ReportDetail::Everything);
    let sieve = Mutex::new(BaselineFilter::new(run.options, run.sources, book)?);
    let sieved = || sieve.lock().unwrap_or_else(PoisonError::into_inner);
    let writes = sieved().writes_baseline();
    let progress = each.progress;
    let report = Mutex::new(StreamedReport::default());
    let lock = || report.lock().unwrap_or_else(PoisonError::into_inner);
    for error in errors {
        lock().print_error(error, progress);
    }
    parallel::map(each.jobs, each.items, |item| {
        if lock().broken.is_some() {
            return;
        }
        for looked in (each.look)(item) {
            match looked {
                Ok(subject) => {
                    let judged = sieved().filter_subject(judge.judge(&subject));
                    let mut report = lock();
                    report.counts.add_subject(&judged);
                    report.tally.add(&judged, run.options.fail_on());
                    if writes {
                        continue;
                    }
                    report.print_line(&Line::Subject(&judged), progress);
                }
                Err(error) => lock().print_error(*error, progress),
            }
        }
    });
    progress.finish();
    let mut sieve = sieve.into_inner().unwrap_or_else(PoisonError::into_inner);
    if writes {
        sieve.write_baseline()?;
        let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        judging::print_ignored_errors(&report.errors, run.options)?;
        return Ok(report.tally.exit(&report.errors, run.options.exit.allow_incomplete));
    }
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    for subject in judge.settings_with_unused_suppressions() {
        report.tally.add(&subject, run.options.fail_on());
        report.print_line(&Line::Subject(&subject), progress);
    }
    let head = judge.report_head(std::mem::take(&mut report.errors));
    let summary = std::mem::take(&mut report.counts).into_summary(&head);
    report.print_line(&Line::Summary(summary), progress);
    if let Some(error) = report.broken {
        return Err(error.into());
    }
    sieve.report_hidden_findings(run.options, &[], book)?;
    judging::print_ignored_errors(&head.errors, run.options)?;
    Ok(report.tally.exit(&head.errors, run.options.exit.allow_incomplete))
}

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
        for platform in self.workloads.iter().filter_map(|(workload, _)| requested_platform(workload)) {
            if !all.iter().any(|known| platform.accepts(known)) {
                all.push(platform);
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
    .map_err(|error| CommandError::Message(format!("error: cannot read {}: {error}", path.display())))?;
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
    let requested_image = |(name, workloads)| RequestedImage { name, at: None, workloads };
    Ok((images.into_iter().map(requested_image).collect(), errors))
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
        placed.notes.push(format!("{written} runs as {}, according to the status of the pod", workload.image).into());
    }
    placed.start = workload.start;
    placed.notes.extend(ignored_launch_note(fleet, workload.start).map(Note::from));
    note_missing_pool(&mut placed, fleet, knowledge);
    if let (Some(platform), SubjectContent::ByPlatform(list)) = (requested_platform(workload), &mut placed.content) {
        let is_it = |own: &str| own.parse().is_ok_and(|own| platform.accepts(&own));
        if list.iter().any(|(own, _)| is_it(own)) {
            list.retain(|(own, _)| is_it(own));
            placed.images.retain(|image| is_it(&image.platform));
        } else {
            placed.notes.push(format!("the file requests the image for {platform}, which does not exist").into());
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
        launch(pool).is_some_and(|own| {
            pool.for_start(start).as_ref().and_then(launch).is_some_and(|effective| effective != own)
        })
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

/// Whether no pool has the nodes that a subject requires.
pub(crate) fn has_no_matching_pool(subject: &AnalysisSubject, fleet: &Fleet, knowledge: Knowledge) -> bool {
    matches!(subject.only, Some(PoolRestriction::Nodes(_)))
        && !fleet.pools.iter().any(|pool| judge::matches_restriction(subject, pool, fleet, knowledge))
}

/// Adds a note if no pool has the nodes that a subject requires; a note from a saved report is removed first.
pub(crate) fn note_missing_pool(subject: &mut AnalysisSubject, fleet: &Fleet, knowledge: Knowledge) {
    subject.notes.retain(|note| !note.is_no_pool());
    if has_no_matching_pool(subject, fleet, knowledge) {
        subject.notes.insert(0, Note::no_pool());
    }
}
