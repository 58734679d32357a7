//! Conclusions about the image alone: what was seen and the tables become the facts that the replay asks.
//!
//! No pool is in sight here. Where a tag was built several times with different contents, each build
//! gives its own facts.

mod along;
mod asks;
mod base;
mod bounded;
mod built_on;
mod callers;
mod candidates;
mod choice;
mod companion;
mod compat;
mod component;
mod conda_torch;
mod driver;
mod driver_libraries;
mod environment;
mod firmware;
mod floor;
mod framework;
mod held;
mod libraries;
mod looks;
mod loose;
mod made_for;
mod no_cuda;
mod of_base_gone;
mod overwritten;
mod per_cuda;
mod places;
mod platform;
mod python;
mod replaced;
mod runtime_packages;
mod settled;
mod stubs;
mod switched_off;
mod torch;
mod torch_build;
mod torch_pins;
mod torch_release;
mod torch_wheel;
mod unpaired;
mod unread;

use jiff::civil::Date;

use crate::fact::BuildAskSeen;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::ImageFacts;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Role;
use crate::fact::State;
use crate::fact::UNCALLED;
use crate::fact::Value;
use crate::fact::Why;
pub(crate) use crate::infer::base::tag_version;
pub(crate) use crate::infer::built_on::is_compiled;
pub(crate) use crate::infer::environment::ASKED;
pub(crate) use crate::infer::framework::variant_cuda;
pub(crate) use crate::infer::python::newest_of_base;
pub(crate) use crate::infer::python::python;

use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::places::Tree;
use crate::knowledge::Knowledge;

/// The facts of every build that answers to what was seen, for one platform such as `linux/amd64`.
pub fn infer(seen: &Observations, platform: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<ImageFacts> {
    // What is in an image that is of one platform does not hang on the node that it is asked for.
    let own = match &seen.platforms {
        Some((list, _)) if list.len() == 1 => list.first().map(String::as_str),
        _ => None,
    };
    let own = own.and_then(|own| own.split('/').nth(1));
    let arch = own.or_else(|| platform.split('/').nth(1)).unwrap_or(platform);
    let as_of = seen.as_of.or(as_of);
    let mut builds = base::builds(seen, arch, as_of, knowledge);
    // The environment of the base was read: the build that has it is the one.
    if !seen.base_env && seen.complete.env {
        let best = builds.iter().map(|build| agreeing(build, seen)).max();
        builds.retain(|build| Some(agreeing(build, seen)) == best);
        // What is not told apart by the environment may differ in the compat library alone.
        let require = |build: &BaseBuild| build.variable("NVIDIA_REQUIRE_CUDA").map(str::to_owned);
        let first = builds.first().and_then(require);
        builds.retain(|build| require(build) == first);
        let several = builds.len() > 1;
        for build in &mut builds {
            build.label = build.label.take().filter(|_| several);
            build.read = true;
        }
    }
    builds.into_iter().map(|build| assemble(seen, build, arch, as_of, knowledge)).collect()
}

/// What was seen, behind the packages that the tables know to be in the base image; none where they know of none.
fn with_packages_of_base(seen: &Observations, build: &BaseBuild, arch: &str) -> Option<Observations> {
    let fact = build.fact.filter(|_| seen.base_env)?;
    let there = |name: &str| !seen.gone.iter().any(|gone| gone.name == name);
    let brought = build.brings.iter().filter(|(name, _)| there(name));
    let foreign = platform::of_another(build, arch);
    let brought = brought.map(|(name, version)| {
        let version = match &foreign {
            Some(why) => PackageVersion::Unresolved(why.clone()),
            None => PackageVersion::Exact((*version).to_owned()),
        };
        PackageSeen::new(Manager::Pip, (*name).to_owned(), version, fact)
    });
    let mut packages: Vec<PackageSeen> = brought.collect();
    if packages.is_empty() {
        return None;
    }
    packages.extend(seen.packages.iter().cloned());
    Some(Observations { packages, ..seen.clone() })
}

/// How many variables of a build are as they were read.
fn agreeing(build: &BaseBuild, seen: &Observations) -> usize {
    let read = |name: &str| seen.env.get(name).and_then(|(value, _)| value.as_deref().ok());
    build.env.iter().filter(|(name, value, _)| read(name) == Some(value.as_str())).count()
}

fn assemble(
    seen: &Observations,
    build: BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> ImageFacts {
    let with_base = with_packages_of_base(seen, &build, arch);
    let seen = with_base.as_ref().unwrap_or(seen);
    let with_bounds = bounded::bounded(seen, as_of, knowledge);
    let seen = with_bounds.as_ref().unwrap_or(seen);
    let place = settled::Place { build: &build, arch, as_of, knowledge };
    let with_versions = settled::settled(seen, place);
    let seen = with_versions.as_ref().unwrap_or(seen);
    let mut facts = seen.facts.clone();
    let base = build.fact.or(seen.built_on);
    let env = environment::environment(&mut facts, seen, &build);
    let tree = Tree::of(seen);
    let base_cuda = base::cuda(&mut facts, &build, &env, seen, knowledge);
    let compat = driver::compat(&mut facts, seen, &tree, &build, &env, &base_cuda, knowledge);
    let driver_libraries = driver_libraries::libraries(&mut facts, seen, &tree, &build, &compat, arch, knowledge);
    let library_directory = places::library_directory(&mut facts, seen, &build, arch, knowledge);
    let ld_conf = places::ld_conf(&mut facts, seen, &build, &tree, &library_directory);
    let ld_cache = places::ld_cache(&mut facts, seen, &build, knowledge);
    let compat_probe = places::compat_probe(&mut facts, seen, &build, knowledge);
    let firmware = firmware::firmware(&mut facts, seen);
    let mut components = component::components(&mut facts, seen, &build, &base_cuda, arch, as_of, knowledge);
    switched_off::by_environment(&mut facts, &mut components, seen, &env, knowledge);
    no_cuda::taken_back(&mut facts, &mut components, knowledge);
    choice::step_back(&facts, &mut components, knowledge);
    let code_floors = floor::code_floors(&mut facts, seen, &build, &components, knowledge);
    let needs = libraries::needs(&mut facts, seen, place, &components, &env, &ld_conf);
    let platforms = platform::platforms(&mut facts, seen, &build, arch);
    let named = seen.depth == Depth::Text && seen.base_env && build.named;
    // A Dockerfile says nothing of the programs that would ask it for a GPU.
    let plain = seen.depth == Depth::Text && matches!(base_cuda.state, State::Absent { .. });
    let optional = |name: &str| plain && knowledge.frameworks().iter().any(|row| row.component == name && row.optional);
    let gpu_content = named
        || matches!(build.family, Family::Cuda | Family::Framework)
        || components.iter().any(|component| concerns_gpu(component, seen, &facts, optional))
        || env.beginning("NVIDIA_").any(|(_, fact)| fact.known().is_some())
        || driver_libraries.known().is_some()
        || compat.known().is_some()
        || seen.build_asks.iter().any(|ask| ask.what == BuildAskSeen::BY_DRIVER);
    let callers = callers::callers(seen, &components, knowledge);
    let unread = if gpu_content { None } else { held::unread(&mut facts, seen, UNCALLED) };
    let gpu_content = gpu_content || unread.is_some();
    components.extend(unread);
    if gpu_content && components.is_empty() {
        components.push(container(&mut facts));
    }
    if let Some(claim) = seen.complete_by {
        facts.claim(claim);
    }
    let gpu_base = named || base_cuda.known().is_some() || build.family == Family::Cuda;
    let made_for = made_for::made_for(seen, &facts, &components, gpu_base, knowledge);
    for component in &mut components {
        let role = component.role;
        component.may_be.iter_mut().for_each(|one| one.role = role);
    }
    ImageFacts {
        facts,
        build: build.label,
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
        callers,
        code_floors,
        gpu_content,
        made_for,
    }
}

/// Whether a component is a reason to ask about GPUs: it has a CUDA build, or is one without that nobody chose.
///
/// What a Dockerfile builds on and nobody has read is none: most of such images never see a GPU.
fn concerns_gpu(component: &Component, seen: &Observations, facts: &Facts, optional: impl Fn(&str) -> bool) -> bool {
    match &component.cuda.state {
        State::Known(_) => true,
        State::Absent { .. } => choice::by_default(facts, component.cuda.id),
        State::Unknown(_) if optional(&component.name) => false,
        State::Unknown(_) => {
            component.name != component::OWN_RUNTIME || !component.anonymous || seen.depth != Depth::Text
        }
    }
}

/// What stands for an image in which nothing was seen that calls CUDA.
fn container(facts: &mut Facts) -> Component {
    let why = || Why {
        reason: "the image has no known program that calls CUDA".to_owned(),
        supply: "list the packages or the [[gpu_code]] of the image in an image description".to_owned(),
    };
    let evidence = || Evidence::Derived { by: Derivation::Resolution, from: Vec::new(), row: None };
    Component {
        name: UNCALLED.to_owned(),
        role: Role::Container,
        cuda: unknown(facts, FactKey::ComponentCuda, Some(UNCALLED), why(), evidence()),
        code: unknown(facts, FactKey::ComponentCode, Some(UNCALLED), why(), evidence()),
        codes: component::PLAIN_WORDING,
        anonymous: true,
        program: false,
        release: None,
        may_be: Vec::new(),
        hollow: false,
    }
}

/// Adds a fact that could not be told.
fn unknown<T>(facts: &mut Facts, key: FactKey, of: Option<&str>, why: Why, evidence: Evidence) -> Fact<T>
where
    for<'a> Value: From<&'a T>,
{
    facts.add_typed(key, of, State::Unknown(why), evidence)
}
