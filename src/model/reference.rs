//! Image references, parsed by Docker's rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The registry of references without one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Maximum length of registry and repository.
const MAX_NAME_LENGTH: usize = 255;
/// Maximum length of a tag.
const MAX_TAG_LENGTH: usize = 128;

/// Why a text is not an image reference.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text is empty.
    #[error("the image name is empty")]
    Empty,
    /// A part of the repository breaks the naming rules.
    #[error("`{0}` is not a part of a repository name (lower-case letters, digits, and `.`, `_`, `-` between them)")]
    Repository(String),
    /// The registry part breaks the naming rules.
    #[error("`{0}` is not a registry host")]
    Registry(String),
    /// The tag breaks the naming rules.
    #[error("`{0}` is not a tag (letters, digits, `_`, `.`, `-`; at most 128; not starting with `.` or `-`)")]
    Tag(String),
    /// The digest is not `algorithm:hex`.
    #[error("`{0}` is not a digest (`sha256:` and 64 hexadecimal digits)")]
    Digest(String),
    /// The name is longer than Docker allows.
    #[error("the repository name is longer than 255 characters")]
    TooLong,
}

/// The registry in references to images that another target of the same build file produces; no such host exists.
pub const BUILD_TARGET_REGISTRY: &str = "target.invalid";

/// An image reference: registry, repository, and at most one tag and one digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageReference {
    /// Parses a reference by Docker's rules.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(check_digest(digest)?)),
            None => (text, None),
        };
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[last..].find(':') {
            Some(colon) => (&rest[..last + colon], Some(check_tag(&rest[last + colon + 1..])?)),
            None => (rest, None),
        };
        let (registry, repository) = match name.split_once('/') {
            Some((host, path)) if is_registry_host(host) => (host, path),
            _ => (DEFAULT_REGISTRY, name),
        };
        check_registry(registry)?;
        let registry = if registry == "index.docker.io" { DEFAULT_REGISTRY } else { registry };
        let repository = if registry == DEFAULT_REGISTRY && !repository.contains('/') {
            format!("library/{repository}")
        } else {
            repository.to_owned()
        };
        if repository == "library/" {
            return Err(ReferenceError::Empty);
        }
        if let Some(wrong) = repository.split('/').find(|part| !is_path_component(part)) {
            return Err(ReferenceError::Repository(wrong.to_owned()));
        }
        if registry.len() + repository.len() > MAX_NAME_LENGTH {
            return Err(ReferenceError::TooLong);
        }
        Ok(Self { registry: registry.to_owned(), repository, tag, digest })
    }

    /// Whether another target of the same build file produces the image, so that no registry has it.
    pub fn is_build_target(&self) -> bool {
        self.registry == BUILD_TARGET_REGISTRY
    }

    /// Returns the registry host, with its port if there is one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the repository, with `library/` where Docker adds it.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag as written.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest as written, with its algorithm.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns registry and repository as Docker prints them: without `docker.io/` and `library/`.
    pub fn familiar_name(&self) -> String {
        if self.registry == DEFAULT_REGISTRY {
            self.repository
                .strip_prefix("library/")
                .filter(|rest| !rest.contains('/'))
                .unwrap_or(&self.repository)
                .to_owned()
        } else {
            format!("{}/{}", self.registry, self.repository)
        }
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.familiar_name())?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl From<ImageReference> for String {
    /// In full, with the registry that Docker leaves out.
    fn from(reference: ImageReference) -> Self {
        let ImageReference { registry, repository, tag, digest } = reference;
        let part = |sign: &str, text: Option<Self>| text.map(|text| format!("{sign}{text}")).unwrap_or_default();
        format!("{registry}/{repository}{}{}", part(":", tag), part("@", digest))
    }
}

impl TryFrom<String> for ImageReference {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Self, ReferenceError> {
        Self::parse(&text)
    }
}

impl FromStr for ImageReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// Whether the first part of a reference is a registry host.
fn is_registry_host(part: &str) -> bool {
    part == "localhost" || part.contains(['.', ':']) || part.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Checks the host and port of a registry.
fn check_registry(registry: &str) -> Result<(), ReferenceError> {
    let wrong = || ReferenceError::Registry(registry.to_owned());
    let (host, port) = if registry.starts_with('[') {
        let end = registry.find(']').ok_or_else(wrong)?;
        let inside = registry.get(1..end).unwrap_or("");
        if inside.is_empty() || !inside.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':') {
            return Err(wrong());
        }
        match &registry[end + 1..] {
            "" => return Ok(()),
            rest => ("v6", Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
        }
    } else {
        registry.split_once(':').map_or((registry, None), |(host, port)| (host, Some(port)))
    };
    let label = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let port_ok = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if host.split('.').all(label) && port_ok { Ok(()) } else { Err(wrong()) }
}

/// Whether a text is a valid path component of a repository.
fn is_path_component(part: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    edge(part.bytes().next())
        && edge(part.bytes().last())
        && part.bytes().all(inner)
        && !["..", "___", "._", "_.", "-.", ".-", "_-", "-_"].iter().any(|bad| part.contains(bad))
}

/// Checks a tag, and returns it.
fn check_tag(tag: &str) -> Result<String, ReferenceError> {
    let good = !tag.is_empty()
        && tag.len() <= MAX_TAG_LENGTH
        && !tag.starts_with(['.', '-'])
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if good { Ok(tag.to_owned()) } else { Err(ReferenceError::Tag(tag.to_owned())) }
}

/// Checks a digest, and returns it.
fn check_digest(digest: &str) -> Result<String, ReferenceError> {
    let wrong = || ReferenceError::Digest(digest.to_owned());
    let (algorithm, hex) = digest.split_once(':').ok_or_else(wrong)?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(wrong()),
    };
    let good = hex.len() == length && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if good { Ok(digest.to_owned()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_docker_reads_them() {
        let zeros = "0".repeat(64);
        for (text, registry, repository, tag, familiar) in [
            ("python", "docker.io", "library/python", None, "python"),
            (
                "nvidia/cuda:12.4.1-base-ubuntu22.04",
                "docker.io",
                "nvidia/cuda",
                Some("12.4.1-base-ubuntu22.04"),
                "nvidia/cuda",
            ),
            ("docker.io/library/python:3", "docker.io", "library/python", Some("3"), "python"),
            ("index.docker.io/nvidia/cuda", "docker.io", "nvidia/cuda", None, "nvidia/cuda"),
            (
                "nvcr.io/nvidia/pytorch:24.01-py3",
                "nvcr.io",
                "nvidia/pytorch",
                Some("24.01-py3"),
                "nvcr.io/nvidia/pytorch",
            ),
            ("nvcr.io/nvidia/cuda", "nvcr.io", "nvidia/cuda", None, "nvcr.io/nvidia/cuda"),
            ("localhost:5000/a/b:tag", "localhost:5000", "a/b", Some("tag"), "localhost:5000/a/b"),
            ("localhost/a", "localhost", "a", None, "localhost/a"),
            ("host:80", "docker.io", "library/host", Some("80"), "host"),
            ("a__b/c--d", "docker.io", "a__b/c--d", None, "a__b/c--d"),
        ] {
            let image = ImageReference::parse(text).expect(text);
            assert_eq!((image.registry(), image.repository(), image.tag()), (registry, repository, tag), "{text}");
            assert_eq!(image.familiar_name(), familiar, "{text}");
            assert_eq!(image.to_string().parse(), Ok(image), "{text}");
        }
        let image = ImageReference::parse(&format!("a/b:t@sha256:{zeros}")).expect("digest");
        assert_eq!(image.digest(), Some(format!("sha256:{zeros}").as_str()));
        assert_eq!(image.to_string(), format!("a/b:t@sha256:{zeros}"));
    }

    #[test]
    fn invalid_reference_is_refused() {
        for text in [
            "",
            "/",
            "a/",
            "/a",
            "A",
            "a b",
            "a:",
            "a:b:c",
            "a@",
            "a@sha256:00",
            "a@sha256",
            "é",
            "a..b",
            "x.y/",
            "[::1/a",
            "h:p/a",
            "a:-x",
            "{{ b }}",
            "$X",
        ] {
            assert!(ImageReference::parse(text).is_err(), "{text}");
        }
    }
}
