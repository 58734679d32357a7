//! Findings put together: the same fault of several images is one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::report::escape::clean;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::FixSafety;
use crate::report::kinds::VerdictKind;
use crate::report::model::Finding;
use crate::report::model::Fix;
use crate::report::model::Location;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::open::is_open;
use crate::report::words::place;
use crate::report::words::title;

/// A fault and every image that has it.
#[derive(Debug)]
pub struct Group<'a> {
    /// The finding of the first image, without what differs between the images.
    pub first: Cow<'a, Finding>,
    /// That image.
    pub subject: &'a Subject,
    /// The images, each with its line in its own file.
    pub images: Vec<String>,
    /// The changes that fix it, each once, in words.
    pub fixes: Vec<String>,
}

/// Every fault, errors first. Findings on verdicts that are unknown are not among them.
pub fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for subject in &report.subjects {
        let mut before = BTreeMap::new();
        for finding in subject.findings.iter().filter(|finding| !is_open(finding)) {
            let texts = texts(finding, subject);
            // The same words at two places of one image are two faults.
            let number: &mut usize = before.entry(texts.clone()).or_default();
            *number += 1;
            let at = *known.entry((texts, *number)).or_insert(groups.len());
            let fixes = offered(finding).map(|fix| clean(&effect(fix, subject)).into_owned());
            match groups.get_mut(at) {
                Some(group) => {
                    group.images.push(image(finding, subject));
                    let fixes: Vec<String> = fixes.filter(|fix| !group.fixes.contains(fix)).collect();
                    group.fixes.extend(fixes);
                }
                None => groups.push(Group {
                    first: Cow::Borrowed(finding),
                    subject,
                    images: vec![image(finding, subject)],
                    fixes: fixes.collect(),
                }),
            }
        }
    }
    groups.sort_by_key(|group| group.first.severity);
    groups
}

/// The changes to show for a finding: none that changes more than a safe one and achieves no more.
pub fn offered(finding: &Finding) -> impl Iterator<Item = &Fix> {
    let safe = || finding.fixes.iter().filter(|fix| fix.safety == FixSafety::Safe && fix.supposes.is_none());
    let no_better = |one: &Fix, safe: &Fix| {
        let achieved = |fix: &Fix| fix.cures.iter().chain(&fix.settles).cloned().collect::<Vec<_>>();
        let by_safe = achieved(safe);
        one.lifts.iter().chain(&one.narrows).chain(&achieved(one)).all(|pool| by_safe.contains(pool))
    };
    finding.fixes.iter().filter(move |fix| fix.safety != FixSafety::Unsafe || !safe().any(|safe| no_better(fix, safe)))
}

/// A change in words: on how many pools the image starts with it, if that is on all.
fn effect(fix: &Fix, subject: &Subject) -> String {
    let certain = fix.supposes.is_none()
        && [&fix.settles, &fix.lifts, &fix.narrows, &fix.breaks].iter().all(|list| list.is_empty());
    let verdicts = || subject.verdicts.iter().filter(|verdict| verdict.component.is_none());
    let starts = |verdict: &Verdict| verdict.fate == VerdictKind::Starts || fix.cures.contains(&verdict.pool);
    match verdicts().count() {
        many if many > 1 && certain && fix.drivers.is_empty() && verdicts().all(starts) => {
            format!("{} ({}; then starts on all {many} pools)", fix.title, fix.safety)
        }
        _ => fix.told(),
    }
}

/// Texts that images with the same fault have in common.
type Texts<'a> = (FindingSeverity, &'a str, &'a str, [Option<&'a String>; 3], &'a [String], Vec<&'a str>);

fn texts<'a>(finding: &'a Finding, subject: &Subject) -> Texts<'a> {
    let texts = [finding.cause.as_ref(), finding.symptom.as_ref(), finding.help.as_ref()];
    // The lines of a list name an image; neither they nor the digest of a layer say anything about its fault.
    let listed = |place: &Location| subject.kind == "image" && matches!(place.kind.as_str(), "file" | "layer");
    let labels = finding.locations.iter().filter(|place| place.kind != "fleet" && !listed(place));
    let labels = labels.map(|place| place.label.as_str()).collect();
    (finding.severity, &finding.rule, &finding.message, texts, &finding.pools, labels)
}

/// The image, with the line of the fault if that is in its own file.
fn image(finding: &Finding, subject: &Subject) -> String {
    let own = finding.locations.iter().find(|place| place.kind != "fleet" && place.region.is_some());
    match own.filter(|own| own.path == subject.name && subject.stage.is_none()) {
        Some(own) => place(own),
        None => title(subject),
    }
}
