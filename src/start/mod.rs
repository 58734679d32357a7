//! The replay of the start-up: the one judge.
//!
//! For one component of an image on one host, the steps that the container runtime, the loader, libcuda
//! and the CUDA runtime take are gone through on paper, in their order. Each step is a pure function
//! that passes, stops, cannot tell, or does not apply, and names the facts that decided it. The first
//! certain stop is the fate, also behind steps that could not be told.
//!
//! Invariant: only this module makes a [`Wall`].

mod cause;
mod code;
mod common;
mod container_words;
mod coverage;
mod deciding;
mod device;
mod doubt;
mod environment;
mod fate;
mod floor;
mod gaps;
mod libraries;
mod loader;
mod mount;
#[cfg(test)]
mod old_toolkit_tests;
mod platform;
mod record;
mod request;
mod requirement;
mod runtime;
#[cfg(test)]
mod step_tests;
mod user_mode;
pub mod words;

pub use self::cause::cause;
pub use self::common::starts_everywhere;
pub use self::common::verdicts;
pub use self::coverage::{Coverage, coverage};
pub use self::deciding::deciding;
pub use self::doubt::Doubts;
pub use self::doubt::Sought;
pub use self::doubt::fails_everywhere;
pub(crate) use self::fate::field_value;
pub use self::fate::{Fate, HostFate, Verdict};
pub use self::loader::DRIVER_DIRECTORY;
pub use self::loader::{Loaded, Source};
pub use self::mount::is_in_a_hosts_place;
pub use self::record::{
    Basis, BasisList, Cite, Codes, NoRecord, Reason, Record, Route, Step, StepRecord, StepResult, Steps, Wall,
};

use crate::fact::Component;
use crate::fact::ImageFacts;
use crate::fleet::Host;
use crate::knowledge::Knowledge;

/// What every step may look at.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The image.
    pub image: &'a ImageFacts,
    /// The component.
    pub component: &'a Component,
    /// The host.
    pub host: &'a Host,
    /// The tables.
    pub knowledge: Knowledge,
}

/// Goes through the start-up of one component on one host.
///
/// The first certain stop decides. The steps behind it are taken where somebody keeps them, and nowhere else.
pub fn replay<R: Record>(replay: Replay<'_>, record: &mut R) -> Fate {
    let replay = Replay { host: platform::host_for(replay.image, replay.host), ..replay };
    let mut fate = Fate::unsettled();
    let mut done = |step: StepRecord| {
        let step = runtime::asked(replay, step);
        fate.meet(&step);
        record.record(step);
        !R::WHOLE && fate.is_decided()
    };
    let decided = done(platform::step(replay))
        || done(platform::by_toolkit(replay, platform::mode(replay)))
        || done(platform::by_toolkit(replay, device::devices(replay)))
        || done(platform::by_toolkit(replay, device::capabilities(replay)))
        || done(platform::by_toolkit(replay, requirement::step(replay)))
        || done(platform::by_toolkit(replay, mount::step(replay)))
        // What a program needs by name is resolved before it can look for libcuda.
        || done(libraries::needed(replay));
    if !decided {
        let (loaded, step) = loader::step(replay);
        let _ = done(step)
            || done(user_mode::admitted(replay, &loaded))
            || done(user_mode::gpu_known(replay, &loaded))
            || done(runtime::build(replay))
            || done(runtime::step(replay, &loaded))
            || done(code::step(replay, &loaded))
            || done(libraries::opened_later(replay));
    }
    fate.settle()
}
