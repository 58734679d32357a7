//! `imagelint scan`: images from registries, files and engines, by their configuration or with all of their layers.

use std::io::Write as _;
use std::num::NonZero;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::args::Deep;
use crate::cli::args::ScanArgs;
use crate::cli::args::Tell;
use crate::cli::each;
use crate::cli::each::Each;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::layers::Layers;
use crate::cli::layers::Stacked;
use crate::cli::names;
use crate::cli::names::Names;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::outputs;
use crate::cli::parallel;
use crate::cli::progress::Progress;
use crate::cli::settings;
use crate::cli::settings::Held;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::cli::texts;
use crate::cli::workloads;
use crate::cli::workloads::Asked;
use crate::cluster::Start;
use crate::extract;
use crate::fact::Observations;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Blobs;
use crate::oci::Claims;
use crate::oci::Opened;
use crate::oci::Platform;
use crate::oci::Problem;
use crate::oci::PulledImage;
use crate::oci::Puller;
use crate::oci::Source;
use crate::reference::ImageReference;
use crate::report::escape::clean;
use crate::report::model::ImageOf;
use crate::report::model::InputError;
use crate::source::Sources;

/// So many images are asked about at a time where nobody says it: a registry's answers are waited for most of the time.
const IMAGES_AT_ONCE: usize = 4;

/// Runs it.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    outputs::agreed(&options.judging)?;
    let mut sources = Sources::default();
    let loaded = Loaded::new(&options.judging.config, None, &mut sources)?;
    let judging = loaded.under(&options.judging, &sources)?;
    let mut fleet = fleet::load(&judging, None, knowledge, &mut sources)?;
    let book = output::own_rules(&judging)?;
    settings::known(&loaded, book.as_ref(), &fleet, &options.judging)?;
    if judging.config.show_settings {
        return settings::show(&loaded, &judging, &options.judging, &[], &fleet.name, &sources);
    }
    output::tell_empty_rules(&judging)?;
    only(&mut fleet, &options.platforms, knowledge)?;
    let platforms = platforms(&fleet, knowledge);
    let refused = |name: &String| refused(&loaded, name, &sources);
    if let Some(error) = options.images.iter().find_map(|name| texts::is_for_check(name)) {
        return Err(Failure::Said(format!("error: {error}")));
    }
    let (mut asked, places) = names::asked(options)?;
    let mut left = Vec::new();
    asked.retain(|name| options.images.contains(name) || refused(name).map(|error| left.push(error)).is_none());
    let (mut cluster, unplaced) = match &options.from_kubernetes {
        Some(path) => workloads::read(path, options.access.password_stdin)?,
        None => Default::default(),
    };
    cluster.retain(|one| refused(&one.name).map(|error| left.push(error)).is_none());
    let named = access::registries(options.images.iter().map(String::as_str));
    let puller = access::puller(&options.access, &named, !options.no_cache)?;
    let Names { list, mut errors } = names::all(asked, options, &puller)?;
    errors.extend(left);
    errors.extend(unplaced);
    let image = |name: String| {
        let at = names::place_of(&name, &places);
        Asked::image(name, at)
    };
    let list: Vec<Asked> = list.into_iter().map(image).chain(cluster).collect();
    let progress = Progress::new(options.progress, list.len());
    let layers = Layers::new(options.max_layer_bytes, options.judging.jobs(), !options.no_cache, &progress);
    let looking = Look { depth: options.depth, layers: &layers };
    // A repository may hold artifacts beside images: who asks for its tags did not name them.
    let of_tags = names::are_tags(options);
    let look = |asked: &Asked| {
        let name = &asked.name;
        progress.begin(name);
        let opened = if asked.workloads.is_empty() {
            looking.open(&puller, name, &platforms)
        } else {
            open_image(&puller, name, &asked.platforms(&platforms))
        };
        let looked = opened.map(|opened| ReadImages::of(name, &opened, looking));
        progress.image(name);
        match looked {
            Ok(images) => {
                let faults = images.faults().into_iter().map(|fault| Err(Box::new(fault)));
                asked.placed(&images, &fleet, knowledge).into_iter().chain(faults).collect()
            }
            Err(error) if of_tags && asked.workloads.is_empty() && error.is_artifact => {
                let note = format!("note: {name} is skipped: {}", names::without(&error.message, name));
                progress.beside(|| drop(writeln!(streams::err(), "{}", clean(&note))));
                Vec::new()
            }
            Err(error) => {
                let message = names::without(&error.message, name).to_owned();
                vec![Err(Box::new(asked.error(&message)))]
            }
        }
    };
    let jobs = options.judging.jobs.map_or(IMAGES_AT_ONCE, NonZero::get);
    let (options, sources) = (&judging, &sources);
    let settings = Some(Held { loaded: &loaded, whole: &[] });
    let run = Run { fleet: &fleet, options, knowledge, sources, settings, command: "scan" };
    let exit = if outputs::are_lines(options) {
        let each = Each { items: &list, jobs, look: &look, progress: &progress };
        each::judge_and_print(run, errors, &each)
    } else {
        let mut subjects = Vec::new();
        for looked in parallel::map(jobs, &list, look).into_iter().flatten() {
            match looked {
                Ok(subject) => subjects.push(subject),
                Err(error) => errors.push(*error),
            }
        }
        progress.finish();
        output::judge_and_print(run, subjects, errors)
    };
    if let Some(why) = layers.complaint() {
        let _ = writeln!(streams::err(), "note: {why}; later runs read all layers again");
    }
    exit
}

/// What is told of an image that a file names and whose registry may not be asked.
fn refused(loaded: &Loaded, name: &str, sources: &Sources) -> Option<InputError> {
    let Ok(Source::Registry(reference)) = Source::parse(name) else { return None };
    let message = loaded.refuses(reference.registry(), sources)?;
    Some(InputError { input: name.to_owned(), message, location: None })
}

/// Leaves the pools that have a node of one of these platforms; all where none is named.
fn only(fleet: &mut Fleet, platforms: &[String], knowledge: Knowledge) -> Result<(), Failure> {
    let asked: Vec<Platform> = platforms.iter().filter_map(|text| text.parse().ok()).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let of = |text: &str| text.parse::<Platform>().is_ok_and(|own| asked.iter().any(|asked| asked.accepts(&own)));
    fleet.pools.retain(|pool| pool.hosts(knowledge, None).iter().any(|host| of(&host.platform)));
    if fleet.pools.is_empty() {
        return Err(Failure::Said(format!("error: no pool of the fleet has the platform {}", platforms.join(" or "))));
    }
    Ok(())
}

/// Every platform that a host of the fleet has.
pub(crate) fn platforms(fleet: &Fleet, knowledge: Knowledge) -> Vec<Platform> {
    let mut found: Vec<Platform> = Vec::new();
    let hosts = fleet.pools.iter().flat_map(|pool| pool.hosts(knowledge, None));
    for platform in hosts.filter_map(|host| host.platform.parse().ok()) {
        if !found.contains(&platform) {
            found.push(platform);
        }
    }
    found
}

/// One image with its layers, for commands that take one; where a wanted platform is not there, all that are.
pub(crate) fn with_layers(
    name: &str,
    platforms: &[Platform],
    puller: &Puller,
    cached: bool,
) -> Result<Subject, String> {
    let progress = Progress::new(Tell::None, 1);
    let layers = Layers::new(None, parallel::default_jobs(), cached, &progress);
    let look = Look { depth: Deep::Layers, layers: &layers };
    let opened = look.open(puller, name, platforms).map_err(|error| error.message)?;
    Ok(ReadImages::of(name, &opened, look).subject(PulledImage::clone))
}

/// Reads the images of a name that FROM gives: always an image in a registry, never a folder.
pub(crate) fn pull_reference(
    reference: &ImageReference,
    platforms: &[Platform],
    puller: &Puller,
) -> Result<Vec<PulledImage>, String> {
    let opened = open(puller, &Source::Registry(reference.clone()), platforms, Deep::Config);
    opened.map(|opened| opened.images).map_err(|error| error.message)
}

/// The same for what a cluster runs: always an image in a registry, never a folder.
fn open_image(puller: &Puller, name: &str, platforms: &[Platform]) -> Result<Opened, Unopened> {
    let reference = ImageReference::parse(name).map_err(|error| Unopened::of(&error))?;
    open(puller, &Source::Registry(reference), platforms, Deep::Layers)
}

/// Why an image was not opened.
pub(crate) struct Unopened {
    pub(crate) message: String,
    /// What lies there is no container image, and no fault of the registry.
    is_artifact: bool,
}

impl Unopened {
    fn of(error: &impl ToString) -> Self {
        Self { message: error.to_string(), is_artifact: false }
    }
}

fn open(puller: &Puller, source: &Source, platforms: &[Platform], depth: Deep) -> Result<Opened, Unopened> {
    let open = |platforms: &[Platform]| match depth {
        Deep::Layers => puller.open(source, platforms),
        Deep::Config | Deep::Sbom => puller.glance(source, platforms),
    };
    match open(platforms) {
        Err(error) if matches!(*error.problem, Problem::MissingPlatform { .. }) => open(&[]),
        other => other,
    }
    .map_err(|error| Unopened {
        is_artifact: matches!(*error.problem, Problem::NotAnImage { .. }),
        ..Unopened::of(&error)
    })
}

/// How deep to look into images, and who reads their layers.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) depth: Deep,
    pub(crate) layers: &'a Layers<'a>,
}

impl Look<'_> {
    /// The images of a name that somebody gave.
    pub(crate) fn open(self, puller: &Puller, name: &str, platforms: &[Platform]) -> Result<Opened, Unopened> {
        let source = Source::parse(name).map_err(|error| Unopened::of(&error))?;
        open(puller, &source, platforms, self.depth).map_err(|error| match source.beside(name) {
            Some(beside) => Unopened { message: format!("{}; {beside}", error.message), ..error },
            None => error,
        })
    }

    /// What is seen of one image, what had to be left out of it, and what could not be inspected.
    pub(crate) fn at(self, image: &PulledImage, blobs: &Blobs) -> (Observations, Vec<String>, Vec<String>) {
        let read = self.read(image, blobs);
        let (seen, notes) = read.seen(image);
        (seen, notes, read.faults().to_vec())
    }

    /// Reads as much of an image as is to be read.
    fn read(self, image: &PulledImage, blobs: &Blobs) -> Read {
        match self.depth {
            Deep::Config => Read::Config(None),
            Deep::Sbom => match blobs.claims(image) {
                Ok(Some(claims)) => Read::Claims(claims),
                Ok(None) => {
                    let note = "found no list of packages (SBOM) for the image: only its configuration was read";
                    Read::Config(Some(note.to_owned()))
                }
                Err(error) => Read::Config(Some(format!(
                    "cannot read the list of packages (SBOM) of the image, only its configuration was read: {error}"
                ))),
            },
            Deep::Layers => Read::Layers(self.layers.stacked(image, blobs)),
        }
    }
}

/// What was read of an image.
enum Read {
    /// Its configuration, and why no more.
    Config(Option<String>),
    /// The same, and its list of packages.
    Claims(Claims),
    /// All of it.
    Layers(Stacked),
}

impl Read {
    /// What that says of an image of this configuration.
    fn seen(&self, image: &PulledImage) -> (Observations, Vec<String>) {
        match self {
            Self::Config(note) => (extract::of_config(image), note.iter().cloned().collect()),
            Self::Claims(claims) => extract::of_claims(image, claims),
            Self::Layers(stacked) => stacked.seen(image),
        }
    }

    /// What of it could not be inspected.
    fn faults(&self) -> &[String] {
        match self {
            Self::Layers(stacked) => stacked.faults(),
            Self::Config(_) | Self::Claims(_) => &[],
        }
    }
}

/// The images of one name, and what was read of each.
pub(crate) struct ReadImages {
    name: String,
    digest: Option<String>,
    list: Vec<(PulledImage, Read)>,
}

impl ReadImages {
    fn of(name: &str, opened: &Opened, look: Look<'_>) -> Self {
        let read = |image: &PulledImage| (image.clone(), look.read(image, &opened.blobs));
        Self { name: name.to_owned(), digest: digest(opened), list: opened.images.iter().map(read).collect() }
    }

    /// What of them could not be inspected: errors of the input beside the verdicts on what was.
    pub(crate) fn faults(&self) -> Vec<InputError> {
        let all = self.list.iter().flat_map(|(image, read)| {
            let platform = &image.config.platform;
            let named =
                |fault: &String| if self.list.len() > 1 { format!("{platform}: {fault}") } else { fault.clone() };
            read.faults().iter().map(named).collect::<Vec<_>>()
        });
        all.map(|message| InputError { input: self.name.clone(), message, location: None }).collect()
    }

    /// One subject of them, each as it is `started`.
    pub(crate) fn subject(&self, started: impl Fn(&PulledImage) -> PulledImage) -> Subject {
        let (mut list, mut notes) = (Vec::new(), Vec::new());
        for (image, read) in &self.list {
            let platform = image.config.platform.to_string();
            let (seen, told) = read.seen(&started(image));
            let several = self.list.len() > 1;
            let named = |note: String| if several { format!("{platform}: {note}") } else { note };
            notes.extend(told.into_iter().map(named));
            list.push((platform, seen));
        }
        Subject {
            name: self.name.clone(),
            path: self.name.clone(),
            kind: "image",
            digest: self.digest.clone(),
            images: images(self.list.iter().map(|(image, _)| image)),
            notes,
            as_of: None,
            only: None,
            start: Start::default(),
            named_at: None,
            content: Content::ByPlatform(list),
        }
    }
}

/// Of which platform each image is, and under which digests it is known.
pub(crate) fn images<'a>(all: impl Iterator<Item = &'a PulledImage>) -> Vec<ImageOf> {
    let of = |image: &PulledImage| ImageOf {
        platform: image.config.platform.to_string(),
        manifest: image.manifest_digest.clone(),
        index: image.index_digest.clone(),
    };
    all.map(of).collect()
}

/// The digest that a reference leads to.
pub(crate) fn digest(opened: &Opened) -> Option<String> {
    let image = opened.images.first()?;
    Some(image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()))
}
