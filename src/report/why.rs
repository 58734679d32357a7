//! The output of `--why`: hosts and steps behind every verdict, the facts that decided them, and the origins of these
//! facts.
//!
//! In short, on one screen: the deciding step of each verdict and the facts behind it. Images and pools with the same
//! deciding step share an entry; failures come first.

use std::io;

use crate::replay::{StartRoute, StartStep};
use crate::report::checked_files::unread_suffix;
use crate::report::escape::{escape_one_line, shorten};
use crate::report::kinds::{FactState, StepStatus, VerdictKind};
use crate::report::model::{Fact, Fleet, Location, Pool, Report, Scenario, Step, Subject, Verdict};
use crate::report::phrases::{
    NO_FLEET, component_label, fact_label, join_first, location_label, pluralize, reason_text, subject_title,
    verdict_kind_label, verdict_label, verdict_phrase, verdict_symbol,
};
use crate::report::scenario_groups::{common_properties, group_scenarios};
use crate::report::terminal_colors::{TextStyle, paint, verdict_kind_tone};
use crate::report::wrap::{display_width, wrap};

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
            writeln!(out, "{}\n", paint(&heading, TextStyle::Strong, options.color))?;
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
        for uninspected in &verdict.not_seen {
            writeln!(out, "    not inspected: {}", escape_one_line(uninspected))?;
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
            StepStatus::Passes => ("✓", TextStyle::Good),
            StepStatus::Stops => ("✗", TextStyle::Bad),
            StepStatus::FailsLater => ("!", TextStyle::Open),
            StepStatus::NotApplicable => ("·", TextStyle::Faint),
            StepStatus::Unknown | StepStatus::NotSeen => ("?", TextStyle::Open),
        };
        let sign = paint(sign, tone, self.color);
        writeln!(out, "      {sign} {}: {}", step.step, escape_one_line(&step.text))?;
        let mut visited = Vec::new();
        for id in &step.facts {
            self.write_fact(id, 0, &mut visited, out)?;
        }
        if !step.cite.is_empty() {
            let cite = format!("cite: {}", escape_one_line(&step.cite));
            writeln!(out, "          {}", paint(&cite, TextStyle::Faint, self.color))?;
        }
        Ok(())
    }

    /// Writes a fact, then the facts from which it was derived, each once per step.
    fn write_fact<'b>(
        &'b self,
        id: &'b str,
        depth: usize,
        visited: &mut Vec<&'b str>,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        if visited.contains(&id) || MAX_DERIVATION_DEPTH < depth {
            return Ok(());
        }
        visited.push(id);
        write!(out, "{:indent$}", "", indent = FACT_INDENT + 2 * depth)?;
        if let Some(fact) = self.subject.facts.iter().find(|fact| fact.id == id) {
            writeln!(out, "{}", fact_with_origins(fact))?;
            for source in &fact.derived_from {
                self.write_fact(source, depth + 1, visited, out)?;
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
    let (mut visited, mut lines) = (Vec::new(), Vec::new());
    for id in &step.facts {
        push_fact_lines(&chain, id, 0, &mut visited, &mut lines);
    }
    lines
}

/// Appends a fact, then the facts from which it was derived; undeclared pool fields are left out.
fn push_fact_lines<'b>(
    chain: &'b VerdictContext<'_>,
    id: &'b str,
    depth: usize,
    visited: &mut Vec<&'b str>,
    lines: &mut Vec<String>,
) {
    if visited.contains(&id) || MAX_DERIVATION_DEPTH < depth {
        return;
    }
    visited.push(id);
    let entry = || {
        let (table, row) = id.split_once('/')?;
        Some(format!("compatibility database: {} {}", escape_one_line(table), escape_one_line(row)))
    };
    if let Some(text) = fact_text(chain, id, &|_| None).or_else(entry) {
        lines.push(format!("{:indent$}{text}", "", indent = 2 * depth));
    }
    if let Some(fact) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        for source in &fact.derived_from {
            push_fact_lines(chain, source, depth + 1, visited, lines);
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
fn pool_field_with_origin(id: &str, pool: &Pool, fleet: &Fleet) -> String {
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
        // A report without these fields shows nothing of them.
        None if pool.fields.is_empty() => format!("{}  {}", escape_one_line(id), from(None)),
        None => format!("{}: not declared  {}", escape_one_line(id), from(None)),
    }
}

/// Maximum number of groups of hosts shown for a verdict.
const MAX_HOSTS: usize = 2;
/// Maximum number of facts shown for a step.
const MAX_FACTS: usize = 4;
/// Maximum number of missing values shown for a verdict.
const MAX_MISSING: usize = 2;
/// Maximum length of a value, in characters.
const MAX_BRIEF_VALUE_LENGTH: usize = 60;
/// Number of lines of a screen.
const SCREEN_LINES: usize = 45;
/// Maximum number of images named in one entry.
const MAX_IMAGES: usize = 3;
/// Maximum number of pools named in one entry.
const MAX_POOLS: usize = 14;
/// Maximum number of different texts shown for one entry.
const MAX_TEXTS: usize = 4;

/// The deciding step of one verdict, in words.
struct VerdictReason<'r> {
    /// The image.
    image: usize,
    pool: &'r str,
    fate: VerdictKind,
    /// `✗ fails`, then why.
    head: (String, String),
    /// The names of the deciding steps: with the head, what makes an entry.
    steps: Vec<&'r str>,
    /// The texts of the steps, one for each kind of host.
    texts: Vec<String>,
    /// What they depend on.
    facts: Vec<String>,
    /// What would be needed to know more.
    tail: Vec<String>,
}

/// Verdicts with the same deciding step.
struct VerdictReasonGroup<'r> {
    rank: usize,
    reasons: Vec<VerdictReason<'r>>,
}

/// Writes the deciding steps of all verdicts, or of those on one pool.
fn write_brief(
    report: &Report,
    options: &WhyOptions<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut entries: Vec<VerdictReasonGroup<'_>> = Vec::new();
    let mut judged: Vec<usize> = Vec::new();
    for (image, subject) in report.subjects.iter().enumerate() {
        for verdict in &subject.verdicts {
            let selected = options.pool.is_none_or(|pool| pool == verdict.pool);
            if !subject.gpu_content || verdict.component.is_some() || !selected {
                continue;
            }
            if judged.last() != Some(&image) {
                judged.push(image);
            }
            let pool = report.fleet.pools.iter().find(|pool| pool.name == verdict.pool);
            let chain = VerdictContext { report, subject, pool, color: options.color };
            let reason = verdict_reason(&chain, image, verdict, source);
            let alike = |entry: &&mut VerdictReasonGroup<'_>| {
                entry.reasons.first().is_some_and(|one| (&one.head, &one.steps) == (&reason.head, &reason.steps))
            };
            match entries.iter_mut().find(alike) {
                Some(entry) => entry.reasons.push(reason),
                None => entries.push(VerdictReasonGroup { rank: verdict_rank(reason.fate), reasons: vec![reason] }),
            }
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    entries.sort_by_key(|entry| entry.rank);
    let names: Vec<String> = report.subjects.iter().map(subject_title).collect();
    let one = if let [image] = judged.as_slice() { names.get(*image) } else { None };
    if let Some(name) = one {
        writeln!(out, "{}\n", paint(name, TextStyle::Strong, options.color))?;
    }
    let printer = ReasonPrinter { names: &names, several: one.is_none(), options };
    let mut blocks: Vec<(usize, usize, String)> = Vec::new();
    for entry in &entries {
        let mut block = Vec::new();
        printer.write_group(entry, &mut block)?;
        blocks.push((entry.rank, entry.reasons.len(), String::from_utf8_lossy(&block).into_owned()));
    }
    let lines = |blocks: &[(usize, usize, String)]| blocks.iter().map(|one| one.2.lines().count()).sum::<usize>();
    let mut left_out = 0;
    if options.pool.is_none() && lines(&blocks) > SCREEN_LINES {
        let failing = blocks.iter().any(|(rank, ..)| *rank < satisfied_verdict_rank());
        if failing {
            left_out = blocks.iter().filter(|(rank, ..)| *rank == satisfied_verdict_rank()).map(|one| one.1).sum();
            blocks.retain(|(rank, ..)| *rank < satisfied_verdict_rank());
        }
        let mut most = blocks.len();
        while most > 1 && lines(blocks.get(..most).unwrap_or_default()) > SCREEN_LINES {
            most -= 1;
        }
        left_out += blocks.drain(most..).map(|one| one.1).sum::<usize>();
    }
    for (_, _, text) in &blocks {
        write!(out, "{text}")?;
    }
    if report.fleet.built_in {
        writeln!(out, "{}", wrap(NO_FLEET, 0, 2, options.width))?;
    }
    match left_out {
        0 => writeln!(out, "Every step: --why={FULL}"),
        more => {
            let what =
                if blocks.iter().any(|(rank, ..)| *rank < satisfied_verdict_rank()) { "Failures first; " } else { "" };
            let line = format!(
                "{what}{} not shown. One pool: --why POOL. Every step: --why={FULL}",
                pluralize(more, "verdict")
            );
            writeln!(out, "{}", wrap(&line, 0, 2, options.width))
        }
    }
}

/// Returns the position of a verdict in the output: failures first, starts last.
fn verdict_rank(fate: VerdictKind) -> usize {
    match fate {
        VerdictKind::Fails => 0,
        VerdictKind::Depends => 1,
        VerdictKind::Undetermined => 2,
        VerdictKind::Starts | VerdictKind::NotApplicable => satisfied_verdict_rank(),
    }
}

/// Returns the position of verdicts that need no attention.
const fn satisfied_verdict_rank() -> usize {
    3
}

/// Returns the deciding steps of a verdict, with the facts behind them.
fn verdict_reason<'r>(
    chain: &VerdictContext<'r>,
    image: usize,
    verdict: &'r Verdict,
    source: &dyn Fn(&str) -> Option<String>,
) -> VerdictReason<'r> {
    let verdict_text = format!("{} {}", verdict_symbol(verdict, false), escape_one_line(verdict_label(verdict)));
    let of_verdict = |scenario: &Scenario| scenario.fate == verdict.fate;
    let mut hosts = group_scenarios(&verdict.scenarios);
    if hosts.iter().any(|group| of_verdict(group.first)) {
        hosts.retain(|group| of_verdict(group.first));
    }
    // Hosts with the same deciding step are one.
    let mut seen: Vec<&str> = Vec::new();
    hosts.retain(|group| {
        let text = deciding_step(group.first, verdict).map_or("", |step| step.text.as_str());
        let new = !seen.contains(&text);
        if new {
            seen.push(text);
        }
        new
    });
    let several = hosts.len() > 1;
    let (mut steps, mut texts, mut facts) = (Vec::new(), Vec::new(), Vec::<String>::new());
    for group in hosts.iter().take(MAX_HOSTS) {
        let Some(step) = deciding_step(group.first, verdict) else { continue };
        let host = group.hosts.first().filter(|_| several);
        let host =
            host.map_or_else(String::new, |host| format!("with {host}, {}; ", verdict_kind_label(group.first.fate)));
        steps.push(step.step.name());
        texts.push(format!("{host}{}: {}", step.step, escape_one_line(&step.text)));
        for line in step.facts.iter().filter_map(|id| fact_text(chain, id, source)).take(MAX_FACTS) {
            if !facts.contains(&line) {
                facts.push(line);
            }
        }
    }
    if texts.is_empty() && !verdict.message.is_empty() {
        texts.push(escape_one_line(&verdict.message).into_owned());
    }
    let mut gaps: Vec<&str> = verdict.missing.iter().map(|gap| gap.supply.as_str()).collect();
    gaps.dedup();
    let gaps = gaps.into_iter().take(MAX_MISSING).map(|gap| format!("to know: {}", escape_one_line(gap)));
    let uninspected = verdict.not_seen.iter().map(|component| format!("not inspected: {}", escape_one_line(component)));
    VerdictReason {
        image,
        pool: &verdict.pool,
        fate: verdict.fate,
        head: (verdict_text, reason_text(verdict)),
        steps,
        texts,
        facts,
        tail: gaps.chain(uninspected).collect(),
    }
}

/// Prints groups of verdicts.
struct ReasonPrinter<'p> {
    /// The names of all images.
    names: &'p [String],
    /// Whether there are several.
    several: bool,
    options: &'p WhyOptions<'p>,
}

impl ReasonPrinter<'_> {
    /// Writes a group of verdicts.
    fn write_group(&self, entry: &VerdictReasonGroup<'_>, out: &mut impl io::Write) -> io::Result<()> {
        let Some(first) = entry.reasons.first() else { return Ok(()) };
        let width = self.options.width;
        let (verdict_text, reason) = &first.head;
        let gap = if reason.is_empty() { "" } else { ": " };
        let verdict_text = paint(verdict_text, verdict_kind_tone(first.fate), self.options.color);
        let places = self.images_and_pools(&entry.reasons);
        for (number, place) in places.iter().take(MAX_IMAGES).enumerate() {
            let last = number + 1 == places.len().min(MAX_IMAGES);
            let more = if places.len() > MAX_IMAGES && last {
                format!(" and {} more", places.len() - MAX_IMAGES)
            } else {
                String::new()
            };
            let place = wrap(&escape_one_line(&format!("{place}{more}")), 2, 4, width.saturating_sub(VERDICT_MARGIN));
            if last {
                let line = place.lines().last().unwrap_or_default();
                let fits = display_width(line) + display_width(&first.head.0) + display_width(reason) + VERDICT_MARGIN
                    <= width;
                let between = if fits { " " } else { "\n    " };
                writeln!(out, "  {place}:{between}{verdict_text}{gap}{reason}")?;
            } else {
                writeln!(out, "  {place},")?;
            }
        }
        // What starts needs no more than an example.
        let most = if entry.rank == satisfied_verdict_rank() { 1 } else { MAX_TEXTS };
        let mut shown: Vec<(&[String], Vec<&VerdictReason<'_>>)> = Vec::new();
        for reason in &entry.reasons {
            match shown.iter_mut().find(|(texts, _)| *texts == reason.texts.as_slice()) {
                Some((_, own)) => own.push(reason),
                None => shown.push((&reason.texts, vec![reason])),
            }
        }
        for (texts, reasons) in shown.iter().take(most) {
            let of = if shown.len() > 1 { self.text_prefix(reasons, shown.len() > most) } else { String::new() };
            for text in *texts {
                writeln!(out, "    {}", wrap(&format!("{of}{text}"), 4, 6, width))?;
            }
        }
        if shown.len() > most && most > 1 {
            let line = format!("{} more: --why POOL", shown.len() - most);
            writeln!(out, "    {}", wrap(&line, 4, 6, width))?;
        }
        for line in &first.facts {
            let line = wrap(line, 6, 8, width);
            for line in line.lines() {
                let start = line.len() - line.trim_start().len();
                let (gap, text) = line.split_at(start);
                let gap = if gap.is_empty() { "      " } else { gap };
                writeln!(out, "{gap}{}", paint(text, TextStyle::Faint, self.options.color))?;
            }
        }
        let mut tail: Vec<&String> = Vec::new();
        for line in entry.reasons.iter().flat_map(|reason| &reason.tail) {
            if !tail.contains(&line) && tail.len() < MAX_TEXTS {
                tail.push(line);
            }
        }
        for line in tail {
            writeln!(out, "    {}", wrap(line, 4, 6, width))?;
        }
        writeln!(out)
    }

    /// Returns `on t4, l4`, or with several images `a, b on t4`; images with the same pools share an item.
    fn images_and_pools(&self, reasons: &[VerdictReason<'_>]) -> Vec<String> {
        let mut images: Vec<(usize, Vec<&str>)> = Vec::new();
        for reason in reasons {
            match images.iter_mut().find(|(image, _)| *image == reason.image) {
                Some((_, pools)) => pools.push(reason.pool),
                None => images.push((reason.image, vec![reason.pool])),
            }
        }
        let mut places: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
        for (image, pools) in images {
            let name = self.names.get(image).cloned().unwrap_or_default();
            match places.iter_mut().find(|(known, _)| *known == pools) {
                Some((_, names)) => names.push(name),
                None => places.push((pools, vec![name])),
            }
        }
        let text = |(pools, names): (Vec<&str>, Vec<String>)| {
            let pools: Vec<String> = pools.into_iter().map(str::to_owned).collect();
            let names = if self.several { format!("{} ", join_first(&names, MAX_IMAGES, ", ")) } else { String::new() };
            format!("{names}on {}", join_first(&pools, MAX_POOLS, ", "))
        };
        places.into_iter().map(text).collect()
    }

    /// Returns the image and the pools of some verdicts of a group, to be printed before their text.
    fn text_prefix(&self, reasons: &[&VerdictReason<'_>], is_example: bool) -> String {
        let Some(first) = reasons.first() else { return String::new() };
        let mut pools: Vec<String> = Vec::new();
        for reason in reasons.iter().filter(|reason| reason.image == first.image) {
            pools.push(escape_one_line(reason.pool).into_owned());
        }
        let image = self.names.get(first.image).filter(|_| self.several);
        let image = image.map_or_else(String::new, |name| format!("{name} on "));
        if is_example {
            format!("{image}{}, for example: ", escape_one_line(first.pool))
        } else {
            format!("{image}{}: ", join_first(&pools, MAX_IMAGES, ", "))
        }
    }
}

/// Columns that are kept free after the images and pools.
const VERDICT_MARGIN: usize = 6;

/// Returns the step that decided: the one that stops, else the first that is unknown, else the one that uses the
/// route.
fn deciding_step<'a>(scenario: &'a Scenario, verdict: &Verdict) -> Option<&'a Step> {
    let with = |result: StepStatus| scenario.steps.iter().find(|step| step.result == result);
    let passed = |one| scenario.steps.iter().find(|step| step.step == one && step.result == StepStatus::Passes);
    let of_route = || match verdict.route {
        Some(StartRoute::ForwardCompat) => passed(StartStep::UserMode).or_else(|| passed(StartStep::Loader)),
        Some(StartRoute::MinorVersion) => passed(StartStep::Runtime),
        _ => passed(StartStep::Code).or_else(|| passed(StartStep::Runtime)),
    };
    let last = || scenario.steps.iter().rev().find(|step| step.result == StepStatus::Passes);
    with(StepStatus::Stops)
        .or_else(|| with(StepStatus::Unknown).filter(|_| scenario.fate != VerdictKind::Starts))
        .or_else(of_route)
        .or_else(last)
}

/// Returns a fact behind a step in words, with its origin or source; `None` for an undeclared pool field.
pub(super) fn fact_text(
    chain: &VerdictContext<'_>,
    id: &str,
    source: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    if let Some(found) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        let value = match (&found.value, found.state) {
            (Some(serde_json::Value::String(text)), FactState::Known) => escape_one_line(text).into_owned(),
            (Some(serde_json::Value::Array(list)), FactState::Known) => {
                let words: Vec<&str> = list.iter().filter_map(serde_json::Value::as_str).collect();
                escape_one_line(&words.join(", ")).into_owned()
            }
            (_, FactState::Absent) if found.key.starts_with("env.") => "not set".to_owned(),
            (_, FactState::Absent) => "none".to_owned(),
            _ => "unknown".to_owned(),
        };
        // The name of the library is no part of its version.
        let value = if found.key == "image.compat" { value.replace("libcuda.so.", "") } else { value };
        let origin = found.origins.first().map(|origin| format!(" ({})", location_label(origin))).unwrap_or_default();
        let entry = found.derived_from.iter().find(|id| id.contains('/'));
        let entry =
            entry.and_then(|id| Some(format!("; source: {}", escape_one_line(&source(id)?)))).unwrap_or_default();
        let (name, value) = (fact_label(&found.key), shorten(&value, MAX_BRIEF_VALUE_LENGTH));
        return Some(format!("{}: {value}{origin}{entry}", escape_one_line(&name)));
    }
    if id.starts_with("pool.") {
        let field = chain.pool?.fields.iter().find(|field| field.key == id)?;
        let at = field.location.as_ref().map(|location| format!(" ({})", location_label(location))).unwrap_or_default();
        return Some(format!(
            "{}: {}{at}",
            escape_one_line(&fact_label(id)),
            shorten(&escape_one_line(&field.value), MAX_BRIEF_VALUE_LENGTH)
        ));
    }
    id.contains('/').then(|| Some(format!("source: {}", escape_one_line(&source(id)?)))).flatten()
}
