//! Merges the layers of an image into the files that a container sees.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::cuda::resolve_links;
use crate::layer::archive_path::{hash_path, parent_directories};
use crate::layer::entry_collector::{KIND_DIRECTORY, KIND_MASK};
use crate::layer::layer_summary::{EntryKind, LayerSummary};

/// The entries of an image: those of its layers without the ones that later layers delete or replace.
#[derive(Clone, Debug, Default)]
pub struct MergedLayers {
    layers: Vec<Arc<LayerSummary>>,
    entries: BTreeMap<Arc<str>, EntryOrigin>,
}

/// The layers that provide the path and the content of an entry.
#[derive(Clone, Debug)]
struct EntryOrigin {
    /// The layer that has the name.
    layer: usize,
    /// The layer and the path that have the file: others for a hard link.
    home: (usize, Arc<str>),
}

/// An entry of the merged image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageEntry<'a> {
    /// Its path.
    pub path: &'a str,
    /// The path as it stands in the archive, where that is another one.
    pub written: Option<&'a str>,
    /// The layer that has it, counted from the lowest.
    pub layer: usize,
    /// What it is. [`EntryKind::Hard`] only where no layer has the file, so that nothing is known of its content.
    pub kind: &'a EntryKind,
}

impl MergedLayers {
    /// Merges layers, the lowest first.
    pub fn merge(layers: Vec<Arc<LayerSummary>>) -> Self {
        let mut stack = LayerMerger::default();
        for (index, layer) in layers.iter().enumerate() {
            stack.remove_replaced(layer);
            stack.add_layer(index, layer);
        }
        Self { layers, entries: stack.entries }
    }

    /// Returns the layers, the lowest first.
    pub fn layers(&self) -> &[Arc<LayerSummary>] {
        &self.layers
    }

    /// Returns all entries, sorted by path.
    pub fn entries(&self) -> impl Iterator<Item = ImageEntry<'_>> {
        self.entries.iter().filter_map(|(path, place)| self.image_entry(path, place))
    }

    /// Returns the entry at that path; a symbolic link is not followed.
    pub fn get(&self, path: &str) -> Option<ImageEntry<'_>> {
        let (path, place) = self.entries.get_key_value(path)?;
        self.image_entry(path, place)
    }

    /// Returns the path after all links are followed; `None` for a cycle.
    pub fn resolve(&self, path: &str) -> Option<String> {
        resolve_links(path, |path| match self.get(path)?.kind {
            EntryKind::Link(target) => Some(target),
            _ => None,
        })
    }

    /// Returns the entry at a path, with the content that it has in the layer it comes from; `None` if that layer lacks
    /// it.
    fn image_entry<'a>(&'a self, path: &'a str, place: &'a EntryOrigin) -> Option<ImageEntry<'a>> {
        let named = self.layers.get(place.layer)?.entries.get(path)?;
        let kind = &self.layers.get(place.home.0)?.entries.get(&*place.home.1)?.kind;
        Some(ImageEntry { path, written: named.written.as_deref(), layer: place.layer, kind })
    }
}

/// The state while layers are merged.
#[derive(Default)]
struct LayerMerger {
    entries: BTreeMap<Arc<str>, EntryOrigin>,
    /// The entries by the numbers of their names.
    numbers: HashMap<u64, Arc<str>>,
    /// Numbers of directories above entries; those that lost all entries may still be here.
    directories: HashSet<u64>,
}

impl LayerMerger {
    /// Removes what a layer deletes or replaces in the layers below.
    fn remove_replaced(&mut self, layer: &LayerSummary) {
        for path in &layer.whiteouts {
            self.remove(path);
            self.remove_below(path);
        }
        for directory in &layer.opaque {
            self.remove_below(directory);
        }
        let mut cut = HashSet::new();
        for name in &layer.names {
            let (number, what) = (name & !KIND_MASK, name & KIND_MASK);
            // A directory leaves one below as it is; whatever else has the name is gone.
            if let Some(path) = self.numbers.get(&number).cloned() {
                self.remove(&path);
            }
            if what != KIND_DIRECTORY && self.directories.contains(&number) {
                cut.insert(number);
            }
        }
        if !cut.is_empty() {
            let hidden = |path: &str| {
                parent_directories(path).any(|directory| cut.contains(&(hash_path(directory) & !KIND_MASK)))
            };
            let removed: Vec<Arc<str>> = self.entries.keys().filter(|path| hidden(path)).cloned().collect();
            for path in removed {
                self.remove(&path);
            }
        }
    }

    /// Adds the entries of a layer, hard links last.
    fn add_layer(&mut self, index: usize, layer: &LayerSummary) {
        // Hard links last, so that whatever they lead to in this layer is there.
        let (links, others): (Vec<_>, Vec<_>) =
            layer.entries.iter().partition(|(_, entry)| matches!(entry.kind, EntryKind::Hard(_)));
        for (path, _) in others {
            let path: Arc<str> = path.as_str().into();
            let home = (index, path.clone());
            self.insert(path, EntryOrigin { layer: index, home });
        }
        let mut found = Vec::new();
        for (path, entry) in links {
            let EntryKind::Hard(target) = &entry.kind else { continue };
            let path: Arc<str> = path.as_str().into();
            let own = || (index, path.clone());
            let home = self.entries.get(target.as_str()).map_or_else(own, |place| place.home.clone());
            found.push((path, EntryOrigin { layer: index, home }));
        }
        for (path, place) in found {
            self.insert(path, place);
        }
    }

    /// Inserts an entry and records the hashes of its path and directories.
    fn insert(&mut self, path: Arc<str>, place: EntryOrigin) {
        self.numbers.insert(hash_path(&path) & !KIND_MASK, path.clone());
        for directory in parent_directories(&path) {
            if !self.directories.insert(hash_path(directory) & !KIND_MASK) {
                break;
            }
        }
        self.entries.insert(path, place);
    }

    /// Removes the entry at a path.
    fn remove(&mut self, path: &str) {
        if self.entries.remove(path).is_some() {
            self.numbers.remove(&(hash_path(path) & !KIND_MASK));
        }
    }

    /// Removes all entries below a directory.
    fn remove_below(&mut self, directory: &str) {
        let from = format!("{directory}/");
        let below = self.entries.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let removed: Vec<Arc<str>> =
            below.map(|(path, _)| path).take_while(|path| path.starts_with(&from)).cloned().collect();
        for path in removed {
            self.remove(&path);
        }
    }
}
