//! How a layer is packed, told by its first bytes, and its decoder.

use std::io;
use std::io::BufReader;
use std::io::Chain;
use std::io::Cursor;
use std::io::Read;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

use crate::layer::error::LayerError;
use crate::layer::limits::Limits;
use crate::layer::limits::PACKED_BUFFER;
use crate::layer::packed::Packed;

/// What tells formats apart stands in so many first bytes; a zstd frame header has at most 18.
const SNIFFED: usize = 18;
/// Windows up to this power of two are had by several layers at once: every decoder has to support them.
const NARROW: u32 = 23;

/// Held by the one layer with a wider window that is unpacked at a time, so that memory does not add up.
static WIDE: Mutex<()> = Mutex::new(());

type Source<'a, R> = Chain<Cursor<Vec<u8>>, Packed<'a, R>>;
type Buffered<'a, R> = BufReader<Source<'a, R>>;

/// Why there is no decoder, and what it would have read.
pub(super) type Refused<'a, R> = (LayerError, Packed<'a, R>);

/// The unpacked bytes of a layer.
pub(super) enum Unpacked<'a, R: Read> {
    Plain(Box<Source<'a, R>>),
    Gzip(Box<MultiGzDecoder<Buffered<'a, R>>>),
    Zstd { decoder: Box<Decoder<'static, Buffered<'a, R>>>, _wide: Option<MutexGuard<'static, ()>> },
}

impl<'a, R: Read> Unpacked<'a, R> {
    /// Looks at the first bytes.
    pub(super) fn new(mut packed: Packed<'a, R>, limits: &Limits) -> Result<Self, Box<Refused<'a, R>>> {
        let mut first = Vec::with_capacity(SNIFFED);
        while first.len() < SNIFFED {
            let mut buffer = [0; SNIFFED];
            let room = SNIFFED - first.len();
            match packed.read(buffer.get_mut(..room).unwrap_or_default()) {
                Ok(0) => break,
                Ok(count) => first.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) => {
                    let failed = packed.failure().unwrap_or(LayerError::Source { at: 0, cause: error.to_string() });
                    return Err(Box::new((failed, packed)));
                }
            }
        }
        let buffered =
            |first: Vec<u8>, packed| BufReader::with_capacity(PACKED_BUFFER, Cursor::new(first).chain(packed));
        match first.as_slice() {
            [0x1f, 0x8b, ..] => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(buffered(first, packed))))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => match Window::of(&first, limits) {
                Ok(window) => window.decoder(buffered(first, packed)),
                Err(error) => Err(Box::new((error, packed))),
            },
            other => match foreign(other) {
                Some(format) => Err(Box::new((LayerError::Format { format }, packed))),
                None => Ok(Self::Plain(Box::new(Cursor::new(first).chain(packed)))),
            },
        }
    }

    /// What packs the bytes, for a message.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::Plain(_) => "plain",
            Self::Gzip(_) => "gzip",
            Self::Zstd { .. } => "zstd",
        }
    }

    /// The packed bytes behind.
    pub(super) fn packed(&mut self) -> &mut Packed<'a, R> {
        match self {
            Self::Plain(source) => source.get_mut().1,
            Self::Gzip(decoder) => decoder.get_mut().get_mut().get_mut().1,
            Self::Zstd { decoder, .. } => decoder.get_mut().get_mut().get_mut().1,
        }
    }

    pub(super) fn into_packed(self) -> Packed<'a, R> {
        match self {
            Self::Plain(source) => source.into_inner().1,
            Self::Gzip(decoder) => decoder.into_inner().into_inner().into_inner().1,
            Self::Zstd { decoder, .. } => decoder.finish().into_inner().into_inner().1,
        }
    }
}

impl<R: Read> Read for Unpacked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd { decoder, .. } => decoder.read(buffer),
        }
    }
}

/// Formats that runtimes may know and that are not read here.
fn foreign(first: &[u8]) -> Option<&'static str> {
    match first {
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    }
}

/// The window that a zstd stream may use.
struct Window {
    most: u32,
    wide: Option<MutexGuard<'static, ()>>,
}

impl Window {
    fn of(first: &[u8], limits: &Limits) -> Result<Self, LayerError> {
        let limit = 1_u64.checked_shl(limits.window_log).unwrap_or(u64::MAX);
        let narrow = 1 << NARROW.min(limits.window_log);
        match window(first) {
            Some(needed) if needed > limit => Err(LayerError::Window { needed, limit }),
            Some(needed) if needed <= narrow && !is_piece(first) => {
                Ok(Self { most: NARROW.min(limits.window_log), wide: None })
            }
            // Nothing but a place in the queue is behind the lock: a panic elsewhere breaks nothing.
            _ => {
                let wide = WIDE.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Self { most: limits.window_log, wide: Some(wide) })
            }
        }
    }

    fn decoder<'a, R: Read>(self, source: Buffered<'a, R>) -> Result<Unpacked<'a, R>, Box<Refused<'a, R>>> {
        let broken = |cause: io::Error| LayerError::Packing { format: "zstd", at: 0, cause: cause.to_string() };
        let back = |source: Buffered<'a, R>| source.into_inner().into_inner().1;
        let mut decoder = match Decoder::try_with_buffer(source) {
            Ok(decoder) => decoder,
            Err((source, cause)) => return Err(Box::new((broken(cause), back(source)))),
        };
        match decoder.window_log_max(self.most) {
            Ok(()) => Ok(Unpacked::Zstd { decoder: Box::new(decoder), _wide: self.wide }),
            Err(cause) => Err(Box::new((broken(cause), back(decoder.finish())))),
        }
    }
}

/// Whether the first frame is one of a known size: zstd:chunked has a frame for each file and each piece of one, of
/// which the small ones have windows of their own size and the others that of the encoder, 32 MiB.
fn is_piece(first: &[u8]) -> bool {
    matches!(first, [0x28, 0xb5, 0x2f, 0xfd, descriptor, ..] if descriptor & 0x20 != 0)
}

/// The window that the first frame asks for; none where its header cannot be read, or a skippable frame is first.
fn window(first: &[u8]) -> Option<u64> {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = first else { return None };
    if descriptor & 0x20 == 0 {
        let byte = u64::from(*rest.first()?);
        let base = 1_u64 << (10 + (byte >> 3));
        return Some(base + (base / 8) * (byte & 7));
    }
    // A single segment: the window is as large as the content.
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3))?;
    let size = rest.get(*dictionary..)?;
    let little = |count: usize| Some(size.get(..count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    match descriptor >> 6 {
        0 => little(1),
        1 => Some(little(2)? + 256),
        2 => little(4),
        _ => little(8),
    }
}
