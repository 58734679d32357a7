//! The platforms that an image is built for: those of the pools as well, where its base is there for them.

use crate::cure::Candidate;
use crate::cure::Kind;
use crate::cure::Wish;
use crate::cure::case::Case;
use crate::cure::write::names_platform;
use crate::fact::Observations;
use crate::fact::State;
use crate::infer::infer;
use crate::report::kinds::FixSafety;

/// The image for the platforms of the pools that it is not there for.
pub(super) fn platforms(case: &Case<'_>) -> Vec<Candidate> {
    let Some((own, _)) = &case.seen.platforms else { return Vec::new() };
    if !case.ends("wrong-platform") {
        return Vec::new();
    }
    let of_pools = case.platforms.iter().filter(|platform| !own.contains(platform));
    let missing: Vec<String> = of_pools.filter(|platform| may_be_built(case, platform)).cloned().collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let pinned = if names_platform(case) { ", without --platform in its FROM" } else { "" };
    let title = format!("build it for {} as well{pinned}", missing.join(" and "));
    let wish = Wish::Platforms(missing);
    vec![Candidate { kind: Kind::Platform, step: 0, title, safety: FixSafety::Manual, wish }]
}

/// Whether the base is there for a platform, or may be.
fn may_be_built(case: &Case<'_>, platform: &str) -> bool {
    let free = Observations { platforms: None, ..case.seen.clone() };
    let images = infer(&free, platform, case.settings.as_of, case.knowledge());
    images.iter().any(|image| match &image.platforms.state {
        State::Known(list) => list.iter().any(|one| one == platform),
        State::Absent { .. } | State::Unknown(_) => true,
    })
}
