//! `imagelint describe`: what imagelint sees in an input, as an image description.

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::access::Registries;
use crate::cli::args::AccessArgs;
use crate::cli::args::BuildArgs;
use crate::cli::args::BuildSet;
use crate::cli::args::DescribeArgs;
use crate::cli::args::ReadingArgs;
use crate::cli::args::SettingsArgs;
use crate::cli::exit::Exit;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::scan;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::infer::infer;
use crate::judge;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::needs;
use crate::oci::Platform;
use crate::report::escape::clean;
use crate::report::wrap::wrap;
use crate::source::Sources;

/// Columns of the comments, which are part of a file.
const WIDTH: usize = 100;

/// Runs it.
pub(crate) fn run(options: &DescribeArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let DescribeArgs { input, platform, reading, settings, .. } = options;
    let ReadingArgs { pull, access, build } = reading;
    let asked = Asked { input, platform, pull: *pull, access, build, settings, knowledge };
    let subjects = read(asked, &mut Sources::default())?;
    // One description is one document.
    if subjects.len() > 1 {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
        let (number, names) = (names.len(), names.join(", "));
        return Err(Failure::Said(format!("error: {input} contains {number} inputs; pass one of them: {names}")));
    }
    let described = |subject: &Subject| {
        Some((judge::description(subject, platform, options.as_of)?, seen(subject, options, knowledge)))
    };
    let Some((description, seen)) = subjects.first().and_then(described) else {
        nothing("describe", input)?;
        return Ok(Exit::Nothing);
    };
    let mut out = io::BufWriter::new(streams::out());
    writeln!(out, "# Detected in {} ({platform}):", clean(input))?;
    for line in seen {
        let text = wrap(&line, 4, 6, WIDTH);
        for (number, line) in text.lines().enumerate() {
            let gap = if number == 0 { "   " } else { " " };
            writeln!(out, "#{gap}{line}")?;
        }
    }
    write!(out, "\n{}", description.to_toml())?;
    out.flush()?;
    Ok(Exit::Clean)
}

/// What was detected in an input, in words.
fn seen(subject: &Subject, options: &DescribeArgs, knowledge: Knowledge) -> Vec<String> {
    let Some(seen) = judge::observations(&subject.content, &options.platform) else { return Vec::new() };
    let day = seen.as_of.or(options.as_of).or(subject.as_of);
    needs::seen::lines(&infer(&seen, &options.platform, day, knowledge))
}

/// Says that an input holds nothing to tell of.
pub(crate) fn nothing(what: &str, input: &str) -> io::Result<()> {
    writeln!(streams::err(), "nothing to {what}: {input} contains no stage and no image")
}

/// One input, and how to read it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// As given.
    pub(crate) input: &'a str,
    /// `os/architecture`; several with commas between them.
    pub(crate) platform: &'a str,
    /// Whether to ask registries about base images.
    pub(crate) pull: bool,
    /// Who asks registries.
    pub(crate) access: &'a AccessArgs,
    /// How it is built.
    pub(crate) build: &'a BuildArgs,
    /// Which settings hold.
    pub(crate) settings: &'a SettingsArgs,
    /// The tables.
    pub(crate) knowledge: Knowledge,
}

/// The subjects of one input: files, or an image. Where an image has several platforms, says which is told of.
pub(crate) fn read(asked: Asked<'_>, sources: &mut Sources) -> Result<Vec<Subject>, Failure> {
    let Asked { input, platform, pull, access, build, settings, knowledge } = asked;
    let path = Path::new(input);
    let keep = !build.no_cache;
    if input == "-" || (path.exists() && !holds_image(path)) {
        if input == "-" && access.password_stdin {
            return Err(Failure::Said(access::BOTH.to_owned()));
        }
        let start = Some(path).filter(|path| path.exists());
        let settings = Mutex::new(Loaded::new(&settings.whole(), start, sources)?);
        let set = BuildSet::default();
        let build = Build { args: build, set: &set, stdin_filename: None, jobs: 1, settings: &settings, knowledge };
        let mut inputs = Inputs::read(&[path], &build, sources);
        let wanted = if pull {
            pull::wanted(&inputs, &platform.split(',').map(str::to_owned).collect::<Vec<_>>())
        } else {
            Wanted::default()
        };
        let puller = if pull { Some(access::puller(access, &Registries::new(), keep)?) } else { None };
        let pulling = puller.as_ref().map(|puller| (&wanted, puller));
        known::add(&mut inputs, Some(path).filter(|path| path.exists()), pulling, &build, sources);
        if let Some(error) = inputs.errors.first() {
            return Err(Failure::Said(format!("error: cannot read {}: {}", error.input, error.message)));
        }
        for subject in &inputs.subjects {
            tell_platform(&subject.name, subject, platform)?;
        }
        return Ok(inputs.subjects);
    }
    if !path.exists() && !is_image(input) {
        let help = "pass a file, or an image with its tag or registry";
        return Err(Failure::Said(format!("error: file `{input}` not found; {help}")));
    }
    let wanted = platform.split(',').map(str::parse).collect::<Result<Vec<Platform>, _>>();
    let wanted = wanted
        .map_err(|_| Failure::Said(format!("error: `{platform}` is not a platform: expected os/architecture")))?;
    let puller = access::puller(access, &access::registries([input]), keep)?;
    let subject = scan::with_layers(input, &wanted, &puller, keep);
    let subject = subject.map_err(|error| Failure::Said(format!("error: {error}")))?;
    if wanted.len() == 1 {
        tell_platform(input, &subject, platform)?;
    }
    Ok(vec![subject])
}

/// Says of which platform is told, where there are several.
fn tell_platform(input: &str, subject: &Subject, platform: &str) -> io::Result<()> {
    match judge::which_platform(&subject.content, platform) {
        Some(note) => writeln!(streams::err(), "note: {}: {note}", clean(input)),
        None => Ok(()),
    }
}

/// Whether something that is no file could be an image: with a tag, a digest or a registry, and not written as a path
/// that leads nowhere.
pub(crate) fn is_image(input: &str) -> bool {
    let first = input.split('/').next().unwrap_or_default();
    let registry = input.contains('/') && (first.contains('.') || first == "localhost");
    let below = input.contains('/') && (first.is_empty() || first.starts_with('.'));
    // A layout or an archive with the name of an image in it.
    let named = || input.match_indices(':').any(|(at, _)| input.get(..at).is_some_and(|path| Path::new(path).exists()));
    if below { named() } else { registry || input.contains([':', '@']) }
}

/// Whether a path holds an image: a folder with the index of a layout or of skopeo, or an archive, packed or not.
pub(crate) fn holds_image(path: &Path) -> bool {
    if path.is_dir() {
        let both = |one: &str, other: &str| path.join(one).is_file() && path.join(other).is_file();
        return both("oci-layout", "index.json") || both("manifest.json", "version");
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
    read.is_ok() && is_archive(&head)
}

/// Whether the first block of a file is that of an archive.
fn is_archive(head: &[u8]) -> bool {
    const PACKED: &[&[u8]] = &[b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"];
    PACKED.iter().any(|magic| head.starts_with(magic)) || head.get(257..262) == Some(b"ustar")
}

#[cfg(test)]
mod tests {
    use super::is_archive;
    use super::is_image;

    #[test]
    fn what_has_a_tag_or_a_registry_is_an_image_and_a_path_to_nowhere_is_none() {
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
            assert_eq!(is_image(input), expected, "{input}");
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
