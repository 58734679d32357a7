//! Converts between paths and `file:` URIs.

use std::path::{Path, PathBuf};

use crate::report::uri;

/// Returns the path of a `file:` URI on this machine; `None` for any other URI.
pub(super) fn path_from_uri(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    if !host.is_empty() && host != "localhost" {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    percent_decode(path).map(PathBuf::from)
}

/// Returns the `file:` URI of an absolute path.
pub(super) fn uri_from_path(path: &Path) -> String {
    uri::path_to_uri(&path.to_string_lossy())
}

/// Decodes percent-encoded bytes; `None` if the result is not text.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_survives_conversion_to_a_uri_and_back() {
        for name in ["/a/Dockerfile", "/a b/ñ#?.toml", "/a/100%", "/[x]/(y)"] {
            let there = uri_from_path(Path::new(name));
            assert!(there.starts_with("file:///") && !there.contains(' '), "{there}");
            assert_eq!(path_from_uri(&there), Some(PathBuf::from(name)), "{there}");
        }
        assert_eq!(path_from_uri("file://localhost/a%20b"), Some(PathBuf::from("/a b")));
    }

    #[test]
    fn uri_without_a_local_file_has_no_path() {
        for uri in [
            "untitled:Untitled-1",
            "file://other/a",
            "http://x/y",
            "file:",
            "file://",
            "file:///%",
            "file:///%00",
            "file:///%zz",
            "file:///%ff",
            "",
        ] {
            assert_eq!(path_from_uri(uri), None, "{uri}");
        }
    }
}
