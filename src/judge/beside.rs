//! Comments among the lines of files that a build brings and of here-documents, and which instruction reads which file.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Kind;
use crate::dockerfile::LineControl;
use crate::dockerfile::line_controls;
use crate::report::model::Location;
use crate::report::observed::OnPlatform;
use crate::source::SourceId;
use crate::source::Sources;
use crate::source::Span;

/// How the names of texts end that have no comments.
const WITHOUT: &str = ".json";

/// The comments of one text.
pub(super) struct Lines {
    pub(super) source: SourceId,
    pub(super) controls: Vec<LineControl>,
    /// The instructions that read it.
    pub(super) readers: BTreeSet<usize>,
    /// Whether it is told of a comment that leaves nothing out: not of those in a text that may be for another program.
    pub(super) told: bool,
}

/// What stands beside the instructions of a Dockerfile.
#[derive(Default)]
pub(super) struct Besides {
    pub(super) lines: Vec<Lines>,
    /// The instructions that read a text, by its name.
    readers: BTreeMap<String, BTreeSet<usize>>,
}

impl Besides {
    /// What was read of a build.
    pub(super) fn of((source, dockerfile): (SourceId, &Dockerfile), looked: &[OnPlatform], sources: &Sources) -> Self {
        let mut readers: BTreeMap<SourceId, BTreeSet<usize>> = BTreeMap::new();
        for one in looked.iter().flat_map(|one| &one.seen.of_base.brought) {
            readers.entry(SourceId(one.text)).or_default().insert(one.instruction);
        }
        let mut lines = heredocs(source, dockerfile, sources);
        let mut by_name: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (text, readers) in readers.into_iter().filter(|(text, _)| *text != source) {
            let own = sources.get(text);
            by_name.entry(own.name().to_owned()).or_default().extend(readers.iter().copied());
            if !own.name().ends_with(WITHOUT) {
                let controls = line_controls(own.text(), 0);
                lines.push(Lines { source: text, controls, readers, told: true });
            }
        }
        lines.retain(|one| !one.controls.is_empty());
        Self { lines, readers: by_name }
    }

    /// The instructions that read the text in which a finding is shown; none where that is the Dockerfile itself.
    pub(super) fn readers(&self, places: &[Location]) -> Option<&BTreeSet<usize>> {
        self.readers.get(&shown(places)?.path)
    }
}

/// Where a finding is shown.
pub(super) fn shown(places: &[Location]) -> Option<&Location> {
    places.first().filter(|place| place.kind == "file")
}

/// The comments in the here-documents of a Dockerfile.
fn heredocs(source: SourceId, dockerfile: &Dockerfile, sources: &Sources) -> Vec<Lines> {
    let text = sources.get(source);
    let mut found = Vec::new();
    for (at, instruction) in dockerfile.instructions.iter().enumerate() {
        // `RUN <<EOF` is a script of its own.
        let script = instruction.kind == Kind::Run && instruction.arguments.text().trim_start().starts_with("<<");
        for heredoc in &instruction.heredocs {
            let body: Span = heredoc.body.full_span();
            let controls = line_controls(text.slice(body), body.start);
            found.push(Lines { source, controls, readers: BTreeSet::from([at]), told: script });
        }
    }
    found
}
