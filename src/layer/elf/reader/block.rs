//! The bytes of the file that are searched, one block at a time.

use crate::layer::elf::bytes::to_file_offset;
use crate::layer::elf::strings::SearchRange;

/// The number of bytes that are searched at a time, small enough for the processor's first-level cache.
pub(super) const BLOCK_SIZE: usize = 16 * 1024;

/// The bytes that are searched, with the position of the search.
#[derive(Debug)]
pub(super) struct SearchBlock {
    pub(super) bytes: Vec<u8>,
    /// Offset of the first byte in the file.
    pub(super) base: u64,
    /// Bytes before it belong to a container.
    pub(super) floor: usize,
    /// Bytes before it were searched.
    pub(super) from: usize,
    /// How many bytes there must be for the next step.
    pub(super) want: usize,
}

impl Default for SearchBlock {
    fn default() -> Self {
        Self { bytes: Vec::new(), base: 0, floor: 0, from: 0, want: BLOCK_SIZE }
    }
}

impl SearchBlock {
    /// Appends the next bytes of the file.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(BLOCK_SIZE);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the range from the search position to `to`; matches may extend up to `end`.
    pub(super) fn search_range(&self, to: usize, end: usize) -> SearchRange<'_> {
        let bytes = self.bytes.get(self.floor..end).unwrap_or_default();
        let index = |at: usize| at.saturating_sub(self.floor);
        SearchRange { base: self.file_offset(self.floor), bytes, from: index(self.from), to: index(to) }
    }

    /// Returns the file offset of a byte in the block.
    pub(super) fn file_offset(&self, index: usize) -> u64 {
        self.base.saturating_add(to_file_offset(index))
    }

    /// Continues the search at a file offset; earlier bytes are not read again.
    pub(super) fn skip_to(&mut self, to: u64) {
        match usize::try_from(to.saturating_sub(self.base)) {
            Ok(index) if index <= self.bytes.len() => (self.floor, self.from) = (index, index),
            _ => {
                self.bytes.clear();
                (self.base, self.floor, self.from) = (to, 0, 0);
            }
        }
    }

    /// Discards searched bytes except the last `behind`, and sets the number of bytes needed for the next step.
    pub(super) fn discard_searched(&mut self, behind: usize, want: usize) {
        let discarded = self.from.saturating_sub(behind).max(self.floor);
        self.bytes.drain(..discarded);
        self.base = self.base.saturating_add(to_file_offset(discarded));
        self.floor = self.floor.saturating_sub(discarded);
        self.from = self.from.saturating_sub(discarded);
        self.want = want.min(BLOCK_SIZE);
    }
}
