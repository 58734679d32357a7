//! Repairs a subject: applies the best writable fix repeatedly, until no error can be fixed any more.

use std::collections::BTreeMap;

use crate::fix::changed_subject::{edited_texts, sources_with_texts, subject_with_file_cache};
use crate::fix::fix_context::TargetPools;
use crate::fix::report_fixes::to_report_fix;
use crate::fix::search::search_fixes;
use crate::fix::search_resources::SearchResources;
use crate::fix::{TestedFix, ThreadBudget};
use crate::judge;
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts};
use crate::report::kinds::{ChangeKind, FindingSeverity, FixSafety};
use crate::report::model;
use crate::text::source::SourceId;

/// Maximum number of fixes applied to one subject.
const MAX_FIXES: usize = 6;

/// The fixes applied to a subject, and its edited texts.
#[derive(Clone, Debug, Default)]
pub struct AppliedFixes {
    /// The edited texts, of those that changed.
    pub texts: BTreeMap<SourceId, String>,
    /// The applied fixes, in order.
    pub fixes: Vec<model::Fix>,
}

/// Repairs a subject with fixes that break no pool and are at least as safe as `least`.
pub fn repair_subject(
    subject: &AnalysisSubject,
    settings: AnalysisSettings<'_>,
    hosts: &FleetHosts,
    threads: &ThreadBudget,
    least: FixSafety,
) -> AppliedFixes {
    let (mut repair, means) = (AppliedFixes::default(), SearchResources::new(hosts, threads));
    let kinds: Vec<ChangeKind> = ChangeKind::ALL.iter().copied().filter(|kind| kind.changes_image()).collect();
    let mut sources = settings.sources.clone();
    let mut now = subject_with_file_cache(subject);
    for _ in 0..MAX_FIXES {
        let settings = AnalysisSettings { sources: &sources, ..settings };
        let judged = judge::judge_on_hosts(&now, settings, hosts);
        if !judged.findings.iter().any(|finding| finding.severity == FindingSeverity::Error) {
            break;
        }
        let found = search_fixes(TargetPools::Failing, &kinds, &now, &judged, settings, &means);
        let may = |one: &TestedFix| one.safety <= least && !one.edits.is_empty() && one.breaks.is_empty();
        let resolves_error = |one: &TestedFix| {
            let mut errors = judged.findings.iter().filter(|finding| finding.severity == FindingSeverity::Error);
            errors.any(|finding| one.cures.iter().any(|pool| finding.pools.contains(pool)))
        };
        let Some(best) = safest_fix(found.tried.into_iter().filter(|one| may(one) && resolves_error(one)).collect())
        else {
            break;
        };
        let Some(texts) = edited_texts(&sources, &best.edits) else { break };
        repair.fixes.push(to_report_fix(&best, &sources));
        sources = sources_with_texts(&sources, &texts);
        repair.texts.extend(texts);
        let Some(subject) = best.subject else { break };
        now = subject;
    }
    repair
}

/// Returns the first fix, or a safer one that makes the image start on all the same pools.
fn safest_fix(tried: Vec<TestedFix>) -> Option<TestedFix> {
    let first = tried.first()?;
    let does = |one: &TestedFix| one.safety < first.safety && first.cures.iter().all(|pool| one.cures.contains(pool));
    let at = tried.iter().position(does).unwrap_or_default();
    tried.into_iter().nth(at)
}
