//! Comments for imagelint in here-documents and in files of the build context; each applies to its own line or to the
//! next one.

use crate::dockerfile::ast::{LintDirective, parse_directive, parse_mistyped_comment};
use crate::text::source::Span;

/// The maximum number of comments for imagelint that are read from one text.
const MAX_COMMENTS: usize = 1_024;

/// A comment for imagelint that applies to a line of a file or here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineLintComment {
    /// The whole comment.
    pub span: Span,
    /// The directive that it contains: a suppression, or an error message.
    pub directive: LintDirective,
    /// The line that it applies to, with its continuation lines.
    pub about: Span,
}

/// Returns the comments for imagelint in a text that starts at offset `start` of its file.
pub fn read_line_lint_comments(text: &str, start: usize) -> Vec<LineLintComment> {
    let mut found: Vec<LineLintComment> = Vec::new();
    let mut waiting: Vec<(Span, LintDirective)> = Vec::new();
    let (mut at, mut open) = (start, None);
    for raw in text.split_inclusive('\n') {
        let (from, line) = (at, raw.trim_end());
        at += raw.len();
        let blank = line.trim_start();
        let comment = find_comment(line)
            .map(|behind| (behind, parse_line_directive(line.get(behind..).unwrap_or_default(), from + behind)));
        let is_comment = blank.starts_with('#');
        // A comment may stand among the lines that continue another.
        let ends = blank.is_empty() || is_comment;
        if let Some(open) = open.filter(|_| !ends) {
            extend_covered_lines(&mut found, open, from + line.len());
        }
        if let Some((behind, Some(order))) = comment
            && found.len() + waiting.len() < MAX_COMMENTS
        {
            let span = Span::new(from + behind, from + line.len());
            if is_comment {
                waiting.push((span, order));
            } else {
                found.push(LineLintComment { span, directive: order, about: Span::new(from, from + line.len()) });
            }
        }
        if ends {
            continue;
        }
        let first = found.len();
        let about = Span::new(from, from + line.len());
        found.extend(waiting.drain(..).map(|(span, order)| LineLintComment { span, directive: order, about }));
        open = line.ends_with('\\').then(|| open.unwrap_or(first));
    }
    let nothing = waiting.into_iter().map(|(span, order)| {
        let order = match order {
            LintDirective::Ignore { .. } => LintDirective::Broken("no line follows it".to_owned()),
            other => other,
        };
        LineLintComment { span, directive: order, about: Span::new(span.end, span.end) }
    });
    found.extend(nothing);
    found.sort_by_key(|one| one.span);
    found
}

/// Extends the covered lines of the comments from index `from` on to the offset `end`.
fn extend_covered_lines(found: &mut [LineLintComment], from: usize, end: usize) {
    for one in found.iter_mut().skip(from) {
        one.about.end = end;
    }
}

/// Returns the offset of the comment for imagelint in a line.
fn find_comment(line: &str) -> Option<usize> {
    let marks = line.match_indices('#').map(|(at, _)| at);
    let mut begins =
        marks.filter(|at| line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t'])));
    begins.find(|at| {
        let body = line.get(*at + 1..).unwrap_or_default().trim_start();
        body.starts_with("imagelint:") || parse_mistyped_comment(body).is_some()
    })
}

/// Parses a comment for imagelint in a line; `start` is the offset of its `#`.
fn parse_line_directive(comment: &str, start: usize) -> Option<LintDirective> {
    let body = comment.trim_start_matches('#').trim_start();
    let Some(text) = body.strip_prefix("imagelint:") else { return parse_mistyped_comment(body) };
    let (order, file) = parse_directive(text, start + comment.len() - text.len());
    Some(match order {
        LintDirective::Pools(_) => LintDirective::Broken("`pools=` is allowed only in a Dockerfile".to_owned()),
        LintDirective::Ignore { .. } if file => {
            LintDirective::Broken("`ignore-file` must come before the first FROM".to_owned())
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each comment as text: its rules or error, and the line that it applies to.
    fn describe_comments(text: &str) -> Vec<String> {
        let tell = |one: LineLintComment| {
            assert!(text[one.span.start..one.span.end].starts_with('#'), "the place of a comment");
            let rules = match &one.directive {
                LintDirective::Ignore { rules, reason } => {
                    let names: Vec<&str> = rules.iter().map(|rule| &text[rule.span.start..rule.span.end]).collect();
                    format!("{} ({reason})", names.join(", "))
                }
                LintDirective::Pools(_) => "pools".to_owned(),
                LintDirective::Broken(why) => format!("broken: {why}"),
            };
            format!("{rules}: {}", &text[one.about.start..one.about.end])
        };
        read_line_lint_comments(text, 0).into_iter().map(tell).collect()
    }

    #[test]
    fn suppression_applies_to_its_own_or_the_next_line() {
        for (text, expected) in [
            ("a==1  # imagelint: ignore[x] why\nb\n", vec!["x (why): a==1  # imagelint: ignore[x] why"]),
            ("# imagelint: ignore[x, y@p] why\n\n# note\na==1\nb", vec!["x, y@p (why): a==1"]),
            ("b\r\n  # imagelint: ignore[x]\r\n  a\r\nc", vec!["x ():   a"]),
            ("# imagelint: ignore[x]\n# imagelint: ignore[y]\na", vec!["x (): a", "y (): a"]),
            (
                "# imagelint: ignore[x]\na \\\n  --hash=1 \\\n  --hash=2\nb",
                vec!["x (): a \\\n  --hash=1 \\\n  --hash=2"],
            ),
            ("a # note # imagelint: ignore[x]\n", vec!["x (): a # note # imagelint: ignore[x]"]),
            ("a # imagelint: ignore[x]\n# imagelint: ignore[y]\nb", vec!["x (): a # imagelint: ignore[x]", "y (): b"]),
        ] {
            assert_eq!(describe_comments(text), expected, "{text}");
        }
    }

    #[test]
    fn invalid_suppression_is_reported() {
        for (text, why) in [
            ("# imagelint: ignore[x]\n", "no line follows it"),
            ("a # imagelint: ignore\n", "in square brackets"),
            ("# imagelint: ignore-file[x]\na", "before the first FROM"),
            ("# imagelint: pools=p\na", "only in a Dockerfile"),
            ("# Imagelint: ignore[x]\na", "lowercase"),
            ("# imagelint: disable[x]\na", "expected `ignore[rule]`"),
        ] {
            let found = describe_comments(text);
            assert!(
                found.len() == 1 && found[0].starts_with("broken: ") && found[0].contains(why),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn other_comments_are_ignored() {
        for text in [
            "",
            "a==1\n",
            "a # noqa\n",
            "a#imagelint: ignore[x]\n",
            "# about imagelint: ignore[x]\na",
            "imagelint: ignore[x]\n",
            "--index-url https://mirror.example/#imagelint: ignore[x]\n",
            "# imagelint finds this\na",
        ] {
            assert_eq!(describe_comments(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn comments_without_end_are_bounded() {
        assert_eq!(read_line_lint_comments(&"# imagelint: ignore[x]\n".repeat(5_000), 0).len(), MAX_COMMENTS);
        assert_eq!(read_line_lint_comments(&"a # imagelint: ignore[x]\n".repeat(5_000), 0).len(), MAX_COMMENTS);
    }
}
