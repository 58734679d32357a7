//! Groups for the terminal report: a fault of several images once, and a cause of unknown verdicts once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::report::escape::escape_one_line;
use crate::report::kinds::{FindingSeverity, FixSafety, LocationKind, SubjectKind, VerdictKind};
use crate::report::model::{Finding, Fix, Location, Report, Subject, Verdict};
use crate::report::phrases::{join_first, location_label, pluralize, subject_title};
use crate::rules::Notice;

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

/// Returns the findings of a report in groups, errors first, without findings about unknown verdicts.
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

/// Maximum number of images, pools or names that are listed; the rest is only counted.
const MAX_NAMED: usize = 3;

/// Whether a finding is about an unknown verdict.
pub fn is_about_unknown_verdict(finding: &Finding) -> bool {
    Notice::OPEN.iter().any(|notice| notice.name() == finding.rule)
}

/// The findings with one cause, and the images that have it, each with its pools.
struct UnknownCause<'a> {
    findings: Vec<&'a Finding>,
    images: Vec<(&'a Subject, &'a Finding, Vec<&'a str>)>,
    fixes: Vec<String>,
}

/// Returns every cause of unknown verdicts, within a severity the one of most images first.
pub fn group_unknown_verdicts(report: &Report) -> Vec<FindingGroup<'_>> {
    let mut causes: Vec<UnknownCause<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for subject in report.subjects.iter().filter(|subject| subject.gpu_content) {
        for finding in subject.findings.iter().filter(|finding| is_about_unknown_verdict(finding)) {
            let texts = [Some(&finding.message), finding.help.as_ref()];
            let between = texts.map(|text| text.map(|text| TextParts::split(text).between));
            let at = *known.entry((finding.severity, &finding.rule, between)).or_insert(causes.len());
            if at == causes.len() {
                causes.push(UnknownCause { findings: Vec::new(), images: Vec::new(), fixes: Vec::new() });
            }
            let Some(cause) = causes.get_mut(at) else { continue };
            cause.findings.push(finding);
            let pools = finding.pools.iter().map(String::as_str);
            match cause.images.iter_mut().find(|(own, ..)| std::ptr::eq(*own, subject)) {
                Some((.., own)) => own.extend(pools),
                None => cause.images.push((subject, finding, pools.collect())),
            }
            for fix in relevant_fixes(finding).map(|fix| escape_one_line(&fix.describe()).into_owned()) {
                if !cause.fixes.contains(&fix) {
                    cause.fixes.push(fix);
                }
            }
        }
    }
    let all = report.fleet.pools.len();
    let mut groups: Vec<FindingGroup<'_>> = causes.into_iter().filter_map(|cause| cause_group(cause, all)).collect();
    groups.sort_by_key(|group| (group.first.severity, usize::MAX - group.images.len()));
    groups
}

/// Returns the group of a cause; `all` is the number of pools of the fleet.
fn cause_group(cause: UnknownCause<'_>, all: usize) -> Option<FindingGroup<'_>> {
    let (subject, ..) = *cause.images.first()?;
    let first = merge_findings(&cause.findings, cause.images.len() == 1)?;
    let images =
        cause.images.iter().map(|(subject, finding, pools)| image_with_pools(subject, finding, pools, all)).collect();
    Some(FindingGroup { first, subject, images, fixes: cause.fixes })
}

/// Returns a hint at the command that reads several unread base images; `None` if at most one is unread.
pub fn lock_hint(causes: &[FindingGroup<'_>]) -> Option<String> {
    let unread = causes.iter().filter(|group| group.first.base_not_read);
    let unread: usize = unread.map(|group| group.images.len()).sum();
    (unread > 1)
        .then(|| format!("{} were not read; run `imagelint lock .`", pluralize(unread, "base image or configuration")))
        .map(|line| line.replace("base image or configurations", "base images or configurations"))
}

/// Returns one finding for all, with the names of all images in its texts, and with all their pools.
fn merge_findings<'a>(findings: &[&'a Finding], one_image: bool) -> Option<Cow<'a, Finding>> {
    let (first, others) = findings.split_first()?;
    if others.is_empty() {
        return Some(Cow::Borrowed(*first));
    }
    let mut all = (*first).clone();
    all.message = use_plural_verbs(merge_texts(findings.iter().map(|finding| finding.message.as_str())));
    let texts = |part: fn(&Finding) -> &Option<String>| {
        let texts: Option<Vec<&str>> = findings.iter().map(|finding| part(finding).as_deref()).collect();
        let texts = texts?;
        let first = TextParts::split(texts.first()?);
        texts.iter().all(|text| TextParts::split(text).between == first.between).then(|| merge_texts(texts.into_iter()))
    };
    all.help = texts(|finding| &finding.help).map(use_plural_verbs);
    all.cause = texts(|finding| &finding.cause);
    all.also_unknown = merged_unknowns(findings, one_image);
    all.pools = merged_pools(findings);
    for location in others.iter().filter(|_| one_image).flat_map(|finding| &finding.locations) {
        if !all.locations.contains(location) {
            all.locations.push(location.clone());
        }
    }
    Some(Cow::Owned(all))
}

/// Returns the pools of all findings, each once.
fn merged_pools(findings: &[&Finding]) -> Vec<String> {
    let mut pools: Vec<String> = Vec::new();
    for pool in findings.iter().flat_map(|finding| &finding.pools) {
        if !pools.contains(pool) {
            pools.push(pool.clone());
        }
    }
    pools
}

/// Returns the other unknown facts that the findings name, each once; with its pools if not all findings name it.
fn merged_unknowns(findings: &[&Finding], one_image: bool) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, Vec<&str>, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        for text in &finding.also_unknown {
            let between = TextParts::split(text).between;
            match all.iter_mut().find(|(own, ..)| *own == between) {
                Some((_, texts, of)) => {
                    texts.push(text);
                    of.push(finding);
                }
                None => all.push((between, vec![text], vec![finding])),
            }
        }
    }
    // What applies to one of several images belongs to the report of that image.
    let partly = |(.., of): &(Vec<&str>, Vec<&str>, Vec<&Finding>)| !one_image && of.len() < findings.len();
    let before = all.len();
    all.retain(|one| !partly(one));
    let more =
        (all.len() < before).then(|| "more, for some of these images; check a single image to see it".to_owned());
    let with_extent = |(_, texts, of): (Vec<&str>, Vec<&str>, Vec<&Finding>)| {
        let text = merge_texts(texts.into_iter());
        if of.len() == findings.len() {
            return text;
        }
        format!("on {}: {text}", join_first(&merged_pools(&of), MAX_NAMED, ", "))
    };
    all.into_iter().map(with_extent).chain(more).collect()
}

/// Returns the text with plural verbs if several names come before them.
fn use_plural_verbs(text: String) -> String {
    if !text.contains("`, `") {
        return text;
    }
    let verbs = [
        (" was not read", " were not read"),
        (" is not in", " are not in"),
        (" includes no ", " include no "),
        ("the source of ", "the sources of "),
        ("what it installs is", "what they install is"),
        ("list its packages", "list their packages"),
    ];
    verbs.into_iter().fold(text, |text, (one, many)| text.replace(one, many))
}

/// Returns texts that differ only in their names as one text with all names.
fn merge_texts<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut between: Vec<&str> = Vec::new();
    for parts in texts.map(TextParts::split) {
        names.resize(names.len().max(parts.names.len()), Vec::new());
        for (all, name) in names.iter_mut().zip(parts.names) {
            let name = format!("`{name}`");
            if !all.contains(&name) {
                all.push(name);
            }
        }
        between = parts.between;
    }
    let mut out = String::new();
    for (at, text) in between.iter().enumerate() {
        out.push_str(text);
        if let Some(all) = names.get(at).filter(|_| at + 1 < between.len()) {
            out.push_str(&join_first(all, MAX_NAMED, ", "));
        }
    }
    out
}

/// A text split into the names in backticks that may differ between images, and the texts between them.
struct TextParts<'t> {
    between: Vec<&'t str>,
    names: Vec<&'t str>,
}

impl<'t> TextParts<'t> {
    /// Splits a text at its names.
    fn split(text: &'t str) -> Self {
        let mut parts = Self { between: Vec::new(), names: Vec::new() };
        let (mut rest, mut from) = (text, 0);
        while let Some((before, after)) = rest.split_once('`') {
            let Some((quoted, more)) = after.split_once('`') else { break };
            // A field, a flag or a command is the same in every image.
            if quoted.contains(['/', ':', '.']) && !quoted.contains(' ') {
                let begin = text.len() - rest.len() + before.len();
                parts.between.push(text.get(from..begin).unwrap_or_default());
                parts.names.push(quoted);
                from = text.len() - more.len();
            }
            rest = more;
        }
        parts.between.push(text.get(from..).unwrap_or_default());
        parts
    }
}

/// Returns the image, with the line of the finding if that is in its own file, and its pools.
fn image_with_pools(subject: &Subject, finding: &Finding, pools: &[&str], all: usize) -> String {
    let own = finding.locations.iter().find(|place| place.kind != LocationKind::Fleet && place.region.is_some());
    let image = match own.filter(|own| own.path == subject.name && subject.stage.is_none()) {
        Some(own) => location_label(own),
        None => subject_title(subject),
    };
    let pools: Vec<String> = pools.iter().map(|pool| escape_one_line(pool).into_owned()).collect();
    match pools.len() {
        0 => image,
        number if number == all && number > 1 => format!("{image} on all {number} pools"),
        _ => format!("{image} on {}", join_first(&pools, MAX_NAMED, ", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_images_name_their_bases() {
        let text =
            |name: &str| format!("`{name}` was not read; describe `{name}`, or set `launch` with `imagelint lock .`");
        let (one, two) = (text("a/b:1"), text("c/d:2"));
        assert_eq!(TextParts::split(&one).between, TextParts::split(&two).between);
        assert_eq!(merge_texts([one.as_str()].into_iter()), one);
        let both = "`a/b:1`, `c/d:2` was not read; describe `a/b:1`, `c/d:2`, or set `launch` with `imagelint lock .`";
        assert_eq!(merge_texts([one.as_str(), two.as_str(), one.as_str()].into_iter()), both);
        let many: Vec<String> = (0..5).map(|number| format!("`x/{number}` is unread")).collect();
        assert_eq!(merge_texts(many.iter().map(String::as_str)), "`x/0`, `x/1`, `x/2` and 2 more is unread");
        assert_eq!(merge_texts(["no `end"].into_iter()), "no `end");
    }
}
