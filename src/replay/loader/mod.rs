//! Loader step: which libcuda a program loads: the host's, one of the compat directory, or one installed in the
//! image.

mod cached_libcuda;
mod compat_selection;
mod entrypoint_probe;
mod image_libcuda;
mod ld_cache;
mod search_path;

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fact::{CompatLibrary, CompatNote, DriverLibrary, ValueState};
use crate::fleet::{Launch, PoolField};
use crate::outcome::Outcome;
use crate::replay::loader::search_path::SearchPath;
use crate::replay::{Basis, Citation, CudaErrorCodes, Replay, ReplayFailure, Route, StartStep, StepRecord, StepResult};

/// Source for how the container toolkit selects between the host's libcuda and the compat directory.
const TOOLKIT_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/nvc_container.c, src/nvc_ldcache.c and src/cli/compat_mode.c; nvidia-container-toolkit v1.20.0, cmd/nvidia-cdi-hook/cudacompat and update-ldcache",
);
/// Source for the search order of the dynamic loader and of `ldconfig`.
const LDCONFIG_CITATION: Citation = Citation(
    "ld.so(8), ldconfig(8): LD_LIBRARY_PATH first, then the cache; within a directory the highest version; a file with the exact name stays",
);
/// Source for which libcuda is loaded under WSL.
const WSL_CITATION: Citation = Citation(
    "CUDA on WSL user guide, Getting Started with CUDA on WSL 2: libcuda belongs to the Windows driver; nvidia-container-toolkit v1.20.0 (d34b304), pkg/nvcdi/lib-wsl.go and driver-wsl.go: no hook for a compat directory; libnvidia-container, src/nvc_mount.c and src/cli/compat_mode.c: legacy mode makes no exception, and mounts libcuda next to libcuda.so.1, a file that stays",
);
/// Source for the directory into which GKE mounts the driver.
const GKE_CITATION: Citation = Citation(
    "GoogleCloudPlatform/container-engine-accelerators, cmd/nvidia_gpu: the driver is mounted under /usr/local/nvidia and nowhere else",
);

pub(super) use self::cached_libcuda::CachedLibcuda;
pub(super) use self::image_libcuda::{ImageLibcuda, image_libcuda};
pub use self::search_path::GKE_DRIVER_DIRECTORY;
pub(super) use self::search_path::SEARCH_PATH_VARIABLE as SEARCH_PATH;

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
    const UNKNOWN: Self = Self { source: None, version: None, cuda: None, forced_by: None, by_note: false };
    /// No libcuda at all.
    const NOWHERE: Self = Self { source: Some(LibcudaSource::Nowhere), ..Self::UNKNOWN };

    /// Returns the libcuda of the host.
    pub(in crate::replay) fn from_host(replay: Replay<'_>) -> Self {
        let (version, cuda) = (replay.host.driver, replay.host.driver_cuda);
        Self { source: Some(LibcudaSource::Host), version, cuda, ..Self::UNKNOWN }
    }

    /// Returns the libcuda of a compat library, with the CUDA version of its note, its driver branch or its package.
    fn from_compat_library(replay: Replay<'_>, library: &'a CompatLibrary) -> Self {
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
    fn from_image_library(replay: Replay<'_>, library: &'a DriverLibrary) -> Self {
        let cuda = library.version.and_then(|version| replay.knowledge.driver_cuda(version)).map(|(cuda, _)| cuda);
        Self { source: Some(LibcudaSource::Image(&library.path)), version: library.version, cuda, ..Self::UNKNOWN }
    }

    /// Returns the ELF note, if it is a compat library that has one.
    pub fn elf_note(&self) -> Option<&'a CompatNote> {
        match self.source {
            Some(LibcudaSource::Compat(library)) => library.note.as_ref(),
            _ => None,
        }
    }
}

/// A libcuda that the loader selects, before its version and its CUDA support are determined.
#[derive(Clone, Copy, Debug)]
enum LibcudaCandidate<'a> {
    Host,
    Compat(&'a CompatLibrary),
    /// The compat library or the host's libcuda, depending on a note that was not read; both are equivalent.
    Either(&'a CompatLibrary),
    Image(&'a DriverLibrary),
    /// Unknown; the basis is what is missing to decide.
    Open(Basis),
}

impl LibcudaCandidate<'_> {
    const fn is_host(self) -> bool {
        matches!(self, Self::Host)
    }

    /// Whether two searches end at the same file.
    fn is_same_file(self, other: Self) -> bool {
        match (self, other) {
            (Self::Host, Self::Host) => true,
            (Self::Compat(one), Self::Compat(other)) | (Self::Either(one), Self::Either(other)) => {
                std::ptr::eq(one, other)
            }
            (Self::Image(one), Self::Image(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }
}

/// Whether libnvidia-container fails because the compat libraries of the image lie in several directories.
pub(super) fn has_scattered_compat_libraries(replay: Replay<'_>) -> bool {
    compat_selection::has_scattered_compat_libraries(replay)
}

/// Whether an ELF note that was not read may decide which libcuda is loaded.
pub(super) fn depends_on_unread_note(replay: Replay<'_>) -> bool {
    compat_selection::depends_on_unread_note(replay)
}

/// Whether programs search the directory into which GKE mounts the driver; `None` if unknown.
pub(super) fn searches_gke_driver_directory(replay: Replay<'_>) -> Option<bool> {
    let path = SearchPath::new(replay);
    (!path.unseen).then(|| path.contains(GKE_DRIVER_DIRECTORY))
}

/// Replays the loader step: returns the libcuda that a program loads, and the record of the step.
pub(super) fn loader_step(replay: Replay<'_>) -> (LoadedLibcuda<'_>, StepRecord) {
    if image_libcuda::is_without_host_libcuda(replay) {
        return image_libcuda::image_libcuda_step(replay);
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
    // What a toolkit does that nobody knows can put nothing first but what the image holds.
    if replay.host.toolkit_newer && !image_has_no_libcuda(replay) {
        return unknown_loader_result([Basis::Pool(PoolField::Toolkit)], TOOLKIT_CITATION);
    }
    // An unseen LD_LIBRARY_PATH may put anything first, but only what the image holds.
    if path.unseen && !image_has_no_libcuda(replay) {
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
    let unseen = path.unseen || image.compat.is_unknown();
    let highest = ld_cache::image_library_newer_than_host(replay)
        .filter(|_| unseen && !ld_cache::has_separate_host_directory(replay));
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
                StepRecord::new(StartStep::Loader, StepResult::Passes(Route::Native), facts, cite),
            )
        }
        LibcudaCandidate::Compat(library) => {
            let facts = [compat].into_iter().chain(first).chain(pool).chain(row);
            let loaded = LoadedLibcuda { forced_by: first, ..LoadedLibcuda::from_compat_library(replay, library) };
            // One of the very version of the driver is no other than the host's.
            let same = loaded.version.is_some() && loaded.version == replay.host.driver;
            let route = if same { Route::Native } else { Route::ForwardCompat };
            (loaded, StepRecord::new(StartStep::Loader, StepResult::Passes(route), facts, cite))
        }
        LibcudaCandidate::Either(library) => {
            let facts = [compat].into_iter().chain(pool).chain([Basis::Pool(PoolField::Gpu)]).chain(row);
            let loaded = LoadedLibcuda { by_note: true, ..LoadedLibcuda::from_compat_library(replay, library) };
            (loaded, StepRecord::new(StartStep::Loader, StepResult::Passes(Route::ForwardCompat), facts, cite))
        }
        LibcudaCandidate::Image(library) => {
            let result = if library.stub {
                StepResult::Stops(ReplayFailure::new(Outcome::StubLibrary, CudaErrorCodes::certain(34)))
            } else {
                StepResult::Passes(Route::Native)
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

/// Whether the image certainly contains no libcuda at all.
fn image_has_no_libcuda(replay: Replay<'_>) -> bool {
    matches!(replay.image.compat.state, ValueState::Absent { .. })
        && matches!(replay.image.driver_libraries.state, ValueState::Absent { .. })
}

/// Returns the result for GKE if the image does not search the directory into which the driver is mounted: a program
/// loads a libcuda of the image, or none.
fn result_without_gke_driver<'a>(replay: Replay<'a>, path: &SearchPath<'_>) -> (LoadedLibcuda<'a>, StepRecord) {
    let facts = [path.basis, Basis::Pool(PoolField::Launch)];
    if path.unseen {
        return unknown_loader_result(facts, GKE_CITATION);
    }
    if let Some(found) = ld_cache::find_in_image(replay) {
        return loader_result(replay, found, Some(path.basis), GKE_CITATION);
    }
    let result = StepResult::Stops(ReplayFailure::new(Outcome::NoGpu, CudaErrorCodes::certain(35)));
    (LoadedLibcuda::NOWHERE, StepRecord::new(StartStep::Loader, result, facts, GKE_CITATION))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
