//! Searches the bytes of a block for containers, strings and notes.

use crate::layer::elf::bytes::{to_file_offset, to_memory_length};
use crate::layer::elf::gpu_code::FatbinStep;
use crate::layer::elf::header::FileFormat;
use crate::layer::elf::reader::ElfReader;
use crate::layer::elf::reader::block::BLOCK_SIZE;
use crate::layer::elf::strings::{LOOK_AHEAD, LOOK_BEHIND};
use crate::layer::elf::{compat_note, fatbin};

/// The number of bytes that are searched first after a container, where the next one usually begins.
const BYTES_AFTER_CONTAINER: usize = LOOK_AHEAD + 512;
/// The number of bytes that are recorded on either side of a possible dynamic section, which has about 800.
const DYNAMIC_MARGIN: usize = 1024;
/// The largest number of possible dynamic sections that are recorded until the program headers arrive.
const MAX_DYNAMIC_CANDIDATES: usize = 3;

impl ElfReader {
    /// Searches the block as far as possible; `last` if no more bytes will arrive.
    pub(super) fn search_block(&mut self, last: bool) {
        loop {
            let more = if self.code.next_entry_offset().is_some() {
                self.read_container_step()
            } else {
                self.search_outside_containers(last)
            };
            if !more {
                return;
            }
        }
    }

    /// Reads one step inside a container, and returns whether another can follow.
    fn read_container_step(&mut self) -> bool {
        let at = self.block.from;
        match self.code.read_entry(self.block.bytes.get(at..).unwrap_or_default()) {
            Some(FatbinStep::Bytes(count)) => {
                self.block.discard_searched(0, count);
                return false;
            }
            Some(FatbinStep::Entry(to)) => {
                self.block.skip_to(to);
                self.block.want = fatbin::ENTRY_HEADER_SIZE;
            }
            Some(FatbinStep::End(to)) => {
                self.block.skip_to(to);
                self.block.want = BYTES_AFTER_CONTAINER;
            }
            Some(FatbinStep::Broken(_)) | None => {}
        }
        // What is skipped over has still to come.
        !self.block.bytes.is_empty()
    }

    /// Searches one step outside of containers, and returns whether another can follow.
    fn search_outside_containers(&mut self, last: bool) -> bool {
        let len = self.block.bytes.len();
        let limit = if last { len } else { len.saturating_sub(LOOK_AHEAD) }.max(self.block.from);
        let found = self.find_container(limit);
        let (to, end) = found.map_or((limit, len), |(at, _)| (at, at));
        self.collect_notes(to);
        self.collect_dynamic_candidates(to);
        let from = self.block.from;
        let piece = self.block.search_range(to, end);
        if self.block.file_offset(from) <= self.kept_end {
            self.strings.record_names(piece);
        }
        self.strings.record_section_names(piece);
        self.code.extend_over_zeros(self.block.file_offset(from), self.block.bytes.get(from..to).unwrap_or_default());
        let Some((at, extent)) = found else {
            self.block.from = to;
            let behind = if self.awaits_program_headers() { DYNAMIC_MARGIN } else { LOOK_BEHIND };
            self.block.discard_searched(behind, BLOCK_SIZE);
            return false;
        };
        let start = self.block.file_offset(at);
        self.code.begin_container(start, extent);
        self.block.skip_to(start.saturating_add(to_file_offset(extent.header)));
        true
    }

    /// Returns the first container that begins before `limit`.
    fn find_container(&self, limit: usize) -> Option<(usize, fatbin::Extent)> {
        let piece = self.block.search_range(limit, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.magic, from) {
            let place = piece.base.saturating_add(to_file_offset(at));
            if place.is_multiple_of(to_file_offset(fatbin::ALIGNMENT)) {
                let bytes = piece.bytes.get(at..).unwrap_or_default();
                let bytes = bytes.get(..fatbin::MAX_CONTAINER_PREFIX).unwrap_or(bytes);
                if let Some(extent) = fatbin::parse_container(bytes, self.size.saturating_sub(place)) {
                    return Some((self.block.floor + at, extent));
                }
            }
            from = at + 1;
        }
        None
    }

    /// Records possible notes of a compat library that begin before `to`.
    fn collect_notes(&mut self, to: usize) {
        let piece = self.block.search_range(to, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.owner, from) {
            from = at + 1;
            let Some(start) = at.checked_sub(compat_note::NOTE_HEADER_SIZE) else { continue };
            let bytes = piece.bytes.get(start..).unwrap_or_default();
            let Some(most) = compat_note::possible_note_size(bytes) else { continue };
            if self.notes.len() == compat_note::MAX_NOTES {
                return;
            }
            let place = piece.base.saturating_add(to_file_offset(start));
            let kept = to_memory_length(self.size.saturating_sub(place)).min(most);
            self.notes.push((place, bytes.get(..kept).unwrap_or(bytes).to_vec()));
        }
    }

    /// Records possible dynamic sections while the program headers, which contain their offset, have not arrived.
    fn collect_dynamic_candidates(&mut self, to: usize) {
        if !self.awaits_program_headers() {
            return;
        }
        let piece = self.block.search_range(to, self.block.bytes.len());
        let mut from = piece.from;
        while let Some(at) = piece.find(&self.versions, from).filter(|_| self.likely.len() < MAX_DYNAMIC_CANDIDATES) {
            from = at + 1;
            let start = at.saturating_sub(DYNAMIC_MARGIN);
            let end = (at + DYNAMIC_MARGIN).min(piece.bytes.len());
            let place = piece.base.saturating_add(to_file_offset(start));
            self.likely.push((place, piece.bytes.get(start..end).unwrap_or_default().to_vec()));
        }
    }

    /// Whether the program headers have not arrived yet, although most files have them earlier.
    fn awaits_program_headers(&self) -> bool {
        self.programs.is_none() && matches!(&self.start, Some(FileFormat::Elf(header)) if header.programs.is_some())
    }
}
