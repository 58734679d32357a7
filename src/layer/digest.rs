//! The digest of bytes that pass by.

use std::num::NonZero;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::thread::JoinHandle;

use sha2::Digest as _;
use sha2::Sha256;
use sha2::Sha512;

use crate::layer::error::LayerError;

/// Bytes that a digest takes at a time where it has a thread of its own: few enough to stay in the processor's cache.
const PIECE: usize = 128 * 1024;
/// Pieces on their way there: with one being filled and one being digested, half a megabyte for each layer.
const WAITING: usize = 2;
/// Room for that thread, which calls nothing deep.
const STACK: usize = 256 * 1024;

/// A digest being computed, of the algorithm that the expected one names.
#[derive(Clone)]
enum State {
    Sha256(Sha256),
    Sha512(Sha512),
}

/// Where it is computed.
enum Place {
    /// By whoever brings the bytes.
    Here(State),
    /// By a thread of its own, so that unpacking need not wait for it.
    Aside { pieces: SyncSender<Vec<u8>>, used: Receiver<Vec<u8>>, thread: JoinHandle<State> },
    /// Nowhere: the thread is gone, which no digest of its own makes happen.
    Lost,
}

/// A digest of bytes that come piece by piece.
pub(super) struct Digest {
    place: Place,
    /// Bytes that are not passed on yet.
    piece: Vec<u8>,
}

impl Digest {
    /// For an expected digest such as `sha256:…`.
    pub(super) fn of(expected: &str) -> Result<Self, LayerError> {
        let sound = |hex: &str, len| hex.len() == len && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let state = match expected.split_once(':') {
            Some(("sha256", hex)) if sound(hex, 64) => State::Sha256(Sha256::new()),
            Some(("sha512", hex)) if sound(hex, 128) => State::Sha512(Sha512::new()),
            _ => return Err(LayerError::UnknownDigest { digest: expected.chars().take(150).collect() }),
        };
        Ok(Self { place: Place::Here(state), piece: Vec::new() })
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(PIECE - self.piece.len()));
            self.piece.extend_from_slice(now);
            if self.piece.len() == PIECE {
                self.pass();
            }
            rest = later;
        }
    }

    /// Passes the piece on. The first whole one shows that the layer is not small: a thread is worth it.
    fn pass(&mut self) {
        if let Place::Here(state) = &self.place {
            self.place = aside(state);
        }
        match &mut self.place {
            Place::Here(state) => state.update(&self.piece),
            Place::Aside { pieces, used, .. } => {
                let next = used.try_recv().unwrap_or_else(|_| Vec::with_capacity(PIECE));
                if pieces.send(std::mem::replace(&mut self.piece, next)).is_err() {
                    self.place = Place::Lost;
                }
            }
            Place::Lost => {}
        }
        self.piece.clear();
    }

    /// The digest as manifests write it; empty where there is none.
    pub(super) fn finish(self) -> String {
        let state = match self.place {
            Place::Here(state) => Some(state),
            Place::Aside { pieces, thread, .. } => {
                drop(pieces);
                thread.join().ok()
            }
            Place::Lost => None,
        };
        state.map_or_else(String::new, |mut state| {
            state.update(&self.piece);
            state.told()
        })
    }
}

/// A thread that goes on from a state; the state as it is where there can be none, or no processor is free for it.
fn aside(state: &State) -> Place {
    let here = || Place::Here(state.clone());
    if thread::available_parallelism().map_or(1, NonZero::get) == 1 {
        return here();
    }
    let (pieces, waiting) = mpsc::sync_channel::<Vec<u8>>(WAITING);
    let (back, used) = mpsc::channel();
    let mut own = state.clone();
    let work = move || {
        for mut piece in waiting {
            own.update(&piece);
            piece.clear();
            // Nobody takes it back where the layer is done.
            let _ = back.send(piece);
        }
        own
    };
    let started = thread::Builder::new().name("digest".to_owned()).stack_size(STACK).spawn(work);
    started.map_or_else(|_| here(), |thread| Place::Aside { pieces, used, thread })
}

impl State {
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha512(state) => state.update(bytes),
        }
    }

    fn told(self) -> String {
        match self {
            Self::Sha256(state) => format!("sha256:{}", hex(&state.finalize())),
            Self::Sha512(state) => format!("sha512:{}", hex(&state.finalize())),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_come_to_the_digest_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(5 * PIECE + 77).collect();
        let zeros = format!("sha256:{}", "0".repeat(64));
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, bytes.len()] {
            let whole = &bytes[..length];
            let expected = format!("sha256:{}", hex(&Sha256::digest(whole)));
            for step in [1_000, PIECE, usize::MAX] {
                let mut digest = Digest::of(&zeros).expect("sha256");
                whole.chunks(step).for_each(|piece| digest.update(piece));
                assert_eq!(digest.finish(), expected, "{length} bytes by {step}");
            }
        }
    }

    #[test]
    fn digests_are_those_of_other_tools_and_strange_ones_are_refused() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(empty).expect("sha256").finish(), empty);
        let long = format!("sha512:{}", "0".repeat(128));
        let mut digest = Digest::of(&long).expect("sha512");
        digest.update(b"abc");
        assert!(digest.finish().starts_with("sha512:ddaf35a193617abacc417349ae204131"));
        for odd in ["", "sha256", "sha256:00", "md5:d41d8cd98f00b204e9800998ecf8427e", &empty.to_uppercase()] {
            assert!(matches!(Digest::of(odd), Err(LayerError::UnknownDigest { .. })), "{odd}");
        }
    }
}
