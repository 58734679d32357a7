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
use crate::report::words::named;
use crate::report::words::route_word;

/// So many names stand for a group of GPUs.
const MOST_NAMES: usize = 4;
/// Longer values of facts are cut.
const LONGEST_VALUE: usize = 72;

/// Writes what an input requires, in color or not; GPUs that no supported driver branch drives only if asked for.
pub fn tell(needs: &Needs, all_gpus: bool, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let build = needs.build.as_ref().map_or_else(String::new, |build| format!(", {build}"));
    let name = clean(&needs.name);
    writeln!(out, "{} ({}{build})", paint(&name, Tone::Strong, color), needs.platform)?;
    writeln!(out, "  {}", clean(&needs.summary))?;
    match needs.platforms.as_slice() {
        [] => {}
        platforms => writeln!(out, "  platforms: {}", clean(&platforms.join(", ")))?,
    }
    if needs.components.is_empty() {
        return Ok(());
    }
    for component in &needs.components {
        of_component(component, all_gpus, color, out)?;
    }
    if let Some(newest) = &needs.newest_driver {
        writeln!(out, "\n  tried on every known driver up to {newest}")?;
    }
    let omitted = needs.components.iter().flat_map(|component| &component.groups).any(|one| !one.driver_in_support);
    if omitted && !all_gpus {
        writeln!(out, "  GPUs without a supported driver branch are omitted; show them with --all-gpus")?;
    }
    Ok(())
}

fn of_component(component: &Component, all_gpus: bool, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let cuda = component.cuda.as_ref().map_or_else(|| "CUDA release unknown".to_owned(), |cuda| format!("CUDA {cuda}"));
    let code =
        if component.code.is_empty() { "native code and PTX unknown".to_owned() } else { built(&component.code) };
    let name = clean(named(&component.name));
    writeln!(out, "\n  {}: {cuda}, {}", paint(&name, Tone::Strong, color), clean(&code))?;
    for group in component.groups.iter().filter(|group| all_gpus || group.driver_in_support) {
        of_group(group, color, out)?;
    }
    Ok(())
}

fn of_group(group: &Group, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let names = group.gpus.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    let rest = group.gpus.len().saturating_sub(MOST_NAMES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let (capabilities, classes) = (group.capabilities.join(", "), group.classes.join(", "));
    writeln!(out, "\n    compute capability {capabilities} ({classes}): {names}{rest}")?;
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
        parts.push(format!("unknown for {}", ranges.join(", ")));
    }
    parts.join("; ")
}

fn of_range(range: &Range) -> String {
    let drivers = if range.from == range.to { range.from.clone() } else { format!("{} to {}", range.from, range.to) };
    match range.route.and_then(route_word) {
        Some(route) => format!("{drivers} ({route})"),
        None => drivers,
    }
}

fn of_because(because: &Because, some_do: bool, out: &mut impl io::Write) -> io::Result<()> {
    let Because { driver, outcome, message, .. } = because;
    let on = if some_do { format!("{driver}: ") } else { String::new() };
    let message = clean(message);
    // The message of an unknown outcome says so itself.
    match outcome.as_str() {
        "undetermined" if message.starts_with("unknown") => writeln!(out, "        {on}{message}")?,
        "undetermined" => writeln!(out, "        {on}unknown: {message}")?,
        outcome => writeln!(out, "        {on}{outcome}: {message}")?,
    }
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
