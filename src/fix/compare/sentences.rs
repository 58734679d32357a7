//! Sentences that describe a change.

use crate::fix::compare::model::{
    ComparedImage, ComparedPool, ComparedVerdict, MinimumDriverComparison, VerdictChange,
};
use crate::report::kinds::VerdictKind;
use crate::report::phrases::pluralize;

/// Joins quoted names: `a`, `b` and `c`.
pub fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// Returns the pools with a kind of change, followed by the verb: ``pools `a` and `b` break``.
fn pools_with_change(pools: &[ComparedPool], change: VerdictChange, one: &str, many: &str) -> Option<String> {
    pools_matching(pools, |pool| pool.change == change, one, many)
}

/// Returns the pools that match a condition, followed by the verb.
fn pools_matching(
    pools: &[ComparedPool],
    predicate: impl Fn(&ComparedPool) -> bool,
    one: &str,
    many: &str,
) -> Option<String> {
    let names: Vec<&str> = pools.iter().filter(|pool| predicate(pool)).map(|pool| pool.pool.as_str()).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("pool {} {one}", quoted_list(&names))),
        _ => Some(format!("pools {} {many}", quoted_list(&names))),
    }
}

/// Returns what a change does to the verdicts on these pools.
pub fn verdict_changes(pools: &[ComparedPool]) -> Vec<String> {
    let breaks = pools_with_change(pools, VerdictChange::Breaks, "breaks", "break");
    let is_uninspected = |pool: &ComparedPool| pool.after.as_ref().is_some_and(ComparedVerdict::has_uninspected_code);
    let works = |pool: &ComparedPool, seen: bool| pool.change == VerdictChange::Works && is_uninspected(pool) != seen;
    let seen = pools_matching(pools, |pool| works(pool, true), "newly works", "newly work");
    let far = ("newly shows no failure", "newly show no failure");
    let far = pools_matching(pools, |pool| works(pool, false), far.0, far.1);
    let nothing = breaks.is_some() && seen.is_none() && far.is_none();
    let others = [
        breaks,
        seen.or_else(|| nothing.then(|| "nothing newly works".to_owned())),
        far,
        pools_with_change(pools, VerdictChange::Unsure, "now may fail or is unknown", "now may fail or are unknown"),
        pools_with_change(
            pools,
            VerdictChange::FailureUncertain,
            "no longer fails for certain",
            "no longer fail for certain",
        ),
        pools_with_change(pools, VerdictChange::Otherwise, "has another result", "have another result"),
        pools_with_change(pools, VerdictChange::Gone, "is no longer used", "are no longer used"),
    ];
    others.into_iter().flatten().collect()
}

/// Returns the verdicts on an image that is new.
pub(super) fn verdicts_of_new_image(pools: &[ComparedPool]) -> Vec<String> {
    let describe = |predicate: &dyn Fn(&ComparedVerdict) -> bool, verb: &str| {
        let ends = |pool: &&ComparedPool| pool.after.as_ref().is_some_and(predicate);
        let names: Vec<&str> = pools.iter().filter(ends).map(|pool| pool.pool.as_str()).collect();
        (!names.is_empty()).then(|| format!("{verb} on {}", quoted_list(&names)))
    };
    let all = [
        describe(&|end| end.fate == VerdictKind::Starts && !end.has_uninspected_code(), "starts"),
        describe(&ComparedVerdict::has_uninspected_code, "no failure found"),
        describe(&|end| end.fate == VerdictKind::Fails, "fails"),
        describe(&|end| end.fate == VerdictKind::Depends, "may fail"),
        describe(&|end| end.fate == VerdictKind::Undetermined, "unknown"),
    ];
    all.into_iter().flatten().collect()
}

/// Returns what a change does to the smallest driver; pools are named if it is not the same on `all` of them.
pub(super) fn driver_changes(drivers: &[MinimumDriverComparison], all: usize) -> Vec<String> {
    drivers.iter().map(|one| driver_change(one, one.pools.len() == all)).collect()
}

/// Returns the sentence for one change of the smallest driver.
fn driver_change(one: &MinimumDriverComparison, everywhere: bool) -> String {
    let names: Vec<&str> = one.pools.iter().map(String::as_str).collect();
    let on = if everywhere { String::new() } else { format!(" on {}", quoted_list(&names)) };
    // An image starts with one of those, and no longer after an upgrade to one of those between.
    let below: Vec<&str> = one.below.iter().map(String::as_str).collect();
    let own = match below.len() {
        0 => String::new(),
        1 => format!(", among them the driver of pool {}", quoted_list(&below)),
        _ => format!(", among them the drivers of pools {}", quoted_list(&below)),
    };
    let older = one.older_after.as_ref().map_or_else(String::new, |older| {
        format!("; it also starts with some older drivers from {} on ({}){own}", older.driver, older.route)
    });
    match (&one.before, &one.after) {
        (Some(before), Some(after)) => {
            let verb = if is_newer_driver(before, after) { "raises" } else { "lowers" };
            format!("{verb} the minimum driver from {before} to {after}{on}{older}")
        }
        (None, Some(after)) => {
            format!("starts with driver {after} or newer{on}; it started with no driver before{older}")
        }
        (Some(before), None) => {
            format!("no longer starts with any driver{on}; it started with driver {before} or newer")
        }
        (None, None) => format!("does not start with any driver{on}"),
    }
}

/// How many images one sentence lists.
const MAX_LISTED_IMAGES: usize = 8;

/// Returns the sentences that summarize the change of all images.
pub fn summarize_images(pairs: &[ComparedImage]) -> Vec<String> {
    if let [pair] = pairs {
        return pair.summary.clone();
    }
    let with = |change: VerdictChange| -> Vec<String> {
        let pools = |pair: &ComparedImage| -> Vec<String> {
            pair.pools.iter().filter(|pool| pool.change == change).map(|pool| pool.pool.clone()).collect()
        };
        let describe_pair = |pair: &ComparedImage| {
            let pools = pools(pair);
            let names: Vec<&str> = pools.iter().map(String::as_str).collect();
            (!names.is_empty()).then(|| format!("`{}` on {}", pair.name, quoted_list(&names)))
        };
        pairs.iter().filter_map(describe_pair).collect()
    };
    let sentence = |verb: &str, change: VerdictChange| image_list(verb, with(change));
    let otherwise = |pair: &&ComparedImage| pair.pools.iter().any(|pool| pool.change != VerdictChange::Same);
    let changed = pairs.iter().filter(otherwise).count();
    let mut sentences = vec![format!("{changed} of {} change", pluralize(pairs.len(), "image"))];
    sentences.push(sentence("breaks", VerdictChange::Breaks).unwrap_or_else(|| "nothing breaks".to_owned()));
    let arrived = new_starting_images(pairs);
    match sentence("newly works", VerdictChange::Works) {
        Some(works) => sentences.push(works),
        None if arrived.is_none() => sentences.push("nothing newly works".to_owned()),
        None => {}
    }
    sentences.extend(arrived);
    sentences.extend(sentence("now may fail or is unknown", VerdictChange::Unsure));
    let renamed = |pair: &ComparedImage| pair.renamed_from.as_ref().map(|from| format!("`{from}` to `{}`", pair.name));
    sentences.extend(image_list("renamed", pairs.iter().filter_map(renamed).collect()));
    sentences
}

/// Returns the sentence that lists added or removed pools.
pub fn changed_pool_list(word: &str, names: &[String]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (noun, verb) = if names.len() == 1 { ("pool", "is") } else { ("pools", "are") };
    (!names.is_empty()).then(|| format!("{noun} {} {verb} {word}", quoted_list(&names)))
}

/// Returns a heading with the first images of a list and the number of the others.
fn image_list(word: &str, mut images: Vec<String>) -> Option<String> {
    let more = images.len().saturating_sub(MAX_LISTED_IMAGES);
    images.truncate(MAX_LISTED_IMAGES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!images.is_empty()).then(|| format!("{word}: {}{more}", images.join(", ")))
}

/// Returns the sentence that lists the images that are new and start, with their pools.
fn new_starting_images(pairs: &[ComparedImage]) -> Option<String> {
    let starts = |pool: &&ComparedPool| pool.after.as_ref().is_some_and(|end| end.fate == VerdictKind::Starts);
    let describe_pair = |pair: &ComparedImage| {
        let names: Vec<&str> = pair.pools.iter().filter(starts).map(|pool| pool.pool.as_str()).collect();
        (pair.before.is_none() && !names.is_empty()).then(|| format!("`{}` on {}", pair.name, quoted_list(&names)))
    };
    image_list("is new and starts", pairs.iter().filter_map(describe_pair).collect())
}

/// Whether the driver `after` is newer than `before`.
fn is_newer_driver(before: &str, after: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
    numbers(before) < numbers(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::compare::model::ComparedOlderDriver;
    use crate::replay::StartRoute;

    /// Creates a verdict with this outcome.
    fn verdict_with(fate: &str, outcome: Option<&str>) -> ComparedVerdict {
        let (fate, outcome) = (fate.parse().expect("a verdict"), outcome.map(|name| name.parse().expect("an outcome")));
        ComparedVerdict { fate, outcome, route: None, message: String::new(), not_seen: Vec::new() }
    }

    #[test]
    fn each_pair_of_verdicts_is_one_change() {
        let fates =
            [None, Some("starts"), Some("fails"), Some("depends"), Some("undetermined"), Some("not-applicable")];
        let expected = [
            [
                VerdictChange::Same,
                VerdictChange::Otherwise,
                VerdictChange::Breaks,
                VerdictChange::Unsure,
                VerdictChange::Unsure,
                VerdictChange::Same,
            ],
            [
                VerdictChange::Gone,
                VerdictChange::Same,
                VerdictChange::Breaks,
                VerdictChange::Unsure,
                VerdictChange::Unsure,
                VerdictChange::Otherwise,
            ],
            [
                VerdictChange::Gone,
                VerdictChange::Works,
                VerdictChange::Same,
                VerdictChange::FailureUncertain,
                VerdictChange::FailureUncertain,
                VerdictChange::Otherwise,
            ],
            [
                VerdictChange::Gone,
                VerdictChange::Works,
                VerdictChange::Breaks,
                VerdictChange::Same,
                VerdictChange::Same,
                VerdictChange::Otherwise,
            ],
            [
                VerdictChange::Gone,
                VerdictChange::Works,
                VerdictChange::Breaks,
                VerdictChange::Same,
                VerdictChange::Same,
                VerdictChange::Otherwise,
            ],
            [
                VerdictChange::Gone,
                VerdictChange::Otherwise,
                VerdictChange::Breaks,
                VerdictChange::Unsure,
                VerdictChange::Unsure,
                VerdictChange::Same,
            ],
        ];
        for (was, row) in fates.iter().zip(expected) {
            for (is, expected) in fates.iter().zip(row) {
                let [before, after] = [was, is].map(|fate| fate.map(|fate| verdict_with(fate, None)));
                assert_eq!(VerdictChange::between(before.as_ref(), after.as_ref()), expected, "{was:?} to {is:?}");
            }
        }
        let [one, other] = ["refused", "no-kernel-image"].map(|outcome| verdict_with("fails", Some(outcome)));
        assert_eq!(VerdictChange::between(Some(&one), Some(&other)), VerdictChange::Otherwise);
    }

    #[test]
    fn uninspected_code_is_mentioned_only_for_starts() {
        let on = |pool: &str, fate: &str, uninspected: bool| {
            let not_seen = if uninspected { vec!["GPU code of x".to_owned()] } else { Vec::new() };
            let (before, after) =
                (Some(verdict_with("fails", None)), Some(ComparedVerdict { not_seen, ..verdict_with(fate, None) }));
            ComparedPool {
                pool: pool.to_owned(),
                change: VerdictChange::between(before.as_ref(), after.as_ref()),
                before,
                after,
            }
        };
        for (pools, expected, new) in [
            (vec![on("a", "starts", false)], "pool `a` newly works", "starts on `a`"),
            (vec![on("a", "starts", true)], "pool `a` newly shows no failure", "no failure found on `a`"),
            (
                vec![on("a", "starts", true), on("b", "starts", false), on("c", "starts", true)],
                "pool `b` newly works; pools `a` and `c` newly show no failure",
                "starts on `b`; no failure found on `a` and `c`",
            ),
            (vec![on("a", "undetermined", true)], "pool `a` no longer fails for certain", "unknown on `a`"),
            (vec![on("a", "fails", true)], "", "fails on `a`"),
        ] {
            assert_eq!(verdict_changes(&pools).join("; "), expected);
            assert_eq!(verdicts_of_new_image(&pools).join("; "), new);
            for end in pools.iter().filter_map(|pool| pool.after.as_ref()) {
                assert_eq!(
                    end.short_text() == "no failure found",
                    end.fate == VerdictKind::Starts && !end.not_seen.is_empty()
                );
            }
        }
    }

    #[test]
    fn driver_changes_compare_version_numbers() {
        let describe_change = |before: Option<&str>, after: Option<&str>, all| {
            let [before, after] = [before, after].map(|driver| driver.map(str::to_owned));
            let pools = vec!["a".to_owned(), "b".to_owned()];
            let one = MinimumDriverComparison {
                pools,
                below: Vec::new(),
                before,
                after,
                older_before: None,
                older_after: None,
            };
            let older = ComparedOlderDriver { driver: "470.57.02".to_owned(), route: StartRoute::ForwardCompat };
            let more =
                MinimumDriverComparison { older_before: Some(older.clone()), older_after: Some(older), ..one.clone() };
            let [plain, more] = [one, more].map(|one| driver_changes(&[one], all).join(""));
            // A previous start says nothing about the new one.
            let suffix = if more == plain {
                ""
            } else {
                "; it also starts with some older drivers from 470.57.02 on (forward-compat)"
            };
            assert_eq!(format!("{plain}{suffix}"), more);
            assert_eq!(plain == more, plain.contains("no longer starts"), "{plain}");
            plain
        };
        for (before, after, all, expected) in [
            (Some("525.60.13"), Some("580.65.06"), 2, "raises the minimum driver from 525.60.13 to 580.65.06"),
            (Some("535.54"), Some("535.129"), 2, "raises the minimum driver from 535.54 to 535.129"),
            (Some("535.129"), Some("535.54"), 3, "lowers the minimum driver from 535.129 to 535.54 on `a` and `b`"),
            (None, Some("535.54"), 2, "starts with driver 535.54 or newer; it started with no driver before"),
            (Some("535.54"), None, 2, "no longer starts with any driver; it started with driver 535.54 or newer"),
        ] {
            assert_eq!(describe_change(before, after, all), expected);
        }
    }
}
