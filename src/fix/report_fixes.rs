//! Adds fixes to a report: those of each finding, and notes on the image as a whole.

use std::collections::BTreeSet;

use crate::fix::assumptions::fixes_under_assumptions;
use crate::fix::changed_subject::subject_with_file_cache;
use crate::fix::fix_context::TargetPools;
use crate::fix::newer_release::find_newer_release;
use crate::fix::search::search_fixes;
use crate::fix::search_resources::SearchResources;
use crate::fix::{FixSearchResult, ProposedChange, TestedFix, ThreadBudget};
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts};
use crate::model::note::Note;
use crate::report::finding_groups::is_about_unknown_verdict;
use crate::report::kinds::{ChangeKind, FindingSeverity, FixSafety};
use crate::report::model;
use crate::text::source::Sources;

/// The largest number of fixes for one finding.
const MAX_FIXES_PER_FINDING: usize = 8;
/// The largest number of fixes if the image may start without them, and for each assumption about an unknown fact.
const MAX_FIXES_PER_OPEN_FINDING: usize = 4;

/// A search for fixes that can run independently of the others.
#[derive(Clone, Copy)]
enum SearchPart {
    Failing,
    Newer,
    Open,
    Supposed,
}

/// The results of the searches for fixes.
#[derive(Default)]
struct FixSearchResults {
    failing: Option<FixSearchResult>,
    newer: Option<TestedFix>,
    open: Option<FixSearchResult>,
    supposed: Vec<Vec<TestedFix>>,
}

impl FixSearchResults {
    /// Adds the results of another search.
    fn merge(&mut self, part: Self) {
        self.failing = self.failing.take().or(part.failing);
        self.newer = self.newer.take().or(part.newer);
        self.open = self.open.take().or(part.open);
        self.supposed.extend(part.supposed);
    }
}

/// Searches for fixes and adds them to the findings. Errors get those that start one of their pools, undetermined
/// verdicts those that start regardless of what is unknown.
pub fn add_fixes(
    judged: &mut model::Subject,
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    threads: &ThreadBudget,
) {
    let parts = [&[SearchPart::Failing, SearchPart::Newer][..], &[SearchPart::Open, SearchPart::Supposed]];
    let enabled = [has_certain_errors(judged), judged.findings.iter().any(is_about_unknown_verdict)];
    let selected_parts: Vec<SearchPart> = parts
        .iter()
        .zip(enabled)
        .filter(|(_, is_enabled)| *is_enabled)
        .flat_map(|(parts, _)| *parts)
        .copied()
        .collect();
    let mut looked = run_searches(&selected_parts, judged, subject, settings, hosts, threads);
    if let Some(found) = attach_fixes_to_errors(judged, &mut looked, settings) {
        add_incomplete_search_note(judged, found.cut);
        judged.inspected.notes.extend(judged.split.clone().map(Note::from));
    }
    if let Some(mut found) = looked.open {
        found.tried.truncate(MAX_FIXES_PER_OPEN_FINDING);
        for tried in looked.supposed {
            let known = |one: &TestedFix| found.tried.iter().any(|other| other.title == one.title);
            let news: Vec<TestedFix> =
                tried.into_iter().filter(|one| !known(one)).take(MAX_FIXES_PER_OPEN_FINDING).collect();
            found.tried.extend(news);
        }
        attach_fixes(
            judged,
            &found,
            settings.sources,
            (&is_about_unknown_verdict, 3 * MAX_FIXES_PER_OPEN_FINDING),
            |one| [&one.settles, &one.narrows],
        );
        add_incomplete_search_note(judged, found.cut);
    }
}

/// Searches for fixes and adds them to the errors only; the rest of the report receives only the smallest split.
pub fn add_fixes_to_errors(
    judged: &mut model::Subject,
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    threads: &ThreadBudget,
) {
    let selected_parts: &[SearchPart] =
        if has_certain_errors(judged) { &[SearchPart::Failing, SearchPart::Newer] } else { &[] };
    let mut looked = run_searches(selected_parts, judged, subject, settings, hosts, threads);
    attach_fixes_to_errors(judged, &mut looked, settings);
}

/// Whether a finding is an error that does not depend on unknown facts.
fn is_certain_error(finding: &model::Finding) -> bool {
    finding.severity == FindingSeverity::Error && !is_about_unknown_verdict(finding)
}

/// Whether a subject has such an error.
fn has_certain_errors(judged: &model::Subject) -> bool {
    judged.findings.iter().any(is_certain_error)
}

/// Runs some of the searches and returns their results.
fn run_searches(
    parts: &[SearchPart],
    judged: &model::Subject,
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    threads: &ThreadBudget,
) -> FixSearchResults {
    let mut looked = FixSearchResults::default();
    if parts.is_empty() {
        return looked;
    }
    let (subject, means) = (&subject_with_file_cache(subject), &SearchResources::new(hosts, threads));
    let search = |aim| Some(search_fixes(aim, ChangeKind::ALL, subject, judged, settings, means));
    let part = |part: &SearchPart| match part {
        SearchPart::Failing => {
            FixSearchResults { failing: search(TargetPools::Failing), ..FixSearchResults::default() }
        }
        SearchPart::Newer => FixSearchResults {
            newer: find_newer_release(subject, judged, settings, means),
            ..FixSearchResults::default()
        },
        SearchPart::Open => FixSearchResults { open: search(TargetPools::Open), ..FixSearchResults::default() },
        SearchPart::Supposed => FixSearchResults {
            supposed: fixes_under_assumptions(subject, judged, settings, means),
            ..FixSearchResults::default()
        },
    };
    threads.process_in_order(parts, part, |part| {
        looked.merge(part);
        true
    });
    looked
}

/// Adds the fixes to the errors, and returns them; `None` if failures were not searched.
fn attach_fixes_to_errors(
    judged: &mut model::Subject,
    looked: &mut FixSearchResults,
    settings: AnalysisSettings<'_>,
) -> Option<FixSearchResult> {
    let mut found = looked.failing.take()?;
    let newer = looked.newer.take().filter(|one| !found.tried.iter().any(|other| other.change == one.change));
    if newer.is_some() {
        // Its fix lists the drivers that each pool needs for it.
        found.split = None;
    }
    found.tried.extend(newer);
    attach_fixes(judged, &found, settings.sources, (&is_certain_error, MAX_FIXES_PER_FINDING), |one| {
        [&one.cures, &one.lifts]
    });
    judged.split = found.split.take();
    Some(found)
}

/// Adds a note to the report if not every possible fix was evaluated.
fn add_incomplete_search_note(judged: &mut model::Subject, cut: bool) {
    if cut {
        judged.inspected.notes.push("not every possible fix was tried: there are too many".into());
    }
}

/// Adds to each wanted finding the changes that help on its pools, those that need no manual combination first.
fn attach_fixes(
    judged: &mut model::Subject,
    found: &FixSearchResult,
    sources: &Sources,
    (is_selected, most): (&dyn Fn(&model::Finding) -> bool, usize),
    helped: impl Fn(&TestedFix) -> [&Vec<String>; 2],
) {
    for finding in judged.findings.iter_mut().filter(|finding| is_selected(finding)) {
        let helps = |one: &&TestedFix| helped(one).into_iter().flatten().any(|pool| finding.pools.contains(pool));
        let helping: Vec<&TestedFix> = found.tried.iter().filter(helps).collect();
        let on = |one: &TestedFix| -> BTreeSet<String> {
            helped(one).into_iter().flatten().filter(|pool| finding.pools.contains(pool)).cloned().collect()
        };
        // Who can have one change written need not make several by hand.
        let is_beaten = |one: &&TestedFix| {
            let single = |other: &&&TestedFix| {
                let written = other.safety < FixSafety::Manual && other.breaks.is_empty();
                written && !matches!(other.change, ProposedChange::All(_)) && on(one).is_subset(&on(other))
            };
            let is_manual_combination = matches!(one.change, ProposedChange::All(_)) && one.safety == FixSafety::Manual;
            is_manual_combination && helping.iter().any(|other| single(&other))
        };
        let (beaten, first): (Vec<&TestedFix>, Vec<&TestedFix>) = helping.iter().copied().partition(is_beaten);
        finding.fixes = first.into_iter().chain(beaten).take(most).map(|one| to_report_fix(one, sources)).collect();
    }
}

/// Converts an evaluated change into a fix of the report.
pub(super) fn to_report_fix(tried: &TestedFix, sources: &Sources) -> model::Fix {
    let mut edits = tried.edits.clone();
    edits.sort();
    let edits = edits.into_iter().map(|edit| {
        let text = sources.get(edit.source);
        let region = model::Region::from_span(text, edit.span);
        model::Edit { path: text.name().to_owned(), region, replacement: edit.replacement }
    });
    model::Fix {
        title: tried.title.clone(),
        kind: tried.kind,
        safety: if tried.breaks.is_empty() { tried.safety } else { tried.safety.max(FixSafety::Unsafe) },
        edits: edits.collect(),
        cures: tried.cures.clone(),
        settles: tried.settles.clone(),
        lifts: tried.lifts.clone(),
        narrows: tried.narrows.clone(),
        breaks: tried.breaks.clone(),
        supposes: tried.supposed.clone(),
        drivers: tried.drivers.clone(),
    }
}
