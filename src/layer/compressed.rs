//! Reads the compressed bytes of a layer, and counts and verifies them.

use std::io;
use std::io::Read;
use std::ops::ControlFlow;

use crate::layer::digest::StreamDigest;
use crate::layer::error::LayerError;
use crate::layer::layer_summary::COMPRESSED_BUFFER_SIZE;

/// The bytes that a layer digest covers: compressed as in a manifest, or uncompressed as a diff ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayerDigestKind {
    /// Those that are stored, as manifests have it.
    #[default]
    Packed,
    /// Those of the archive inside, as the config has it.
    Unpacked,
}

/// The digest, size and media type of a layer before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerDescriptor {
    /// Its digest.
    pub digest: String,
    /// What the digest is of.
    pub digested: LayerDigestKind,
    /// How many packed bytes there are, where it is known.
    pub size: Option<u64>,
    /// Its media type; empty where none is known. The first bytes determine the compression, as for runtimes.
    pub media_type: String,
}

/// The progress of reading one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerReadProgress {
    /// Packed bytes that came.
    pub packed: u64,
    /// Unpacked bytes.
    pub unpacked: u64,
}

/// A callback that receives the progress and may cancel the reading.
pub(super) type ProgressCallback<'a> = &'a mut dyn FnMut(LayerReadProgress) -> ControlFlow<()>;

/// A reader of the compressed bytes of a layer that counts, limits and digests them.
pub(super) struct CompressedReader<'a, R> {
    source: R,
    watch: ProgressCallback<'a>,
    expected: &'a LayerDescriptor,
    digest: Option<StreamDigest>,
    progress: LayerReadProgress,
    /// Why reading ended; decoders pass on an error without its meaning.
    failed: Option<LayerError>,
}

impl<'a, R: Read> CompressedReader<'a, R> {
    /// Wraps the source of a layer; fails if the expected digest cannot be verified.
    pub(super) fn new(
        source: R,
        expected: &'a LayerDescriptor,
        watch: ProgressCallback<'a>,
    ) -> Result<Self, LayerError> {
        let digest = StreamDigest::for_expected(&expected.digest)?;
        let digest = (expected.digested == LayerDigestKind::Packed).then_some(digest);
        Ok(Self { source, watch, expected, digest, progress: LayerReadProgress::default(), failed: None })
    }

    /// Returns the number of compressed bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.progress.packed
    }

    /// Reports how many bytes were decompressed; fails if the callback cancels.
    pub(super) fn report_decompressed(&mut self, bytes: u64) -> Result<(), LayerError> {
        self.progress.unpacked = bytes;
        self.report_progress()
    }

    /// Returns why the last read failed, unless the decoder failed itself.
    pub(super) fn take_error(&mut self) -> Option<LayerError> {
        self.failed.take()
    }

    /// Calls the progress callback; fails if it cancels.
    fn report_progress(&mut self) -> Result<(), LayerError> {
        match (self.watch)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LayerError::Stopped),
        }
    }

    /// Reads more bytes into a buffer, checks the size limit and updates the digest.
    fn read_checked(&mut self, buffer: &mut [u8]) -> Result<usize, LayerError> {
        self.report_progress()?;
        let at = self.progress.packed;
        let count = loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.report_progress()?,
                Err(error) => return Err(LayerError::Source { at, error: error.to_string() }),
                Ok(count) => break count,
            }
        };
        self.progress.packed = at.saturating_add(count as u64);
        if let Some(expected) = self.expected.size.filter(|size| self.progress.packed > *size) {
            return Err(LayerError::WrongSize { expected, found: expected.saturating_add(1) });
        }
        if let (Some(digest), Some(bytes)) = (&mut self.digest, buffer.get(..count)) {
            digest.update(bytes);
        }
        Ok(count)
    }

    /// Reads the remaining bytes, then verifies size and digest.
    pub(super) fn finish(mut self) -> Result<u64, LayerError> {
        let mut buffer = vec![0; COMPRESSED_BUFFER_SIZE];
        while self.read_checked(&mut buffer)? > 0 {}
        let found = self.progress.packed;
        if let Some(expected) = self.expected.size.filter(|size| *size != found) {
            return Err(LayerError::WrongSize { expected, found });
        }
        match self.digest.map(StreamDigest::finish) {
            Some(digest) if digest != self.expected.digest => {
                Err(LayerError::WrongDigest { expected: self.expected.digest.clone(), found: digest })
            }
            _ => Ok(found),
        }
    }
}

impl<R: Read> Read for CompressedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_checked(buffer).map_err(|error| {
            let io_error = io::Error::other(error.to_string());
            self.failed = Some(error);
            io_error
        })
    }
}
