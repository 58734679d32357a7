//! Walks over the archive of a layer and collects its entries.

use std::io::Read;
use std::ops::ControlFlow;

use crate::layer::archive_path::ArchivePath;
use crate::layer::compressed::{LayerDescriptor, LayerReadProgress};
use crate::layer::entry_collector::{CollectedEntry, EntryCollector};
use crate::layer::error::LayerError;
use crate::layer::installed::{FileReadMode, file_read_mode};
use crate::layer::layer_summary::{
    EntryKind, EntrySummary, LayerLimits, LayerSummary, MAX_EXTENSION_LENGTH, MAX_HOLE_BYTES, SMALL_LAYER_MEMORY,
    SkipReason,
};
use crate::layer::pax::{ExtendedName, PaxRecords};
use crate::layer::sparse::{SparseMap, SparseMapSource};
use crate::layer::tar_header::{TarEntryType, TarHeader};
use crate::layer::tar_stream::{BLOCK_SIZE, TarStream, WalkAbort};
use crate::layer::{archive_path, file_content, pax, tar_header};

/// Reads a layer from its compressed bytes to their end, and returns its summary.
///
/// `watch` is called with the progress several times per megabyte, and can stop the reading with `Break`.
pub fn read_layer(
    packed: impl Read,
    descriptor: &LayerDescriptor,
    limits: &LayerLimits,
    watch: &mut dyn FnMut(LayerReadProgress) -> ControlFlow<()>,
) -> Result<LayerSummary, LayerError> {
    let mut stream = TarStream::new(packed, descriptor, limits, watch)?;
    let mut walk = LayerWalk {
        limits,
        collector: EntryCollector::new(limits),
        headers: 0,
        holes: MAX_HOLE_BYTES,
        long: EntryExtensions::default(),
    };
    let walked = walk.read_archive(&mut stream);
    let mut collector = walk.collector;
    match walked {
        Ok(()) => {}
        Err(WalkAbort::Limit) => collector.record_skip(SkipReason::Beyond, ""),
        Err(WalkAbort::Error(error)) => return Err(stream.into_error(error)),
    }
    let (size, unpacked) = stream.finish()?;
    let mut seen = collector.finish();
    (seen.size, seen.unpacked, seen.digest) = (size, unpacked, descriptor.digest.clone());
    Ok(seen)
}

/// The values from extension headers for the next entry.
#[derive(Default)]
struct EntryExtensions {
    name: Option<ExtendedName>,
    link: Option<ExtendedName>,
    records: PaxRecords,
}

/// The state of the walk over one archive.
struct LayerWalk<'a> {
    limits: &'a LayerLimits,
    collector: EntryCollector<'a>,
    headers: u64,
    /// How many bytes of holes in sparse files are still filled.
    holes: u64,
    long: EntryExtensions,
}

impl LayerWalk<'_> {
    /// Reads all headers and entries up to the end of the archive.
    fn read_archive<R: Read>(&mut self, stream: &mut TarStream<'_, R>) -> Result<(), WalkAbort> {
        loop {
            let at = stream.position();
            let Some(block) = stream.read_block()? else { return Ok(()) };
            if is_zero_block(&block) {
                return self.read_archive_end(stream, at);
            }
            self.headers += 1;
            if self.headers > self.limits.headers {
                return Err(WalkAbort::Limit);
            }
            let broken = |what| LayerError::Tar { at, what };
            let fields = match tar_header::parse_header(&block) {
                Ok(fields) => fields,
                Err(_) if at == 0 => return Err(broken("it does not start with a tar header").into()),
                Err(what) => return Err(broken(what).into()),
            };
            self.process_header(stream, fields, &broken)?;
        }
    }

    /// Reads the end of the archive, two zero blocks, and ignores data after it.
    fn read_archive_end<R: Read>(&mut self, stream: &mut TarStream<'_, R>, at: u64) -> Result<(), WalkAbort> {
        match stream.read_block()? {
            Some(block) if !is_zero_block(&block) => {
                return Err(LayerError::Tar { at, what: "there is a single block of zeros between entries" }.into());
            }
            _ => {}
        }
        if let (_, true) = stream.read_to_end()? {
            self.collector.record_skip(SkipReason::Behind, "");
        }
        Ok(())
    }

    /// Reads the payload of one header: an extension for the next entry, or an entry.
    fn process_header<R: Read>(
        &mut self,
        stream: &mut TarStream<'_, R>,
        fields: TarHeader,
        broken: &dyn Fn(&'static str) -> LayerError,
    ) -> Result<(), WalkAbort> {
        let size = fields.size;
        match fields.kind {
            TarEntryType::Global => stream.read_payload(size, |_| {})?,
            TarEntryType::LongName => self.long.name = Some(read_long_name(stream, size)?),
            TarEntryType::LongLink => self.long.link = Some(read_long_name(stream, size)?),
            TarEntryType::Pax => {
                let mut reader = pax::PaxReader::default();
                stream.read_payload(size, |bytes| reader.feed(bytes))?;
                self.long.records = reader.finish().map_err(broken)?;
            }
            _ => {
                let long = std::mem::take(&mut self.long);
                let size = self.read_entry(stream, fields, long, broken)?;
                return skip_block_padding(stream, size);
            }
        }
        skip_block_padding(stream, size)
    }

    /// Reads one entry with its payload, and returns the size of the payload.
    fn read_entry<R: Read>(
        &mut self,
        stream: &mut TarStream<'_, R>,
        fields: TarHeader,
        long: EntryExtensions,
        broken: &dyn Fn(&'static str) -> LayerError,
    ) -> Result<u64, WalkAbort> {
        let (mut extended, mut map) = (fields.extended, fields.map);
        while extended {
            let block = stream.read_block()?.ok_or_else(|| broken("it ends in the middle of a sparse file"))?;
            (extended, map) = (tar_header::has_next_sparse_block(&block), tar_header::extend_sparse_map(&block, map));
        }
        let has_no_payload = matches!(
            fields.kind,
            TarEntryType::Directory | TarEntryType::Hard | TarEntryType::Link | TarEntryType::Special
        );
        let size = if has_no_payload { 0 } else { long.records.size.unwrap_or(fields.size) };
        let sparse = if fields.kind == TarEntryType::Sparse {
            Some(map.map_or(SparseMapSource::Unknown, SparseMapSource::Known))
        } else {
            long.records.sparse.then(|| sparse_source_from_records(&long.records))
        };
        let written =
            long.records.sparse_name.or(long.name).or(long.records.path).unwrap_or(ExtendedName::Name(fields.name));
        let link = long.link.or(long.records.link).unwrap_or(ExtendedName::Name(fields.link));
        let name = match &written {
            ExtendedName::TooLong => Err(SkipReason::LongName),
            ExtendedName::Name(written) => self.classify_entry(written),
        };
        match name {
            Ok(ArchivePath::Entry(path)) => {
                let read_mode = file_read_mode(&path);
                let found = match fields.kind {
                    TarEntryType::Directory => CollectedEntry::Directory,
                    TarEntryType::Special => CollectedEntry::Other,
                    TarEntryType::Link => self.symbolic_link(&path, &link),
                    TarEntryType::Hard => self.hard_link(&path, &link, read_mode),
                    _ => self.read_file(stream, &path, read_mode, size, sparse)?,
                };
                self.insert_entry(&path, found, &written);
                if matches!(fields.kind, TarEntryType::File | TarEntryType::Sparse) {
                    return Ok(size);
                }
            }
            Ok(ArchivePath::Whiteout(path)) => self.collector.add_whiteout(path),
            Ok(ArchivePath::Opaque(path)) => self.collector.add_opaque_directory(path),
            Ok(ArchivePath::Root | ArchivePath::Record) => {}
            Err(mark) => self.record_skip(mark, &written),
        }
        stream.read_payload(size, |_| {})?;
        Ok(size)
    }

    /// Returns the meaning of an entry path, after links in its directory are followed.
    fn classify_entry(&mut self, written: &[u8]) -> Result<ArchivePath, SkipReason> {
        let path = self
            .collector
            .resolve_entry_path(archive_path::normalise_entry_path(written)?)
            .ok_or(SkipReason::OddName)?;
        archive_path::classify_path(path)
    }

    /// Reads the content of a regular file.
    fn read_file<R: Read>(
        &mut self,
        stream: &mut TarStream<'_, R>,
        path: &str,
        read_mode: FileReadMode,
        size: u64,
        sparse: Option<SparseMapSource>,
    ) -> Result<CollectedEntry, WalkAbort> {
        let content = if let Some(sparse) = sparse {
            file_content::read_sparse_file(stream, path, read_mode, size, sparse, &mut self.holes)?
        } else {
            if matches!(read_mode, FileReadMode::Text { cap } if size.min(cap.into()) > SMALL_LAYER_MEMORY as u64) {
                self.collector.acquire_large_layer_lock();
            }
            file_content::read_file_content(stream, path, read_mode, size, self.limits)?
        };
        if let Some(mark) = content.mark {
            self.collector.record_skip(mark, path);
        }
        Ok(match content.kind {
            Some(kind) => recorded_entry(kind),
            None if content.inspected => CollectedEntry::Inspected,
            None => CollectedEntry::Other,
        })
    }

    /// Returns the entry of a symbolic link.
    fn symbolic_link(&mut self, path: &str, target: &ExtendedName) -> CollectedEntry {
        match target {
            ExtendedName::Name(target) if target.len() <= crate::layer::layer_summary::MAX_PATH_LENGTH => {
                recorded_entry(EntryKind::Link(String::from_utf8_lossy(target).into_owned()))
            }
            _ => {
                self.collector.record_skip(SkipReason::LongName, path);
                CollectedEntry::Other
            }
        }
    }

    /// Returns the entry of a hard link, with the content of its target if that was read.
    fn hard_link(&mut self, path: &str, target: &ExtendedName, read_mode: FileReadMode) -> CollectedEntry {
        let found = match target {
            ExtendedName::TooLong => Err(SkipReason::LongName),
            ExtendedName::Name(target) => archive_path::normalise_entry_path(target),
        };
        let target = match found.and_then(|target| self.collector.resolve_path(target).ok_or(SkipReason::OddName)) {
            Ok(target) => target,
            Err(mark) => {
                self.collector.record_skip(mark, path);
                return file_content::kind_without_content(path, read_mode)
                    .map_or(CollectedEntry::Other, recorded_entry);
            }
        };
        match self.collector.hard_link_target(&target) {
            // A file is no other name of itself.
            Some((first, kind)) if first == path => recorded_entry(kind.clone()),
            Some((first, kind)) if read_mode != FileReadMode::Nothing => {
                let (first, answered) = (first.to_owned(), file_content::satisfies_request(kind, read_mode));
                if !answered {
                    self.collector.record_skip(SkipReason::HardLink, path);
                }
                recorded_entry(EntryKind::Hard(first))
            }
            None if read_mode != FileReadMode::Nothing && target != path => recorded_entry(EntryKind::Hard(target)),
            _ => CollectedEntry::Other,
        }
    }

    /// Inserts an entry, with the path as written if it differs.
    fn insert_entry(&mut self, path: &str, found: CollectedEntry, written: &ExtendedName) {
        let found = match (found, written) {
            (CollectedEntry::Recorded(mut entry), ExtendedName::Name(written)) => {
                let written = String::from_utf8_lossy(written);
                entry.written = (written != *path && Some(&*written) != path.get(1..)).then(|| written.into_owned());
                CollectedEntry::Recorded(entry)
            }
            (found, _) => found,
        };
        self.collector.insert(path, found);
    }

    /// Records that something was skipped at a path as written in the archive.
    fn record_skip(&mut self, mark: SkipReason, written: &ExtendedName) {
        let path = match written {
            ExtendedName::Name(written) => written.get(..400).unwrap_or(written),
            ExtendedName::TooLong => &[],
        };
        self.collector.record_skip(mark, &String::from_utf8_lossy(path));
    }
}

/// Returns what PAX records give about the map of a sparse file.
fn sparse_source_from_records(records: &PaxRecords) -> SparseMapSource {
    match (records.sparse_size, &records.sparse_map) {
        (Some(size), _) if records.sparse_ahead => SparseMapSource::InPayload(size),
        (Some(size), Some(map)) => {
            SparseMap::parse_list(size, map).map_or(SparseMapSource::Unknown, SparseMapSource::Known)
        }
        _ => SparseMapSource::Unknown,
    }
}

/// Returns a recorded entry of this kind.
fn recorded_entry(kind: EntryKind) -> CollectedEntry {
    CollectedEntry::Recorded(EntrySummary { written: None, kind })
}

/// Whether all bytes of a block are zero.
fn is_zero_block(block: &[u8; BLOCK_SIZE]) -> bool {
    block.first() == Some(&0) && block.iter().all(|byte| *byte == 0)
}

/// Skips the padding after a payload. It may be missing at the end of an archive that was not finished, as in
/// container runtimes.
fn skip_block_padding<R: Read>(stream: &mut TarStream<'_, R>, size: u64) -> Result<(), WalkAbort> {
    let over = size % BLOCK_SIZE as u64;
    if over == 0 { Ok(()) } else { stream.skip_padding(BLOCK_SIZE as u64 - over) }
}

/// Reads a name from the payload of a GNU long-name header, up to its first zero byte.
fn read_long_name<R: Read>(stream: &mut TarStream<'_, R>, size: u64) -> Result<ExtendedName, WalkAbort> {
    if size > MAX_EXTENSION_LENGTH as u64 {
        stream.read_payload(size, |_| {})?;
        return Ok(ExtendedName::TooLong);
    }
    let mut name = Vec::new();
    stream.read_payload(size, |bytes| name.extend_from_slice(bytes))?;
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    Ok(ExtendedName::Name(name))
}
