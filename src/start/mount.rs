//! Mounts: driver files whose names the image has taken.

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

const WSL: Cite = Cite("nvidia-container-toolkit issues 289 and 371: file creation failed, file exists");

/// Can everything be mounted? Under WSL the host's libraries have no version in their names, so that a
/// file or link of that name in the image is in the way.
pub(super) fn step(replay: Replay<'_>) -> StepRecord {
    if !replay.host.wsl || replay.host.mode != Mode::Legacy {
        return StepRecord::new(Step::Mounts, StepResult::NotApplicable, [Basis::Pool(PoolField::Wsl)], WSL);
    }
    let libraries = &replay.image.driver_libraries;
    let result = match &libraries.state {
        State::Known(list) if list.iter().any(|library| library.path.ends_with(".so.1")) => {
            StepResult::Stops(Wall::refused(Reason::Mount))
        }
        State::Known(_) | State::Absent { .. } => StepResult::Passes(Route::Native),
        State::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(Step::Mounts, result, [Basis::Image(libraries.id), Basis::Pool(PoolField::Wsl)], WSL)
}
