//! Code that nobody has read, of which the oldest GPU that it is for is known.

use crate::fact::CodeFloor;
use crate::fact::FactId;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Replay;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const FLOOR: Cite = Cite("the project's statement about supported GPUs");

/// What is known of the GPUs that the component is for.
pub(super) fn of(replay: Replay<'_>) -> Option<&CodeFloor> {
    replay.image.code_floors.iter().find(|floor| floor.component == replay.component.name)
}

/// The end of a GPU that is older than the component is for, or may be; none where it is not, or nothing is known.
pub(super) fn step(replay: Replay<'_>) -> Option<StepRecord> {
    let floor = of(replay)?;
    let capability = replay.host.gpu.as_ref()?.capability?;
    let lowest = *floor.lowest.known()?;
    let result = if capability < lowest && !floor.called {
        StepResult::Stops(Wall::new(Outcome::NoKernelImage, Codes::possible(&[209, 100])))
    } else if capability < lowest || floor.sure.is_some_and(|sure| capability < sure) {
        StepResult::Unknown
    } else {
        return None;
    };
    let facts = [Basis::Image(floor.lowest.id), Basis::Pool(PoolField::Gpu)];
    let row = replay.host.gpu.as_ref().and_then(|gpu| gpu.row).map(Basis::Row);
    Some(StepRecord::new(Step::Code, result, facts.into_iter().chain(row), FLOOR))
}

/// Why it is not known whether a GPU is older than the component is for, and what would tell it.
pub(super) fn open(replay: Replay<'_>) -> Option<(FactId, String, &'static str)> {
    step(replay).filter(|record| record.result == StepResult::Unknown)?;
    let (floor, gpu, name) = (of(replay)?, replay.host.gpu.as_ref()?, replay.component.called());
    let (lowest, capability) = (floor.lowest.known()?, gpu.capability?);
    let told = if capability < *lowest {
        let reason = format!(
            "{name} supports compute capability {lowest} and newer, so calls to it on {} fail; whether the program makes them is unknown",
            gpu.name
        );
        (reason, "remove it from the image for these nodes, or test it there")
    } else {
        let reason = format!(
            "no source states whether {name} supports GPUs with compute capability {capability}, such as {}",
            gpu.name
        );
        (reason, "list [[gpu_code]] in an image description, or run `imagelint scan` on the image")
    };
    Some((floor.lowest.id, told.0, told.1))
}
