//! The option with which a command installs packages without what they depend on.

use crate::cure::case::Case;
use crate::cure::wish::package_of;
use crate::cure::write::Texts;
use crate::cure::write::places;
use crate::cure::write::word::dropped;
use crate::edit::TextEdit;
use crate::source::Span;

/// Its names.
const OPTIONS: [&str; 2] = ["--no-deps", "--no-dependencies"];
/// What parts the commands of a line.
const SEPARATORS: [&str; 4] = ["&&", "||", ";", "|"];

/// The edit that takes it out of the command that names a package; none where that stands elsewhere.
pub(super) fn option(case: &Case<'_>, texts: &Texts<'_>, package: &str) -> Option<TextEdit> {
    let (source, word) = places(case, package_of(&case.seen, package)?.fact).into_iter().next()?;
    let holds = |span: &Span| source == texts.source && span.start <= word.start && word.end <= span.end;
    let instruction = texts.dockerfile.instructions.iter().map(|one| one.span).find(holds)?;
    let span = in_command(texts.text, instruction, word)?;
    Some(texts.edit(dropped(texts.text, span), String::new()))
}

/// Where it stands in the command of an instruction that holds a word.
fn in_command(text: &str, instruction: Span, word: Span) -> Option<Span> {
    let before = text.get(instruction.start..word.start)?;
    let behind = text.get(word.end..instruction.end)?;
    let begins = SEPARATORS.iter().filter_map(|one| Some(before.rfind(one)? + one.len())).max().unwrap_or(0);
    let ends = SEPARATORS.iter().filter_map(|one| behind.find(one)).min().unwrap_or(behind.len());
    let (start, end) = (instruction.start + begins, word.end + ends);
    let command = text.get(start..end)?;
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    OPTIONS.iter().find_map(|option| {
        let at = command.find(option)?;
        let (rest, front) = (command.get(at + option.len()..)?, command.get(..at)?);
        let alone = blank(rest.chars().next()) && blank(front.chars().next_back());
        alone.then(|| Span::new(start + at, start + at + option.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_of_the_command_that_names_the_package_is_found_alone() {
        for (text, expected) in [
            ("RUN pip install --no-deps torch", Some("RUN pip install torch")),
            ("RUN pip install torch --no-deps", Some("RUN pip install torch")),
            ("RUN pip install \\\n  --no-deps \\\n  torch", Some("RUN pip install \\\n  torch")),
            ("RUN pip install --no-dependencies torch && ls", Some("RUN pip install torch && ls")),
            ("RUN pip install --no-deps a && pip install torch", None),
            ("RUN pip install torch; pip install --no-deps b", None),
            ("RUN pip install --no-deps-check torch", None),
            ("RUN pip install x--no-deps torch", None),
            ("RUN pip install torch", None),
        ] {
            let at = text.find("torch").expect("a word");
            let span =
                in_command(text, Span::new(0, text.len()), Span::new(at, at + 5)).map(|span| dropped(text, span));
            let new = span.map(|span| format!("{}{}", &text[..span.start], &text[span.end..]));
            assert_eq!(new.as_deref(), expected, "{text}");
        }
    }
}
