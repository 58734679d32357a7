//! The report for a person at a terminal: findings as labelled snippets, then the summary.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io;

use miette::Diagnostic;
use miette::GraphicalReportHandler;
use miette::GraphicalTheme;
use miette::LabeledSpan;
use miette::MietteError;
use miette::MietteSpanContents;
use miette::Severity;
use miette::SourceCode;
use miette::SourceSpan;
use miette::SpanContents;

use crate::report::escape::clean;
use crate::report::model::Finding;
use crate::report::model::Fix;
use crate::report::model::InputError;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::open::is_open;
use crate::report::open::open;
use crate::report::snippet::Mark;
use crate::report::snippet::snippet;
use crate::report::summary::summary;
use crate::report::words::count;
use crate::report::words::on_pools;
use crate::report::words::place;
use crate::report::words::title;

/// How to print for a person.
#[derive(Clone, Copy, Debug)]
pub struct HumanOptions {
    /// With colours.
    pub color: bool,
    /// Without line-drawing characters.
    pub ascii: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Also say what is not worth saying.
    pub verbose: bool,
}

/// Writes findings, the matrix of subjects and pools, what is missing, and a closing line.
///
/// `texts` are the sources by path, as far as they are at hand; places in others are named in words.
pub fn human(
    report: &Report,
    texts: &BTreeMap<&str, &str>,
    options: &HumanOptions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    for subject in &report.subjects {
        for finding in subject.findings.iter().filter(|finding| !is_open(finding)) {
            write_telling(&of_finding(finding, subject, texts, options), options, out)?;
        }
    }
    open(report, options, out)?;
    for error in &report.errors {
        write_telling(&of_error(error, texts, options), options, out)?;
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

/// Narrower than this, miette has no room for words beside its lines.
const NARROWEST: usize = 40;

fn write_telling(telling: &Telling, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let theme = match (options.ascii, options.color) {
        (false, true) => GraphicalTheme::unicode(),
        (false, false) => GraphicalTheme::unicode_nocolor(),
        (true, true) => GraphicalTheme::ascii(),
        (true, false) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .without_syntax_highlighting()
        .with_break_words(false)
        .with_width(options.width.max(NARROWEST));
    let mut text = String::new();
    if handler.render_report(&mut text, telling).is_err() {
        text = format!("{}\n\n  {telling}\n", telling.head);
    }
    for line in text.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    for note in &telling.notes {
        writeln!(out, "  note: {note}")?;
    }
    writeln!(out)
}

fn of_finding(finding: &Finding, subject: &Subject, texts: &BTreeMap<&str, &str>, options: &HumanOptions) -> Telling {
    let mut telling = located(&finding.locations, texts, options);
    // Neither the fleet file nor a list says which image it is about.
    if subject.kind == "image"
        || !finding.locations.iter().any(|place| place.kind != "fleet" && place.region.is_some())
        || telling.source.is_none()
    {
        telling.notes.insert(0, format!("in {}", title(subject)));
    }
    telling.head = format!("{}: {}", clean(&finding.severity), clean(&finding.rule));
    telling.severity = match finding.severity.as_str() {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Advice,
    };
    telling.message = clean(&on_pools(finding)).into_owned();
    telling.help = finding.help.as_deref().map(|help| clean(help).into_owned());
    telling.notes.extend(finding.fixes.iter().map(|fix| clean(&fix_line(fix)).into_owned()));
    telling
}

/// A change that cures, in one line.
pub(super) fn fix_line(fix: &Fix) -> String {
    let what = if fix.is_for_failure() {
        "this cures it"
    } else if fix.supposes.is_some() {
        "this may cure it"
    } else if fix.settles.is_empty() {
        "this leaves less open"
    } else {
        "this makes it certain"
    };
    format!("{what}: {}", fix.told())
}

fn of_error(error: &InputError, texts: &BTreeMap<&str, &str>, options: &HumanOptions) -> Telling {
    let mut telling = located(error.location.as_slice(), texts, options);
    telling.head = String::from("error: cannot read");
    telling.severity = Severity::Error;
    telling.message = format!("{}: {}", clean(&error.input), clean(&error.message));
    telling
}

/// So many places of the fleet file are shown with a finding that holds on many pools.
const MOST_RELATED: usize = 3;

/// Snippets for those places whose text is at hand, notes for the others.
fn located(locations: &[Location], texts: &BTreeMap<&str, &str>, options: &HumanOptions) -> Telling {
    let mut files: Vec<(&Location, Vec<Region>, Vec<String>)> = Vec::new();
    let mut notes = Vec::new();
    let mut more = 0;
    for location in locations {
        let label = clean(&location.label).into_owned();
        match location.region.filter(|_| texts.contains_key(location.path.as_str())) {
            None => notes.push(format!("{}: {label}", place(location))),
            Some(region) => match files.iter_mut().find(|(first, ..)| first.path == location.path) {
                Some((_, regions, _)) if MOST_RELATED <= regions.len() && location.kind == "fleet" => more += 1,
                Some((_, regions, labels)) => {
                    regions.push(region);
                    labels.push(label);
                }
                None => files.push((location, vec![region], vec![label])),
            },
        }
    }
    if 0 < more {
        notes.push(format!("{} in the fleet file", count(more, "more place")));
    }
    let mut telling = Telling { notes, ..Telling::default() };
    for (first, regions, labels) in files {
        let text = texts.get(first.path.as_str()).copied().unwrap_or_default();
        let Some(shown) = snippet(text, &regions, if options.ascii { "..." } else { "…" }) else {
            telling.notes.push(format!("{}: {}", place(first), clean(&first.label)));
            continue;
        };
        let source =
            Shown { name: clean(&first.path).into_owned(), text: shown.text, above: shown.above, marks: shown.marks };
        if telling.source.is_none() {
            telling.source = Some(source);
            telling.labels = labels;
        } else {
            let message = labels.first().cloned().unwrap_or_default();
            telling.related.push(Telling { message, source: Some(source), labels, ..Telling::default() });
        }
    }
    telling
}

/// One diagnostic as miette wants it, every text in it clean.
#[derive(Debug)]
struct Telling {
    head: String,
    severity: Severity,
    message: String,
    help: Option<String>,
    source: Option<Shown>,
    labels: Vec<String>,
    related: Vec<Telling>,
    notes: Vec<String>,
}

impl Default for Telling {
    fn default() -> Self {
        Self {
            head: String::new(),
            severity: Severity::Advice,
            message: String::new(),
            help: None,
            source: None,
            labels: Vec::new(),
            related: Vec::new(),
            notes: Vec::new(),
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
        (!self.head.is_empty()).then(|| Box::new(&self.head) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let marks = &self.source.as_ref()?.marks;
        Some(Box::new(self.labels.iter().zip(marks).enumerate().map(|(at, (label, mark))| {
            let span = SourceSpan::from((mark.start, mark.end.saturating_sub(mark.start)));
            let label = Some(label.clone()).filter(|label| !label.is_empty());
            match at {
                0 => LabeledSpan::new_primary_with_span(label, span),
                _ => LabeledSpan::new_with_span(label, span),
            }
        })))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        (!self.related.is_empty()).then(|| {
            Box::new(self.related.iter().map(|telling| telling as &dyn Diagnostic))
                as Box<dyn Iterator<Item = &'a dyn Diagnostic>>
        })
    }
}

/// A snippet under its name, which tells columns of the source and not of the snippet.
#[derive(Debug)]
struct Shown {
    name: String,
    text: String,
    /// Lines of the source above it.
    above: usize,
    marks: Vec<Mark>,
}

impl SourceCode for Shown {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let read = self.text.read_span(span, before, after)?;
        let column = match self.marks.iter().find(|mark| mark.start == span.offset()) {
            Some(mark) if before == 0 => mark.column.saturating_sub(1),
            _ => read.column(),
        };
        // As many lines as were read: what was counted has those in front of them too, and marks that are far
        // apart would be told as one piece.
        let lines = read.data().split(|byte| *byte == b'\n').count().saturating_sub(1);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            read.data(),
            *read.span(),
            read.line() + self.above,
            column,
            lines,
        )))
    }
}
