//! Replays the start of an image on a host, step by step, and determines how it ends.
//!
//! For one component of an image on one host, the steps that the container runtime, the loader, libcuda
//! and the CUDA runtime take are gone through on paper, in their order. Each step is a pure function
//! that passes, stops, cannot tell, or does not apply, and names the facts that decided it. The first
//! certain stop is the fate, also behind steps that could not be told.
//!
//! Invariant: only this module makes a [`ReplayFailure`].

mod container_messages;
mod coverage;
mod deciding_facts;
mod device;
mod display_names;
mod environment;
pub mod explanations;
mod failure_cause;
mod failure_explanation;
mod fast_hash;
mod gpu_code;
mod gpu_request;
mod improvement;
mod libraries;
mod loader;
mod loader_equivalence;
mod minimum_capability;
mod missing_facts;
mod mount;
#[cfg(test)]
mod old_toolkit_tests;
mod platform;
mod pool_verdicts;
mod replay_cache;
mod requirement;
mod runtime;
mod startup_result;
mod step_record;
#[cfg(test)]
mod step_tests;
mod user_mode;

pub use self::coverage::{CodeCoverage, CoverageShare, code_coverage};
pub use self::deciding_facts::deciding_facts;
pub use self::failure_cause::failure_cause;
pub use self::improvement::{ImprovementGoal, ImprovementGoals, fails_everywhere, is_undecided};
pub use self::loader::{GKE_DRIVER_DIRECTORY, LibcudaSource, LoadedLibcuda};
pub use self::mount::is_link_at_wsl_library_path;
pub use self::pool_verdicts::{pool_verdicts, pool_verdicts_with_cache, starts_everywhere};
pub(crate) use self::startup_result::pool_field_value;
pub use self::startup_result::{HostResult, StartupResult, StartupVerdict};
pub use self::step_record::{
    Basis, BasisList, Citation, CudaErrorCodes, DiscardingRecorder, FullRecorder, RefusalReason, ReplayFailure, Route,
    StartStep, StepRecord, StepRecorder, StepResult,
};

pub use self::replay_cache::ReplayCache;
use crate::fact::{Component, ImageFacts};
use crate::fleet::Host;
use crate::knowledge::Knowledge;
use crate::replay::device::GrantedResources;
use crate::replay::startup_result::StartupResultBuilder;

/// The inputs of a replay, which every step may read: image, component, host and knowledge tables.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The image that is started.
    pub image: &'a ImageFacts,
    /// The component whose start is replayed.
    pub component: &'a Component,
    /// The host on which it starts.
    pub host: &'a Host,
    /// The knowledge tables.
    pub knowledge: Knowledge,
    /// The devices and capabilities that the container gets on the host, once computed.
    handed: Option<GrantedResources>,
}

impl<'a> Replay<'a> {
    /// Creates the replay of a component of an image on a host.
    pub fn new(image: &'a ImageFacts, component: &'a Component, host: &'a Host, knowledge: Knowledge) -> Self {
        Self { image, component, host, knowledge, handed: None }
    }

    /// Returns the same replay on another host.
    fn with_host(self, host: &'a Host) -> Self {
        Self { host, handed: None, ..self }
    }

    /// Returns the same replay with the container's devices and capabilities computed once for all steps.
    fn with_granted_devices(self) -> Self {
        Self { handed: Some(GrantedResources::from_replay(self)), ..self }
    }
}

/// Replays the start of one component on one host.
///
/// The first certain stop decides. The steps behind it are taken where somebody keeps them, and nowhere else.
pub fn replay<R: StepRecorder>(replay: Replay<'_>, record: &mut R) -> StartupResult {
    let replay = replay.with_host(platform::host_in_selected_mode(replay.image, replay.host));
    let mut fate = StartupResult::builder();
    if let Some(loaded) = replay_until_libcuda(replay, &mut fate, record) {
        replay_after_libcuda(replay, &loaded, &mut fate, record);
        if R::ALL_STEPS || !fate.is_decided() {
            replay_late_library_loads(replay, &mut fate, record);
        }
    }
    fate.build()
}

/// Records a step; returns whether no later step can change the outcome and none is requested.
fn record_step<R: StepRecorder>(
    replay: Replay<'_>,
    step: StepRecord,
    fate: &mut StartupResultBuilder,
    record: &mut R,
) -> bool {
    let step = runtime::adjust_for_cuda_use(replay, step);
    fate.add_step(&step);
    record.record(step);
    !R::ALL_STEPS && fate.is_decided()
}

/// Replays the steps up to the libcuda that a program loads; returns `None` if they already decide. Of the GPU, only
/// properties that hosts with the same `alike` number share may be read here.
fn replay_until_libcuda<'a, R: StepRecorder>(
    replay: Replay<'a>,
    fate: &mut StartupResultBuilder,
    record: &mut R,
) -> Option<LoadedLibcuda<'a>> {
    let replay = replay.with_granted_devices();
    let mut done = |step| record_step(replay, step, fate, record);
    let decided = done(platform::platform_step(replay))
        || done(platform::unknown_for_newer_toolkit(replay, platform::mode_step(replay)))
        || done(platform::unknown_for_newer_toolkit(replay, device::devices_step(replay)))
        || done(platform::unknown_for_newer_toolkit(replay, device::capabilities_step(replay)))
        || done(platform::unknown_for_newer_toolkit(replay, requirement::requirement_step(replay)))
        || done(platform::unknown_for_newer_toolkit(replay, mount::mount_step(replay)))
        // What a program needs by name is resolved before it can look for libcuda.
        || done(libraries::libraries_step(replay));
    if decided {
        return None;
    }
    let (loaded, step) = loader::loader_step(replay);
    (!done(step)).then_some(loaded)
}

/// Replays the steps after libcuda is loaded: they depend only on the GPU, its driver, and whether the program runs
/// on without them.
fn replay_after_libcuda<R: StepRecorder>(
    replay: Replay<'_>,
    loaded: &LoadedLibcuda<'_>,
    fate: &mut StartupResultBuilder,
    record: &mut R,
) {
    let mut done = |step| record_step(replay, step, fate, record);
    let _ = done(user_mode::user_mode_step(replay, loaded))
        || done(user_mode::gpu_known_step(replay, loaded))
        || done(runtime::build_step(replay))
        || done(runtime::runtime_step(replay, loaded))
        || done(gpu_code::gpu_code_step(replay, loaded));
}

/// Replays the step for libraries that the program opens while it runs.
fn replay_late_library_loads<R: StepRecorder>(replay: Replay<'_>, fate: &mut StartupResultBuilder, record: &mut R) {
    record_step(replay, libraries::opened_later_step(replay), fate, record);
}
