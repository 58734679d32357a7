//! The loader's cache, as the last `ldconfig` run of the mode writes it.

use crate::cuda::{DriverVersion, LIB64_DIRECTORY, LinkedFile, ldconfig_search_order, select_linked_file};
use crate::fleet::{Launch, Mode, PoolField};
use crate::knowledge::CompatSelection;
use crate::model::fact::{CompatLibrary, DriverLibrary, ValueState};
use crate::replay::loader::compat_selection;
use crate::replay::loader::compat_selection::CompatDirectoryUse;
use crate::replay::loader::libcuda_candidate::LibcudaCandidate;
use crate::replay::{Basis, Replay, user_mode};

/// Directories that `ldconfig` searches by default.
const DEFAULT_DIRECTORIES: [&str; 2] = [USR_LIB, LIB64_DIRECTORY];
/// First default directory of `ldconfig`.
const USR_LIB: &str = "/usr/lib";
/// Name prefixes of the files that the container stack writes for `ldconfig`: for the compat directory, for the
/// host's directories, and for the directories that the image lists itself.
const CONF_FILE_PREFIXES: [&str; 3] = ["00-compat-", "00-nvcr-", "zz-nvcr-"];

/// Returns the libcuda that the loader's cache holds, and whether a directory listed by the image provides it.
pub(super) fn search_ld_cache(replay: Replay<'_>) -> (LibcudaCandidate<'_>, bool) {
    if image_has_no_libcuda(replay) {
        return (LibcudaCandidate::Host, false);
    }
    let (directories, basis) = host_library_directories(replay);
    let mut ends = directories.all().iter().map(|directory| search_with_host_directory(replay, directory));
    let first = ends.next().unwrap_or((LibcudaCandidate::Host, false));
    let alike = matches!(first.0, LibcudaCandidate::Open(_)) || ends.all(|end| end.0.is_same_file(first.0));
    if alike { first } else { (LibcudaCandidate::Open(basis), false) }
}

/// The directories of the container that may contain the host's libraries: one if it is certain, otherwise two.
pub(super) struct HostLibraryDirectories<'a> {
    both: [&'a str; 2],
    certain: bool,
}

impl<'a> HostLibraryDirectories<'a> {
    /// Returns the possible directories: one if it is certain, otherwise both.
    pub(super) fn all(&self) -> &[&'a str] {
        if self.certain { &self.both[..1] } else { &self.both }
    }
}

/// Returns the directories of the container that may contain the host's libraries, with the basis for that: the
/// image's library directory where libraries are mounted one by one, the node's where CDI mounts them.
pub(super) fn host_library_directories(replay: Replay<'_>) -> (HostLibraryDirectories<'_>, Basis) {
    let image = replay.image.library_directory.known().map(String::as_str);
    let (known, basis) = match replay.host.mode {
        Mode::Cdi | Mode::JitCdi => {
            (replay.host.library_directory.as_deref(), Basis::Pool(PoolField::LibraryDirectory))
        }
        Mode::Legacy | Mode::Csv | Mode::None => (image, Basis::Image(replay.image.library_directory.id)),
    };
    let both = known.map_or_else(|| replay.host.library_directories(), |directory| [directory; 2]);
    (HostLibraryDirectories { both, certain: known.is_some() }, basis)
}

/// Searches the cache as if the host's libraries are in `host`; also returns whether a directory listed by the image
/// provides the result.
fn search_with_host_directory<'a>(replay: Replay<'a>, host: &'a str) -> (LibcudaCandidate<'a>, bool) {
    // A container engine of its own kind keeps the host's libraries apart and in front.
    if has_separate_host_directory(replay) {
        return (LibcudaCandidate::Host, false);
    }
    match compat_selection::compat_directory_use(replay) {
        CompatDirectoryUse::Nothing | CompatDirectoryUse::Mounted => search_directories(replay, host, None, None),
        CompatDirectoryUse::CommandLine(directory) => search_directories(replay, host, Some(directory), None),
        CompatDirectoryUse::Written(directory) => search_directories(replay, host, None, Some(directory)),
        CompatDirectoryUse::Noted(library) => {
            let without = search_directories(replay, host, None, None);
            let directory = library.directories.first().map(String::as_str);
            let with = search_directories(replay, host, None, directory).0;
            if with.is_same_file(without.0) {
                without
            } else if without.0.is_host()
                && with.is_same_file(LibcudaCandidate::Compat(library))
                && is_equivalent_to_host(replay, library)
            {
                (LibcudaCandidate::Either(library), false)
            } else {
                (LibcudaCandidate::Open(Basis::Image(replay.image.compat.id)), false)
            }
        }
        CompatDirectoryUse::Open(missing) => (LibcudaCandidate::Open(missing), false),
    }
}

/// Whether a newer compat library from the host's driver branch, admitted by its note, does everything that the
/// host's libcuda does.
fn is_equivalent_to_host(replay: Replay<'_>, library: &CompatLibrary) -> bool {
    let cuda = replay.knowledge.driver_cuda(library.version).map(|(cuda, _)| cuda);
    let compiles = replay.image.compat.known().and_then(|compat| compat.ptx_compiler) == Some(true);
    compiles
        && cuda.is_some()
        && cuda == replay.host.driver_cuda
        && user_mode::certainly_has_forward_compat(replay, library)
}

/// Searches the directories in the order of `ldconfig`, with one directory first on its command line or written to
/// the first configuration file.
fn search_directories<'a>(
    replay: Replay<'a>,
    host: &'a str,
    first: Option<&'a str>,
    written: Option<&'a str>,
) -> (LibcudaCandidate<'a>, bool) {
    let [compat_file, host_file, last_file] = CONF_FILE_PREFIXES;
    let image = replay.image.ld_conf.known().map(Vec::as_slice).unwrap_or_default();
    let own = replay.image.library_directory.known().map(String::as_str);
    let system = match own {
        Some(own) if own != LIB64_DIRECTORY => [own, USR_LIB],
        Some(own) => [own, own],
        None => [host, host],
    };
    let listed = system.contains(&host) || image.iter().any(|file| file.directories.iter().any(|one| one == host));
    let keeps = replay.host.toolkit.is_some_and(|row| row.keeps_listed_directories);
    let by_files = matches!(replay.host.mode, Mode::Cdi | Mode::JitCdi | Mode::Csv);
    let command_line = [first, (!by_files && !reruns_ldconfig_by_hook(replay)).then_some(host)];
    let added = [
        written.map(|directory| (compat_file, directory)),
        (by_files && !(keeps && listed)).then_some((host_file, host)),
        (by_files && keeps).then_some((last_file, system[0])),
    ];
    let order = ldconfig_search_order(
        command_line.into_iter().flatten(),
        image,
        added.into_iter().flatten(),
        DEFAULT_DIRECTORIES.into_iter().chain([host]),
    );
    for directory in order {
        let found = if directory == host {
            Some(find_in_host_directory(replay, directory))
        } else {
            find_in_image_directory(replay, directory)
        };
        if let Some(found) = found {
            return (found, directory != host && first.or(written) != Some(directory));
        }
    }
    (LibcudaCandidate::Host, false)
}

/// Whether the host's libraries are mounted in a separate directory that is searched before the cache.
pub(super) fn has_separate_host_directory(replay: Replay<'_>) -> bool {
    matches!(replay.host.launch, Launch::Singularity | Launch::Gke)
}

/// Whether legacy mode runs the hooks of the other modes after its `ldconfig` run.
fn reruns_ldconfig_by_hook(replay: Replay<'_>) -> bool {
    matches!(
        replay.host.compat_selection,
        CompatSelection::HookMajors | CompatSelection::HookNote | CompatSelection::HookCuda
    )
}

/// Iterates over the compat libraries of the image that are regular files, not links.
pub(super) fn regular_compat_libraries(replay: Replay<'_>) -> impl Iterator<Item = &CompatLibrary> {
    let libraries = replay.image.compat.known().into_iter().flat_map(|compat| &compat.libraries);
    libraries.filter(|library| library.regular)
}

/// Whether a list of directory names contains `directory`.
pub(super) fn contains_directory(names: &[String], directory: &str) -> bool {
    names.iter().any(|name| name == directory)
}

/// Whether a library of the image is in a directory; a library from a package is in the system's library
/// directory.
pub(super) fn is_library_in_directory(replay: Replay<'_>, directory: &str, library: &DriverLibrary) -> bool {
    let own = || replay.image.library_directory.known().is_some_and(|own| own == directory);
    contains_directory(&library.directories, directory) || (library.is_package() && own())
}

/// Returns the libcuda that `ldconfig` links in the directory shared by the host's libraries and those of the image.
/// It recreates links, and does not replace a file that is named `libcuda.so.1`.
pub(super) fn find_in_host_directory<'a>(replay: Replay<'a>, directory: &str) -> LibcudaCandidate<'a> {
    let in_the_way = |library: &&DriverLibrary| {
        !library.link && library.path.ends_with("/libcuda.so.1") && contains_directory(&library.directories, directory)
    };
    if let Some(library) = image_libcudas(replay).find(in_the_way).filter(|_| !replay.host.wsl) {
        return LibcudaCandidate::Image(library);
    }
    let mounts = matches!(compat_selection::compat_directory_use(replay), CompatDirectoryUse::Mounted);
    let mounted = compat_selection::mounted_compat_libraries(replay).filter(move |_| mounts);
    let mounted = mounted.map(|library| (Some(library.version), LibcudaCandidate::Compat(library)));
    let by_files = matches!(replay.host.mode, Mode::Cdi | Mode::JitCdi);
    let own = replay.image.library_directory.known();
    if by_files && own.is_none() && image_libcudas(replay).any(|library| library.is_package() && !library.stub) {
        return LibcudaCandidate::Open(Basis::Image(replay.image.library_directory.id));
    }
    // Legacy mode mounts into the directory of the image's own system, whichever that is.
    let there = |library: &&DriverLibrary| {
        library.is_package() && own.is_none() || is_library_in_directory(replay, directory, library)
    };
    let baked = image_libcudas(replay).filter(there);
    let own_branch = replay.host.driver_branch();
    let baked = baked.map(|library| {
        (
            version_for_order(library).filter(|version| is_comparable_version(*version, own_branch)),
            LibcudaCandidate::Image(library),
        )
    });
    let own = [(replay.host.driver, LibcudaCandidate::Host)].into_iter();
    let unknown_libraries = replay.image.driver_libraries.is_unknown();
    match select_linked_file(own.chain(mounted).chain(baked)) {
        LinkedFile::One(_) if unknown_libraries => {
            LibcudaCandidate::Open(Basis::Image(replay.image.driver_libraries.id))
        }
        LinkedFile::One(found) => found,
        LinkedFile::None | LinkedFile::Undetermined if replay.host.driver.is_none() => {
            LibcudaCandidate::Open(Basis::Pool(PoolField::Driver))
        }
        LinkedFile::None | LinkedFile::Undetermined => {
            LibcudaCandidate::Open(Basis::Image(replay.image.driver_libraries.id))
        }
    }
}

/// Returns a library of the image that is newer than the host's and is in the same directory: `ldconfig` links it,
/// whatever compat directory is mounted.
pub(super) fn image_library_newer_than_host(replay: Replay<'_>) -> Option<&DriverLibrary> {
    let host = replay.host.driver?;
    let (directories, _) = host_library_directories(replay);
    let there = |library: &&DriverLibrary| match replay.host.mode {
        Mode::Cdi | Mode::JitCdi => directories.all().iter().all(|one| is_library_in_directory(replay, one, library)),
        _ => directories.all().iter().any(|one| library.is_package() || is_library_in_directory(replay, one, library)),
    };
    let above = |library: &&DriverLibrary| {
        let version =
            version_for_order(library).filter(|version| is_comparable_version(*version, replay.host.driver_branch()));
        !library.stub && version.is_some_and(|version| host < version)
    };
    image_libcudas(replay).filter(there).filter(above).max_by_key(|library| library.version)
}

/// Returns the libcuda of the image that a program loads if the host adds none to the cache.
pub(super) fn find_in_image(replay: Replay<'_>) -> Option<LibcudaCandidate<'_>> {
    if image_has_no_libcuda(replay) {
        return None;
    }
    if replay.image.driver_libraries.is_unknown() {
        return Some(LibcudaCandidate::Open(Basis::Image(replay.image.driver_libraries.id)));
    }
    let own = replay.image.library_directory.known().map(String::as_str);
    let image = replay.image.ld_conf.known().map(Vec::as_slice).unwrap_or_default();
    let order = ldconfig_search_order(
        std::iter::empty(),
        image,
        std::iter::empty(),
        DEFAULT_DIRECTORIES.into_iter().chain(own),
    );
    let by_directory = order.into_iter().find_map(|directory| find_in_image_directory(replay, directory));
    // A package puts its library where `ldconfig` looks.
    let packaged = || image_libcudas(replay).find(|library| library.is_package()).map(LibcudaCandidate::Image);
    by_directory.or_else(packaged)
}

/// Returns the libcuda that `ldconfig` links in a directory that only the image fills.
fn find_in_image_directory<'a>(replay: Replay<'a>, directory: &str) -> Option<LibcudaCandidate<'a>> {
    let compat = regular_compat_libraries(replay).filter(|library| contains_directory(&library.directories, directory));
    let compat = compat.map(|library| (Some(library.version), LibcudaCandidate::Compat(library)));
    let baked = image_libcudas(replay).filter(|library| is_library_in_directory(replay, directory, library));
    match select_linked_file(
        compat.chain(baked.map(|library| (version_for_order(library), LibcudaCandidate::Image(library)))),
    ) {
        LinkedFile::None => None,
        LinkedFile::One(found) => Some(found),
        LinkedFile::Undetermined => Some(LibcudaCandidate::Open(Basis::Image(replay.image.driver_libraries.id))),
    }
}

/// Iterates over every libcuda of the image outside of its compat directories.
fn image_libcudas(replay: Replay<'_>) -> impl Iterator<Item = &DriverLibrary> {
    replay.image.driver_libraries.known().into_iter().flatten().filter(|library| library.libcuda)
}

/// Returns the version in a file's name, by which `ldconfig` orders files; a name without a version is older than
/// every version.
fn version_for_order(library: &DriverLibrary) -> Option<DriverVersion> {
    if library.has_no_version() { Some(DriverVersion::default()) } else { library.version }
}

/// Whether a version can be ordered against the host's: a version that is only a branch compares only with other
/// branches.
fn is_comparable_version(version: DriverVersion, host_branch: Option<u32>) -> bool {
    !version.is_branch_only() || Some(version.branch()) != host_branch
}

/// Whether the image certainly contains no libcuda at all.
pub(super) fn image_has_no_libcuda(replay: Replay<'_>) -> bool {
    matches!(replay.image.compat.state, ValueState::Absent { .. })
        && matches!(replay.image.driver_libraries.state, ValueState::Absent { .. })
}
