//! Layers over each other: what a container of the image finds at each path.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use crate::cuda::resolve;
use crate::layer::collect::DIRECTORY;
use crate::layer::collect::WHAT;
use crate::layer::name::above;
use crate::layer::name::number;
use crate::layer::seen::EntryKind;
use crate::layer::seen::LayerSeen;

/// The observations of an image: those of its layers, less what later layers took away or replaced.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    layers: Vec<Arc<LayerSeen>>,
    entries: BTreeMap<Arc<str>, Place>,
}

/// Where an entry comes from.
#[derive(Clone, Debug)]
struct Place {
    /// The layer that has the name.
    layer: usize,
    /// The layer and the path that have the file: others for a hard link.
    home: (usize, Arc<str>),
}

/// An entry of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its path.
    pub path: &'a str,
    /// The path as it stands in the archive, where that is another one.
    pub written: Option<&'a str>,
    /// The layer that has it, counted from the lowest.
    pub layer: usize,
    /// What it is. [`EntryKind::Hard`] only where no layer has the file, so that nothing is known of its content.
    pub kind: &'a EntryKind,
}

impl Tree {
    /// Lays layers over each other, the lowest first.
    pub fn stack(layers: Vec<Arc<LayerSeen>>) -> Self {
        let mut stack = Stack::default();
        for (index, layer) in layers.iter().enumerate() {
            stack.take_away(layer);
            stack.lay(index, layer);
        }
        Self { layers, entries: stack.entries }
    }

    /// The layers, the lowest first.
    pub fn layers(&self) -> &[Arc<LayerSeen>] {
        &self.layers
    }

    /// All entries, sorted by path.
    pub fn entries(&self) -> impl Iterator<Item = Placed<'_>> {
        self.entries.iter().filter_map(|(path, place)| self.placed(path, place))
    }

    /// The entry at that path itself, which may be a link.
    pub fn get(&self, path: &str) -> Option<Placed<'_>> {
        let (path, place) = self.entries.get_key_value(path)?;
        self.placed(path, place)
    }

    /// The path behind all links; none where they go in circles.
    pub fn resolve(&self, path: &str) -> Option<String> {
        resolve(path, |path| match self.get(path)?.kind {
            EntryKind::Link(target) => Some(target),
            _ => None,
        })
    }

    fn placed<'a>(&'a self, path: &'a str, place: &'a Place) -> Option<Placed<'a>> {
        let named = self.layers.get(place.layer)?.entries.get(path)?;
        let kind = &self.layers.get(place.home.0)?.entries.get(&*place.home.1)?.kind;
        Some(Placed { path, written: named.written.as_deref(), layer: place.layer, kind })
    }
}

#[derive(Default)]
struct Stack {
    entries: BTreeMap<Arc<str>, Place>,
    /// The entries by the numbers of their names.
    numbers: HashMap<u64, Arc<str>>,
    /// Numbers of directories above entries; those that lost all entries may still be here.
    directories: HashSet<u64>,
}

impl Stack {
    /// Removes what a layer takes away from those below or replaces.
    fn take_away(&mut self, layer: &LayerSeen) {
        for path in &layer.whiteouts {
            self.remove(path);
            self.remove_below(path);
        }
        for directory in &layer.opaque {
            self.remove_below(directory);
        }
        let mut cut = HashSet::new();
        for name in &layer.names {
            let (number, what) = (name & !WHAT, name & WHAT);
            // A directory leaves one below as it is; whatever else has the name is gone.
            if let Some(path) = self.numbers.get(&number).cloned() {
                self.remove(&path);
            }
            if what != DIRECTORY && self.directories.contains(&number) {
                cut.insert(number);
            }
        }
        if !cut.is_empty() {
            let hidden = |path: &str| above(path).any(|directory| cut.contains(&(number(directory) & !WHAT)));
            let gone: Vec<Arc<str>> = self.entries.keys().filter(|path| hidden(path)).cloned().collect();
            for path in gone {
                self.remove(&path);
            }
        }
    }

    fn lay(&mut self, index: usize, layer: &LayerSeen) {
        // Hard links last, so that whatever they lead to in this layer is there.
        let (links, others): (Vec<_>, Vec<_>) =
            layer.entries.iter().partition(|(_, entry)| matches!(entry.kind, EntryKind::Hard(_)));
        for (path, _) in others {
            let path: Arc<str> = path.as_str().into();
            let home = (index, path.clone());
            self.insert(path, Place { layer: index, home });
        }
        let mut found = Vec::new();
        for (path, entry) in links {
            let EntryKind::Hard(target) = &entry.kind else { continue };
            let path: Arc<str> = path.as_str().into();
            let own = || (index, path.clone());
            let home = self.entries.get(target.as_str()).map_or_else(own, |place| place.home.clone());
            found.push((path, Place { layer: index, home }));
        }
        for (path, place) in found {
            self.insert(path, place);
        }
    }

    fn insert(&mut self, path: Arc<str>, place: Place) {
        self.numbers.insert(number(&path) & !WHAT, path.clone());
        for directory in above(&path) {
            if !self.directories.insert(number(directory) & !WHAT) {
                break;
            }
        }
        self.entries.insert(path, place);
    }

    fn remove(&mut self, path: &str) {
        if self.entries.remove(path).is_some() {
            self.numbers.remove(&(number(path) & !WHAT));
        }
    }

    fn remove_below(&mut self, directory: &str) {
        let from = format!("{directory}/");
        let below = self.entries.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let gone: Vec<Arc<str>> =
            below.map(|(path, _)| path).take_while(|path| path.starts_with(&from)).cloned().collect();
        for path in gone {
            self.remove(&path);
        }
    }
}
