//! A subject repaired: the best change that may be written, again and again, until nothing more is cured.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cure::Crew;
use crate::cure::Kind;
use crate::cure::Tried;
use crate::cure::case::Aim;
use crate::cure::means::Means;
use crate::cure::offer::fix;
use crate::cure::search::search;
use crate::cure::trial::content;
use crate::cure::trial::keeping;
use crate::dockerfile::OnDemand;
use crate::edit;
use crate::edit::TextEdit;
use crate::judge;
use crate::judge::Content;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::FixSafety;
use crate::report::model;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;

/// So many changes are made to one subject.
const ROUNDS: usize = 6;

/// What was changed.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// The texts afterwards, of those that changed.
    pub texts: BTreeMap<SourceId, String>,
    /// The changes, in their order.
    pub fixes: Vec<model::Fix>,
}

/// Repairs a subject with changes that break nothing and are no less safe than `least`.
pub fn repair(subject: &Subject, settings: Settings<'_>, hosts: &Hosts, crew: &Crew, least: FixSafety) -> Repair {
    let (mut repair, means) = (Repair::default(), Means::new(hosts, crew));
    let kinds: Vec<Kind> = Kind::ALL.iter().copied().filter(|kind| kind.of_image()).collect();
    let mut sources = settings.sources.clone();
    let mut now = keeping(subject);
    for _ in 0..ROUNDS {
        let settings = Settings { sources: &sources, ..settings };
        let judged = judge::judge_on(&now, settings, hosts);
        if !judged.findings.iter().any(|finding| finding.severity == FindingSeverity::Error) {
            break;
        }
        let found = search(Aim::Failing, &kinds, &now, &judged, settings, &means);
        let may = |one: &Tried| one.safety <= least && !one.edits.is_empty() && one.breaks.is_empty();
        let wanted = |one: &Tried| {
            let mut errors = judged.findings.iter().filter(|finding| finding.severity == FindingSeverity::Error);
            errors.any(|finding| one.cures.iter().any(|pool| finding.pools.contains(pool)))
        };
        let Some(best) = safest(found.tried.into_iter().filter(|one| may(one) && wanted(one)).collect()) else { break };
        let Some(texts) = texts(&sources, &best.edits) else { break };
        repair.fixes.push(fix(&best, &sources));
        sources = replaced(&sources, &texts);
        repair.texts.extend(texts);
        let Some(subject) = best.subject else { break };
        now = subject;
    }
    repair
}

/// The first of some changes, or one that is safer and cures all that it does.
fn safest(tried: Vec<Tried>) -> Option<Tried> {
    let first = tried.first()?;
    let does = |one: &Tried| one.safety < first.safety && first.cures.iter().all(|pool| one.cures.contains(pool));
    let at = tried.iter().position(does).unwrap_or_default();
    tried.into_iter().nth(at)
}

/// A subject with other texts, and all texts as they are then; none where it is not made of texts, or a text is no
/// longer one of its files.
pub fn follow(subject: &Subject, sources: &Sources, texts: &BTreeMap<SourceId, String>) -> Option<(Subject, Sources)> {
    let Content::Dockerfile { source, dockerfile, files, .. } = &subject.content else { return None };
    let dockerfile = texts.get(source).map_or_else(|| dockerfile.clone(), |text| OnDemand::new(text.as_str()));
    let mut files = files.clone();
    for (id, text) in texts.iter().filter(|(id, _)| *id != source) {
        // What another subject reads alone is none of its files.
        files = files.with(*id, &Arc::from(text.as_str())).unwrap_or(files);
    }
    Some((content(subject, dockerfile, files)?, replaced(sources, texts)))
}

/// The texts with edits.
pub(super) fn texts(sources: &Sources, edits: &[TextEdit]) -> Option<BTreeMap<SourceId, String>> {
    let mut of_text: BTreeMap<SourceId, Vec<TextEdit>> = BTreeMap::new();
    for edit in edits {
        of_text.entry(edit.source).or_default().push(edit.clone());
    }
    of_text.into_iter().map(|(id, edits)| Some((id, edit::apply(sources.get(id).text(), &edits).ok()?))).collect()
}

/// The same texts under the same ids, but for those that changed.
pub(super) fn replaced(sources: &Sources, texts: &BTreeMap<SourceId, String>) -> Sources {
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
