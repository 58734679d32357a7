//! Parses one header block of a tar archive.

use tar::Header;

use crate::layer::sparse::SparseMap;
use crate::layer::tar_stream::BLOCK_SIZE;

/// The type of a tar header: an entry, or an extension for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TarEntryType {
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

/// The fields of a tar header that are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TarHeader {
    pub(super) kind: TarEntryType,
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) size: u64,
    /// Whether blocks with more pieces of a sparse file follow.
    pub(super) extended: bool,
    /// The pieces of a sparse file so far; none where it is no such file, or they are not understood.
    pub(super) map: Option<SparseMap>,
}

/// Parses a header block and verifies its checksum; the error describes what is wrong.
pub(super) fn parse_header(block: &[u8; BLOCK_SIZE]) -> Result<TarHeader, &'static str> {
    let header = Header::from_byte_slice(block);
    verify_checksum(block, header)?;
    let name = header.path_bytes().into_owned();
    let kind = entry_type(header.entry_type().as_byte(), name.ends_with(b"/"));
    let stored = parse_number(block.get(124..136).unwrap_or_default()).ok_or("the size of an entry is not a number")?;
    // Whatever their size says, nothing follows these.
    let has_no_payload =
        matches!(kind, TarEntryType::Directory | TarEntryType::Hard | TarEntryType::Link | TarEntryType::Special);
    Ok(TarHeader {
        kind,
        link: header.link_name_bytes().unwrap_or_default().into_owned(),
        name,
        size: if has_no_payload { 0 } else { stored },
        extended: kind == TarEntryType::Sparse && block.get(482) == Some(&1),
        map: Some(kind).filter(|kind| *kind == TarEntryType::Sparse).and_then(|_| {
            let map = SparseMap { size: parse_number(block.get(483..495)?)?, pieces: Vec::new() };
            add_sparse_pieces(block.get(386..482)?, map)
        }),
    })
}

/// Adds the pieces in an extension block of a sparse file to its map.
pub(super) fn extend_sparse_map(block: &[u8; BLOCK_SIZE], map: Option<SparseMap>) -> Option<SparseMap> {
    add_sparse_pieces(block.get(..504)?, map?)
}

/// Adds the pieces in a list of offset and length fields to a map; `None` if they are invalid.
fn add_sparse_pieces(list: &[u8], mut map: SparseMap) -> Option<SparseMap> {
    for entry in list.chunks_exact(24) {
        let (at, bytes) = entry.split_at(12);
        if entry.first() != Some(&0) && !map.push_piece(parse_number(at)?, parse_number(bytes)?) {
            return None;
        }
    }
    Some(map)
}

/// Whether another extension block follows this one of a sparse file.
pub(super) fn has_next_sparse_block(block: &[u8; BLOCK_SIZE]) -> bool {
    block.get(504) == Some(&1)
}

/// Returns the type for a type flag; an old-style name that ends with a slash is a directory.
fn entry_type(flag: u8, folder: bool) -> TarEntryType {
    match flag {
        0 if folder => TarEntryType::Directory,
        b'1' => TarEntryType::Hard,
        b'2' => TarEntryType::Link,
        b'3' | b'4' | b'6' => TarEntryType::Special,
        b'5' => TarEntryType::Directory,
        b'K' => TarEntryType::LongLink,
        b'L' => TarEntryType::LongName,
        b'S' => TarEntryType::Sparse,
        b'g' => TarEntryType::Global,
        b'x' => TarEntryType::Pax,
        _ => TarEntryType::File,
    }
}

/// Verifies the checksum of a header, which old programs computed with signed bytes.
fn verify_checksum(block: &[u8; BLOCK_SIZE], header: &Header) -> Result<(), &'static str> {
    let stored = header.cksum().map_err(|_| "the checksum of a header is not a number")?;
    let all: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    let field: u32 = block.get(148..156).unwrap_or_default().iter().map(|byte| u32::from(*byte)).sum();
    let unsigned = all - field + 8 * u32::from(b' ');
    let high = || block.iter().enumerate().filter(|(at, byte)| **byte > 127 && !(148..156).contains(at)).count();
    let signed = || i64::from(unsigned) - 256 * i64::try_from(high()).unwrap_or_default();
    if stored == unsigned || i64::from(stored) == signed() { Ok(()) } else { Err("the checksum of a header is wrong") }
}

/// Parses a number in octal digits or, if the first bit is set, in binary.
fn parse_number(field: &[u8]) -> Option<u64> {
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

    fn block(change: impl FnOnce(&mut Header)) -> [u8; BLOCK_SIZE] {
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
        let fields = parse_header(&good).expect("a header");
        assert_eq!((fields.kind, fields.size, fields.name.as_slice()), (TarEntryType::File, 3, b"a/b".as_slice()));
        for at in [0, 100, 124, 148, 156, 500] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(parse_header(&bad).is_err(), "a changed byte at {at}");
        }
    }

    #[test]
    fn links_and_folders_have_no_payload_for_any_size() {
        for flag in *b"123456" {
            let fields = parse_header(&block(|header| header.as_mut_bytes()[156] = flag)).expect("a header");
            assert_eq!(fields.size, 0, "{flag}");
        }
        assert_eq!(parse_header(&block(|header| header.as_mut_bytes()[156] = b'7')).expect("a file").size, 3);
    }

    #[test]
    fn sizes_are_octal_or_binary_and_never_negative() {
        assert_eq!(parse_number(b"00000000017\0"), Some(15));
        assert_eq!(parse_number(b"     17     "), Some(15));
        assert_eq!(parse_number(b"\0\0\0\0\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(parse_number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        for bad in [b"00000000018\0", b"-0000000001\0", b"+0000000001\0", b"1 000000001\0", &[0xff; 12], &[0x80; 12]] {
            assert_eq!(parse_number(bad), None, "{bad:?}");
        }
    }
}
