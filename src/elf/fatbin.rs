//! Headers of fat binaries: containers, and the entries that follow each other inside them.

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::Suffix;
use crate::elf::bytes::length;
use crate::elf::bytes::offset;
use crate::elf::bytes::u16_at;
use crate::elf::bytes::u32_at;
use crate::elf::bytes::u64_at;
use crate::elf::seen::Ptx;

/// The first bytes of a container.
pub(super) const MAGIC: &[u8] = b"\x50\xed\x55\xba";
/// Containers and entries begin at multiples of it.
pub(super) const STEP: usize = 8;
/// Shortest header of an entry, and all of it that is used but for a group.
pub(super) const ENTRY: usize = 64;
/// Longest header of a container that is taken for one, with the first entry behind it.
pub(super) const CANDIDATE: usize = ENTRY + ENTRY;
/// Longest header of a group, all of which is read: some 200 images. Of groups that were met the longest had 312 bytes.
pub(super) const MAX_GROUP: usize = 15 * 1024;
/// Longest header of another entry, of which the first bytes are read and the rest is passed over. A cubin that was linked
/// of many objects has their names in its header: of those that were met the longest had 32,608 bytes.
const MAX_HEADER: usize = 1024 * 1024;

const CONTAINER_VERSION: u16 = 1;
const CONTAINER: u16 = 16;
const ENTRY_VERSION: u16 = 0x0101;
const PTX: u16 = 1;
const CUBIN: u16 = 2;
const LTO: u16 = 8;
const GROUP: u16 = 0x100;
const ARCHITECTURE_SPECIFIC: u64 = 1 << 20;
const FAMILY_SPECIFIC: u64 = 1 << 21;

/// One piece of GPU code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Image {
    Sass(CodeTarget),
    Ptx(Ptx),
    Lto(CodeTarget),
}

/// How far a container or an entry reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) header: usize,
    pub(super) payload: u64,
}

impl Extent {
    /// Header and payload.
    pub(super) fn all(self) -> u64 {
        offset(self.header).saturating_add(self.payload)
    }
}

/// The container that begins here, if one does: empty, or with a first entry that fits, in no more than `room` bytes.
pub(super) fn container(bytes: &[u8], room: u64) -> Option<Extent> {
    if !bytes.starts_with(MAGIC) || u16_at(bytes, 4)? != CONTAINER_VERSION {
        return None;
    }
    let header = u16_at(bytes, 6).filter(|header| (CONTAINER..=64).contains(header) && header % 8 == 0)?;
    let found = Extent { header: header.into(), payload: u64_at(bytes, 8)? };
    let sound = || found.payload == 0 || entry(bytes.get(found.header..).unwrap_or_default(), found.payload).is_some();
    (found.all() <= room && sound()).then_some(found)
}

/// The entry that begins here, in no more than `room` bytes.
pub(super) fn entry(bytes: &[u8], room: u64) -> Option<Extent> {
    let header = length(u32_at(bytes, 4)?.into());
    let found = Extent { header, payload: u64_at(bytes, 8)? };
    let whole = u16_at(bytes, 2)? == ENTRY_VERSION && found.all() <= room;
    let steps = header.is_multiple_of(STEP) && found.payload.is_multiple_of(offset(STEP));
    let most = if u16_at(bytes, 0) == Some(GROUP) { MAX_GROUP } else { MAX_HEADER };
    (whole && steps && (ENTRY..=most).contains(&header)).then_some(found)
}

/// How much of a header of this length is needed to tell its images.
pub(super) fn needed(bytes: &[u8], extent: Extent) -> usize {
    if u16_at(bytes, 0) == Some(GROUP) { extent.header } else { ENTRY }
}

/// The images that a header tells of, each none where it is of no known kind.
pub(super) fn images(header: &[u8]) -> Vec<Option<Image>> {
    if u16_at(header, 0) != Some(GROUP) {
        return vec![image(header)];
    }
    group(header).unwrap_or_else(|| vec![None])
}

/// The images of a group; none where its list does not fit.
fn group(header: &[u8]) -> Option<Vec<Option<Image>>> {
    let list = length(u32_at(header, 20)?.into());
    let count = u32_at(header, list)?;
    let mut rest = header.get(list.checked_add(8)?..)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let head = rest.get(..ENTRY)?;
        let size = match length(u32_at(head, 20)?.into()) {
            0 => ENTRY,
            options => {
                let text = length(u32_at(rest, options)?.into());
                let text = text.checked_add(length(u32_at(rest, options.checked_add(4)?)?.into()))?;
                text.checked_add(1)?.checked_next_multiple_of(STEP)?.max(ENTRY)
            }
        };
        found.push(image(head));
        // The last one may end where the header does, without the zeros behind it.
        rest = rest.get(size.min(rest.len())..)?;
    }
    Some(found)
}

fn image(header: &[u8]) -> Option<Image> {
    let number = u32_at(header, 28)?;
    let flags = u64_at(header, 40)?;
    let suffix = match (flags & ARCHITECTURE_SPECIFIC != 0, flags & FAMILY_SPECIFIC != 0) {
        (false, false) => Suffix::None,
        (true, false) => Suffix::ArchitectureSpecific,
        (false, true) => Suffix::FamilySpecific,
        (true, true) => return None,
    };
    let (major, minor) = (u8::try_from(number / 10).ok()?, u8::try_from(number % 10).ok()?);
    let target = CodeTarget { capability: ComputeCapability::new(major, minor), suffix };
    match u16_at(header, 0)? {
        _ if major == 0 => None,
        PTX => Some(Image::Ptx(Ptx { target, isa: (u16_at(header, 26)?, u16_at(header, 24)?) })),
        CUBIN => Some(Image::Sass(target)),
        LTO => Some(Image::Lto(target)),
        _ => None,
    }
}
