//! Describes how to split the pools between two images, where no single change makes one image start on all.

use std::collections::BTreeSet;

use crate::fix::TestedFix;
use crate::fix::fix_context::FixContext;
use crate::fix::trial_verdict::trial_verdicts;
use crate::report::kinds::{ChangeKind, VerdictKind};

/// Describes the smallest split of the pools; `None` where one change suffices or nothing helps.
pub(super) fn describe_split(case: &FixContext<'_>, tried: &[TestedFix]) -> Option<String> {
    let before = trial_verdicts(case.before);
    let decided_pools: BTreeSet<&str> = before
        .iter()
        .filter(|one| matches!(one.verdict, VerdictKind::Starts | VerdictKind::Fails))
        .map(|one| one.pool.as_str())
        .collect();
    let starts = |list: &'_ [crate::fix::TrialVerdict]| -> BTreeSet<String> {
        list.iter().filter(|one| one.verdict == VerdictKind::Starts).map(|one| one.pool.clone()).collect()
    };
    let whole = |set: &BTreeSet<String>| decided_pools.iter().all(|pool| set.contains(*pool));
    let of_image = |one: &&TestedFix| one.kind.changes_image();
    let mut images: Vec<(String, BTreeSet<String>)> = vec![("the image as it is".to_owned(), starts(&before))];
    images.extend(tried.iter().filter(of_image).map(|one| (one.title.clone(), starts(&one.verdicts))));
    if decided_pools.len() == 1 && tried.is_empty() && before.iter().any(|one| one.verdict == VerdictKind::Fails) {
        return Some(format!(
            "no known change makes it start on {}",
            quoted_pool_names(&owned_pool_names(&decided_pools))
        ));
    }
    if decided_pools.len() < 2 || images.iter().any(|(_, set)| whole(set)) {
        return None;
    }
    let both = images.iter().enumerate().find_map(|(at, (title, set))| {
        let other = images.iter().skip(at + 1).find(|(_, other)| whole(&set.union(other).cloned().collect()))?;
        let rest: BTreeSet<String> = other.1.difference(set).cloned().collect();
        Some((title.clone(), set.clone(), other.0.clone(), rest))
    });
    let driver = tried.iter().find(|one| one.kind == ChangeKind::Driver && whole(&starts(&one.verdicts)));
    let or_driver = driver.map(|one| one.title.clone());
    if let Some((first, on, second, rest)) = both {
        let driver = or_driver.map_or_else(String::new, |title| format!("; or {title}"));
        let (on, rest) = (quoted_pool_names(&on), quoted_pool_names(&rest));
        return Some(format!(
            "no single change makes it start on all pools: {on} and {rest} need different images. Smallest split: {first} \
             for {on}, and {second} for {rest}{driver}"
        ));
    }
    let never: BTreeSet<String> = owned_pool_names(&decided_pools)
        .into_iter()
        .filter(|pool| !images.iter().any(|(_, set)| set.contains(pool)))
        .collect();
    let of_pools: BTreeSet<String> =
        tried.iter().filter(|one| !one.kind.changes_image()).flat_map(|one| starts(&one.verdicts)).collect();
    let (moved, stuck): (BTreeSet<String>, BTreeSet<String>) =
        never.iter().cloned().partition(|pool| of_pools.contains(pool));
    Some(match or_driver {
        Some(title) => {
            format!("no tried change of the image makes it start on all pools; this change does: {title}")
        }
        None if never.is_empty() => {
            let best = images.iter().max_by_key(|(_, set)| set.len())?;
            format!("no two images start on all pools; it starts on most pools with: {}", best.0)
        }
        None if stuck.is_empty() => {
            format!(
                "no tried change of the image makes it start on {}: a change of the pools does",
                quoted_pool_names(&moved)
            )
        }
        None => format!("no known change makes it start on {}", quoted_pool_names(&stuck)),
    })
}

/// Copies borrowed pool names into a set of strings.
fn owned_pool_names(pools: &BTreeSet<&str>) -> BTreeSet<String> {
    pools.iter().map(|pool| (*pool).to_owned()).collect()
}

/// Formats pool names in backticks, separated by commas.
fn quoted_pool_names(pools: &BTreeSet<String>) -> String {
    pools.iter().map(|pool| format!("`{pool}`")).collect::<Vec<_>>().join(", ")
}
