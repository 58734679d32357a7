//! The needs in print: one line for each GPU generation, or everything with its facts and sources.

use std::io;

use crate::knowledge::Knowledge;
use crate::needs::lines;
use crate::needs::model::Because;
use crate::needs::model::Component;
use crate::needs::model::Evidence;
use crate::needs::model::Group;
use crate::needs::model::Needs;
use crate::needs::model::OlderToolkit;
use crate::needs::model::Range;
use crate::needs::model::Span;
use crate::needs::model::Way;
use crate::needs::way::NO_CONTAINER;
use crate::outcome::Outcome;
use crate::outcome::route_words;
use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::fact;
use crate::report::words::named;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// So many names stand for a group of GPUs.
const MOST_NAMES: usize = 4;
/// Longer values of facts are cut.
const LONGEST_VALUE: usize = 72;

/// What to print.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// GPUs that no supported driver branch drives as well.
    pub all_gpus: bool,
    /// Every group with its facts and sources.
    pub why: bool,
    /// With colors.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// Writes what an input requires.
pub fn tell(needs: &Needs, shown: Shown, knowledge: Knowledge, out: &mut impl io::Write) -> io::Result<()> {
    let build = needs.build.as_ref().map_or_else(String::new, |build| format!(", {build}"));
    let name = clean(&needs.name);
    let Shown { color, width, .. } = shown;
    writeln!(out, "{} ({}{build})", paint(&name, Tone::Strong, color), needs.platform)?;
    writeln!(out, "  {}", wrap(&clean(&needs.summary), 2, 4, width))?;
    match needs.platforms.as_slice() {
        [] => {}
        platforms => line(out, 2, &format!("platforms: {}", clean(&platforms.join(", "))), width)?,
    }
    if needs.components.is_empty() {
        return Ok(());
    }
    for component in &needs.components {
        of_component(component, shown, knowledge, out)?;
    }
    writeln!(out)?;
    if let Some(newest) = &needs.newest_driver {
        line(out, 2, &format!("tried on every known driver up to {newest}"), width)?;
    }
    let omitted = needs.components.iter().flat_map(|component| &component.groups).any(|one| !one.driver_in_support);
    if omitted && !shown.all_gpus {
        line(out, 2, "GPUs without a supported driver branch are omitted; show them with --all-gpus", width)?;
    }
    if !shown.why {
        line(out, 2, "every GPU, with facts and sources: --why", width)?;
    }
    Ok(())
}

/// A line after some spaces; further lines hang by two more.
fn line(out: &mut impl io::Write, indent: usize, text: &str, width: usize) -> io::Result<()> {
    writeln!(out, "{:indent$}{}", "", wrap(text, indent, indent + 2, width))
}

fn of_component(component: &Component, shown: Shown, knowledge: Knowledge, out: &mut impl io::Write) -> io::Result<()> {
    let cuda = component.cuda.as_ref().map_or_else(|| "CUDA release unknown".to_owned(), |cuda| format!("CUDA {cuda}"));
    let code =
        if component.code.is_empty() { "native code and PTX unknown".to_owned() } else { built(&component.code) };
    let name = clean(named(&component.name));
    let text = format!("{cuda}, {}", clean(&code));
    let text = wrap(&text, columns(&name) + 4, 4, shown.width);
    writeln!(out, "\n  {}: {text}", paint(&name, Tone::Strong, shown.color))?;
    if !shown.why {
        writeln!(out)?;
        return lines::lines(component, shown, knowledge, out);
    }
    for group in component.groups.iter().filter(|group| shown.all_gpus || group.driver_in_support) {
        of_group(group, shown, out)?;
    }
    Ok(())
}

fn of_group(group: &Group, shown: Shown, out: &mut impl io::Write) -> io::Result<()> {
    let Shown { color, width, .. } = shown;
    let names = group.gpus.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    let rest = group.gpus.len().saturating_sub(MOST_NAMES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let (capabilities, classes) = (group.capabilities.join(", "), group.classes.join(", "));
    writeln!(out)?;
    line(out, 4, &format!("compute capability {capabilities} ({classes}): {names}{rest}"), width)?;
    let (code, tone) = match group.code {
        "native" => ("native code", Tone::Good),
        "jit" => ("PTX JIT: the driver compiles PTX at start-up", Tone::Good),
        "none" => ("no native code or PTX for these GPUs", Tone::Bad),
        _ => ("native code and PTX unknown", Tone::Open),
    };
    writeln!(out, "      {}", paint(code, tone, color))?;
    // Without native code and PTX no driver helps.
    if group.code == "none" {
        let plainest = group.ways.iter().rev().find_map(|way| way.because.as_ref());
        return plainest.map_or(Ok(()), |because| of_because(because, false, width, out));
    }
    for ways in together(&group.ways) {
        let titles = ways.iter().map(|way| called(way)).collect::<Vec<_>>().join(", ");
        let Some(way) = ways.first() else { continue };
        line(out, 6, &format!("{titles}: {}", of_span(&way.span)), width)?;
        if let Some(because) = &way.because {
            of_because(because, way.span.smallest_driver.is_some(), width, out)?;
        }
    }
    for (span, olders) in alike(&group.older_toolkits) {
        of_older(span, &olders, group, width, out)?;
    }
    Ok(())
}

/// A launch method as in a fleet file.
pub(super) fn called(way: &Way) -> &'static str {
    if way.title == NO_CONTAINER { NO_CONTAINER } else { way.launch }
}

/// `built for sm_80, sm_90, no PTX`, from the targets of native code and PTX.
pub(super) fn built(targets: &[String]) -> String {
    let (native, ptx): (Vec<String>, Vec<String>) = targets.iter().cloned().partition(|one| one.starts_with("sm_"));
    match (native.is_empty(), ptx.is_empty()) {
        (true, true) => "no native code or PTX".to_owned(),
        (false, true) => format!("built for {}, no PTX", native.join(", ")),
        (true, false) => format!("PTX for {}, no native code", ptx.join(", ")),
        (false, false) => format!("built for {}, PTX for {}", native.join(", "), ptx.join(", ")),
    }
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

pub(super) fn of_span(span: &Span) -> String {
    let mut parts = Vec::new();
    match (&span.smallest_driver, &span.up_to) {
        (Some(from), Some(to)) => parts.push(format!("driver {from} to {to}")),
        (Some(from), None) => parts.push(format!("driver {from} or newer")),
        (None, _) if span.undetermined.is_empty() => parts.push("fails on every driver".to_owned()),
        (None, _) => {}
    }
    if !span.also.is_empty() {
        parts.push(format!("also {}", span.also.iter().map(of_range).collect::<Vec<_>>().join(", ")));
    }
    if !span.undetermined.is_empty() {
        let ranges: Vec<String> = span.undetermined.iter().map(of_range).collect();
        parts.push(format!("unknown for {}", ranges.join(", ")));
    }
    parts.join("; ")
}

pub(super) fn of_range(range: &Range) -> String {
    let drivers = if range.from == range.to { range.from.clone() } else { format!("{} to {}", range.from, range.to) };
    match range.route.and_then(route_words) {
        Some(route) => format!("{drivers} ({route})"),
        None => drivers,
    }
}

/// The name of an outcome for people: that of its rule.
pub(super) fn outcome(name: &str) -> &str {
    if name == Outcome::Refused.name() { CONTAINER_REFUSED } else { name }
}

/// The rule about a container that is not created.
const CONTAINER_REFUSED: &str = "container-refused";

fn of_because(because: &Because, some_do: bool, width: usize, out: &mut impl io::Write) -> io::Result<()> {
    let Because { driver, message, .. } = because;
    let on = if some_do { format!("{driver}: ") } else { String::new() };
    let message = clean(message);
    // The message of an unknown outcome says so itself.
    let text = match because.outcome.as_str() {
        "undetermined" if message.starts_with("unknown") => format!("{on}{message}"),
        "undetermined" => format!("{on}unknown: {message}"),
        name => format!("{on}{}: {message}", outcome(name)),
    };
    line(out, 8, &text, width)?;
    for Evidence { key, value, place } in &because.evidence {
        let value = value.as_ref().map(|value| shorten(&clean(value), LONGEST_VALUE).into_owned());
        let text = match (value, key.contains('[')) {
            (_, true) => match place.rsplit_once(" (") {
                Some((source, date)) => format!("source: {} (checked {}", clean(source), clean(date)),
                None => format!("source: {}", clean(place)),
            },
            (Some(value), _) => format!("{}: {value} ({})", clean(&fact(key)), clean(place)),
            (None, _) => format!("{} ({})", clean(&fact(key)), clean(place)),
        };
        line(out, 10, &text, width)?;
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

fn of_older(
    span: &Span,
    olders: &[&OlderToolkit],
    group: &Group,
    width: usize,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let versions = |older: &OlderToolkit| match (&older.before, older.from.as_str()) {
        (Some(before), "0") => format!("below {before}"),
        (Some(before), from) => format!("{from} to below {before}"),
        (None, from) => format!("{from} and newer"),
    };
    let launch =
        |older: &OlderToolkit| group.ways.iter().find(|way| way.title == older.title).map_or(older.title, called);
    let named: Vec<String> = olders.iter().map(|older| format!("{} ({})", versions(older), launch(older))).collect();
    line(out, 6, &format!("with container toolkit {}: {}", named.join(", "), of_span(span)), width)
}
