//! The summary of one ELF file.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cuda::{CodeTarget, CompatNote, CudaVersion};

/// The contents of one ELF file that matter for its start, as far as the file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfSummary {
    /// `e_machine`: 62 for x86-64, 183 for 64-bit Arm; 0 where the file is no ELF file.
    pub machine: u16,
    /// `e_type`: 2 for a program with a fixed address, 3 for a shared object.
    pub kind: u16,
    /// The name by which other files require it.
    pub soname: Option<String>,
    /// Libraries that the loader has to find first, in the order of the file.
    pub needed: Vec<String>,
    /// `DT_RPATH`, where it was met in the stream.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`, where it was met in the stream.
    pub runpath: Option<String>,
    /// The forward compatibility note of a compat library; a note that cannot be read counts as none.
    pub note: Option<CompatNote>,
    /// GPU code by the contents of its containers; sorted.
    pub code: Vec<CodeContainers>,
    /// Entries of fat binaries that are of no kind known here.
    pub unknown_entries: u32,
    /// The parts that could not be read, so that the rest may be incomplete; sorted.
    pub not_inspected: Vec<UninspectedElfPart>,
}

impl ElfSummary {
    /// Whether all GPU code of the file was read and its section is known.
    pub fn has_complete_code(&self) -> bool {
        let placed = self.code.iter().all(|containers| containers.place != CodeSection::Unknown);
        placed && self.unknown_entries == 0 && self.uninspected_code_part().is_none()
    }

    /// Returns the first part that was not inspected and that may contain more GPU code.
    pub fn uninspected_code_part(&self) -> Option<UninspectedElfPart> {
        let partly = [
            UninspectedElfPart::Truncated,
            UninspectedElfPart::Sections,
            UninspectedElfPart::Code,
            UninspectedElfPart::TooMuchCode,
            UninspectedElfPart::NotElf,
        ];
        self.not_inspected.iter().copied().find(|missed| partly.contains(missed))
    }

    /// Returns the first part that was not inspected and that may name more needed libraries.
    pub fn uninspected_needed_part(&self) -> Option<UninspectedElfPart> {
        let partly = [UninspectedElfPart::Truncated, UninspectedElfPart::Dynamic, UninspectedElfPart::Needed];
        self.not_inspected.iter().copied().find(|missed| partly.contains(missed))
    }
}

/// Fat binary containers with equal contents in one section.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodeContainers {
    /// The section that contains them.
    pub place: CodeSection,
    /// The contents of each.
    pub holds: FatbinContents,
    /// How many there are.
    pub count: u32,
}

/// The section of a container, which determines how its code is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeSection {
    /// `.nv_fatbin`: the runtime registers it.
    Registered,
    /// `__nv_relfatbin`: input of the device linker; no cubin of it is used as it is.
    Relocatable,
    /// In another section, as data of the program.
    Elsewhere,
    /// Not known, mostly because the file has no sections.
    Unknown,
}

/// The contents of one container, an element for each image; sorted. A few old libraries have empty containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FatbinContents {
    /// Cubins.
    pub sass: Vec<CodeTarget>,
    /// PTX.
    pub ptx: Vec<Ptx>,
    /// Intermediate code for linking at run time; nothing that a GPU or a driver takes as it is.
    pub lto: Vec<CodeTarget>,
}

/// A PTX image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ptx {
    /// What it is written for.
    pub target: CodeTarget,
    /// Major and minor of the PTX language, which the driver's compiler has to know.
    pub isa: (u16, u16),
}

impl Ptx {
    /// Returns the version of the PTX language as a dotted version.
    pub fn isa_version(self) -> Option<CudaVersion> {
        format!("{}.{}", self.isa.0, self.isa.1).parse().ok()
    }
}

/// A part of an ELF file that was not inspected, so that missing results prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UninspectedElfPart {
    /// The file does not begin as an ELF file does.
    NotElf,
    /// An ELF file that is not of 64-bit little-endian x86-64 or Arm; nothing but its machine was read.
    Foreign,
    /// The stream ended before the file did.
    Truncated,
    /// The program headers or what they lead to: neither soname nor needed libraries are known.
    Dynamic,
    /// The soname is at an offset that the stream had already passed.
    Soname,
    /// Not every needed library has its name.
    Needed,
    /// `DT_RPATH` or `DT_RUNPATH` is at an offset that the stream had already passed.
    SearchPath,
    /// The section table: places of GPU code and the note are not known.
    Sections,
    /// The forward compatibility note exists, but is outside the kept part.
    Note,
    /// GPU code that is broken or of a shape not known here.
    Code,
    /// More GPU code than is kept apart.
    TooMuchCode,
}

impl fmt::Display for UninspectedElfPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotElf => "it is not an ELF file",
            Self::Foreign => "it is not for 64-bit x86 or Arm",
            Self::Truncated => "the file ends too early",
            Self::Dynamic => "its dynamic section was not found within the read limit",
            Self::Soname => "its soname was not read",
            Self::Needed => "names of required libraries were not read",
            Self::SearchPath => "its library search path was not read",
            Self::Sections => "its section table cannot be read",
            Self::Note => "its forward compatibility note was not read",
            Self::Code => "part of its native code or PTX has an unknown format",
            Self::TooMuchCode => "it has more native code and PTX entries than the limit",
        })
    }
}
