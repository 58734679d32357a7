//! Parts of an image reference as registries need them: host, version and full name.

use std::net::IpAddr;

use crate::model::reference::ImageReference;

/// Returns the host to connect to, with its port.
pub(crate) fn registry_host(image: &ImageReference) -> &str {
    if is_docker_hub(image.registry()) { "registry-1.docker.io" } else { image.registry() }
}

/// Returns the digest, otherwise the tag, otherwise `latest`.
pub(crate) fn tag_or_digest(image: &ImageReference) -> &str {
    image.digest().or(image.tag()).unwrap_or("latest")
}

/// Returns the full name of an image, with registry and version, for error messages.
pub(crate) fn full_name(image: &ImageReference) -> String {
    let tag = image.tag().or(if image.digest().is_none() { Some("latest") } else { None });
    let tag = tag.map_or_else(String::new, |tag| format!(":{tag}"));
    let digest = image.digest().map_or_else(String::new, |digest| format!("@{digest}"));
    format!("{}/{}{tag}{digest}", image.registry(), image.repository())
}

/// Whether a registry, with or without port, is on this machine, where plain HTTP is used.
pub(crate) fn is_loopback_registry(registry: &str) -> bool {
    is_loopback_host(host_without_port(registry))
}

/// Returns a host without its port.
pub(crate) fn host_without_port(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(bare, port)| if port.ends_with(']') { host } else { bare })
}

/// Whether a registry is Docker Hub, under any of its names.
pub(crate) fn is_docker_hub(registry: &str) -> bool {
    matches!(registry, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

/// Whether a host, without its port, is `localhost` or a loopback address.
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
    fn names_have_a_host_and_a_full_name() {
        for (text, to, shown) in [
            ("debian", "registry-1.docker.io", "docker.io/library/debian:latest"),
            ("nvidia/cuda:12", "registry-1.docker.io", "docker.io/nvidia/cuda:12"),
            ("nvcr.io/nvidia/pytorch:25.01-py3", "nvcr.io", "nvcr.io/nvidia/pytorch:25.01-py3"),
            ("localhost:5000/a/b", "localhost:5000", "localhost:5000/a/b:latest"),
            ("[::1]:5000/a", "[::1]:5000", "[::1]:5000/a:latest"),
        ] {
            let image = image(text);
            assert_eq!((registry_host(&image), full_name(&image).as_str()), (to, shown), "{text}");
        }
        let pinned = format!("a/b:t@sha256:{}", "0".repeat(64));
        assert_eq!(full_name(&image(&pinned)), format!("docker.io/{pinned}"));
        assert!(tag_or_digest(&image(&pinned)).starts_with("sha256:"));
    }

    #[test]
    fn only_this_machine_is_a_loopback_registry() {
        for (text, loopback) in [
            ("127.0.0.1:5000/a", true),
            ("127.9.9.9:1/a", true),
            ("localhost/a", true),
            ("[::1]:5000/a", true),
            ("127.0.0.1.example.com/a", false),
            ("10.0.0.1:5000/a", false),
            ("localhost.example.com/a", false),
        ] {
            assert_eq!(is_loopback_registry(image(text).registry()), loopback, "{text}");
        }
    }
}
