//! Files other than the Dockerfile that its RUN instructions read.

use crate::dockerfile::RunInstruction;
use crate::model::fact::{FactId, Observations, Origin, ReferencedText};
use crate::text::source::SourceId;

/// Records the files that a RUN had read: those behind the facts from `first` on, except the Dockerfile.
pub(super) fn record_referenced_files(seen: &mut Observations, first: u32, dockerfile: SourceId, run: &RunInstruction) {
    let facts = (first..seen.facts.len()).flat_map(|id| seen.facts.origins(FactId(id)));
    let mut texts: Vec<SourceId> =
        facts.filter_map(|origin| origin_source(&origin)).filter(|text| *text != dockerfile).collect();
    texts.sort_unstable();
    texts.dedup();
    seen.base_changes
        .brought
        .extend(texts.into_iter().map(|text| ReferencedText { text: text.0, instruction: run.instruction }));
}

/// Returns the source text in which an origin lies, if it is in a file.
fn origin_source(origin: &Origin) -> Option<SourceId> {
    match origin {
        Origin::File { source, .. } => Some(*source),
        Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
    }
}
