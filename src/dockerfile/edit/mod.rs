//! Edits: exact replacements in source texts. An edited Dockerfile is parsed again; if an instruction changed that no
//! edit touches, all edits are rejected.

mod diff;
mod instruction_check;
mod lines;
mod value_spelling;

use thiserror::Error;

use crate::dockerfile::Dockerfile;
use crate::text::source::{SourceId, Span};

pub use self::diff::unified_diff;
pub use self::lines::{insertion_after, line_ending, line_start};
pub use self::value_spelling::{replacement_candidates, value_spans};

/// A replacement in a source text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceEdit {
    /// The source text.
    pub source: SourceId,
    /// The span that is replaced; empty for an insertion.
    pub span: Span,
    /// The text in its place.
    pub replacement: String,
}

/// Why edits are rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EditError {
    /// A span does not fit the text.
    #[error("an edit is outside the text")]
    Outside,
    /// Two edits overlap.
    #[error("two edits overlap")]
    Overlap,
    /// The edits would change more than intended.
    #[error("the edits would change {0}")]
    Changed(String),
}

/// Returns the edits of one text sorted by span, each once.
fn sorted_edits(edits: &[SourceEdit]) -> Result<Vec<&SourceEdit>, EditError> {
    let mut list: Vec<&SourceEdit> = edits.iter().collect();
    list.sort_by_key(|edit| edit.span);
    list.dedup();
    let are_disjoint = |pair: &[&SourceEdit]| match pair {
        [one, other] => one.span.end <= other.span.start && one.span != other.span,
        _ => true,
    };
    if list.windows(2).all(are_disjoint) { Ok(list) } else { Err(EditError::Overlap) }
}

/// Returns a text after edits, all of which must belong to it.
pub fn apply_edits(text: &str, edits: &[SourceEdit]) -> Result<String, EditError> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted_edits(edits)? {
        out.push_str(text.get(at..edit.span.start).ok_or(EditError::Outside)?);
        // Both ends must be character boundaries.
        text.get(edit.span.start..edit.span.end).ok_or(EditError::Outside)?;
        out.push_str(&edit.replacement);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).ok_or(EditError::Outside)?);
    Ok(out)
}

/// Returns a Dockerfile after edits, with its text; every instruction that no edit touches is unchanged.
pub fn edit_dockerfile(
    text: &str,
    before: &Dockerfile,
    edits: &[SourceEdit],
) -> Result<(String, Dockerfile), EditError> {
    let new = apply_edits(text, edits)?;
    let after = Dockerfile::parse(&new);
    instruction_check::check_unchanged((text, before), &sorted_edits(edits)?, (&new, &after))?;
    Ok((new, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, replacement: &str) -> SourceEdit {
        SourceEdit { source: SourceId(0), span: Span::new(start, end), replacement: replacement.to_owned() }
    }

    #[test]
    fn edits_are_made_in_their_places_or_not_at_all() {
        let text = "añbc";
        for (edits, expected) in [
            (vec![], Ok("añbc")),
            (vec![edit(3, 4, "x"), edit(0, 1, "yy")], Ok("yyñxc")),
            (vec![edit(1, 1, "-"), edit(1, 3, "n")], Ok("a-nbc")),
            (vec![edit(1, 3, "n"), edit(1, 3, "n")], Ok("anbc")),
            (vec![edit(5, 5, "!")], Ok("añbc!")),
            (vec![edit(1, 1, "-"), edit(1, 1, "+")], Err(EditError::Overlap)),
            (vec![edit(0, 3, ""), edit(1, 4, "")], Err(EditError::Overlap)),
            (vec![edit(2, 3, "")], Err(EditError::Outside)),
            (vec![edit(4, 9, "")], Err(EditError::Outside)),
            (vec![edit(3, 1, "")], Err(EditError::Outside)),
        ] {
            assert_eq!(apply_edits(text, &edits), expected.map(str::to_owned), "{edits:?}");
        }
    }

    #[test]
    fn edit_that_changes_other_instructions_is_refused() {
        let text = "FROM a:1\nRUN x \\\n  y\nENV A=1\nCMD z\n";
        let before = Dockerfile::parse(text);
        let at = |what: &str| text.find(what).expect("there");
        let made = |edits: &[SourceEdit]| edit_dockerfile(text, &before, edits).map(|(new, _)| new);
        let new = made(&[edit(at("a:1"), at("a:1") + 3, "a:2")]).expect("one word");
        assert_eq!(new, text.replace("a:1", "a:2"));
        let line = made(&[edit(at("ENV"), at("ENV"), "ENV B=2\n")]).expect("one line more");
        assert_eq!(line, text.replace("ENV A", "ENV B=2\nENV A"));
        for (edits, why) in [
            (vec![edit(at("a:1"), at("a:1") + 3, "a:2\nRUN rm")], "a second instruction"),
            (vec![edit(at("\\\n"), at("\\\n") + 1, "")], "a continuation that ends"),
            (vec![edit(at("A=1"), at("A=1") + 3, "A=1 \\")], "one that begins"),
            (vec![edit(at("ENV"), at("ENV") + 3, "LABEL")], "another keyword"),
            (vec![edit(at("x "), at("x "), "<<E ")], "a heredoc that swallows the rest"),
            (vec![edit(at("a:1"), at("a:1") + 3, "a:1 AS b")], "another stage"),
            (vec![edit(0, 0, "# escape=`\n")], "another escape character"),
        ] {
            assert!(matches!(made(&edits), Err(EditError::Changed(_))), "{why}");
        }
    }
}
