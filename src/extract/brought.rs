//! Which texts beside a Dockerfile its instructions read.

use crate::dockerfile::RunInstruction;
use crate::fact::BroughtText;
use crate::fact::FactId;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::source::SourceId;

/// Notes the texts that a RUN had read: those of the facts from `first` on, without the Dockerfile itself.
pub(super) fn note(seen: &mut Observations, first: u32, dockerfile: SourceId, run: &RunInstruction) {
    let facts = (first..seen.facts.len()).flat_map(|id| seen.facts.origins(FactId(id)));
    let mut texts: Vec<SourceId> =
        facts.filter_map(|origin| text(&origin)).filter(|text| *text != dockerfile).collect();
    texts.sort_unstable();
    texts.dedup();
    seen.of_base
        .brought
        .extend(texts.into_iter().map(|text| BroughtText { text: text.0, instruction: run.instruction }));
}

/// The text that a place lies in.
fn text(origin: &Origin) -> Option<SourceId> {
    match origin {
        Origin::File { source, .. } => Some(*source),
        Origin::Config { .. } | Origin::Layer { .. } | Origin::Option(_) | Origin::Report(_) => None,
    }
}
