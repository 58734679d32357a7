//! The processor for which an image is made: its packages, its base image and the chosen builds state it.

use crate::fact::BaseSeen;
use crate::fact::Component;
use crate::fact::Facts;
use crate::fact::MadeFor;
use crate::fact::Observations;
use crate::fact::Role;
use crate::fact::State;
use crate::infer::choice;
use crate::infer::component::OWN_RUNTIME;
use crate::knowledge::Knowledge;

/// The processor for which an image is made; `gpu_base`: its base image is for NVIDIA GPUs.
///
/// Builds that nobody chose state nothing. A chosen CUDA build takes precedence over all names.
pub(super) fn made_for(
    seen: &Observations,
    facts: &Facts,
    components: &[Component],
    gpu_base: bool,
    knowledge: Knowledge,
) -> MadeFor {
    let named = || components.iter().filter(|one| !one.anonymous || one.program);
    let has_cuda = |one: &Component| one.cuda.known().is_some();
    if named().any(|one| has_cuda(one) && choice::by_choice(facts, one.cuda.id)) {
        return MadeFor::Gpus;
    }
    if let Some(why) = by_accelerator(seen, knowledge) {
        return MadeFor::Other(why);
    }
    let expects = |one: &Component| choice::expects_gpu_build(one, knowledge);
    if named().any(|one| expects(one) || (has_cuda(one) && !choice::by_default(facts, one.cuda.id))) {
        return MadeFor::Gpus;
    }
    match by_conda(seen, knowledge).or_else(|| by_base(seen, knowledge)).or_else(|| by_builds(facts, components)) {
        Some(why) => MadeFor::Other(why),
        None if gpu_base => MadeFor::Gpus,
        None => MadeFor::Unstated,
    }
}

/// A package of another maker's accelerator.
fn by_accelerator(seen: &Observations, knowledge: Knowledge) -> Option<String> {
    seen.packages.iter().find_map(|package| {
        let row = knowledge.other_processor_of_package(&package.name)?;
        Some(format!("the package `{}` is for {}", package.name, row.processor))
    })
}

/// A conda package that selects builds for the CPU.
fn by_conda(seen: &Observations, knowledge: Knowledge) -> Option<String> {
    let selects = |name: &str| knowledge.conda_variant(name).is_some_and(|row| row.cpu);
    let package = seen.packages.iter().find(|package| selects(&package.name))?;
    Some(format!("the package `{}` selects CPU-only builds", package.name))
}

/// What the tag or the name of a framework's base image states.
fn by_base(seen: &Observations, knowledge: Knowledge) -> Option<String> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    let repository = reference.familiar();
    let last = repository.rsplit('/').next().unwrap_or(&repository);
    if !knowledge.names_framework(&repository) {
        return None;
    }
    let row_of = |word: &str| knowledge.other_processor_of_word(word);
    let of_tag = reference.tag().unwrap_or_default().split(['-', '_', '+']).find_map(row_of);
    let of_name = || last.split(['-', '_', '.']).filter_map(row_of).find(|row| row.repository);
    let row = of_tag.or_else(of_name)?;
    Some(format!("the base image `{reference}` is for {}", row.processor))
}

/// Builds without CUDA that somebody chose, with nothing beside them that may use a GPU.
fn by_builds(facts: &Facts, components: &[Component]) -> Option<String> {
    let core = || components.iter().filter(|one| one.role == Role::Core);
    let chosen = core().find(|one| choice::by_choice(facts, one.cuda.id))?;
    let without =
        |one: &Component| matches!(one.cuda.state, State::Absent { .. }) && !choice::by_default(facts, one.cuda.id);
    (chosen.name != OWN_RUNTIME && core().all(without))
        .then(|| format!("the image installs a build of {} without CUDA", chosen.name))
}
