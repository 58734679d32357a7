//! The ELF header and the program headers.

use crate::elf::bytes::u16_at;
use crate::elf::bytes::u32_at;
use crate::elf::bytes::u64_at;

/// Length of an ELF header of 64 bits.
pub(super) const HEADER: usize = 64;
/// Length of a program header of 64 bits.
const PROGRAM: u16 = 56;
/// More program headers than a linker writes, of which there are some ten.
const MAX_PROGRAMS: u16 = 64;
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;

/// What the first bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// No ELF file.
    Other,
    /// Of a machine or shape that is not read.
    Foreign { machine: u16, kind: u16 },
    /// Readable.
    Elf(Header),
}

/// What is used of an ELF header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
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

impl Start {
    /// Reads the first bytes of a file.
    pub(super) fn read(bytes: &[u8]) -> Self {
        if !bytes.starts_with(b"\x7fELF") {
            return Self::Other;
        }
        let big = bytes.get(5) == Some(&2);
        let half = |at: usize| u16_at(bytes, at).map_or(0, |value| if big { value.swap_bytes() } else { value });
        let (kind, machine) = (half(16), half(18));
        if !bytes.starts_with(b"\x7fELF\x02\x01") || ![X86_64, AARCH64].contains(&machine) {
            return Self::Foreign { machine, kind };
        }
        Header::read(bytes, machine, kind).map_or(Self::Foreign { machine, kind }, Self::Elf)
    }
}

impl Header {
    fn read(bytes: &[u8], machine: u16, kind: u16) -> Option<Self> {
        let (at, size, count) = (u64_at(bytes, 32)?, u16_at(bytes, 54)?, u16_at(bytes, 56)?);
        let sound = size == PROGRAM && count <= MAX_PROGRAMS;
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

/// What is used of the program headers.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// Address, offset and length of what is loaded.
    loads: Vec<(u64, u64, u64)>,
    /// Offset and length of the dynamic section.
    pub(super) dynamic: Option<(u64, u64)>,
}

impl Programs {
    /// Reads the table.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        for program in bytes.chunks_exact(usize::from(PROGRAM)) {
            let fields = || Some((u64_at(program, 16)?, u64_at(program, 8)?, u64_at(program, 32)?));
            match (u32_at(program, 0), fields()) {
                (Some(PT_LOAD), Some(load)) => found.loads.push(load),
                (Some(PT_DYNAMIC), Some((_, offset, length))) => found.dynamic = Some((offset, length)),
                _ => {}
            }
        }
        found
    }

    /// Where in the file an address lies.
    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        self.loads.iter().find_map(|(start, offset, length)| {
            let inside = address.checked_sub(*start).filter(|inside| inside < length)?;
            offset.checked_add(inside)
        })
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.loads.capacity() * size_of::<(u64, u64, u64)>()
    }
}
