//! Collects the entries of one layer archive. The last of several entries with one path counts, and links in paths
//! are followed.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::MutexGuard;

use crate::cuda::{resolve_links, split_path};
use crate::layer::archive_path::{hash_path, parent_directories};
use crate::layer::file_content::kind_without_content;
use crate::layer::installed::{FileReadMode, file_read_mode};
use crate::layer::layer_summary::{
    EntryKind, EntrySummary, LayerLimits, LayerSummary, MAX_PATH_STEPS, SMALL_LAYER_MEMORY, SkipLog, SkipReason,
};
use crate::layer::memory_budget::lock_large_layer;

/// The file at a path of the archive, as far as the summary records it.
pub(super) enum CollectedEntry {
    Directory,
    /// A file whose content was inspected without any result.
    Inspected,
    /// Any other file, of which nothing is recorded.
    Other,
    Recorded(EntrySummary),
}

/// The bits of a path hash that hold the kind of the entry.
pub(super) const KIND_MASK: u64 = 3;
/// The kind bits of a directory.
pub(super) const KIND_DIRECTORY: u64 = 1;
/// The kind bits of a file whose content was inspected.
const KIND_INSPECTED: u64 = 2;
/// The kind bits of any other entry.
const KIND_OTHER: u64 = 0;

/// Builds the summary of one layer from its archive entries, within the memory limits.
pub(super) struct EntryCollector<'a> {
    limits: &'a LayerLimits,
    seen: LayerSummary,
    passing: SkipLog,
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

impl<'a> EntryCollector<'a> {
    /// Creates an empty collector with these limits.
    pub(super) fn new(limits: &'a LayerLimits) -> Self {
        Self {
            limits,
            seen: LayerSummary::default(),
            passing: SkipLog::default(),
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

    /// Records that something was skipped at a path.
    pub(super) fn record_skip(&mut self, mark: SkipReason, path: &str) {
        self.passing.record(mark, path);
    }

    /// Returns the path at which an entry is created, after the links of earlier entries in its directory; `None` for
    /// a cycle.
    pub(super) fn resolve_entry_path(&mut self, path: String) -> Option<String> {
        let (parent, name) = split_path(&path);
        if parent.is_empty() || (self.links == 0 && self.parent.0 == parent) {
            return Some(path);
        }
        if self.parent.0 != parent {
            let real = if self.links == 0 { parent.to_owned() } else { self.resolve_directory(parent)? };
            self.parent = (parent.to_owned(), real);
            self.add_parent_directories();
        }
        let real = self.parent.1.as_str();
        if real == parent { Some(path) } else { Some(format!("{real}/{name}")) }
    }

    /// Resolves the links in the directory of a path to which no entry is written, such as the target of a hard link.
    pub(super) fn resolve_path(&self, path: String) -> Option<String> {
        let (parent, name) = split_path(&path);
        if parent.is_empty() || self.links == 0 {
            return Some(path);
        }
        let real = self.resolve_directory(parent)?;
        Some(format!("{real}/{name}"))
    }

    /// Resolves the links in a directory path; `None` for a cycle or too many steps.
    fn resolve_directory(&self, path: &str) -> Option<String> {
        let real = resolve_links(path, |path| {
            self.steps.set(self.steps.get() + 1);
            match &self.seen.entries.get(path).filter(|_| self.steps.get() <= MAX_PATH_STEPS)?.kind {
                EntryKind::Link(target) => Some(target.as_str()),
                _ => None,
            }
        });
        let real = real.filter(|_| self.steps.get() <= MAX_PATH_STEPS)?;
        Some(if real == "/" { String::new() } else { real })
    }

    /// Records the parent directory of the current entry and all directories above it.
    fn add_parent_directories(&mut self) {
        let real = self.parent.1.clone();
        for directory in [real.as_str()].into_iter().filter(|path| !path.is_empty()).chain(parent_directories(&real)) {
            self.record_path(directory, KIND_DIRECTORY);
            if self.seen.entries.contains_key(directory) {
                self.remove(directory);
            }
        }
    }

    /// Inserts an entry and removes the entries below a directory that it replaces. Their paths stay recorded, which
    /// matters only if the archive creates the directory again.
    pub(super) fn insert(&mut self, path: &str, found: CollectedEntry) {
        self.remove(path);
        if matches!(found, CollectedEntry::Directory) {
            self.record_path(path, KIND_DIRECTORY);
            return;
        }
        self.record_path(path, if matches!(found, CollectedEntry::Inspected) { KIND_INSPECTED } else { KIND_OTHER });
        self.remove_below(path);
        let CollectedEntry::Recorded(entry) = found else { return };
        if !self.reserve(path.len() + entry.memory_size()) {
            self.record_skip(SkipReason::Full, path);
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

    /// Returns the path and kind of the file at a path, following a hard link, if it is among the entries.
    pub(super) fn hard_link_target(&self, path: &str) -> Option<(&str, &EntryKind)> {
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

    /// Adds a path that the layer deletes from the layers below.
    pub(super) fn add_whiteout(&mut self, path: String) {
        if self.reserve(path.len() + size_of::<String>()) {
            self.seen.whiteouts.push(path);
        } else {
            self.record_skip(SkipReason::Full, &path);
        }
    }

    /// Adds an opaque directory, whose content in the layers below is hidden.
    pub(super) fn add_opaque_directory(&mut self, directory: String) {
        if self.reserve(directory.len() + size_of::<String>()) {
            self.seen.opaque.push(directory);
        } else {
            self.record_skip(SkipReason::Full, &directory);
        }
    }

    /// Returns the summary of all entries.
    pub(super) fn finish(mut self) -> LayerSummary {
        self.deduplicate_paths();
        self.seen.names.shrink_to_fit();
        for list in [&mut self.seen.whiteouts, &mut self.seen.opaque] {
            list.sort_unstable();
            list.dedup();
        }
        self.resolve_hard_links();
        self.seen.missed = self.passing.into_entries();
        self.seen
    }

    /// Waits until no other layer uses much memory, and holds that lock from then on.
    pub(super) fn acquire_large_layer_lock(&mut self) {
        if self.large.is_none() {
            self.large = Some(lock_large_layer());
        }
    }

    /// Reserves bytes within the memory limit; false if they do not fit.
    fn reserve(&mut self, bytes: usize) -> bool {
        let weight = self.weight.saturating_add(bytes);
        if weight > SMALL_LAYER_MEMORY {
            self.acquire_large_layer_lock();
        }
        let fits = weight <= self.limits.kept;
        if fits {
            self.weight = weight;
        }
        fits
    }

    /// Resolves hard links to files that are not among the entries: inspected, skipped, or of a lower layer.
    fn resolve_hard_links(&mut self) {
        let Self { seen, passing, replaced, .. } = self;
        let LayerSummary { entries, names, .. } = seen;
        let mut settled = Vec::new();
        for (path, entry) in entries.iter() {
            let EntryKind::Hard(target) = &entry.kind else { continue };
            let read_mode = file_read_mode(path);
            let what = match names.binary_search_by_key(&(hash_path(target) & !KIND_MASK), |name| name & !KIND_MASK) {
                _ if replaced.contains(target) => KIND_OTHER,
                _ if entries.contains_key(target) => continue,
                Ok(at) => names.get(at).copied().unwrap_or_default() & KIND_MASK,
                Err(_) => continue,
            };
            if what != KIND_INSPECTED || matches!(read_mode, FileReadMode::Text { .. }) {
                passing.record(SkipReason::HardLink, path);
            }
            settled.push((path.clone(), kind_without_content(path, read_mode)));
        }
        for (path, kind) in settled {
            match (kind, entries.get_mut(&path)) {
                (Some(kind), Some(entry)) => entry.kind = kind,
                _ => drop(entries.remove(&path)),
            }
        }
    }

    /// Records the hash of a path with the kind of its entry.
    fn record_path(&mut self, path: &str, what: u64) {
        if self.seen.names.len() >= self.limits.names && !self.full {
            self.deduplicate_paths();
            // Some room has to be free again, or the names would be sorted again and again.
            self.full = self.seen.names.len() > self.limits.names / 8 * 7;
        }
        if self.full {
            self.passing.record(SkipReason::Full, path);
        } else {
            self.seen.names.push(hash_path(path) & !KIND_MASK | what);
        }
    }

    /// Sorts the path hashes and keeps the last one of each path.
    fn deduplicate_paths(&mut self) {
        let names = &mut self.seen.names;
        names.reverse();
        names.sort_by_key(|name| name & !KIND_MASK);
        names.dedup_by_key(|name| *name & !KIND_MASK);
    }

    /// Removes all entries below a directory.
    fn remove_below(&mut self, path: &str) {
        let from = format!("{path}/");
        let below = self.seen.entries.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let removed: Vec<String> =
            below.map(|(path, _)| path).take_while(|path| path.starts_with(&from)).cloned().collect();
        for path in removed {
            self.remove(&path);
        }
    }

    /// Removes the entry at a path and releases its memory.
    fn remove(&mut self, path: &str) {
        let Some(entry) = self.seen.entries.remove(path) else { return };
        self.weight = self.weight.saturating_sub(path.len() + entry.memory_size());
        if matches!(entry.kind, EntryKind::Link(_)) {
            self.links = self.links.saturating_sub(1);
            self.parent = (String::new(), String::new());
        }
        if self.shared.remove(path) {
            self.replaced.insert(path.to_owned());
        }
    }
}
