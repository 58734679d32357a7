//! Ranges of the file that are wanted, kept as the stream passes them.

use crate::elf::bytes::offset;

/// What a range is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
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

/// One range, with its bytes as far as they have come.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) role: Role,
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
    end: u64,
}

impl Window {
    fn next(&self) -> u64 {
        self.at.saturating_add(offset(self.bytes.len()))
    }

    fn is_whole(&self) -> bool {
        self.next() >= self.end
    }
}

/// The wanted ranges.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: Vec<Window>,
    whole: Vec<Window>,
}

impl Windows {
    /// Asks for `length` bytes at an offset that the stream has not passed.
    pub(super) fn add(&mut self, role: Role, at: u64, length: usize) {
        let bytes = Vec::with_capacity(length);
        let window = Window { role, at, end: at.saturating_add(offset(length)), bytes };
        if window.is_whole() { self.whole.push(window) } else { self.open.push(window) }
    }

    /// The next offset after `position` at which a range may be whole.
    pub(super) fn edge(&self, position: u64) -> u64 {
        self.open.iter().map(|window| window.end).filter(|end| *end > position).min().unwrap_or(u64::MAX)
    }

    /// Takes from the stream what is wanted of it.
    pub(super) fn feed(&mut self, position: u64, bytes: &[u8]) {
        let end = position.saturating_add(offset(bytes.len()));
        let mut filled = false;
        for window in &mut self.open {
            let (from, to) = (window.next(), window.end.min(end));
            if from < position || from >= to {
                continue;
            }
            let index = |at: u64| usize::try_from(at - position).ok();
            let part = index(from).zip(index(to)).and_then(|(from, to)| bytes.get(from..to));
            window.bytes.extend_from_slice(part.unwrap_or_default());
            filled |= window.is_whole();
        }
        if filled {
            self.whole.extend(self.open.extract_if(.., |window| window.is_whole()));
        }
    }

    /// A range that is whole.
    pub(super) fn take_whole(&mut self) -> Option<Window> {
        self.whole.pop()
    }

    /// The bytes of a range that is not whole yet.
    pub(super) fn begun(&self, role: Role) -> &[u8] {
        self.open.iter().find(|window| window.role == role).map_or(&[], |window| &window.bytes)
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        let all = self.open.iter().chain(&self.whole).map(|window| window.bytes.capacity()).sum::<usize>();
        all + (self.open.capacity() + self.whole.capacity()) * size_of::<Window>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(windows: &mut Windows) -> Option<(u64, Vec<u8>)> {
        windows.take_whole().map(|window| (window.at, window.bytes))
    }

    #[test]
    fn a_range_is_kept_over_any_pieces() {
        for piece in 1..8 {
            let mut windows = Windows::default();
            windows.add(Role::Name, 3, 4);
            for (index, bytes) in b"0123456789".chunks(piece).enumerate() {
                windows.feed(offset(index * piece), bytes);
            }
            assert_eq!(taken(&mut windows), Some((3, b"3456".to_vec())));
            assert_eq!(taken(&mut windows), None);
        }
    }

    #[test]
    fn what_has_passed_or_never_comes_is_not_whole() {
        let mut windows = Windows::default();
        windows.add(Role::Name, 3, 4);
        windows.add(Role::Name, 20, 4);
        windows.feed(5, b"56789");
        windows.feed(18, b"0123");
        assert_eq!(taken(&mut windows), None);
        assert_eq!(windows.edge(22), 24);
        assert_eq!(windows.edge(24), u64::MAX);
    }
}
