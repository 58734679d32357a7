//! The layers of images, each read once in a run and several at a time.

use std::io;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::cache::LayerStore;
use crate::cli::parallel;
use crate::cli::progress;
use crate::cli::progress::Progress;
use crate::extract;
use crate::extract::MissingLayer;
use crate::fact::Observations;
use crate::layer::Descriptor;
use crate::layer::Digested;
use crate::layer::LayerError;
use crate::layer::LayerSeen;
use crate::layer::Limits;
use crate::layer::Room;
use crate::layer::Tree;
use crate::layer::read_layer;
use crate::oci::Blobs;
use crate::oci::Layer;
use crate::oci::Problem;
use crate::oci::PullError;
use crate::oci::PulledImage;

/// So many layers at a time: each takes some MB of memory, and a connection of the registry.
const MOST_AT_ONCE: usize = 4;

/// What a layer says, or why it was not read.
type Outcome = Result<Arc<LayerSeen>, Unread>;

/// Why a layer was not read.
#[derive(Debug)]
struct Unread {
    why: String,
    /// Whether it could not be read, and was not left out on purpose.
    fault: bool,
}

impl Unread {
    fn left_out(why: impl Into<String>) -> Self {
        Self { why: why.into(), fault: false }
    }
}

/// Reads layers, and keeps what they say for the other images that have them.
pub(crate) struct Layers<'a> {
    largest: Option<u64>,
    jobs: usize,
    store: LayerStore,
    progress: &'a Progress,
}

/// The layers of one image.
pub(crate) struct Stacked {
    tree: Tree,
    missing: Vec<MissingLayer>,
    told: String,
    faults: Vec<String>,
}

impl Stacked {
    /// What the image holds, and how much of it was inspected.
    pub(crate) fn seen(&self, image: &PulledImage) -> (Observations, Vec<String>) {
        let (seen, mut notes) = extract::of_layers(image, &self.tree, &self.missing);
        notes.insert(0, self.told.clone());
        (seen, notes)
    }

    /// What is wrong with layers that could not be read. An image that has such layers was not inspected as a whole.
    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }
}

impl<'a> Layers<'a> {
    /// Layers of at most `largest` packed bytes, on so many threads; kept on the disk where `keep` says so.
    pub(crate) fn new(largest: Option<u64>, jobs: usize, keep: bool, progress: &'a Progress) -> Self {
        let jobs = jobs.min(MOST_AT_ONCE);
        Self { largest, jobs, store: LayerStore::of_user(keep, jobs), progress }
    }

    /// Why nothing could be kept for later runs.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.store.complaint()
    }

    /// Reads the layers of an image.
    pub(crate) fn stacked(&self, image: &PulledImage, blobs: &Blobs) -> Stacked {
        let layers = &image.config.layers;
        let outcomes = self.read_all(&image.reference, layers, blobs);
        let (mut stacked, mut missing, mut read, mut bytes) = (Vec::new(), Vec::new(), 0_usize, 0_u64);
        let mut faults = Vec::new();
        for (index, (layer, outcome)) in layers.iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(seen) => {
                    read += 1;
                    bytes = bytes.saturating_add(layer.size);
                    stacked.push(seen);
                }
                Err(Unread { why, fault }) => {
                    if fault {
                        let (number, all) = (index + 1, layers.len());
                        faults
                            .push(format!("layer {number} of {all} ({}) could not be inspected: {why}", layer.digest));
                    }
                    missing.push(MissingLayer { layer: index, why });
                    stacked.push(Arc::default());
                }
            }
        }
        let told = format!("layers {read} of {}, {}", layers.len(), size(bytes));
        Stacked { tree: Tree::stack(stacked), missing, told, faults }
    }

    fn read_all(&self, image: &str, layers: &[Layer], blobs: &Blobs) -> Vec<Outcome> {
        // What can only be read from its beginning to its end is read in that order.
        let mut order: Vec<(Option<u64>, usize, &Layer)> =
            layers.iter().enumerate().map(|(index, layer)| (blobs.position(layer), index, layer)).collect();
        let jobs = if order.iter().any(|(position, ..)| position.is_some()) { 1 } else { self.jobs };
        order.sort_by_key(|(position, index, _)| (*position, *index));
        let room = Room::default();
        let outcomes = parallel::map(jobs, &order, |(_, index, layer)| {
            let told = || self.progress.layer(image, index + 1, layers.len(), layer.size);
            // Behind the store, so that what is kept never hangs on what else an image has.
            (*index, self.read(layer, blobs, told).and_then(|seen| fit(seen, &room)))
        });
        let mut sorted: Vec<(usize, Outcome)> = outcomes;
        sorted.sort_by_key(|(index, _)| *index);
        sorted.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn read<'p>(&'p self, layer: &Layer, blobs: &Blobs, told: impl FnOnce() -> progress::Layer<'p>) -> Outcome {
        if layer.is_encrypted() {
            return Err(Unread::left_out("it is encrypted"));
        }
        // First of all, so that the answer is the same whatever is known already.
        if let Some(largest) = self.largest.filter(|largest| layer.size > *largest) {
            let why = format!(
                "it has {}, more than the limit of {}; raise --max-layer-bytes",
                size(layer.size),
                size(largest)
            );
            return Err(Unread::left_out(why));
        }
        let read = || {
            let unopened = |error: PullError| Unread {
                why: error.problem.to_string(),
                fault: !matches!(*error.problem, Problem::Foreign { .. }),
            };
            let elsewhere = Arc::new(Mutex::new(None));
            let source = Watched { source: blobs.layer(layer).map_err(unopened)?, elsewhere: elsewhere.clone() };
            let descriptor = Descriptor {
                digest: layer.digest.clone(),
                digested: Digested::Packed,
                size: Some(layer.size),
                media_type: layer.media_type.clone(),
            };
            let mut told = told();
            let mut watch = |at: crate::layer::Progress| {
                told.at(at.packed);
                ControlFlow::Continue(())
            };
            let unread = |error: LayerError| match elsewhere.lock().unwrap_or_else(PoisonError::into_inner).take() {
                Some(why) => Unread::left_out(why),
                None => Unread { why: error.to_string(), fault: error.is_fault() },
            };
            read_layer(source, &descriptor, &Limits::default(), &mut watch).map_err(unread)
        };
        self.store.get(&layer.digest, read)
    }
}

/// The bytes of a layer, with what is told of one that is kept elsewhere than with the image.
struct Watched {
    source: Box<dyn Read + Send>,
    elsewhere: Arc<Mutex<Option<String>>>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer).inspect_err(|error| {
            let problem =
                error.get_ref().and_then(|cause| cause.downcast_ref::<PullError>()).map(|cause| &*cause.problem);
            if let Some(problem @ Problem::Foreign { .. }) = problem {
                *self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem.to_string());
            }
        })
    }
}

/// Keeps a layer if the image has room for it.
fn fit(seen: Arc<LayerSeen>, room: &Room) -> Outcome {
    if room.take(&seen) { Ok(seen) } else { Err(Unread::left_out("the image has too many files")) }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let tenths = bytes.saturating_mul(10) / unit;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (1_999_999, "1.9 MB"),
            (3_200_000_000, "3.2 GB"),
            (u64::MAX, "1844674407.3 GB"),
        ] {
            assert_eq!(size(bytes), expected, "{bytes}");
        }
    }
}
