//! Memory that layers share: what is kept of an image, and what those that are being read may take at once.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::layer::seen::LayerSeen;

/// What is kept of one image, laid over each other: with this the process stays under 60 MB
/// (`tests/images/large_images.rs`).
const IMAGE: usize = 16 << 20;
/// What laying layers over each other takes for each entry: its path, its place and its number.
const LAID: usize = 250;

/// Held by the one layer that keeps much or reads a long text, so that memory does not add up.
static LARGE: Mutex<()> = Mutex::new(());

/// Waits until no other layer keeps much.
pub(super) fn large() -> MutexGuard<'static, ()> {
    // Nothing but a place in the queue is behind the lock: a panic elsewhere breaks nothing.
    LARGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The room for what is kept of the layers of one image.
#[derive(Debug, Default)]
pub struct Room {
    taken: AtomicUsize,
}

impl Room {
    /// Whether there is room for one more layer, which takes it.
    pub fn take(&self, layer: &LayerSeen) -> bool {
        let needed = layer.weight().saturating_add(layer.entries.len().saturating_mul(LAID));
        let fit = |taken: usize| taken.checked_add(needed).filter(|all| *all <= IMAGE);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fit).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_that_come_too_late_find_no_room_but_small_ones_do() {
        let of = |names: usize| LayerSeen { names: vec![0; names], ..LayerSeen::default() };
        let room = Room::default();
        assert!(room.take(&of(IMAGE / 8 / 2)));
        assert!(!room.take(&of(IMAGE / 8 / 2)), "the layers themselves take some room as well");
        assert!(room.take(&of(1_000)));
        assert!(!Room::default().take(&of(IMAGE / 8)));
    }
}
