//! What if the fleet were another: which verdicts change, which driver each pool needs, what is ready for new nodes.

mod change;
pub mod model;
mod print;

pub use self::change::Asked;
pub use self::change::Changed;
pub use self::change::changed;
pub use self::print::human;
pub use self::print::markdown;

use crate::compare;
use crate::compare::model::Change;
use crate::report::kinds::VerdictKind;
use crate::report::model::Missing;
use crate::report::model::Subject;
use crate::what_if::model::Image;
use crate::what_if::model::Ready;
use crate::what_if::model::Reason;

/// What changes for one image on the pools that were there before; none where nothing does.
pub fn image(before: &Subject, after: &Subject, added: &[String]) -> Option<Image> {
    let mut pools = compare::on_pools(Some(before), Some(after));
    pools.retain(|pool| !matches!(pool.change, Change::Same | Change::Gone) && !added.contains(&pool.pool));
    (!pools.is_empty()).then(|| Image { name: crate::report::words::title(after), pools })
}

/// Which images are ready for a pool that is new.
pub fn ready(pool: &str, images: &[Subject]) -> Ready {
    let mut told = Ready { pool: pool.to_owned(), ..Ready::default() };
    for image in images {
        let Some(verdict) = compare::on(image, pool) else { continue };
        let name = crate::report::words::title(image);
        if verdict.fate == VerdictKind::Starts && !verdict.not_seen.is_empty() {
            told.unseen.push(name.clone());
        }
        let list = match (verdict.fate, verdict.route.as_deref()) {
            (VerdictKind::Starts, Some("jit")) => &mut told.jit,
            (VerdictKind::Starts, _) => &mut told.ready,
            (VerdictKind::Fails, _) => &mut told.fail,
            (VerdictKind::NotApplicable, _) => continue,
            _ => {
                let known = |gap: &&Missing| !told.missing.contains(gap);
                let news: Vec<Missing> = verdict.missing.iter().filter(known).cloned().collect();
                told.missing.extend(news);
                let known = told.reasons.iter_mut().find(|reason| reason.message == verdict.message);
                if let Some(reason) = known {
                    reason.images.push(name.clone());
                } else {
                    let (message, images) = (verdict.message.clone(), vec![name.clone()]);
                    told.reasons.push(Reason { message, images });
                }
                &mut told.open
            }
        };
        list.push(name);
    }
    told.missing.sort_by_key(|gap| !gap.key.starts_with("pool."));
    told
}
