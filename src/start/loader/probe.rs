//! Entrypoints that try the compat library themselves, and use it where it works.

use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::State;
use crate::fleet::Mode;
use crate::fleet::PoolField;
use crate::outcome::Outcome;
use crate::start::Basis;
use crate::start::Cite;
use crate::start::Replay;
use crate::start::StepResult;
use crate::start::loader::Found;
use crate::start::loader::cache;
use crate::start::user_mode;

pub(super) const CITE: Cite = Cite(
    "triton-inference-server/server r20.10, Dockerfile: the build removes the link to the compat library again; its issue 3518: /etc/shinit_v2 runs cudaCheck with the compat library, and links it where that succeeds",
);

/// What such an entrypoint ends with: the compat library where it is newer and works, else the host's.
pub(super) fn search(replay: Replay<'_>) -> Option<Found<'_>> {
    let probe = &replay.image.compat_probe;
    if matches!(probe.state, State::Absent { .. }) {
        return None;
    }
    if replay.host.mode == Mode::None {
        return None;
    }
    if matches!(replay.image.compat.state, State::Unknown(_)) {
        return Some(Found::Open(Basis::Image(replay.image.compat.id)));
    }
    let library = cache::compat_libraries(replay).max_by_key(|library| library.version)?;
    let Some(host) = replay.host.driver else { return Some(Found::Open(Basis::Pool(PoolField::Driver))) };
    if library.version <= host || replay.host.wsl {
        return Some(Found::Host);
    }
    Some(match user_mode::forward(replay, library).0 {
        StepResult::Passes(_) if by_shell(replay) => Found::Open(Basis::Image(probe.id)),
        StepResult::Passes(_) => Found::Compat(library),
        StepResult::Stops(_) if by_shell(replay) => Found::Host,
        StepResult::Stops(wall) if probe.is_unknown() && wall.outcome() == Outcome::CompatNotSupported => {
            Found::Open(Basis::Image(probe.id))
        }
        StepResult::Unknown => Found::Open(Basis::Pool(PoolField::Gpu)),
        _ => Found::Host,
    })
}

/// Whether another entrypoint is at work, which tries the library where it runs a shell and nowhere else.
fn by_shell(replay: Replay<'_>) -> bool {
    let probe = &replay.image.compat_probe;
    let facts = &replay.image.facts;
    let own = |id: &FactId| facts.get(*id).key == FactKey::Entrypoint;
    probe.is_unknown()
        && matches!(&facts.get(probe.id).evidence, Evidence::Derived { from, .. } if from.iter().any(own))
}
