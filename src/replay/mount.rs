//! Mount step: files of the image that keep the driver's files and devices from being mounted.

use crate::cuda::DriverCapabilities;
use crate::fleet::{DeviceSource, Mode, PoolField};
use crate::knowledge::ToolkitChange;
use crate::model::fact::{DriverLibrary, ValueState};
use crate::replay::granted_capabilities::{GrantedCapabilities, includes_libraries};
use crate::replay::{
    Basis, Citation, RefusalReason, Replay, ReplayFailure, StartRoute, StartStep, StepRecord, StepResult, loader,
};

/// Citation for mounts under WSL.
const WSL_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/utils.c, file_create: a link is an error; nvidia-container-toolkit issues 289 and 371",
);
/// Citation for the mount of `/dev/nvidia-modeset`.
const MODESET_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/nvc_info.c, lookup_devices, and its pull request 388; enroot issue 15; dstack issue 4006",
);
/// Citation for the mount of the firmware directory.
const FIRMWARE_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/utils.c, do_path_resolve; nvidia-container-toolkit v1.20.0, tests/e2e/nvidia-container-toolkit_test.go: mount error, path error",
);
/// Citation for compat libraries in several directories.
const SCATTERED_COMPAT_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/cli/compat_mode.c, get_compat_library_path: libraries of one directory or none",
);
/// Citation for all other mounts.
const MOUNT_CITATION: Citation = Citation("libnvidia-container v1.20.0 (3e42819), src/nvc_mount.c");

/// Replays the mount step: whether every file and device of the driver can be mounted.
pub(super) fn mount_step(replay: Replay<'_>) -> StepRecord {
    let record = |result, facts: [Option<Basis>; 2], cite| {
        StepRecord::new(StartStep::Mounts, result, facts.into_iter().flatten(), cite)
    };
    let host = replay.host;
    let GrantedCapabilities::Set(set) = replay.granted_capabilities() else {
        let why = if host.mode == Mode::Legacy { PoolField::Launch } else { PoolField::Mode };
        return record(StepResult::NotApplicable, [Some(Basis::Pool(why)), None], MOUNT_CITATION);
    };
    let stops = StepResult::Stops(ReplayFailure::refused(RefusalReason::Mount));
    if includes_libraries(set, "compute") && loader::has_scattered_compat_libraries(replay) {
        let facts = [Some(Basis::Image(replay.image.compat.id)), Some(Basis::Pool(PoolField::Driver))];
        return record(stops, facts, SCATTERED_COMPAT_CITATION);
    }
    if host.wsl {
        let libraries = &replay.image.driver_libraries;
        let facts = [Some(Basis::Image(libraries.id)), Some(Basis::Pool(PoolField::Wsl))];
        let result = match &libraries.state {
            ValueState::Known(list) if list.iter().any(|library| blocks_wsl_mount(library, set)) => stops,
            ValueState::Known(_) | ValueState::Absent { .. } => StepResult::Passes(StartRoute::Native),
            ValueState::Unknown(_) => StepResult::Unknown,
        };
        return record(result, facts, WSL_CITATION);
    }
    if let Some(result) = firmware_result(replay) {
        let facts = [Some(Basis::Image(replay.image.firmware.id)), Some(Basis::Pool(PoolField::Driver))];
        return record(result, facts, FIRMWARE_CITATION);
    }
    // Most nodes have the device, even without a display: it is missing only if the pool declares so.
    let needed = set.contains("display") && !host.behaviour.changes.contains(ToolkitChange::ModesetOptional);
    let capabilities_basis = replay.environment().basis("NVIDIA_DRIVER_CAPABILITIES");
    if needed && host.modeset == Some(false) {
        return record(stops, [Some(capabilities_basis), Some(Basis::Pool(PoolField::Modeset))], MODESET_CITATION);
    }
    // The library makes the device itself where it may load the modules of the kernel.
    let makes_it = host.options.loads_modules && host.devices != DeviceSource::Enroot;
    if needed && host.modeset.is_none() && !makes_it {
        return record(
            StepResult::NotSeen,
            [Some(capabilities_basis), Some(Basis::Pool(PoolField::Modeset))],
            MODESET_CITATION,
        );
    }
    record(StepResult::NotApplicable, [Some(Basis::Pool(PoolField::Wsl)), None], MOUNT_CITATION)
}

/// Returns the result for a file or link at the path of the driver's firmware directory; `None` if there is neither.
fn firmware_result(replay: Replay<'_>) -> Option<StepResult> {
    match &replay.image.firmware.state {
        ValueState::Absent { .. } => None,
        ValueState::Unknown(_) => Some(StepResult::Unknown),
        ValueState::Known(_) if replay.host.driver.is_none() => Some(StepResult::Unknown),
        ValueState::Known(_) => {
            blocking_firmware_path(replay).map(|_| StepResult::Stops(ReplayFailure::refused(RefusalReason::Mount)))
        }
    }
}

/// Separator between a link that points out of the container and its target.
pub(super) const LINK_ARROW: &str = " -> ";

/// Returns the file, or the link out of the container, at the path of the firmware directory of the host's driver.
pub(super) fn blocking_firmware_path(replay: Replay<'_>) -> Option<&str> {
    let version = replay.host.driver?.to_string();
    let paths = replay.image.firmware.known()?;
    let name = |path: &str| path.split(LINK_ARROW).next().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    paths.iter().map(String::as_str).find(|path| name(path).as_deref() == Some(version.as_str()))
}

/// Whether a library of the image blocks the mount of a WSL host's library. The host's libraries have no version in
/// their names, so a link of the same name is an error, while a file is mounted over; driver packages contain such
/// links. Libraries that no capability requests are not mounted.
pub(super) fn blocks_wsl_mount(library: &DriverLibrary, set: DriverCapabilities) -> bool {
    let (compute, utility) = (includes_libraries(set, "compute"), includes_libraries(set, "utility"));
    if library.is_package() {
        return library.link && (utility || (compute && library.libcuda));
    }
    let is_requested = if library.libcuda { compute } else { utility };
    is_requested && is_link_at_wsl_library_path(library)
}

/// Whether a link in the image has the path at which a library of a WSL host is mounted.
pub fn is_link_at_wsl_library_path(library: &DriverLibrary) -> bool {
    !library.is_package() && library.link && is_wsl_library_path(&library.path)
}

/// Whether a path is one at which a library of a WSL host is mounted.
fn is_wsl_library_path(path: &str) -> bool {
    const DIRECTORIES: &[&str] = &[
        "/usr/lib/x86_64-linux-gnu/",
        "/usr/lib/aarch64-linux-gnu/",
        "/usr/lib64/",
        "/lib/x86_64-linux-gnu/",
        "/lib/aarch64-linux-gnu/",
        "/lib64/",
    ];
    DIRECTORIES.iter().any(|directory| path.strip_prefix(directory).is_some_and(|name| name.ends_with(".so.1")))
}

#[cfg(test)]
#[path = "mount_tests.rs"]
mod step_by_step;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_of_requested_libraries_block_a_mount() {
        let ml = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
        let libcuda = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
        for (path, link, capabilities, expected) in [
            (ml, true, "compute,utility", true),
            (ml, true, "utility", true),
            (ml, true, "compute", false),
            (ml, false, "compute,utility", false),
            (libcuda, true, "compute", true),
            (libcuda, true, "video", true),
            (libcuda, true, "utility", false),
            (libcuda, true, "graphics,display", false),
            (libcuda, false, "compute", false),
            ("/opt/driver/libcuda.so.1", true, "compute", false),
            ("/usr/lib64/libcuda.so.535.54.03", true, "compute", false),
            ("libnvidia-compute-535", true, "compute", true),
            ("libnvidia-compute-535", true, "utility", true),
            ("libnvidia-ml1", true, "utility", true),
            ("libnvidia-ml1", true, "compute", false),
            ("libnvidia-compute-535", true, "graphics", false),
            ("libnvidia-gl-535", false, "compute,utility,graphics", false),
        ] {
            let directories = if path.starts_with('/') { vec!["/usr/lib".to_owned()] } else { Vec::new() };
            let libcuda = path.contains("libcuda") || path.contains("compute");
            let library =
                DriverLibrary { path: path.to_owned(), directories, version: None, libcuda, stub: false, link };
            let set = DriverCapabilities::parse(capabilities).expect("known words");
            assert_eq!(blocks_wsl_mount(&library, set), expected, "{path} {capabilities} {link}");
        }
    }

    #[test]
    fn only_unversioned_names_in_library_directories_are_mount_paths() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", true),
            ("/usr/lib64/libcuda.so.1", true),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03", false),
            ("/opt/driver/libcuda.so.1", false),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so", false),
            ("libnvidia-compute-535", false),
        ] {
            assert_eq!(is_wsl_library_path(path), expected, "{path}");
        }
    }
}
