//! The report as an HTML page: the table of verdicts, and behind each of its cells the steps of the simulated start.

use std::collections::BTreeMap;
use std::io;

use serde::{Serialize, Serializer};

use crate::model::fact::InspectionDepth;
use crate::model::outcome::Outcome;
use crate::replay::StartStep;
use crate::report::documentation_urls::rule_page_url;
use crate::report::escape::escape_multiline;
use crate::report::json::EscapingWriter;
use crate::report::kinds::{FindingSeverity, StepStatus, SubjectKind, VerdictKind};
use crate::report::model::{Finding, Pool, Report, Step, Subject, Verdict};
use crate::report::phrases::{location_label, pluralize, subject_title, verdict_explanation, verdict_phrase};
use crate::report::result_line::{FindingCounting, image_count, write_result_line};
use crate::report::scenario_groups::{common_properties, group_scenarios};
use crate::report::verdict_table::image_verdict;
use crate::report::why::fact_lines;

/// The page without its data.
const PAGE_TEMPLATE: &str = include_str!("html/page.html");
/// Placeholder of the data in the page.
const DATA_PLACEHOLDER: &str = "{{data}}";

/// Stands for the image name in texts, so that texts of many images are equal; no escaped text contains it.
const IMAGE_NAME_PLACEHOLDER: &str = "\u{1}";

/// Writes the page.
pub fn write_html(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let (before, after) = PAGE_TEMPLATE.split_once(DATA_PLACEHOLDER).unwrap_or((PAGE_TEMPLATE, ""));
    out.write_all(before.as_bytes())?;
    let mut out = out;
    serde_json::to_writer(ScriptSafeWriter(EscapingWriter(&mut out)), &page_data(report)?).map_err(io::Error::from)?;
    out.write_all(after.as_bytes())
}

/// Writes JSON that cannot end a script element: `<`, `>` and `&`, which occur only in strings, become escapes.
struct ScriptSafeWriter<W>(W);

impl<W: io::Write> io::Write for ScriptSafeWriter<W> {
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

/// The data of the page; equal values are stored once and referred to by number.
#[derive(Default, Serialize)]
struct HtmlReport {
    summary: String,
    foot: String,
    all: usize,
    pools: Vec<PoolColumn>,
    subjects: Vec<SubjectRow>,
    errors: Vec<UnreadableInput>,
    cells: Vec<VerdictCell>,
    findings: Vec<FindingCard>,
    chains: Vec<Vec<usize>>,
    steps: Vec<StepCard>,
    texts: Vec<String>,
}

/// The column of a pool.
#[derive(Serialize)]
struct PoolColumn {
    name: String,
    about: String,
}

/// The row of a subject.
#[derive(Serialize)]
struct SubjectRow {
    title: String,
    /// What [`OWN`] stands for.
    name: String,
    notes: Vec<String>,
    cells: Vec<Option<usize>>,
    findings: Vec<usize>,
}

/// An input that could not be read.
#[derive(Serialize)]
struct UnreadableInput {
    input: String,
    message: String,
}

/// The verdict of an image on a pool.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct VerdictCell {
    fate: VerdictKind,
    outcome: Option<RuleOfOutcome>,
    word: String,
    sure: String,
    message: String,
    lines: Vec<usize>,
    chains: Vec<(Vec<usize>, VerdictKind, usize)>,
}

/// An outcome, which the page calls by the name of its rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RuleOfOutcome(Outcome);

impl Serialize for RuleOfOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.rule_name())
    }
}

/// A finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FindingCard {
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
    fixes: Vec<FixCard>,
}

/// A fix of a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FixCard {
    #[serde(rename = "safety")]
    effects: String,
    title: String,
}

/// A step of a simulated start.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct StepCard {
    step: StartStep,
    result: StepStatus,
    text: usize,
    facts: Vec<usize>,
    cite: Option<usize>,
}

/// Distinct values, numbered in the order in which they were added.
struct NumberedValues<T>(BTreeMap<T, usize>);

impl<T: Ord> Default for NumberedValues<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> NumberedValues<T> {
    /// Returns the number of a value, and adds the value if it is new.
    fn number_of(&mut self, thing: T) -> usize {
        let next = self.0.len();
        *self.0.entry(thing).or_insert(next)
    }

    /// Returns the values in the order of their numbers.
    fn into_list(self) -> Vec<T> {
        let mut list: Vec<(T, usize)> = self.0.into_iter().collect();
        list.sort_by_key(|(_, number)| *number);
        list.into_iter().map(|(thing, _)| thing).collect()
    }
}

/// The values of the page that are stored once.
#[derive(Default)]
struct PageTables {
    cells: NumberedValues<VerdictCell>,
    findings: NumberedValues<FindingCard>,
    chains: NumberedValues<Vec<usize>>,
    steps: NumberedValues<StepCard>,
    texts: NumberedValues<String>,
}

/// Returns the data of the page.
fn page_data(report: &Report) -> io::Result<HtmlReport> {
    let mut tables = PageTables::default();
    let shown: Vec<&Subject> =
        report.subjects.iter().filter(|subject| subject.gpu_content || !subject.findings.is_empty()).collect();
    let subjects: Vec<SubjectRow> = shown.iter().map(|subject| tables.subject_row(subject, report)).collect();
    let mut line = Vec::new();
    if shown.is_empty() {
        line.extend(format!("no GPU content in {}", pluralize(image_count(report), "image")).into_bytes());
    } else {
        let judged: Vec<&Subject> =
            shown.iter().copied().filter(|subject| subject.kind != SubjectKind::Settings).collect();
        write_result_line(report, &judged, FindingCounting::PerImage, &mut line)?;
    }
    let fleet = if report.fleet.built_in { "built-in example pools" } else { report.fleet.source.as_str() };
    let day = report.as_of.as_ref().map(|day| format!(", as of {day}")).unwrap_or_default();
    let (version, knowledge) = (&report.tool.version, &report.tool.knowledge);
    Ok(HtmlReport {
        summary: String::from_utf8_lossy(&line).trim_end().to_owned(),
        foot: format!(
            "imagelint {version}, compatibility database of {knowledge}, checked against {}{day}",
            escape_multiline(fleet)
        ),
        all: subjects.iter().map(|row| row.findings.len()).sum(),
        pools: report.fleet.pools.iter().map(pool_column).collect(),
        errors: report
            .errors
            .iter()
            .map(|error| UnreadableInput {
                input: escape_multiline(&error.input),
                message: escape_multiline(&error.message),
            })
            .collect(),
        subjects,
        cells: tables.cells.into_list(),
        findings: tables.findings.into_list(),
        chains: tables.chains.into_list(),
        steps: tables.steps.into_list(),
        texts: tables.texts.into_list(),
    })
}

/// Returns the column of a pool.
fn pool_column(pool: &Pool) -> PoolColumn {
    let gpu = if pool.gpu.is_empty() { "GPU not declared".to_owned() } else { pool.gpu.join(" or ") };
    let driver = pool.driver.as_ref().map_or_else(|| "driver not declared".to_owned(), |one| format!("driver {one}"));
    let nodes = pool.nodes.and_then(|nodes| usize::try_from(nodes).ok());
    let nodes = nodes.map(|nodes| format!(", {}", pluralize(nodes, "node"))).unwrap_or_default();
    PoolColumn { name: escape_multiline(&pool.name), about: escape_multiline(&format!("{gpu}, {driver}{nodes}")) }
}

impl PageTables {
    /// Returns the number of a text, in which a placeholder stands for the image name.
    fn add_text(&mut self, text: &str, subject: &Subject) -> usize {
        self.texts.number_of(replace_image_name(text, subject))
    }

    /// Returns the row of a subject.
    fn subject_row(&mut self, subject: &Subject, report: &Report) -> SubjectRow {
        let depth = match (subject.kind, subject.inspected.depth) {
            (SubjectKind::Image, InspectionDepth::Config) => Some("config only: layers were not read".to_owned()),
            _ => None,
        };
        let notes = depth.into_iter().chain(subject.inspected.notes.iter().map(|note| escape_multiline(note.line())));
        SubjectRow {
            title: subject_title(subject),
            name: escape_multiline(&subject.name),
            notes: notes.collect(),
            cells: report.fleet.pools.iter().map(|pool| self.add_cell(subject, pool, report)).collect(),
            findings: subject
                .findings
                .iter()
                .map(|finding| self.findings.number_of(finding_card(finding, subject)))
                .collect(),
        }
    }

    /// Returns the number of the cell of a subject and a pool; `None` if there is no verdict.
    fn add_cell(&mut self, subject: &Subject, pool: &Pool, report: &Report) -> Option<usize> {
        let verdict = image_verdict(subject, &pool.name)?;
        let mut lines = Vec::new();
        for gap in &verdict.missing {
            lines.push(self.add_text(&format!("to know: {}", gap.supply), subject));
        }
        for uninspected in &verdict.not_seen {
            lines.push(self.add_text(&format!("not inspected: {uninspected}"), subject));
        }
        for note in &verdict.notes {
            lines.push(self.add_text(&format!("note: {note}"), subject));
        }
        let host = common_properties(&verdict.scenarios);
        if !host.is_empty() {
            lines.push(self.add_text(&format!("host: {host}"), subject));
        }
        let mut chains = Vec::new();
        for group in group_scenarios(&verdict.scenarios) {
            let hosts = group.hosts.iter().map(|host| self.add_text(host, subject)).collect();
            let steps: Vec<usize> =
                group.first.steps.iter().map(|step| self.add_step(step, subject, pool, report)).collect();
            chains.push((hosts, group.first.fate, self.chains.number_of(steps)));
        }
        Some(self.cells.number_of(VerdictCell {
            fate: verdict.fate,
            outcome: verdict.outcome.map(RuleOfOutcome),
            word: verdict_phrase(verdict),
            sure: confidence_text(verdict),
            message: replace_image_name(&verdict_explanation(verdict), subject),
            lines,
            chains,
        }))
    }

    /// Returns the number of a step.
    fn add_step(&mut self, step: &Step, subject: &Subject, pool: &Pool, report: &Report) -> usize {
        let text = self.add_text(&step.text, subject);
        let fact_texts =
            fact_lines(step, subject, pool, report).iter().map(|fact| self.add_text(fact, subject)).collect();
        let cite = (!step.cite.is_empty()).then(|| self.add_text(&step.cite, subject));
        self.steps.number_of(StepCard { step: step.step, result: step.result, text, facts: fact_texts, cite })
    }
}

/// Returns the confidence of a verdict, with the CUDA errors that a program gets.
fn confidence_text(verdict: &Verdict) -> String {
    let codes: Vec<String> = verdict.codes.possible.iter().map(u16::to_string).collect();
    let certain = verdict.codes.certain.map(|code| format!("; CUDA error {code}")).unwrap_or_default();
    let possible =
        if codes.is_empty() { String::new() } else { format!("; possible CUDA errors {}", codes.join(", ")) };
    escape_multiline(&format!("{}{certain}{possible}", verdict.confidence))
}

/// Returns the escaped text with a placeholder in place of the image name.
fn replace_image_name(text: &str, subject: &Subject) -> String {
    let (text, name) = (escape_multiline(text), escape_multiline(&subject.name));
    if name.is_empty() { text } else { text.replace(&name, IMAGE_NAME_PLACEHOLDER) }
}

/// Returns the card of a finding.
fn finding_card(finding: &Finding, subject: &Subject) -> FindingCard {
    let visible = |text: &str| replace_image_name(text, subject);
    FindingCard {
        rule: visible(&finding.rule),
        severity: finding.severity,
        message: visible(&finding.message),
        cause: finding.cause.as_deref().map(&visible),
        also_unknown: finding.also_unknown.iter().map(|text| visible(text)).collect(),
        symptom: finding.symptom.as_deref().map(&visible),
        help: finding.help.as_deref().map(&visible),
        docs: rule_page_url(&finding.rule),
        pools: finding.pools.iter().map(|pool| visible(pool)).collect(),
        places: finding
            .locations
            .iter()
            .map(|location| (visible(&location_label(location)), visible(&location.label)))
            .collect(),
        fixes: finding
            .fixes
            .iter()
            .map(|fix| FixCard {
                effects: visible(&format!("{}; {}", fix.safety, fix.effects())),
                title: visible(&fix.title),
            })
            .collect(),
    }
}
