//! Subjects of a saved report: what was seen of them travels in the report and is judged again.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use thiserror::Error;

use crate::dockerfile::Dockerfile;
use crate::judge::Content;
use crate::judge::Only;
use crate::judge::Subject;
use crate::judge::seen::of_platform;
use crate::report::again::Kept;
use crate::report::facts_sum::FactsSum;
use crate::report::model;
use crate::report::observed::Observed;
use crate::report::observed::OnPlatform;
use crate::report::observed::Text;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;
use crate::source::Span;

/// What was seen of a subject when its report was made.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The Dockerfile, whose comments count again.
    pub dockerfile: Option<(SourceId, Dockerfile)>,
    /// What was seen, platform by platform; never empty but for a Dockerfile without stages.
    pub platforms: Vec<OnPlatform>,
}

impl Saved {
    /// What was seen for a platform, else what was seen first.
    pub(crate) fn on(&self, platform: &str) -> Option<&OnPlatform> {
        of_platform(&self.platforms, platform, |one| one.platform.as_str())
    }
}

/// What a subject leaves in its report; `looked` is what was seen of it on the way, `facts` what was inferred of that.
pub(super) fn observed(subject: &Subject, looked: Vec<OnPlatform>, facts: &[model::Fact]) -> Observed {
    let plain = |platform: &str, seen: &_| OnPlatform {
        platform: platform.to_owned(),
        stage: None,
        stages: Vec::new(),
        notes: Vec::new(),
        seen: Clone::clone(seen),
    };
    let (text, platforms) = match &subject.content {
        Content::Dockerfile { source, .. } => (Some(source.0), looked),
        Content::Fixed(seen) => (None, vec![plain("", seen)]),
        Content::ByPlatform(list) => (None, list.iter().map(|(platform, seen)| plain(platform, seen)).collect()),
        Content::Saved(saved) => (saved.dockerfile.as_ref().map(|(source, _)| source.0), saved.platforms.clone()),
    };
    let nodes = match &subject.only {
        Some(Only::Nodes(nodes)) => Some(nodes.clone()),
        Some(Only::Pools(_)) | None => None,
    };
    Observed {
        path: subject.path.clone(),
        text,
        notes: subject.notes.clone(),
        nodes,
        start: subject.start,
        named_at: subject.named_at.clone(),
        facts: FactsSum::of(facts).map(|sum| sum.text()),
        platforms,
    }
}

/// The texts that places of a report point into.
#[derive(Clone, Debug, Default)]
pub struct Used(BTreeSet<u32>);

impl Used {
    /// Adds those of one subject.
    pub fn add(&mut self, subject: &model::Subject) {
        self.0.extend(subject.observed.text);
        for one in &subject.observed.platforms {
            self.0.extend(one.seen.facts.texts().map(|source| source.0));
        }
    }

    /// The texts, with that of an input that could not be read.
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
pub enum BadSubject {
    /// A place lies outside of every text.
    #[error("a location in it is outside of the texts of the report")]
    Place,
    /// Something rests on a fact that is not there.
    #[error("it refers to a fact that is not in the report")]
    Fact,
    /// Nothing was kept of it.
    #[error("the report does not contain its observations")]
    Empty,
}

/// Takes over the texts of a report: their places by the number that they have there.
pub fn texts(list: Vec<Text>, sources: &mut Sources) -> BTreeMap<u32, SourceId> {
    list.into_iter().map(|text| (text.id, sources.add(SourceText::new(text.path, text.text)))).collect()
}

/// A subject of a report, to be judged again.
pub fn subject(saved: Kept, texts: &BTreeMap<u32, SourceId>, sources: &Sources) -> Result<Subject, BadSubject> {
    let Observed { path, text, notes, nodes, start, named_at, facts: _, mut platforms } = saved.observed;
    if text.is_none() && platforms.is_empty() {
        return Err(BadSubject::Empty);
    }
    let moved = |source: SourceId, span: Span| {
        let there = *texts.get(&source.0)?;
        sources.get(there).text().get(span.start..span.end).map(|_| there)
    };
    for one in &mut platforms {
        if !one.seen.is_whole() {
            return Err(BadSubject::Fact);
        }
        if !one.seen.move_texts(&moved) {
            return Err(BadSubject::Place);
        }
    }
    let dockerfile = match text {
        None => None,
        Some(text) => {
            let source = *texts.get(&text).ok_or(BadSubject::Place)?;
            Some((source, Dockerfile::parse(sources.get(source).text())))
        }
    };
    let kind = match saved.kind.as_str() {
        "dockerfile" => "dockerfile",
        "image" => "image",
        _ => "description",
    };
    Ok(Subject {
        name: saved.name,
        path,
        kind,
        digest: saved.digest,
        images: saved.images,
        notes,
        as_of: saved.as_of.and_then(|day| day.parse().ok()),
        only: nodes.map(Only::Nodes),
        start,
        named_at,
        content: Content::Saved(Saved { dockerfile, platforms }),
    })
}
