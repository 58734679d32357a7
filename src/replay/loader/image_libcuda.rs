//! The libcuda that a program finds in the image where the host adds none to the container.

use crate::cuda::DriverVersion;
use crate::fleet::{DeviceSource, Mode};
use crate::replay::gpu_request::uses_container_toolkit;
use crate::replay::granted_capabilities::{GrantedCapabilities, includes_libcuda};
use crate::replay::loader::ld_cache::{self, image_has_no_libcuda};
use crate::replay::loader::libcuda_candidate::LibcudaCandidate;
use crate::replay::loader::search_path::SearchPath;
use crate::replay::{Basis, Replay};

/// The libcuda of the image that a program finds where the host adds none.
#[derive(Clone, Copy, Debug)]
pub(in crate::replay) enum ImageLibcuda {
    /// None.
    Nothing,
    /// The toolkit's stub.
    Stub,
    /// That of a driver, with its version where known, and its fact.
    Driver(Option<DriverVersion>, Basis),
    /// Unknown, because this fact is missing.
    Open(Basis),
}

/// Whether the host certainly adds no libcuda to the container: no GPU is requested, or not for computing.
pub(super) fn is_without_host_libcuda(replay: Replay<'_>) -> bool {
    let by_nothing = matches!(replay.host.devices, DeviceSource::PlainRuntime | DeviceSource::Off);
    if (replay.host.mode == Mode::None && !by_nothing) || replay.host.toolkit_newer {
        return false;
    }
    let libcuda = |given| matches!(given, GrantedCapabilities::Set(set) if !includes_libcuda(set));
    !uses_container_toolkit(replay.container_request().kind) || libcuda(replay.granted_capabilities())
}

/// Returns the libcuda of the image that a program finds where the host adds none.
pub(in crate::replay) fn image_libcuda(replay: Replay<'_>) -> ImageLibcuda {
    let baked = Basis::Image(replay.image.driver_libraries.id);
    match find_image_libcuda(replay).0 {
        Some(LibcudaCandidate::Image(library)) if library.stub => ImageLibcuda::Stub,
        Some(LibcudaCandidate::Image(library)) => ImageLibcuda::Driver(library.version, baked),
        Some(LibcudaCandidate::Compat(library) | LibcudaCandidate::Either(library)) => {
            ImageLibcuda::Driver(Some(library.version), Basis::Image(replay.image.compat.id))
        }
        Some(LibcudaCandidate::Open(missing)) => ImageLibcuda::Open(missing),
        Some(LibcudaCandidate::Host) | None => ImageLibcuda::Nothing,
    }
}

/// Finds the libcuda of the image, with the fact that puts it first in the search order.
pub(super) fn find_image_libcuda(replay: Replay<'_>) -> (Option<LibcudaCandidate<'_>>, Option<Basis>) {
    let path = SearchPath::new(replay);
    if let Some(found) = path.find_libcuda_in_image(replay) {
        return (Some(found), Some(path.basis));
    }
    // An unknown path may lead to a library elsewhere in the image.
    if path.is_unknown && !image_has_no_libcuda(replay) {
        return (Some(LibcudaCandidate::Open(path.basis)), None);
    }
    (ld_cache::find_in_image(replay), None)
}

#[cfg(test)]
#[path = "image_libcuda_tests.rs"]
mod tests;
