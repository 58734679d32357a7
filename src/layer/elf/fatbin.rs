//! Parses the headers of fat binaries: containers, and the consecutive entries inside them.

use crate::cuda::{CodeTarget, ComputeCapability, TargetSuffix};
use crate::layer::elf::bytes::{to_file_offset, to_memory_length, u16_at, u32_at, u64_at};
use crate::layer::elf::summary::Ptx;

/// The magic number at the start of a container.
pub(super) const MAGIC: &[u8] = b"\x50\xed\x55\xba";
/// The alignment of containers and entries, in bytes.
pub(super) const ALIGNMENT: usize = 8;
/// The shortest header of an entry, and the part of it that is used except for groups.
pub(super) const ENTRY_HEADER_SIZE: usize = 64;
/// The bytes that are needed to recognize a container: its longest accepted header and that of the first entry.
pub(super) const MAX_CONTAINER_PREFIX: usize = ENTRY_HEADER_SIZE + ENTRY_HEADER_SIZE;
/// The longest header of a group, which is read completely: about 200 images. The longest known one has 312 bytes.
pub(super) const MAX_GROUP_HEADER: usize = 15 * 1024;
/// The longest header of another entry, of which the first bytes are read and the rest is skipped. A cubin that was
/// linked from many objects has their names in its header: the longest known one has 32,608 bytes.
const MAX_ENTRY_HEADER: usize = 1024 * 1024;

/// The format version in the header of a container.
const CONTAINER_FORMAT_VERSION: u16 = 1;
/// The shortest header of a container.
const CONTAINER_HEADER_SIZE: u16 = 16;
/// The format version in the header of an entry.
const ENTRY_FORMAT_VERSION: u16 = 0x0101;
/// The kind of an entry with PTX.
const PTX_ENTRY_KIND: u16 = 1;
/// The kind of an entry with machine code.
const CUBIN_ENTRY_KIND: u16 = 2;
/// The kind of an entry with intermediate code for link-time optimisation.
const LTO_ENTRY_KIND: u16 = 8;
/// The kind of an entry that groups several images.
const GROUP_ENTRY_KIND: u16 = 0x100;
/// The flag of code for exactly one architecture, such as `sm_90a`.
const ARCHITECTURE_SPECIFIC_FLAG: u64 = 1 << 20;
/// The flag of code for one family of architectures, such as `sm_100f`.
const FAMILY_SPECIFIC_FLAG: u64 = 1 << 21;

/// One cubin, PTX or intermediate-code image in a fat binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CodeImage {
    Sass(CodeTarget),
    Ptx(Ptx),
    Lto(CodeTarget),
}

/// The sizes of the header and the payload of a container or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) header: usize,
    pub(super) payload: u64,
}

impl Extent {
    /// Returns the size of header and payload together.
    pub(super) fn total_size(self) -> u64 {
        to_file_offset(self.header).saturating_add(self.payload)
    }
}

/// Parses the container at the start of `bytes`, if there is one: empty, or with a valid first entry, in at most
/// `room` bytes.
pub(super) fn parse_container(bytes: &[u8], room: u64) -> Option<Extent> {
    if !bytes.starts_with(MAGIC) || u16_at(bytes, 4)? != CONTAINER_FORMAT_VERSION {
        return None;
    }
    let header = u16_at(bytes, 6).filter(|header| (CONTAINER_HEADER_SIZE..=64).contains(header) && header % 8 == 0)?;
    let found = Extent { header: header.into(), payload: u64_at(bytes, 8)? };
    let sound =
        || found.payload == 0 || parse_entry(bytes.get(found.header..).unwrap_or_default(), found.payload).is_some();
    (found.total_size() <= room && sound()).then_some(found)
}

/// Parses the entry at the start of `bytes`, in at most `room` bytes.
pub(super) fn parse_entry(bytes: &[u8], room: u64) -> Option<Extent> {
    let header = to_memory_length(u32_at(bytes, 4)?.into());
    let found = Extent { header, payload: u64_at(bytes, 8)? };
    let whole = u16_at(bytes, 2)? == ENTRY_FORMAT_VERSION && found.total_size() <= room;
    let steps = header.is_multiple_of(ALIGNMENT) && found.payload.is_multiple_of(to_file_offset(ALIGNMENT));
    let most = if u16_at(bytes, 0) == Some(GROUP_ENTRY_KIND) { MAX_GROUP_HEADER } else { MAX_ENTRY_HEADER };
    (whole && steps && (ENTRY_HEADER_SIZE..=most).contains(&header)).then_some(found)
}

/// Returns how many bytes of an entry header are needed to parse its images.
pub(super) fn required_header_size(bytes: &[u8], extent: Extent) -> usize {
    if u16_at(bytes, 0) == Some(GROUP_ENTRY_KIND) { extent.header } else { ENTRY_HEADER_SIZE }
}

/// Parses the images that an entry header describes; each is `None` if its kind is unknown.
pub(super) fn parse_images(header: &[u8]) -> Vec<Option<CodeImage>> {
    if u16_at(header, 0) != Some(GROUP_ENTRY_KIND) {
        return vec![parse_image(header)];
    }
    parse_group(header).unwrap_or_else(|| vec![None])
}

/// Parses the images of a group; `None` if its list does not fit.
fn parse_group(header: &[u8]) -> Option<Vec<Option<CodeImage>>> {
    let list = to_memory_length(u32_at(header, 20)?.into());
    let count = u32_at(header, list)?;
    let mut rest = header.get(list.checked_add(8)?..)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let head = rest.get(..ENTRY_HEADER_SIZE)?;
        let size = match to_memory_length(u32_at(head, 20)?.into()) {
            0 => ENTRY_HEADER_SIZE,
            options => {
                let text = to_memory_length(u32_at(rest, options)?.into());
                let text = text.checked_add(to_memory_length(u32_at(rest, options.checked_add(4)?)?.into()))?;
                text.checked_add(1)?.checked_next_multiple_of(ALIGNMENT)?.max(ENTRY_HEADER_SIZE)
            }
        };
        found.push(parse_image(head));
        // The last one may end where the header does, without the zeros behind it.
        rest = rest.get(size.min(rest.len())..)?;
    }
    Some(found)
}

/// Parses the header of one image; `None` if its kind or target is unknown.
fn parse_image(header: &[u8]) -> Option<CodeImage> {
    let number = u32_at(header, 28)?;
    let flags = u64_at(header, 40)?;
    let suffix = match (flags & ARCHITECTURE_SPECIFIC_FLAG != 0, flags & FAMILY_SPECIFIC_FLAG != 0) {
        (false, false) => TargetSuffix::None,
        (true, false) => TargetSuffix::ArchitectureSpecific,
        (false, true) => TargetSuffix::FamilySpecific,
        (true, true) => return None,
    };
    let (major, minor) = (u8::try_from(number / 10).ok()?, u8::try_from(number % 10).ok()?);
    let target = CodeTarget { capability: ComputeCapability::new(major, minor), suffix };
    match u16_at(header, 0)? {
        _ if major == 0 => None,
        PTX_ENTRY_KIND => Some(CodeImage::Ptx(Ptx { target, isa: (u16_at(header, 26)?, u16_at(header, 24)?) })),
        CUBIN_ENTRY_KIND => Some(CodeImage::Sass(target)),
        LTO_ENTRY_KIND => Some(CodeImage::Lto(target)),
        _ => None,
    }
}
