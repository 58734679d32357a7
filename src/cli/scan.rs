//! `imagelint scan`: images from registries, files and engines, by their configuration or with all of their layers.

use std::env;
use std::fs;
use std::io;
use std::io::Read as _;
use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use crate::cli::Failure;
use crate::cli::args::Deep;
use crate::cli::args::ReportFormat;
use crate::cli::args::ScanArgs;
use crate::cli::args::Tell;
use crate::cli::cache::Cache;
use crate::cli::each;
use crate::cli::each::Each;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::layers::Layers;
use crate::cli::names;
use crate::cli::names::Names;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::parallel;
use crate::cli::progress::Progress;
use crate::cli::workloads;
use crate::cli::workloads::Asked;
use crate::extract;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Access;
use crate::oci::Environment;
use crate::oci::Keep;
use crate::oci::Login;
use crate::oci::Opened;
use crate::oci::Options;
use crate::oci::Platform;
use crate::oci::Problem;
use crate::oci::PulledImage;
use crate::oci::Puller;
use crate::oci::Root;
use crate::oci::Source;
use crate::reference::ImageReference;
use crate::report::model::InputError;
use crate::source::Sources;

/// So many images are asked about at a time where nobody says it: a registry's answers are waited for most of the time.
const IMAGES_AT_ONCE: usize = 4;
/// The most bytes of a password or of a file of certificates.
const MOST_READ: u64 = 4 << 20;

/// Runs it.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let mut fleet = fleet::load(&options.judging, None, knowledge, &mut sources)?;
    only(&mut fleet, &options.platforms, knowledge)?;
    let platforms = platforms(&fleet, knowledge);
    let asked = names::asked(options)?;
    let (cluster, unplaced) = match &options.from_kubernetes {
        Some(path) => workloads::read(path, options.password_stdin)?,
        None => Default::default(),
    };
    let registries: Vec<&str> = asked.iter().chain(cluster.iter().map(|one| &one.name)).map(String::as_str).collect();
    let keep = if options.no_cache { None } else { Cache::of_user() };
    let puller =
        puller(access(options, &registries)?, keep).map_err(|error| Failure::Said(format!("error: {error}")))?;
    let Names { list, mut errors } = names::all(asked, options, &puller)?;
    errors.extend(unplaced);
    let list: Vec<Asked> = list.into_iter().map(Asked::image).chain(cluster).collect();
    let progress = Progress::new(options.progress, list.len());
    let layers = Layers::new(options.max_layer_bytes, options.judging.jobs(), !options.no_cache, &progress);
    let reading = (options.depth == Deep::Layers).then_some(&layers);
    let look = |asked: &Asked| {
        let name = &asked.name;
        let opened = if asked.workloads.is_empty() {
            open_name(&puller, name, &platforms)
        } else {
            open_image(&puller, name, &platforms)
        };
        let looked = opened.map(|opened| subject(name, &opened, reading));
        progress.image(name);
        match looked {
            Ok(subject) => asked.placed(subject, &fleet),
            Err(error) => {
                let message = names::without(&error, name).to_owned();
                vec![Err(Box::new(InputError { input: name.clone(), message, location: None }))]
            }
        }
    };
    let jobs = options.judging.jobs.map_or(IMAGES_AT_ONCE, NonZero::get);
    let (options, sources) = (&options.judging, &sources);
    let run = |subjects| Run { subjects, fleet: &fleet, options, knowledge, sources };
    let exit = if options.format == ReportFormat::Ndjson {
        let each = Each { items: &list, jobs, look: &look, progress: &progress };
        each::judge_and_print(run(&[]), errors, &each)
    } else {
        let mut subjects = Vec::new();
        for looked in parallel::map(jobs, &list, look).into_iter().flatten() {
            match looked {
                Ok(subject) => subjects.push(subject),
                Err(error) => errors.push(*error),
            }
        }
        progress.finish();
        output::judge_and_print(run(&subjects), errors)
    };
    if let Some(why) = layers.complaint() {
        let _ = writeln!(io::stderr(), "note: {why}; later runs read all layers again");
    }
    exit
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
        return Err(Failure::Said(format!("error: no pool of the fleet is of {}", platforms.join(" or "))));
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
pub(crate) fn with_layers(name: &str, platforms: &[Platform], cached: bool) -> Result<Subject, String> {
    let opened = open_name(&puller(Access::default(), None)?, name, platforms)?;
    let progress = Progress::new(Tell::None, 1);
    let layers = Layers::new(None, parallel::default_jobs(), cached, &progress);
    Ok(subject(name, &opened, Some(&layers)))
}

/// Reads the images of a name that FROM gives: always an image in a registry, never a folder.
pub(crate) fn pull_reference(
    reference: &ImageReference,
    platforms: &[Platform],
    keep: Option<Arc<dyn Keep>>,
) -> Result<Vec<PulledImage>, String> {
    let opened = open(&puller(Access::default(), keep)?, &Source::Registry(reference.clone()), platforms)?;
    Ok(opened.images)
}

fn puller(access: Access, keep: Option<Arc<dyn Keep>>) -> Result<Puller, String> {
    let options = Options { environment: environment(), access, keep, ..Options::default() };
    Puller::new(options).map_err(|error| error.to_string())
}

fn open_name(puller: &Puller, name: &str, platforms: &[Platform]) -> Result<Opened, String> {
    open(puller, &Source::parse(name).map_err(|error| error.to_string())?, platforms)
}

/// The same for what a cluster runs: always an image in a registry, never a folder.
fn open_image(puller: &Puller, name: &str, platforms: &[Platform]) -> Result<Opened, String> {
    let reference = ImageReference::parse(name).map_err(|error| error.to_string())?;
    open(puller, &Source::Registry(reference), platforms)
}

fn open(puller: &Puller, source: &Source, platforms: &[Platform]) -> Result<Opened, String> {
    match puller.open(source, platforms) {
        Err(error) if matches!(*error.problem, Problem::MissingPlatform { .. }) => puller.open(source, &[]),
        other => other,
    }
    .map_err(|error| error.to_string())
}

/// The images of one reference as one subject, with what their layers hold where these are to be read.
fn subject(name: &str, opened: &Opened, layers: Option<&Layers>) -> Subject {
    let images = &opened.images;
    let (mut list, mut notes) = (Vec::new(), Vec::new());
    for image in images {
        let platform = image.config.platform.to_string();
        let seen = match layers {
            None => extract::of_config(image),
            Some(layers) => {
                let (seen, told) = layers.of(image, &opened.blobs);
                let several = images.len() > 1;
                let named = |note: String| if several { format!("{platform}: {note}") } else { note };
                notes.extend(told.into_iter().map(named));
                seen
            }
        };
        list.push((platform, seen));
    }
    let digest =
        images.first().map(|image| image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()));
    Subject {
        name: name.to_owned(),
        path: name.to_owned(),
        kind: "image",
        digest,
        notes,
        as_of: None,
        only: None,
        content: Content::ByPlatform(list),
    }
}

/// How the registries may be spoken to, as the command line says.
fn access(options: &ScanArgs, asked: &[&str]) -> Result<Access, Failure> {
    let said = |text: String| Failure::Said(format!("error: {text}"));
    let mut roots = Vec::new();
    for path in &options.cacert {
        let shown = path.display().to_string();
        let pem = read_bounded(path).map_err(|error| said(format!("cannot read {shown}: {error}")))?;
        roots.push(Root { path: shown, pem });
    }
    let login = match &options.username {
        Some(user) => Some(login(user, asked).map_err(said)?),
        None => None,
    };
    Ok(Access { login, roots, plain_http: options.plain_http.clone() })
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The user name with the password on standard input, for the one registry that the images are in.
fn login(user: &str, images: &[&str]) -> Result<Login, String> {
    let mut registries: Vec<String> = Vec::new();
    for name in images {
        if let Ok(Source::Registry(reference)) = Source::parse(name) {
            registries.push(reference.registry().to_owned());
        }
    }
    registries.sort();
    registries.dedup();
    let [registry] = &registries[..] else {
        return Err("--username is for images of one registry: no other one may see the password".to_owned());
    };
    let mut password = String::new();
    io::stdin().take(MOST_READ).read_to_string(&mut password).map_err(|error| format!("no password: {error}"))?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err("there is no password on standard input".to_owned());
    }
    Ok(Login { registry: registry.clone(), user: user.to_owned(), password: password.to_owned() })
}

fn environment() -> Environment {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(Into::into);
    let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    Environment {
        docker_config: folder("DOCKER_CONFIG"),
        registry_auth_file: folder("REGISTRY_AUTH_FILE"),
        xdg_runtime_dir: folder("XDG_RUNTIME_DIR"),
        xdg_config_home: folder("XDG_CONFIG_HOME"),
        home: folder("HOME"),
        registries_conf: folder("CONTAINERS_REGISTRIES_CONF"),
        system_containers: Some("/etc/containers".into()),
        docker_host: text("DOCKER_HOST"),
        container_host: text("CONTAINER_HOST"),
        path: env::var_os("PATH"),
    }
}
