//! Requirement step: whether the host meets every `NVIDIA_REQUIRE_*`, in the modes that check them.

use crate::cuda::{
    EnvironmentVariables, HostProperty, HostPropertySet, HostValue, RequirementHost, RequirementOutcome,
    RequirementVerdict, RequirementsError, RequirementsReader, UNSATISFIED_PREFIX, are_requirements_disabled,
    cached_cli_requirement_outcome, evaluate_cli_requirement, evaluate_toolkit_requirements, first_condition,
    is_legacy_image, last_failed_condition, visit_requirements,
};
use crate::fleet::{DeviceSource, Mode, PoolEntry, PoolField, ToolkitOptions};
use crate::knowledge::ToolkitChange;
use crate::model::fact::{Derivation, Evidence};
use crate::replay::gpu_request::{GpuRequest, GpuRequestKind};
use crate::replay::loaded_libcuda::LoadedLibcuda;
use crate::replay::user_mode::surrounding_branches;
use crate::replay::{
    Basis, Citation, RefusalReason, Replay, ReplayFailure, StartRoute, StartStep, StepRecord, StepResult,
};

/// Citation for the check in legacy mode.
const LEGACY_CITATION: Citation = Citation(
    "libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c, configure.c and cli.h; nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go",
);
/// Citation for the check by the hook of older toolkits.
const OLD_HOOK_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.9.0, cmd/nvidia-container-toolkit/container_config.go, getRequirements; libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c, configure.c and cli.h",
);
/// Citation for the check by enroot.
const ENROOT_CITATION: Citation = Citation(
    "enroot v4.1.2, conf/hooks/98-nvidia.sh; libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c and configure.c",
);
/// Citation for the check in csv mode.
const CSV_CITATION: Citation =
    Citation("nvidia-container-toolkit v1.20.0, internal/requirements and internal/modifier/csv.go");
/// Citation for the modes that do not check requirements.
const UNCHECKED_CITATION: Citation = Citation(
    "nvidia-container-toolkit v1.20.0: checkRequirements is called only from internal/modifier/csv.go (issue 1470)",
);

/// Prefix of the variables that hold requirements.
const REQUIREMENT_PREFIX: &str = "NVIDIA_REQUIRE_";
/// Name of the variable that disables the check of requirements.
const DISABLE_REQUIRE_VARIABLE: &str = "NVIDIA_DISABLE_REQUIRE";

/// Why requirements are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequirementSkip {
    /// This mode does not check requirements.
    Mode,
    /// The container requests no devices from the toolkit.
    NoDevices,
    /// The host's configuration disables the check.
    Option,
    /// A variable disables the check.
    Variable,
}

/// The result of checking the requirements of one environment on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequirementCheck {
    /// Every requirement holds, or there is none.
    Holds,
    /// A requirement does not hold.
    Refused,
    /// A requirement has invalid syntax.
    Malformed,
    /// The result depends on these properties of the host, which are unknown.
    Undetermined(HostPropertySet),
}

/// Replays the requirement step: whether the host meets the requirements of the image.
pub(super) fn requirement_step(replay: Replay<'_>) -> StepRecord {
    let host = replay.host;
    let env = replay.environment();
    let cite = match host.mode {
        Mode::Legacy if host.devices == DeviceSource::Enroot => ENROOT_CITATION,
        Mode::Legacy if requirements_reader(replay) == RequirementsReader::OldHook => OLD_HOOK_CITATION,
        Mode::Legacy => LEGACY_CITATION,
        Mode::Csv => CSV_CITATION,
        Mode::JitCdi | Mode::Cdi | Mode::None => UNCHECKED_CITATION,
    };
    let of = |result, basis| StepRecord::new(StartStep::Requirement, result, [basis], cite);
    if let Some(off) = requirement_skip(replay) {
        let basis = match off {
            RequirementSkip::Mode => Basis::Pool(PoolField::Mode),
            RequirementSkip::NoDevices => Basis::Pool(PoolField::Launch),
            RequirementSkip::Option => Basis::Entry(PoolEntry::Option(ToolkitOptions::DISABLE_REQUIRE)),
            RequirementSkip::Variable => env.basis(DISABLE_REQUIRE_VARIABLE),
        };
        return of(StepResult::NotApplicable, basis);
    }
    let found = check_requirements(replay);
    // What is not seen of the environment cannot save a container that another variable stops, but for the switch.
    let certain =
        matches!(found, RequirementCheck::Refused | RequirementCheck::Malformed) && !may_disable_requirements(replay);
    if let Some(missing) = missing_requirement_fact(replay).filter(|_| !certain) {
        return of(StepResult::Unknown, missing);
    }
    let result = match found {
        RequirementCheck::Holds => StepResult::Passes(StartRoute::Native),
        RequirementCheck::Refused => StepResult::Stops(ReplayFailure::refused(RefusalReason::Requirement)),
        RequirementCheck::Malformed => StepResult::Stops(ReplayFailure::refused(RefusalReason::MalformedRequirement)),
        RequirementCheck::Undetermined(needs) => {
            let driver = needs.contains(HostProperty::Driver) || needs.contains(HostProperty::Cuda);
            let brand = needs.contains(HostProperty::Brand);
            let gpu = needs.contains(HostProperty::Arch) || (brand && !host.lacks_brand());
            let fields = [
                driver.then_some(PoolField::Driver),
                gpu.then_some(PoolField::Gpu),
                brand.then_some(PoolField::Brand).filter(|_| host.lacks_brand()),
            ];
            let missing = fields.into_iter().flatten().map(Basis::Pool);
            return StepRecord::new(StartStep::Requirement, StepResult::Unknown, missing, cite);
        }
    };
    // An invalid text fails on every host.
    let pool = (found != RequirementCheck::Malformed).then_some([PoolField::Driver, PoolField::Gpu].map(Basis::Pool));
    let row = host.driver_row.filter(|_| pool.is_some()).map(Basis::Row);
    let disable_variable =
        env.unknown_variable(DISABLE_REQUIRE_VARIABLE).filter(|_| matches!(result, StepResult::Stops(_)));
    let facts = requirement_variable_evidence(replay)
        .into_iter()
        .flatten()
        .chain(disable_variable)
        .chain(pool.into_iter().flatten())
        .chain(row);
    StepRecord::new(StartStep::Requirement, result, facts, cite)
}

/// Whether a container is certainly not created because of its requirements.
pub(super) fn refuses_container(replay: Replay<'_>) -> bool {
    requirement_skip(replay).is_none()
        && !may_disable_requirements(replay)
        && matches!(check_requirements(replay), RequirementCheck::Refused | RequirementCheck::Malformed)
}

/// Whether the variable that disables the check may be set: to an unknown value, or by a base image that was not
/// read. If the variables of an image are listed, one that is not in the list counts as unset.
pub(super) fn may_disable_requirements(replay: Replay<'_>) -> bool {
    let missing = replay.environment().unknown_variable(DISABLE_REQUIRE_VARIABLE);
    let open = |id| match &replay.image.facts.get(id).evidence {
        Evidence::Leaf(_) => true,
        Evidence::Derived { by, .. } => *by == Derivation::Inheritance,
    };
    missing.is_some_and(|basis| matches!(basis, Basis::Image(id) if open(id)))
}

/// Returns why requirements are not checked; `None` if they are.
pub(super) fn requirement_skip(replay: Replay<'_>) -> Option<RequirementSkip> {
    let host = replay.host;
    let env = replay.environment();
    // The hook alone reads the option, enroot and the csv mode do not.
    let by_hook = host.mode == Mode::Legacy && host.devices != DeviceSource::Enroot;
    if !matches!(host.mode, Mode::Legacy | Mode::Csv) {
        Some(RequirementSkip::Mode)
    } else if replay.container_request().kind == GpuRequestKind::Nothing {
        Some(RequirementSkip::NoDevices)
    } else if by_hook && host.options.disable_require {
        Some(RequirementSkip::Option)
    } else if are_requirements_disabled(&env, requirements_reader(replay)) {
        Some(RequirementSkip::Variable)
    } else {
        None
    }
}

/// Returns the first missing fact without which the requirements of the container are not known.
fn missing_requirement_fact(replay: Replay<'_>) -> Option<Basis> {
    let env = replay.environment();
    let GpuRequest { kind, facts } = replay.container_request();
    let devices = if kind == GpuRequestKind::UnknownVariable { facts.into_iter().flatten().next() } else { None };
    let by_version = || env.missing_legacy_fact().filter(|_| requirements_reader(replay) != RequirementsReader::Enroot);
    devices
        .or_else(|| env.unknown_with_prefix(REQUIREMENT_PREFIX))
        .or_else(|| env.unknown_variable(DISABLE_REQUIRE_VARIABLE))
        .or_else(by_version)
}

/// Returns the tool that reads the requirements on this host.
fn requirements_reader(replay: Replay<'_>) -> RequirementsReader {
    if replay.host.devices == DeviceSource::Enroot {
        RequirementsReader::Enroot
    } else if replay.host.mode == Mode::Csv {
        RequirementsReader::Csv(replay.host.behaviour.reading)
    } else if replay.host.toolkit.is_some() && !replay.host.behaviour.changes.contains(ToolkitChange::ImageReader) {
        RequirementsReader::OldHook
    } else {
        RequirementsReader::Toolkit(replay.host.behaviour.reading)
    }
}

/// Returns up to three variables that hold requirements, as bases.
fn requirement_variable_evidence(replay: Replay<'_>) -> [Option<Basis>; 3] {
    let env = replay.environment();
    let mut found = [None; 3];
    let named = env.with_prefix(REQUIREMENT_PREFIX).map(|(name, _)| name);
    let legacy = is_legacy_image(&env).then_some("CUDA_VERSION");
    let mut all = named.chain(legacy);
    for (place, name) in found.iter_mut().zip(all.by_ref()) {
        *place = Some(env.basis(name));
    }
    if found[0].is_none() {
        found[0] = Some(env.basis("NVIDIA_REQUIRE_CUDA"));
    }
    found
}

/// Evaluates every requirement; if the brand is unknown, for each brand that exists.
pub(super) fn check_requirements(replay: Replay<'_>) -> RequirementCheck {
    let (csv, no_device) = check_mode_flags(replay);
    let own = &replay.host.values;
    if !csv && !no_device {
        return check_for_possible_cudas(replay, own);
    }
    let mut seen = own.clone();
    if csv {
        (seen.driver, seen.brand) = (HostValue::NotVisible, HostValue::NotVisible);
    }
    if no_device {
        (seen.arch, seen.brand) = (HostValue::NotVisible, HostValue::NotVisible);
    }
    check_for_possible_cudas(replay, &seen)
}

/// Returns the CUDA minor versions that the host's driver may support, if its branch is between two known ones.
fn possible_driver_cudas(replay: Replay<'_>) -> impl Iterator<Item = HostValue> {
    let around = surrounding_branches(replay, &LoadedLibcuda::from_host(replay));
    let minors = around.map(|[below, above]| replay.knowledge.cuda_minors(below.cuda, above.cuda));
    minors.into_iter().flatten().map(|(major, minor)| HostValue::Known(format!("{major}.{minor}")))
}

/// Evaluates the requirements for each CUDA version that the driver may support, and returns the result if all agree.
fn check_for_possible_cudas(replay: Replay<'_>, host: &RequirementHost) -> RequirementCheck {
    let found = check_for_possible_brands(replay, host);
    let needs_cuda = matches!(found, RequirementCheck::Undetermined(needs) if needs.contains(HostProperty::Cuda));
    if !needs_cuda || host.cuda != HostValue::Unknown {
        return found;
    }
    let mut common = possible_driver_cudas(replay)
        .map(|cuda| check_for_possible_brands(replay, &RequirementHost { cuda, ..host.clone() }));
    let Some(first) = common.next() else { return found };
    if common.all(|one| one == first) { first } else { found }
}

/// Whether the check runs in csv mode, and whether it runs without a device in legacy mode.
fn check_mode_flags(replay: Replay<'_>) -> (bool, bool) {
    let kind = replay.container_request().kind;
    (replay.host.mode == Mode::Csv, kind == GpuRequestKind::DriverOnly && replay.host.mode == Mode::Legacy)
}

/// Evaluates the requirements for each brand if the brand is unknown, and returns the result if all agree.
fn check_for_possible_brands(replay: Replay<'_>, host: &RequirementHost) -> RequirementCheck {
    let found = evaluate_requirements(replay, host);
    let RequirementCheck::Undetermined(needs) = found else { return found };
    if !needs.contains(HostProperty::Brand) {
        return found;
    }
    let mut seen = host.clone();
    let mut common = None;
    let mut all_needs = HostPropertySet::default();
    for row in replay.knowledge.brands().iter().filter(|row| replay.host.behaviour.newer_brands || !row.later) {
        seen.brand = HostValue::Known(row.name.to_owned());
        let one = evaluate_requirements(replay, &seen);
        if let RequirementCheck::Undetermined(more) = one {
            all_needs = all_needs.union(more);
        }
        if *common.get_or_insert(one) != one {
            return RequirementCheck::Undetermined(needs);
        }
    }
    match common {
        Some(RequirementCheck::Undetermined(_)) => RequirementCheck::Undetermined(all_needs),
        Some(one) => one,
        None => found,
    }
}

/// Evaluates the requirements for known properties of the host.
fn evaluate_requirements(replay: Replay<'_>, host: &RequirementHost) -> RequirementCheck {
    let env = replay.environment();
    if replay.host.mode == Mode::Csv {
        return match evaluate_as_csv(replay, host) {
            Ok(verdict) => check_from_outcome(RequirementOutcome::from(&verdict)),
            Err(_) => RequirementCheck::Malformed,
        };
    }
    let mut needs = HostPropertySet::default();
    let mut refused = None;
    let read = visit_requirements(&env, requirements_reader(replay), |_, value| {
        match cached_cli_requirement_outcome(value, host) {
            RequirementOutcome::Holds => {}
            RequirementOutcome::Undetermined(more) => needs = needs.union(more),
            outcome => refused = refused.or(Some(check_from_outcome(outcome))),
        }
    });
    match (read, refused) {
        (Err(_), _) => RequirementCheck::Malformed,
        (Ok(()), Some(refused)) => refused,
        (Ok(()), None) if needs == HostPropertySet::default() => RequirementCheck::Holds,
        (Ok(()), None) => RequirementCheck::Undetermined(needs),
    }
}

/// Converts the outcome of an evaluation.
fn check_from_outcome(outcome: RequirementOutcome) -> RequirementCheck {
    match outcome {
        RequirementOutcome::Holds => RequirementCheck::Holds,
        RequirementOutcome::Unsatisfied => RequirementCheck::Refused,
        RequirementOutcome::Malformed => RequirementCheck::Malformed,
        RequirementOutcome::Undetermined(needs) => RequirementCheck::Undetermined(needs),
    }
}

/// Evaluates the requirements as csv mode does.
fn evaluate_as_csv(replay: Replay<'_>, host: &RequirementHost) -> Result<RequirementVerdict, String> {
    let mut values: Vec<String> = Vec::new();
    visit_requirements(&replay.environment(), requirements_reader(replay), |_, value| {
        values.push(value.to_owned());
    })
    .map_err(|error| error.to_string())?;
    Ok(evaluate_toolkit_requirements(values.iter().map(String::as_str), host, replay.host.behaviour.reading))
}

/// The requirement that refuses a container.
pub(super) struct RefusedRequirement {
    /// The condition that does not hold, if the message names a single one: `cuda>=12.4`.
    pub(super) condition: Option<String>,
    /// The error message that the user sees.
    pub(super) message: String,
}

impl RefusedRequirement {
    /// Returns a refusal whose message names no condition.
    const fn without_condition(message: String) -> Self {
        Self { condition: None, message }
    }

    /// Returns the same refusal with a prefix before the message.
    fn prefixed(self, prefix: &str) -> Self {
        Self { message: format!("{prefix}{}", self.message), ..self }
    }
}

/// Returns the requirement that keeps the container from being created.
pub(super) fn refused_requirement(replay: Replay<'_>) -> RefusedRequirement {
    const CLI: &str = "nvidia-container-cli";
    let host = RequirementHost::clone(&replay.host.values);
    if replay.host.mode == Mode::Csv {
        let host = RequirementHost { driver: HostValue::NotVisible, brand: HostValue::NotVisible, ..host };
        return match evaluate_as_csv(replay, &host) {
            Ok(RequirementVerdict::Unsatisfied { condition, message, .. }) => {
                RefusedRequirement { condition, message: format!("requirements not met: {message}") }
            }
            Ok(RequirementVerdict::Malformed { message }) => {
                RefusedRequirement::without_condition(format!("requirements not met: {message}"))
            }
            Ok(_) => RefusedRequirement::without_condition("requirements not met".to_owned()),
            Err(error) => RefusedRequirement::without_condition(format!(
                "requirements not met: failed to get image requirements: {error}"
            )),
        };
    }
    let (_, no_device) = check_mode_flags(replay);
    let mut host = host;
    if let Some(cuda) = possible_driver_cudas(replay).next().filter(|_| host.cuda == HostValue::Unknown) {
        // Refused whichever it is: the oldest stands for all.
        host.cuda = cuda;
    }
    if no_device {
        (host.arch, host.brand) = (HostValue::NotVisible, HostValue::NotVisible);
    } else if host.brand == HostValue::Unknown {
        // Refused whatever the brand: one stands for all.
        host.brand = HostValue::Known("unknown".to_owned());
    }
    let mut first = None;
    let env = replay.environment();
    let read = visit_requirements(&env, requirements_reader(replay), |_, value| {
        match evaluate_cli_requirement(value, &host) {
            RequirementVerdict::Unsatisfied { message, condition, first_term } => {
                first = first.take().or_else(|| {
                    let older = older_toolkit_refusal(replay, value, &host, &first_term);
                    Some(older.unwrap_or(RefusedRequirement { condition, message }))
                });
            }
            RequirementVerdict::Malformed { message } => {
                first = first.take().or(Some(RefusedRequirement::without_condition(message)));
            }
            RequirementVerdict::Holds | RequirementVerdict::Undetermined { .. } => {}
        }
    });
    RefusedRequirement::without_condition(match (read, first) {
        (Ok(()), Some(refused)) => return refused.prefixed(&format!("{CLI}: requirement error: ")),
        (Ok(()), None) => format!("{CLI}: requirement error"),
        (Err(RequirementsError::TooMany { .. }), _) => format!("{CLI}: input error: too many requirements"),
        (Err(error @ RequirementsError::Unscanned { .. }), _) => error.to_string(),
        (Err(error), _) => format!("failed to get requirements {error}"),
    })
}

/// Returns the refusal message of an older toolkit: the oldest name the last failed condition, later ones the first
/// term, both without advice. `None` for a current toolkit.
fn older_toolkit_refusal(
    replay: Replay<'_>,
    requirement: &str,
    host: &RequirementHost,
    first_term: &str,
) -> Option<RefusedRequirement> {
    let since = |change| replay.host.toolkit.is_none() || replay.host.behaviour.changes.contains(change);
    if !since(ToolkitChange::RequirementTerm) {
        let condition = last_failed_condition(requirement, host)?;
        Some(RefusedRequirement { message: format!("{UNSATISFIED_PREFIX}{condition}"), condition: Some(condition) })
    } else if !since(ToolkitChange::RequirementAdvice) {
        let message = format!("{UNSATISFIED_PREFIX}{first_term}");
        Some(RefusedRequirement { condition: first_condition(first_term), message })
    } else {
        None
    }
}

#[cfg(test)]
#[path = "requirement_tests.rs"]
mod tests;
