//! Simple patterns of `grep` and `sed`: literals, `.`, `*`, anchors and alternatives.

use std::cell::Cell;
use std::ops::Range;

/// Maximum length of a pattern in characters.
const MAX_PATTERN_CHARS: usize = 64;

/// One character of a pattern, and whether it may repeat.
#[derive(Clone, Copy, Debug)]
struct PatternElement {
    /// The character; any character if `None`.
    one: Option<char>,
    /// Whether it may occur any number of times (`*`).
    many: bool,
}

/// One alternative of a pattern.
#[derive(Clone, Debug, Default)]
struct PatternAlternative {
    elements: Vec<PatternElement>,
    /// Whether it begins with `^`.
    start: bool,
    /// Whether it ends with `$`.
    end: bool,
}

/// A pattern that is supported completely.
#[derive(Clone, Debug)]
pub(super) struct SimpleRegex {
    branches: Vec<PatternAlternative>,
    ignore_case: bool,
}

/// The syntax of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegexSyntax {
    /// No character is special.
    Fixed,
    /// `\|` separates alternatives.
    Basic,
    /// `|` separates alternatives.
    Extended,
}

impl SimpleRegex {
    /// Parses a pattern; `None` if it contains unsupported syntax.
    pub(super) fn parse(text: &str, syntax: RegexSyntax, ignore_case: bool) -> Option<Self> {
        let mut branches = vec![PatternAlternative::default()];
        let mut chars = text.chars().take(MAX_PATTERN_CHARS + 1).peekable();
        let mut length = 0;
        while let Some(c) = chars.next() {
            length += 1;
            let branch = branches.last_mut()?;
            let literal = |one: char| PatternElement { one: Some(one), many: false };
            match c {
                _ if length > MAX_PATTERN_CHARS => return None,
                '\n' => branches.push(PatternAlternative::default()),
                _ if syntax == RegexSyntax::Fixed => branch.elements.push(literal(c)),
                '^' if branch.elements.is_empty() && !branch.start => branch.start = true,
                '$' if matches!(chars.peek(), None | Some('\n' | '|'))
                    || (chars.peek() == Some(&'\\') && chars.clone().nth(1) == Some('|')) =>
                {
                    branch.end = true;
                }
                '.' => branch.elements.push(PatternElement { one: None, many: false }),
                '*' => branch.elements.last_mut().filter(|last| !last.many)?.many = true,
                '|' if syntax == RegexSyntax::Extended => branches.push(PatternAlternative::default()),
                '\\' => match chars.next()? {
                    '|' if syntax == RegexSyntax::Basic => branches.push(PatternAlternative::default()),
                    next if next.is_ascii_alphanumeric() => return None,
                    '<' | '>' | '`' | '\'' => return None,
                    '+' | '?' | '(' | ')' | '{' | '}' if syntax == RegexSyntax::Basic => return None,
                    next => branch.elements.push(literal(next)),
                },
                '[' | ']' | '^' | '$' => return None,
                '+' | '?' | '(' | ')' | '{' | '}' if syntax == RegexSyntax::Extended => return None,
                other => branch.elements.push(literal(other)),
            }
        }
        Some(Self { branches, ignore_case })
    }

    /// Whether a part of a line matches.
    pub(super) fn matches(&self, line: &str, budget: &Cell<usize>) -> bool {
        self.find(line, 0, budget).is_some()
    }

    /// Returns the first match from an offset on, the longest of those that begin there. Every examined character
    /// uses up the budget; the result is meaningless once that is 0.
    pub(super) fn find(&self, line: &str, from: usize, budget: &Cell<usize>) -> Option<Range<usize>> {
        let starts = line.get(from..)?.char_indices().map(|(at, _)| from + at).chain([line.len()]);
        starts.into_iter().take_while(|_| budget.get() > 0).find_map(|start| {
            let ends = self.branches.iter().filter_map(|branch| self.longest_match_end(branch, line, start, budget));
            ends.max().map(|end| start..end)
        })
    }

    /// Returns the end of the longest match of an alternative that begins at `start`.
    fn longest_match_end(
        &self,
        branch: &PatternAlternative,
        line: &str,
        start: usize,
        budget: &Cell<usize>,
    ) -> Option<usize> {
        if (branch.start && start > 0) || budget.get() == 0 {
            return None;
        }
        let count = branch.elements.len();
        let mut reached = vec![false; count + 1];
        reached[0] = true;
        let skip = |reached: &mut Vec<bool>| {
            for (at, element) in branch.elements.iter().enumerate() {
                reached[at + 1] |= reached[at] && element.many;
            }
        };
        skip(&mut reached);
        let done = |reached: &[bool], at: usize| reached[count] && (!branch.end || at == line.len());
        let mut longest = done(&reached, start).then_some(start);
        for (offset, c) in line.get(start..)?.char_indices() {
            budget.set(budget.get().saturating_sub(1));
            if budget.get() == 0 {
                return None;
            }
            let mut next = vec![false; count + 1];
            for (at, element) in branch.elements.iter().enumerate() {
                if element.one.is_none_or(|own| self.matches_char(own, c))
                    && (reached[at] || (element.many && reached[at + 1]))
                {
                    next[at + 1] = true;
                }
            }
            skip(&mut next);
            reached = next;
            let end = start + offset + c.len_utf8();
            if done(&reached, end) {
                longest = Some(end);
            }
            if !reached.contains(&true) {
                break;
            }
        }
        longest
    }

    /// Whether a character of the pattern matches a character of the line.
    fn matches_char(&self, own: char, c: char) -> bool {
        own == c || (self.ignore_case && own.eq_ignore_ascii_case(&c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_patterns_find_what_grep_and_sed_find() {
        for (text, syntax, line, expected) in [
            ("torch", RegexSyntax::Basic, "a torch==2", Some(2..7)),
            ("^torch", RegexSyntax::Basic, "a torch", None),
            ("^torch", RegexSyntax::Basic, "torchvision", Some(0..5)),
            ("^torch$", RegexSyntax::Basic, "torchvision", None),
            ("^torch$", RegexSyntax::Basic, "torch", Some(0..5)),
            ("torch==.*", RegexSyntax::Basic, "torch==2.1 # x", Some(0..14)),
            ("a\\|b", RegexSyntax::Basic, "xb", Some(1..2)),
            ("a|b", RegexSyntax::Basic, "b", None),
            ("a|b", RegexSyntax::Extended, "xb", Some(1..2)),
            ("^a$|^b$", RegexSyntax::Extended, "b", Some(0..1)),
            ("^a$\\|^b$", RegexSyntax::Basic, "b", Some(0..1)),
            ("1\\.2", RegexSyntax::Basic, "1x2", None),
            ("1.2", RegexSyntax::Basic, "1x2", Some(0..3)),
            ("1.2", RegexSyntax::Fixed, "1x2", None),
            ("ab*c", RegexSyntax::Basic, "xacabbc", Some(1..3)),
            ("TORCH", RegexSyntax::Basic, "torch", None),
            ("", RegexSyntax::Basic, "x", Some(0..0)),
            ("\u{e9}", RegexSyntax::Basic, "a\u{e9}b", Some(1..3)),
        ] {
            let pattern = SimpleRegex::parse(text, syntax, false).expect("plain");
            assert_eq!(pattern.find(line, 0, &Cell::new(1_000)), expected, "{text} {line}");
        }
        assert!(
            SimpleRegex::parse("TORCH", RegexSyntax::Basic, true)
                .is_some_and(|pattern| pattern.matches("torch", &Cell::new(9)))
        );
    }

    #[test]
    fn unsupported_patterns_are_rejected() {
        for text in
            ["[a-z]", "\\w", "a\\+", "\\(a\\)", "\\<a", "a\\{2\\}", "*", "a**", "\\", "a^b", "a$b", &"x".repeat(300)]
        {
            assert!(SimpleRegex::parse(text, RegexSyntax::Basic, false).is_none(), "{text}");
        }
        for text in ["(a)", "a+", "a?", "a{2}", "\\d"] {
            assert!(SimpleRegex::parse(text, RegexSyntax::Extended, false).is_none(), "{text}");
        }
    }
}
