//! Paths as URI references.

use std::fmt::Write as _;

/// Returns a relative path as a relative reference, and an absolute one as a `file` URI.
pub fn path_to_uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_one_reference() {
        for (path, expected) in [
            ("a/Dockerfile.gpu", "a/Dockerfile.gpu"),
            ("my app/ü.x", "my%20app/%C3%BC.x"),
            ("nvcr.io/app:1@sha256", "nvcr.io/app%3A1%40sha256"),
            ("a?b#c%d", "a%3Fb%23c%25d"),
            ("/tmp/x y", "file:///tmp/x%20y"),
        ] {
            assert_eq!(path_to_uri(path), expected);
        }
    }
}
