//! Rows about images and their tags.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, ComputeCapability, CudaVersion, DriverVersion};
use crate::knowledge::rows::RowInfo;

/// A value of `NVIDIA_REQUIRE_CUDA` in CUDA base images.
#[derive(Clone, Copy, Debug)]
pub struct RequireRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Id by which rows of images refer to it.
    pub id: &'static str,
    /// The value of `NVIDIA_REQUIRE_CUDA`.
    pub value: &'static str,
}

/// Content of the Dockerfiles of a CUDA base image in a period, for some operating systems and architectures.
#[derive(Clone, Copy, Debug)]
pub struct CudaRecipeRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version in the tag: `11.2.2`, or `11.0` for tags without a patch version.
    pub version: &'static str,
    /// Id of a `RequireRow`; `None` if the image does not set `NVIDIA_REQUIRE_CUDA`.
    pub require: Option<&'static str>,
    /// Whether a compat package is installed; `None` if unknown.
    pub compat: Option<bool>,
    /// First day of the period; `None` if there was no earlier content.
    pub first: Option<Date>,
    /// First day after the period; `None` if it has not ended.
    pub until: Option<Date>,
    /// Architectures by operating system.
    pub arches: &'static [(&'static str, &'static str)],
}

/// The base images of one CUDA version: `nvidia/cuda:<version>-*`.
#[derive(Clone, Copy, Debug)]
pub struct CudaImageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version in the tag: `11.2.2`.
    pub version: &'static str,
    /// Value of `CUDA_VERSION`.
    pub cuda_version: Option<&'static str>,
    /// Flavours: `base`, `runtime`, `devel`.
    pub flavours: &'static [&'static str],
    /// Operating systems in its tags (`ubuntu20.04`), including retired ones; empty if unknown.
    pub os: &'static [&'static str],
    /// Installed compat package, if any: `cuda-compat-11-2`.
    pub compat_package: Option<&'static str>,
    /// Value of `LD_LIBRARY_PATH`.
    pub ld_library_path: &'static str,
    /// Value of `NVIDIA_VISIBLE_DEVICES`.
    pub visible_devices: &'static str,
    /// Value of `NVIDIA_DRIVER_CAPABILITIES`.
    pub driver_capabilities: &'static str,
}

/// A framework image whose tag determines its CUDA version.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkImageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form, as `docker pull` prints it: `nvcr.io/nvidia/pytorch`, `pytorch/pytorch`.
    pub repository: &'static str,
    /// Tag.
    pub tag: &'static str,
    /// CUDA version in the image.
    pub cuda: CudaVersion,
    /// torch version in the image; `None` if unknown.
    pub torch: Option<&'static str>,
    /// Conda channel that torch is from; `None` for the wheel.
    pub torch_channel: Option<&'static str>,
    /// Version of the CUDA base image that it is built on and whose requirement it inherits: `12.4.1`; `None` if
    /// unknown.
    pub base: Option<&'static str>,
    /// Whether its Dockerfile is known to leave the compat directory and library search path of the base unchanged,
    /// except for `search_path` and `ld_conf`.
    pub untouched: bool,
    /// Directories that its Dockerfile puts before the library search path of the base.
    pub search_path: Option<&'static str>,
    /// Files that its Dockerfile writes to `/etc/ld.so.conf.d`, each with the directory in it.
    pub ld_conf: &'static [(&'static str, &'static str)],
    /// Driver version of the libcuda in the compat directory of a monthly image, if it differs from that of the
    /// month.
    pub compat: Option<DriverVersion>,
    /// Packages and versions that the tag determines; except for `compiled`, they are those of the default Python
    /// index.
    pub brings: &'static [(&'static str, &'static str)],
    /// The packages in `brings` that were compiled for the image, with other GPU code than the wheels of the index.
    pub compiled: &'static [&'static str],
    /// Cubin targets of the compiled packages on amd64; empty together with `ptx` if unknown.
    pub sass: &'static [CodeTarget],
    /// PTX targets of the compiled packages on amd64.
    pub ptx: &'static [CodeTarget],
    /// Libraries that those packages need and the image does not contain.
    pub lacks: &'static [&'static str],
    /// Architectures of the image; empty if unknown.
    pub arches: &'static [&'static str],
}

/// One monthly release of NVIDIA's framework containers.
#[derive(Clone, Copy, Debug)]
pub struct NgcReleaseRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Month: `23.10`.
    pub month: &'static str,
    /// CUDA version in the images.
    pub cuda: CudaVersion,
    /// Driver version of the libcuda in the compat directory; `None` if no source has the full version.
    pub compat: Option<DriverVersion>,
    /// torch version of the `PyTorch` container; `None` if unknown.
    pub torch: Option<&'static str>,
}

/// The lowest compute capability that the program of an image supports, from one month on.
#[derive(Clone, Copy, Debug)]
pub struct CodeFloorRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form.
    pub repository: &'static str,
    /// First month.
    pub from: &'static str,
    /// First month with another value; `None` if it still applies.
    pub before: Option<&'static str>,
    /// The lowest compute capability.
    pub capability: ComputeCapability,
    /// The lowest compute capability with confirmed support, if it is higher; support in between is unknown.
    pub sure: Option<ComputeCapability>,
}

/// The lowest compute capability that releases of a distribution support, in every build.
#[derive(Clone, Copy, Debug)]
pub struct PackageFloorRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution.
    pub distribution: &'static str,
    /// First release.
    pub from: &'static str,
    /// First release with another value; `None` if it still applies.
    pub before: Option<&'static str>,
    /// The lowest compute capability.
    pub capability: ComputeCapability,
}

/// A flavour of CUDA base images: `base`, `runtime`, `devel`.
#[derive(Clone, Copy, Debug)]
pub struct CudaFlavourRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name in the tag.
    pub name: &'static str,
    /// Flavours whose libraries it includes.
    pub holds: &'static [&'static str],
    /// Whether it contains a compiler for GPU code.
    pub compiler: bool,
}

/// A package that may contain a compiler for GPU code.
#[derive(Clone, Copy, Debug)]
pub struct CompilerPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Package name, or its prefix.
    pub name: &'static str,
    /// Whether `name` is a prefix.
    pub prefix: bool,
}

/// The environment variables that the images of a repository set.
#[derive(Clone, Copy, Debug)]
pub struct BaseVariablesRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form.
    pub repository: &'static str,
    /// Names of the variables; a final `*` marks a prefix.
    pub names: &'static [&'static str],
}

/// A script on the network that installs one tool and nothing for GPUs.
#[derive(Clone, Copy, Debug)]
pub struct ToolScriptRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Prefix of its URL, without the scheme.
    pub address: &'static str,
}

/// The package installers that are missing from the images of a repository.
#[derive(Clone, Copy, Debug)]
pub struct ImageInstallersRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form.
    pub repository: &'static str,
    /// Missing installers: `pip`, `conda`, `mamba`, `uv`.
    pub lacks: &'static [&'static str],
    /// Directories in `PATH` of the images, in addition to the usual ones.
    pub path: &'static [&'static str],
}

/// A system package that installs none of those installers, even through its dependencies.
#[derive(Clone, Copy, Debug)]
pub struct PackageWithoutInstallerRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Package name.
    pub package: &'static str,
    /// Whether it also applies to the package of that name in RPM distributions and Alpine.
    pub every_manager: bool,
}

/// Images without any NVIDIA content, such as official operating system and language images.
#[derive(Clone, Copy, Debug)]
pub struct PlainImageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form: `python`, `debian`; a final `*` marks a prefix.
    pub repository: &'static str,
    /// Whether it contains torch for GPUs of another vendor.
    pub torch: bool,
}

/// A name pattern that shows whether an image is for GPUs.
#[derive(Clone, Copy, Debug)]
pub struct GpuImageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository prefix, `nvcr.io/nim/*`, or a word of the tag: `:gpu`, or `:cu#` for `cu` and digits.
    pub name: &'static str,
    /// Whether such images contain no CUDA.
    pub without: bool,
}

/// A name which shows that an image is for a processor other than an NVIDIA GPU.
#[derive(Clone, Copy, Debug)]
pub struct OtherProcessorRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Kind of name: `package`, `word` or `phrase`.
    pub kind: &'static str,
    /// The name; a final `*` marks a prefix.
    pub name: &'static str,
    /// The processor: `the CPU`, `AWS Neuron`.
    pub processor: &'static str,
    /// Whether the word also counts in the name of a repository.
    pub repository: bool,
    /// Whether the word counts in a tag of any repository.
    pub any_tag: bool,
}

/// The architectures of a family of images.
#[derive(Clone, Copy, Debug)]
pub struct ImageArchesRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form; a final `*` marks a prefix.
    pub repository: &'static str,
    /// Word of the tags that it applies to; `None` for all tags.
    pub word: Option<&'static str>,
    /// First month in a tag that it applies to, `25.08`; `None` for tags with or without a month.
    pub from: Option<&'static str>,
    /// Architectures: `arm64`.
    pub arches: &'static [&'static str],
}

/// Common properties of the images of a repository.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent columns")]
pub struct BaseFamilyRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form: `nvcr.io/nvidia/pytorch`.
    pub repository: &'static str,
    /// Whether its tags are CUDA base images that begin with the CUDA version.
    pub cuda_base: bool,
    /// Whether the tables list every operating system and flavour of its tags.
    pub listed: bool,
    /// Whether its images add unknown content to a CUDA base image.
    pub unread: bool,
    /// Whether its tags begin with the month of an `NgcReleaseRow`.
    pub monthly: bool,
    /// Whether its images are only bases to build on, without a program of their own.
    pub bare: bool,
    /// Pattern of the usual monthly tag, `{month}-py3`, if every month with its own torch has it.
    pub month_tag: Option<&'static str>,
    /// Words of tags whose content differs from that of their month.
    pub other_months: &'static [&'static str],
    /// Whether a compat package is in `/usr/local/cuda/compat`.
    pub compat: Option<bool>,
    /// Subdirectory with the compat libraries, if they are not in that directory itself; container toolkits do not
    /// find them there.
    pub compat_folder: Option<&'static str>,
    /// Entrypoint that tests the compat library and otherwise uses the libcuda of the host.
    pub compat_probe: Option<&'static str>,
    /// First month in which the entrypoint is known to also detect GPUs that reject the library.
    pub probe_from: Option<&'static str>,
    /// Whether its images contain the torch of their month.
    pub torch: bool,
    /// Variables that every image sets.
    pub env: &'static [(&'static str, &'static str)],
}

/// A tag of a base image family that was withdrawn from its registry.
#[derive(Clone, Copy, Debug)]
pub struct WithdrawnRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository: `nvidia/cuda`.
    pub repository: &'static str,
    /// Version in the withdrawn tags: `11.4.0`, `10.2`.
    pub version: &'static str,
    /// Replacement version, if a later patch of the minor version still exists.
    pub instead: Option<&'static str>,
}

/// The cuDNN words in tags of CUDA base images of one version.
#[derive(Clone, Copy, Debug)]
pub struct CudnnTagRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version in the tag: `11.2.2`.
    pub version: &'static str,
    /// cuDNN words: `cudnn8`, `cudnn`.
    pub words: &'static [&'static str],
}

/// A tag pattern of a framework container, and the months known to have such a tag.
#[derive(Clone, Copy, Debug)]
pub struct MonthTagRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Repository in short form: `nvcr.io/nvidia/tritonserver`.
    pub repository: &'static str,
    /// Pattern: `{month}-py3`; `{cuda}` is the CUDA version of the month, `12.8`.
    pub tag: &'static str,
    /// Months of `NgcReleaseRow`.
    pub months: &'static [&'static str],
}
