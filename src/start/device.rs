//! Devices and capabilities: whether a GPU and the driver's compute libraries are put into the container.

use std::collections::BTreeMap;

use crate::cuda::SUPPORTED_CAPABILITIES;
use crate::cuda::VisibleDevices;
use crate::cuda::driver_capabilities;
use crate::cuda::is_legacy_image;
use crate::cuda::visible_devices;
use crate::fleet::Launch;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;

const DEVICES: Cite =
    Cite("nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go; moby daemon/nvidia_linux.go");
const CAPABILITIES: Cite = Cite("nvidia-container-toolkit v1.20.0, internal/config/image/capabilities.go");

const VISIBLE: &str = "NVIDIA_VISIBLE_DEVICES";
const WANTED: &str = "NVIDIA_DRIVER_CAPABILITIES";

/// The environment in which the container starts: the image's, with the pool's over it.
pub(super) fn environment(replay: Replay<'_>) -> BTreeMap<String, String> {
    let image = replay.image.env.set.iter();
    let mut env: BTreeMap<String, String> =
        image.filter_map(|(name, fact)| Some((name.clone(), fact.known()?.clone()))).collect();
    env.extend(replay.host.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    env
}

/// A variable of which the value cannot be told, if the pool does not set it.
pub(super) fn unknown_variable(replay: Replay<'_>, name: &str) -> Option<Basis> {
    let fact = replay.image.env.get(name);
    (fact.is_unknown() && !replay.host.env.contains_key(name)).then_some(Basis::Image(fact.id))
}

/// Are GPUs put into the container?
pub(super) fn devices(replay: Replay<'_>) -> StepRecord {
    let record = |result, facts: Vec<Basis>| StepRecord::new(Step::Devices, result, facts, DEVICES);
    let launch = Basis::Pool(PoolField::Launch);
    // The one who starts the container says which GPUs it gets.
    let by_image = matches!(replay.host.launch, Launch::NvidiaRuntime | Launch::Enroot);
    let hook_in_csv = replay.host.launch == Launch::DockerGpus && replay.host.mode == Mode::Csv;
    if hook_in_csv {
        return record(StepResult::Stops(Wall::refused(Reason::Hook)), vec![launch, Basis::Pool(PoolField::Mode)]);
    }
    if !by_image {
        return record(StepResult::Passes(Route::Native), vec![launch]);
    }
    let variable = replay.image.env.get(VISIBLE);
    let mut facts = vec![Basis::Image(variable.id), launch];
    if let Some(missing) = unknown_variable(replay, VISIBLE) {
        return record(StepResult::Unknown, vec![missing, launch]);
    }
    let env = environment(replay);
    let value = env.get(VISIBLE).map(String::as_str);
    if value.is_none()
        && let Some(missing) = unknown_variable(replay, "CUDA_VERSION")
    {
        return record(StepResult::Unknown, vec![missing, launch]);
    }
    let legacy = is_legacy_image(&env);
    if value.is_none() && legacy {
        facts.push(Basis::Image(replay.image.env.get("CUDA_VERSION").id));
    }
    if replay.host.env.contains_key(VISIBLE) {
        facts.push(Basis::Pool(PoolField::Env));
    }
    let result = match visible_devices(value, legacy) {
        // No driver library is put in either.
        VisibleDevices::Nothing => StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(35))),
        VisibleDevices::DriverOnly => StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(100))),
        // Indexes and CDI names exist on any GPU node; a UUID names one GPU in the world.
        VisibleDevices::Listed(names)
            if names.iter().any(|name| name.starts_with("GPU-") || name.starts_with("MIG-")) =>
        {
            StepResult::Unknown
        }
        VisibleDevices::All | VisibleDevices::Listed(_) => StepResult::Passes(Route::Native),
    };
    record(result, facts)
}

/// Are the driver's compute libraries put into the container? Only legacy mode asks the variable.
pub(super) fn capabilities(replay: Replay<'_>) -> StepRecord {
    let record = |result, facts: Vec<Basis>| StepRecord::new(Step::Capabilities, result, facts, CAPABILITIES);
    let mode = Basis::Pool(PoolField::Mode);
    if replay.host.mode != Mode::Legacy {
        return record(StepResult::NotApplicable, vec![mode]);
    }
    if let Some(missing) = unknown_variable(replay, WANTED) {
        return record(StepResult::Unknown, vec![missing]);
    }
    let env = environment(replay);
    let facts = vec![Basis::Image(replay.image.env.get(WANTED).id), Basis::Pool(PoolField::Toolkit)];
    let value = env.get(WANTED).map(String::as_str);
    let result = match driver_capabilities(value, is_legacy_image(&env), SUPPORTED_CAPABILITIES) {
        Err(_) => StepResult::Stops(Wall::refused(Reason::Capability)),
        Ok(given) if given.contains("compute") => StepResult::Passes(Route::Native),
        // Without the compute capability libcuda stays outside.
        Ok(_) => StepResult::Stops(Wall::new(Outcome::NoGpu, Codes::certain(35))),
    };
    record(result, facts)
}
