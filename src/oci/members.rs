//! Which files an archive has, and where: headers alone, read in one pass that never goes back.

use std::collections::BTreeMap;
use std::io;
use std::io::Read;

/// The size of a header, and what bodies are padded to.
const BLOCK: u64 = 512;
/// The most files that are kept; an archive of an image has a few for each layer.
const MOST_MEMBERS: usize = 65_536;
/// The most bytes of a header that names a long path or holds a size.
const MOST_EXTENSION: u64 = 64 << 10;
/// The most bytes that are walked over: ten minutes of the fastest inflater.
const MOST_BYTES: u64 = 256 << 30;
/// The longest path.
const LONGEST: usize = 4096;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// Bytes at a place.
    File {
        /// Where they begin.
        at: u64,
        /// How many there are.
        size: u64,
    },
    /// Another name of a file: a path from the top of the archive.
    Link(String),
}

/// Bytes that can be passed over.
pub(crate) trait Source: Read {
    /// Passes over some bytes; fewer where the end comes first.
    fn pass(&mut self, count: u64) -> io::Result<u64>;
}

/// Reads and forgets.
pub(crate) fn pass_by_reading(from: &mut impl Read, count: u64) -> io::Result<u64> {
    io::copy(&mut from.take(count), &mut io::sink())
}

/// Walks over an archive; shows each file to `look`, which may read of its body.
pub(crate) fn index<S: Source>(
    source: &mut S,
    mut look: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> io::Result<BTreeMap<String, Member>> {
    let mut members = BTreeMap::new();
    let mut at = 0;
    let mut next = Next::default();
    let mut seen = false;
    loop {
        let mut header = [0_u8; 512];
        match fill(source, &mut header)? {
            512 if header.iter().any(|byte| *byte != 0) => {}
            0 | 512 if seen => return Ok(members),
            _ => return Err(bad("it is not a whole tar archive, as `docker save` writes it")),
        }
        if !sound(&header) {
            return Err(bad("it is not a tar archive, or it is broken"));
        }
        seen = true;
        at += BLOCK;
        let kind = header[156];
        let size = match next.size.filter(|_| !is_extension(kind)) {
            Some(size) => size,
            None => number(&header[124..136]).ok_or_else(|| bad("a header without a size"))?,
        };
        let padded = size.checked_next_multiple_of(BLOCK).filter(|size| at.saturating_add(*size) <= MOST_BYTES);
        let padded = padded.ok_or_else(|| bad("a size that exceeds the limit"))?;
        let mut used = 0;
        if is_extension(kind) {
            if size > MOST_EXTENSION {
                return Err(bad("a header of more than 64 KiB"));
            }
            let mut text = Vec::new();
            used = source.by_ref().take(size).read_to_end(&mut text)? as u64;
            next.extend(kind, &text);
        } else {
            let extended = std::mem::take(&mut next);
            let path = clean(&extended.path.unwrap_or_else(|| path(&header)));
            if members.len() >= MOST_MEMBERS || path.len() > LONGEST {
                return Err(bad("too many files, or a file name that is too long"));
            }
            match kind {
                0 | b'0' | b'7' => {
                    let mut body = source.by_ref().take(size);
                    look(&path, size, &mut body)?;
                    used = size - body.limit();
                    members.insert(path, Member::File { at, size });
                }
                b'1' | b'2' => {
                    let target = extended.link.unwrap_or_else(|| text(&header[157..257]));
                    let target = if kind == b'1' { clean(&target) } else { beside(&path, &target) };
                    members.insert(path, Member::Link(target));
                }
                _ => {}
            }
        }
        let rest = padded - used;
        if source.pass(rest)? < rest.min(size - used) {
            return Err(bad("it ends in the middle of a file"));
        }
        at += padded;
    }
}

/// What extension headers say of the next file.
#[derive(Default)]
struct Next {
    path: Option<String>,
    link: Option<String>,
    size: Option<u64>,
}

impl Next {
    fn extend(&mut self, kind: u8, bytes: &[u8]) {
        match kind {
            b'L' => self.path = Some(text(bytes)),
            b'K' => self.link = Some(text(bytes)),
            b'x' => self.records(bytes),
            _ => {}
        }
    }

    /// `LENGTH KEY=VALUE\n`, again and again.
    fn records(&mut self, bytes: &[u8]) {
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

fn is_extension(kind: u8) -> bool {
    matches!(kind, b'L' | b'K' | b'x' | b'g')
}

/// Whether the sum over the header is the one in it.
pub(crate) fn sound(header: &[u8; 512]) -> bool {
    let sum: u64 =
        header.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum();
    number(&header[148..156]) == Some(sum)
}

/// A number in octal digits, or in binary where the first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let start = u64::from(first & 0x7f);
        return rest.iter().try_fold(start, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)));
    }
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Text up to the first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn path(header: &[u8; 512]) -> String {
    let name = text(&header[..100]);
    let prefix = text(&header[345..500]);
    // The older GNU form keeps other things where the prefix would be.
    if prefix.is_empty() || &header[257..263] != b"ustar\0" { name } else { format!("{prefix}/{name}") }
}

/// A path from the top, without `.` and `..`.
fn clean(path: &str) -> String {
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

fn beside(path: &str, target: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !target.starts_with('/') => clean(&format!("{folder}/{target}")),
        _ => clean(target),
    }
}

fn fill(source: &mut impl Read, block: &mut [u8; 512]) -> io::Result<usize> {
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

fn bad(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

#[cfg(test)]
#[path = "tar_tests.rs"]
mod tests;
