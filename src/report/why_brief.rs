//! The reason of a verdict on one screen: the deciding step, and what it depends on, in words.

use std::io;

use crate::report::escape::clean;
use crate::report::escape::shorten;
use crate::report::hosts::groups;
use crate::report::model::Scenario;
use crate::report::model::Step;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::why::Chain;
use crate::report::why::WhyOptions;
use crate::report::words::fact;
use crate::report::words::fate_word;
use crate::report::words::place;
use crate::report::words::reason;
use crate::report::words::sign;
use crate::report::words::word;
use crate::report::wrap::wrap;

/// So many kinds of hosts, facts and gaps are shown of a verdict.
const HOSTS: usize = 2;
const FACTS: usize = 4;
const GAPS: usize = 2;
/// Longest value, in characters.
const LONGEST: usize = 60;

/// Writes the verdict with its deciding step.
pub(super) fn brief(
    chain: &Chain<'_>,
    verdict: &Verdict,
    options: &WhyOptions<'_>,
    source: &dyn Fn(&str) -> Option<String>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let told = format!("{} {}", sign(verdict, false), clean(word(verdict)));
    let reason = reason(verdict);
    let gap = if reason.is_empty() { "" } else { ": " };
    writeln!(
        out,
        "  on {}: {}{gap}{reason}",
        clean(&verdict.pool),
        paint(&told, tone_of(&verdict.fate), options.color)
    )?;
    let of_verdict = |scenario: &Scenario| scenario.fate == verdict.fate;
    let mut hosts = groups(&verdict.scenarios);
    if hosts.iter().any(|group| of_verdict(group.first)) {
        hosts.retain(|group| of_verdict(group.first));
    }
    // Hosts with the same deciding step are one.
    let mut texts: Vec<&str> = Vec::new();
    hosts.retain(|group| {
        let text = deciding(group.first, verdict).map_or("", |step| step.text.as_str());
        let new = !texts.contains(&text);
        if new {
            texts.push(text);
        }
        new
    });
    if hosts.is_empty() && !verdict.message.is_empty() {
        writeln!(out, "    {}", wrap(&clean(&verdict.message), 4, 6, options.width))?;
    }
    for group in hosts.iter().take(HOSTS) {
        if let Some(host) = group.hosts.first().filter(|_| texts.len() > 1) {
            writeln!(
                out,
                "    {}",
                wrap(&format!("with {host}: {}", fate_word(&group.first.fate)), 4, 6, options.width)
            )?;
        }
        if let Some(step) = deciding(group.first, verdict) {
            let text = format!("{}: {}", clean(&step.step), clean(&step.text));
            writeln!(out, "    {}", wrap(&text, 4, 6, options.width))?;
            let facts = step.facts.iter().filter_map(|id| basis(chain, id, source));
            for line in facts.take(FACTS) {
                let line = cut(&line, options.width.saturating_sub(6));
                writeln!(out, "      {}", paint(&line, Tone::Faint, options.color))?;
            }
        }
    }
    let mut gaps: Vec<&str> = verdict.missing.iter().map(|gap| gap.supply.as_str()).collect();
    gaps.dedup();
    for gap in gaps.into_iter().take(GAPS) {
        writeln!(out, "    {}", wrap(&format!("to know: {}", clean(gap)), 4, 6, options.width))?;
    }
    for unseen in &verdict.not_seen {
        writeln!(out, "    {}", wrap(&format!("not inspected: {}", clean(unseen)), 4, 6, options.width))?;
    }
    writeln!(out)
}

/// The text in one line of a width; a source may be long, and every step shows it in full.
fn cut(text: &str, width: usize) -> String {
    let width = width.max(LONGEST);
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// The step that decided: the one that stops, else the first that is unknown, else the one that takes the route.
fn deciding<'a>(scenario: &'a Scenario, verdict: &Verdict) -> Option<&'a Step> {
    let with = |results: &[&str]| scenario.steps.iter().find(|step| results.contains(&step.result.as_str()));
    let named = |name: &str| scenario.steps.iter().find(|step| step.step == name && step.result == "passes");
    let of_route = || match verdict.route.as_deref() {
        Some("forward-compat") => named("user-mode-driver").or_else(|| named("loader")),
        Some("minor-version") => named("runtime"),
        _ => named("code").or_else(|| named("runtime")),
    };
    let last = || scenario.steps.iter().rev().find(|step| step.result == "passes");
    with(&["stops"])
        .or_else(|| with(&["unknown"]).filter(|_| scenario.fate != "starts"))
        .or_else(of_route)
        .or_else(last)
}

/// What a step depends on, in words, with its place or its source; nothing of a field that no pool declares.
fn basis(chain: &Chain<'_>, id: &str, source: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(found) = chain.subject.facts.iter().find(|fact| fact.id == id) {
        let value = match (&found.value, found.state.as_str()) {
            (Some(serde_json::Value::String(text)), "known") => clean(text).into_owned(),
            (Some(serde_json::Value::Array(list)), "known") => {
                let words: Vec<&str> = list.iter().filter_map(serde_json::Value::as_str).collect();
                clean(&words.join(", ")).into_owned()
            }
            (_, "absent") => "not set".to_owned(),
            _ => "unknown".to_owned(),
        };
        let origin = found.origins.first().map(|origin| format!(" ({})", place(origin))).unwrap_or_default();
        let entry = found.derived_from.iter().find_map(|id| Some(format!("; {}: {}", entry(id)?, clean(&source(id)?))));
        let (name, value) = (fact(&found.key), shorten(&value, LONGEST));
        return Some(format!("{}: {value}{origin}{}", clean(&name), entry.unwrap_or_default()));
    }
    if id.starts_with("pool.") {
        let field = chain.pool?.fields.iter().find(|field| field.key == id)?;
        let at = field.location.as_ref().map(|location| format!(" ({})", place(location))).unwrap_or_default();
        return Some(format!("{}: {}{at}", clean(&fact(id)), shorten(&clean(&field.value), LONGEST)));
    }
    Some(format!("{}: {}", entry(id)?, clean(&source(id)?)))
}

/// `database entry driver_branches 535`.
fn entry(id: &str) -> Option<String> {
    let (table, row) = id.split_once('/')?;
    Some(format!("database entry {} {}", clean(table), clean(row)))
}
