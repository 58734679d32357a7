//! The row types of the knowledge tables: what one line of `rules/knowledge/` says, with source and date.

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
pub use crate::knowledge::torch_rows::*;

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
    /// Releases seen, oldest first.
    pub releases: &'static [DriverVersion],
    /// First release date, where known.
    pub released: Option<Date>,
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

/// A requirement string that images of a CUDA base tag carried.
#[derive(Clone, Copy, Debug)]
pub struct RequireRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Id that image rows refer to.
    pub id: &'static str,
    /// The value of `NVIDIA_REQUIRE_CUDA`.
    pub value: &'static str,
    /// Versions of the tags that carried it: `11.2.2`.
    pub tag_versions: &'static [&'static str],
    /// First day it was seen.
    pub first_seen: Date,
    /// Last day it was seen.
    pub last_seen: Date,
}

/// A value for one CPU architecture, named as Docker does: `amd64`, `arm64`.
#[derive(Clone, Copy, Debug)]
pub struct ByArch<T: 'static> {
    /// `amd64`, `arm64`.
    pub arch: &'static str,
    /// The value.
    pub value: T,
}

/// The base images of one CUDA version: `nvidia/cuda:<version>-*`.
#[derive(Clone, Copy, Debug)]
pub struct CudaImageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// As in the tag: `11.2.2`.
    pub version: &'static str,
    /// `CUDA_VERSION`.
    pub cuda_version: Option<&'static str>,
    /// `base`, `runtime`, `devel`.
    pub flavours: &'static [&'static str],
    /// Operating systems of its tags (`ubuntu20.04`), living and retired together; empty where not known.
    pub os: &'static [&'static str],
    /// Newest requirement id by architecture.
    pub require: &'static [ByArch<&'static str>],
    /// Every requirement id that was ever seen.
    pub require_history: &'static [&'static str],
    /// `cuda-compat-11-2` where one is installed.
    pub compat_package: Option<&'static str>,
    /// Whether a compat package is installed, by architecture.
    pub bundles_compat: &'static [ByArch<bool>],
    /// `LD_LIBRARY_PATH`.
    pub ld_library_path: &'static str,
    /// `NVIDIA_VISIBLE_DEVICES`.
    pub visible_devices: &'static str,
    /// `NVIDIA_DRIVER_CAPABILITIES`.
    pub driver_capabilities: &'static str,
}

/// A framework image whose CUDA the tag tells.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkImageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened as `docker pull` prints it: `nvcr.io/nvidia/pytorch`, `pytorch/pytorch`.
    pub repository: &'static str,
    /// Tag.
    pub tag: &'static str,
    /// CUDA inside.
    pub cuda: CudaVersion,
    /// torch inside, where known.
    pub torch: Option<&'static str>,
}

/// A family of images without any NVIDIA content: what official operating system and language images are.
#[derive(Clone, Copy, Debug)]
pub struct PlainImageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened: `python`, `debian`.
    pub repository: &'static str,
}

/// The GPU code of one torch build.
#[derive(Clone, Copy, Debug)]
pub struct TorchBuildRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `2.6.0`.
    pub version: &'static str,
    /// `cu124`, `cpu`.
    pub variant: &'static str,
    /// `amd64`, `arm64`.
    pub arch: &'static str,
    /// Cubin targets that (nearly) every container has.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
}

/// One torch release.
#[derive(Clone, Copy, Debug)]
pub struct TorchRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `2.6.0`.
    pub version: &'static str,
    /// What the default index gives, by architecture: `cu124`, `cpu`.
    pub default_variant: &'static [ByArch<&'static str>],
    /// CUDA variants that exist.
    pub variants: &'static [&'static str],
    /// Release date, where known.
    pub released: Option<Date>,
}

/// A build of another framework, such as TensorFlow.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkBuildRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `tensorflow`.
    pub distribution: &'static str,
    /// Version.
    pub version: &'static str,
    /// CUDA it was built with; `None` for a build without CUDA.
    pub cuda: Option<CudaVersion>,
    /// Cubin targets; empty where not known.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
    /// Whether `sass` and `ptx` are known at all.
    pub code_known: bool,
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
    /// Mode that `auto` resolves to on a discrete GPU: `legacy`, `jit-cdi`.
    pub auto_mode: &'static str,
    /// A representative release of the range, to try where a pool does not say.
    pub sample: CudaVersion,
    /// When the range began, where known: a report of 2021 never gets a toolkit of 2025.
    pub released: Option<Date>,
}

/// A CUDA error code.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// 804.
    pub code: u16,
    /// `cudaErrorCompatNotSupportedOnDevice`.
    pub name: &'static str,
    /// What it prints.
    pub text: &'static str,
}

/// A tag of a base image family that its registry no longer serves.
#[derive(Clone, Copy, Debug)]
pub struct WithdrawnRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `nvidia/cuda`.
    pub repository: &'static str,
    /// Version part of the tag that is gone: `11.4.0`, `10.2`.
    pub version: &'static str,
    /// What to use instead, where one minor has a living last patch.
    pub instead: Option<&'static str>,
}

/// What the images of a repository have in common.
#[derive(Clone, Copy, Debug)]
pub struct BaseFamilyRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened: `nvcr.io/nvidia/pytorch`.
    pub repository: &'static str,
    /// Whether its tags are CUDA base images with a version first.
    pub cuda_base: bool,
    /// Whether a compat package lies under `/usr/local/cuda/compat`.
    pub compat: Option<bool>,
    /// Variables that every image of it sets.
    pub env: &'static [(&'static str, &'static str)],
}

/// A distribution that brings GPU code of its own.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name of the distribution.
    pub distribution: &'static str,
    /// The component that it is.
    pub component: &'static str,
    /// Code that it prints where there is no code for the GPU.
    pub no_code: u16,
    /// Code that it prints where PTX cannot be compiled.
    pub bad_ptx: u16,
    /// Whether one version has builds for several CUDA versions.
    pub variants: bool,
}

/// A package that puts driver libraries into an image.
#[derive(Clone, Copy, Debug)]
pub struct DriverPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Name, or its beginning.
    pub name: &'static str,
    /// Whether `name` is only the beginning, followed by a driver branch.
    pub prefix: bool,
    /// Whether libcuda is among the libraries.
    pub libcuda: bool,
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
}

/// A capability of Tegra modules: binary compatibility ends at it.
#[derive(Clone, Copy, Debug)]
pub struct TegraRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// The capability.
    pub capability: ComputeCapability,
}
