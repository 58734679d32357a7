//! The reasons of all verdicts on one screen: the deciding step of each, and what it depends on, in words. Images and
//! pools with the same deciding step are one entry; failures come first.

use std::io;

use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::hosts::groups;
use crate::report::kinds::FactState;
use crate::report::kinds::StepStatus;
use crate::report::kinds::VerdictKind;
use crate::report::model::Report;
use crate::report::model::Scenario;
use crate::report::model::Step;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::why::Chain;
use crate::report::why::FULL;
use crate::report::why::WhyOptions;
use crate::report::words::NO_FLEET;
use crate::report::words::count;
use crate::report::words::fact;
use crate::report::words::fate_word;
use crate::report::words::listed;
use crate::report::words::place;
use crate::report::words::reason;
use crate::report::words::sign;
use crate::report::words::title;
use crate::report::words::word;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// So many kinds of hosts, facts and gaps are shown of a verdict.
const HOSTS: usize = 2;
const FACTS: usize = 4;
const GAPS: usize = 2;
/// Longest value, in characters.
const LONGEST: usize = 60;
/// Lines of a screen.
const SCREEN: usize = 45;
/// So many images, and so many pools, are named in one entry.
const IMAGES: usize = 3;
const POOLS: usize = 14;
/// So many different texts are shown of one entry.
const TEXTS: usize = 4;

/// The deciding step of one verdict, in words.
struct Reason<'r> {
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
struct Entry<'r> {
    rank: usize,
    reasons: Vec<Reason<'r>>,
}

/// Writes the deciding steps of all verdicts, or of those on one pool.
pub(super) fn brief(
    report: &Report,
    options: &WhyOptions<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut judged: Vec<usize> = Vec::new();
    for (image, subject) in report.subjects.iter().enumerate() {
        for verdict in &subject.verdicts {
            let wanted = options.pool.is_none_or(|pool| pool == verdict.pool);
            if !subject.gpu_content || verdict.component.is_some() || !wanted {
                continue;
            }
            if judged.last() != Some(&image) {
                judged.push(image);
            }
            let pool = report.fleet.pools.iter().find(|pool| pool.name == verdict.pool);
            let chain = Chain { report, subject, pool, color: options.color };
            let reason = of_verdict(&chain, image, verdict, source);
            let alike = |entry: &&mut Entry<'_>| {
                entry.reasons.first().is_some_and(|one| (&one.head, &one.steps) == (&reason.head, &reason.steps))
            };
            match entries.iter_mut().find(alike) {
                Some(entry) => entry.reasons.push(reason),
                None => entries.push(Entry { rank: rank(reason.fate), reasons: vec![reason] }),
            }
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    entries.sort_by_key(|entry| entry.rank);
    let names: Vec<String> = report.subjects.iter().map(title).collect();
    let one = if let [image] = judged.as_slice() { names.get(*image) } else { None };
    if let Some(name) = one {
        writeln!(out, "{}\n", paint(name, Tone::Strong, options.color))?;
    }
    let printer = Printer { names: &names, several: one.is_none(), options };
    let mut blocks: Vec<(usize, usize, String)> = Vec::new();
    for entry in &entries {
        let mut block = Vec::new();
        printer.entry(entry, &mut block)?;
        blocks.push((entry.rank, entry.reasons.len(), String::from_utf8_lossy(&block).into_owned()));
    }
    let lines = |blocks: &[(usize, usize, String)]| blocks.iter().map(|one| one.2.lines().count()).sum::<usize>();
    let mut left_out = 0;
    if options.pool.is_none() && lines(&blocks) > SCREEN {
        let failing = blocks.iter().any(|(rank, ..)| *rank < rank_of_starts());
        if failing {
            left_out = blocks.iter().filter(|(rank, ..)| *rank == rank_of_starts()).map(|one| one.1).sum();
            blocks.retain(|(rank, ..)| *rank < rank_of_starts());
        }
        let mut most = blocks.len();
        while most > 1 && lines(blocks.get(..most).unwrap_or_default()) > SCREEN {
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
            let what = if blocks.iter().any(|(rank, ..)| *rank < rank_of_starts()) { "Failures first; " } else { "" };
            let line =
                format!("{what}{} not shown. One pool: --why POOL. Every step: --why={FULL}", count(more, "verdict"));
            writeln!(out, "{}", wrap(&line, 0, 2, options.width))
        }
    }
}

/// Failures first, what starts last.
fn rank(fate: VerdictKind) -> usize {
    match fate {
        VerdictKind::Fails => 0,
        VerdictKind::Depends => 1,
        VerdictKind::Undetermined => 2,
        VerdictKind::Starts | VerdictKind::NotApplicable => rank_of_starts(),
    }
}

const fn rank_of_starts() -> usize {
    3
}

/// The deciding steps of a verdict, with what they depend on.
fn of_verdict<'r>(
    chain: &Chain<'r>,
    image: usize,
    verdict: &'r Verdict,
    source: &dyn Fn(&str) -> Option<String>,
) -> Reason<'r> {
    let told = format!("{} {}", sign(verdict, false), clean(word(verdict)));
    let of_verdict = |scenario: &Scenario| scenario.fate == verdict.fate;
    let mut hosts = groups(&verdict.scenarios);
    if hosts.iter().any(|group| of_verdict(group.first)) {
        hosts.retain(|group| of_verdict(group.first));
    }
    // Hosts with the same deciding step are one.
    let mut seen: Vec<&str> = Vec::new();
    hosts.retain(|group| {
        let text = deciding(group.first, verdict).map_or("", |step| step.text.as_str());
        let new = !seen.contains(&text);
        if new {
            seen.push(text);
        }
        new
    });
    let several = hosts.len() > 1;
    let (mut steps, mut texts, mut facts) = (Vec::new(), Vec::new(), Vec::<String>::new());
    for group in hosts.iter().take(HOSTS) {
        let Some(step) = deciding(group.first, verdict) else { continue };
        let host = group.hosts.first().filter(|_| several);
        let host = host.map_or_else(String::new, |host| format!("with {host}, {}; ", fate_word(group.first.fate)));
        steps.push(step.step.as_str());
        texts.push(format!("{host}{}: {}", clean(&step.step), clean(&step.text)));
        for line in step.facts.iter().filter_map(|id| basis(chain, id, source)).take(FACTS) {
            if !facts.contains(&line) {
                facts.push(line);
            }
        }
    }
    if texts.is_empty() && !verdict.message.is_empty() {
        texts.push(clean(&verdict.message).into_owned());
    }
    let mut gaps: Vec<&str> = verdict.missing.iter().map(|gap| gap.supply.as_str()).collect();
    gaps.dedup();
    let gaps = gaps.into_iter().take(GAPS).map(|gap| format!("to know: {}", clean(gap)));
    let unseen = verdict.not_seen.iter().map(|unseen| format!("not inspected: {}", clean(unseen)));
    Reason {
        image,
        pool: &verdict.pool,
        fate: verdict.fate,
        head: (told, reason(verdict)),
        steps,
        texts,
        facts,
        tail: gaps.chain(unseen).collect(),
    }
}

struct Printer<'p> {
    /// The names of all images.
    names: &'p [String],
    /// Whether there are several.
    several: bool,
    options: &'p WhyOptions<'p>,
}

impl Printer<'_> {
    fn entry(&self, entry: &Entry<'_>, out: &mut impl io::Write) -> io::Result<()> {
        let Some(first) = entry.reasons.first() else { return Ok(()) };
        let width = self.options.width;
        let (told, reason) = &first.head;
        let gap = if reason.is_empty() { "" } else { ": " };
        let told = paint(told, tone_of(first.fate), self.options.color);
        let places = self.places(&entry.reasons);
        for (number, place) in places.iter().take(IMAGES).enumerate() {
            let last = number + 1 == places.len().min(IMAGES);
            let more = if places.len() > IMAGES && last {
                format!(" and {} more", places.len() - IMAGES)
            } else {
                String::new()
            };
            let place = wrap(&clean(&format!("{place}{more}")), 2, 4, width.saturating_sub(SHORT));
            if last {
                let line = place.lines().last().unwrap_or_default();
                let fits = columns(line) + columns(&first.head.0) + columns(reason) + SHORT <= width;
                let between = if fits { " " } else { "\n    " };
                writeln!(out, "  {place}:{between}{told}{gap}{reason}")?;
            } else {
                writeln!(out, "  {place},")?;
            }
        }
        // What starts needs no more than an example.
        let most = if entry.rank == rank_of_starts() { 1 } else { TEXTS };
        let mut shown: Vec<(&[String], Vec<&Reason<'_>>)> = Vec::new();
        for reason in &entry.reasons {
            match shown.iter_mut().find(|(texts, _)| *texts == reason.texts.as_slice()) {
                Some((_, own)) => own.push(reason),
                None => shown.push((&reason.texts, vec![reason])),
            }
        }
        for (texts, reasons) in shown.iter().take(most) {
            let of = if shown.len() > 1 { self.example(reasons, shown.len() > most) } else { String::new() };
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
                writeln!(out, "{gap}{}", paint(text, Tone::Faint, self.options.color))?;
            }
        }
        let mut tail: Vec<&String> = Vec::new();
        for line in entry.reasons.iter().flat_map(|reason| &reason.tail) {
            if !tail.contains(&line) && tail.len() < TEXTS {
                tail.push(line);
            }
        }
        for line in tail {
            writeln!(out, "    {}", wrap(line, 4, 6, width))?;
        }
        writeln!(out)
    }

    /// `on t4, l4`, or with several images `a, b on t4`: images with the same pools are one place.
    fn places(&self, reasons: &[Reason<'_>]) -> Vec<String> {
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
            let names = if self.several { format!("{} ", listed(&names, IMAGES, ", ")) } else { String::new() };
            format!("{names}on {}", listed(&pools, POOLS, ", "))
        };
        places.into_iter().map(text).collect()
    }

    /// The place of some of the verdicts of an entry, before their text.
    fn example(&self, reasons: &[&Reason<'_>], is_example: bool) -> String {
        let Some(first) = reasons.first() else { return String::new() };
        let mut pools: Vec<String> = Vec::new();
        for reason in reasons.iter().filter(|reason| reason.image == first.image) {
            pools.push(clean(reason.pool).into_owned());
        }
        let image = self.names.get(first.image).filter(|_| self.several);
        let image = image.map_or_else(String::new, |name| format!("{name} on "));
        if is_example {
            format!("{image}{}, for example: ", clean(first.pool))
        } else {
            format!("{image}{}: ", listed(&pools, IMAGES, ", "))
        }
    }
}

/// So many columns are kept between the place and the verdict.
const SHORT: usize = 6;

/// The step that decided: the one that stops, else the first that is unknown, else the one that takes the route.
fn deciding<'a>(scenario: &'a Scenario, verdict: &Verdict) -> Option<&'a Step> {
    let with = |result: StepStatus| scenario.steps.iter().find(|step| step.result == result);
    let named = |name: &str| scenario.steps.iter().find(|step| step.step == name && step.result == StepStatus::Passes);
    let of_route = || match verdict.route.as_deref() {
        Some("forward-compat") => named("user-mode-driver").or_else(|| named("loader")),
        Some("minor-version") => named("runtime"),
        _ => named("code").or_else(|| named("runtime")),
    };
    let last = || scenario.steps.iter().rev().find(|step| step.result == StepStatus::Passes);
    with(StepStatus::Stops)
        .or_else(|| with(StepStatus::Unknown).filter(|_| scenario.fate != VerdictKind::Starts))
        .or_else(of_route)
        .or_else(last)
}

/// What a step depends on, in words, with its place or its source; nothing of a field that no pool declares.
pub(super) fn basis(chain: &Chain<'_>, id: &str, source: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(found) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        let value = match (&found.value, found.state) {
            (Some(serde_json::Value::String(text)), FactState::Known) => clean(text).into_owned(),
            (Some(serde_json::Value::Array(list)), FactState::Known) => {
                let words: Vec<&str> = list.iter().filter_map(serde_json::Value::as_str).collect();
                clean(&words.join(", ")).into_owned()
            }
            (_, FactState::Absent) if found.key.starts_with("env.") => "not set".to_owned(),
            (_, FactState::Absent) => "none".to_owned(),
            _ => "unknown".to_owned(),
        };
        // The name of the library is no part of its version.
        let value = if found.key == "image.compat" { value.replace("libcuda.so.", "") } else { value };
        let origin = found.origins.first().map(|origin| format!(" ({})", place(origin))).unwrap_or_default();
        let entry = found.derived_from.iter().find(|id| id.contains('/'));
        let entry = entry.and_then(|id| Some(format!("; source: {}", clean(&source(id)?)))).unwrap_or_default();
        let (name, value) = (fact(&found.key), shorten(&value, LONGEST));
        return Some(format!("{}: {value}{origin}{entry}", clean(&name)));
    }
    if id.starts_with("pool.") {
        let field = chain.pool?.fields.iter().find(|field| field.key == id)?;
        let at = field.location.as_ref().map(|location| format!(" ({})", place(location))).unwrap_or_default();
        return Some(format!("{}: {}{at}", clean(&fact(id)), shorten(&clean(&field.value), LONGEST)));
    }
    id.contains('/').then(|| Some(format!("source: {}", clean(&source(id)?)))).flatten()
}
