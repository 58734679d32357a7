//! Edits that remove the option with which pip installs packages without their dependencies.

use crate::dockerfile::edit::SourceEdit;
use crate::fix::fix_context::{FixContext, fact_spans};
use crate::fix::proposed_change::last_pip_package;
use crate::fix::write::dockerfile_texts::DockerfileTexts;
use crate::fix::write::value_edits::word_removal_span;
use crate::text::source::Span;

/// Spellings of the option.
const NO_DEPS_OPTIONS: [&str; 2] = ["--no-deps", "--no-dependencies"];
/// Separators between commands on a line.
const COMMAND_SEPARATORS: [&str; 4] = ["&&", "||", ";", "|"];

/// Returns the edit that removes the option from the command of a package; `None` where that is not in the
/// Dockerfile.
pub(super) fn remove_no_deps(case: &FixContext<'_>, texts: &DockerfileTexts<'_>, package: &str) -> Option<SourceEdit> {
    let (source, word) = fact_spans(case, last_pip_package(&case.seen, package)?.fact).into_iter().next()?;
    let holds = |span: &Span| source == texts.source && span.start <= word.start && word.end <= span.end;
    let instruction = texts.dockerfile.instructions.iter().map(|one| one.span).find(holds)?;
    let span = no_deps_span(texts.text, instruction, word)?;
    Some(texts.dockerfile_edit(word_removal_span(texts.text, span), String::new()))
}

/// Returns the span of the option in the command that contains a word.
fn no_deps_span(text: &str, instruction: Span, word: Span) -> Option<Span> {
    let before = text.get(instruction.start..word.start)?;
    let behind = text.get(word.end..instruction.end)?;
    let begins = COMMAND_SEPARATORS.iter().filter_map(|one| Some(before.rfind(one)? + one.len())).max().unwrap_or(0);
    let ends = COMMAND_SEPARATORS.iter().filter_map(|one| behind.find(one)).min().unwrap_or(behind.len());
    let (start, end) = (instruction.start + begins, word.end + ends);
    let command = text.get(start..end)?;
    let blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    NO_DEPS_OPTIONS.iter().find_map(|option| {
        let at = command.find(option)?;
        let (rest, front) = (command.get(at + option.len()..)?, command.get(..at)?);
        let is_whole_word = blank(rest.chars().next()) && blank(front.chars().next_back());
        is_whole_word.then(|| Span::new(start + at, start + at + option.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_the_option_of_the_command_with_the_package() {
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
            let span = no_deps_span(text, Span::new(0, text.len()), Span::new(at, at + 5))
                .map(|span| word_removal_span(text, span));
            let new = span.map(|span| format!("{}{}", &text[..span.start], &text[span.end..]));
            assert_eq!(new.as_deref(), expected, "{text}");
        }
    }
}
