//! Compare: what a change of images does to a fleet. Both sides were judged; what is told is the difference.
//!
//! Only what is new counts: a pool that failed before is no failure of the change.

pub mod model;
mod pair;
mod print;
mod words;

pub use self::pair::Likeness;
pub use self::pair::Named;
pub use self::pair::Sides;
pub use self::pair::pairs;
pub use self::pair::renamed_from;
pub use self::print::human;
pub use self::print::markdown;
pub use self::words::list;
pub use self::words::moved_pools;
pub use self::words::summary;
pub use self::words::verdicts;

use std::collections::BTreeMap;

use crate::compare::model::Change;
use crate::compare::model::Drivers;
use crate::compare::model::End;
use crate::compare::model::Older;
use crate::compare::model::OnPool;
use crate::compare::model::Pair;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::VerdictKind;
use crate::report::model::Finding;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::words::title;

/// The smallest driver by pool, without the pools whose smallest driver is unknown.
pub type Least = BTreeMap<String, Smallest>;

/// The smallest driver on a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smallest {
    /// The release; none where no driver does.
    pub driver: Option<String>,
    /// The oldest one below it that does all the same.
    pub older: Option<Older>,
    /// Whether the pool has such an older one, and starts.
    pub below: bool,
}

/// The difference between what an image was and what it is, with the smallest drivers of both, where those were sought.
pub fn compare(name: &str, before: Option<&Subject>, after: Option<&Subject>, least: Option<(Least, Least)>) -> Pair {
    let pools = on_pools(before, after);
    let drivers = least.map_or_else(Vec::new, |(was, is)| differing(&was, &is));
    let judged = pools.iter().filter(|pool| pool.before.is_some() && pool.after.is_some()).count();
    let mut summary = words::drivers(&drivers, judged);
    summary.extend(verdicts(&pools));
    match (before, after) {
        (None, Some(_)) => {
            summary = vec!["is new".to_owned()];
            summary.extend(words::arrival(&pools));
        }
        (Some(_), None) => summary = vec!["is removed".to_owned()],
        _ if summary.is_empty() => summary.push("changes nothing for this fleet".to_owned()),
        _ => {}
    }
    Pair {
        name: name.to_owned(),
        before: before.map(title),
        after: after.map(title),
        renamed_from: None,
        summary,
        new_findings: after.map_or_else(Vec::new, |after| new_findings(before, after)),
        pools,
        drivers,
    }
}

/// The verdicts of both, pool by pool, in the order in which they were judged.
pub fn on_pools(before: Option<&Subject>, after: Option<&Subject>) -> Vec<OnPool> {
    let mut names: Vec<&str> = Vec::new();
    for verdict in before.into_iter().chain(after).flat_map(whole) {
        if !names.contains(&verdict.pool.as_str()) {
            names.push(&verdict.pool);
        }
    }
    let end = |subject: Option<&Subject>, pool: &str| subject.and_then(|subject| on(subject, pool)).map(End::of);
    let of = |pool: &str| {
        let (before, after) = (end(before, pool), end(after, pool));
        OnPool { pool: pool.to_owned(), change: Change::of(before.as_ref(), after.as_ref()), before, after }
    };
    names.into_iter().map(of).collect()
}

/// The verdicts of a subject as a whole.
fn whole(subject: &Subject) -> impl Iterator<Item = &Verdict> {
    subject.verdicts.iter().filter(|verdict| verdict.component.is_none())
}

/// The verdict of a subject on a pool.
pub fn on<'a>(subject: &'a Subject, pool: &str) -> Option<&'a Verdict> {
    whole(subject).find(|verdict| verdict.pool == pool)
}

/// Pools on which the smallest driver is another, those with the same drivers together.
fn differing(before: &Least, after: &Least) -> Vec<Drivers> {
    let mut found: Vec<Drivers> = Vec::new();
    for (pool, was) in before {
        let Some(is) = after.get(pool).filter(|is| is.driver != was.driver) else { continue };
        let one = Drivers {
            pools: Vec::new(),
            below: Vec::new(),
            before: was.driver.clone(),
            after: is.driver.clone(),
            older_before: was.older.clone(),
            older_after: is.older.clone(),
        };
        let same = |other: &Drivers| Drivers { pools: Vec::new(), below: Vec::new(), ..other.clone() } == one;
        let at = found.iter().position(same).unwrap_or(found.len());
        if at == found.len() {
            found.push(one);
        }
        if let Some(same) = found.get_mut(at) {
            same.pools.push(pool.clone());
            same.below.extend(is.below.then(|| pool.clone()));
        }
    }
    found
}

/// The findings that were not there before: by rule and component, pool by pool. A pool that failed before fails on,
/// whatever the rule, and one that could not be told still cannot be.
pub fn new_findings(before: Option<&Subject>, after: &Subject) -> Vec<Finding> {
    let Some(before) = before else { return after.findings.clone() };
    let known = |finding: &Finding, pool: Option<&String>| {
        before.findings.iter().any(|old| {
            old.rule == finding.rule
                && old.component == finding.component
                && pool.map_or(old.pools.is_empty(), |pool| old.pools.contains(pool))
        })
    };
    let class = |subject: &Subject, pool: &str| match on(subject, pool).map(|verdict| verdict.fate) {
        Some(VerdictKind::Fails) => 1,
        Some(fate) if fate.is_unknown() => 2,
        _ => 0,
    };
    let of_verdict =
        |finding: &Finding| finding.severity == FindingSeverity::Error || crate::report::open::is_open(finding);
    let fresh = |finding: &Finding, pool: &String| {
        let (was, is) = (class(before, pool), class(after, pool));
        let goes_on = of_verdict(finding) && is != 0 && was == is;
        !goes_on && !known(finding, Some(pool))
    };
    let mut found = Vec::new();
    for finding in &after.findings {
        if finding.pools.is_empty() {
            found.extend((!known(finding, None)).then(|| finding.clone()));
            continue;
        }
        let pools: Vec<String> = finding.pools.iter().filter(|pool| fresh(finding, pool)).cloned().collect();
        if !pools.is_empty() {
            found.push(Finding { pools, ..finding.clone() });
        }
    }
    found
}
