//! Conclusions about the image alone: what was seen and the tables become the facts that the replay asks.
//!
//! No pool is in sight here. Where a tag was built several times with different contents, each build
//! gives its own facts.

mod base;
mod candidates;
mod component;
mod conda_torch;
mod driver;
mod firmware;
mod framework;
mod libraries;
mod places;
mod python;
mod runtime_packages;
mod torch;

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::ImageFacts;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Value;
use crate::fact::Why;
pub(crate) use crate::infer::base::tag_version;

use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::places::Tree;
use crate::knowledge::Knowledge;

/// Variables that the start-up asks for.
const ASKED: &[&str] = &[
    "CUDA_VERSION",
    "LD_LIBRARY_PATH",
    "NVIDIA_DISABLE_REQUIRE",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_VISIBLE_DEVICES",
];

/// The facts of every build that answers to what was seen, for one platform such as `linux/amd64`.
pub fn infer(seen: &Observations, platform: &str, as_of: Option<Date>, knowledge: Knowledge) -> Vec<ImageFacts> {
    let arch = platform.split('/').nth(1).unwrap_or(platform);
    let as_of = seen.as_of.or(as_of);
    base::builds(seen, arch, as_of, knowledge)
        .into_iter()
        .map(|build| assemble(seen, build, arch, as_of, knowledge))
        .collect()
}

fn assemble(
    seen: &Observations,
    build: BaseBuild,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> ImageFacts {
    let mut facts = seen.facts.clone();
    let base = build.fact;
    let env = environment(&mut facts, seen, &build);
    let tree = Tree::of(seen);
    let compat = driver::compat(&mut facts, seen, &tree, &build, &env, knowledge);
    let driver_libraries = driver::libraries(&mut facts, seen, &tree, &build, &compat, knowledge);
    let library_directory = places::library_directory(&mut facts, seen, &build, arch, knowledge);
    let ld_conf = places::ld_conf(&mut facts, seen, &tree, &library_directory);
    let ld_cache = places::ld_cache(&mut facts, seen);
    let compat_probe = places::compat_probe(&mut facts, seen, &build, knowledge);
    let firmware = firmware::firmware(&mut facts, seen);
    let base_cuda = base::cuda(&mut facts, &build, &env);
    let components = component::components(&mut facts, seen, &build, &base_cuda, arch, as_of, knowledge);
    let needs = libraries::needs(&mut facts, seen, &build, &components, &env, &ld_conf, knowledge);
    let platforms = match &seen.platforms {
        Some((list, fact)) => Fact { id: *fact, state: State::Known(list.clone()) },
        None => facts.add_typed(
            FactKey::Platforms,
            None,
            State::Absent { searched: "nothing fixes the platform: it is built for the one that is asked" },
            Evidence::Leaf(Vec::new()),
        ),
    };
    let gpu_content = matches!(build.family, Family::Cuda | Family::Framework)
        || components.iter().any(|component| !matches!(component.cuda.state, State::Absent { .. }))
        || env.set.iter().any(|(name, fact)| name.starts_with("NVIDIA_") && fact.known().is_some())
        || driver_libraries.known().is_some()
        || compat.known().is_some();
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
        gpu_content,
    }
}

fn environment(facts: &mut Facts, seen: &Observations, build: &BaseBuild) -> EnvFacts {
    let mut set: BTreeMap<String, Fact<String>> = BTreeMap::new();
    let (own, unknown) =
        if seen.base_env { (build.env.as_slice(), build.env_unknown.as_slice()) } else { (&[][..], &[][..]) };
    for (name, value, row) in own {
        let evidence =
            Evidence::Derived { by: Derivation::Row, from: build.fact.into_iter().collect(), row: Some(row) };
        let fact = facts.add_typed(FactKey::Env, Some(name), State::Known(value.clone()), evidence);
        set.insert((*name).to_owned(), fact);
    }
    for (name, why) in unknown {
        let evidence =
            Evidence::Derived { by: Derivation::Inheritance, from: build.fact.into_iter().collect(), row: None };
        let fact = facts.add_typed(FactKey::Env, Some(name), State::Unknown(why.clone()), evidence);
        set.insert((*name).to_owned(), fact);
    }
    for (name, (value, id)) in &seen.env {
        let state = match value {
            Ok(value) => State::Known(value.clone()),
            Err(why) => State::Unknown(why.clone()),
        };
        set.insert(name.clone(), Fact { id: *id, state });
    }
    let state = if seen.complete.env {
        State::Absent { searched: "the whole environment of the image" }
    } else if !seen.base_env {
        State::Absent { searched: "every ENV: the files of the base were copied into an empty image" }
    } else if build.env_known {
        State::Absent { searched: "the environment of the base image family and every ENV" }
    } else {
        State::Unknown(build.unseen("the environment of the image"))
    };
    let evidence = Evidence::Derived {
        by: Derivation::Inheritance,
        from: build.fact.into_iter().collect(),
        row: build.family_row,
    };
    // What the start-up asks for by name gets a fact by name, also where it is not set.
    for name in ASKED {
        if !set.contains_key(*name) {
            set.insert((*name).to_owned(), facts.add_typed(FactKey::Env, Some(name), state.clone(), evidence.clone()));
        }
    }
    EnvFacts { set, others: facts.add_typed(FactKey::Env, Some("*"), state, evidence) }
}

/// Adds a fact that could not be told.
fn unknown<T>(facts: &mut Facts, key: FactKey, of: Option<&str>, why: Why, evidence: Evidence) -> Fact<T>
where
    for<'a> Value: From<&'a T>,
{
    facts.add_typed(key, of, State::Unknown(why), evidence)
}
