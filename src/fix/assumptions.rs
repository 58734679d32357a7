//! Fixes under assumptions about the unread part of an image: that it is empty, or as is usual for such images.
//!
//! If the image fails under such an assumption, a fix for that is reported together with the assumption.

use crate::fix::TestedFix;
use crate::fix::assumed_base::AssumedBase;
use crate::fix::changed_subject::subject_with_saved_observations;
use crate::fix::fix_context::{TargetPools, platforms_of_pools};
use crate::fix::search::search_fixes;
use crate::fix::search_resources::SearchResources;
use crate::fix::trial_verdict::whole_subject_verdicts;
use crate::fleet::Launch;
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, ReportDetail};
use crate::model::fact::{Evidence, FactKey, FileKind, Observations, ObservedFile, Origin, PrintedValue, ValueState};
use crate::report::kinds::ChangeKind;
use crate::report::model;

/// The assumption that the unread part of the image is empty.
const EMPTY_ASSUMPTION: &str = "the unread part of the image sets no variable and contains no library";

/// Path of the cache of the dynamic loader.
const LD_CACHE: &str = "/etc/ld.so.cache";
/// Origin of facts that are assumed rather than read.
const ASSUMPTION_ORIGIN: Origin = Origin::Option("an assumption about the unread part of the image");

/// Returns the fixes for pools on which the image may fail, one list per assumption.
pub(super) fn fixes_under_assumptions(
    subject: &AnalysisSubject,
    judged: &model::Subject,
    settings: AnalysisSettings<'_>,
    resources: &SearchResources<'_>,
) -> Vec<Vec<TestedFix>> {
    let platforms = platforms_of_pools(judged, settings);
    // What starts without a container has the files of its host.
    let contained = settings.fleet.pools.iter().any(|pool| {
        let native = pool.launch.as_ref().is_some_and(|launch| launch.value == Launch::Native);
        !native
            && whole_subject_verdicts(judged)
                .any(|one| one.pool == pool.name.value && TargetPools::Open.includes(one.fate))
    });
    let usual = platforms.first().filter(|_| contained).and_then(|platform| {
        let seen = judge::observations_for_platform(&subject.content, platform)?;
        AssumedBase::for_image(&seen, platform, settings)
    });
    let under = |what: &str, change: &dyn Fn(Observations) -> Observations| {
        search_under_assumption((what, change), subject, judged, settings, resources)
    };
    let either = |usually: &bool| match usual.as_ref().filter(|_| *usually) {
        None => under(EMPTY_ASSUMPTION, &assume_empty),
        Some(usual) => under(&usual.what, &|seen| usual.apply_to(seen)),
    };
    let mut found = Vec::new();
    let all: &[bool] = if usual.is_some() { &[false, true] } else { &[false] };
    resources.threads.process_in_order(all, either, |tried| {
        found.push(tried);
        true
    });
    found
}

/// Marks environment and files as complete, so that nothing unread exists.
fn assume_empty(mut seen: Observations) -> Observations {
    (seen.complete.env, seen.complete.files) = (true, true);
    // As on every system with glibc.
    let there = ValueState::Known(PrintedValue::Text(LD_CACHE.to_owned()));
    let fact = seen.facts.add(FactKey::File, Some(LD_CACHE), there, Evidence::Leaf(vec![ASSUMPTION_ORIGIN]));
    seen.files.entry(LD_CACHE.to_owned()).or_insert(ObservedFile { kind: FileKind::Present, fact });
    seen
}

/// Searches for fixes for a subject under one assumption about its contents.
fn search_under_assumption(
    (what, change): (&str, &dyn Fn(Observations) -> Observations),
    subject: &AnalysisSubject,
    judged: &model::Subject,
    settings: AnalysisSettings<'_>,
    resources: &SearchResources<'_>,
) -> Vec<TestedFix> {
    let change = |seen: Observations| Some(change(seen));
    let Some(subject) = subject_with_saved_observations(subject, judged, &platforms_of_pools(judged, settings), change)
    else {
        return Vec::new();
    };
    let settings = AnalysisSettings { detail: ReportDetail::Fates, ..settings };
    let then = judge::judge_on_hosts(&subject, settings, resources.hosts);
    let mut found = Vec::new();
    for aim in [TargetPools::Failing, TargetPools::Open] {
        let tried = search_fixes(aim, ChangeKind::ALL, &subject, &then, settings, resources).tried;
        found.extend(tried.into_iter().filter(|one| one.breaks.is_empty()).map(|one| TestedFix {
            settles: [one.cures, one.settles].concat(),
            narrows: [one.lifts, one.narrows].concat(),
            cures: Vec::new(),
            lifts: Vec::new(),
            supposed: Some(what.to_owned()),
            ..one
        }));
    }
    found
}
