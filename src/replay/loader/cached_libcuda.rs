//! A loaded libcuda in a form that outlives its image and can be resolved again in a similar image.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::model::fact::ImageFacts;
use crate::replay::{Basis, LibcudaSource, LoadedLibcuda};

/// Where a cached libcuda comes from; a library of the image is identified by its index among the libraries of its
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CachedLibcudaSource {
    Host,
    Compat(usize),
    Image(usize),
    Nowhere,
}

/// A loaded libcuda without references to its image.
#[derive(Clone, Copy, Debug)]
pub(in crate::replay) struct CachedLibcuda {
    place: Option<CachedLibcudaSource>,
    version: Option<DriverVersion>,
    cuda: Option<CudaVersion>,
    forced_by: Option<Basis>,
    by_note: bool,
}

impl CachedLibcuda {
    /// Converts the libcuda loaded in `image`; `None` if it is not a library of that image.
    pub(in crate::replay) fn from_loaded(image: &ImageFacts, loaded: LoadedLibcuda<'_>) -> Option<Self> {
        let LoadedLibcuda { source, version, cuda, forced_by, by_note } = loaded;
        let place = match source {
            None => None,
            Some(LibcudaSource::Host) => Some(CachedLibcudaSource::Host),
            Some(LibcudaSource::Nowhere) => Some(CachedLibcudaSource::Nowhere),
            Some(LibcudaSource::Compat(library)) => {
                let mut all = image.compat.known()?.libraries.iter();
                Some(CachedLibcudaSource::Compat(all.position(|one| std::ptr::eq(one, library))?))
            }
            Some(LibcudaSource::Image(path)) => {
                let mut all = image.driver_libraries.known()?.iter();
                Some(CachedLibcudaSource::Image(all.position(|one| std::ptr::eq(one.path.as_str(), path))?))
            }
        };
        Some(Self { place, version, cuda, forced_by, by_note })
    }

    /// Resolves the same libcuda in a similar image.
    pub(in crate::replay) fn resolve_in(self, image: &ImageFacts) -> Option<LoadedLibcuda<'_>> {
        let Self { place, version, cuda, forced_by, by_note } = self;
        let source = match place {
            None => None,
            Some(CachedLibcudaSource::Host) => Some(LibcudaSource::Host),
            Some(CachedLibcudaSource::Nowhere) => Some(LibcudaSource::Nowhere),
            Some(CachedLibcudaSource::Compat(at)) => {
                Some(LibcudaSource::Compat(image.compat.known()?.libraries.get(at)?))
            }
            Some(CachedLibcudaSource::Image(at)) => {
                Some(LibcudaSource::Image(&image.driver_libraries.known()?.get(at)?.path))
            }
        };
        Some(LoadedLibcuda { source, version, cuda, forced_by, by_note })
    }

    /// Whether two cached libcudas are the same.
    pub(in crate::replay) fn is_same(&self, other: &Self) -> bool {
        let forced = match (self.forced_by, other.forced_by) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let rest = |one: &Self| (one.place, one.version, one.cuda, one.by_note);
        forced && rest(self) == rest(other)
    }
}
