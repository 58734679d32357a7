//! What a changed fleet would do: which verdicts change, which driver each pool needs, and which images are ready for
//! new nodes.

mod fleet_change;
pub mod model;
mod print;

pub use self::fleet_change::{ChangedFleet, RequestedFleetChanges, change_fleet};
pub use self::print::{write_human, write_markdown};

use crate::fix::compare;
use crate::fix::compare::model::VerdictChange;
use crate::fix::what_if::model::{PoolReadiness, UnknownVerdictReason, WhatIfImage};
use crate::replay::StartRoute;
use crate::report::kinds::VerdictKind;
use crate::report::model::{Missing, Subject};

/// Returns what changes for one image on the existing pools; `None` if nothing does.
pub fn compare_image(before: &Subject, after: &Subject, added: &[String]) -> Option<WhatIfImage> {
    let mut pools = compare::compare_pools(Some(before), Some(after));
    pools.retain(|pool| {
        !matches!(pool.change, VerdictChange::Same | VerdictChange::Gone) && !added.contains(&pool.pool)
    });
    (!pools.is_empty()).then(|| WhatIfImage { name: crate::report::phrases::subject_title(after), pools })
}

/// Returns which images are ready for a new pool.
pub fn pool_readiness(pool: &str, images: &[Subject]) -> PoolReadiness {
    let mut readiness = PoolReadiness { pool: pool.to_owned(), ..PoolReadiness::default() };
    for image in images {
        let Some(verdict) = compare::verdict_on_pool(image, pool) else { continue };
        let name = crate::report::phrases::subject_title(image);
        if verdict.fate == VerdictKind::Starts && !verdict.not_seen.is_empty() {
            readiness.unseen.push(name.clone());
        }
        let list = match (verdict.fate, verdict.route) {
            (VerdictKind::Starts, Some(StartRoute::Jit)) => &mut readiness.jit,
            (VerdictKind::Starts, _) => &mut readiness.ready,
            (VerdictKind::Fails, _) => &mut readiness.fail,
            (VerdictKind::NotApplicable, _) => continue,
            _ => {
                let known = |gap: &&Missing| !readiness.missing.contains(gap);
                let news: Vec<Missing> = verdict.missing.iter().filter(known).cloned().collect();
                readiness.missing.extend(news);
                let known = readiness.reasons.iter_mut().find(|reason| reason.message == verdict.message);
                if let Some(reason) = known {
                    reason.images.push(name.clone());
                } else {
                    let (message, images) = (verdict.message.clone(), vec![name.clone()]);
                    readiness.reasons.push(UnknownVerdictReason { message, images });
                }
                &mut readiness.open
            }
        };
        list.push(name);
    }
    readiness.missing.sort_by_key(|gap| !gap.key.starts_with("pool."));
    readiness
}
