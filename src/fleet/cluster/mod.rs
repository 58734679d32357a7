//! Reads the GPU workloads of a cluster from `kubectl get -o json` or `-o yaml`, manifests and Compose files.

mod compose;
mod container_command;
mod container_environment;
mod gpu_access;
mod image_markers;
mod json;
mod node_requirements;
mod pod;
mod workload;
mod workload_reader;

pub use self::workload_reader::{ClusterError, MAX_FILE_BYTES, read_workloads};
pub use crate::fleet::cluster::workload::{Workload, Workloads};
pub use container_command::{ArgumentOverride, ContainerCommand};
pub use gpu_access::{GpuProvider, Start};
pub use image_markers::ImageSpan;
pub use node_requirements::{LabelCondition, LabelState, MIG_RESOURCE_PREFIX, NodeRequirement, NodeRequirements};
