//! The environment variables of an image: those of its base image, those that it sets, and what is known of all
//! others.

use std::collections::{BTreeMap, BTreeSet};

use crate::infer::base::BaseBuild;
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, EnvFacts, EnvTemplate, Evidence, FactId, FactKey, Facts, InspectionDepth, Observations, TypedFact,
    ValueState,
};

/// Environment variables that the start of a container reads.
pub(crate) const STARTUP_VARIABLES: &[&str] = &[
    "CUDA_VERSION",
    "LD_LIBRARY_PATH",
    DISABLE_REQUIRE_VARIABLE,
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_VISIBLE_DEVICES",
];

/// The environment variable that disables the requirements.
const DISABLE_REQUIRE_VARIABLE: &str = "NVIDIA_DISABLE_REQUIRE";

/// The name prefix of variables with requirements; the start of a container reads all of them.
const REQUIREMENT_PREFIX: &str = "NVIDIA_REQUIRE_";

/// Infers the environment variables of the image: those of its base image, then those that it sets.
pub(super) fn infer_environment(facts: &mut Facts, seen: &Observations, build: &BaseBuild) -> EnvFacts {
    let mut set: BTreeMap<String, TypedFact<String>> = BTreeMap::new();
    let (own, unknown) =
        if seen.base_env { (build.env.as_slice(), build.env_unknown.as_slice()) } else { (&[][..], &[][..]) };
    for (name, value, row) in own {
        let evidence =
            Evidence::Derived { by: Derivation::Row, from: build.fact.into_iter().collect(), row: Some(row) };
        let fact = facts.add_typed(FactKey::Env, Some(name), ValueState::Known(value.clone()), evidence);
        set.insert((*name).to_owned(), fact);
    }
    for (name, why) in unknown {
        let evidence =
            Evidence::Derived { by: Derivation::Inheritance, from: build.fact.into_iter().collect(), row: None };
        let fact = facts.add_typed(FactKey::Env, Some(name), ValueState::Unknown(why.clone()), evidence);
        set.insert((*name).to_owned(), fact);
    }
    // Templates build on the base's values, so that those are looked up before any is replaced.
    let of_base = set.clone();
    for (name, (value, id)) in &seen.env {
        let fact = match (value, seen.base_changes.env_templates.get(name)) {
            (Ok(value), _) => TypedFact { id: *id, state: ValueState::Known(value.clone()) },
            (Err(_), Some(template)) if seen.base_env => expand_template(facts, name, *id, template, &of_base, build),
            (Err(why), _) => TypedFact { id: *id, state: ValueState::Unknown(name_variable_in_cause(name, why)) },
        };
        set.insert(name.clone(), fact);
    }
    let state = if seen.complete.env {
        ValueState::Absent { searched: "the whole environment of the image" }
    } else if let Some(why) = &seen.base_changes.unread.env {
        ValueState::Unknown(why.clone())
    } else if !seen.base_env {
        ValueState::Absent { searched: "every ENV: the files of the base image were copied into an empty image" }
    } else if build.env_known {
        ValueState::Absent { searched: "the environment of the base image family and every ENV" }
    } else {
        ValueState::Unknown(explain_unknown_environment(seen, build))
    };
    // A description lists what its author has seen of the environment; a Dockerfile is silent about its base.
    let by = if seen.depth == InspectionDepth::Description { Derivation::Resolution } else { Derivation::Inheritance };
    let evidence = Evidence::Derived { by, from: build.fact.into_iter().collect(), row: build.family_row };
    if matches!(state, ValueState::Unknown(_)) && build.is_recipe_known() && !set.contains_key(DISABLE_REQUIRE_VARIABLE)
    {
        let searched = "the recipes of the base image's family; none sets it";
        let fact = facts.add_typed(
            FactKey::Env,
            Some(DISABLE_REQUIRE_VARIABLE),
            ValueState::Absent { searched },
            evidence.clone(),
        );
        set.insert(DISABLE_REQUIRE_VARIABLE.to_owned(), fact);
    }
    // A variable that the start-up reads by name gets a fact, even if it is not set.
    for name in STARTUP_VARIABLES {
        if !set.contains_key(*name) {
            set.insert((*name).to_owned(), facts.add_typed(FactKey::Env, Some(name), state.clone(), evidence.clone()));
        }
    }
    EnvFacts::new(set, facts.add_typed(FactKey::Env, Some("*"), state, evidence))
}

/// Returns the same reason, with the name of the variable that it is about.
fn name_variable_in_cause(name: &str, why: &Cause) -> Cause {
    if why.names_variable(name) {
        return why.clone();
    }
    Cause::EnvValue { name: name.to_owned(), because: Box::new(why.clone()) }
}

/// Joins variable names with commas.
fn join_names(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// What is unknown of a base image whose environment is unknown.
const BASE_ENVIRONMENT: &str = "the environment of the base image";

/// Explains why the environment is unknown: that of a base image is in its configuration, which a registry serves.
fn explain_unknown_environment(seen: &Observations, build: &BaseBuild) -> Cause {
    let why = build.explain_unknown(BASE_ENVIRONMENT);
    if seen.depth == InspectionDepth::Text && build.is_named_but_unread() {
        return Cause::BaseConfigNotRead { because: Box::new(why) };
    }
    why
}

/// Expands a value that refers to variables of the base image, if those are known.
fn expand_template(
    facts: &mut Facts,
    name: &str,
    id: FactId,
    template: &EnvTemplate,
    of_base: &BTreeMap<String, TypedFact<String>>,
    build: &BaseBuild,
) -> TypedFact<String> {
    let variables = template.variables();
    let used = variables.iter().filter_map(|variable| of_base.get(*variable)).map(|fact| fact.id);
    let from: Vec<FactId> = std::iter::once(id).chain(used).chain(build.fact).collect();
    let evidence = Evidence::Derived { by: Derivation::Expansion, from, row: None };
    // An unlisted variable is certainly unset only if the tables list all variables that the start-up reads.
    let is_start_variable =
        |variable: &str| STARTUP_VARIABLES.contains(&variable) || variable.starts_with(REQUIREMENT_PREFIX);
    let listed = |variable: &str| build.env_known && is_start_variable(variable);
    let unset = variables.iter().all(|variable| !of_base.contains_key(*variable) && listed(variable));
    let value = |variable: &str| match of_base.get(variable) {
        Some(fact) => fact.known().cloned(),
        None => listed(variable).then(String::new),
    };
    let known = match &template.unset {
        Some(text) if unset => Some(text.clone()),
        _ => template.expand(value),
    };
    let unknown =
        || build.explain_unknown(&if build.env_known { join_names(&variables) } else { BASE_ENVIRONMENT.to_owned() });
    let state = known.map_or_else(|| ValueState::Unknown(unknown()), ValueState::Known);
    facts.add_typed(FactKey::Env, Some(name), state, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::ImageDescription;
    use crate::extract::observe_description;
    use crate::infer::infer_image_facts;
    use crate::knowledge::Knowledge;
    use crate::model::fact::{Confidence, Origin};
    use crate::text::source::{SourceId, SourceText};

    /// Returns how certain the absence of a variable is, and from how many places it is known.
    fn absent_variable_confidence(seen: &Observations) -> Option<(Confidence, usize)> {
        let images = infer_image_facts(seen, "linux/amd64", None, Knowledge::built_in());
        let image = images.first().expect("an image");
        let fact = image.env.get("NVIDIA_VISIBLE_DEVICES");
        matches!(fact.state, ValueState::Absent { .. })
            .then(|| (image.facts.confidence(fact.id), image.facts.origins(fact.id).len()))
    }

    /// Reads observations from the text of an image description.
    fn observations_of_description(text: &str) -> Observations {
        let text = SourceText::new("x.image.toml", text.to_owned());
        observe_description(&ImageDescription::read(&text).expect("a description"), Some(SourceId(0)), None)
    }

    #[test]
    fn completeness_is_declared_by_the_description() {
        assert_eq!(
            absent_variable_confidence(&observations_of_description("complete = [\"env\"]\n")),
            Some((Confidence::Declared, 1))
        );
        assert_eq!(
            absent_variable_confidence(&observations_of_description("complete = [\"env\", \"files\"]\n")),
            Some((Confidence::Declared, 1))
        );
        // A read value needs no table; in an incomplete list nothing is absent; a set value is known.
        let mut read = Observations::new(InspectionDepth::Layers);
        read.complete.env = true;
        assert_eq!(absent_variable_confidence(&read), Some((Confidence::Measured, 0)));
        assert_eq!(absent_variable_confidence(&observations_of_description("complete = [\"files\"]\n")), None);
        assert_eq!(
            absent_variable_confidence(&observations_of_description(
                "complete = [\"env\"]\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n"
            )),
            None
        );
        assert!(matches!(observations_of_description("complete = [\"env\"]\n").complete_by, Some(FactId(0))));
        let origins = |seen: &Observations| seen.complete_by.map(|id| seen.facts.origins(id));
        assert!(matches!(
            origins(&observations_of_description("complete = [\"env\"]\n")).as_deref(),
            Some([Origin::File { .. }])
        ));
    }

    #[test]
    fn an_unknown_value_is_reported_with_its_variable() {
        let why = |reason: &str| Cause::recorded(reason, "");
        for (reason, expected) in [
            ("no default gives it a value", "the value of A_B: no default gives it a value"),
            ("the value of A_B is unknown", "the value of A_B is unknown"),
            ("A_B is unknown", "A_B is unknown"),
            ("A_BC is unknown", "the value of A_B: A_BC is unknown"),
            ("XA_B is unknown", "the value of A_B: XA_B is unknown"),
        ] {
            assert_eq!(name_variable_in_cause("A_B", &why(reason)).reason(), expected);
        }
    }
}
