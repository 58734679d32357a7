//! Where no change of the image makes it start on all its pools: which pools want different images, and the smallest
//! way to part them.

use std::collections::BTreeSet;

use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::case::Case;
use crate::cure::trial::fates;
use crate::report::kinds::VerdictKind;

/// What is told; none where one change does it, or nothing does.
pub(super) fn told(case: &Case<'_>, tried: &[Tried]) -> Option<String> {
    let before = fates(case.before);
    let wanted: BTreeSet<&str> = before
        .iter()
        .filter(|one| matches!(one.fate, VerdictKind::Starts | VerdictKind::Fails))
        .map(|one| one.pool.as_str())
        .collect();
    let starts = |list: &'_ [crate::cure::PoolFate]| -> BTreeSet<String> {
        list.iter().filter(|one| one.fate == VerdictKind::Starts).map(|one| one.pool.clone()).collect()
    };
    let whole = |set: &BTreeSet<String>| wanted.iter().all(|pool| set.contains(*pool));
    let of_image = |one: &&Tried| one.kind.of_image();
    let mut images: Vec<(String, BTreeSet<String>)> = vec![("the image as it is".to_owned(), starts(&before))];
    images.extend(tried.iter().filter(of_image).map(|one| (one.title.clone(), starts(&one.fates))));
    if wanted.len() == 1 && tried.is_empty() && before.iter().any(|one| one.fate == VerdictKind::Fails) {
        return Some(format!("no known change makes it start on {}", names(&owned(&wanted))));
    }
    if wanted.len() < 2 || images.iter().any(|(_, set)| whole(set)) {
        return None;
    }
    let both = images.iter().enumerate().find_map(|(at, (title, set))| {
        let other = images.iter().skip(at + 1).find(|(_, other)| whole(&set.union(other).cloned().collect()))?;
        let rest: BTreeSet<String> = other.1.difference(set).cloned().collect();
        Some((title.clone(), set.clone(), other.0.clone(), rest))
    });
    let driver = tried.iter().find(|one| one.kind == Kind::Driver && whole(&starts(&one.fates)));
    let or_driver = driver.map(|one| one.title.clone());
    if let Some((first, on, second, rest)) = both {
        let driver = or_driver.map_or_else(String::new, |title| format!("; or {title}"));
        let (on, rest) = (names(&on), names(&rest));
        return Some(format!(
            "no single change makes it start on all pools: {on} and {rest} need different images. Smallest split: {first} \
             for {on}, and {second} for {rest}{driver}"
        ));
    }
    let never: BTreeSet<String> =
        owned(&wanted).into_iter().filter(|pool| !images.iter().any(|(_, set)| set.contains(pool))).collect();
    let of_pools: BTreeSet<String> =
        tried.iter().filter(|one| !one.kind.of_image()).flat_map(|one| starts(&one.fates)).collect();
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
            format!("no tried change of the image makes it start on {}: a change of the pools does", names(&moved))
        }
        None => format!("no known change makes it start on {}", names(&stuck)),
    })
}

fn owned(pools: &BTreeSet<&str>) -> BTreeSet<String> {
    pools.iter().map(|pool| (*pool).to_owned()).collect()
}

fn names(pools: &BTreeSet<String>) -> String {
    pools.iter().map(|pool| format!("`{pool}`")).collect::<Vec<_>>().join(", ")
}
