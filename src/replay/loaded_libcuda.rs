//! The libcuda that a program loads: where it comes from, its version, and the CUDA version that it supports.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::model::fact::{CompatLibrary, CompatNote, DriverLibrary};
use crate::replay::{Basis, Replay};

/// Where the libcuda that a program loads comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibcudaSource<'a> {
    /// The host.
    Host,
    /// A library of the image that is packaged for forward compatibility.
    Compat(&'a CompatLibrary),
    /// A library elsewhere in the image, as its path or its package.
    Image(&'a str),
    /// No libcuda is available.
    Nowhere,
}

/// The libcuda that a program loads.
#[derive(Clone, Copy, Debug)]
pub struct LoadedLibcuda<'a> {
    /// Where it comes from; `None` if unknown.
    pub source: Option<LibcudaSource<'a>>,
    /// Its driver version, if known.
    pub version: Option<DriverVersion>,
    /// The newest CUDA version that it supports, if known.
    pub cuda: Option<CudaVersion>,
    /// The setting of the image or of the pool that puts it before all others, if any.
    pub forced_by: Option<Basis>,
    /// Whether an ELF note that was not read decides between it and the host's libcuda, which is equivalent.
    pub by_note: bool,
}

impl<'a> LoadedLibcuda<'a> {
    /// A libcuda of which nothing is known.
    pub(super) const UNKNOWN: Self = Self { source: None, version: None, cuda: None, forced_by: None, by_note: false };
    /// No libcuda at all.
    pub(super) const NOWHERE: Self = Self { source: Some(LibcudaSource::Nowhere), ..Self::UNKNOWN };

    /// Returns the libcuda of the host.
    pub(super) fn from_host(replay: Replay<'_>) -> Self {
        let (version, cuda) = (replay.host.driver, replay.host.driver_cuda);
        Self { source: Some(LibcudaSource::Host), version, cuda, ..Self::UNKNOWN }
    }

    /// Returns the libcuda of a compat library, with the CUDA version of its note, its driver branch or its package.
    pub(super) fn from_compat_library(replay: Replay<'_>, library: &'a CompatLibrary) -> Self {
        let note = library.note.as_ref().and_then(|note| note.cuda);
        let by_branch = || replay.knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
        let package = || replay.image.compat.known().and_then(|compat| compat.cuda);
        Self {
            source: Some(LibcudaSource::Compat(library)),
            version: Some(library.version).filter(|_| !library.is_module_specific()),
            cuda: note.or_else(by_branch).or_else(package),
            ..Self::UNKNOWN
        }
    }

    /// Returns the libcuda of a driver library that is installed in the image.
    pub(super) fn from_image_library(replay: Replay<'_>, library: &'a DriverLibrary) -> Self {
        let cuda = library.version.and_then(|version| replay.knowledge.driver_cuda(version)).map(|(cuda, _)| cuda);
        Self { source: Some(LibcudaSource::Image(&library.path)), version: library.version, cuda, ..Self::UNKNOWN }
    }

    /// Returns the ELF note of a compat library, if it has one; `None` for any other libcuda.
    pub fn elf_note(&self) -> Option<&'a CompatNote> {
        match self.source {
            Some(LibcudaSource::Compat(library)) => library.note.as_ref(),
            _ => None,
        }
    }
}
