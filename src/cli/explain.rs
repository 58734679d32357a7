//! `imagelint explain`: the page of a rule, an outcome, an error or a line of a log.

use std::io;
use std::io::Read as _;
use std::io::Write as _;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::ExplainArgs;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::output::read_rules;
use crate::cli::rules;
use crate::cli::streams;
use crate::knowledge::ErrorRow;
use crate::knowledge::Knowledge;
use crate::knowledge::MessageRow;
use crate::knowledge::RowInfo;
use crate::report::escape::clean;
use crate::rules::Match;
use crate::rules::Page;
use crate::rules::errors;
use crate::rules::explain;
use crate::rules::lines;
use crate::rules::near;

/// The standard input is read no further than this.
const LARGEST: u64 = 1 << 20;

/// Runs it.
pub(crate) fn run(options: &ExplainArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let text = match options.text.as_slice() {
        [one] if one == "-" => {
            let mut bytes = Vec::new();
            io::stdin().lock().take(LARGEST).read_to_end(&mut bytes)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        words => words.join(" "),
    };
    let book = read_rules(&options.rules)?;
    let found = explain(&text, &book, knowledge);
    let near = if found.is_empty() { near(&text, &book, knowledge) } else { Vec::new() };
    let (errors, lines) = (errors(&text, knowledge), lines(&text, knowledge));
    let mut out = streams::out();
    match options.format {
        Format::Json => writeln!(out, "{:#}", in_json(&text, &found, (&errors, &lines), &near))?,
        Format::Human if found.is_empty() && !(errors.is_empty() && lines.is_empty()) => {
            errors.iter().try_for_each(|row| of_error(&mut out, row))?;
            lines.iter().try_for_each(|row| of_line(&mut out, row))?;
        }
        Format::Human => print(&mut out, &text, &found, &near)?,
    }
    Ok(if found.is_empty() && errors.is_empty() && lines.is_empty() { Exit::Nothing } else { Exit::Clean })
}

fn print(out: &mut impl io::Write, text: &str, found: &[Match<'_>], near: &[String]) -> io::Result<()> {
    let Some((best, others)) = found.split_first() else {
        let short: String = text.trim().chars().take(80).collect();
        writeln!(out, "no rule, outcome, error or known message in `{}`", clean(&short))?;
        if near.is_empty() {
            writeln!(out, "imagelint rules list tells the rules")?;
        }
        if !near.is_empty() {
            writeln!(out, "nearest: {}", clean(&near.join(", ")))?;
        }
        return Ok(());
    };
    writeln!(out, "{}\n", clean(&best.why))?;
    page(out, best.page)?;
    if !others.is_empty() {
        writeln!(out, "\nor it is:")?;
    }
    for other in others {
        writeln!(out, "  {:<22} {}", other.page.name, clean(&other.page.summary()))?;
    }
    Ok(())
}

/// An error that no page is about, as the tables have it.
fn of_error(out: &mut impl io::Write, row: &ErrorRow) -> io::Result<()> {
    let names: Vec<&str> = std::iter::once(row.name).chain(row.driver_name).collect();
    writeln!(out, "error {} ({}): {}", row.code, names.join(", "), row.text)?;
    without_page(out, row.means, &row.info)
}

/// A line of a log that no page is about, as the tables have it.
fn of_line(out: &mut impl io::Write, row: &MessageRow) -> io::Result<()> {
    writeln!(out, "a log says `{}`", row.says.join(" … "))?;
    without_page(out, row.means, &row.info)
}

/// What is told where no page is: what it means, and where that is from.
fn without_page(out: &mut impl io::Write, means: Option<&str>, info: &RowInfo) -> io::Result<()> {
    if let Some(means) = means {
        writeln!(out, "it means: {means}")?;
    }
    writeln!(out, "no page is about it: nothing that the image or the fleet file says decides whether it comes")?;
    writeln!(out, "source: {}, checked {}", clean(info.source), info.checked)
}

/// A page without its header and examples.
fn page(out: &mut impl io::Write, page: &Page) -> io::Result<()> {
    writeln!(out, "{} ({}, {})", page.name, page.severity.word(), page.persona.word())?;
    let sections = &page.sections;
    for (title, text) in [
        ("What goes wrong", &sections.wrong),
        ("Why", &sections.why),
        ("What to do", &sections.remedy),
        ("When to ignore it", &sections.ignore),
        ("References", &sections.references),
    ] {
        if !text.is_empty() {
            writeln!(out, "\n{title}")?;
        }
        for line in text.lines().filter(|line| !line.trim_start().starts_with("```")) {
            writeln!(out, "{}", format!("  {}", clean(line)).trim_end())?;
        }
    }
    writeln!(out, "\nexamples: imagelint rules show {}", page.name)
}

fn in_json(text: &str, found: &[Match<'_>], (errors, lines): (&[&ErrorRow], &[&MessageRow]), near: &[String]) -> Value {
    let of_row = |row: &&ErrorRow| {
        json!({
            "code": row.code, "name": row.name, "driver_name": row.driver_name, "text": row.text, "means": row.means,
        })
    };
    let of_line = |row: &&MessageRow| json!({ "says": row.says, "means": row.means });
    let of_match = |one: &Match<'_>| {
        let mut value = rules::of_page(one.page);
        let sections = &one.page.sections;
        value["why"] = json!(one.why);
        value["sections"] = json!({
            "wrong": sections.wrong, "why": sections.why, "remedy": sections.remedy, "ignore": sections.ignore,
            "references": sections.references,
        });
        value
    };
    json!({ "asked": text.trim(), "matches": found.iter().map(of_match).collect::<Vec<_>>(), "errors": errors.iter().map(of_row).collect::<Vec<_>>(), "lines": lines.iter().map(of_line).collect::<Vec<_>>(), "nearest": near })
}
