//! Rows about what decides the release of torch: other distributions' pins and versions of Python.

use crate::knowledge::rows::RowInfo;

/// Which torch another distribution asks for.
#[derive(Clone, Copy, Debug)]
pub struct TorchPinRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `torchvision`.
    pub distribution: &'static str,
    /// Version; `*` for every version without a row of its own.
    pub version: &'static str,
    /// Range of PEP 440; empty where any will do.
    pub torch: &'static str,
    /// Of a version `*`: Pythons that the newest release does not run on, from the oldest on, each with the range that the
    /// newest release for it asks for.
    pub on_python: &'static [(&'static str, &'static str)],
    /// Of a version `*`: older releases from the oldest on, each with the range that it asks for; those before it ask for
    /// no more.
    pub older: &'static [(&'static str, &'static str)],
    /// Whether its metadata ask for none: `torch` is what it was built for.
    pub unasked: bool,
}

/// Which versions of another package the newest release of a distribution asks for.
#[derive(Clone, Copy, Debug)]
pub struct PackageAskRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `vllm`.
    pub distribution: &'static str,
    /// What it asks for: `transformers`.
    pub package: &'static str,
    /// The release of the distribution.
    pub version: &'static str,
    /// Range of PEP 440.
    pub range: &'static str,
}

/// Which versions of another package a release of a distribution asks for, be it the newest or not.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseAskRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `torch`.
    pub distribution: &'static str,
    /// What it asks for: `triton`.
    pub package: &'static str,
    /// The release of the distribution.
    pub version: &'static str,
    /// Range of PEP 440.
    pub range: &'static str,
    /// Processor on which alone it does, `amd64`; on every one where none is told.
    pub arch: Option<&'static str>,
}

/// Which torch releases have a wheel for a version of Python.
#[derive(Clone, Copy, Debug)]
pub struct TorchPythonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `3.8`.
    pub python: &'static str,
    /// The first release.
    pub first: &'static str,
    /// The last one, where later ones have none.
    pub last: Option<&'static str>,
}

/// Releases of a distribution that have a wheel for a version of Python: a run without a gap.
#[derive(Clone, Copy, Debug)]
pub struct WheelPythonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name: `tensorflow`.
    pub distribution: &'static str,
    /// `3.8`.
    pub python: &'static str,
    /// The first release of the run.
    pub first: &'static str,
    /// The last one, where later ones have none.
    pub last: Option<&'static str>,
}

/// Releases of a distribution that have a wheel for a processor and a version of Python: a run without a gap.
#[derive(Clone, Copy, Debug)]
pub struct PlatformWheelRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name: `torchvision`.
    pub distribution: &'static str,
    /// `amd64` or `arm64`.
    pub arch: &'static str,
    /// `3.8`.
    pub python: &'static str,
    /// The first release of the run.
    pub first: &'static str,
    /// The last one, where later ones have none.
    pub last: Option<&'static str>,
}

/// The Python of an image or distribution.
#[derive(Clone, Copy, Debug)]
pub struct ImagePythonRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `ubuntu`, `python`.
    pub name: &'static str,
    /// `22.04`, `3.11`.
    pub version: &'static str,
    /// Its Python.
    pub python: &'static str,
}

/// What a name in the list of architectures stands for, where the build tools of torch read it.
#[derive(Clone, Copy, Debug)]
pub struct TorchArchNameRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `Hopper`, by upper and lower case.
    pub name: &'static str,
    /// First release of torch.
    pub from: &'static str,
    /// First release that differs again; none where it still holds.
    pub before: Option<&'static str>,
    /// Entries that are put in its place: `8.0`, `8.6+PTX`.
    pub targets: &'static [&'static str],
}

/// A package whose GPU code is compiled while the image is built.
#[derive(Clone, Copy, Debug)]
pub struct CudaExtensionRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Distribution: `flash-attn`.
    pub distribution: &'static str,
    /// Last part of its repository's address, and of the folder that a clone makes.
    pub repository: &'static str,
    /// Variable with the targets.
    pub variable: &'static str,
    /// Variable that makes an install compile where there is a wheel.
    pub force: Option<&'static str>,
    /// Variable without which, as 1, no GPU code is compiled where the machine that builds has no GPU.
    pub switch: Option<&'static str>,
    /// Whether every install compiles.
    pub sdist: bool,
    /// Whether the variable lists numbers such as `80;90`, of which cubins alone are built.
    pub plain: bool,
    /// Whether the variable holds arguments of cmake.
    pub cmake: bool,
    /// What is built for each number of a plain list as well: `ptx`.
    pub also: Option<&'static str>,
}
