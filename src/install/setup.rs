//! `setup.cfg` and `setup.py`: the requirements that stand there as they are. Python itself is not run.

use std::ops::Range;

use crate::install::Around;
use crate::install::Install;
use crate::install::Opened;
use crate::install::files::at_source;
use crate::install::marker::holds;
use crate::install::requirement::normalised;
use crate::install::requirement::requirement;

/// The name of an extra, and where the texts of its list stand.
type Extra<'t> = (&'t str, Vec<Range<usize>>);

/// What a project of setuptools requires, or why that cannot be told.
pub(super) type Required = Result<Vec<Install>, String>;

/// Whether an extra is among those that were asked for; `*` asks for all.
fn asked_for(extra: &str, extras: &[String]) -> bool {
    extras.iter().any(|own| own == "*" || normalised(own) == normalised(extra))
}

/// `install_requires` below `[options]`, and the extras below `[options.extras_require]`.
pub(super) fn cfg(opened: &Opened, extras: &[String], around: &Around<'_>) -> Required {
    let (mut section, mut listed, mut at) = (String::new(), false, 0);
    let mut found = Vec::new();
    for raw in opened.text.text().split_inclusive('\n') {
        let start = at;
        at += raw.len();
        let line = raw.trim_end();
        let text = line.trim_start();
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        let mut from = line.len() - text.len();
        if from == 0 {
            if text.starts_with('[') {
                listed = false;
                text.clone_into(&mut section);
                continue;
            }
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            listed = match section.as_str() {
                "[options]" => key.trim() == "install_requires",
                "[options.extras_require]" => asked_for(key.trim(), extras),
                _ => false,
            };
            from = line.len() - value.trim_start().len();
        }
        let text = line.get(from..).unwrap_or("");
        if !listed || text.is_empty() {
            continue;
        }
        if text.starts_with("file:") || text.contains("%(") {
            return Err("its install_requires is in another file".to_owned());
        }
        found.extend(one(text, start + from..start + line.len(), opened, around));
    }
    Ok(found)
}

/// `install_requires=[…]` and `extras_require={…}` in a call, or the lists of those names before it.
pub(super) fn py(opened: &Opened, extras: &[String], around: &Around<'_>) -> Required {
    let mut found = always(opened, around)?;
    if !extras.iter().all(String::is_empty) {
        let text = opened.text.text();
        let mut asked = assignments(text, "extras_require");
        let (Some(at), None) = (asked.next(), asked.next()) else {
            return if assignments(text, "extras_require").next().is_none() { Ok(found) } else { Err(no_table()) };
        };
        let table = table(text, named_or_here(text, at).ok_or_else(no_table)?).ok_or_else(no_table)?;
        let wanted = table.into_iter().filter(|(name, _)| asked_for(name, extras));
        let one = |range: Range<usize>| one(text.get(range.clone())?, range, opened, around);
        found.extend(wanted.flat_map(|(_, list)| list).filter_map(one));
    }
    Ok(found)
}

fn no_table() -> String {
    "its extras_require is not a plain table of lists".to_owned()
}

/// Where a value is written: here, or where its name is given it.
fn named_or_here(text: &str, at: usize) -> Option<usize> {
    let value = text.get(at..)?;
    match value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        Some(end) if end > 0 => {
            let mut defined = assignments(text, value.get(..end)?);
            match (defined.next(), defined.next()) {
                (Some(at), None) => Some(at),
                _ => None,
            }
        }
        _ => Some(at),
    }
}

/// The names and lists of a table of plain texts, and where it ends with nothing behind it.
fn table(text: &str, at: usize) -> Option<Vec<Extra<'_>>> {
    let mut at = at + text.get(at..)?.strip_prefix('{').map(|_| 1)?;
    let mut found = Vec::new();
    loop {
        let rest = text.get(at..)?;
        let from = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        at += rest.len() - from.len();
        let mark = from.chars().next()?;
        match mark {
            '}' => return Some(found),
            '#' => at += from.find('\n')?,
            '"' | '\'' => {
                let name = from.get(1..)?.split(mark).next().filter(|name| !name.contains(['\\', '\n']))?;
                let after = from.get(name.len() + 2..)?.trim_start().strip_prefix(':')?.trim_start();
                let list = text.len() - after.len();
                let (texts, end) = list_at(text, list)?;
                // A sum of lists is more than this one.
                if !text.get(end..)?.trim_start().starts_with([',', '}', '#']) {
                    return None;
                }
                found.push((name, texts));
                at = end;
            }
            _ => return None,
        }
    }
}

fn always(opened: &Opened, around: &Around<'_>) -> Required {
    let text = opened.text.text();
    let mut asked = assignments(text, "install_requires");
    let (Some(at), None) = (asked.next(), asked.next()) else {
        // Without one there is nothing that it requires; of several it takes Python to tell.
        return if assignments(text, "install_requires").next().is_none() { Ok(Vec::new()) } else { Err(unclear()) };
    };
    let list = named_or_here(text, at).and_then(|at| literal(text, at));
    let list = list.ok_or_else(unclear)?;
    Ok(list.into_iter().filter_map(|range| one(text.get(range.clone())?, range, opened, around)).collect())
}

fn unclear() -> String {
    "its install_requires is not a plain list".to_owned()
}

/// Where the values begin that a name is given, comments left out.
fn assignments<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(name).filter_map(move |(at, _)| {
        let before = text.get(..at)?;
        let line = before.rsplit('\n').next().unwrap_or("");
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let rest = text.get(at + name.len()..)?;
        let value = rest.trim_start().strip_prefix('=')?;
        let whole = !before.ends_with(word) && !before.ends_with(['"', '\'']);
        (whole && !line.contains('#') && !value.starts_with('=')).then(|| text.len() - value.trim_start().len())
    })
}

/// The texts of a list of plain strings that begins at a place; `None` where there is anything else in it or added
/// to it.
fn literal(text: &str, at: usize) -> Option<Vec<Range<usize>>> {
    let (found, end) = list_at(text, at)?;
    let rest = text.get(end..)?.trim_start_matches([' ', '\t']);
    rest.starts_with([',', ')', '\n', '\r', '#']).then_some(found)
}

/// The texts of such a list, and where it ends.
fn list_at(text: &str, at: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let open = text.as_bytes().get(at)?;
    let close = match open {
        b'[' => ']',
        b'(' => ')',
        _ => return None,
    };
    let mut found = Vec::new();
    let mut chars = text.get(at + 1..)?.char_indices();
    let mut comma = true;
    while let Some((offset, c)) = chars.next() {
        match c {
            ',' => comma = true,
            '#' => drop(chars.find(|(_, c)| *c == '\n')),
            '"' | '\'' if comma => {
                let start = at + 1 + offset + 1;
                let (end, _) = chars.find(|(_, inner)| *inner == c || matches!(inner, '\\' | '\n'))?;
                let range = start..at + 1 + end;
                if !text.get(range.end..)?.starts_with(c) || range.is_empty() {
                    return None;
                }
                found.push(range);
                comma = false;
            }
            _ if c == close => return Some((found, at + 1 + offset + 1)),
            _ if c.is_whitespace() => {}
            _ => return None,
        }
    }
    None
}

fn one(text: &str, range: Range<usize>, opened: &Opened, around: &Around<'_>) -> Option<Install> {
    let (text, marker) = text.split_once(';').map_or((text, None), |(text, marker)| (text, Some(marker)));
    let mut package = requirement(text, opened.text.span(range), around.knowledge)?;
    match marker.map(|marker| holds(marker, around.environment)) {
        Some(Some(false)) => return None,
        Some(None) => package.conditional = true,
        _ => {}
    }
    at_source(&mut package, opened);
    Some(package)
}
