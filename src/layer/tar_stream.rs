//! Reads the decompressed bytes of a layer as tar blocks and payloads, within the size limits.

use std::io;
use std::io::Read;

use crate::layer::compressed::{CompressedReader, LayerDescriptor, LayerDigestKind, ProgressCallback};
use crate::layer::decoder::LayerDecoder;
use crate::layer::digest::StreamDigest;
use crate::layer::error::LayerError;
use crate::layer::layer_summary::{DECOMPRESSED_BUFFER_SIZE, LayerLimits};

/// The size of a block of a tar archive.
pub(super) const BLOCK_SIZE: usize = 512;

/// The reason why the walk ends before the end of the archive.
pub(super) enum WalkAbort {
    /// The layer cannot be read.
    Error(LayerError),
    /// A limit is reached.
    Limit,
}

impl From<LayerError> for WalkAbort {
    fn from(error: LayerError) -> Self {
        Self::Error(error)
    }
}

/// A reader of the decompressed archive bytes of a layer.
pub(super) struct TarStream<'a, R: Read> {
    source: LayerDecoder<'a, R>,
    expected: &'a LayerDescriptor,
    limits: &'a LayerLimits,
    digest: Option<StreamDigest>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Unpacked bytes read from the decoder.
    unpacked: u64,
    /// Whether the decoder was at its end.
    ended: bool,
}

impl<'a, R: Read> TarStream<'a, R> {
    /// Opens a layer and detects its compression.
    pub(super) fn new(
        source: R,
        expected: &'a LayerDescriptor,
        limits: &'a LayerLimits,
        watch: ProgressCallback<'a>,
    ) -> Result<Self, LayerError> {
        let digest = match expected.digested {
            LayerDigestKind::Packed => None,
            LayerDigestKind::Unpacked => Some(StreamDigest::for_expected(&expected.digest)?),
        };
        let source = match LayerDecoder::new(CompressedReader::new(source, expected, watch)?, limits) {
            Ok(source) => source,
            Err(refused) => {
                let (error, packed) = *refused;
                return Err(prefer_integrity_error(error, packed));
            }
        };
        let buffer = vec![0; DECOMPRESSED_BUFFER_SIZE];
        Ok(Self { source, expected, limits, digest, buffer, start: 0, end: 0, unpacked: 0, ended: false })
    }

    /// Returns the position of the next byte in the archive.
    pub(super) fn position(&self) -> u64 {
        self.unpacked.saturating_sub((self.end - self.start) as u64)
    }

    /// Returns up to `count` of the next bytes without consuming them; at most one block.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], WalkAbort> {
        while self.end - self.start < count && !self.ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.fill_buffer()?;
        }
        let end = self.end.min(self.start.saturating_add(count));
        Ok(self.buffer.get(self.start..end).unwrap_or_default())
    }

    /// Reads the next block; `None` at the end.
    pub(super) fn read_block(&mut self) -> Result<Option<[u8; BLOCK_SIZE]>, WalkAbort> {
        let at = self.position();
        let bytes = self.peek(BLOCK_SIZE)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let block: [u8; BLOCK_SIZE] =
            bytes.try_into().map_err(|_| LayerError::Tar { at, what: "it ends in the middle of a header" })?;
        self.start += BLOCK_SIZE;
        Ok(Some(block))
    }

    /// Passes the next `length` bytes to a callback, in pieces.
    pub(super) fn read_payload(&mut self, length: u64, mut take: impl FnMut(&[u8])) -> Result<(), WalkAbort> {
        let mut left = length;
        while left > 0 {
            if self.start == self.end {
                self.refill()?;
                if self.start == self.end {
                    return Err(
                        LayerError::Tar { at: self.position(), what: "it ends in the middle of an entry" }.into()
                    );
                }
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(self.end - self.start);
            take(self.buffer.get(self.start..self.start + step).unwrap_or_default());
            self.start += step;
            left -= step as u64;
        }
        Ok(())
    }

    /// Skips the next `length` bytes, or as many as there are.
    pub(super) fn skip_padding(&mut self, length: u64) -> Result<(), WalkAbort> {
        match usize::try_from(length).map(|length| self.peek(length).map(<[u8]>::len)) {
            Ok(there) => self.read_payload(there? as u64, |_| {}),
            Err(_) => self.read_payload(length, |_| {}),
        }
    }

    /// Reads to the end of the decompressed bytes; returns their number and whether any is not zero.
    pub(super) fn read_to_end(&mut self) -> Result<(u64, bool), WalkAbort> {
        let (mut count, mut zero) = (0_u64, true);
        loop {
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            count = count.saturating_add(bytes.len() as u64);
            zero = zero && bytes.iter().all(|byte| *byte == 0);
            self.start = self.end;
            self.refill()?;
            if self.start == self.end {
                return Ok((count, !zero));
            }
        }
    }

    /// Reads the compressed bytes to their end and verifies them; returns the numbers of compressed and decompressed
    /// bytes.
    pub(super) fn finish(self) -> Result<(u64, u64), LayerError> {
        let Self { source, expected, limits, digest, unpacked, ended, .. } = self;
        let packed = source.into_compressed().finish()?;
        if let Some(digest) = digest {
            let found = digest.finish();
            if !ended {
                return Err(LayerError::TooLarge { limit: limits.unpacked });
            }
            if found != expected.digest {
                return Err(LayerError::WrongDigest { expected: expected.digest.clone(), found });
            }
        }
        Ok((packed, unpacked))
    }

    /// Returns why the layer cannot be read; a wrong size or digest takes precedence over an error in the data.
    pub(super) fn into_error(self, error: LayerError) -> LayerError {
        prefer_integrity_error(error, self.source.into_compressed())
    }

    /// Refills the empty buffer.
    fn refill(&mut self) -> Result<(), WalkAbort> {
        (self.start, self.end) = (0, 0);
        self.fill_buffer()
    }

    /// Reads decompressed bytes into the free part of the buffer, within the limits.
    fn fill_buffer(&mut self) -> Result<(), WalkAbort> {
        if self.ended {
            return Ok(());
        }
        let unpacked = self.unpacked;
        let most = self.source.compressed_mut().bytes_read().saturating_mul(self.limits.ratio);
        if unpacked > self.limits.unpacked.saturating_add(most) {
            return Err(WalkAbort::Limit);
        }
        self.source.compressed_mut().report_decompressed(unpacked)?;
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = match self.source.read(room) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(cause) => {
                let format = self.source.format();
                let broken = || LayerError::Packing { format, at: unpacked, error: cause.to_string() };
                return Err(self.source.compressed_mut().take_error().unwrap_or_else(broken).into());
            }
        };
        self.ended = count == 0;
        if let (Some(digest), Some(bytes)) = (&mut self.digest, self.buffer.get(self.end..self.end + count)) {
            digest.update(bytes);
        }
        self.end += count;
        self.unpacked = unpacked.saturating_add(count as u64);
        Ok(())
    }
}

/// Replaces an error in the data by a wrong size or digest, if the source has one.
fn prefer_integrity_error<R: Read>(error: LayerError, packed: CompressedReader<'_, R>) -> LayerError {
    let broken = matches!(error, LayerError::Packing { .. } | LayerError::Tar { .. } | LayerError::Format { .. });
    if !broken {
        return error;
    }
    match packed.finish() {
        Err(other @ (LayerError::WrongSize { .. } | LayerError::WrongDigest { .. } | LayerError::Stopped)) => other,
        _ => error,
    }
}
