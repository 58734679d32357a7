//! The packed bytes of a layer: counted, digested, watched.

use std::io;
use std::io::Read;
use std::ops::ControlFlow;

use crate::layer::digest::Digest;
use crate::layer::error::LayerError;
use crate::layer::limits::PACKED_BUFFER;

/// Which bytes of a layer its digest is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digested {
    /// Those that are stored, as manifests have it.
    #[default]
    Packed,
    /// Those of the archive inside, as the config has it.
    Unpacked,
}

/// What is known of a layer before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its digest.
    pub digest: String,
    /// What the digest is of.
    pub digested: Digested,
    /// How many packed bytes there are, where it is known.
    pub size: Option<u64>,
    /// Its media type; empty where none is known. The bytes tell how they are packed, as they do to runtimes.
    pub media_type: String,
}

/// How far the reading of a layer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Packed bytes that came.
    pub packed: u64,
    /// Unpacked bytes.
    pub unpacked: u64,
}

/// Is told of progress, and may end the reading.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The packed bytes on their way.
pub(super) struct Packed<'a, R> {
    source: R,
    watch: Watch<'a>,
    expected: &'a Descriptor,
    digest: Option<Digest>,
    progress: Progress,
    /// Why reading ended; decoders pass on an error without its meaning.
    failed: Option<LayerError>,
}

impl<'a, R: Read> Packed<'a, R> {
    pub(super) fn new(source: R, expected: &'a Descriptor, watch: Watch<'a>) -> Result<Self, LayerError> {
        let digest = Digest::of(&expected.digest)?;
        let digest = (expected.digested == Digested::Packed).then_some(digest);
        Ok(Self { source, watch, expected, digest, progress: Progress::default(), failed: None })
    }

    pub(super) fn read_so_far(&self) -> u64 {
        self.progress.packed
    }

    /// Tells how many bytes were unpacked.
    pub(super) fn unpacked(&mut self, bytes: u64) -> Result<(), LayerError> {
        self.progress.unpacked = bytes;
        self.tell()
    }

    /// Why a read failed, if it was not the decoder.
    pub(super) fn failure(&mut self) -> Option<LayerError> {
        self.failed.take()
    }

    fn tell(&mut self) -> Result<(), LayerError> {
        match (self.watch)(self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LayerError::Stopped),
        }
    }

    fn pass(&mut self, buffer: &mut [u8]) -> Result<usize, LayerError> {
        self.tell()?;
        let at = self.progress.packed;
        let count = loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.tell()?,
                Err(error) => return Err(LayerError::Source { at, cause: error.to_string() }),
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

    /// Reads what is left, then checks size and digest.
    pub(super) fn finish(mut self) -> Result<u64, LayerError> {
        let mut buffer = vec![0; PACKED_BUFFER];
        while self.pass(&mut buffer)? > 0 {}
        let found = self.progress.packed;
        if let Some(expected) = self.expected.size.filter(|size| *size != found) {
            return Err(LayerError::WrongSize { expected, found });
        }
        match self.digest.map(Digest::finish) {
            Some(digest) if digest != self.expected.digest => {
                Err(LayerError::WrongDigest { expected: self.expected.digest.clone(), found: digest })
            }
            _ => Ok(found),
        }
    }
}

impl<R: Read> Read for Packed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.pass(buffer).map_err(|error| {
            let told = io::Error::other(error.to_string());
            self.failed = Some(error);
            told
        })
    }
}
