//! Rows about Python distributions.

use jiff::civil::Date;

use crate::cuda::CodeTarget;
use crate::cuda::CudaVersion;
use crate::knowledge::rows::ByArch;
use crate::knowledge::rows::RowInfo;

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
    /// Whether it lies on a page of its own: where others are asked for, it is not among them.
    pub apart: bool,
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
    /// Whether the version of the wheel does not name the build.
    pub unnamed: bool,
}

/// A distribution that brings GPU code of its own.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
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
    /// The component whose CUDA runtime it runs on, where it brings none of its own.
    pub rides: Option<&'static str>,
    /// Architectures for which the default index has builds without CUDA alone.
    pub cpu_on: &'static [&'static str],
    /// Whether it uses no GPU unless a program asks it to.
    pub optional: bool,
    /// Whether its project has builds for the CPU as well.
    pub cpu_builds: bool,
    /// Whether its wheels with GPU code run on the CPU as well, so that they select no processor.
    pub for_both: bool,
    /// Repositories of its sources, `owner/name` in small letters, where the name is another than its own.
    pub repositories: &'static [&'static str],
    /// How archives of its libraries are called, and the folders that they unpack into.
    pub archives: &'static [&'static str],
    /// Where it is told that its PTX was refused on GPUs newer than its CUDA.
    pub ptx_doubted: Option<&'static str>,
    /// Whether it compiles its code for the GPU at hand while it runs.
    pub compiles: bool,
    /// The module that loads its libraries with GPU code as it is imported, and fails where one that they need is not
    /// found.
    pub imports_code: Option<&'static str>,
    /// What stands before the digits of a CUDA version in the name of a library, where that of its own CUDA is loaded.
    pub per_cuda: Option<&'static str>,
    /// The variable that names another one.
    pub per_cuda_unless: Option<&'static str>,
    /// The variable with the value, `NAME=value`, by which it uses the processor alone and calls nothing of CUDA.
    pub off_by: Option<&'static str>,
    /// The error of a CPU-only build when a program requests a GPU.
    pub without_cuda: Option<&'static str>,
}

/// A package that another one brings along.
#[derive(Clone, Copy, Debug)]
pub struct BroughtRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name of the distribution that is asked for.
    pub distribution: &'static str,
    /// The extra that asks for it; empty where every install does.
    pub extra: &'static str,
    /// What comes along.
    pub brings: &'static str,
    /// Whether it has the version of what was asked for.
    pub same: bool,
    /// The local part behind that version, where it comes in a build of its own.
    pub local: Option<&'static str>,
    /// The versions of it that are asked for, where those are others than that version.
    pub range: Option<&'static str>,
    /// The extra with which it is asked for.
    pub with: Option<&'static str>,
    /// First version of what is asked for that brings it.
    pub from: Option<&'static str>,
    /// First version of what is asked for that no longer does.
    pub before: Option<&'static str>,
}

/// An extra of a release that is of no avail: it cannot be installed from the default index, or what it brings is not found.
#[derive(Clone, Copy, Debug)]
pub struct UnmetExtraRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
    /// The extra.
    pub extra: &'static str,
    /// The release.
    pub version: &'static str,
    /// The first Python, `3.11`, for which that is so; none where it is so for all.
    pub python: Option<&'static str>,
}

/// A distribution whose builds differ by CUDA version and are chosen by an index of their own.
#[derive(Clone, Copy, Debug)]
pub struct BuildIndexRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
    /// The first release with builds of CUDA for arm64.
    pub arm64_from: Option<&'static str>,
    /// Whether each release is built for every CUDA that the torch it asks for is built for.
    pub with_torch: bool,
    /// Where its sources lie, where that is not told by its name: `pytorch/vision`.
    pub repository: Option<&'static str>,
    /// Paths of its own indexes above the folders of the builds, `packages/stable`; empty where its builds lie beside those
    /// of torch.
    pub folders: &'static [&'static str],
}

/// Which packages of those that go with one torch each come along with a distribution.
#[derive(Clone, Copy, Debug)]
pub struct CompanionPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
    /// The first version of which that is known; none = every one.
    pub from: Option<CudaVersion>,
    /// Normalised names; empty where none comes along.
    pub brings: &'static [&'static str],
}

/// A page of wheels that lists those of its own project alone.
#[derive(Clone, Copy, Debug)]
pub struct OwnPageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// How its address begins, without the scheme: `data.pyg.org/whl`.
    pub page: &'static str,
}

/// Where the builds of a distribution for each CUDA version lie.
#[derive(Clone, Copy, Debug)]
pub struct BuildPageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
    /// The address, with `{build}` for `cu118` and the like.
    pub page: &'static str,
}

/// A conda package that chooses which build of torch an environment gets.
#[derive(Clone, Copy, Debug)]
pub struct CondaVariantRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub name: &'static str,
    /// Whether it chooses a build without CUDA; else its version is the CUDA release.
    pub cpu: bool,
    /// The channel that alone has it, whose builds of torch ask for it.
    pub channel: Option<&'static str>,
}

/// The GPU code of the torch builds of a conda channel: for one CUDA, over a run of releases.
#[derive(Clone, Copy, Debug)]
pub struct CondaBuildRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `pytorch`.
    pub channel: &'static str,
    /// `cu113`.
    pub variant: &'static str,
    /// The first release that has it.
    pub first: &'static str,
    /// The last one.
    pub last: &'static str,
    /// Cubin targets that (nearly) every container has.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
}

/// A system package that brings a CUDA runtime.
#[derive(Clone, Copy, Debug)]
pub struct RuntimePackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name, to which `-12-4` may be added.
    pub name: &'static str,
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
    /// Day on which the default index got it, where known.
    pub released: Option<Date>,
    /// Range of the torch that it was compiled for, where its metadata ask for none.
    pub torch: Option<&'static str>,
}

/// The GPU code of a framework's wheel for arm64, whose targets are often others than those of the wheel for amd64.
#[derive(Clone, Copy, Debug)]
pub struct Arm64BuildRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `vllm`.
    pub distribution: &'static str,
    /// Version, or the minor that it is of.
    pub version: &'static str,
    /// Cubin targets.
    pub sass: &'static [CodeTarget],
    /// PTX targets.
    pub ptx: &'static [CodeTarget],
}

/// A distribution that brings a library of the CUDA toolkit.
#[derive(Clone, Copy, Debug)]
pub struct LibraryWheelRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name: `nvidia-cuda-runtime-cu12`.
    pub distribution: &'static str,
    /// Library in it: `libcudart`.
    pub library: &'static str,
    /// CUDA major that its name or its versions tell.
    pub cuda: Option<CudaVersion>,
    /// Whether its versions begin with the CUDA minor: 12.4.127 is of CUDA 12.4.
    pub versioned: bool,
    /// Whether its library is the CUDA runtime itself.
    pub runtime: bool,
}

/// How a distribution's name says which CUDA its wheels are for.
#[derive(Clone, Copy, Debug)]
pub struct CudaNameRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// What stands before the digits: `-cu`.
    pub mark: &'static str,
    /// What stands behind them: `x`, or nothing.
    pub after: &'static str,
    /// Whether a minor in the name is that of the runtime inside.
    pub minor: bool,
}

/// A distribution whose versions say which CUDA the wheel is for.
#[derive(Clone, Copy, Debug)]
pub struct CudaLocalRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub distribution: &'static str,
    /// The first release that it holds for; none where it holds from the beginning.
    pub from: Option<&'static str>,
    /// The first release that it no longer holds for; none where it holds to the end.
    pub before: Option<&'static str>,
    /// What stands before the digits: `+cuda`.
    pub mark: &'static str,
    /// The digits that it is about, where they are not those of a CUDA alone: `107` is CUDA 10.0 with cuDNN 7.
    pub digits: Option<&'static str>,
    /// The CUDA that those stand for.
    pub cuda: Option<CudaVersion>,
}

/// A distribution that calls CUDA, of which the name does not say which.
#[derive(Clone, Copy, Debug)]
pub struct GpuPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
}

/// A distribution with one library for each of several CUDA versions, of which it takes torch's.
#[derive(Clone, Copy, Debug)]
pub struct BundledRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name: `bitsandbytes`.
    pub distribution: &'static str,
    /// First version that has these; the next row begins where that changes.
    pub from: &'static str,
    /// Newest version of the row that was read, where no row follows.
    pub newest: Option<&'static str>,
    /// `cu118`, `cu124`.
    pub variants: &'static [&'static str],
    /// Whether one of the same CUDA major is taken where there is none for torch's very CUDA.
    pub nearest: bool,
}

/// The assemblers in a Triton release, which say what GPUs it compiles for.
#[derive(Clone, Copy, Debug)]
pub struct TritonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `3.9.0`.
    pub version: &'static str,
    /// CUDA version of its ptxas.
    pub ptxas: CudaVersion,
    /// CUDA version of the ptxas for Blackwell GPUs, where it brings one of its own.
    pub ptxas_blackwell: Option<CudaVersion>,
}

/// A file in which a distribution says what it was built with: JSON, or Python by its ending.
#[derive(Clone, Copy, Debug)]
pub struct BuildFileRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its place below the folder that Python imports from: `torch/version.py`.
    pub file: &'static str,
    /// Normalised name of the distribution, where the file does not say another.
    pub distribution: &'static str,
    /// Whether Python has names and values side by side in a list, not as assignments.
    pub pairs: bool,
    /// Name of the distribution's name in the file.
    pub name: Option<&'static str>,
    /// Name of the version; levels of JSON are parted by dots here and below.
    pub version: Option<&'static str>,
    /// Name of the CUDA version.
    pub cuda: Option<&'static str>,
    /// Whether CUDA 12.4 is the number 1204.
    pub hundreds: bool,
    /// Name of what says whether it was built with CUDA.
    pub cuda_flag: Option<&'static str>,
    /// Name of the cuDNN version.
    pub cudnn: Option<&'static str>,
    /// Names of what is set in a build for `ROCm`.
    pub rocm: &'static [&'static str],
    /// Names of what is set in a build for Intel's GPUs.
    pub xpu: &'static [&'static str],
}

/// A package that is another thing in one repository of packages than its name says elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct RepositoryPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Part of the repository's address.
    pub repository: &'static str,
    /// Name, or its beginning.
    pub name: &'static str,
    /// Whether `name` is only the beginning, followed by a release.
    pub prefix: bool,
    /// The name, or its beginning, under which other repositories have what it brings.
    pub brings: &'static str,
}
