//! Build and runtime: whether there is a CUDA build at all, and whether the driver is new enough for it.

use crate::cuda::CudaVersion;
use crate::fact::State;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const BUILD: Cite = Cite("the build variant of the distribution; a build without CUDA never asks for a GPU");
const MINOR: Cite = Cite("NVIDIA CUDA Compatibility guide, edition 615, Minor Version Compatibility");

/// Is there a CUDA build at all?
pub(super) fn build(replay: Replay<'_>) -> StepRecord {
    let cuda = &replay.component.cuda;
    let result = match &cuda.state {
        State::Known(_) => StepResult::Passes(Route::Native),
        State::Absent { .. } => StepResult::Stops(Wall::new(Outcome::CpuOnly, Codes::NONE)),
        State::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(Step::Build, result, [Basis::Image(cuda.id)], BUILD)
}

/// Is the loaded libcuda new enough for the CUDA runtime?
pub(super) fn step(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let cuda = &replay.component.cuda;
    let image = Basis::Image(cuda.id);
    let driver = match &loaded.source {
        Some(Source::Compat(_)) => Basis::Image(replay.image.compat.id),
        Some(Source::Image(_)) => Basis::Image(replay.image.driver_libraries.id),
        _ => Basis::Pool(PoolField::Driver),
    };
    let record = |result, rows: Vec<Basis>| {
        StepRecord::new(Step::Runtime, result, [image, driver].into_iter().chain(rows), MINOR)
    };
    let runtime = match &cuda.state {
        State::Known(runtime) => *runtime,
        State::Absent { .. } => return record(StepResult::NotApplicable, Vec::new()),
        State::Unknown(_) => return record(StepResult::Unknown, Vec::new()),
    };
    if loaded.source == Some(Source::Nowhere) {
        return record(StepResult::NotApplicable, Vec::new());
    }
    let driver_row = replay.host.driver_row.map(Basis::Row);
    let Some(supported) = loaded.cuda else { return record(StepResult::Unknown, Vec::new()) };
    if supported.release() >= runtime.release() {
        return record(StepResult::Passes(Route::Native), driver_row.into_iter().collect());
    }
    let too_old = StepResult::Stops(Wall::new(Outcome::InsufficientDriver, Codes::certain(35)));
    let Some(floor) = replay.knowledge.minor_compat(runtime.major()) else {
        // Majors without minor version compatibility compare in full; majors newer than the tables cannot be told.
        let result = if known_major(replay, runtime) { too_old } else { StepResult::Unknown };
        return record(result, driver_row.into_iter().collect());
    };
    let rows = vec![Basis::Row(&floor.info)];
    let Some(version) = loaded.version else {
        // Only the CUDA version of the driver is declared: within one major it is above the floor.
        let same = supported.major() == runtime.major();
        return record(if same { StepResult::Passes(Route::MinorVersion) } else { too_old }, rows);
    };
    let result = if version >= floor.min_driver { StepResult::Passes(Route::MinorVersion) } else { too_old };
    record(result, rows)
}

fn known_major(replay: Replay<'_>, runtime: CudaVersion) -> bool {
    runtime.major() <= replay.knowledge.newest_cuda().major()
}
