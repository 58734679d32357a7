//! Parses the records of a PAX extension header from a stream; records that are not needed are skipped.

use crate::layer::layer_summary::MAX_EXTENSION_LENGTH;

/// The longest key of a record; runtimes accept no extension header of more than a megabyte.
const MAX_KEY_LENGTH: usize = MAX_EXTENSION_LENGTH;
/// The key prefix of records about sparse files.
const SPARSE_KEY_PREFIX: &[u8] = b"GNU.sparse.";
/// The largest number of digits in the length of a record.
const MAX_LENGTH_DIGITS: usize = 19;

/// A path or link target from an extension header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExtendedName {
    Name(Vec<u8>),
    /// A name that exceeds the length limit.
    TooLong,
}

/// The values that PAX records give for the next entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PaxRecords {
    pub(super) path: Option<ExtendedName>,
    pub(super) link: Option<ExtendedName>,
    pub(super) size: Option<u64>,
    /// Whether the payload leaves out empty parts.
    pub(super) sparse: bool,
    /// The name of a sparse file, whose path is made up.
    pub(super) sparse_name: Option<ExtendedName>,
    /// Its size with all empty parts.
    pub(super) sparse_size: Option<u64>,
    /// The offsets and lengths of its parts.
    pub(super) sparse_map: Option<Vec<u8>>,
    /// Whether the payload begins with that map.
    pub(super) sparse_ahead: bool,
}

/// The position of the parser within a record.
#[derive(Debug)]
enum PaxParserState {
    Length(u64, usize),
    /// What is left of the record.
    Key(u64),
    /// What is left of the record, and whether the value is kept.
    Value(u64, bool),
}

/// An incremental parser for the bytes of one PAX extension header.
#[derive(Debug)]
pub(super) struct PaxReader {
    records: PaxRecords,
    state: PaxParserState,
    key: Vec<u8>,
    value: Vec<u8>,
    too_long: bool,
    broken: Option<&'static str>,
}

impl Default for PaxReader {
    fn default() -> Self {
        Self {
            records: PaxRecords::default(),
            state: PaxParserState::Length(0, 0),
            key: Vec::new(),
            value: Vec::new(),
            too_long: false,
            broken: None,
        }
    }
}

impl PaxReader {
    /// Parses the next bytes of the header.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let ([byte, after @ ..], None) = (rest, self.broken) {
            rest = match self.state {
                PaxParserState::Length(length, digits) => {
                    self.state = self.parse_length_byte(length, digits, *byte);
                    after
                }
                PaxParserState::Key(left) => {
                    self.state = self.parse_key_byte(left, *byte);
                    after
                }
                PaxParserState::Value(left, kept) => self.parse_value(left, kept, rest),
            };
        }
    }

    /// Returns the records after the last byte; the error describes what is wrong.
    pub(super) fn finish(self) -> Result<PaxRecords, &'static str> {
        match (self.broken, self.state) {
            (Some(what), _) => Err(what),
            (None, PaxParserState::Length(_, 0)) => Ok(self.records),
            (None, _) => Err("a PAX record is truncated"),
        }
    }

    /// Parses one byte of the length of a record.
    fn parse_length_byte(&mut self, length: u64, digits: usize, byte: u8) -> PaxParserState {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        match byte {
            b'0'..=b'9' if digits < MAX_LENGTH_DIGITS => {
                PaxParserState::Length(length.saturating_mul(10).saturating_add(digit), digits + 1)
            }
            // The length counts itself and the space; a key of one byte, `=` and a line end are the least.
            b' ' if digits > 0 && length >= digits as u64 + 4 => {
                self.key.clear();
                PaxParserState::Key(length - digits as u64 - 1)
            }
            _ => {
                self.broken = Some("the length of a PAX record is wrong");
                PaxParserState::Length(0, 0)
            }
        }
    }

    /// Parses one byte of the key of a record.
    fn parse_key_byte(&mut self, left: u64, byte: u8) -> PaxParserState {
        let left = left - 1;
        if byte != b'=' {
            self.key.push(byte);
            if left < 2 || self.key.len() > MAX_KEY_LENGTH {
                self.broken = Some("a PAX record has no end of its key");
            }
            return PaxParserState::Key(left);
        }
        self.value.clear();
        self.too_long = false;
        let sparse = self.key.starts_with(SPARSE_KEY_PREFIX);
        let kept = sparse || matches!(self.key.as_slice(), b"path" | b"linkpath" | b"size");
        PaxParserState::Value(left, kept)
    }

    /// Parses bytes of the value of a record and returns the rest.
    fn parse_value<'b>(&mut self, left: u64, kept: bool, rest: &'b [u8]) -> &'b [u8] {
        // The line end is the last byte of the record.
        let step = usize::try_from(left - 1).unwrap_or(usize::MAX).min(rest.len());
        let (now, after) = rest.split_at_checked(step).unwrap_or((rest, &[]));
        let left = left - step as u64;
        if kept {
            let room = MAX_EXTENSION_LENGTH - self.value.len();
            self.too_long |= now.len() > room;
            self.value.extend_from_slice(now.get(..room).unwrap_or(now));
        }
        self.state = PaxParserState::Value(left, kept);
        match after {
            [b'\n', after @ ..] if left == 1 => {
                self.store_record();
                self.state = PaxParserState::Length(0, 0);
                after
            }
            [] => after,
            _ => {
                self.broken = Some("a PAX record has no line end");
                after
            }
        }
    }

    /// Stores a complete record. An empty value removes an earlier one.
    fn store_record(&mut self) {
        let value = std::mem::take(&mut self.value);
        let long = if self.too_long { ExtendedName::TooLong } else { ExtendedName::Name(value.clone()) };
        let long = Some(long).filter(|_| !value.is_empty());
        match self.key.as_slice() {
            b"path" => self.records.path = long,
            b"linkpath" => self.records.link = long,
            b"GNU.sparse.name" => (self.records.sparse, self.records.sparse_name) = (true, long),
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => {
                (self.records.sparse, self.records.sparse_size) = (true, parse_size(&value));
            }
            b"GNU.sparse.map" => {
                (self.records.sparse, self.records.sparse_map) = (true, Some(value).filter(|_| !self.too_long));
            }
            b"GNU.sparse.major" => (self.records.sparse, self.records.sparse_ahead) = (true, value == b"1"),
            b"size" if value.is_empty() => self.records.size = None,
            b"size" => match parse_size(&value) {
                Some(size) => self.records.size = Some(size),
                None => self.broken = Some("the size in a PAX record is not a number"),
            },
            key if key.starts_with(SPARSE_KEY_PREFIX) => self.records.sparse = true,
            _ => {}
        }
    }
}

/// Parses a decimal size that fits a signed 64-bit number.
fn parse_size(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    text.parse().ok().filter(|size| *size <= i64::MAX.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_in_pieces(bytes: &[u8], piece: usize) -> Result<PaxRecords, &'static str> {
        let mut reader = PaxReader::default();
        bytes.chunks(piece).for_each(|piece| reader.feed(piece));
        reader.finish()
    }

    #[test]
    fn records_are_the_same_in_pieces_of_any_size() {
        let text = b"12 path=a=b\n13 comment=x\n15 linkpath=/c\n9 size=7\n22 GNU.sparse.major=1\n";
        let whole = parse_in_pieces(text, 1000).expect("records");
        assert_eq!(whole.path, Some(ExtendedName::Name(b"a=b".to_vec())));
        assert_eq!(whole.link, Some(ExtendedName::Name(b"/c".to_vec())));
        assert_eq!((whole.size, whole.sparse), (Some(7), true));
        for piece in 1..20 {
            assert_eq!(parse_in_pieces(text, piece).as_ref(), Ok(&whole), "{piece}");
        }
    }

    #[test]
    fn broken_records_are_rejected() {
        let broken: &[&[u8]] = &[
            b"x",
            b" 12 path=a=b\n",
            b"12 path=a=b",
            b"12 path=a=bX",
            b"13 path=a=b\n",
            b"3 a\n",
            b"4 a=\n",
            b"7 size=\n",
            b"11 size=-1\n",
            b"11 size=0x\n",
            b"99999999999999999999 path=a\n",
            b"5 abc\n",
            b"0 a=b\n",
            b"28 size=9223372036854775808\n",
            b"12 path=a=b\n\0\0",
        ];
        for text in broken {
            assert!(parse_in_pieces(text, 3).is_err(), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_value_of_megabytes_is_not_kept_and_those_behind_it_are_read() {
        let mut text = format!("{} path={}\n", 8 + 6 + 3_000_000, "x".repeat(3_000_000)).into_bytes();
        text.extend(b"9 size=7\n");
        let records = parse_in_pieces(&text, 4096).expect("records");
        assert_eq!((records.path, records.size), (Some(ExtendedName::TooLong), Some(7)));
    }
}
