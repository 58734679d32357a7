//! Where an image is: registry, repository, tag and digest.

use std::fmt;
use std::net::IpAddr;

use crate::oci::digest::Digest;
use crate::oci::error::Problem;
use crate::oci::error::PullError;

/// A reference into a registry, as plain parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Host and, if any, port, such as `docker.io` or `127.0.0.1:5000`.
    pub registry: String,
    /// Repository with its namespace, such as `library/debian`.
    pub repository: String,
    /// Tag; `latest` where neither tag nor digest is given.
    pub tag: Option<String>,
    /// Digest of a manifest or index; it goes before the tag.
    pub digest: Option<String>,
}

impl Reference {
    /// Reads `[host/]repository[:tag][@digest]`.
    pub fn parse(text: &str) -> Result<Self, PullError> {
        let (rest, digest) = text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b)));
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        let (registry, path) = match name.split_once('/') {
            Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
            _ => ("docker.io", name),
        };
        let official = is_docker_hub(registry) && !path.contains('/');
        let repository = if official { format!("library/{path}") } else { path.into() };
        let reference =
            Self { registry: registry.into(), repository, tag: tag.map(Into::into), digest: digest.map(Into::into) };
        match reference.check() {
            Ok(()) => Ok(reference),
            Err(problem) => Err(PullError::new("", &crate::oci::error::one_line(text, 300), "", problem)),
        }
    }

    /// Refuses parts that would not stay in their place in a request.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let wrong = |reason: &str| Err(Problem::Reference { reason: reason.into() });
        let host_characters = |b: u8| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b);
        if self.registry.is_empty() || !self.registry.bytes().all(host_characters) {
            return wrong("the registry is not a host name with an optional port");
        }
        let part_is_good = |part: &str| {
            let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
            part.bytes().all(inner)
                && part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part.ends_with(|c: char| c.is_ascii_alphanumeric())
        };
        if self.repository.len() > 255 || !self.repository.split('/').all(part_is_good) {
            return wrong("the repository may have lower-case letters, digits, `.`, `_`, `-` and `/`");
        }
        if let Some(tag) = &self.tag {
            let inner = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
            let start = tag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if !start || tag.len() > 128 || !tag.bytes().all(inner) {
                return wrong("the tag may have at most 128 letters, digits, `.`, `_` and `-`");
            }
        }
        self.digest.as_deref().map_or(Ok(()), |digest| Digest::parse(digest).map(|_| ()))
    }

    /// The host to connect to, with its port.
    pub fn host(&self) -> &str {
        if is_docker_hub(&self.registry) { "registry-1.docker.io" } else { &self.registry }
    }

    /// The digest, else the tag, else `latest`.
    pub fn version(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// Whether the registry is on this machine, where plain HTTP is used.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self
            .registry
            .rsplit_once(':')
            .map_or(self.registry.as_str(), |(host, port)| if port.ends_with(']') { &self.registry } else { host });
        is_loopback_host(host)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match (&self.tag, &self.digest) {
            (None, None) => write!(f, ":latest"),
            (tag, digest) => {
                tag.as_ref().map_or(Ok(()), |tag| write!(f, ":{tag}"))?;
                digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
            }
        }
    }
}

/// Whether this is one of the names of Docker Hub.
pub(crate) fn is_docker_hub(registry: &str) -> bool {
    matches!(registry, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

/// Whether a host, without its port, is this machine by its very text.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_read_as_docker_reads_them() {
        for (text, host, shown) in [
            ("debian", "registry-1.docker.io", "docker.io/library/debian:latest"),
            ("nvidia/cuda:12", "registry-1.docker.io", "docker.io/nvidia/cuda:12"),
            ("nvcr.io/nvidia/pytorch:25.01-py3", "nvcr.io", "nvcr.io/nvidia/pytorch:25.01-py3"),
            ("localhost:5000/a/b", "localhost:5000", "localhost:5000/a/b:latest"),
            ("[::1]:5000/a", "[::1]:5000", "[::1]:5000/a:latest"),
        ] {
            let reference = Reference::parse(text).expect(text);
            assert_eq!((reference.host(), reference.to_string().as_str()), (host, shown));
        }
        for bad in ["", "a b", "x.y/../z", "x.y/a:b c", "x.y/A", "x.y/a@sha256:12", "x.y/a?b=c", "x.y/"] {
            assert!(Reference::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_plain_http() {
        for (text, loopback) in [
            ("127.0.0.1:5000/a", true),
            ("127.9.9.9:1/a", true),
            ("localhost/a", true),
            ("[::1]:5000/a", true),
            ("127.0.0.1.example.com/a", false),
            ("10.0.0.1:5000/a", false),
            ("localhost.example.com/a", false),
        ] {
            assert_eq!(Reference::parse(text).expect(text).is_loopback(), loopback, "{text}");
        }
    }
}
