//! The chain behind every verdict: hosts, steps, the facts that decided them and where they were read.

use std::io;

use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::files::unread_in;
use crate::report::hosts::common;
use crate::report::hosts::groups;
use crate::report::kinds::FactState;
use crate::report::kinds::StepStatus;
use crate::report::model::Fact;
use crate::report::model::Fleet;
use crate::report::model::Location;
use crate::report::model::Pool;
use crate::report::model::Report;
use crate::report::model::Step;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::why_brief::basis;
use crate::report::why_brief::brief;
use crate::report::words::NO_FLEET;
use crate::report::words::cell;
use crate::report::words::fate_word;
use crate::report::words::named;
use crate::report::words::place;
use crate::report::words::title;

/// Asks for every step of every verdict.
pub const FULL: &str = "full";

/// What to print of the reasons.
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

/// Writes the reasons of every verdict, or of those on one pool. `source` gives source and date of a database entry.
pub fn why(
    report: &Report,
    options: &WhyOptions<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    for subject in &report.subjects {
        let heading = title(subject);
        if !subject.gpu_content {
            let unread = clean(&unread_in([subject])).into_owned();
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
            writeln!(out, "  {name}not checked on {}: the fleet runs it on other pools\n", clean(pool))?;
            continue;
        }
        if !options.whole {
            continue;
        }
        for verdict in subject.verdicts.iter().filter(|one| options.pool.is_none_or(|pool| pool == one.pool)) {
            let pool = report.fleet.pools.iter().find(|pool| pool.name == verdict.pool);
            let chain = Chain { report, subject, pool, color: options.color };
            if !told_already(subject, verdict) {
                chain.verdict(verdict, out)?;
            }
        }
    }
    if options.whole {
        return if report.fleet.built_in { writeln!(out, "{NO_FLEET}") } else { Ok(()) };
    }
    brief(report, options, source, out)
}

/// Whether a component's verdict is the image's own, step by step: its chain was printed with that.
fn told_already(subject: &Subject, verdict: &Verdict) -> bool {
    let whole = subject.verdicts.iter().find(|one| one.pool == verdict.pool && one.component.is_none());
    let texts = |verdict: &Verdict| -> Vec<String> {
        verdict.scenarios.iter().flat_map(|scenario| &scenario.steps).map(|step| step.text.clone()).collect()
    };
    verdict.component.is_some() && whole.is_some_and(|whole| texts(whole) == texts(verdict))
}

/// Longest value printed whole, in characters.
const LONGEST: usize = 200;
/// How far the derivation of a fact is followed.
const DEEPEST: usize = 4;

/// Blanks before a fact.
const INDENT: usize = 10;

pub(super) struct Chain<'a> {
    pub(super) report: &'a Report,
    pub(super) subject: &'a Subject,
    pub(super) pool: Option<&'a Pool>,
    pub(super) color: bool,
}

impl Chain<'_> {
    fn verdict(&self, verdict: &Verdict, out: &mut impl io::Write) -> io::Result<()> {
        write!(out, "  on {}", clean(&verdict.pool))?;
        if let Some(component) = &verdict.component {
            write!(out, ", component {}", clean(named(component)))?;
        }
        let word = cell(verdict);
        let word = paint(&word, tone_of(verdict.fate), self.color);
        write!(out, ": {word} ({}", clean(&verdict.confidence))?;
        if let Some(code) = verdict.codes.certain {
            write!(out, "; code {code}")?;
        }
        if !verdict.codes.possible.is_empty() {
            let codes: Vec<_> = verdict.codes.possible.iter().map(u16::to_string).collect();
            write!(out, "; possible codes {}", codes.join(", "))?;
        }
        if let Some(reason) = &verdict.reason {
            write!(out, "; {}", clean(reason))?;
        }
        writeln!(out, ")")?;
        if !verdict.message.is_empty() {
            writeln!(out, "    {}", clean(&verdict.message))?;
        }
        for gap in &verdict.missing {
            writeln!(out, "    missing {}: {}", clean(&gap.key), clean(&gap.supply))?;
        }
        for unseen in &verdict.not_seen {
            writeln!(out, "    not inspected: {}", clean(unseen))?;
        }
        for note in &verdict.notes {
            writeln!(out, "    note: {}", clean(note))?;
        }
        let host = common(&verdict.scenarios);
        if !host.is_empty() {
            writeln!(out, "    host: {host}")?;
        }
        for group in groups(&verdict.scenarios) {
            for (at, host) in group.hosts.iter().enumerate() {
                if at + 1 < group.hosts.len() {
                    writeln!(out, "    with {host}, or")?;
                    continue;
                }
                let fate = clean(fate_word(group.first.fate));
                writeln!(out, "    with {host}: {}", paint(&fate, tone_of(group.first.fate), self.color))?;
            }
            for step in &group.first.steps {
                self.step(step, out)?;
            }
        }
        writeln!(out)
    }

    fn step(&self, step: &Step, out: &mut impl io::Write) -> io::Result<()> {
        let (sign, tone) = match step.result {
            StepStatus::Passes => ("✓", Tone::Good),
            StepStatus::Stops => ("✗", Tone::Bad),
            StepStatus::FailsLater => ("!", Tone::Open),
            StepStatus::NotApplicable => ("·", Tone::Faint),
            StepStatus::Unknown | StepStatus::NotSeen => ("?", Tone::Open),
        };
        let sign = paint(sign, tone, self.color);
        writeln!(out, "      {sign} {}: {}", clean(&step.step), clean(&step.text))?;
        let mut told = Vec::new();
        for id in &step.facts {
            self.fact(id, 0, &mut told, out)?;
        }
        if !step.cite.is_empty() {
            let cite = format!("cite: {}", clean(&step.cite));
            writeln!(out, "          {}", paint(&cite, Tone::Faint, self.color))?;
        }
        Ok(())
    }

    /// One fact, then those that it was concluded from, each told once per step.
    fn fact<'b>(
        &'b self,
        id: &'b str,
        depth: usize,
        told: &mut Vec<&'b str>,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        if told.contains(&id) || DEEPEST < depth {
            return Ok(());
        }
        told.push(id);
        write!(out, "{:indent$}", "", indent = INDENT + 2 * depth)?;
        if let Some(fact) = self.subject.facts.iter().find(|fact| fact.id == id) {
            writeln!(out, "{}", of_fact(fact))?;
            for source in &fact.derived_from {
                self.fact(source, depth + 1, told, out)?;
            }
            return Ok(());
        }
        if let Some(pool) = self.pool.filter(|_| id.starts_with("pool.")) {
            return writeln!(out, "{}", of_pool(id, pool, &self.report.fleet));
        }
        match id.split_once('/') {
            Some((table, row)) => writeln!(out, "database: {}, entry {}", clean(table), clean(row)),
            None => writeln!(out, "{}", clean(id)),
        }
    }
}

/// The facts behind a step in words, a line each, those that others were concluded from set in below them.
pub fn facts(step: &Step, subject: &Subject, pool: &Pool, report: &Report) -> Vec<String> {
    let chain = Chain { report, subject, pool: Some(pool), color: false };
    let (mut told, mut lines) = (Vec::new(), Vec::new());
    for id in &step.facts {
        in_words(&chain, id, 0, &mut told, &mut lines);
    }
    lines
}

/// One fact in words, then those that it was concluded from. A field that no pool declares is left out.
fn in_words<'b>(chain: &'b Chain<'_>, id: &'b str, depth: usize, told: &mut Vec<&'b str>, lines: &mut Vec<String>) {
    if told.contains(&id) || DEEPEST < depth {
        return;
    }
    told.push(id);
    let entry = || {
        let (table, row) = id.split_once('/')?;
        Some(format!("compatibility database: {} {}", clean(table), clean(row)))
    };
    if let Some(text) = basis(chain, id, &|_| None).or_else(entry) {
        lines.push(format!("{:indent$}{text}", "", indent = 2 * depth));
    }
    if let Some(fact) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        for source in &fact.derived_from {
            in_words(chain, source, depth + 1, told, lines);
        }
    }
}

/// `f3  env.X = "value"  Dockerfile:2:6`.
fn of_fact(fact: &Fact) -> String {
    let value = match (&fact.value, fact.state) {
        (Some(value), FactState::Known) => {
            let value = value.to_string();
            format!(" = {}", shorten(&clean(&value), LONGEST))
        }
        (_, state) => format!(": {state}"),
    };
    let why = match &fact.why {
        Some(why) => format!(", {}", clean(why)),
        None => String::new(),
    };
    let origins: Vec<String> = fact.origins.iter().map(place).collect();
    let gap = if origins.is_empty() { "" } else { "  " };
    format!("{}  {}{value}{why}{gap}{}", clean(&fact.id), clean(&fact.key), origins.join(", "))
}

/// A field of the pool with its own place; one that is left out, with the pool's.
pub(super) fn of_pool(id: &str, pool: &Pool, fleet: &Fleet) -> String {
    let from = |location: Option<&Location>| match location.or(pool.location.as_ref()) {
        Some(location) => place(location),
        None => clean(&fleet.source).into_owned(),
    };
    match pool.fields.iter().find(|field| field.key == id) {
        Some(field) => {
            format!("{} = {}  {}", clean(id), shorten(&clean(&field.value), LONGEST), from(field.location.as_ref()))
        }
        // A report that does not carry fields says nothing of them.
        None if pool.fields.is_empty() => format!("{}  {}", clean(id), from(None)),
        None => format!("{}: not declared  {}", clean(id), from(None)),
    }
}
