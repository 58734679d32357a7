//! Files by their URI and back.

use std::path::Path;
use std::path::PathBuf;

use crate::report::uri;

/// The path of a `file:` URI on this machine; none of other URIs.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    if !host.is_empty() && host != "localhost" {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    decoded(path).map(PathBuf::from)
}

/// The URI of a full path.
pub(super) fn of(path: &Path) -> String {
    uri::uri(&path.to_string_lossy())
}

/// Percent signs and two digits as bytes; none where that gives no text.
fn decoded(text: &str) -> Option<String> {
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
    fn paths_come_back() {
        for name in ["/a/Dockerfile", "/a b/ñ#?.toml", "/a/100%", "/[x]/(y)"] {
            let there = of(Path::new(name));
            assert!(there.starts_with("file:///") && !there.contains(' '), "{there}");
            assert_eq!(path(&there), Some(PathBuf::from(name)), "{there}");
        }
        assert_eq!(path("file://localhost/a%20b"), Some(PathBuf::from("/a b")));
    }

    #[test]
    fn what_is_no_file_here_has_no_path() {
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
            assert_eq!(path(uri), None, "{uri}");
        }
    }
}
