//! What the content of one file says.

use std::io::Read;

use crate::elf::ElfReader;
use crate::installed::Want;
use crate::installed::read;
use crate::layer::limits::Limits;
use crate::layer::seen::EntryKind;
use crate::layer::seen::Mark;
use crate::layer::sparse::Sparse;
use crate::layer::sparse::Whole;
use crate::layer::stream::Halt;
use crate::layer::stream::Stream;

/// How an ELF file begins.
pub(super) const MAGIC: &[u8] = b"\x7fELF";
/// Endings of parts of programs, which nothing loads under any name.
const PARTS: [&str; 5] = [".a", ".debug", ".ko", ".lo", ".o"];

/// What is kept of a file, and what was passed over.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) kind: Option<EntryKind>,
    /// Whether it was looked into.
    pub(super) looked: bool,
    pub(super) mark: Option<Mark>,
}

/// Reads the payload of a file to its end.
pub(super) fn content<R: Read>(
    stream: &mut Stream<'_, R>,
    path: &str,
    want: Want,
    size: u64,
    limits: &Limits,
) -> Result<Content, Halt> {
    match want {
        Want::Nothing if PARTS.iter().any(|ending| path.ends_with(ending)) => {
            skip(stream, size).map(|()| Content::default())
        }
        // A hard link may give it another name.
        Want::Nothing if stream.peek(MAGIC.len())? != MAGIC || size <= MAGIC.len() as u64 => {
            skip(stream, size).map(|()| Content { looked: true, ..Content::default() })
        }
        Want::Presence => skip(stream, size).map(|()| kept(EntryKind::Present)),
        Want::Text { cap } => text(stream, path, size, cap as usize, limits),
        Want::Elf if stream.peek(MAGIC.len())? != MAGIC || size <= MAGIC.len() as u64 => {
            skip(stream, size).map(|()| Content { kind: named(path), looked: true, mark: None })
        }
        Want::Nothing | Want::Elf => {
            let mut reader = ElfReader::new(size);
            stream.payload(size, |bytes| reader.feed(bytes))?;
            Ok(kept(EntryKind::Elf(Box::new(reader.finish()))))
        }
    }
}

/// Reads the payload of a sparse file to its end: programs and libraries are put together, of others only the name is
/// known. `holes` is what may still be filled.
pub(super) fn sparse<R: Read>(
    stream: &mut Stream<'_, R>,
    path: &str,
    want: Want,
    size: u64,
    sparse: Sparse,
    holes: &mut u64,
) -> Result<Content, Halt> {
    let unread = || {
        let mark = (want != Want::Nothing).then_some(Mark::Sparse);
        Content { mark, looked: false, kind: unread(path, want) }
    };
    if want != Want::Elf {
        return skip(stream, size).map(|()| unread());
    }
    let mut whole = Whole::new(sparse, size, holes);
    stream.payload(size, |bytes| whole.feed(bytes))?;
    Ok(match whole.finish() {
        Ok(Some(elf)) => kept(EntryKind::Elf(Box::new(elf))),
        Ok(None) => Content { kind: named(path), looked: true, mark: None },
        Err(()) => unread(),
    })
}

/// What is left of a file whose content is not read.
pub(super) fn unread(path: &str, want: Want) -> Option<EntryKind> {
    match want {
        Want::Nothing => None,
        Want::Presence | Want::Text { .. } => Some(EntryKind::Present),
        Want::Elf => named(path),
    }
}

/// Whether what is kept of a file answers a wish.
pub(super) fn answers(kind: &EntryKind, want: Want) -> bool {
    match want {
        Want::Nothing | Want::Presence => true,
        Want::Text { .. } => !matches!(kind, EntryKind::Present | EntryKind::Elf(_)),
        // A file that is no ELF file answers as well, but then nothing more is known of it than its name.
        Want::Elf => !matches!(kind, EntryKind::Present | EntryKind::Read(_)),
    }
}

/// The name of a library is worth keeping, whatever the file holds.
fn named(path: &str) -> Option<EntryKind> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.contains(".so").then_some(EntryKind::Present)
}

fn kept(kind: EntryKind) -> Content {
    Content { kind: Some(kind), looked: true, mark: None }
}

fn skip<R: Read>(stream: &mut Stream<'_, R>, size: u64) -> Result<(), Halt> {
    stream.payload(size, |_| {})
}

fn text<R: Read>(
    stream: &mut Stream<'_, R>,
    path: &str,
    size: u64,
    cap: usize,
    limits: &Limits,
) -> Result<Content, Halt> {
    let wanted = usize::try_from(size).unwrap_or(usize::MAX).min(cap);
    if wanted > limits.text {
        skip(stream, size)?;
        return Ok(Content { kind: Some(EntryKind::Present), looked: false, mark: Some(Mark::LongText) });
    }
    let mut text = Vec::with_capacity(wanted);
    stream.payload(size, |bytes| {
        let room = wanted - text.len();
        text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    })?;
    Ok(kept(EntryKind::Read(read(path, &text))))
}
