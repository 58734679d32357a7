//! The replay of a start: its steps in their order, from the platform to the libraries that are opened later.

use crate::replay::loaded_libcuda::LoadedLibcuda;
use crate::replay::startup_result::StartupResultBuilder;
use crate::replay::{
    Replay, StartupResult, StepRecord, StepRecorder, cuda_callers, device, gpu_code, libraries, loader, mount,
    platform, requirement, runtime, user_mode,
};

/// Replays the start of one component on one host.
///
/// The first certain stop decides. Later steps are only replayed if the recorder keeps them.
pub fn replay<R: StepRecorder>(replay: Replay<'_>, record: &mut R) -> StartupResult {
    let replay = replay.with_host(platform::host_in_selected_mode(replay.image, replay.host));
    let mut startup_result = StartupResult::builder();
    if let Some(loaded) = replay_until_libcuda(replay, &mut startup_result, record) {
        replay_after_libcuda(replay, &loaded, &mut startup_result, record);
        if R::ALL_STEPS || !startup_result.is_decided() {
            replay_late_library_loads(replay, &mut startup_result, record);
        }
    }
    startup_result.build()
}

/// Records a step; returns whether no later step can change the outcome and none is requested.
fn record_step<R: StepRecorder>(
    replay: Replay<'_>,
    step: StepRecord,
    startup_result: &mut StartupResultBuilder,
    record: &mut R,
) -> bool {
    let step = cuda_callers::adjust_for_cuda_callers(replay, step);
    startup_result.add_step(&step);
    record.record(step);
    !R::ALL_STEPS && startup_result.is_decided()
}

/// Replays the steps up to the libcuda that a program loads; returns `None` if they already decide. Of the GPU, only
/// properties that hosts with the same `alike` number share may be read here.
pub(super) fn replay_until_libcuda<'a, R: StepRecorder>(
    replay: Replay<'a>,
    startup_result: &mut StartupResultBuilder,
    record: &mut R,
) -> Option<LoadedLibcuda<'a>> {
    let replay = replay.with_granted_devices();
    let mut done = |step| record_step(replay, step, startup_result, record);
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
pub(super) fn replay_after_libcuda<R: StepRecorder>(
    replay: Replay<'_>,
    loaded: &LoadedLibcuda<'_>,
    startup_result: &mut StartupResultBuilder,
    record: &mut R,
) {
    let mut done = |step| record_step(replay, step, startup_result, record);
    let _ = done(user_mode::user_mode_step(replay, loaded))
        || done(user_mode::gpu_known_step(replay, loaded))
        || done(runtime::build_step(replay))
        || done(runtime::runtime_step(replay, loaded))
        || done(gpu_code::gpu_code_step(replay, loaded));
}

/// Replays the step for libraries that the program opens while it runs.
pub(super) fn replay_late_library_loads<R: StepRecorder>(
    replay: Replay<'_>,
    startup_result: &mut StartupResultBuilder,
    record: &mut R,
) {
    record_step(replay, libraries::opened_later_step(replay), startup_result, record);
}
