//! Reassembles sparse files from the pieces in an archive, with zeros for the holes.

use crate::layer::elf::{ElfReader, ElfSummary};
use crate::layer::tar_stream::BLOCK_SIZE;

/// The largest number of pieces in a sparse map that is followed.
const MAX_PIECES: usize = 4096;
/// The largest size of a sparse map in text form.
const MAX_MAP_LENGTH: usize = 128 * 1024;
/// The zeros that are fed for a hole, one buffer at a time.
static ZEROS: [u8; 32 * 1024] = [0; 32 * 1024];

/// The size of a sparse file and the positions of its pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SparseMap {
    /// Bytes of the file with its holes.
    pub(super) size: u64,
    /// Where each piece begins, and its bytes.
    pub(super) pieces: Vec<(u64, u64)>,
}

/// What a header gives about the map of a sparse file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SparseMapSource {
    /// The complete map.
    Known(SparseMap),
    /// The size of the file; the map is at the start of the payload.
    InPayload(u64),
    /// No map that can be followed.
    Unknown,
}

impl SparseMap {
    /// Adds a piece; one without bytes ends the list. False if it is out of order or exceeds the limit.
    pub(super) fn push_piece(&mut self, at: u64, bytes: u64) -> bool {
        let before = self.pieces.last().map_or(0, |(at, bytes)| at.saturating_add(*bytes));
        let fits = at >= before && at.checked_add(bytes).is_some_and(|end| end <= self.size);
        let room = self.pieces.len() < MAX_PIECES;
        if fits && room && bytes > 0 {
            self.pieces.push((at, bytes));
        }
        fits && room
    }

    /// Returns the number of bytes in all pieces.
    fn data_size(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Returns the number of bytes in all holes.
    fn hole_size(&self) -> u64 {
        self.size.saturating_sub(self.data_size())
    }

    /// Parses a map from a PAX record, such as `0,512,4096,100`.
    pub(super) fn parse_list(size: u64, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut map = Self { size, pieces: Vec::new() };
        let mut numbers = text.split(',').map(parse_decimal);
        while let Some(at) = numbers.next() {
            if !map.push_piece(at?, numbers.next()??) {
                return None;
            }
        }
        Some(map)
    }

    /// Parses the map at the start of a payload, and returns how many bytes it takes; `None` if more bytes are
    /// needed.
    fn parse_payload_start(size: u64, head: &[u8]) -> Result<Option<(Self, usize)>, ()> {
        let mut map = Self { size, pieces: Vec::new() };
        let mut used = 0;
        let mut next = || {
            let rest = head.get(used..).unwrap_or_default();
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            used += end + 1;
            Some(std::str::from_utf8(rest.get(..end)?).ok().and_then(parse_decimal).ok_or(()))
        };
        let Some(count) = next().transpose()? else { return Ok(None) };
        for _ in 0..count.min(MAX_PIECES as u64 + 1) {
            let (Some(at), Some(bytes)) = (next().transpose()?, next().transpose()?) else { return Ok(None) };
            if !map.push_piece(at, bytes) {
                return Err(());
            }
        }
        let used = used.next_multiple_of(BLOCK_SIZE);
        Ok((head.len() >= used).then_some((map, used)))
    }
}

/// Parses a decimal number of digits only.
fn parse_decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reassembles a sparse file from its payload and reads it as an ELF file.
pub(super) struct SparseElfReader<'a> {
    map: SparseMap,
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

impl<'a> SparseElfReader<'a> {
    /// Creates a reader for a payload of this many bytes.
    pub(super) fn new(sparse: SparseMapSource, stored: u64, holes: &'a mut u64) -> Self {
        let (map, head, lost) = match sparse {
            SparseMapSource::Known(map) => (map, None, false),
            SparseMapSource::InPayload(size) => (SparseMap { size, pieces: Vec::new() }, Some(Vec::new()), false),
            SparseMapSource::Unknown => (SparseMap::default(), None, true),
        };
        let reader = ElfReader::new(map.size);
        let mut whole = Self { map, reader, head, piece: (0, 0), at: 0, stored, holes, first: Vec::new(), lost };
        if whole.head.is_none() {
            whole.apply_map();
        }
        whole
    }

    /// Checks the map against the payload size, and subtracts its holes from the remaining limit.
    fn apply_map(&mut self) {
        let holes = self.map.hole_size();
        self.lost |= self.map.data_size() != self.stored || holes > *self.holes;
        if !self.lost {
            *self.holes -= holes;
        }
    }

    /// Reads the next bytes of the payload.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.lost {
            return;
        }
        let Some(mut head) = self.head.take() else { return self.feed_pieces(bytes) };
        let room = MAX_MAP_LENGTH.saturating_sub(head.len());
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        head.extend_from_slice(now);
        match SparseMap::parse_payload_start(self.map.size, &head) {
            Ok(Some((map, used))) => {
                self.map = map;
                self.stored = self.stored.saturating_sub(used as u64);
                self.apply_map();
                self.feed_pieces(head.get(used..).unwrap_or_default());
                self.feed_pieces(later);
            }
            Ok(None) if later.is_empty() => self.head = Some(head),
            _ => self.lost = true,
        }
    }

    /// Reads bytes of the pieces, with zeros for the holes between them.
    fn feed_pieces(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let (false, false, Some((at, length))) =
            (self.lost, rest.is_empty(), self.map.pieces.get(self.piece.0).copied())
        {
            self.fill_hole(at);
            let left = usize::try_from(length - self.piece.1).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(left.min(rest.len()));
            self.feed_reader(now);
            self.piece.1 += now.len() as u64;
            if self.piece.1 == length {
                self.piece = (self.piece.0 + 1, 0);
            }
            rest = later;
        }
    }

    /// Feeds zeros up to an offset of the file.
    fn fill_hole(&mut self, up_to: u64) {
        while self.at < up_to {
            let step = usize::try_from(up_to - self.at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.feed_reader(ZEROS.get(..step).unwrap_or(&ZEROS));
        }
    }

    /// Passes bytes of the file to the ELF reader.
    fn feed_reader(&mut self, bytes: &[u8]) {
        let room = ELF_MAGIC.len().saturating_sub(self.first.len());
        self.first.extend(bytes.iter().take(room));
        self.at = self.at.saturating_add(bytes.len() as u64);
        self.reader.feed(bytes);
    }

    /// Returns the ELF summary; `None` if the file is not an ELF file, an error if it could not be reassembled.
    pub(super) fn finish(mut self) -> Result<Option<ElfSummary>, ()> {
        let whole = self.head.is_none() && self.piece.0 >= self.map.pieces.len();
        if self.lost || !whole {
            return Err(());
        }
        if self.first != ELF_MAGIC {
            return Ok(None);
        }
        self.fill_hole(self.map.size);
        Ok(Some(self.reader.finish()))
    }
}

/// The first bytes of an ELF file.
pub(super) const ELF_MAGIC: &[u8] = b"\x7fELF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_whole_or_not_at_all() {
        let map = |pieces: &[(u64, u64)]| SparseMap { size: 100, pieces: pieces.to_vec() };
        assert_eq!(SparseMap::parse_list(100, b"0,10,50,20"), Some(map(&[(0, 10), (50, 20)])));
        assert_eq!(SparseMap::parse_list(100, b"0,10,100,0"), Some(map(&[(0, 10)])));
        for bad in ["", "0", "0,10,5", "0,10,5,1", "90,11", "x,1", "0,-1", "0,+1", "18446744073709551615,2"] {
            assert_eq!(SparseMap::parse_list(100, bad.as_bytes()), None, "{bad}");
        }
        let ahead = |text: &str| {
            SparseMap::parse_payload_start(100, &{
                let mut head = text.as_bytes().to_vec();
                head.resize(BLOCK_SIZE, 0);
                head
            })
        };
        assert_eq!(ahead("2\n0\n10\n50\n20\n"), Ok(Some((map(&[(0, 10), (50, 20)]), BLOCK_SIZE))));
        assert_eq!(ahead("0\n"), Ok(Some((map(&[]), BLOCK_SIZE))));
        assert_eq!(ahead("2\n0\n10\n"), Ok(None));
        for bad in ["x\n", "1\n0\n101\n", "2\n5\n1\n0\n1\n", "-1\n", "99999999999999999999\n"] {
            assert_eq!(ahead(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn pieces_of_any_size_make_the_same_file_and_more_holes_than_allowed_none() {
        let file = |step: usize, mut holes: u64| {
            let mut payload = b"2\n0\n4\n4096\n4\n".to_vec();
            payload.resize(BLOCK_SIZE, 0);
            payload.extend(b"\x7fELFabcd");
            let mut whole = SparseElfReader::new(SparseMapSource::InPayload(8192), payload.len() as u64, &mut holes);
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
            let map = SparseMap { size: 100, pieces: vec![(0, 8)] };
            let mut whole = SparseElfReader::new(SparseMapSource::Known(map), stored, &mut holes);
            whole.feed(&b"\x7fELFabcd"[..given]);
            assert_eq!(whole.finish(), Err(()), "{stored} {given}");
        }
    }
}
