//! The reader: takes pieces of a file in order and puts together what they say.

mod block;
mod search;
mod tell;

use memchr::memmem::Finder;

use crate::elf::bytes::length;
use crate::elf::bytes::offset;
use crate::elf::code::Code;
use crate::elf::dynamic::MAX_DYNAMIC;
use crate::elf::dynamic::Wanted;
use crate::elf::fatbin;
use crate::elf::header::HEADER;
use crate::elf::header::Header;
use crate::elf::header::Programs;
use crate::elf::header::Start;
use crate::elf::note;
use crate::elf::reader::block::Block;
use crate::elf::sections::MAX_SECTIONS;
use crate::elf::sections::SECTION;
use crate::elf::seen::Missed;
use crate::elf::strings::MAX_NAME;
use crate::elf::strings::MAX_PATH;
use crate::elf::strings::Strings;
use crate::elf::windows::Role;
use crate::elf::windows::Window;
use crate::elf::windows::Windows;

/// The most that a reader holds, whatever the file: its block, what it keeps by offset, and what it counts.
pub const MAX_HELD: usize = 256 * 1024;

/// The tag `DT_VERNEED`, which every library that needs another of any standing has in its dynamic section.
const VERSIONS: &[u8] = b"\xfe\xff\xff\x6f\0\0\0\0";

/// Reads one ELF file of a known size from front to back.
///
/// How the file is cut into pieces makes no difference to what is seen.
#[derive(Debug)]
pub struct ElfReader {
    size: u64,
    /// Bytes that have come.
    position: u64,
    start: Option<Start>,
    windows: Windows,
    block: Block,
    magic: Finder<'static>,
    owner: Finder<'static>,
    versions: Finder<'static>,
    code: Code,
    strings: Strings,
    programs: Option<Programs>,
    wanted: Option<Wanted>,
    /// Up to where strings were kept because it was not known which are names.
    asked: u64,
    names: Vec<(u64, Vec<u8>)>,
    notes: Vec<(u64, Vec<u8>)>,
    /// What looked like dynamic sections before the program headers came.
    likely: Vec<(u64, Vec<u8>)>,
    table: Option<Vec<u8>>,
    missed: Vec<Missed>,
}

impl ElfReader {
    /// A reader of a file of this many bytes.
    pub fn new(size: u64) -> Self {
        let mut windows = Windows::default();
        windows.add(Role::Header, 0, HEADER.min(length(size)));
        Self {
            size,
            position: 0,
            start: None,
            windows,
            block: Block::default(),
            magic: Finder::new(fatbin::MAGIC),
            owner: Finder::new(note::OWNER),
            versions: Finder::new(VERSIONS),
            code: Code::default(),
            strings: Strings::new(),
            programs: None,
            wanted: None,
            asked: u64::MAX,
            names: Vec::new(),
            notes: Vec::new(),
            likely: Vec::new(),
            table: None,
            missed: Vec::new(),
        }
    }

    /// Takes the next bytes of the file. Those beyond its size are left.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.position < self.size {
            let mut step = length(self.size - self.position).min(rest.len());
            if matches!(self.start, Some(Start::Other | Start::Foreign { .. })) {
                self.position = self.position.saturating_add(offset(step));
                return;
            }
            step = step.min(length(self.windows.edge(self.position) - self.position));
            let skipping = self.block.base.saturating_sub(self.position);
            step = match skipping {
                0 => step.min(self.block.want.saturating_sub(self.block.bytes.len())),
                skipping => step.min(length(skipping)),
            };
            let (now, later) = rest.split_at(step);
            self.windows.feed(self.position, now);
            if skipping == 0 {
                self.block.take(now);
            }
            self.position = self.position.saturating_add(offset(step));
            while let Some(window) = self.windows.take_whole() {
                self.take(window);
            }
            if self.block.bytes.len() >= self.block.want && matches!(self.start, Some(Start::Elf(_))) {
                self.search(false);
            }
            rest = later;
        }
    }

    /// Bytes held now.
    pub fn held(&self) -> usize {
        let kept =
            self.names.iter().chain(&self.notes).chain(&self.likely).map(|(_, bytes)| bytes.capacity()).sum::<usize>();
        kept + (self.names.capacity() + self.notes.capacity() + self.likely.capacity()) * size_of::<(u64, Vec<u8>)>()
            + self.block.bytes.capacity()
            + self.windows.held()
            + self.code.held()
            + self.strings.held()
            + self.table.as_ref().map_or(0, Vec::capacity)
            + self.programs.as_ref().map_or(0, Programs::held)
            + self.wanted.as_ref().map_or(0, Wanted::held)
            + size_of::<Self>()
    }

    /// Puts a range to its use that has come as a whole.
    fn take(&mut self, window: Window) {
        match window.role {
            Role::Header => self.take_header(&window.bytes),
            Role::Programs => self.take_programs(&window.bytes),
            Role::Dynamic => self.take_dynamic(&window.bytes),
            Role::Name => self.names.push((window.at, window.bytes)),
            Role::Sections => self.table = Some(window.bytes),
        }
    }

    /// Asks for a range that the stream has still to pass; says whether it has.
    fn ask(&mut self, role: Role, at: u64, length: usize) -> bool {
        let fits = at >= self.position && at.checked_add(offset(length)).is_some_and(|end| end <= self.size);
        if fits {
            self.windows.add(role, at, length);
        }
        fits
    }

    fn take_header(&mut self, bytes: &[u8]) {
        let start = Start::read(bytes);
        if let Start::Elf(header) = &start {
            let (programs, table) = (header.programs, table(header));
            let strange = header.strange_programs;
            if strange || programs.is_some_and(|(at, length)| !self.ask(Role::Programs, at, length)) {
                self.missed.push(Missed::Dynamic);
            }
            if let Some((at, length)) = table {
                self.ask(Role::Sections, at, length);
            }
            if programs.is_none() {
                self.asked = 0;
            }
        }
        self.start = Some(start);
    }

    fn take_programs(&mut self, bytes: &[u8]) {
        let programs = Programs::read(bytes);
        let dynamic = programs.dynamic;
        self.programs = Some(programs);
        let likely = std::mem::take(&mut self.likely);
        let Some((at, size)) = dynamic else {
            self.asked = 0;
            return;
        };
        if at < self.position {
            let block = [(self.block.base, std::mem::take(&mut self.block.bytes))];
            let passed = likely.iter().chain(&block).find_map(|(start, bytes)| {
                let from = length(at.checked_sub(*start)?);
                bytes.get(from..from.checked_add(length(size))?)
            });
            match passed {
                Some(bytes) => self.take_dynamic(bytes),
                None => self.asked = 0,
            }
            let [(_, bytes)] = block;
            self.block.bytes = bytes;
        } else if !self.ask(Role::Dynamic, at, length(size).min(MAX_DYNAMIC)) {
            self.asked = 0;
        }
    }

    fn take_dynamic(&mut self, bytes: &[u8]) {
        let Some(wanted) = self.programs.as_ref().and_then(|programs| Wanted::read(bytes, programs)) else { return };
        for (at, path) in wanted.places().filter(|(at, _)| *at >= self.position) {
            let most = if path { MAX_PATH } else { MAX_NAME };
            let length = length(self.size.saturating_sub(at)).min(most);
            self.windows.add(Role::Name, at, length);
        }
        // A name that begins before may have its `.so` behind this place.
        self.asked = self.position.saturating_add(offset(MAX_PATH));
        self.wanted = Some(wanted);
    }
}

/// Offset and length of the section table, if it is one that is read.
fn table(header: &Header) -> Option<(u64, usize)> {
    let sound = header.section_size == SECTION && (1..=MAX_SECTIONS).contains(&header.section_count);
    (header.sections != 0 && sound).then(|| (header.sections, usize::from(SECTION) * usize::from(header.section_count)))
}
