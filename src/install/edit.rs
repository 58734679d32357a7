//! What `grep` and `sed` leave of a text, where that is plain to see.

use std::cell::Cell;

use crate::dockerfile::Mapped;
use crate::install::Opened;
use crate::install::pattern::Pattern;
use crate::install::pattern::Syntax;
use crate::shell::Word;

/// No command makes more changes.
const MOST: usize = 64;
/// No list of packages is longer, edited or not.
const LONGEST: usize = 256 << 10;
/// How many characters may be looked at for one edit.
const BUDGET: usize = 1 << 20;

/// One change to every line.
#[derive(Clone, Debug)]
enum Step {
    /// Lines that match stay, or those that do not.
    Keep { pattern: Pattern, matching: bool },
    /// One line goes, counted from 1.
    Line(usize),
    /// What matches is replaced.
    Replace { pattern: Pattern, with: String, all: bool },
}

/// Changes to a text, in their order.
#[derive(Clone, Debug, Default)]
pub struct Edit(Vec<Step>);

impl Edit {
    /// The text after the changes, what is left at its place; an error where that is too much work.
    pub fn apply(&self, opened: &Opened) -> Result<Opened, String> {
        let budget = Cell::new(BUDGET);
        let mut opened = opened.clone();
        for step in &self.0 {
            opened = opened.with(step.apply(&opened.text, &budget));
            if budget.get() == 0 || opened.text.text().len() > LONGEST {
                return Err("it is too long to follow the edits of a command".to_owned());
            }
        }
        Ok(opened)
    }
}

impl Step {
    fn apply(&self, text: &Mapped, budget: &Cell<usize>) -> Mapped {
        let mut out = Mapped::default();
        let mut start = 0;
        for (number, raw) in text.text().split_inclusive('\n').enumerate() {
            let end = start + raw.len();
            if budget.get() == 0 || out.text().len() > LONGEST {
                break;
            }
            let line = raw.strip_suffix('\n').unwrap_or(raw);
            match self {
                Self::Keep { pattern, matching } if pattern.matches(line, budget) != *matching => {}
                Self::Line(gone) if number + 1 == *gone => {}
                Self::Replace { pattern, with, all } => {
                    let mut from = 0;
                    while let Some(found) = pattern.find(line, from, budget).filter(|found| !found.is_empty()) {
                        out.push(&line[from..found.start], text.offset(start + from));
                        for c in with.chars() {
                            out.push(c.encode_utf8(&mut [0; 4]), text.offset(start + found.start));
                        }
                        from = found.end;
                        if !all {
                            break;
                        }
                    }
                    out.push(&raw[from..], text.offset(start + from));
                }
                Self::Keep { .. } | Self::Line(_) => out.push(raw, text.offset(start)),
            }
            start = end;
        }
        out
    }
}

/// The change of `grep`, and the files that it reads; `None` where it cannot be told.
pub(super) fn grep(words: &[Word]) -> Option<(Edit, Vec<&Word>)> {
    let program = words.first()?.known()?;
    let mut syntax = if program.ends_with("egrep") { Syntax::Extended } else { Syntax::Basic };
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
            "--extended-regexp" => syntax = Syntax::Extended,
            "--fixed-strings" => syntax = Syntax::Fixed,
            _ if text.starts_with('-') && text.len() > 1 => {
                let (flags, pattern) = text[1..]
                    .split_once('e')
                    .map_or((&text[1..], None), |(flags, _)| (flags, text.ends_with('e').then(|| rest.next())));
                for flag in flags.chars() {
                    match flag {
                        'v' => invert = true,
                        'i' | 'y' => ignore_case = true,
                        'E' => syntax = Syntax::Extended,
                        'F' => syntax = Syntax::Fixed,
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
    let pattern = Pattern::parse(&patterns.join("\n"), syntax, ignore_case).filter(|_| !patterns.is_empty())?;
    Some((Edit(vec![Step::Keep { pattern, matching: !invert }]), files))
}

/// The change of `sed`, the files that it reads, and whether it edits them in place.
pub fn sed(words: &[Word]) -> Option<(Edit, Vec<&Word>, bool)> {
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
    let syntax = if extended { Syntax::Extended } else { Syntax::Basic };
    let mut edit = Edit::default();
    for script in scripts {
        let mut script = script.trim();
        while !script.is_empty() {
            let (step, after) = step(script, syntax)?;
            edit.0.push(step);
            script = after.trim_start_matches([';', ' ', '\n']);
        }
    }
    (!edit.0.is_empty() && edit.0.len() <= MOST).then_some((edit, files, in_place))
}

/// `/pattern/d`, `3d` or `s/pattern/text/g`, and what follows.
fn step(script: &str, syntax: Syntax) -> Option<(Step, &str)> {
    let first = script.chars().next()?;
    if first.is_ascii_digit() {
        let (number, after) = script.split_once('d')?;
        return Some((Step::Line(number.parse().ok()?), ended(after)?));
    }
    if first == '/' {
        let (pattern, after) = part(&script[1..], '/')?;
        let (ignore_case, after) = after.strip_prefix('I').map_or((false, after), |after| (true, after));
        let pattern = Pattern::parse(&pattern, syntax, ignore_case).filter(|_| !pattern.is_empty())?;
        return Some((Step::Keep { pattern, matching: false }, ended(after.strip_prefix('d')?)?));
    }
    let mark = script.strip_prefix('s')?.chars().next().filter(char::is_ascii_punctuation)?;
    let (pattern, after) = part(script.get(2..)?, mark)?;
    let (with, after) = part(after, mark)?;
    // `&` and `\1` stand for what was found.
    if with.contains(['&', '\\']) || pattern.is_empty() {
        return None;
    }
    let flags = after.len() - after.trim_start_matches(['g', 'i', 'I']).len();
    let (flags, after) = after.split_at(flags);
    let pattern = Pattern::parse(&pattern, syntax, flags.contains(['i', 'I']))?;
    Some((Step::Replace { pattern, with, all: flags.contains('g') }, ended(after)?))
}

/// The text up to a mark that no backslash stands before, and what follows the mark.
fn part(text: &str, mark: char) -> Option<(String, &str)> {
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

/// What follows a whole command.
fn ended(after: &str) -> Option<&str> {
    (after.is_empty() || after.starts_with([';', '\n', ' '])).then_some(after)
}
