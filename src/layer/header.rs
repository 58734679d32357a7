//! One header of a tar archive.

use tar::Header;

use crate::layer::sparse::Map;
use crate::layer::stream::BLOCK;

/// What follows a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with a payload.
    File,
    /// A file whose payload leaves out its empty parts.
    Sparse,
    Directory,
    /// Another name of a file.
    Hard,
    /// A symbolic link.
    Link,
    /// A device or a pipe.
    Special,
    /// The name of the next entry.
    LongName,
    /// The target of the next entry.
    LongLink,
    /// Records on the next entry.
    Pax,
    /// Records on all entries, which runtimes ignore.
    Global,
}

/// The fields of a header that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) kind: Kind,
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) size: u64,
    /// Whether blocks with more pieces of a sparse file follow.
    pub(super) extended: bool,
    /// The pieces of a sparse file so far; none where it is no such file, or they are not understood.
    pub(super) map: Option<Map>,
}

/// Reads a header, or says what is wrong with it.
pub(super) fn read(block: &[u8; BLOCK]) -> Result<Fields, &'static str> {
    let header = Header::from_byte_slice(block);
    checked(block, header)?;
    let name = header.path_bytes().into_owned();
    let kind = kind(header.entry_type().as_byte(), name.ends_with(b"/"));
    let stored = number(block.get(124..136).unwrap_or_default()).ok_or("the size of an entry is not a number")?;
    // Whatever their size says, nothing follows these.
    let alone = matches!(kind, Kind::Directory | Kind::Hard | Kind::Link | Kind::Special);
    Ok(Fields {
        kind,
        link: header.link_name_bytes().unwrap_or_default().into_owned(),
        name,
        size: if alone { 0 } else { stored },
        extended: kind == Kind::Sparse && block.get(482) == Some(&1),
        map: Some(kind).filter(|kind| *kind == Kind::Sparse).and_then(|_| {
            let map = Map { size: number(block.get(483..495)?)?, pieces: Vec::new() };
            pieces(block.get(386..482)?, map)
        }),
    })
}

/// A map with the pieces that a block of a sparse file lists.
pub(super) fn more(block: &[u8; BLOCK], map: Option<Map>) -> Option<Map> {
    pieces(block.get(..504)?, map?)
}

fn pieces(list: &[u8], mut map: Map) -> Option<Map> {
    for entry in list.chunks_exact(24) {
        let (at, bytes) = entry.split_at(12);
        if entry.first() != Some(&0) && !map.add(number(at)?, number(bytes)?) {
            return None;
        }
    }
    Some(map)
}

/// Whether a block of pieces of a sparse file is followed by another.
pub(super) fn extends(block: &[u8; BLOCK]) -> bool {
    block.get(504) == Some(&1)
}

fn kind(flag: u8, folder: bool) -> Kind {
    match flag {
        0 if folder => Kind::Directory,
        b'1' => Kind::Hard,
        b'2' => Kind::Link,
        b'3' | b'4' | b'6' => Kind::Special,
        b'5' => Kind::Directory,
        b'K' => Kind::LongLink,
        b'L' => Kind::LongName,
        b'S' => Kind::Sparse,
        b'g' => Kind::Global,
        b'x' => Kind::Pax,
        _ => Kind::File,
    }
}

/// The sum of all bytes, the field of the sum taken as spaces; old programs took bytes as signed.
fn checked(block: &[u8; BLOCK], header: &Header) -> Result<(), &'static str> {
    let stored = header.cksum().map_err(|_| "the checksum of a header is not a number")?;
    let all: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let field: u32 = block.get(148..156).unwrap_or_default().iter().map(|byte| u32::from(*byte)).sum();
    let unsigned = all - field + 8 * u32::from(b' ');
    let high = || block.iter().enumerate().filter(|(at, byte)| **byte > 127 && !(148..156).contains(at)).count();
    let signed = || i64::from(unsigned) - 256 * i64::try_from(high()).unwrap_or_default();
    if stored == unsigned || i64::from(stored) == signed() { Ok(()) } else { Err("the checksum of a header is wrong") }
}

/// A number in octal digits or, where the first bit is set, in binary.
fn number(field: &[u8]) -> Option<u64> {
    if let Some((first @ 0x80.., rest)) = field.split_first() {
        let (high, low) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
        let small = *first == 0x80 && high.iter().all(|byte| *byte == 0);
        let value = u64::from_be_bytes(low.try_into().ok()?);
        return Some(value).filter(|value| small && *value <= i64::MAX.cast_unsigned());
    }
    let text = std::str::from_utf8(field.split(|byte| *byte == 0).next()?).ok()?.trim_matches(' ');
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok().filter(|_| !text.starts_with('+')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(change: impl FnOnce(&mut Header)) -> [u8; BLOCK] {
        let mut header = Header::new_gnu();
        header.set_path("a/b").expect("a path");
        header.set_size(3);
        change(&mut header);
        header.set_cksum();
        *header.as_bytes()
    }

    #[test]
    fn fields_are_read_and_a_wrong_sum_is_not_borne() {
        let good = block(|_| {});
        let fields = read(&good).expect("a header");
        assert_eq!((fields.kind, fields.size, fields.name.as_slice()), (Kind::File, 3, b"a/b".as_slice()));
        for at in [0, 100, 124, 148, 156, 500] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(read(&bad).is_err(), "a changed byte at {at}");
        }
    }

    #[test]
    fn links_and_folders_have_no_payload_whatever_their_size() {
        for flag in *b"123456" {
            let fields = read(&block(|header| header.as_mut_bytes()[156] = flag)).expect("a header");
            assert_eq!(fields.size, 0, "{flag}");
        }
        assert_eq!(read(&block(|header| header.as_mut_bytes()[156] = b'7')).expect("a file").size, 3);
    }

    #[test]
    fn sizes_are_octal_or_binary_and_never_negative() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"     17     "), Some(15));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        for bad in [b"00000000018\0", b"-0000000001\0", b"+0000000001\0", b"1 000000001\0", &[0xff; 12], &[0x80; 12]] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }
}
