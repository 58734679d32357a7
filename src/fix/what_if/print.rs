//! Prints the report on a changed fleet for a terminal, and as Markdown.

use std::fmt::Write as _;
use std::io;

use crate::fix::compare::model::{ComparedVerdict, VerdictChange};
use crate::fix::compare::quoted_list;
use crate::fix::what_if::model::{WhatIfDriver, WhatIfReport};
use crate::report::escape::escape_one_line;
use crate::report::kinds::VerdictKind;
use crate::report::markdown::{code_span, escape_prose, escape_table_cell};
use crate::report::phrases::{NO_FLEET, pluralize};
use crate::report::terminal_colors::{TextStyle, paint};

/// How many images or reasons one line lists.
const MAX_LISTED_NAMES: usize = 6;
/// Maximum length of a comment in bytes, below the 65,536 characters that code hosting services accept.
const MAX_MARKDOWN_BYTES: usize = 60_000;

/// Writes the report for a terminal.
pub fn write_human(report: &WhatIfReport, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for error in &report.errors {
        writeln!(out, "{}: {}", escape_one_line(&error.input), escape_one_line(&error.message))?;
    }
    if report.fleet.built_in {
        writeln!(out, "{NO_FLEET}\n")?;
    }
    writeln!(out, "{}", paint(&escape_one_line(&report.changes.join(", ")), TextStyle::Strong, color))?;
    for image in &report.changed {
        writeln!(out, "  {}", escape_one_line(&image.name))?;
        for pool in &image.pools {
            let (before, after) = (verdict_cell(pool.before.as_ref()), verdict_cell(pool.after.as_ref()));
            let tone = match pool.change {
                VerdictChange::Breaks => TextStyle::Bad,
                VerdictChange::Works => TextStyle::Good,
                _ => TextStyle::Open,
            };
            writeln!(
                out,
                "    {}: {} -> {}",
                escape_one_line(&pool.pool),
                escape_one_line(&before),
                paint(&escape_one_line(&after), tone, color)
            )?;
        }
    }
    for line in readiness_and_driver_lines(report) {
        writeln!(out, "{}", escape_one_line(&line))?;
    }
    writeln!(out, "{}", escape_one_line(&report.summary.join("; ")))
}

/// Returns the text for a verdict, or `-`.
fn verdict_cell(end: Option<&ComparedVerdict>) -> String {
    end.map_or_else(|| "-".to_owned(), ComparedVerdict::short_text)
}

/// Returns the lines about readiness for new pools and about needed drivers.
fn readiness_and_driver_lines(report: &WhatIfReport) -> Vec<String> {
    let mut lines = Vec::new();
    for pool in &report.ready {
        for (verb, images) in [
            ("ready", &pool.ready),
            ("ready through PTX JIT", &pool.jit),
            ("not ready", &pool.fail),
            ("unknown", &pool.open),
        ] {
            if !images.is_empty() {
                lines.push(format!("new pool `{}`: {} {verb}: {}", pool.pool, images.len(), quoted_list_start(images)));
            }
        }
        if !pool.unseen.is_empty() {
            let uninspected = quoted_list_start(&pool.unseen);
            lines.push(format!(
                "new pool `{}`: {} of these not fully inspected: {uninspected}",
                pool.pool,
                pool.unseen.len()
            ));
        }
        for reason in pool.reasons.iter().take(MAX_LISTED_NAMES) {
            lines.push(format!("new pool `{}`: {}: {}", pool.pool, quoted_list_start(&reason.images), reason.message));
        }
        if let more @ 1.. = pool.reasons.len().saturating_sub(MAX_LISTED_NAMES) {
            lines.push(format!(
                "new pool `{}`: {} more; see them with --format json",
                pool.pool,
                pluralize(more, "reason")
            ));
        }
        if !pool.missing.is_empty() {
            let mut suggestions: Vec<&str> =
                pool.missing.iter().take(MAX_LISTED_NAMES).map(|gap| gap.supply.as_str()).collect();
            suggestions.dedup();
            let more = pool.missing.len().saturating_sub(MAX_LISTED_NAMES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            lines.push(format!("new pool `{}`: to resolve the unknown: {}{more}", pool.pool, suggestions.join("; ")));
        }
    }
    lines.extend(report.drivers.iter().map(driver_line));
    lines
}

/// Joins the first quoted names, and adds the number of the others.
fn quoted_list_start(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_LISTED_NAMES).map(String::as_str).collect();
    let more = names.len().saturating_sub(MAX_LISTED_NAMES);
    if more > 0 { format!("{} and {more} more", quoted_list(&first)) } else { quoted_list(&first) }
}

/// Returns the line about the smallest driver of a pool.
fn driver_line(of: &WhatIfDriver) -> String {
    let has = of.driver.as_ref().map_or_else(|| "not declared".to_owned(), |driver| format!("now {driver}"));
    let mut line = match &of.smallest {
        Some(driver) => {
            let enough = match (of.enough, of.below) {
                (true, true) => ", with which they also start",
                (true, false) => ", which is enough",
                (false, _) => "",
            };
            let until = match &of.largest {
                // What newer drivers do is a matter of the GPUs that they add.
                Some(last) if of.any_gpu => format!(" to {last} on any GPU, because the pool declares none"),
                Some(last) => format!(", and the largest is {last}"),
                None => String::new(),
            };
            let older = of
                .older
                .as_ref()
                .map_or_else(String::new, |older| format!("; some older drivers from {older} also start them"));
            format!("pool `{}`: smallest driver for its images is {driver}{until} ({has}{enough}){older}", of.pool)
        }
        None if of.images == of.never.len() + of.open.len() => {
            format!("pool `{}`: no driver is known to start any of its images ({has})", of.pool)
        }
        None => format!("pool `{}`: no driver starts all of its images ({has})", of.pool),
    };
    if !of.never.is_empty() {
        let _ = write!(line, "; no driver starts {}", quoted_list_start(&of.never));
    }
    if !of.open.is_empty() {
        let _ = write!(line, "; unknown for {}", quoted_list_start(&of.open));
    }
    line
}

/// Returns the symbol in front of a verdict.
fn verdict_symbol(end: Option<&ComparedVerdict>) -> &'static str {
    match end.map(|end| end.fate) {
        Some(VerdictKind::Starts) => "✅ ",
        Some(VerdictKind::Fails) => "❌ ",
        Some(VerdictKind::NotApplicable) => "",
        _ => "❓ ",
    }
}

/// Writes the report as Markdown.
pub fn write_markdown(report: &WhatIfReport, out: &mut dyn io::Write) -> io::Result<()> {
    let changes = escape_prose(&report.changes.join(", "));
    let mut text = format!("## imagelint: the fleet {changes}\n\n{}\n", escape_prose(&report.summary.join("; ")));
    if report.fleet.built_in {
        let _ = writeln!(text, "\n{}", escape_prose(NO_FLEET));
    }
    for error in &report.errors {
        let _ = writeln!(text, "\n- not read: {}: {}", code_span(&error.input), escape_prose(&error.message));
    }
    if !report.changed.is_empty() {
        text.push_str("\n| image | pool | before | after |\n|---|---|---|---|\n");
    }
    let mut left = 0;
    for (image, pool) in report.changed.iter().flat_map(|image| image.pools.iter().map(move |pool| (image, pool))) {
        let sign = match pool.change {
            VerdictChange::Breaks => "❌ ",
            VerdictChange::Works => "✅ ",
            // By another route, or with another outcome.
            VerdictChange::Otherwise => verdict_symbol(pool.after.as_ref()),
            _ => "❓ ",
        };
        let [name, on] = [&image.name, &pool.pool].map(|name| escape_table_cell(&code_span(name)));
        let [before, after] = [&pool.before, &pool.after].map(|end| escape_prose(&verdict_cell(end.as_ref())));
        let row = format!("| {name} | {on} | {before} | {sign}{after} |\n");
        if MAX_MARKDOWN_BYTES < text.len() + row.len() {
            left += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left > 0 {
        let _ = write!(text, "\n{left} more rows are omitted for length; see them with --format json.\n");
    }
    text.push('\n');
    for line in readiness_and_driver_lines(report) {
        let line = format!("- {}\n", escape_prose(&line));
        if text.len() + line.len() < MAX_MARKDOWN_BYTES + 4_000 {
            text.push_str(&line);
        }
    }
    out.write_all(text.as_bytes())
}
