//! Comments for imagelint that stand among lines of other texts than instructions: in files that a build brings, and in
//! here-documents. Each speaks of its own line, or of the line below where it has one for itself.

use crate::dockerfile::control::Order;
use crate::dockerfile::control::mistyped;
use crate::dockerfile::control::order;
use crate::source::Span;

/// So many comments of one text are heard.
const MOST: usize = 1_024;

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineControl {
    /// The whole comment.
    pub span: Span,
    /// What it asks for: an ignore, or why it cannot be followed.
    pub order: Order,
    /// The line that it speaks of, with those that continue it.
    pub about: Span,
}

/// The comments of a text whose first byte stands at `start`; spans count from the beginning of the file.
pub fn line_controls(text: &str, start: usize) -> Vec<LineControl> {
    let mut found: Vec<LineControl> = Vec::new();
    let mut waiting: Vec<(Span, Order)> = Vec::new();
    let (mut at, mut open) = (start, None);
    for raw in text.split_inclusive('\n') {
        let (from, line) = (at, raw.trim_end());
        at += raw.len();
        let blank = line.trim_start();
        let said = comment(line).map(|behind| (behind, asks(line.get(behind..).unwrap_or_default(), from + behind)));
        let is_comment = blank.starts_with('#');
        // A comment may stand among the lines that continue another.
        let ends = blank.is_empty() || is_comment;
        if let Some(open) = open.filter(|_| !ends) {
            extend(&mut found, open, from + line.len());
        }
        if let Some((behind, Some(order))) = said
            && found.len() + waiting.len() < MOST
        {
            let span = Span::new(from + behind, from + line.len());
            if is_comment {
                waiting.push((span, order));
            } else {
                found.push(LineControl { span, order, about: Span::new(from, from + line.len()) });
            }
        }
        if ends {
            continue;
        }
        let first = found.len();
        let about = Span::new(from, from + line.len());
        found.extend(waiting.drain(..).map(|(span, order)| LineControl { span, order, about }));
        open = line.ends_with('\\').then(|| open.unwrap_or(first));
    }
    let nothing = waiting.into_iter().map(|(span, order)| {
        let order = match order {
            Order::Ignore { .. } => Order::Broken("no line follows it".to_owned()),
            other => other,
        };
        LineControl { span, order, about: Span::new(span.end, span.end) }
    });
    found.extend(nothing);
    found.sort_by_key(|one| one.span);
    found
}

/// Lengthens what those from a place on speak of.
fn extend(found: &mut [LineControl], from: usize, end: usize) {
    for one in found.iter_mut().skip(from) {
        one.about.end = end;
    }
}

/// Where the comment of a line begins that speaks to imagelint.
fn comment(line: &str) -> Option<usize> {
    let marks = line.match_indices('#').map(|(at, _)| at);
    let mut begins =
        marks.filter(|at| line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t'])));
    begins.find(|at| {
        let body = line.get(*at + 1..).unwrap_or_default().trim_start();
        body.starts_with("imagelint:") || mistyped(body).is_some()
    })
}

/// What a comment asks for; `start` is the place of its mark.
fn asks(comment: &str, start: usize) -> Option<Order> {
    let body = comment.trim_start_matches('#').trim_start();
    let Some(text) = body.strip_prefix("imagelint:") else { return mistyped(body) };
    let (order, file) = order(text, start + comment.len() - text.len());
    Some(match order {
        Order::Pools(_) => Order::Broken("`pools=` is allowed only in a Dockerfile".to_owned()),
        Order::Ignore { .. } if file => Order::Broken("`ignore-file` must come before the first FROM".to_owned()),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The comments in words: rules or complaint, and the text that each speaks of.
    fn said(text: &str) -> Vec<String> {
        let tell = |one: LineControl| {
            assert!(text[one.span.start..one.span.end].starts_with('#'), "the place of a comment");
            let rules = match &one.order {
                Order::Ignore { rules, reason } => {
                    let names: Vec<&str> = rules.iter().map(|rule| &text[rule.span.start..rule.span.end]).collect();
                    format!("{} ({reason})", names.join(", "))
                }
                Order::Pools(_) => "pools".to_owned(),
                Order::Broken(why) => format!("broken: {why}"),
            };
            format!("{rules}: {}", &text[one.about.start..one.about.end])
        };
        line_controls(text, 0).into_iter().map(tell).collect()
    }

    #[test]
    fn a_comment_speaks_of_its_own_line_or_of_the_one_below() {
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
            assert_eq!(said(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_followed_says_so() {
        for (text, why) in [
            ("# imagelint: ignore[x]\n", "no line follows it"),
            ("a # imagelint: ignore\n", "in square brackets"),
            ("# imagelint: ignore-file[x]\na", "before the first FROM"),
            ("# imagelint: pools=p\na", "only in a Dockerfile"),
            ("# Imagelint: ignore[x]\na", "lowercase"),
            ("# imagelint: disable[x]\na", "expected `ignore[rule]`"),
        ] {
            let found = said(text);
            assert!(
                found.len() == 1 && found[0].starts_with("broken: ") && found[0].contains(why),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn other_words_are_left_alone() {
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
            assert_eq!(said(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn comments_without_end_are_bounded() {
        assert_eq!(line_controls(&"# imagelint: ignore[x]\n".repeat(5_000), 0).len(), MOST);
        assert_eq!(line_controls(&"a # imagelint: ignore[x]\n".repeat(5_000), 0).len(), MOST);
    }
}
