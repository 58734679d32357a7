//! What a reader tells in the end.

use memchr::memchr;

use crate::elf::header::Header;
use crate::elf::header::Start;
use crate::elf::note;
use crate::elf::reader::ElfReader;
use crate::elf::sections;
use crate::elf::sections::Named;
use crate::elf::sections::Section;
use crate::elf::seen::ElfSeen;
use crate::elf::seen::Missed;
use crate::elf::windows::Role;

impl ElfReader {
    /// What was seen, when all bytes have come or no more will.
    pub fn finish(mut self) -> ElfSeen {
        let mut seen = ElfSeen::default();
        let start = self.start.take().unwrap_or_else(|| Start::read(self.windows.begun(Role::Header)));
        if self.position < self.size {
            seen.not_inspected.push(Missed::Truncated);
        }
        match start {
            Start::Other => seen.not_inspected.push(Missed::NotElf),
            Start::Foreign { machine, kind } => {
                (seen.machine, seen.kind) = (machine, kind);
                seen.not_inspected.push(Missed::Foreign);
            }
            Start::Elf(header) => {
                (seen.machine, seen.kind) = (header.machine, header.kind);
                self.search(true);
                self.code.give_up(self.block.at(self.block.from));
                seen.not_inspected.append(&mut self.missed);
                self.tell_names(&mut seen);
                self.tell_sections(&header, &mut seen);
            }
        }
        seen.not_inspected.sort_unstable();
        seen.not_inspected.dedup();
        seen
    }

    /// Soname, needed libraries and search paths.
    fn tell_names(&self, seen: &mut ElfSeen) {
        let Some(wanted) = &self.wanted else {
            let led = self.programs.as_ref().and_then(|programs| programs.dynamic);
            seen.not_inspected.extend(led.map(|_| Missed::Dynamic));
            return;
        };
        let mut told = |place: &Option<Option<u64>>, missed| {
            let text = place.map(|place| self.string(place?));
            seen.not_inspected.extend(matches!(text, Some(None)).then_some(missed));
            text.flatten()
        };
        seen.soname = told(&wanted.soname, Missed::Soname);
        seen.rpath = told(&wanted.rpath, Missed::SearchPath);
        seen.runpath = told(&wanted.runpath, Missed::SearchPath);
        seen.needed = wanted.needed.iter().filter_map(|place| self.string((*place)?)).collect();
        if wanted.more || seen.needed.len() < wanted.needed.len() {
            seen.not_inspected.push(Missed::Needed);
        }
    }

    /// The string at an offset of the file, if it was kept as a whole.
    fn string(&self, at: u64) -> Option<String> {
        let window = self.names.iter().find(|(start, _)| *start == at).and_then(|(_, bytes)| {
            let end = memchr(0, bytes)?;
            bytes.get(..end)
        });
        let bytes = window.or_else(|| self.strings.at(at)).filter(|bytes| !bytes.is_empty())?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// GPU code by its place, and the note.
    fn tell_sections(&mut self, header: &Header, seen: &mut ElfSeen) {
        seen.unknown_entries = self.code.unknown;
        seen.not_inspected.extend(self.code.too_much.then_some(Missed::TooMuchCode));
        let sections = self.sections(header);
        if header.sections != 0 && sections.is_none() {
            seen.not_inspected.push(Missed::Sections);
        }
        let code = |section: &&Section| section.named != Named::Note;
        let whole = sections.as_ref().map(|list| list.iter().filter(code).all(|section| self.code.fills(section)));
        if whole.map_or(self.code.broken, |whole| !whole) {
            seen.not_inspected.push(Missed::Code);
        }
        seen.code = self.code.containers(sections.as_deref());
        let mut notes = sections.iter().flatten().filter(|section| section.named == Named::Note);
        if let Some(section) = notes.next() {
            let kept = self.notes.iter().find(|(at, _)| *at == section.at);
            match kept.and_then(|(_, bytes)| note::read(bytes, section)) {
                Some(note) => seen.note = note,
                None => seen.not_inspected.push(Missed::Note),
            }
        }
    }

    /// The sections that matter; none where there is no table, or none that was read.
    fn sections(&self, header: &Header) -> Option<Vec<Section>> {
        let table = self.table.as_ref()?;
        let names = sections::names_at(table, header.section_names)?;
        // Names inside of what was skipped as GPU code were not met.
        let met = names < self.size && !self.strings.too_many && !self.code.covers(names);
        met.then(|| sections::sections(table, names, &self.strings.sections))
    }
}
