//! Rows about Python distributions.

use jiff::civil::Date;

use crate::cuda::{CodeTarget, CudaVersion};
use crate::knowledge::rows::{ByArch, RowInfo};

/// A torch release.
#[derive(Clone, Copy, Debug)]
pub struct TorchRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version: `2.6.0`.
    pub version: &'static str,
    /// Variant on the default index by architecture: `cu124`, `cpu`.
    pub default_variant: &'static [ByArch<&'static str>],
    /// All CUDA variants.
    pub variants: &'static [&'static str],
    /// Release date; `None` if unknown.
    pub released: Option<Date>,
    /// Whether it is only on a separate page, and never selected from an ordinary index.
    pub apart: bool,
}

/// The GPU code of one torch build.
#[derive(Clone, Copy, Debug)]
pub struct TorchBuildRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Version: `2.6.0`.
    pub version: &'static str,
    /// Variant: `cu124`, `cpu`.
    pub variant: &'static str,
    /// Architecture: `amd64`, `arm64`.
    pub arch: &'static str,
    /// Cubin targets that nearly all fatbin containers include.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
    /// Whether the wheel version does not include the variant.
    pub unnamed: bool,
}

/// A distribution with its own GPU code.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct FrameworkRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name of the distribution.
    pub distribution: &'static str,
    /// Component that it installs.
    pub component: &'static str,
    /// CUDA error code if there is no code for the GPU.
    pub no_code: u16,
    /// CUDA error code if the PTX cannot be compiled.
    pub bad_ptx: u16,
    /// Whether one version has builds for several CUDA versions.
    pub variants: bool,
    /// Component whose CUDA runtime it uses, if it has none of its own.
    pub rides: Option<&'static str>,
    /// Architectures for which the default index has only CPU builds.
    pub cpu_on: &'static [&'static str],
    /// Whether it uses a GPU only if a program requests it.
    pub optional: bool,
    /// Whether its project also has CPU builds.
    pub cpu_builds: bool,
    /// Whether its wheels with GPU code also run on the CPU, so that they do not imply a GPU.
    pub for_both: bool,
    /// Source repositories, `owner/name` in lower case, whose names differ from the distribution.
    pub repositories: &'static [&'static str],
    /// Names of its library archives, and of the directories that they unpack into.
    pub archives: &'static [&'static str],
    /// Report of its PTX being rejected on GPUs newer than its CUDA version.
    pub ptx_doubted: Option<&'static str>,
    /// Whether it compiles its code for the present GPU at run time.
    pub compiles: bool,
    /// Module that loads its GPU libraries on import, and fails if a dependency of them is missing.
    pub imports_code: Option<&'static str>,
    /// Text before the CUDA version digits in a library name, if it loads the library of its own CUDA version.
    pub per_cuda: Option<&'static str>,
    /// Variable that selects another library.
    pub per_cuda_unless: Option<&'static str>,
    /// Variable assignment, `NAME=value`, that restricts it to the CPU without any CUDA call.
    pub off_by: Option<&'static str>,
    /// Error of a CPU-only build when a program requests a GPU.
    pub without_cuda: Option<&'static str>,
}

/// A dependency of a package.
#[derive(Clone, Copy, Debug)]
pub struct BroughtRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name of the requested distribution.
    pub distribution: &'static str,
    /// Extra that requires the dependency; empty if every install does.
    pub extra: &'static str,
    /// The dependency.
    pub brings: &'static str,
    /// Whether the dependency has the same version as the distribution.
    pub same: bool,
    /// Local part of that version, if the dependency has its own build.
    pub local: Option<&'static str>,
    /// Version specifier of the dependency, if it differs from that version.
    pub range: Option<&'static str>,
    /// Extra with which the dependency is requested.
    pub with: Option<&'static str>,
    /// First version of the distribution with the dependency.
    pub from: Option<&'static str>,
    /// First version of the distribution without the dependency.
    pub before: Option<&'static str>,
}

/// An extra that cannot be used: it cannot be installed from the default index, or its packages are not found at run
/// time.
#[derive(Clone, Copy, Debug)]
pub struct UnmetExtraRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
    /// Extra.
    pub extra: &'static str,
    /// Release.
    pub version: &'static str,
    /// First Python version affected, `3.11`; `None` for all.
    pub python: Option<&'static str>,
}

/// A distribution whose builds differ by CUDA version and are selected by the index.
#[derive(Clone, Copy, Debug)]
pub struct BuildIndexRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
    /// First release with CUDA builds for arm64.
    pub arm64_from: Option<&'static str>,
    /// Whether each release is built for every CUDA version of the torch release that it requires.
    pub with_torch: bool,
    /// Source repository, if it differs from the name: `pytorch/vision`.
    pub repository: Option<&'static str>,
    /// URL paths of its own indexes above the build directories, `packages/stable`; empty if its builds are next to
    /// those of torch.
    pub folders: &'static [&'static str],
}

/// The torch companion packages that a distribution installs.
#[derive(Clone, Copy, Debug)]
pub struct CompanionPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
    /// First version for which this is known; `None` for every version.
    pub from: Option<CudaVersion>,
    /// Normalized names; empty if it installs none.
    pub brings: &'static [&'static str],
}

/// A page of wheels that lists only those of its own project.
#[derive(Clone, Copy, Debug)]
pub struct OwnPageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Prefix of its URL, without the scheme: `data.pyg.org/whl`.
    pub page: &'static str,
}

/// The index address of the builds of a distribution for each CUDA version.
#[derive(Clone, Copy, Debug)]
pub struct BuildPageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
    /// URL with `{build}` as a placeholder for `cu118` and the like.
    pub page: &'static str,
}

/// A conda package that selects the build of torch in an environment.
#[derive(Clone, Copy, Debug)]
pub struct CondaVariantRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Package name.
    pub name: &'static str,
    /// Whether it selects a build without CUDA; otherwise its version is the CUDA version.
    pub cpu: bool,
    /// Only channel that has it, and whose torch builds depend on it.
    pub channel: Option<&'static str>,
}

/// The GPU code of the torch builds of a conda channel, for one CUDA version and a range of releases.
#[derive(Clone, Copy, Debug)]
pub struct CondaBuildRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Channel: `pytorch`.
    pub channel: &'static str,
    /// Variant: `cu113`.
    pub variant: &'static str,
    /// First release.
    pub first: &'static str,
    /// Last release.
    pub last: &'static str,
    /// Cubin targets that nearly all fatbin containers include.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
}

/// A system package that contains a CUDA runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimePackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Package name, without a suffix such as `-12-4`.
    pub name: &'static str,
}

/// A build of a framework other than torch, such as TensorFlow.
#[derive(Clone, Copy, Debug)]
pub struct FrameworkBuildRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `tensorflow`.
    pub distribution: &'static str,
    /// Version.
    pub version: &'static str,
    /// CUDA version that it was built with; `None` for a CPU build.
    pub cuda: Option<CudaVersion>,
    /// Cubin targets; empty if unknown.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
    /// Whether `sass` and `ptx` are known.
    pub code_known: bool,
    /// Date on which the default index received it; `None` if unknown.
    pub released: Option<Date>,
    /// Specifier of the torch versions that it was compiled for, if its metadata has no requirement.
    pub torch: Option<&'static str>,
}

/// The GPU code of a framework's arm64 wheel, whose targets often differ from those of the amd64 wheel.
#[derive(Clone, Copy, Debug)]
pub struct Arm64BuildRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `vllm`.
    pub distribution: &'static str,
    /// Version, or minor version.
    pub version: &'static str,
    /// Cubin targets.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
}

/// A distribution that contains a library of the CUDA toolkit.
#[derive(Clone, Copy, Debug)]
pub struct LibraryWheelRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name: `nvidia-cuda-runtime-cu12`.
    pub distribution: &'static str,
    /// Library that it contains: `libcudart`.
    pub library: &'static str,
    /// CUDA major version in its name or versions.
    pub cuda: Option<CudaVersion>,
    /// Whether its versions begin with the CUDA minor version: 12.4.127 is of CUDA 12.4.
    pub versioned: bool,
    /// Whether the library is the CUDA runtime itself.
    pub runtime: bool,
}

/// A pattern by which the name of a distribution encodes the CUDA version of its wheels.
#[derive(Clone, Copy, Debug)]
pub struct CudaNameRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Text before the digits: `-cu`.
    pub mark: &'static str,
    /// Text after the digits: `x`, or empty.
    pub after: &'static str,
    /// Whether a minor version in the name is that of the runtime in the wheel.
    pub minor: bool,
}

/// A pattern by which the versions of a distribution encode the CUDA version of the wheel.
#[derive(Clone, Copy, Debug)]
pub struct CudaLocalRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution.
    pub distribution: &'static str,
    /// First release that it applies to; `None` if unbounded.
    pub from: Option<&'static str>,
    /// First release that it no longer applies to; `None` if unbounded.
    pub before: Option<&'static str>,
    /// Text before the digits: `+cuda`.
    pub mark: &'static str,
    /// Digits that are more than a CUDA version: `107` is CUDA 10.0 with cuDNN 7; `None` for all others.
    pub digits: Option<&'static str>,
    /// CUDA version that those digits stand for.
    pub cuda: Option<CudaVersion>,
}

/// A distribution that uses CUDA without a CUDA version in its name.
#[derive(Clone, Copy, Debug)]
pub struct GpuPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
}

/// A distribution with one library for each of several CUDA versions, which loads the one for the CUDA version of
/// torch.
#[derive(Clone, Copy, Debug)]
pub struct BundledRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalised name: `bitsandbytes`.
    pub distribution: &'static str,
    /// First version with these variants; the next row begins where they change.
    pub from: &'static str,
    /// Newest version that was checked, if no row follows.
    pub newest: Option<&'static str>,
    /// Variants: `cu118`, `cu124`.
    pub variants: &'static [&'static str],
    /// Whether it loads a library of the same CUDA major version if there is none for the exact CUDA version of
    /// torch.
    pub nearest: bool,
}

/// The ptxas versions in a Triton release, which determine the GPUs that it compiles for.
#[derive(Clone, Copy, Debug)]
pub struct TritonRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Triton version: `3.9.0`.
    pub version: &'static str,
    /// CUDA version of its ptxas.
    pub ptxas: CudaVersion,
    /// CUDA version of a separate ptxas for Blackwell GPUs, if there is one.
    pub ptxas_blackwell: Option<CudaVersion>,
}

/// A file in which a distribution records its build configuration: JSON, or Python by its extension.
#[derive(Clone, Copy, Debug)]
pub struct BuildFileRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Path relative to the Python import directory: `torch/version.py`.
    pub file: &'static str,
    /// Normalized name of the distribution, unless the file states another.
    pub distribution: &'static str,
    /// Whether the Python file lists pairs of names and values instead of assignments.
    pub pairs: bool,
    /// Key of the distribution name in the file.
    pub name: Option<&'static str>,
    /// Key of the version; here and below, dots separate the levels of JSON.
    pub version: Option<&'static str>,
    /// Key of the CUDA version.
    pub cuda: Option<&'static str>,
    /// Whether CUDA 12.4 is the number 1204.
    pub hundreds: bool,
    /// Key of the flag for a CUDA build.
    pub cuda_flag: Option<&'static str>,
    /// Key of the cuDNN version.
    pub cudnn: Option<&'static str>,
    /// Keys that are set in a build for `ROCm`.
    pub rocm: &'static [&'static str],
    /// Keys that are set in a build for Intel GPUs.
    pub xpu: &'static [&'static str],
}

/// A package that contains something else in one package repository than in others.
#[derive(Clone, Copy, Debug)]
pub struct RepositoryPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Part of the URL of the repository.
    pub repository: &'static str,
    /// Package name, or its prefix.
    pub name: &'static str,
    /// Whether `name` is a prefix before a release.
    pub prefix: bool,
    /// Name or prefix of the package with the same content in other repositories.
    pub brings: &'static str,
}
