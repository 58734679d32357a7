//! Prints the needs: one line for each component and GPU generation, or everything with facts and sources.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::cuda::{ComputeCapability, DriverVersion};
use crate::fix::needs::launch_setup::NO_CONTAINER;
use crate::fix::needs::model::{
    BlockingOutcome, BlockingStep, CodeCoverage, ComponentNeeds, DriverRange, GpuGroupNeeds, ImageNeeds, LaunchNeeds,
    NeedsEvidence, OlderToolkit, SupportedDrivers,
};
use crate::fix::needs::survey::{gpu_class_name, is_other_platform};
use crate::fleet::Launch;
use crate::knowledge::{GpuClass, GpuRow, Knowledge};
use crate::replay::StartRoute;
use crate::report::escape::{escape_one_line, shorten};
use crate::report::phrases::{component_label, fact_label, join_first};
use crate::report::terminal_colors::{TextStyle, paint};
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
    writeln!(out, "{} ({}{build})", paint(&name, TextStyle::Strong, color), needs.platform)?;
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
    writeln!(out, "\n  {}: {text}", paint(&name, TextStyle::Strong, shown.color))?;
    if !shown.why {
        writeln!(out)?;
        return write_gpu_generations(component, shown, knowledge, out);
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
        CodeCoverage::Native => ("native code", TextStyle::Good),
        CodeCoverage::Jit => ("PTX JIT: the driver compiles PTX at start-up", TextStyle::Good),
        CodeCoverage::None => ("no native code or PTX for these GPUs", TextStyle::Bad),
        CodeCoverage::Unknown => ("native code and PTX unknown", TextStyle::Open),
    };
    writeln!(out, "      {}", paint(code, tone, color))?;
    // Without native code and PTX no driver helps.
    if group.code == CodeCoverage::None {
        let plainest = group.ways.iter().rev().find_map(|launch_needs| launch_needs.because.as_ref());
        return plainest.map_or(Ok(()), |because| write_blocking_step(because, false, width, out));
    }
    for ways in group_equal_launches(&group.ways) {
        let titles = ways.iter().map(|launch_needs| launch_name(launch_needs)).collect::<Vec<_>>().join(", ");
        let Some(launch_needs) = ways.first() else { continue };
        write_line(out, 6, &format!("{titles}: {}", supported_drivers_text(&launch_needs.span)), width)?;
        if let Some(because) = &launch_needs.because {
            write_blocking_step(because, launch_needs.span.smallest_driver.is_some(), width, out)?;
        }
    }
    for (span, olders) in group_equal_toolkits(&group.older_toolkits) {
        write_older_toolkits(span, &olders, group, width, out)?;
    }
    Ok(())
}

/// Returns the name of a launch method, as in a fleet file.
fn launch_name(launch_needs: &LaunchNeeds) -> &'static str {
    if launch_needs.is_without_container() { NO_CONTAINER } else { launch_needs.launch.as_str() }
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
    let end = |launch_needs: &LaunchNeeds| launch_needs.because.as_ref().map(|because| because.message.clone());
    for launch_needs in ways {
        match lines
            .iter_mut()
            .find(|line| line.iter().any(|one| one.span == launch_needs.span && end(one) == end(launch_needs)))
        {
            Some(line) => line.push(launch_needs),
            None => lines.push(vec![launch_needs]),
        }
    }
    lines
}

/// Formats the drivers on which an image starts.
fn supported_drivers_text(span: &SupportedDrivers) -> String {
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
fn driver_range_text(range: &DriverRange) -> String {
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
    let text = match because.outcome {
        // Its message says so itself.
        BlockingOutcome::Undetermined => format!("{on}{message}"),
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
    let launch = |older: &OlderToolkit| {
        group.ways.iter().find(|launch_needs| launch_needs.launch == older.launch).map_or(older.title, launch_name)
    };
    let named: Vec<String> = olders.iter().map(|older| format!("{} ({})", versions(older), launch(older))).collect();
    write_line(out, 6, &format!("with container toolkit {}: {}", named.join(", "), supported_drivers_text(span)), width)
}

/// Maximum number of GPUs of other platforms that are named.
const MAX_OTHER_GPUS: usize = 3;
/// Maximum number of GPU classes that are named.
const MAX_CLASSES: usize = 2;
/// Name of the class of data-center GPUs.
const DATA_CENTER: &str = gpu_class_name(GpuClass::DataCenter);
/// Maximum width of the column of GPU generations.
const MAX_LABEL_WIDTH: usize = 30;

/// The result of one launch method: the drivers on which it starts, or why it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LaunchSummary {
    launch: Launch,
    text: String,
    /// Why the image starts on no driver.
    fails: Option<String>,
}

/// GPUs of one architecture with the same results.
#[derive(Debug)]
struct GenerationLine {
    architecture: &'static str,
    capabilities: BTreeSet<ComputeCapability>,
    classes: BTreeSet<&'static str>,
    /// Whether the image has no code for these GPUs.
    no_code: bool,
    cells: Vec<LaunchSummary>,
}

/// Writes a line for each GPU generation with the drivers on which the component starts, then the failures that all
/// generations share.
fn write_gpu_generations(
    component: &ComponentNeeds,
    shown: NeedsPrintOptions,
    knowledge: Knowledge,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let groups = component.groups.iter().filter(|group| shown.all_gpus || group.driver_in_support);
    let (others, own): (Vec<&GpuGroupNeeds>, Vec<&GpuGroupNeeds>) = groups.partition(|group| is_other_platform(group));
    let mut lines: Vec<GenerationLine> = Vec::new();
    for group in own {
        let cells = launch_summaries(group);
        for gpu in group.gpus.iter().filter_map(|name| knowledge.gpu(name)) {
            add_gpu(&mut lines, gpu, group, &cells);
        }
    }
    lines.sort_by(|one, other| one.capabilities.first().cmp(&other.capabilities.first()));
    let fails = take_common_failures(&mut lines);
    // Generations of which the drivers differ by launch method are one entry if they have the same drivers.
    let mut entries: Vec<(Vec<&str>, Option<String>, Vec<String>)> = Vec::new();
    for line in &lines {
        let (mark, texts) = (distinguishing_label(line, &lines), line_texts(line));
        let alike =
            |one: &&mut (Vec<&str>, Option<String>, Vec<String>)| texts.len() > 1 && one.1 == mark && one.2 == texts;
        match entries.iter_mut().find(alike) {
            Some((names, ..)) => names.push(line.architecture),
            None => entries.push((vec![line.architecture], mark, texts)),
        }
    }
    let label = |names: &[&str], mark: &Option<String>| {
        let mark = mark.as_ref().map_or_else(String::new, |mark| format!(" ({mark})"));
        format!("{}{mark}", names.join(", "))
    };
    let plain = entries.iter().filter(|(.., texts)| texts.len() == 1);
    let column =
        plain.map(|(names, mark, _)| display_width(&label(names, mark))).max().unwrap_or_default().min(MAX_LABEL_WIDTH);
    for (names, mark, texts) in &entries {
        let label = label(names, mark);
        if let ([text], true) = (texts.as_slice(), display_width(&label) <= column) {
            let hang = column + 6;
            writeln!(out, "    {label:<column$}  {}", wrap(&escape_one_line(text), hang, hang + 2, shown.width))?;
            continue;
        }
        writeln!(out, "    {}", wrap(&label, 4, 6, shown.width))?;
        for text in texts {
            writeln!(out, "      {}", wrap(&escape_one_line(text), 6, 8, shown.width))?;
        }
    }
    for (launch, why) in fails {
        let text = format!("launch {launch}: fails on every driver: {}", escape_one_line(&why));
        writeln!(out, "    {}", wrap(&text, 4, 6, shown.width))?;
    }
    let mut why: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for group in others {
        let message = group
            .ways
            .iter()
            .find_map(|launch_needs| launch_needs.because.as_ref())
            .map_or("", |because| &because.message);
        why.entry(message).or_default().extend(group.gpus.iter().map(|gpu| (*gpu).to_owned()));
    }
    for (message, gpus) in why {
        let text = format!("not on {}: {}", join_first(&gpus, MAX_OTHER_GPUS, ", "), escape_one_line(message));
        writeln!(out, "    {}", wrap(&text, 4, 6, shown.width))?;
    }
    Ok(())
}

/// Adds a GPU to the line of its architecture with the same results, or to a new line.
fn add_gpu(lines: &mut Vec<GenerationLine>, gpu: &GpuRow, group: &GpuGroupNeeds, cells: &[LaunchSummary]) {
    let no_code = group.code == CodeCoverage::None;
    let alike = |line: &&mut GenerationLine| {
        line.architecture == gpu.architecture && line.no_code == no_code && (no_code || line.cells == cells)
    };
    match lines.iter_mut().find(alike) {
        Some(line) => {
            line.capabilities.insert(gpu.capability);
            line.classes.insert(gpu_class_name(gpu.class));
        }
        None => lines.push(GenerationLine {
            architecture: gpu.architecture,
            capabilities: BTreeSet::from([gpu.capability]),
            classes: BTreeSet::from([gpu_class_name(gpu.class)]),
            no_code,
            cells: cells.to_vec(),
        }),
    }
}

/// Returns the results of all container launch methods.
fn launch_summaries(group: &GpuGroupNeeds) -> Vec<LaunchSummary> {
    let of = |launch_needs: &LaunchNeeds| {
        let starts = launch_needs.span.smallest_driver.is_some() || !launch_needs.span.also.is_empty();
        let unknown = !launch_needs.span.undetermined.is_empty();
        let because = launch_needs.because.as_ref();
        let fails = because.filter(|_| !starts && !unknown).map(|because| because.message.clone());
        let text = match because {
            _ if starts => driver_text(&launch_needs.span),
            Some(because) if unknown => match because.outcome {
                // Its message says so itself.
                BlockingOutcome::Undetermined => because.message.clone(),
                BlockingOutcome::Fails(_) => format!("unknown: {}", because.message),
            },
            None if unknown => "unknown".to_owned(),
            Some(BlockingStep { outcome: BlockingOutcome::Fails(outcome), .. }) => {
                format!("fails: {}", outcome.rule_name())
            }
            Some(_) | None => "fails".to_owned(),
        };
        LaunchSummary { launch: launch_needs.launch, text, fails }
    };
    group.ways.iter().filter(|launch_needs| !launch_needs.is_without_container()).map(of).collect()
}

/// Formats the supported drivers: `driver 525.60.13 or newer; also some drivers of 450, 470`.
fn driver_text(span: &SupportedDrivers) -> String {
    let mut parts = Vec::new();
    match (&span.smallest_driver, &span.up_to) {
        (Some(from), Some(to)) => parts.push(format!("driver {from} to {to}")),
        (Some(from), None) => parts.push(format!("driver {from} or newer")),
        (None, _) => {}
    }
    let branch = |text: &str| text.parse::<DriverVersion>().ok().map(DriverVersion::branch);
    let mut also: Vec<String> = Vec::new();
    for range in &span.also {
        let text = match (branch(&range.from), branch(&range.to)) {
            (Some(from), Some(to)) if from == to => from.to_string(),
            _ => driver_range_text(range),
        };
        if !also.contains(&text) {
            also.push(text);
        }
    }
    if !also.is_empty() {
        let lead = if parts.is_empty() { "some drivers of" } else { "also some drivers of" };
        parts.push(format!("{lead} {}", also.join(", ")));
    }
    parts.join("; ")
}

/// Removes launch methods that fail everywhere for one reason from the lines, and returns them.
fn take_common_failures(lines: &mut [GenerationLine]) -> Vec<(Launch, String)> {
    let with_code = |lines: &[GenerationLine]| lines.iter().filter(|line| !line.no_code).count();
    let mut launches: Vec<Launch> =
        lines.iter().filter(|line| !line.no_code).flat_map(|line| &line.cells).map(|cell| cell.launch).collect();
    launches.sort_unstable_by_key(|launch| launch.as_str());
    launches.dedup();
    let mut found = Vec::new();
    for launch in launches {
        let cells = lines.iter().filter(|line| !line.no_code).flat_map(|line| &line.cells);
        let own: Vec<&LaunchSummary> = cells.filter(|cell| cell.launch == launch).collect();
        let whys: BTreeSet<&String> = own.iter().filter_map(|cell| cell.fails.as_ref()).collect();
        let all = own.len() == with_code(lines) && own.iter().all(|cell| cell.fails.is_some());
        // A line keeps what is left of it.
        let left = lines.iter().all(|line| line.no_code || line.cells.iter().any(|cell| cell.launch != launch));
        if let (true, true, [why]) = (all, left, whys.into_iter().cloned().collect::<Vec<_>>().as_slice()) {
            found.push((launch, why.clone()));
        }
    }
    for line in lines.iter_mut().filter(|line| !line.no_code) {
        let left: Vec<LaunchSummary> =
            line.cells.iter().filter(|cell| found.iter().all(|(launch, _)| *launch != cell.launch)).cloned().collect();
        if !left.is_empty() {
            line.cells = left;
        }
    }
    found
}

/// Returns what distinguishes a line from others of the same architecture: `10.3` of Blackwell.
fn distinguishing_label(line: &GenerationLine, lines: &[GenerationLine]) -> Option<String> {
    let others: Vec<&GenerationLine> =
        lines.iter().filter(|other| other.architecture == line.architecture && !std::ptr::eq(*other, line)).collect();
    if others.is_empty() {
        return None;
    }
    let capabilities = || line.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let classes = || match line.classes.iter().copied().collect::<Vec<_>>() {
        few if few.len() <= MAX_CLASSES => few.join(", "),
        _ if !line.classes.contains(DATA_CENTER) => format!("not {DATA_CENTER}"),
        many => many.join(", "),
    };
    let mark = if others.iter().all(|other| other.capabilities.is_disjoint(&line.capabilities)) {
        capabilities()
    } else if others.iter().all(|other| other.classes.is_disjoint(&line.classes)) {
        classes()
    } else {
        format!("{}; {}", capabilities(), classes())
    };
    Some(mark)
}

/// Returns the texts of a line, grouped by launch methods with the same result.
fn line_texts(line: &GenerationLine) -> Vec<String> {
    if line.no_code {
        return vec!["fails: no native code or PTX".to_owned()];
    }
    let mut alike: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in &line.cells {
        match alike.iter_mut().find(|(text, _)| *text == cell.text) {
            Some((_, launches)) => launches.push(cell.launch.as_str()),
            None => alike.push((&cell.text, vec![cell.launch.as_str()])),
        }
    }
    if let [(text, _)] = alike.as_slice() {
        return vec![(*text).to_owned()];
    }
    alike.into_iter().map(|(text, launches)| format!("{}: {text}", launches.join(", "))).collect()
}
