//! The dynamic section: which strings it names.

use crate::elf::bytes::u64_at;
use crate::elf::header::Programs;

/// A dynamic section is some thirty entries of 16 bytes; of a longer one this much is read.
pub(super) const MAX_DYNAMIC: usize = 8 * 1024;
/// More needed libraries than a program of our days has.
const MAX_NEEDED: usize = 128;

const ENTRY: usize = 16;
const NULL: u64 = 0;
const NEEDED: u64 = 1;
const STRTAB: u64 = 5;
const STRSZ: u64 = 10;
const SONAME: u64 = 14;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// A string by its offset in the file; none where it is nowhere.
pub(super) type Place = Option<u64>;

/// The strings that the dynamic section names.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) soname: Option<Place>,
    pub(super) needed: Vec<Place>,
    pub(super) rpath: Option<Place>,
    pub(super) runpath: Option<Place>,
    /// Whether there may be more needed libraries than these.
    pub(super) more: bool,
}

impl Wanted {
    /// Reads the entries; none where they name no table of strings, as every dynamic section does.
    pub(super) fn read(bytes: &[u8], programs: &Programs) -> Option<Self> {
        let entries = || {
            let pairs = bytes.chunks_exact(ENTRY).filter_map(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 8)?)));
            pairs.take_while(|(tag, _)| *tag != NULL)
        };
        let value = |wanted: u64| entries().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
        let table = programs.offset_of(value(STRTAB)?);
        let size = value(STRSZ).unwrap_or(u64::MAX);
        let place = |index: u64| table?.checked_add(index).filter(|_| index < size);
        let mut needed: Vec<Place> = entries().filter(|(tag, _)| *tag == NEEDED).map(|(_, at)| place(at)).collect();
        let ends = bytes.chunks_exact(ENTRY).any(|entry| u64_at(entry, 0) == Some(NULL));
        let more = needed.len() > MAX_NEEDED || (!ends && bytes.len() >= MAX_DYNAMIC);
        needed.truncate(MAX_NEEDED);
        needed.shrink_to_fit();
        Some(Self {
            soname: value(SONAME).map(place),
            needed,
            rpath: value(RPATH).map(place),
            runpath: value(RUNPATH).map(place),
            more,
        })
    }

    /// Where the strings lie, with whether each is a search path.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, bool)> {
        let names = self.needed.iter().copied().chain(self.soname).flatten().map(|at| (at, false));
        names.chain([self.rpath, self.runpath].into_iter().flatten().flatten().map(|at| (at, true)))
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.needed.capacity() * size_of::<Place>()
    }
}
