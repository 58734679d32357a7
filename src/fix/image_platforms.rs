//! Further platforms that an image can be built for: those of the pools, if its base image exists for them.

use crate::fix::fix_context::FixContext;
use crate::fix::write::has_platform_flag;
use crate::fix::{FixCandidate, ProposedChange};
use crate::infer::infer_image_facts;
use crate::model::fact::{Observations, ValueState};
use crate::model::outcome::Outcome;
use crate::report::kinds::{ChangeKind, FixSafety};

/// Returns the candidate that builds the image for the platforms of the pools that it lacks.
pub(super) fn platform_candidates(case: &FixContext<'_>) -> Vec<FixCandidate> {
    let Some((own, _)) = &case.seen.platforms else { return Vec::new() };
    if !case.has_outcome(Outcome::WrongPlatform) {
        return Vec::new();
    }
    let of_pools = case.platforms.iter().filter(|platform| !own.contains(platform));
    let missing: Vec<String> = of_pools.filter(|platform| may_have_base_for(case, platform)).cloned().collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let pinned = if has_platform_flag(case) { ", without --platform in its FROM" } else { "" };
    let title = format!("build it for {} as well{pinned}", missing.join(" and "));
    let change = ProposedChange::Platforms(missing);
    vec![FixCandidate { kind: ChangeKind::Platform, step: 0, title, safety: FixSafety::Manual, change }]
}

/// Whether the base image exists, or may exist, for a platform.
fn may_have_base_for(case: &FixContext<'_>, platform: &str) -> bool {
    let free = Observations { platforms: None, ..case.seen.clone() };
    let images = infer_image_facts(&free, platform, case.settings.as_of, case.knowledge());
    images.iter().any(|image| match &image.platforms.state {
        ValueState::Known(list) => list.iter().any(|one| one == platform),
        ValueState::Absent { .. } | ValueState::Unknown(_) => true,
    })
}
