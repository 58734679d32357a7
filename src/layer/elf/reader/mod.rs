//! The ELF reader, which takes pieces of a file in order and collects its contents.

mod block;
mod finish;
mod search;

use memchr::memmem::Finder;

use crate::layer::elf::bytes::{to_file_offset, to_memory_length};
use crate::layer::elf::dynamic_section::{DynamicStrings, MAX_DYNAMIC_SIZE};
use crate::layer::elf::gpu_code::CodeCollector;
use crate::layer::elf::header::{ELF_HEADER_SIZE, ElfHeader, FileFormat, ProgramHeaders};
use crate::layer::elf::reader::block::SearchBlock;
use crate::layer::elf::requested_ranges::{RangePurpose, RequestedRange, RequestedRanges};
use crate::layer::elf::sections::{MAX_SECTIONS, SECTION_HEADER_SIZE};
use crate::layer::elf::strings::{MAX_NAME_LENGTH, MAX_PATH_LENGTH, NameStrings};
use crate::layer::elf::summary::UninspectedElfPart;
use crate::layer::elf::{compat_note, fatbin};

/// The most memory that a reader uses for any file, in bytes: its block, recorded strings and ranges, and counts.
pub const MAX_READER_MEMORY: usize = 256 * 1024;

/// The tag `DT_VERNEED`, which the dynamic section of nearly every library with dependencies contains.
const VERNEED_TAG: &[u8] = b"\xfe\xff\xff\x6f\0\0\0\0";

/// Reads one ELF file of a known size from front to back.
///
/// How the file is cut into pieces makes no difference to what is seen.
#[derive(Debug)]
pub struct ElfReader {
    size: u64,
    /// Bytes that have come.
    position: u64,
    start: Option<FileFormat>,
    windows: RequestedRanges,
    block: SearchBlock,
    magic: Finder<'static>,
    owner: Finder<'static>,
    versions: Finder<'static>,
    code: CodeCollector,
    strings: NameStrings,
    programs: Option<ProgramHeaders>,
    dynamic_strings: Option<DynamicStrings>,
    /// Up to where strings were kept because it was not known which are names.
    kept_end: u64,
    names: Vec<(u64, Vec<u8>)>,
    notes: Vec<(u64, Vec<u8>)>,
    /// What looked like dynamic sections before the program headers came.
    likely: Vec<(u64, Vec<u8>)>,
    table: Option<Vec<u8>>,
    missed: Vec<UninspectedElfPart>,
}

impl ElfReader {
    /// Creates a reader for a file of this many bytes.
    pub fn new(size: u64) -> Self {
        let mut windows = RequestedRanges::default();
        windows.request(RangePurpose::Header, 0, ELF_HEADER_SIZE.min(to_memory_length(size)));
        Self {
            size,
            position: 0,
            start: None,
            windows,
            block: SearchBlock::default(),
            magic: Finder::new(fatbin::MAGIC),
            owner: Finder::new(compat_note::NOTE_OWNER),
            versions: Finder::new(VERNEED_TAG),
            code: CodeCollector::default(),
            strings: NameStrings::new(),
            programs: None,
            dynamic_strings: None,
            kept_end: u64::MAX,
            names: Vec::new(),
            notes: Vec::new(),
            likely: Vec::new(),
            table: None,
            missed: Vec::new(),
        }
    }

    /// Reads the next bytes of the file; bytes beyond its size are ignored.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.position < self.size {
            let mut step = to_memory_length(self.size - self.position).min(rest.len());
            if matches!(self.start, Some(FileFormat::Other | FileFormat::Foreign { .. })) {
                self.position = self.position.saturating_add(to_file_offset(step));
                return;
            }
            step = step.min(to_memory_length(self.windows.next_end(self.position) - self.position));
            let skipping = self.block.base.saturating_sub(self.position);
            step = match skipping {
                0 => step.min(self.block.want.saturating_sub(self.block.bytes.len())),
                skipping => step.min(to_memory_length(skipping)),
            };
            let (now, later) = rest.split_at(step);
            self.windows.feed(self.position, now);
            if skipping == 0 {
                self.block.append(now);
            }
            self.position = self.position.saturating_add(to_file_offset(step));
            while let Some(window) = self.windows.take_complete() {
                self.process_range(window);
            }
            if self.block.bytes.len() >= self.block.want && matches!(self.start, Some(FileFormat::Elf(_))) {
                self.search_block(false);
            }
            rest = later;
        }
    }

    /// Returns the memory in use, in bytes.
    pub fn memory_usage(&self) -> usize {
        let kept =
            self.names.iter().chain(&self.notes).chain(&self.likely).map(|(_, bytes)| bytes.capacity()).sum::<usize>();
        kept + (self.names.capacity() + self.notes.capacity() + self.likely.capacity()) * size_of::<(u64, Vec<u8>)>()
            + self.block.bytes.capacity()
            + self.windows.memory_usage()
            + self.code.memory_usage()
            + self.strings.memory_usage()
            + self.table.as_ref().map_or(0, Vec::capacity)
            + self.programs.as_ref().map_or(0, ProgramHeaders::memory_usage)
            + self.dynamic_strings.as_ref().map_or(0, DynamicStrings::memory_usage)
            + size_of::<Self>()
    }

    /// Processes a requested range that has arrived completely.
    fn process_range(&mut self, window: RequestedRange) {
        match window.role {
            RangePurpose::Header => self.process_header(&window.bytes),
            RangePurpose::Programs => self.process_program_headers(&window.bytes),
            RangePurpose::Dynamic => self.process_dynamic_section(&window.bytes),
            RangePurpose::Name => self.names.push((window.at, window.bytes)),
            RangePurpose::Sections => self.table = Some(window.bytes),
        }
    }

    /// Requests a range of the file, and returns whether the stream has not passed it yet.
    fn request_range(&mut self, role: RangePurpose, at: u64, length: usize) -> bool {
        let fits = at >= self.position && at.checked_add(to_file_offset(length)).is_some_and(|end| end <= self.size);
        if fits {
            self.windows.request(role, at, length);
        }
        fits
    }

    /// Reads the ELF header and requests the tables that it names.
    fn process_header(&mut self, bytes: &[u8]) {
        let start = FileFormat::read(bytes);
        if let FileFormat::Elf(header) = &start {
            let (programs, table) = (header.programs, section_table_range(header));
            let strange = header.strange_programs;
            if strange || programs.is_some_and(|(at, length)| !self.request_range(RangePurpose::Programs, at, length)) {
                self.missed.push(UninspectedElfPart::Dynamic);
            }
            if let Some((at, length)) = table {
                self.request_range(RangePurpose::Sections, at, length);
            }
            if programs.is_none() {
                self.kept_end = 0;
            }
        }
        self.start = Some(start);
    }

    /// Reads the program headers and requests the dynamic section, unless the stream has passed it.
    fn process_program_headers(&mut self, bytes: &[u8]) {
        let programs = ProgramHeaders::read(bytes);
        let dynamic = programs.dynamic;
        self.programs = Some(programs);
        let likely = std::mem::take(&mut self.likely);
        let Some((at, size)) = dynamic else {
            self.kept_end = 0;
            return;
        };
        if at < self.position {
            let block = [(self.block.base, std::mem::take(&mut self.block.bytes))];
            let passed = likely.iter().chain(&block).find_map(|(start, bytes)| {
                let from = to_memory_length(at.checked_sub(*start)?);
                bytes.get(from..from.checked_add(to_memory_length(size))?)
            });
            match passed {
                Some(bytes) => self.process_dynamic_section(bytes),
                None => self.kept_end = 0,
            }
            let [(_, bytes)] = block;
            self.block.bytes = bytes;
        } else if !self.request_range(RangePurpose::Dynamic, at, to_memory_length(size).min(MAX_DYNAMIC_SIZE)) {
            self.kept_end = 0;
        }
    }

    /// Reads the dynamic section and requests the strings that it names.
    fn process_dynamic_section(&mut self, bytes: &[u8]) {
        let Some(dynamic_strings) = self.programs.as_ref().and_then(|programs| DynamicStrings::read(bytes, programs))
        else {
            return;
        };
        for (at, path) in dynamic_strings.string_offsets().filter(|(at, _)| *at >= self.position) {
            let most = if path { MAX_PATH_LENGTH } else { MAX_NAME_LENGTH };
            let length = to_memory_length(self.size.saturating_sub(at)).min(most);
            self.windows.request(RangePurpose::Name, at, length);
        }
        // A name that begins before may have its `.so` behind this place.
        self.kept_end = self.position.saturating_add(to_file_offset(MAX_PATH_LENGTH));
        self.dynamic_strings = Some(dynamic_strings);
    }
}

/// Returns the offset and length of the section table, if it has a supported size.
fn section_table_range(header: &ElfHeader) -> Option<(u64, usize)> {
    let sound = header.section_size == SECTION_HEADER_SIZE && (1..=MAX_SECTIONS).contains(&header.section_count);
    (header.sections != 0 && sound)
        .then(|| (header.sections, usize::from(SECTION_HEADER_SIZE) * usize::from(header.section_count)))
}
