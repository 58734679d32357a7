//! Effects of `grep` and `sed` on a text, if their arguments and regular expressions are simple enough.

use std::cell::Cell;
use std::ops::Range;

use crate::build::Word;
use crate::dockerfile::MappedText;
use crate::install::context::OpenedFile;
use crate::model::cause::Cause;

/// Maximum number of changes by one command.
const MAX_STEPS: usize = 64;
/// Maximum length of an edited text in bytes.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// Maximum number of characters that are examined for one edit.
const MAX_EXAMINED_CHARS: usize = 1 << 20;

/// One change that applies to every line.
#[derive(Clone, Debug)]
enum EditStep {
    /// Keeps only the lines that match, or only those that do not.
    Keep { pattern: SimpleRegex, matching: bool },
    /// Deletes the line with this number, counted from 1.
    Line(usize),
    /// Replaces what matches.
    Replace { pattern: SimpleRegex, with: String, all: bool },
}

/// A sequence of changes to a text, in order.
#[derive(Clone, Debug, Default)]
pub struct StreamEdit(Vec<EditStep>);

impl StreamEdit {
    /// Applies the changes and keeps the source positions of what remains; an error if that is too much work.
    pub fn apply(&self, opened: &OpenedFile) -> Result<OpenedFile, Cause> {
        let budget = Cell::new(MAX_EXAMINED_CHARS);
        let mut opened = opened.clone();
        for step in &self.0 {
            opened = opened.with_text(step.apply(&opened.text, &budget));
            if budget.get() == 0 || opened.text.text().len() > MAX_TEXT_BYTES {
                return Err(Cause::TooLongToEdit);
            }
        }
        Ok(opened)
    }
}

impl EditStep {
    /// Applies the change to a text, within a budget of examined characters.
    fn apply(&self, text: &MappedText, budget: &Cell<usize>) -> MappedText {
        let mut out = MappedText::default();
        let mut start = 0;
        for (number, raw) in text.text().split_inclusive('\n').enumerate() {
            let end = start + raw.len();
            if budget.get() == 0 || out.text().len() > MAX_TEXT_BYTES {
                break;
            }
            let line = raw.strip_suffix('\n').unwrap_or(raw);
            match self {
                Self::Keep { pattern, matching } if pattern.matches(line, budget) != *matching => {}
                Self::Line(deleted_line) if number + 1 == *deleted_line => {}
                Self::Replace { pattern, with, all } => {
                    let mut from = 0;
                    while let Some(found) = pattern.find(line, from, budget).filter(|found| !found.is_empty()) {
                        out.push(&line[from..found.start], text.source_offset(start + from));
                        for c in with.chars() {
                            out.push(c.encode_utf8(&mut [0; 4]), text.source_offset(start + found.start));
                        }
                        from = found.end;
                        if !all {
                            break;
                        }
                    }
                    out.push(&raw[from..], text.source_offset(start + from));
                }
                Self::Keep { .. } | Self::Line(_) => out.push(raw, text.source_offset(start)),
            }
            start = end;
        }
        out
    }
}

/// Parses the arguments of `grep`: returns the edit and the input files, or `None` if they are not understood.
pub(super) fn parse_grep(words: &[Word]) -> Option<(StreamEdit, Vec<&Word>)> {
    let program = words.first()?.known()?;
    let mut syntax = if program.ends_with("egrep") { RegexSyntax::Extended } else { RegexSyntax::Basic };
    let (mut invert, mut ignore_case) = (false, false);
    let mut patterns: Vec<&str> = Vec::new();
    let mut files = Vec::new();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            files.push(word);
            continue;
        };
        match text {
            "-e" | "--regexp" => patterns.push(rest.next()?.known()?),
            "--invert-match" => invert = true,
            "--ignore-case" => ignore_case = true,
            "--extended-regexp" => syntax = RegexSyntax::Extended,
            "--fixed-strings" => syntax = RegexSyntax::Fixed,
            _ if text.starts_with('-') && text.len() > 1 => {
                let (flags, pattern) = text[1..]
                    .split_once('e')
                    .map_or((&text[1..], None), |(flags, _)| (flags, text.ends_with('e').then(|| rest.next())));
                for flag in flags.chars() {
                    match flag {
                        'v' => invert = true,
                        'i' | 'y' => ignore_case = true,
                        'E' => syntax = RegexSyntax::Extended,
                        'F' => syntax = RegexSyntax::Fixed,
                        'h' | 's' | 'a' => {}
                        _ => return None,
                    }
                }
                match pattern {
                    Some(pattern) => patterns.push(pattern?.known()?),
                    None if text.contains('e') => return None,
                    None => {}
                }
            }
            _ if patterns.is_empty() => patterns.push(text),
            _ => files.push(word),
        }
    }
    // Alternatives, one a line.
    let pattern = SimpleRegex::parse(&patterns.join("\n"), syntax, ignore_case).filter(|_| !patterns.is_empty())?;
    Some((StreamEdit(vec![EditStep::Keep { pattern, matching: !invert }]), files))
}

/// Parses the arguments of `sed`: returns the edit, the input files, and whether files are edited in place.
pub fn parse_sed(words: &[Word]) -> Option<(StreamEdit, Vec<&Word>, bool)> {
    let (mut extended, mut in_place) = (false, false);
    let mut scripts: Vec<&str> = Vec::new();
    let mut files = Vec::new();
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else {
            files.push(word);
            continue;
        };
        match text {
            "-e" | "--expression" => scripts.push(rest.next()?.known()?),
            "-E" | "-r" | "--regexp-extended" => extended = true,
            "-i" | "--in-place" => in_place = true,
            "-ie" => return None,
            "-Ei" | "-ri" => (extended, in_place) = (true, true),
            _ if text.starts_with("-i.") || text.starts_with("--in-place=") => in_place = true,
            _ if text.starts_with('-') => return None,
            _ if scripts.is_empty() => scripts.push(text),
            _ => files.push(word),
        }
    }
    let syntax = if extended { RegexSyntax::Extended } else { RegexSyntax::Basic };
    let mut edit = StreamEdit::default();
    for script in scripts {
        let mut script = script.trim();
        while !script.is_empty() {
            let (step, after) = parse_sed_step(script, syntax)?;
            edit.0.push(step);
            script = after.trim_start_matches([';', ' ', '\n']);
        }
    }
    (!edit.0.is_empty() && edit.0.len() <= MAX_STEPS).then_some((edit, files, in_place))
}

/// Parses one command of a `sed` script, such as `/pattern/d`, `3d` or `s/pattern/text/g`, and returns the rest.
fn parse_sed_step(script: &str, syntax: RegexSyntax) -> Option<(EditStep, &str)> {
    let first = script.chars().next()?;
    if first.is_ascii_digit() {
        let (number, after) = script.split_once('d')?;
        return Some((EditStep::Line(number.parse().ok()?), expect_command_end(after)?));
    }
    if first == '/' {
        let (pattern, after) = split_at_delimiter(&script[1..], '/')?;
        let (ignore_case, after) = after.strip_prefix('I').map_or((false, after), |after| (true, after));
        let pattern = SimpleRegex::parse(&pattern, syntax, ignore_case).filter(|_| !pattern.is_empty())?;
        return Some((EditStep::Keep { pattern, matching: false }, expect_command_end(after.strip_prefix('d')?)?));
    }
    let mark = script.strip_prefix('s')?.chars().next().filter(char::is_ascii_punctuation)?;
    let (pattern, after) = split_at_delimiter(script.get(2..)?, mark)?;
    let (with, after) = split_at_delimiter(after, mark)?;
    // `&` and `\1` stand for what was found.
    if with.contains(['&', '\\']) || pattern.is_empty() {
        return None;
    }
    let flags = after.len() - after.trim_start_matches(['g', 'i', 'I']).len();
    let (flags, after) = after.split_at(flags);
    let pattern = SimpleRegex::parse(&pattern, syntax, flags.contains(['i', 'I']))?;
    Some((EditStep::Replace { pattern, with, all: flags.contains('g') }, expect_command_end(after)?))
}

/// Splits a text at the first delimiter without a backslash in front of it.
fn split_at_delimiter(text: &str, mark: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == mark => return Some((out, &text[at + c.len_utf8()..])),
            '\\' => match chars.next()? {
                (_, next) if next == mark && mark != '|' && mark != '.' => out.push(next),
                (_, next) => out.extend(['\\', next]),
            },
            _ => out.push(c),
        }
    }
    None
}

/// Returns the rest of a script if a command ends there.
fn expect_command_end(after: &str) -> Option<&str> {
    (after.is_empty() || after.starts_with([';', '\n', ' '])).then_some(after)
}

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
struct SimpleRegex {
    branches: Vec<PatternAlternative>,
    ignore_case: bool,
}

/// The syntax of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegexSyntax {
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
