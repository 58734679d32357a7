//! Memory budgets across layers: for the summaries of one image, and for layers that are read at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::layer::layer_summary::LayerSummary;

/// The memory for the merged summaries of one image, with which the process stays under 60 MB
/// (`tests/images/large_images.rs`).
const MAX_IMAGE_MEMORY: usize = 16 << 20;
/// The memory that merging layers needs for each entry: path, origin and hash.
const MERGED_ENTRY_OVERHEAD: usize = 250;

/// The lock of the one layer that uses much memory or reads a long text.
static LARGE_LAYER_LOCK: Mutex<()> = Mutex::new(());

/// Waits until no other layer uses much memory, and returns the lock.
pub(super) fn lock_large_layer() -> MutexGuard<'static, ()> {
    // Nothing but a place in the queue is behind the lock: a panic elsewhere breaks nothing.
    LARGE_LAYER_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The memory budget for the layer summaries of one image.
#[derive(Debug, Default)]
pub struct ImageMemoryBudget {
    reserved: AtomicUsize,
}

impl ImageMemoryBudget {
    /// Reserves memory for one more layer; false if it does not fit.
    pub fn try_reserve(&self, layer: &LayerSummary) -> bool {
        let needed = layer.memory_size().saturating_add(layer.entries.len().saturating_mul(MERGED_ENTRY_OVERHEAD));
        let fit = |reserved: usize| reserved.checked_add(needed).filter(|all| *all <= MAX_IMAGE_MEMORY);
        self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fit).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_budget_refuses_later_large_layers_only() {
        let of = |names: usize| LayerSummary { names: vec![0; names], ..LayerSummary::default() };
        let room = ImageMemoryBudget::default();
        assert!(room.try_reserve(&of(MAX_IMAGE_MEMORY / 8 / 2)));
        assert!(!room.try_reserve(&of(MAX_IMAGE_MEMORY / 8 / 2)), "the layers themselves take some room as well");
        assert!(room.try_reserve(&of(1_000)));
        assert!(!ImageMemoryBudget::default().try_reserve(&of(MAX_IMAGE_MEMORY / 8)));
    }
}
