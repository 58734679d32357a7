//! `imagelint describe`: what imagelint sees in an input, as an image description.

use std::io;
use std::io::Write as _;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::args::DescribeArgs;
use crate::cli::exit::Exit;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::scan;
use crate::judge;
use crate::judge::Subject;
use crate::oci::Platform;
use crate::source::Sources;

/// Runs it.
pub(crate) fn run(options: &DescribeArgs) -> Result<Exit, Failure> {
    let subjects = read(&options.input, &options.platform, options.pull, &options.build, &mut Sources::default())?;
    let mut out = io::stdout().lock();
    for (at, subject) in subjects.iter().enumerate() {
        let Some(description) = judge::description(subject, &options.platform, options.as_of) else { continue };
        if at > 0 {
            writeln!(out)?;
        }
        write!(out, "{}", description.to_toml())?;
    }
    Ok(if subjects.is_empty() { Exit::Nothing } else { Exit::Clean })
}

/// The subjects of one input: files, or an image.
pub(crate) fn read(
    input: &str,
    platform: &str,
    pull: bool,
    build: &BuildArgs,
    sources: &mut Sources,
) -> Result<Vec<Subject>, Failure> {
    let path = Path::new(input);
    if path.exists() || input == "-" {
        let build = Build { args: build, set: &BuildSet::default(), stdin_filename: None, jobs: 1 };
        let mut inputs = Inputs::read(&[path], &build, sources);
        let asked = [platform.to_owned()];
        known::add(&mut inputs, Some(path).filter(|path| path.exists()), pull.then_some(&asked), &build, sources);
        return match inputs.errors.first() {
            Some(error) => Err(Failure::Said(format!("error: cannot read {}: {}", error.input, error.message))),
            None => Ok(inputs.subjects),
        };
    }
    if !input.contains(['/', ':', '@']) {
        let help = "name a file, or an image with its tag or registry";
        return Err(Failure::Said(format!("error: there is no file `{input}`; {help}")));
    }
    let platform: Platform = platform
        .parse()
        .map_err(|_| Failure::Said(format!("error: `{platform}` is no platform: expected os/architecture")))?;
    let subject = scan::with_layers(input, &[platform]).map_err(|error| Failure::Said(format!("error: {error}")))?;
    Ok(vec![subject])
}
