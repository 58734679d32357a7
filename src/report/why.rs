//! The output of `--why`: hosts and steps behind every verdict, the facts that decided them, and the origins of these
//! facts.

use std::io;

use crate::report::checked_files::unread_suffix;
use crate::report::escape::{escape_one_line, shorten};
use crate::report::kinds::{FactState, StepStatus};
use crate::report::model::{Fact, Fleet, Location, Pool, Report, Step, Subject, Verdict};
use crate::report::phrases::{
    NO_FLEET, component_label, location_label, subject_title, verdict_kind_label, verdict_phrase,
};
use crate::report::scenario_groups::{common_properties, group_scenarios};
use crate::report::terminal_colors::{Tone, paint, verdict_kind_tone};
use crate::report::why_brief::{fact_text, write_brief};

/// Value of `--why` that prints every step of every verdict.
pub const FULL: &str = "full";

/// Options of the output of `--why`.
#[derive(Clone, Copy, Debug)]
pub struct WhyOptions<'a> {
    /// One pool only.
    pub pool: Option<&'a str>,
    /// Every step, instead of the deciding one.
    pub whole: bool,
    /// With colors.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// Writes the reasons for all verdicts, or for those on one pool; `source` returns the source and the date of a
/// database entry.
pub fn write_why(
    report: &Report,
    options: &WhyOptions<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    for subject in &report.subjects {
        let heading = subject_title(subject);
        if !subject.gpu_content {
            let unread = escape_one_line(&unread_suffix([subject])).into_owned();
            let seen = if unread.is_empty() { "" } else { " was seen" };
            writeln!(out, "{heading}: no GPU content{seen}, nothing to check{unread}\n")?;
            continue;
        }
        if options.whole {
            writeln!(out, "{}\n", paint(&heading, Tone::Strong, options.color))?;
        }
        if let Some(pool) = options.pool
            && !subject.verdicts.iter().any(|verdict| verdict.pool == pool)
        {
            let name = if options.whole { String::new() } else { format!("{heading}: ") };
            writeln!(out, "  {name}not checked on {}: the fleet runs it on other pools\n", escape_one_line(pool))?;
            continue;
        }
        if !options.whole {
            continue;
        }
        for verdict in subject.verdicts.iter().filter(|one| options.pool.is_none_or(|pool| pool == one.pool)) {
            let pool = report.fleet.pools.iter().find(|pool| pool.name == verdict.pool);
            let chain = VerdictContext { report, subject, pool, color: options.color };
            if !repeats_image_verdict(subject, verdict) {
                chain.write_verdict(verdict, out)?;
            }
        }
    }
    if options.whole {
        return if report.fleet.built_in { writeln!(out, "{NO_FLEET}") } else { Ok(()) };
    }
    write_brief(report, options, source, out)
}

/// Whether the verdict on a component has the same steps as the one on its image, which is printed before it.
fn repeats_image_verdict(subject: &Subject, verdict: &Verdict) -> bool {
    let whole = subject.verdicts.iter().find(|one| one.pool == verdict.pool && one.component.is_none());
    let texts = |verdict: &Verdict| -> Vec<String> {
        verdict.scenarios.iter().flat_map(|scenario| &scenario.steps).map(|step| step.text.clone()).collect()
    };
    verdict.component.is_some() && whole.is_some_and(|whole| texts(whole) == texts(verdict))
}

/// Maximum length of a printed value, in characters.
const MAX_VALUE_LENGTH: usize = 200;
/// Maximum depth to which the derivation of a fact is followed.
const MAX_DERIVATION_DEPTH: usize = 4;

/// Spaces before a fact.
const FACT_INDENT: usize = 10;

/// The report, the subject and the pool of a verdict whose steps and facts are printed.
pub(super) struct VerdictContext<'a> {
    pub(super) report: &'a Report,
    pub(super) subject: &'a Subject,
    pub(super) pool: Option<&'a Pool>,
    pub(super) color: bool,
}

impl VerdictContext<'_> {
    /// Writes a verdict with its hosts and their steps.
    fn write_verdict(&self, verdict: &Verdict, out: &mut impl io::Write) -> io::Result<()> {
        write!(out, "  on {}", escape_one_line(&verdict.pool))?;
        if let Some(component) = &verdict.component {
            write!(out, ", component {}", escape_one_line(component_label(component)))?;
        }
        let word = verdict_phrase(verdict);
        let word = paint(&word, verdict_kind_tone(verdict.fate), self.color);
        write!(out, ": {word} ({}", verdict.confidence)?;
        if let Some(code) = verdict.codes.certain {
            write!(out, "; code {code}")?;
        }
        if !verdict.codes.possible.is_empty() {
            let codes: Vec<_> = verdict.codes.possible.iter().map(u16::to_string).collect();
            write!(out, "; possible codes {}", codes.join(", "))?;
        }
        if let Some(reason) = &verdict.reason {
            write!(out, "; {}", reason.name())?;
        }
        writeln!(out, ")")?;
        if !verdict.message.is_empty() {
            writeln!(out, "    {}", escape_one_line(&verdict.message))?;
        }
        for gap in &verdict.missing {
            writeln!(out, "    missing {}: {}", escape_one_line(&gap.key), escape_one_line(&gap.supply))?;
        }
        for unseen in &verdict.not_seen {
            writeln!(out, "    not inspected: {}", escape_one_line(unseen))?;
        }
        for note in &verdict.notes {
            writeln!(out, "    note: {}", escape_one_line(note))?;
        }
        let host = common_properties(&verdict.scenarios);
        if !host.is_empty() {
            writeln!(out, "    host: {host}")?;
        }
        for group in group_scenarios(&verdict.scenarios) {
            for (at, host) in group.hosts.iter().enumerate() {
                if at + 1 < group.hosts.len() {
                    writeln!(out, "    with {host}, or")?;
                    continue;
                }
                let fate = escape_one_line(verdict_kind_label(group.first.fate));
                writeln!(out, "    with {host}: {}", paint(&fate, verdict_kind_tone(group.first.fate), self.color))?;
            }
            for step in &group.first.steps {
                self.write_step(step, out)?;
            }
        }
        writeln!(out)
    }

    /// Writes a step with its facts.
    fn write_step(&self, step: &Step, out: &mut impl io::Write) -> io::Result<()> {
        let (sign, tone) = match step.result {
            StepStatus::Passes => ("✓", Tone::Good),
            StepStatus::Stops => ("✗", Tone::Bad),
            StepStatus::FailsLater => ("!", Tone::Open),
            StepStatus::NotApplicable => ("·", Tone::Faint),
            StepStatus::Unknown | StepStatus::NotSeen => ("?", Tone::Open),
        };
        let sign = paint(sign, tone, self.color);
        writeln!(out, "      {sign} {}: {}", escape_one_line(&step.step), escape_one_line(&step.text))?;
        let mut told = Vec::new();
        for id in &step.facts {
            self.write_fact(id, 0, &mut told, out)?;
        }
        if !step.cite.is_empty() {
            let cite = format!("cite: {}", escape_one_line(&step.cite));
            writeln!(out, "          {}", paint(&cite, Tone::Faint, self.color))?;
        }
        Ok(())
    }

    /// Writes a fact, then the facts from which it was derived, each once per step.
    fn write_fact<'b>(
        &'b self,
        id: &'b str,
        depth: usize,
        told: &mut Vec<&'b str>,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        if told.contains(&id) || MAX_DERIVATION_DEPTH < depth {
            return Ok(());
        }
        told.push(id);
        write!(out, "{:indent$}", "", indent = FACT_INDENT + 2 * depth)?;
        if let Some(fact) = self.subject.facts.iter().find(|fact| fact.id == id) {
            writeln!(out, "{}", fact_with_origins(fact))?;
            for source in &fact.derived_from {
                self.write_fact(source, depth + 1, told, out)?;
            }
            return Ok(());
        }
        if let Some(pool) = self.pool.filter(|_| id.starts_with("pool.")) {
            return writeln!(out, "{}", pool_field_with_origin(id, pool, &self.report.fleet));
        }
        match id.split_once('/') {
            Some((table, row)) => writeln!(out, "database: {}, entry {}", escape_one_line(table), escape_one_line(row)),
            None => writeln!(out, "{}", escape_one_line(id)),
        }
    }
}

/// Returns the facts behind a step, one line each, followed by the facts from which they were derived, indented.
pub fn fact_lines(step: &Step, subject: &Subject, pool: &Pool, report: &Report) -> Vec<String> {
    let chain = VerdictContext { report, subject, pool: Some(pool), color: false };
    let (mut told, mut lines) = (Vec::new(), Vec::new());
    for id in &step.facts {
        push_fact_lines(&chain, id, 0, &mut told, &mut lines);
    }
    lines
}

/// Appends a fact, then the facts from which it was derived; undeclared pool fields are left out.
fn push_fact_lines<'b>(
    chain: &'b VerdictContext<'_>,
    id: &'b str,
    depth: usize,
    told: &mut Vec<&'b str>,
    lines: &mut Vec<String>,
) {
    if told.contains(&id) || MAX_DERIVATION_DEPTH < depth {
        return;
    }
    told.push(id);
    let entry = || {
        let (table, row) = id.split_once('/')?;
        Some(format!("compatibility database: {} {}", escape_one_line(table), escape_one_line(row)))
    };
    if let Some(text) = fact_text(chain, id, &|_| None).or_else(entry) {
        lines.push(format!("{:indent$}{text}", "", indent = 2 * depth));
    }
    if let Some(fact) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        for source in &fact.derived_from {
            push_fact_lines(chain, source, depth + 1, told, lines);
        }
    }
}

/// Returns a fact with its origins: `f3  env.X = "value"  Dockerfile:2:6`.
fn fact_with_origins(fact: &Fact) -> String {
    let value = match (&fact.value, fact.state) {
        (Some(value), FactState::Known) => {
            let value = value.to_string();
            format!(" = {}", shorten(&escape_one_line(&value), MAX_VALUE_LENGTH))
        }
        (_, state) => format!(": {state}"),
    };
    let why = match &fact.why {
        Some(why) => format!(", {}", escape_one_line(why)),
        None => String::new(),
    };
    let origins: Vec<String> = fact.origins.iter().map(location_label).collect();
    let gap = if origins.is_empty() { "" } else { "  " };
    format!("{}  {}{value}{why}{gap}{}", escape_one_line(&fact.id), escape_one_line(&fact.key), origins.join(", "))
}

/// Returns a pool field with its location; an undeclared one with the location of the pool.
pub(super) fn pool_field_with_origin(id: &str, pool: &Pool, fleet: &Fleet) -> String {
    let from = |location: Option<&Location>| match location.or(pool.location.as_ref()) {
        Some(location) => location_label(location),
        None => escape_one_line(&fleet.source).into_owned(),
    };
    match pool.fields.iter().find(|field| field.key == id) {
        Some(field) => {
            format!(
                "{} = {}  {}",
                escape_one_line(id),
                shorten(&escape_one_line(&field.value), MAX_VALUE_LENGTH),
                from(field.location.as_ref())
            )
        }
        // A report that does not carry fields says nothing of them.
        None if pool.fields.is_empty() => format!("{}  {}", escape_one_line(id), from(None)),
        None => format!("{}: not declared  {}", escape_one_line(id), from(None)),
    }
}
