//! The note of a compat library, read as the container toolkit reads it.

use crate::cuda::ElfNote;
use crate::elf::bytes::length;
use crate::elf::bytes::u32_at;
use crate::elf::sections::Section;

/// Who the note is from; with its zeros it is padded to the section's alignment.
pub(super) const OWNER: &[u8] = b"NVIDIA Corporation";
/// Before the owner: lengths of owner and text, and a type.
pub(super) const BEFORE: usize = 12;
/// Longest note that is kept; those that are known have 150 bytes.
pub(super) const MAX_NOTE: usize = 1024;
/// Things that look like a note and are kept until the section table tells.
pub(super) const MAX_NOTES: usize = 4;

/// How long the note that begins here is, if it may be one.
pub(super) fn length_of(bytes: &[u8]) -> Option<usize> {
    let owner = length(u32_at(bytes, 0)?.into());
    let text = length(u32_at(bytes, 4)?.into());
    let sound = (OWNER.len()..=OWNER.len() + 14).contains(&owner) && text > 0;
    // The padding of the owner is up to the alignment, of which only small ones make sense.
    sound.then(|| (BEFORE + owner + 64).saturating_add(text).min(MAX_NOTE))
}

/// What the note says; `None` where it is longer than what was kept, `Some(None)` where it says nothing readable.
#[expect(clippy::option_option, reason = "not kept is another thing than nothing readable")]
pub(super) fn read(bytes: &[u8], section: &Section) -> Option<Option<ElfNote>> {
    let align = u32::try_from(section.align).ok().filter(|align| align.is_power_of_two());
    let (Some(align), Some(owner), Some(text)) = (align, u32_at(bytes, 0), u32_at(bytes, 4)) else {
        return Some(None);
    };
    let Some(owner) = owner.checked_next_multiple_of(align) else { return Some(None) };
    let from = BEFORE.saturating_add(length(owner.into()));
    let size = length(section.size);
    let to = from.saturating_add(length(text.into())).min(size);
    let name = bytes.get(BEFORE..from.min(size))?;
    if name.strip_prefix(OWNER).is_none_or(|rest| rest.iter().any(|byte| *byte != 0)) {
        return Some(None);
    }
    let text = bytes.get(from..to.max(from))?;
    Some(std::str::from_utf8(text).ok().and_then(ElfNote::from_json))
}
