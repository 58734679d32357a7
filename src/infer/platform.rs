//! The platforms of an image: as the input states, limited to those of its base image.

use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::unknown_fact::add_unknown_fact;
use crate::model::cause::Cause;
use crate::model::fact::{
    Derivation, Evidence, FactId, FactKey, Facts, InspectionDepth, Observations, TypedFact, ValueState,
};

/// The architecture of an image if nothing states another.
const DEFAULT_ARCHITECTURE: &str = "amd64";

/// Infers the platforms of the image: those requested of the build, limited to those of the base image.
///
/// A base that is there already, and that no table has, was built for whom it was built: a build for another platform than
/// the one that published images have may find none to start from.
pub(super) fn infer_platforms(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    arch: &str,
) -> TypedFact<Vec<String>> {
    let offered = build.platforms.as_ref();
    let evidence = |own: Option<FactId>, row| Evidence::Derived {
        by: Derivation::Row,
        from: build.fact.into_iter().chain(own).collect(),
        row: Some(row),
    };
    match (&seen.platforms, offered) {
        (None, Some((offered, row))) => {
            facts.add_typed(FactKey::Platforms, None, ValueState::Known(offered.clone()), evidence(None, row))
        }
        (None, None) if let Some(why) = explain_unknown_platform(build, arch) => {
            let from = build.fact.into_iter().collect();
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: build.family_row };
            add_unknown_fact(facts, FactKey::Platforms, None, why, evidence)
        }
        (None, None) => facts.add_typed(
            FactKey::Platforms,
            None,
            ValueState::Absent { searched: "the base image and the platform options of the build" },
            Evidence::Derived { by: Derivation::Inheritance, from: build.fact.into_iter().collect(), row: None },
        ),
        (Some((list, fact)), Some((offered, row)))
            if seen.depth == InspectionDepth::Text && !list.iter().all(|one| is_offered_platform(one, offered)) =>
        {
            let left: Vec<String> = list.iter().filter(|one| is_offered_platform(one, offered)).cloned().collect();
            facts.add_typed(FactKey::Platforms, None, ValueState::Known(left), evidence(Some(*fact), row))
        }
        (Some((list, fact)), _) => TypedFact { id: *fact, state: ValueState::Known(list.clone()) },
    }
}

/// Explains why it is unknown whether an existing base image is available for an architecture; `None` if it is known.
pub(super) fn explain_unknown_platform(build: &BaseBuild, arch: &str) -> Option<Cause> {
    let open = arch != DEFAULT_ARCHITECTURE
        && build.platforms.is_none()
        && build.fact.is_some()
        && build.family != BaseFamily::Plain;
    open.then(|| build.explain_unknown(&format!("support of the base image for linux/{arch}")))
}

/// Whether a platform, ignoring its variant, is among the offered ones.
fn is_offered_platform(platform: &str, offered: &[String]) -> bool {
    let named = |platform: &str| {
        let mut parts = platform.split('/').map(str::to_owned);
        (parts.next(), parts.next())
    };
    offered.iter().any(|one| named(one) == named(platform))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_variant_belongs_to_its_architecture() {
        let offered = ["linux/amd64".to_owned(), "linux/arm64".to_owned()];
        for (platform, expected) in [
            ("linux/amd64", true),
            ("linux/arm64/v8", true),
            ("linux/ppc64le", false),
            ("windows/amd64", false),
            ("linux", false),
            ("", false),
        ] {
            assert_eq!(is_offered_platform(platform, &offered), expected, "{platform}");
        }
    }
}
