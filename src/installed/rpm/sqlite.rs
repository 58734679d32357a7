//! The rows of the table `Packages` in a file of `SQLite`, from the documented format of the file.
//!
//! The table is walked from its root: pages that are free still hold packages that were removed.

use crate::installed::rpm::Each;
use crate::installed::rpm::HEADER;
use crate::installed::rpm::big;

const MAGIC: &[u8] = b"SQLite format 3\0";
const TABLE: &[u8] = b"Packages";
const LEAF: u8 = 13;
const INNER: u8 = 5;
/// Where the first page begins to be like the others.
const FIRST: usize = 100;

/// The beginning of every header; none where the file is not sound.
pub(super) fn headers(bytes: &[u8], each: Each<'_>) -> Option<()> {
    let file = File::open(bytes)?;
    let mut root = None;
    file.rows(1, &mut |row| {
        let columns = columns(row)?;
        if let [kind, _, name, page, ..] = columns.as_slice()
            && *kind == b"table"
            && *name == TABLE
        {
            root = number(page);
        }
        Some(())
    })?;
    file.rows(root?, &mut |row| each(columns(row)?.get(1)?))
}

struct File<'a> {
    bytes: &'a [u8],
    page: usize,
    /// What of a page can be used.
    usable: usize,
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let page = match rest.get(..2)? {
            [0, 1] => 1 << 16,
            [high, low] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return None,
        };
        let usable = page.checked_sub(usize::from(*bytes.get(20)?))?;
        (page.is_power_of_two() && usable >= 480).then_some(Self { bytes, page, usable })
    }

    fn page(&self, number: usize) -> Option<&'a [u8]> {
        let from = number.checked_sub(1)?.checked_mul(self.page)?;
        self.bytes.get(from..from.checked_add(self.page)?)
    }

    /// The beginning of every row of a table.
    fn rows(&self, root: usize, each: Each<'_>) -> Option<()> {
        let mut row = Vec::new();
        let mut waiting = vec![root];
        // No page is part of a table twice.
        let mut left = self.bytes.len() / self.page + 1;
        // No byte is part of a row twice.
        let mut bytes = self.bytes.len();
        while let Some(number) = waiting.pop() {
            left = left.checked_sub(1)?;
            let page = self.page(number)?;
            let head = if number == 1 { FIRST } else { 0 };
            let kind = *page.get(head)?;
            let cells = short(page, head + 3)?;
            let list = head + if kind == INNER { 12 } else { 8 };
            for cell in 0..cells {
                let at = short(page, list + 2 * cell)?;
                match kind {
                    // More than that would be pages that lead to each other.
                    INNER if waiting.len() < left => waiting.push(big(page, at)?),
                    LEAF => {
                        self.row(page, at, &mut row)?;
                        bytes = bytes.checked_sub(row.len())?;
                        each(&row)?;
                    }
                    _ => return None,
                }
            }
            match kind {
                INNER => waiting.push(big(page, head + 8)?),
                LEAF => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// The beginning of one row: what of it is in its page, and as much of the rest as is asked for.
    fn row(&self, page: &[u8], at: usize, row: &mut Vec<u8>) -> Option<()> {
        let (len, at) = varint(page, at)?;
        let (_, at) = varint(page, at)?;
        let most = self.usable - 35;
        let local = if len <= most {
            len
        } else {
            let least = (self.usable - 12) * 32 / 255 - 23;
            let fitting = least + (len - least) % (self.usable - 4);
            if fitting <= most { fitting } else { least }
        };
        row.clear();
        row.extend_from_slice(page.get(at..at.checked_add(local)?)?);
        let wanted = len.min(HEADER);
        let mut next = if local < len { big(page, at + local)? } else { 0 };
        while row.len() < wanted {
            let more = self.page(next)?;
            let part = more.get(4..self.usable)?;
            row.extend_from_slice(part.get(..part.len().min(len - row.len()))?);
            next = big(more, 0)?;
        }
        Some(())
    }
}

/// The columns of a row, the last one as far as it was read.
fn columns(row: &[u8]) -> Option<Vec<&[u8]>> {
    let (head, mut at) = varint(row, 0)?;
    let mut value = head;
    let mut columns = Vec::new();
    while at < head {
        let (kind, behind) = varint(row, at)?;
        at = behind;
        let len = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => (kind - 12) / 2,
        };
        let end = value.checked_add(len)?.min(row.len());
        columns.push(row.get(value..end)?);
        value = end;
    }
    Some(columns)
}

/// A positive number of up to four bytes.
fn number(bytes: &[u8]) -> Option<usize> {
    (bytes.len() <= 4).then(|| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(usize::from(u16::from_be_bytes(two)))
}

/// A number of one to nine bytes, and where the next one begins; none where no memory is as large.
fn varint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut sum = 0_usize;
    for (count, byte) in bytes.get(at..)?.iter().take(8).enumerate() {
        sum = sum << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return (sum <= 1 << 40).then_some((sum, at + count + 1));
        }
    }
    None
}
