//! Strings that may turn out to be names, remembered by their offset as the stream passes them.
//!
//! The dynamic section, which says where the names are, comes long after them in most files: strings with `.so`,
//! `$ORIGIN`, `${ORIGIN}` or `/lib` in them are kept until it does. The names of sections come before or after the table that points at
//! them: those that matter are kept as mere offsets.

use memchr::memchr;
use memchr::memmem::Finder;
use memchr::memrchr;

use crate::elf::bytes::offset;
use crate::elf::sections::Named;

/// What the loader puts the folder of a file for, behind `$` or `${`.
const ORIGIN: &[u8] = b"ORIGIN";
/// Longest name of a library on either side of its `.so`.
pub(super) const MAX_NAME: usize = 160;
/// Longest search path; torch's is some 900 bytes.
pub(super) const MAX_PATH: usize = 2_000;
/// How far behind a hit is looked for the start of its string.
pub(super) const BEHIND: usize = MAX_NAME;
/// How far after a hit is looked for the end of its string.
pub(super) const AHEAD: usize = MAX_PATH + 48;
/// Bytes of strings that are kept: some 700 names.
const MAX_ARENA: usize = 24 * 1024;
/// Strings that are kept.
const MAX_STRINGS: usize = 640;
/// Of these, strings that can be no more than search paths: libraries have many that look so.
const MAX_PATHS: usize = 64;
/// Places where the name of a section was met; a file has three.
const MAX_SECTION_NAMES: usize = 256;

/// A stretch of the file: a hit counts where it begins in `from..to`, and its string may reach beyond on both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) base: u64,
    pub(super) bytes: &'a [u8],
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Piece<'_> {
    /// The first hit that begins at `from` or later.
    pub(super) fn find(&self, finder: &Finder<'_>, from: usize) -> Option<usize> {
        let end = self.to.saturating_add(finder.needle().len()).saturating_sub(1).min(self.bytes.len());
        finder.find(self.bytes.get(from..end)?).map(|at| from + at)
    }
}

/// A string that is kept: offset in the file, start in the arena, length.
type Kept = (u64, usize, usize);

/// The strings of a file.
#[derive(Debug)]
pub(super) struct Strings {
    library: Finder<'static>,
    paths: [Finder<'static>; 2],
    fatbin: Finder<'static>,
    note: Finder<'static>,
    arena: Vec<u8>,
    kept: Vec<Kept>,
    /// Up to where each needle's last string reaches.
    passed: [u64; 3],
    /// Search paths among the strings.
    paths_kept: usize,
    /// Names of sections, by offset in the file.
    pub(super) sections: Vec<(u64, Named)>,
    /// Whether there were more of them than are kept.
    pub(super) too_many: bool,
}

impl Strings {
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

    /// Keeps the strings that may be names of libraries or search paths.
    pub(super) fn keep_names(&mut self, piece: Piece<'_>) {
        let [library, origin, lib] = self.passed;
        let paths = self.paths.clone();
        let library = self.keep(piece, &self.library.clone(), false, library);
        let [origin, lib] =
            [(&paths[0], origin), (&paths[1], lib)].map(|(finder, at)| self.keep(piece, finder, true, at));
        self.passed = [library, origin, lib];
    }

    /// Keeps the strings around one needle; says up to where they reach.
    fn keep(&mut self, piece: Piece<'_>, finder: &Finder<'_>, path: bool, passed: u64) -> u64 {
        let ahead = if path { MAX_PATH } else { MAX_NAME };
        let mut passed = passed;
        let done = usize::try_from(passed.saturating_sub(piece.base)).unwrap_or(usize::MAX);
        let mut from = piece.from.max(done);
        while self.has_room(path) {
            let Some(hit) = piece.find(finder, from) else { break };
            let before = piece.bytes.get(hit.saturating_sub(BEHIND)..hit).unwrap_or_default();
            if finder.needle() == ORIGIN && !before.ends_with(b"$") && !before.ends_with(b"${") {
                from = hit + 1;
                passed = piece.base.saturating_add(offset(from));
                continue;
            }
            let start = memrchr(0, before).map_or(hit - before.len(), |zero| hit - before.len() + zero + 1);
            let end = (hit + ahead).min(piece.bytes.len());
            let rest = piece.bytes.get(hit..end).unwrap_or_default();
            let zero = memchr(0, rest).map(|zero| hit + zero);
            let text = zero.and_then(|zero| piece.bytes.get(start..zero));
            if let Some(text) = text.filter(|text| self.arena.len() + text.len() <= MAX_ARENA) {
                self.kept.push((piece.base.saturating_add(offset(start)), self.arena.len(), text.len()));
                self.arena.extend_from_slice(text);
                self.paths_kept += usize::from(path);
            }
            from = zero.unwrap_or(end).max(hit + 1);
            passed = piece.base.saturating_add(offset(from));
        }
        passed
    }

    fn has_room(&mut self, path: bool) -> bool {
        if self.arena.capacity() == 0 {
            self.arena.reserve_exact(MAX_ARENA);
            self.kept.reserve_exact(MAX_STRINGS);
        }
        self.kept.len() < MAX_STRINGS && self.arena.len() < MAX_ARENA && (!path || self.paths_kept < MAX_PATHS)
    }

    /// Keeps where names of sections are.
    pub(super) fn keep_section_names(&mut self, piece: Piece<'_>) {
        let mut from = piece.from;
        while let Some(hit) = piece.find(&self.fatbin, from) {
            let before = piece.bytes.get(..hit).unwrap_or_default();
            let at = piece.base.saturating_add(offset(hit));
            if before.ends_with(b".nv_") {
                self.section(at - 4, Named::Registered);
            } else if before.ends_with(b"__nv_rel") {
                self.section(at - 8, Named::Relocatable);
            }
            from = hit + 1;
        }
        let mut from = piece.from;
        while let Some(hit) = piece.find(&self.note, from) {
            self.section(piece.base.saturating_add(offset(hit)), Named::Note);
            from = hit + 1;
        }
    }

    fn section(&mut self, at: u64, named: Named) {
        if self.sections.len() < MAX_SECTION_NAMES {
            self.sections.push((at, named));
        } else {
            self.too_many = true;
        }
    }

    /// The string at an offset of the file, which may lie inside of a longer one.
    pub(super) fn at(&self, at: u64) -> Option<&[u8]> {
        self.kept.iter().find_map(|(start, from, length)| {
            let inside = usize::try_from(at.checked_sub(*start)?).ok().filter(|inside| inside < length)?;
            self.arena.get(from + inside..from + length)
        })
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.arena.capacity()
            + self.kept.capacity() * size_of::<Kept>()
            + self.sections.capacity() * size_of::<(u64, Named)>()
    }
}
