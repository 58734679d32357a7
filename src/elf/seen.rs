//! What was seen of one ELF file.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::cuda::ElfNote;

/// One ELF file, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfSeen {
    /// `e_machine`: 62 for x86-64, 183 for 64-bit Arm; 0 where the file is no ELF file.
    pub machine: u16,
    /// `e_type`: 2 for a program with a fixed address, 3 for a shared object.
    pub kind: u16,
    /// The name that other files ask for it by.
    pub soname: Option<String>,
    /// Libraries that the loader has to find first, in the order of the file.
    pub needed: Vec<String>,
    /// `DT_RPATH`, where it was met in the stream.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`, where it was met in the stream.
    pub runpath: Option<String>,
    /// The forward compatibility note of a compat library; a note that cannot be read counts as none.
    pub note: Option<ElfNote>,
    /// GPU code by what its containers hold; sorted.
    pub code: Vec<Containers>,
    /// Entries of fat binaries that are of no kind known here.
    pub unknown_entries: u32,
    /// What could not be told, and why the rest may be less than all; sorted.
    pub not_inspected: Vec<Missed>,
}

impl ElfSeen {
    /// Whether all GPU code of the file was read and is in its place.
    pub fn code_is_whole(&self) -> bool {
        let placed = self.code.iter().all(|containers| containers.place != Place::Unknown);
        placed && self.unknown_entries == 0 && self.code_missed().is_none()
    }

    /// What was not inspected, so that there may be more GPU code than is told.
    pub fn code_missed(&self) -> Option<Missed> {
        let partly = [Missed::Truncated, Missed::Sections, Missed::Code, Missed::TooMuchCode, Missed::NotElf];
        self.not_inspected.iter().copied().find(|missed| partly.contains(missed))
    }

    /// What was not inspected, so that it may need more libraries than are told.
    pub fn needed_missed(&self) -> Option<Missed> {
        let partly = [Missed::Truncated, Missed::Dynamic, Missed::Needed];
        self.not_inspected.iter().copied().find(|missed| partly.contains(missed))
    }
}

/// Containers that hold the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Containers {
    /// Where they lie.
    pub place: Place,
    /// What each holds.
    pub holds: Images,
    /// How many there are.
    pub count: u32,
}

/// What the place of a container says of its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// `.nv_fatbin`: the runtime registers it.
    Registered,
    /// `__nv_relfatbin`: input of the device linker; no cubin of it is used as it is.
    Relocatable,
    /// In another section, as data of the program.
    Elsewhere,
    /// Not known, mostly because the file has no sections.
    Unknown,
}

/// What one container holds, an element for each image; sorted. A few old libraries have containers with nothing in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Images {
    /// Cubins.
    pub sass: Vec<CodeTarget>,
    /// PTX.
    pub ptx: Vec<Ptx>,
    /// Intermediate code for linking at run time; nothing that a GPU or a driver takes as it is.
    pub lto: Vec<CodeTarget>,
}

/// One piece of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ptx {
    /// What it is written for.
    pub target: CodeTarget,
    /// Major and minor of the PTX language, which the driver's compiler has to know.
    pub isa: (u16, u16),
}

impl Ptx {
    /// The version of the language as a dotted version.
    pub fn isa_version(self) -> Option<CudaVersion> {
        format!("{}.{}", self.isa.0, self.isa.1).parse().ok()
    }
}

/// Something that was not inspected, so that its absence says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The file does not begin as an ELF file does.
    NotElf,
    /// An ELF file that is not of 64-bit little-endian x86-64 or Arm; nothing but its machine was read.
    Foreign,
    /// The stream ended before the file did.
    Truncated,
    /// The program headers or what they lead to: neither soname nor needed libraries are known.
    Dynamic,
    /// The soname lies where the stream had passed already.
    Soname,
    /// Not every needed library has its name.
    Needed,
    /// `DT_RPATH` or `DT_RUNPATH` lies where the stream had passed already.
    SearchPath,
    /// The section table: places of GPU code and the note are not known.
    Sections,
    /// The forward compatibility note is there, but lies outside of what was kept.
    Note,
    /// GPU code that is broken or of a shape not known here.
    Code,
    /// More GPU code than is kept apart.
    TooMuchCode,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotElf => "it is not an ELF file",
            Self::Foreign => "it is not for 64-bit x86 or Arm",
            Self::Truncated => "the file is truncated",
            Self::Dynamic => "its dynamic section is outside of the inspected part",
            Self::Soname => "its soname is outside of the inspected part",
            Self::Needed => "names of required libraries are outside of the inspected part",
            Self::SearchPath => "its library search path is outside of the inspected part",
            Self::Sections => "its section table is not readable",
            Self::Note => "its forward compatibility note is outside of the inspected part",
            Self::Code => "part of its GPU code has an unknown format",
            Self::TooMuchCode => "it contains more GPU code than the limit",
        })
    }
}
