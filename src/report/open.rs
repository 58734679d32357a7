//! Verdicts that are unknown, for a person: each cause once, with all images that share it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::report::escape::clean;
use crate::report::groups::Group;
use crate::report::groups::offered;
use crate::report::model::Finding;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::words::count;
use crate::report::words::listed;
use crate::report::words::place;
use crate::report::words::title;
use crate::rules::Notice;

/// So many images and names are named; of the rest, the number.
const NAMED: usize = 3;

/// Whether a finding is about a verdict that is unknown.
pub fn is_open(finding: &Finding) -> bool {
    Notice::OPEN.iter().any(|notice| notice.word() == finding.rule)
}

/// The findings with one cause, and the images that have it, each with its pools.
struct Shared<'a> {
    findings: Vec<&'a Finding>,
    images: Vec<(&'a Subject, &'a Finding, Vec<&'a str>)>,
    fixes: Vec<String>,
}

/// Every cause, that of most images first within a severity.
pub fn causes(report: &Report) -> Vec<Group<'_>> {
    let mut causes: Vec<Shared<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for subject in report.subjects.iter().filter(|subject| subject.gpu_content) {
        for finding in subject.findings.iter().filter(|finding| is_open(finding)) {
            let texts = [Some(&finding.message), finding.help.as_ref()];
            let between = texts.map(|text| text.map(|text| Parts::of(text).between));
            let at = *known.entry((finding.severity, &finding.rule, between)).or_insert(causes.len());
            if at == causes.len() {
                causes.push(Shared { findings: Vec::new(), images: Vec::new(), fixes: Vec::new() });
            }
            let Some(cause) = causes.get_mut(at) else { continue };
            cause.findings.push(finding);
            let pools = finding.pools.iter().map(String::as_str);
            match cause.images.iter_mut().find(|(own, ..)| std::ptr::eq(*own, subject)) {
                Some((.., own)) => own.extend(pools),
                None => cause.images.push((subject, finding, pools.collect())),
            }
            for fix in offered(finding).map(|fix| clean(&fix.told()).into_owned()) {
                if !cause.fixes.contains(&fix) {
                    cause.fixes.push(fix);
                }
            }
        }
    }
    let all = report.fleet.pools.len();
    let mut groups: Vec<Group<'_>> = causes.into_iter().filter_map(|cause| group(cause, all)).collect();
    groups.sort_by_key(|group| (group.first.severity, usize::MAX - group.images.len()));
    groups
}

fn group(cause: Shared<'_>, all: usize) -> Option<Group<'_>> {
    let (subject, ..) = *cause.images.first()?;
    let first = together(&cause.findings, cause.images.len() == 1)?;
    let images = cause.images.iter().map(|(subject, finding, pools)| image(subject, finding, pools, all)).collect();
    Some(Group { first, subject, images, fixes: cause.fixes })
}

/// The command that settles most of them.
pub fn settles_most(causes: &[Group<'_>]) -> Option<String> {
    let unread = |group: &&Group<'_>| group.first.help.as_ref().is_some_and(|help| help.contains("--pull"));
    let unread: usize = causes.iter().filter(unread).map(|group| group.images.len()).sum();
    (unread > 1)
        .then(|| format!("{} were not read; run `imagelint lock .`", count(unread, "base image or configuration")))
        .map(|line| line.replace("base image or configurations", "base images or configurations"))
}

/// One finding for all, with the names of all images in its texts and the pools of all.
fn together<'a>(findings: &[&'a Finding], one_image: bool) -> Option<Cow<'a, Finding>> {
    let (first, others) = findings.split_first()?;
    if others.is_empty() {
        return Some(Cow::Borrowed(*first));
    }
    let mut all = (*first).clone();
    all.message = plural(named(findings.iter().map(|finding| finding.message.as_str())));
    let texts = |part: fn(&Finding) -> &Option<String>| {
        let texts: Option<Vec<&str>> = findings.iter().map(|finding| part(finding).as_deref()).collect();
        let texts = texts?;
        let first = Parts::of(texts.first()?);
        texts.iter().all(|text| Parts::of(text).between == first.between).then(|| named(texts.into_iter()))
    };
    all.help = texts(|finding| &finding.help).map(plural);
    all.cause = texts(|finding| &finding.cause);
    all.also_unknown = also_unknown(findings, one_image);
    all.pools = pools(findings);
    for location in others.iter().filter(|_| one_image).flat_map(|finding| &finding.locations) {
        if !all.locations.contains(location) {
            all.locations.push(location.clone());
        }
    }
    Some(Cow::Owned(all))
}

/// The pools of all findings, each once.
fn pools(findings: &[&Finding]) -> Vec<String> {
    let mut pools: Vec<String> = Vec::new();
    for pool in findings.iter().flat_map(|finding| &finding.pools) {
        if !pools.contains(pool) {
            pools.push(pool.clone());
        }
    }
    pools
}

/// What else is unknown, each once; what applies on some pools only, with these.
fn also_unknown(findings: &[&Finding], one_image: bool) -> Vec<String> {
    let mut all: Vec<(Vec<&str>, Vec<&str>, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        for text in &finding.also_unknown {
            let between = Parts::of(text).between;
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
        let text = named(texts.into_iter());
        if of.len() == findings.len() {
            return text;
        }
        format!("on {}: {text}", listed(&pools(&of), NAMED, ", "))
    };
    all.into_iter().map(with_extent).chain(more).collect()
}

/// The verb that follows several names.
fn plural(text: String) -> String {
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

/// Texts that differ in their names only, as one text with the names of all.
fn named<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut between: Vec<&str> = Vec::new();
    for parts in texts.map(Parts::of) {
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
            out.push_str(&listed(all, NAMED, ", "));
        }
    }
    out
}

/// A text in parts: the names in backticks that may differ between images, and what is between them.
struct Parts<'t> {
    between: Vec<&'t str>,
    names: Vec<&'t str>,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Self {
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

fn image(subject: &Subject, finding: &Finding, pools: &[&str], all: usize) -> String {
    let own = finding.locations.iter().find(|place| place.kind != "fleet" && place.region.is_some());
    let image = match own.filter(|own| own.path == subject.name && subject.stage.is_none()) {
        Some(own) => place(own),
        None => title(subject),
    };
    let pools: Vec<String> = pools.iter().map(|pool| clean(pool).into_owned()).collect();
    match pools.len() {
        0 => image,
        number if number == all && number > 1 => format!("{image} on all {number} pools"),
        _ => format!("{image} on {}", listed(&pools, NAMED, ", ")),
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
        assert_eq!(Parts::of(&one).between, Parts::of(&two).between);
        assert_eq!(named([one.as_str()].into_iter()), one);
        let both = "`a/b:1`, `c/d:2` was not read; describe `a/b:1`, `c/d:2`, or set `launch` with `imagelint lock .`";
        assert_eq!(named([one.as_str(), two.as_str(), one.as_str()].into_iter()), both);
        let many: Vec<String> = (0..5).map(|number| format!("`x/{number}` is unread")).collect();
        assert_eq!(named(many.iter().map(String::as_str)), "`x/0`, `x/1`, `x/2` and 2 more is unread");
        assert_eq!(named(["no `end"].into_iter()), "no `end");
    }
}
