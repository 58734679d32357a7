//! What an ELF file says, read once from front to back as it comes out of a stream.
//!
//! Nothing seeks and nothing is inflated: fat binaries name the architectures of their code in headers, so the
//! payloads are stepped over. What the front of a file needs from its back (where the sections lie, which of many
//! strings is a name) is remembered in bounded form and put together at the end. A file of any size and shape is read
//! in one pass with at most [`MAX_HELD`] bytes; what does not fit is named in [`ElfSeen::not_inspected`] and never
//! guessed.

mod bytes;
mod code;
mod dynamic;
mod fatbin;
mod header;
mod note;
mod reader;
mod sections;
mod seen;
mod strings;
mod windows;

pub use self::reader::ElfReader;
pub use self::reader::MAX_HELD;
pub use self::seen::Containers;
pub use self::seen::ElfSeen;
pub use self::seen::Images;
pub use self::seen::Missed;
pub use self::seen::Place;
pub use self::seen::Ptx;
