//! Paths in a layer archive: the path of an entry in the image, and the names of whiteouts.

use crate::layer::layer_summary::{MAX_PATH_LENGTH, SkipReason};

/// The prefix of the name of a whiteout.
const WHITEOUT_PREFIX: &str = ".wh.";
/// The prefix of names of metadata files of a union file system, which delete nothing.
const METADATA_PREFIX: &str = ".wh..wh.";
/// The name of the marker that makes its directory opaque.
const OPAQUE_MARKER: &str = ".wh..wh..opq";

/// The meaning of a path in a layer archive: an entry, a whiteout or an opaque directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArchivePath {
    /// The root itself.
    Root,
    /// An entry.
    Entry(String),
    /// The path that a whiteout deletes.
    Whiteout(String),
    /// The directory that becomes opaque; empty for the root.
    Opaque(String),
    /// Metadata of a union file system without a meaning for the image.
    Record,
}

/// Returns the path in the image, with `/` before each component and empty for the root. `..` is resolved, but not
/// above the root.
pub(super) fn normalise_entry_path(written: &[u8]) -> Result<String, SkipReason> {
    if written.len() > MAX_PATH_LENGTH {
        return Err(SkipReason::LongName);
    }
    if written.is_empty() || written.contains(&0) {
        return Err(SkipReason::OddName);
    }
    let mut path = String::with_capacity(written.len() + 1);
    for part in String::from_utf8_lossy(written).split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let parent = path.rfind('/').ok_or(SkipReason::OddName)?;
                path.truncate(parent);
            }
            part => {
                path.push('/');
                path.push_str(part);
            }
        }
    }
    Ok(path)
}

/// Distinguishes entries from whiteouts and opaque markers.
pub(super) fn classify_path(path: String) -> Result<ArchivePath, SkipReason> {
    let Some((parent, name)) = path.rsplit_once('/') else { return Ok(ArchivePath::Root) };
    match name.strip_prefix(WHITEOUT_PREFIX) {
        None => Ok(ArchivePath::Entry(path)),
        Some(_) if name == OPAQUE_MARKER => Ok(ArchivePath::Opaque(parent.to_owned())),
        Some(_) if name.starts_with(METADATA_PREFIX) => Ok(ArchivePath::Record),
        Some("" | "." | "..") => Err(SkipReason::OddName),
        Some(removed) => Ok(ArchivePath::Whiteout(format!("{parent}/{removed}"))),
    }
}

/// Returns the directories above a path, the nearest first, without the root.
pub(super) fn parent_directories(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent_directory(path), |path| parent_directory(path))
}

/// Returns the parent directory of a path; `None` if it is the root.
fn parent_directory(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
}

/// Returns a 64-bit hash of a path. A collision within one image is very unlikely, and a deliberate one affects only
/// that image.
pub(super) fn hash_path(path: &str) -> u64 {
    path.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside_of_the_root() {
        for (written, expected) in [
            ("./usr/lib/", "/usr/lib"),
            ("/usr//lib/./x", "/usr/lib/x"),
            ("usr/../etc/x", "/etc/x"),
            ("a/..", ""),
            ("./", ""),
            ("..a/b..", "/..a/b.."),
        ] {
            assert_eq!(normalise_entry_path(written.as_bytes()).as_deref(), Ok(expected), "{written}");
        }
        for odd in ["../etc/passwd", "a/../../b", "", "a\0b", "/../x"] {
            assert_eq!(normalise_entry_path(odd.as_bytes()), Err(SkipReason::OddName), "{odd}");
        }
        assert_eq!(normalise_entry_path("x".repeat(4097).as_bytes()), Err(SkipReason::LongName));
        assert_eq!(normalise_entry_path(b"a/\xff.so").as_deref(), Ok("/a/\u{fffd}.so"));
    }

    #[test]
    fn whiteouts_are_distinguished_from_similar_names() {
        let named = |path: &str| classify_path(path.to_owned());
        assert_eq!(named("/a/.wh.b"), Ok(ArchivePath::Whiteout("/a/b".into())));
        assert_eq!(named("/.wh.b"), Ok(ArchivePath::Whiteout("/b".into())));
        assert_eq!(named("/a/.wh..wh..opq"), Ok(ArchivePath::Opaque("/a".into())));
        assert_eq!(named("/.wh..wh..opq"), Ok(ArchivePath::Opaque(String::new())));
        assert_eq!(named("/a/.wh..wh.plnk"), Ok(ArchivePath::Record));
        assert_eq!(named(""), Ok(ArchivePath::Root));
        for plain in ["/a/wh.b", "/.wh.a/b", "/a/.whb", "/a/x.wh.b"] {
            assert_eq!(named(plain), Ok(ArchivePath::Entry(plain.into())));
        }
        for odd in ["/a/.wh.", "/a/.wh..", "/a/.wh..."] {
            assert_eq!(named(odd), Err(SkipReason::OddName), "{odd}");
        }
    }

    #[test]
    fn the_directories_above_are_listed() {
        assert_eq!(parent_directories("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!(parent_directories("/a").count(), 0);
        assert_eq!(parent_directories("").count(), 0);
    }
}
