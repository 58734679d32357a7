//! Groups of findings: the same fault of several images is reported once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::report::escape::escape_one_line;
use crate::report::kinds::{FindingSeverity, FixSafety, LocationKind, SubjectKind, VerdictKind};
use crate::report::model::{Finding, Fix, Location, Report, Subject, Verdict};
use crate::report::phrases::{location_label, subject_title};
use crate::report::unknown_verdicts::is_about_unknown_verdict;

/// A fault and every image that has it.
#[derive(Debug)]
pub struct FindingGroup<'a> {
    /// The finding of the first image, without what differs between the images.
    pub first: Cow<'a, Finding>,
    /// That image.
    pub subject: &'a Subject,
    /// The images, each with its line in its own file.
    pub images: Vec<String>,
    /// The changes that fix it, each once, in words.
    pub fixes: Vec<String>,
}

/// Returns every fault, errors first, except findings about unknown verdicts.
pub fn group_findings(report: &Report) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for subject in &report.subjects {
        let mut before = BTreeMap::new();
        for finding in subject.findings.iter().filter(|finding| !is_about_unknown_verdict(finding)) {
            let texts = finding_group_key(finding, subject);
            // The same words at two places of one image are two faults.
            let number: &mut usize = before.entry(texts.clone()).or_default();
            *number += 1;
            let at = *known.entry((texts, *number)).or_insert(groups.len());
            let fixes = relevant_fixes(finding).map(|fix| escape_one_line(&fix_description(fix, subject)).into_owned());
            match groups.get_mut(at) {
                Some(group) => {
                    group.images.push(image_label(finding, subject));
                    let fixes: Vec<String> = fixes.filter(|fix| !group.fixes.contains(fix)).collect();
                    group.fixes.extend(fixes);
                }
                None => groups.push(FindingGroup {
                    first: Cow::Borrowed(finding),
                    subject,
                    images: vec![image_label(finding, subject)],
                    fixes: fixes.collect(),
                }),
            }
        }
    }
    groups.sort_by_key(|group| group.first.severity);
    groups
}

/// Returns the fixes to show for a finding: no unsafe fix that achieves no more than a safe one.
pub fn relevant_fixes(finding: &Finding) -> impl Iterator<Item = &Fix> {
    let safe = || finding.fixes.iter().filter(|fix| fix.safety == FixSafety::Safe && fix.supposes.is_none());
    let no_better = |one: &Fix, safe: &Fix| {
        let achieved = |fix: &Fix| fix.cures.iter().chain(&fix.settles).cloned().collect::<Vec<_>>();
        let by_safe = achieved(safe);
        one.lifts.iter().chain(&one.narrows).chain(&achieved(one)).all(|pool| by_safe.contains(pool))
    };
    finding.fixes.iter().filter(move |fix| fix.safety != FixSafety::Unsafe || !safe().any(|safe| no_better(fix, safe)))
}

/// Returns a fix in words, with the number of pools if the image then starts on all of them.
fn fix_description(fix: &Fix, subject: &Subject) -> String {
    let certain = fix.supposes.is_none()
        && [&fix.settles, &fix.lifts, &fix.narrows, &fix.breaks].iter().all(|list| list.is_empty());
    let verdicts = || subject.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let starts = |verdict: &Verdict| verdict.fate == VerdictKind::Starts || fix.cures.contains(&verdict.pool);
    match verdicts().count() {
        many if many > 1 && certain && fix.drivers.is_empty() && verdicts().all(starts) => {
            format!("{} ({}; then starts on all {many} pools)", fix.title, fix.safety)
        }
        _ => fix.describe(),
    }
}

/// The values that all findings of a group have in common.
type FindingGroupKey<'a> = (FindingSeverity, &'a str, &'a str, [Option<&'a String>; 3], &'a [String], Vec<&'a str>);

/// Returns the key of the group that a finding belongs to.
fn finding_group_key<'a>(finding: &'a Finding, subject: &Subject) -> FindingGroupKey<'a> {
    let texts = [finding.cause.as_ref(), finding.symptom.as_ref(), finding.help.as_ref()];
    // The lines of a list name an image; neither they nor the digest of a layer say anything about its fault.
    let listed = |place: &Location| {
        subject.kind == SubjectKind::Image && matches!(place.kind, LocationKind::File | LocationKind::Layer)
    };
    let labels = finding.locations.iter().filter(|place| place.kind != LocationKind::Fleet && !listed(place));
    let labels = labels.map(|place| place.label.as_str()).collect();
    (finding.severity, &finding.rule, &finding.message, texts, &finding.pools, labels)
}

/// Returns the image, with the line of the fault if that is in its own file.
fn image_label(finding: &Finding, subject: &Subject) -> String {
    let own = finding.locations.iter().find(|place| place.kind != LocationKind::Fleet && place.region.is_some());
    match own.filter(|own| own.path == subject.name && subject.stage.is_none()) {
        Some(own) => location_label(own),
        None => subject_title(subject),
    }
}
