//! Whether anything was seen in an image that calls CUDA: a base image that holds it is no program.

use crate::cuda::LIBCUDA;
use crate::fact::Callers;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::FactKey;
use crate::fact::Manager;
use crate::fact::NeedsSeen;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::State;
use crate::knowledge::Knowledge;

/// What was seen that calls CUDA: a package or a program of it, GPU code, a list of GPUs that something is compiled for, a
/// command that compiles for GPUs, what is copied from an image that nobody read, libraries of CUDA that a command put
/// there, or the word of who describes the image.
pub(super) fn callers(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Callers {
    let stands_for_any = |one: &Component| one.anonymous && !one.program;
    let said = seen.of_base.builds_for_gpus
        || seen.cuda_runtime.is_some()
        || !seen.code.is_empty()
        || !seen.of_base.arch_lists.is_empty();
    let asks = |file: &NeedsSeen| {
        file.needs.iter().chain(&file.opens).any(|name| name == LIBCUDA || knowledge.runtime_of(name).is_some())
    };
    // Of an image that was read, the packages of its base are among those that were seen.
    let read = seen.depth == Depth::Layers;
    let brings = |package: &PackageSeen| {
        knowledge.runtime_package(&package.name).is_some() || knowledge.carries_libraries(&package.name)
    };
    let stands = components.iter().all(stands_for_any);
    let brought = || seen.packages.iter().filter(|package| !read && brings(package));
    let runtime = |package: &PackageSeen| knowledge.runtime_package(&package.name).is_some();
    if said || !stands || seen.needs.iter().any(asks) || !brought().all(runtime) {
        return Callers::Seen;
    }
    let mut entries = seen.facts.iter();
    let unread =
        entries.find(|(_, entry)| entry.key == FactKey::Requirements && matches!(entry.state, State::Unknown(_)));
    let of_system = |package: &PackageSeen| package.manager == Manager::Apt;
    match unread {
        _ if brought().next().is_some() => Callers::Runtime,
        Some((list, _)) => Callers::Unread(list),
        None if !read && seen.complete.code && seen.packages.iter().all(of_system) => Callers::Nobody,
        None => Callers::None,
    }
}
