//! What container toolkits do from a version on.

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// Something that the container toolkit does from a version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolkitChange {
    /// The requirement check knows the newer brands.
    BrandNames,
    /// Capabilities are compared as a list; before, the first unknown word ends it.
    CapabilityList,
    /// `cuda-compat-mode` is read.
    CompatModeOption,
    /// `allow-cuda-compat-libs-from-container` is read.
    CompatOptIn,
    /// A container that asks for no capability gets compute, not utility alone.
    ComputeByDefault,
    /// `nvcdi-disable-hooks` is read.
    DisabledHooks,
    /// The csv check takes versions with leading zeros.
    LenientVersions,
    /// Qualified CDI names as devices choose the cdi mode.
    QualifiedNames,
    /// The nvidia runtime reads `swarm-resource` too, not the hook alone.
    SwarmInRuntime,
}

/// Since when a [`ToolkitChange`] holds.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitChangeRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// What.
    pub change: ToolkitChange,
    /// First version.
    pub from: CudaVersion,
    /// Whether the version is that of libnvidia-container.
    pub library: bool,
}
