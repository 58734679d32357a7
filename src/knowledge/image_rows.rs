//! Rows about images and their tags.

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::knowledge::rows::RowInfo;

/// A requirement string that CUDA base images carried.
#[derive(Clone, Copy, Debug)]
pub struct RequireRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Id that image rows refer to.
    pub id: &'static str,
    /// The value of `NVIDIA_REQUIRE_CUDA`.
    pub value: &'static str,
}

/// What the recipes of a CUDA base image said between two days, for some operating systems and architectures.
#[derive(Clone, Copy, Debug)]
pub struct CudaRecipeRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// As in the tag: `11.2.2`, and `11.0` of tags from before it had a patch.
    pub version: &'static str,
    /// Id of a [`RequireRow`]; none where the image sets no `NVIDIA_REQUIRE_CUDA`.
    pub require: Option<&'static str>,
    /// Whether a compat package is installed, where it is known.
    pub compat: Option<bool>,
    /// The day on which the recipe began to say so; none where it never said anything else before.
    pub first: Option<Date>,
    /// The first day on which it no longer did, or was retired; none where it was in use when it was last seen.
    pub until: Option<Date>,
    /// Architectures by operating system.
    pub arches: &'static [(&'static str, &'static str)],
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
    /// `cuda-compat-11-2` where one is installed.
    pub compat_package: Option<&'static str>,
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
    /// The conda channel that it is from; else it is the wheel.
    pub torch_channel: Option<&'static str>,
    /// Version of the CUDA base image that it is built on, whose requirement it inherits, where known: `12.4.1`.
    pub base: Option<&'static str>,
    /// Whether its recipe was read, and changes nothing of the compat directory and the search path of that base but for
    /// `search_path` and `ld_conf`.
    pub untouched: bool,
    /// Directories that its recipe puts before the search path of that base, where it was read.
    pub search_path: Option<&'static str>,
    /// Files that its recipe writes to `/etc/ld.so.conf.d`, each with the directory that it names.
    pub ld_conf: &'static [(&'static str, &'static str)],
    /// Driver whose libcuda lies in the compat folder of a monthly image, where it is not that of its month.
    pub compat: Option<DriverVersion>,
    /// Packages that its tag tells, with their versions: those of the default Python index, but for `compiled`.
    pub brings: &'static [(&'static str, &'static str)],
    /// Those of them that were compiled for the image: what is known of the GPU code of the index's says nothing of them.
    pub compiled: &'static [&'static str],
    /// Machine code that they are compiled to for amd64, and `ptx`; both empty where nobody has read it.
    pub sass: &'static [CodeTarget],
    /// PTX that they are compiled to for amd64.
    pub ptx: &'static [CodeTarget],
    /// Libraries that those packages look for and that it certainly does not have.
    pub lacks: &'static [&'static str],
    /// Architectures that it is built for; empty where not known.
    pub arches: &'static [&'static str],
}

/// One month of NVIDIA's framework containers.
#[derive(Clone, Copy, Debug)]
pub struct NgcReleaseRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `23.10`.
    pub month: &'static str,
    /// CUDA inside.
    pub cuda: CudaVersion,
    /// Driver whose libcuda lies in the compat folder, where a source names its full version.
    pub compat: Option<DriverVersion>,
    /// torch of the `PyTorch` container, where known.
    pub torch: Option<&'static str>,
}

/// The lowest compute capability that the program of an image takes, from one month on.
#[derive(Clone, Copy, Debug)]
pub struct CodeFloorRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened.
    pub repository: &'static str,
    /// First month.
    pub from: &'static str,
    /// First month that differs again; none where it still holds.
    pub before: Option<&'static str>,
    /// The capability.
    pub capability: ComputeCapability,
    /// The lowest that it is known to take, where that is a higher one: of those between nobody has said anything.
    pub sure: Option<ComputeCapability>,
}

/// The lowest compute capability that releases of a distribution take, wherever they were built.
#[derive(Clone, Copy, Debug)]
pub struct PackageFloorRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub distribution: &'static str,
    /// First release.
    pub from: &'static str,
    /// First release that differs again; none where it still holds.
    pub before: Option<&'static str>,
    /// The capability.
    pub capability: ComputeCapability,
}

/// A flavour of CUDA base images.
#[derive(Clone, Copy, Debug)]
pub struct CudaFlavourRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// The word of the tag.
    pub name: &'static str,
    /// The flavours whose libraries it has too.
    pub holds: &'static [&'static str],
    /// Whether it brings a compiler for GPUs.
    pub compiler: bool,
}

/// A package that may bring a compiler for GPUs.
#[derive(Clone, Copy, Debug)]
pub struct CompilerPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name, or how its name begins.
    pub name: &'static str,
    /// Whether all packages are meant whose names begin so.
    pub prefix: bool,
}

/// The variables that the images of a repository set.
#[derive(Clone, Copy, Debug)]
pub struct BaseVariablesRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened.
    pub repository: &'static str,
    /// Their names; with a star at its end, how some begin.
    pub names: &'static [&'static str],
}

/// A script on the network that installs one tool and nothing for GPUs.
#[derive(Clone, Copy, Debug)]
pub struct ToolScriptRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// How its address begins, without the scheme.
    pub address: &'static str,
}

/// The installers that the images of a repository lack.
#[derive(Clone, Copy, Debug)]
pub struct ImageInstallersRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened.
    pub repository: &'static str,
    /// Their names: `pip`, `conda`, `mamba`, `uv`.
    pub lacks: &'static [&'static str],
    /// Directories that the images have in PATH, beside those of every image.
    pub path: &'static [&'static str],
}

/// A system package that, with all that it depends on, brings none of those installers.
#[derive(Clone, Copy, Debug)]
pub struct PackageWithoutInstallerRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub package: &'static str,
    /// Whether this also holds for the package of that name in RPM distributions and Alpine.
    pub every_manager: bool,
}

/// A family of images without any NVIDIA content: what official operating system and language images are.
#[derive(Clone, Copy, Debug)]
pub struct PlainImageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened: `python`, `debian`; with a star at its end, how those of a family begin.
    pub repository: &'static str,
    /// Whether it brings torch for the GPUs of another maker.
    pub torch: bool,
}

/// A name by which an image is told to be there for GPUs, or not to be.
#[derive(Clone, Copy, Debug)]
pub struct GpuImageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// How its repository begins, `nvcr.io/nim/*`; or a word of its tag, `:gpu`, `:cu#` with digits behind it.
    pub name: &'static str,
    /// Whether such images hold no CUDA.
    pub without: bool,
}

/// A name that states that an image is for a processor other than an NVIDIA GPU.
#[derive(Clone, Copy, Debug)]
pub struct OtherProcessorRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `package`, `word` or `phrase`.
    pub kind: &'static str,
    /// The name; with a star at its end, how it begins.
    pub name: &'static str,
    /// The processor: `the CPU`, `AWS Neuron`.
    pub processor: &'static str,
    /// Whether the word states the processor in the name of a repository as well.
    pub repository: bool,
    /// Whether the word states the processor in a tag of any repository.
    pub any_tag: bool,
}

/// The architectures that the images of a family are built for, whatever else is known of them.
#[derive(Clone, Copy, Debug)]
pub struct ImageArchesRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened; with a star at its end, how those of a family begin.
    pub repository: &'static str,
    /// A word of the tags that it holds for; none where it holds for all.
    pub word: Option<&'static str>,
    /// The first month in a tag from which on it holds, `25.08`; none where tags need name none.
    pub from: Option<&'static str>,
    /// `arm64`.
    pub arches: &'static [&'static str],
}

/// What the images of a repository have in common.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent columns")]
pub struct BaseFamilyRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened: `nvcr.io/nvidia/pytorch`.
    pub repository: &'static str,
    /// Whether its tags are CUDA base images with a version first.
    pub cuda_base: bool,
    /// Whether the tables have every operating system and flavour of its tags.
    pub listed: bool,
    /// Whether its images add to a CUDA base image what nobody has read.
    pub unread: bool,
    /// Whether its tags begin with a month of [`NgcReleaseRow`].
    pub monthly: bool,
    /// Whether its images are there to build on, and have no program of their own.
    pub bare: bool,
    /// How the plain tag of a month is written, `{month}-py3`, where every month with a torch of its own has it.
    pub month_tag: Option<&'static str>,
    /// Words of tags whose content is not that of their month.
    pub other_months: &'static [&'static str],
    /// Whether a compat package lies under `/usr/local/cuda/compat`.
    pub compat: Option<bool>,
    /// Where its libraries lie, if not in that directory itself: no container toolkit looks there.
    pub compat_folder: Option<&'static str>,
    /// Entrypoint that tries the compat library and falls back to the host's.
    pub compat_probe: Option<&'static str>,
    /// First month of which it is known that the entrypoint finds out GPUs that refuse the library, too.
    pub probe_from: Option<&'static str>,
    /// Whether its images have the torch of their month.
    pub torch: bool,
    /// Variables that every image of it sets.
    pub env: &'static [(&'static str, &'static str)],
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

/// The words for cuDNN that tags of CUDA base images of one version have.
#[derive(Clone, Copy, Debug)]
pub struct CudnnTagRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// As in the tag: `11.2.2`.
    pub version: &'static str,
    /// `cudnn8`, `cudnn`.
    pub words: &'static [&'static str],
}

/// How tags of a framework container are written, and the months that are known to have one.
#[derive(Clone, Copy, Debug)]
pub struct MonthTagRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Repository, shortened: `nvcr.io/nvidia/tritonserver`.
    pub repository: &'static str,
    /// `{month}-py3`; `{cuda}` stands for the CUDA release of the month, `12.8`.
    pub tag: &'static str,
    /// Months of [`NgcReleaseRow`].
    pub months: &'static [&'static str],
}
