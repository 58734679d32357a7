//! The report for a person at a terminal: the verdicts first, then each fault once, then what is unknown.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fmt::Write as _;
use std::io;

use miette::Diagnostic;
use miette::LabeledSpan;
use miette::MietteError;
use miette::MietteSpanContents;
use miette::ReportHandler;
use miette::Severity;
use miette::SourceCode;
use miette::SourceSpan;
use miette::SpanContents;

use crate::report::docs::page;
use crate::report::escape::clean;
use crate::report::frame::Frame;
use crate::report::groups::Group;
use crate::report::groups::groups;
use crate::report::kinds::FindingSeverity;
use crate::report::model::Finding;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::open::causes;
use crate::report::open::is_open;
use crate::report::open::settles_most;
use crate::report::snippet::snippet;
use crate::report::summary::answer;
use crate::report::summary::summary;
use crate::report::words::listed;
use crate::report::words::place;
use crate::report::words::title;
use crate::report::wrap::wrap;

/// How to print for a person.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub struct HumanOptions<'a> {
    /// With colours.
    pub color: bool,
    /// Without characters beyond ASCII.
    pub ascii: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Also say what is not worth saying.
    pub verbose: bool,
    /// Whether fixes were searched.
    pub searched: bool,
    /// The command that is running, `check` or `scan`.
    pub command: &'static str,
    /// What selects its input and its fleet, with a space before each word.
    pub arguments: &'a str,
}

/// Writes the matrix, each fault, what is unknown, and a closing line with the next commands.
///
/// `texts` are the sources by path, as far as they are at hand; places in others are named in words.
pub fn human(
    report: &Report,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    answer(report, options, out)?;
    for group in groups(report) {
        draw(&of_group(&group, report, texts, options), options, out)?;
    }
    for error in &report.errors {
        draw(&of_error(error, texts, options), options, out)?;
    }
    let causes = causes(report);
    for cause in &causes {
        draw(&of_group(cause, report, texts, options), options, out)?;
    }
    if let Some(line) = settles_most(&causes) {
        writeln!(out, "{}\n", wrap(&line, 0, 2, options.width))?;
    }
    summary(report, options, out)
}

/// A subject with no more than [`human`] reads of it, for those who hold many until it is written: neither the verdicts
/// on components nor what would settle a verdict, which findings tell.
#[must_use]
pub fn needed(mut subject: Subject) -> Subject {
    subject.verdicts.retain(|verdict| verdict.component.is_none());
    subject.verdicts.shrink_to_fit();
    for verdict in &mut subject.verdicts {
        (verdict.missing, verdict.scenarios) = (Vec::new(), Vec::new());
    }
    subject
}

/// Narrower than this, a frame has no room for words.
const NARROWEST: usize = 40;

/// A diagnostic as a handler of miette draws it.
struct Drawn<'a>(Frame, &'a Telling);

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ReportHandler::debug(&self.0, self.1, f)
    }
}

fn draw(telling: &Telling, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let frame = Frame { color: options.color, width: options.width.max(NARROWEST) };
    writeln!(out, "{}", Drawn(frame, telling))
}

/// So many images are named with a fault that they share.
const IMAGES: usize = 3;
/// So many places are named after the frame.
const PLACES: usize = 4;

fn of_group(group: &Group<'_>, report: &Report, texts: &BTreeMap<&str, &str>, options: &HumanOptions<'_>) -> Telling {
    let (finding, subject) = (group.first.as_ref(), group.subject);
    let mut telling = located(finding, texts, options);
    telling.code = Some(clean(&finding.rule).into_owned());
    telling.severity = match finding.severity {
        FindingSeverity::Error => Severity::Error,
        FindingSeverity::Warning => Severity::Warning,
        FindingSeverity::Note => Severity::Advice,
    };
    telling.message = clean(&finding.message).into_owned();
    // An image that shares a cause on other pools names them itself.
    let each = is_open(finding) && group.images.len() > 1;
    let pools = if each { Vec::new() } else { of_fleet(finding) };
    if !each && pools.is_empty() && !finding.pools.is_empty() && report.fleet.pools.len() > 1 {
        let pools: Vec<String> = finding.pools.iter().map(|pool| clean(pool).into_owned()).collect();
        let told =
            if pools.len() == report.fleet.pools.len() { format!("all {}", pools.len()) } else { pools.join(", ") };
        telling.line("pools", told);
    }
    telling.related.extend(pools.into_iter().map(|text| Line { key: None, text }));
    // Neither the fleet file nor a list names the image.
    let unnamed = subject.kind == "image"
        || !finding.locations.iter().any(|place| place.kind != "fleet" && place.region.is_some())
        || (telling.source.is_none() && !finding.locations.iter().any(|place| place.path == subject.name));
    match group.images.as_slice() {
        [_] if unnamed => telling.related.insert(0, Line { key: None, text: title(subject) }),
        [_] | [] => {}
        images => {
            let between = if each { "; " } else { ", " };
            telling.line("images", format!("{}: {}", images.len(), listed(images, IMAGES, between)));
        }
    }
    if let Some(cause) = &finding.cause {
        telling.line("cause", clean(cause).into_owned());
    }
    if let Some(symptom) = &finding.symptom {
        telling.line("you will see", clean(symptom).into_owned());
    }
    for fix in &group.fixes {
        telling.line("fix", clean(fix).into_owned());
    }
    if let Some(help) = finding.help.as_ref().filter(|_| group.fixes.is_empty()) {
        telling.line("help", clean(help).into_owned());
    }
    for other in &finding.also_unknown {
        telling.line("also unknown", clean(other).into_owned());
    }
    telling.url = page(&finding.rule);
    telling
}

fn of_error(error: &InputError, texts: &BTreeMap<&str, &str>, options: &HumanOptions<'_>) -> Telling {
    let place = Finding { locations: error.location.iter().cloned().collect(), ..Finding::default() };
    let mut telling = located(&place, texts, options);
    telling.severity = Severity::Error;
    telling.message = format!("cannot read {}: {}", clean(&error.input), clean(&error.message));
    telling
}

/// The lines of the fleet file that a finding depends on, those of its first pool only, then how many pools follow.
fn of_fleet(finding: &Finding) -> Vec<String> {
    let fleet = || finding.locations.iter().filter(|place| place.kind == "fleet");
    let first = finding.pools.first();
    let names = |place: &&Location| {
        first.is_some_and(|pool| {
            place.label.contains(&format!("pool {pool}:")) || place.label.contains(&format!("`{pool}`"))
        })
    };
    let mut own: Vec<&Location> = fleet().filter(names).collect();
    if own.is_empty() {
        own = fleet().take(if finding.pools.len() > 1 { 1 } else { PLACES }).collect();
    }
    let at = |place: &Location| match place.region {
        Some(region) => format!("{}:{}", clean(&place.path), region.start_line),
        None => clean(&place.path).into_owned(),
    };
    let mut lines: Vec<String> = own.iter().map(|place| format!("{}  {}", at(place), clean(&place.label))).collect();
    let more: Vec<String> = finding.pools.iter().skip(1).map(|pool| clean(pool).into_owned()).collect();
    if let (Some(last), false) = (lines.last_mut(), more.is_empty()) {
        let noun = if more.len() == 1 { "pool" } else { "pools" };
        let _ = write!(last, ", and {} more {noun}: {}", more.len(), listed(&more, PLACES, ", "));
    }
    lines
}

/// A frame for the first place whose text is at hand, and a line for each other place outside the fleet file.
fn located(finding: &Finding, texts: &BTreeMap<&str, &str>, options: &HumanOptions<'_>) -> Telling {
    let mut telling = Telling::default();
    let (mut more, mut last) = (Vec::new(), String::new());
    for location in finding.locations.iter().filter(|place| place.kind != "fleet" || finding.pools.is_empty()) {
        let label = clean(&location.label).into_owned();
        let shown = (telling.source.is_none() && more.is_empty())
            .then(|| location.region.and_then(|region| shown(location, region, texts, options)))
            .flatten();
        match shown {
            Some(shown) => {
                telling.label = if shown.is_marked(&label) { String::new() } else { label };
                telling.source = Some(shown);
            }
            // A label is printed once; other places with it show their text.
            None if location.label == last => {
                more.push(format!("{}  {}", place(location), marked(location, texts)).trim_end().to_owned());
            }
            None => more.push(format!("{}  {label}", place(location)).trim_end().to_owned()),
        }
        last.clone_from(&location.label);
    }
    let left = more.len().saturating_sub(PLACES);
    more.truncate(PLACES);
    if let (Some(last), 1..) = (more.last_mut(), left) {
        let _ = write!(last, ", and {left} more");
    }
    telling.related = more.into_iter().map(|text| Line { key: None, text }).collect();
    telling
}

/// The longest text of a place that is printed in the place of its label.
const MARKED: usize = 60;

/// The text at a place, in one line; empty if it is not at hand.
fn marked(location: &Location, texts: &BTreeMap<&str, &str>) -> String {
    let region = location.region.as_ref();
    let text = region.zip(texts.get(location.path.as_str())).and_then(|(region, text)| {
        let line = text.get(region.start_byte..region.end_byte)?.lines().next()?.trim();
        Some(line.chars().take(MARKED).collect::<String>())
    });
    text.map_or_else(String::new, |text| format!("`{}`", clean(&text)))
}

/// Columns that a frame takes for the number of a line.
const GUTTER: usize = 8;

fn shown(
    location: &Location,
    region: Region,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions<'_>,
) -> Option<Shown> {
    let text = texts.get(location.path.as_str())?;
    let room = options.width.max(NARROWEST).saturating_sub(GUTTER);
    let cut = snippet(text, &[region], if options.ascii { "..." } else { "…" }, room)?;
    let mark = *cut.marks.first()?;
    let begin = cut.text.get(..mark.start)?.rfind('\n').map_or(0, |end| end + 1);
    let end = cut.text.get(mark.end..)?.find('\n').map_or(cut.text.len(), |more| mark.end + more);
    let line = cut.above + cut.text.get(..begin)?.matches('\n').count();
    let name = clean(&location.path).into_owned();
    let (start, length) = (mark.start, mark.end.saturating_sub(mark.start));
    Some(Shown { name, text: cut.text, lines: (begin, end), line, column: mark.column, start, length })
}

/// One diagnostic as miette wants it, every text in it clean.
#[derive(Debug)]
struct Telling {
    code: Option<String>,
    severity: Severity,
    message: String,
    source: Option<Shown>,
    label: String,
    related: Vec<Line>,
    url: Option<String>,
}

/// A line after the frame: a fact with its key, or another place.
#[derive(Debug)]
struct Line {
    key: Option<&'static str>,
    text: String,
}

impl Telling {
    fn line(&mut self, key: &'static str, text: String) {
        self.related.push(Line { key: Some(key), text });
    }
}

impl Default for Telling {
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

impl fmt::Display for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Telling {}

impl Diagnostic for Telling {
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

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Line {}

impl Diagnostic for Line {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.key.map(|key| Box::new(key) as Box<dyn fmt::Display>)
    }
}

/// The marked lines of a source, with their place in it.
#[derive(Debug)]
struct Shown {
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

impl Shown {
    /// Whether a label only repeats the marked text.
    fn is_marked(&self, label: &str) -> bool {
        let marked = self.text.get(self.start..self.start + self.length).unwrap_or_default();
        marked == label || marked.replacen("==", " ", 1) == label
    }
}

impl SourceCode for Shown {
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
