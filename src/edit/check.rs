//! Whether a Dockerfile after edits is the one before them, but for what they touch.

use crate::dockerfile::Dockerfile;
use crate::dockerfile::Kind;
use crate::edit::EditError;
use crate::edit::TextEdit;
use crate::source::Span;

/// An instruction that has to be there afterwards.
struct Expected<'a> {
    /// Where it begins then.
    start: usize,
    kind: Kind,
    /// Its text, where no edit touches it.
    text: Option<&'a str>,
}

/// Compares instruction by instruction.
pub(super) fn unchanged(
    (text, before): (&str, &Dockerfile),
    edits: &[&TextEdit],
    (new, after): (&str, &Dockerfile),
) -> Result<(), EditError> {
    let changed = |what: &str| Err(EditError::Changed(what.to_owned()));
    let mut expected: Vec<Expected<'_>> = Vec::new();
    for instruction in &before.instructions {
        let touched = edits.iter().any(|edit| touches(edit.span, instruction.span));
        expected.push(Expected {
            start: moved(instruction.span.start, edits),
            kind: instruction.kind.clone(),
            text: if touched { None } else { text.get(instruction.span.start..instruction.span.end) },
        });
    }
    let inserted = edits.iter().filter(|edit| edit.span.is_empty() && edit.replacement.contains('\n'));
    for edit in inserted.filter(|edit| !before.instructions.iter().any(|one| touches(edit.span, one.span))) {
        let start = moved(edit.span.start, edits).saturating_sub(edit.replacement.len());
        let lines = Dockerfile::parse(&edit.replacement);
        expected.extend(lines.instructions.iter().map(|one| Expected {
            start: start + one.span.start,
            kind: one.kind.clone(),
            text: None,
        }));
    }
    expected.sort_by_key(|one| one.start);
    if expected.len() != after.instructions.len() {
        return changed("the number of instructions");
    }
    for (one, found) in expected.iter().zip(&after.instructions) {
        if one.kind != found.kind {
            return changed(&format!("the instruction {}", one.kind.name()));
        }
        let same = one.text.is_none_or(|text| new.get(found.span.start..found.span.end) == Some(text));
        if !same || (one.text.is_some() && one.start != found.span.start) {
            return changed(&format!("another instruction {}", one.kind.name()));
        }
    }
    let names = |file: &Dockerfile| file.stages.iter().map(|stage| stage.name.clone()).collect::<Vec<_>>();
    if before.escape != after.escape || names(before) != names(after) {
        return changed("the stages");
    }
    if after.problems.len() > before.problems.len() {
        return changed("a file that builds into one that does not build");
    }
    Ok(())
}

/// Whether an edit reaches into an instruction; a line in front of it does not.
fn touches(edit: Span, instruction: Span) -> bool {
    if edit.is_empty() {
        return instruction.start < edit.start && edit.start <= instruction.end;
    }
    edit.start < instruction.end && instruction.start < edit.end
}

/// Where a place lies after the edits.
fn moved(at: usize, edits: &[&TextEdit]) -> usize {
    let before = edits.iter().filter(|edit| edit.span.end <= at && (!edit.span.is_empty() || edit.span.start <= at));
    let (gone, come) =
        before.fold((0, 0), |(gone, come), edit| (gone + edit.span.len(), come + edit.replacement.len()));
    (at + come).saturating_sub(gone)
}
