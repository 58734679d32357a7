//! Likeness: all of an image and a component that a start-up looks at up to the libcuda that a program gets.

use std::fmt::Write as _;

use crate::fact::Component;
use crate::fact::Evidence;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::GpuCode;
use crate::fact::Role;
use crate::fact::State;
use crate::start::Replay;
use crate::start::Step;
use crate::start::requirement;
use crate::start::runtime;

/// A text that two have in common which no step up to there tells apart, on any host: with the numbers of their facts, so
/// that what is told of the one is told of the other in the same words.
pub(super) fn likeness(one: Replay<'_>) -> String {
    let Replay { image, component, .. } = one;
    let Component { name, role, cuda, code, may_be, .. } = component;
    let needs = image.needs.iter().find(|needs| needs.component == *name);
    let absent = |other: &Component| matches!(other.cuda.state, State::Absent { .. });
    let stepped_back = image.components.iter().any(|other| other.role == Role::Extension && absent(other));
    let of_cuda = !may_be.is_empty() && may_be.iter().all(|one| one.cuda.known().is_some());
    let by_entrypoint = |id: FactId| match &image.facts.get(id).evidence {
        Evidence::Derived { from, .. } => from.iter().any(|id| image.facts.get(*id).key == FactKey::Entrypoint),
        Evidence::Leaf(_) => false,
    };
    // Of its CUDA nobody asks there which it is.
    let cuda_is = match cuda.state {
        State::Known(_) => "known",
        State::Absent { .. } => "absent",
        State::Unknown(_) => "unknown",
    };
    let flags = [
        stepped_back,
        of_cuda,
        code.known().is_some_and(GpuCode::holds_some),
        runtime::says_cuda(one),
        requirement::switch_set(one),
        runtime::is_in_doubt(one),
        runtime::is_idle(one),
        runtime::of_nothing(one, Step::Loader).is_some(),
        matches!(image.base_cuda.state, State::Absent { .. }),
        image.base.is_none(),
        by_entrypoint(image.compat_probe.id),
    ];
    let files = (&image.driver_libraries, &image.library_directory, &image.ld_conf, &image.ld_cache, &image.firmware);
    let mut told = String::new();
    // Writing into a text cannot fail.
    let _ = write!(told, "{name} {role:?} {cuda_is} {:?} {flags:?} {needs:?}", cuda.id);
    let _ = write!(told, "{:?} {:?} {:?}", image.platforms, image.callers, image.env);
    let _ = write!(told, "{:?} {:?} {files:?}", image.compat, image.compat_probe);
    told
}
