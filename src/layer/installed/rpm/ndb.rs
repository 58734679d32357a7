//! Reads RPM's own database format, as used by SUSE: pages of slots that point to blobs.

use crate::layer::installed::rpm::{HeaderCallback, MAX_HEADER_BYTES};

/// The magic bytes at the start of the file.
const FILE_MAGIC: &[u8] = b"RpmP";
/// The magic bytes of a slot.
const SLOT_MAGIC: &[u8] = b"Slot";
/// The magic bytes of the header of a blob.
const BLOB_MAGIC: &[u8] = b"BlbS";
/// The size of a page of slots; the first page starts with the file header.
const SLOT_PAGE_SIZE: usize = 4096;
/// The size of the file header, in bytes.
const FILE_HEADER_SIZE: usize = 32;
/// The size of a slot, of a block and of a blob header.
const BLOCK_SIZE: usize = 16;
/// The size of the data after a blob: magic, checksum and size. Its header has magic, number, generation and size.
const BLOB_TAIL_SIZE: usize = 12;

/// Visits the start of every package header; `None` if the file is invalid.
pub(super) fn visit_headers(bytes: &[u8], each: HeaderCallback<'_>) -> Option<()> {
    // The version of the format.
    let known = bytes.starts_with(FILE_MAGIC) && read_le_u32(bytes, 4)? == 0;
    let slots = bytes.get(FILE_HEADER_SIZE..read_le_u32(bytes, 12)?.checked_mul(SLOT_PAGE_SIZE)?).filter(|_| known)?;
    // No byte is part of a blob twice.
    let mut left = bytes.len();
    for slot in slots.chunks_exact(BLOCK_SIZE) {
        let (package, first, blocks) = (read_le_u32(slot, 4)?, read_le_u32(slot, 8)?, read_le_u32(slot, 12)?);
        if !slot.starts_with(SLOT_MAGIC) {
            return None;
        }
        if first == 0 {
            continue;
        }
        let blob = bytes.get(first.checked_mul(BLOCK_SIZE)?..)?.get(..blocks.checked_mul(BLOCK_SIZE)?)?;
        left = left.checked_sub(blob.len())?;
        let size = read_le_u32(blob, 12)?;
        let header = blob.get(BLOCK_SIZE..)?.get(..size)?;
        if !blob.starts_with(BLOB_MAGIC)
            || read_le_u32(blob, 4)? != package
            || size.checked_add(BLOCK_SIZE + BLOB_TAIL_SIZE)? > blob.len()
        {
            return None;
        }
        each(header.get(..MAX_HEADER_BYTES).unwrap_or(header))?;
    }
    Some(())
}

/// Reads a little-endian 32-bit number at an offset.
fn read_le_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(four)).ok()
}
