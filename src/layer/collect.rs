//! What the entries of one archive come to: the later of two with one name counts, links on the way are followed.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::MutexGuard;

use crate::cuda::resolve;
use crate::cuda::split_path;
use crate::installed::Want;
use crate::installed::want;
use crate::layer::content::unread;
use crate::layer::limits::Limits;
use crate::layer::limits::SMALL;
use crate::layer::limits::STEPS;
use crate::layer::name::above;
use crate::layer::name::number;
use crate::layer::room::large;
use crate::layer::seen::EntryKind;
use crate::layer::seen::EntrySeen;
use crate::layer::seen::LayerSeen;
use crate::layer::seen::Mark;
use crate::layer::seen::Passing;

/// What stands at a path.
pub(super) enum Found {
    Directory,
    /// A file that was looked into and says nothing.
    Nothing,
    /// Anything else of which nothing is kept.
    Other,
    Kept(EntrySeen),
}

/// The last bits of the number of a name say what has it.
pub(super) const WHAT: u64 = 3;
/// A directory.
pub(super) const DIRECTORY: u64 = 1;
/// A file that was looked into.
const LOOKED: u64 = 2;
/// Anything else.
const OTHER: u64 = 0;

pub(super) struct Collector<'a> {
    limits: &'a Limits,
    seen: LayerSeen,
    passing: Passing,
    weight: usize,
    /// Symbolic links among the entries.
    links: usize,
    /// Paths that hard links lead to.
    shared: BTreeSet<String>,
    /// Those of them that had another file later.
    replaced: BTreeSet<String>,
    /// Parts of paths that were looked up.
    steps: Cell<u64>,
    /// Whether names are no more taken.
    full: bool,
    /// The directory that the last entry was put in, as written and as it is.
    parent: (String, String),
    /// Held once much is kept.
    large: Option<MutexGuard<'static, ()>>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            seen: LayerSeen::default(),
            passing: Passing::default(),
            weight: 0,
            links: 0,
            shared: BTreeSet::new(),
            replaced: BTreeSet::new(),
            steps: Cell::new(0),
            full: false,
            parent: (String::new(), String::new()),
            large: None,
        }
    }

    pub(super) fn miss(&mut self, mark: Mark, path: &str) {
        self.passing.add(mark, path);
    }

    /// Where an entry ends up: a link that came before leads its directory elsewhere.
    pub(super) fn landing(&mut self, path: String) -> Option<String> {
        let (parent, name) = split_path(&path);
        if parent.is_empty() || (self.links == 0 && self.parent.0 == parent) {
            return Some(path);
        }
        if self.parent.0 != parent {
            let real = if self.links == 0 { parent.to_owned() } else { self.real(parent)? };
            self.parent = (parent.to_owned(), real);
            self.make_directories();
        }
        let real = self.parent.1.as_str();
        if real == parent { Some(path) } else { Some(format!("{real}/{name}")) }
    }

    /// Where a path leads that is spoken of and not put anywhere.
    pub(super) fn lookup(&self, path: String) -> Option<String> {
        let (parent, name) = split_path(&path);
        if parent.is_empty() || self.links == 0 {
            return Some(path);
        }
        let real = self.real(parent)?;
        Some(format!("{real}/{name}"))
    }

    fn real(&self, path: &str) -> Option<String> {
        let real = resolve(path, |path| {
            self.steps.set(self.steps.get() + 1);
            match &self.seen.entries.get(path).filter(|_| self.steps.get() <= STEPS)?.kind {
                EntryKind::Link(target) => Some(target.as_str()),
                _ => None,
            }
        });
        let real = real.filter(|_| self.steps.get() <= STEPS)?;
        Some(if real == "/" { String::new() } else { real })
    }

    /// The directory of an entry is there with it, and so are those above.
    fn make_directories(&mut self) {
        let real = self.parent.1.clone();
        for directory in [real.as_str()].into_iter().filter(|path| !path.is_empty()).chain(above(&real)) {
            self.note(directory, DIRECTORY);
            if self.seen.entries.contains_key(directory) {
                self.remove(directory);
            }
        }
    }

    /// Puts an entry where it lands. What was below a directory that gives way to it is gone; that this layer had
    /// those names stays noted, which matters only to an archive that makes the directory a second time.
    pub(super) fn put(&mut self, path: &str, found: Found) {
        self.remove(path);
        if matches!(found, Found::Directory) {
            self.note(path, DIRECTORY);
            return;
        }
        self.note(path, if matches!(found, Found::Nothing) { LOOKED } else { OTHER });
        self.remove_below(path);
        let Found::Kept(entry) = found else { return };
        if !self.room(path.len() + entry.weight()) {
            self.miss(Mark::Full, path);
            return;
        }
        match &entry.kind {
            EntryKind::Link(_) => {
                self.links += 1;
                self.parent = (String::new(), String::new());
            }
            EntryKind::Hard(target) => {
                self.shared.insert(target.clone());
            }
            _ => {}
        }
        self.seen.entries.insert(path.to_owned(), entry);
    }

    /// The file behind a hard link, if it is among the entries.
    pub(super) fn target(&self, path: &str) -> Option<(&str, &EntryKind)> {
        let (path, entry) = self.seen.entries.get_key_value(path)?;
        match &entry.kind {
            EntryKind::Hard(first) => match self.seen.entries.get_key_value(first) {
                Some((path, entry)) => Some((path, &entry.kind)),
                // Of a layer below.
                None => Some((first.as_str(), &entry.kind)),
            },
            kind => Some((path, kind)),
        }
    }

    pub(super) fn white_out(&mut self, path: String) {
        if self.room(path.len() + size_of::<String>()) {
            self.seen.whiteouts.push(path);
        } else {
            self.miss(Mark::Full, &path);
        }
    }

    pub(super) fn begin_anew(&mut self, directory: String) {
        if self.room(directory.len() + size_of::<String>()) {
            self.seen.opaque.push(directory);
        } else {
            self.miss(Mark::Full, &directory);
        }
    }

    /// What all entries come to.
    pub(super) fn finish(mut self) -> LayerSeen {
        self.shorten();
        self.seen.names.shrink_to_fit();
        for list in [&mut self.seen.whiteouts, &mut self.seen.opaque] {
            list.sort_unstable();
            list.dedup();
        }
        self.settle();
        self.seen.missed = self.passing.finish();
        self.seen
    }

    /// Makes sure that no other layer keeps much at the same time.
    pub(super) fn grow(&mut self) {
        if self.large.is_none() {
            self.large = Some(large());
        }
    }

    fn room(&mut self, bytes: usize) -> bool {
        let weight = self.weight.saturating_add(bytes);
        if weight > SMALL {
            self.grow();
        }
        let fits = weight <= self.limits.kept;
        if fits {
            self.weight = weight;
        }
        fits
    }

    /// Hard links to files that are not among the entries: read, unread, or of a layer below.
    fn settle(&mut self) {
        let Self { seen, passing, replaced, .. } = self;
        let LayerSeen { entries, names, .. } = seen;
        let mut settled = Vec::new();
        for (path, entry) in entries.iter() {
            let EntryKind::Hard(target) = &entry.kind else { continue };
            let wanted = want(path);
            let what = match names.binary_search_by_key(&(number(target) & !WHAT), |name| name & !WHAT) {
                _ if replaced.contains(target) => OTHER,
                _ if entries.contains_key(target) => continue,
                Ok(at) => names.get(at).copied().unwrap_or_default() & WHAT,
                Err(_) => continue,
            };
            if what != LOOKED || matches!(wanted, Want::Text { .. }) {
                passing.add(Mark::HardLink, path);
            }
            settled.push((path.clone(), unread(path, wanted)));
        }
        for (path, kind) in settled {
            match (kind, entries.get_mut(&path)) {
                (Some(kind), Some(entry)) => entry.kind = kind,
                _ => drop(entries.remove(&path)),
            }
        }
    }

    fn note(&mut self, path: &str, what: u64) {
        if self.seen.names.len() >= self.limits.names && !self.full {
            self.shorten();
            // Some room has to be free again, or the names would be sorted again and again.
            self.full = self.seen.names.len() > self.limits.names / 8 * 7;
        }
        if self.full {
            self.passing.add(Mark::Full, path);
        } else {
            self.seen.names.push(number(path) & !WHAT | what);
        }
    }

    /// Of the same names the last one counts.
    fn shorten(&mut self) {
        let names = &mut self.seen.names;
        names.reverse();
        names.sort_by_key(|name| name & !WHAT);
        names.dedup_by_key(|name| *name & !WHAT);
    }

    fn remove_below(&mut self, path: &str) {
        let from = format!("{path}/");
        let below = self.seen.entries.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let gone: Vec<String> =
            below.map(|(path, _)| path).take_while(|path| path.starts_with(&from)).cloned().collect();
        for path in gone {
            self.remove(&path);
        }
    }

    fn remove(&mut self, path: &str) {
        let Some(entry) = self.seen.entries.remove(path) else { return };
        self.weight = self.weight.saturating_sub(path.len() + entry.weight());
        if matches!(entry.kind, EntryKind::Link(_)) {
            self.links = self.links.saturating_sub(1);
            self.parent = (String::new(), String::new());
        }
        if self.shared.remove(path) {
            self.replaced.insert(path.to_owned());
        }
    }
}
