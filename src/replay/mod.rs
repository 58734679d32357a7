//! Replays the start of an image on a host, step by step, and determines how it ends.
//!
//! For one component of an image on one host, the steps that the container runtime, the loader, libcuda
//! and the CUDA runtime take are simulated in their order. Each step is a pure function
//! that passes, stops, is unknown, or does not apply, and names the facts that decided it. The first
//! certain stop is the result, even after steps whose result is unknown.
//!
//! Invariant: only this module makes a [`ReplayFailure`].

mod coverage;
mod cuda_callers;
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
mod granted_capabilities;
mod improvement;
mod libraries;
mod library_messages;
mod loaded_libcuda;
mod loader;
mod loader_equivalence;
mod minimum_capability;
mod missing_facts;
mod mount;
#[cfg(test)]
mod old_toolkit_tests;
mod platform;
mod pool_verdicts;
mod refusal_messages;
mod replay_cache;
mod replay_inputs;
mod replay_steps;
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
pub use self::loaded_libcuda::{LibcudaSource, LoadedLibcuda};
pub use self::loader::GKE_DRIVER_DIRECTORY;
pub use self::mount::is_link_at_wsl_library_path;
pub use self::pool_verdicts::{pool_verdicts, pool_verdicts_with_cache, starts_everywhere};
pub use self::replay_cache::ReplayCache;
pub use self::replay_inputs::Replay;
pub use self::replay_steps::replay;
pub(crate) use self::startup_result::pool_field_value;
pub use self::startup_result::{HostResult, StartupResult, StartupVerdict};
pub use self::step_record::{
    Basis, Citation, CudaErrorCodes, DiscardingRecorder, FullRecorder, RefusalReason, ReplayFailure, StartRoute,
    StartStep, StepEvidenceList, StepRecord, StepRecorder, StepResult,
};
