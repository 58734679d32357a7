//! Check that edits change no instruction of a Dockerfile except those that they touch.

use crate::dockerfile::edit::{EditError, SourceEdit};
use crate::dockerfile::{Dockerfile, InstructionKind};
use crate::text::source::Span;

/// An instruction that the edited Dockerfile must contain.
struct ExpectedInstruction<'a> {
    /// Its first byte after the edits.
    start: usize,
    kind: InstructionKind,
    /// Its text, if no edit touches it.
    text: Option<&'a str>,
}

/// Compares a Dockerfile before and after edits, instruction by instruction.
pub(super) fn check_unchanged(
    (text, before): (&str, &Dockerfile),
    edits: &[&SourceEdit],
    (new, after): (&str, &Dockerfile),
) -> Result<(), EditError> {
    let changed = |what: &str| Err(EditError::Changed(what.to_owned()));
    let mut expected: Vec<ExpectedInstruction<'_>> = Vec::new();
    for instruction in &before.instructions {
        let touched = edits.iter().any(|edit| touches_instruction(edit.span, instruction.span));
        expected.push(ExpectedInstruction {
            start: offset_after_edits(instruction.span.start, edits),
            kind: instruction.kind.clone(),
            text: if touched { None } else { text.get(instruction.span.start..instruction.span.end) },
        });
    }
    let inserted = edits.iter().filter(|edit| edit.span.is_empty() && edit.replacement.contains('\n'));
    for edit in inserted.filter(|edit| !before.instructions.iter().any(|one| touches_instruction(edit.span, one.span)))
    {
        let start = offset_after_edits(edit.span.start, edits).saturating_sub(edit.replacement.len());
        let lines = Dockerfile::parse(&edit.replacement);
        expected.extend(lines.instructions.iter().map(|one| ExpectedInstruction {
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
            return changed(&format!("the instruction {}", one.kind.keyword()));
        }
        let same = one.text.is_none_or(|text| new.get(found.span.start..found.span.end) == Some(text));
        if !same || (one.text.is_some() && one.start != found.span.start) {
            return changed(&format!("another instruction {}", one.kind.keyword()));
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

/// Whether an edit changes an instruction; a line inserted before it does not.
fn touches_instruction(edit: Span, instruction: Span) -> bool {
    if edit.is_empty() {
        return instruction.start < edit.start && edit.start <= instruction.end;
    }
    edit.start < instruction.end && instruction.start < edit.end
}

/// Returns where an offset of the text is after the edits.
fn offset_after_edits(at: usize, edits: &[&SourceEdit]) -> usize {
    let before = edits.iter().filter(|edit| edit.span.end <= at && (!edit.span.is_empty() || edit.span.start <= at));
    let (removed, come) =
        before.fold((0, 0), |(removed, come), edit| (removed + edit.span.len(), come + edit.replacement.len()));
    (at + come).saturating_sub(removed)
}
