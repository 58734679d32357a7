//! `imagelint describe`: prints the image description that imagelint infers from an input.

use std::fs::File;
use std::io;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Mutex;

use crate::cli::args::{BuildArgs, BuildTargetArgs, DescribeArgs, DockerfileArgs, RegistryArgs, SettingsArgs};
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::pull::BaseImageRequests;
use crate::cli::registry_access::RegistryHosts;
use crate::cli::settings::LoadedSettings;
use crate::cli::{base_images, pull, registry_access, scan, streams};
use crate::fix::needs;
use crate::infer::infer_image_facts;
use crate::judge;
use crate::judge::AnalysisSubject;
use crate::knowledge::Knowledge;
use crate::registry::Platform;
use crate::report::escape::escape_one_line;
use crate::report::wrap::wrap;
use crate::text::source::Sources;

/// Line width of the comments, which does not depend on the terminal.
const COMMENT_WIDTH: usize = 100;

/// Runs `imagelint describe`.
pub(crate) fn run(options: &DescribeArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let DescribeArgs { input, platform, reading, settings, .. } = options;
    let DockerfileArgs { pull, access, build } = reading;
    let request = InputRequest { input, platform, pull: *pull, access, build, settings, knowledge };
    let subjects = read_input(request, &mut Sources::default())?;
    // One description is one document.
    if subjects.len() > 1 {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        let (number, names) = (names.len(), names.join(", "));
        return Err(CommandError::Message(format!(
            "error: {input} contains {number} inputs; pass one of them: {names}"
        )));
    }
    let described = |subject: &AnalysisSubject| {
        Some((
            judge::describe_subject(subject, platform, options.as_of, knowledge)?,
            observation_lines(subject, options, knowledge),
        ))
    };
    let Some((description, seen)) = subjects.first().and_then(described) else {
        report_nothing("describe", input)?;
        return Ok(Exit::Nothing);
    };
    let mut out = io::BufWriter::new(streams::stdout());
    writeln!(out, "# Detected in {} ({platform}):", escape_one_line(input))?;
    for line in seen {
        let text = wrap(&line, 4, 6, COMMENT_WIDTH);
        for (number, line) in text.lines().enumerate() {
            let gap = if number == 0 { "   " } else { " " };
            writeln!(out, "#{gap}{line}")?;
        }
    }
    write!(out, "\n{}", description.to_toml())?;
    out.flush()?;
    Ok(Exit::Clean)
}

/// Returns what was detected in an input, as lines of text.
fn observation_lines(subject: &AnalysisSubject, options: &DescribeArgs, knowledge: Knowledge) -> Vec<String> {
    let Some(seen) = judge::observations_for_platform(&subject.content, &options.platform) else { return Vec::new() };
    let day = seen.as_of.or(options.as_of).or(subject.as_of);
    needs::detected_facts::describe_facts(&infer_image_facts(&seen, &options.platform, day, knowledge))
}

/// Prints that an input has nothing for a command, such as `describe`.
pub(crate) fn report_nothing(what: &str, input: &str) -> io::Result<()> {
    writeln!(streams::stderr(), "nothing to {what}: {input} contains no stage and no image")
}

/// One input, and how to read it.
#[derive(Clone, Copy)]
pub(crate) struct InputRequest<'a> {
    /// As given.
    pub(crate) input: &'a str,
    /// `os/architecture`; several with commas between them.
    pub(crate) platform: &'a str,
    /// Whether to query registries for base images.
    pub(crate) pull: bool,
    /// How registries are accessed.
    pub(crate) access: &'a RegistryArgs,
    /// How it is built.
    pub(crate) build: &'a BuildArgs,
    /// Which settings hold.
    pub(crate) settings: &'a SettingsArgs,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

/// Reads the subjects of one input: files, or an image. Prints which platform is used if there are several.
pub(crate) fn read_input(
    request: InputRequest<'_>,
    sources: &mut Sources,
) -> Result<Vec<AnalysisSubject>, CommandError> {
    let InputRequest { input, platform, pull, access, build, settings, knowledge } = request;
    let path = Path::new(input);
    let keep = !build.no_cache;
    if input == "-" || (path.exists() && !is_image_path(path)) {
        if input == "-" && access.password_stdin {
            return Err(CommandError::Message(registry_access::STDIN_CONFLICT_ERROR.to_owned()));
        }
        let start = Some(path).filter(|path| path.exists());
        let settings = Mutex::new(LoadedSettings::new(&settings.to_config_args(), start, sources)?);
        let set = BuildTargetArgs::default();
        let build =
            InputOptions { args: build, set: &set, stdin_filename: None, jobs: 1, settings: &settings, knowledge };
        let mut inputs = CommandInputs::read(&[path], &build, sources);
        let requests = if pull {
            pull::base_image_requests(&inputs, &platform.split(',').map(str::to_owned).collect::<Vec<_>>())
        } else {
            BaseImageRequests::default()
        };
        let puller =
            if pull { Some(registry_access::create_puller(access, &RegistryHosts::new(), keep)?) } else { None };
        let pulling = puller.as_ref().map(|puller| (&requests, puller));
        base_images::add_known_bases(&mut inputs, Some(path).filter(|path| path.exists()), pulling, &build, sources);
        if let Some(error) = inputs.errors.first() {
            return Err(CommandError::Message(format!("error: cannot read {}: {}", error.input, error.message)));
        }
        for subject in &inputs.subjects {
            report_platform(&subject.name, subject, platform)?;
        }
        return Ok(inputs.subjects);
    }
    if !path.exists() && !is_image_name(input) {
        let help = "pass a file, or an image with its tag or registry";
        return Err(CommandError::Message(format!("error: file `{input}` not found; {help}")));
    }
    let platforms = platform.split(',').map(str::parse).collect::<Result<Vec<Platform>, _>>();
    let platforms = platforms.map_err(|_| {
        CommandError::Message(format!("error: `{platform}` is not a platform: expected os/architecture"))
    })?;
    let puller = registry_access::create_puller(access, &registry_access::registry_hosts([input]), keep)?;
    let subject = scan::read_image_with_layers(input, &platforms, &puller, keep);
    let subject = subject.map_err(|error| CommandError::Message(format!("error: {error}")))?;
    if platforms.len() == 1 {
        report_platform(input, &subject, platform)?;
    }
    Ok(vec![subject])
}

/// Prints which platform is used, if the subject has several.
fn report_platform(input: &str, subject: &AnalysisSubject, platform: &str) -> io::Result<()> {
    match judge::platform_note(&subject.content, platform) {
        Some(note) => writeln!(streams::stderr(), "note: {}: {note}", escape_one_line(input)),
        None => Ok(()),
    }
}

/// Whether an input that is not a file can be an image: with a tag, a digest or a registry, and not a path.
pub(crate) fn is_image_name(input: &str) -> bool {
    let first = input.split('/').next().unwrap_or_default();
    let registry = input.contains('/') && (first.contains('.') || first == "localhost");
    let below = input.contains('/') && (first.is_empty() || first.starts_with('.'));
    // A layout or an archive with the name of an image in it.
    let named = || input.match_indices(':').any(|(at, _)| input.get(..at).is_some_and(|path| Path::new(path).exists()));
    if below { named() } else { registry || input.contains([':', '@']) }
}

/// Whether a path is an image: an OCI layout, a directory written by skopeo, or an archive, compressed or not.
pub(crate) fn is_image_path(path: &Path) -> bool {
    if path.is_dir() {
        let both = |one: &str, other: &str| path.join(one).is_file() && path.join(other).is_file();
        return both("oci-layout", "index.json") || both("manifest.json", "version");
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
    read.is_ok() && is_archive(&head)
}

/// Whether the first block of a file is that of a tar archive or of a compressed file.
fn is_archive(head: &[u8]) -> bool {
    const PACKED: &[&[u8]] = &[b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"];
    PACKED.iter().any(|magic| head.starts_with(magic)) || head.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
mod tests {
    use super::{is_archive, is_image_name};

    #[test]
    fn argument_with_a_tag_or_registry_is_an_image_and_a_missing_path_is_not() {
        for (input, expected) in [
            ("ubuntu:24.04", true),
            ("quay.io/a/b", true),
            ("localhost/a", true),
            ("oci:/nowhere:x", true),
            ("a@sha256:0", true),
            ("./nowhere:x", false),
            ("../nowhere/at:all", false),
            ("/nowhere:x", false),
            ("Dockerfile", false),
            ("a/b", false),
        ] {
            assert_eq!(is_image_name(input), expected, "{input}");
        }
    }

    #[test]
    fn an_archive_is_known_by_its_first_block() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(is_archive(&tar) && is_archive(b"\x1f\x8b\x08") && is_archive(b"\x28\xb5\x2f\xfd"));
        for head in [&b""[..], b"FROM scratch", b"\x1f", &[0; 512], b"ustar", b"{}"] {
            assert!(!is_archive(head), "{head:?}");
        }
    }
}
