//! Collects the GPU code of a file: fat binary containers, grouped by their contents and their section.

use std::collections::BTreeMap;

use crate::layer::elf::bytes::to_file_offset;
use crate::layer::elf::fatbin::{
    CodeImage, ENTRY_HEADER_SIZE, Extent, parse_entry, parse_images, required_header_size,
};
use crate::layer::elf::sections::{Section, SectionKind};
use crate::layer::elf::summary::{CodeContainers, CodeSection, FatbinContents};

/// The largest number of container groups that are recorded with their offsets.
const MAX_GROUPS: usize = 4_096;
/// The number of containers that each form a group of their own; after these, adjacent ones with equal contents are
/// merged. The most containers that matter were 2,638 (cuBLASLt 13.10) among 211 libraries; cuFFT has 10,130 with one
/// image each among its data, in 49 groups.
const MAX_SINGLE_GROUPS: usize = 2_048;
/// The largest number of distinct container contents; known libraries have about fifty at most.
const MAX_SIGNATURES: usize = 512;
/// The largest number of images in all signatures together.
const MAX_IMAGES: usize = 4_096;
/// The largest number of images in one container; known ones have about twenty at most.
const MAX_IMAGES_PER_CONTAINER: usize = 256;
/// The largest number of file regions with GPU code, each of fat binary containers and zeros; a library has two, and
/// rarely a false one.
const MAX_REGIONS: usize = 64;

/// The next step in reading a container.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FatbinStep {
    /// This many bytes of the entry's header are needed.
    Bytes(usize),
    /// The next entry, at this offset.
    Entry(u64),
    /// The container ends here.
    End(u64),
    /// The bytes at this offset are no entry.
    Broken(u64),
}

/// A container that is being read.
#[derive(Debug)]
struct OpenFatbin {
    start: u64,
    end: u64,
    next: u64,
    images: Vec<CodeImage>,
}

/// A region of the file that consists of containers and zeros.
#[derive(Debug)]
struct CodeRegion {
    start: u64,
    end: u64,
}

/// Adjacent containers with equal contents.
#[derive(Debug)]
struct FatbinGroup {
    /// Offsets in steps of eight, of the first and of the last.
    first: u32,
    last: u32,
    count: u32,
    signature: u16,
}

/// Collects the GPU code containers of a file.
#[derive(Debug, Default)]
pub(super) struct CodeCollector {
    open: Option<OpenFatbin>,
    signatures: BTreeMap<Vec<CodeImage>, u16>,
    kept: usize,
    stretches: Vec<FatbinGroup>,
    runs: Vec<CodeRegion>,
    /// The run that containers and zeros are added to.
    run: Option<usize>,
    /// Whether a stretch was left out, so that the last one is not the last of the file.
    full: bool,
    pub(super) broken: bool,
    pub(super) too_much: bool,
    pub(super) unknown: u32,
}

impl CodeCollector {
    /// Returns the region that containers and zeros are added to.
    fn current_region(&mut self) -> Option<&mut CodeRegion> {
        self.run.and_then(|run| self.runs.get_mut(run))
    }

    /// Returns the offset of the next entry of an open container.
    pub(super) fn next_entry_offset(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.next)
    }

    /// Begins a container at an offset.
    pub(super) fn begin_container(&mut self, start: u64, extent: Extent) {
        let end = start.saturating_add(extent.total_size());
        if self.current_region().is_none_or(|run| run.end != start) {
            self.run = (self.runs.len() < MAX_REGIONS).then_some(self.runs.len());
            self.broken |= self.run.is_none();
            self.runs.extend(self.run.map(|_| CodeRegion { start, end: start }));
        }
        self.open = Some(OpenFatbin {
            start,
            end,
            next: start.saturating_add(to_file_offset(extent.header)),
            images: Vec::new(),
        });
    }

    /// Reads the header of the next entry, whose first bytes are `bytes`; `None` if no container is open.
    pub(super) fn read_entry(&mut self, bytes: &[u8]) -> Option<FatbinStep> {
        let open = self.open.as_mut()?;
        if open.next >= open.end {
            return self.close_container();
        }
        if bytes.len() < ENTRY_HEADER_SIZE {
            return Some(FatbinStep::Bytes(ENTRY_HEADER_SIZE));
        }
        let Some(extent) = parse_entry(bytes, open.end.saturating_sub(open.next)) else {
            let at = open.next;
            self.end_truncated_fatbin(at);
            return Some(FatbinStep::Broken(at));
        };
        let header_size = required_header_size(bytes, extent);
        let Some(header) = bytes.get(..header_size) else { return Some(FatbinStep::Bytes(header_size)) };
        for image in parse_images(header) {
            match image {
                None => self.unknown = self.unknown.saturating_add(1),
                Some(_) if open.images.len() == MAX_IMAGES_PER_CONTAINER => self.too_much = true,
                Some(image) => open.images.push(image),
            }
        }
        open.next = open.next.saturating_add(extent.total_size());
        Some(FatbinStep::Entry(open.next))
    }

    /// Ends the open container, which was read completely.
    fn close_container(&mut self) -> Option<FatbinStep> {
        let open = self.open.take()?;
        self.record_container(open.start, open.images);
        if let Some(run) = self.current_region() {
            run.end = open.end;
        }
        Some(FatbinStep::End(open.end))
    }

    /// Ends the open container before its declared end, and marks the code as broken.
    pub(super) fn end_truncated_fatbin(&mut self, at: u64) {
        if self.open.take().is_some() {
            self.broken = true;
            if let Some(run) = self.current_region() {
                run.end = at;
            }
        }
    }

    /// Extends the current region by the leading zeros of bytes at `at` that belong to no container.
    pub(super) fn extend_over_zeros(&mut self, at: u64, bytes: &[u8]) {
        if let Some(run) = self.current_region().filter(|run| run.end == at) {
            run.end = at.saturating_add(to_file_offset(count_leading_zeros(bytes)));
        }
    }

    /// Records a container with its offset and images.
    fn record_container(&mut self, start: u64, mut images: Vec<CodeImage>) {
        images.sort_unstable();
        let signature = match self.signatures.get(&images) {
            Some(known) => Some(*known),
            None => self.add_signature(images),
        };
        let (Ok(first), Some(signature)) = (u32::try_from(start / 8), signature) else {
            self.too_much = true;
            return;
        };
        let kept = self.stretches.len();
        let long = kept >= MAX_SINGLE_GROUPS && !self.full;
        match self.stretches.last_mut().filter(|last| long && last.signature == signature) {
            Some(stretch) => (stretch.last, stretch.count) = (first, stretch.count.saturating_add(1)),
            None if kept < MAX_GROUPS => {
                self.stretches.push(FatbinGroup { first, last: first, count: 1, signature });
            }
            None => (self.too_much, self.full) = (true, true),
        }
    }

    /// Adds new container contents and returns their number; `None` if a limit is reached.
    fn add_signature(&mut self, mut images: Vec<CodeImage>) -> Option<u16> {
        let kept = self.kept + images.len();
        let room = kept <= MAX_IMAGES && self.signatures.len() < MAX_SIGNATURES;
        let number = u16::try_from(self.signatures.len()).ok().filter(|_| room)?;
        images.shrink_to_fit();
        self.signatures.insert(images, number);
        self.kept = kept;
        Some(number)
    }

    /// Whether an offset is in a region of containers.
    pub(super) fn covers(&self, at: u64) -> bool {
        self.runs.iter().any(|run| (run.start..run.end).contains(&at))
    }

    /// Whether containers and zeros fill a section completely.
    pub(super) fn fills_section(&self, section: &Section) -> bool {
        let end = section.at.saturating_add(section.size);
        self.runs.iter().any(|run| run.start <= section.at && end <= run.end)
    }

    /// Returns the containers by section and contents; without a section table their section is unknown.
    pub(super) fn containers(&self, sections: Option<&[Section]>) -> Vec<CodeContainers> {
        let mut counts: BTreeMap<(CodeSection, u16), u32> = BTreeMap::new();
        for stretch in &self.stretches {
            let at = |step: u32| sections.map(|sections| section_of_container(u64::from(step) * 8, sections));
            // One that begins in one section and ends in another has no place.
            let place = at(stretch.first).filter(|place| at(stretch.last) == Some(*place));
            let count = counts.entry((place.unwrap_or(CodeSection::Unknown), stretch.signature)).or_default();
            *count = count.saturating_add(stretch.count);
        }
        let holds: BTreeMap<u16, &Vec<CodeImage>> =
            self.signatures.iter().map(|(images, number)| (*number, images)).collect();
        let all = counts.into_iter().filter_map(|((place, signature), count)| {
            Some(CodeContainers { place, holds: group_images_by_kind(holds.get(&signature)?), count })
        });
        let mut all: Vec<CodeContainers> = all.collect();
        all.sort();
        all
    }

    /// Returns the heap memory in use, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        // A node of a tree is at least half full.
        let entry = size_of::<(Vec<CodeImage>, u16)>() * 2;
        let images = self.open.as_ref().map_or(0, |open| open.images.capacity()) + self.kept;
        images * size_of::<CodeImage>()
            + self.signatures.len() * entry
            + self.stretches.capacity() * size_of::<FatbinGroup>()
            + self.runs.capacity() * size_of::<CodeRegion>()
    }
}

/// Returns the kind of section that contains an offset.
fn section_of_container(at: u64, sections: &[Section]) -> CodeSection {
    let holder = sections.iter().find(|section| (section.at..section.at.saturating_add(section.size)).contains(&at));
    match holder.map(|section| section.named) {
        Some(SectionKind::Registered) => CodeSection::Registered,
        Some(SectionKind::Relocatable) => CodeSection::Relocatable,
        Some(SectionKind::Note) | None => CodeSection::Elsewhere,
    }
}

/// Groups images into cubins, PTX and intermediate code.
fn group_images_by_kind(images: &[CodeImage]) -> FatbinContents {
    let mut found = FatbinContents::default();
    for image in images {
        match image {
            CodeImage::Sass(target) => found.sass.push(*target),
            CodeImage::Ptx(ptx) => found.ptx.push(*ptx),
            CodeImage::Lto(target) => found.lto.push(*target),
        }
    }
    found
}

/// Returns the number of zero bytes before the first other one.
fn count_leading_zeros(bytes: &[u8]) -> usize {
    const WORD: usize = 64;
    let words = bytes.chunks(WORD).take_while(|word| word.iter().fold(0, |all, byte| all | byte) == 0).count();
    let clear = (words * WORD).min(bytes.len());
    clear + bytes.iter().skip(clear).take_while(|byte| **byte == 0).count()
}
