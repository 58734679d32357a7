//! Reads the rows of the table `Packages` from a `SQLite` file, following its documented file format.
//!
//! The table is walked from its root: pages that are free still hold packages that were removed.

use crate::layer::installed::rpm::{HeaderCallback, MAX_HEADER_BYTES, read_be_u32};

const FILE_MAGIC: &[u8] = b"SQLite format 3\0";
const PACKAGES_TABLE: &[u8] = b"Packages";
const LEAF_PAGE: u8 = 13;
const INTERIOR_PAGE: u8 = 5;
/// The size of the file header, after which the first page has the same layout as the others.
const FILE_HEADER_SIZE: usize = 100;

/// Visits the start of every package header; `None` if the file is invalid.
pub(super) fn visit_headers(bytes: &[u8], each: HeaderCallback<'_>) -> Option<()> {
    let file = SqliteFile::parse(bytes)?;
    let mut root = None;
    file.visit_rows(1, &mut |row| {
        let columns = parse_columns(row)?;
        if let [kind, _, name, page, ..] = columns.as_slice()
            && *kind == b"table"
            && *name == PACKAGES_TABLE
        {
            root = parse_integer(page);
        }
        Some(())
    })?;
    file.visit_rows(root?, &mut |row| each(parse_columns(row)?.get(1)?))
}

/// A `SQLite` file with its page size.
struct SqliteFile<'a> {
    bytes: &'a [u8],
    page: usize,
    /// What of a page can be used.
    usable: usize,
}

impl<'a> SqliteFile<'a> {
    /// Parses the file header; `None` if it is invalid.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(FILE_MAGIC)?;
        let page = match rest.get(..2)? {
            [0, 1] => 1 << 16,
            [high, low] => usize::from(u16::from_be_bytes([*high, *low])),
            _ => return None,
        };
        let usable = page.checked_sub(usize::from(*bytes.get(20)?))?;
        (page.is_power_of_two() && usable >= 480).then_some(Self { bytes, page, usable })
    }

    /// Returns the page with a number, counted from 1.
    fn page(&self, number: usize) -> Option<&'a [u8]> {
        let from = number.checked_sub(1)?.checked_mul(self.page)?;
        self.bytes.get(from..from.checked_add(self.page)?)
    }

    /// Visits the start of every row of a table.
    fn visit_rows(&self, root: usize, each: HeaderCallback<'_>) -> Option<()> {
        let mut row = Vec::new();
        let mut waiting = vec![root];
        // No page is part of a table twice.
        let mut left = self.bytes.len() / self.page + 1;
        // No byte is part of a row twice.
        let mut bytes = self.bytes.len();
        while let Some(number) = waiting.pop() {
            left = left.checked_sub(1)?;
            let page = self.page(number)?;
            let head = if number == 1 { FILE_HEADER_SIZE } else { 0 };
            let kind = *page.get(head)?;
            let cells = read_u16(page, head + 3)?;
            let list = head + if kind == INTERIOR_PAGE { 12 } else { 8 };
            for cell in 0..cells {
                let at = read_u16(page, list + 2 * cell)?;
                match kind {
                    // More than that would be pages that lead to each other.
                    INTERIOR_PAGE if waiting.len() < left => waiting.push(read_be_u32(page, at)?),
                    LEAF_PAGE => {
                        self.read_row(page, at, &mut row)?;
                        bytes = bytes.checked_sub(row.len())?;
                        each(&row)?;
                    }
                    _ => return None,
                }
            }
            match kind {
                INTERIOR_PAGE => waiting.push(read_be_u32(page, head + 8)?),
                LEAF_PAGE => {}
                _ => return None,
            }
        }
        Some(())
    }

    /// Reads the start of one row: its part in the page, and overflow pages up to the header limit.
    fn read_row(&self, page: &[u8], at: usize, row: &mut Vec<u8>) -> Option<()> {
        let (len, at) = read_varint(page, at)?;
        let (_, at) = read_varint(page, at)?;
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
        let target_len = len.min(MAX_HEADER_BYTES);
        let mut next = if local < len { read_be_u32(page, at + local)? } else { 0 };
        while row.len() < target_len {
            let more = self.page(next)?;
            let part = more.get(4..self.usable)?;
            row.extend_from_slice(part.get(..part.len().min(len - row.len()))?);
            next = read_be_u32(more, 0)?;
        }
        Some(())
    }
}

/// Returns the columns of a row; the last one may be truncated.
fn parse_columns(row: &[u8]) -> Option<Vec<&[u8]>> {
    let (head, mut at) = read_varint(row, 0)?;
    let mut value = head;
    let mut columns = Vec::new();
    while at < head {
        let (kind, behind) = read_varint(row, at)?;
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

/// Parses a positive number of up to four bytes.
fn parse_integer(bytes: &[u8]) -> Option<usize> {
    (bytes.len() <= 4).then(|| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// Reads a big-endian 16-bit number.
fn read_u16(bytes: &[u8], at: usize) -> Option<usize> {
    let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
    Some(usize::from(u16::from_be_bytes(two)))
}

/// Reads a variable-length number and returns it with the offset after it; `None` if it is too large.
fn read_varint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut sum = 0_usize;
    for (count, byte) in bytes.get(at..)?.iter().take(8).enumerate() {
        sum = sum << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return (sum <= 1 << 40).then_some((sum, at + count + 1));
        }
    }
    None
}
