//! `imagelint explain`: the page about a rule, an outcome, an error or a line of a log.

use std::collections::VecDeque;
use std::io;
use std::io::IsTerminal as _;
use std::io::Read;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::args::ExplainArgs;
use crate::cli::args::Format;
use crate::cli::exit::Exit;
use crate::cli::output::read_rules;
use crate::cli::outputs::width;
use crate::cli::pages;
use crate::cli::rules;
use crate::cli::streams;
use crate::knowledge::ErrorRow;
use crate::knowledge::Knowledge;
use crate::knowledge::MessageRow;
use crate::knowledge::RowInfo;
use crate::report::escape::clean;
use crate::report::words::count;
use crate::report::wrap::wrap;
use crate::rules::By;
use crate::rules::Match;
use crate::rules::deciding;
use crate::rules::errors;
use crate::rules::explain;
use crate::rules::launch_word;
use crate::rules::launch_words;
use crate::rules::lines;
use crate::rules::misspelled;
use crate::rules::near;
use crate::rules::verdict_word;
use crate::rules::verdict_words;

/// So much of the beginning of the standard input is read, and as much of its end: errors of a log stand there.
const LARGEST: u64 = 1 << 20;
/// So many pages are listed if a text is a part of several messages.
const LISTED: usize = 5;

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
    let (verdict, launch) = (verdict_word(asked, knowledge), launch_word(asked, knowledge));
    let no_word = verdict.is_none() && launch.is_none();
    let nothing = found.is_empty() && errors.is_empty() && lines.is_empty() && no_word;
    let mut out = streams::out();
    let width = width(io::stdout().is_terminal());
    match options.format {
        Format::Json => {
            let mut value = in_json(&text, &found, (&errors, &lines), &near);
            value["line"] = json!(deciding);
            let word = verdict.map(|row| (row.word, row.means)).or(launch.map(|row| (row.word, row.means)));
            value["word"] = json!(word.map(|(word, means)| json!({ "word": word, "means": means })));
            writeln!(out, "{value:#}")?;
        }
        Format::Human => {
            if let Some(line) = deciding {
                writeln!(out, "The log line that matches is `{}`.\n", clean(line))?;
            }
            if nothing {
                match misspelled(asked, &book).filter(|_| !several) {
                    Some(page) => {
                        let line = format!("`{}` is unknown; the nearest rule is {}.", clean(asked.trim()), page.name);
                        writeln!(out, "{}\n", wrap(&line, 0, 0, width))?;
                        pages::print(&mut out, page, width)?;
                    }
                    None if several => of_log(&mut out, &text, width)?,
                    None => unknown(&mut out, asked, &near, width)?,
                }
                return Ok(Exit::Nothing);
            }
            let verdict = verdict.filter(|_| found.is_empty()).map(|row| verdict_words(asked, row));
            for sentence in verdict.into_iter().chain(launch.map(launch_words)) {
                writeln!(out, "{}", wrap(&clean(&sentence), 0, 0, width))?;
            }
            if found.is_empty() {
                errors.iter().try_for_each(|row| of_error(&mut out, row, width))?;
                lines.iter().try_for_each(|row| of_line(&mut out, row, width))?;
            } else {
                print(&mut out, asked, &found, width)?;
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
fn unknown(out: &mut impl io::Write, text: &str, near: &[String], width: usize) -> io::Result<()> {
    let text = text.trim();
    let print = |out: &mut dyn io::Write, line: &str| writeln!(out, "{}", wrap(line, 0, 2, width));
    if text.is_empty() {
        return print(
            out,
            "nothing to explain; pass an error number (imagelint explain 209), the full log line, or a log (imagelint \
             explain - < job.log)",
        );
    }
    if Path::new(text).is_file() {
        let quoted = if text.contains(char::is_whitespace) { format!("'{text}'") } else { text.to_owned() };
        return print(out, &format!("`{}` is a file: imagelint explain - < {}", clean(text), clean(&quoted)));
    }
    let short: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
    if text.chars().all(|sign| sign.is_ascii_digit()) {
        return print(out, &format!("{short} is not in the database of CUDA errors; try the full log line"));
    }
    let nothing = format!(
        "no rule, error or log message matches `{}`; try an error number such as 209, or the full log line",
        clean(&short)
    );
    print(out, &nothing)?;
    if near.is_empty() {
        return print(out, "all rules: imagelint rules list");
    }
    print(out, &format!("nearest: {}", clean(&near.join(", "))))
}

/// That no line of a log is known.
fn of_log(out: &mut impl io::Write, text: &str, width: usize) -> io::Result<()> {
    let lines = count(text.trim().lines().count(), "line");
    let line = format!("no known error in these {lines}; pass the log from its beginning, or the line with the error");
    writeln!(out, "{}", wrap(&line, 0, 2, width))
}

fn print(out: &mut impl io::Write, asked: &str, found: &[Match<'_>], width: usize) -> io::Result<()> {
    let Some((best, others)) = found.split_first() else { return Ok(()) };
    if best.by == By::Part {
        let line = format!("`{}` is a part of several known messages:", clean(asked.trim()));
        writeln!(out, "{}", wrap(&line, 0, 0, width))?;
        list(out, found.iter().take(LISTED), width)?;
        return writeln!(out, "\n{}", wrap("Print a page: imagelint explain NAME, or pass the full line", 0, 2, width));
    }
    if best.by != By::Name {
        writeln!(out, "{}\n", wrap(&clean(&best.why), 0, 0, width))?;
    }
    pages::print(out, best.page, width)?;
    if !others.is_empty() {
        writeln!(out, "\nOther matching pages:")?;
    }
    list(out, others.iter(), width)
}

/// Pages with what they detect, a line each.
fn list<'m>(out: &mut impl io::Write, pages: impl Iterator<Item = &'m Match<'m>>, width: usize) -> io::Result<()> {
    let pages: Vec<&Match<'_>> = pages.collect();
    let column = pages.iter().map(|one| one.page.name.chars().count()).max().unwrap_or_default();
    pages.iter().try_for_each(|one| {
        let text = wrap(&clean(&one.page.summary()), column + 3, column + 3, width);
        writeln!(out, "  {:<column$} {text}", one.page.name)
    })
}

/// An error that no page is about, as the tables have it.
fn of_error(out: &mut impl io::Write, row: &ErrorRow, width: usize) -> io::Result<()> {
    let names: Vec<&str> = std::iter::once(row.name).chain(row.driver_name).collect();
    let text = row.text.trim_end_matches('.');
    let line = format!("CUDA error {} ({}): {text}.", row.code, names.join(", "));
    writeln!(out, "{}", wrap(&line, 0, 0, width))?;
    without_page(out, row.means, &row.info, width)
}

/// A line of a log that no page is about, as the tables have it.
fn of_line(out: &mut impl io::Write, row: &MessageRow, width: usize) -> io::Result<()> {
    let line = format!("This log message is known: `{}`.", row.says.join(" … "));
    writeln!(out, "{}", wrap(&line, 0, 0, width))?;
    without_page(out, row.means, &row.info, width)
}

/// What is known without a page: the cause, and its source.
fn without_page(out: &mut impl io::Write, means: Option<&str>, info: &RowInfo, width: usize) -> io::Result<()> {
    if let Some(means) = means {
        writeln!(out, "{}", wrap(&format!("The cause: {means}."), 0, 0, width))?;
    }
    let none = "No rule covers this error, because neither the image nor the fleet file determines it.";
    writeln!(out, "{}", wrap(none, 0, 0, width))?;
    let source = format!("source: {}, checked {}", clean(info.source), info.checked);
    writeln!(out, "{}", wrap(&source, 0, 2, width))
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
