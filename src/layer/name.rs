//! Names in an archive: the path of an entry in the image, and the names by which a layer takes away what lies below.

use crate::layer::limits::LONGEST_PATH;
use crate::layer::seen::Mark;

/// Before the name of what a layer takes away.
const WHITEOUT: &str = ".wh.";
/// Names of a union file system's own records, which take nothing away.
const RECORDS: &str = ".wh..wh.";
/// The name by which a directory takes away all that it had before.
const OPAQUE: &str = ".wh..wh..opq";

/// What a path in an archive stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The root itself.
    Root,
    /// An entry.
    Entry(String),
    /// The path that is taken away.
    Whiteout(String),
    /// The directory that begins anew; empty for the root.
    Opaque(String),
    /// A record of no meaning.
    Record,
}

/// The path in the image, with `/` before each part and empty for the root. Steps up are followed, but none out
/// of the root.
pub(super) fn path(written: &[u8]) -> Result<String, Mark> {
    if written.len() > LONGEST_PATH {
        return Err(Mark::LongName);
    }
    if written.is_empty() || written.contains(&0) {
        return Err(Mark::OddName);
    }
    let mut path = String::with_capacity(written.len() + 1);
    for part in String::from_utf8_lossy(written).split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let parent = path.rfind('/').ok_or(Mark::OddName)?;
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

/// Tells entries from what takes away.
pub(super) fn name(path: String) -> Result<Name, Mark> {
    let Some((parent, name)) = path.rsplit_once('/') else { return Ok(Name::Root) };
    match name.strip_prefix(WHITEOUT) {
        None => Ok(Name::Entry(path)),
        Some(_) if name == OPAQUE => Ok(Name::Opaque(parent.to_owned())),
        Some(_) if name.starts_with(RECORDS) => Ok(Name::Record),
        Some("" | "." | "..") => Err(Mark::OddName),
        Some(gone) => Ok(Name::Whiteout(format!("{parent}/{gone}"))),
    }
}

/// The directories above a path, the nearest first, without the root.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
}

/// A number that stands for a path. Two paths of one image have the same by chance once in a million images; who
/// makes them meet on purpose only misreads an image of theirs.
pub(super) fn number(path: &str) -> u64 {
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
            assert_eq!(path(written.as_bytes()).as_deref(), Ok(expected), "{written}");
        }
        for odd in ["../etc/passwd", "a/../../b", "", "a\0b", "/../x"] {
            assert_eq!(path(odd.as_bytes()), Err(Mark::OddName), "{odd}");
        }
        assert_eq!(path("x".repeat(4097).as_bytes()), Err(Mark::LongName));
        assert_eq!(path(b"a/\xff.so").as_deref(), Ok("/a/\u{fffd}.so"));
    }

    #[test]
    fn names_that_take_away_are_told_from_those_that_only_look_so() {
        let named = |path: &str| name(path.to_owned());
        assert_eq!(named("/a/.wh.b"), Ok(Name::Whiteout("/a/b".into())));
        assert_eq!(named("/.wh.b"), Ok(Name::Whiteout("/b".into())));
        assert_eq!(named("/a/.wh..wh..opq"), Ok(Name::Opaque("/a".into())));
        assert_eq!(named("/.wh..wh..opq"), Ok(Name::Opaque(String::new())));
        assert_eq!(named("/a/.wh..wh.plnk"), Ok(Name::Record));
        assert_eq!(named(""), Ok(Name::Root));
        for plain in ["/a/wh.b", "/.wh.a/b", "/a/.whb", "/a/x.wh.b"] {
            assert_eq!(named(plain), Ok(Name::Entry(plain.into())));
        }
        for odd in ["/a/.wh.", "/a/.wh..", "/a/.wh..."] {
            assert_eq!(named(odd), Err(Mark::OddName), "{odd}");
        }
    }

    #[test]
    fn the_directories_above_are_listed() {
        assert_eq!(above("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a"]);
        assert_eq!(above("/a").count(), 0);
        assert_eq!(above("").count(), 0);
    }
}
