//! `imagelint explain`: explains a rule, a verdict, an error or a log line.

use std::collections::VecDeque;
use std::io;
use std::io::{IsTerminal as _, Read, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::cli::args::{ExplainArgs, OutputFormat};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::{output_width, read_rule_book};
use crate::cli::{rule_page_text, rules, streams};
use crate::knowledge::{ErrorRow, Knowledge, MessageRow, RowInfo};
use crate::report::escape::escape_one_line;
use crate::report::phrases::pluralize;
use crate::report::wrap::wrap;
use crate::rules::{
    MatchKind, PageMatch, describe_launch_method, explain_report_term, explain_text, find_deciding_line,
    find_launch_method, find_verdict_term, matching_errors, matching_log_messages, misspelled_page, similar_names,
};

/// Maximum number of bytes of the beginning of a log, and of its end.
const MAX_LOG_PART_BYTES: u64 = 1 << 20;
/// Maximum number of pages that are listed if a text is part of several messages.
const MAX_LISTED_PAGES: usize = 5;

/// Runs `imagelint explain`.
pub(crate) fn run(options: &ExplainArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let text = match options.text.as_slice() {
        [one] if one == "-" => read_log(&mut io::stdin().lock())?,
        [] if !io::stdin().is_terminal() => read_log(&mut io::stdin().lock())?,
        [] => {
            let help = "help: pass an error number (imagelint explain 209), the full log line, or a log (imagelint \
                        explain - < job.log)";
            return Err(CommandError::Message(format!("error: nothing to explain\n{help}")));
        }
        words => words.join(" "),
    };
    let book = read_rule_book(&options.rules)?;
    let several = text.trim().lines().nth(1).is_some();
    let deciding = if several { find_deciding_line(&text, &book, knowledge) } else { None };
    let query = deciding.unwrap_or(&text);
    let found = explain_text(query, &book, knowledge);
    let near = if found.is_empty() { similar_names(query, &book, knowledge) } else { Vec::new() };
    let (errors, lines) = (matching_errors(query, knowledge), matching_log_messages(query, knowledge));
    let (verdict, launch) = (find_verdict_term(query, knowledge), find_launch_method(query, knowledge));
    let no_word = verdict.is_none() && launch.is_none();
    let nothing = found.is_empty() && errors.is_empty() && lines.is_empty() && no_word;
    let mut out = streams::stdout();
    let width = output_width(io::stdout().is_terminal());
    match options.format {
        OutputFormat::Json => {
            let mut value = matches_to_json(&text, &found, (&errors, &lines), &near);
            value["line"] = json!(deciding);
            let word = verdict.map(|row| (row.word, row.means)).or(launch.map(|row| (row.word, row.means)));
            value["word"] = json!(word.map(|(word, means)| json!({ "word": word, "means": means })));
            writeln!(out, "{value:#}")?;
        }
        OutputFormat::Human => {
            if let Some(line) = deciding {
                writeln!(out, "The log line that matches is `{}`.\n", escape_one_line(line))?;
            }
            if nothing {
                match misspelled_page(query, &book).filter(|_| !several) {
                    Some(page) => {
                        let line = format!(
                            "`{}` is unknown; the nearest rule is {}.",
                            escape_one_line(query.trim()),
                            page.name
                        );
                        writeln!(out, "{}\n", wrap(&line, 0, 0, width))?;
                        rule_page_text::print_rule_page(&mut out, page, width)?;
                    }
                    None if several => print_unknown_log(&mut out, &text, width)?,
                    None => print_unknown_text(&mut out, query, &near, width)?,
                }
                return Ok(Exit::Nothing);
            }
            let verdict = verdict.filter(|_| found.is_empty()).map(|row| explain_report_term(query, row));
            for sentence in verdict.into_iter().chain(launch.map(describe_launch_method)) {
                writeln!(out, "{}", wrap(&escape_one_line(&sentence), 0, 0, width))?;
            }
            if found.is_empty() {
                errors.iter().try_for_each(|row| print_cuda_error(&mut out, row, width))?;
                lines.iter().try_for_each(|row| print_log_message(&mut out, row, width))?;
            } else {
                print_matches(&mut out, query, &found, width)?;
            }
        }
    }
    Ok(if nothing { Exit::Nothing } else { Exit::Clean })
}

/// Reads the beginning and the end of a log, separated by a line break if anything is omitted.
fn read_log(from: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_LOG_PART_BYTES).read_to_end(&mut bytes)?;
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

/// Prints that a text is unknown, and what to try instead.
fn print_unknown_text(out: &mut impl io::Write, text: &str, near: &[String], width: usize) -> io::Result<()> {
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
        return print(
            out,
            &format!("`{}` is a file: imagelint explain - < {}", escape_one_line(text), escape_one_line(&quoted)),
        );
    }
    let short: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
    if text.chars().all(|sign| sign.is_ascii_digit()) {
        return print(out, &format!("{short} is not in the database of CUDA errors; try the full log line"));
    }
    let nothing = format!(
        "no rule, error or log message matches `{}`; try an error number such as 209, or the full log line",
        escape_one_line(&short)
    );
    print(out, &nothing)?;
    if near.is_empty() {
        return print(out, "all rules: imagelint rules list");
    }
    print(out, &format!("nearest: {}", escape_one_line(&near.join(", "))))
}

/// Prints that a log contains no known error.
fn print_unknown_log(out: &mut impl io::Write, text: &str, width: usize) -> io::Result<()> {
    let lines = pluralize(text.trim().lines().count(), "line");
    let line = format!("no known error in these {lines}; pass the log from its beginning, or the line with the error");
    writeln!(out, "{}", wrap(&line, 0, 2, width))
}

/// Prints the best matching page, and a list of the others.
fn print_matches(out: &mut impl io::Write, query: &str, found: &[PageMatch<'_>], width: usize) -> io::Result<()> {
    let Some((best, others)) = found.split_first() else { return Ok(()) };
    if best.by == MatchKind::Part {
        let line = format!("`{}` is a part of several known messages:", escape_one_line(query.trim()));
        writeln!(out, "{}", wrap(&line, 0, 0, width))?;
        print_page_list(out, found.iter().take(MAX_LISTED_PAGES), width)?;
        return writeln!(out, "\n{}", wrap("Print a page: imagelint explain NAME, or pass the full line", 0, 2, width));
    }
    if best.by != MatchKind::Name {
        writeln!(out, "{}\n", wrap(&escape_one_line(&best.match_text), 0, 0, width))?;
    }
    rule_page_text::print_rule_page(out, best.page, width)?;
    if !others.is_empty() {
        writeln!(out, "\nOther matching pages:")?;
    }
    print_page_list(out, others.iter(), width)
}

/// Prints one line for each page: its name and what it detects.
fn print_page_list<'m>(
    out: &mut impl io::Write,
    pages: impl Iterator<Item = &'m PageMatch<'m>>,
    width: usize,
) -> io::Result<()> {
    let pages: Vec<&PageMatch<'_>> = pages.collect();
    let column = pages.iter().map(|one| one.page.name.chars().count()).max().unwrap_or_default();
    pages.iter().try_for_each(|one| {
        let text = wrap(&escape_one_line(&one.page.summary()), column + 3, column + 3, width);
        writeln!(out, "  {:<column$} {text}", one.page.name)
    })
}

/// Prints an error of the compatibility database that no page covers.
fn print_cuda_error(out: &mut impl io::Write, row: &ErrorRow, width: usize) -> io::Result<()> {
    let names: Vec<&str> = std::iter::once(row.name).chain(row.driver_name).collect();
    let text = row.text.trim_end_matches('.');
    let line = format!("CUDA error {} ({}): {text}.", row.code, names.join(", "));
    writeln!(out, "{}", wrap(&line, 0, 0, width))?;
    print_cause_and_source(out, row.means, &row.info, width)
}

/// Prints a log message of the compatibility database that no page covers.
fn print_log_message(out: &mut impl io::Write, row: &MessageRow, width: usize) -> io::Result<()> {
    let line = format!("This log message is known: `{}`.", row.says.join(" … "));
    writeln!(out, "{}", wrap(&line, 0, 0, width))?;
    print_cause_and_source(out, row.means, &row.info, width)
}

/// Prints the cause and the source of an error that no page covers.
fn print_cause_and_source(
    out: &mut impl io::Write,
    means: Option<&str>,
    info: &RowInfo,
    width: usize,
) -> io::Result<()> {
    if let Some(means) = means {
        writeln!(out, "{}", wrap(&format!("The cause: {means}."), 0, 0, width))?;
    }
    let none = "No rule covers this error, because neither the image nor the fleet file determines it.";
    writeln!(out, "{}", wrap(none, 0, 0, width))?;
    let source = format!("source: {}, checked {}", escape_one_line(info.source), info.checked);
    writeln!(out, "{}", wrap(&source, 0, 2, width))
}

/// Returns the matches of a text as JSON.
fn matches_to_json(
    text: &str,
    found: &[PageMatch<'_>],
    (errors, lines): (&[&ErrorRow], &[&MessageRow]),
    near: &[String],
) -> Value {
    let of_row = |row: &&ErrorRow| {
        json!({
            "code": row.code, "name": row.name, "driver_name": row.driver_name, "text": row.text, "means": row.means,
        })
    };
    let of_line = |row: &&MessageRow| json!({ "says": row.says, "means": row.means });
    let of_match = |one: &PageMatch<'_>| {
        let mut value = rules::page_json(one.page);
        let sections = &one.page.sections;
        value["why"] = json!(one.match_text);
        value["sections"] = json!({
            "wrong": sections.wrong, "why": sections.why, "remedy": sections.remedy, "ignore": sections.ignore,
            "references": sections.references,
        });
        value
    };
    json!({ "asked": text.trim(), "matches": found.iter().map(of_match).collect::<Vec<_>>(), "errors": errors.iter().map(of_row).collect::<Vec<_>>(), "lines": lines.iter().map(of_line).collect::<Vec<_>>(), "nearest": near })
}
