//! Build and runtime: whether there is a CUDA build at all, and whether the driver is new enough for it.

use crate::cuda::CudaVersion;
use crate::cuda::DriverVersion;
use crate::fact::Callers;
use crate::fact::Component;
use crate::fact::Evidence;
use crate::fact::GpuCode;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::Value;
use crate::fleet::PoolField;
use crate::knowledge::BranchRow;
use crate::knowledge::Knowledge;
use crate::knowledge::LibraryNeedsRow;
use crate::knowledge::MinorCompatRow;
use crate::knowledge::RowInfo;
use crate::knowledge::ToolkitRow;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Codes;
use crate::start::Loaded;
use crate::start::Replay;
use crate::start::Route;
use crate::start::Source;
use crate::start::Step;
use crate::start::StepRecord;
use crate::start::StepResult;
use crate::start::Wall;
use crate::start::device;
use crate::start::libraries;
use crate::start::user_mode;

const BUILD: Cite = Cite(
    "the CUDA of a build is part of its version, its image or its description; a program built without CUDA needs no driver",
);
const MINOR: Cite = Cite("NVIDIA CUDA Compatibility guide, edition 615, Minor Version Compatibility");

/// A build without CUDA never asks for a driver: what would stop others does not stop it. Nor does a container of
/// which nothing is known to call CUDA miss a GPU that its own image does without.
pub(super) fn asked(replay: Replay<'_>, record: StepRecord) -> StepRecord {
    let about_driver = matches!(record.step, Step::Loader | Step::UserMode | Step::GpuKnown);
    let no_gpu = matches!(record.result, StepResult::Stops(wall) if wall.outcome() == Outcome::NoGpu);
    let not_asked = is_without_cuda(replay) && (about_driver || no_gpu);
    if let Some(result) = of_nothing(replay, record.step).filter(|_| !matches!(record.result, StepResult::Passes(_))) {
        return StepRecord { result, ..record };
    }
    if no_gpu && is_uncalled(replay, record.step) && (record.step == Step::Loader || !does_without(replay, &record)) {
        return StepRecord { result: StepResult::Unknown, ..record };
    }
    if let Callers::Unread(list) = replay.image.callers
        && no_gpu
        && !is_container(replay)
        && does_without(replay, &record)
    {
        return StepRecord::new(record.step, StepResult::Unknown, [Basis::Image(list)], BUILD);
    }
    let without = || does_without(replay, &record) || may_do_without(replay) || libraries::lacks_its_own(replay);
    if not_asked || (no_gpu && without()) {
        return StepRecord { result: StepResult::NotApplicable, ..record };
    }
    if no_gpu && is_in_doubt(replay) {
        return StepRecord::new(record.step, StepResult::Unknown, [Basis::Image(replay.component.cuda.id)], BUILD);
    }
    record
}

/// Whether nobody knows that the component calls CUDA: of what comes in builds with and without it, runs on such, or
/// merely may be there, neither a CUDA nor GPU code is known.
pub(super) fn is_in_doubt(replay: Replay<'_>) -> bool {
    let Component { name, cuda, code, may_be, .. } = replay.component;
    let untold = cuda.is_unknown() && !code.known().is_some_and(GpuCode::holds_some);
    let of_cuda = !may_be.is_empty() && may_be.iter().all(|one| one.cuda.known().is_some());
    let mut rows = replay.knowledge.frameworks().iter().filter(|row| row.component == *name);
    let always = rows.any(|row| !row.variants && row.rides.is_none() && !row.optional) && !may_go_without(replay);
    untold && !of_cuda && !always && !says_cuda(replay) && !is_cuda_itself(replay) && !is_container(replay)
}

/// Whether it is a part of CUDA, whichever release of it: the row says so that its CUDA rests on.
fn is_cuda_itself(replay: Replay<'_>) -> bool {
    let Evidence::Derived { row: Some(row), .. } = &replay.image.facts.get(replay.component.cuda.id).evidence else {
        return false;
    };
    replay.knowledge.runtime_packages().iter().any(|one| std::ptr::eq(&raw const one.info, *row))
}

/// Whether it goes on without a GPU where libraries from outside are missing, as its last known releases do, on a base
/// without CUDA.
fn may_go_without(replay: Replay<'_>) -> bool {
    let knowledge = replay.knowledge;
    let own = |row: &&LibraryNeedsRow| {
        knowledge.framework(row.distribution).is_some_and(|framework| framework.component == replay.component.name)
    };
    let rows = || knowledge.library_needs().iter().filter(own);
    let newer = |row: &LibraryNeedsRow| rows().any(|one| one.distribution == row.distribution && one.from > row.from);
    let mut last = rows().filter(|row| !newer(row)).peekable();
    let bare = matches!(replay.image.base_cuda.state, State::Absent { .. });
    bare && last.peek().is_some() && last.all(|row| row.falls_back)
}

/// Whether the version of what is installed, or the index that it comes from, names a CUDA, if one that nobody knows it for.
pub(super) fn says_cuda(replay: Replay<'_>) -> bool {
    let facts = &replay.image.facts;
    let Evidence::Derived { from, .. } = &facts.get(replay.component.cuda.id).evidence else { return false };
    let cuda = |text: &str| text.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    from.iter().any(|id| match &facts.get(*id).state {
        State::Known(Value::Text(text)) => cuda(text) || text.rsplit_once('+').is_some_and(|(_, local)| cuda(local)),
        _ => false,
    })
}

/// Whether a step without a GPU or libcuda decides nothing, because nothing is known to call CUDA. A base with CUDA calls it.
pub(super) fn is_uncalled(replay: Replay<'_>, step: Step) -> bool {
    is_container(replay) || (step == Step::Loader && is_runtime_alone(replay))
}

/// What becomes of a step of the driver that does not pass, in an image whose GPU code is all known and that has none, where
/// nothing calls CUDA: nothing takes the step, or nobody knows what would.
pub(super) fn of_nothing(replay: Replay<'_>, step: Step) -> Option<StepResult> {
    let of_driver = matches!(step, Step::Loader | Step::UserMode | Step::GpuKnown | Step::Runtime);
    let without_code = matches!(replay.component.code.state, State::Absent { .. });
    let nobody = replay.image.callers == Callers::Nobody;
    let result = if nobody { StepResult::NotApplicable } else { StepResult::Unknown };
    (of_driver && without_code && is_runtime_alone(replay) && !is_without_cuda(replay)).then_some(result)
}

/// Whether it is the CUDA runtime of a base image or a package, and nothing is known to call it.
pub(super) fn is_runtime_alone(replay: Replay<'_>) -> bool {
    replay.component.anonymous && !replay.component.program && replay.image.callers != Callers::Seen
}

/// Whether nothing is known to call CUDA, and the image's own variables keep the GPU or the driver's libraries for
/// computing out.
pub(super) fn does_without(replay: Replay<'_>, record: &StepRecord) -> bool {
    let own = |basis| matches!(basis, Basis::Image(id) if matches!(replay.image.facts.get(id).state, State::Known(_)));
    (is_container(replay) || is_idle(replay))
        && (record.facts.iter().next().is_some_and(own) || device::wants_no_libcuda(replay.image))
}

/// Whether it has no name, and nothing is known to call CUDA.
pub(super) fn is_idle(replay: Replay<'_>) -> bool {
    is_runtime_alone(replay) && replay.image.callers != Callers::Runtime
}

/// Whether it uses a GPU only where it is told to, nobody knows that its build can, and somebody chose a build without
/// CUDA beside it: both may be meant for a node without GPUs.
fn may_do_without(replay: Replay<'_>) -> bool {
    let stepped_back = |one: &Component| one.role == Role::Extension && matches!(one.cuda.state, State::Absent { .. });
    let mut rows = replay.knowledge.frameworks().iter().filter(|row| row.component == replay.component.name);
    let optional = rows.any(|row| row.optional) && matches!(replay.component.cuda.state, State::Unknown(_));
    optional && replay.image.components.iter().any(stepped_back)
}

/// Whether this is the container itself, with nothing in it that is known to call CUDA.
pub(super) fn is_container(replay: Replay<'_>) -> bool {
    replay.component.role == Role::Container
}

/// Whether the component is certainly a build without CUDA.
pub(super) fn is_without_cuda(replay: Replay<'_>) -> bool {
    matches!(replay.component.cuda.state, State::Absent { .. })
}

/// Is there a CUDA build at all?
pub(super) fn build(replay: Replay<'_>) -> StepRecord {
    let (cuda, code) = (&replay.component.cuda, &replay.component.code);
    if cuda.is_unknown() && code.known().is_some_and(GpuCode::holds_some) {
        return StepRecord::new(Step::Build, StepResult::Passes(Route::Native), [Basis::Image(code.id)], BUILD);
    }
    let result = match &cuda.state {
        _ if is_container(replay) => StepResult::NotApplicable,
        State::Known(_) => StepResult::Passes(Route::Native),
        State::Absent { .. } => StepResult::Stops(Wall::new(Outcome::CpuOnly, Codes::NONE)),
        State::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(Step::Build, result, [Basis::Image(cuda.id)], BUILD)
}

/// Is the loaded libcuda new enough for the CUDA runtime?
pub(super) fn step(replay: Replay<'_>, loaded: &Loaded) -> StepRecord {
    let cuda = &replay.component.cuda;
    let driver = match &loaded.source {
        Some(Source::Compat(_)) => Basis::Image(replay.image.compat.id),
        Some(Source::Image(_)) => Basis::Image(replay.image.driver_libraries.id),
        _ => Basis::Pool(PoolField::Driver),
    };
    let facts = [Basis::Image(cuda.id), driver].into_iter();
    let runtime = match &cuda.state {
        State::Known(runtime) => *runtime,
        _ if is_container(replay) => return StepRecord::new(Step::Runtime, StepResult::NotApplicable, facts, MINOR),
        State::Absent { .. } => return StepRecord::new(Step::Runtime, StepResult::NotApplicable, facts, MINOR),
        State::Unknown(_) => return StepRecord::new(Step::Runtime, StepResult::Unknown, facts, MINOR),
    };
    // What goes on without a GPU looks for its libraries before it calls the first of them.
    if loaded.source == Some(Source::Nowhere) || libraries::goes_without(replay) {
        return StepRecord::new(Step::Runtime, StepResult::NotApplicable, facts, MINOR);
    }
    let (result, row) = match loaded.cuda {
        // The floors are numbers of discrete drivers: a module's driver is told by its CUDA version alone.
        Some(supported) => {
            let version = loaded.version.filter(|version| !version.is_branch() && !user_mode::is_jetson(replay));
            compared(replay.knowledge, runtime, supported, version)
        }
        // A newer driver runs every older runtime.
        None if beyond_tables(replay, loaded) && runtime.release() <= replay.knowledge.newest_cuda().release() => {
            (StepResult::Passes(Route::Native), None)
        }
        None => between(replay, loaded).map_or((StepResult::Unknown, None), |around| {
            let [below, above] = around.map(|row| compared(replay.knowledge, runtime, row.cuda, loaded.version));
            (of_both(below.0, above.0), below.1.or(above.1))
        }),
    };
    let row = row.or(replay.host.driver_row).map(Basis::Row);
    let around = between(replay, loaded).into_iter().flatten().map(|row| Basis::Row(&row.info));
    StepRecord::new(Step::Runtime, result, facts.chain(row).chain(around), MINOR)
}

/// The known branches on both sides of the loaded driver's, where its own is not known: it supports no older CUDA than
/// the one and no newer one than the other.
pub(super) fn between(replay: Replay<'_>, loaded: &Loaded) -> Option<[&'static BranchRow; 2]> {
    // Modules and Windows have numbers of their own.
    let other_numbers = loaded.source == Some(Source::Host) && (replay.host.wsl || user_mode::is_jetson(replay));
    if loaded.cuda.is_some() || other_numbers {
        return None;
    }
    replay.knowledge.branches_around(loaded.version?.branch())
}

/// What holds whichever of two results it is.
fn of_both(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Passes(one), StepResult::Passes(other)) => StepResult::Passes(one.max(other)),
        (StepResult::Stops(_), StepResult::Stops(_)) => one,
        _ => StepResult::Unknown,
    }
}

/// The floor of the runtime's CUDA, where the loaded driver lies below it and above what another document says.
pub(super) fn disputed(replay: Replay<'_>, loaded: &Loaded) -> Option<&'static MinorCompatRow> {
    let (runtime, driver) = (replay.component.cuda.known()?, loaded.version?);
    replay.knowledge.minor_compat(runtime.major()).filter(|floor| is_disputed(floor, driver))
}

fn is_disputed(floor: &MinorCompatRow, driver: DriverVersion) -> bool {
    driver < floor.min_driver && floor.from_branch.is_some_and(|branch| branch <= driver.branch())
}

/// A runtime on a driver, and the row of the floor where that decides. One of which the major alone is known may be the
/// first or the last of it.
fn compared(
    knowledge: Knowledge,
    runtime: CudaVersion,
    supported: CudaVersion,
    driver: Option<DriverVersion>,
) -> (StepResult, Option<&'static RowInfo>) {
    let first = compared_in_full(knowledge, runtime, supported, driver);
    let of_major = |row: &&ToolkitRow| runtime.is_major() && row.version.major() == runtime.major();
    let Some(last) = knowledge.toolkits().iter().rfind(of_major) else { return first };
    let last = compared_in_full(knowledge, last.version, supported, driver);
    (of_both(first.0, last.0), first.1.or(last.1))
}

fn compared_in_full(
    knowledge: Knowledge,
    runtime: CudaVersion,
    supported: CudaVersion,
    driver: Option<DriverVersion>,
) -> (StepResult, Option<&'static RowInfo>) {
    if supported.release() >= runtime.release() {
        let same = supported.release() == runtime.release();
        return driver
            .filter(|_| same)
            .map_or((StepResult::Passes(Route::Native), None), |driver| in_full(knowledge, runtime, driver));
    }
    let too_old = StepResult::Stops(Wall::new(Outcome::InsufficientDriver, Codes::certain(35)));
    let minor = StepResult::Passes(Route::MinorVersion);
    let Some(floor) = knowledge.minor_compat(runtime.major()) else {
        // A major newer than the tables asks for no less than the newest that they have.
        let newest = knowledge.minor_compats().last().filter(|_| is_beyond(knowledge, runtime));
        let enough = newest.is_some_and(|newest| supported.major() >= newest.cuda_major);
        // Majors without minor version compatibility compare in full.
        return (if enough { StepResult::Unknown } else { too_old }, newest.map(|newest| &newest.info));
    };
    let result = match driver {
        // Also where the pool declares less than its driver would have.
        _ if supported.major() < runtime.major() => too_old,
        Some(driver) if driver < floor.min_driver && !is_disputed(floor, driver) => too_old,
        // That a release which nobody has seen keeps to it was not seen either.
        _ if is_beyond(knowledge, runtime) => StepResult::Unknown,
        Some(driver) if driver >= floor.min_driver => minor,
        Some(_) => StepResult::Unknown,
        // Of the driver only its CUDA version is declared: the first one of a major has releases below the floor.
        None => {
            let first = knowledge.driver_cuda(floor.min_driver).map(|(cuda, _)| cuda.release());
            if first.is_some_and(|first| first < supported.release()) { minor } else { StepResult::Unknown }
        }
    };
    (result, Some(&floor.info))
}

/// A runtime on a driver of its own CUDA release: before minor version compatibility the release of the driver counts,
/// too, and a toolkit refuses those that are older than what NVIDIA names for it and than what its installer brings. Of a
/// driver that was ahead of its branch no document says whether the toolkit takes it.
fn in_full(
    knowledge: Knowledge,
    runtime: CudaVersion,
    driver: DriverVersion,
) -> (StepResult, Option<&'static RowInfo>) {
    let below = || too_new(knowledge, runtime, driver);
    let Some(row) = below().next() else { return (StepResult::Passes(Route::Native), None) };
    // Of a runtime that is known by its release alone every toolkit of it may be the one.
    let all = below().count() == of_release(knowledge, runtime).count();
    let too_old = StepResult::Stops(Wall::new(Outcome::InsufficientDriver, Codes::certain(35)));
    (if all && !knowledge.differs(driver) { too_old } else { StepResult::Unknown }, Some(&row.info))
}

/// The toolkits that a runtime may be of, of those for which full driver versions are compared.
fn of_release(knowledge: Knowledge, runtime: CudaVersion) -> impl Iterator<Item = &'static ToolkitRow> {
    let first = knowledge.minor_compats().first().map(|floor| floor.cuda_major);
    let in_full = first.is_some_and(|first| runtime.major() < first);
    let rows = move || knowledge.toolkits().iter().filter(move |row| row.version.release() == runtime.release());
    let exact = rows().any(|row| row.version == runtime);
    rows().filter(move |row| in_full && (!exact || row.version == runtime))
}

/// Those of them that a driver is too old for.
fn too_new(
    knowledge: Knowledge,
    runtime: CudaVersion,
    driver: DriverVersion,
) -> impl Iterator<Item = &'static ToolkitRow> {
    of_release(knowledge, runtime).filter(move |row| oldest_driver(row).is_some_and(|oldest| driver < oldest))
}

/// The oldest driver of a toolkit: that of the release notes, or an older one that its own installer brings.
fn oldest_driver(row: &ToolkitRow) -> Option<DriverVersion> {
    row.min_driver_full.into_iter().chain(row.bundled_driver).min()
}

/// The toolkit of a runtime for which the loaded driver is too old, where others of the same release take it.
pub(super) fn may_be_too_new(replay: Replay<'_>, loaded: &Loaded) -> Option<(&'static ToolkitRow, DriverVersion)> {
    let (runtime, driver) = (replay.component.cuda.known()?, loaded.version?);
    let row = too_new(replay.knowledge, *runtime, driver).next()?;
    Some((row, oldest_driver(row)?))
}

/// A loaded driver that was ahead of its branch, and the oldest one that is named for the runtime's toolkit.
pub(super) fn ahead(replay: Replay<'_>, loaded: &Loaded) -> Option<(DriverVersion, DriverVersion)> {
    let version = loaded.version.filter(|version| replay.knowledge.differs(*version))?;
    may_be_too_new(replay, loaded).map(|(_, oldest)| (version, oldest))
}

/// The oldest driver that NVIDIA names for the runtime, where the loaded one is older and of the same CUDA.
pub(super) fn named(replay: Replay<'_>, loaded: &Loaded) -> Option<DriverVersion> {
    let (runtime, supported) = (replay.component.cuda.known()?, loaded.cuda?);
    let of_major = || replay.knowledge.minor_compat(runtime.major()).map(|floor| floor.min_driver);
    let floor = may_be_too_new(replay, loaded).map(|(_, oldest)| oldest).or_else(of_major)?;
    (supported.major() == runtime.major() && supported.release() >= runtime.release()).then_some(floor)
}

/// The CUDA release that the floor of the runtime is for, and the oldest driver for it.
pub(super) fn floor(replay: Replay<'_>, loaded: &Loaded) -> Option<(String, DriverVersion)> {
    let runtime = replay.component.cuda.known()?;
    let own_numbers = user_mode::is_jetson(replay) || replay.host.wsl;
    let exact = |oldest| (runtime.to_string(), oldest);
    let of_major =
        || replay.knowledge.minor_compat(runtime.major()).map(|row| (row.cuda_major.to_string(), row.min_driver));
    let of_release = || of_release(replay.knowledge, *runtime).filter_map(oldest_driver).min().map(exact);
    named(replay, loaded).map(exact).or_else(of_major).or_else(of_release).filter(|_| !own_numbers)
}

/// Whether a runtime is of a release that the tables do not know yet.
pub(super) fn is_beyond(knowledge: Knowledge, runtime: CudaVersion) -> bool {
    // A toolkit may be out before a driver of its own.
    let newest = knowledge.toolkits().last().map(|row| row.version).unwrap_or_default();
    runtime.release() > newest.max(knowledge.newest_cuda()).release()
}

/// Whether the loaded driver is of a newer branch than the tables know.
pub(super) fn beyond_tables(replay: Replay<'_>, loaded: &Loaded) -> bool {
    let newest = replay.knowledge.newest_branch().map(|row| row.branch);
    loaded.version.zip(newest).is_some_and(|(version, newest)| newest < version.branch())
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
