//! The loader's cache, as the last `ldconfig` of the mode leaves it.

use crate::cuda::DriverVersion;
use crate::cuda::LIB64;
use crate::cuda::Linked;
use crate::cuda::linked;
use crate::cuda::search_order;
use crate::fact::CompatLibrary;
use crate::fact::DriverLibrary;
use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::knowledge::CompatSelection;
use crate::start::Basis;
use crate::start::Replay;
use crate::start::loader::Found;
use crate::start::loader::nothing_to_find;
use crate::start::loader::select;
use crate::start::loader::select::Choice;
use crate::start::user_mode;

/// Directories that `ldconfig` looks into by itself.
const DEFAULT: [&str; 2] = [LIB, LIB64];
/// The first.
const LIB: &str = "/usr/lib";
/// Files that the container stack writes for `ldconfig`: the compat directory, the host's directories, and those
/// that the image lists itself.
const WRITTEN: [&str; 3] = ["00-compat-", "00-nvcr-", "zz-nvcr-"];

/// What the cache gives, and whether a directory that the image lists gave it.
pub(super) fn search(replay: Replay<'_>) -> (Found<'_>, bool) {
    if nothing_to_find(replay) {
        return (Found::Host, false);
    }
    let (directories, basis) = host_directories(replay);
    let mut ends = directories.all().iter().map(|directory| in_order(replay, directory));
    let first = ends.next().unwrap_or((Found::Host, false));
    let alike = matches!(first.0, Found::Open(_)) || ends.all(|end| end.0.same(first.0));
    if alike { first } else { (Found::Open(basis), false) }
}

/// Where the host's libraries lie in the container: in one directory, or in one of two.
pub(super) struct Directories<'a> {
    both: [&'a str; 2],
    certain: bool,
}

impl<'a> Directories<'a> {
    pub(super) fn all(&self) -> &[&'a str] {
        if self.certain { &self.both[..1] } else { &self.both }
    }
}

/// Where the host's libraries lie in the container, or may lie, and what tells it: the directory that the image is made
/// for where they are mounted one by one, the node's own where CDI mounts them.
pub(super) fn host_directories(replay: Replay<'_>) -> (Directories<'_>, Basis) {
    let image = replay.image.library_directory.known().map(String::as_str);
    let (known, basis) = match replay.host.mode {
        Mode::Cdi | Mode::JitCdi => {
            (replay.host.library_directory.as_deref(), Basis::Pool(PoolField::LibraryDirectory))
        }
        Mode::Legacy | Mode::Csv | Mode::None => (image, Basis::Image(replay.image.library_directory.id)),
    };
    let both = known.map_or_else(|| replay.host.library_directories(), |directory| [directory; 2]);
    (Directories { both, certain: known.is_some() }, basis)
}

/// The same where the host's libraries go into one directory.
fn in_order<'a>(replay: Replay<'a>, host: &'a str) -> (Found<'a>, bool) {
    // A container engine of its own kind keeps the host's libraries apart and in front.
    if outside(replay) {
        return (Found::Host, false);
    }
    match select::choice(replay) {
        Choice::Nothing | Choice::Mounted => by_directories(replay, host, None, None),
        Choice::CommandLine(directory) => by_directories(replay, host, Some(directory), None),
        Choice::Written(directory) => by_directories(replay, host, None, Some(directory)),
        Choice::Noted(library) => {
            let without = by_directories(replay, host, None, None);
            let directory = library.directories.first().map(String::as_str);
            let with = by_directories(replay, host, None, directory).0;
            if with.same(without.0) {
                without
            } else if without.0.is_host() && with.same(Found::Compat(library)) && as_good_as_host(replay, library) {
                (Found::Either(library), false)
            } else {
                (Found::Open(Basis::Image(replay.image.compat.id)), false)
            }
        }
        Choice::Open(missing) => (Found::Open(missing), false),
    }
}

/// Whether a newer library from the branch of the host, admitted by its note, does all that the host's own does.
fn as_good_as_host(replay: Replay<'_>, library: &CompatLibrary) -> bool {
    let cuda = replay.knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
    let compiles = replay.image.compat.known().and_then(|compat| compat.ptx_compiler) == Some(true);
    compiles && cuda.is_some() && cuda == replay.host.driver_cuda && user_mode::admitted_class(replay, library)
}

/// The same where one directory goes first on the command line of `ldconfig`, or is written to the first file.
fn by_directories<'a>(
    replay: Replay<'a>,
    host: &'a str,
    first: Option<&'a str>,
    written: Option<&'a str>,
) -> (Found<'a>, bool) {
    let [compat_file, host_file, last_file] = WRITTEN;
    let image = replay.image.ld_conf.known().map(Vec::as_slice).unwrap_or_default();
    let own = replay.image.library_directory.known().map(String::as_str);
    let system = match own {
        Some(own) if own != LIB64 => [own, LIB],
        Some(own) => [own, own],
        None => [host, host],
    };
    let listed = system.contains(&host) || image.iter().any(|file| file.directories.iter().any(|one| one == host));
    let keeps = replay.host.toolkit.is_some_and(|row| row.keeps_listed_directories);
    let by_files = matches!(replay.host.mode, Mode::Cdi | Mode::JitCdi | Mode::Csv);
    let command_line = [first, (!by_files && !refreshed(replay)).then_some(host)];
    let added = [
        written.map(|directory| (compat_file, directory)),
        (by_files && !(keeps && listed)).then_some((host_file, host)),
        (by_files && keeps).then_some((last_file, system[0])),
    ];
    let order = search_order(
        command_line.into_iter().flatten(),
        image,
        added.into_iter().flatten(),
        DEFAULT.into_iter().chain([host]),
    );
    for directory in order {
        let found = if directory == host {
            Some(in_host_directory(replay, directory))
        } else {
            in_image_directory(replay, directory)
        };
        if let Some(found) = found {
            return (found, directory != host && first.or(written) != Some(directory));
        }
    }
    (Found::Host, false)
}

/// Whether the host's libraries come in a directory of their own that is searched before the cache.
pub(super) fn outside(replay: Replay<'_>) -> bool {
    matches!(replay.host.launch, Launch::Singularity | Launch::Gke)
}

/// Whether legacy mode runs the hooks of the other modes behind its own `ldconfig`.
fn refreshed(replay: Replay<'_>) -> bool {
    matches!(
        replay.host.compat_selection,
        CompatSelection::HookMajors | CompatSelection::HookNote | CompatSelection::HookCuda
    )
}

/// Compat libraries that are files.
pub(super) fn compat_libraries(replay: Replay<'_>) -> impl Iterator<Item = &CompatLibrary> {
    let libraries = replay.image.compat.known().into_iter().flat_map(|compat| &compat.libraries);
    libraries.filter(|library| library.regular)
}

/// Whether a directory is one of these names.
pub(super) fn lies_in(names: &[String], directory: &str) -> bool {
    names.iter().any(|name| name == directory)
}

/// Whether a library of the image lies in a directory: a package puts its own into that of the system.
pub(super) fn holds(replay: Replay<'_>, directory: &str, library: &DriverLibrary) -> bool {
    let own = || replay.image.library_directory.known().is_some_and(|own| own == directory);
    lies_in(&library.directories, directory) || (library.packaged() && own())
}

/// What `ldconfig` links in the directory of the host's libraries, which those of the image share. It makes links anew,
/// and leaves a file that has the very name as it is.
pub(super) fn in_host_directory<'a>(replay: Replay<'a>, directory: &str) -> Found<'a> {
    let in_the_way = |library: &&DriverLibrary| {
        !library.link && library.path.ends_with("/libcuda.so.1") && lies_in(&library.directories, directory)
    };
    if let Some(library) = baked(replay).find(in_the_way).filter(|_| !replay.host.wsl) {
        return Found::Image(library);
    }
    let mounts = matches!(select::choice(replay), Choice::Mounted);
    let mounted = select::mounted(replay).filter(move |_| mounts);
    let mounted = mounted.map(|library| (Some(library.version), Found::Compat(library)));
    let by_files = matches!(replay.host.mode, Mode::Cdi | Mode::JitCdi);
    let own = replay.image.library_directory.known();
    if by_files && own.is_none() && baked(replay).any(|library| library.packaged() && !library.stub) {
        return Found::Open(Basis::Image(replay.image.library_directory.id));
    }
    // Legacy mode mounts into the directory of the image's own system, whichever that is.
    let there = |library: &&DriverLibrary| library.packaged() && own.is_none() || holds(replay, directory, library);
    let baked = baked(replay).filter(there);
    let own_branch = replay.host.branch();
    let baked =
        baked.map(|library| (rank(library).filter(|version| told(*version, own_branch)), Found::Image(library)));
    let own = [(replay.host.driver, Found::Host)].into_iter();
    let unseen = replay.image.driver_libraries.is_unknown();
    match linked(own.chain(mounted).chain(baked)) {
        Linked::One(_) if unseen => Found::Open(Basis::Image(replay.image.driver_libraries.id)),
        Linked::One(found) => found,
        Linked::None | Linked::Open if replay.host.driver.is_none() => Found::Open(Basis::Pool(PoolField::Driver)),
        Linked::None | Linked::Open => Found::Open(Basis::Image(replay.image.driver_libraries.id)),
    }
}

/// A library of the image above the host's in the host's own directory: `ldconfig` links it, however a compat
/// directory is mounted beside it.
pub(super) fn baked_above_host(replay: Replay<'_>) -> Option<&DriverLibrary> {
    let host = replay.host.driver?;
    let (directories, _) = host_directories(replay);
    let there = |library: &&DriverLibrary| match replay.host.mode {
        Mode::Cdi | Mode::JitCdi => directories.all().iter().all(|one| holds(replay, one, library)),
        _ => directories.all().iter().any(|one| library.packaged() || holds(replay, one, library)),
    };
    let above = |library: &&DriverLibrary| {
        let version = rank(library).filter(|version| told(*version, replay.host.branch()));
        !library.stub && version.is_some_and(|version| host < version)
    };
    baked(replay).filter(there).filter(above).max_by_key(|library| library.version)
}

/// The libcuda that a program gets where the host puts none into the cache.
pub(super) fn of_image(replay: Replay<'_>) -> Option<Found<'_>> {
    if nothing_to_find(replay) {
        return None;
    }
    if replay.image.driver_libraries.is_unknown() {
        return Some(Found::Open(Basis::Image(replay.image.driver_libraries.id)));
    }
    let own = replay.image.library_directory.known().map(String::as_str);
    let image = replay.image.ld_conf.known().map(Vec::as_slice).unwrap_or_default();
    let order = search_order(std::iter::empty(), image, std::iter::empty(), DEFAULT.into_iter().chain(own));
    let by_directory = order.into_iter().find_map(|directory| in_image_directory(replay, directory));
    // A package puts its library where `ldconfig` looks.
    let packaged = || baked(replay).find(|library| library.packaged()).map(Found::Image);
    by_directory.or_else(packaged)
}

/// What it links in a directory that the image alone fills.
pub(super) fn in_image_directory<'a>(replay: Replay<'a>, directory: &str) -> Option<Found<'a>> {
    let compat = compat_libraries(replay).filter(|library| lies_in(&library.directories, directory));
    let compat = compat.map(|library| (Some(library.version), Found::Compat(library)));
    let baked = baked(replay).filter(|library| holds(replay, directory, library));
    match linked(compat.chain(baked.map(|library| (rank(library), Found::Image(library))))) {
        Linked::None => None,
        Linked::One(found) => Some(found),
        Linked::Open => Some(Found::Open(Basis::Image(replay.image.driver_libraries.id))),
    }
}

/// Every libcuda of the image outside of its compat directories.
fn baked(replay: Replay<'_>) -> impl Iterator<Item = &DriverLibrary> {
    replay.image.driver_libraries.known().into_iter().flatten().filter(|library| library.libcuda)
}

/// The version in a file's own name: a bare soname comes behind every version.
fn rank(library: &DriverLibrary) -> Option<DriverVersion> {
    if library.unversioned() { Some(DriverVersion::default()) } else { library.version }
}

/// Whether a version can be put in order: of a library of which nothing but the branch is known, only beside another
/// branch.
fn told(version: DriverVersion, beside: Option<u32>) -> bool {
    !version.is_branch() || Some(version.branch()) != beside
}
