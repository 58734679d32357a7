//! Prints the needs: one line per GPU generation, or everything with facts and sources.

use std::io;

use crate::knowledge::Knowledge;
use crate::needs::generation_lines;
use crate::needs::launch_setup::NO_CONTAINER;
use crate::needs::model::{
    BlockingOutcome, BlockingStep, ComponentNeeds, DriverRange, GpuGroupNeeds, ImageNeeds, LaunchNeeds, NeedsEvidence,
    OlderToolkit, SupportedDrivers,
};
use crate::report::escape::{escape_one_line, shorten};
use crate::report::kinds::StartRoute;
use crate::report::phrases::{component_label, fact_label};
use crate::report::terminal_colors::{Tone, paint};
use crate::report::wrap::{display_width, wrap};

/// Maximum number of GPU names per group.
const MAX_GPU_NAMES: usize = 4;
/// Maximum length of a fact value before it is shortened.
const MAX_VALUE_LENGTH: usize = 72;

/// Options for printing needs.
#[derive(Clone, Copy, Debug)]
pub struct NeedsPrintOptions {
    /// Include GPUs without a supported driver branch.
    pub all_gpus: bool,
    /// Print every group with its facts and sources.
    pub why: bool,
    /// Use colors.
    pub color: bool,
    /// Width of the terminal in columns.
    pub width: usize,
}

/// Prints the needs of an input.
pub fn print_needs(
    needs: &ImageNeeds,
    shown: NeedsPrintOptions,
    knowledge: Knowledge,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let build = needs.build.as_ref().map_or_else(String::new, |build| format!(", {build}"));
    let name = escape_one_line(&needs.name);
    let NeedsPrintOptions { color, width, .. } = shown;
    writeln!(out, "{} ({}{build})", paint(&name, Tone::Strong, color), needs.platform)?;
    writeln!(out, "  {}", wrap(&escape_one_line(&needs.summary), 2, 4, width))?;
    match needs.platforms.as_slice() {
        [] => {}
        platforms => write_line(out, 2, &format!("platforms: {}", escape_one_line(&platforms.join(", "))), width)?,
    }
    if needs.components.is_empty() {
        return Ok(());
    }
    for component in &needs.components {
        write_component(component, shown, knowledge, out)?;
    }
    writeln!(out)?;
    if let Some(newest) = &needs.newest_driver {
        write_line(out, 2, &format!("tried on every known driver up to {newest}"), width)?;
    }
    let omitted = needs.components.iter().flat_map(|component| &component.groups).any(|one| !one.driver_in_support);
    if omitted && !shown.all_gpus {
        write_line(out, 2, "GPUs without a supported driver branch are omitted; show them with --all-gpus", width)?;
    }
    if !shown.why {
        write_line(out, 2, "every GPU, with facts and sources: --why", width)?;
    }
    Ok(())
}

/// Writes an indented line; wrapped lines are indented by two more columns.
fn write_line(out: &mut impl io::Write, indent: usize, text: &str, width: usize) -> io::Result<()> {
    writeln!(out, "{:indent$}{}", "", wrap(text, indent, indent + 2, width))
}

/// Writes the needs of a component.
fn write_component(
    component: &ComponentNeeds,
    shown: NeedsPrintOptions,
    knowledge: Knowledge,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let cuda = component.cuda.as_ref().map_or_else(|| "CUDA release unknown".to_owned(), |cuda| format!("CUDA {cuda}"));
    let code = if component.code.is_empty() {
        "native code and PTX unknown".to_owned()
    } else {
        code_targets_text(&component.code)
    };
    let name = escape_one_line(component_label(&component.name));
    let text = format!("{cuda}, {}", escape_one_line(&code));
    let text = wrap(&text, display_width(&name) + 4, 4, shown.width);
    writeln!(out, "\n  {}: {text}", paint(&name, Tone::Strong, shown.color))?;
    if !shown.why {
        writeln!(out)?;
        return generation_lines::write_generation_lines(component, shown, knowledge, out);
    }
    for group in component.groups.iter().filter(|group| shown.all_gpus || group.driver_in_support) {
        write_group(group, shown, out)?;
    }
    Ok(())
}

/// Writes the needs of a GPU group, with facts and sources.
fn write_group(group: &GpuGroupNeeds, shown: NeedsPrintOptions, out: &mut impl io::Write) -> io::Result<()> {
    let NeedsPrintOptions { color, width, .. } = shown;
    let names = group.gpus.iter().take(MAX_GPU_NAMES).copied().collect::<Vec<_>>().join(", ");
    let rest = group.gpus.len().saturating_sub(MAX_GPU_NAMES);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let (capabilities, classes) = (group.capabilities.join(", "), group.classes.join(", "));
    writeln!(out)?;
    write_line(out, 4, &format!("compute capability {capabilities} ({classes}): {names}{rest}"), width)?;
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
        return plainest.map_or(Ok(()), |because| write_blocking_step(because, false, width, out));
    }
    for ways in group_equal_launches(&group.ways) {
        let titles = ways.iter().map(|way| launch_name(way)).collect::<Vec<_>>().join(", ");
        let Some(way) = ways.first() else { continue };
        write_line(out, 6, &format!("{titles}: {}", supported_drivers_text(&way.span)), width)?;
        if let Some(because) = &way.because {
            write_blocking_step(because, way.span.smallest_driver.is_some(), width, out)?;
        }
    }
    for (span, olders) in group_equal_toolkits(&group.older_toolkits) {
        write_older_toolkits(span, &olders, group, width, out)?;
    }
    Ok(())
}

/// Returns the name of a launch method, as in a fleet file.
pub(super) fn launch_name(way: &LaunchNeeds) -> &'static str {
    if way.title == NO_CONTAINER { NO_CONTAINER } else { way.launch }
}

/// Formats targets of native code and PTX: `built for sm_80, sm_90, no PTX`.
pub(super) fn code_targets_text(targets: &[String]) -> String {
    let (native, ptx): (Vec<String>, Vec<String>) = targets.iter().cloned().partition(|one| one.starts_with("sm_"));
    match (native.is_empty(), ptx.is_empty()) {
        (true, true) => "no native code or PTX".to_owned(),
        (false, true) => format!("built for {}, no PTX", native.join(", ")),
        (true, false) => format!("PTX for {}, no native code", ptx.join(", ")),
        (false, false) => format!("built for {}, PTX for {}", native.join(", "), ptx.join(", ")),
    }
}

/// Groups launch methods with the same result, for one line each.
fn group_equal_launches(ways: &[LaunchNeeds]) -> Vec<Vec<&LaunchNeeds>> {
    let mut lines: Vec<Vec<&LaunchNeeds>> = Vec::new();
    let end = |way: &LaunchNeeds| way.because.as_ref().map(|because| because.message.clone());
    for way in ways {
        match lines.iter_mut().find(|line| line.iter().any(|one| one.span == way.span && end(one) == end(way))) {
            Some(line) => line.push(way),
            None => lines.push(vec![way]),
        }
    }
    lines
}

/// Formats the drivers on which an image starts.
pub(super) fn supported_drivers_text(span: &SupportedDrivers) -> String {
    let mut parts = Vec::new();
    match (&span.smallest_driver, &span.up_to) {
        (Some(from), Some(to)) => parts.push(format!("driver {from} to {to}")),
        (Some(from), None) => parts.push(format!("driver {from} or newer")),
        (None, _) if span.undetermined.is_empty() => parts.push("fails on every driver".to_owned()),
        (None, _) => {}
    }
    if !span.also.is_empty() {
        parts.push(format!("also {}", span.also.iter().map(driver_range_text).collect::<Vec<_>>().join(", ")));
    }
    if !span.undetermined.is_empty() {
        let ranges: Vec<String> = span.undetermined.iter().map(driver_range_text).collect();
        parts.push(format!("unknown for {}", ranges.join(", ")));
    }
    parts.join("; ")
}

/// Formats a range of drivers, with its route.
pub(super) fn driver_range_text(range: &DriverRange) -> String {
    let drivers = if range.from == range.to { range.from.clone() } else { format!("{} to {}", range.from, range.to) };
    match range.route.and_then(StartRoute::label) {
        Some(route) => format!("{drivers} ({route})"),
        None => drivers,
    }
}

/// Writes a blocking step, with its evidence.
fn write_blocking_step(
    because: &BlockingStep,
    some_do: bool,
    width: usize,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let BlockingStep { driver, message, .. } = because;
    let on = if some_do { format!("{driver}: ") } else { String::new() };
    let message = escape_one_line(message);
    // The message of an unknown outcome says so itself.
    let text = match because.outcome {
        BlockingOutcome::Undetermined if message.starts_with("unknown") => format!("{on}{message}"),
        BlockingOutcome::Undetermined => format!("{on}unknown: {message}"),
        BlockingOutcome::Fails(outcome) => format!("{on}{}: {message}", outcome.rule_name()),
    };
    write_line(out, 8, &text, width)?;
    for NeedsEvidence { key, value, place } in &because.evidence {
        let value = value.as_ref().map(|value| shorten(&escape_one_line(value), MAX_VALUE_LENGTH).into_owned());
        let text = match (value, key.contains('[')) {
            (_, true) => match place.rsplit_once(" (") {
                Some((source, date)) => {
                    format!("source: {} (checked {}", escape_one_line(source), escape_one_line(date))
                }
                None => format!("source: {}", escape_one_line(place)),
            },
            (Some(value), _) => format!("{}: {value} ({})", escape_one_line(&fact_label(key)), escape_one_line(place)),
            (None, _) => format!("{} ({})", escape_one_line(&fact_label(key)), escape_one_line(place)),
        };
        write_line(out, 10, &text, width)?;
    }
    Ok(())
}

/// Groups older toolkits with the same result, for one line each.
fn group_equal_toolkits(list: &[OlderToolkit]) -> Vec<(&SupportedDrivers, Vec<&OlderToolkit>)> {
    let mut lines: Vec<(&SupportedDrivers, Vec<&OlderToolkit>)> = Vec::new();
    for older in list {
        match lines.iter_mut().find(|(span, _)| **span == older.span) {
            Some((_, olders)) => olders.push(older),
            None => lines.push((&older.span, vec![older])),
        }
    }
    lines
}

/// Writes the older container toolkits that share one result.
fn write_older_toolkits(
    span: &SupportedDrivers,
    olders: &[&OlderToolkit],
    group: &GpuGroupNeeds,
    width: usize,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let versions = |older: &OlderToolkit| match (&older.before, older.from.as_str()) {
        (Some(before), "0") => format!("below {before}"),
        (Some(before), from) => format!("{from} to below {before}"),
        (None, from) => format!("{from} and newer"),
    };
    let launch =
        |older: &OlderToolkit| group.ways.iter().find(|way| way.title == older.title).map_or(older.title, launch_name);
    let named: Vec<String> = olders.iter().map(|older| format!("{} ({})", versions(older), launch(older))).collect();
    write_line(out, 6, &format!("with container toolkit {}: {}", named.join(", "), supported_drivers_text(span)), width)
}
