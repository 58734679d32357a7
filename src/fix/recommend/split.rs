//! Pools on which nothing starts, and the fewest images that start on all others.

use std::collections::BTreeSet;

use crate::fix::recommend::rank::TestedCandidate;

/// Maximum number of images for an exact search; beyond that the search is greedy.
const MAX_EXACT_IMAGES: usize = 3;

/// Returns the indices of pools on which nothing starts.
pub(super) fn pools_without_start(tried: &[TestedCandidate<'_>], pools: usize) -> Vec<usize> {
    (0..pools).filter(|at| !tried.iter().any(|one| starts_on(one, *at))).collect()
}

/// Whether a candidate starts on a pool.
fn starts_on(one: &TestedCandidate<'_>, pool: usize) -> bool {
    one.ends.get(pool).is_some_and(|end| end.starts())
}

/// Returns the fewest candidates that together cover every startable pool, each with its pools.
pub(super) fn minimal_pool_cover(tried: &[TestedCandidate<'_>], pools: usize) -> Vec<(usize, Vec<usize>)> {
    let mut sets: Vec<(usize, BTreeSet<usize>)> = Vec::new();
    for (at, one) in tried.iter().enumerate() {
        let set: BTreeSet<usize> = (0..pools).filter(|pool| starts_on(one, *pool)).collect();
        if !set.is_empty() && !sets.iter().any(|(_, other)| set.is_subset(other)) {
            sets.retain(|(_, other)| !other.is_subset(&set) || *other == set);
            sets.push((at, set));
        }
    }
    let required: BTreeSet<usize> = sets.iter().flat_map(|(_, set)| set.iter().copied()).collect();
    let found = (1..=MAX_EXACT_IMAGES)
        .find_map(|size| exact_cover(&sets, &required, size))
        .unwrap_or_else(|| greedy_cover(&sets, &required));
    let mut left = required;
    let mut parts = Vec::new();
    for (at, set) in found.iter().filter_map(|place| sets.get(*place)) {
        let own: Vec<usize> = set.intersection(&left).copied().collect();
        left.retain(|pool| !set.contains(pool));
        parts.push((*at, own));
    }
    parts
}

/// Returns the first sets of this number that contain all wanted pools.
fn exact_cover(sets: &[(usize, BTreeSet<usize>)], required: &BTreeSet<usize>, size: usize) -> Option<Vec<usize>> {
    let first = *required.first()?;
    if size == 0 {
        return None;
    }
    for (place, (_, set)) in sets.iter().enumerate().filter(|(_, (_, set))| set.contains(&first)) {
        let left: BTreeSet<usize> = required.difference(set).copied().collect();
        if left.is_empty() {
            return Some(vec![place]);
        }
        if let Some(mut rest) = exact_cover(sets, &left, size - 1) {
            rest.insert(0, place);
            return Some(rest);
        }
    }
    None
}

/// Returns the indices of sets that together contain all required pools; each next set is the one with most of the
/// remaining pools.
fn greedy_cover(sets: &[(usize, BTreeSet<usize>)], required: &BTreeSet<usize>) -> Vec<usize> {
    let (mut left, mut found) = (required.clone(), Vec::new());
    while !left.is_empty() {
        let gain = |(_, set): &(usize, BTreeSet<usize>)| set.intersection(&left).count();
        let Some((place, (_, set))) = sets.iter().enumerate().rev().max_by_key(|(_, one)| gain(one)) else { break };
        left.retain(|pool| !set.contains(pool));
        found.push(place);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(all: &[&[usize]]) -> Vec<(usize, BTreeSet<usize>)> {
        all.iter().enumerate().map(|(at, set)| (at, set.iter().copied().collect())).collect()
    }

    #[test]
    fn smallest_cover_contains_every_element() {
        let all = sets(&[&[0, 1], &[2], &[1, 2, 3], &[3]]);
        let required: BTreeSet<usize> = (0..4).collect();
        assert_eq!(exact_cover(&all, &required, 1), None);
        assert_eq!(exact_cover(&all, &required, 2), Some(vec![0, 2]));
        assert_eq!(exact_cover(&all, &(0..5).collect(), 3), None, "nothing holds the last");
        assert_eq!(exact_cover(&[], &BTreeSet::new(), 3), None);
        assert_eq!(greedy_cover(&all, &required), [2, 0]);
    }
}
