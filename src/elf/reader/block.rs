//! The bytes that are searched, a block at a time.

use crate::elf::bytes::offset;
use crate::elf::strings::Piece;

/// Bytes that are searched at a time: they stay in the processor's first cache.
pub(super) const BLOCK: usize = 16 * 1024;

/// The bytes that are searched, and up to where that is done.
#[derive(Debug)]
pub(super) struct Block {
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

impl Default for Block {
    fn default() -> Self {
        Self { bytes: Vec::new(), base: 0, floor: 0, from: 0, want: BLOCK }
    }
}

impl Block {
    /// Takes bytes that follow the last.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(BLOCK);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The stretch from where the search stands to `to`, of which bytes before `end` may be looked at.
    pub(super) fn piece(&self, to: usize, end: usize) -> Piece<'_> {
        let bytes = self.bytes.get(self.floor..end).unwrap_or_default();
        let index = |at: usize| at.saturating_sub(self.floor);
        Piece { base: self.at(self.floor), bytes, from: index(self.from), to: index(to) }
    }

    /// The offset in the file of a byte of the block.
    pub(super) fn at(&self, index: usize) -> u64 {
        self.base.saturating_add(offset(index))
    }

    /// Goes on at an offset, before which nothing is looked at again.
    pub(super) fn jump(&mut self, to: u64) {
        match usize::try_from(to.saturating_sub(self.base)) {
            Ok(index) if index <= self.bytes.len() => (self.floor, self.from) = (index, index),
            _ => {
                self.bytes.clear();
                (self.base, self.floor, self.from) = (to, 0, 0);
            }
        }
    }

    /// Lets go of what is not looked at again, and asks for so many bytes in all.
    pub(super) fn ask(&mut self, behind: usize, want: usize) {
        let gone = self.from.saturating_sub(behind).max(self.floor);
        self.bytes.drain(..gone);
        self.base = self.base.saturating_add(offset(gone));
        self.floor = self.floor.saturating_sub(gone);
        self.from = self.from.saturating_sub(gone);
        self.want = want.min(BLOCK);
    }
}
