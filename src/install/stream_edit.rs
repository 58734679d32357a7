//! Effects of `grep` and `sed` on a text, if their arguments are simple enough.

use std::cell::Cell;

use crate::dockerfile::MappedText;
use crate::install::context::OpenedFile;
use crate::install::simple_regex::{RegexSyntax, SimpleRegex};
use crate::model::cause::Cause;
use crate::shell::Word;

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
                Self::Line(gone) if number + 1 == *gone => {}
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
