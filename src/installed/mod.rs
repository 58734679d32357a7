//! Placeholder of what files tell about installed software.

use serde::Deserialize;
use serde::Serialize;

/// What to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Nothing.
    Nothing,
    /// Its name is enough.
    Presence,
    /// Its text, up to so many bytes.
    Text {
        /// The most bytes.
        cap: u32,
    },
    /// What it says as an ELF file.
    Elf,
}

/// What a file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Its text.
    Text(String),
}

/// What to do with a path.
pub fn want(path: &str) -> Want {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.contains(".so") && !path.starts_with("/etc/") {
        Want::Elf
    } else if path.ends_with("torch/version.py") || path.starts_with("/etc/ld.so.conf.d/") {
        Want::Text { cap: 65536 }
    } else if path == "/etc/ld.so.cache" {
        Want::Presence
    } else {
        Want::Nothing
    }
}

/// What a file says.
pub fn read(_path: &str, bytes: &[u8]) -> Vec<Evidence> {
    vec![Evidence::Text(String::from_utf8_lossy(bytes).into_owned())]
}
