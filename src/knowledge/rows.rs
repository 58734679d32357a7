//! The row types of the knowledge tables: what one line of `rules/knowledge/` says, with source and date.

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
pub use crate::knowledge::alias_rows::ValueAliasRow;
pub use crate::knowledge::change_rows::*;
pub use crate::knowledge::code_rows::*;
pub use crate::knowledge::driver_rows::DriverMoveRow;
pub use crate::knowledge::driver_rows::DriverReleaseRow;
pub use crate::knowledge::error_rows::*;
pub use crate::knowledge::image_rows::*;
pub use crate::knowledge::instances::CloudInstanceRow;
pub use crate::knowledge::library_rows::{
    DriverSonameRow, LibraryCarrierRow, LibraryFreeRow, LibraryNeedsRow, LibraryPackageRow, LibraryPartsRow, OsRow,
    ProcessorPackageRow, StubDirectoryRow, ToolkitLibraryRow,
};
pub use crate::knowledge::slices::MigProfileRow;
pub use crate::knowledge::stages::DriverProgramRow;
pub use crate::knowledge::stages::StageNameRow;
pub use crate::knowledge::torch_rows::*;
pub use crate::knowledge::verdict_rows::LaunchWordRow;
pub use crate::knowledge::verdict_rows::VerdictWordRow;
pub use crate::knowledge::wheel_rows::*;

/// How a row is known, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// From somebody's memory: never decides an error.
    Memory,
    /// Concluded from other rows.
    Inferred,
    /// Read in the named document or file.
    Documented,
    /// Run or read off the artefact itself.
    Measured,
}

/// Where a row stands and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct RowInfo {
    /// Table name, such as `gpus`.
    pub table: &'static str,
    /// Key within the table, such as `NVIDIA A100-PCIE-40GB`.
    pub row: &'static str,
    /// Document, file or measurement.
    pub source: &'static str,
    /// When the source was read.
    pub checked: Date,
    /// How the row is known.
    pub how: How,
}

/// The class of a GPU, which decides about forward compatibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuClass {
    /// Tesla and its successors.
    DataCenter,
    /// `GeForce` and `TITAN`.
    Consumer,
    /// Quadro and RTX professional boards.
    Workstation,
    /// Jetson and DRIVE modules.
    Jetson,
    /// A share of a GPU given to a virtual machine.
    Vgpu,
    /// Anything else, such as mobile workstation boards.
    Other,
}

/// A brand that holds for a range of driver branches.
#[derive(Clone, Copy, Debug)]
pub struct BrandRow {
    /// First branch, if bounded.
    pub from_branch: Option<u32>,
    /// Last branch, if bounded.
    pub up_to_branch: Option<u32>,
    /// Lower-case brand as `NVIDIA_REQUIRE_CUDA` spells it: `tesla`, `nvidia`, `geforce`.
    pub brand: &'static str,
}

/// One GPU.
#[derive(Clone, Copy, Debug)]
pub struct GpuRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// As `nvidia-smi` prints it.
    pub name: &'static str,
    /// What people write.
    pub aliases: &'static [&'static str],
    /// X.Y.
    pub capability: ComputeCapability,
    /// `Ampere`.
    pub architecture: &'static str,
    /// Class.
    pub class: GpuClass,
    /// Whether a compat library may be used on it; `None` where no source says.
    pub forward_compat: Option<bool>,
    /// NVML brand by driver branch; empty where not known.
    pub brands: &'static [BrandRow],
    /// How the brands are known: few have been seen in public dumps.
    pub brand_how: How,
    /// Oldest branch that names it; good for warnings, not for errors.
    pub first_branch: Option<u32>,
    /// Newest branch that drives it, where support has ended.
    pub last_branch: Option<u32>,
    /// Whether it sits in arm64 hosts only.
    pub arm64_host: bool,
}

/// One driver branch.
#[derive(Clone, Copy, Debug)]
pub struct BranchRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// 535.
    pub branch: u32,
    /// Newest CUDA that it supports: what `nvidia-smi` prints.
    pub cuda: CudaVersion,
    /// What it prints of the releases below, where they differ from the rest of the branch.
    pub other_cuda: Option<CudaVersion>,
    /// Those releases.
    pub other_releases: &'static [DriverVersion],
    /// Releases seen, oldest first.
    pub releases: &'static [DriverVersion],
    /// First release date, where known.
    pub released: Option<Date>,
    /// Last day of its support, where known.
    pub end_of_support: Option<Date>,
}

/// A set of compute capabilities that drivers began and ended supporting together.
#[derive(Clone, Copy, Debug)]
pub struct ArchitectureRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `Ampere`.
    pub name: &'static str,
    /// The capabilities.
    pub capabilities: &'static [ComputeCapability],
    /// First toolkit, which tells the first driver branch.
    pub first_toolkit: CudaVersion,
    /// Last toolkit, where dropped.
    pub last_toolkit: Option<CudaVersion>,
    /// Last driver branch, where dropped.
    pub last_branch: Option<u32>,
    /// Whether some GPU of them can be divided by MIG.
    pub mig: bool,
}

/// One CUDA toolkit release.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `12.4.1`.
    pub version: CudaVersion,
    /// Driver with every feature.
    pub min_driver_full: Option<DriverVersion>,
    /// Driver that the installer brings, x86-64.
    pub bundled_driver: Option<DriverVersion>,
    /// Release date, the first of the month where only that is known.
    pub released: Option<Date>,
}

/// PTX version of a toolkit minor, and the targets that it compiles to.
#[derive(Clone, Copy, Debug)]
pub struct TargetSetRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `12.4`.
    pub cuda: CudaVersion,
    /// PTX ISA that it writes and its driver reads, as a dotted version.
    pub ptx_isa: CudaVersion,
    /// Targets of ptxas.
    pub targets: &'static [CodeTarget],
}

/// The oldest driver on which any runtime of a CUDA major starts.
#[derive(Clone, Copy, Debug)]
pub struct MinorCompatRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// 12.
    pub cuda_major: u32,
    /// 525.60.13.
    pub min_driver: DriverVersion,
    /// Branch of which another document counts every release, where one does.
    pub from_branch: Option<u32>,
}

/// One compat package, `cuda-compat-12-4`.
#[derive(Clone, Copy, Debug)]
pub struct CompatRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `12.4`.
    pub cuda: CudaVersion,
    /// Branch of its libcuda.
    pub branch: u32,
    /// libcuda versions seen, oldest first.
    pub versions: &'static [DriverVersion],
    /// Kernel-mode branches that image requirement strings or ELF notes have named as a base.
    pub base_branches: &'static [u32],
    /// Whether those are the branches of the note inside the library.
    pub noted: bool,
}

/// A cell of the forward compatibility matrix.
#[derive(Clone, Copy, Debug)]
pub struct ForwardRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// CUDA of the compat package.
    pub cuda: CudaVersion,
    /// Kernel-mode branch.
    pub base_branch: u32,
    /// Whether the pair is supported.
    pub supported: bool,
}

/// A value for one CPU architecture, named as Docker does: `amd64`, `arm64`.
#[derive(Clone, Copy, Debug)]
pub struct ByArch<T: 'static> {
    /// `amd64`, `arm64`.
    pub arch: &'static str,
    /// The value.
    pub value: T,
}

/// What the container toolkit does with a compat library in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompatSelection {
    /// The host's libcuda.
    Off,
    /// Mounted beside the host's; the highest file version wins.
    Mount,
    /// Its directory goes first in the ldconfig call where its major is greater than the host's.
    Ldconfig,
    /// The `enable-cuda-compat` hook decides by driver majors.
    HookMajors,
    /// The hook decides by the library's ELF note, else by majors.
    HookNote,
    /// The hook decides by the host's CUDA version and the note (Tegra).
    HookCuda,
}

/// Behaviour of a range of container toolkit versions.
#[derive(Clone, Copy, Debug)]
pub struct ContainerToolkitRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// First version.
    pub from: CudaVersion,
    /// First version that behaves otherwise again; `None` for the newest range.
    pub before: Option<CudaVersion>,
    /// Legacy mode through the hook alone (`docker run --gpus`).
    pub legacy_hook: CompatSelection,
    /// Legacy mode through the nvidia runtime.
    pub legacy_runtime: CompatSelection,
    /// CDI in all its forms.
    pub cdi: CompatSelection,
    /// Tegra.
    pub csv: CompatSelection,
    /// Whether libnvidia-container follows an absolute link to the compat directory.
    pub follows_absolute_link: bool,
    /// Whether the hook does nothing in an image without `/etc/ld.so.cache`.
    pub hook_needs_cache: bool,
    /// Whether CDI leaves directories that the image lists itself in their place.
    pub keeps_listed_directories: bool,
    /// Mode that `auto` resolves to on a discrete GPU: `legacy`, `jit-cdi`.
    pub auto_mode: &'static str,
    /// A representative release of the range, to try where a pool does not say.
    pub sample: CudaVersion,
    /// When the range began, where known: a report of 2021 never gets a toolkit of 2025.
    pub released: Option<Date>,
}

/// A release of the container toolkit.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitDayRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its number.
    pub version: CudaVersion,
    /// When it came out.
    pub released: Date,
}

/// A package that puts driver libraries into an image.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
pub struct DriverPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Name, or its beginning.
    pub name: &'static str,
    /// Whether `name` is only the beginning, followed by a driver branch.
    pub prefix: bool,
    /// Whether libcuda is among the libraries.
    pub libcuda: bool,
    /// Whether it brings graphics libraries and no others.
    pub graphics: bool,
    /// Whether its version is that of a toolkit, which tells no driver.
    pub toolkit: bool,
    /// Whether it brings them by what it depends on alone, whose version its own does not tell.
    pub through: bool,
    /// Words of tags that name the releases of distributions where it does; every release where there are none.
    pub releases: &'static [&'static str],
    /// Whether it installs a driver only where it finds a GPU, which is the build machine's.
    pub chance: bool,
    /// Packages with which it looks for one: without any of them, it finds none.
    pub finds: &'static [&'static str],
    /// The beginning of the package that has what the toolkit of the same installer is; the name of the installer
    /// says the versions of both.
    pub beside: Option<&'static str>,
    /// Whether the package of that name that RPM installs brings no libcuda.
    pub without_rpm: bool,
}

/// An engine that starts GPUs through CDI by itself.
#[derive(Clone, Copy, Debug)]
pub struct EngineRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `docker`.
    pub name: &'static str,
    /// First version that takes CDI specifications, where the host has them, for `--gpus`.
    pub cdi_from: CudaVersion,
    /// The day of that version, where known.
    pub cdi_released: Option<Date>,
}

/// The members of a family-specific target.
#[derive(Clone, Copy, Debug)]
pub struct CodeFamilyRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// The capability that the target names: 10.0 for `sm_100f`.
    pub capability: ComputeCapability,
    /// Capabilities that run it.
    pub members: &'static [ComputeCapability],
}

/// The number of a brand in NVML and in the notes of compat libraries.
#[derive(Clone, Copy, Debug)]
pub struct BrandNumberRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Lower-case name.
    pub name: &'static str,
    /// Number.
    pub number: u32,
    /// Whether the notes of compat libraries admit it.
    pub compat: bool,
    /// Whether libnvidia-container learnt the name later; before that it says `Unknown`.
    pub later: bool,
}

/// A capability of Tegra modules: binary compatibility ends at it.
#[derive(Clone, Copy, Debug)]
pub struct TegraRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// The capability.
    pub capability: ComputeCapability,
    /// Compat directory of its own.
    pub compat_root: Option<&'static str>,
    /// The version in the name of its libcuda, where it is not that of the driver.
    pub libcuda: Option<DriverVersion>,
}
