//! Sparse files: the pieces that an archive has of them, with the holes between as zeros.

use crate::elf::ElfReader;
use crate::elf::ElfSeen;
use crate::layer::stream::BLOCK;

/// No program is cut into more pieces; a map of more is not followed.
const MOST_PIECES: usize = 4096;
/// Such a map as text takes no more.
const LONGEST_MAP: usize = 128 * 1024;
/// Zeros at a time.
static ZEROS: [u8; 32 * 1024] = [0; 32 * 1024];

/// Where the pieces of a sparse file lie in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    /// Bytes of the file with its holes.
    pub(super) size: u64,
    /// Where each piece begins, and its bytes.
    pub(super) pieces: Vec<(u64, u64)>,
}

/// What is known of a sparse file before its payload comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sparse {
    /// All of it.
    Known(Map),
    /// Its size; the map is the beginning of the payload.
    Ahead(u64),
    /// Nothing that is followed.
    Untold,
}

impl Map {
    /// Adds a piece; an end of the list is one of no bytes. False where it is out of order or one too many.
    pub(super) fn add(&mut self, at: u64, bytes: u64) -> bool {
        let before = self.pieces.last().map_or(0, |(at, bytes)| at.saturating_add(*bytes));
        let fits = at >= before && at.checked_add(bytes).is_some_and(|end| end <= self.size);
        let room = self.pieces.len() < MOST_PIECES;
        if fits && room && bytes > 0 {
            self.pieces.push((at, bytes));
        }
        fits && room
    }

    /// Bytes of all pieces.
    fn stored(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Bytes of all holes.
    fn holes(&self) -> u64 {
        self.size.saturating_sub(self.stored())
    }

    /// `0,512,4096,100`, as a record has it.
    pub(super) fn listed(size: u64, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut map = Self { size, pieces: Vec::new() };
        let mut numbers = text.split(',').map(number);
        while let Some(at) = numbers.next() {
            if !map.add(at?, numbers.next()??) {
                return None;
            }
        }
        Some(map)
    }

    /// The map at the beginning of a payload, and how many bytes of that it takes; none where more has to come.
    fn ahead(size: u64, head: &[u8]) -> Result<Option<(Self, usize)>, ()> {
        let mut map = Self { size, pieces: Vec::new() };
        let mut used = 0;
        let mut next = || {
            let rest = head.get(used..).unwrap_or_default();
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            used += end + 1;
            Some(std::str::from_utf8(rest.get(..end)?).ok().and_then(number).ok_or(()))
        };
        let Some(count) = next().transpose()? else { return Ok(None) };
        for _ in 0..count.min(MOST_PIECES as u64 + 1) {
            let (Some(at), Some(bytes)) = (next().transpose()?, next().transpose()?) else { return Ok(None) };
            if !map.add(at, bytes) {
                return Err(());
            }
        }
        let used = used.next_multiple_of(BLOCK);
        Ok((head.len() >= used).then_some((map, used)))
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Puts a sparse file together from its payload, and reads it as an ELF file.
pub(super) struct Whole<'a> {
    map: Map,
    reader: ElfReader,
    /// The beginning of the payload, as long as the map is not whole.
    head: Option<Vec<u8>>,
    /// The piece that comes next, and how much of it has come.
    piece: (usize, u64),
    /// Bytes of the file so far.
    at: u64,
    /// Bytes of the payload.
    stored: u64,
    /// How many bytes of holes may still be filled.
    holes: &'a mut u64,
    first: Vec<u8>,
    /// Whether what comes is not followed.
    lost: bool,
}

impl<'a> Whole<'a> {
    /// For a payload of this many bytes.
    pub(super) fn new(sparse: Sparse, stored: u64, holes: &'a mut u64) -> Self {
        let (map, head, lost) = match sparse {
            Sparse::Known(map) => (map, None, false),
            Sparse::Ahead(size) => (Map { size, pieces: Vec::new() }, Some(Vec::new()), false),
            Sparse::Untold => (Map::default(), None, true),
        };
        let reader = ElfReader::new(map.size);
        let mut whole = Self { map, reader, head, piece: (0, 0), at: 0, stored, holes, first: Vec::new(), lost };
        if whole.head.is_none() {
            whole.begin();
        }
        whole
    }

    /// Checks the map against the payload, and takes its holes off what may be filled.
    fn begin(&mut self) {
        let holes = self.map.holes();
        self.lost |= self.map.stored() != self.stored || holes > *self.holes;
        if !self.lost {
            *self.holes -= holes;
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.lost {
            return;
        }
        let Some(mut head) = self.head.take() else { return self.put(bytes) };
        let room = LONGEST_MAP.saturating_sub(head.len());
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        head.extend_from_slice(now);
        match Map::ahead(self.map.size, &head) {
            Ok(Some((map, used))) => {
                self.map = map;
                self.stored = self.stored.saturating_sub(used as u64);
                self.begin();
                self.put(head.get(used..).unwrap_or_default());
                self.put(later);
            }
            Ok(None) if later.is_empty() => self.head = Some(head),
            _ => self.lost = true,
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let (false, false, Some((at, length))) =
            (self.lost, rest.is_empty(), self.map.pieces.get(self.piece.0).copied())
        {
            self.fill(at);
            let left = usize::try_from(length - self.piece.1).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(left.min(rest.len()));
            self.take(now);
            self.piece.1 += now.len() as u64;
            if self.piece.1 == length {
                self.piece = (self.piece.0 + 1, 0);
            }
            rest = later;
        }
    }

    /// Zeros up to a place, which comes before the piece there alone.
    fn fill(&mut self, up_to: u64) {
        while self.at < up_to {
            let step = usize::try_from(up_to - self.at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.take(ZEROS.get(..step).unwrap_or(&ZEROS));
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let room = crate::layer::content::MAGIC.len().saturating_sub(self.first.len());
        self.first.extend(bytes.iter().take(room));
        self.at = self.at.saturating_add(bytes.len() as u64);
        self.reader.feed(bytes);
    }

    /// What the file is: none where it is no ELF file; an error where it was not put together.
    pub(super) fn finish(mut self) -> Result<Option<ElfSeen>, ()> {
        let whole = self.head.is_none() && self.piece.0 >= self.map.pieces.len();
        if self.lost || !whole {
            return Err(());
        }
        if self.first != crate::layer::content::MAGIC {
            return Ok(None);
        }
        self.fill(self.map.size);
        Ok(Some(self.reader.finish()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_whole_or_not_at_all() {
        let map = |pieces: &[(u64, u64)]| Map { size: 100, pieces: pieces.to_vec() };
        assert_eq!(Map::listed(100, b"0,10,50,20"), Some(map(&[(0, 10), (50, 20)])));
        assert_eq!(Map::listed(100, b"0,10,100,0"), Some(map(&[(0, 10)])));
        for bad in ["", "0", "0,10,5", "0,10,5,1", "90,11", "x,1", "0,-1", "0,+1", "18446744073709551615,2"] {
            assert_eq!(Map::listed(100, bad.as_bytes()), None, "{bad}");
        }
        let ahead = |text: &str| {
            Map::ahead(100, &{
                let mut head = text.as_bytes().to_vec();
                head.resize(BLOCK, 0);
                head
            })
        };
        assert_eq!(ahead("2\n0\n10\n50\n20\n"), Ok(Some((map(&[(0, 10), (50, 20)]), BLOCK))));
        assert_eq!(ahead("0\n"), Ok(Some((map(&[]), BLOCK))));
        assert_eq!(ahead("2\n0\n10\n"), Ok(None));
        for bad in ["x\n", "1\n0\n101\n", "2\n5\n1\n0\n1\n", "-1\n", "99999999999999999999\n"] {
            assert_eq!(ahead(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn pieces_of_any_size_make_the_same_file_and_more_holes_than_allowed_none() {
        let file = |step: usize, mut holes: u64| {
            let mut payload = b"2\n0\n4\n4096\n4\n".to_vec();
            payload.resize(BLOCK, 0);
            payload.extend(b"\x7fELFabcd");
            let mut whole = Whole::new(Sparse::Ahead(8192), payload.len() as u64, &mut holes);
            payload.chunks(step).for_each(|piece| whole.feed(piece));
            (whole.finish(), holes)
        };
        let expected = file(10_000, 10_000);
        assert!(matches!(expected, (Ok(Some(_)), 1_816)), "{expected:?}");
        for step in [1, 3, 512, 515] {
            assert_eq!(file(step, 10_000), expected, "{step}");
        }
        assert_eq!(file(512, 8_183), (Err(()), 8_183));
    }

    #[test]
    fn a_payload_that_does_not_fill_its_map_is_lost() {
        for (stored, given) in [(8, 4), (3, 3), (5, 5)] {
            let mut holes = 1_000;
            let map = Map { size: 100, pieces: vec![(0, 8)] };
            let mut whole = Whole::new(Sparse::Known(map), stored, &mut holes);
            whole.feed(&b"\x7fELFabcd"[..given]);
            assert_eq!(whole.finish(), Err(()), "{stored} {given}");
        }
    }
}
