//! Reads the section table: the sections with GPU code and the compat note.

use crate::layer::elf::bytes::{to_memory_length, u32_at, u64_at};

/// The size of an entry of the section table in bytes.
pub(super) const SECTION_HEADER_SIZE: u16 = 64;
/// The largest number of sections that are read; a linked file has about forty.
pub(super) const MAX_SECTIONS: u16 = 256;

const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;

/// The kind of a relevant section, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// `.nv_fatbin`.
    Registered,
    /// `__nv_relfatbin`.
    Relocatable,
    /// `.note.cuda.fwd_compatibility`.
    Note,
}

/// A section with GPU code or the compat note.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) named: SectionKind,
    pub(super) at: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

/// Returns the file offset of the section names.
pub(super) fn section_names_offset(table: &[u8], index: u16) -> Option<u64> {
    let entry = table.get(usize::from(index) * usize::from(SECTION_HEADER_SIZE)..)?;
    u64_at(entry, 24)
}

/// Returns the sections of the table whose names were recorded in the stream, by the file offsets of the names.
pub(super) fn find_sections(table: &[u8], names_at: u64, met: &[(u64, SectionKind)]) -> Vec<Section> {
    let entries = table.chunks_exact(usize::from(SECTION_HEADER_SIZE));
    let found = entries.filter_map(|entry| {
        let name = names_at.checked_add(u32_at(entry, 0)?.into())?;
        let named = met.iter().find(|(at, _)| *at == name).map(|(_, named)| *named)?;
        let kind = u32_at(entry, 4)?;
        let (at, size, align) = (u64_at(entry, 24)?, u64_at(entry, 32)?, u64_at(entry, 48)?);
        let fits = if named == SectionKind::Note { kind == SHT_NOTE } else { kind != SHT_NOBITS };
        (fits && size > 0).then_some(Section { named, at, size, align })
    });
    found.take(to_memory_length(MAX_SECTIONS.into())).collect()
}
