//! `LD_LIBRARY_PATH`: its directories come before everything else.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::Linked;
use crate::cuda::in_compat_directory;
use crate::cuda::library_path;
use crate::cuda::linked;
use crate::fact::DriverLibrary;
use crate::fact::State;
use crate::fleet::Launch;
use crate::start::Basis;
use crate::start::Replay;
use crate::start::environment::variable_of;
use crate::start::loader::Found;
use crate::start::loader::cache;

/// Whose directories those are.
pub(in crate::start) const VARIABLE: &str = "LD_LIBRARY_PATH";
/// Where GKE puts the driver.
pub const DRIVER_DIRECTORY: &str = "/usr/local/nvidia/lib64";

/// The variable as the program sees it: the pool's, else the image's.
pub(super) struct SearchPath<'a> {
    value: Option<&'a str>,
    /// Where it is said.
    pub(super) basis: Basis,
    /// Whether it has a value that nobody has told.
    pub(super) unseen: bool,
}

impl<'a> SearchPath<'a> {
    pub(super) fn of(replay: Replay<'a>) -> Self {
        if let (Some(value), Some(basis)) = (replay.host.env.get(VARIABLE), variable_of(replay.host, VARIABLE)) {
            return Self { value: Some(value), basis, unseen: false };
        }
        let fact = replay.image.env.get(VARIABLE);
        let value = fact.known().map(String::as_str);
        Self { value, basis: Basis::Image(fact.id), unseen: fact.is_unknown() }
    }

    /// Whether it has a value that is known.
    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// The libcuda of the first directory that has one.
    pub(super) fn search(&self, replay: Replay<'a>) -> Option<Found<'a>> {
        let (may_hold, basis) = cache::host_directories(replay);
        if cache::outside(replay) || may_hold.all().len() < 2 {
            return self.directories()?.find_map(|directory| in_directory(replay, directory));
        }
        let mut may_hold = may_hold.all().to_vec();
        // The host's may lie in any of several: they are found for certain behind the last of these.
        let all = may_hold.len();
        for directory in self.directories()? {
            let found = in_directory(replay, directory);
            if found.is_none() && may_hold.contains(&directory) {
                may_hold.retain(|other| *other != directory);
                if may_hold.is_empty() {
                    return Some(Found::Host);
                }
            }
            if let Some(found) = found {
                return Some(if may_hold.len() == all { found } else { Found::Open(basis) });
            }
        }
        let either_way = may_hold.len() == all || cache::search(replay).0.is_host();
        (!either_way).then_some(Found::Open(basis))
    }

    /// The same where the host puts none into the container.
    pub(super) fn search_image(&self, replay: Replay<'a>) -> Option<Found<'a>> {
        self.directories()?.find_map(|directory| in_directory_of_image(replay, directory))
    }

    /// Whether it names a directory.
    pub(super) fn names(&self, wanted: &str) -> bool {
        self.directories().is_some_and(|mut all| all.any(|directory| directory == wanted))
    }

    fn directories(&self) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
        self.value.map(library_path)
    }
}

fn in_directory<'a>(replay: Replay<'a>, directory: &str) -> Option<Found<'a>> {
    if replay.host.launch == Launch::Gke && directory == DRIVER_DIRECTORY {
        return Some(Found::Host);
    }
    // There `ldconfig` has made the links anew.
    let (host, basis) = cache::host_directories(replay);
    let of_image = || in_directory_of_image(replay, directory).or_else(|| stub_made_reachable(replay, directory));
    match host.all() {
        _ if cache::outside(replay) || !host.all().contains(&directory) => of_image(),
        [_] => Some(cache::in_host_directory(replay, directory)),
        _ => of_image().map(|_| Found::Open(basis)),
    }
}

/// A stub by its bare name, to which `ldconfig` links the name that programs ask for: at the start of a container it does
/// so in every directory that it is told of.
fn stub_made_reachable<'a>(replay: Replay<'a>, directory: &str) -> Option<Found<'a>> {
    if cache::outside(replay) || replay.host.launch == Launch::Native {
        return None;
    }
    let listed = replay.image.ld_conf.known()?.iter().flat_map(|file| &file.directories);
    let stubs = replay.image.driver_libraries.known()?.iter();
    let mut stubs = stubs.filter(|library| library.libcuda && library.stub && library.path.ends_with("/libcuda.so"));
    let reached = |library: &&DriverLibrary| {
        let lies_in = |one: &str| cache::lies_in(&library.directories, one);
        lies_in(directory) && listed.clone().any(|one| lies_in(one))
    };
    stubs.find(reached).map(Found::Image)
}

fn in_directory_of_image<'a>(replay: Replay<'a>, directory: &str) -> Option<Found<'a>> {
    if matches!(replay.image.compat.state, State::Unknown(_)) && in_compat_directory(directory) {
        return Some(Found::Open(Basis::Image(replay.image.compat.id)));
    }
    let unseen = replay.image.compat.known().is_some_and(|compat| !compat.root_seen);
    if unseen && directory == COMPAT_ROOT {
        return Some(Found::Open(Basis::Image(replay.image.compat.id)));
    }
    // The loader opens that very name; a link of it says which version it means.
    let baked = replay.image.driver_libraries.known().into_iter().flatten();
    let named = baked.filter(|library| cache::holds(replay, directory, library) && library.libcuda);
    let soname = named.clone().find(|library| library.path.ends_with("/libcuda.so.1"));
    if let Some(library) = soname {
        return Some(Found::Image(library));
    }
    let versioned = named.filter(|library| !library.unversioned());
    let compat = cache::compat_libraries(replay).filter(|library| cache::lies_in(&library.directories, directory));
    let compat = compat.map(|library| (Some(library.version), Found::Compat(library)));
    match linked(compat.chain(versioned.map(|library| (library.version, Found::Image(library))))) {
        Linked::None => None,
        Linked::One(found) => Some(found),
        Linked::Open => Some(Found::Open(Basis::Image(replay.image.driver_libraries.id))),
    }
}
