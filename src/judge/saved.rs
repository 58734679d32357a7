//! Subjects of a saved report: its observations are judged again.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::dockerfile::Dockerfile;
use crate::judge::subject::SavedSubject;
use crate::judge::{AnalysisSubject, PoolRestriction, SubjectContent};
use crate::report::facts_digest::FactsDigest;
use crate::report::kinds::SubjectKind;
use crate::report::model;
use crate::report::model::{Observed, OnPlatform, Text};
use crate::report::saved_report::SavedReportSubject;
use crate::text::source::{SourceId, SourceText, Sources, Span};

/// Returns the observations that a report stores of a subject; `looked` are those made for it, `facts` the facts
/// inferred from them.
pub(super) fn observations_for_report(
    subject: &AnalysisSubject,
    looked: Vec<OnPlatform>,
    facts: &[model::Fact],
) -> Observed {
    let plain = |platform: &str, seen: &_| OnPlatform {
        platform: platform.to_owned(),
        stage: None,
        stages: Vec::new(),
        notes: Vec::new(),
        seen: Clone::clone(seen),
    };
    let (text, platforms) = match &subject.content {
        SubjectContent::Dockerfile { source, .. } => (Some(source.0), looked),
        SubjectContent::Fixed(seen) => (None, vec![plain("", seen)]),
        SubjectContent::ByPlatform(list) => (None, list.iter().map(|(platform, seen)| plain(platform, seen)).collect()),
        SubjectContent::Saved(saved) => {
            (saved.dockerfile.as_ref().map(|(source, _)| source.0), saved.platforms.clone())
        }
    };
    let nodes = match &subject.only {
        Some(PoolRestriction::Nodes(nodes)) => Some(nodes.clone()),
        Some(PoolRestriction::Pools(_)) | None => None,
    };
    Observed {
        path: subject.path.clone(),
        text,
        notes: subject.notes.clone(),
        nodes,
        start: subject.start,
        named_at: subject.named_at.clone(),
        facts: FactsDigest::of_facts(facts).map(|sum| sum.to_hex()),
        platforms,
    }
}

/// The texts to which locations of a report refer.
#[derive(Clone, Debug, Default)]
pub struct ReferencedTexts(BTreeSet<u32>);

impl ReferencedTexts {
    /// Adds the texts of one subject.
    pub fn add_subject(&mut self, subject: &model::Subject) {
        self.0.extend(subject.observed.text);
        for one in &subject.observed.platforms {
            self.0.extend(one.seen.facts.source_ids().map(|source| source.0));
        }
    }

    /// Returns the texts, with those of inputs that could not be read.
    pub fn texts(&self, errors: &[model::InputError], sources: &Sources) -> Vec<Text> {
        let in_error = |name: &str| {
            errors.iter().filter_map(|error| error.location.as_ref()).any(|location| location.path == name)
        };
        let all = (0_u32..).zip(sources.iter());
        let used = all.filter(|(id, text)| self.0.contains(id) || in_error(text.name()));
        used.map(|(id, text)| Text { id, path: text.name().to_owned(), text: text.text().to_owned() }).collect()
    }
}

/// Why a subject of a saved report cannot be judged again.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SavedSubjectError {
    /// A location is outside of every text.
    #[error("a location in it is outside of the texts of the report")]
    Place,
    /// A fact refers to one that is missing.
    #[error("it refers to a fact that is not in the report")]
    Fact,
    /// It has no observations.
    #[error("the report does not contain its observations")]
    Empty,
}

/// Adds the texts of a report to the sources; returns the new ID of each by its ID in the report.
pub fn restore_texts(list: Vec<Text>, sources: &mut Sources) -> BTreeMap<u32, SourceId> {
    list.into_iter().map(|text| (text.id, sources.add(SourceText::new(text.path, text.text)))).collect()
}

/// Returns a subject of a report, to be judged again.
pub fn restore_subject(
    saved: SavedReportSubject,
    texts: &BTreeMap<u32, SourceId>,
    sources: &Sources,
) -> Result<AnalysisSubject, SavedSubjectError> {
    let Observed { path, text, notes, nodes, start, named_at, facts: _, mut platforms } = saved.observed;
    if text.is_none() && platforms.is_empty() {
        return Err(SavedSubjectError::Empty);
    }
    let moved = |source: SourceId, span: Span| {
        let there = *texts.get(&source.0)?;
        sources.get(there).text().get(span.start..span.end).map(|_| there)
    };
    for one in &mut platforms {
        if !one.seen.has_valid_ids() {
            return Err(SavedSubjectError::Fact);
        }
        if !one.seen.remap_sources(&moved) {
            return Err(SavedSubjectError::Place);
        }
    }
    let dockerfile = match text {
        None => None,
        Some(text) => {
            let source = *texts.get(&text).ok_or(SavedSubjectError::Place)?;
            Some((source, Dockerfile::parse(sources.get(source).text())))
        }
    };
    let kind = match saved.kind {
        SubjectKind::Settings => SubjectKind::Description,
        kind => kind,
    };
    Ok(AnalysisSubject {
        name: saved.name,
        path,
        kind,
        digest: saved.digest,
        images: saved.images,
        notes,
        as_of: saved.as_of.and_then(|day| day.parse().ok()),
        only: nodes.map(PoolRestriction::Nodes),
        start,
        named_at,
        content: SubjectContent::Saved(SavedSubject { dockerfile, platforms }),
    })
}
