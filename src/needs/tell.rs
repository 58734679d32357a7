//! The needs in print.

use std::io;

use crate::needs::model::Because;
use crate::needs::model::Component;
use crate::needs::model::Evidence;
use crate::needs::model::Group;
use crate::needs::model::Needs;
use crate::needs::model::OlderToolkit;
use crate::needs::model::Range;
use crate::needs::model::Span;
use crate::needs::model::Way;
use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::paint::Tone;
use crate::report::paint::paint;

/// So many names stand for a group of GPUs.
const MOST_NAMES: usize = 4;
/// Longer values of facts are cut.
const LONGEST_VALUE: usize = 72;

/// Writes what an input demands, in colour or not.
pub fn tell(needs: &Needs, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let build = needs.build.as_ref().map_or_else(String::new, |build| format!(", {build}"));
    let name = clean(&needs.name);
    writeln!(out, "{} ({}{build})", paint(&name, Tone::Strong, color), needs.platform)?;
    match needs.platforms.as_slice() {
        [] => {}
        platforms => writeln!(out, "  platforms: {}", clean(&platforms.join(", ")))?,
    }
    if needs.components.is_empty() {
        return writeln!(out, "  no GPU content: it demands nothing");
    }
    for component in &needs.components {
        of_component(component, color, out)?;
    }
    if let Some(newest) = &needs.newest_driver {
        writeln!(out, "\n  tried on every known driver up to {newest}")?;
    }
    Ok(())
}

fn of_component(component: &Component, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let cuda = component.cuda.as_ref().map_or_else(String::new, |cuda| format!(", CUDA {cuda}"));
    let code =
        if component.code.is_empty() { String::new() } else { format!(", {}", clean(&component.code.join(" "))) };
    let name = clean(&component.name);
    writeln!(out, "\n  {}{cuda}{code}", paint(&name, Tone::Strong, color))?;
    for group in &component.groups {
        of_group(group, color, out)?;
    }
    Ok(())
}

fn of_group(group: &Group, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let names = group.gpus.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    let rest = group.gpus.len().saturating_sub(MOST_NAMES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    writeln!(out, "\n    {} {}: {names}{rest}", group.capabilities.join(" "), group.classes.join("/"))?;
    let (code, tone) = match group.code {
        "native" => ("machine code", Tone::Good),
        "jit" => ("PTX, compiled at start-up", Tone::Good),
        "none" => ("no code", Tone::Bad),
        _ => ("GPU code not known", Tone::Open),
    };
    writeln!(out, "      {}", paint(code, tone, color))?;
    // Where there is no code, no driver helps, whatever else stands in the way.
    if group.code == "none" {
        let plainest = group.ways.iter().rev().find_map(|way| way.because.as_ref());
        return plainest.map_or(Ok(()), |because| of_because(because, false, out));
    }
    for ways in together(&group.ways) {
        let titles = ways.iter().map(|way| way.title).collect::<Vec<_>>().join(", ");
        let Some(way) = ways.first() else { continue };
        writeln!(out, "      {titles}: {}", of_span(&way.span))?;
        if let Some(because) = &way.because {
            of_because(because, way.span.smallest_driver.is_some(), out)?;
        }
    }
    for (span, olders) in alike(&group.older_toolkits) {
        of_older(span, &olders, out)?;
    }
    Ok(())
}

/// Neighbouring ways that end alike, told in one line.
fn together(ways: &[Way]) -> Vec<Vec<&Way>> {
    let mut lines: Vec<Vec<&Way>> = Vec::new();
    let end = |way: &Way| way.because.as_ref().map(|because| because.message.clone());
    for way in ways {
        match lines.iter_mut().find(|line| line.iter().any(|one| one.span == way.span && end(one) == end(way))) {
            Some(line) => line.push(way),
            None => lines.push(vec![way]),
        }
    }
    lines
}

fn of_span(span: &Span) -> String {
    let mut parts = Vec::new();
    match (&span.smallest_driver, &span.up_to) {
        (Some(from), Some(to)) => parts.push(format!("driver {from} to {to}")),
        (Some(from), None) => parts.push(format!("driver {from} or newer")),
        (None, _) if span.undetermined.is_empty() => parts.push("no known driver".to_owned()),
        (None, _) => {}
    }
    if !span.also.is_empty() {
        parts.push(format!("also {}", span.also.iter().map(of_range).collect::<Vec<_>>().join(", ")));
    }
    if !span.undetermined.is_empty() {
        let ranges: Vec<String> = span.undetermined.iter().map(of_range).collect();
        parts.push(format!("cannot tell for {}", ranges.join(", ")));
    }
    parts.join("; ")
}

fn of_range(range: &Range) -> String {
    let drivers = if range.from == range.to { range.from.clone() } else { format!("{} to {}", range.from, range.to) };
    match range.route {
        Some(route) if route != "native" => format!("{drivers} ({route})"),
        _ => drivers,
    }
}

fn of_because(because: &Because, some_do: bool, out: &mut impl io::Write) -> io::Result<()> {
    let Because { driver, outcome, message, .. } = because;
    let on = if some_do { format!("{driver}: ") } else { String::new() };
    writeln!(out, "        {on}{outcome}: {}", clean(message))?;
    for Evidence { key, value, place } in &because.evidence {
        let value =
            value.as_ref().map_or_else(String::new, |value| format!(" = {}", shorten(&clean(value), LONGEST_VALUE)));
        writeln!(out, "          {}{value} [{}]", clean(key), clean(place))?;
    }
    Ok(())
}

/// Older toolkits under which everything ends alike, told in one line.
fn alike(list: &[OlderToolkit]) -> Vec<(&Span, Vec<&OlderToolkit>)> {
    let mut lines: Vec<(&Span, Vec<&OlderToolkit>)> = Vec::new();
    for older in list {
        match lines.iter_mut().find(|(span, _)| **span == older.span) {
            Some((_, olders)) => olders.push(older),
            None => lines.push((&older.span, vec![older])),
        }
    }
    lines
}

fn of_older(span: &Span, olders: &[&OlderToolkit], out: &mut impl io::Write) -> io::Result<()> {
    let versions = |older: &OlderToolkit| match (&older.before, older.from.as_str()) {
        (Some(before), "0") => format!("below {before}"),
        (Some(before), from) => format!("{from} to below {before}"),
        (None, from) => format!("{from} and newer"),
    };
    let named: Vec<String> = olders.iter().map(|older| format!("{} ({})", versions(older), older.title)).collect();
    writeln!(out, "      with container toolkit {}: {}", named.join(", "), of_span(span))
}
