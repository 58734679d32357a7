//! Edits: exact replacements in texts. They are applied to one snapshot, and a Dockerfile is read again afterwards:
//! where an instruction that no edit touches is another one than before, nothing is changed at all.

mod check;
mod lines;
mod patch;
mod spell;

use thiserror::Error;

use crate::dockerfile::Dockerfile;
use crate::source::SourceId;
use crate::source::Span;

pub use self::lines::insertion_after;
pub use self::lines::line_ending;
pub use self::lines::line_start;
pub use self::patch::patch;
pub use self::spell::leaves;
pub use self::spell::respell;

/// One text in the place of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextEdit {
    /// The text.
    pub source: SourceId,
    /// What is replaced; empty at the place of an insertion.
    pub span: Span,
    /// What stands there afterwards.
    pub replacement: String,
}

/// Why edits are not applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EditError {
    /// A span does not fit the text.
    #[error("an edit is outside the text")]
    Outside,
    /// Two edits are of the same place.
    #[error("two edits overlap")]
    Overlap,
    /// The file that comes out is not the one that was meant.
    #[error("the edits would change {0}")]
    Changed(String),
}

/// The edits of one text in the order of their places, each once.
fn ordered(edits: &[TextEdit]) -> Result<Vec<&TextEdit>, EditError> {
    let mut list: Vec<&TextEdit> = edits.iter().collect();
    list.sort_by_key(|edit| edit.span);
    list.dedup();
    let apart = |pair: &[&TextEdit]| match pair {
        [one, other] => one.span.end <= other.span.start && one.span != other.span,
        _ => true,
    };
    if list.windows(2).all(apart) { Ok(list) } else { Err(EditError::Overlap) }
}

/// A text after edits, all of which are meant for it.
pub fn apply(text: &str, edits: &[TextEdit]) -> Result<String, EditError> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in ordered(edits)? {
        out.push_str(text.get(at..edit.span.start).ok_or(EditError::Outside)?);
        // Both ends have to lie between characters.
        text.get(edit.span.start..edit.span.end).ok_or(EditError::Outside)?;
        out.push_str(&edit.replacement);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).ok_or(EditError::Outside)?);
    Ok(out)
}

/// A Dockerfile after edits, with its text; every instruction that none of them touches is as it was.
pub fn dockerfile(text: &str, before: &Dockerfile, edits: &[TextEdit]) -> Result<(String, Dockerfile), EditError> {
    let new = apply(text, edits)?;
    let after = Dockerfile::parse(&new);
    check::unchanged((text, before), &ordered(edits)?, (&new, &after))?;
    Ok((new, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: usize, end: usize, replacement: &str) -> TextEdit {
        TextEdit { source: SourceId(0), span: Span::new(start, end), replacement: replacement.to_owned() }
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
            assert_eq!(apply(text, &edits), expected.map(str::to_owned), "{edits:?}");
        }
    }

    #[test]
    fn an_edit_that_reaches_further_than_it_means_changes_nothing() {
        let text = "FROM a:1\nRUN x \\\n  y\nENV A=1\nCMD z\n";
        let before = Dockerfile::parse(text);
        let at = |what: &str| text.find(what).expect("there");
        let made = |edits: &[TextEdit]| dockerfile(text, &before, edits).map(|(new, _)| new);
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
