//! The forward compatibility note of a compat library, parsed as the container toolkit does.

use crate::cuda::CompatNote;
use crate::layer::elf::bytes::{to_memory_length, u32_at};
use crate::layer::elf::sections::Section;

/// The owner name of the note, padded with zeros to the alignment of the section.
pub(super) const NOTE_OWNER: &[u8] = b"NVIDIA Corporation";
/// The size of what precedes the owner: the lengths of owner and text, and a type.
pub(super) const NOTE_HEADER_SIZE: usize = 12;
/// The largest number of bytes that are recorded of a note; known notes have 150 bytes.
pub(super) const MAX_NOTE_SIZE: usize = 1024;
/// The largest number of possible notes that are recorded until the section table is read.
pub(super) const MAX_NOTES: usize = 4;

/// Returns the size of the note at the start of `bytes`, if there may be one.
pub(super) fn possible_note_size(bytes: &[u8]) -> Option<usize> {
    let owner = to_memory_length(u32_at(bytes, 0)?.into());
    let text = to_memory_length(u32_at(bytes, 4)?.into());
    let sound = (NOTE_OWNER.len()..=NOTE_OWNER.len() + 14).contains(&owner) && text > 0;
    // The padding of the owner is up to the alignment, of which only small ones make sense.
    sound.then(|| (NOTE_HEADER_SIZE + owner + 64).saturating_add(text).min(MAX_NOTE_SIZE))
}

/// Parses the note: `None` if it is longer than the recorded bytes, `Some(None)` if it has no readable contents.
#[expect(clippy::option_option, reason = "not kept is another thing than nothing readable")]
pub(super) fn parse_note(bytes: &[u8], section: &Section) -> Option<Option<CompatNote>> {
    let align = u32::try_from(section.align).ok().filter(|align| align.is_power_of_two());
    let (Some(align), Some(owner), Some(text)) = (align, u32_at(bytes, 0), u32_at(bytes, 4)) else {
        return Some(None);
    };
    let Some(owner) = owner.checked_next_multiple_of(align) else { return Some(None) };
    let from = NOTE_HEADER_SIZE.saturating_add(to_memory_length(owner.into()));
    let size = to_memory_length(section.size);
    let to = from.saturating_add(to_memory_length(text.into())).min(size);
    let name = bytes.get(NOTE_HEADER_SIZE..from.min(size))?;
    if name.strip_prefix(NOTE_OWNER).is_none_or(|rest| rest.iter().any(|byte| *byte != 0)) {
        return Some(None);
    }
    let text = bytes.get(from..to.max(from))?;
    Some(std::str::from_utf8(text).ok().and_then(CompatNote::from_json))
}
