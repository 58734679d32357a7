//! Loader: which libcuda a program gets, of the host's, the compat directory's and those baked in.

mod alone;
mod cache;
mod kept;
mod path;
mod probe;
mod select;

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::CompatLibrary;
use crate::fact::DriverLibrary;
use crate::fact::ElfNote;
use crate::fact::State;
use crate::fleet::Launch;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::loader::path::SearchPath;

const SELECT: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/nvc_container.c, src/nvc_ldcache.c and src/cli/compat_mode.c; nvidia-container-toolkit v1.20.0, cmd/nvidia-cdi-hook/cudacompat and update-ldcache",
);
const LDCONFIG: Cite = Cite(
    "ld.so(8), ldconfig(8): LD_LIBRARY_PATH first, then the cache; within a directory the highest version; a file with the exact name stays",
);
const WSL: Cite = Cite(
    "CUDA on WSL user guide, Getting Started with CUDA on WSL 2: libcuda belongs to the Windows driver; nvidia-container-toolkit v1.20.0 (d34b304), pkg/nvcdi/lib-wsl.go and driver-wsl.go: no hook for a compat directory; libnvidia-container, src/nvc_mount.c and src/cli/compat_mode.c: legacy mode makes no exception, and mounts libcuda next to libcuda.so.1, a file that stays",
);
const GKE: Cite = Cite(
    "GoogleCloudPlatform/container-engine-accelerators, cmd/nvidia_gpu: the driver is mounted under /usr/local/nvidia and nowhere else",
);

pub(super) use self::alone::Alone;
pub(super) use self::alone::alone;
pub(super) use self::kept::Kept;
pub use self::path::DRIVER_DIRECTORY;
pub(super) use self::path::VARIABLE as SEARCH_PATH;

/// Where a program's libcuda comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The host.
    Host,
    /// A library of the image that is packaged for forward compatibility.
    Compat(&'a CompatLibrary),
    /// Elsewhere in the image: a path, or a package.
    Image(&'a str),
    /// Nowhere.
    Nowhere,
}

/// The libcuda that a program gets.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// From where; none where it cannot be told.
    pub source: Option<Source<'a>>,
    /// Its version, where known.
    pub version: Option<DriverVersion>,
    /// The newest CUDA that it supports, where known.
    pub cuda: Option<CudaVersion>,
    /// What the image or the pool says that puts it before all others, where something does.
    pub forced_by: Option<Basis>,
    /// Whether a note that nobody has seen decides between it and that of the host, which is as good.
    pub by_note: bool,
}

impl<'a> Loaded<'a> {
    const UNKNOWN: Self = Self { source: None, version: None, cuda: None, forced_by: None, by_note: false };
    const NOWHERE: Self = Self { source: Some(Source::Nowhere), ..Self::UNKNOWN };

    /// That of the host.
    pub(in crate::start) fn host(replay: Replay<'_>) -> Self {
        let (version, cuda) = (replay.host.driver, replay.host.driver_cuda);
        Self { source: Some(Source::Host), version, cuda, ..Self::UNKNOWN }
    }

    fn compat(replay: Replay<'_>, library: &'a CompatLibrary) -> Self {
        let note = library.note.as_ref().and_then(|note| note.cuda);
        let by_branch = || replay.knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
        let package = || replay.image.compat.known().and_then(|compat| compat.cuda);
        Self {
            source: Some(Source::Compat(library)),
            version: Some(library.version).filter(|_| !library.of_module()),
            cuda: note.or_else(by_branch).or_else(package),
            ..Self::UNKNOWN
        }
    }

    fn image(replay: Replay<'_>, library: &'a DriverLibrary) -> Self {
        let cuda = library.version.and_then(|version| replay.knowledge.driver_cuda(version)).map(|(cuda, _)| cuda);
        Self { source: Some(Source::Image(&library.path)), version: library.version, cuda, ..Self::UNKNOWN }
    }

    /// The note of a compat library.
    pub fn note(&self) -> Option<&'a ElfNote> {
        match self.source {
            Some(Source::Compat(library)) => library.note.as_ref(),
            _ => None,
        }
    }
}

/// A libcuda, before it is asked what it is good for.
#[derive(Clone, Copy, Debug)]
enum Found<'a> {
    Host,
    Compat(&'a CompatLibrary),
    /// The compat library or that of the host, by a note that was not seen: one is as good as the other.
    Either(&'a CompatLibrary),
    Image(&'a DriverLibrary),
    /// Cannot be told: what is missing.
    Open(Basis),
}

impl Found<'_> {
    const fn is_host(self) -> bool {
        matches!(self, Self::Host)
    }

    /// Whether two searches end at the same file.
    fn same(self, other: Self) -> bool {
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

/// Whether libnvidia-container gives up over the compat libraries of the image.
pub(super) fn scattered(replay: Replay<'_>) -> bool {
    select::scattered(replay)
}

/// Whether it may hang on a note that nobody read which libcuda is taken.
pub(super) fn hangs_on_a_note(replay: Replay<'_>) -> bool {
    select::hangs_on_a_note(replay)
}

/// Whether a program on GKE looks where the node puts the driver; none where that cannot be told.
pub(super) fn finds_driver_on_gke(replay: Replay<'_>) -> Option<bool> {
    let path = SearchPath::of(replay);
    (!path.unseen).then(|| path.names(DRIVER_DIRECTORY))
}

/// Which libcuda does the loader find?
pub(super) fn step(replay: Replay<'_>) -> (Loaded<'_>, StepRecord) {
    if alone::is_alone(replay) {
        return alone::step(replay);
    }
    let path = SearchPath::of(replay);
    if let Some((found, basis)) = without_seeing(replay, &path) {
        return told(replay, found, basis, LDCONFIG);
    }
    if let Some(found) = path.search(replay) {
        return told(replay, found, Some(path.basis), LDCONFIG);
    }
    if replay.host.launch == Launch::Gke {
        return not_on_gke(replay, &path);
    }
    // What a toolkit does that nobody knows can put nothing first but what the image holds.
    if replay.host.toolkit_newer && !nothing_to_find(replay) {
        return unknown([Basis::Pool(PoolField::Toolkit)], SELECT);
    }
    // An unseen LD_LIBRARY_PATH may put anything first, but only what the image holds.
    if path.unseen && !nothing_to_find(replay) {
        return unknown([path.basis], SELECT);
    }
    if let Some(found) = probe::search(replay) {
        let probe = Basis::Image(replay.image.compat_probe.id);
        return told(replay, found, Some(probe), probe::CITE);
    }
    let (found, by_file) = cache::search(replay);
    let conf = by_file.then_some(Basis::Image(replay.image.ld_conf.id));
    told(replay, found, conf, SELECT)
}

/// What is found although the image was not seen whole: on a machine without an image the host's library, and of
/// those in one directory the highest.
fn without_seeing<'a>(replay: Replay<'a>, path: &SearchPath<'_>) -> Option<(Found<'a>, Option<Basis>)> {
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
        return none.then_some((Found::Host, Some(Basis::Pool(PoolField::Launch))));
    }
    let unseen = path.unseen || image.compat.is_unknown();
    let highest = cache::baked_above_host(replay).filter(|_| unseen && !cache::outside(replay));
    highest.map(|library| (Found::Image(library), None))
}

/// The record of what was found, and of what put it first where something did.
fn told<'a>(replay: Replay<'a>, found: Found<'a>, first: Option<Basis>, cite: Cite) -> (Loaded<'a>, StepRecord) {
    let compat = Basis::Image(replay.image.compat.id);
    let baked = Basis::Image(replay.image.driver_libraries.id);
    let row = replay.host.toolkit.map(|row| Basis::Row(&row.info));
    // Under Windows no toolkit puts the compat directory first.
    let chooser = if replay.host.wsl { PoolField::Wsl } else { PoolField::Toolkit };
    let cite = if replay.host.wsl && first.is_none() && found.is_host() { WSL } else { cite };
    let pool = [Basis::Pool(PoolField::Driver), Basis::Pool(chooser)];
    match found {
        Found::Open(missing) => unknown([missing].into_iter().chain(first), cite),
        Found::Host => {
            let facts = first.into_iter().chain([compat, baked]).chain(pool).chain(row);
            (Loaded::host(replay), StepRecord::new(Step::Loader, StepResult::Passes(Route::Native), facts, cite))
        }
        Found::Compat(library) => {
            let facts = [compat].into_iter().chain(first).chain(pool).chain(row);
            let loaded = Loaded { forced_by: first, ..Loaded::compat(replay, library) };
            // One of the very version of the driver is no other than the host's.
            let same = loaded.version.is_some() && loaded.version == replay.host.driver;
            let route = if same { Route::Native } else { Route::ForwardCompat };
            (loaded, StepRecord::new(Step::Loader, StepResult::Passes(route), facts, cite))
        }
        Found::Either(library) => {
            let facts = [compat].into_iter().chain(pool).chain([Basis::Pool(PoolField::Gpu)]).chain(row);
            let loaded = Loaded { by_note: true, ..Loaded::compat(replay, library) };
            (loaded, StepRecord::new(Step::Loader, StepResult::Passes(Route::ForwardCompat), facts, cite))
        }
        Found::Image(library) => {
            let result = if library.stub {
                StepResult::Stops(Wall::new(Outcome::StubLibrary, Codes::certain(34)))
            } else {
                StepResult::Passes(Route::Native)
            };
            let facts = [baked].into_iter().chain(first).chain(pool);
            let loaded = Loaded { forced_by: first, ..Loaded::image(replay, library) };
            (loaded, StepRecord::new(Step::Loader, result, facts, LDCONFIG))
        }
    }
}

fn unknown<'a>(missing: impl IntoIterator<Item = Basis>, cite: Cite) -> (Loaded<'a>, StepRecord) {
    (Loaded::UNKNOWN, StepRecord::new(Step::Loader, StepResult::Unknown, missing, cite))
}

/// Whether the image certainly holds no libcuda at all.
fn nothing_to_find(replay: Replay<'_>) -> bool {
    matches!(replay.image.compat.state, State::Absent { .. })
        && matches!(replay.image.driver_libraries.state, State::Absent { .. })
}

/// GKE mounts the driver into one directory, which the image must look into by itself, and here does not: a program
/// gets a libcuda that the image holds, or none.
fn not_on_gke<'a>(replay: Replay<'a>, path: &SearchPath<'_>) -> (Loaded<'a>, StepRecord) {
    let facts = [path.basis, Basis::Pool(PoolField::Launch)];
    if path.unseen {
        return unknown(facts, GKE);
    }
    if let Some(found) = cache::of_image(replay) {
        return told(replay, found, Some(path.basis), GKE);
    }
    let result = StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(35)));
    (Loaded::NOWHERE, StepRecord::new(Step::Loader, result, facts, GKE))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
