//! Computes the digest of a stream of bytes, on a separate thread for large layers.

use std::num::NonZero;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;
use std::thread::JoinHandle;

use sha2::{Digest as _, Sha256, Sha512};

use crate::layer::error::LayerError;

/// The number of bytes that are hashed at a time, small enough for the processor's cache.
const CHUNK_SIZE: usize = 128 * 1024;
/// The number of chunks in the queue to the hashing thread; with the two in use, half a megabyte for each layer.
const QUEUE_LENGTH: usize = 2;
/// The stack size of the hashing thread, which makes no deep calls.
const THREAD_STACK_SIZE: usize = 256 * 1024;

/// The state of a running SHA-256 or SHA-512 computation.
#[derive(Clone)]
enum HashState {
    Sha256(Sha256),
    Sha512(Sha512),
}

/// The thread that computes a digest.
enum DigestWorker {
    /// The thread that supplies the bytes.
    Inline(HashState),
    /// A separate thread, so that decompression does not wait for it.
    Thread { pieces: SyncSender<Vec<u8>>, used: Receiver<Vec<u8>>, thread: JoinHandle<HashState> },
    /// No thread, because the hashing thread ended unexpectedly.
    Failed,
}

/// A digest of bytes that arrive in pieces.
pub(super) struct StreamDigest {
    place: DigestWorker,
    /// Bytes that are not passed on yet.
    piece: Vec<u8>,
}

impl StreamDigest {
    /// Starts a digest with the algorithm of an expected digest such as `sha256:…`.
    pub(super) fn for_expected(expected: &str) -> Result<Self, LayerError> {
        let sound = |hex: &str, len| hex.len() == len && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let state = match expected.split_once(':') {
            Some(("sha256", hex)) if sound(hex, 64) => HashState::Sha256(Sha256::new()),
            Some(("sha512", hex)) if sound(hex, 128) => HashState::Sha512(Sha512::new()),
            _ => return Err(LayerError::UnknownDigest { digest: expected.chars().take(150).collect() }),
        };
        Ok(Self { place: DigestWorker::Inline(state), piece: Vec::new() })
    }

    /// Adds bytes to the digest.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_SIZE - self.piece.len()));
            self.piece.extend_from_slice(now);
            if self.piece.len() == CHUNK_SIZE {
                self.flush_chunk();
            }
            rest = later;
        }
    }

    /// Hashes the current chunk. From the first full chunk on, a separate thread does it, because the layer is not
    /// small.
    fn flush_chunk(&mut self) {
        if let DigestWorker::Inline(state) = &self.place {
            self.place = spawn_digest_thread(state);
        }
        match &mut self.place {
            DigestWorker::Inline(state) => state.update(&self.piece),
            DigestWorker::Thread { pieces, used, .. } => {
                let next = used.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_SIZE));
                if pieces.send(std::mem::replace(&mut self.piece, next)).is_err() {
                    self.place = DigestWorker::Failed;
                }
            }
            DigestWorker::Failed => {}
        }
        self.piece.clear();
    }

    /// Returns the digest as written in manifests; empty if the hashing thread failed.
    pub(super) fn finish(self) -> String {
        let state = match self.place {
            DigestWorker::Inline(state) => Some(state),
            DigestWorker::Thread { pieces, thread, .. } => {
                drop(pieces);
                thread.join().ok()
            }
            DigestWorker::Failed => None,
        };
        state.map_or_else(String::new, |mut state| {
            state.update(&self.piece);
            state.finish()
        })
    }
}

/// Starts a thread that continues from a state; stays inline if no thread can be started or there is only one
/// processor.
fn spawn_digest_thread(state: &HashState) -> DigestWorker {
    let here = || DigestWorker::Inline(state.clone());
    if thread::available_parallelism().map_or(1, NonZero::get) == 1 {
        return here();
    }
    let (pieces, waiting) = mpsc::sync_channel::<Vec<u8>>(QUEUE_LENGTH);
    let (back, used) = mpsc::channel();
    let mut own = state.clone();
    let work = move || {
        for mut piece in waiting {
            own.update(&piece);
            piece.clear();
            // Sending fails once the layer is done.
            let _ = back.send(piece);
        }
        own
    };
    let started = thread::Builder::new().name("digest".to_owned()).stack_size(THREAD_STACK_SIZE).spawn(work);
    started.map_or_else(|_| here(), |thread| DigestWorker::Thread { pieces, used, thread })
}

impl HashState {
    /// Hashes more bytes.
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha512(state) => state.update(bytes),
        }
    }

    /// Returns the digest with its algorithm prefix, such as `sha256:…`.
    fn finish(self) -> String {
        match self {
            Self::Sha256(state) => format!("sha256:{}", encode_hex(&state.finalize())),
            Self::Sha512(state) => format!("sha512:{}", encode_hex(&state.finalize())),
        }
    }
}

/// Returns bytes as lower-case hexadecimal digits.
fn encode_hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_independent_of_chunk_sizes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5 * CHUNK_SIZE + 77).collect();
        let zeros = format!("sha256:{}", "0".repeat(64));
        for length in [0, 1, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 2 * CHUNK_SIZE, bytes.len()] {
            let whole = &bytes[..length];
            let expected = format!("sha256:{}", encode_hex(&Sha256::digest(whole)));
            for step in [1_000, CHUNK_SIZE, usize::MAX] {
                let mut digest = StreamDigest::for_expected(&zeros).expect("sha256");
                whole.chunks(step).for_each(|piece| digest.update(piece));
                assert_eq!(digest.finish(), expected, "{length} bytes by {step}");
            }
        }
    }

    #[test]
    fn digests_match_other_tools_and_unknown_algorithms_are_refused() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(StreamDigest::for_expected(empty).expect("sha256").finish(), empty);
        let long = format!("sha512:{}", "0".repeat(128));
        let mut digest = StreamDigest::for_expected(&long).expect("sha512");
        digest.update(b"abc");
        assert!(digest.finish().starts_with("sha512:ddaf35a193617abacc417349ae204131"));
        for odd in ["", "sha256", "sha256:00", "md5:d41d8cd98f00b204e9800998ecf8427e", &empty.to_uppercase()] {
            assert!(matches!(StreamDigest::for_expected(odd), Err(LayerError::UnknownDigest { .. })), "{odd}");
        }
    }
}
