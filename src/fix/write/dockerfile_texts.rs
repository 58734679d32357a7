//! A Dockerfile with the other texts of its build, and the variants of edits of them.

use crate::dockerfile::context::ContextFiles;
use crate::dockerfile::edit::SourceEdit;
use crate::dockerfile::{Dockerfile, EvaluatedTarget, edit};
use crate::fix::fix_context::FixContext;
use crate::fix::write::value_edits::word_removal_span;
use crate::judge::SubjectContent;
use crate::text::source::{SourceId, Sources, Span};

/// One of several sets of edits that make the same change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::fix) struct EditVariant {
    pub(in crate::fix) edits: Vec<SourceEdit>,
    /// Whether the edits add an index although the build uses a private one.
    pub(in crate::fix) elsewhere: bool,
}

impl EditVariant {
    /// Creates a variant from edits that do not add a public package index to a private one.
    pub(super) fn from_edits(edits: Vec<SourceEdit>) -> Self {
        Self { edits, elsewhere: false }
    }
}

/// A Dockerfile and the other texts of its build.
pub(super) struct DockerfileTexts<'a> {
    pub(super) source: SourceId,
    pub(super) text: &'a str,
    pub(super) dockerfile: &'a Dockerfile,
    pub(super) evaluated: EvaluatedTarget,
    pub(super) sources: &'a Sources,
    pub(super) files: &'a ContextFiles,
}

impl<'a> DockerfileTexts<'a> {
    /// Returns the texts of a case; `None` unless its subject is a Dockerfile that can be evaluated.
    pub(super) fn from_case(case: &'a FixContext<'_>) -> Option<Self> {
        let SubjectContent::Dockerfile { source, dockerfile, options, files, .. } = &case.subject.content else {
            return None;
        };
        let evaluated = dockerfile.evaluate(&options.for_platform(&case.platform)).ok()?;
        let sources = case.settings.sources;
        Some(Self { source: *source, text: sources.get(*source).text(), dockerfile, evaluated, sources, files })
    }

    /// Creates an edit of the Dockerfile.
    pub(super) fn dockerfile_edit(&self, span: Span, replacement: impl Into<String>) -> SourceEdit {
        SourceEdit { source: self.source, span, replacement: replacement.into() }
    }

    /// Returns the edit that removes the platform flag from the FROM of the first stage.
    pub(super) fn platform_flag_removal(&self) -> Option<SourceEdit> {
        let from = self.dockerfile.stages.get(*self.evaluated.chain.first()?)?.from;
        let flag = self.dockerfile.instructions.get(from)?.flag("platform")?;
        Some(self.dockerfile_edit(word_removal_span(self.text, flag.span), String::new()))
    }

    /// Returns the edit that inserts a line after the FROM of a stage.
    pub(super) fn insert_after_from(&self, stage: Option<&usize>, line: &str) -> Option<SourceEdit> {
        let from = self.dockerfile.stages.get(*stage?)?.from;
        let end = self.dockerfile.instructions.get(from)?.span.end;
        let (at, line) = edit::insertion_after(self.text, end, line);
        Some(self.dockerfile_edit(Span::new(at, at), line))
    }
}

/// Combines each variant of one change with each variant of another.
pub(super) fn combine_variants(some: &[EditVariant], others: &[EditVariant]) -> Vec<EditVariant> {
    let both = |way: &EditVariant, more: &EditVariant| EditVariant {
        edits: [way.edits.as_slice(), &more.edits].concat(),
        elsewhere: way.elsewhere || more.elsewhere,
    };
    some.iter().flat_map(|way| others.iter().map(move |more| both(way, more))).collect()
}
