//! Detects the compression of a layer from its first bytes and decodes it.

use std::io;
use std::io::{BufReader, Chain, Cursor, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

use crate::layer::compressed::CompressedReader;
use crate::layer::error::LayerError;
use crate::layer::layer_summary::{COMPRESSED_BUFFER_SIZE, LayerLimits};

/// The number of first bytes from which the format is detected; a zstd frame header has at most 18.
const SNIFFED_BYTES: usize = 18;
/// The largest zstd window, as a power of two, that several layers may use at the same time.
const SHARED_WINDOW_LOG: u32 = 23;

/// The lock of the one layer that is decoded with a larger window.
static LARGE_WINDOW_LOCK: Mutex<()> = Mutex::new(());

/// The compressed bytes of a layer from the start, after its first bytes were read for detection.
type RewoundReader<'a, R> = Chain<Cursor<Vec<u8>>, CompressedReader<'a, R>>;
/// The compressed bytes of a layer from the start, buffered for a decoder.
type BufferedRewoundReader<'a, R> = BufReader<RewoundReader<'a, R>>;

/// The error for a layer without a decoder, together with its compressed bytes.
pub(super) type DecoderFailure<'a, R> = (LayerError, CompressedReader<'a, R>);

/// The decompressed bytes of a layer.
pub(super) enum LayerDecoder<'a, R: Read> {
    Plain(Box<RewoundReader<'a, R>>),
    Gzip(Box<MultiGzDecoder<BufferedRewoundReader<'a, R>>>),
    Zstd { decoder: Box<Decoder<'static, BufferedRewoundReader<'a, R>>>, _wide: Option<MutexGuard<'static, ()>> },
}

impl<'a, R: Read> LayerDecoder<'a, R> {
    /// Creates the decoder for the format of the first bytes.
    pub(super) fn new(
        mut packed: CompressedReader<'a, R>,
        limits: &LayerLimits,
    ) -> Result<Self, Box<DecoderFailure<'a, R>>> {
        let mut first = Vec::with_capacity(SNIFFED_BYTES);
        while first.len() < SNIFFED_BYTES {
            let mut buffer = [0; SNIFFED_BYTES];
            let room = SNIFFED_BYTES - first.len();
            match packed.read(buffer.get_mut(..room).unwrap_or_default()) {
                Ok(0) => break,
                Ok(count) => first.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(error) => {
                    let failed = packed.take_error().unwrap_or(LayerError::Source { at: 0, error: error.to_string() });
                    return Err(Box::new((failed, packed)));
                }
            }
        }
        let buffered =
            |first: Vec<u8>, packed| BufReader::with_capacity(COMPRESSED_BUFFER_SIZE, Cursor::new(first).chain(packed));
        match first.as_slice() {
            [0x1f, 0x8b, ..] => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(buffered(first, packed))))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                match ZstdWindow::for_frame(&first, limits) {
                    Ok(window) => window.open_decoder(buffered(first, packed)),
                    Err(error) => Err(Box::new((error, packed))),
                }
            }
            other => match unsupported_format(other) {
                Some(format) => Err(Box::new((LayerError::Format { format }, packed))),
                None => Ok(Self::Plain(Box::new(Cursor::new(first).chain(packed)))),
            },
        }
    }

    /// Returns the name of the compression format for messages.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::Plain(_) => "plain",
            Self::Gzip(_) => "gzip",
            Self::Zstd { .. } => "zstd",
        }
    }

    /// Returns the reader of the compressed bytes.
    pub(super) fn compressed_mut(&mut self) -> &mut CompressedReader<'a, R> {
        match self {
            Self::Plain(source) => source.get_mut().1,
            Self::Gzip(decoder) => decoder.get_mut().get_mut().get_mut().1,
            Self::Zstd { decoder, .. } => decoder.get_mut().get_mut().get_mut().1,
        }
    }

    /// Drops the decoder and returns the reader of the compressed bytes.
    pub(super) fn into_compressed(self) -> CompressedReader<'a, R> {
        match self {
            Self::Plain(source) => source.into_inner().1,
            Self::Gzip(decoder) => decoder.into_inner().into_inner().into_inner().1,
            Self::Zstd { decoder, .. } => decoder.finish().into_inner().into_inner().1,
        }
    }
}

impl<R: Read> Read for LayerDecoder<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd { decoder, .. } => decoder.read(buffer),
        }
    }
}

/// Returns the name of a compression format that is recognised but not supported.
fn unsupported_format(first: &[u8]) -> Option<&'static str> {
    match first {
        [b'B', b'Z', b'h', ..] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some("xz"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    }
}

/// The window size that a zstd stream may use.
struct ZstdWindow {
    most: u32,
    wide: Option<MutexGuard<'static, ()>>,
}

impl ZstdWindow {
    /// Determines the window from the first frame; waits for the lock if it is large.
    fn for_frame(first: &[u8], limits: &LayerLimits) -> Result<Self, LayerError> {
        let limit = 1_u64.checked_shl(limits.window_log).unwrap_or(u64::MAX);
        let narrow = 1 << SHARED_WINDOW_LOG.min(limits.window_log);
        match frame_window_size(first) {
            Some(needed) if needed > limit => Err(LayerError::Window { needed, limit }),
            Some(needed) if needed <= narrow && !is_single_segment(first) => {
                Ok(Self { most: SHARED_WINDOW_LOG.min(limits.window_log), wide: None })
            }
            // Nothing but a place in the queue is behind the lock: a panic elsewhere breaks nothing.
            _ => {
                let wide = LARGE_WINDOW_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Self { most: limits.window_log, wide: Some(wide) })
            }
        }
    }

    /// Creates the zstd decoder with this window limit.
    fn open_decoder<'a, R: Read>(
        self,
        source: BufferedRewoundReader<'a, R>,
    ) -> Result<LayerDecoder<'a, R>, Box<DecoderFailure<'a, R>>> {
        let broken = |error: io::Error| LayerError::Packing { format: "zstd", at: 0, error: error.to_string() };
        let back = |source: BufferedRewoundReader<'a, R>| source.into_inner().into_inner().1;
        let mut decoder = match Decoder::try_with_buffer(source) {
            Ok(decoder) => decoder,
            Err((source, cause)) => return Err(Box::new((broken(cause), back(source)))),
        };
        match decoder.window_log_max(self.most) {
            Ok(()) => Ok(LayerDecoder::Zstd { decoder: Box::new(decoder), _wide: self.wide }),
            Err(cause) => Err(Box::new((broken(cause), back(decoder.finish())))),
        }
    }
}

/// Whether the first frame is a single segment. In zstd:chunked each file has such frames, while larger ones use the
/// encoder's window of 32 MiB.
fn is_single_segment(first: &[u8]) -> bool {
    matches!(first, [0x28, 0xb5, 0x2f, 0xfd, descriptor, ..] if descriptor & 0x20 != 0)
}

/// Returns the window size of the first frame; `None` if its header cannot be read or it is a skippable frame.
fn frame_window_size(first: &[u8]) -> Option<u64> {
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
