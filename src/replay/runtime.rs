//! Build and runtime steps: whether there is a CUDA build, and whether the driver is new enough for it.

use crate::cuda::{CudaVersion, DriverVersion};
use crate::fleet::PoolField;
use crate::knowledge::{Knowledge, MinorCompatRow, RowInfo, ToolkitRow};
use crate::model::fact::{GpuCode, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::cuda_callers::{BUILD_CITATION, is_bare_container};
use crate::replay::user_mode::surrounding_branches;
use crate::replay::{
    Basis, Citation, CudaErrorCodes, LibcudaSource, LoadedLibcuda, Replay, ReplayFailure, StartRoute, StartStep,
    StepRecord, StepResult, libraries, user_mode,
};

/// Citation for minor version compatibility.
const MINOR_VERSION_CITATION: Citation =
    Citation("NVIDIA CUDA Compatibility guide, edition 615, Minor Version Compatibility");

/// Replays the build step: whether the component is a CUDA build.
pub(super) fn build_step(replay: Replay<'_>) -> StepRecord {
    let (cuda, code) = (&replay.component.cuda, &replay.component.code);
    if cuda.is_unknown() && code.known().is_some_and(GpuCode::has_code) {
        return StepRecord::new(
            StartStep::Build,
            StepResult::Passes(StartRoute::Native),
            [Basis::Image(code.id)],
            BUILD_CITATION,
        );
    }
    let result = match &cuda.state {
        _ if is_bare_container(replay) => StepResult::NotApplicable,
        ValueState::Known(_) => StepResult::Passes(StartRoute::Native),
        ValueState::Absent { .. } => StepResult::Stops(ReplayFailure::new(Outcome::CpuOnly, CudaErrorCodes::NONE)),
        ValueState::Unknown(_) => StepResult::Unknown,
    };
    StepRecord::new(StartStep::Build, result, [Basis::Image(cuda.id)], BUILD_CITATION)
}

/// Replays the runtime step: whether the loaded libcuda is new enough for the CUDA runtime.
pub(super) fn runtime_step(replay: Replay<'_>, loaded: &LoadedLibcuda) -> StepRecord {
    let cuda = &replay.component.cuda;
    let driver = match &loaded.source {
        Some(LibcudaSource::Compat(_)) => Basis::Image(replay.image.compat.id),
        Some(LibcudaSource::Image(_)) => Basis::Image(replay.image.driver_libraries.id),
        _ => Basis::Pool(PoolField::Driver),
    };
    let facts = [Basis::Image(cuda.id), driver].into_iter();
    let runtime = match &cuda.state {
        ValueState::Known(runtime) => *runtime,
        _ if is_bare_container(replay) => {
            return StepRecord::new(StartStep::Runtime, StepResult::NotApplicable, facts, MINOR_VERSION_CITATION);
        }
        ValueState::Absent { .. } => {
            return StepRecord::new(StartStep::Runtime, StepResult::NotApplicable, facts, MINOR_VERSION_CITATION);
        }
        ValueState::Unknown(_) => {
            return StepRecord::new(StartStep::Runtime, StepResult::Unknown, facts, MINOR_VERSION_CITATION);
        }
    };
    // A program that runs without a GPU searches for its libraries before it calls any.
    if loaded.source == Some(LibcudaSource::Nowhere) || libraries::starts_without_gpu(replay) {
        return StepRecord::new(StartStep::Runtime, StepResult::NotApplicable, facts, MINOR_VERSION_CITATION);
    }
    let (result, row) = match loaded.cuda {
        // The minimum versions are those of discrete GPUs: for a Jetson driver, only its CUDA version counts.
        Some(supported) => {
            let version = loaded.version.filter(|version| !version.is_branch_only() && !user_mode::is_jetson(replay));
            compare_driver(replay.knowledge, runtime, supported, version)
        }
        // A newer driver runs every older runtime.
        None if is_beyond_known_branches(replay, loaded)
            && runtime.release() <= replay.knowledge.newest_cuda().release() =>
        {
            (StepResult::Passes(StartRoute::Native), None)
        }
        None => surrounding_branches(replay, loaded).map_or((StepResult::Unknown, None), |around| {
            let [below, above] = around.map(|row| compare_driver(replay.knowledge, runtime, row.cuda, loaded.version));
            (common_result(below.0, above.0), below.1.or(above.1))
        }),
    };
    let row = row.or(replay.host.driver_row).map(Basis::Row);
    let around = surrounding_branches(replay, loaded).into_iter().flatten().map(|row| Basis::Row(&row.info));
    StepRecord::new(StartStep::Runtime, result, facts.chain(row).chain(around), MINOR_VERSION_CITATION)
}

/// Returns the result that holds for both of two possible results.
fn common_result(one: StepResult, other: StepResult) -> StepResult {
    match (one, other) {
        (StepResult::Passes(one), StepResult::Passes(other)) => StepResult::Passes(one.max(other)),
        (StepResult::Stops(_), StepResult::Stops(_)) => one,
        _ => StepResult::Unknown,
    }
}

/// Returns the minimum driver row of the runtime's CUDA, if the loaded driver is below it and another document
/// accepts it.
pub(super) fn disputed_floor(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<&'static MinorCompatRow> {
    let (runtime, driver) = (replay.component.cuda.known()?, loaded.version?);
    replay.knowledge.minor_compat_of(runtime.major()).filter(|floor| is_floor_disputed(floor, driver))
}

/// Whether a driver is below the minimum but within the branch that another document accepts.
fn is_floor_disputed(floor: &MinorCompatRow, driver: DriverVersion) -> bool {
    driver < floor.min_driver && floor.from_branch.is_some_and(|branch| branch <= driver.branch())
}

/// Compares a runtime with a driver; also returns the row of the minimum driver if it decides. A runtime known only
/// by its major version may be the first or the last release of it.
fn compare_driver(
    knowledge: Knowledge,
    runtime: CudaVersion,
    supported: CudaVersion,
    driver: Option<DriverVersion>,
) -> (StepResult, Option<&'static RowInfo>) {
    let first = compare_exact_runtime(knowledge, runtime, supported, driver);
    let of_major = |row: &&ToolkitRow| runtime.is_major_only() && row.version.major() == runtime.major();
    let Some(last) = knowledge.toolkits().iter().rfind(of_major) else { return first };
    let last = compare_exact_runtime(knowledge, last.version, supported, driver);
    (common_result(first.0, last.0), first.1.or(last.1))
}

/// Compares a runtime of known release with a driver.
fn compare_exact_runtime(
    knowledge: Knowledge,
    runtime: CudaVersion,
    supported: CudaVersion,
    driver: Option<DriverVersion>,
) -> (StepResult, Option<&'static RowInfo>) {
    if supported.release() >= runtime.release() {
        let same = supported.release() == runtime.release();
        return driver.filter(|_| same).map_or((StepResult::Passes(StartRoute::Native), None), |driver| {
            compare_within_release(knowledge, runtime, driver)
        });
    }
    let too_old = StepResult::Stops(ReplayFailure::new(Outcome::InsufficientDriver, CudaErrorCodes::certain(35)));
    let minor = StepResult::Passes(StartRoute::MinorVersion);
    let Some(floor) = knowledge.minor_compat_of(runtime.major()) else {
        // A newer major version than those in the tables requires at least what the newest of them does.
        let newest = knowledge.minor_compat().last().filter(|_| is_beyond_known_toolkits(knowledge, runtime));
        let enough = newest.is_some_and(|newest| supported.major() >= newest.cuda_major);
        // Majors without minor version compatibility compare in full.
        return (if enough { StepResult::Unknown } else { too_old }, newest.map(|newest| &newest.info));
    };
    let result = match driver {
        // Also where the pool declares less than its driver would have.
        _ if supported.major() < runtime.major() => too_old,
        Some(driver) if driver < floor.min_driver && !is_floor_disputed(floor, driver) => too_old,
        // Whether a release newer than the tables follows this rule is unknown.
        _ if is_beyond_known_toolkits(knowledge, runtime) => StepResult::Unknown,
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

/// Compares a runtime with a driver of the same CUDA release: before minor version compatibility, a toolkit also
/// refuses drivers older than those that NVIDIA names for it and that its installer contains. For a driver ahead of
/// its branch the result is unknown.
fn compare_within_release(
    knowledge: Knowledge,
    runtime: CudaVersion,
    driver: DriverVersion,
) -> (StepResult, Option<&'static RowInfo>) {
    let below = || toolkits_too_new_for(knowledge, runtime, driver);
    let Some(row) = below().next() else { return (StepResult::Passes(StartRoute::Native), None) };
    // Of a runtime that is known by its release alone every toolkit of it may be the one.
    let all = below().count() == toolkits_of_release(knowledge, runtime).count();
    let too_old = StepResult::Stops(ReplayFailure::new(Outcome::InsufficientDriver, CudaErrorCodes::certain(35)));
    (if all && !knowledge.has_exceptional_cuda(driver) { too_old } else { StepResult::Unknown }, Some(&row.info))
}

/// Returns the toolkits to which a runtime may belong, among those for which full driver versions are compared.
fn toolkits_of_release(knowledge: Knowledge, runtime: CudaVersion) -> impl Iterator<Item = &'static ToolkitRow> {
    let first = knowledge.minor_compat().first().map(|floor| floor.cuda_major);
    let in_full = first.is_some_and(|first| runtime.major() < first);
    let rows = move || knowledge.toolkits().iter().filter(move |row| row.version.release() == runtime.release());
    let exact = rows().any(|row| row.version == runtime);
    rows().filter(move |row| in_full && (!exact || row.version == runtime))
}

/// Returns those toolkits of a runtime for which a driver is too old.
fn toolkits_too_new_for(
    knowledge: Knowledge,
    runtime: CudaVersion,
    driver: DriverVersion,
) -> impl Iterator<Item = &'static ToolkitRow> {
    toolkits_of_release(knowledge, runtime).filter(move |row| oldest_driver(row).is_some_and(|oldest| driver < oldest))
}

/// Returns the oldest driver of a toolkit: that of the release notes, or an older one that its installer contains.
fn oldest_driver(row: &ToolkitRow) -> Option<DriverVersion> {
    row.min_driver_full.into_iter().chain(row.bundled_driver).min()
}

/// Returns the toolkit of a runtime for which the loaded driver is too old, with its oldest driver; other toolkits of
/// the same release may accept it.
pub(super) fn toolkit_too_new_for_loaded(
    replay: Replay<'_>,
    loaded: &LoadedLibcuda,
) -> Option<(&'static ToolkitRow, DriverVersion)> {
    let (runtime, driver) = (replay.component.cuda.known()?, loaded.version?);
    let row = toolkits_too_new_for(replay.knowledge, *runtime, driver).next()?;
    Some((row, oldest_driver(row)?))
}

/// Returns a loaded driver that was ahead of its branch, and the oldest driver that is named for the runtime's
/// toolkit.
pub(super) fn driver_ahead_of_branch(
    replay: Replay<'_>,
    loaded: &LoadedLibcuda,
) -> Option<(DriverVersion, DriverVersion)> {
    let version = loaded.version.filter(|version| replay.knowledge.has_exceptional_cuda(*version))?;
    toolkit_too_new_for_loaded(replay, loaded).map(|(_, oldest)| (version, oldest))
}

/// Returns the oldest driver that NVIDIA names for the runtime, if the loaded one is older and of the same CUDA major
/// version.
pub(super) fn named_minimum_driver(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<DriverVersion> {
    let (runtime, supported) = (replay.component.cuda.known()?, loaded.cuda?);
    let of_major = || replay.knowledge.minor_compat_of(runtime.major()).map(|floor| floor.min_driver);
    let floor = toolkit_too_new_for_loaded(replay, loaded).map(|(_, oldest)| oldest).or_else(of_major)?;
    (supported.major() == runtime.major() && supported.release() >= runtime.release()).then_some(floor)
}

/// Returns the CUDA version to which the minimum driver of the runtime applies, and that driver.
pub(super) fn minimum_driver(replay: Replay<'_>, loaded: &LoadedLibcuda) -> Option<(String, DriverVersion)> {
    let runtime = replay.component.cuda.known()?;
    let own_numbers = user_mode::is_jetson(replay) || replay.host.wsl;
    let exact = |oldest| (runtime.to_string(), oldest);
    let of_major =
        || replay.knowledge.minor_compat_of(runtime.major()).map(|row| (row.cuda_major.to_string(), row.min_driver));
    let of_release = || toolkits_of_release(replay.knowledge, *runtime).filter_map(oldest_driver).min().map(exact);
    named_minimum_driver(replay, loaded).map(exact).or_else(of_major).or_else(of_release).filter(|_| !own_numbers)
}

/// Whether a runtime is of a release that the knowledge tables do not contain yet.
pub(super) fn is_beyond_known_toolkits(knowledge: Knowledge, runtime: CudaVersion) -> bool {
    // A toolkit may be out before a driver of its own.
    let newest = knowledge.toolkits().last().map(|row| row.version).unwrap_or_default();
    runtime.release() > newest.max(knowledge.newest_cuda()).release()
}

/// Whether the loaded driver is of a newer branch than the knowledge tables contain.
pub(super) fn is_beyond_known_branches(replay: Replay<'_>, loaded: &LoadedLibcuda) -> bool {
    let newest = replay.knowledge.newest_driver_branch().map(|row| row.branch);
    loaded.version.zip(newest).is_some_and(|(version, newest)| newest < version.branch())
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
