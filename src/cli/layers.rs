//! Layers of images, each read once per run and several in parallel.

use std::io;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cli::cache::LayerStore;
use crate::cli::progress::{ScanProgress, format_size};
use crate::cli::{parallel, progress};
use crate::extract;
use crate::extract::MissingLayer;
use crate::layer::{
    ImageMemoryBudget, LayerDescriptor, LayerDigestKind, LayerError, LayerLimits, LayerSummary, MergedLayers,
    read_layer,
};
use crate::model::fact::Observations;
use crate::model::note::Note;
use crate::registry::{Layer, LayerBlobs, PullError, PullProblem, PulledImage};

/// Largest number of layers read in parallel: each takes some MB of memory and a connection to the registry.
const MAX_CONCURRENT_LAYERS: usize = 4;

/// The contents of a layer, or the reason why it was not read.
type LayerResult = Result<Arc<LayerSummary>, UnreadLayer>;

/// Reason why a layer was not read.
#[derive(Debug)]
struct UnreadLayer {
    message: String,
    /// Whether reading failed, as opposed to a layer that was skipped on purpose.
    fault: bool,
}

impl UnreadLayer {
    /// Creates the reason for a layer that is skipped on purpose.
    fn skipped(message: impl Into<String>) -> Self {
        Self { message: message.into(), fault: false }
    }
}

/// Reads layers and caches their contents for other images that share them.
pub(crate) struct LayerScanner<'a> {
    largest: Option<u64>,
    jobs: usize,
    store: LayerStore,
    progress: &'a ScanProgress,
}

/// The layers of one image, stacked to a file tree.
pub(crate) struct ImageLayers {
    tree: MergedLayers,
    missing: Vec<MissingLayer>,
    summary: String,
    faults: Vec<String>,
}

impl ImageLayers {
    /// Returns the observations about the image, and notes on how much of it was inspected.
    pub(crate) fn observations(&self, image: &PulledImage) -> (Observations, Vec<Note>) {
        let (seen, mut notes) = extract::observe_layers(image, &self.tree, &self.missing);
        notes.insert(0, self.summary.clone().into());
        (seen, notes)
    }

    /// Returns the errors of layers that could not be read; an image with such layers was not inspected completely.
    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }
}

impl<'a> LayerScanner<'a> {
    /// Creates a scanner for layers of at most `largest` packed bytes on `jobs` threads; `keep` enables the cache on
    /// disk.
    pub(crate) fn new(largest: Option<u64>, jobs: usize, keep: bool, progress: &'a ScanProgress) -> Self {
        let jobs = jobs.min(MAX_CONCURRENT_LAYERS);
        Self { largest, jobs, store: LayerStore::for_user(keep, jobs), progress }
    }

    /// Returns why the cache for later runs could not be written, if so.
    pub(crate) fn cache_error(&self) -> Option<String> {
        self.store.write_error()
    }

    /// Reads all layers of an image and stacks them to a file tree.
    pub(crate) fn read_image_layers(&self, image: &PulledImage, blobs: &LayerBlobs) -> ImageLayers {
        let layers = &image.config.layers;
        let outcomes = self.read_layers(&image.reference, layers, blobs);
        let (mut stacked, mut missing, mut read, mut bytes) = (Vec::new(), Vec::new(), 0_usize, 0_u64);
        let mut faults = Vec::new();
        for (index, (layer, outcome)) in layers.iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(seen) => {
                    read += 1;
                    bytes = bytes.saturating_add(layer.size);
                    stacked.push(seen);
                }
                Err(UnreadLayer { message, fault }) => {
                    if fault {
                        let (number, all) = (index + 1, layers.len());
                        faults.push(format!(
                            "layer {number} of {all} ({}) could not be inspected: {message}",
                            layer.digest
                        ));
                    }
                    missing.push(MissingLayer { layer: index, message });
                    stacked.push(Arc::default());
                }
            }
        }
        let summary = format!("layers {read} of {}, {}", layers.len(), format_size(bytes));
        ImageLayers { tree: MergedLayers::merge(stacked), missing, summary, faults }
    }

    /// Reads layers in parallel; an archive without random access is read from beginning to end.
    fn read_layers(&self, image: &str, layers: &[Layer], blobs: &LayerBlobs) -> Vec<LayerResult> {
        // What can only be read from its beginning to its end is read in that order.
        let mut order: Vec<(Option<u64>, usize, &Layer)> =
            layers.iter().enumerate().map(|(index, layer)| (blobs.layer_offset(layer), index, layer)).collect();
        let jobs = if order.iter().any(|(position, ..)| position.is_some()) { 1 } else { self.jobs };
        order.sort_by_key(|(position, index, _)| (*position, *index));
        let room = ImageMemoryBudget::default();
        let outcomes = parallel::map(jobs, &order, |(_, index, layer)| {
            let begin_progress = || self.progress.begin_layer(image, index + 1, layers.len(), layer.size);
            // After the cache, so that what is cached never depends on the other layers of the image.
            (*index, self.read_cached(layer, blobs, begin_progress).and_then(|seen| reserve_room(seen, &room)))
        });
        let mut sorted: Vec<(usize, LayerResult)> = outcomes;
        sorted.sort_by_key(|(index, _)| *index);
        sorted.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Reads one layer, from the cache if it is there.
    fn read_cached<'p>(
        &'p self,
        layer: &Layer,
        blobs: &LayerBlobs,
        begin_progress: impl FnOnce() -> progress::LayerProgress<'p>,
    ) -> LayerResult {
        if layer.is_encrypted() {
            return Err(UnreadLayer::skipped("it is encrypted"));
        }
        // Checked first, so that the result does not depend on cached layers.
        if let Some(largest) = self.largest.filter(|largest| layer.size > *largest) {
            let why = format!(
                "it has {}, more than the limit of {}; raise --max-layer-bytes",
                format_size(layer.size),
                format_size(largest)
            );
            return Err(UnreadLayer::skipped(why));
        }
        let read = || {
            let unopened = |error: PullError| UnreadLayer {
                message: error.problem.to_string(),
                fault: !matches!(*error.problem, PullProblem::Foreign { .. }),
            };
            let elsewhere = Arc::new(Mutex::new(None));
            let source =
                LayerSource { source: blobs.layer_reader(layer).map_err(unopened)?, elsewhere: elsewhere.clone() };
            let descriptor = LayerDescriptor {
                digest: layer.digest.clone(),
                digested: LayerDigestKind::Packed,
                size: Some(layer.size),
                media_type: layer.media_type.clone(),
            };
            let mut layer_progress = begin_progress();
            let mut watch = |at: crate::layer::LayerReadProgress| {
                layer_progress.set_position(at.packed);
                ControlFlow::Continue(())
            };
            let unread = |error: LayerError| match elsewhere.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(why) => UnreadLayer::skipped(why),
                None => UnreadLayer { message: error.to_string(), fault: error.is_fault() },
            };
            read_layer(source, &descriptor, &LayerLimits::default(), &mut watch).map_err(unread)
        };
        self.store.get(&layer.digest, read)
    }
}

/// The bytes of a layer; notes when the layer is not stored in the image's repository.
struct LayerSource {
    source: Box<dyn Read + Send>,
    elsewhere: Arc<Mutex<Option<String>>>,
}

impl Read for LayerSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).inspect_err(|error| {
            let problem =
                error.get_ref().and_then(|cause| cause.downcast_ref::<PullError>()).map(|cause| &*cause.problem);
            if let Some(problem @ PullProblem::Foreign { .. }) = problem {
                *self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem.to_string());
            }
        })
    }
}

/// Returns the layer if its number of files fits into the limit of the image.
fn reserve_room(seen: Arc<LayerSummary>, room: &ImageMemoryBudget) -> LayerResult {
    if room.try_reserve(&seen) { Ok(seen) } else { Err(UnreadLayer::skipped("the image has too many files")) }
}

#[cfg(test)]
mod tests {
    use super::format_size;

    #[test]
    fn sizes_are_formatted_in_the_unit_that_fits() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (1_999_999, "1.9 MB"),
            (3_200_000_000, "3.2 GB"),
            (u64::MAX, "1844674407.3 GB"),
        ] {
            assert_eq!(format_size(bytes), expected, "{bytes}");
        }
    }
}
