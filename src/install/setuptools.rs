//! Reads `setup.cfg` and `setup.py`: requirements that are written as literals. Python itself is not run.

use std::ops::Range;

use crate::install::context::{CommandContext, OpenedFile};
use crate::install::effects::PackageInstall;
use crate::install::marker::evaluate_marker;
use crate::install::requirement::{parse_requirement, set_source};
use crate::model::cause::Cause;
use crate::model::package::PackageName;

/// The name of an extra, and where the strings of its list are written.
type ExtraRequirements<'t> = (&'t str, Vec<Range<usize>>);

/// The requirements of a setuptools project, or why they are unknown.
pub(super) type SetupRequirements = Result<Vec<PackageInstall>, Cause>;

/// Whether an extra is among the requested ones; `*` requests all.
fn is_requested_extra(extra: &str, extras: &[PackageName]) -> bool {
    let extra = PackageName::python(extra);
    extras.iter().any(|own| *own == "*" || *own == extra)
}

/// Reads `install_requires` below `[options]`, and the requested extras below `[options.extras_require]`.
pub(super) fn read_setup_cfg(
    opened: &OpenedFile,
    extras: &[PackageName],
    context: &CommandContext<'_>,
) -> SetupRequirements {
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
                "[options.extras_require]" => is_requested_extra(key.trim(), extras),
                _ => false,
            };
            from = line.len() - value.trim_start().len();
        }
        let text = line.get(from..).unwrap_or("");
        if !listed || text.is_empty() {
            continue;
        }
        if text.starts_with("file:") || text.contains("%(") {
            return Err(Cause::SetupElsewhere);
        }
        found.extend(parse_setup_requirement(text, start + from..start + line.len(), opened, context));
    }
    Ok(found)
}

/// Reads `install_requires=[…]` and `extras_require={…}` of a call, or the lists assigned to these names before it.
pub(super) fn read_setup_py(
    opened: &OpenedFile,
    extras: &[PackageName],
    context: &CommandContext<'_>,
) -> SetupRequirements {
    let mut found = read_install_requires(opened, context)?;
    if !extras.iter().all(|extra| extra.is_empty()) {
        let text = opened.text.text();
        let mut assignments = assignment_positions(text, "extras_require");
        let (Some(at), None) = (assignments.next(), assignments.next()) else {
            return if assignment_positions(text, "extras_require").next().is_none() {
                Ok(found)
            } else {
                Err(unknown_extras())
            };
        };
        let table = parse_extras_table(text, value_position(text, at).ok_or_else(unknown_extras)?)
            .ok_or_else(unknown_extras)?;
        let selected = table.into_iter().filter(|(name, _)| is_requested_extra(name, extras));
        let one = |range: Range<usize>| parse_setup_requirement(text.get(range.clone())?, range, opened, context);
        found.extend(selected.flat_map(|(_, list)| list).filter_map(one));
    }
    Ok(found)
}

/// Returns the cause for extras that are not written as literals.
fn unknown_extras() -> Cause {
    Cause::SetupExtras
}

/// Returns where a value is written: here, or at the only assignment of the variable that is named here.
fn value_position(text: &str, at: usize) -> Option<usize> {
    let value = text.get(at..)?;
    match value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        Some(end) if end > 0 => {
            let mut defined = assignment_positions(text, value.get(..end)?);
            match (defined.next(), defined.next()) {
                (Some(at), None) => Some(at),
                _ => None,
            }
        }
        _ => Some(at),
    }
}

/// Returns the names and lists of a dictionary of literal strings; `None` if it contains anything else.
fn parse_extras_table(text: &str, at: usize) -> Option<Vec<ExtraRequirements<'_>>> {
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
                let (texts, end) = parse_list(text, list)?;
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

/// Reads `install_requires` of a `setup.py`.
fn read_install_requires(opened: &OpenedFile, context: &CommandContext<'_>) -> SetupRequirements {
    let text = opened.text.text();
    let mut assignments = assignment_positions(text, "install_requires");
    let (Some(at), None) = (assignments.next(), assignments.next()) else {
        // Without one there is nothing that it requires; of several it takes Python to tell.
        return if assignment_positions(text, "install_requires").next().is_none() {
            Ok(Vec::new())
        } else {
            Err(unknown_requirements())
        };
    };
    let list = value_position(text, at).and_then(|at| parse_literal_list(text, at));
    let list = list.ok_or_else(unknown_requirements)?;
    Ok(list
        .into_iter()
        .filter_map(|range| parse_setup_requirement(text.get(range.clone())?, range, opened, context))
        .collect())
}

/// Returns the cause for requirements that are not written as literals.
fn unknown_requirements() -> Cause {
    Cause::SetupRequires
}

/// Returns where the values that are assigned to a name begin, except in comments.
fn assignment_positions<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
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

/// Returns the strings of a list of literals that begins at a position; `None` if it contains or is combined with
/// anything else.
fn parse_literal_list(text: &str, at: usize) -> Option<Vec<Range<usize>>> {
    let (found, end) = parse_list(text, at)?;
    let rest = text.get(end..)?.trim_start_matches([' ', '\t']);
    rest.starts_with([',', ')', '\n', '\r', '#']).then_some(found)
}

/// Returns the strings of a list of literals, and where the list ends.
fn parse_list(text: &str, at: usize) -> Option<(Vec<Range<usize>>, usize)> {
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

/// Parses a requirement with an optional marker; `None` if the marker does not hold.
fn parse_setup_requirement(
    text: &str,
    range: Range<usize>,
    opened: &OpenedFile,
    context: &CommandContext<'_>,
) -> Option<PackageInstall> {
    let (text, marker) = text.split_once(';').map_or((text, None), |(text, marker)| (text, Some(marker)));
    let mut package = parse_requirement(text, opened.text.source_span(range), context.knowledge)?;
    match marker.map(|marker| evaluate_marker(marker, context.environment)) {
        Some(Some(false)) => return None,
        Some(None) => package.conditional = true,
        _ => {}
    }
    set_source(&mut package, opened);
    Some(package)
}
