//! Copies of a subject with other content: fixed observations, or edited texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dockerfile::edit::SourceEdit;
use crate::dockerfile::{LazyDockerfile, edit};
use crate::fix::trial_verdict::whole_subject_verdicts;
use crate::judge;
use crate::judge::{AnalysisSubject, CachedTargetObservations, PoolRestriction, SavedSubject, SubjectContent};
use crate::model::fact::Observations;
use crate::report::kinds::SubjectKind;
use crate::report::model;
use crate::report::model::OnPlatform;
use crate::text::source::{SourceId, SourceText, Sources};

/// Returns the subject with its content replaced by fixed observations.
pub(super) fn subject_with_observations(
    subject: &AnalysisSubject,
    before: &model::Subject,
    seen: Observations,
) -> AnalysisSubject {
    let only = Some(PoolRestriction::Pools(whole_subject_verdicts(before).map(|one| one.pool.clone()).collect()));
    AnalysisSubject { content: SubjectContent::Fixed(Box::new(seen)), only, ..subject_without_content(subject) }
}

/// Returns the subject as saved observations per platform, each with a change; `None` where it cannot be observed.
pub(super) fn subject_with_saved_observations(
    subject: &AnalysisSubject,
    before: &model::Subject,
    platforms: &[String],
    change: impl Fn(Observations) -> Option<Observations>,
) -> Option<AnalysisSubject> {
    let on = |platform: &String| {
        let seen = change(judge::observations_for_platform(&subject.content, platform)?)?;
        Some(OnPlatform { platform: platform.clone(), stage: None, stages: Vec::new(), notes: Vec::new(), seen })
    };
    let platforms = platforms.iter().map(on).collect::<Option<Vec<_>>>()?;
    let content = SubjectContent::Saved(SavedSubject { dockerfile: None, platforms });
    let only = Some(PoolRestriction::Pools(whole_subject_verdicts(before).map(|one| one.pool.clone()).collect()));
    Some(AnalysisSubject { content, only, kind: SubjectKind::Description, ..subject_without_content(subject) })
}

/// Copies a subject without its content, which is the larger part of it.
fn subject_without_content(subject: &AnalysisSubject) -> AnalysisSubject {
    AnalysisSubject {
        name: subject.name.clone(),
        path: subject.path.clone(),
        kind: subject.kind,
        digest: subject.digest.clone(),
        images: subject.images.clone(),
        notes: Vec::new(),
        as_of: subject.as_of,
        only: subject.only.clone(),
        start: subject.start,
        named_at: None,
        content: SubjectContent::Fixed(Box::default()),
    }
}

/// Returns a subject whose files are read only once, however many changed texts are tested.
pub(super) fn subject_with_file_cache(subject: &AnalysisSubject) -> AnalysisSubject {
    let content = match subject.content.clone() {
        SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target } => {
            SubjectContent::Dockerfile {
                source,
                dockerfile,
                options,
                files: files.with_parse_caches(),
                bases,
                cached_target,
            }
        }
        content @ (SubjectContent::Fixed(_) | SubjectContent::ByPlatform(_) | SubjectContent::Saved(_)) => content,
    };
    AnalysisSubject { content, ..subject_without_content(subject) }
}

/// Returns a subject with another Dockerfile text and other files.
fn subject_with_dockerfile(
    subject: &AnalysisSubject,
    dockerfile: LazyDockerfile,
    files: crate::dockerfile::context::ContextFiles,
) -> Option<AnalysisSubject> {
    let SubjectContent::Dockerfile { source, options, bases, .. } = &subject.content else { return None };
    let (source, options, bases, cached_target) =
        (*source, options.clone(), Arc::clone(bases), CachedTargetObservations::default());
    let content = SubjectContent::Dockerfile { source, dockerfile, options, files, bases, cached_target };
    Some(AnalysisSubject { content, ..subject_without_content(subject) })
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

/// Returns the subject with edited texts; `None` where the edits do not apply as intended.
pub(super) fn subject_with_edits(
    subject: &AnalysisSubject,
    sources: &Sources,
    edits: &[SourceEdit],
) -> Option<AnalysisSubject> {
    let SubjectContent::Dockerfile { source, dockerfile, files, .. } = &subject.content else { return None };
    let mut of_text: BTreeMap<SourceId, Vec<SourceEdit>> = BTreeMap::new();
    for edit in edits {
        of_text.entry(edit.source).or_default().push(edit.clone());
    }
    let own = of_text.remove(source).unwrap_or_default();
    let (text, dockerfile) = edit::edit_dockerfile(sources.get(*source).text(), dockerfile, &own).ok()?;
    let mut files = files.clone();
    for (source, edits) in of_text {
        let new = edit::apply_edits(sources.get(source).text(), &edits).ok()?;
        files = files.with_text(source, &Arc::from(new))?;
    }
    subject_with_dockerfile(subject, LazyDockerfile::from_parsed(text, dockerfile), files)
}
