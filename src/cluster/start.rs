//! How a file says that a container comes to its GPUs.

use serde::Deserialize;
use serde::Serialize;

/// How a file says that a container comes to its GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Start {
    /// Who hands them out.
    pub by: By,
    /// Whether it runs under the nvidia runtime.
    pub nvidia: bool,
}

/// Who hands GPUs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The file does not say it.
    #[default]
    Untold,
    /// The engine, told by `gpus` or by devices that are reserved: it sets the variable itself.
    Engine,
    /// The engine, told by names of the container device interface.
    Names,
    /// The nvidia runtime, by the environment of the container.
    Runtime,
    /// The same in a pod that asks no device plugin.
    Class,
    /// A device plugin.
    Plugin,
}

impl Start {
    /// Whether nothing is said.
    pub fn is_untold(&self) -> bool {
        *self == Self::default()
    }

    /// What says it, for people.
    pub fn words(self) -> &'static str {
        match self.by {
            By::Untold => "nothing",
            By::Engine => "`gpus` or reserved devices",
            By::Names => "CDI device names",
            By::Runtime => "`runtime: nvidia`, which uses NVIDIA_VISIBLE_DEVICES of the container",
            By::Class => {
                "`runtimeClassName` without a GPU of the device plugin, which uses NVIDIA_VISIBLE_DEVICES of the \
                 container"
            }
            By::Plugin => "a GPU of the device plugin",
        }
    }
}
