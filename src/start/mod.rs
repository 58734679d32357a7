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
mod failure;
mod fate;
mod floor;
mod gaps;
mod libraries;
mod likeness;
mod loader;
mod mount;
mod names;
mod numbers;
#[cfg(test)]
mod old_toolkit_tests;
mod platform;
mod record;
mod request;
mod requirement;
mod runtime;
mod shared;
#[cfg(test)]
mod step_tests;
mod user_mode;
pub mod words;

pub use self::cause::cause;
pub use self::common::starts_everywhere;
pub use self::common::verdicts;
pub use self::common::verdicts_of;
pub use self::coverage::{Coverage, Share, coverage};
pub use self::deciding::deciding;
pub use self::doubt::Doubts;
pub use self::doubt::Sought;
pub use self::doubt::fails_everywhere;
pub use self::doubt::is_open;
pub(crate) use self::fate::field_value;
pub use self::fate::{Fate, HostFate, Verdict};
pub use self::loader::DRIVER_DIRECTORY;
pub use self::loader::{Loaded, Source};
pub use self::mount::is_in_a_hosts_place;
pub use self::record::{
    Basis, BasisList, Cite, Codes, NoRecord, Reason, Record, Route, Step, StepRecord, StepResult, Steps, Wall,
};

pub use self::shared::Shared;
use crate::fact::Component;
use crate::fact::ImageFacts;
use crate::fleet::Host;
use crate::knowledge::Knowledge;
use crate::start::device::Handed;
use crate::start::fate::Unsettled;

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
    /// What is handed to a container of the image on the host, once that was told.
    handed: Option<Handed>,
}

impl<'a> Replay<'a> {
    /// That of a component of an image on a host.
    pub fn of(image: &'a ImageFacts, component: &'a Component, host: &'a Host, knowledge: Knowledge) -> Self {
        Self { image, component, host, knowledge, handed: None }
    }

    /// The same on another host.
    fn on(self, host: &'a Host) -> Self {
        Self { host, handed: None, ..self }
    }

    /// The same, with what is handed to the container told once for all steps.
    fn handed(self) -> Self {
        Self { handed: Some(Handed::of(self)), ..self }
    }
}

/// Goes through the start-up of one component on one host.
///
/// The first certain stop decides. The steps behind it are taken where somebody keeps them, and nowhere else.
pub fn replay<R: Record>(replay: Replay<'_>, record: &mut R) -> Fate {
    let replay = replay.on(platform::host_for(replay.image, replay.host));
    let mut fate = Fate::unsettled();
    if let Some(loaded) = before(replay, &mut fate, record) {
        behind(replay, &loaded, &mut fate, record);
        if R::WHOLE || !fate.is_decided() {
            later(replay, &mut fate, record);
        }
    }
    fate.settle()
}

/// Takes a step; whether no later one can change the fate, and nobody asks for it.
fn take<R: Record>(replay: Replay<'_>, step: StepRecord, fate: &mut Unsettled, record: &mut R) -> bool {
    let step = runtime::asked(replay, step);
    fate.meet(&step);
    record.record(step);
    !R::WHOLE && fate.is_decided()
}

/// Up to the libcuda that a program gets, on a host as it behaves for the image; none where all is decided before. Of the
/// GPU nothing is looked at here but what [`Alike`](crate::fleet::Alike) counts.
fn before<'a, R: Record>(replay: Replay<'a>, fate: &mut Unsettled, record: &mut R) -> Option<Loaded<'a>> {
    let replay = replay.handed();
    let mut done = |step| take(replay, step, fate, record);
    let decided = done(platform::step(replay))
        || done(platform::by_toolkit(replay, platform::mode(replay)))
        || done(platform::by_toolkit(replay, device::devices(replay)))
        || done(platform::by_toolkit(replay, device::capabilities(replay)))
        || done(platform::by_toolkit(replay, requirement::step(replay)))
        || done(platform::by_toolkit(replay, mount::step(replay)))
        // What a program needs by name is resolved before it can look for libcuda.
        || done(libraries::needed(replay));
    if decided {
        return None;
    }
    let (loaded, step) = loader::step(replay);
    (!done(step)).then_some(loaded)
}

/// Behind that libcuda: the GPU and its driver alone count here, and whether what runs goes on without them.
fn behind<R: Record>(replay: Replay<'_>, loaded: &Loaded<'_>, fate: &mut Unsettled, record: &mut R) {
    let mut done = |step| take(replay, step, fate, record);
    let _ = done(user_mode::admitted(replay, loaded))
        || done(user_mode::gpu_known(replay, loaded))
        || done(runtime::build(replay))
        || done(runtime::step(replay, loaded))
        || done(code::step(replay, loaded));
}

/// What is opened once it runs, as the container lets it.
fn later<R: Record>(replay: Replay<'_>, fate: &mut Unsettled, record: &mut R) {
    take(replay, libraries::opened_later(replay), fate, record);
}
