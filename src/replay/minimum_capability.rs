//! The lowest compute capability that a component supports, where its GPU code was not read.

use crate::fleet::PoolField;
use crate::model::cause::Cause;
use crate::model::fact::{FactId, MinimumCapability};
use crate::model::outcome::Outcome;
use crate::replay::{Basis, Citation, CudaErrorCodes, Replay, ReplayFailure, StartStep, StepRecord, StepResult};

/// Citation for the lowest supported compute capability.
const SUPPORT_STATEMENT_CITATION: Citation = Citation("the project's statement about supported GPUs");

/// Returns what is known about the lowest compute capability that the component supports.
pub(super) fn minimum_capability_of(replay: Replay<'_>) -> Option<&MinimumCapability> {
    replay.image.minimum_capabilities.iter().find(|floor| floor.component == replay.component.name)
}

/// Returns the code step for a GPU that is, or may be, older than the component supports; `None` for any other.
pub(super) fn minimum_capability_step(replay: Replay<'_>) -> Option<StepRecord> {
    let floor = minimum_capability_of(replay)?;
    let capability = replay.host.gpu.as_ref()?.capability?;
    let lowest = *floor.lowest.known()?;
    let result = if capability < lowest && !floor.is_optional {
        StepResult::Stops(ReplayFailure::new(Outcome::NoKernelImage, CudaErrorCodes::possible(&[209, 100])))
    } else if capability < lowest || floor.sure.is_some_and(|sure| capability < sure) {
        StepResult::Unknown
    } else {
        return None;
    };
    let facts = [Basis::Image(floor.lowest.id), Basis::Pool(PoolField::Gpu)];
    let row = replay.host.gpu.as_ref().and_then(|gpu| gpu.row).map(Basis::Row);
    Some(StepRecord::new(StartStep::Code, result, facts.into_iter().chain(row), SUPPORT_STATEMENT_CITATION))
}

/// Returns the fact and the cause where it is unknown whether the component supports the GPU.
pub(super) fn unknown_support(replay: Replay<'_>) -> Option<(FactId, Cause)> {
    minimum_capability_step(replay).filter(|record| record.result == StepResult::Unknown)?;
    let (floor, gpu) = (minimum_capability_of(replay)?, replay.host.gpu.as_ref()?);
    let (lowest, capability) = (*floor.lowest.known()?, gpu.capability?);
    let (component, gpu) = (replay.component.display_name().to_owned(), gpu.name.clone());
    let cause = if capability < lowest {
        Cause::CallsOnOlderGpu { component, lowest, gpu }
    } else {
        Cause::GpuNotStated { component, capability, gpu }
    };
    Some((floor.lowest.id, cause))
}
