//! An image in a tar archive, whose members are indexed once and then read at their offsets.
//!
//! A plain file is read by seeking. One that is packed as a whole, and one that an engine sends, can only be read from
//! its beginning: each reader starts anew, or continues where the last one ended.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use flate2::read::MultiGzDecoder;

use crate::registry::container_engine::EngineImage;
use crate::registry::pull_error::{PullProblem, one_line};
use crate::registry::regular_file::read_within_limit;
use crate::registry::tar_index::{SkippableReader, TarMember, skip_by_reading};
use crate::registry::{regular_file, tar_index};

/// Maximum size in bytes of a member that is cached while a stream is indexed.
const MAX_CACHED_MEMBER: u64 = 1 << 20;
/// Maximum total size in bytes of all cached members.
const MAX_CACHED_TOTAL: u64 = 16 << 20;
/// Maximum number of links that are followed from one name.
const MAX_LINKS: usize = 8;
/// Maximum window of a zstd stream as a power of two: 32 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// The compression of some bytes, detected from the first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionFormat {
    None,
    Gzip,
    Zstd,
}

impl CompressionFormat {
    /// Detects the compression from the first bytes.
    pub(crate) fn detect(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Where an archive comes from: a file or a container engine.
pub(crate) enum ArchiveOrigin {
    File(PathBuf),
    Engine(EngineImage),
}

/// A reader that can be sent to another thread.
type ByteStream = Box<dyn Read + Send>;
/// A partly read stream of the archive, with its current offset, that consecutive readers share.
type SharedCursor = Arc<Mutex<Option<(u64, ByteStream)>>>;

/// A tar archive of an image, with an index of its members.
pub(crate) struct ImageArchive {
    origin: ArchiveOrigin,
    packing: CompressionFormat,
    members: BTreeMap<String, TarMember>,
    /// The compression of each file, by name.
    compression_formats: BTreeMap<String, CompressionFormat>,
    /// The contents of small files of a stream, by name.
    cached_files: BTreeMap<String, Vec<u8>>,
    cursor: SharedCursor,
}

impl ImageArchive {
    /// Opens an archive and indexes its members.
    pub(crate) fn open(origin: ArchiveOrigin) -> Result<Self, PullProblem> {
        let mut archive = Self {
            packing: CompressionFormat::None,
            members: BTreeMap::new(),
            compression_formats: BTreeMap::new(),
            cached_files: BTreeMap::new(),
            cursor: SharedCursor::default(),
            origin,
        };
        if let ArchiveOrigin::File(path) = &archive.origin {
            let (_, mut file) = regular_file::open_regular_file(path)?;
            let mut head = Vec::new();
            file.by_ref().take(4).read_to_end(&mut head).map_err(|error| archive.read_problem(&error))?;
            archive.packing = CompressionFormat::detect(&head);
        }
        let (mut heads, mut cached_files) = (BTreeMap::new(), BTreeMap::new());
        let mut room = if archive.is_seekable() { 0 } else { MAX_CACHED_TOTAL };
        let look = |name: &str, size: u64, body: &mut dyn Read| {
            let mut bytes = Vec::new();
            let keep = size <= MAX_CACHED_MEMBER && size <= room;
            body.take(if keep { size } else { 4 }).read_to_end(&mut bytes)?;
            heads.insert(name.to_owned(), CompressionFormat::detect(&bytes));
            if keep {
                room -= size;
                cached_files.insert(name.to_owned(), bytes);
            }
            Ok(())
        };
        let members = match &archive.origin {
            ArchiveOrigin::File(path) if archive.is_seekable() => {
                let (length, file) = regular_file::open_regular_file(path)?;
                tar_index::index_tar(&mut SeekableFile { file, at: 0, length }, look)
            }
            _ => tar_index::index_tar(&mut SequentialStream(archive.open_stream()?), look),
        };
        archive.members = members.map_err(|error| archive.read_problem(&error))?;
        (archive.compression_formats, archive.cached_files) = (heads, cached_files);
        Ok(archive)
    }

    /// Returns the path of the file, or the path of the engine's socket.
    pub(crate) fn display_location(&self) -> String {
        match &self.origin {
            ArchiveOrigin::File(path) => path.display().to_string(),
            ArchiveOrigin::Engine(engine) => engine.display_socket(),
        }
    }

    /// Whether members can be read in any order at no extra cost; otherwise they are best read in the order of their
    /// offsets.
    pub(crate) fn is_seekable(&self) -> bool {
        matches!(self.origin, ArchiveOrigin::File(_)) && self.packing == CompressionFormat::None
    }

    /// Whether the archive has a member of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Returns the compression of a member.
    pub(crate) fn compression(&self, name: &str) -> CompressionFormat {
        self.resolve_links(name)
            .and_then(|(name, ..)| self.compression_formats.get(name))
            .copied()
            .unwrap_or(CompressionFormat::None)
    }

    /// Returns the offset and the size of a member.
    pub(crate) fn member_range(&self, name: &str) -> Option<(u64, u64)> {
        self.resolve_links(name).map(|(_, at, size)| (at, size))
    }

    /// Reads a whole member of at most `cap` bytes.
    pub(crate) fn read_member(&self, name: &str, cap: u64) -> Result<Vec<u8>, PullProblem> {
        if let Some(bytes) = self.resolve_links(name).and_then(|(name, ..)| self.cached_files.get(name)) {
            return if bytes.len() as u64 > cap {
                Err(PullProblem::TooLarge { limit: cap })
            } else {
                Ok(bytes.clone())
            };
        }
        read_within_limit(self.open_within_limit(name, cap)?, cap, name)
    }

    /// Opens a member of at most `cap` bytes.
    fn open_within_limit(&self, name: &str, cap: u64) -> Result<(u64, ByteStream), PullProblem> {
        match self.member_range(name) {
            Some((_, size)) if size > cap => Err(PullProblem::TooLarge { limit: cap }),
            _ => self.open_member(name),
        }
    }

    /// Opens a member; returns its size and its bytes.
    pub(crate) fn open_member(&self, name: &str) -> Result<(u64, ByteStream), PullProblem> {
        let missing = || PullProblem::File {
            path: self.display_location(),
            error: format!("it does not contain `{}`", one_line(name, 200)),
        };
        let (at, size) = self.member_range(name).ok_or_else(missing)?;
        if let ArchiveOrigin::File(path) = &self.origin
            && self.is_seekable()
        {
            let (_, mut file) = regular_file::open_regular_file(path)?;
            file.seek(SeekFrom::Start(at)).map_err(|error| self.read_problem(&error))?;
            return Ok((size, Box::new(file.take(size))));
        }
        let (position, mut stream) = match self.resume_stream(at) {
            Some(cursor) => cursor,
            None => (0, self.open_stream()?),
        };
        let passed = skip_by_reading(&mut stream, at - position).map_err(|error| self.read_problem(&error))?;
        if passed < at - position {
            return Err(self.read_problem(&io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        let end = at + size;
        Ok((size, Box::new(MemberReader { stream: Some(stream), remaining: size, end, cursor: self.cursor.clone() })))
    }

    /// Takes the stream of the previous reader, unless it is already past this offset.
    fn resume_stream(&self, at: u64) -> Option<(u64, ByteStream)> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        if cursor.as_ref().is_some_and(|(position, _)| *position <= at) { cursor.take() } else { None }
    }

    /// Opens the decompressed archive from its beginning.
    fn open_stream(&self) -> Result<ByteStream, PullProblem> {
        let file = match &self.origin {
            ArchiveOrigin::Engine(engine) => return engine.open_archive(),
            ArchiveOrigin::File(path) => BufReader::with_capacity(64 << 10, regular_file::open_regular_file(path)?.1),
        };
        Ok(match self.packing {
            CompressionFormat::None => Box::new(file),
            CompressionFormat::Gzip => Box::new(MultiGzDecoder::new(file)),
            CompressionFormat::Zstd => {
                let mut decoder =
                    zstd::stream::read::Decoder::with_buffer(file).map_err(|error| self.read_problem(&error))?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(|error| self.read_problem(&error))?;
                Box::new(decoder)
            }
        })
    }

    /// Follows links from a name to a file; returns the file's name, offset and size.
    fn resolve_links<'a>(&'a self, name: &'a str) -> Option<(&'a str, u64, u64)> {
        let mut name = name;
        for _ in 0..MAX_LINKS {
            match self.members.get(name)? {
                TarMember::File { at, size } => return Some((name, *at, *size)),
                TarMember::Link(target) => name = target,
            }
        }
        None
    }

    /// Returns the problem of a failed read of the archive.
    fn read_problem(&self, error: &io::Error) -> PullProblem {
        PullProblem::File { path: self.display_location(), error: one_line(&error.to_string(), 300) }
    }
}

/// An uncompressed file, in which bytes are skipped by seeking.
struct SeekableFile {
    file: fs::File,
    at: u64,
    length: u64,
}

impl Read for SeekableFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl SkippableReader for SeekableFile {
    fn skip_bytes(&mut self, count: u64) -> io::Result<u64> {
        let count = count.min(self.length.saturating_sub(self.at));
        self.at += count;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(count)
    }
}

/// A stream in which bytes are skipped by reading them.
struct SequentialStream(ByteStream);

impl Read for SequentialStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl SkippableReader for SequentialStream {
    fn skip_bytes(&mut self, count: u64) -> io::Result<u64> {
        skip_by_reading(&mut self.0, count)
    }
}

/// A reader of one member that leaves the stream to the next reader when it ends.
struct MemberReader {
    stream: Option<ByteStream>,
    /// The bytes of the member that are still to be read.
    remaining: u64,
    /// The offset in the archive at which the member ends.
    end: u64,
    cursor: SharedCursor,
}

impl Read for MemberReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(out.len());
        let Some(stream) = self.stream.as_mut().filter(|_| most > 0) else { return Ok(0) };
        let count = stream.read(&mut out[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.remaining -= count as u64;
        if self.remaining == 0 {
            let left = self.stream.take().map(|stream| (self.end, stream));
            *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = left;
        }
        Ok(count)
    }
}
