//! Mounts: files that keep the driver's files and devices from being mounted.

use crate::cuda::Capabilities;
use crate::fact::DriverLibrary;
use crate::fact::State;
use crate::fleet::DeviceSource;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::knowledge::ToolkitChange;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::device::Given;
use crate::start::device::given;
use crate::start::environment::Env;
use crate::start::libraries::brings;
use crate::start::loader;

const WSL: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/utils.c, file_create: a link is an error; nvidia-container-toolkit issues 289 and 371",
);
const MODESET: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/nvc_info.c, lookup_devices, and its pull request 388; enroot issue 15; dstack issue 4006",
);
const FIRMWARE: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/utils.c, do_path_resolve; nvidia-container-toolkit v1.20.0, tests/e2e/nvidia-container-toolkit_test.go: mount error, path error",
);
const SCATTERED: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/cli/compat_mode.c, get_compat_library_path: libraries of one directory or none",
);
const PLAIN: Cite = Cite("libnvidia-container v1.20.0 (3e42819), src/nvc_mount.c");

/// Can everything be mounted?
pub(super) fn step(replay: Replay<'_>) -> StepRecord {
    let record = |result, facts: [Option<Basis>; 2], cite| {
        StepRecord::new(Step::Mounts, result, facts.into_iter().flatten(), cite)
    };
    let host = replay.host;
    let Given::Set(set) = given(replay) else {
        let why = if host.mode == Mode::Legacy { PoolField::Launch } else { PoolField::Mode };
        return record(StepResult::NotApplicable, [Some(Basis::Pool(why)), None], PLAIN);
    };
    let stops = StepResult::Stops(Wall::refused(Reason::Mount));
    if brings(set, "compute") && loader::scattered(replay) {
        let facts = [Some(Basis::Image(replay.image.compat.id)), Some(Basis::Pool(PoolField::Driver))];
        return record(stops, facts, SCATTERED);
    }
    if host.wsl {
        let libraries = &replay.image.driver_libraries;
        let facts = [Some(Basis::Image(libraries.id)), Some(Basis::Pool(PoolField::Wsl))];
        let result = match &libraries.state {
            State::Known(list) if list.iter().any(|library| in_the_way(library, set)) => stops,
            State::Known(_) | State::Absent { .. } => StepResult::Passes(Route::Native),
            State::Unknown(_) => StepResult::Unknown,
        };
        return record(result, facts, WSL);
    }
    if let Some(result) = firmware(replay) {
        let facts = [Some(Basis::Image(replay.image.firmware.id)), Some(Basis::Pool(PoolField::Driver))];
        return record(result, facts, FIRMWARE);
    }
    // Most nodes have the device, also those without a display: only who says that it is missing is believed.
    let needed = set.has("display") && !host.behaviour.changes.has(ToolkitChange::ModesetOptional);
    let wanted = Env::of(replay).basis("NVIDIA_DRIVER_CAPABILITIES");
    if needed && host.modeset == Some(false) {
        return record(stops, [Some(wanted), Some(Basis::Pool(PoolField::Modeset))], MODESET);
    }
    // The library makes the device itself where it may load the modules of the kernel.
    let makes_it = host.options.loads_modules && host.devices != DeviceSource::Enroot;
    if needed && host.modeset.is_none() && !makes_it {
        return record(StepResult::NotSeen, [Some(wanted), Some(Basis::Pool(PoolField::Modeset))], MODESET);
    }
    record(StepResult::NotApplicable, [Some(Basis::Pool(PoolField::Wsl)), None], PLAIN)
}

/// What comes of a file or link where the firmware directory of the host's driver goes; none where there is neither.
fn firmware(replay: Replay<'_>) -> Option<StepResult> {
    match &replay.image.firmware.state {
        State::Absent { .. } => None,
        State::Unknown(_) => Some(StepResult::Unknown),
        State::Known(_) if replay.host.driver.is_none() => Some(StepResult::Unknown),
        State::Known(_) => firmware_path(replay).map(|_| StepResult::Stops(Wall::refused(Reason::Mount))),
    }
}

/// Between a link that leads out of the container and where it leads.
pub(super) const LEADS_TO: &str = " -> ";

/// The file, or the link out of the container, in the place of the firmware directory of the host's driver.
pub(super) fn firmware_path(replay: Replay<'_>) -> Option<&str> {
    let version = replay.host.driver?.to_string();
    let paths = replay.image.firmware.known()?;
    let name = |path: &str| path.split(LEADS_TO).next().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    paths.iter().map(String::as_str).find(|path| name(path).as_deref() == Some(version.as_str()))
}

/// Under WSL the host's libraries have no version in their names, so that a link of that name in the directory of
/// libraries is in the way; a file is mounted over. A driver's package ships such links. What no capability asks
/// for is not mounted.
pub(super) fn in_the_way(library: &DriverLibrary, set: Capabilities) -> bool {
    let (compute, utility) = (brings(set, "compute"), brings(set, "utility"));
    if library.packaged() {
        return library.link && (utility || (compute && library.libcuda));
    }
    let asked = if library.libcuda { compute } else { utility };
    asked && is_in_a_hosts_place(library)
}

/// Whether a link in the image stands where a library of a WSL host is mounted.
pub fn is_in_a_hosts_place(library: &DriverLibrary) -> bool {
    !library.packaged() && library.link && has_a_hosts_name(&library.path)
}

/// Whether a path is one under which a library of a WSL host is mounted.
fn has_a_hosts_name(path: &str) -> bool {
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
    fn only_links_that_are_asked_for_and_packages_are_in_the_way() {
        let ml = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
        let libcuda = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
        for (path, link, asked, expected) in [
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
            let set = Capabilities::read(asked).expect("known words");
            assert_eq!(in_the_way(&library, set), expected, "{path} {asked} {link}");
        }
    }

    #[test]
    fn only_unversioned_names_where_the_hosts_go_are_the_hosts() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", true),
            ("/usr/lib64/libcuda.so.1", true),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03", false),
            ("/opt/driver/libcuda.so.1", false),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so", false),
            ("libnvidia-compute-535", false),
        ] {
            assert_eq!(has_a_hosts_name(path), expected, "{path}");
        }
    }
}
