//! A change in sentences.

use crate::compare::model::Change;
use crate::compare::model::Drivers;
use crate::compare::model::End;
use crate::compare::model::OnPool;
use crate::compare::model::Pair;
use crate::report::kinds::VerdictKind;
use crate::report::words::count;

/// Names in a row: `a`, `b` and `c`.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The pools of a change, with their verb: ``pools `a` and `b` break``.
fn of(pools: &[OnPool], change: Change, one: &str, many: &str) -> Option<String> {
    of_those(pools, |pool| pool.change == change, one, many)
}

fn of_those(pools: &[OnPool], wanted: impl Fn(&OnPool) -> bool, one: &str, many: &str) -> Option<String> {
    let names: Vec<&str> = pools.iter().filter(|pool| wanted(pool)).map(|pool| pool.pool.as_str()).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("pool {} {one}", list(&names))),
        _ => Some(format!("pools {} {many}", list(&names))),
    }
}

/// What a change does to the verdicts on these pools.
pub fn verdicts(pools: &[OnPool]) -> Vec<String> {
    let breaks = of(pools, Change::Breaks, "breaks", "break");
    let unseen = |pool: &OnPool| pool.after.as_ref().is_some_and(End::is_unseen);
    let works = |pool: &OnPool, seen: bool| pool.change == Change::Works && unseen(pool) != seen;
    let seen = of_those(pools, |pool| works(pool, true), "newly works", "newly work");
    let far = ("newly shows no failure", "newly show no failure");
    let far = of_those(pools, |pool| works(pool, false), far.0, far.1);
    let nothing = breaks.is_some() && seen.is_none() && far.is_none();
    let others = [
        breaks,
        seen.or_else(|| nothing.then(|| "nothing newly works".to_owned())),
        far,
        of(pools, Change::Unsure, "now may fail or is unknown", "now may fail or are unknown"),
        of(pools, Change::Lifted, "no longer fails for certain", "no longer fail for certain"),
        of(pools, Change::Otherwise, "has another result", "have another result"),
        of(pools, Change::Gone, "is no longer used", "are no longer used"),
    ];
    others.into_iter().flatten().collect()
}

/// How an image ends that was not there before.
pub(super) fn arrival(pools: &[OnPool]) -> Vec<String> {
    let told = |wanted: &dyn Fn(&End) -> bool, verb: &str| {
        let ends = |pool: &&OnPool| pool.after.as_ref().is_some_and(wanted);
        let names: Vec<&str> = pools.iter().filter(ends).map(|pool| pool.pool.as_str()).collect();
        (!names.is_empty()).then(|| format!("{verb} on {}", list(&names)))
    };
    let all = [
        told(&|end| end.fate == VerdictKind::Starts && !end.is_unseen(), "starts"),
        told(&End::is_unseen, "no failure found"),
        told(&|end| end.fate == VerdictKind::Fails, "fails"),
        told(&|end| end.fate == VerdictKind::Depends, "may fail"),
        told(&|end| end.fate == VerdictKind::Undetermined, "unknown"),
    ];
    all.into_iter().flatten().collect()
}

/// What a change does to the smallest driver; the pools are named where it is not the same on `all` of them.
pub(super) fn drivers(drivers: &[Drivers], all: usize) -> Vec<String> {
    drivers.iter().map(|one| driver(one, one.pools.len() == all)).collect()
}

fn driver(one: &Drivers, everywhere: bool) -> String {
    let names: Vec<&str> = one.pools.iter().map(String::as_str).collect();
    let on = if everywhere { String::new() } else { format!(" on {}", list(&names)) };
    // Who has one of those starts, and does no longer after an upgrade to one of those between.
    let below: Vec<&str> = one.below.iter().map(String::as_str).collect();
    let own = match below.len() {
        0 => String::new(),
        1 => format!(", among them the driver of pool {}", list(&below)),
        _ => format!(", among them the drivers of pools {}", list(&below)),
    };
    let older = one.older_after.as_ref().map_or_else(String::new, |older| {
        format!("; it also starts with some older drivers from {} on ({}){own}", older.driver, older.route)
    });
    match (&one.before, &one.after) {
        (Some(before), Some(after)) => {
            let verb = if raises(before, after) { "raises" } else { "lowers" };
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

/// So many images are named in one sentence.
const NAMED: usize = 8;

/// The whole change.
pub fn summary(pairs: &[Pair]) -> Vec<String> {
    if let [pair] = pairs {
        return pair.summary.clone();
    }
    let with = |change: Change| -> Vec<String> {
        let pools = |pair: &Pair| -> Vec<String> {
            pair.pools.iter().filter(|pool| pool.change == change).map(|pool| pool.pool.clone()).collect()
        };
        let told = |pair: &Pair| {
            let pools = pools(pair);
            let names: Vec<&str> = pools.iter().map(String::as_str).collect();
            (!names.is_empty()).then(|| format!("`{}` on {}", pair.name, list(&names)))
        };
        pairs.iter().filter_map(told).collect()
    };
    let sentence = |verb: &str, change: Change| named(verb, with(change));
    let otherwise = |pair: &&Pair| pair.pools.iter().any(|pool| pool.change != Change::Same);
    let changed = pairs.iter().filter(otherwise).count();
    let mut told = vec![format!("{changed} of {} change", count(pairs.len(), "image"))];
    told.push(sentence("breaks", Change::Breaks).unwrap_or_else(|| "nothing breaks".to_owned()));
    let arrived = arrived(pairs);
    match sentence("newly works", Change::Works) {
        Some(works) => told.push(works),
        None if arrived.is_none() => told.push("nothing newly works".to_owned()),
        None => {}
    }
    told.extend(arrived);
    told.extend(sentence("now may fail or is unknown", Change::Unsure));
    let renamed = |pair: &Pair| pair.renamed_from.as_ref().map(|from| format!("`{from}` to `{}`", pair.name));
    told.extend(named("renamed", pairs.iter().filter_map(renamed).collect()));
    told
}

/// Which pools are added or removed.
pub fn moved_pools(word: &str, names: &[String]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (noun, verb) = if names.len() == 1 { ("pool", "is") } else { ("pools", "are") };
    (!names.is_empty()).then(|| format!("{noun} {} {verb} {word}", list(&names)))
}

/// The first of some images behind a word, and how many more there are.
fn named(word: &str, mut images: Vec<String>) -> Option<String> {
    let more = images.len().saturating_sub(NAMED);
    images.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!images.is_empty()).then(|| format!("{word}: {}{more}", images.join(", ")))
}

/// The images that were not there before and start, with the pools on which they do.
fn arrived(pairs: &[Pair]) -> Option<String> {
    let starts = |pool: &&OnPool| pool.after.as_ref().is_some_and(|end| end.fate == VerdictKind::Starts);
    let told = |pair: &Pair| {
        let names: Vec<&str> = pair.pools.iter().filter(starts).map(|pool| pool.pool.as_str()).collect();
        (pair.before.is_none() && !names.is_empty()).then(|| format!("`{}` on {}", pair.name, list(&names)))
    };
    named("is new and starts", pairs.iter().filter_map(told).collect())
}

fn raises(before: &str, after: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
    numbers(before) < numbers(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::model::Older;

    fn end(fate: &str, outcome: Option<&str>) -> End {
        let (fate, outcome) = (fate.parse().expect("a verdict"), outcome.map(str::to_owned));
        End { fate, outcome, route: None, message: String::new(), not_seen: Vec::new() }
    }

    #[test]
    fn each_pair_of_ends_is_one_change() {
        let fates =
            [None, Some("starts"), Some("fails"), Some("depends"), Some("undetermined"), Some("not-applicable")];
        let expected = [
            [Change::Same, Change::Otherwise, Change::Breaks, Change::Unsure, Change::Unsure, Change::Same],
            [Change::Gone, Change::Same, Change::Breaks, Change::Unsure, Change::Unsure, Change::Otherwise],
            [Change::Gone, Change::Works, Change::Same, Change::Lifted, Change::Lifted, Change::Otherwise],
            [Change::Gone, Change::Works, Change::Breaks, Change::Same, Change::Same, Change::Otherwise],
            [Change::Gone, Change::Works, Change::Breaks, Change::Same, Change::Same, Change::Otherwise],
            [Change::Gone, Change::Otherwise, Change::Breaks, Change::Unsure, Change::Unsure, Change::Same],
        ];
        for (was, row) in fates.iter().zip(expected) {
            for (is, expected) in fates.iter().zip(row) {
                let [before, after] = [was, is].map(|fate| fate.map(|fate| end(fate, None)));
                assert_eq!(Change::of(before.as_ref(), after.as_ref()), expected, "{was:?} to {is:?}");
            }
        }
        let [one, other] = ["refused", "no-kernel-image"].map(|outcome| end("fails", Some(outcome)));
        assert_eq!(Change::of(Some(&one), Some(&other)), Change::Otherwise);
    }

    #[test]
    fn what_was_not_seen_goes_with_a_start_and_with_nothing_else() {
        let on = |pool: &str, fate: &str, unseen: bool| {
            let not_seen = if unseen { vec!["GPU code of x".to_owned()] } else { Vec::new() };
            let (before, after) = (Some(end("fails", None)), Some(End { not_seen, ..end(fate, None) }));
            OnPool { pool: pool.to_owned(), change: Change::of(before.as_ref(), after.as_ref()), before, after }
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
            assert_eq!(verdicts(&pools).join("; "), expected);
            assert_eq!(arrival(&pools).join("; "), new);
            for end in pools.iter().filter_map(|pool| pool.after.as_ref()) {
                assert_eq!(
                    end.cell() == "no failure found",
                    end.fate == VerdictKind::Starts && !end.not_seen.is_empty()
                );
            }
        }
    }

    #[test]
    fn drivers_are_told_by_their_numbers() {
        let told = |before: Option<&str>, after: Option<&str>, all| {
            let [before, after] = [before, after].map(|driver| driver.map(str::to_owned));
            let pools = vec!["a".to_owned(), "b".to_owned()];
            let one = Drivers { pools, below: Vec::new(), before, after, older_before: None, older_after: None };
            let older = Older { driver: "470.57.02".to_owned(), route: "forward-compat".to_owned() };
            let more = Drivers { older_before: Some(older.clone()), older_after: Some(older), ..one.clone() };
            let [plain, more] = [one, more].map(|one| drivers(&[one], all).join(""));
            // What did start says nothing of what does.
            let told = if more == plain {
                ""
            } else {
                "; it also starts with some older drivers from 470.57.02 on (forward-compat)"
            };
            assert_eq!(format!("{plain}{told}"), more);
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
            assert_eq!(told(before, after, all), expected);
        }
    }
}
