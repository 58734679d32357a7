//! Strings that may be library names, search paths or section names, recorded by their offset as the stream passes
//! them.
//!
//! The dynamic section, which says where the names are, comes long after them in most files: strings with `.so`,
//! `$ORIGIN`, `${ORIGIN}` or `/lib` in them are kept until it does. The names of sections come before or after the table that points at
//! them: those that matter are kept as mere offsets.

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use crate::layer::elf::bytes::to_file_offset;
use crate::layer::elf::sections::SectionKind;

/// The variable after `$` or `${` that the loader replaces by the directory of a file.
const ORIGIN: &[u8] = b"ORIGIN";
/// The longest part of a library name on either side of its `.so`.
pub(super) const MAX_NAME_LENGTH: usize = 160;
/// The longest search path; torch has one of about 900 bytes.
pub(super) const MAX_PATH_LENGTH: usize = 2_000;
/// The number of bytes before a match that are searched for the start of its string.
pub(super) const LOOK_BEHIND: usize = MAX_NAME_LENGTH;
/// The number of bytes after a match that are searched for the end of its string.
pub(super) const LOOK_AHEAD: usize = MAX_PATH_LENGTH + 48;
/// The largest total size of recorded strings in bytes: about 700 names.
const MAX_ARENA_SIZE: usize = 24 * 1024;
/// The largest number of recorded strings.
const MAX_STRINGS: usize = 640;
/// The largest number of these that can only be search paths; many other strings in libraries resemble them.
const MAX_SEARCH_PATHS: usize = 64;
/// The largest number of recorded section names; a file has three.
const MAX_SECTION_NAMES: usize = 256;

/// A range of the file: a match counts if it begins in `from..to`, and its string may extend beyond on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchRange<'a> {
    pub(super) base: u64,
    pub(super) bytes: &'a [u8],
    pub(super) from: usize,
    pub(super) to: usize,
}

impl SearchRange<'_> {
    /// Returns the first match that begins at `from` or later.
    pub(super) fn find(&self, finder: &Finder<'_>, from: usize) -> Option<usize> {
        let end = self.to.saturating_add(finder.needle().len()).saturating_sub(1).min(self.bytes.len());
        finder.find(self.bytes.get(from..end)?).map(|at| from + at)
    }
}

/// A recorded string: offset in the file, start in the arena, length.
type RecordedString = (u64, usize, usize);

/// The recorded strings of a file that may be names or search paths.
#[derive(Debug)]
pub(super) struct NameStrings {
    library: Finder<'static>,
    paths: [Finder<'static>; 2],
    fatbin: Finder<'static>,
    note: Finder<'static>,
    arena: Vec<u8>,
    kept: Vec<RecordedString>,
    /// Up to where each needle's last string reaches.
    passed: [u64; 3],
    /// Search paths among the strings.
    paths_kept: usize,
    /// Names of sections, by offset in the file.
    pub(super) sections: Vec<(u64, SectionKind)>,
    /// Whether there were more of them than are kept.
    pub(super) too_many: bool,
}

impl NameStrings {
    /// Creates an empty collection with its search patterns.
    pub(super) fn new() -> Self {
        Self {
            library: Finder::new(b".so"),
            paths: [Finder::new(ORIGIN), Finder::new(b"/lib")],
            fatbin: Finder::new(b"fatbin\0"),
            note: Finder::new(b".note.cuda.fwd_compatibility\0"),
            arena: Vec::new(),
            kept: Vec::new(),
            passed: [0; 3],
            paths_kept: 0,
            sections: Vec::new(),
            too_many: false,
        }
    }

    /// Records the strings that may be library names or search paths.
    pub(super) fn record_names(&mut self, piece: SearchRange<'_>) {
        let [library, origin, lib] = self.passed;
        let paths = self.paths.clone();
        let library = self.record_matches(piece, &self.library.clone(), false, library);
        let [origin, lib] =
            [(&paths[0], origin), (&paths[1], lib)].map(|(finder, at)| self.record_matches(piece, finder, true, at));
        self.passed = [library, origin, lib];
    }

    /// Records the strings around the matches of one pattern, and returns the offset up to which they reach.
    fn record_matches(&mut self, piece: SearchRange<'_>, finder: &Finder<'_>, path: bool, passed: u64) -> u64 {
        let ahead = if path { MAX_PATH_LENGTH } else { MAX_NAME_LENGTH };
        let mut passed = passed;
        let done = usize::try_from(passed.saturating_sub(piece.base)).unwrap_or(usize::MAX);
        let mut from = piece.from.max(done);
        while self.has_room(path) {
            let Some(hit) = piece.find(finder, from) else { break };
            let before = piece.bytes.get(hit.saturating_sub(LOOK_BEHIND)..hit).unwrap_or_default();
            if finder.needle() == ORIGIN && !before.ends_with(b"$") && !before.ends_with(b"${") {
                from = hit + 1;
                passed = piece.base.saturating_add(to_file_offset(from));
                continue;
            }
            let start = memrchr(0, before).map_or(hit - before.len(), |zero| hit - before.len() + zero + 1);
            let end = (hit + ahead).min(piece.bytes.len());
            let rest = piece.bytes.get(hit..end).unwrap_or_default();
            let zero = memchr(0, rest).map(|zero| hit + zero);
            let text = zero.and_then(|zero| piece.bytes.get(start..zero));
            if let Some(text) = text.filter(|text| self.arena.len() + text.len() <= MAX_ARENA_SIZE) {
                self.kept.push((piece.base.saturating_add(to_file_offset(start)), self.arena.len(), text.len()));
                self.arena.extend_from_slice(text);
                self.paths_kept += usize::from(path);
            }
            from = zero.unwrap_or(end).max(hit + 1);
            passed = piece.base.saturating_add(to_file_offset(from));
        }
        passed
    }

    /// Whether another string can be recorded.
    fn has_room(&mut self, path: bool) -> bool {
        if self.arena.capacity() == 0 {
            self.arena.reserve_exact(MAX_ARENA_SIZE);
            self.kept.reserve_exact(MAX_STRINGS);
        }
        self.kept.len() < MAX_STRINGS
            && self.arena.len() < MAX_ARENA_SIZE
            && (!path || self.paths_kept < MAX_SEARCH_PATHS)
    }

    /// Records the offsets of relevant section names.
    pub(super) fn record_section_names(&mut self, piece: SearchRange<'_>) {
        let mut from = piece.from;
        while let Some(hit) = piece.find(&self.fatbin, from) {
            let before = piece.bytes.get(..hit).unwrap_or_default();
            let at = piece.base.saturating_add(to_file_offset(hit));
            if before.ends_with(b".nv_") {
                self.add_section_name(at - 4, SectionKind::Registered);
            } else if before.ends_with(b"__nv_rel") {
                self.add_section_name(at - 8, SectionKind::Relocatable);
            }
            from = hit + 1;
        }
        let mut from = piece.from;
        while let Some(hit) = piece.find(&self.note, from) {
            self.add_section_name(piece.base.saturating_add(to_file_offset(hit)), SectionKind::Note);
            from = hit + 1;
        }
    }

    /// Records the offset of one section name, unless the limit is reached.
    fn add_section_name(&mut self, at: u64, named: SectionKind) {
        if self.sections.len() < MAX_SECTION_NAMES {
            self.sections.push((at, named));
        } else {
            self.too_many = true;
        }
    }

    /// Returns the string at a file offset, which may be inside a longer recorded one.
    pub(super) fn string_at(&self, at: u64) -> Option<&[u8]> {
        self.kept.iter().find_map(|(start, from, length)| {
            let inside = usize::try_from(at.checked_sub(*start)?).ok().filter(|inside| inside < length)?;
            self.arena.get(from + inside..from + length)
        })
    }

    /// Returns the heap memory in use, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.arena.capacity()
            + self.kept.capacity() * size_of::<RecordedString>()
            + self.sections.capacity() * size_of::<(u64, SectionKind)>()
    }
}
