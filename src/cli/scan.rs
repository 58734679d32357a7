//! `imagelint scan`: judges images from registries, archives and container engines, by their configuration, SBOM or
//! layers.

use std::io::Write as _;
use std::num::NonZero;

use crate::cli::args::{ProgressMode, ScanArgs, ScanDepth};
use crate::cli::exit::Exit;
use crate::cli::image_names::ImageNames;
use crate::cli::judging::JudgingRun;
use crate::cli::layers::{ImageLayers, LayerScanner};
use crate::cli::progress::ScanProgress;
use crate::cli::settings::{LoadedSettings, RunSettings};
use crate::cli::streamed_report::SubjectSource;
use crate::cli::workloads::RequestedImage;
use crate::cli::{
    CommandError, fleet_file, image_names, input_texts, judging, parallel, registry_access, report_output, settings,
    streamed_report, streams, workloads,
};
use crate::cluster::Start;
use crate::extract;
use crate::fact::Observations;
use crate::fleet::Fleet;
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::knowledge::Knowledge;
use crate::oci::{ImageSbom, ImageSource, LayerBlobs, OpenedImages, Platform, PullProblem, PulledImage, Puller};
use crate::reference::ImageReference;
use crate::report::escape::escape_one_line;
use crate::report::kinds::SubjectKind;
use crate::report::model::{ImageOf, InputError};
use crate::source::Sources;

/// Default number of images read in parallel; most of the time is spent waiting for a registry.
const DEFAULT_PARALLEL_IMAGES: usize = 4;

/// Runs `imagelint scan`.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    report_output::check_report_files(&options.judging)?;
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
    if let Some(error) = options.images.iter().find_map(|name| input_texts::not_an_image_error(name)) {
        return Err(CommandError::Said(format!("error: {error}")));
    }
    let (mut asked, places) = image_names::requested_names(options)?;
    let mut left = Vec::new();
    asked.retain(|name| options.images.contains(name) || refused(name).map(|error| left.push(error)).is_none());
    let (mut cluster, unplaced) = match &options.from_kubernetes {
        Some(path) => workloads::read_workloads(path, options.access.password_stdin)?,
        None => Default::default(),
    };
    cluster.retain(|one| refused(&one.name).map(|error| left.push(error)).is_none());
    let named = registry_access::registry_hosts(options.images.iter().map(String::as_str));
    let puller = registry_access::create_puller(&options.access, &named, !options.no_cache)?;
    let ImageNames { list, mut errors } = image_names::expand_names(asked, options, &puller)?;
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
    // A repository may hold artifacts beside images: who asks for its tags did not name them.
    let of_tags = image_names::expands_tags(options);
    let look = |asked: &RequestedImage| {
        let name = &asked.name;
        progress.begin_image(name);
        let opened = if asked.workloads.is_empty() {
            looking.open(&puller, name, &platforms)
        } else {
            open_registry_image(&puller, name, &asked.platforms_to_read(&platforms))
        };
        let looked = opened.map(|opened| InspectedImages::read_all(name, &opened, looking));
        progress.finish_image(name);
        match looked {
            Ok(images) => {
                let faults = images.input_errors().into_iter().map(|fault| Err(Box::new(fault)));
                asked.subjects(&images, &fleet, knowledge).into_iter().chain(faults).collect()
            }
            Err(error) if of_tags && asked.workloads.is_empty() && error.is_artifact => {
                let note = format!("note: {name} is skipped: {}", image_names::strip_name_prefix(&error.message, name));
                progress.suspend_bars(|| drop(writeln!(streams::stderr(), "{}", escape_one_line(&note))));
                Vec::new()
            }
            Err(error) => {
                let message = image_names::strip_name_prefix(&error.message, name).to_owned();
                vec![Err(Box::new(asked.read_error(&message)))]
            }
        }
    };
    let jobs = options.judging.jobs.map_or(DEFAULT_PARALLEL_IMAGES, NonZero::get);
    let (options, sources) = (&judging, &sources);
    let settings = Some(RunSettings { loaded: &loaded, whole: &[] });
    let run = JudgingRun { fleet: &fleet, options, knowledge, sources, settings, command: "scan" };
    let exit = if report_output::is_ndjson_only(options) {
        let each = SubjectSource { items: &list, jobs, look: &look, progress: &progress };
        streamed_report::judge_and_stream(run, errors, &each)
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
    let asked: Vec<Platform> = platforms.iter().filter_map(|text| text.parse().ok()).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let of = |text: &str| text.parse::<Platform>().is_ok_and(|own| asked.iter().any(|asked| asked.accepts(&own)));
    fleet.pools.retain(|pool| pool.hosts(knowledge, None).iter().any(|host| of(&host.platform)));
    if fleet.pools.is_empty() {
        return Err(CommandError::Said(format!(
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
            Some(beside) => ImageOpenError { message: format!("{}; {beside}", error.message), ..error },
            None => error,
        })
    }

    /// Returns the observations about one image, notes on skipped parts, and errors of parts that could not be
    /// inspected.
    pub(crate) fn observations(
        self,
        image: &PulledImage,
        blobs: &LayerBlobs,
    ) -> (Observations, Vec<String>, Vec<String>) {
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
    fn observations(&self, image: &PulledImage) -> (Observations, Vec<String>) {
        match self {
            Self::Config(note) => (extract::observe_config(image), note.iter().cloned().collect()),
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
            let (seen, told) = read.observations(&started(image));
            let several = self.list.len() > 1;
            let named = |note: String| if several { format!("{platform}: {note}") } else { note };
            notes.extend(told.into_iter().map(named));
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
