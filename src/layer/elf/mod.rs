//! Reads ELF files: libraries, search paths and GPU code of a file, in one pass over a stream.
//!
//! Nothing seeks and nothing is inflated: fat binaries name the architectures of their code in headers, so the
//! payloads are stepped over. What the front of a file needs from its back (the offsets of sections, which of many
//! strings is a name) is remembered in bounded form and put together at the end. A file of any size and shape is read
//! in one pass with at most [`MAX_READER_MEMORY`] bytes; what does not fit is named in [`ElfSummary::not_inspected`] and never
//! guessed.

mod bytes;
mod compat_note;
mod dynamic_section;
mod fatbin;
mod gpu_code;
mod header;
mod reader;
mod requested_ranges;
mod sections;
mod strings;
mod summary;

pub use self::reader::{ElfReader, MAX_READER_MEMORY};
pub use self::summary::{CodeContainers, CodeSection, ElfSummary, FatbinContents, Ptx, UninspectedElfPart};
