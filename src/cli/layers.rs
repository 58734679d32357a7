//! The layers of images, each read once in a run and several at a time.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::parallel;
use crate::extract;
use crate::extract::MissingLayer;
use crate::fact::Observations;
use crate::layer::Descriptor;
use crate::layer::Digested;
use crate::layer::LayerSeen;
use crate::layer::Limits;
use crate::layer::Room;
use crate::layer::Tree;
use crate::layer::read_layer;
use crate::oci::Blobs;
use crate::oci::Layer;
use crate::oci::PulledImage;

/// So many layers at a time: each takes some MB of memory, and a connection of the registry.
const MOST_AT_ONCE: usize = 4;

/// What a layer says, or why it was not read.
type Outcome = Result<Arc<LayerSeen>, String>;

/// Reads layers, and keeps what they say for the other images that have them.
pub(crate) struct Layers {
    largest: Option<u64>,
    jobs: usize,
    known: Mutex<HashMap<String, Arc<LayerSeen>>>,
}

impl Layers {
    /// Layers of at most `largest` packed bytes, on so many threads.
    pub(crate) fn new(largest: Option<u64>, jobs: usize) -> Self {
        Self { largest, jobs: jobs.min(MOST_AT_ONCE), known: Mutex::default() }
    }

    /// What an image holds, and how much of it was inspected.
    pub(crate) fn of(&self, image: &PulledImage, blobs: &Blobs) -> (Observations, Vec<String>) {
        let layers = &image.config.layers;
        let outcomes = self.read_all(layers, blobs);
        let (mut stacked, mut missing, mut read, mut bytes) = (Vec::new(), Vec::new(), 0_usize, 0_u64);
        for (index, (layer, outcome)) in layers.iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(seen) => {
                    read += 1;
                    bytes = bytes.saturating_add(layer.size);
                    stacked.push(seen);
                }
                Err(why) => {
                    missing.push(MissingLayer { layer: index, why });
                    stacked.push(Arc::default());
                }
            }
        }
        let (seen, mut notes) = extract::of_layers(image, &Tree::stack(stacked), &missing);
        notes.insert(0, format!("layers {read} of {}, {}", layers.len(), size(bytes)));
        (seen, notes)
    }

    fn read_all(&self, layers: &[Layer], blobs: &Blobs) -> Vec<Outcome> {
        // What can only be read from its beginning to its end is read in that order.
        let mut order: Vec<(Option<u64>, usize, &Layer)> =
            layers.iter().enumerate().map(|(index, layer)| (blobs.position(layer), index, layer)).collect();
        let jobs = if order.iter().any(|(position, ..)| position.is_some()) { 1 } else { self.jobs };
        order.sort_by_key(|(position, index, _)| (*position, *index));
        let room = Room::default();
        let outcomes = parallel::map(jobs, &order, |(_, index, layer)| {
            (*index, self.read(layer, blobs).and_then(|seen| self.fit(seen, &room)))
        });
        let mut sorted: Vec<(usize, Outcome)> = outcomes;
        sorted.sort_by_key(|(index, _)| *index);
        sorted.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// Keeps a layer if there is room for it.
    fn fit(&self, seen: Arc<LayerSeen>, room: &Room) -> Outcome {
        if room.take(&seen) {
            return Ok(seen);
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&seen.digest);
        Err("the image has more files than are kept".to_owned())
    }

    fn read(&self, layer: &Layer, blobs: &Blobs) -> Outcome {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&layer.digest) {
            return Ok(known.clone());
        }
        if let Some(largest) = self.largest.filter(|largest| layer.size > *largest) {
            return Err(format!("it has {}, and --max-layer-bytes allows {}", size(layer.size), size(largest)));
        }
        let source = blobs.layer(layer).map_err(|error| error.problem.to_string())?;
        let descriptor = Descriptor {
            digest: layer.digest.clone(),
            digested: Digested::Packed,
            size: Some(layer.size),
            media_type: layer.media_type.clone(),
        };
        let seen = read_layer(source, &descriptor, &Limits::default(), &mut |_| ControlFlow::Continue(()));
        let seen = Arc::new(seen.map_err(|error| error.to_string())?);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(layer.digest.clone(), seen.clone());
        Ok(seen)
    }
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
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
