//! The unpacked bytes of a layer as blocks and payloads, under the limits on how many there may be.

use std::io;
use std::io::Read;

use crate::layer::digest::Digest;
use crate::layer::error::LayerError;
use crate::layer::limits::Limits;
use crate::layer::limits::UNPACKED_BUFFER;
use crate::layer::packed::Descriptor;
use crate::layer::packed::Digested;
use crate::layer::packed::Packed;
use crate::layer::packed::Watch;
use crate::layer::unpack::Unpacked;

/// Size of a block of a tar archive.
pub(super) const BLOCK: usize = 512;

/// Why a walk ends before the archive does.
pub(super) enum Halt {
    /// The layer cannot be read.
    Error(LayerError),
    /// A limit is reached.
    Limit,
}

impl From<LayerError> for Halt {
    fn from(error: LayerError) -> Self {
        Self::Error(error)
    }
}

/// Something that gives the bytes of an archive in order.
pub(super) struct Stream<'a, R: Read> {
    source: Unpacked<'a, R>,
    expected: &'a Descriptor,
    limits: &'a Limits,
    digest: Option<Digest>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Unpacked bytes read from the decoder.
    unpacked: u64,
    /// Whether the decoder was at its end.
    ended: bool,
}

impl<'a, R: Read> Stream<'a, R> {
    pub(super) fn new(
        source: R,
        expected: &'a Descriptor,
        limits: &'a Limits,
        watch: Watch<'a>,
    ) -> Result<Self, LayerError> {
        let digest = match expected.digested {
            Digested::Packed => None,
            Digested::Unpacked => Some(Digest::of(&expected.digest)?),
        };
        let source = match Unpacked::new(Packed::new(source, expected, watch)?, limits) {
            Ok(source) => source,
            Err(refused) => {
                let (error, packed) = *refused;
                return Err(told(error, packed));
            }
        };
        let buffer = vec![0; UNPACKED_BUFFER];
        Ok(Self { source, expected, limits, digest, buffer, start: 0, end: 0, unpacked: 0, ended: false })
    }

    /// Where in the archive the next byte stands.
    pub(super) fn at(&self) -> u64 {
        self.unpacked.saturating_sub((self.end - self.start) as u64)
    }

    /// Up to so many bytes that come next, as many as there are; at most a block.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], Halt> {
        while self.end - self.start < count && !self.ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.fill()?;
        }
        let end = self.end.min(self.start.saturating_add(count));
        Ok(self.buffer.get(self.start..end).unwrap_or_default())
    }

    /// The next block; none at the end.
    pub(super) fn block(&mut self) -> Result<Option<[u8; BLOCK]>, Halt> {
        let at = self.at();
        let bytes = self.peek(BLOCK)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let block: [u8; BLOCK] =
            bytes.try_into().map_err(|_| LayerError::Tar { at, what: "it ends inside a header" })?;
        self.start += BLOCK;
        Ok(Some(block))
    }

    /// Hands on the next so many bytes, in pieces.
    pub(super) fn payload(&mut self, length: u64, mut take: impl FnMut(&[u8])) -> Result<(), Halt> {
        let mut left = length;
        while left > 0 {
            if self.start == self.end {
                self.more()?;
                if self.start == self.end {
                    return Err(LayerError::Tar { at: self.at(), what: "it ends inside an entry" }.into());
                }
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(self.end - self.start);
            take(self.buffer.get(self.start..self.start + step).unwrap_or_default());
            self.start += step;
            left -= step as u64;
        }
        Ok(())
    }

    /// Passes over the next so many bytes, or those that there are.
    pub(super) fn padding(&mut self, length: u64) -> Result<(), Halt> {
        match usize::try_from(length).map(|length| self.peek(length).map(<[u8]>::len)) {
            Ok(there) => self.payload(there? as u64, |_| {}),
            Err(_) => self.payload(length, |_| {}),
        }
    }

    /// Reads to the end of the unpacked bytes; says how many there were and whether any was not zero.
    pub(super) fn rest(&mut self) -> Result<(u64, bool), Halt> {
        let (mut count, mut zero) = (0_u64, true);
        loop {
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            count = count.saturating_add(bytes.len() as u64);
            zero = zero && bytes.iter().all(|byte| *byte == 0);
            self.start = self.end;
            self.more()?;
            if self.start == self.end {
                return Ok((count, !zero));
            }
        }
    }

    /// Reads the packed bytes to their end and checks them; says how many bytes were packed and unpacked.
    pub(super) fn finish(self) -> Result<(u64, u64), LayerError> {
        let Self { source, expected, limits, digest, unpacked, ended, .. } = self;
        let packed = source.into_packed().finish()?;
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

    /// Why the layer cannot be read: that other bytes came than announced goes before what is wrong with them.
    pub(super) fn fail(self, error: LayerError) -> LayerError {
        told(error, self.source.into_packed())
    }

    fn more(&mut self) -> Result<(), Halt> {
        (self.start, self.end) = (0, 0);
        self.fill()
    }

    fn fill(&mut self) -> Result<(), Halt> {
        if self.ended {
            return Ok(());
        }
        let unpacked = self.unpacked;
        let most = self.source.packed().read_so_far().saturating_mul(self.limits.ratio);
        if unpacked > self.limits.unpacked.saturating_add(most) {
            return Err(Halt::Limit);
        }
        self.source.packed().unpacked(unpacked)?;
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let count = match self.source.read(room) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(cause) => {
                let format = self.source.format();
                let broken = || LayerError::Packing { format, at: unpacked, cause: cause.to_string() };
                return Err(self.source.packed().failure().unwrap_or_else(broken).into());
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

/// What is wrong with bytes that are not the announced ones says nothing about the layer.
fn told<R: Read>(error: LayerError, packed: Packed<'_, R>) -> LayerError {
    let broken = matches!(error, LayerError::Packing { .. } | LayerError::Tar { .. } | LayerError::Format { .. });
    if !broken {
        return error;
    }
    match packed.finish() {
        Err(other @ (LayerError::WrongSize { .. } | LayerError::WrongDigest { .. } | LayerError::Stopped)) => other,
        _ => error,
    }
}
