//! One image whose layers are read: the observations and notes so far, and what was not read.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::history;
use crate::extract::image_config::observe_config_without_history;
use crate::extract::layers::entrypoint_python;
use crate::knowledge::Knowledge;
use crate::layer::{EntryKind, ImageEntry, MergedLayers, SkipReason};
use crate::model::cause::Cause;
use crate::model::fact::{
    Completeness, Evidence, FactId, FactKey, InspectionDepth, Observations, Origin, PrintedValue, ValueState,
};
use crate::model::note::Note;
use crate::model::package::ExactVersion;
use crate::registry::PulledImage;

/// Maximum number of notes that are reported for one image.
pub(super) const MAX_NOTES: usize = 12;

/// Maximum length of a reported history step, in characters.
const MAX_STEP_CHARS: usize = 100;

/// A layer that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLayer {
    /// Which one, counted from the lowest.
    pub layer: usize,
    /// What prevented it, for the reader.
    pub message: String,
}

/// One image whose layers are read, with the observations and notes so far.
pub(super) struct LayerScan<'a> {
    pub(super) image: &'a PulledImage,
    pub(super) tree: &'a MergedLayers,
    pub(super) missing: &'a [MissingLayer],
    pub(super) seen: Observations,
    pub(super) notes: Vec<Note>,
    /// Components of which several environments have builds that differ, with the folders of all that may count.
    pub(super) several: BTreeMap<String, BTreeSet<String>>,
}

impl LayerScan<'_> {
    /// Notes the layers, and the parts of layers, that were not read.
    pub(super) fn note_missing_layers(&mut self) {
        for missing_layer in self.missing {
            let whole = &mut self.seen.complete;
            (whole.packages, whole.files, whole.code) = (false, false, false);
            let layer = format!("layer {}", self.layer_label(missing_layer.layer));
            let note = Note::not_inspected(&layer, &missing_layer.message);
            self.seen.base_changes.unread.layer.get_or_insert_with(|| incomplete_reason(note.line()));
            self.notes.push(note);
        }
        let floor = self.first_complete_layer();
        for (index, layer) in self.tree.layers().iter().enumerate() {
            for missed in layer.missed.iter().filter(|missed| missed.mark != SkipReason::Behind) {
                let paths = missed.paths.first().map_or_else(String::new, |path| format!(": {path}"));
                let times = if missed.times > 1 { format!(", {} times", missed.times) } else { String::new() };
                let note = format!("layer {}: {}{times}{paths}", self.layer_label(index), missed.mark);
                let whole = &mut self.seen.complete;
                if missed.mark.may_hide_entries() {
                    (whole.packages, whole.files, whole.code) = (false, false, false);
                    self.seen.base_changes.unread.layer.get_or_insert_with(|| incomplete_reason(&note));
                } else if matches!(missed.mark, SkipReason::Sparse | SkipReason::HardLink | SkipReason::LongText) {
                    (whole.packages, whole.code) = (false, false);
                    if index >= floor {
                        let mark = missed.mark.to_string();
                        let of = |path: &String| Cause::LayerFileNotRead { mark: mark.clone(), path: path.clone() };
                        self.seen.base_changes.unread.files.extend(missed.paths.iter().map(of));
                    }
                }
                self.notes.push(note.into());
            }
        }
    }

    /// Notes hard links to files that are missing or unread in the layers below.
    pub(super) fn note_dangling_hard_links(&mut self) {
        let mut found: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for placed in self.tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Hard(_))) {
            found.entry(placed.layer).or_default().push(placed.path);
        }
        let floor = self.first_complete_layer();
        for (index, paths) in found {
            let whole = &mut self.seen.complete;
            (whole.packages, whole.code) = (false, false);
            let why = "not inspected: a hard link points to a file that is missing or unread in the layers below";
            if index >= floor {
                let of = |path: &&str| Cause::LayerFileNotRead { mark: why.to_owned(), path: (*path).to_owned() };
                self.seen.base_changes.unread.files.extend(paths.iter().take(MAX_NOTES).map(of));
            }
            let times = if paths.len() > 1 { format!(", {} times", paths.len()) } else { String::new() };
            let first = paths.first().copied().unwrap_or_default();
            self.notes.push(format!("layer {}: {why}{times}: {first}", self.layer_label(index)).into());
        }
    }

    /// Returns the number of a layer and the beginning of its digest, for messages.
    pub(super) fn layer_label(&self, layer: usize) -> String {
        let layers = &self.image.config.layers;
        let digest = layers.get(layer).map_or("", |layer| layer.digest.as_str());
        format!("{} of {} ({})", layer + 1, layers.len(), digest.get(..19).unwrap_or(digest))
    }

    /// Returns why the content of a layer may be replaced: a layer above it was not read.
    pub(super) fn hidden_reason(&self, layer: usize) -> Option<Cause> {
        let above = self.missing.iter().find(|missing_layer| missing_layer.layer > layer)?;
        Some(Cause::LayerAboveNotRead { layer: self.layer_label(above.layer).clone() })
    }

    /// Returns the first layer above all that were not read.
    pub(super) fn first_complete_layer(&self) -> usize {
        self.missing.iter().map(|missing_layer| missing_layer.layer + 1).max().unwrap_or(0)
    }

    /// Returns the origin of a path in a layer, with the history step of the layer.
    pub(super) fn layer_origin(&self, layer: usize, path: &str) -> Origin {
        let of = self.image.config.layers.get(layer);
        let step = of.and_then(|layer| layer.history);
        let says = step.and_then(|step| self.image.config.history.get(step)).map(|step| shorten_step(&step.created_by));
        let digest = of.map_or_else(String::new, |layer| layer.digest.clone());
        Origin::Layer {
            digest,
            path: path.to_owned(),
            step: step.and_then(|step| u32::try_from(step).ok()),
            made_by: says.filter(|says| !says.is_empty()),
        }
    }

    /// Adds a fact with the layer and path of one entry as its origin.
    pub(super) fn add_fact(&mut self, key: FactKey, of: &str, value: PrintedValue, placed: ImageEntry<'_>) -> FactId {
        let origin = self.layer_origin(placed.layer, placed.path);
        self.seen.facts.add(key, Some(of), ValueState::Known(value), Evidence::Leaf(vec![origin]))
    }

    /// Notes that a path was not inspected.
    pub(super) fn note_not_inspected(&mut self, path: &str, why: &str) {
        self.notes.push(Note::not_inspected(path, why));
    }
}

/// Explains that something is unknown because part of the image was not read.
pub(super) fn incomplete_reason(what: &str) -> Cause {
    Cause::LayerIncomplete { what: what.to_owned() }
}

/// Returns a history step on one line, shortened if it is long.
fn shorten_step(step: &str) -> String {
    let words: Vec<&str> = step.trim_end_matches("# buildkit").split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= MAX_STEP_CHARS {
        return line;
    }
    let head: String = line.chars().take(MAX_STEP_CHARS).collect();
    format!("{head}...")
}

/// Whether two versions are equal, even if written differently.
pub(super) fn is_same_version(one: &str, other: &str) -> bool {
    ExactVersion::from(one).is_same(&ExactVersion::from(other))
}

/// Reads the layers of an image, and returns observations and notes. `tree` has one layer for each of the image,
/// empty if it is missing.
pub fn observe_layers(image: &PulledImage, tree: &MergedLayers, missing: &[MissingLayer]) -> (Observations, Vec<Note>) {
    let seen = observe_config_without_history(image, InspectionDepth::Layers);
    let mut audit = LayerScan { image, tree, missing, seen, notes: Vec::new(), several: BTreeMap::new() };
    audit.seen.complete = Completeness { env: true, packages: true, files: true, code: true, libraries: true };
    audit.note_missing_layers();
    audit.note_dangling_hard_links();
    let steps: BTreeSet<usize> =
        missing.iter().filter_map(|missing_layer| image.config.layers.get(missing_layer.layer)?.history).collect();
    history::read_history_installs(image, &mut audit.seen, Knowledge::built_in(), |step| steps.contains(&step));
    audit.record_cached_packages();
    let python = entrypoint_python::EntrypointPython::from_image(image, tree);
    audit.read_packages(&python);
    let needed_libraries = audit.read_gpu_code(&python);
    audit.read_files(&needed_libraries);
    audit.detect_cuda_runtime();
    let LayerScan { seen, mut notes, .. } = audit;
    if notes.len() > MAX_NOTES {
        let more = notes.len() - MAX_NOTES;
        notes.truncate(MAX_NOTES);
        notes.push(format!("{more} more items were not inspected").into());
    }
    (seen, notes)
}
