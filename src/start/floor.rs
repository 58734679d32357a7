//! Code that nobody has read, of which the oldest GPU that it is for is known.

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

const FLOOR: Cite = Cite("the GPU requirements in the release notes of the container");

/// The end of a GPU that is older than the component is for; none where it is not, or nothing is known.
pub(super) fn step(replay: Replay<'_>) -> Option<StepRecord> {
    let component = replay.component;
    let (_, floor) = replay.image.code_floors.iter().find(|(name, _)| *name == component.name)?;
    let capability = replay.host.gpu.as_ref()?.capability?;
    let lowest = floor.known()?;
    if capability >= *lowest {
        return None;
    }
    let wall = Wall::new(Outcome::NoKernelImage, Codes::possible(&[209, 100]));
    let facts = [Basis::Image(floor.id), Basis::Pool(PoolField::Gpu)];
    let row = replay.host.gpu.as_ref().and_then(|gpu| gpu.row).map(Basis::Row);
    Some(StepRecord::new(Step::Code, StepResult::Stops(wall), facts.into_iter().chain(row), FLOOR))
}
