//! What one layer says, on its own.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::Serialize;

use crate::elf::ElfSeen;
use crate::installed::Evidence;
use crate::layer::limits::TOLD;

/// What was seen of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerSeen {
    /// Its digest, checked.
    pub digest: String,
    /// Packed bytes.
    pub size: u64,
    /// Unpacked bytes.
    pub unpacked: u64,
    /// Entries worth knowing, by path, with `/` before each part. Symbolic links are all here.
    pub entries: BTreeMap<String, EntrySeen>,
    /// Paths that this layer takes away from the layers below.
    pub whiteouts: Vec<String>,
    /// Directories of which nothing from below is left; empty for the root.
    pub opaque: Vec<String>,
    /// Every name of this layer as a number, sorted: whatever has that name below is replaced.
    pub(super) names: Vec<u64>,
    /// What was passed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<Missed>,
}

impl LayerSeen {
    /// Whether every entry was looked at, so that what is not here is not in the layer.
    pub fn is_whole(&self) -> bool {
        !self.missed.iter().any(|missed| missed.mark.hides())
    }

    /// About how many bytes of memory this takes.
    pub fn weight(&self) -> usize {
        let entries = self.entries.iter().map(|(path, entry)| path.len() + entry.weight()).sum::<usize>();
        let taken = self.whiteouts.iter().chain(&self.opaque).map(|path| path.len() + size_of::<String>());
        size_of::<Self>() + entries + taken.sum::<usize>() + self.names.len() * size_of::<u64>()
    }
}

/// One entry of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySeen {
    /// The path as it stands in the archive, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A file of which only the name is known.
    Present,
    /// A symbolic link with its target as written.
    Link(String),
    /// Another name of the file at that path, of this layer or of one below.
    Hard(String),
    /// A file that was read.
    Read(Vec<Evidence>),
    /// An ELF file.
    Elf(Box<ElfSeen>),
}

/// What an entry takes beside what it says: room in the tree that is not used, and of what is asked for its path.
const SLACK: usize = 80;

impl EntrySeen {
    /// About how many bytes of memory this takes.
    pub(super) fn weight(&self) -> usize {
        let kind = match &self.kind {
            EntryKind::Present => 0,
            EntryKind::Link(target) | EntryKind::Hard(target) => target.len(),
            EntryKind::Read(evidence) => evidence.iter().map(evidence_weight).sum(),
            EntryKind::Elf(elf) => elf_weight(elf),
        };
        size_of::<Self>() + size_of::<String>() + SLACK + kind + self.written.as_ref().map_or(0, String::len)
    }
}

/// A text of the debugging form is longer than what it shows.
struct Count(usize);

impl fmt::Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

fn shown(value: &impl fmt::Debug) -> usize {
    let mut count = Count(0);
    // Counting never fails.
    let _ = fmt::write(&mut count, format_args!("{value:?}"));
    count.0
}

fn evidence_weight(evidence: &Evidence) -> usize {
    size_of::<Evidence>() + shown(evidence)
}

fn elf_weight(elf: &ElfSeen) -> usize {
    size_of::<ElfSeen>() + shown(elf)
}

/// Something that was passed over, so that its absence says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What it was.
    pub mark: Mark,
    /// How often.
    pub times: u64,
    /// Some of the paths, shortened.
    pub paths: Vec<String>,
}

/// What can be passed over in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The walk ended at a limit on headers or unpacked bytes.
    Beyond,
    /// Observations or names that are too many to keep.
    Full,
    /// A name longer than any path may be.
    LongName,
    /// A name that leads out of the image, or of a form that no runtime takes.
    OddName,
    /// A sparse file, whose content was not read.
    Sparse,
    /// A text longer than is kept.
    LongText,
    /// A hard link to a file whose content was not read.
    HardLink,
    /// Data behind the end of the archive, which runtimes ignore as well.
    Behind,
}

impl Mark {
    /// Whether entries may be hidden behind it.
    pub fn hides(self) -> bool {
        matches!(self, Self::Beyond | Self::Full | Self::LongName)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beyond => "the layer exceeds the size limit",
            Self::Full => "the layer exceeds the limit on files",
            Self::LongName => "a name exceeds the maximum path length",
            Self::OddName => "a name points outside of the image",
            Self::Sparse => "a file is sparse, and its content was not read",
            Self::LongText => "a file exceeds the size limit",
            Self::HardLink => "a hard link points to a file with unread content",
            Self::Behind => "data follows the end of the archive",
        })
    }
}

/// Collects what is passed over.
#[derive(Debug, Default)]
pub(super) struct Passing(BTreeMap<Mark, Missed>);

impl Passing {
    pub(super) fn add(&mut self, mark: Mark, path: &str) {
        let missed = self.0.entry(mark).or_insert_with(|| Missed { mark, times: 0, paths: Vec::new() });
        missed.times += 1;
        if missed.paths.len() < TOLD && !path.is_empty() {
            missed.paths.push(path.chars().take(200).collect());
        }
    }

    pub(super) fn finish(self) -> Vec<Missed> {
        self.0.into_values().collect()
    }
}
