//! `LD_LIBRARY_PATH`, whose directories are searched before everything else.

use crate::cuda::{COMPAT_ROOT, LinkedFile, is_in_compat_tree, library_path_directories, select_linked_file};
use crate::fleet::Launch;
use crate::model::fact::{DriverLibrary, ValueState};
use crate::replay::environment::pool_variable;
use crate::replay::loader::ld_cache;
use crate::replay::loader::libcuda_candidate::LibcudaCandidate;
use crate::replay::{Basis, Replay};

/// Name of the variable that lists directories for the dynamic loader.
pub(in crate::replay) const SEARCH_PATH_VARIABLE: &str = "LD_LIBRARY_PATH";
/// Directory into which GKE mounts the driver's libraries.
pub const GKE_DRIVER_DIRECTORY: &str = "/usr/local/nvidia/lib64";

/// The value of `LD_LIBRARY_PATH` as the program sees it: the pool's, otherwise the image's.
pub(super) struct SearchPath<'a> {
    value: Option<&'a str>,
    /// Where the value is set.
    pub(super) basis: Basis,
    /// Whether the variable is set to a value that is unknown.
    pub(super) is_unknown: bool,
}

impl<'a> SearchPath<'a> {
    /// Reads the variable from the pool, otherwise from the image.
    pub(super) fn new(replay: Replay<'a>) -> Self {
        if let (Some(value), Some(basis)) =
            (replay.host.env.get(SEARCH_PATH_VARIABLE), pool_variable(replay.host, SEARCH_PATH_VARIABLE))
        {
            return Self { value: Some(value), basis, is_unknown: false };
        }
        let fact = replay.image.env.get(SEARCH_PATH_VARIABLE);
        let value = fact.known().map(String::as_str);
        Self { value, basis: Basis::Image(fact.id), is_unknown: fact.is_unknown() }
    }

    /// Whether the variable has a known value.
    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// Returns the libcuda of the first directory that has one.
    pub(super) fn find_libcuda(&self, replay: Replay<'a>) -> Option<LibcudaCandidate<'a>> {
        let (may_match_label, basis) = ld_cache::host_library_directories(replay);
        if ld_cache::has_separate_host_directory(replay) || may_match_label.all().len() < 2 {
            return self.directories()?.find_map(|directory| find_in_directory(replay, directory));
        }
        let mut may_match_label = may_match_label.all().to_vec();
        // The host's libraries may be in any of several directories: they are certain only after the last of these.
        let all = may_match_label.len();
        for directory in self.directories()? {
            let found = find_in_directory(replay, directory);
            if found.is_none() && may_match_label.contains(&directory) {
                may_match_label.retain(|other| *other != directory);
                if may_match_label.is_empty() {
                    return Some(LibcudaCandidate::Host);
                }
            }
            if let Some(found) = found {
                return Some(if may_match_label.len() == all { found } else { LibcudaCandidate::Open(basis) });
            }
        }
        let either_way = may_match_label.len() == all || ld_cache::search_ld_cache(replay).0.is_host();
        (!either_way).then_some(LibcudaCandidate::Open(basis))
    }

    /// Returns the libcuda of the first directory that has one, if the host mounts none into the container.
    pub(super) fn find_libcuda_in_image(&self, replay: Replay<'a>) -> Option<LibcudaCandidate<'a>> {
        self.directories()?.find_map(|directory| find_in_directory_of_image(replay, directory))
    }

    /// Whether the search path contains a directory.
    pub(super) fn contains(&self, target: &str) -> bool {
        self.directories().is_some_and(|mut all| all.any(|directory| directory == target))
    }

    /// Iterates over the directories of a known value.
    fn directories(&self) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
        self.value.map(library_path_directories)
    }
}

/// Returns the libcuda that the loader opens in one directory of the search path.
fn find_in_directory<'a>(replay: Replay<'a>, directory: &str) -> Option<LibcudaCandidate<'a>> {
    if replay.host.launch == Launch::Gke && directory == GKE_DRIVER_DIRECTORY {
        return Some(LibcudaCandidate::Host);
    }
    // There `ldconfig` has made the links anew.
    let (host, basis) = ld_cache::host_library_directories(replay);
    let of_image = || find_in_directory_of_image(replay, directory).or_else(|| find_relinked_stub(replay, directory));
    match host.all() {
        _ if ld_cache::has_separate_host_directory(replay) || !host.all().contains(&directory) => of_image(),
        [_] => Some(ld_cache::find_in_host_directory(replay, directory)),
        _ => of_image().map(|_| LibcudaCandidate::Open(basis)),
    }
}

/// Returns a stub named `libcuda.so` that `ldconfig` makes loadable: at container start it links the soname to it in
/// every configured directory.
fn find_relinked_stub<'a>(replay: Replay<'a>, directory: &str) -> Option<LibcudaCandidate<'a>> {
    if ld_cache::has_separate_host_directory(replay) || replay.host.launch == Launch::Native {
        return None;
    }
    let listed = replay.image.ld_conf.known()?.iter().flat_map(|file| &file.directories);
    let stubs = replay.image.driver_libraries.known()?.iter();
    let mut stubs = stubs.filter(|library| library.libcuda && library.stub && library.path.ends_with("/libcuda.so"));
    let reached = |library: &&DriverLibrary| {
        let lies_in = |one: &str| ld_cache::contains_directory(&library.directories, one);
        lies_in(directory) && listed.clone().any(|one| lies_in(one))
    };
    stubs.find(reached).map(LibcudaCandidate::Image)
}

/// Returns the libcuda of the image that the loader opens in one directory of the search path.
fn find_in_directory_of_image<'a>(replay: Replay<'a>, directory: &str) -> Option<LibcudaCandidate<'a>> {
    if matches!(replay.image.compat.state, ValueState::Unknown(_)) && is_in_compat_tree(directory) {
        return Some(LibcudaCandidate::Open(Basis::Image(replay.image.compat.id)));
    }
    let unknown_root = replay.image.compat.known().is_some_and(|compat| !compat.root_seen);
    if unknown_root && directory == COMPAT_ROOT {
        return Some(LibcudaCandidate::Open(Basis::Image(replay.image.compat.id)));
    }
    // The loader opens that very name; the target of the link is the version.
    let baked = replay.image.driver_libraries.known().into_iter().flatten();
    let named =
        baked.filter(|library| ld_cache::is_library_in_directory(replay, directory, library) && library.libcuda);
    let soname = named.clone().find(|library| library.path.ends_with("/libcuda.so.1"));
    if let Some(library) = soname {
        return Some(LibcudaCandidate::Image(library));
    }
    let versioned = named.filter(|library| !library.has_no_version());
    let compat = ld_cache::regular_compat_libraries(replay)
        .filter(|library| ld_cache::contains_directory(&library.directories, directory));
    let compat = compat.map(|library| (Some(library.version), LibcudaCandidate::Compat(library)));
    match select_linked_file(compat.chain(versioned.map(|library| (library.version, LibcudaCandidate::Image(library)))))
    {
        LinkedFile::None => None,
        LinkedFile::One(found) => Some(found),
        LinkedFile::Undetermined => Some(LibcudaCandidate::Open(Basis::Image(replay.image.driver_libraries.id))),
    }
}

/// Whether programs search the directory into which GKE mounts the driver; `None` if unknown.
pub(in crate::replay) fn searches_gke_driver_directory(replay: Replay<'_>) -> Option<bool> {
    let path = SearchPath::new(replay);
    (!path.is_unknown).then(|| path.contains(GKE_DRIVER_DIRECTORY))
}
