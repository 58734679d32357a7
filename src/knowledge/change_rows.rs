//! What container toolkits do from a version on.

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::knowledge::rows::RowInfo;

/// Something that the container toolkit does from a version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolkitChange {
    /// The requirement check knows the newer brands.
    BrandNames,
    /// Capabilities are compared as a list; before, the first unknown word ends it.
    CapabilityList,
    /// Words of capabilities count without the blanks around them, and `all` wherever it stands.
    CapabilitySet,
    /// `cuda-compat-mode` is read.
    CompatModeOption,
    /// `allow-cuda-compat-libs-from-container` is read.
    CompatOptIn,
    /// A container that asks for no capability gets compute, not utility alone.
    ComputeByDefault,
    /// The csv mode asks which devices are named, not whether any is.
    CsvDeviceIds,
    /// `all`, `none` and `void` count anywhere in a list of devices, and blanks around its names do not.
    DeviceWords,
    /// `nvcdi-disable-hooks` is read.
    DisabledHooks,
    /// Devices that an unprivileged container may not ask for are left out; before, it is not created.
    EnvvarIgnored,
    /// What the hook says in a mode that is not its own ends without a dot.
    HookPlainError,
    /// The hook reads the container's environment before it looks at its mode.
    HookReadsFirst,
    /// `CUDA_VERSION` is a semantic version, and `NVIDIA_REQUIRE_JETPACK` no requirement.
    ImageReader,
    /// The csv check takes versions with leading zeros.
    LenientVersions,
    /// A node without `/dev/nvidia-modeset` is warned about, not refused.
    ModesetOptional,
    /// `none` puts no device into the container in jit-cdi mode.
    NoneInJitCdi,
    /// Qualified CDI names as devices choose the cdi mode.
    QualifiedNames,
    /// The requirement check advises a newer driver where a CUDA version is missing.
    RequirementAdvice,
    /// The requirement check names the first term; before, the condition that failed last.
    RequirementTerm,
    /// Variables of `swarm-resource` count before `NVIDIA_VISIBLE_DEVICES`.
    SwarmFirst,
    /// The nvidia runtime reads `swarm-resource` too, not the hook alone.
    SwarmInRuntime,
}

impl ToolkitChange {
    /// Every one.
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

/// A set of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolkitChanges(u32);

impl ToolkitChanges {
    /// Those that have come.
    pub fn of(has_come: impl Fn(ToolkitChange) -> bool) -> Self {
        let come = ToolkitChange::ALL.into_iter().filter(|change| has_come(*change));
        Self(come.fold(0, |set, change| set | 1 << change as u32))
    }

    /// Whether one has come.
    pub const fn has(self, change: ToolkitChange) -> bool {
        self.0 & 1 << change as u32 != 0
    }
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

/// A library that newer Windows drivers ask for under WSL, and that only newer container toolkits bring.
#[derive(Clone, Copy, Debug)]
pub struct WslLibraryRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub library: &'static str,
    /// The first number of the first Windows drivers that ask for it.
    pub windows_from: u32,
    /// The first container toolkit that brings it.
    pub toolkit_from: CudaVersion,
    /// When that came out.
    pub toolkit_released: Date,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_nothing_else() {
        for change in ToolkitChange::ALL {
            let set = ToolkitChanges::of(|one| one == change);
            for other in ToolkitChange::ALL {
                assert_eq!(set.has(other), other == change, "{change:?} {other:?}");
            }
            assert!(!ToolkitChanges::default().has(change));
        }
    }
}
