//! `imagelint explain`: the page about a rule, an outcome, an error or a line of a log.

use std::collections::VecDeque;
use std::io;
use std::io::IsTerminal as _;
use std::io::Read;
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
use crate::rules::deciding;
use crate::rules::errors;
use crate::rules::explain;
use crate::rules::lines;
use crate::rules::near;
use crate::rules::verdict_word;

/// So much of the beginning of the standard input is read, and as much of its end: errors of a log stand there.
const LARGEST: u64 = 1 << 20;

/// Runs it.
pub(crate) fn run(options: &ExplainArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let text = match options.text.as_slice() {
        [one] if one == "-" => log(&mut io::stdin().lock())?,
        [] if !io::stdin().is_terminal() => log(&mut io::stdin().lock())?,
        [] => {
            let help = "help: pass an error number (imagelint explain 209), the full log line, or a log (imagelint \
                        explain - < job.log)";
            return Err(Failure::Said(format!("error: nothing to explain\n{help}")));
        }
        words => words.join(" "),
    };
    let book = read_rules(&options.rules)?;
    let several = text.trim().lines().nth(1).is_some();
    let deciding = if several { deciding(&text, &book, knowledge) } else { None };
    let asked = deciding.unwrap_or(&text);
    let found = explain(asked, &book, knowledge);
    let near = if found.is_empty() { near(asked, &book, knowledge) } else { Vec::new() };
    let (errors, lines) = (errors(asked, knowledge), lines(asked, knowledge));
    let word = verdict_word(asked, knowledge);
    let nothing = found.is_empty() && errors.is_empty() && lines.is_empty() && word.is_none();
    let mut out = streams::out();
    match options.format {
        Format::Json => {
            let mut value = in_json(&text, &found, (&errors, &lines), &near);
            value["line"] = json!(deciding);
            value["word"] = json!(word.map(|row| json!({ "word": row.word, "means": row.means })));
            writeln!(out, "{value:#}")?;
        }
        Format::Human => {
            if let Some(line) = deciding {
                writeln!(out, "The log line that matches is `{}`.\n", clean(line))?;
            }
            match word {
                _ if nothing => unknown(&mut out, asked, &near)?,
                Some(row) if found.is_empty() => writeln!(out, "`{}` in a report means: {}.", row.word, row.means)?,
                _ if found.is_empty() => {
                    errors.iter().try_for_each(|row| of_error(&mut out, row))?;
                    lines.iter().try_for_each(|row| of_line(&mut out, row))?;
                }
                _ => print(&mut out, &found)?,
            }
        }
    }
    Ok(if nothing { Exit::Nothing } else { Exit::Clean })
}

/// The beginning and the end of a log, with a line break in between if something is left out.
fn log(from: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LARGEST).read_to_end(&mut bytes)?;
    let limit = bytes.len();
    let mut tail = VecDeque::new();
    let mut chunk = vec![0; 1 << 16];
    let mut dropped = false;
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        tail.extend(chunk.iter().take(read).copied());
        let over = tail.len().saturating_sub(limit);
        dropped |= over > 0;
        tail.drain(..over);
    }
    if dropped {
        bytes.push(b'\n');
    }
    bytes.extend(tail);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// That nothing is known, and what to try.
fn unknown(out: &mut impl io::Write, text: &str, near: &[String]) -> io::Result<()> {
    let text = text.trim();
    let short: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
    let what = if short.is_empty() { "an empty text".to_owned() } else { format!("`{}`", clean(&short)) };
    writeln!(
        out,
        "no rule, error or log message matches {what}; try an error number such as 209, or the full log line"
    )?;
    if near.is_empty() {
        return writeln!(out, "all rules: imagelint rules list");
    }
    writeln!(out, "nearest: {}", clean(&near.join(", ")))
}

fn print(out: &mut impl io::Write, found: &[Match<'_>]) -> io::Result<()> {
    let Some((best, others)) = found.split_first() else { return Ok(()) };
    writeln!(out, "{}\n", clean(&best.why))?;
    page(out, best.page)?;
    if !others.is_empty() {
        writeln!(out, "\nOther matching pages:")?;
    }
    for other in others {
        writeln!(out, "  {:<22} {}", other.page.name, clean(&other.page.summary()))?;
    }
    Ok(())
}

/// An error that no page is about, as the tables have it.
fn of_error(out: &mut impl io::Write, row: &ErrorRow) -> io::Result<()> {
    let names: Vec<&str> = std::iter::once(row.name).chain(row.driver_name).collect();
    let text = row.text.trim_end_matches('.');
    writeln!(out, "CUDA error {} ({}) means: {text}.", row.code, names.join(", "))?;
    without_page(out, row.means, &row.info)
}

/// A line of a log that no page is about, as the tables have it.
fn of_line(out: &mut impl io::Write, row: &MessageRow) -> io::Result<()> {
    writeln!(out, "This log message is known: `{}`.", row.says.join(" … "))?;
    without_page(out, row.means, &row.info)
}

/// What is known without a page: the cause, and its source.
fn without_page(out: &mut impl io::Write, means: Option<&str>, info: &RowInfo) -> io::Result<()> {
    if let Some(means) = means {
        writeln!(out, "The cause: {means}.")?;
    }
    writeln!(out, "No rule covers this error, because neither the image nor the fleet file determines it.")?;
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
