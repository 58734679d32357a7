//! The patterns of `grep` and `sed`, as far as they are plain: letters, `.`, `*`, both anchors and alternatives.

use std::cell::Cell;
use std::ops::Range;

/// A longer pattern is not read.
const LONGEST: usize = 64;

/// One character of a pattern, and whether it may stand there any number of times.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// A character; any where `None`.
    one: Option<char>,
    many: bool,
}

/// One alternative.
#[derive(Clone, Debug, Default)]
struct Branch {
    elements: Vec<Element>,
    start: bool,
    end: bool,
}

/// A pattern of which nothing is left out.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    branches: Vec<Branch>,
    ignore_case: bool,
}

/// How special characters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Nothing is special.
    Fixed,
    /// `\|` separates alternatives.
    Basic,
    /// `|` does.
    Extended,
}

impl Pattern {
    /// Reads a pattern; `None` where it has more in it than is understood here.
    pub(super) fn parse(text: &str, syntax: Syntax, ignore_case: bool) -> Option<Self> {
        let mut branches = vec![Branch::default()];
        let mut chars = text.chars().take(LONGEST + 1).peekable();
        let mut length = 0;
        while let Some(c) = chars.next() {
            length += 1;
            let branch = branches.last_mut()?;
            let literal = |one: char| Element { one: Some(one), many: false };
            match c {
                _ if length > LONGEST => return None,
                '\n' => branches.push(Branch::default()),
                _ if syntax == Syntax::Fixed => branch.elements.push(literal(c)),
                '^' if branch.elements.is_empty() && !branch.start => branch.start = true,
                '$' if matches!(chars.peek(), None | Some('\n' | '|'))
                    || (chars.peek() == Some(&'\\') && chars.clone().nth(1) == Some('|')) =>
                {
                    branch.end = true;
                }
                '.' => branch.elements.push(Element { one: None, many: false }),
                '*' => branch.elements.last_mut().filter(|last| !last.many)?.many = true,
                '|' if syntax == Syntax::Extended => branches.push(Branch::default()),
                '\\' => match chars.next()? {
                    '|' if syntax == Syntax::Basic => branches.push(Branch::default()),
                    next if next.is_ascii_alphanumeric() => return None,
                    '<' | '>' | '`' | '\'' => return None,
                    '+' | '?' | '(' | ')' | '{' | '}' if syntax == Syntax::Basic => return None,
                    next => branch.elements.push(literal(next)),
                },
                '[' | ']' | '^' | '$' => return None,
                '+' | '?' | '(' | ')' | '{' | '}' if syntax == Syntax::Extended => return None,
                other => branch.elements.push(literal(other)),
            }
        }
        Some(Self { branches, ignore_case })
    }

    pub(super) fn matches(&self, line: &str, budget: &Cell<usize>) -> bool {
        self.find(line, 0, budget).is_some()
    }

    /// The first match from a place on, the longest where several begin there. Every character that is looked at
    /// takes one from the budget; what is found when nothing is left of it means nothing.
    pub(super) fn find(&self, line: &str, from: usize, budget: &Cell<usize>) -> Option<Range<usize>> {
        let starts = line.get(from..)?.char_indices().map(|(at, _)| from + at).chain([line.len()]);
        starts.into_iter().take_while(|_| budget.get() > 0).find_map(|start| {
            let ends = self.branches.iter().filter_map(|branch| self.longest(branch, line, start, budget));
            ends.max().map(|end| start..end)
        })
    }

    /// Where the longest match of a branch from `start` on ends.
    fn longest(&self, branch: &Branch, line: &str, start: usize, budget: &Cell<usize>) -> Option<usize> {
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
                if element.one.is_none_or(|own| self.same(own, c)) && (reached[at] || (element.many && reached[at + 1]))
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

    fn same(&self, own: char, c: char) -> bool {
        own == c || (self.ignore_case && own.eq_ignore_ascii_case(&c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_patterns_find_what_grep_and_sed_find() {
        for (text, syntax, line, expected) in [
            ("torch", Syntax::Basic, "a torch==2", Some(2..7)),
            ("^torch", Syntax::Basic, "a torch", None),
            ("^torch", Syntax::Basic, "torchvision", Some(0..5)),
            ("^torch$", Syntax::Basic, "torchvision", None),
            ("^torch$", Syntax::Basic, "torch", Some(0..5)),
            ("torch==.*", Syntax::Basic, "torch==2.1 # x", Some(0..14)),
            ("a\\|b", Syntax::Basic, "xb", Some(1..2)),
            ("a|b", Syntax::Basic, "b", None),
            ("a|b", Syntax::Extended, "xb", Some(1..2)),
            ("^a$|^b$", Syntax::Extended, "b", Some(0..1)),
            ("^a$\\|^b$", Syntax::Basic, "b", Some(0..1)),
            ("1\\.2", Syntax::Basic, "1x2", None),
            ("1.2", Syntax::Basic, "1x2", Some(0..3)),
            ("1.2", Syntax::Fixed, "1x2", None),
            ("ab*c", Syntax::Basic, "xacabbc", Some(1..3)),
            ("TORCH", Syntax::Basic, "torch", None),
            ("", Syntax::Basic, "x", Some(0..0)),
            ("\u{e9}", Syntax::Basic, "a\u{e9}b", Some(1..3)),
        ] {
            let pattern = Pattern::parse(text, syntax, false).expect("plain");
            assert_eq!(pattern.find(line, 0, &Cell::new(1_000)), expected, "{text} {line}");
        }
        assert!(
            Pattern::parse("TORCH", Syntax::Basic, true).is_some_and(|pattern| pattern.matches("torch", &Cell::new(9)))
        );
    }

    #[test]
    fn what_is_not_plain_is_not_guessed() {
        for text in
            ["[a-z]", "\\w", "a\\+", "\\(a\\)", "\\<a", "a\\{2\\}", "*", "a**", "\\", "a^b", "a$b", &"x".repeat(300)]
        {
            assert!(Pattern::parse(text, Syntax::Basic, false).is_none(), "{text}");
        }
        for text in ["(a)", "a+", "a?", "a{2}", "\\d"] {
            assert!(Pattern::parse(text, Syntax::Extended, false).is_none(), "{text}");
        }
    }
}
