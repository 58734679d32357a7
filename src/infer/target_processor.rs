//! The processor that an image is meant for, as its packages, its base image and the selected builds indicate.

use crate::infer::build_choice;
use crate::infer::component::CUDA_RUNTIME_COMPONENT;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::knowledge::{FrameworkRow, Knowledge};
use crate::model::fact::{
    Component, ComponentRole, Derivation, EnvFacts, Evidence, FactKey, Facts, InstallerBehavior, Observations,
    ObservedBase, TargetProcessor, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager};

/// Infers the processor that an image is meant for; `gpu_base`: whether its base image is for NVIDIA GPUs.
///
/// Default builds state nothing. A chosen CUDA build takes precedence over all names.
pub(super) fn infer_target_processor(
    seen: &Observations,
    facts: &Facts,
    components: &[Component],
    gpu_base: bool,
    knowledge: Knowledge,
) -> TargetProcessor {
    let named = || components.iter().filter(|one| !one.anonymous || one.program);
    let has_cuda = |one: &Component| one.cuda.known().is_some();
    if named().any(|one| has_cuda(one) && build_choice::is_explicit_variant(facts, one.cuda.id)) {
        return TargetProcessor::Gpus;
    }
    if let Some(why) = reason_from_accelerator_package(seen, knowledge) {
        return TargetProcessor::Other(why);
    }
    let expects = |one: &Component| build_choice::requires_gpu_build(one, knowledge);
    let open = |one: &Component| {
        build_choice::is_default_variant(facts, one.cuda.id) || has_only_cpu_and_gpu_wheels(seen, one, knowledge)
    };
    if named().any(|one| expects(one) || (has_cuda(one) && !open(one))) {
        return TargetProcessor::Gpus;
    }
    let other = reason_from_conda_package(seen, components, knowledge)
        .or_else(|| reason_from_base_image(seen, components, knowledge))
        .or_else(|| reason_from_explicit_builds(facts, components))
        .or_else(|| reason_from_cpu_package(seen, components, knowledge).filter(|_| !gpu_base));
    match other {
        Some(why) => TargetProcessor::Other(why),
        None if gpu_base => TargetProcessor::Gpus,
        None => TargetProcessor::Unstated,
    }
}

/// Whether all packages of a component have wheels for both CPU and GPU, and no CUDA library package is installed.
fn has_only_cpu_and_gpu_wheels(seen: &Observations, one: &Component, knowledge: Knowledge) -> bool {
    let row_of = |package: &&ObservedPackage| {
        knowledge.framework(&package.requirement.name).filter(|row| row.component == one.name)
    };
    let mut own = seen.packages.iter().filter(|package| row_of(package).is_some()).peekable();
    let for_both =
        |package: &ObservedPackage| package.variant.is_none() && row_of(&package).is_some_and(|row| row.for_both);
    let is_library =
        |package: &ObservedPackage| knowledge.library_packages().iter().any(|row| row.name == package.requirement.name);
    own.peek().is_some() && own.all(for_both) && !seen.packages.iter().any(is_library)
}

/// Returns the reason if a package is for another vendor's accelerator.
fn reason_from_accelerator_package(seen: &Observations, knowledge: Knowledge) -> Option<String> {
    seen.packages.iter().find_map(|package| {
        let row = knowledge.other_processor_of_package(&package.requirement.name)?;
        Some(format!("the package `{}` is for {}", package.requirement.name, row.processor))
    })
}

/// Returns the reason if a conda package selects CPU builds, and no other command may install a CUDA build.
fn reason_from_conda_package(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let selects = |package: &ObservedPackage, cpu: bool| {
        let of_conda = package.requirement.manager == PackageManager::Conda;
        of_conda && knowledge.conda_variant(&package.requirement.name).is_some_and(|row| row.cpu == cpu)
    };
    let package = seen.packages.iter().find(|package| selects(package, true))?;
    // Packages of one command share an environment, and those of two commands need not.
    let for_cpu = |command: u32| seen.packages.iter().any(|one| one.command == command && selects(one, true));
    let elsewhere = |one: &ObservedPackage| selects(one, false) && !for_cpu(one.command);
    let built = knowledge.framework_with_variants().map(|row| row.component);
    let may_use = |one: &Component| Some(one.name.as_str()) == built && !one.is_without_cuda();
    let for_gpus = seen.packages.iter().any(elsewhere) || components.iter().any(may_use);
    (!for_gpus).then(|| format!("the package `{}` selects CPU-only builds", package.requirement.name))
}

/// Returns the reason if the tag or name of the base image names another processor, and nothing for GPUs was added.
fn reason_from_base_image(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let ObservedBase::Image(reference, _) = &seen.base else { return None };
    let repository = reference.familiar_name();
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
    let (tag, name) = if knowledge.repository_names_framework(&repository) {
        (of_tag, of_name())
    } else {
        (of_tag.filter(|row| row.any_tag || has_no_gpu_content(seen, components)), None)
    };
    let row = tag.or(name)?;
    Some(format!("the base image `{reference}` is for {}", row.processor))
}

/// Returns the reason if the name or extra of a package states the CPU, in an image without GPU content.
fn reason_from_cpu_package(seen: &Observations, components: &[Component], knowledge: Knowledge) -> Option<String> {
    let states = |one: &&ObservedPackage| {
        let row =
            knowledge.cpu_package(&one.requirement.name).filter(|_| one.requirement.manager != PackageManager::System);
        let of_extra = || one.variant.as_deref().is_some_and(|own| knowledge.other_processor_of_word(own).is_some());
        row.is_some_and(|row| row.by_name || of_extra())
    };
    let package = seen.packages.iter().find(states).filter(|_| has_no_gpu_content(seen, components))?;
    Some(format!("the package `{}` is CPU-only", package.requirement.name))
}

/// Whether everything that commands install is known, and none of it is for GPUs.
fn has_no_gpu_content(seen: &Observations, components: &[Component]) -> bool {
    let certain = seen.packages.iter().all(|package| package.conditional.is_none());
    let all_read = seen.base_changes.installers.commands(InstallerBehavior::InstallsUnknown).is_empty()
        && seen.base_changes.unknown_wheels.is_empty();
    let installed = |one: &&Component| one.role != ComponentRole::Container && (!one.anonymous || one.program);
    let unread = seen.base_changes.builds_for_gpus || seen.base_changes.copies_unread_images;
    certain && all_read && !unread && components.iter().filter(installed).all(Component::is_without_cuda)
}

/// Returns the reason if builds without CUDA were selected explicitly, and nothing else may use a GPU.
fn reason_from_explicit_builds(facts: &Facts, components: &[Component]) -> Option<String> {
    let core = || components.iter().filter(|one| one.role == ComponentRole::Core);
    let chosen = core().find(|one| build_choice::is_explicit_variant(facts, one.cuda.id))?;
    let without = |one: &Component| one.is_without_cuda() && !build_choice::is_default_variant(facts, one.cuda.id);
    (chosen.name != CUDA_RUNTIME_COMPONENT && core().all(without))
        .then(|| format!("the image installs a build of {} without CUDA", chosen.name))
}

/// What was searched if a variable selects the CPU.
const SEARCHED_ENVIRONMENT: &str = "the environment of the image, which selects the CPU";

/// Removes CUDA from each component that a variable restricts to the CPU; unknown if the variable's value is unknown.
pub(super) fn apply_cpu_only_variables(
    facts: &mut Facts,
    components: &mut [Component],
    seen: &Observations,
    env: &EnvFacts,
    knowledge: Knowledge,
) {
    for component in components {
        let Some((name, value, row)) = cpu_only_variable(component, seen, knowledge) else { continue };
        let variable = env.get(name).clone();
        let from = vec![variable.id, component.cuda.id];
        let evidence = Evidence::Derived { by: Derivation::Row, from, row: Some(&row.info) };
        let own = component.name.clone();
        match variable.state {
            ValueState::Known(text) if text.trim() == value => {
                let absent = ValueState::Absent { searched: SEARCHED_ENVIRONMENT };
                component.cuda = facts.add_typed(FactKey::ComponentCuda, Some(&own), absent, evidence.clone());
                let absent = ValueState::Absent { searched: SEARCHED_ENVIRONMENT };
                component.code = facts.add_typed(FactKey::ComponentCode, Some(&own), absent, evidence);
                component.possible_releases.clear();
                component.lacks_required_code = false;
            }
            ValueState::Unknown(why) if seen.env.contains_key(name) => {
                component.cuda = add_unknown_fact(facts, FactKey::ComponentCuda, Some(&own), why, evidence);
                component.possible_releases.clear();
            }
            ValueState::Known(_) | ValueState::Absent { .. } | ValueState::Unknown(_) => {}
        }
    }
}

/// Returns the variable and value that restrict a component to the CPU; `None` if one of its packages has none.
fn cpu_only_variable(
    component: &Component,
    seen: &Observations,
    knowledge: Knowledge,
) -> Option<(&'static str, &'static str, &'static FrameworkRow)> {
    let packages = seen.packages.iter().filter_map(|package| knowledge.framework(&package.requirement.name));
    let mut rows = packages.filter(|row| row.component == component.name);
    let row = rows.next()?;
    let (name, value) = row.off_by?.split_once('=')?;
    rows.all(|other| other.off_by == row.off_by).then_some((name, value, row))
}
