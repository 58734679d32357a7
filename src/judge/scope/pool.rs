//! What a page may ask of a pool and of the verdict there.

use crate::cuda::ComputeCapability;
use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::FactId;
use crate::fact::ImageFacts;
use crate::fact::Needs;
use crate::fact::Presence;
use crate::fact::State;
use crate::fleet::DriverSpec;
use crate::fleet::Mode;
use crate::fleet::Pool;
use crate::judge::findings::Judged;
use crate::judge::scope::Said;
use crate::judge::scope::Subject;
use crate::judge::scope::text;
use crate::judge::scope::truth;
use crate::judge::scope::version;
use crate::judge::verdict::fails_later;
use crate::judge::verdict::message;
use crate::judge::verdict::title;
use crate::judge::verdict::without_gpu;
use crate::knowledge::BranchRow;
use crate::knowledge::Knowledge;
use crate::rules::Lookup;
use crate::rules::Value;
use crate::start::Fate;
use crate::start::HostFate;
use crate::start::Step;
use crate::start::StepResult;
use crate::start::Verdict;

/// A pool, or several alike, in words.
#[derive(Clone, Debug, Default)]
pub(in crate::judge) struct PoolWords {
    pub(in crate::judge) name: String,
    pub(in crate::judge) gpu: Option<String>,
    pub(in crate::judge) capability: Option<ComputeCapability>,
    pub(in crate::judge) driver: Option<DriverVersion>,
    pub(in crate::judge) branch: Option<u32>,
    pub(in crate::judge) launch: Option<String>,
    pub(in crate::judge) platform: Option<String>,
    pub(in crate::judge) toolkit: Option<CudaVersion>,
    pub(in crate::judge) mode: Option<Mode>,
    pub(in crate::judge) outcome: Option<String>,
    pub(in crate::judge) fate: String,
    pub(in crate::judge) message: String,
    /// What is wrong, without the error.
    pub(in crate::judge) title: String,
    /// The steps that were taken, each with its result where that is the same on all nodes.
    pub(in crate::judge) steps: Vec<(Step, Option<&'static str>)>,
    /// Why a program that starts there uses no GPU.
    pub(in crate::judge) without_gpu: Option<String>,
    /// What starts there and will fail as it runs.
    pub(in crate::judge) fails_later: Option<String>,
    /// Whether nothing but the requirement stops the image, where that can be told.
    pub(in crate::judge) check_alone: Option<bool>,
}

impl PoolWords {
    /// What is declared of a pool, and what became of the image on it.
    pub(in crate::judge) fn of(one: &Judged<'_>, knowledge: Knowledge) -> Self {
        let pool = one.pool;
        let verdict = one.verdicts.first();
        let fate = verdict.map(|verdict| match verdict.fate {
            Some(Fate::Starts(_)) => "starts",
            Some(Fate::Fails(_)) => "fails",
            Some(Fate::Undetermined) => "undetermined",
            None => "depends",
        });
        let outcome = verdict.and_then(|verdict| match verdict.fate {
            Some(Fate::Fails(wall)) => Some(wall.outcome().to_string()),
            Some(Fate::Starts(_) | Fate::Undetermined) | None => None,
        });
        let (driver, branch) = driver(pool);
        Self {
            name: pool.name.value.clone(),
            gpu: only(&pool.gpu).map(|gpu| gpu.value.name.clone()),
            capability: capability(pool, knowledge),
            driver,
            branch,
            launch: pool.launch.as_ref().map(|launch| launch.value.to_string()),
            platform: platform(pool, knowledge),
            toolkit: pool.toolkit.as_ref().map(|toolkit| toolkit.value),
            mode: mode(one),
            outcome,
            fate: fate.unwrap_or("not-applicable").to_owned(),
            message: verdict.map(|verdict| message(verdict, knowledge)).unwrap_or_default(),
            title: verdict.map(|verdict| title(verdict, knowledge)).unwrap_or_default(),
            steps: verdict.map(|verdict| steps(&verdict.hosts)).unwrap_or_default(),
            without_gpu: without_gpu(&one.verdicts, knowledge),
            fails_later: fails_later(&one.verdicts, knowledge),
            check_alone: check_alone(&one.verdicts),
        }
    }
}

/// The steps of the start-up, and how each ends on all of these hosts.
fn steps(hosts: &[HostFate<'_>]) -> Vec<(Step, Option<&'static str>)> {
    let mut found: Vec<(Step, Option<&'static str>)> = Vec::new();
    for record in hosts.iter().flat_map(|host| &host.steps) {
        let result = record.result.name();
        match found.iter_mut().find(|(step, _)| *step == record.step) {
            Some((_, told)) => *told = told.filter(|told| *told == result),
            None => found.push((record.step, Some(result))),
        }
    }
    found
}

/// Whether the requirement stops every component on every host, and no other step would.
fn check_alone(verdicts: &[Verdict<'_>]) -> Option<bool> {
    let mut open = false;
    for record in verdicts.iter().flat_map(|verdict| &verdict.hosts).flat_map(|host| &host.steps) {
        let stops = matches!(record.result, StepResult::Stops(_) | StepResult::FailsLater);
        if stops != (record.step == Step::Requirement) {
            return Some(false);
        }
        open |= matches!(record.result, StepResult::Unknown);
    }
    (!open).then_some(!verdicts.is_empty())
}

/// The entry of a list that has just one.
fn only<T>(list: &[T]) -> Option<&T> {
    match list {
        [one] => Some(one),
        _ => None,
    }
}

fn driver(pool: &Pool) -> (Option<DriverVersion>, Option<u32>) {
    match only(&pool.driver).map(|driver| &driver.value) {
        Some(DriverSpec::Exact(version)) => (Some(*version), Some(version.0.part(0))),
        Some(DriverSpec::Branch(branch)) => (None, Some(*branch)),
        Some(DriverSpec::Range { .. }) | None => (None, None),
    }
}

/// As the pool says it, else as the tables say it of its one GPU.
fn capability(pool: &Pool, knowledge: Knowledge) -> Option<ComputeCapability> {
    if let Some(capability) = &pool.compute_capability {
        return Some(capability.value);
    }
    let gpu = &only(&pool.gpu)?.value;
    gpu.compute_capability.or_else(|| knowledge.gpu(&gpu.name).map(|row| row.capability))
}

fn platform(pool: &Pool, knowledge: Knowledge) -> Option<String> {
    let mut all = pool.platforms(knowledge).into_iter();
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// As the pool says it, else the one that every host takes of those that the verdict is told by.
fn mode(one: &Judged<'_>) -> Option<Mode> {
    if let Some(mode) = &one.pool.mode {
        return Some(mode.value);
    }
    // A pool that says how it starts containers, and with what, leaves no more than a few modes open.
    let settled = one.pool.launch.is_some() && one.pool.toolkit.is_some();
    let mut modes = one.verdicts.first()?.hosts.iter().map(|host| host.host.mode);
    let first = modes.next().filter(|_| settled)?;
    modes.all(|other| other == first).then_some(first)
}

impl Subject<'_> {
    /// What is known under a name that speaks of the pool, the verdict or a step on the way to it.
    pub(super) fn of_pool(&self, name: &str) -> Option<Said> {
        if let Some(step) = name.strip_prefix("step.") {
            return self.of_step(step);
        }
        let rest = name.strip_prefix("pool.").or_else(|| name.strip_prefix("verdict."))?;
        let blamed = match rest {
            "without_gpu" => opened(self.image),
            "fails_later" => absent(self.image),
            _ => None,
        };
        let Some(pool) = self.pool else { return Some(Said::plain(Lookup::Unknown).on(blamed)) };
        let declared = |known: Option<Lookup>| known.unwrap_or(Lookup::Unknown);
        let said = |known: &Option<String>| known.as_ref().map_or(Lookup::Absent, text);
        let lookup = match rest {
            "name" => text(&pool.name),
            "gpu" => declared(pool.gpu.as_ref().map(text)),
            "gpu.arch" => declared(pool.capability.and_then(arch)),
            "driver" => declared(pool.driver.map(|driver| Lookup::Known(Value::Version(driver.0)))),
            "driver.branch" => declared(pool.branch.map(|branch| Lookup::Known(Value::Number(branch.into())))),
            "driver.cuda" => declared(self.branch(pool).map(|row| version(&row.cuda))),
            "driver.end_of_support" => {
                let end = self.branch(pool).and_then(|row| row.end_of_support);
                declared(end.map(|day| Lookup::Known(Value::Date(day))))
            }
            "forward_compat" => declared(self.forward_compat(pool).map(truth)),
            "launch" => declared(pool.launch.as_ref().map(text)),
            "platform" => declared(pool.platform.as_ref().map(text)),
            "toolkit" => declared(pool.toolkit.as_ref().map(version)),
            "mode" => declared(pool.mode.map(|mode| text(mode.as_str()))),
            "outcome" => said(&pool.outcome),
            "fate" => text(&pool.fate),
            "message" => text(&pool.message),
            "title" => text(&pool.title),
            "without_gpu" => said(&pool.without_gpu),
            "fails_later" => said(&pool.fails_later),
            "check_alone" => declared(pool.check_alone.map(truth)),
            _ => return None,
        };
        Some(Said::plain(lookup).on(blamed))
    }

    /// How a step ended.
    fn of_step(&self, name: &str) -> Option<Said> {
        let step = Step::ALL.into_iter().find(|step| step.name().replace('-', "_") == name)?;
        let mut told = self.pool.into_iter().flat_map(|pool| &pool.steps);
        let result = told.find(|(one, _)| *one == step).and_then(|(_, result)| *result);
        Some(Said::plain(result.map_or(Lookup::Unknown, text)))
    }

    fn branch(&self, pool: &PoolWords) -> Option<&'static BranchRow> {
        self.knowledge.branch(pool.branch?)
    }

    /// Whether a compat package of the newest CUDA in the image is for the GPU and the driver of a pool.
    fn forward_compat(&self, pool: &PoolWords) -> Option<bool> {
        let gpu = pool.gpu.as_ref().and_then(|gpu| self.knowledge.gpu(gpu))?.forward_compat?;
        let mut newest = None;
        for component in &self.image.components {
            match &component.cuda.state {
                State::Known(cuda) => newest = newest.max(Some(*cuda)),
                State::Absent { .. } => {}
                State::Unknown(_) => return None,
            }
        }
        let row = self.knowledge.forward(newest?, self.branch(pool)?.branch);
        Some(gpu && row.is_some_and(|row| row.supported))
    }
}

/// A compute capability as a version, so that it has an order.
fn arch(capability: ComputeCapability) -> Option<Lookup> {
    let version: CudaVersion = capability.to_string().parse().ok()?;
    Some(Lookup::Known(Value::Version(version.0)))
}

/// The libraries that a program opens as it runs, where one of them is certainly not there.
fn absent(image: &ImageFacts) -> Option<FactId> {
    let lacks = |needs: &&Needs| {
        let mut later = needs.later.known().into_iter().flatten();
        !needs.falls_back && later.any(|library| library.presence == Presence::Absent)
    };
    image.needs.iter().find(lacks).map(|needs| needs.later.id)
}

/// The libraries without which a program uses no GPU.
fn opened(image: &ImageFacts) -> Option<FactId> {
    image.needs.iter().find(|needs| needs.falls_back).map(|needs| needs.later.id)
}
