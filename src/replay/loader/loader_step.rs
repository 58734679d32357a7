//! Loader step: which libcuda a program loads.

use crate::fleet::{Launch, PoolField};
use crate::model::outcome::Outcome;
use crate::replay::loader::image_libcuda::{find_image_libcuda, is_without_host_libcuda};
use crate::replay::loader::ld_cache::image_has_no_libcuda;
use crate::replay::loader::libcuda_candidate::LibcudaCandidate;
use crate::replay::loader::search_path::SearchPath;
use crate::replay::loader::{entrypoint_probe, ld_cache};
use crate::replay::{
    Basis, Citation, CudaErrorCodes, LoadedLibcuda, Replay, ReplayFailure, StartRoute, StartStep, StepRecord,
    StepResult,
};

/// Citation for how the container toolkit selects between the host's libcuda and the compat directory.
const TOOLKIT_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/nvc_container.c, src/nvc_ldcache.c and src/cli/compat_mode.c; nvidia-container-toolkit v1.20.0, cmd/nvidia-cdi-hook/cudacompat and update-ldcache",
);
/// Citation for the search order of the dynamic loader and of `ldconfig`.
const LDCONFIG_CITATION: Citation = Citation(
    "ld.so(8), ldconfig(8): LD_LIBRARY_PATH first, then the cache; within a directory the highest version; a file with the exact name stays",
);
/// Citation for which libcuda is loaded under WSL.
const WSL_CITATION: Citation = Citation(
    "CUDA on WSL user guide, Getting Started with CUDA on WSL 2: libcuda belongs to the Windows driver; nvidia-container-toolkit v1.20.0 (d34b304), pkg/nvcdi/lib-wsl.go and driver-wsl.go: no hook for a compat directory; libnvidia-container, src/nvc_mount.c and src/cli/compat_mode.c: legacy mode makes no exception, and mounts libcuda next to libcuda.so.1, a file that stays",
);
/// Citation for the directory into which GKE mounts the driver.
const GKE_CITATION: Citation = Citation(
    "GoogleCloudPlatform/container-engine-accelerators, cmd/nvidia_gpu: the driver is mounted under /usr/local/nvidia and nowhere else",
);

/// Replays the loader step: returns the libcuda that a program loads, and the record of the step.
pub(in crate::replay) fn loader_step(replay: Replay<'_>) -> (LoadedLibcuda<'_>, StepRecord) {
    if is_without_host_libcuda(replay) {
        return image_libcuda_step(replay);
    }
    let path = SearchPath::new(replay);
    if let Some((found, basis)) = find_without_full_image(replay, &path) {
        return loader_result(replay, found, basis, LDCONFIG_CITATION);
    }
    if let Some(found) = path.find_libcuda(replay) {
        return loader_result(replay, found, Some(path.basis), LDCONFIG_CITATION);
    }
    if replay.host.launch == Launch::Gke {
        return result_without_gke_driver(replay, &path);
    }
    // A toolkit newer than the tables can only give precedence to a libcuda that the image contains.
    if replay.host.toolkit_newer && !image_has_no_libcuda(replay) {
        return unknown_loader_result([Basis::Pool(PoolField::Toolkit)], TOOLKIT_CITATION);
    }
    // An unseen LD_LIBRARY_PATH may put anything first, but only what the image holds.
    if path.is_unknown && !image_has_no_libcuda(replay) {
        return unknown_loader_result([path.basis], TOOLKIT_CITATION);
    }
    if let Some(found) = entrypoint_probe::find_probed_libcuda(replay) {
        let probe = Basis::Image(replay.image.compat_probe.id);
        return loader_result(replay, found, Some(probe), entrypoint_probe::ENTRYPOINT_PROBE_CITATION);
    }
    let (found, by_file) = ld_cache::search_ld_cache(replay);
    let conf = by_file.then_some(Basis::Image(replay.image.ld_conf.id));
    loader_result(replay, found, conf, TOOLKIT_CITATION)
}

/// Returns the loader step where the host adds no libcuda. An earlier step has reported it if there is none at all.
fn image_libcuda_step(replay: Replay<'_>) -> (LoadedLibcuda<'_>, StepRecord) {
    if let (Some(found), first) = find_image_libcuda(replay) {
        return loader_result(replay, found, first, LDCONFIG_CITATION);
    }
    let facts = [Basis::Image(replay.image.driver_libraries.id)];
    (LoadedLibcuda::NOWHERE, StepRecord::new(StartStep::Loader, StepResult::NotApplicable, facts, LDCONFIG_CITATION))
}

/// Returns the libcuda that is loaded although the files of the image are not fully known: the host's on a machine
/// without an image, otherwise the newest of one directory.
fn find_without_full_image<'a>(
    replay: Replay<'a>,
    path: &SearchPath<'_>,
) -> Option<(LibcudaCandidate<'a>, Option<Basis>)> {
    let image = replay.image;
    if path.is_set() || image.compat.known().is_some() {
        return None;
    }
    let no_image = match replay.host.launch {
        Launch::Native => true,
        Launch::Singularity => image.base.is_none(),
        _ => false,
    };
    if no_image {
        let none = image.driver_libraries.known().is_none();
        return none.then_some((LibcudaCandidate::Host, Some(Basis::Pool(PoolField::Launch))));
    }
    let is_uncertain = path.is_unknown || image.compat.is_unknown();
    let highest = ld_cache::image_library_newer_than_host(replay)
        .filter(|_| is_uncertain && !ld_cache::has_separate_host_directory(replay));
    highest.map(|library| (LibcudaCandidate::Image(library), None))
}

/// Returns the loaded libcuda and the step record for a candidate, with the setting that puts it first, if any.
fn loader_result<'a>(
    replay: Replay<'a>,
    found: LibcudaCandidate<'a>,
    first: Option<Basis>,
    cite: Citation,
) -> (LoadedLibcuda<'a>, StepRecord) {
    let compat = Basis::Image(replay.image.compat.id);
    let baked = Basis::Image(replay.image.driver_libraries.id);
    let row = replay.host.toolkit.map(|row| Basis::Row(&row.info));
    // Under Windows no toolkit puts the compat directory first.
    let chooser = if replay.host.wsl { PoolField::Wsl } else { PoolField::Toolkit };
    let cite = if replay.host.wsl && first.is_none() && found.is_host() { WSL_CITATION } else { cite };
    let pool = [Basis::Pool(PoolField::Driver), Basis::Pool(chooser)];
    match found {
        LibcudaCandidate::Open(missing) => unknown_loader_result([missing].into_iter().chain(first), cite),
        LibcudaCandidate::Host => {
            let facts = first.into_iter().chain([compat, baked]).chain(pool).chain(row);
            (
                LoadedLibcuda::from_host(replay),
                StepRecord::new(StartStep::Loader, StepResult::Passes(StartRoute::Native), facts, cite),
            )
        }
        LibcudaCandidate::Compat(library) => {
            let facts = [compat].into_iter().chain(first).chain(pool).chain(row);
            let loaded = LoadedLibcuda { forced_by: first, ..LoadedLibcuda::from_compat_library(replay, library) };
            // One of the very version of the driver is no other than the host's.
            let same = loaded.version.is_some() && loaded.version == replay.host.driver;
            let route = if same { StartRoute::Native } else { StartRoute::ForwardCompat };
            (loaded, StepRecord::new(StartStep::Loader, StepResult::Passes(route), facts, cite))
        }
        LibcudaCandidate::Either(library) => {
            let facts = [compat].into_iter().chain(pool).chain([Basis::Pool(PoolField::Gpu)]).chain(row);
            let loaded = LoadedLibcuda { by_note: true, ..LoadedLibcuda::from_compat_library(replay, library) };
            (loaded, StepRecord::new(StartStep::Loader, StepResult::Passes(StartRoute::ForwardCompat), facts, cite))
        }
        LibcudaCandidate::Image(library) => {
            let result = if library.stub {
                StepResult::Stops(ReplayFailure::new(Outcome::StubLibrary, CudaErrorCodes::certain(34)))
            } else {
                StepResult::Passes(StartRoute::Native)
            };
            let facts = [baked].into_iter().chain(first).chain(pool);
            let loaded = LoadedLibcuda { forced_by: first, ..LoadedLibcuda::from_image_library(replay, library) };
            (loaded, StepRecord::new(StartStep::Loader, result, facts, LDCONFIG_CITATION))
        }
    }
}

/// Returns an unknown libcuda and a step record that lists what is missing.
fn unknown_loader_result<'a>(
    missing: impl IntoIterator<Item = Basis>,
    cite: Citation,
) -> (LoadedLibcuda<'a>, StepRecord) {
    (LoadedLibcuda::UNKNOWN, StepRecord::new(StartStep::Loader, StepResult::Unknown, missing, cite))
}

/// Returns the result for GKE if the image does not search the directory into which the driver is mounted: a program
/// loads a libcuda of the image, or none.
fn result_without_gke_driver<'a>(replay: Replay<'a>, path: &SearchPath<'_>) -> (LoadedLibcuda<'a>, StepRecord) {
    let facts = [path.basis, Basis::Pool(PoolField::Launch)];
    if path.is_unknown {
        return unknown_loader_result(facts, GKE_CITATION);
    }
    if let Some(found) = ld_cache::find_in_image(replay) {
        return loader_result(replay, found, Some(path.basis), GKE_CITATION);
    }
    let result = StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, CudaErrorCodes::certain(35)));
    (LoadedLibcuda::NOWHERE, StepRecord::new(StartStep::Loader, result, facts, GKE_CITATION))
}

#[cfg(test)]
#[path = "loader_step_tests.rs"]
mod tests;
