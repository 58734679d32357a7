//! Requirement: whether the host meets every `NVIDIA_REQUIRE_*`, where the mode asks at all.

use crate::cuda::Environment;
use crate::cuda::HostValue;
use crate::cuda::Needs;
use crate::cuda::Property;
use crate::cuda::RequirementHost;
use crate::cuda::RequirementOutcome as Outcome;
use crate::cuda::RequirementsReader;
use crate::cuda::UNSATISFIED;
use crate::cuda::Verdict;
use crate::cuda::evaluate_all_go;
use crate::cuda::evaluate_c;
use crate::cuda::is_legacy_image;
use crate::cuda::last_condition;
use crate::cuda::remembered_c;
use crate::cuda::requirements_disabled;
use crate::cuda::visit_requirements;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fleet::DeviceSource;
use crate::fleet::Mode;
use crate::fleet::Options;
use crate::fleet::PoolEntry;
use crate::fleet::PoolField;
use crate::knowledge::ToolkitChange;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Reason;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::device::requested;
use crate::start::environment::Env;
use crate::start::loader::Loaded;
use crate::start::request::Asked;
use crate::start::request::Request;
use crate::start::runtime::between;

const LEGACY: Cite = Cite(
    "libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c, configure.c and cli.h; nvidia-container-toolkit v1.20.0, internal/config/image/cuda_image.go",
);
const OLD_HOOK: Cite = Cite(
    "nvidia-container-toolkit v1.9.0, cmd/nvidia-container-toolkit/container_config.go, getRequirements; libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c, configure.c and cli.h",
);
const ENROOT: Cite = Cite(
    "enroot v4.1.2, conf/hooks/98-nvidia.sh; libnvidia-container v1.20.0 (3e42819), src/cli/dsl.c and configure.c",
);
const CSV: Cite = Cite("nvidia-container-toolkit v1.20.0, internal/requirements and internal/modifier/csv.go");
const IGNORED: Cite = Cite(
    "nvidia-container-toolkit v1.20.0: checkRequirements is called only from internal/modifier/csv.go (issue 1470)",
);

const PREFIX: &str = "NVIDIA_REQUIRE_";
const SWITCH: &str = "NVIDIA_DISABLE_REQUIRE";

/// Why nothing is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// This mode does not ask.
    Mode,
    /// Nothing is asked of the toolkit in this container.
    NoDevices,
    /// The host's configuration switches the check off.
    Option,
    /// A variable does.
    Variable,
}

/// What the check of one environment on one host comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// All hold, or there is none.
    Holds,
    /// One does not.
    Refused,
    /// One cannot be read.
    Malformed,
    /// Depends on these properties of the host.
    Undetermined(Needs),
}

/// Does the host meet the requirements?
pub(super) fn step(replay: Replay<'_>) -> StepRecord {
    let host = replay.host;
    let env = Env::of(replay);
    let cite = match host.mode {
        Mode::Legacy if host.devices == DeviceSource::Enroot => ENROOT,
        Mode::Legacy if reader(replay) == RequirementsReader::OldHook => OLD_HOOK,
        Mode::Legacy => LEGACY,
        Mode::Csv => CSV,
        Mode::JitCdi | Mode::Cdi | Mode::None => IGNORED,
    };
    let of = |result, basis| StepRecord::new(Step::Requirement, result, [basis], cite);
    if let Some(off) = off(replay) {
        let basis = match off {
            Off::Mode => Basis::Pool(PoolField::Mode),
            Off::NoDevices => Basis::Pool(PoolField::Launch),
            Off::Option => Basis::Entry(PoolEntry::Option(Options::DISABLE_REQUIRE)),
            Off::Variable => env.basis(SWITCH),
        };
        return of(StepResult::NotApplicable, basis);
    }
    let found = check(replay);
    // What is not seen of the environment cannot save a container that another variable stops, but for the switch.
    let certain = matches!(found, Check::Refused | Check::Malformed) && !switch_set(replay);
    if let Some(missing) = untold(replay).filter(|_| !certain) {
        return of(StepResult::Unknown, missing);
    }
    let result = match found {
        Check::Holds => StepResult::Passes(Route::Native),
        Check::Refused => StepResult::Stops(Wall::refused(Reason::Requirement)),
        Check::Malformed => StepResult::Stops(Wall::refused(Reason::MalformedRequirement)),
        Check::Undetermined(needs) => {
            let driver = needs.contains(Property::Driver) || needs.contains(Property::Cuda);
            let brand = needs.contains(Property::Brand);
            let gpu = needs.contains(Property::Arch) || (brand && !host.lacks_brand());
            let fields = [
                driver.then_some(PoolField::Driver),
                gpu.then_some(PoolField::Gpu),
                brand.then_some(PoolField::Brand).filter(|_| host.lacks_brand()),
            ];
            let missing = fields.into_iter().flatten().map(Basis::Pool);
            return StepRecord::new(Step::Requirement, StepResult::Unknown, missing, cite);
        }
    };
    // A text that cannot be read is at fault alone, whatever the host.
    let pool = (found != Check::Malformed).then_some([PoolField::Driver, PoolField::Gpu].map(Basis::Pool));
    let row = host.driver_row.filter(|_| pool.is_some()).map(Basis::Row);
    let unseen = env.untold(SWITCH).filter(|_| matches!(result, StepResult::Stops(_)));
    let facts = variables(replay).into_iter().flatten().chain(unseen).chain(pool.into_iter().flatten()).chain(row);
    StepRecord::new(Step::Requirement, result, facts, cite)
}

/// Whether a container is certainly not created for its requirements.
pub(super) fn refuses(replay: Replay<'_>) -> bool {
    off(replay).is_none() && !switch_set(replay) && matches!(check(replay), Check::Refused | Check::Malformed)
}

/// Whether the variable that switches the check off may be set: to something that cannot be told, or by a base that
/// nobody has read. Where somebody lists the variables of an image, one that is not among them is not assumed.
pub(super) fn switch_set(replay: Replay<'_>) -> bool {
    let untold = Env::of(replay).untold(SWITCH);
    let open = |id| match &replay.image.facts.get(id).evidence {
        Evidence::Leaf(_) => true,
        Evidence::Derived { by, .. } => *by == Derivation::Inheritance,
    };
    untold.is_some_and(|basis| matches!(basis, Basis::Image(id) if open(id)))
}

/// Why nothing is evaluated, where that is so.
pub(super) fn off(replay: Replay<'_>) -> Option<Off> {
    let host = replay.host;
    let env = Env::of(replay);
    // The hook alone reads the option, enroot and the csv mode do not.
    let by_hook = host.mode == Mode::Legacy && host.devices != DeviceSource::Enroot;
    if !matches!(host.mode, Mode::Legacy | Mode::Csv) {
        Some(Off::Mode)
    } else if requested(replay).asked == Asked::Nothing {
        Some(Off::NoDevices)
    } else if by_hook && host.options.disable_require {
        Some(Off::Option)
    } else if requirements_disabled(&env, reader(replay)) {
        Some(Off::Variable)
    } else {
        None
    }
}

/// The first fact that is missing to say which requirements there are.
fn untold(replay: Replay<'_>) -> Option<Basis> {
    let env = Env::of(replay);
    let Request { asked, facts } = requested(replay);
    let devices = if asked == Asked::UntoldVariable { facts.into_iter().flatten().next() } else { None };
    let by_version = || env.untold_age().filter(|_| reader(replay) != RequirementsReader::Enroot);
    devices.or_else(|| env.untold_among(PREFIX)).or_else(|| env.untold(SWITCH)).or_else(by_version)
}

fn reader(replay: Replay<'_>) -> RequirementsReader {
    if replay.host.devices == DeviceSource::Enroot {
        RequirementsReader::Enroot
    } else if replay.host.mode == Mode::Csv {
        RequirementsReader::Csv(replay.host.behaviour.reading)
    } else if replay.host.toolkit.is_some() && !replay.host.behaviour.changes.has(ToolkitChange::ImageReader) {
        RequirementsReader::OldHook
    } else {
        RequirementsReader::Toolkit(replay.host.behaviour.reading)
    }
}

/// Where the requirements stand, three of them at most.
fn variables(replay: Replay<'_>) -> [Option<Basis>; 3] {
    let env = Env::of(replay);
    let mut found = [None; 3];
    let named = env.beginning(PREFIX).map(|(name, _)| name);
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

/// Evaluates every requirement; where the brand is not known, for each that there is.
pub(super) fn check(replay: Replay<'_>) -> Check {
    let (csv, no_device) = view(replay);
    let own = &replay.host.values;
    if !csv && !no_device {
        return by_cudas(replay, own);
    }
    let mut seen = own.clone();
    if csv {
        (seen.driver, seen.brand) = (HostValue::NotVisible, HostValue::NotVisible);
    }
    if no_device {
        (seen.arch, seen.brand) = (HostValue::NotVisible, HostValue::NotVisible);
    }
    by_cudas(replay, &seen)
}

/// The CUDA minors that the host's driver may support, where its branch lies between two known ones.
fn cudas(replay: Replay<'_>) -> impl Iterator<Item = HostValue> {
    let around = between(replay, &Loaded::host(replay));
    let minors = around.map(|[below, above]| replay.knowledge.cuda_minors(below.cuda, above.cuda));
    minors.into_iter().flatten().map(|(major, minor)| HostValue::Known(format!("{major}.{minor}")))
}

/// Where the driver's CUDA is one of several, what holds for each of them.
fn by_cudas(replay: Replay<'_>, host: &RequirementHost) -> Check {
    let found = by_brands(replay, host);
    let asked = matches!(found, Check::Undetermined(needs) if needs.contains(Property::Cuda));
    if !asked || host.cuda != HostValue::Unknown {
        return found;
    }
    let mut common = cudas(replay).map(|cuda| by_brands(replay, &RequirementHost { cuda, ..host.clone() }));
    let Some(first) = common.next() else { return found };
    if common.all(|one| one == first) { first } else { found }
}

/// Whether the csv check evaluates, and whether it does so without a device.
fn view(replay: Replay<'_>) -> (bool, bool) {
    let asked = requested(replay).asked;
    (replay.host.mode == Mode::Csv, asked == Asked::DriverOnly && replay.host.mode == Mode::Legacy)
}

fn by_brands(replay: Replay<'_>, host: &RequirementHost) -> Check {
    let found = evaluate(replay, host);
    let Check::Undetermined(needs) = found else { return found };
    if !needs.contains(Property::Brand) {
        return found;
    }
    let mut seen = host.clone();
    let mut common = None;
    let mut all_needs = Needs::default();
    for row in replay.knowledge.brands().iter().filter(|row| replay.host.behaviour.newer_brands || !row.later) {
        seen.brand = HostValue::Known(row.name.to_owned());
        let one = evaluate(replay, &seen);
        if let Check::Undetermined(more) = one {
            all_needs = all_needs.and(more);
        }
        if *common.get_or_insert(one) != one {
            return Check::Undetermined(needs);
        }
    }
    match common {
        Some(Check::Undetermined(_)) => Check::Undetermined(all_needs),
        Some(one) => one,
        None => found,
    }
}

fn evaluate(replay: Replay<'_>, host: &RequirementHost) -> Check {
    let env = Env::of(replay);
    if replay.host.mode == Mode::Csv {
        return match by_csv(replay, host) {
            Ok(verdict) => of(Outcome::from(&verdict)),
            Err(_) => Check::Malformed,
        };
    }
    let mut needs = Needs::default();
    let mut refused = None;
    let read = visit_requirements(&env, reader(replay), |_, value| match remembered_c(value, host) {
        Outcome::Holds => {}
        Outcome::Undetermined(more) => needs = needs.and(more),
        outcome => refused = refused.or(Some(of(outcome))),
    });
    match (read, refused) {
        (Err(_), _) => Check::Malformed,
        (Ok(()), Some(refused)) => refused,
        (Ok(()), None) if needs == Needs::default() => Check::Holds,
        (Ok(()), None) => Check::Undetermined(needs),
    }
}

fn of(outcome: Outcome) -> Check {
    match outcome {
        Outcome::Holds => Check::Holds,
        Outcome::Unsatisfied => Check::Refused,
        Outcome::Malformed => Check::Malformed,
        Outcome::Undetermined(needs) => Check::Undetermined(needs),
    }
}

fn by_csv(replay: Replay<'_>, host: &RequirementHost) -> Result<Verdict, String> {
    let mut values: Vec<String> = Vec::new();
    visit_requirements(&Env::of(replay), reader(replay), |_, value| values.push(value.to_owned()))
        .map_err(|error| error.to_string())?;
    Ok(evaluate_all_go(values.iter().map(String::as_str), host, replay.host.behaviour.reading))
}

/// What the user reads where the requirements keep the container from being created.
pub(super) fn message(replay: Replay<'_>) -> String {
    const CLI: &str = "nvidia-container-cli";
    let host = RequirementHost::clone(&replay.host.values);
    if replay.host.mode == Mode::Csv {
        let host = RequirementHost { driver: HostValue::NotVisible, brand: HostValue::NotVisible, ..host };
        return match by_csv(replay, &host) {
            Ok(Verdict::Unsatisfied { message, .. } | Verdict::Malformed { message }) => {
                format!("requirements not met: {message}")
            }
            Ok(_) => "requirements not met".to_owned(),
            Err(error) => format!("requirements not met: failed to get image requirements: {error}"),
        };
    }
    let (_, no_device) = view(replay);
    let mut host = host;
    if let Some(cuda) = cudas(replay).next().filter(|_| host.cuda == HostValue::Unknown) {
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
    let read = visit_requirements(&Env::of(replay), reader(replay), |_, value| match evaluate_c(value, &host) {
        Verdict::Unsatisfied { message, first_term } => {
            first = first.take().or_else(|| Some(as_worded(replay, value, &host, &first_term).unwrap_or(message)));
        }
        Verdict::Malformed { message } => first = first.take().or(Some(message)),
        Verdict::Holds | Verdict::Undetermined { .. } => {}
    });
    match (read, first) {
        (Err(crate::cuda::RequirementsError::TooMany { .. }), _) => {
            format!("{CLI}: input error: too many requirements")
        }
        (Err(error @ crate::cuda::RequirementsError::Unscanned { .. }), _) => error.to_string(),
        (Err(error), _) => format!("failed to get requirements {error}"),
        (Ok(()), Some(message)) => format!("{CLI}: requirement error: {message}"),
        (Ok(()), None) => format!("{CLI}: requirement error"),
    }
}

/// How an older check says that a condition fails: of the last one, later of the first term without the advice.
fn as_worded(replay: Replay<'_>, requirement: &str, host: &RequirementHost, first_term: &str) -> Option<String> {
    let since = |change| replay.host.toolkit.is_none() || replay.host.behaviour.changes.has(change);
    if !since(ToolkitChange::RequirementTerm) {
        Some(format!("{UNSATISFIED}{}", last_condition(requirement, host)?))
    } else if !since(ToolkitChange::RequirementAdvice) {
        Some(format!("{UNSATISFIED}{first_term}"))
    } else {
        None
    }
}

#[cfg(test)]
#[path = "requirement_tests.rs"]
mod tests;
