//! The environment of an image: what its base sets, what it sets itself, and what is known of all the rest.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::EnvTemplate;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;

/// Variables that the start-up asks for.
pub(crate) const ASKED: &[&str] = &[
    "CUDA_VERSION",
    "LD_LIBRARY_PATH",
    SWITCH,
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_VISIBLE_DEVICES",
];

/// The variable that switches the requirements off.
const SWITCH: &str = "NVIDIA_DISABLE_REQUIRE";

/// How variables with requirements begin: whichever there are, the start-up asks for all of them.
const REQUIREMENT: &str = "NVIDIA_REQUIRE_";

/// The variables of the image: those of its base, then its own.
pub(super) fn environment(facts: &mut Facts, seen: &Observations, build: &BaseBuild) -> EnvFacts {
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
    // Templates build on the base's values, so that those are looked up before any is replaced.
    let of_base = set.clone();
    for (name, (value, id)) in &seen.env {
        let fact = match (value, seen.of_base.env_templates.get(name)) {
            (Ok(value), _) => Fact { id: *id, state: State::Known(value.clone()) },
            (Err(_), Some(template)) if seen.base_env => filled(facts, name, *id, template, &of_base, build),
            (Err(why), _) => Fact { id: *id, state: State::Unknown(about(name, why)) },
        };
        set.insert(name.clone(), fact);
    }
    let state = if seen.complete.env {
        State::Absent { searched: "the whole environment of the image" }
    } else if let Some(why) = &seen.of_base.unread.env {
        State::Unknown(why.clone())
    } else if !seen.base_env {
        State::Absent { searched: "every ENV: the files of the base image were copied into an empty image" }
    } else if build.env_known {
        State::Absent { searched: "the environment of the base image family and every ENV" }
    } else {
        State::Unknown(unread(seen, build))
    };
    // A description lists what its author has seen of the environment; a Dockerfile is silent about its base.
    let by = if seen.depth == Depth::Description { Derivation::Resolution } else { Derivation::Inheritance };
    let evidence = Evidence::Derived { by, from: build.fact.into_iter().collect(), row: build.family_row };
    if matches!(state, State::Unknown(_)) && build.is_recipe_known() && !set.contains_key(SWITCH) {
        let searched = "the recipes of the base image's family; none sets it";
        let fact = facts.add_typed(FactKey::Env, Some(SWITCH), State::Absent { searched }, evidence.clone());
        set.insert(SWITCH.to_owned(), fact);
    }
    // What the start-up asks for by name gets a fact by name, also where it is not set.
    for name in ASKED {
        if !set.contains_key(*name) {
            set.insert((*name).to_owned(), facts.add_typed(FactKey::Env, Some(name), state.clone(), evidence.clone()));
        }
    }
    EnvFacts::of(set, facts.add_typed(FactKey::Env, Some("*"), state, evidence))
}

/// The same reason with the variable that it is about.
fn about(name: &str, why: &Why) -> Why {
    let named = why.reason.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').any(|word| word == name);
    let reason = if named { why.reason.clone() } else { format!("the value of {name}: {}", why.reason) };
    Why { reason, supply: why.supply.clone() }
}

fn listed_names(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// What is unknown of a base whose environment is unknown.
const OF_BASE: &str = "the environment of the base image";

/// Why the environment is not known: that of a base is in its configuration, which a registry serves.
fn unread(seen: &Observations, build: &BaseBuild) -> Why {
    let mut why = build.unseen(OF_BASE);
    if seen.depth == Depth::Text && build.is_unread() {
        why.supply = format!("read its configuration with `imagelint check --pull`, {}", why.supply);
    }
    why
}

/// A value that builds on the base's: with what the base sets, where that is known.
fn filled(
    facts: &mut Facts,
    name: &str,
    id: FactId,
    template: &EnvTemplate,
    of_base: &BTreeMap<String, Fact<String>>,
    build: &BaseBuild,
) -> Fact<String> {
    let variables = template.variables();
    let used = variables.iter().filter_map(|variable| of_base.get(*variable)).map(|fact| fact.id);
    let from: Vec<FactId> = std::iter::once(id).chain(used).chain(build.fact).collect();
    let evidence = Evidence::Derived { by: Derivation::Expansion, from, row: None };
    // What is not in the tables is certainly not set only where they list all that the start-up asks for.
    let asked = |variable: &str| ASKED.contains(&variable) || variable.starts_with(REQUIREMENT);
    let listed = |variable: &str| build.env_known && asked(variable);
    let unset = variables.iter().all(|variable| !of_base.contains_key(*variable) && listed(variable));
    let value = |variable: &str| match of_base.get(variable) {
        Some(fact) => fact.known().cloned(),
        None => listed(variable).then(String::new),
    };
    let known = match &template.unset {
        Some(text) if unset => Some(text.clone()),
        _ => template.filled(value),
    };
    let unknown = || build.unseen(&if build.env_known { listed_names(&variables) } else { OF_BASE.to_owned() });
    let state = known.map_or_else(|| State::Unknown(unknown()), State::Known);
    facts.add_typed(FactKey::Env, Some(name), state, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Description;
    use crate::extract::of_description;
    use crate::fact::Confidence;
    use crate::fact::Origin;
    use crate::infer::infer;
    use crate::knowledge::Knowledge;
    use crate::source::SourceId;
    use crate::source::SourceText;

    /// How far the absence of a variable can be trusted, and where it is said.
    fn unset(seen: &Observations) -> Option<(Confidence, usize)> {
        let images = infer(seen, "linux/amd64", None, Knowledge::built_in());
        let image = images.first().expect("an image");
        let fact = image.env.get("NVIDIA_VISIBLE_DEVICES");
        matches!(fact.state, State::Absent { .. })
            .then(|| (image.facts.confidence(fact.id), image.facts.origins(fact.id).len()))
    }

    fn described(text: &str) -> Observations {
        let text = SourceText::new("x.image.toml", text.to_owned());
        of_description(&Description::read(&text).expect("a description"), Some(SourceId(0)), None)
    }

    #[test]
    fn that_all_is_listed_is_somebodys_word() {
        assert_eq!(unset(&described("complete = [\"env\"]\n")), Some((Confidence::Declared, 1)));
        assert_eq!(unset(&described("complete = [\"env\", \"files\"]\n")), Some((Confidence::Declared, 1)));
        // What was read needs nobody's word; what is not listed whole is not absent; what is set is what it is.
        let mut read = Observations::new(Depth::Layers);
        read.complete.env = true;
        assert_eq!(unset(&read), Some((Confidence::Measured, 0)));
        assert_eq!(unset(&described("complete = [\"files\"]\n")), None);
        assert_eq!(unset(&described("complete = [\"env\"]\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n")), None);
        assert!(matches!(described("complete = [\"env\"]\n").complete_by, Some(FactId(0))));
        let origins = |seen: &Observations| seen.complete_by.map(|id| seen.facts.origins(id));
        assert!(matches!(origins(&described("complete = [\"env\"]\n")).as_deref(), Some([Origin::File { .. }])));
    }

    #[test]
    fn a_value_that_cannot_be_told_is_told_with_its_name() {
        let why = |reason: &str| Why { reason: reason.to_owned(), supply: String::new() };
        for (reason, expected) in [
            ("no default gives it a value", "the value of A_B: no default gives it a value"),
            ("the value of A_B is unknown", "the value of A_B is unknown"),
            ("A_B is unknown", "A_B is unknown"),
            ("A_BC is unknown", "the value of A_B: A_BC is unknown"),
            ("XA_B is unknown", "the value of A_B: XA_B is unknown"),
        ] {
            assert_eq!(about("A_B", &why(reason)).reason, expected);
        }
    }
}
