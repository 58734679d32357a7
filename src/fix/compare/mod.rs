//! Compares the verdicts on two versions of images, and reports what the change does to a fleet.
//!
//! Only what is new counts: a pool that failed before is no failure of the change.

mod image_pairs;
pub mod model;
mod print;
mod sentences;

pub use self::image_pairs::{NamedSubject, SimilarityKeys, SubjectPair, earlier_dockerfile_name, pair_subjects};
pub use self::print::{write_human, write_markdown};
pub use self::sentences::{changed_pool_list, quoted_list, summarize_images, verdict_changes};

use std::collections::BTreeMap;

use crate::fix::compare::model::{
    ComparedImage, ComparedOlderDriver, ComparedPool, ComparedVerdict, MinimumDriverComparison, VerdictChange,
};
use crate::report::kinds::{FindingSeverity, VerdictKind};
use crate::report::model::{Finding, Subject, Verdict};
use crate::report::phrases::subject_title;

/// The smallest driver by pool name, without the pools whose smallest driver is unknown.
pub type SmallestDriverByPool = BTreeMap<String, SmallestPoolDriver>;

/// The smallest driver with which an image starts on a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmallestPoolDriver {
    /// The driver release; `None` if the image starts with no driver.
    pub driver: Option<String>,
    /// The oldest driver release below it with which the image starts as well.
    pub older: Option<ComparedOlderDriver>,
    /// Whether the pool has such an older driver, and the image starts on it.
    pub below: bool,
}

/// Returns the difference between two versions of an image, with the smallest drivers of both if they were
/// determined.
pub fn compare_subjects(
    name: &str,
    before: Option<&Subject>,
    after: Option<&Subject>,
    least: Option<(SmallestDriverByPool, SmallestDriverByPool)>,
) -> ComparedImage {
    let pools = compare_pools(before, after);
    let drivers = least.map_or_else(Vec::new, |(was, is)| compare_drivers(&was, &is));
    let judged = pools.iter().filter(|pool| pool.before.is_some() && pool.after.is_some()).count();
    let mut summary = sentences::driver_changes(&drivers, judged);
    summary.extend(verdict_changes(&pools));
    match (before, after) {
        (None, Some(_)) => {
            summary = vec!["is new".to_owned()];
            summary.extend(sentences::verdicts_of_new_image(&pools));
        }
        (Some(_), None) => summary = vec!["is removed".to_owned()],
        _ if summary.is_empty() => summary.push("changes nothing for this fleet".to_owned()),
        _ => {}
    }
    ComparedImage {
        name: name.to_owned(),
        before: before.map(subject_title),
        after: after.map(subject_title),
        renamed_from: None,
        summary,
        new_findings: after.map_or_else(Vec::new, |after| new_findings(before, after)),
        pools,
        drivers,
    }
}

/// Compares the verdicts of both versions pool by pool, in the order in which they were judged.
pub fn compare_pools(before: Option<&Subject>, after: Option<&Subject>) -> Vec<ComparedPool> {
    let mut names: Vec<&str> = Vec::new();
    for verdict in before.into_iter().chain(after).flat_map(image_verdicts) {
        if !names.contains(&verdict.pool.as_str()) {
            names.push(&verdict.pool);
        }
    }
    let end = |subject: Option<&Subject>, pool: &str| {
        subject.and_then(|subject| verdict_on_pool(subject, pool)).map(ComparedVerdict::from_verdict)
    };
    let of = |pool: &str| {
        let (before, after) = (end(before, pool), end(after, pool));
        ComparedPool {
            pool: pool.to_owned(),
            change: VerdictChange::between(before.as_ref(), after.as_ref()),
            before,
            after,
        }
    };
    names.into_iter().map(of).collect()
}

/// Iterates over the verdicts on the whole image, not on single components.
fn image_verdicts(subject: &Subject) -> impl Iterator<Item = &Verdict> {
    subject.verdicts.iter().filter(|verdict| verdict.component.is_none())
}

/// Returns the verdict on a subject for a pool.
pub fn verdict_on_pool<'a>(subject: &'a Subject, pool: &str) -> Option<&'a Verdict> {
    image_verdicts(subject).find(|verdict| verdict.pool == pool)
}

/// Returns the pools whose smallest driver differs, grouped by equal drivers.
fn compare_drivers(before: &SmallestDriverByPool, after: &SmallestDriverByPool) -> Vec<MinimumDriverComparison> {
    let mut found: Vec<MinimumDriverComparison> = Vec::new();
    for (pool, was) in before {
        let Some(is) = after.get(pool).filter(|is| is.driver != was.driver) else { continue };
        let one = MinimumDriverComparison {
            pools: Vec::new(),
            below: Vec::new(),
            before: was.driver.clone(),
            after: is.driver.clone(),
            older_before: was.older.clone(),
            older_after: is.older.clone(),
        };
        let same = |other: &MinimumDriverComparison| {
            MinimumDriverComparison { pools: Vec::new(), below: Vec::new(), ..other.clone() } == one
        };
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

/// Returns the findings that are new, by rule and component for each pool. On a pool that failed before and still
/// fails, or was unknown and still is, findings about the verdict are not new.
pub fn new_findings(before: Option<&Subject>, after: &Subject) -> Vec<Finding> {
    let Some(before) = before else { return after.findings.clone() };
    let known = |finding: &Finding, pool: Option<&String>| {
        before.findings.iter().any(|old| {
            old.rule == finding.rule
                && old.component == finding.component
                && pool.map_or(old.pools.is_empty(), |pool| old.pools.contains(pool))
        })
    };
    let class = |subject: &Subject, pool: &str| match verdict_on_pool(subject, pool).map(|verdict| verdict.fate) {
        Some(VerdictKind::Fails) => 1,
        Some(fate) if fate.is_unknown() => 2,
        _ => 0,
    };
    let of_verdict = |finding: &Finding| {
        finding.severity == FindingSeverity::Error || crate::report::finding_groups::is_about_unknown_verdict(finding)
    };
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
