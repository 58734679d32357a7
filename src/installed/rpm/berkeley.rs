//! The values of a hash of Berkeley's database, which RPM used up to 4.15.

use crate::installed::rpm::Each;
use crate::installed::rpm::HEADER;

const MAGIC: u32 = 0x0006_1561;
/// Pages of a hash, of the time before they were sorted and after.
const HASH: [u8; 2] = [2, 13];
const OVERFLOW: u8 = 7;
/// A value that stands in its page, or elsewhere.
const HERE: u8 = 1;
const ELSEWHERE: u8 = 3;
/// What stands before the content of every page.
const HEAD: usize = 26;

/// The beginning of every header; none where the file is not sound.
pub(super) fn headers(bytes: &[u8], each: Each<'_>) -> Option<()> {
    let swapped = |read: &dyn Fn([u8; 4]) -> u32| Some(read(bytes.get(12..16)?.try_into().ok()?) == MAGIC);
    let little = swapped(&u32::from_le_bytes)?;
    if !little && !swapped(&u32::from_be_bytes)? {
        return None;
    }
    let mut file = File { bytes, page: 512, little };
    let page = file.long(bytes, 20)?;
    file.page = (page.is_power_of_two() && (512..=1 << 16).contains(&page)).then_some(page)?;
    let last = file.long(bytes, 32)?;
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
        if page.get(25).is_some_and(|kind| HASH.contains(kind)) {
            file.values(page, &mut counted)?;
        }
    }
    Some(())
}

struct File<'a> {
    bytes: &'a [u8],
    page: usize,
    little: bool,
}

impl File<'_> {
    /// Keys and values take turns; the value of key 0 is a number, no header.
    fn values(&self, page: &[u8], each: Each<'_>) -> Option<()> {
        let entries = self.short(page, 20)?;
        let place = |entry: usize| self.short(page, HEAD + 2 * entry);
        for entry in (1..entries).step_by(2) {
            let at = place(entry)?;
            let value = match *page.get(at)? {
                // Content grows from the end of the page to its front: a value ends where its key begins.
                HERE => page.get(at + 1..place(entry - 1)?)?.to_vec(),
                ELSEWHERE => self.chain(self.long(page, at + 4)?, self.long(page, at + 8)?)?,
                _ => return None,
            };
            if value.len() > 4 {
                each(&value)?;
            }
        }
        Some(())
    }

    /// The beginning of a value that has pages of its own.
    fn chain(&self, first: usize, len: usize) -> Option<Vec<u8>> {
        let wanted = len.min(HEADER);
        let mut value = Vec::new();
        let mut next = first;
        while value.len() < wanted {
            let from = next.checked_mul(self.page)?;
            let page = self.bytes.get(from..from.checked_add(self.page)?)?;
            let part = page.get(HEAD..HEAD.checked_add(self.short(page, 22)?)?)?;
            if part.is_empty() || page.get(25) != Some(&OVERFLOW) {
                return None;
            }
            value.extend_from_slice(part);
            next = self.long(page, 16)?;
        }
        Some(value)
    }

    fn long(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if self.little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }).ok()
    }

    fn short(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(usize::from(if self.little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }))
    }
}
