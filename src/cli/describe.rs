//! `imagelint describe`: what imagelint sees in an input, as an image description.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::args::AccessArgs;
use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::args::ConfigArgs;
use crate::cli::args::DescribeArgs;
use crate::cli::exit::Exit;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::scan;
use crate::cli::settings::Loaded;
use crate::judge;
use crate::judge::Subject;
use crate::oci::Platform;
use crate::source::Sources;

/// Runs it.
pub(crate) fn run(options: &DescribeArgs) -> Result<Exit, Failure> {
    let asked = Asked {
        input: &options.input,
        platform: &options.platform,
        pull: options.pull,
        access: &options.access,
        build: &options.build,
    };
    let subjects = read(asked, &mut Sources::default())?;
    let described = |subject| judge::description(subject, &options.platform, options.as_of);
    // One description is one document.
    if subjects.len() > 1 {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        let (input, number, names) = (&options.input, names.len(), names.join(", "));
        return Err(Failure::Said(format!("error: {input} holds {number} inputs, name one of them: {names}")));
    }
    let Some(description) = subjects.first().and_then(described) else {
        writeln!(io::stderr(), "nothing to describe: {} has no stage and no image in it", options.input)?;
        return Ok(Exit::Nothing);
    };
    write!(io::stdout().lock(), "{}", description.to_toml())?;
    Ok(Exit::Clean)
}

/// Whether something that is no file could be an image: with a tag, a digest or a registry, and not written as a path.
fn is_image(input: &str) -> bool {
    let first = input.split('/').next().unwrap_or_default();
    let registry = input.contains('/') && (first.contains('.') || first == "localhost");
    let below = input.contains('/') && (first.is_empty() || first.starts_with('.'));
    !below && (registry || input.contains([':', '@']))
}

/// One input, and how to read it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) input: &'a str,
    pub(crate) platform: &'a str,
    pub(crate) pull: bool,
    pub(crate) access: &'a AccessArgs,
    pub(crate) build: &'a BuildArgs,
}

/// The subjects of one input: files, or an image.
pub(crate) fn read(asked: Asked<'_>, sources: &mut Sources) -> Result<Vec<Subject>, Failure> {
    let Asked { input, platform, pull, access, build } = asked;
    let path = Path::new(input);
    if path.exists() || input == "-" {
        if input == "-" && access.password_stdin {
            return Err(Failure::Said(access::BOTH.to_owned()));
        }
        let keep = !build.no_cache;
        let start = Some(path).filter(|path| path.exists());
        let settings = Mutex::new(Loaded::new(&ConfigArgs::default(), start, sources)?);
        let set = BuildSet::default();
        let build = Build { args: build, set: &set, stdin_filename: None, jobs: 1, settings: &settings };
        let mut inputs = Inputs::read(&[path], &build, sources);
        let wanted = if pull { pull::wanted(&inputs, &[platform.to_owned()]) } else { Wanted::default() };
        let puller = if pull { Some(access::puller(access, &pull::registries(&wanted), keep)?) } else { None };
        let pulling = puller.as_ref().map(|puller| (&wanted, puller));
        known::add(&mut inputs, Some(path).filter(|path| path.exists()), pulling, &build, sources);
        return match inputs.errors.first() {
            Some(error) => Err(Failure::Said(format!("error: cannot read {}: {}", error.input, error.message))),
            None => Ok(inputs.subjects),
        };
    }
    if !is_image(input) {
        let help = "name a file, or an image with its tag or registry";
        return Err(Failure::Said(format!("error: there is no file `{input}`; {help}")));
    }
    let platform: Platform = platform
        .parse()
        .map_err(|_| Failure::Said(format!("error: `{platform}` is no platform: expected os/architecture")))?;
    let puller = access::puller(access, &access::registries([input]), false)?;
    let subject =
        scan::with_layers(input, &[platform], &puller).map_err(|error| Failure::Said(format!("error: {error}")))?;
    Ok(vec![subject])
}
