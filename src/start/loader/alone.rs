//! What a program finds where the host puts no libcuda into the container: one that the image holds, or none.

use crate::cuda::DriverVersion;
use crate::fleet::DeviceSource;
use crate::fleet::Mode;
use crate::start::Basis;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::device::Given;
use crate::start::device::brings_libcuda;
use crate::start::device::given;
use crate::start::device::requested;
use crate::start::loader::Found;
use crate::start::loader::LDCONFIG;
use crate::start::loader::cache;
use crate::start::loader::nothing_to_find;
use crate::start::loader::path::SearchPath;
use crate::start::loader::told;
use crate::start::request::at_work;

/// The libcuda of the image that a program finds where the host brings none.
#[derive(Clone, Copy, Debug)]
pub(in crate::start) enum Alone {
    /// None.
    Nothing,
    /// The toolkit's stub.
    Stub,
    /// A driver's, of this version where that is known.
    Driver(Option<DriverVersion>, Basis),
    /// Cannot be told: what is missing.
    Open(Basis),
}

/// Whether the host certainly puts no libcuda into the container: nobody asks for a GPU, or not for computing.
pub(super) fn is_alone(replay: Replay<'_>) -> bool {
    let by_nobody = matches!(replay.host.devices, DeviceSource::Nobody | DeviceSource::Off);
    if (replay.host.mode == Mode::None && !by_nobody) || replay.host.toolkit_newer {
        return false;
    }
    let libcuda = |given| matches!(given, Given::Set(set) if !brings_libcuda(set));
    !at_work(requested(replay).asked) || libcuda(given(replay))
}

/// What a program finds then.
pub(in crate::start) fn alone(replay: Replay<'_>) -> Alone {
    let baked = Basis::Image(replay.image.driver_libraries.id);
    match search(replay).0 {
        Some(Found::Image(library)) if library.stub => Alone::Stub,
        Some(Found::Image(library)) => Alone::Driver(library.version, baked),
        Some(Found::Compat(library) | Found::Either(library)) => {
            Alone::Driver(Some(library.version), Basis::Image(replay.image.compat.id))
        }
        Some(Found::Open(missing)) => Alone::Open(missing),
        Some(Found::Host) | None => Alone::Nothing,
    }
}

/// The same as the loader's step. That there is nothing was told before, with what keeps the host's out.
pub(super) fn step(replay: Replay<'_>) -> (Loaded<'_>, StepRecord) {
    if let (Some(found), first) = search(replay) {
        return told(replay, found, first, LDCONFIG);
    }
    let facts = [Basis::Image(replay.image.driver_libraries.id)];
    (Loaded::NOWHERE, StepRecord::new(Step::Loader, StepResult::NotApplicable, facts, LDCONFIG))
}

/// The libcuda, and what puts it first.
fn search(replay: Replay<'_>) -> (Option<Found<'_>>, Option<Basis>) {
    let path = SearchPath::of(replay);
    if let Some(found) = path.search_image(replay) {
        return (Some(found), Some(path.basis));
    }
    // An unseen path may lead to what lies elsewhere in the image.
    if path.unseen && !nothing_to_find(replay) {
        return (Some(Found::Open(path.basis)), None);
    }
    (cache::of_image(replay), None)
}

#[cfg(test)]
#[path = "alone_tests.rs"]
mod tests;
