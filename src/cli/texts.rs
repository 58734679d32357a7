//! Texts of files, read as what their names say.

use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;

use crate::cli::reports;
use crate::cli::walk::is_description;
use crate::cli::walk::is_dockerfile;
use crate::dockerfile::OnDemand;
use crate::nearest::nearest_file;
use crate::nearest::unread;
use crate::reference::ImageReference;
use crate::report::again::Again;
use crate::source::SourceText;

/// No text that a person wrote is longer.
pub(super) const MAX_TEXT: u64 = 4 << 20;

/// The text of a file, read as what its name says.
pub(super) enum Text {
    Dockerfile(OnDemand, SourceText),
    Description(SourceText),
    Report(Result<Again, String>),
}

/// A file that is to be judged.
pub(super) fn read_file(path: &Path) -> Result<Text, String> {
    if reports::is_report(path) {
        return Ok(Text::Report(reports::of_file(path)));
    }
    let text = read_named(path, MAX_TEXT).map_err(|error| missing(path).unwrap_or(error))?;
    Ok(text_of(path, text))
}

/// The text of a file, read as its name says.
pub(super) fn text_of(path: &Path, text: String) -> Text {
    let name = path.display().to_string();
    // Whatever is written in that form and named on the command line is meant as a description.
    let described =
        is_description(&name) || (path.extension().is_some_and(|ending| ending == "toml") && !is_dockerfile(&name));
    if described {
        Text::Description(SourceText::new(name, text))
    } else if reports::is_report(path) {
        Text::Report(reports::of_text(&text))
    } else {
        let text = SourceText::new(name, text);
        Text::Dockerfile(OnDemand::new(text.shared()), text)
    }
}

/// The text of a plain file, links followed, if it is not too long: nothing waits for a pipe that a repository holds,
/// and no device is read on and on.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| unread(path, &error, "a file"))?;
    if about.is_dir() {
        return Err("this is a directory; pass a file".to_owned());
    }
    if !about.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    read_named(path, limit)
}

/// The same of what somebody names on the command line, which may be the pipe of a shell.
pub(super) fn read_named(path: &Path, limit: u64) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| unread(path, &error, "a file"))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err("this is a directory; pass a file".to_owned());
    }
    read_limited(file, limit)
}

/// A text that is not longer than the limit.
pub(super) fn read_limited(from: impl io::Read, limit: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > limit) {
        return Err(format!("longer than {limit} bytes"));
    }
    String::from_utf8(bytes).or_else(|error| Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// No folder is looked through further for a name that was meant.
const MANY: usize = 4096;

/// That nothing is at a path, and what may be meant; none if something is there.
fn missing(path: &Path) -> Option<String> {
    if path.exists() || path.is_symlink() {
        return None;
    }
    let way = match nearest_file(path) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if is_image(path) => format!("for an image: imagelint scan {}", path.display()),
        None => "pass a Dockerfile or a directory".to_owned(),
    };
    Some(format!("not found; {way}"))
}

/// Whether a path that does not exist is the name of an image: with a tag, a digest or a registry.
pub(super) fn is_image(path: &Path) -> bool {
    let text = path.to_str().unwrap_or_default();
    let registry = text.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']) && !host.starts_with('.'));
    let named = ImageReference::parse(text).is_ok_and(|image| image.tag().is_some() || image.digest().is_some());
    let scheme = ["oci:", "dir:", "oci-archive:", "docker-archive:", "docker-daemon:", "podman:"];
    scheme.iter().any(|scheme| text.starts_with(scheme)) || named || registry && ImageReference::parse(text).is_ok()
}

/// Endings of files that people write, and no archive has.
const WRITTEN: &[&str] = &["toml", "json", "yaml", "yml", "txt", "hcl", "py", "md", "log"];

/// Why a name is no image but a web address or the path of a file or of a directory with a Dockerfile; none if it is
/// neither.
pub(super) fn is_for_check(name: &str) -> Option<String> {
    if let Some(rest) = ["https://", "http://"].iter().find_map(|scheme| name.strip_prefix(scheme)) {
        let rest = rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/');
        let meant = of_hub(rest).or_else(|| ImageReference::parse(rest).is_ok().then(|| rest.to_owned()));
        let way = meant
            .map_or_else(|| "pass registry/repository:tag".to_owned(), |name| format!("use: imagelint scan {name}"));
        return Some(format!("`{name}` is a web address, not an image; {way}"));
    }
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if WRITTEN.contains(&ending) && path.is_file() {
        let fleet = ending == "toml" && read_text(path, MAX_TEXT).is_ok_and(|text| text.contains("[[pool]]"));
        let way = match ending {
            _ if fleet => format!("use: imagelint fleet check {name}"),
            "toml" if is_description(name) => format!("use: imagelint check {name}"),
            "json" => {
                format!("for a report: imagelint check {name}; for pods: imagelint scan --from-kubernetes {name}")
            }
            "yaml" | "yml" => format!("for pods or a compose file: imagelint scan --from-kubernetes {name}"),
            "txt" => format!("for a list of images: imagelint scan --from-file {name}"),
            _ => "for an archive: imagelint scan docker-archive:FILE".to_owned(),
        };
        return Some(format!("`{name}` is a file, not an image; {way}"));
    }
    let file = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let own = |folder: &Path| {
        let names = fs::read_dir(folder).into_iter().flatten().flatten().take(MANY).map(|one| one.file_name());
        let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        let image = ["oci-layout", "index.json", "manifest.json"];
        !names.iter().any(|name| image.contains(&name.as_str())) && names.iter().any(|name| is_dockerfile(name))
    };
    let what = match () {
        () if path.is_file() && is_dockerfile(&file) => "a Dockerfile",
        () if path.is_dir() && own(path) => "a directory with a Dockerfile",
        () => return None,
    };
    Some(format!("`{name}` is {what}, not an image; use: imagelint check {name}"))
}

/// The image that a page of Docker Hub is about.
fn of_hub(address: &str) -> Option<String> {
    let mut parts = address.strip_prefix("hub.docker.com/")?.split('/');
    match (parts.next()?, parts.next()?, parts.next()) {
        ("_", name, _) => Some(name.to_owned()),
        ("r", owner, Some(name)) => Some(format!("{owner}/{name}")),
        _ => None,
    }
}
