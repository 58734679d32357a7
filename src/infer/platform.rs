//! The platforms that there is an image for: as the input says, within those that its base is built for.

use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::Observations;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::unknown;

/// The architecture that an image is for where nothing says another.
const COMMON: &str = "amd64";

/// The platforms of the image. What a build is told to make it cannot make of a base that is not there for it.
///
/// A base that is there already, and that no table has, was built for whom it was built: a build for another platform than
/// the one that published images have may find none to start from.
pub(super) fn platforms(facts: &mut Facts, seen: &Observations, build: &BaseBuild, arch: &str) -> Fact<Vec<String>> {
    let offered = build.platforms.as_ref();
    let evidence = |own: Option<FactId>, row| Evidence::Derived {
        by: Derivation::Row,
        from: build.fact.into_iter().chain(own).collect(),
        row: Some(row),
    };
    match (&seen.platforms, offered) {
        (None, Some((offered, row))) => {
            facts.add_typed(FactKey::Platforms, None, State::Known(offered.clone()), evidence(None, row))
        }
        (None, None) if let Some(why) = of_another(build, arch) => {
            let from = build.fact.into_iter().collect();
            let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: build.family_row };
            unknown(facts, FactKey::Platforms, None, why, evidence)
        }
        (None, None) => facts.add_typed(
            FactKey::Platforms,
            None,
            State::Absent { searched: "the base image and the platform options of the build" },
            Evidence::Derived { by: Derivation::Inheritance, from: build.fact.into_iter().collect(), row: None },
        ),
        (Some((list, fact)), Some((offered, row)))
            if seen.depth == Depth::Text && !list.iter().all(|one| is_among(one, offered)) =>
        {
            let left: Vec<String> = list.iter().filter(|one| is_among(one, offered)).cloned().collect();
            facts.add_typed(FactKey::Platforms, None, State::Known(left), evidence(Some(*fact), row))
        }
        (Some((list, fact)), _) => Fact { id: *fact, state: State::Known(list.clone()) },
    }
}

/// Why it cannot be told whether a base image that is there already is also there for an architecture; none where the
/// tables tell it, or nothing of the image stands in the way.
pub(super) fn of_another(build: &BaseBuild, arch: &str) -> Option<Why> {
    let open = arch != COMMON && build.platforms.is_none() && build.fact.is_some() && build.family != Family::Plain;
    open.then(|| build.unseen(&format!("support of the base image for linux/{arch}")))
}

/// Whether a platform, its variant apart, is one of those.
fn is_among(platform: &str, offered: &[String]) -> bool {
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
    fn a_variant_is_of_its_architecture() {
        let offered = ["linux/amd64".to_owned(), "linux/arm64".to_owned()];
        for (platform, expected) in [
            ("linux/amd64", true),
            ("linux/arm64/v8", true),
            ("linux/ppc64le", false),
            ("windows/amd64", false),
            ("linux", false),
            ("", false),
        ] {
            assert_eq!(is_among(platform, &offered), expected, "{platform}");
        }
    }
}
