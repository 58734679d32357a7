//! The section table: where GPU code and the compat note lie.

use crate::elf::bytes::length;
use crate::elf::bytes::u32_at;
use crate::elf::bytes::u64_at;

/// Length of an entry of the table.
pub(super) const SECTION: u16 = 64;
/// More sections than a linked file has, of which there are some forty.
pub(super) const MAX_SECTIONS: u16 = 256;

const NOTE: u32 = 7;
const NOBITS: u32 = 8;

/// A section that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// `.nv_fatbin`.
    Registered,
    /// `__nv_relfatbin`.
    Relocatable,
    /// `.note.cuda.fwd_compatibility`.
    Note,
}

/// One section that was looked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) named: Named,
    pub(super) at: u64,
    pub(super) size: u64,
    pub(super) align: u64,
}

/// Where the names of all sections lie.
pub(super) fn names_at(table: &[u8], index: u16) -> Option<u64> {
    let entry = table.get(usize::from(index) * usize::from(SECTION)..)?;
    u64_at(entry, 24)
}

/// The sections of the table whose names were `met` in the stream, by their offsets in the file.
pub(super) fn sections(table: &[u8], names_at: u64, met: &[(u64, Named)]) -> Vec<Section> {
    let entries = table.chunks_exact(usize::from(SECTION));
    let found = entries.filter_map(|entry| {
        let name = names_at.checked_add(u32_at(entry, 0)?.into())?;
        let named = met.iter().find(|(at, _)| *at == name).map(|(_, named)| *named)?;
        let kind = u32_at(entry, 4)?;
        let (at, size, align) = (u64_at(entry, 24)?, u64_at(entry, 32)?, u64_at(entry, 48)?);
        let fits = if named == Named::Note { kind == NOTE } else { kind != NOBITS };
        (fits && size > 0).then_some(Section { named, at, size, align })
    });
    found.take(length(MAX_SECTIONS.into())).collect()
}
