//! The report for a terminal: the verdicts first, then each fault once, then what is unknown.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::{fmt, io};

use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, ReportHandler, Severity, SourceCode, SourceSpan,
    SpanContents,
};

use crate::report::diagnostic_renderer::DiagnosticRenderer;
use crate::report::documentation_urls::rule_page_url;
use crate::report::escape::escape_one_line;
use crate::report::finding_groups::{
    FindingGroup, group_findings, group_unknown_verdicts, is_about_unknown_verdict, lock_hint,
};
use crate::report::human_options::HumanOptions;
use crate::report::kinds::{FindingSeverity, LocationKind, SubjectKind};
use crate::report::model::{Finding, InputError, Location, Region, Report, Subject};
use crate::report::phrases::{join_first, location_label, subject_title};
use crate::report::snippet::cut_snippet;
use crate::report::summary::{write_summary, write_verdicts};
use crate::report::wrap::wrap;

/// Writes the table of verdicts, each fault, what is unknown, and the result line with suggested commands.
///
/// `texts` are the sources by path, as far as they are at hand; places in others are named in words.
pub fn write_human(
    report: &Report,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write_verdicts(report, options, out)?;
    for group in group_findings(report) {
        write_diagnostic(&group_diagnostic(&group, report, texts, options), options, out)?;
    }
    for error in &report.errors {
        write_diagnostic(&error_diagnostic(error, texts, options), options, out)?;
    }
    let causes = group_unknown_verdicts(report);
    for cause in &causes {
        write_diagnostic(&group_diagnostic(cause, report, texts, options), options, out)?;
    }
    if let Some(line) = lock_hint(&causes) {
        writeln!(out, "{}\n", wrap(&line, 0, 2, options.width))?;
    }
    write_summary(report, options, out)
}

/// Removes from a subject what `write_human` does not read, to save memory: verdicts on components, explanations,
/// missing values and scenarios.
#[must_use]
pub fn strip_for_human(mut subject: Subject) -> Subject {
    subject.verdicts.retain(|verdict| verdict.component.is_none());
    subject.verdicts.shrink_to_fit();
    for verdict in &mut subject.verdicts {
        (verdict.explanation, verdict.missing, verdict.scenarios) = (None, Vec::new(), Vec::new());
    }
    subject
}

/// Minimum width of a frame, in columns.
const MIN_WIDTH: usize = 40;

/// A diagnostic with its renderer, for display.
struct RenderedDiagnostic<'a>(DiagnosticRenderer, &'a FindingDiagnostic);

impl fmt::Display for RenderedDiagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ReportHandler::debug(&self.0, self.1, f)
    }
}

/// Writes a diagnostic and an empty line.
fn write_diagnostic(
    telling: &FindingDiagnostic,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let frame = DiagnosticRenderer { color: options.color, width: options.width.max(MIN_WIDTH) };
    writeln!(out, "{}", RenderedDiagnostic(frame, telling))
}

/// Maximum number of images that are named with a shared fault.
const MAX_IMAGES: usize = 3;
/// Maximum number of locations listed after the frame.
const MAX_LOCATIONS: usize = 4;

/// Returns the diagnostic of a fault.
fn group_diagnostic(
    group: &FindingGroup<'_>,
    report: &Report,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
) -> FindingDiagnostic {
    let (finding, subject) = (group.first.as_ref(), group.subject);
    let mut telling = locations_diagnostic(finding, texts, options);
    telling.code = Some(escape_one_line(&finding.rule).into_owned());
    telling.severity = match finding.severity {
        FindingSeverity::Error => Severity::Error,
        FindingSeverity::Warning => Severity::Warning,
        FindingSeverity::Note => Severity::Advice,
    };
    telling.message = escape_one_line(&finding.message).into_owned();
    // An image that shares a cause on other pools names them itself.
    let each = is_about_unknown_verdict(finding) && group.images.len() > 1;
    let pools = if each { Vec::new() } else { fleet_lines(finding) };
    if !each && pools.is_empty() && !finding.pools.is_empty() && report.fleet.pools.len() > 1 {
        let pools: Vec<String> = finding.pools.iter().map(|pool| escape_one_line(pool).into_owned()).collect();
        let pool_names =
            if pools.len() == report.fleet.pools.len() { format!("all {}", pools.len()) } else { pools.join(", ") };
        telling.add_fact("pools", pool_names);
    }
    telling.related.extend(pools.into_iter().map(|text| RelatedLine { key: None, text }));
    // Neither the fleet file nor a list names the image.
    let unnamed = subject.kind == SubjectKind::Image
        || !finding.locations.iter().any(|place| place.kind != LocationKind::Fleet && place.region.is_some())
        || (telling.source.is_none() && !finding.locations.iter().any(|place| place.path == subject.name));
    match group.images.as_slice() {
        [_] if unnamed => telling.related.insert(0, RelatedLine { key: None, text: subject_title(subject) }),
        [_] | [] => {}
        images => {
            let between = if each { "; " } else { ", " };
            telling.add_fact("images", format!("{}: {}", images.len(), join_first(images, MAX_IMAGES, between)));
        }
    }
    if let Some(cause) = &finding.cause {
        telling.add_fact("cause", escape_one_line(cause).into_owned());
    }
    if let Some(symptom) = &finding.symptom {
        telling.add_fact("you will see", escape_one_line(symptom).into_owned());
    }
    for fix in &group.fixes {
        telling.add_fact("fix", escape_one_line(fix).into_owned());
    }
    if let Some(help) = finding.help.as_ref().filter(|_| group.fixes.is_empty()) {
        telling.add_fact("help", escape_one_line(help).into_owned());
    }
    for other in &finding.also_unknown {
        telling.add_fact("also unknown", escape_one_line(other).into_owned());
    }
    telling.url = rule_page_url(&finding.rule);
    telling
}

/// Returns the diagnostic of an input that could not be read.
fn error_diagnostic(error: &InputError, texts: &BTreeMap<&str, &str>, options: &HumanOptions<'_>) -> FindingDiagnostic {
    let place = Finding { locations: error.location.iter().cloned().collect(), ..Finding::default() };
    let mut telling = locations_diagnostic(&place, texts, options);
    telling.severity = Severity::Error;
    telling.message = format!("cannot read {}: {}", escape_one_line(&error.input), escape_one_line(&error.message));
    telling
}

/// Returns the lines of the fleet file that a finding depends on, only those of its first pool, then the names of
/// further pools.
fn fleet_lines(finding: &Finding) -> Vec<String> {
    let fleet = || finding.locations.iter().filter(|place| place.kind == LocationKind::Fleet);
    let first = finding.pools.first();
    let names = |place: &&Location| {
        first.is_some_and(|pool| {
            place.label.contains(&format!("pool {pool}:")) || place.label.contains(&format!("`{pool}`"))
        })
    };
    let mut own: Vec<&Location> = fleet().filter(names).collect();
    if own.is_empty() {
        own = fleet().take(if finding.pools.len() > 1 { 1 } else { MAX_LOCATIONS }).collect();
    }
    let at = |place: &Location| match place.region {
        Some(region) => format!("{}:{}", escape_one_line(&place.path), region.start_line),
        None => escape_one_line(&place.path).into_owned(),
    };
    let mut lines: Vec<String> =
        own.iter().map(|place| format!("{}  {}", at(place), escape_one_line(&place.label))).collect();
    let more: Vec<String> = finding.pools.iter().skip(1).map(|pool| escape_one_line(pool).into_owned()).collect();
    if let (Some(last), false) = (lines.last_mut(), more.is_empty()) {
        let noun = if more.len() == 1 { "pool" } else { "pools" };
        let _ = write!(last, ", and {} more {noun}: {}", more.len(), join_first(&more, MAX_LOCATIONS, ", "));
    }
    lines
}

/// Returns a diagnostic with a frame at the first location whose text is known, and a line for each other location
/// outside the fleet file.
fn locations_diagnostic(
    finding: &Finding,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
) -> FindingDiagnostic {
    let mut telling = FindingDiagnostic::default();
    let (mut more, mut last) = (Vec::new(), String::new());
    for location in
        finding.locations.iter().filter(|place| place.kind != LocationKind::Fleet || finding.pools.is_empty())
    {
        let label = escape_one_line(&location.label).into_owned();
        let shown = (telling.source.is_none() && more.is_empty())
            .then(|| location.region.and_then(|region| marked_source(location, region, texts, options)))
            .flatten();
        match shown {
            Some(shown) => {
                telling.label = if shown.is_marked_text(&label) { String::new() } else { label };
                telling.source = Some(shown);
            }
            // A label is printed once; other places with it show their text.
            None if location.label == last => {
                more.push(
                    format!("{}  {}", location_label(location), marked_text(location, texts)).trim_end().to_owned(),
                );
            }
            None => more.push(format!("{}  {label}", location_label(location)).trim_end().to_owned()),
        }
        last.clone_from(&location.label);
    }
    let left = more.len().saturating_sub(MAX_LOCATIONS);
    more.truncate(MAX_LOCATIONS);
    if let (Some(last), 1..) = (more.last_mut(), left) {
        let _ = write!(last, ", and {left} more");
    }
    telling.related = more.into_iter().map(|text| RelatedLine { key: None, text }).collect();
    telling
}

/// Maximum number of characters of source text that is quoted to show a location.
const MAX_QUOTED_LENGTH: usize = 60;

/// Returns the text at a location, on one line; empty if it is unknown.
fn marked_text(location: &Location, texts: &BTreeMap<&str, &str>) -> String {
    let region = location.region.as_ref();
    let text = region.zip(texts.get(location.path.as_str())).and_then(|(region, text)| {
        let line = text.get(region.start_byte..region.end_byte)?.lines().next()?.trim();
        Some(line.chars().take(MAX_QUOTED_LENGTH).collect::<String>())
    });
    text.map_or_else(String::new, |text| format!("`{}`", escape_one_line(&text)))
}

/// Columns that a frame uses for line numbers.
const GUTTER_WIDTH: usize = 8;

/// Returns the marked lines of a location; `None` if its text is unknown.
fn marked_source(
    location: &Location,
    region: Region,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
) -> Option<MarkedSource> {
    let text = texts.get(location.path.as_str())?;
    let room = options.width.max(MIN_WIDTH).saturating_sub(GUTTER_WIDTH);
    let cut = cut_snippet(text, &[region], if options.ascii { "..." } else { "…" }, room)?;
    let mark = *cut.marks.first()?;
    let begin = cut.text.get(..mark.start)?.rfind('\n').map_or(0, |end| end + 1);
    let end = cut.text.get(mark.end..)?.find('\n').map_or(cut.text.len(), |more| mark.end + more);
    let line = cut.above + cut.text.get(..begin)?.matches('\n').count();
    let name = escape_one_line(&location.path).into_owned();
    let (start, length) = (mark.start, mark.end.saturating_sub(mark.start));
    Some(MarkedSource { name, text: cut.text, lines: (begin, end), line, column: mark.column, start, length })
}

/// A diagnostic in the form that miette expects, with every text escaped.
#[derive(Debug)]
struct FindingDiagnostic {
    code: Option<String>,
    severity: Severity,
    message: String,
    source: Option<MarkedSource>,
    label: String,
    related: Vec<RelatedLine>,
    url: Option<String>,
}

/// A line after the frame: a fact with its key, or another location.
#[derive(Debug)]
struct RelatedLine {
    key: Option<&'static str>,
    text: String,
}

impl FindingDiagnostic {
    /// Adds a fact with its key.
    fn add_fact(&mut self, key: &'static str, text: String) {
        self.related.push(RelatedLine { key: Some(key), text });
    }
}

impl Default for FindingDiagnostic {
    fn default() -> Self {
        Self {
            code: None,
            severity: Severity::Advice,
            message: String::new(),
            source: None,
            label: String::new(),
            related: Vec::new(),
            url: None,
        }
    }
}

impl fmt::Display for FindingDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for FindingDiagnostic {}

impl Diagnostic for FindingDiagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.code.as_ref().map(|code| Box::new(code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.url.as_ref().map(|url| Box::new(url) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let source = self.source.as_ref()?;
        let span = SourceSpan::from((source.start, source.length));
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(Some(self.label.clone()), span))))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.related.iter().map(|line| line as &dyn Diagnostic)))
    }
}

impl fmt::Display for RelatedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for RelatedLine {}

impl Diagnostic for RelatedLine {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.key.map(|key| Box::new(key) as Box<dyn fmt::Display>)
    }
}

/// The marked lines of a source, and their position in it.
#[derive(Debug)]
struct MarkedSource {
    name: String,
    text: String,
    /// The bytes of the lines in the text.
    lines: (usize, usize),
    /// Lines of the source above them.
    line: usize,
    /// Column of the mark in the source, from 1.
    column: usize,
    start: usize,
    length: usize,
}

impl MarkedSource {
    /// Whether a label only repeats the marked text.
    fn is_marked_text(&self, label: &str) -> bool {
        let marked = self.text.get(self.start..self.start + self.length).unwrap_or_default();
        marked == label || marked.replacen("==", " ", 1) == label
    }
}

impl SourceCode for MarkedSource {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        _: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (begin, end) = self.lines;
        let data = self.text.get(begin..end).ok_or(MietteError::OutOfBounds)?;
        let span = SourceSpan::from((begin, end - begin));
        let lines = data.matches('\n').count() + 1;
        let column = self.column.saturating_sub(1);
        let name = self.name.clone();
        Ok(Box::new(MietteSpanContents::new_named(name, data.as_bytes(), span, self.line, column, lines)))
    }
}
