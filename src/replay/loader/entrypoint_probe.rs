//! Entrypoints that test the compat library at start-up, and use it if it works.

use crate::fleet::{Mode, PoolField};
use crate::model::fact::{Evidence, FactId, FactKey, ValueState};
use crate::model::outcome::Outcome;
use crate::replay::loader::ld_cache;
use crate::replay::loader::libcuda_candidate::LibcudaCandidate;
use crate::replay::{Basis, Citation, Replay, StepResult, user_mode};

/// Citation for entrypoints that test the compat library.
pub(super) const ENTRYPOINT_PROBE_CITATION: Citation = Citation(
    "triton-inference-server/server r20.10, Dockerfile: the build removes the link to the compat library again; its issue 3518: /etc/shinit_v2 runs cudaCheck with the compat library, and links it where that succeeds",
);

/// Returns the libcuda that such an entrypoint selects: the compat library if it is newer and works, otherwise the
/// host's.
pub(super) fn find_probed_libcuda(replay: Replay<'_>) -> Option<LibcudaCandidate<'_>> {
    let probe = &replay.image.compat_probe;
    if matches!(probe.state, ValueState::Absent { .. }) {
        return None;
    }
    if replay.host.mode == Mode::None {
        return None;
    }
    if matches!(replay.image.compat.state, ValueState::Unknown(_)) {
        return Some(LibcudaCandidate::Open(Basis::Image(replay.image.compat.id)));
    }
    let library = ld_cache::regular_compat_libraries(replay).max_by_key(|library| library.version)?;
    let Some(host) = replay.host.driver else { return Some(LibcudaCandidate::Open(Basis::Pool(PoolField::Driver))) };
    if library.version <= host || replay.host.wsl {
        return Some(LibcudaCandidate::Host);
    }
    Some(match user_mode::forward_compat_result(replay, library).0 {
        StepResult::Passes(_) if probes_only_in_shell(replay) => LibcudaCandidate::Open(Basis::Image(probe.id)),
        StepResult::Passes(_) => LibcudaCandidate::Compat(library),
        StepResult::Stops(_) if probes_only_in_shell(replay) => LibcudaCandidate::Host,
        StepResult::Stops(failure) if probe.is_unknown() && failure.outcome() == Outcome::CompatNotSupported => {
            LibcudaCandidate::Open(Basis::Image(probe.id))
        }
        StepResult::Unknown => LibcudaCandidate::Open(Basis::Pool(PoolField::Gpu)),
        _ => LibcudaCandidate::Host,
    })
}

/// Whether another entrypoint may run, which tests the compat library only if it runs a shell.
fn probes_only_in_shell(replay: Replay<'_>) -> bool {
    let probe = &replay.image.compat_probe;
    let facts = &replay.image.facts;
    let own = |id: &FactId| facts.get(*id).key == FactKey::Entrypoint;
    probe.is_unknown()
        && matches!(&facts.get(probe.id).evidence, Evidence::Derived { from, .. } if from.iter().any(own))
}
