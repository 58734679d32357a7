//! Row types of the knowledge tables: the content of `rules/knowledge/`, with source and date.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
pub use crate::knowledge::alias_rows::ValueAliasRow;
pub use crate::knowledge::cloud_instances::CloudInstanceRow;
pub use crate::knowledge::code_rows::*;
pub use crate::knowledge::driver_rows::{DriverMoveRow, DriverReleaseRow};
pub use crate::knowledge::error_rows::*;
pub use crate::knowledge::image_rows::*;
pub use crate::knowledge::library_rows::{
    DriverSonameRow, LibraryCarrierRow, LibraryFreeRow, LibraryNeedsRow, LibraryPackageRow, LibraryPartsRow, OsRow,
    ProcessorPackageRow, StubDirectoryRow, ToolkitLibraryRow,
};
pub use crate::knowledge::mig_profiles::MigProfileRow;
pub use crate::knowledge::stage_names::{DriverProgramRow, StageNameRow};
pub use crate::knowledge::toolkit_changes::*;
pub use crate::knowledge::torch_rows::*;
pub use crate::knowledge::verdict_rows::{LaunchWordRow, VerdictWordRow};
pub use crate::knowledge::wheel_rows::*;
pub use crate::model::row_info::{How, RowInfo};

/// Class of a GPU, which decides about forward compatibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuClass {
    /// Tesla GPUs and their successors.
    DataCenter,
    /// `GeForce` and `TITAN`.
    Consumer,
    /// Quadro and RTX professional boards.
    Workstation,
    /// Jetson and DRIVE modules.
    Jetson,
    /// A virtual GPU.
    Vgpu,
    /// Any other class, such as GPUs of mobile workstations.
    Other,
}

/// A GPU brand that applies to a range of driver branches.
#[derive(Clone, Copy, Debug)]
pub struct BrandRow {
    /// First driver branch; `None` if unbounded.
    pub from_branch: Option<u32>,
    /// Last driver branch; `None` if unbounded.
    pub up_to_branch: Option<u32>,
    /// Brand in lower case, as in `NVIDIA_REQUIRE_CUDA`: `tesla`, `nvidia`, `geforce`.
    pub brand: &'static str,
}

/// A GPU.
#[derive(Clone, Copy, Debug)]
pub struct GpuRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name that `nvidia-smi` prints.
    pub name: &'static str,
    /// Names that users write.
    pub aliases: &'static [&'static str],
    /// Compute capability.
    pub capability: ComputeCapability,
    /// Architecture: `Ampere`.
    pub architecture: &'static str,
    /// Class.
    pub class: GpuClass,
    /// Whether a compat library may be used on it; `None` if no source covers it.
    pub forward_compat: Option<bool>,
    /// NVML brands by driver branch; empty if unknown.
    pub brands: &'static [BrandRow],
    /// Evidence for the brands.
    pub brand_how: How,
    /// Oldest driver branch that lists it; for warnings only, not for errors.
    pub first_branch: Option<u32>,
    /// Newest driver branch that supports it, if support has ended.
    pub last_branch: Option<u32>,
    /// Whether it exists only in arm64 hosts.
    pub arm64_host: bool,
}

/// A driver branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Number of the branch: 535.
    pub branch: u32,
    /// Newest CUDA version that it supports, as `nvidia-smi` prints it.
    pub cuda: CudaVersion,
    /// CUDA version of the releases in `other_releases`, which differ from the rest of the branch.
    pub other_cuda: Option<CudaVersion>,
    /// Releases with `other_cuda`.
    pub other_releases: &'static [DriverVersion],
    /// Known releases, oldest first.
    pub releases: &'static [DriverVersion],
    /// Date of the first release; `None` if unknown.
    pub released: Option<Date>,
    /// Last day of support; `None` if unknown.
    pub end_of_support: Option<Date>,
}

/// Compute capabilities that drivers started and stopped supporting together.
#[derive(Clone, Copy, Debug)]
pub struct ArchitectureRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Architecture: `Ampere`.
    pub name: &'static str,
    /// Compute capabilities.
    pub capabilities: &'static [ComputeCapability],
    /// First CUDA version, which determines the first driver branch.
    pub first_toolkit: CudaVersion,
    /// Last CUDA version, if support has ended.
    pub last_toolkit: Option<CudaVersion>,
    /// Last driver branch, if support has ended.
    pub last_branch: Option<u32>,
    /// Whether any of its GPUs supports MIG.
    pub mig: bool,
}

/// A CUDA toolkit release.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version: `12.4.1`.
    pub version: CudaVersion,
    /// Minimum driver for all features.
    pub min_driver_full: Option<DriverVersion>,
    /// Driver in the installer for x86-64.
    pub bundled_driver: Option<DriverVersion>,
    /// Release date; the first of the month if only that is known.
    pub released: Option<Date>,
}

/// The PTX version and the compilation targets of a CUDA minor version.
#[derive(Clone, Copy, Debug)]
pub struct TargetSetRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA minor version: `12.4`.
    pub cuda: CudaVersion,
    /// PTX ISA version that the toolkit generates and its driver accepts.
    pub ptx_isa: CudaVersion,
    /// Targets of ptxas.
    pub targets: &'static [CodeTarget],
}

/// The minimum driver for minor version compatibility of a CUDA major version.
#[derive(Clone, Copy, Debug)]
pub struct MinorCompatRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA major version: 12.
    pub cuda_major: u32,
    /// Minimum driver: 525.60.13.
    pub min_driver: DriverVersion,
    /// Driver branch of which another document includes every release, if any.
    pub from_branch: Option<u32>,
}

/// A compat package, such as `cuda-compat-12-4`.
#[derive(Clone, Copy, Debug)]
pub struct CompatRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA minor version: `12.4`.
    pub cuda: CudaVersion,
    /// Driver branch of its libcuda.
    pub branch: u32,
    /// Known libcuda versions, oldest first.
    pub versions: &'static [DriverVersion],
    /// Kernel driver branches that requirements of images or ELF notes list as compatible.
    pub base_branches: &'static [u32],
    /// Whether those branches are from the ELF note of the library.
    pub noted: bool,
}

/// An entry of the forward compatibility matrix.
#[derive(Clone, Copy, Debug)]
pub struct ForwardRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA version of the compat package.
    pub cuda: CudaVersion,
    /// Kernel driver branch.
    pub base_branch: u32,
    /// Whether the combination is supported.
    pub supported: bool,
}

/// A value for one CPU architecture.
#[derive(Clone, Copy, Debug)]
pub struct ByArch<T: 'static> {
    /// Architecture: `amd64`, `arm64`.
    pub arch: &'static str,
    /// The value.
    pub value: T,
}

/// Rule by which the container toolkit chooses between the compat library of the image and the libcuda of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompatSelection {
    /// Always the libcuda of the host.
    Off,
    /// Both are mounted in one directory; the highest version in the file name wins.
    Mount,
    /// The compat directory is first for ldconfig if its driver major version is greater than that of the host.
    Ldconfig,
    /// The `enable-cuda-compat` hook compares the driver major versions.
    HookMajors,
    /// The hook uses the ELF note of the library, otherwise the driver major versions.
    HookNote,
    /// The hook uses the CUDA version of the host and the ELF note (Tegra).
    HookCuda,
}

/// Behaviour of a range of NVIDIA Container Toolkit versions.
#[derive(Clone, Copy, Debug)]
pub struct ContainerToolkitRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// First version.
    pub from: CudaVersion,
    /// First version with other behaviour; `None` for the newest range.
    pub before: Option<CudaVersion>,
    /// Compat library selection in legacy mode with only the hook (`docker run --gpus`).
    pub legacy_hook: CompatSelection,
    /// Compat library selection in legacy mode with the nvidia runtime.
    pub legacy_runtime: CompatSelection,
    /// Compat library selection in all CDI modes.
    pub cdi: CompatSelection,
    /// Compat library selection in csv mode (Tegra).
    pub csv: CompatSelection,
    /// Whether libnvidia-container follows an absolute symbolic link to the compat directory.
    pub follows_absolute_link: bool,
    /// Whether the hook has no effect in an image without `/etc/ld.so.cache`.
    pub hook_needs_cache: bool,
    /// Whether CDI keeps the order of library directories that the image lists itself.
    pub keeps_listed_directories: bool,
    /// Mode selected by `auto` on a discrete GPU: `legacy`, `jit-cdi`.
    pub auto_mode: &'static str,
    /// Representative version of the range, for pools without a declared version.
    pub sample: CudaVersion,
    /// Release date of the first version; `None` if unknown.
    pub released: Option<Date>,
}

/// Release date of an NVIDIA Container Toolkit version.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitDayRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version.
    pub version: CudaVersion,
    /// Release date.
    pub released: Date,
}

/// A package that installs driver libraries into an image.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
pub struct DriverPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Package name, or its prefix.
    pub name: &'static str,
    /// Whether `name` is a prefix before a driver branch.
    pub prefix: bool,
    /// Whether it contains libcuda.
    pub libcuda: bool,
    /// Whether it contains only graphics libraries.
    pub graphics: bool,
    /// Whether its version is that of a CUDA toolkit, not of a driver.
    pub toolkit: bool,
    /// Whether it contains them only through dependencies, whose versions differ from its own.
    pub through: bool,
    /// Releases of the distribution, as in image tags, that it applies to; empty for all.
    pub releases: &'static [&'static str],
    /// Whether it installs a driver only if it detects a GPU, that of the build machine.
    pub chance: bool,
    /// Packages that it needs to detect a GPU.
    pub finds: &'static [&'static str],
    /// Prefix of the package with the toolkit of the same installer; the installer name contains both versions.
    pub beside: Option<&'static str>,
    /// Whether the RPM package of that name does not contain libcuda.
    pub without_rpm: bool,
}

/// A container engine that uses CDI for GPUs by default.
#[derive(Clone, Copy, Debug)]
pub struct EngineRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name: `docker`.
    pub name: &'static str,
    /// First version that uses CDI specifications of the host for `--gpus`.
    pub cdi_from: CudaVersion,
    /// Release date of that version; `None` if unknown.
    pub cdi_released: Option<Date>,
}

/// The compute capabilities of a family-specific target.
#[derive(Clone, Copy, Debug)]
pub struct CodeFamilyRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Compute capability in the target: 10.0 for `sm_100f`.
    pub capability: ComputeCapability,
    /// Compute capabilities that run it.
    pub members: &'static [ComputeCapability],
}

/// The number of a GPU brand in NVML and in the ELF notes of compat libraries.
#[derive(Clone, Copy, Debug)]
pub struct BrandNumberRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name in lower case.
    pub name: &'static str,
    /// Number of the brand.
    pub number: u32,
    /// Whether the ELF notes of compat libraries allow it.
    pub compat: bool,
    /// Whether older versions of libnvidia-container report it as `Unknown`.
    pub later: bool,
}

/// A compute capability of Tegra modules, which is not binary compatible with any other.
#[derive(Clone, Copy, Debug)]
pub struct TegraRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Compute capability.
    pub capability: ComputeCapability,
    /// Compat directory specific to these modules.
    pub compat_root: Option<&'static str>,
    /// Version in the file name of its libcuda, if it differs from the driver version.
    pub libcuda: Option<DriverVersion>,
}
