//! Rows that determine the torch release: requirements of other distributions, and Python versions.

use crate::knowledge::rows::RowInfo;

/// The torch requirement of another distribution.
#[derive(Clone, Copy, Debug)]
pub struct TorchPinRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `torchvision`.
    pub distribution: &'static str,
    /// Version; `*` for every version without its own row.
    pub version: &'static str,
    /// PEP 440 specifier; empty if any version is allowed.
    pub torch: &'static str,
    /// For version `*`: Python versions that the newest release does not support, oldest first, with the specifier of
    /// the newest release that does.
    pub on_python: &'static [(&'static str, &'static str)],
    /// For version `*`: older releases, oldest first, each with its specifier; earlier ones have no requirement.
    pub older: &'static [(&'static str, &'static str)],
    /// Whether the metadata has no torch requirement; `torch` is then the version that it was built for.
    pub unasked: bool,
}

/// The requirement of the newest release of a distribution for another package.
#[derive(Clone, Copy, Debug)]
pub struct PackageAskRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `vllm`.
    pub distribution: &'static str,
    /// Required package: `transformers`.
    pub package: &'static str,
    /// Release of the distribution.
    pub version: &'static str,
    /// PEP 440 specifier.
    pub range: &'static str,
}

/// The requirement of one release of a distribution for another package.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseAskRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `torch`.
    pub distribution: &'static str,
    /// Required package: `triton`.
    pub package: &'static str,
    /// Release of the distribution.
    pub version: &'static str,
    /// PEP 440 specifier.
    pub range: &'static str,
    /// Architecture that the requirement is limited to, `amd64`; `None` for all.
    pub arch: Option<&'static str>,
}

/// The torch releases with wheels for a Python version.
#[derive(Clone, Copy, Debug)]
pub struct TorchPythonRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Python version: `3.8`.
    pub python: &'static str,
    /// First torch release.
    pub first: &'static str,
    /// Last torch release, if later ones have no wheels.
    pub last: Option<&'static str>,
}

/// A contiguous range of releases of a distribution with wheels for a Python version.
#[derive(Clone, Copy, Debug)]
pub struct WheelPythonRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name: `tensorflow`.
    pub distribution: &'static str,
    /// Python version: `3.8`.
    pub python: &'static str,
    /// First release of the range.
    pub first: &'static str,
    /// Last release, if later ones have no wheels.
    pub last: Option<&'static str>,
}

/// A contiguous range of releases of a distribution with wheels for an architecture and a Python version.
#[derive(Clone, Copy, Debug)]
pub struct PlatformWheelRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name: `torchvision`.
    pub distribution: &'static str,
    /// Architecture: `amd64` or `arm64`.
    pub arch: &'static str,
    /// Python version: `3.8`.
    pub python: &'static str,
    /// First release of the range.
    pub first: &'static str,
    /// Last release, if later ones have no wheels.
    pub last: Option<&'static str>,
}

/// The Python version of an image or operating system.
#[derive(Clone, Copy, Debug)]
pub struct ImagePythonRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Name: `ubuntu`, `python`.
    pub name: &'static str,
    /// Version in the tag: `22.04`, `3.11`.
    pub version: &'static str,
    /// Python version.
    pub python: &'static str,
}

/// The meaning of a GPU name in `TORCH_CUDA_ARCH_LIST`.
#[derive(Clone, Copy, Debug)]
pub struct TorchArchNameRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// The name, case-sensitive: `Hopper`.
    pub name: &'static str,
    /// First torch release.
    pub from: &'static str,
    /// First torch release with another meaning; `None` if it still applies.
    pub before: Option<&'static str>,
    /// Entries that replace it: `8.0`, `8.6+PTX`.
    pub targets: &'static [&'static str],
}

/// A package whose GPU code is compiled during the image build.
#[derive(Clone, Copy, Debug)]
pub struct CudaExtensionRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution: `flash-attn`.
    pub distribution: &'static str,
    /// Last part of its repository URL, and name of the directory of a clone.
    pub repository: &'static str,
    /// Environment variable with the targets.
    pub variable: &'static str,
    /// Variable that forces compilation even if there is a wheel.
    pub force: Option<&'static str>,
    /// Variable that must be 1 to compile GPU code on a build machine without a GPU.
    pub switch: Option<&'static str>,
    /// Whether every install compiles.
    pub sdist: bool,
    /// Whether the variable lists numbers such as `80;90`, which are compiled to cubins only.
    pub plain: bool,
    /// Whether the variable contains arguments of cmake.
    pub cmake: bool,
    /// Additional output for each number of such a list: `ptx`.
    pub also: Option<&'static str>,
}
