//! Rows about shared libraries: the packages that contain them, and the packages that need them.

use crate::cuda::CudaVersion;
use crate::knowledge::RowInfo;

/// An operating system, by its name in image tags.
#[derive(Clone, Copy, Debug)]
pub struct OsRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Prefix of a word of a tag (`ubuntu`), or a repository.
    pub name: &'static str,
    /// Whether it has the library directories of Debian.
    pub debian: bool,
    /// Whether its dynamic loader has no cache.
    pub cacheless: bool,
    /// Whether its C library is musl, for which no framework has wheels.
    pub musl: bool,
    /// Commands that install its Python, if they differ from those of Debian; empty if unknown.
    pub python: &'static [&'static str],
    /// Word in the tags of its minimal variant, which has another package manager.
    pub lean: Option<&'static str>,
    /// Commands that install Python in the minimal variant; empty if unknown.
    pub lean_python: &'static [&'static str],
}

/// A driver library that the container toolkit mounts for a driver capability.
#[derive(Clone, Copy, Debug)]
pub struct DriverSonameRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Soname: `libnvcuvid.so.1`.
    pub soname: &'static str,
    /// Driver capability: `video`.
    pub capability: &'static str,
}

/// The libraries in a package.
#[derive(Clone, Copy, Debug)]
pub struct LibraryPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized package name.
    pub name: &'static str,
    /// First version with these libraries.
    pub from: Option<CudaVersion>,
    /// First version with other libraries.
    pub before: Option<CudaVersion>,
    /// Sonames: `libcublas.so.12`.
    pub sonames: &'static [&'static str],
}

/// A distribution that contains no CUDA library, and neither do its dependencies.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFreeRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Distribution.
    pub distribution: &'static str,
    /// First version for which this is known; `None` for every version.
    pub from: Option<CudaVersion>,
    /// Extras whose dependencies contain no CUDA library either.
    pub extras: &'static [&'static str],
}

/// A CPU-only distribution, and its counterpart with GPU code.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorPackageRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// The CPU-only distribution.
    pub distribution: &'static str,
    /// The distribution with GPU code.
    pub instead: &'static str,
    /// Whether both install into the same directory, so that the later install overwrites the earlier one.
    pub same_folder: bool,
    /// Whether the name itself specifies the CPU.
    pub by_name: bool,
}

/// A word in package names which suggests that the package contains CUDA libraries.
#[derive(Clone, Copy, Debug)]
pub struct LibraryCarrierRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// The word: `cudnn`.
    pub word: &'static str,
    /// Prefixes of libraries that the package with exactly this name does not contain.
    pub without: &'static [&'static str],
}

/// The libraries that a distribution needs from outside its wheel.
#[derive(Clone, Copy, Debug)]
pub struct LibraryNeedsRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Normalized name.
    pub distribution: &'static str,
    /// First version.
    pub from: CudaVersion,
    /// First version that needs other libraries.
    pub before: Option<CudaVersion>,
    /// Libraries that the dynamic loader resolves.
    pub needs: &'static [&'static str],
    /// Libraries that are opened at run time.
    pub opens: &'static [&'static str],
    /// Whether the program continues without a GPU if one of `opens` is missing.
    pub falls_back: bool,
    /// Whether they are installed as dependencies, in whose directories the program looks.
    pub along: bool,
    /// Whether only the dynamic loader finds them, not a search in the directories of NVIDIA's wheels.
    pub by_loader: bool,
    /// Extra that is required for them to be installed as dependencies.
    pub with: Option<&'static str>,
    /// Builds of the project's own index that need the same libraries: `cu121`.
    pub builds: &'static [&'static str],
    /// Builds of that index that contain all the libraries.
    pub whole: &'static [&'static str],
}

impl LibraryNeedsRow {
    /// Whether it needs a library.
    pub fn needs_library(&self, soname: &str) -> bool {
        self.sonames().any(|own| own == soname)
    }

    /// Returns all libraries that it needs.
    pub fn sonames(&self) -> impl Iterator<Item = &'static str> {
        self.needs.iter().chain(self.opens).copied()
    }
}

/// A library that opens partial libraries at run time.
#[derive(Clone, Copy, Debug)]
pub struct LibraryPartsRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// The library: `libcudnn.so.9`.
    pub soname: &'static str,
    /// Its partial libraries: `libcudnn_ops.so.9`.
    pub parts: &'static [&'static str],
}

/// Directories of CUDA images with the stub of libcuda.
#[derive(Clone, Copy, Debug)]
pub struct StubDirectoryRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// Flavour in the tag: `devel`.
    pub flavour: &'static str,
    /// Architecture: `amd64`.
    pub arch: &'static str,
    /// Directories of the toolkit, the real one before links to it: `lib64/stubs`.
    pub directories: &'static [&'static str],
}

/// The libraries in a flavour of CUDA base images.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitLibraryRow {
    /// Table, key and source of the row.
    pub info: RowInfo,
    /// CUDA major version.
    pub cuda_major: u32,
    /// Flavour in the tag: `base`, `runtime`, `devel`, `cudnn8`.
    pub flavour: &'static str,
    /// First CUDA version; `None` for all of the major version.
    pub from: Option<CudaVersion>,
    /// First CUDA version that it no longer applies to.
    pub before: Option<CudaVersion>,
    /// Libraries that it adds to the smaller flavours.
    pub sonames: &'static [&'static str],
}
