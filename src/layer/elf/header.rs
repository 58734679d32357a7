//! Reads the ELF header and the program headers.

use crate::layer::elf::bytes::{u16_at, u32_at, u64_at};

/// The size of a 64-bit ELF header in bytes.
pub(super) const ELF_HEADER_SIZE: usize = 64;
/// The size of a 64-bit program header in bytes.
const PROGRAM_HEADER_SIZE: u16 = 56;
/// The largest number of program headers that are read; linkers write about ten.
const MAX_PROGRAM_HEADERS: u16 = 64;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;

/// The format of a file, recognized by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// Not an ELF file.
    Other,
    /// An ELF file of a machine or class that is not read.
    Foreign { machine: u16, kind: u16 },
    /// An ELF file that can be read.
    Elf(ElfHeader),
}

/// The fields of an ELF header that are used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ElfHeader {
    pub(super) machine: u16,
    pub(super) kind: u16,
    /// Offset and length of the program headers; none where there are none.
    pub(super) programs: Option<(u64, usize)>,
    /// Whether there are program headers that cannot be read.
    pub(super) strange_programs: bool,
    /// Offset of the section table; 0 where there is none.
    pub(super) sections: u64,
    pub(super) section_size: u16,
    pub(super) section_count: u16,
    pub(super) section_names: u16,
}

impl FileFormat {
    /// Reads the format from the first bytes of a file.
    pub(super) fn read(bytes: &[u8]) -> Self {
        if !bytes.starts_with(b"\x7fELF") {
            return Self::Other;
        }
        let big = bytes.get(5) == Some(&2);
        let half = |at: usize| u16_at(bytes, at).map_or(0, |value| if big { value.swap_bytes() } else { value });
        let (kind, machine) = (half(16), half(18));
        if !bytes.starts_with(b"\x7fELF\x02\x01") || ![EM_X86_64, EM_AARCH64].contains(&machine) {
            return Self::Foreign { machine, kind };
        }
        ElfHeader::read(bytes, machine, kind).map_or(Self::Foreign { machine, kind }, Self::Elf)
    }
}

impl ElfHeader {
    /// Reads the header; `None` if the bytes are too short.
    fn read(bytes: &[u8], machine: u16, kind: u16) -> Option<Self> {
        let (at, size, count) = (u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?);
        let sound = size == PROGRAM_HEADER_SIZE && count <= MAX_PROGRAM_HEADERS;
        let programs = (count > 0 && sound).then_some((at, usize::from(size) * usize::from(count)));
        Some(Self {
            machine,
            kind,
            programs,
            strange_programs: count > 0 && !sound,
            sections: u64_at(bytes, 40)?,
            section_size: u16_at(bytes, 58)?,
            section_count: u16_at(bytes, 60)?,
            section_names: u16_at(bytes, 62)?,
        })
    }
}

/// The fields of the program headers that are used.
#[derive(Debug, Default)]
pub(super) struct ProgramHeaders {
    /// Address, offset and length of what is loaded.
    loads: Vec<(u64, u64, u64)>,
    /// Offset and length of the dynamic section.
    pub(super) dynamic: Option<(u64, u64)>,
}

impl ProgramHeaders {
    /// Reads the program header table.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        for program in bytes.chunks_exact(usize::from(PROGRAM_HEADER_SIZE)) {
            let fields = || Some((u64_at(program, 16)?, u64_at(program, 8)?, u64_at(program, 32)?));
            match (u32_at(program, 0), fields()) {
                (Some(PT_LOAD), Some(load)) => found.loads.push(load),
                (Some(PT_DYNAMIC), Some((_, offset, length))) => found.dynamic = Some((offset, length)),
                _ => {}
            }
        }
        found
    }

    /// Returns the file offset of a virtual address, if a loaded segment contains it.
    pub(super) fn file_offset_of(&self, address: u64) -> Option<u64> {
        self.loads.iter().find_map(|(start, offset, length)| {
            let inside = address.checked_sub(*start).filter(|inside| inside < length)?;
            offset.checked_add(inside)
        })
    }

    /// Returns the heap memory in use, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.loads.capacity() * size_of::<(u64, u64, u64)>()
    }
}
