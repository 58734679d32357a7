//! Rows about shared libraries: who brings which, and who asks for which.

use crate::cuda::CudaVersion;
use crate::knowledge::RowInfo;

/// An operating system, by the word that image names have for it.
#[derive(Clone, Copy, Debug)]
pub struct OsRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Beginning of a word of a tag (`ubuntu`), or a repository.
    pub name: &'static str,
    /// Whether it keeps libraries as Debian does.
    pub debian: bool,
    /// Whether its loader keeps no cache.
    pub cacheless: bool,
    /// Whether its C library is musl, for which no framework has wheels.
    pub musl: bool,
    /// The commands that install its Python, where they are not those of Debian; empty where nobody knows them.
    pub python: &'static [&'static str],
    /// The word of its tags with less in them, which have another tool.
    pub lean: Option<&'static str>,
    /// The commands that install its Python in those; empty where nobody knows them.
    pub lean_python: &'static [&'static str],
}

/// A library that the container stack puts in with a driver capability.
#[derive(Clone, Copy, Debug)]
pub struct DriverSonameRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `libnvcuvid.so.1`.
    pub soname: &'static str,
    /// `video`.
    pub capability: &'static str,
}

/// The libraries of a package.
#[derive(Clone, Copy, Debug)]
pub struct LibraryPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub name: &'static str,
    /// First version with them.
    pub from: Option<CudaVersion>,
    /// First version that has others.
    pub before: Option<CudaVersion>,
    /// `libcublas.so.12`.
    pub sonames: &'static [&'static str],
}

/// A distribution that brings no CUDA library, nor does anything that comes along with it.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFreeRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub distribution: &'static str,
    /// The first version of which that is known; none = every one.
    pub from: Option<CudaVersion>,
    /// Extras that bring none either.
    pub extras: &'static [&'static str],
}

/// A distribution without GPU code whose project has another one with it.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorPackageRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Its name.
    pub distribution: &'static str,
    /// The one with GPU code.
    pub instead: &'static str,
    /// Whether both lie in one folder, so that the one that is installed last writes over the other.
    pub same_folder: bool,
    /// Whether the name itself states the processor.
    pub by_name: bool,
}

/// A word in package names that speaks for CUDA libraries inside, whichever they are.
#[derive(Clone, Copy, Debug)]
pub struct LibraryCarrierRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `cudnn`.
    pub word: &'static str,
    /// Where it is the whole name: how the names of libraries begin that the package certainly has not.
    pub without: &'static [&'static str],
}

/// The libraries that a distribution asks for from outside of its wheel.
#[derive(Clone, Copy, Debug)]
pub struct LibraryNeedsRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Normalised name.
    pub distribution: &'static str,
    /// First version.
    pub from: CudaVersion,
    /// First version that asks for others.
    pub before: Option<CudaVersion>,
    /// Resolved when the library is loaded.
    pub needs: &'static [&'static str],
    /// Opened while the program runs.
    pub opens: &'static [&'static str],
    /// Whether the program then goes on without a GPU where one of those is not there.
    pub falls_back: bool,
    /// Whether they come along as packages of their own, in whose folders the program looks.
    pub along: bool,
    /// Whether the loader alone finds them: the program does not look into the folders of NVIDIA's wheels.
    pub by_loader: bool,
    /// The extra with which alone they do.
    pub with: Option<&'static str>,
    /// Builds of the project's own index that ask for the same: `cu121`.
    pub builds: &'static [&'static str],
    /// Builds of that index that hold all of it themselves.
    pub whole: &'static [&'static str],
}

impl LibraryNeedsRow {
    /// Whether a library is among those that it looks for.
    pub fn names(&self, soname: &str) -> bool {
        self.sonames().any(|own| own == soname)
    }

    /// All that it looks for.
    pub fn sonames(&self) -> impl Iterator<Item = &'static str> {
        self.needs.iter().chain(self.opens).copied()
    }
}

/// A library that opens parts of itself while it runs.
#[derive(Clone, Copy, Debug)]
pub struct LibraryPartsRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// `libcudnn.so.9`.
    pub soname: &'static str,
    /// `libcudnn_ops.so.9`.
    pub parts: &'static [&'static str],
}

/// Where CUDA images keep the stub of libcuda.
#[derive(Clone, Copy, Debug)]
pub struct StubDirectoryRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// Word of the tag: `devel`.
    pub flavour: &'static str,
    /// Architecture: `amd64`.
    pub arch: &'static str,
    /// Folders of the toolkit, the real one first: `lib64/stubs`.
    pub directories: &'static [&'static str],
}

/// The libraries of a CUDA base image.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitLibraryRow {
    /// Where the row stands.
    pub info: RowInfo,
    /// CUDA major.
    pub cuda_major: u32,
    /// Word of the tag: `base`, `runtime`, `devel`, `cudnn8`.
    pub flavour: &'static str,
    /// The first release that it is for; none = all of the major.
    pub from: Option<CudaVersion>,
    /// The first release that it is no longer for.
    pub before: Option<CudaVersion>,
    /// What it adds to the flavours before it.
    pub sonames: &'static [&'static str],
}
