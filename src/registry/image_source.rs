//! The source of an image, as a user writes it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::model::reference::{ImageReference, ReferenceError};
use crate::registry::container_engine::EngineKind;
use crate::registry::pull_error::{PullError, PullProblem, one_line};
use crate::registry::regular_file;

/// Prefixes of other tools' sources, which would be misread as a registry host or an image name.
const UNSUPPORTED_SCHEMES: [&str; 2] = ["containers-storage", "singularity"];

/// The files in every directory of skopeo's `dir:`.
const FLAT_FOLDER_FILES: [&str; 2] = ["manifest.json", "version"];

/// The names in an OCI layout besides its `index.json`.
const LAYOUT_ENTRIES: [&str; 2] = ["oci-layout", "blobs"];
/// The first bytes of gzip, zstd, xz and bzip2 files.
const COMPRESSION_MAGICS: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"];
/// The offset and the value of the magic bytes in a tar header.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// The format of an image archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveFormat {
    /// An OCI layout in a tar file.
    Oci,
    /// The format of `docker save`.
    Docker,
    /// Detected from the contents.
    Either,
}

/// Where to read an image from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// A registry.
    Registry(ImageReference),
    /// A folder in the OCI image layout.
    Layout {
        /// The folder.
        path: PathBuf,
        /// The image's name in `index.json`; none where there is only one image.
        name: Option<String>,
    },
    /// A directory as skopeo's `dir:` writes it: `manifest.json` and the blobs.
    Flat {
        /// The folder.
        path: PathBuf,
    },
    /// A tar file, which may be packed as a whole.
    Archive {
        /// The file.
        path: PathBuf,
        /// The image's name in it; none where there is only one image.
        name: Option<String>,
        /// What kind it is.
        form: ArchiveFormat,
    },
    /// An engine on this machine.
    Engine {
        /// Which one.
        kind: EngineKind,
        /// The image as the engine knows it.
        image: String,
    },
}

impl ImageSource {
    /// Parses a source as skopeo and syft write it: `oci:DIR[:NAME]`, `oci-dir:DIR[:NAME]`, `dir:DIR`,
    /// `oci-archive:FILE[:NAME]`, `docker-archive:FILE[:NAME]`, `docker-daemon:IMAGE`, `docker:IMAGE`,
    /// `podman:IMAGE`, `docker://REFERENCE`, `registry:REFERENCE`, a path, or a plain reference. A name that begins
    /// with neither `.` nor `/` is a reference unless a layout or an archive of that name exists.
    pub fn parse(text: &str) -> Result<Self, PullError> {
        if let Some(reference) = text.strip_prefix("docker://") {
            return Self::parse_registry(reference);
        }
        match text.split_once(':') {
            Some((_, "")) => Self::parse_registry(text),
            Some(("oci" | "oci-dir", rest)) => Ok(Self::parse_layout(rest)),
            Some(("dir", rest)) => Ok(Self::Flat { path: rest.into() }),
            Some(("oci-archive", rest)) => Ok(Self::parse_archive(rest, ArchiveFormat::Oci)),
            Some(("docker-archive", rest)) => Ok(Self::parse_archive(rest, ArchiveFormat::Docker)),
            Some(("docker-daemon", rest)) => Ok(Self::from_engine(EngineKind::Docker, rest)),
            Some(("podman", rest)) if !is_image_tag(rest) => Ok(Self::from_engine(EngineKind::Podman, rest)),
            Some(("docker", rest)) if !is_image_tag(rest) => Ok(Self::from_engine(EngineKind::Docker, rest)),
            Some(("registry", rest)) if !is_image_tag(rest) && !starts_with_port(rest) => Self::parse_registry(rest),
            Some((scheme, _)) if UNSUPPORTED_SCHEMES.contains(&scheme) => {
                let problem = PullProblem::Scheme { scheme: scheme.into() };
                Err(PullError::new("", &one_line(text, 300), "", problem))
            }
            _ => match Self::from_path(text) {
                Some(found) => Ok(found),
                None if text.ends_with('/') && Path::new(text).is_dir() => {
                    let name = one_line(text, 300);
                    Err(PullError::new("", &name, "", PullProblem::Folder { name: name.clone() }))
                }
                None => Self::parse_registry(text),
            },
        }
    }

    /// Returns the source at a path, with or without an image name after it; `None` if the text is not a path.
    fn from_path(text: &str) -> Option<Self> {
        let named = text.starts_with(['.', '/']);
        let of = |path: &str, name: Option<&str>| {
            let (path, name) = (PathBuf::from(path), name.map(ToOwned::to_owned));
            if path.is_file() {
                let is_archive = named || name.is_some() || is_archive_name(text) || has_archive_magic(&path);
                is_archive.then_some(Self::Archive { path, name, form: ArchiveFormat::Either })
            } else if path.join("index.json").is_file()
                && (named || LAYOUT_ENTRIES.iter().any(|own| path.join(own).exists()))
            {
                Some(Self::Layout { path, name })
            } else if name.is_none() && FLAT_FOLDER_FILES.iter().all(|file| path.join(file).is_file()) {
                Some(Self::Flat { path })
            } else if named && path.is_dir() {
                Some(Self::Layout { path, name })
            } else {
                None
            }
        };
        let with_name = || text.match_indices(':').find_map(|(at, _)| of(&text[..at], text.get(at + 1..)));
        let absent = || {
            (named || is_archive_name(text)).then(|| Self::Archive {
                path: text.into(),
                name: None,
                form: ArchiveFormat::Either,
            })
        };
        of(text, None).or_else(|| with_name().filter(|_| named)).or_else(absent)
    }

    /// Returns a note if the name of an image in a registry is also that of a local file or directory without an
    /// image.
    pub fn same_name_note(&self, text: &str) -> Option<String> {
        let path = Path::new(text);
        let kind = if path.is_dir() { "folder" } else { "file" };
        let here = matches!(self, Self::Registry(_)) && path.exists();
        here.then(|| {
            format!(
                "the {kind} of this name in the current directory contains no image; pass ./{} to select it",
                one_line(text, 300)
            )
        })
    }

    /// Returns the source of an image in a container engine.
    fn from_engine(kind: EngineKind, image: &str) -> Self {
        Self::Engine { kind, image: image.into() }
    }

    /// Parses an archive path with an optional image name.
    fn parse_archive(rest: &str, form: ArchiveFormat) -> Self {
        let split = |at: usize| (rest.get(..at).unwrap_or(rest), rest.get(at + 1..).filter(|name| !name.is_empty()));
        // The shortest path that is a file; a file may have a colon in its name.
        let known = rest.match_indices(':').map(|(at, _)| split(at)).find(|(path, _)| Path::new(path).is_file());
        let (path, name) = if Path::new(rest).is_file() {
            (rest, None)
        } else {
            known.or_else(|| rest.find(':').map(split)).unwrap_or((rest, None))
        };
        Self::Archive { path: path.into(), name: name.map(ToOwned::to_owned), form }
    }

    /// Parses an image reference in a registry.
    fn parse_registry(text: &str) -> Result<Self, PullError> {
        let wrong = |error: ReferenceError| {
            PullError::new("", &one_line(text, 300), "", PullProblem::Reference { error: error.to_string() })
        };
        ImageReference::parse(text).map(Self::Registry).map_err(wrong)
    }

    /// Parses a layout path with an optional image name.
    fn parse_layout(rest: &str) -> Self {
        let whole = || Self::Layout { path: rest.into(), name: None };
        let of = |path: &str, name: &str| Self::Layout { path: path.into(), name: Some(name.into()) };
        let is_layout = |path: &str| Path::new(path).join("index.json").is_file();
        let split = |at: usize| Some((rest.get(..at)?, rest.get(at + 1..)?));
        let mut splits = rest.match_indices(':').filter_map(|(at, _)| split(at)).filter(|(_, name)| !name.is_empty());
        if !is_layout(rest)
            && let Some((path, name)) = splits.find(|(path, _)| is_layout(path))
        {
            return of(path, name);
        }
        match rest.rsplit_once(':') {
            // A folder may have a colon in its name; a name has no separator.
            Some((path, name)) if !path.is_empty() && !name.is_empty() => {
                if name.contains(['/', '\\']) || Path::new(rest).is_dir() { whole() } else { of(path, name) }
            }
            _ => whole(),
        }
    }
}

/// Returns the index of an image selected by number, as in `oci:DIR:@1`, counted from 0.
pub(crate) fn image_number(name: &str) -> Option<usize> {
    name.strip_prefix('@')?.parse().ok()
}

/// Whether a name has the extension of an archive and cannot be that of an image in a registry.
fn is_archive_name(text: &str) -> bool {
    const ENDS: [&str; 5] = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz"];
    let host = text.split_once('/').map_or("", |(host, _)| host);
    ENDS.iter().any(|end| text.len() > end.len() && text.ends_with(end))
        && !host.contains(['.', ':'])
        && host != "localhost"
        && !text.contains(['@', ':'])
}

/// Whether a file begins like a tar file or a compressed file.
fn has_archive_magic(path: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        regular_file::open_regular_file(path).is_ok_and(|(_, file)| file.take(512).read_to_end(&mut head).is_ok());
    let tar = head.get(TAR_MAGIC.0..).is_some_and(|rest| rest.starts_with(TAR_MAGIC.1));
    read && (tar || COMPRESSION_MAGICS.iter().any(|magic| head.starts_with(magic)))
}

/// Whether the text after `docker:` and the like is the tag of an image on Docker Hub, as in `docker:24`.
fn is_image_tag(rest: &str) -> bool {
    rest.starts_with(|sign: char| sign.is_ascii_digit()) && !rest.contains(['/', ':', '@'])
        || matches!(rest, "latest" | "dind" | "cli" | "rc" | "git" | "stable")
}

/// Whether the text after `registry:` begins with a port, as in `registry:5000/app`.
fn starts_with_port(rest: &str) -> bool {
    let port = rest.split('/').next().unwrap_or_default();
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_source(text: &str) -> ImageSource {
        ImageSource::parse(text).expect(text)
    }

    #[test]
    fn sources_are_distinguished_by_their_prefix() {
        let layout =
            |path: &str, name: Option<&str>| ImageSource::Layout { path: path.into(), name: name.map(Into::into) };
        assert_eq!(parse_source("oci:a/b:c"), layout("a/b", Some("c")));
        assert_eq!(parse_source("oci-dir:a:b/c"), layout("a:b/c", None));
        assert_eq!(parse_source("dir:a/b:c"), ImageSource::Flat { path: "a/b:c".into() });
        let archive = |path: &str, name: Option<&str>, form| ImageSource::Archive {
            path: path.into(),
            name: name.map(Into::into),
            form,
        };
        assert_eq!(parse_source("docker-archive:x.tar"), archive("x.tar", None, ArchiveFormat::Docker));
        assert_eq!(parse_source("oci-archive:x.tar:a/b:c"), archive("x.tar", Some("a/b:c"), ArchiveFormat::Oci));
        for absent in ["./nowhere.tar", "nowhere.tar", "built/nowhere.tar.gz", "a.tgz"] {
            assert_eq!(parse_source(absent), archive(absent, None, ArchiveFormat::Either));
        }
        let engine = |kind, image: &str| ImageSource::Engine { kind, image: image.into() };
        assert_eq!(parse_source("docker:nvidia/cuda:12"), engine(EngineKind::Docker, "nvidia/cuda:12"));
        assert_eq!(parse_source("docker-daemon:a"), engine(EngineKind::Docker, "a"));
        assert_eq!(parse_source("podman:localhost/a:1"), engine(EngineKind::Podman, "localhost/a:1"));
    }

    #[test]
    fn names_of_images_stay_names_of_images() {
        assert_eq!(parse_source("docker://debian"), parse_source("debian"));
        assert_eq!(parse_source("registry:debian"), parse_source("debian"));
        for text in [
            "docker:24",
            "docker:latest",
            "registry:2",
            "registry:5000/app",
            "docker/dockerfile:1",
            "a.b/x.tar",
            "localhost/x.tar",
            "127.0.0.1:5000/x.tar",
            "x.tar:1",
            "docker://x.tar",
            "registry:x.tar",
            "tar",
            "x.tart",
        ] {
            assert!(matches!(parse_source(text), ImageSource::Registry(_)), "{text}");
        }
        for text in ["singularity:x.sif", "containers-storage:x", "a b", "docker:"] {
            assert!(ImageSource::parse(text).is_err(), "{text}");
        }
        // Folders and files that are there are no images, and no reference ends as a path does.
        let error = ImageSource::parse("src/").expect_err("a folder").to_string();
        assert!(error.contains("is a directory without an image: it contains neither index.json"), "{error}");
        for text in ["src", "src/cli", "src/main.rs", "rules"] {
            let source = parse_source(text);
            assert!(matches!(source, ImageSource::Registry(_)), "{text}");
            let note = source.same_name_note(text).expect(text);
            assert!(note.ends_with(&format!("pass ./{text} to select it")), "{note}");
        }
        for text in ["./src", "debian", "oci:src", "docker-archive:Makefile"] {
            assert_eq!(parse_source(text).same_name_note(text), None, "{text}");
        }
        assert!(matches!(parse_source("./src"), ImageSource::Layout { .. }));
        assert!(matches!(parse_source("./LICENSE"), ImageSource::Archive { .. }));
        assert!(matches!(parse_source("registry:src"), ImageSource::Registry(_)));
        assert!(matches!(parse_source("src:latest"), ImageSource::Registry(_)));
    }
}
