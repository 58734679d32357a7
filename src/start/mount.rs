//! Mounts: files that keep the driver's files and devices from being mounted.

use crate::fact::State;
use crate::fleet::Mode;
use crate::fleet::PoolField;
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

const WSL: Cite = Cite("nvidia-container-toolkit issues 289 and 371: file creation failed, file exists");
const MODESET: Cite = Cite("libnvidia-container src/nvc_mount.c; dstack issue 4006");
const FIRMWARE: Cite = Cite("nvidia-container-toolkit v1.20.0, tests/e2e, firmware-test: mount error, path error");
const PLAIN: Cite = Cite("libnvidia-container src/nvc_mount.c");

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
    if host.wsl {
        let libraries = &replay.image.driver_libraries;
        let facts = [Some(Basis::Image(libraries.id)), Some(Basis::Pool(PoolField::Wsl))];
        let result = match &libraries.state {
            State::Known(list) if list.iter().any(|library| in_the_way(&library.path)) => stops,
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
    if set.has("display") && host.modeset == Some(false) {
        let wanted = crate::start::environment::Env::of(replay).basis("NVIDIA_DRIVER_CAPABILITIES");
        return record(stops, [Some(wanted), Some(Basis::Pool(PoolField::Modeset))], MODESET);
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

/// The file in the place of the firmware directory of the host's driver.
pub(super) fn firmware_path(replay: Replay<'_>) -> Option<&str> {
    let version = replay.host.driver?.to_string();
    let paths = replay.image.firmware.known()?;
    paths.iter().map(String::as_str).find(|path| path.rsplit('/').next() == Some(version.as_str()))
}

/// Under WSL the host's libraries have no version in their names, so that a file or link of that name in the
/// directory of libraries is in the way.
pub(super) fn in_the_way(path: &str) -> bool {
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
mod tests {
    use super::in_the_way;

    #[test]
    fn only_unversioned_names_where_the_hosts_go_are_in_the_way() {
        for (path, expected) in [
            ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", true),
            ("/usr/lib64/libcuda.so.1", true),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03", false),
            ("/opt/driver/libcuda.so.1", false),
            ("/usr/lib/x86_64-linux-gnu/libcuda.so", false),
            ("libnvidia-compute-535", false),
        ] {
            assert_eq!(in_the_way(path), expected, "{path}");
        }
    }
}
