//! Control comments in files that a build copies and in here-documents, and the instructions that read each file.

use std::collections::{BTreeMap, BTreeSet};

use crate::dockerfile::{Dockerfile, InstructionKind, LineLintComment, read_line_lint_comments};
use crate::report::kinds::LocationKind;
use crate::report::model::{Location, OnPlatform};
use crate::text::source::{SourceId, Sources, Span};

/// File extension of texts without comments.
const JSON_EXTENSION: &str = ".json";

/// The control comments of one text.
pub(super) struct TextComments {
    pub(super) source: SourceId,
    pub(super) controls: Vec<LineLintComment>,
    /// The instructions that read the text.
    pub(super) readers: BTreeSet<usize>,
    /// Whether unused ignores are reported; not in a text that may be for another program.
    pub(super) reports_unused: bool,
}

/// The control comments outside the instructions of a Dockerfile.
#[derive(Default)]
pub(super) struct FileComments {
    pub(super) lines: Vec<TextComments>,
    /// The instructions that read a text, by its name.
    readers: BTreeMap<String, BTreeSet<usize>>,
}

impl FileComments {
    /// Collects the comments of everything that was read for a build.
    pub(super) fn collect(
        (source, dockerfile): (SourceId, &Dockerfile),
        looked: &[OnPlatform],
        sources: &Sources,
    ) -> Self {
        let mut readers: BTreeMap<SourceId, BTreeSet<usize>> = BTreeMap::new();
        for one in looked.iter().flat_map(|one| &one.seen.base_changes.referenced_texts) {
            readers.entry(SourceId(one.text)).or_default().insert(one.instruction);
        }
        let mut lines = heredoc_comments(source, dockerfile, sources);
        let mut by_name: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (text, readers) in readers.into_iter().filter(|(text, _)| *text != source) {
            let own = sources.get(text);
            by_name.entry(own.name().to_owned()).or_default().extend(readers.iter().copied());
            if !own.name().ends_with(JSON_EXTENSION) {
                let controls = read_line_lint_comments(own.text(), 0);
                lines.push(TextComments { source: text, controls, readers, reports_unused: true });
            }
        }
        lines.retain(|one| !one.controls.is_empty());
        Self { lines, readers: by_name }
    }

    /// Returns the instructions that read the text in which a finding is located; `None` if that is the Dockerfile
    /// itself.
    pub(super) fn readers_of_finding(&self, places: &[Location]) -> Option<&BTreeSet<usize>> {
        self.readers.get(&file_location(places)?.path)
    }
}

/// Returns the location at which a finding is shown, if it is in a file.
pub(super) fn file_location(places: &[Location]) -> Option<&Location> {
    places.first().filter(|place| place.kind == LocationKind::File)
}

/// Returns the comments in the here-documents of a Dockerfile.
fn heredoc_comments(source: SourceId, dockerfile: &Dockerfile, sources: &Sources) -> Vec<TextComments> {
    let text = sources.get(source);
    let mut found = Vec::new();
    for (at, instruction) in dockerfile.instructions.iter().enumerate() {
        // `RUN <<EOF` is a script of its own.
        let script =
            instruction.kind == InstructionKind::Run && instruction.arguments.text().trim_start().starts_with("<<");
        for heredoc in &instruction.heredocs {
            let body: Span = heredoc.body.full_source_span();
            let controls = read_line_lint_comments(text.slice(body), body.start);
            found.push(TextComments { source, controls, readers: BTreeSet::from([at]), reports_unused: script });
        }
    }
    found
}
