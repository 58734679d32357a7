//! Comments for imagelint in a Dockerfile: suppressions, and the pools where the image runs.
//!
//! `# imagelint: ignore[rule] reason` above an instruction or among its lines, `ignore-file[rule] reason`
//! before the first FROM, `pools=a,b` anywhere. A rule may carry a pool: `ignore[rule@pool]`. Comments among lines of other
//! texts are those of `line_control`.

use crate::dockerfile::lines::PhysicalLine;
use crate::dockerfile::{Instruction, Stage, lines};
use crate::nearest::nearest_word;
use crate::source::Span;

/// The directives that a comment for imagelint can contain.
const DIRECTIVE_NAMES: &[&str] = &["ignore", "ignore-file", "pools"];
/// The names of suppressions in other linters, for suggestions.
const FOREIGN_DIRECTIVE_NAMES: &[&str] = &["noqa", "disable", "disable-next-line", "nolint", "skip", "allow", "off"];

/// The prefix of a comment for imagelint, before the colon.
const NAME: &str = "imagelint";

/// A rule named in a suppression, and its pool if it is limited to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressedRule {
    /// The rule.
    pub rule: String,
    /// The pool that it is ignored for; every pool where `None`.
    pub pool: Option<String>,
    /// Where it is written.
    pub span: Span,
}

/// The directive in a comment for imagelint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LintDirective {
    /// Leave out what these rules say.
    Ignore {
        /// The rules.
        rules: Vec<SuppressedRule>,
        /// Cause, in the words of the file; may be empty.
        reason: String,
    },
    /// The image runs on these pools alone.
    Pools(Vec<(String, Span)>),
    /// It cannot be followed: why.
    Broken(String),
}

/// A comment for imagelint in a Dockerfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintComment {
    /// The whole comment.
    pub span: Span,
    /// The directive that it contains.
    pub directive: LintDirective,
    /// The instruction that it speaks of; the whole file where `None`.
    pub instruction: Option<usize>,
}

/// Collects the comments for imagelint while a Dockerfile is parsed.
#[derive(Debug, Default)]
pub(super) struct LintCommentCollector {
    found: Vec<(LintComment, bool)>,
    /// The first comment for imagelint, where nothing but comments was read so far.
    leading: Option<usize>,
    begun: bool,
}

impl LintCommentCollector {
    /// Adds the comments above or inside an instruction, or after the last one.
    pub(super) fn add_comments(&mut self, comments: &mut Vec<PhysicalLine<'_>>, instruction: Option<usize>) {
        for line in comments.drain(..) {
            let Some(said) = line.text.trim_start().strip_prefix('#') else { continue };
            let body = said.trim_start();
            if let Some(text) = body.strip_prefix("imagelint:") {
                let start = line.start + line.text.len() - text.len();
                let (order, file) = parse_directive(text, start);
                if !self.begun {
                    self.leading.get_or_insert(self.found.len());
                }
                let lead = line.text.len() - line.text.trim_start().len();
                let span = Span::new(line.start + lead, line.start + line.text.trim_end().len());
                self.found.push((LintComment { span, directive: order, instruction }, file));
            } else if let Some(order) = parse_mistyped_comment(body) {
                let lead = line.text.len() - line.text.trim_start().len();
                let span = Span::new(line.start + lead, line.start + line.text.trim_end().len());
                self.begun |= self.leading.is_none();
                self.found.push((LintComment { span, directive: order, instruction }, false));
            } else if let (Some(at), Some((name, value))) = (self.leading.filter(|_| !self.begun), body.split_once('='))
                && lines::is_parser_directive(&name.trim().to_ascii_lowercase())
                && !value.trim().is_empty()
                && let Some((control, _)) = self.found.get_mut(at)
            {
                let message = format!("move it below `# {}=`, which has no effect after a comment", name.trim());
                control.directive = LintDirective::Broken(message);
            } else {
                // A comment of another kind ends the directives by itself.
                self.begun |= self.leading.is_none();
            }
        }
        self.begun = true;
    }

    /// Returns the comments, each with the instruction that it applies to, and checks their positions.
    pub(super) fn finish(self, instructions: &[Instruction], stages: &[Stage]) -> Vec<LintComment> {
        let first_from = stages.first().map_or(instructions.len(), |stage| stage.from);
        let settle = |(mut control, file): (LintComment, bool)| {
            if file {
                if control.instruction.is_none_or(|at| at > first_from) {
                    control.directive =
                        LintDirective::Broken("`ignore-file` must come before the first FROM".to_owned());
                }
                control.instruction = None;
            } else if matches!(control.directive, LintDirective::Ignore { .. }) && control.instruction.is_none() {
                control.directive = LintDirective::Broken("no instruction follows it".to_owned());
            }
            if matches!(control.directive, LintDirective::Pools(_)) {
                control.instruction = None;
            }
            control
        };
        self.found.into_iter().map(settle).collect()
    }
}

/// Returns an error for a comment that resembles one for imagelint; `None` for any other comment.
pub(super) fn parse_mistyped_comment(body: &str) -> Option<LintDirective> {
    let name = body.get(..NAME.len()).filter(|name| name.eq_ignore_ascii_case(NAME))?;
    let rest = body.get(NAME.len()..)?;
    let after = rest.trim_start();
    let words = after.strip_prefix(':').unwrap_or(after).trim_start();
    let asks = ["ignore", "pools="].iter().any(|word| words.starts_with(word));
    let close = rest.starts_with([':', ' ', '\t']);
    let (colon, exact) = (rest.starts_with(':'), name == NAME);
    // What is written right but for more is told where it is read.
    (asks && close && !(colon && exact))
        .then(|| LintDirective::Broken(format!("expected `# {NAME}: ignore[rule]`: `{NAME}` in lowercase and a colon")))
}

/// Parses the text after `imagelint:`; also returns whether the directive applies to the whole file.
pub(super) fn parse_directive(text: &str, start: usize) -> (LintDirective, bool) {
    let lead = text.len() - text.trim_start().len();
    let (text, start) = (text.trim(), start + lead);
    let broken = |message: &str| (LintDirective::Broken(message.to_owned()), false);
    if let Some(list) = text.strip_prefix("pools=") {
        let list = list.split_whitespace().next().unwrap_or("");
        let pools = split_list(list, start + "pools=".len());
        return if pools.is_empty() {
            broken("`pools=` is empty; add the name of a pool")
        } else {
            (LintDirective::Pools(pools), false)
        };
    }
    let (rest, file) = match (text.strip_prefix("ignore-file"), text.strip_prefix("ignore")) {
        (Some(rest), _) => (rest, true),
        (None, Some(rest)) => (rest, false),
        (None, None) => {
            let word = text.split(['[', '=', ' ', ':']).next().unwrap_or(text);
            let meant = if FOREIGN_DIRECTIVE_NAMES.contains(&word) {
                Some("ignore")
            } else {
                nearest_word(word, DIRECTIVE_NAMES.iter().copied())
            };
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            return broken(&format!("expected `ignore[rule]`, `ignore-file[rule]` or `pools=a,b`{meant}"));
        }
    };
    let Some((list, reason)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return broken("expected rule names in square brackets: `ignore[rule]`");
    };
    let listed = split_list(list, start + text.len() - rest.len() + 1);
    if listed.is_empty() {
        return broken("expected rule names in square brackets: `ignore[rule]`");
    }
    let ignored = |(word, span): (String, Span)| match word.split_once('@') {
        Some((rule, pool)) => SuppressedRule { rule: rule.to_owned(), pool: Some(pool.to_owned()), span },
        None => SuppressedRule { rule: word, pool: None, span },
    };
    let rules = listed.into_iter().map(ignored).collect();
    (LintDirective::Ignore { rules, reason: reason.trim().to_owned() }, file)
}

/// Splits a comma-separated list into its elements with their spans.
fn split_list(list: &str, start: usize) -> Vec<(String, Span)> {
    let mut at = start;
    let mut found = Vec::new();
    for part in list.split(',') {
        let word = part.trim();
        let from = at + part.len() - part.trim_start().len();
        if !word.is_empty() {
            found.push((word.to_owned(), Span::new(from, from + word.len())));
        }
        at += part.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dockerfile::Dockerfile;

    fn describe_comments(text: &str) -> Vec<(String, Option<usize>)> {
        let tell = |control: LintComment| {
            let said = match &control.directive {
                LintDirective::Ignore { rules, reason } => {
                    let rules = rules.iter().map(|one| {
                        let pool = one.pool.as_ref().map_or_else(String::new, |pool| format!(" on {pool}"));
                        assert!(text[one.span.start..one.span.end].starts_with(&one.rule), "the place of a rule");
                        format!("{}{pool}", one.rule)
                    });
                    format!("{} ({reason})", rules.collect::<Vec<_>>().join(", "))
                }
                LintDirective::Pools(pools) => {
                    assert!(pools.iter().all(|(pool, span)| text[span.start..span.end] == **pool));
                    pools.iter().map(|(pool, _)| pool.as_str()).collect::<Vec<_>>().join("+")
                }
                LintDirective::Broken(why) => format!("broken: {why}"),
            };
            (said, control.instruction)
        };
        Dockerfile::parse(text).controls.into_iter().map(tell).collect()
    }

    #[test]
    fn a_comment_speaks_of_the_instruction_below_or_around_it() {
        let text = "# syntax=x\n# imagelint: ignore[a, b@p] because\nFROM a\nRUN x \\\n  # imagelint: ignore[c]\n  y\n\
                    # imagelint: pools=one,two\nENV A=1\n";
        let said = |text: &str, at: Option<usize>| (text.to_owned(), at);
        assert_eq!(
            describe_comments(text),
            [said("a, b on p (because)", Some(0)), said("c ()", Some(1)), said("one+two", None)]
        );
        assert_eq!(
            describe_comments("# imagelint: ignore-file[a] all of it\nARG X\nFROM a\n"),
            [said("a (all of it)", None)]
        );
    }

    #[test]
    fn what_cannot_be_followed_says_so() {
        for (text, why) in [
            ("FROM a\n# imagelint: ignore\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: ignore[]\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: ignore[a\nRUN x", "in square brackets"),
            ("FROM a\n# imagelint: disable[a]\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: ingore[a]\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: noqa\nRUN x", "did you mean `ignore`?"),
            ("FROM a\n# imagelint: unrelated words\nRUN x", "expected `ignore[rule]`"),
            ("FROM a\n# imagelint: pools=\nRUN x", "is empty"),
            ("FROM a\n# imagelint: ignore[a]\n", "no instruction follows"),
            ("FROM a\nFROM b\n# imagelint: ignore-file[a]\nRUN x", "before the first FROM"),
            ("# imagelint: ignore[a]\n# syntax=docker/dockerfile:1\nFROM a", "below `# syntax=`"),
            ("FROM a\n# Imagelint: ignore[a]\nRUN x", "in lowercase"),
            ("FROM a\n# imagelint ignore[a]\nRUN x", "a colon"),
            ("FROM a\n# imagelint : pools=a\nRUN x", "a colon"),
        ] {
            let found = describe_comments(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].0.starts_with("broken: ") && found[0].0.contains(why), "{text}: {found:?}");
        }
    }

    #[test]
    fn other_comments_and_texts_are_left_alone() {
        for text in [
            "# hadolint ignore=DL3006 # why\nFROM a\n# check=skip=A\nRUN x",
            "FROM a\nRUN <<E\n# imagelint: ignore[a]\nE\n",
            "FROM a\nRUN echo # imagelint: ignore[a]\n",
            "# about imagelint: ignore[a]\nFROM a",
            "# Imagelint finds this\nFROM a\n# imagelinter ignore[a]\nRUN x",
            "# imagelint\nFROM a",
        ] {
            assert_eq!(describe_comments(text), [], "{text}");
        }
        assert_eq!(Dockerfile::parse("# escape=`\n# imagelint: ignore[a]\nFROM a").escape, '`');
    }
}
