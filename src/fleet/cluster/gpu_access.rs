//! How a container gets its GPUs, according to a workload file.

use serde::{Deserialize, Serialize};

/// How a container gets its GPUs, according to a workload file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Start {
    /// The component that adds the GPUs.
    pub by: GpuProvider,
    /// Whether the container uses the nvidia runtime.
    pub nvidia: bool,
}

/// The component that gives a container its GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuProvider {
    /// Unknown.
    #[default]
    #[serde(rename = "untold")]
    Unknown,
    /// The container engine, by `gpus` or reserved devices: it sets the variable itself.
    Engine,
    /// The container engine, by device names of the Container Device Interface.
    Names,
    /// The nvidia runtime, by the environment of the container.
    Runtime,
    /// The nvidia runtime of a pod that requests no GPU of a device plugin.
    Class,
    /// A device plugin.
    Plugin,
}

impl Start {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the setting that gives access, for messages.
    pub fn setting_description(self) -> &'static str {
        match self.by {
            GpuProvider::Unknown => "nothing",
            GpuProvider::Engine => "`gpus` or reserved devices",
            GpuProvider::Names => "CDI device names",
            GpuProvider::Runtime => "`runtime: nvidia`, which uses NVIDIA_VISIBLE_DEVICES of the container",
            GpuProvider::Class => {
                "`runtimeClassName` without a GPU of the device plugin, which uses NVIDIA_VISIBLE_DEVICES of the \
                 container"
            }
            GpuProvider::Plugin => "a GPU of the device plugin",
        }
    }
}
