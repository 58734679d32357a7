//! Repairs a subject: applies the best writable fix repeatedly, until no error can be fixed any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dockerfile::LazyDockerfile;
use crate::edit::SourceEdit;
use crate::fix::fix_context::TargetPools;
use crate::fix::report_fixes::to_report_fix;
use crate::fix::search::search_fixes;
use crate::fix::search_resources::SearchResources;
use crate::fix::trial::{subject_with_dockerfile, subject_with_file_cache};
use crate::fix::{ChangeKind, TestedFix, ThreadBudget};
use crate::judge::{AnalysisSettings, AnalysisSubject, FleetHosts, SubjectContent};
use crate::report::kinds::{FindingSeverity, FixSafety};
use crate::report::model;
use crate::source::{SourceId, SourceText, Sources};
use crate::{edit, judge};

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
    crew: &ThreadBudget,
    least: FixSafety,
) -> AppliedFixes {
    let (mut repair, means) = (AppliedFixes::default(), SearchResources::new(hosts, crew));
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
        let wanted = |one: &TestedFix| {
            let mut errors = judged.findings.iter().filter(|finding| finding.severity == FindingSeverity::Error);
            errors.any(|finding| one.cures.iter().any(|pool| finding.pools.contains(pool)))
        };
        let Some(best) = safest_fix(found.tried.into_iter().filter(|one| may(one) && wanted(one)).collect()) else {
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

/// Returns a subject with edited texts and all its sources; `None` unless it is built from a Dockerfile.
pub fn subject_with_texts(
    subject: &AnalysisSubject,
    sources: &Sources,
    texts: &BTreeMap<SourceId, String>,
) -> Option<(AnalysisSubject, Sources)> {
    let SubjectContent::Dockerfile { source, dockerfile, files, .. } = &subject.content else { return None };
    let dockerfile = texts.get(source).map_or_else(|| dockerfile.clone(), |text| LazyDockerfile::new(text.as_str()));
    let mut files = files.clone();
    for (id, text) in texts.iter().filter(|(id, _)| *id != source) {
        // What another subject reads alone is none of its files.
        files = files.with_text(*id, &Arc::from(text.as_str())).unwrap_or(files);
    }
    Some((subject_with_dockerfile(subject, dockerfile, files)?, sources_with_texts(sources, texts)))
}

/// Applies edits, and returns the edited texts by source; `None` where an edit does not apply.
pub(super) fn edited_texts(sources: &Sources, edits: &[SourceEdit]) -> Option<BTreeMap<SourceId, String>> {
    let mut of_text: BTreeMap<SourceId, Vec<SourceEdit>> = BTreeMap::new();
    for edit in edits {
        of_text.entry(edit.source).or_default().push(edit.clone());
    }
    of_text.into_iter().map(|(id, edits)| Some((id, edit::apply_edits(sources.get(id).text(), &edits).ok()?))).collect()
}

/// Returns the sources under the same ids, with some texts replaced.
pub(super) fn sources_with_texts(sources: &Sources, texts: &BTreeMap<SourceId, String>) -> Sources {
    let mut new = Sources::default();
    for (at, text) in sources.iter().enumerate() {
        let id = SourceId(u32::try_from(at).unwrap_or(u32::MAX));
        new.add(match texts.get(&id) {
            Some(changed) => SourceText::new(text.name(), changed.clone()),
            None => text.clone(),
        });
    }
    new
}
