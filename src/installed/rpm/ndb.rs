//! The headers in RPM's own format, that of SUSE: pages of slots, and blobs in blocks that the slots point to.

use crate::installed::rpm::Each;
use crate::installed::rpm::HEADER;

const MAGIC: &[u8] = b"RpmP";
const SLOT: &[u8] = b"Slot";
const BLOB: &[u8] = b"BlbS";
/// The pages of slots, the first of which begins with the head of the file.
const PAGE: usize = 4096;
const HEAD: usize = 32;
/// A slot, a block, and what stands before a blob are of one size.
const BLOCK: usize = 16;
/// Magic, number, generation and size stand before a blob; magic, sum and size behind it.
const TAIL: usize = 12;

/// The beginning of every header; none where the file is not sound.
pub(super) fn headers(bytes: &[u8], each: Each<'_>) -> Option<()> {
    // The version of the format.
    let known = bytes.starts_with(MAGIC) && number(bytes, 4)? == 0;
    let slots = bytes.get(HEAD..number(bytes, 12)?.checked_mul(PAGE)?).filter(|_| known)?;
    // No byte is part of a blob twice.
    let mut left = bytes.len();
    for slot in slots.chunks_exact(BLOCK) {
        let (package, first, blocks) = (number(slot, 4)?, number(slot, 8)?, number(slot, 12)?);
        if !slot.starts_with(SLOT) {
            return None;
        }
        if first == 0 {
            continue;
        }
        let blob = bytes.get(first.checked_mul(BLOCK)?..)?.get(..blocks.checked_mul(BLOCK)?)?;
        left = left.checked_sub(blob.len())?;
        let size = number(blob, 12)?;
        let header = blob.get(BLOCK..)?.get(..size)?;
        if !blob.starts_with(BLOB) || number(blob, 4)? != package || size.checked_add(BLOCK + TAIL)? > blob.len() {
            return None;
        }
        each(header.get(..HEADER).unwrap_or(header))?;
    }
    Some(())
}

/// A number of four bytes at a place, small end first.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}
