//! Reads the dynamic section: the strings that it names.

use crate::layer::elf::bytes::u64_at;
use crate::layer::elf::header::ProgramHeaders;

/// The largest part of a dynamic section that is read, in bytes; a usual one has about thirty entries of 16 bytes.
pub(super) const MAX_DYNAMIC_SIZE: usize = 8 * 1024;
/// The largest number of needed libraries that are recorded, more than usual programs have.
const MAX_NEEDED: usize = 128;

/// The size of an entry, in bytes: a tag and a value.
const ENTRY_SIZE: usize = 16;
/// Tag of the entry that ends the section.
const DT_NULL: u64 = 0;
/// Tag of a library that the file needs.
const DT_NEEDED: u64 = 1;
/// Tag of the address of the string table.
const DT_STRTAB: u64 = 5;
/// Tag of the size of the string table.
const DT_STRSZ: u64 = 10;
/// Tag of the soname of the library itself.
const DT_SONAME: u64 = 14;
/// Tag of the search path that precedes `LD_LIBRARY_PATH`.
const DT_RPATH: u64 = 15;
/// Tag of the search path that follows `LD_LIBRARY_PATH`.
const DT_RUNPATH: u64 = 29;

/// The offset of a string in the file; `None` if it is outside the string table or the loaded segments.
pub(super) type StringOffset = Option<u64>;

/// Offsets of the strings that the dynamic section names.
#[derive(Debug, Default)]
pub(super) struct DynamicStrings {
    pub(super) soname: Option<StringOffset>,
    pub(super) needed: Vec<StringOffset>,
    pub(super) rpath: Option<StringOffset>,
    pub(super) runpath: Option<StringOffset>,
    /// Whether there may be more needed libraries than these.
    pub(super) more: bool,
}

impl DynamicStrings {
    /// Reads the entries; `None` if they name no string table, as every dynamic section does.
    pub(super) fn read(bytes: &[u8], programs: &ProgramHeaders) -> Option<Self> {
        let entries = || {
            let pairs = bytes.chunks_exact(ENTRY_SIZE).filter_map(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 8)?)));
            pairs.take_while(|(tag, _)| *tag != DT_NULL)
        };
        let value = |requested_tag: u64| entries().find(|(tag, _)| *tag == requested_tag).map(|(_, value)| value);
        let table = programs.file_offset_of(value(DT_STRTAB)?);
        let size = value(DT_STRSZ).unwrap_or(u64::MAX);
        let place = |index: u64| table?.checked_add(index).filter(|_| index < size);
        let mut needed: Vec<StringOffset> =
            entries().filter(|(tag, _)| *tag == DT_NEEDED).map(|(_, at)| place(at)).collect();
        let ends = bytes.chunks_exact(ENTRY_SIZE).any(|entry| u64_at(entry, 0) == Some(DT_NULL));
        let more = needed.len() > MAX_NEEDED || (!ends && bytes.len() >= MAX_DYNAMIC_SIZE);
        needed.truncate(MAX_NEEDED);
        needed.shrink_to_fit();
        Some(Self {
            soname: value(DT_SONAME).map(place),
            needed,
            rpath: value(DT_RPATH).map(place),
            runpath: value(DT_RUNPATH).map(place),
            more,
        })
    }

    /// Returns the offsets of the strings, each with whether it is a search path.
    pub(super) fn string_offsets(&self) -> impl Iterator<Item = (u64, bool)> {
        let names = self.needed.iter().copied().chain(self.soname).flatten().map(|at| (at, false));
        names.chain([self.rpath, self.runpath].into_iter().flatten().flatten().map(|at| (at, true)))
    }

    /// Returns the heap memory in use, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.needed.capacity() * size_of::<StringOffset>()
    }
}
