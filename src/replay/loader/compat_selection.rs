//! What the container toolkit does with the compat directory of an image.

use crate::cuda::{
    COMPAT_ROOT, CompatHookHost, CompatHookRule, CudaCompatMode, DriverVersion, cli_uses_compat_library, exactly_one,
    hook_uses_compat_library,
};
use crate::fleet::{Mode, PoolField};
use crate::knowledge::CompatSelection;
use crate::model::fact::{CompatDirectory, CompatLibrary, ValueState};
use crate::replay::{Basis, Replay, user_mode};

/// How the container toolkit uses the compat directory.
#[derive(Clone, Copy, Debug)]
pub(super) enum CompatDirectoryUse<'a> {
    /// The compat directory is not used.
    Nothing,
    /// Its libraries are mounted into the directory of the host's libraries.
    Mounted,
    /// Its path is the first on the command line of `ldconfig`.
    CommandLine(&'a str),
    /// Its path is written to a configuration file for `ldconfig`.
    Written(&'a str),
    /// Its path is written if its library, from the host's driver branch, has a note that names that branch;
    /// otherwise nothing is done. The note was not read.
    Noted(&'a CompatLibrary),
    /// Unknown; the basis is what is missing to decide.
    Open(Basis),
}

/// Returns how the container toolkit of the host uses the compat directory of the image.
pub(super) fn compat_directory_use(replay: Replay<'_>) -> CompatDirectoryUse<'_> {
    let selection = replay.host.compat_selection;
    // The specification for WSL has no hook, and of two libraries in one directory the file named libcuda.so.1, which
    // is the Windows driver's, stays. On the command line of `ldconfig` the directory comes first there, too.
    let wsl = replay.host.wsl && selection != CompatSelection::Ldconfig;
    if selection == CompatSelection::Off || wsl {
        return CompatDirectoryUse::Nothing;
    }
    let compat = match &replay.image.compat.state {
        ValueState::Known(compat) => compat,
        ValueState::Absent { .. } => return CompatDirectoryUse::Nothing,
        ValueState::Unknown(_) => return CompatDirectoryUse::Open(Basis::Image(replay.image.compat.id)),
    };
    let open = CompatDirectoryUse::Open(Basis::Image(replay.image.compat.id));
    if !compat.root_seen && compat_libraries_below(compat, COMPAT_ROOT).next().is_none() {
        return open;
    }
    let chosen = match selection {
        CompatSelection::Off => CompatDirectoryUse::Nothing,
        CompatSelection::Mount => compat_use_by_cli(replay, compat, CudaCompatMode::Mount),
        CompatSelection::Ldconfig => compat_use_by_cli(replay, compat, CudaCompatMode::Ldconfig),
        CompatSelection::HookMajors => compat_use_by_hook(replay, compat, CompatHookRule::Majors),
        CompatSelection::HookNote => compat_use_by_hook(replay, compat, CompatHookRule::Note),
        CompatSelection::HookCuda => compat_use_by_hook(replay, compat, CompatHookRule::Cuda),
    };
    // What would not be taken if the link led there is not taken at all.
    if compat.root_seen || matches!(chosen, CompatDirectoryUse::Nothing) { chosen } else { open }
}

/// Iterates over the compat libraries below the directory that the toolkit searches.
fn compat_libraries_below<'a>(compat: &'a CompatDirectory, root: &'a str) -> impl Iterator<Item = &'a CompatLibrary> {
    compat.libraries.iter().filter(move |library| library.root == Some(root))
}

/// Whether the toolkit may read a note that was not inspected, in a compat library that it may use.
pub(in crate::replay) fn depends_on_unread_note(replay: Replay<'_>) -> bool {
    let compat = replay.image.compat.known();
    let unread = || compat.is_some_and(|compat| compat.libraries.iter().any(|library| library.unread));
    replay.host.compat_selection == CompatSelection::HookNote && unread()
}

/// Iterates over the compat libraries that libnvidia-container mounts into the directory of the host's libraries.
pub(super) fn mounted_compat_libraries(replay: Replay<'_>) -> impl Iterator<Item = &CompatLibrary> {
    let compat = replay.image.compat.known();
    compat.into_iter().flat_map(move |compat| libraries_accepted_by_cli(replay, compat, CudaCompatMode::Mount))
}

/// Iterates over the compat libraries that `nvidia-container-cli` accepts for the host's driver in a mode.
fn libraries_accepted_by_cli<'a>(
    replay: Replay<'a>,
    compat: &'a CompatDirectory,
    mode: CudaCompatMode,
) -> impl Iterator<Item = &'a CompatLibrary> {
    let host = replay.host.driver;
    let keeps =
        move |library: &&CompatLibrary| host.is_some_and(|host| cli_uses_compat_library(mode, library.version, host));
    // Links are followed.
    compat_libraries_below(compat, COMPAT_ROOT).filter(keeps)
}

/// Whether the compat libraries that come first in the `ldconfig` call are in several directories: then
/// libnvidia-container takes none, and the container is not created.
pub(in crate::replay) fn has_scattered_compat_libraries(replay: Replay<'_>) -> bool {
    let uses_ldconfig = replay.host.compat_selection == CompatSelection::Ldconfig;
    let follows = replay.host.toolkit.is_none_or(|row| row.follows_absolute_link);
    let Some(compat) = replay.image.compat.known().filter(|compat| uses_ldconfig && (follows || !compat.absolute_link))
    else {
        return false;
    };
    let mut directories =
        libraries_accepted_by_cli(replay, compat, CudaCompatMode::Ldconfig).map(|library| library.directories.first());
    let first = directories.next();
    directories.any(|directory| Some(directory) != first)
}

/// Returns how `nvidia-container-cli` uses the compat directory.
fn compat_use_by_cli<'a>(
    replay: Replay<'a>,
    compat: &'a CompatDirectory,
    mode: CudaCompatMode,
) -> CompatDirectoryUse<'a> {
    let follows = replay.host.toolkit.is_none_or(|row| row.follows_absolute_link);
    if (compat.absolute_link && !follows) || compat_libraries_below(compat, COMPAT_ROOT).next().is_none() {
        return CompatDirectoryUse::Nothing;
    }
    if replay.host.driver.is_none() {
        return CompatDirectoryUse::Open(Basis::Pool(PoolField::Driver));
    }
    match libraries_accepted_by_cli(replay, compat, mode).next().and_then(|library| library.directories.first()) {
        Some(_) if mode == CudaCompatMode::Mount => CompatDirectoryUse::Mounted,
        Some(directory) => CompatDirectoryUse::CommandLine(directory),
        None => CompatDirectoryUse::Nothing,
    }
}

/// Returns how the CUDA compat hook of the toolkit uses the compat directory.
fn compat_use_by_hook<'a>(
    replay: Replay<'a>,
    compat: &'a CompatDirectory,
    rule: CompatHookRule,
) -> CompatDirectoryUse<'a> {
    let row = replay.host.toolkit;
    let cache = matches!(replay.image.ld_cache.state, ValueState::Absent { .. });
    if cache && row.is_some_and(|row| row.hook_needs_cache) {
        return CompatDirectoryUse::Nothing;
    }
    let candidates =
        compat_libraries_below(compat, hook_compat_directory(replay, rule)).filter(|library| library.regular);
    let Some(library) = exactly_one(candidates) else { return CompatDirectoryUse::Nothing };
    // Without NVML on the module the specification gets no such hook.
    let nvml = replay.host.driver_cuda.and_then(|cuda| replay.knowledge.jetson_has_nvml(cuda));
    if rule == CompatHookRule::Cuda && nvml == Some(false) {
        return CompatDirectoryUse::Nothing;
    }
    let host = match rule {
        CompatHookRule::Cuda => CompatHookHost { driver: None, cuda: replay.host.driver_cuda },
        CompatHookRule::Majors | CompatHookRule::Note => {
            CompatHookHost { driver: host_libcuda_version(replay), cuda: None }
        }
    };
    if host.driver.is_none() && host.cuda.is_none() {
        return CompatDirectoryUse::Open(Basis::Pool(PoolField::Driver));
    }
    let mut used = hook_uses_compat_library(rule, library.version, library.note.as_ref(), host);
    if rule == CompatHookRule::Note && library.unread {
        // With a note its branches decide, and within one branch the version.
        let listed = host.driver.and_then(|driver| user_mode::is_branch_listed(replay, library, driver).0);
        let newer = host.driver.is_some_and(|driver| library.version > driver);
        if newer && listed != Some(used) {
            let own = host.driver.is_some_and(|driver| library.version.branch() == driver.branch());
            used = match replay.host.takes_compat {
                Some(takes_compat) => takes_compat,
                None if own => return CompatDirectoryUse::Noted(library),
                None => return CompatDirectoryUse::Open(Basis::Image(replay.image.compat.id)),
            };
        }
    }
    library
        .directories
        .first()
        .filter(|_| used)
        .map_or(CompatDirectoryUse::Nothing, |directory| CompatDirectoryUse::Written(directory))
}

/// Returns the version in the name of the host's libcuda; on some Jetson modules it differs from the driver's
/// version.
fn host_libcuda_version(replay: Replay<'_>) -> Option<DriverVersion> {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let own = capability.and_then(|capability| replay.knowledge.tegra_libcuda(capability));
    own.filter(|_| replay.host.mode == Mode::Csv).or(replay.host.driver)
}

/// Returns the directory that the hook searches; for the rule by CUDA versions, some Jetson modules have a separate
/// one.
fn hook_compat_directory(replay: Replay<'_>, rule: CompatHookRule) -> &'static str {
    let capability = replay.host.gpu.as_ref().and_then(|gpu| gpu.capability);
    let own = capability.and_then(|capability| replay.knowledge.tegra_compat_root(capability));
    own.filter(|_| replay.host.mode == Mode::Csv && rule == CompatHookRule::Cuda).unwrap_or(COMPAT_ROOT)
}
