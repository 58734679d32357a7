//! What was found, in the report: the fixes of each finding, and what is told of the image as a whole.

use std::collections::BTreeSet;

use crate::cure::Crew;
use crate::cure::Found;
use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::Wish;
use crate::cure::case::Aim;
use crate::cure::means::Means;
use crate::cure::newer::newer;
use crate::cure::search::search;
use crate::cure::supposed::supposed;
use crate::cure::trial::keeping;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::FixSafety;
use crate::report::model;
use crate::report::open::is_open;
use crate::source::Sources;

/// So many fixes are offered for one finding.
const MOST: usize = 8;
/// So many where it may start without them as well, and as many for each thing that is supposed of what is not known.
const MOST_OPEN: usize = 4;

/// Something that is looked for by itself.
#[derive(Clone, Copy)]
enum Part {
    Failing,
    Newer,
    Open,
    Supposed,
}

/// What was found of each part.
#[derive(Default)]
struct Looked {
    failing: Option<Found>,
    newer: Option<(Tried, Vec<model::FixDrivers>)>,
    open: Option<Found>,
    supposed: Vec<Vec<Tried>>,
}

impl Looked {
    fn and(&mut self, part: Self) {
        self.failing = self.failing.take().or(part.failing);
        self.newer = self.newer.take().or(part.newer);
        self.open = self.open.take().or(part.open);
        self.supposed.extend(part.supposed);
    }
}

/// Looks for changes that cure, and gives them to the findings: to every error what cures one of its pools, to every
/// verdict that is left open what makes it start there whatever is not known.
pub fn offer(judged: &mut model::Subject, subject: &Subject, settings: Settings<'_>, hosts: &Hosts, crew: &Crew) {
    let parts = [&[Part::Failing, Part::Newer][..], &[Part::Open, Part::Supposed]];
    let asked = [has_errors(judged), judged.findings.iter().any(is_open)];
    let asked: Vec<Part> =
        parts.iter().zip(asked).filter(|(_, asked)| *asked).flat_map(|(parts, _)| *parts).copied().collect();
    let mut looked = look(&asked, judged, subject, settings, hosts, crew);
    if let Some(found) = give_to_errors(judged, &mut looked, settings) {
        note(judged, found.cut);
        judged.inspected.notes.extend(judged.split.clone());
    }
    if let Some(mut found) = looked.open {
        found.tried.truncate(MOST_OPEN);
        for tried in looked.supposed {
            let known = |one: &Tried| found.tried.iter().any(|other| other.title == one.title);
            let news: Vec<Tried> = tried.into_iter().filter(|one| !known(one)).take(MOST_OPEN).collect();
            found.tried.extend(news);
        }
        give(judged, &found, settings.sources, (&is_open, 3 * MOST_OPEN), |one| [&one.settles, &one.narrows]);
        note(judged, found.cut);
    }
}

/// Looks for changes that cure, and gives them to the errors alone; of the rest of the report only the smallest split.
pub fn offer_for_failures(
    judged: &mut model::Subject,
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    crew: &Crew,
) {
    let asked: &[Part] = if has_errors(judged) { &[Part::Failing, Part::Newer] } else { &[] };
    let mut looked = look(asked, judged, subject, settings, hosts, crew);
    give_to_errors(judged, &mut looked, settings);
}

fn is_error(finding: &model::Finding) -> bool {
    finding.severity == FindingSeverity::Error && !is_open(finding)
}

fn has_errors(judged: &model::Subject) -> bool {
    judged.findings.iter().any(is_error)
}

/// What there is of some parts.
fn look(
    parts: &[Part],
    judged: &model::Subject,
    subject: &Subject,
    settings: Settings<'_>,
    hosts: &Hosts,
    crew: &Crew,
) -> Looked {
    let mut looked = Looked::default();
    if parts.is_empty() {
        return looked;
    }
    let (subject, means) = (&keeping(subject), &Means::new(hosts, crew));
    let search = |aim| Some(search(aim, Kind::ALL, subject, judged, settings, means));
    let part = |part: &Part| match part {
        Part::Failing => Looked { failing: search(Aim::Failing), ..Looked::default() },
        Part::Newer => Looked { newer: newer(subject, judged, settings, means), ..Looked::default() },
        Part::Open => Looked { open: search(Aim::Open), ..Looked::default() },
        Part::Supposed => Looked { supposed: supposed(subject, judged, settings, means), ..Looked::default() },
    };
    crew.each(parts, part, |part| {
        looked.and(part);
        true
    });
    looked
}

/// What was found, where there is an error.
fn give_to_errors(judged: &mut model::Subject, looked: &mut Looked, settings: Settings<'_>) -> Option<Found> {
    let mut found = looked.failing.take()?;
    let newer = looked.newer.take();
    let (newer, drivers) = newer.filter(|(one, _)| !found.tried.iter().any(|other| other.wish == one.wish)).unzip();
    if newer.is_some() {
        // It is told with the drivers that each pool needs for it.
        found.split = None;
    }
    found.tried.extend(newer);
    give(judged, &found, settings.sources, (&is_error, MOST), |one| [&one.cures, &one.lifts]);
    judged.split = found.split.take();
    tell_drivers(judged, &found, drivers);
    Some(found)
}

/// Says of the last change that was found which drivers it needs.
fn tell_drivers(judged: &mut model::Subject, found: &Found, drivers: Option<Vec<model::FixDrivers>>) {
    let (Some(last), Some(drivers)) = (found.tried.last(), drivers) else { return };
    let fixes = judged.findings.iter_mut().flat_map(|finding| &mut finding.fixes);
    for fix in fixes.filter(|fix| fix.title == last.title) {
        fix.drivers.clone_from(&drivers);
    }
}

fn note(judged: &mut model::Subject, cut: bool) {
    if cut {
        judged.inspected.notes.push("not every possible fix was tried: there are too many".to_owned());
    }
}

fn give(
    judged: &mut model::Subject,
    found: &Found,
    sources: &Sources,
    (wanted, most): (&dyn Fn(&model::Finding) -> bool, usize),
    helped: impl Fn(&Tried) -> [&Vec<String>; 2],
) {
    for finding in judged.findings.iter_mut().filter(|finding| wanted(finding)) {
        let helps = |one: &&Tried| helped(one).into_iter().flatten().any(|pool| finding.pools.contains(pool));
        let helping: Vec<&Tried> = found.tried.iter().filter(helps).collect();
        let on = |one: &Tried| -> BTreeSet<String> {
            helped(one).into_iter().flatten().filter(|pool| finding.pools.contains(pool)).cloned().collect()
        };
        // Who can have one change written need not make several by hand.
        let is_beaten = |one: &&Tried| {
            let single = |other: &&&Tried| {
                let written = other.safety < FixSafety::Manual && other.breaks.is_empty();
                written && !matches!(other.wish, Wish::All(_)) && on(one).is_subset(&on(other))
            };
            let by_hand = matches!(one.wish, Wish::All(_)) && one.safety == FixSafety::Manual;
            by_hand && helping.iter().any(|other| single(&other))
        };
        let (beaten, first): (Vec<&Tried>, Vec<&Tried>) = helping.iter().copied().partition(is_beaten);
        finding.fixes = first.into_iter().chain(beaten).take(most).map(|one| fix(one, sources)).collect();
    }
}

/// A change in the words of the report.
pub(super) fn fix(tried: &Tried, sources: &Sources) -> model::Fix {
    let mut edits = tried.edits.clone();
    edits.sort();
    let edits = edits.into_iter().map(|edit| {
        let text = sources.get(edit.source);
        let region = model::Region::of(text, edit.span);
        model::Edit { path: text.name().to_owned(), region, replacement: edit.replacement }
    });
    model::Fix {
        title: tried.title.clone(),
        kind: tried.kind.name().to_owned(),
        safety: if tried.breaks.is_empty() { tried.safety } else { tried.safety.max(FixSafety::Unsafe) },
        edits: edits.collect(),
        cures: tried.cures.clone(),
        settles: tried.settles.clone(),
        lifts: tried.lifts.clone(),
        narrows: tried.narrows.clone(),
        breaks: tried.breaks.clone(),
        supposes: tried.supposed.clone(),
        drivers: Vec::new(),
    }
}
