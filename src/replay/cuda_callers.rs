//! Whether anything in the image calls CUDA, and what a failing step means if nothing is known to.

use crate::cuda::{DeviceRequest, device_request};
use crate::knowledge::RequiredLibrariesRow;
use crate::model::fact::{
    Component, ComponentRole, CudaUsage, Evidence, GpuCode, ImageFacts, PrintedValue, ValueState,
};
use crate::model::outcome::Outcome;
use crate::replay::gpu_request::VISIBLE_DEVICES_VARIABLE;
use crate::replay::granted_capabilities::requests_no_libcuda;
use crate::replay::{Basis, Citation, Replay, StartStep, StepRecord, StepResult, libraries};

/// Citation for whether a build has CUDA.
pub(super) const BUILD_CITATION: Citation = Citation(
    "the CUDA of a build is part of its version, its image or its description; a program built without CUDA needs no driver",
);

/// What is known about the programs that call CUDA through a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CudaCallers {
    /// The component calls CUDA, or something else in the image does.
    Found,
    /// No caller was found, but one may be added: it would use the CUDA runtime or the libcuda of the image.
    Expected,
    /// No caller was found, and nothing indicates that there is one.
    NotFound,
    /// No caller was found, and the image requests no GPU for computing. A launcher may ignore that, as GKE's does.
    NotRequested,
    /// The image certainly contains no caller.
    Absent,
}

impl CudaCallers {
    /// Returns what is known about the callers of CUDA in an image.
    pub(super) fn of(replay: Replay<'_>) -> Self {
        let Component { anonymous, program, ref code, .. } = *replay.component;
        let usage = replay.image.cuda_usage;
        let without_device = requests_no_device(replay.image);
        let excluded = without_device || requests_no_libcuda(replay.image);
        if is_bare_container(replay) {
            return if excluded { Self::NotRequested } else { Self::Expected };
        }
        if !anonymous || program || replay.component.is_without_cuda() {
            return Self::Found;
        }
        match usage {
            CudaUsage::Found => Self::Found,
            CudaUsage::Absent => Self::Absent,
            CudaUsage::UnreadList(_) | CudaUsage::Possible if excluded => Self::NotFound,
            // The program itself needs a device.
            CudaUsage::MonitoringProgram if without_device => Self::NotFound,
            _ if excluded => Self::NotRequested,
            CudaUsage::MonitoringProgram => Self::NotFound,
            CudaUsage::NotFound | CudaUsage::UnreadList(_) | CudaUsage::Possible
                if matches!(code.state, ValueState::Absent { .. }) =>
            {
                Self::NotFound
            }
            _ => Self::Expected,
        }
    }

    /// Returns the result of a failing step if the failure may concern no program; `no_gpu`: it is a missing GPU or
    /// libcuda.
    pub(super) fn result_of_failure(self, step: StartStep, no_gpu: bool) -> Option<StepResult> {
        let concerns_callers = no_gpu || is_driver_step(step);
        match self {
            Self::Expected if no_gpu => Some(StepResult::Unknown),
            Self::NotFound if concerns_callers => Some(StepResult::Unknown),
            Self::NotRequested if is_driver_step(step) => Some(StepResult::Unknown),
            Self::NotRequested | Self::Absent if concerns_callers => Some(StepResult::NotApplicable),
            _ => None,
        }
    }
}

/// Whether the step checks how libcuda and its driver serve a program that calls CUDA.
fn is_driver_step(step: StartStep) -> bool {
    matches!(step, StartStep::Loader | StartStep::UserMode | StartStep::GpuKnown | StartStep::Runtime)
}

/// Whether the image's own variables request no device.
fn requests_no_device(image: &ImageFacts) -> bool {
    image.env.get(VISIBLE_DEVICES_VARIABLE).known().is_some_and(|value| {
        matches!(device_request(Some(value), false), DeviceRequest::Nothing | DeviceRequest::DriverOnly)
    })
}

/// Whether the component is the container itself, which has nothing that is known to call CUDA.
pub(super) fn is_bare_container(replay: Replay<'_>) -> bool {
    replay.component.role == ComponentRole::Container
}

/// Adjusts the result of a step that may concern no program: a build without CUDA needs no driver, and a container in
/// which nothing calls CUDA needs no GPU.
pub(super) fn adjust_for_cuda_callers(replay: Replay<'_>, record: StepRecord) -> StepRecord {
    let no_gpu = matches!(record.result, StepResult::Stops(failure) if failure.outcome() == Outcome::NoGpu);
    let about_driver = matches!(record.step, StartStep::Loader | StartStep::UserMode | StartStep::GpuKnown);
    if replay.component.is_without_cuda() && (about_driver || no_gpu) {
        return StepRecord { result: StepResult::NotApplicable, ..record };
    }
    let failed = matches!(record.result, StepResult::Stops(_));
    if !failed && record.result != StepResult::Unknown {
        return record;
    }
    let callers = CudaCallers::of(replay);
    if (failed || callers == CudaCallers::Absent)
        && let Some(result) = callers.result_of_failure(record.step, no_gpu)
    {
        return match replay.image.cuda_usage {
            CudaUsage::UnreadList(list) if no_gpu && result == StepResult::Unknown => {
                StepRecord::new(record.step, result, [Basis::Image(list)], BUILD_CITATION)
            }
            _ => StepRecord { result, ..record },
        };
    }
    if no_gpu && (may_target_cpu_nodes(replay) || libraries::lacks_image_libraries(replay)) {
        return StepRecord { result: StepResult::NotApplicable, ..record };
    }
    if no_gpu && is_cuda_use_uncertain(replay) {
        let facts = [Basis::Image(replay.component.cuda.id)];
        return StepRecord::new(record.step, StepResult::Unknown, facts, BUILD_CITATION);
    }
    record
}

/// Whether image and component may be meant for nodes without GPUs: its GPU use is optional and uncertain, and an
/// extension is a build without CUDA.
fn may_target_cpu_nodes(replay: Replay<'_>) -> bool {
    let without_cuda = |one: &Component| one.role == ComponentRole::Extension && one.is_without_cuda();
    let mut rows = replay.knowledge.frameworks().iter().filter(|row| row.component == replay.component.name);
    let optional = rows.any(|row| row.optional) && matches!(replay.component.cuda.state, ValueState::Unknown(_));
    optional && replay.image.components.iter().any(without_cuda)
}

/// Whether it is unknown that the component uses CUDA: it exists with and without CUDA, depends on such a component
/// or may be absent, and neither its CUDA version nor its GPU code is known.
pub(super) fn is_cuda_use_uncertain(replay: Replay<'_>) -> bool {
    let Component { name, cuda, code, possible_releases: may_be, .. } = replay.component;
    let nothing_known = cuda.is_unknown() && !code.known().is_some_and(GpuCode::has_code);
    let of_cuda = !may_be.is_empty() && may_be.iter().all(|one| one.cuda.known().is_some());
    let mut rows = replay.knowledge.frameworks().iter().filter(|row| row.component == *name);
    let always =
        rows.any(|row| !row.variants && row.cuda_from.is_none() && !row.optional) && !may_fall_back_without_gpu(replay);
    nothing_known
        && !of_cuda
        && !always
        && !has_cuda_label(replay)
        && !is_cuda_package(replay)
        && !is_bare_container(replay)
}

/// Whether the component is a part of CUDA of any release, by the table row on which its CUDA version rests.
fn is_cuda_package(replay: Replay<'_>) -> bool {
    let Evidence::Derived { row: Some(row), .. } = &replay.image.facts.get(replay.component.cuda.id).evidence else {
        return false;
    };
    replay.knowledge.runtime_packages().iter().any(|one| std::ptr::eq(&raw const one.info, *row))
}

/// Whether the component may run without a GPU if external libraries are missing, as its last known releases do, on a
/// base without CUDA.
fn may_fall_back_without_gpu(replay: Replay<'_>) -> bool {
    let knowledge = replay.knowledge;
    let own = |row: &&RequiredLibrariesRow| {
        knowledge.framework(row.distribution).is_some_and(|framework| framework.component == replay.component.name)
    };
    let rows = || knowledge.required_libraries().iter().filter(own);
    let newer =
        |row: &RequiredLibrariesRow| rows().any(|one| one.distribution == row.distribution && one.from > row.from);
    let mut last = rows().filter(|row| !newer(row)).peekable();
    let bare = matches!(replay.image.base_cuda.state, ValueState::Absent { .. });
    bare && last.peek().is_some() && last.all(|row| row.falls_back)
}

/// Whether the version of what is installed, or its package index, names a CUDA version, even one that no table
/// knows.
pub(super) fn has_cuda_label(replay: Replay<'_>) -> bool {
    let facts = &replay.image.facts;
    let Evidence::Derived { from, .. } = &facts.get(replay.component.cuda.id).evidence else { return false };
    let cuda = |text: &str| text.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    from.iter().any(|id| match &facts.get(*id).state {
        ValueState::Known(PrintedValue::Text(text)) => {
            cuda(text) || text.rsplit_once('+').is_some_and(|(_, local)| cuda(local))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::step_tests::{image_from_description, pool_hosts, step_result_and_text};

    #[test]
    fn only_steps_that_concern_a_caller_are_skipped_for_want_of_one() {
        let image = image_from_description(
            "base = \"nvidia/cuda:12.4.1-base-ubuntu22.04\"\n[env]\nNVIDIA_DRIVER_CAPABILITIES = \"utility\"\n",
        );
        let hosts = pool_hosts("launch = \"enroot\"\n");
        let no_request = "the image requests no GPU for computing, and nothing in it is known to call CUDA";
        for (step, expected) in [
            (StartStep::Capabilities, no_request),
            (StartStep::Loader, no_request),
            (StartStep::Runtime, no_request),
            (StartStep::Mounts, "the image blocks no known mount"),
            (StartStep::OpenedLater, "the image is not known to open a library later"),
        ] {
            for host in &hosts {
                let (result, text) = step_result_and_text(&image, host, step);
                assert_eq!((result.as_str(), text.as_str()), ("n/a", expected), "{step}");
            }
        }
    }
}
