//! The report as one page for a browser: the matrix, and behind each of its cells the steps that lead to it.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use crate::outcome::Outcome;
use crate::report::closing::Counted;
use crate::report::closing::closing;
use crate::report::closing::images;
use crate::report::docs::page;
use crate::report::escape::visible;
use crate::report::hosts::common;
use crate::report::hosts::groups;
use crate::report::json::Escaping;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::StepStatus;
use crate::report::kinds::VerdictKind;
use crate::report::matrix::image_verdict;
use crate::report::model::Finding;
use crate::report::model::Pool;
use crate::report::model::Report;
use crate::report::model::SETTINGS;
use crate::report::model::Step;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::why::facts;
use crate::report::words::cell;
use crate::report::words::count;
use crate::report::words::explained;
use crate::report::words::place;
use crate::report::words::title;

const PAGE: &str = include_str!("html/page.html");
/// Where the data belongs.
const HOLE: &str = "{{data}}";

/// Stands for the name of the image in texts, so that those of many images are the same; no cleaned text holds it.
const OWN: &str = "\u{1}";

/// Writes the page.
pub fn html(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let (before, after) = PAGE.split_once(HOLE).unwrap_or((PAGE, ""));
    out.write_all(before.as_bytes())?;
    let mut out = out;
    serde_json::to_writer(Inert(Escaping(&mut out)), &data(report)?).map_err(io::Error::from)?;
    out.write_all(after.as_bytes())
}

/// JSON in which nothing ends a script: `<`, `>` and `&` stand in strings alone, and are escapes there.
struct Inert<W>(W);

impl<W: io::Write> io::Write for Inert<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| b"<>&".contains(byte)) {
            match part.split_last() {
                Some((last @ (b'<' | b'>' | b'&'), rest)) => {
                    self.0.write_all(rest)?;
                    write!(self.0, "\\u{last:04x}")?;
                }
                _ => self.0.write_all(part)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What the page draws; what is the same in many places is there once, and numbered.
#[derive(Default, Serialize)]
struct Data {
    summary: String,
    foot: String,
    all: usize,
    pools: Vec<Column>,
    subjects: Vec<Row>,
    errors: Vec<Unread>,
    cells: Vec<Cell>,
    findings: Vec<Card>,
    chains: Vec<Vec<usize>>,
    steps: Vec<Told>,
    texts: Vec<String>,
}

#[derive(Serialize)]
struct Column {
    name: String,
    about: String,
}

#[derive(Serialize)]
struct Row {
    title: String,
    /// What [`OWN`] stands for.
    name: String,
    notes: Vec<String>,
    cells: Vec<Option<usize>>,
    findings: Vec<usize>,
}

#[derive(Serialize)]
struct Unread {
    input: String,
    message: String,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Cell {
    fate: VerdictKind,
    outcome: Option<String>,
    word: String,
    sure: String,
    message: String,
    lines: Vec<usize>,
    chains: Vec<(Vec<usize>, VerdictKind, usize)>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Card {
    rule: String,
    severity: FindingSeverity,
    message: String,
    cause: Option<String>,
    also_unknown: Vec<String>,
    symptom: Option<String>,
    help: Option<String>,
    docs: Option<String>,
    pools: Vec<String>,
    places: Vec<(String, String)>,
    fixes: Vec<Change>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Change {
    safety: String,
    title: String,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Told {
    step: String,
    result: StepStatus,
    text: usize,
    facts: Vec<usize>,
    cite: Option<usize>,
}

/// Things by their number.
struct Numbered<T>(BTreeMap<T, usize>);

impl<T: Ord> Default for Numbered<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Numbered<T> {
    fn number(&mut self, thing: T) -> usize {
        let next = self.0.len();
        *self.0.entry(thing).or_insert(next)
    }

    fn list(self) -> Vec<T> {
        let mut list: Vec<(T, usize)> = self.0.into_iter().collect();
        list.sort_by_key(|(_, number)| *number);
        list.into_iter().map(|(thing, _)| thing).collect()
    }
}

#[derive(Default)]
struct Tables {
    cells: Numbered<Cell>,
    findings: Numbered<Card>,
    chains: Numbered<Vec<usize>>,
    steps: Numbered<Told>,
    texts: Numbered<String>,
}

fn data(report: &Report) -> io::Result<Data> {
    let mut tables = Tables::default();
    let shown: Vec<&Subject> =
        report.subjects.iter().filter(|subject| subject.gpu_content || !subject.findings.is_empty()).collect();
    let subjects: Vec<Row> = shown.iter().map(|subject| tables.row(subject, report)).collect();
    let mut line = Vec::new();
    if shown.is_empty() {
        line.extend(format!("no GPU content in {}", count(images(report), "image")).into_bytes());
    } else {
        let judged: Vec<&Subject> = shown.iter().copied().filter(|subject| subject.kind != SETTINGS).collect();
        closing(report, &judged, Counted::PerImage, &mut line)?;
    }
    let fleet = if report.fleet.built_in { "built-in example pools" } else { report.fleet.source.as_str() };
    let day = report.as_of.as_ref().map(|day| format!(", as of {day}")).unwrap_or_default();
    let (version, knowledge) = (&report.tool.version, &report.tool.knowledge);
    Ok(Data {
        summary: String::from_utf8_lossy(&line).trim_end().to_owned(),
        foot: format!(
            "imagelint {version}, compatibility database of {knowledge}, checked against {}{day}",
            visible(fleet)
        ),
        all: subjects.iter().map(|row| row.findings.len()).sum(),
        pools: report.fleet.pools.iter().map(column).collect(),
        errors: report
            .errors
            .iter()
            .map(|error| Unread { input: visible(&error.input), message: visible(&error.message) })
            .collect(),
        subjects,
        cells: tables.cells.list(),
        findings: tables.findings.list(),
        chains: tables.chains.list(),
        steps: tables.steps.list(),
        texts: tables.texts.list(),
    })
}

fn column(pool: &Pool) -> Column {
    let gpu = if pool.gpu.is_empty() { "GPU not declared".to_owned() } else { pool.gpu.join(" or ") };
    let driver = pool.driver.as_ref().map_or_else(|| "driver not declared".to_owned(), |one| format!("driver {one}"));
    let nodes = pool.nodes.and_then(|nodes| usize::try_from(nodes).ok());
    let nodes = nodes.map(|nodes| format!(", {}", count(nodes, "node"))).unwrap_or_default();
    Column { name: visible(&pool.name), about: visible(&format!("{gpu}, {driver}{nodes}")) }
}

impl Tables {
    fn text(&mut self, text: &str, subject: &Subject) -> usize {
        self.texts.number(shared(text, subject))
    }

    fn row(&mut self, subject: &Subject, report: &Report) -> Row {
        let depth = match (subject.kind.as_str(), subject.inspected.depth.as_str()) {
            ("image", "config") => Some("config only: layers were not read".to_owned()),
            _ => None,
        };
        let notes = depth.into_iter().chain(subject.inspected.notes.iter().map(|note| visible(note)));
        Row {
            title: title(subject),
            name: visible(&subject.name),
            notes: notes.collect(),
            cells: report.fleet.pools.iter().map(|pool| self.cell(subject, pool, report)).collect(),
            findings: subject.findings.iter().map(|finding| self.findings.number(card(finding, subject))).collect(),
        }
    }

    fn cell(&mut self, subject: &Subject, pool: &Pool, report: &Report) -> Option<usize> {
        let verdict = image_verdict(subject, &pool.name)?;
        let mut lines = Vec::new();
        for gap in &verdict.missing {
            lines.push(self.text(&format!("to know: {}", gap.supply), subject));
        }
        for unseen in &verdict.not_seen {
            lines.push(self.text(&format!("not inspected: {unseen}"), subject));
        }
        for note in &verdict.notes {
            lines.push(self.text(&format!("note: {note}"), subject));
        }
        let host = common(&verdict.scenarios);
        if !host.is_empty() {
            lines.push(self.text(&format!("host: {host}"), subject));
        }
        let mut chains = Vec::new();
        for group in groups(&verdict.scenarios) {
            let hosts = group.hosts.iter().map(|host| self.text(host, subject)).collect();
            let steps: Vec<usize> =
                group.first.steps.iter().map(|step| self.step(step, subject, pool, report)).collect();
            chains.push((hosts, group.first.fate, self.chains.number(steps)));
        }
        Some(self.cells.number(Cell {
            fate: verdict.fate,
            outcome: verdict.outcome.as_deref().map(|name| Outcome::rule_of(name).to_owned()),
            word: cell(verdict),
            sure: sure(verdict),
            message: shared(&explained(verdict), subject),
            lines,
            chains,
        }))
    }

    fn step(&mut self, step: &Step, subject: &Subject, pool: &Pool, report: &Report) -> usize {
        let text = self.text(&step.text, subject);
        let told = facts(step, subject, pool, report).iter().map(|fact| self.text(fact, subject)).collect();
        let cite = (!step.cite.is_empty()).then(|| self.text(&step.cite, subject));
        self.steps.number(Told { step: step.step.clone(), result: step.result, text, facts: told, cite })
    }
}

/// How sure it is, with the codes that a program gets.
fn sure(verdict: &Verdict) -> String {
    let codes: Vec<String> = verdict.codes.possible.iter().map(u16::to_string).collect();
    let certain = verdict.codes.certain.map(|code| format!("; CUDA error {code}")).unwrap_or_default();
    let possible =
        if codes.is_empty() { String::new() } else { format!("; possible CUDA errors {}", codes.join(", ")) };
    visible(&format!("{}{certain}{possible}", verdict.confidence))
}

/// The text, with a sign for the image's own name.
fn shared(text: &str, subject: &Subject) -> String {
    let (text, name) = (visible(text), visible(&subject.name));
    if name.is_empty() { text } else { text.replace(&name, OWN) }
}

fn card(finding: &Finding, subject: &Subject) -> Card {
    let visible = |text: &str| shared(text, subject);
    Card {
        rule: visible(&finding.rule),
        severity: finding.severity,
        message: visible(&finding.message),
        cause: finding.cause.as_deref().map(&visible),
        also_unknown: finding.also_unknown.iter().map(|text| visible(text)).collect(),
        symptom: finding.symptom.as_deref().map(&visible),
        help: finding.help.as_deref().map(&visible),
        docs: page(&finding.rule),
        pools: finding.pools.iter().map(|pool| visible(pool)).collect(),
        places: finding
            .locations
            .iter()
            .map(|location| (visible(&place(location)), visible(&location.label)))
            .collect(),
        fixes: finding
            .fixes
            .iter()
            .map(|fix| Change {
                safety: visible(&format!("{}; {}", fix.safety, fix.effects())),
                title: visible(&fix.title),
            })
            .collect(),
    }
}
