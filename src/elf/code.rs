//! The GPU code of a file: containers one after another, told by what they hold and where they lie.

use std::collections::BTreeMap;

use crate::elf::bytes::offset;
use crate::elf::fatbin::ENTRY;
use crate::elf::fatbin::Extent;
use crate::elf::fatbin::Image;
use crate::elf::fatbin::entry;
use crate::elf::fatbin::images;
use crate::elf::fatbin::needed;
use crate::elf::sections::Named;
use crate::elf::sections::Section;
use crate::elf::seen::Containers;
use crate::elf::seen::Images;
use crate::elf::seen::Place;

/// Stretches of containers that are kept with their place.
const MAX_STRETCHES: usize = 4_096;
/// Up to so many, each container is a stretch of its own; then those that follow each other and hold the same are one.
/// The most containers that matter were 2,638 (cuBLASLt 13.10) among 211 libraries; cuFFT has 10,130 with one image
/// each among its data, in 49 stretches.
const SINGLE: usize = 2_048;
/// Different contents of containers; the most in one library was some fifty.
const MAX_SIGNATURES: usize = 512;
/// Images in all signatures together.
const MAX_IMAGES: usize = 4_096;
/// Images in one container; the most in one was some twenty.
const MAX_IN_ONE: usize = 256;
/// Stretches with nothing but containers and zeros; a library has two, and now and then a false one.
const MAX_RUNS: usize = 64;

/// What comes next in a container.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// So many bytes of the entry's header.
    Bytes(usize),
    /// The next entry, at this offset.
    Entry(u64),
    /// The container ends here.
    End(u64),
    /// What stands here is no entry.
    Broken(u64),
}

/// A container that is being read.
#[derive(Debug)]
struct Open {
    start: u64,
    end: u64,
    next: u64,
    images: Vec<Image>,
}

/// A stretch with nothing but containers and zeros.
#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
}

/// Containers that follow each other and hold the same.
#[derive(Debug)]
struct Stretch {
    /// Offsets in steps of eight, of the first and of the last.
    first: u32,
    last: u32,
    count: u32,
    signature: u16,
}

/// All containers so far.
#[derive(Debug, Default)]
pub(super) struct Code {
    open: Option<Open>,
    signatures: BTreeMap<Vec<Image>, u16>,
    kept: usize,
    stretches: Vec<Stretch>,
    runs: Vec<Run>,
    /// The run that containers and zeros are added to.
    run: Option<usize>,
    /// Whether a stretch was left out, so that the last one is not the last of the file.
    full: bool,
    pub(super) broken: bool,
    pub(super) too_much: bool,
    pub(super) unknown: u32,
}

impl Code {
    fn current(&mut self) -> Option<&mut Run> {
        self.run.and_then(|run| self.runs.get_mut(run))
    }

    /// Where the next entry of an open container is.
    pub(super) fn next(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.next)
    }

    /// A container begins.
    pub(super) fn begin(&mut self, start: u64, extent: Extent) {
        let end = start.saturating_add(extent.all());
        if self.current().is_none_or(|run| run.end != start) {
            self.run = (self.runs.len() < MAX_RUNS).then_some(self.runs.len());
            self.broken |= self.run.is_none();
            self.runs.extend(self.run.map(|_| Run { start, end: start }));
        }
        self.open = Some(Open { start, end, next: start.saturating_add(offset(extent.header)), images: Vec::new() });
    }

    /// Reads the header of the entry that comes next, of which `bytes` are the first.
    pub(super) fn entry(&mut self, bytes: &[u8]) -> Option<Next> {
        let open = self.open.as_mut()?;
        if open.next >= open.end {
            return self.close();
        }
        if bytes.len() < ENTRY {
            return Some(Next::Bytes(ENTRY));
        }
        let Some(extent) = entry(bytes, open.end.saturating_sub(open.next)) else {
            let at = open.next;
            self.give_up(at);
            return Some(Next::Broken(at));
        };
        let wanted = needed(bytes, extent);
        let Some(header) = bytes.get(..wanted) else { return Some(Next::Bytes(wanted)) };
        for image in images(header) {
            match image {
                None => self.unknown = self.unknown.saturating_add(1),
                Some(_) if open.images.len() == MAX_IN_ONE => self.too_much = true,
                Some(image) => open.images.push(image),
            }
        }
        open.next = open.next.saturating_add(extent.all());
        Some(Next::Entry(open.next))
    }

    /// The open container is read.
    fn close(&mut self) -> Option<Next> {
        let open = self.open.take()?;
        self.keep(open.start, open.images);
        if let Some(run) = self.current() {
            run.end = open.end;
        }
        Some(Next::End(open.end))
    }

    /// The open container ends before its time.
    pub(super) fn give_up(&mut self, at: u64) {
        if self.open.take().is_some() {
            self.broken = true;
            if let Some(run) = self.current() {
                run.end = at;
            }
        }
    }

    /// Bytes at `at` that are in no container.
    pub(super) fn between(&mut self, at: u64, bytes: &[u8]) {
        if let Some(run) = self.current().filter(|run| run.end == at) {
            run.end = at.saturating_add(offset(zeros(bytes)));
        }
    }

    fn keep(&mut self, start: u64, mut images: Vec<Image>) {
        images.sort_unstable();
        let signature = match self.signatures.get(&images) {
            Some(known) => Some(*known),
            None => self.signature(images),
        };
        let (Ok(first), Some(signature)) = (u32::try_from(start / 8), signature) else {
            self.too_much = true;
            return;
        };
        let kept = self.stretches.len();
        let long = kept >= SINGLE && !self.full;
        match self.stretches.last_mut().filter(|last| long && last.signature == signature) {
            Some(stretch) => (stretch.last, stretch.count) = (first, stretch.count.saturating_add(1)),
            None if kept < MAX_STRETCHES => self.stretches.push(Stretch { first, last: first, count: 1, signature }),
            None => (self.too_much, self.full) = (true, true),
        }
    }

    fn signature(&mut self, mut images: Vec<Image>) -> Option<u16> {
        let kept = self.kept + images.len();
        let room = kept <= MAX_IMAGES && self.signatures.len() < MAX_SIGNATURES;
        let number = u16::try_from(self.signatures.len()).ok().filter(|_| room)?;
        images.shrink_to_fit();
        self.signatures.insert(images, number);
        self.kept = kept;
        Some(number)
    }

    /// Whether an offset lies between the first and the last byte of containers.
    pub(super) fn covers(&self, at: u64) -> bool {
        self.runs.iter().any(|run| (run.start..run.end).contains(&at))
    }

    /// Whether containers and zeros fill the section.
    pub(super) fn fills(&self, section: &Section) -> bool {
        let end = section.at.saturating_add(section.size);
        self.runs.iter().any(|run| run.start <= section.at && end <= run.end)
    }

    /// The containers by place and content; without sections no place is known.
    pub(super) fn containers(&self, sections: Option<&[Section]>) -> Vec<Containers> {
        let mut counts: BTreeMap<(Place, u16), u32> = BTreeMap::new();
        for stretch in &self.stretches {
            let at = |step: u32| sections.map(|sections| place(u64::from(step) * 8, sections));
            // One that begins in one section and ends in another has no place.
            let place = at(stretch.first).filter(|place| at(stretch.last) == Some(*place));
            let count = counts.entry((place.unwrap_or(Place::Unknown), stretch.signature)).or_default();
            *count = count.saturating_add(stretch.count);
        }
        let holds: BTreeMap<u16, &Vec<Image>> =
            self.signatures.iter().map(|(images, number)| (*number, images)).collect();
        let all = counts.into_iter().filter_map(|((place, signature), count)| {
            Some(Containers { place, holds: sorted(holds.get(&signature)?), count })
        });
        let mut all: Vec<Containers> = all.collect();
        all.sort();
        all
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        // A node of a tree is at least half full.
        let entry = size_of::<(Vec<Image>, u16)>() * 2;
        let images = self.open.as_ref().map_or(0, |open| open.images.capacity()) + self.kept;
        images * size_of::<Image>()
            + self.signatures.len() * entry
            + self.stretches.capacity() * size_of::<Stretch>()
            + self.runs.capacity() * size_of::<Run>()
    }
}

fn place(at: u64, sections: &[Section]) -> Place {
    let holder = sections.iter().find(|section| (section.at..section.at.saturating_add(section.size)).contains(&at));
    match holder.map(|section| section.named) {
        Some(Named::Registered) => Place::Registered,
        Some(Named::Relocatable) => Place::Relocatable,
        Some(Named::Note) | None => Place::Elsewhere,
    }
}

fn sorted(images: &[Image]) -> Images {
    let mut found = Images::default();
    for image in images {
        match image {
            Image::Sass(target) => found.sass.push(*target),
            Image::Ptx(ptx) => found.ptx.push(*ptx),
            Image::Lto(target) => found.lto.push(*target),
        }
    }
    found
}

/// How many bytes are zero before the first that is not.
fn zeros(bytes: &[u8]) -> usize {
    const WORD: usize = 64;
    let words = bytes.chunks(WORD).take_while(|word| word.iter().fold(0, |all, byte| all | byte) == 0).count();
    let clear = (words * WORD).min(bytes.len());
    clear + bytes.iter().skip(clear).take_while(|byte| **byte == 0).count()
}
