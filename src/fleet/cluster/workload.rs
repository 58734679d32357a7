//! The containers of a file that request GPUs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::fleet::cluster::container_environment::ConfigMaps;
use crate::fleet::cluster::json::text_at;
use crate::fleet::cluster::{ContainerCommand, ImageSpan, NodeRequirements, Start, image_markers};

/// Maximum number of containers in a file.
pub(super) const MAX_WORKLOADS: usize = 200_000;

/// A container that requests GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// `namespace/Deployment/name: container`, or `service name`.
    pub name: String,
    /// The image reference.
    pub image: String,
    /// The image as written in the file, if it contains variables or the pod status names another one.
    pub written: Option<String>,
    /// The span of the image name in the file.
    pub image_span: ImageSpan,
    /// Whether the image comes from the status of the pod.
    pub is_from_status: bool,
    /// Environment variables; `None` for a value that is not in the file.
    pub env: BTreeMap<String, Option<String>>,
    /// The source of further variables that was not read.
    pub env_from: Option<&'static str>,
    /// The command that it is started with.
    pub command: ContainerCommand,
    /// How it gets its GPUs.
    pub start: Start,
    /// The requested platform; `None` for that of the node.
    pub platform: Option<String>,
    /// The requirements on its node.
    pub nodes: NodeRequirements,
}

/// The GPU workloads of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workloads {
    /// The containers by name, each once even if it has several pods.
    pub list: BTreeSet<Workload>,
    /// The number of containers that request no GPU.
    pub without_gpu: usize,
    /// The number of pods that have ended.
    pub ended: usize,
    /// Messages about workloads that could not be read.
    pub notes: BTreeSet<String>,
    /// The spans of the image names by the number of their marker.
    pub(super) image_spans: Vec<(usize, usize)>,
    /// The config maps in the file.
    pub(super) config_maps: ConfigMaps,
}

impl Workloads {
    /// Returns the image of a container object, and its span in the file.
    pub(super) fn image_of(&self, value: &Value) -> Option<(String, ImageSpan)> {
        let (image, mark) = image_markers::remove_marker(text_at(value, &["image"])?);
        Some((image, ImageSpan(mark.and_then(|mark| self.image_spans.get(mark).copied()))))
    }
}
