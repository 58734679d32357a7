//! What a registry is asked for an image's name: host, version, and whether the registry is this machine.

use std::net::IpAddr;

use crate::reference::ImageReference;

/// The host to connect to, with its port.
pub(crate) fn host(image: &ImageReference) -> &str {
    if is_docker_hub(image.registry()) { "registry-1.docker.io" } else { image.registry() }
}

/// The digest, else the tag, else `latest`.
pub(crate) fn version(image: &ImageReference) -> &str {
    image.digest().or(image.tag()).unwrap_or("latest")
}

/// The whole name, with registry and version, so that an error leaves nothing to guess.
pub(crate) fn whole_name(image: &ImageReference) -> String {
    let tag = image.tag().or(if image.digest().is_none() { Some("latest") } else { None });
    let tag = tag.map_or_else(String::new, |tag| format!(":{tag}"));
    let digest = image.digest().map_or_else(String::new, |digest| format!("@{digest}"));
    format!("{}/{}{tag}{digest}", image.registry(), image.repository())
}

/// Whether a registry, with or without port, is on this machine, where plain HTTP is used.
pub(crate) fn is_loopback(registry: &str) -> bool {
    is_loopback_host(bare(registry))
}

/// A host without its port.
pub(crate) fn bare(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(bare, port)| if port.ends_with(']') { host } else { bare })
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

    fn image(text: &str) -> ImageReference {
        ImageReference::parse(text).expect(text)
    }

    #[test]
    fn names_lead_to_a_host_and_show_whole() {
        for (text, to, shown) in [
            ("debian", "registry-1.docker.io", "docker.io/library/debian:latest"),
            ("nvidia/cuda:12", "registry-1.docker.io", "docker.io/nvidia/cuda:12"),
            ("nvcr.io/nvidia/pytorch:25.01-py3", "nvcr.io", "nvcr.io/nvidia/pytorch:25.01-py3"),
            ("localhost:5000/a/b", "localhost:5000", "localhost:5000/a/b:latest"),
            ("[::1]:5000/a", "[::1]:5000", "[::1]:5000/a:latest"),
        ] {
            let image = image(text);
            assert_eq!((host(&image), whole_name(&image).as_str()), (to, shown), "{text}");
        }
        let pinned = format!("a/b:t@sha256:{}", "0".repeat(64));
        assert_eq!(whole_name(&image(&pinned)), format!("docker.io/{pinned}"));
        assert!(version(&image(&pinned)).starts_with("sha256:"));
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
            assert_eq!(is_loopback(image(text).registry()), loopback, "{text}");
        }
    }
}
