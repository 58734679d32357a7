//! Requirement: whether the host meets every `NVIDIA_REQUIRE_*`, where the mode asks at all.

use crate::cuda::HostValue;
use crate::cuda::RequirementHost;
use crate::cuda::ToolkitVersion;
use crate::cuda::Verdict as RequirementVerdict;
use crate::cuda::evaluate_all_go;
use crate::cuda::evaluate_c;
use crate::cuda::image_requirements;
use crate::cuda::is_legacy_image;
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
use crate::start::device;

const LEGACY: Cite =
    Cite("libnvidia-container src/cli/dsl.c; nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go");
const CSV: Cite = Cite("nvidia-container-toolkit v1.20.0, internal/requirements and internal/modifier/csv.go");
const IGNORED: Cite = Cite(
    "nvidia-container-toolkit v1.20.0: checkRequirements is called from internal/modifier/csv.go alone (issue 1470)",
);

/// What the check of one environment on one host comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing is checked in this mode, or the check is off.
    Off,
    /// All hold.
    Holds,
    /// One does not; with the message that the user reads.
    Refused(String),
    /// One cannot be read; with the message.
    Malformed(String),
    /// Depends on what is not known of the host.
    Undetermined,
}

/// Does the host meet the requirements?
pub(super) fn step(replay: Replay<'_>) -> StepRecord {
    let cite = match replay.host.mode {
        Mode::Legacy => LEGACY,
        Mode::Csv => CSV,
        Mode::JitCdi | Mode::Cdi | Mode::None => IGNORED,
    };
    let record = |result, facts: Vec<Basis>| StepRecord::new(Step::Requirement, result, facts, cite);
    if !matches!(replay.host.mode, Mode::Legacy | Mode::Csv) {
        return record(StepResult::NotApplicable, vec![Basis::Pool(PoolField::Mode)]);
    }
    if replay.host.disable_require {
        return record(StepResult::NotApplicable, vec![Basis::Pool(PoolField::Host)]);
    }
    let switched_off = replay.host.env.get("NVIDIA_DISABLE_REQUIRE").and_then(|value| crate::cuda::go_bool(value));
    if switched_off == Some(true) {
        return record(StepResult::NotApplicable, vec![Basis::Pool(PoolField::Env)]);
    }
    let unknown = replay.image.env.set.iter().find(|(name, fact)| fact.is_unknown() && concerns(name));
    if let Some(missing) = unknown.map(|(_, fact)| Basis::Image(fact.id)) {
        return record(StepResult::Unknown, vec![missing]);
    }
    if replay.image.env.others.is_unknown() {
        return record(StepResult::Unknown, vec![Basis::Image(replay.image.env.others.id)]);
    }
    let mut facts = facts(replay);
    let result = match check(replay) {
        Check::Off => StepResult::NotApplicable,
        Check::Holds => StepResult::Passes(Route::Native),
        Check::Refused(_) => StepResult::Stops(Wall::refused(Reason::Requirement)),
        Check::Malformed(_) => {
            // The text alone is at fault, whatever the host.
            facts.retain(|basis| matches!(basis, Basis::Image(_)));
            StepResult::Stops(Wall::refused(Reason::MalformedRequirement))
        }
        Check::Undetermined => StepResult::Unknown,
    };
    record(result, facts)
}

fn concerns(name: &str) -> bool {
    name.starts_with("NVIDIA_REQUIRE_") || name == "NVIDIA_DISABLE_REQUIRE" || name == "CUDA_VERSION"
}

fn facts(replay: Replay<'_>) -> Vec<Basis> {
    let env = device::environment(replay);
    let legacy = is_legacy_image(&env);
    let set = replay.image.env.set.iter().filter(|(name, _)| {
        name.starts_with("NVIDIA_REQUIRE_") || *name == "NVIDIA_DISABLE_REQUIRE" || (legacy && *name == "CUDA_VERSION")
    });
    let set = set.filter(|(_, fact)| fact.known().is_some());
    let mut facts: Vec<Basis> = set.map(|(_, fact)| Basis::Image(fact.id)).take(3).collect();
    if facts.is_empty() {
        facts.push(Basis::Image(replay.image.env.get("NVIDIA_REQUIRE_CUDA").id));
    }
    facts.extend([PoolField::Driver, PoolField::Gpu].map(Basis::Pool));
    facts.extend(replay.host.driver_row.map(Basis::Row));
    facts
}

/// Evaluates every requirement; also the source of the message.
pub(super) fn check(replay: Replay<'_>) -> Check {
    let env = device::environment(replay);
    let requirements = match image_requirements(&env, ToolkitVersion::default()) {
        Ok(requirements) => requirements,
        Err(error) => return Check::Malformed(format!("failed to get requirements: {error}")),
    };
    if requirements.is_empty() {
        let off = env.get("NVIDIA_DISABLE_REQUIRE").and_then(|value| crate::cuda::go_bool(value)) == Some(true);
        return if off { Check::Off } else { Check::Holds };
    }
    let host = values(replay);
    let mut undetermined = false;
    let verdicts: Vec<RequirementVerdict> = if replay.host.mode == Mode::Csv {
        vec![evaluate_all_go(requirements.iter().map(|(_, value)| value.as_str()), &host, ToolkitVersion::default())]
    } else {
        requirements.iter().map(|(_, value)| evaluate_c(value, &host)).collect()
    };
    for verdict in verdicts {
        match verdict {
            RequirementVerdict::Holds => {}
            RequirementVerdict::Unsatisfied { message, .. } => return Check::Refused(message),
            RequirementVerdict::Malformed { message } => return Check::Malformed(message),
            RequirementVerdict::Undetermined { .. } => undetermined = true,
        }
    }
    if undetermined { Check::Undetermined } else { Check::Holds }
}

/// What the check sees of the host.
fn values(replay: Replay<'_>) -> RequirementHost {
    let host = replay.host;
    let known = |value: Option<String>| value.map_or(HostValue::Unknown, HostValue::Known);
    let gpu = host.gpu.as_ref();
    let cuda = known(host.driver_cuda.map(|cuda| format!("{}.{}", cuda.major(), cuda.minor())));
    let arch = known(gpu.and_then(|gpu| gpu.capability).map(|capability| capability.to_string()));
    if host.mode == Mode::Csv {
        return RequirementHost { cuda, arch, driver: HostValue::NotVisible, brand: HostValue::NotVisible };
    }
    let driver = known(host.driver.map(|driver| driver.to_string()));
    let brand = known(gpu.and_then(|gpu| gpu.brand.clone()));
    RequirementHost { cuda, driver, arch, brand }
}
