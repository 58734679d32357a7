//! Kept: a libcuda that outlives the image that it was found in, and can be found there again.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::ImageFacts;
use crate::start::Basis;
use crate::start::loader::Loaded;
use crate::start::loader::Source;

/// Where it comes from: of the image, its place among those of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Host,
    Compat(usize),
    Image(usize),
    Nowhere,
}

/// The libcuda that a program gets.
#[derive(Clone, Copy, Debug)]
pub(in crate::start) struct Kept {
    place: Option<Place>,
    version: Option<DriverVersion>,
    cuda: Option<CudaVersion>,
    forced_by: Option<Basis>,
    by_note: bool,
}

impl Kept {
    /// That of an image; none where it is not one of its own.
    pub(in crate::start) fn of(image: &ImageFacts, loaded: Loaded<'_>) -> Option<Self> {
        let Loaded { source, version, cuda, forced_by, by_note } = loaded;
        let place = match source {
            None => None,
            Some(Source::Host) => Some(Place::Host),
            Some(Source::Nowhere) => Some(Place::Nowhere),
            Some(Source::Compat(library)) => {
                let mut all = image.compat.known()?.libraries.iter();
                Some(Place::Compat(all.position(|one| std::ptr::eq(one, library))?))
            }
            Some(Source::Image(path)) => {
                let mut all = image.driver_libraries.known()?.iter();
                Some(Place::Image(all.position(|one| std::ptr::eq(one.path.as_str(), path))?))
            }
        };
        Some(Self { place, version, cuda, forced_by, by_note })
    }

    /// The same in an image that is like it.
    pub(in crate::start) fn of_image(self, image: &ImageFacts) -> Option<Loaded<'_>> {
        let Self { place, version, cuda, forced_by, by_note } = self;
        let source = match place {
            None => None,
            Some(Place::Host) => Some(Source::Host),
            Some(Place::Nowhere) => Some(Source::Nowhere),
            Some(Place::Compat(at)) => Some(Source::Compat(image.compat.known()?.libraries.get(at)?)),
            Some(Place::Image(at)) => Some(Source::Image(&image.driver_libraries.known()?.get(at)?.path)),
        };
        Some(Loaded { source, version, cuda, forced_by, by_note })
    }

    /// Whether two are the same.
    pub(in crate::start) fn is(&self, other: &Self) -> bool {
        let forced = match (self.forced_by, other.forced_by) {
            (Some(one), Some(other)) => one.is(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let rest = |one: &Self| (one.place, one.version, one.cuda, one.by_note);
        forced && rest(self) == rest(other)
    }
}
