//! What was found, in the report: the fixes of each finding, and what is told of the image as a whole.

use crate::cure::Found;
use crate::cure::Tried;
use crate::report::model;
use crate::source::Sources;

/// So many fixes are offered for one finding.
const MOST: usize = 8;

/// Gives every finding of severity error the changes that cure one of its pools.
pub fn offer(subject: &mut model::Subject, found: &Found, sources: &Sources) {
    for finding in subject.findings.iter_mut().filter(|finding| finding.severity == "error") {
        let cures = |one: &&Tried| one.cures.iter().chain(&one.lifts).any(|pool| finding.pools.contains(pool));
        finding.fixes = found.tried.iter().filter(cures).take(MOST).map(|one| fix(one, sources)).collect();
    }
    let cut = found.cut.then(|| "not every change that may cure was tried: there are too many".to_owned());
    subject.inspected.notes.extend(found.split.iter().cloned().chain(cut));
}

/// A change in the words of the report.
pub(super) fn fix(tried: &Tried, sources: &Sources) -> model::Fix {
    let mut edits = tried.edits.clone();
    edits.sort();
    let edits = edits.into_iter().map(|edit| {
        let text = sources.get(edit.source);
        let region = model::Region::of(text, edit.span);
        model::Edit { path: text.name().to_owned(), region, replacement: edit.replacement }
    });
    model::Fix {
        title: tried.title.clone(),
        kind: tried.kind.name().to_owned(),
        safety: tried.safety.name().to_owned(),
        edits: edits.collect(),
        cures: tried.cures.clone(),
        lifts: tried.lifts.clone(),
        breaks: tried.breaks.clone(),
    }
}
