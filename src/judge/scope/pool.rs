//! Vocabulary names on a pool and its verdict.

use crate::cuda::{ComputeCapability, CudaVersion, DriverVersion};
use crate::fleet::{DriverSpec, Mode, Pool};
use crate::judge::judged_pool::JudgedPool;
use crate::judge::scope::{BlamedLookup, RuleScope, bool_lookup, text_lookup, version_lookup};
use crate::judge::verdict::{later_failure, no_gpu_reason, verdict_message, verdict_title};
use crate::knowledge::{BranchRow, Knowledge};
use crate::model::fact::{FactId, ImageFacts, LibraryDependencies, LibraryProvider, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::{HostResult, StartStep, StartupResult, StartupVerdict, StepResult};
use crate::report::kinds::VerdictKind;
use crate::rules::{FactLookup, FactValue};

/// Fields and verdict of a pool, or of several with the same result, for messages.
#[derive(Clone, Debug, Default)]
pub(in crate::judge) struct PoolSummary {
    pub(in crate::judge) name: String,
    pub(in crate::judge) gpu: Option<String>,
    pub(in crate::judge) capability: Option<ComputeCapability>,
    pub(in crate::judge) driver: Option<DriverVersion>,
    pub(in crate::judge) branch: Option<u32>,
    pub(in crate::judge) launch: Option<String>,
    pub(in crate::judge) platform: Option<String>,
    pub(in crate::judge) toolkit: Option<CudaVersion>,
    pub(in crate::judge) mode: Option<Mode>,
    pub(in crate::judge) outcome: Option<Outcome>,
    pub(in crate::judge) fate: Option<VerdictKind>,
    pub(in crate::judge) message: String,
    /// What is wrong, without the printed error.
    pub(in crate::judge) title: String,
    /// The start-up steps, each with its result if it is the same on all nodes.
    pub(in crate::judge) steps: Vec<(StartStep, Option<&'static str>)>,
    /// Why a program that starts there uses no GPU.
    pub(in crate::judge) without_gpu: Option<String>,
    /// What starts there but fails later.
    pub(in crate::judge) fails_later: Option<String>,
    /// Whether nothing but the requirement stops the image, if that is known.
    pub(in crate::judge) only_requirement_stops: Option<bool>,
}

impl PoolSummary {
    /// Returns the summary of a pool and of the verdict on it.
    pub(in crate::judge) fn from_judged_pool(one: &JudgedPool<'_>, knowledge: Knowledge) -> Self {
        let pool = one.pool;
        let verdict = one.verdicts.first();
        let fate = verdict.map(|verdict| match verdict.fate {
            Some(StartupResult::Starts(_)) => VerdictKind::Starts,
            Some(StartupResult::Fails(_)) => VerdictKind::Fails,
            Some(StartupResult::Undetermined) => VerdictKind::Undetermined,
            None => VerdictKind::Depends,
        });
        let outcome = verdict.and_then(|verdict| match verdict.fate {
            Some(StartupResult::Fails(failure)) => Some(failure.outcome()),
            Some(StartupResult::Starts(_) | StartupResult::Undetermined) | None => None,
        });
        let (driver, branch) = driver_and_branch(pool);
        Self {
            name: pool.name.value.clone(),
            gpu: single_entry(&pool.gpu).map(|gpu| gpu.value.name.clone()),
            capability: pool_capability(pool, knowledge),
            driver,
            branch,
            launch: pool.launch.as_ref().map(|launch| launch.value.to_string()),
            platform: single_platform(pool, knowledge),
            toolkit: pool.toolkit.as_ref().map(|toolkit| toolkit.value),
            mode: common_mode(one),
            outcome,
            fate: Some(fate.unwrap_or(VerdictKind::NotApplicable)),
            message: verdict.map(|verdict| verdict_message(verdict, knowledge)).unwrap_or_default(),
            title: verdict.map(|verdict| verdict_title(verdict, knowledge)).unwrap_or_default(),
            steps: verdict.map(|verdict| common_step_results(&verdict.hosts)).unwrap_or_default(),
            without_gpu: no_gpu_reason(&one.verdicts, knowledge),
            fails_later: later_failure(&one.verdicts, knowledge),
            only_requirement_stops: only_requirement_stops(&one.verdicts),
        }
    }
}

/// Returns the steps of the start-up, each with its result if it is the same on all hosts.
fn common_step_results(hosts: &[HostResult<'_>]) -> Vec<(StartStep, Option<&'static str>)> {
    let mut found: Vec<(StartStep, Option<&'static str>)> = Vec::new();
    for record in hosts.iter().flat_map(|host| &host.steps) {
        let result = record.result.name();
        match found.iter_mut().find(|(step, _)| *step == record.step) {
            Some((_, common)) => *common = common.filter(|known| *known == result),
            None => found.push((record.step, Some(result))),
        }
    }
    found
}

/// Whether the requirement stops every component on every host, and no other step would.
fn only_requirement_stops(verdicts: &[StartupVerdict<'_>]) -> Option<bool> {
    let mut open = false;
    for record in verdicts.iter().flat_map(|verdict| &verdict.hosts).flat_map(|host| &host.steps) {
        let stops = matches!(record.result, StepResult::Stops(_) | StepResult::FailsLater);
        if stops != (record.step == StartStep::Requirement) {
            return Some(false);
        }
        open |= matches!(record.result, StepResult::Unknown);
    }
    (!open).then_some(!verdicts.is_empty())
}

/// Returns the entry of a list with exactly one.
fn single_entry<T>(list: &[T]) -> Option<&T> {
    match list {
        [one] => Some(one),
        _ => None,
    }
}

/// Returns the exact driver version and the driver branch of a pool, if it declares one.
fn driver_and_branch(pool: &Pool) -> (Option<DriverVersion>, Option<u32>) {
    match single_entry(&pool.driver).map(|driver| &driver.value) {
        Some(DriverSpec::Exact(version)) => (Some(*version), Some(version.0.part(0))),
        Some(DriverSpec::Branch(branch)) => (None, Some(*branch)),
        Some(DriverSpec::Range { .. }) | None => (None, None),
    }
}

/// Returns the declared compute capability, else that of the only GPU.
fn pool_capability(pool: &Pool, knowledge: Knowledge) -> Option<ComputeCapability> {
    if let Some(capability) = &pool.compute_capability {
        return Some(capability.value);
    }
    let gpu = &single_entry(&pool.gpu)?.value;
    gpu.compute_capability.or_else(|| knowledge.gpu(&gpu.name).map(|row| row.capability))
}

/// Returns the platform of a pool, if it has exactly one.
fn single_platform(pool: &Pool, knowledge: Knowledge) -> Option<String> {
    let mut all = pool.platforms(knowledge).into_iter();
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns the declared mode, else the mode that all hosts of the verdict have in common.
fn common_mode(one: &JudgedPool<'_>) -> Option<Mode> {
    if let Some(mode) = &one.pool.mode {
        return Some(mode.value);
    }
    // A pool that declares its launch and its toolkit leaves only a few modes open.
    let settled = one.pool.launch.is_some() && one.pool.toolkit.is_some();
    let mut modes = one.verdicts.first()?.hosts.iter().map(|host| host.host.mode);
    let first = modes.next().filter(|_| settled)?;
    modes.all(|other| other == first).then_some(first)
}

impl RuleScope<'_> {
    /// Returns the value of a name on the pool, its verdict or a start-up step; `None` for other names.
    pub(super) fn pool_lookup(&self, name: &str) -> Option<BlamedLookup> {
        if let Some(step) = name.strip_prefix("step.") {
            return self.step_lookup(step);
        }
        let rest = name.strip_prefix("pool.").or_else(|| name.strip_prefix("verdict."))?;
        let blamed = match rest {
            "without_gpu" => gpu_library_fact(self.image),
            "fails_later" => missing_library_fact(self.image),
            _ => None,
        };
        let Some(pool) = self.pool else {
            return Some(BlamedLookup::without_fact(FactLookup::Unknown).with_fact(blamed));
        };
        let declared = |known: Option<FactLookup>| known.unwrap_or(FactLookup::Unknown);
        let text_or_absent = |known: &Option<String>| known.as_ref().map_or(FactLookup::Absent, text_lookup);
        let lookup = match rest {
            "name" => text_lookup(&pool.name),
            "gpu" => declared(pool.gpu.as_ref().map(text_lookup)),
            "gpu.arch" => declared(pool.capability.and_then(capability_lookup)),
            "driver" => declared(pool.driver.map(|driver| FactLookup::Known(FactValue::Version(driver.0)))),
            "driver.branch" => declared(pool.branch.map(|branch| FactLookup::Known(FactValue::Number(branch.into())))),
            "driver.cuda" => declared(self.branch_row(pool).map(|row| version_lookup(&row.cuda))),
            "driver.end_of_support" => {
                let end = self.branch_row(pool).and_then(|row| row.end_of_support);
                declared(end.map(|day| FactLookup::Known(FactValue::Date(day))))
            }
            "forward_compat" => declared(self.supports_forward_compat(pool).map(bool_lookup)),
            "launch" => declared(pool.launch.as_ref().map(text_lookup)),
            "platform" => declared(pool.platform.as_ref().map(text_lookup)),
            "toolkit" => declared(pool.toolkit.as_ref().map(version_lookup)),
            "mode" => declared(pool.mode.map(|mode| text_lookup(mode.as_str()))),
            "outcome" => text_or_absent(&pool.outcome.map(|outcome| outcome.name().to_owned())),
            "fate" => text_lookup(pool.fate.map_or("", VerdictKind::name)),
            "message" => text_lookup(&pool.message),
            "title" => text_lookup(&pool.title),
            "without_gpu" => text_or_absent(&pool.without_gpu),
            "fails_later" => text_or_absent(&pool.fails_later),
            "check_alone" => declared(pool.only_requirement_stops.map(bool_lookup)),
            _ => return None,
        };
        Some(BlamedLookup::without_fact(lookup).with_fact(blamed))
    }

    /// Returns the result of a start-up step.
    fn step_lookup(&self, name: &str) -> Option<BlamedLookup> {
        let step = *StartStep::ALL.iter().find(|step| step.name().replace('-', "_") == name)?;
        let mut steps = self.pool.into_iter().flat_map(|pool| &pool.steps);
        let result = steps.find(|(one, _)| *one == step).and_then(|(_, result)| *result);
        Some(BlamedLookup::without_fact(result.map_or(FactLookup::Unknown, text_lookup)))
    }

    /// Returns the table row of the driver branch of a pool.
    fn branch_row(&self, pool: &PoolSummary) -> Option<&'static BranchRow> {
        self.knowledge.driver_branch(pool.branch?)
    }

    /// Whether forward compatibility with the newest CUDA in the image supports the GPU and driver of a pool.
    fn supports_forward_compat(&self, pool: &PoolSummary) -> Option<bool> {
        let gpu = pool.gpu.as_ref().and_then(|gpu| self.knowledge.gpu(gpu))?.forward_compat?;
        let mut newest = None;
        for component in &self.image.components {
            match &component.cuda.state {
                ValueState::Known(cuda) => newest = newest.max(Some(*cuda)),
                ValueState::Absent { .. } => {}
                ValueState::Unknown(_) => return None,
            }
        }
        let row = self.knowledge.forward_compatibility(newest?, self.branch_row(pool)?.branch);
        Some(gpu && row.is_some_and(|row| row.supported))
    }
}

/// Converts a compute capability to a version, which has an order.
fn capability_lookup(capability: ComputeCapability) -> Option<FactLookup> {
    let version: CudaVersion = capability.to_string().parse().ok()?;
    Some(FactLookup::Known(FactValue::Version(version.0)))
}

/// Returns the fact of libraries that a program opens at run time, if one of them is certainly missing.
fn missing_library_fact(image: &ImageFacts) -> Option<FactId> {
    let lacks = |needs: &&LibraryDependencies| {
        let mut later = needs.at_run_time.known().into_iter().flatten();
        !needs.falls_back && later.any(|library| library.provider == LibraryProvider::Absent)
    };
    image.needs.iter().find(lacks).map(|needs| needs.at_run_time.id)
}

/// Returns the fact of the libraries without which a program uses no GPU.
fn gpu_library_fact(image: &ImageFacts) -> Option<FactId> {
    image.needs.iter().find(|needs| needs.falls_back).map(|needs| needs.at_run_time.id)
}
