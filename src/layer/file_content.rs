//! Reads what is needed from the content of one file in a layer.

use std::io::Read;

use crate::layer::elf::ElfReader;
use crate::layer::installed::{FileReadMode, read_evidence};
use crate::layer::layer_summary::{EntryKind, LayerLimits, SkipReason};
use crate::layer::sparse::{ELF_MAGIC, SparseElfReader, SparseMapSource};
use crate::layer::tar_stream::{TarStream, WalkAbort};

/// Extensions of object files and archives, which no program loads under any name.
const UNLOADABLE_EXTENSIONS: [&str; 5] = [".a", ".debug", ".ko", ".lo", ".o"];

/// The recorded result for one file, and the reason if its content was skipped.
#[derive(Debug, Default)]
pub(super) struct FileContent {
    pub(super) kind: Option<EntryKind>,
    /// Whether the content was inspected.
    pub(super) inspected: bool,
    pub(super) mark: Option<SkipReason>,
}

/// Reads the payload of a file to its end and extracts what is requested.
pub(super) fn read_file_content<R: Read>(
    stream: &mut TarStream<'_, R>,
    path: &str,
    want: FileReadMode,
    size: u64,
    limits: &LayerLimits,
) -> Result<FileContent, WalkAbort> {
    match want {
        FileReadMode::Nothing if UNLOADABLE_EXTENSIONS.iter().any(|ending| path.ends_with(ending)) => {
            skip_payload(stream, size).map(|()| FileContent::default())
        }
        // A hard link may give it another name.
        FileReadMode::Nothing if stream.peek(ELF_MAGIC.len())? != ELF_MAGIC || size <= ELF_MAGIC.len() as u64 => {
            skip_payload(stream, size).map(|()| FileContent { inspected: true, ..FileContent::default() })
        }
        FileReadMode::Presence => skip_payload(stream, size).map(|()| inspected_content(EntryKind::Present)),
        FileReadMode::Text { cap } => read_text(stream, path, size, cap as usize, limits),
        FileReadMode::Elf if stream.peek(ELF_MAGIC.len())? != ELF_MAGIC || size <= ELF_MAGIC.len() as u64 => {
            skip_payload(stream, size).map(|()| FileContent {
                kind: present_if_library(path),
                inspected: true,
                mark: None,
            })
        }
        FileReadMode::Nothing | FileReadMode::Elf => {
            let mut reader = ElfReader::new(size);
            stream.read_payload(size, |bytes| reader.feed(bytes))?;
            Ok(inspected_content(EntryKind::Elf(Box::new(reader.finish()))))
        }
    }
}

/// Reads the payload of a sparse file to its end, and reassembles ELF files. `holes` is the remaining limit of zero
/// bytes for holes.
pub(super) fn read_sparse_file<R: Read>(
    stream: &mut TarStream<'_, R>,
    path: &str,
    want: FileReadMode,
    size: u64,
    sparse: SparseMapSource,
    holes: &mut u64,
) -> Result<FileContent, WalkAbort> {
    let unread = || {
        let mark = (want != FileReadMode::Nothing).then_some(SkipReason::Sparse);
        FileContent { mark, inspected: false, kind: kind_without_content(path, want) }
    };
    if want != FileReadMode::Elf {
        return skip_payload(stream, size).map(|()| unread());
    }
    let mut whole = SparseElfReader::new(sparse, size, holes);
    stream.read_payload(size, |bytes| whole.feed(bytes))?;
    Ok(match whole.finish() {
        Ok(Some(elf)) => inspected_content(EntryKind::Elf(Box::new(elf))),
        Ok(None) => FileContent { kind: present_if_library(path), inspected: true, mark: None },
        Err(()) => unread(),
    })
}

/// Returns the entry kind of a file whose content is not read.
pub(super) fn kind_without_content(path: &str, want: FileReadMode) -> Option<EntryKind> {
    match want {
        FileReadMode::Nothing => None,
        FileReadMode::Presence | FileReadMode::Text { .. } => Some(EntryKind::Present),
        FileReadMode::Elf => present_if_library(path),
    }
}

/// Whether the recorded kind of a file provides what a read mode requests.
pub(super) fn satisfies_request(kind: &EntryKind, want: FileReadMode) -> bool {
    match want {
        FileReadMode::Nothing | FileReadMode::Presence => true,
        FileReadMode::Text { .. } => !matches!(kind, EntryKind::Present | EntryKind::Elf(_)),
        // A file that is no ELF file answers as well, but then nothing more is known of it than its name.
        FileReadMode::Elf => !matches!(kind, EntryKind::Present | EntryKind::Read(_)),
    }
}

/// Returns `EntryKind::Present` for a file with the name of a shared library, whatever its content.
fn present_if_library(path: &str) -> Option<EntryKind> {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.contains(".so").then_some(EntryKind::Present)
}

/// Returns the content of an inspected file of this kind.
fn inspected_content(kind: EntryKind) -> FileContent {
    FileContent { kind: Some(kind), inspected: true, mark: None }
}

/// Skips the payload of a file.
fn skip_payload<R: Read>(stream: &mut TarStream<'_, R>, size: u64) -> Result<(), WalkAbort> {
    stream.read_payload(size, |_| {})
}

/// Reads the start of a text file and extracts its evidence.
fn read_text<R: Read>(
    stream: &mut TarStream<'_, R>,
    path: &str,
    size: u64,
    cap: usize,
    limits: &LayerLimits,
) -> Result<FileContent, WalkAbort> {
    let target_len = usize::try_from(size).unwrap_or(usize::MAX).min(cap);
    if target_len > limits.text {
        skip_payload(stream, size)?;
        return Ok(FileContent { kind: Some(EntryKind::Present), inspected: false, mark: Some(SkipReason::LongText) });
    }
    let mut text = Vec::with_capacity(target_len);
    stream.read_payload(size, |bytes| {
        let room = target_len - text.len();
        text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    })?;
    Ok(inspected_content(EntryKind::Read(read_evidence(path, &text))))
}
