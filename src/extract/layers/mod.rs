//! What the layers of an image hold, as observations: each fact with the layer that brought it and the step that made
//! that layer.
//!
//! What was not read says nothing. A layer that is missing may replace whatever lies below it: files and GPU code of
//! those layers are left out, packages stand under that reserve, and nothing counts as seen whole.

mod caches;
mod code;
mod command;
mod files;
mod packages;
mod place;
mod python;
mod runtime;

pub(super) use self::packages::concerns;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::extract::config::of_head;
use crate::extract::history;
use crate::fact::Completeness;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
use crate::install::order;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::Mark;
use crate::layer::Placed;
use crate::layer::Tree;
use crate::oci::PulledImage;

/// So many things that were passed over are told for one image.
const MOST_NOTES: usize = 12;

/// So many characters of a step are told.
const LONGEST_STEP: usize = 100;

/// A layer that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLayer {
    /// Which one, counted from the lowest.
    pub layer: usize,
    /// Why.
    pub why: String,
}

/// One image with its layers.
struct Audit<'a> {
    image: &'a PulledImage,
    tree: &'a Tree,
    missing: &'a [MissingLayer],
    seen: Observations,
    notes: Vec<String>,
    /// Components of which several environments have builds that differ, with the folders of all that may count.
    several: BTreeMap<String, BTreeSet<String>>,
}

/// What an image holds, and what had to be left out of it. `tree` has a layer for each of the image, with nothing in it
/// where that is missing.
pub fn of_layers(image: &PulledImage, tree: &Tree, missing: &[MissingLayer]) -> (Observations, Vec<String>) {
    let seen = of_head(image, Depth::Layers);
    let mut audit = Audit { image, tree, missing, seen, notes: Vec::new(), several: BTreeMap::new() };
    audit.seen.complete = Completeness { env: true, packages: true, files: true, code: true, libraries: true };
    audit.left_out();
    audit.dangling();
    let steps: BTreeSet<usize> =
        missing.iter().filter_map(|gone| image.config.layers.get(gone.layer)?.history).collect();
    history::installs(image, &mut audit.seen, Knowledge::built_in(), |step| steps.contains(&step));
    audit.cached();
    let python = python::Python::of(image, tree);
    audit.packages(&python);
    let asked = audit.code(&python);
    audit.files(&asked);
    audit.runtime();
    let Audit { seen, mut notes, .. } = audit;
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        notes.truncate(MOST_NOTES);
        notes.push(format!("{more} more items were not inspected"));
    }
    (seen, notes)
}

impl Audit<'_> {
    /// What was not read of the layers themselves.
    fn left_out(&mut self) {
        for gone in self.missing {
            let whole = &mut self.seen.complete;
            (whole.packages, whole.files, whole.code) = (false, false, false);
            let told = format!("layer {} was not inspected: {}", self.named(gone.layer), gone.why);
            self.seen.of_base.unread.layer.get_or_insert_with(|| incomplete(&told));
            self.notes.push(told);
        }
        let floor = self.floor();
        for (index, layer) in self.tree.layers().iter().enumerate() {
            for missed in layer.missed.iter().filter(|missed| missed.mark != Mark::Behind) {
                let paths = missed.paths.first().map_or_else(String::new, |path| format!(": {path}"));
                let times = if missed.times > 1 { format!(", {} times", missed.times) } else { String::new() };
                let told = format!("layer {}: {}{times}{paths}", self.named(index), missed.mark);
                let whole = &mut self.seen.complete;
                if missed.mark.hides() {
                    (whole.packages, whole.files, whole.code) = (false, false, false);
                    self.seen.of_base.unread.layer.get_or_insert_with(|| incomplete(&told));
                } else if matches!(missed.mark, Mark::Sparse | Mark::HardLink | Mark::LongText) {
                    (whole.packages, whole.code) = (false, false);
                    if index >= floor {
                        let of = |path: &String| incomplete(&format!("{}: {path}", missed.mark));
                        self.seen.of_base.unread.files.extend(missed.paths.iter().map(of));
                    }
                }
                self.notes.push(told);
            }
        }
    }

    /// Names that lead to files which the layers below do not have any more, or of which nothing was read there.
    fn dangling(&mut self) {
        let mut found: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for placed in self.tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Hard(_))) {
            found.entry(placed.layer).or_default().push(placed.path);
        }
        let floor = self.floor();
        for (index, paths) in found {
            let whole = &mut self.seen.complete;
            (whole.packages, whole.code) = (false, false);
            let why = "not inspected: a hard link points to a file that is missing or unread in the layers below";
            if index >= floor {
                let of = |path: &&str| incomplete(&format!("{why}: {path}"));
                self.seen.of_base.unread.files.extend(paths.iter().take(MOST_NOTES).map(of));
            }
            let times = if paths.len() > 1 { format!(", {} times", paths.len()) } else { String::new() };
            let first = paths.first().copied().unwrap_or_default();
            self.notes.push(format!("layer {}: {why}{times}: {first}", self.named(index)));
        }
    }

    /// A layer for people: its number and the beginning of its digest.
    fn named(&self, layer: usize) -> String {
        let layers = &self.image.config.layers;
        let digest = layers.get(layer).map_or("", |layer| layer.digest.as_str());
        format!("{} of {} ({})", layer + 1, layers.len(), digest.get(..19).unwrap_or(digest))
    }

    /// Why what a layer brought may be gone: one above it was not read.
    fn hidden(&self, layer: usize) -> Option<Why> {
        let above = self.missing.iter().find(|gone| gone.layer > layer)?;
        Some(Why {
            reason: format!("layer {} was not inspected and may replace it", self.named(above.layer)),
            supply: "scan the image with all of its layers".to_owned(),
        })
    }

    /// The first layer above all that were not read.
    fn floor(&self) -> usize {
        self.missing.iter().map(|gone| gone.layer + 1).max().unwrap_or(0)
    }

    fn origin(&self, layer: usize, path: &str) -> Origin {
        let of = self.image.config.layers.get(layer);
        let step = of.and_then(|layer| layer.history);
        let says = step.and_then(|step| self.image.config.history.get(step)).map(|step| shortened(&step.created_by));
        let digest = of.map_or_else(String::new, |layer| layer.digest.clone());
        Origin::Layer {
            digest,
            path: path.to_owned(),
            step: step.and_then(|step| u32::try_from(step).ok()),
            made_by: says.filter(|says| !says.is_empty()),
        }
    }

    /// A fact that one entry tells.
    fn fact(&mut self, key: FactKey, of: &str, value: Value, placed: Placed<'_>) -> FactId {
        let origin = self.origin(placed.layer, placed.path);
        self.seen.facts.add(key, Some(of), State::Known(value), Evidence::Leaf(vec![origin]))
    }

    /// Something that was not inspected.
    fn note(&mut self, path: &str, why: &str) {
        self.notes.push(format!("{path} was not inspected: {why}"));
    }
}

/// Why nothing is told of what was not read.
fn incomplete(reason: &str) -> Why {
    Why { reason: reason.to_owned(), supply: "scan the image with all of its layers, each as it was pushed".to_owned() }
}

/// A step on one line, cut where it is long.
fn shortened(step: &str) -> String {
    let words: Vec<&str> = step.trim_end_matches("# buildkit").split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LONGEST_STEP {
        return line;
    }
    let head: String = line.chars().take(LONGEST_STEP).collect();
    format!("{head}...")
}

/// Whether two versions are the same, however they are written.
fn same_version(one: &str, other: &str) -> bool {
    one == other || order(one, other) == Some(std::cmp::Ordering::Equal)
}
