//! Ranges of the file that are requested in advance and copied as the stream passes them.

use crate::layer::elf::bytes::to_file_offset;

/// The purpose of a requested range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangePurpose {
    /// The ELF header.
    Header,
    /// The program headers.
    Programs,
    /// The dynamic section.
    Dynamic,
    /// A string that the dynamic section names.
    Name,
    /// The section table.
    Sections,
}

/// A requested range, with the bytes that have arrived so far.
#[derive(Debug)]
pub(super) struct RequestedRange {
    pub(super) role: RangePurpose,
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
    end: u64,
}

impl RequestedRange {
    /// Returns the file offset of the next byte that is needed.
    fn next_offset(&self) -> u64 {
        self.at.saturating_add(to_file_offset(self.bytes.len()))
    }

    /// Whether all bytes of the range have arrived.
    fn is_complete(&self) -> bool {
        self.next_offset() >= self.end
    }
}

/// The requested ranges of a file.
#[derive(Debug, Default)]
pub(super) struct RequestedRanges {
    open: Vec<RequestedRange>,
    whole: Vec<RequestedRange>,
}

impl RequestedRanges {
    /// Requests `length` bytes at an offset that the stream has not passed.
    pub(super) fn request(&mut self, role: RangePurpose, at: u64, length: usize) {
        let bytes = Vec::with_capacity(length);
        let window = RequestedRange { role, at, end: at.saturating_add(to_file_offset(length)), bytes };
        if window.is_complete() { self.whole.push(window) } else { self.open.push(window) }
    }

    /// Returns the next offset after `position` at which a range may become complete.
    pub(super) fn next_end(&self, position: u64) -> u64 {
        self.open.iter().map(|window| window.end).filter(|end| *end > position).min().unwrap_or(u64::MAX)
    }

    /// Copies the requested bytes from the next bytes of the stream.
    pub(super) fn feed(&mut self, position: u64, bytes: &[u8]) {
        let end = position.saturating_add(to_file_offset(bytes.len()));
        let mut filled = false;
        for window in &mut self.open {
            let (from, to) = (window.next_offset(), window.end.min(end));
            if from < position || from >= to {
                continue;
            }
            let index = |at: u64| usize::try_from(at - position).ok();
            let part = index(from).zip(index(to)).and_then(|(from, to)| bytes.get(from..to));
            window.bytes.extend_from_slice(part.unwrap_or_default());
            filled |= window.is_complete();
        }
        if filled {
            self.whole.extend(self.open.extract_if(.., |window| window.is_complete()));
        }
    }

    /// Removes and returns a complete range.
    pub(super) fn take_complete(&mut self) -> Option<RequestedRange> {
        self.whole.pop()
    }

    /// Returns the bytes that have arrived of an incomplete range.
    pub(super) fn incomplete_bytes(&self, role: RangePurpose) -> &[u8] {
        self.open.iter().find(|window| window.role == role).map_or(&[], |window| &window.bytes)
    }

    /// Returns the heap memory in use, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let all = self.open.iter().chain(&self.whole).map(|window| window.bytes.capacity()).sum::<usize>();
        all + (self.open.capacity() + self.whole.capacity()) * size_of::<RequestedRange>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_contents(windows: &mut RequestedRanges) -> Option<(u64, Vec<u8>)> {
        windows.take_complete().map(|window| (window.at, window.bytes))
    }

    #[test]
    fn a_range_is_copied_from_pieces_of_any_size() {
        for piece in 1..8 {
            let mut windows = RequestedRanges::default();
            windows.request(RangePurpose::Name, 3, 4);
            for (index, bytes) in b"0123456789".chunks(piece).enumerate() {
                windows.feed(to_file_offset(index * piece), bytes);
            }
            assert_eq!(take_contents(&mut windows), Some((3, b"3456".to_vec())));
            assert_eq!(take_contents(&mut windows), None);
        }
    }

    #[test]
    fn a_passed_or_missing_range_is_not_complete() {
        let mut windows = RequestedRanges::default();
        windows.request(RangePurpose::Name, 3, 4);
        windows.request(RangePurpose::Name, 20, 4);
        windows.feed(5, b"56789");
        windows.feed(18, b"0123");
        assert_eq!(take_contents(&mut windows), None);
        assert_eq!(windows.next_end(22), 24);
        assert_eq!(windows.next_end(24), u64::MAX);
    }
}
