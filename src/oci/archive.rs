//! An archive of an image: looked through once, its files then read at their places.
//!
//! A plain file is read by seeking. One that is packed as a whole, and one that an engine sends, can only be read from
//! its beginning: each reader starts anew, or goes on where the last one ended.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek as _;
use std::io::SeekFrom;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use flate2::read::MultiGzDecoder;

use crate::oci::engine::Engine;
use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::files;
use crate::oci::files::whole;
use crate::oci::members;
use crate::oci::members::Member;
use crate::oci::members::Source;
use crate::oci::members::pass_by_reading;

/// The largest file that is kept from the first pass over a stream.
const HELD_EACH: u64 = 1 << 20;
/// The most bytes that are kept of all of them.
const HELD: u64 = 16 << 20;
/// How many links are followed.
const MOST_LINKS: usize = 8;
/// The largest window of a zstd stream, as a power of two: 32 MiB, what the memory of a run has room for.
const WINDOW: u32 = 25;

/// How bytes are packed, as their first ones tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// Reads the first bytes.
    pub(crate) fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Where an archive comes from.
pub(crate) enum Origin {
    File(PathBuf),
    Engine(Engine),
}

type Stream = Box<dyn Read + Send>;
/// A stream and how far it was read.
type Cursor = Arc<Mutex<Option<(u64, Stream)>>>;

/// An archive whose files are known.
pub(crate) struct Archive {
    origin: Origin,
    packing: Packing,
    members: BTreeMap<String, Member>,
    heads: BTreeMap<String, Packing>,
    held: BTreeMap<String, Vec<u8>>,
    cursor: Cursor,
}

impl Archive {
    /// Looks through an archive.
    pub(crate) fn open(origin: Origin) -> Result<Self, Problem> {
        let mut archive = Self {
            packing: Packing::None,
            members: BTreeMap::new(),
            heads: BTreeMap::new(),
            held: BTreeMap::new(),
            cursor: Cursor::default(),
            origin,
        };
        if let Origin::File(path) = &archive.origin {
            let (_, mut file) = files::open(path)?;
            let mut head = Vec::new();
            file.by_ref().take(4).read_to_end(&mut head).map_err(|error| archive.fail(&error))?;
            archive.packing = Packing::of(&head);
        }
        let (mut heads, mut held) = (BTreeMap::new(), BTreeMap::new());
        let mut room = if archive.seekable() { 0 } else { HELD };
        let look = |name: &str, size: u64, body: &mut dyn Read| {
            let mut bytes = Vec::new();
            let keep = size <= HELD_EACH && size <= room;
            body.take(if keep { size } else { 4 }).read_to_end(&mut bytes)?;
            heads.insert(name.to_owned(), Packing::of(&bytes));
            if keep {
                room -= size;
                held.insert(name.to_owned(), bytes);
            }
            Ok(())
        };
        let members = match &archive.origin {
            Origin::File(path) if archive.seekable() => {
                let (length, file) = files::open(path)?;
                members::index(&mut Plain { file, at: 0, length }, look)
            }
            _ => members::index(&mut Passing(archive.stream()?), look),
        };
        archive.members = members.map_err(|error| archive.fail(&error))?;
        (archive.heads, archive.held) = (heads, held);
        Ok(archive)
    }

    /// The file, or the engine's socket.
    pub(crate) fn shown(&self) -> String {
        match &self.origin {
            Origin::File(path) => path.display().to_string(),
            Origin::Engine(engine) => engine.shown(),
        }
    }

    /// Whether files can be read at their places at once; else they are best read in the order of `place`.
    pub(crate) fn seekable(&self) -> bool {
        matches!(self.origin, Origin::File(_)) && self.packing == Packing::None
    }

    /// Whether there is a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// How a file is packed.
    pub(crate) fn packing(&self, name: &str) -> Packing {
        self.followed(name).and_then(|(name, ..)| self.heads.get(name)).copied().unwrap_or(Packing::None)
    }

    /// Where a file begins, and its size.
    pub(crate) fn place(&self, name: &str) -> Option<(u64, u64)> {
        self.followed(name).map(|(_, at, size)| (at, size))
    }

    /// A whole file within its cap.
    pub(crate) fn read(&self, name: &str, cap: u64) -> Result<Vec<u8>, Problem> {
        if let Some(bytes) = self.followed(name).and_then(|(name, ..)| self.held.get(name)) {
            return if bytes.len() as u64 > cap { Err(Problem::TooLarge { limit: cap }) } else { Ok(bytes.clone()) };
        }
        whole(self.open_file(name, cap)?, cap, name)
    }

    fn open_file(&self, name: &str, cap: u64) -> Result<(u64, Stream), Problem> {
        match self.place(name) {
            Some((_, size)) if size > cap => Err(Problem::TooLarge { limit: cap }),
            _ => self.member(name),
        }
    }

    /// A file's size and its bytes.
    pub(crate) fn member(&self, name: &str) -> Result<(u64, Stream), Problem> {
        let missing =
            || Problem::File { path: self.shown(), cause: format!("it does not contain `{}`", one_line(name, 200)) };
        let (at, size) = self.place(name).ok_or_else(missing)?;
        if let Origin::File(path) = &self.origin
            && self.seekable()
        {
            let (_, mut file) = files::open(path)?;
            file.seek(SeekFrom::Start(at)).map_err(|error| self.fail(&error))?;
            return Ok((size, Box::new(file.take(size))));
        }
        let (position, mut stream) = match self.going_on(at) {
            Some(cursor) => cursor,
            None => (0, self.stream()?),
        };
        let passed = pass_by_reading(&mut stream, at - position).map_err(|error| self.fail(&error))?;
        if passed < at - position {
            return Err(self.fail(&io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        let end = at + size;
        Ok((size, Box::new(InTurn { stream: Some(stream), left: size, end, cursor: self.cursor.clone() })))
    }

    /// The stream that the last reader left behind, where it has not passed this place.
    fn going_on(&self, at: u64) -> Option<(u64, Stream)> {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        if cursor.as_ref().is_some_and(|(position, _)| *position <= at) { cursor.take() } else { None }
    }

    /// The archive from its beginning, unpacked.
    fn stream(&self) -> Result<Stream, Problem> {
        let file = match &self.origin {
            Origin::Engine(engine) => return engine.stream(),
            Origin::File(path) => BufReader::with_capacity(64 << 10, files::open(path)?.1),
        };
        Ok(match self.packing {
            Packing::None => Box::new(file),
            Packing::Gzip => Box::new(MultiGzDecoder::new(file)),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(|error| self.fail(&error))?;
                decoder.window_log_max(WINDOW).map_err(|error| self.fail(&error))?;
                Box::new(decoder)
            }
        })
    }

    /// A name behind its links, with place and size.
    fn followed<'a>(&'a self, name: &'a str) -> Option<(&'a str, u64, u64)> {
        let mut name = name;
        for _ in 0..MOST_LINKS {
            match self.members.get(name)? {
                Member::File { at, size } => return Some((name, *at, *size)),
                Member::Link(target) => name = target,
            }
        }
        None
    }

    fn fail(&self, error: &io::Error) -> Problem {
        Problem::File { path: self.shown(), cause: one_line(&error.to_string(), 300) }
    }
}

/// A file that is passed over by seeking.
struct Plain {
    file: fs::File,
    at: u64,
    length: u64,
}

impl Read for Plain {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Source for Plain {
    fn pass(&mut self, count: u64) -> io::Result<u64> {
        let count = count.min(self.length.saturating_sub(self.at));
        self.at += count;
        self.file.seek(SeekFrom::Start(self.at))?;
        Ok(count)
    }
}

/// A stream, passed over by reading.
struct Passing(Stream);

impl Read for Passing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl Source for Passing {
    fn pass(&mut self, count: u64) -> io::Result<u64> {
        pass_by_reading(&mut self.0, count)
    }
}

/// A file in a stream, which leaves the stream to the next reader.
struct InTurn {
    stream: Option<Stream>,
    left: u64,
    end: u64,
    cursor: Cursor,
}

impl Read for InTurn {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(stream) = self.stream.as_mut().filter(|_| most > 0) else { return Ok(0) };
        let count = stream.read(&mut out[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        if self.left == 0 {
            let left = self.stream.take().map(|stream| (self.end, stream));
            *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = left;
        }
        Ok(count)
    }
}
