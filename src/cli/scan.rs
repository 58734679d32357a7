//! `imagelint scan`: images by manifest and configuration, from a registry or an OCI layout.

use std::env;

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
use crate::oci::Environment;
use crate::oci::Options;
use crate::oci::Platform;
use crate::oci::Problem;
use crate::oci::PulledImage;
use crate::oci::Puller;
use crate::oci::Source;
use crate::reference::ImageReference;
use crate::report::model::InputError;
use crate::source::Sources;

/// Runs it.
pub(crate) fn run(options: &ScanArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let fleet = fleet::load(&options.judging, None, knowledge, &mut sources)?;
    let platforms = platforms(&fleet, knowledge);
    let mut subjects = Vec::new();
    let mut errors = Vec::new();
    for name in &options.images {
        match pull(name, &platforms) {
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
    read(&Source::parse(name).map_err(|error| error.to_string())?, platforms)
}

/// The same for a name that FROM gives: always an image in a registry, never a folder.
pub(crate) fn pull_reference(reference: &ImageReference, platforms: &[Platform]) -> Result<Vec<PulledImage>, String> {
    read(&Source::Registry(reference.clone()), platforms)
}

fn read(source: &Source, platforms: &[Platform]) -> Result<Vec<PulledImage>, String> {
    let options = Options { environment: environment(), ..Options::default() };
    let puller = Puller::new(options).map_err(|error| error.to_string())?;
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

fn environment() -> Environment {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(Into::into);
    let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    Environment {
        docker_config: folder("DOCKER_CONFIG"),
        registry_auth_file: folder("REGISTRY_AUTH_FILE"),
        xdg_runtime_dir: folder("XDG_RUNTIME_DIR"),
        xdg_config_home: folder("XDG_CONFIG_HOME"),
        home: folder("HOME"),
        docker_host: text("DOCKER_HOST"),
        container_host: text("CONTAINER_HOST"),
        path: env::var_os("PATH"),
    }
}
