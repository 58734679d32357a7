//! `imagelint scan`: images by manifest and configuration, from registries, files and engines.

use std::env;
use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::cli::Failure;
use crate::cli::args::ScanArgs;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::output;
use crate::cli::output::Run;
use crate::extract;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Access;
use crate::oci::Environment;
use crate::oci::Keep;
use crate::oci::Login;
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

/// The most bytes of a password or of a file of certificates.
const MOST_READ: u64 = 4 << 20;

/// Runs it.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let mut fleet = fleet::load(&options.judging, None, knowledge, &mut sources)?;
    only(&mut fleet, &options.platforms, knowledge)?;
    let platforms = platforms(&fleet, knowledge);
    let mut subjects = Vec::new();
    let mut errors = Vec::new();
    let puller = puller(access(options)?, None).map_err(|error| Failure::Said(format!("error: {error}")))?;
    for name in &options.images {
        match read_name(&puller, name, &platforms) {
            Ok(images) => subjects.push(subject(name, &images)),
            Err(error) => {
                // The words of the registry begin with the name, and so does the report.
                let told = error.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(": "));
                let error = told.map(str::to_owned).unwrap_or(error);
                errors.push(InputError { input: name.clone(), message: error, location: None });
            }
        }
    }
    let options = &options.judging;
    let run = Run { subjects: &subjects, fleet: &fleet, options, knowledge, sources: &sources };
    output::judge_and_print(run, errors)
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

/// Reads the images of a reference; where a wanted platform is not there, all that are.
pub(crate) fn pull(name: &str, platforms: &[Platform]) -> Result<Vec<PulledImage>, String> {
    read_name(&puller(Access::default(), None)?, name, platforms)
}

/// The same for a name that FROM gives: always an image in a registry, never a folder.
pub(crate) fn pull_reference(
    reference: &ImageReference,
    platforms: &[Platform],
    keep: Option<Arc<dyn Keep>>,
) -> Result<Vec<PulledImage>, String> {
    read(&puller(Access::default(), keep)?, &Source::Registry(reference.clone()), platforms)
}

fn puller(access: Access, keep: Option<Arc<dyn Keep>>) -> Result<Puller, String> {
    let options = Options { environment: environment(), access, keep, ..Options::default() };
    Puller::new(options).map_err(|error| error.to_string())
}

fn read_name(puller: &Puller, name: &str, platforms: &[Platform]) -> Result<Vec<PulledImage>, String> {
    read(puller, &Source::parse(name).map_err(|error| error.to_string())?, platforms)
}

fn read(puller: &Puller, source: &Source, platforms: &[Platform]) -> Result<Vec<PulledImage>, String> {
    let read = |wanted: &[Platform]| puller.open(source, wanted).map(|opened| opened.images);
    match read(platforms) {
        Err(error) if matches!(*error.problem, Problem::MissingPlatform { .. }) => read(&[]),
        other => other,
    }
    .map_err(|error| error.to_string())
}

/// The images of one reference as one subject.
pub(crate) fn subject(name: &str, images: &[PulledImage]) -> Subject {
    let list = images.iter().map(|image| (image.config.platform.to_string(), extract::of_config(image))).collect();
    let digest =
        images.first().map(|image| image.index_digest.clone().unwrap_or_else(|| image.manifest_digest.clone()));
    Subject {
        name: name.to_owned(),
        path: name.to_owned(),
        kind: "image",
        digest,
        notes: Vec::new(),
        as_of: None,
        content: Content::ByPlatform(list),
    }
}

/// How the registries may be spoken to, as the command line says.
fn access(options: &ScanArgs) -> Result<Access, Failure> {
    let said = |text: String| Failure::Said(format!("error: {text}"));
    let mut roots = Vec::new();
    for path in &options.cacert {
        let shown = path.display().to_string();
        let pem = read_bounded(path).map_err(|error| said(format!("cannot read {shown}: {error}")))?;
        roots.push(Root { path: shown, pem });
    }
    let login = match &options.username {
        Some(user) => Some(login(user, &options.images).map_err(said)?),
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
fn login(user: &str, images: &[String]) -> Result<Login, String> {
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
