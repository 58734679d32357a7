//! Reads the values of a Berkeley DB hash file, which RPM used up to 4.15.

use crate::layer::installed::rpm::{HeaderCallback, MAX_HEADER_BYTES};

const MAGIC: u32 = 0x0006_1561;
/// The types of hash pages: unsorted in old files, sorted in newer ones.
const HASH_PAGE_TYPES: [u8; 2] = [2, 13];
const OVERFLOW_PAGE_TYPE: u8 = 7;
/// The type of a value that is stored in its page; the other type refers to overflow pages.
const INLINE_ITEM: u8 = 1;
const OVERFLOW_ITEM: u8 = 3;
/// The size of the header of every page.
const PAGE_HEADER_SIZE: usize = 26;

/// Visits the start of every package header; `None` if the file is invalid.
pub(super) fn visit_headers(bytes: &[u8], each: HeaderCallback<'_>) -> Option<()> {
    let swapped = |read: &dyn Fn([u8; 4]) -> u32| Some(read(bytes.get(12..16)?.try_into().ok()?) == MAGIC);
    let little = swapped(&u32::from_le_bytes)?;
    if !little && !swapped(&u32::from_be_bytes)? {
        return None;
    }
    let mut file = BerkeleyFile { bytes, page: 512, little };
    let page = file.read_u32(bytes, 20)?;
    file.page = (page.is_power_of_two() && (512..=1 << 16).contains(&page)).then_some(page)?;
    let last = file.read_u32(bytes, 32)?;
    if bytes.len() / file.page <= last {
        return None;
    }
    // No byte is part of a header twice.
    let mut left = bytes.len();
    let mut counted = |header: &[u8]| {
        left = left.checked_sub(header.len())?;
        each(header)
    };
    // The first page describes the file.
    for page in bytes.chunks_exact(file.page).skip(1) {
        if page.get(25).is_some_and(|kind| HASH_PAGE_TYPES.contains(kind)) {
            file.visit_values(page, &mut counted)?;
        }
    }
    Some(())
}

/// A Berkeley DB file with its page size and byte order.
struct BerkeleyFile<'a> {
    bytes: &'a [u8],
    page: usize,
    little: bool,
}

impl BerkeleyFile<'_> {
    /// Visits the values in a page, in which keys and values alternate. The value of key 0 is a number and not a
    /// header.
    fn visit_values(&self, page: &[u8], each: HeaderCallback<'_>) -> Option<()> {
        let entries = self.read_u16(page, 20)?;
        let place = |entry: usize| self.read_u16(page, PAGE_HEADER_SIZE + 2 * entry);
        for entry in (1..entries).step_by(2) {
            let at = place(entry)?;
            let value = match *page.get(at)? {
                // Content grows from the end of the page to its front: a value ends where its key begins.
                INLINE_ITEM => page.get(at + 1..place(entry - 1)?)?.to_vec(),
                OVERFLOW_ITEM => {
                    self.read_overflow_chain(self.read_u32(page, at + 4)?, self.read_u32(page, at + 8)?)?
                }
                _ => return None,
            };
            if value.len() > 4 {
                each(&value)?;
            }
        }
        Some(())
    }

    /// Returns the start of a value that is stored in overflow pages.
    fn read_overflow_chain(&self, first: usize, len: usize) -> Option<Vec<u8>> {
        let target_len = len.min(MAX_HEADER_BYTES);
        let mut value = Vec::new();
        let mut next = first;
        while value.len() < target_len {
            let from = next.checked_mul(self.page)?;
            let page = self.bytes.get(from..from.checked_add(self.page)?)?;
            let part = page.get(PAGE_HEADER_SIZE..PAGE_HEADER_SIZE.checked_add(self.read_u16(page, 22)?)?)?;
            if part.is_empty() || page.get(25) != Some(&OVERFLOW_PAGE_TYPE) {
                return None;
            }
            value.extend_from_slice(part);
            next = self.read_u32(page, 16)?;
        }
        Some(value)
    }

    /// Reads a 32-bit number in the byte order of the file.
    fn read_u32(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if self.little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }).ok()
    }

    /// Reads a 16-bit number in the byte order of the file.
    fn read_u16(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(usize::from(if self.little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }))
    }
}
