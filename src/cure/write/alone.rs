//! The index of a build as the only one that a command asks.

use crate::cure::case::Case;
use crate::cure::write::Texts;
use crate::cure::write::index;
use crate::cure::write::index::PLAIN;
use crate::cure::write::index::Style;
use crate::cure::write::index::instruction;
use crate::edit::TextEdit;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::source::SourceId;
use crate::source::Span;

/// One more index beside the default one, as the edits that name it in the place of that; none where the command asks for
/// what may not lie there, or names an index of its own.
pub(super) fn instead(
    case: &Case<'_>,
    texts: &Texts<'_>,
    (own, source, word): (&PackageSeen, SourceId, Span),
    style: Style,
    more: Vec<TextEdit>,
) -> Option<Vec<TextEdit>> {
    let named = own.offered != Offered::Default || !index::around(texts, (source, word)).is_empty();
    if source != texts.source || style != Style::Shell || named {
        return None;
    }
    let one = instruction(texts, word)?;
    let before = texts.text.get(one.span.start..word.start)?;
    let behind = texts.text.get(word.start..one.span.end)?;
    let knowledge = case.knowledge();
    let lies_there = |name: &str| knowledge.is_built_framework(name) || knowledge.is_built_with_torch(name);
    asks_for_these((before, behind), texts.dockerfile.escape, lies_there).then_some(())?;
    let instead = |edit: TextEdit| TextEdit { replacement: edit.replacement.replace(index::EXTRA, index::OWN), ..edit };
    Some(more.into_iter().map(instead).collect())
}

/// Whether a command, as it stands in front of a word and from there on, installs nothing but packages with these names.
fn asks_for_these((before, behind): (&str, &str), escape: char, is_one: impl Fn(&str) -> bool) -> bool {
    let ends = [';', '&', '|', '(', ')', '`', '\n', '#'];
    let joined = |text: &str| text.replace("\r\n", "\n").replace(&format!("{escape}\n"), " ");
    let (before, behind) = (joined(before), joined(behind));
    let before = before.rsplit(ends).next().unwrap_or_default();
    let command = format!("{before}{}", behind.split(ends).next().unwrap_or_default());
    let mut words = command.split_whitespace();
    let named = |word: &str| {
        let name = word.trim_matches(['"', '\'']).split(['=', '<', '>', '~', '!', '[', ';', '@']).next();
        name.is_some_and(|name| is_one(&name.to_ascii_lowercase().replace(['_', '.'], "-")))
    };
    words.any(|word| word == "install") && words.all(|word| PLAIN.contains(&word) || named(word))
}

#[cfg(test)]
mod tests {
    use super::asks_for_these;

    #[test]
    fn a_command_asks_for_these_alone_where_it_names_nothing_else() {
        for (text, expected) in [
            ("RUN pip install torch==2.5.1", true),
            ("RUN apt-get update && pip3 install torch==2.5.1 Vision==0.20.1 && rm -rf /x", true),
            ("RUN python3 -m pip install --no-cache-dir \\\n  'torch==2.5.1' \\\n  \"vision\"\n", true),
            ("RUN uv pip install --system torch", true),
            ("RUN pip install torch==2.5.1 numpy", false),
            ("RUN pip install numpy torch==2.5.1", false),
            ("RUN pip install torch==2.5.1 .", false),
            ("RUN pip install -r a.txt torch==2.5.1", false),
            ("RUN pip install torch==2.5.1 -c a.txt", false),
            ("RUN pip install torch==2.5.1 $MORE", false),
            ("RUN pip install torch==2.5.1 \\\n  numpy", false),
            ("RUN pip install torch==2.5.1 --find-links /x", false),
            ("RUN pip install torch==2.5.1 visionary", false),
            ("RUN echo torch==2.5.1", false),
        ] {
            let at = text.find("torch").expect("there");
            let is_one = |name: &str| matches!(name, "torch" | "vision");
            assert_eq!(asks_for_these(text.split_at(at), '\\', is_one), expected, "{text}");
        }
    }
}
