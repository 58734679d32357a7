//! The search: containers, strings and notes in the bytes of a block.

use crate::elf::bytes::length;
use crate::elf::bytes::offset;
use crate::elf::code::Next;
use crate::elf::fatbin;
use crate::elf::header::Start;
use crate::elf::note;
use crate::elf::reader::ElfReader;
use crate::elf::reader::block::BLOCK;
use crate::elf::strings::AHEAD;
use crate::elf::strings::BEHIND;

/// Bytes that are searched behind a container, where the next one mostly begins.
const FIRST_LOOK: usize = AHEAD + 512;
/// Bytes that are kept on either side of what looks like a part of a dynamic section, which has some 800.
const LIKELY: usize = 1024;
/// Dynamic sections that are kept until the program headers come.
const MAX_LIKELY: usize = 3;

impl ElfReader {
    /// Searches the block as far as it goes; `last` when nothing comes any more.
    pub(super) fn search(&mut self, last: bool) {
        loop {
            let more = if self.code.next().is_some() { self.read_container() } else { self.look(last) };
            if !more {
                return;
            }
        }
    }

    /// One step inside of a container; says whether there is another.
    fn read_container(&mut self) -> bool {
        let at = self.block.from;
        match self.code.entry(self.block.bytes.get(at..).unwrap_or_default()) {
            Some(Next::Bytes(count)) => {
                self.block.ask(0, count);
                return false;
            }
            Some(Next::Entry(to)) => {
                self.block.jump(to);
                self.block.want = fatbin::ENTRY;
            }
            Some(Next::End(to)) => {
                self.block.jump(to);
                self.block.want = FIRST_LOOK;
            }
            Some(Next::Broken(_)) | None => {}
        }
        // What is skipped over has still to come.
        !self.block.bytes.is_empty()
    }

    /// One step outside of containers; says whether there is another.
    fn look(&mut self, last: bool) -> bool {
        let len = self.block.bytes.len();
        let limit = if last { len } else { len.saturating_sub(AHEAD) }.max(self.block.from);
        let found = self.container(limit);
        let (to, end) = found.map_or((limit, len), |(at, _)| (at, at));
        self.take_notes(to);
        self.take_likely(to);
        let from = self.block.from;
        let piece = self.block.piece(to, end);
        if self.block.at(from) <= self.asked {
            self.strings.keep_names(piece);
        }
        self.strings.keep_section_names(piece);
        self.code.between(self.block.at(from), self.block.bytes.get(from..to).unwrap_or_default());
        let Some((at, extent)) = found else {
            self.block.from = to;
            let behind = if self.late() { LIKELY } else { BEHIND };
            self.block.ask(behind, BLOCK);
            return false;
        };
        let start = self.block.at(at);
        self.code.begin(start, extent);
        self.block.jump(start.saturating_add(offset(extent.header)));
        true
    }

    /// The first container that begins before `limit`.
    fn container(&self, limit: usize) -> Option<(usize, fatbin::Extent)> {
        let piece = self.block.piece(limit, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.magic, from) {
            let place = piece.base.saturating_add(offset(at));
            if place.is_multiple_of(offset(fatbin::STEP)) {
                let bytes = piece.bytes.get(at..).unwrap_or_default();
                let bytes = bytes.get(..fatbin::CANDIDATE).unwrap_or(bytes);
                if let Some(extent) = fatbin::container(bytes, self.size.saturating_sub(place)) {
                    return Some((self.block.floor + at, extent));
                }
            }
            from = at + 1;
        }
        None
    }

    /// Keeps what begins before `to` and looks like the note of a compat library.
    fn take_notes(&mut self, to: usize) {
        let piece = self.block.piece(to, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.owner, from) {
            from = at + 1;
            let Some(start) = at.checked_sub(note::BEFORE) else { continue };
            let bytes = piece.bytes.get(start..).unwrap_or_default();
            let Some(most) = note::length_of(bytes) else { continue };
            if self.notes.len() == note::MAX_NOTES {
                return;
            }
            let place = piece.base.saturating_add(offset(start));
            let kept = length(self.size.saturating_sub(place)).min(most);
            self.notes.push((place, bytes.get(..kept).unwrap_or(bytes).to_vec()));
        }
    }

    /// Keeps what looks like a dynamic section, while the program headers that would say where it is have not come.
    fn take_likely(&mut self, to: usize) {
        if !self.late() {
            return;
        }
        let piece = self.block.piece(to, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.versions, from).filter(|_| self.likely.len() < MAX_LIKELY) {
            from = at + 1;
            let start = at.saturating_sub(LIKELY);
            let end = (at + LIKELY).min(piece.bytes.len());
            let place = piece.base.saturating_add(offset(start));
            self.likely.push((place, piece.bytes.get(start..end).unwrap_or_default().to_vec()));
        }
    }

    /// Whether the program headers have still to come, though the stream is beyond where they are in most files.
    fn late(&self) -> bool {
        self.programs.is_none() && matches!(&self.start, Some(Start::Elf(header)) if header.programs.is_some())
    }
}
