//! Placeholder of the reader of ELF files.

use serde::Deserialize;
use serde::Serialize;

/// What an ELF file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElfSeen {
    /// The machine.
    pub machine: u16,
    /// Its own name.
    pub soname: Option<String>,
    /// What it needs.
    pub needed: Vec<String>,
}

/// Reads one ELF file as it comes.
#[derive(Debug, Default)]
pub struct ElfReader {
    head: Vec<u8>,
}

impl ElfReader {
    /// For a file of that size.
    pub fn new(_size: u64) -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let wanted = 64_usize.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(wanted));
    }

    /// What was seen.
    pub fn finish(self) -> ElfSeen {
        let machine = self.head.get(18..20).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        ElfSeen { machine, ..ElfSeen::default() }
    }
}
