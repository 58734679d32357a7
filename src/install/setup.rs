//! `setup.cfg` and `setup.py`: the requirements that stand there as they are. Python itself is not run.

use std::ops::Range;

use crate::install::Around;
use crate::install::Install;
use crate::install::Opened;
use crate::install::files::at_source;
use crate::install::marker::holds;
use crate::install::requirement::requirement;

/// What a project of setuptools requires, or why that cannot be told.
pub(super) type Required = Result<Vec<Install>, String>;

/// `install_requires` below `[options]`.
pub(super) fn cfg(opened: &Opened, around: &Around<'_>) -> Required {
    let (mut inside, mut listed, mut at) = (false, false, 0);
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
                (inside, listed) = (text == "[options]", false);
                continue;
            }
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            listed = inside && key.trim() == "install_requires";
            from = line.len() - value.trim_start().len();
        }
        let text = line.get(from..).unwrap_or("");
        if !listed || text.is_empty() {
            continue;
        }
        if text.starts_with("file:") || text.contains("%(") {
            return Err("its install_requires stands in another place".to_owned());
        }
        found.extend(one(text, start + from..start + line.len(), opened, around));
    }
    Ok(found)
}

/// `install_requires=[…]` in a call, or the list of that name before it.
pub(super) fn py(opened: &Opened, around: &Around<'_>) -> Required {
    let text = opened.text.text();
    let mut asked = assignments(text, "install_requires");
    let (Some(at), None) = (asked.next(), asked.next()) else {
        // Without one there is nothing that it requires; of several it takes Python to tell.
        return if assignments(text, "install_requires").next().is_none() { Ok(Vec::new()) } else { Err(unclear()) };
    };
    let value = text.get(at..).unwrap_or("");
    let list = match value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        Some(end) if end > 0 => {
            let name = value.get(..end).unwrap_or("");
            let mut defined = assignments(text, name);
            match (defined.next(), defined.next()) {
                (Some(at), None) => literal(text, at),
                _ => None,
            }
        }
        _ => literal(text, at),
    };
    let list = list.ok_or_else(unclear)?;
    Ok(list.into_iter().filter_map(|range| one(text.get(range.clone())?, range, opened, around)).collect())
}

fn unclear() -> String {
    "its install_requires is no plain list".to_owned()
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

/// The texts of a list of plain strings that begins at a place; `None` where there is anything else in it.
fn literal(text: &str, at: usize) -> Option<Vec<Range<usize>>> {
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
            _ if c == close => {
                // A sum of lists is more than this one.
                let rest = text.get(at + 1 + offset + 1..)?.trim_start_matches([' ', '\t']);
                return rest.starts_with([',', ')', '\n', '\r', '#']).then_some(found);
            }
            _ if c.is_whitespace() => {}
            _ => return None,
        }
    }
    None
}

fn one(text: &str, range: Range<usize>, opened: &Opened, around: &Around<'_>) -> Option<Install> {
    let (text, marker) = text.split_once(';').map_or((text, None), |(text, marker)| (text, Some(marker)));
    let mut package = requirement(text, opened.text.span(range))?;
    match marker.map(|marker| holds(marker, around.environment)) {
        Some(Some(false)) => return None,
        Some(None) => package.conditional = true,
        _ => {}
    }
    at_source(&mut package, opened);
    Some(package)
}
