//! Rows about changes in the behaviour of the NVIDIA Container Toolkit.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// A change in the behaviour of the NVIDIA Container Toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolkitChange {
    /// The requirement check recognises the newer GPU brands.
    BrandNames,
    /// Driver capabilities are compared as a list; before, the first unknown one ended the comparison.
    CapabilityList,
    /// Driver capabilities are trimmed, and `all` counts at any position.
    CapabilitySet,
    /// The option `cuda-compat-mode` is read.
    CompatModeOption,
    /// The option `allow-cuda-compat-libs-from-container` is read.
    CompatOptIn,
    /// A container that requests no driver capability gets compute and utility, not only utility.
    ComputeByDefault,
    /// The csv mode evaluates which devices are requested, not only whether any is.
    CsvDeviceIds,
    /// `all`, `none` and `void` count at any position of a device list, and its names are trimmed.
    DeviceWords,
    /// The option `nvcdi-disable-hooks` is read.
    DisabledHooks,
    /// Devices that an unprivileged container may not request are ignored; before, the container was not created.
    EnvvarIgnored,
    /// The error of the hook for a mode that it does not support ends without a full stop.
    HookPlainError,
    /// The hook reads the environment of the container before it checks its mode.
    HookReadsFirst,
    /// `CUDA_VERSION` is parsed as a semantic version, and `NVIDIA_REQUIRE_JETPACK` is no requirement.
    ImageReader,
    /// The csv requirement check accepts versions with leading zeros.
    LenientVersions,
    /// A missing `/dev/nvidia-modeset` on the node is a warning, not an error.
    ModesetOptional,
    /// `none` injects no device in jit-cdi mode.
    NoneInJitCdi,
    /// Qualified CDI device names select the cdi mode.
    QualifiedNames,
    /// The requirement check recommends a newer driver if the CUDA version is too low.
    RequirementAdvice,
    /// The requirement check reports the first term; before, the last condition that failed.
    RequirementTerm,
    /// Variables of `swarm-resource` take precedence over `NVIDIA_VISIBLE_DEVICES`.
    SwarmFirst,
    /// The nvidia runtime reads `swarm-resource`, not only the hook.
    SwarmInRuntime,
}

impl ToolkitChange {
    /// All variants.
    pub const ALL: [Self; 21] = [
        Self::BrandNames,
        Self::CapabilityList,
        Self::CapabilitySet,
        Self::CompatModeOption,
        Self::CompatOptIn,
        Self::ComputeByDefault,
        Self::CsvDeviceIds,
        Self::DeviceWords,
        Self::DisabledHooks,
        Self::EnvvarIgnored,
        Self::HookPlainError,
        Self::HookReadsFirst,
        Self::ImageReader,
        Self::LenientVersions,
        Self::ModesetOptional,
        Self::NoneInJitCdi,
        Self::QualifiedNames,
        Self::RequirementAdvice,
        Self::RequirementTerm,
        Self::SwarmFirst,
        Self::SwarmInRuntime,
    ];
}

/// A set of toolkit changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolkitChanges(u32);

impl ToolkitChanges {
    /// Returns the set of the changes for which `has_come` is true.
    pub fn matching(has_come: impl Fn(ToolkitChange) -> bool) -> Self {
        let come = ToolkitChange::ALL.into_iter().filter(|change| has_come(*change));
        Self(come.fold(0, |set, change| set | 1 << change as u32))
    }

    /// Whether the set contains a change.
    pub const fn contains(self, change: ToolkitChange) -> bool {
        self.0 & 1 << change as u32 != 0
    }
}

/// First version with a `ToolkitChange`.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitChangeRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// The change.
    pub change: ToolkitChange,
    /// First version with it.
    pub from: CudaVersion,
    /// Whether the version is that of libnvidia-container.
    pub library: bool,
}

/// A library that newer Windows drivers need under WSL and only newer container toolkits mount.
#[derive(Clone, Copy, Debug)]
pub struct WslLibraryRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name of the library.
    pub library: &'static str,
    /// First number of the first Windows drivers that need it.
    pub windows_from: u32,
    /// First container toolkit that mounts it.
    pub toolkit_from: CudaVersion,
    /// Release date of that toolkit.
    pub toolkit_released: Date,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        for change in ToolkitChange::ALL {
            let set = ToolkitChanges::matching(|one| one == change);
            for other in ToolkitChange::ALL {
                assert_eq!(set.contains(other), other == change, "{change:?} {other:?}");
            }
            assert!(!ToolkitChanges::default().contains(change));
        }
    }
}
