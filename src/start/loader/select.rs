//! What the container toolkit does with the compat directory of an image.

use crate::cuda::COMPAT_ROOT;
use crate::cuda::CliCompat;
use crate::cuda::DriverVersion;
use crate::cuda::HookHost;
use crate::cuda::HookRule;
use crate::cuda::cli_keeps;
use crate::cuda::hook_uses;
use crate::cuda::only;
use crate::fact::Compat;
use crate::fact::CompatLibrary;
use crate::fact::State;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::knowledge::CompatSelection;
use crate::start::Basis;
use crate::start::Replay;
use crate::start::user_mode;

/// The toolkit's part in the search.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    /// The compat directory plays no part.
    Nothing,
    /// Its libraries are mounted beside the host's.
    Mounted,
    /// Its path goes first on the command line of `ldconfig`.
    CommandLine(&'a str),
    /// Its path is written to a file for `ldconfig`.
    Written(&'a str),
    /// Its path is written where its library, from the branch of the host, has a note that names that branch, and nothing
    /// is done where it has none. Which it is was not seen.
    Noted(&'a CompatLibrary),
    /// Cannot be told: what is missing.
    Open(Basis),
}

/// What the toolkit of the host does.
pub(super) fn choice(replay: Replay<'_>) -> Choice<'_> {
    let selection = replay.host.compat_selection;
    // The specification for WSL has no hook, and of two libraries in one directory the file named libcuda.so.1, which
    // is the Windows driver's, stays. On the command line of `ldconfig` the directory goes first there, too.
    let wsl = replay.host.wsl && selection != CompatSelection::Ldconfig;
    if selection == CompatSelection::Off || wsl {
        return Choice::Nothing;
    }
    let compat = match &replay.image.compat.state {
        State::Known(compat) => compat,
        State::Absent { .. } => return Choice::Nothing,
        State::Unknown(_) => return Choice::Open(Basis::Image(replay.image.compat.id)),
    };
    let open = Choice::Open(Basis::Image(replay.image.compat.id));
    if !compat.root_seen && candidates(compat, COMPAT_ROOT).next().is_none() {
        return open;
    }
    let chosen = match selection {
        CompatSelection::Off => Choice::Nothing,
        CompatSelection::Mount => by_cli(replay, compat, CliCompat::Mount),
        CompatSelection::Ldconfig => by_cli(replay, compat, CliCompat::Ldconfig),
        CompatSelection::HookMajors => by_hook(replay, compat, HookRule::Majors),
        CompatSelection::HookNote => by_hook(replay, compat, HookRule::Note),
        CompatSelection::HookCuda => by_hook(replay, compat, HookRule::Cuda),
    };
    // What would not be taken if the link led there is not taken at all.
    if compat.root_seen || matches!(chosen, Choice::Nothing) { chosen } else { open }
}

/// The libraries of the directory that the toolkit looks into.
fn candidates<'a>(compat: &'a Compat, root: &'a str) -> impl Iterator<Item = &'a CompatLibrary> {
    compat.libraries.iter().filter(move |library| library.root == Some(root))
}

/// Whether the toolkit may ask for a note that nobody read, in a library that it may take.
pub(super) fn hangs_on_a_note(replay: Replay<'_>) -> bool {
    let compat = replay.image.compat.known();
    let unread = || compat.is_some_and(|compat| compat.libraries.iter().any(|library| library.unread));
    replay.host.compat_selection == CompatSelection::HookNote && unread()
}

/// Libraries that libnvidia-container mounts beside the host's.
pub(super) fn mounted(replay: Replay<'_>) -> impl Iterator<Item = &CompatLibrary> {
    let compat = replay.image.compat.known();
    compat.into_iter().flat_map(move |compat| kept(replay, compat, CliCompat::Mount))
}

fn kept<'a>(replay: Replay<'a>, compat: &'a Compat, mode: CliCompat) -> impl Iterator<Item = &'a CompatLibrary> {
    let host = replay.host.driver;
    let keeps = move |library: &&CompatLibrary| host.is_some_and(|host| cli_keeps(mode, library.version, host));
    // Links are followed.
    candidates(compat, COMPAT_ROOT).filter(keeps)
}

/// Whether the libraries that go first in the `ldconfig` call lie in several directories: of those the library takes
/// none, and the container is not created.
pub(super) fn scattered(replay: Replay<'_>) -> bool {
    let asked = replay.host.compat_selection == CompatSelection::Ldconfig;
    let follows = replay.host.toolkit.is_none_or(|row| row.follows_absolute_link);
    let Some(compat) = replay.image.compat.known().filter(|compat| asked && (follows || !compat.absolute_link)) else {
        return false;
    };
    let mut directories = kept(replay, compat, CliCompat::Ldconfig).map(|library| library.directories.first());
    let first = directories.next();
    directories.any(|directory| Some(directory) != first)
}

fn by_cli<'a>(replay: Replay<'a>, compat: &'a Compat, mode: CliCompat) -> Choice<'a> {
    let follows = replay.host.toolkit.is_none_or(|row| row.follows_absolute_link);
    if (compat.absolute_link && !follows) || candidates(compat, COMPAT_ROOT).next().is_none() {
        return Choice::Nothing;
    }
    if replay.host.driver.is_none() {
        return Choice::Open(Basis::Pool(PoolField::Driver));
    }
    match kept(replay, compat, mode).next().and_then(|library| library.directories.first()) {
        Some(_) if mode == CliCompat::Mount => Choice::Mounted,
        Some(directory) => Choice::CommandLine(directory),
        None => Choice::Nothing,
    }
}

fn by_hook<'a>(replay: Replay<'a>, compat: &'a Compat, rule: HookRule) -> Choice<'a> {
    let row = replay.host.toolkit;
    let cache = matches!(replay.image.ld_cache.state, State::Absent { .. });
    if cache && row.is_some_and(|row| row.hook_needs_cache) {
        return Choice::Nothing;
    }
    let candidates = candidates(compat, root(replay, rule)).filter(|library| library.regular);
    let Some(library) = only(candidates) else { return Choice::Nothing };
    // Without NVML on the module the specification gets no such hook.
    let nvml = replay.host.driver_cuda.and_then(|cuda| replay.knowledge.jetson_nvml(cuda));
    if rule == HookRule::Cuda && nvml == Some(false) {
        return Choice::Nothing;
    }
    let host = match rule {
        HookRule::Cuda => HookHost { driver: None, cuda: replay.host.driver_cuda },
        HookRule::Majors | HookRule::Note => HookHost { driver: named(replay), cuda: None },
    };
    if host.driver.is_none() && host.cuda.is_none() {
        return Choice::Open(Basis::Pool(PoolField::Driver));
    }
    let mut used = hook_uses(rule, library.version, library.note.as_ref(), host);
    if rule == HookRule::Note && library.unread {
        // With a note its branches decide, and within one branch the version.
        let listed = host.driver.and_then(|driver| user_mode::branch_listed(replay, library, driver).0);
        let newer = host.driver.is_some_and(|driver| library.version > driver);
        if newer && listed != Some(used) {
            let own = host.driver.is_some_and(|driver| library.version.branch() == driver.branch());
            used = match replay.host.takes_compat {
                Some(taken) => taken,
                None if own => return Choice::Noted(library),
                None => return Choice::Open(Basis::Image(replay.image.compat.id)),
            };
        }
    }
    library.directories.first().filter(|_| used).map_or(Choice::Nothing, |directory| Choice::Written(directory))
}

/// The version in the name of the host's libcuda: on some modules it is not that of the driver.
fn named(replay: Replay<'_>) -> Option<DriverVersion> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let own = capability.and_then(|capability| replay.knowledge.module_libcuda(capability));
    own.filter(|_| replay.host.mode == Mode::Csv).or(replay.host.driver)
}

/// The directory that the hook looks into: since it goes by CUDA versions, some modules have their own.
fn root(replay: Replay<'_>, rule: HookRule) -> &'static str {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let own = capability.and_then(|capability| replay.knowledge.compat_root(capability));
    own.filter(|_| replay.host.mode == Mode::Csv && rule == HookRule::Cuda).unwrap_or(COMPAT_ROOT)
}
