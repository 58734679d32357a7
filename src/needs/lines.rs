//! The needs of a component, one line for each GPU generation: the drivers on which it starts.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;

use crate::cuda::ComputeCapability;
use crate::cuda::DriverVersion;
use crate::knowledge::GpuClass;
use crate::knowledge::GpuRow;
use crate::knowledge::Knowledge;
use crate::needs::model::Component;
use crate::needs::model::Group;
use crate::needs::model::Span;
use crate::needs::model::Way;
use crate::needs::sentence::of_other_machines;
use crate::needs::survey::class_word;
use crate::needs::tell::Shown;
use crate::needs::tell::called;
use crate::needs::tell::of_range;
use crate::needs::tell::outcome;
use crate::needs::way::NO_CONTAINER;
use crate::report::escape::clean;
use crate::report::words::listed;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// So many GPUs of other machines are named.
const MOST_NAMES: usize = 3;
/// So many classes of GPUs are named.
const FEW: usize = 2;
const DATA_CENTER: &str = class_word(GpuClass::DataCenter);
/// The widest column of generations.
const WIDEST: usize = 30;

/// The end of one launch method: on which drivers it starts, or why it does not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    launch: &'static str,
    text: String,
    /// Why no driver starts.
    fails: Option<String>,
}

/// GPUs of one architecture for which everything ends alike.
#[derive(Debug)]
struct Line {
    architecture: &'static str,
    capabilities: BTreeSet<ComputeCapability>,
    classes: BTreeSet<&'static str>,
    /// Whether nothing in the image is built for them.
    no_code: bool,
    cells: Vec<Cell>,
}

/// Writes the lines, and what is common to all of them.
pub(super) fn lines(
    component: &Component,
    shown: Shown,
    knowledge: Knowledge,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let groups = component.groups.iter().filter(|group| shown.all_gpus || group.driver_in_support);
    let (others, own): (Vec<&Group>, Vec<&Group>) = groups.partition(|group| of_other_machines(group));
    let mut lines: Vec<Line> = Vec::new();
    for group in own {
        let cells = cells(group);
        for gpu in group.gpus.iter().filter_map(|name| knowledge.gpu(name)) {
            add(&mut lines, gpu, group, &cells);
        }
    }
    lines.sort_by(|one, other| one.capabilities.first().cmp(&other.capabilities.first()));
    let fails = failing(&mut lines);
    // Generations of which the drivers differ by launch method are one entry if they have the same drivers.
    let mut entries: Vec<(Vec<&str>, Option<String>, Vec<String>)> = Vec::new();
    for line in &lines {
        let (mark, texts) = (mark(line, &lines), texts(line));
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
    let column = plain.map(|(names, mark, _)| columns(&label(names, mark))).max().unwrap_or_default().min(WIDEST);
    for (names, mark, texts) in &entries {
        let label = label(names, mark);
        if let ([text], true) = (texts.as_slice(), columns(&label) <= column) {
            let hang = column + 6;
            writeln!(out, "    {label:<column$}  {}", wrap(&clean(text), hang, hang + 2, shown.width))?;
            continue;
        }
        writeln!(out, "    {}", wrap(&label, 4, 6, shown.width))?;
        for text in texts {
            writeln!(out, "      {}", wrap(&clean(text), 6, 8, shown.width))?;
        }
    }
    for (launch, why) in fails {
        let text = format!("launch {launch}: fails on every driver: {}", clean(&why));
        writeln!(out, "    {}", wrap(&text, 4, 6, shown.width))?;
    }
    let mut why: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for group in others {
        let message = group.ways.iter().find_map(|way| way.because.as_ref()).map_or("", |because| &because.message);
        why.entry(message).or_default().extend(group.gpus.iter().map(|gpu| (*gpu).to_owned()));
    }
    for (message, gpus) in why {
        let text = format!("not on {}: {}", listed(&gpus, MOST_NAMES, ", "), clean(message));
        writeln!(out, "    {}", wrap(&text, 4, 6, shown.width))?;
    }
    Ok(())
}

fn add(lines: &mut Vec<Line>, gpu: &GpuRow, group: &Group, cells: &[Cell]) {
    let no_code = group.code == "none";
    let alike = |line: &&mut Line| {
        line.architecture == gpu.architecture && line.no_code == no_code && (no_code || line.cells == cells)
    };
    match lines.iter_mut().find(alike) {
        Some(line) => {
            line.capabilities.insert(gpu.capability);
            line.classes.insert(class_word(gpu.class));
        }
        None => lines.push(Line {
            architecture: gpu.architecture,
            capabilities: BTreeSet::from([gpu.capability]),
            classes: BTreeSet::from([class_word(gpu.class)]),
            no_code,
            cells: cells.to_vec(),
        }),
    }
}

/// The ends of all launch methods of containers.
fn cells(group: &Group) -> Vec<Cell> {
    let of = |way: &Way| {
        let starts = way.span.smallest_driver.is_some() || !way.span.also.is_empty();
        let unknown = !way.span.undetermined.is_empty();
        let because = way.because.as_ref();
        let fails = because.filter(|_| !starts && !unknown).map(|because| because.message.clone());
        let text = match because {
            _ if starts => drivers(&way.span),
            // The message of an unknown outcome begins with the word.
            Some(because) if unknown && because.message.starts_with("unknown") => because.message.clone(),
            Some(because) if unknown => format!("unknown: {}", because.message),
            None if unknown => "unknown".to_owned(),
            Some(because) => format!("fails: {}", outcome(&because.outcome)),
            None => "fails".to_owned(),
        };
        Cell { launch: called(way), text, fails }
    };
    group.ways.iter().filter(|way| way.title != NO_CONTAINER).map(of).collect()
}

/// `driver 525.60.13 or newer; also some drivers of 450, 470`.
fn drivers(span: &Span) -> String {
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
            _ => of_range(range),
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

/// Launch methods that fail for one reason on all GPUs for which there is code: taken out of the lines.
fn failing(lines: &mut [Line]) -> Vec<(&'static str, String)> {
    let with_code = |lines: &[Line]| lines.iter().filter(|line| !line.no_code).count();
    let launches: BTreeSet<&'static str> =
        lines.iter().filter(|line| !line.no_code).flat_map(|line| &line.cells).map(|cell| cell.launch).collect();
    let mut found = Vec::new();
    for launch in launches {
        let cells = lines.iter().filter(|line| !line.no_code).flat_map(|line| &line.cells);
        let own: Vec<&Cell> = cells.filter(|cell| cell.launch == launch).collect();
        let whys: BTreeSet<&String> = own.iter().filter_map(|cell| cell.fails.as_ref()).collect();
        let all = own.len() == with_code(lines) && own.iter().all(|cell| cell.fails.is_some());
        // A line keeps what is left of it.
        let left = lines.iter().all(|line| line.no_code || line.cells.iter().any(|cell| cell.launch != launch));
        if let (true, true, [why]) = (all, left, whys.into_iter().cloned().collect::<Vec<_>>().as_slice()) {
            found.push((launch, why.clone()));
        }
    }
    for line in lines.iter_mut().filter(|line| !line.no_code) {
        let left: Vec<Cell> =
            line.cells.iter().filter(|cell| found.iter().all(|(launch, _)| *launch != cell.launch)).cloned().collect();
        if !left.is_empty() {
            line.cells = left;
        }
    }
    found
}

/// `10.3` of Blackwell: what tells a line apart from other lines of the same architecture.
fn mark(line: &Line, lines: &[Line]) -> Option<String> {
    let others: Vec<&Line> =
        lines.iter().filter(|other| other.architecture == line.architecture && !std::ptr::eq(*other, line)).collect();
    if others.is_empty() {
        return None;
    }
    let capabilities = || line.capabilities.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let classes = || match line.classes.iter().copied().collect::<Vec<_>>() {
        few if few.len() <= FEW => few.join(", "),
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

/// The drivers of most launch methods first, then those of the others.
fn texts(line: &Line) -> Vec<String> {
    if line.no_code {
        return vec!["fails: no native code or PTX".to_owned()];
    }
    let mut alike: Vec<(&str, Vec<&str>)> = Vec::new();
    for cell in &line.cells {
        match alike.iter_mut().find(|(text, _)| *text == cell.text) {
            Some((_, launches)) => launches.push(cell.launch),
            None => alike.push((&cell.text, vec![cell.launch])),
        }
    }
    if let [(text, _)] = alike.as_slice() {
        return vec![(*text).to_owned()];
    }
    alike.into_iter().map(|(text, launches)| format!("{}: {text}", launches.join(", "))).collect()
}
