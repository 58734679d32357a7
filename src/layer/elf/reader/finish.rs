//! Builds the summary of a file after its last byte.

use memchr::memchr;

use crate::layer::elf::header::{ElfHeader, FileFormat};
use crate::layer::elf::reader::ElfReader;
use crate::layer::elf::requested_ranges::RangePurpose;
use crate::layer::elf::sections::{Section, SectionKind};
use crate::layer::elf::summary::{ElfSummary, UninspectedElfPart};
use crate::layer::elf::{compat_note, sections};

impl ElfReader {
    /// Returns the summary of the file, after all bytes have arrived or the stream has ended.
    pub fn finish(mut self) -> ElfSummary {
        let mut seen = ElfSummary::default();
        let start =
            self.start.take().unwrap_or_else(|| FileFormat::read(self.windows.incomplete_bytes(RangePurpose::Header)));
        if self.position < self.size {
            seen.not_inspected.push(UninspectedElfPart::Truncated);
        }
        match start {
            FileFormat::Other => seen.not_inspected.push(UninspectedElfPart::NotElf),
            FileFormat::Foreign { machine, kind } => {
                (seen.machine, seen.kind) = (machine, kind);
                seen.not_inspected.push(UninspectedElfPart::Foreign);
            }
            FileFormat::Elf(header) => {
                (seen.machine, seen.kind) = (header.machine, header.kind);
                self.search_block(true);
                self.code.end_truncated_fatbin(self.block.file_offset(self.block.from));
                seen.not_inspected.append(&mut self.missed);
                self.add_names(&mut seen);
                self.add_sections(&header, &mut seen);
            }
        }
        seen.not_inspected.sort_unstable();
        seen.not_inspected.dedup();
        seen
    }

    /// Adds the soname, the needed libraries and the search paths to the summary.
    fn add_names(&self, seen: &mut ElfSummary) {
        let Some(dynamic_strings) = &self.dynamic_strings else {
            let led = self.programs.as_ref().and_then(|programs| programs.dynamic);
            seen.not_inspected.extend(led.map(|_| UninspectedElfPart::Dynamic));
            return;
        };
        let mut read_name = |place: &Option<Option<u64>>, missed| {
            let text = place.map(|place| self.string_at(place?));
            seen.not_inspected.extend(matches!(text, Some(None)).then_some(missed));
            text.flatten()
        };
        seen.soname = read_name(&dynamic_strings.soname, UninspectedElfPart::Soname);
        seen.rpath = read_name(&dynamic_strings.rpath, UninspectedElfPart::SearchPath);
        seen.runpath = read_name(&dynamic_strings.runpath, UninspectedElfPart::SearchPath);
        seen.needed = dynamic_strings.needed.iter().filter_map(|place| self.string_at((*place)?)).collect();
        if dynamic_strings.more || seen.needed.len() < dynamic_strings.needed.len() {
            seen.not_inspected.push(UninspectedElfPart::Needed);
        }
    }

    /// Returns the string at a file offset, if it was recorded completely.
    fn string_at(&self, at: u64) -> Option<String> {
        let window = self.names.iter().find(|(start, _)| *start == at).and_then(|(_, bytes)| {
            let end = memchr(0, bytes)?;
            bytes.get(..end)
        });
        let bytes = window.or_else(|| self.strings.string_at(at)).filter(|bytes| !bytes.is_empty())?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// Adds the GPU code by section, and the compat note, to the summary.
    fn add_sections(&mut self, header: &ElfHeader, seen: &mut ElfSummary) {
        seen.unknown_entries = self.code.unknown;
        seen.not_inspected.extend(self.code.too_much.then_some(UninspectedElfPart::TooMuchCode));
        let sections = self.relevant_sections(header);
        if header.sections != 0 && sections.is_none() {
            seen.not_inspected.push(UninspectedElfPart::Sections);
        }
        let code = |section: &&Section| section.named != SectionKind::Note;
        let whole =
            sections.as_ref().map(|list| list.iter().filter(code).all(|section| self.code.fills_section(section)));
        if whole.map_or(self.code.broken, |whole| !whole) {
            seen.not_inspected.push(UninspectedElfPart::Code);
        }
        seen.code = self.code.containers(sections.as_deref());
        let mut notes = sections.iter().flatten().filter(|section| section.named == SectionKind::Note);
        if let Some(section) = notes.next() {
            let kept = self.notes.iter().find(|(at, _)| *at == section.at);
            match kept.and_then(|(_, bytes)| compat_note::parse_note(bytes, section)) {
                Some(note) => seen.note = note,
                None => seen.not_inspected.push(UninspectedElfPart::Note),
            }
        }
    }

    /// Returns the relevant sections; `None` if there is no section table, or it was not read.
    fn relevant_sections(&self, header: &ElfHeader) -> Option<Vec<Section>> {
        let table = self.table.as_ref()?;
        let names = sections::section_names_offset(table, header.section_names)?;
        // Names inside of what was skipped as GPU code were not met.
        let met = names < self.size && !self.strings.too_many && !self.code.covers(names);
        met.then(|| sections::find_sections(table, names, &self.strings.sections))
    }
}
