//! Reads the layers of an image in order: packages, GPU code, files and the CUDA runtime.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::history;
use crate::extract::image_config::observe_config_without_history;
use crate::extract::layers::entrypoint_python;
use crate::extract::layers::layer_scan::{LayerScan, MAX_NOTES, MissingLayer};
use crate::knowledge::Knowledge;
use crate::layer::MergedLayers;
use crate::model::fact::{Completeness, InspectionDepth, Observations};
use crate::registry::PulledImage;

/// Reads the layers of an image, and returns observations and notes. `tree` has one layer for each of the image,
/// empty if it is missing.
pub fn observe_layers(
    image: &PulledImage,
    tree: &MergedLayers,
    missing: &[MissingLayer],
) -> (Observations, Vec<String>) {
    let seen = observe_config_without_history(image, InspectionDepth::Layers);
    let mut audit = LayerScan { image, tree, missing, seen, notes: Vec::new(), several: BTreeMap::new() };
    audit.seen.complete = Completeness { env: true, packages: true, files: true, code: true, libraries: true };
    audit.note_missing_layers();
    audit.note_dangling_hard_links();
    let steps: BTreeSet<usize> =
        missing.iter().filter_map(|gone| image.config.layers.get(gone.layer)?.history).collect();
    history::read_history_installs(image, &mut audit.seen, Knowledge::built_in(), |step| steps.contains(&step));
    audit.record_cached_packages();
    let python = entrypoint_python::EntrypointPython::from_image(image, tree);
    audit.read_packages(&python);
    let asked = audit.read_gpu_code(&python);
    audit.read_files(&asked);
    audit.detect_cuda_runtime();
    let LayerScan { seen, mut notes, .. } = audit;
    if notes.len() > MAX_NOTES {
        let more = notes.len() - MAX_NOTES;
        notes.truncate(MAX_NOTES);
        notes.push(format!("{more} more items were not inspected"));
    }
    (seen, notes)
}
