//! Where an image is, as people write it.

use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use crate::oci::engine::Kind;
use crate::oci::error::Problem;
use crate::oci::error::PullError;
use crate::oci::error::one_line;
use crate::oci::files;
use crate::reference::ImageReference;
use crate::reference::ReferenceError;

/// Sources of other tools, which would be misread as a registry's host or an image's name.
const FOREIGN: [&str; 2] = ["containers-storage", "singularity"];

/// What lies in every folder of skopeo's `dir:`.
const FLAT: [&str; 2] = ["manifest.json", "version"];

/// What lies in a layout beside its `index.json`.
const LAYOUT: [&str; 2] = ["oci-layout", "blobs"];
/// How packed files begin: gzip, zstd, xz, bzip2.
const PACKED: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh"];
/// The word in the first header of a tar file, and where it stands.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// What kind of archive a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An OCI layout in a tar file.
    Oci,
    /// What `docker save` writes.
    Docker,
    /// Whichever of them it is.
    Either,
}

/// Where to read an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A registry.
    Registry(ImageReference),
    /// A folder in the OCI image layout.
    Layout {
        /// The folder.
        path: PathBuf,
        /// The image's name in `index.json`; none where there is only one image.
        name: Option<String>,
    },
    /// A folder as skopeo's `dir:` writes it: `manifest.json` and the blobs beside it.
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
        form: Form,
    },
    /// An engine on this machine.
    Engine {
        /// Which one.
        kind: Kind,
        /// The image as the engine knows it.
        image: String,
    },
}

impl Source {
    /// Reads the spellings of skopeo and syft: `oci:DIR[:NAME]`, `oci-dir:DIR[:NAME]`, `dir:DIR`,
    /// `oci-archive:FILE[:NAME]`, `docker-archive:FILE[:NAME]`, `docker-daemon:IMAGE`, `docker:IMAGE`, `podman:IMAGE`, `docker://REFERENCE`,
    /// `registry:REFERENCE`, a path, or a bare reference. A name that begins with neither `.` nor `/` is a reference unless a
    /// layout or an archive of that name lies there: any other folder or file of it has nothing to do with the image.
    pub fn parse(text: &str) -> Result<Self, PullError> {
        if let Some(reference) = text.strip_prefix("docker://") {
            return Self::registry(reference);
        }
        match text.split_once(':') {
            Some((_, "")) => Self::registry(text),
            Some(("oci" | "oci-dir", rest)) => Ok(Self::layout(rest)),
            Some(("dir", rest)) => Ok(Self::Flat { path: rest.into() }),
            Some(("oci-archive", rest)) => Ok(Self::archive(rest, Form::Oci)),
            Some(("docker-archive", rest)) => Ok(Self::archive(rest, Form::Docker)),
            Some(("docker-daemon", rest)) => Ok(Self::engine(Kind::Docker, rest)),
            Some(("podman", rest)) if !is_tag(rest) => Ok(Self::engine(Kind::Podman, rest)),
            Some(("docker", rest)) if !is_tag(rest) => Ok(Self::engine(Kind::Docker, rest)),
            Some(("registry", rest)) if !is_tag(rest) && !is_port(rest) => Self::registry(rest),
            Some((scheme, _)) if FOREIGN.contains(&scheme) => {
                let problem = Problem::Scheme { scheme: scheme.into() };
                Err(PullError::new("", &one_line(text, 300), "", problem))
            }
            _ => match Self::found(text) {
                Some(found) => Ok(found),
                None if text.ends_with('/') && Path::new(text).is_dir() => {
                    let name = one_line(text, 300);
                    Err(PullError::new("", &name, "", Problem::Folder { name: name.clone() }))
                }
                None => Self::registry(text),
            },
        }
    }

    /// A path that exists, with or without a name behind it.
    fn found(text: &str) -> Option<Self> {
        let named = text.starts_with(['.', '/']);
        let of = |path: &str, name: Option<&str>| {
            let (path, name) = (PathBuf::from(path), name.map(ToOwned::to_owned));
            if path.is_file() {
                let meant = named || name.is_some() || is_archive(text) || begins_as_archive(&path);
                meant.then_some(Self::Archive { path, name, form: Form::Either })
            } else if path.join("index.json").is_file() && (named || LAYOUT.iter().any(|own| path.join(own).exists())) {
                Some(Self::Layout { path, name })
            } else if name.is_none() && FLAT.iter().all(|file| path.join(file).is_file()) {
                Some(Self::Flat { path })
            } else if named && path.is_dir() {
                Some(Self::Layout { path, name })
            } else {
                None
            }
        };
        let with_name = || text.match_indices(':').find_map(|(at, _)| of(&text[..at], text.get(at + 1..)));
        let absent =
            || (named || is_archive(text)).then(|| Self::Archive { path: text.into(), name: None, form: Form::Either });
        of(text, None).or_else(|| with_name().filter(|_| named)).or_else(absent)
    }

    /// What of the name of an image in a registry lies here too, and is none.
    pub fn beside(&self, text: &str) -> Option<String> {
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

    fn engine(kind: Kind, image: &str) -> Self {
        Self::Engine { kind, image: image.into() }
    }

    fn archive(rest: &str, form: Form) -> Self {
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

    fn registry(text: &str) -> Result<Self, PullError> {
        let wrong = |error: ReferenceError| {
            PullError::new("", &one_line(text, 300), "", Problem::Reference { reason: error.to_string() })
        };
        ImageReference::parse(text).map(Self::Registry).map_err(wrong)
    }

    fn layout(rest: &str) -> Self {
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

/// The number, from 0, of an image that is named by its place as in `oci:DIR:@1`, which is skopeo's spelling.
pub(crate) fn numbered(name: &str) -> Option<usize> {
    name.strip_prefix('@')?.parse().ok()
}

/// Whether a name is that of an archive that lies nowhere: it ends as archives do, and names no registry.
fn is_archive(text: &str) -> bool {
    const ENDS: [&str; 5] = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.xz"];
    let host = text.split_once('/').map_or("", |(host, _)| host);
    ENDS.iter().any(|end| text.len() > end.len() && text.ends_with(end))
        && !host.contains(['.', ':'])
        && host != "localhost"
        && !text.contains(['@', ':'])
}

/// Whether a file begins as a tar file or a packed one does.
fn begins_as_archive(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = files::open(path).is_ok_and(|(_, file)| file.take(512).read_to_end(&mut head).is_ok());
    let tar = head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
    read && (tar || PACKED.iter().any(|magic| head.starts_with(magic)))
}

/// Whether `docker:24` and the like name an image of Docker Hub with a tag, as they always did.
fn is_tag(rest: &str) -> bool {
    rest.starts_with(|sign: char| sign.is_ascii_digit()) && !rest.contains(['/', ':', '@'])
        || matches!(rest, "latest" | "dind" | "cli" | "rc" | "git" | "stable")
}

/// Whether `registry:5000/app` is a host with its port.
fn is_port(rest: &str) -> bool {
    let port = rest.split('/').next().unwrap_or_default();
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Source {
        Source::parse(text).expect(text)
    }

    #[test]
    fn sources_are_told_apart_by_their_prefix() {
        let layout = |path: &str, name: Option<&str>| Source::Layout { path: path.into(), name: name.map(Into::into) };
        assert_eq!(parsed("oci:a/b:c"), layout("a/b", Some("c")));
        assert_eq!(parsed("oci-dir:a:b/c"), layout("a:b/c", None));
        assert_eq!(parsed("dir:a/b:c"), Source::Flat { path: "a/b:c".into() });
        let archive = |path: &str, name: Option<&str>, form| Source::Archive {
            path: path.into(),
            name: name.map(Into::into),
            form,
        };
        assert_eq!(parsed("docker-archive:x.tar"), archive("x.tar", None, Form::Docker));
        assert_eq!(parsed("oci-archive:x.tar:a/b:c"), archive("x.tar", Some("a/b:c"), Form::Oci));
        for absent in ["./nowhere.tar", "nowhere.tar", "built/nowhere.tar.gz", "a.tgz"] {
            assert_eq!(parsed(absent), archive(absent, None, Form::Either));
        }
        let engine = |kind, image: &str| Source::Engine { kind, image: image.into() };
        assert_eq!(parsed("docker:nvidia/cuda:12"), engine(Kind::Docker, "nvidia/cuda:12"));
        assert_eq!(parsed("docker-daemon:a"), engine(Kind::Docker, "a"));
        assert_eq!(parsed("podman:localhost/a:1"), engine(Kind::Podman, "localhost/a:1"));
    }

    #[test]
    fn names_of_images_stay_names_of_images() {
        assert_eq!(parsed("docker://debian"), parsed("debian"));
        assert_eq!(parsed("registry:debian"), parsed("debian"));
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
            assert!(matches!(parsed(text), Source::Registry(_)), "{text}");
        }
        for text in ["singularity:x.sif", "containers-storage:x", "a b", "docker:"] {
            assert!(Source::parse(text).is_err(), "{text}");
        }
        // Folders and files that are there are no images, and no reference ends as a path does.
        let error = Source::parse("src/").expect_err("a folder").to_string();
        assert!(error.contains("is a directory without an image: it contains neither index.json"), "{error}");
        for text in ["src", "src/oci", "src/main.rs", "rules"] {
            let source = parsed(text);
            assert!(matches!(source, Source::Registry(_)), "{text}");
            let told = source.beside(text).expect(text);
            assert!(told.ends_with(&format!("pass ./{text} to select it")), "{told}");
        }
        for text in ["./src", "debian", "oci:src", "docker-archive:Makefile"] {
            assert_eq!(parsed(text).beside(text), None, "{text}");
        }
        assert!(matches!(parsed("./src"), Source::Layout { .. }));
        assert!(matches!(parsed("./LICENSE"), Source::Archive { .. }));
        assert!(matches!(parsed("registry:src"), Source::Registry(_)));
        assert!(matches!(parsed("src:latest"), Source::Registry(_)));
    }
}
