//! Reads text files named on the command line or by other files.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::cli::file_search::{is_description_name, is_dockerfile_name};
use crate::model::reference::ImageReference;
use crate::text::nearest::{nearest_file, unreadable_path_message};

/// Largest size of a text file in bytes.
pub(super) const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Reads a regular file up to a size limit, following symbolic links; pipes and devices are rejected.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| unreadable_path_message(path, &error, "a file"))?;
    if about.is_dir() {
        return Err("this is a directory; pass a file".to_owned());
    }
    if !about.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    read_command_line_file(path, limit)
}

/// Reads a file named on the command line up to a size limit; unlike `read_text`, it may be a pipe.
pub(super) fn read_command_line_file(path: &Path, limit: u64) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| unreadable_path_message(path, &error, "a file"))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err("this is a directory; pass a file".to_owned());
    }
    read_limited(file, limit)
}

/// Reads a text up to a size limit; invalid UTF-8 is replaced.
pub(super) fn read_limited(from: impl io::Read, limit: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > limit) {
        return Err(format!("longer than {limit} bytes"));
    }
    String::from_utf8(bytes).or_else(|error| Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Largest number of folder entries searched for a Dockerfile.
const MAX_FOLDER_ENTRIES: usize = 4096;

/// Returns the error for a path that does not exist, with a suggestion; `None` if it exists.
pub(super) fn missing_file_error(path: &Path) -> Option<String> {
    if path.exists() || path.is_symlink() {
        return None;
    }
    let way = match nearest_file(path) {
        Some(suggestion) => format!("did you mean `{suggestion}`?"),
        None if is_image_name(path) => format!("for an image: imagelint scan {}", path.display()),
        None => "pass a Dockerfile or a directory".to_owned(),
    };
    Some(format!("not found; {way}"))
}

/// Whether a path that does not exist is an image name: with a tag, a digest, a registry or a scheme.
pub(super) fn is_image_name(path: &Path) -> bool {
    let text = path.to_str().unwrap_or_default();
    let registry = text.split_once('/').is_some_and(|(host, _)| host.contains(['.', ':']) && !host.starts_with('.'));
    let named = ImageReference::parse(text).is_ok_and(|image| image.tag().is_some() || image.digest().is_some());
    let scheme = ["oci:", "dir:", "oci-archive:", "docker-archive:", "docker-daemon:", "podman:"];
    scheme.iter().any(|scheme| text.starts_with(scheme)) || named || registry && ImageReference::parse(text).is_ok()
}

/// Extensions of text files that no image archive has.
const TEXT_EXTENSIONS: &[&str] = &["toml", "json", "yaml", "yml", "txt", "hcl", "py", "md", "log"];

/// Returns the error for a name that is a web address, text file or directory with a Dockerfile instead of an image.
pub(super) fn not_an_image_error(name: &str) -> Option<String> {
    if let Some(rest) = ["https://", "http://"].iter().find_map(|scheme| name.strip_prefix(scheme)) {
        let rest = rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/');
        let suggestion =
            docker_hub_image(rest).or_else(|| ImageReference::parse(rest).is_ok().then(|| rest.to_owned()));
        let way = suggestion
            .map_or_else(|| "pass registry/repository:tag".to_owned(), |name| format!("use: imagelint scan {name}"));
        return Some(format!("`{name}` is a web address, not an image; {way}"));
    }
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if TEXT_EXTENSIONS.contains(&ending) && path.is_file() {
        let fleet = ending == "toml" && read_text(path, MAX_TEXT_BYTES).is_ok_and(|text| text.contains("[[pool]]"));
        let way = match ending {
            _ if fleet => format!("use: imagelint fleet check {name}"),
            "toml" if is_description_name(name) => format!("use: imagelint check {name}"),
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
        let names =
            fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FOLDER_ENTRIES).map(|one| one.file_name());
        let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        let image = ["oci-layout", "index.json", "manifest.json"];
        !names.iter().any(|name| image.contains(&name.as_str())) && names.iter().any(|name| is_dockerfile_name(name))
    };
    let what = match () {
        () if path.is_file() && is_dockerfile_name(&file) => "a Dockerfile",
        () if path.is_dir() && own(path) => "a directory with a Dockerfile",
        () => return None,
    };
    Some(format!("`{name}` is {what}, not an image; use: imagelint check {name}"))
}

/// Returns the image that a page of Docker Hub shows.
fn docker_hub_image(address: &str) -> Option<String> {
    let mut parts = address.strip_prefix("hub.docker.com/")?.split('/');
    match (parts.next()?, parts.next()?, parts.next()) {
        ("_", name, _) => Some(name.to_owned()),
        ("r", owner, Some(name)) => Some(format!("{owner}/{name}")),
        _ => None,
    }
}

/// Returns the real path, relative to the current directory; an error if it is outside the repository of `folder`, or
/// outside `folder` without one.
pub(super) fn path_in_repository(path: &Path, folder: &Path) -> Result<PathBuf, String> {
    let found = path.canonicalize().map_err(|error| {
        format!("cannot read {}: {}", path.display(), unreadable_path_message(path, &error, "a file"))
    })?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = folder.canonicalize().map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let root = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    if !found.starts_with(root) {
        return Err(format!("{} is outside the repository and is not read", path.display()));
    }
    Ok(path_from_current_directory(&found))
}

/// Returns a full path relative to the current directory if it is in it.
pub(crate) fn path_from_current_directory(path: &Path) -> PathBuf {
    let folder = env::current_dir().and_then(|folder| folder.canonicalize()).ok();
    folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path).to_path_buf()
}
