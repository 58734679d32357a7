//! The processor for which an image is made: its packages, its base image and the chosen builds state it.

use crate::fact::BaseSeen;
use crate::fact::Component;
use crate::fact::Facts;
use crate::fact::MadeFor;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
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
    let open = |one: &Component| choice::by_default(facts, one.cuda.id) || selects_none(seen, one, knowledge);
    if named().any(|one| expects(one) || (has_cuda(one) && !open(one))) {
        return MadeFor::Gpus;
    }
    let other = by_conda(seen, components, knowledge)
        .or_else(|| by_base(seen, components, knowledge))
        .or_else(|| by_builds(facts, components))
        .or_else(|| by_packages(seen, components, knowledge).filter(|_| !gpu_base));
    match other {
        Some(why) => MadeFor::Other(why),
        None if gpu_base => MadeFor::Gpus,
        None => MadeFor::Unstated,
    }
}

/// Whether all packages of a component have wheels that are for the CPU as well as for GPUs, without libraries of CUDA.
fn selects_none(seen: &Observations, one: &Component, knowledge: Knowledge) -> bool {
    let row_of = |package: &&PackageSeen| knowledge.framework(&package.name).filter(|row| row.component == one.name);
    let mut own = seen.packages.iter().filter(|package| row_of(package).is_some()).peekable();
    let for_both =
        |package: &PackageSeen| package.variant.is_none() && row_of(&package).is_some_and(|row| row.for_both);
    let is_library = |package: &PackageSeen| knowledge.library_packages().iter().any(|row| row.name == package.name);
    own.peek().is_some() && own.all(for_both) && !seen.packages.iter().any(is_library)
}

/// A package of another maker's accelerator.
fn by_accelerator(seen: &Observations, knowledge: Knowledge) -> Option<String> {
    seen.packages.iter().find_map(|package| {
        let row = knowledge.other_processor_of_package(&package.name)?;
        Some(format!("the package `{}` is for {}", package.name, row.processor))
    })
}

/// A conda package that selects builds for the CPU, where no other command may install a build for CUDA.
fn by_conda(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let selects = |package: &PackageSeen, cpu: bool| {
        let of_conda = package.manager == Manager::Conda;
        of_conda && knowledge.conda_variant(&package.name).is_some_and(|row| row.cpu == cpu)
    };
    let package = seen.packages.iter().find(|package| selects(package, true))?;
    // Packages of one command share an environment, and those of two commands need not.
    let for_cpu = |command: u32| seen.packages.iter().any(|one| one.command == command && selects(one, true));
    let elsewhere = |one: &PackageSeen| selects(one, false) && !for_cpu(one.command);
    let built = knowledge.built_framework().map(|row| row.component);
    let may_use = |one: &Component| Some(one.name.as_str()) == built && !is_without(one);
    let for_gpus = seen.packages.iter().any(elsewhere) || components.iter().any(may_use);
    (!for_gpus).then(|| format!("the package `{}` selects CPU-only builds", package.name))
}

/// What the tag or the name of a base image states: that of a framework, or one to which nothing for GPUs was added.
fn by_base(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let BaseSeen::Image(reference, _) = &seen.base else { return None };
    let repository = reference.familiar();
    let last = repository.rsplit('/').next().unwrap_or(&repository);
    let words =
        |text: &str, signs: &[char]| -> Vec<String> { text.split(signs).map(str::to_ascii_lowercase).collect() };
    let of_tag = knowledge.other_processor_of_words(&words(reference.tag().unwrap_or_default(), &['-', '_', '+']));
    let of_name = || {
        let words = words(last, &['-', '_', '.']);
        let row = knowledge.other_processor_of_words(&words)?;
        let is_last = words.last().is_some_and(|word| word == row.name);
        (row.repository || is_last).then_some(row)
    };
    let (tag, name) = if knowledge.names_framework(&repository) {
        (of_tag, of_name())
    } else {
        (of_tag.filter(|row| row.any_tag || is_plain(seen, components)), None)
    };
    let row = tag.or(name)?;
    Some(format!("the base image `{reference}` is for {}", row.processor))
}

/// A package whose name or extra states the CPU, in an image without anything for GPUs.
fn by_packages(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let states = |one: &&PackageSeen| {
        let row = knowledge.processor_package(&one.name).filter(|_| one.manager != Manager::Apt);
        let of_extra = || one.variant.as_deref().is_some_and(|own| knowledge.other_processor_of_word(own).is_some());
        row.is_some_and(|row| row.by_name || of_extra())
    };
    let package = seen.packages.iter().find(states).filter(|_| is_plain(seen, components))?;
    Some(format!("the package `{}` is CPU-only", package.name))
}

/// Whether all that commands install is known, and nothing of it is for GPUs.
fn is_plain(seen: &Observations, components: &[Component]) -> bool {
    let certain = seen.packages.iter().all(|package| package.conditional.is_none());
    let told = seen.of_base.untold.is_empty() && seen.of_base.unknown_wheels.is_empty();
    let installed = |one: &&Component| one.role != Role::Container && (!one.anonymous || one.program);
    certain && told && !seen.of_base.builds_for_gpus && components.iter().filter(installed).all(is_without)
}

fn is_without(one: &Component) -> bool {
    matches!(one.cuda.state, State::Absent { .. })
}

/// Builds without CUDA that somebody chose, with nothing beside them that may use a GPU.
fn by_builds(facts: &Facts, components: &[Component]) -> Option<String> {
    let core = || components.iter().filter(|one| one.role == Role::Core);
    let chosen = core().find(|one| choice::by_choice(facts, one.cuda.id))?;
    let without = |one: &Component| is_without(one) && !choice::by_default(facts, one.cuda.id);
    (chosen.name != OWN_RUNTIME && core().all(without))
        .then(|| format!("the image installs a build of {} without CUDA", chosen.name))
}
