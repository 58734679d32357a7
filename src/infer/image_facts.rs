//! The facts of an image on every build that its base may be, inferred in order: each step uses those before it.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::system_paths::ImageFileTree;
use crate::infer::unknown_fact::add_unknown_fact;
use crate::infer::{
    base, build_choice, code_floor, component, constraints, cuda_callers, dependencies, driver_libraries, environment,
    firmware, libraries, nonexistent_cuda, platform, system_paths, target_processor, version_resolution,
};
use crate::knowledge::Knowledge;
use crate::model::cause::Cause;
use crate::model::fact::{
    BuildMachineProperty, CONTAINER_COMPONENT, Component, ComponentRole, Derivation, Evidence, FactKey, Facts,
    ImageFacts, InspectionDepth, Observations, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager, PackageName, PackageVersion};

/// Infers the facts of every build that matches the observations, for one platform such as `linux/amd64`.
pub fn infer_image_facts(
    seen: &Observations,
    platform: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<ImageFacts> {
    // The contents of an image for a single platform do not depend on the node.
    let own = match &seen.platforms {
        Some((list, _)) if list.len() == 1 => list.first().map(String::as_str),
        _ => None,
    };
    let own = own.and_then(|own| own.split('/').nth(1));
    let arch = own.or_else(|| platform.split('/').nth(1)).unwrap_or(platform);
    let as_of = seen.as_of.or(as_of);
    let mut builds = base::possible_base_builds(seen, arch, as_of, knowledge);
    // The environment of the base was read: the build that has it is the one.
    if !seen.base_env && seen.complete.env {
        let best = builds.iter().map(|build| count_matching_variables(build, seen)).max();
        builds.retain(|build| Some(count_matching_variables(build, seen)) == best);
        // Builds with the same environment may only differ in the compat library.
        let require = |build: &BaseBuild| build.variable("NVIDIA_REQUIRE_CUDA").map(str::to_owned);
        let first = builds.first().and_then(require);
        builds.retain(|build| require(build) == first);
        let several = builds.len() > 1;
        for build in &mut builds {
            build.variant = build.variant.take().filter(|_| several);
            build.read = true;
        }
    }
    builds.into_iter().map(|build| infer_build_facts(seen, build, arch, as_of, knowledge)).collect()
}

/// Returns observations with the packages that are installed only as dependencies in place of the possible ones.
pub fn observations_with_dependencies<'s>(
    seen: &'s Observations,
    platform: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Cow<'s, Observations> {
    if !seen.packages.iter().chain(&seen.uninstalled_packages).any(|package| package.dependent.is_some()) {
        return Cow::Borrowed(seen);
    }
    let Some(image) = infer_image_facts(seen, platform, as_of, knowledge).into_iter().next() else {
        return Cow::Borrowed(seen);
    };
    Cow::Owned(dependencies::with_selected_dependencies(seen.clone(), image.facts, image.dependencies))
}

/// Returns the observations with the packages of the base image put before them; `None` if the tables list none.
fn with_base_packages(seen: &Observations, build: &BaseBuild, arch: &str) -> Option<Observations> {
    let fact = build.fact.filter(|_| seen.base_env)?;
    let there =
        |name: &str| !seen.removed_packages.iter().any(|removed| removed.name == name && removed.location.is_none());
    let remaining = build.packages.iter().filter(|(name, _)| there(name));
    let foreign = platform::explain_unknown_platform(build, arch);
    let base_packages = remaining.map(|(name, version)| {
        let version = match &foreign {
            Some(why) => PackageVersion::Unresolved(why.clone()),
            None => PackageVersion::Exact(version.cloned()),
        };
        ObservedPackage::new(PackageManager::Pip, PackageName::python(name), version, fact)
    });
    let mut packages: Vec<ObservedPackage> = base_packages.collect();
    if packages.is_empty() {
        return None;
    }
    packages.extend(seen.packages.iter().cloned());
    Some(Observations { packages, ..seen.clone() })
}

/// Returns the observations with the packages of the base image, with constraints applied, and with an exact version for
/// every range that determines one; `None` if nothing changes.
fn with_resolved_versions(seen: &Observations, place: version_resolution::InstallContext<'_>) -> Option<Observations> {
    let with_base = with_base_packages(seen, place.build, place.arch);
    with_constraints_and_versions(with_base.as_ref().unwrap_or(seen), place).or(with_base)
}

/// Returns the observations with constraints applied, and with an exact version for every range that determines one;
/// `None` if nothing changes.
fn with_constraints_and_versions(
    seen: &Observations,
    place: version_resolution::InstallContext<'_>,
) -> Option<Observations> {
    let with_bounds = constraints::apply_constraints(seen, place.as_of, place.knowledge);
    let with_versions = version_resolution::resolve_version_ranges(with_bounds.as_ref().unwrap_or(seen), place);
    with_versions.or(with_bounds)
}

/// Returns how many environment variables of a build have the observed value.
fn count_matching_variables(build: &BaseBuild, seen: &Observations) -> usize {
    let read = |name: &str| seen.env.get(name).and_then(|(value, _)| value.as_deref().ok());
    build.env.iter().filter(|(name, value, _)| read(name) == Some(value.as_str())).count()
}

/// Infers all facts of an image on one build of its base image.
fn infer_build_facts(
    seen: &Observations,
    build: BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> ImageFacts {
    let place = version_resolution::InstallContext { build: &build, arch, as_of, knowledge };
    let plain = dependencies::without_possible_dependencies(seen);
    let resolved = with_resolved_versions(plain.as_ref().unwrap_or(seen), place);
    let (seen, dependencies) = match (&plain, resolved) {
        (None, resolved) => (resolved.map_or(Cow::Borrowed(seen), Cow::Owned), Vec::new()),
        (Some(plain), resolved) => {
            let (complete, selected) =
                dependencies::select_dependencies(seen, resolved.as_ref().unwrap_or(plain), place);
            let of_dependencies = with_constraints_and_versions(&complete, place);
            (Cow::Owned(of_dependencies.unwrap_or(complete)), selected)
        }
    };
    let seen = seen.as_ref();
    let mut facts = seen.facts.clone();
    let base = build.fact.or(seen.built_on);
    let env = environment::infer_environment(&mut facts, seen, &build);
    let tree = ImageFileTree::new(seen);
    let base_cuda = base::infer_base_cuda(&mut facts, &build, &env, seen, knowledge);
    let compat = driver_libraries::infer_compat(&mut facts, seen, &tree, &build, &env, &base_cuda, knowledge);
    let driver_libraries =
        driver_libraries::infer_driver_libraries(&mut facts, seen, &tree, &build, &compat, arch, knowledge);
    let library_directory = system_paths::infer_library_directory(&mut facts, seen, &build, arch, knowledge);
    let ld_conf = system_paths::infer_ld_conf(&mut facts, seen, &build, &tree, &library_directory);
    let ld_cache = system_paths::infer_ld_cache(&mut facts, seen, &build, knowledge);
    let compat_probe = system_paths::infer_compat_probe(&mut facts, seen, &build, knowledge);
    let firmware = firmware::infer_firmware_conflicts(&mut facts, seen);
    let mut components = component::infer_components(&mut facts, seen, &build, &base_cuda, arch, as_of, knowledge);
    target_processor::apply_cpu_only_variables(&mut facts, &mut components, seen, &env, knowledge);
    nonexistent_cuda::reject_nonexistent_cuda(&mut facts, &mut components, knowledge);
    build_choice::demote_explicit_cpu_builds(&facts, &mut components, knowledge);
    let code_floors = code_floor::infer_code_floors(&mut facts, seen, &build, &components, knowledge);
    let needs = libraries::infer_needs(&mut facts, seen, place, &components, &env, &ld_conf);
    let platforms = platform::infer_platforms(&mut facts, seen, &build, arch);
    let named = seen.depth == InspectionDepth::Text && seen.base_env && build.named;
    // A Dockerfile does not show which programs would use a GPU.
    let plain = seen.depth == InspectionDepth::Text && matches!(base_cuda.state, ValueState::Absent { .. });
    let optional = |name: &str| plain && knowledge.frameworks().iter().any(|row| row.component == name && row.optional);
    let gpu_content = named
        || matches!(build.family, BaseFamily::Cuda | BaseFamily::Framework)
        || components.iter().any(|component| is_gpu_relevant(component, seen, &facts, optional))
        || env.with_prefix("NVIDIA_").any(|(_, fact)| fact.known().is_some())
        || driver_libraries.known().is_some()
        || compat.known().is_some()
        || seen.build_probes.iter().any(|ask| ask.what == BuildMachineProperty::Variant);
    let callers = cuda_callers::detect_cuda_callers(seen, &components, knowledge);
    let unread = if gpu_content {
        None
    } else {
        cuda_callers::component_for_unread_lists(&mut facts, seen, CONTAINER_COMPONENT)
    };
    let gpu_content = gpu_content || unread.is_some();
    if let Some(unread) = unread {
        let name = unread.name.clone();
        components.push(unread);
        build_choice::demote_explicit_cpu_builds(&facts, &mut components, knowledge);
        // What was seen comes before what may be in an unread list.
        components.sort_by_key(|component| component.name == name);
    }
    if gpu_content && components.is_empty() {
        components.push(placeholder_component(&mut facts));
    }
    if let Some(claim) = seen.complete_by {
        facts.support_absences(claim);
    }
    let gpu_base = named || base_cuda.known().is_some() || build.family == BaseFamily::Cuda;
    let made_for = target_processor::infer_target_processor(seen, &facts, &components, gpu_base, knowledge);
    for component in &mut components {
        let role = component.role;
        component.possible_releases.iter_mut().for_each(|one| one.role = role);
    }
    ImageFacts {
        dependencies,
        facts,
        build: build.variant,
        platforms,
        env,
        compat,
        driver_libraries,
        library_directory,
        ld_conf,
        ld_cache,
        compat_probe,
        needs,
        firmware,
        base,
        base_cuda,
        components,
        cuda_usage: callers,
        minimum_capabilities: code_floors,
        gpu_content,
        target_processor: made_for,
    }
}

/// Whether a component is a reason to check GPUs: it has a CUDA build, or a CPU build that was not selected explicitly.
///
/// An unread base image of a Dockerfile is no such reason: most of these images never run on a GPU.
pub(super) fn is_gpu_relevant(
    component: &Component,
    seen: &Observations,
    facts: &Facts,
    optional: impl Fn(&str) -> bool,
) -> bool {
    match &component.cuda.state {
        ValueState::Known(_) => true,
        ValueState::Absent { .. } => build_choice::is_default_variant(facts, component.cuda.id),
        ValueState::Unknown(_) if optional(&component.name) => false,
        ValueState::Unknown(_) => {
            component.name != component::CUDA_RUNTIME_COMPONENT
                || !component.anonymous
                || seen.depth != InspectionDepth::Text
        }
    }
}

/// Returns the placeholder component of an image without anything that calls CUDA.
fn placeholder_component(facts: &mut Facts) -> Component {
    let why = || Cause::NoCudaProgram;
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: Vec::new(), row: None };
    Component {
        name: CONTAINER_COMPONENT.to_owned(),
        role: ComponentRole::Container,
        cuda: add_unknown_fact(facts, FactKey::ComponentCuda, Some(CONTAINER_COMPONENT), why(), evidence()),
        code: add_unknown_fact(facts, FactKey::ComponentCode, Some(CONTAINER_COMPONENT), why(), evidence()),
        error_codes: component::CUDA_RUNTIME_ERROR_CODES,
        anonymous: true,
        program: false,
        release: None,
        possible_releases: Vec::new(),
        lacks_required_code: false,
    }
}
