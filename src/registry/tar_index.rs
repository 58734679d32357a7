//! The index of a tar archive: names and offsets of its files, read from the headers in one forward pass.

use std::collections::BTreeMap;
use std::io;
use std::io::Read;

/// The size of a tar header in bytes, to which bodies are padded.
const BLOCK_SIZE: u64 = 512;
/// Maximum number of members; an archive of an image has a few for each layer.
const MAX_MEMBERS: usize = 65_536;
/// Maximum size in bytes of an extension header.
const MAX_EXTENSION_BYTES: u64 = 64 << 10;
/// Maximum number of bytes that are read or skipped: about ten minutes of decompression.
const MAX_ARCHIVE_BYTES: u64 = 256 << 30;
/// Maximum length of a path in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// A member of a tar archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TarMember {
    /// A regular file.
    File {
        /// Where they begin.
        at: u64,
        /// How many there are.
        size: u64,
    },
    /// A hard or symbolic link, with its target as a path from the root of the archive.
    Link(String),
}

/// A reader that can skip bytes.
pub(crate) trait SkippableReader: Read {
    /// Skips bytes and returns how many; fewer than `count` at the end.
    fn skip_bytes(&mut self, count: u64) -> io::Result<u64>;
}

/// Skips bytes by reading and discarding them.
pub(crate) fn skip_by_reading(from: &mut impl Read, count: u64) -> io::Result<u64> {
    io::copy(&mut from.take(count), &mut io::sink())
}

/// Indexes a tar archive; calls `look` with each file, which may read from its body.
pub(crate) fn index_tar<S: SkippableReader>(
    source: &mut S,
    mut look: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<BTreeMap<String, TarMember>> {
    let mut members = BTreeMap::new();
    let mut at = 0;
    let mut next = HeaderExtension::default();
    let mut seen = false;
    loop {
        let mut header = [0_u8; 512];
        match read_block(source, &mut header)? {
            512 if header.iter().any(|byte| *byte != 0) => {}
            0 | 512 if seen => return Ok(members),
            _ => return Err(invalid_archive("it is not a whole tar archive, as `docker save` writes it")),
        }
        if !has_valid_checksum(&header) {
            return Err(invalid_archive("it is not a tar archive, or it is broken"));
        }
        seen = true;
        at += BLOCK_SIZE;
        let kind = header[156];
        let size = match next.size.filter(|_| !is_extension(kind)) {
            Some(size) => size,
            None => parse_number(&header[124..136]).ok_or_else(|| invalid_archive("a header without a size"))?,
        };
        let padded =
            size.checked_next_multiple_of(BLOCK_SIZE).filter(|size| at.saturating_add(*size) <= MAX_ARCHIVE_BYTES);
        let padded = padded.ok_or_else(|| invalid_archive("a size that exceeds the limit"))?;
        let mut used = 0;
        if is_extension(kind) {
            if size > MAX_EXTENSION_BYTES {
                return Err(invalid_archive("a header of more than 64 KiB"));
            }
            let mut text = Vec::new();
            used = source.by_ref().take(size).read_to_end(&mut text)? as u64;
            next.apply(kind, &text);
        } else {
            let extended = std::mem::take(&mut next);
            let path = normalize_path(&extended.path.unwrap_or_else(|| header_path(&header)));
            if members.len() >= MAX_MEMBERS || path.len() > MAX_PATH_BYTES {
                return Err(invalid_archive("too many files, or a file name that is too long"));
            }
            match kind {
                0 | b'0' | b'7' => {
                    let mut body = source.by_ref().take(size);
                    look(&path, size, &mut body)?;
                    used = size - body.limit();
                    members.insert(path, TarMember::File { at, size });
                }
                b'1' | b'2' => {
                    let target = extended.link.unwrap_or_else(|| text_field(&header[157..257]));
                    let target = if kind == b'1' { normalize_path(&target) } else { link_target(&path, &target) };
                    members.insert(path, TarMember::Link(target));
                }
                _ => {}
            }
        }
        let rest = padded - used;
        if source.skip_bytes(rest)? < rest.min(size - used) {
            return Err(invalid_archive("it ends in the middle of a file"));
        }
        at += padded;
    }
}

/// The values from extension headers that apply to the next member.
#[derive(Default)]
struct HeaderExtension {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
}

impl HeaderExtension {
    /// Applies the body of an extension header of this type.
    fn apply(&mut self, kind: u8, bytes: &[u8]) {
        match kind {
            b'L' => self.path = Some(text_field(bytes)),
            b'K' => self.link = Some(text_field(bytes)),
            b'x' => self.apply_pax_records(bytes),
            _ => {}
        }
    }

    /// Applies pax records of the form `LENGTH KEY=VALUE\n`.
    fn apply_pax_records(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(space) = rest.iter().position(|byte| *byte == b' ') {
            let length = std::str::from_utf8(&rest[..space]).ok().and_then(|text| text.parse::<usize>().ok());
            let Some(record) = length.filter(|length| *length > space).and_then(|length| rest.get(space + 1..length))
            else {
                return;
            };
            let record = String::from_utf8_lossy(record);
            match record.trim_end_matches('\n').split_once('=') {
                Some(("path", value)) => self.path = Some(value.to_owned()),
                Some(("linkpath", value)) => self.link = Some(value.to_owned()),
                Some(("size", value)) => self.size = value.parse().ok(),
                _ => {}
            }
            rest = &rest[length.unwrap_or(rest.len())..];
        }
    }
}

/// Whether a header type is that of a GNU or pax extension header.
fn is_extension(kind: u8) -> bool {
    matches!(kind, b'L' | b'K' | b'x' | b'g')
}

/// Whether the checksum of a header is correct.
pub(crate) fn has_valid_checksum(header: &[u8; 512]) -> bool {
    let sum: u64 =
        header.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum();
    parse_number(&header[148..156]) == Some(sum)
}

/// Parses a number field: octal digits, or binary if the first bit is set.
fn parse_number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let start = u64::from(first & 0x7f);
        return rest.iter().try_fold(start, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)));
    }
    let digits = text_field(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Returns the text of a field up to the first zero byte.
fn text_field(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Returns the path in a header, with the prefix of the ustar format.
fn header_path(header: &[u8; 512]) -> String {
    let name = text_field(&header[..100]);
    let prefix = text_field(&header[345..500]);
    // The older GNU form keeps other things where the prefix would be.
    if prefix.is_empty() || &header[257..263] != b"ustar\0" { name } else { format!("{prefix}/{name}") }
}

/// Returns a path from the root of the archive, without `.` and `..`.
fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the target of a symbolic link as a path from the root of the archive.
fn link_target(path: &str, target: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !target.starts_with('/') => normalize_path(&format!("{folder}/{target}")),
        _ => normalize_path(target),
    }
}

/// Reads a whole block; returns fewer bytes only at the end.
fn read_block(source: &mut impl Read, block: &mut [u8; 512]) -> io::Result<usize> {
    let mut done = 0;
    while done < block.len() {
        match source.read(&mut block[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Returns the error of an invalid archive.
fn invalid_archive(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

#[cfg(test)]
#[path = "tar_tests.rs"]
mod tests;
