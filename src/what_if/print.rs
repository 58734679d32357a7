//! A changed fleet in print, and as Markdown.

use std::fmt::Write as _;
use std::io;

use crate::compare::list;
use crate::compare::model::Change;
use crate::compare::model::End;
use crate::report::escape::clean;
use crate::report::kinds::VerdictKind;
use crate::report::markdown::code;
use crate::report::markdown::in_cell;
use crate::report::markdown::prose;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::NO_FLEET;
use crate::report::words::count;
use crate::what_if::model::Driver;
use crate::what_if::model::WhatIf;

/// So many images are named in a row.
const NAMED: usize = 6;
/// Longest comment in bytes, below the 65,536 characters that forges take.
const MOST: usize = 60_000;

/// Writes it for a person.
pub fn human(told: &WhatIf, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for error in &told.errors {
        writeln!(out, "{}: {}", clean(&error.input), clean(&error.message))?;
    }
    if told.fleet.built_in {
        writeln!(out, "{NO_FLEET}\n")?;
    }
    writeln!(out, "{}", paint(&clean(&told.changes.join(", ")), Tone::Strong, color))?;
    for image in &told.changed {
        writeln!(out, "  {}", clean(&image.name))?;
        for pool in &image.pools {
            let (before, after) = (cell(pool.before.as_ref()), cell(pool.after.as_ref()));
            let tone = match pool.change {
                Change::Breaks => Tone::Bad,
                Change::Works => Tone::Good,
                _ => Tone::Open,
            };
            writeln!(out, "    {}: {} -> {}", clean(&pool.pool), clean(&before), paint(&clean(&after), tone, color))?;
        }
    }
    for line in sentences(told) {
        writeln!(out, "{}", clean(&line))?;
    }
    writeln!(out, "{}", clean(&told.summary.join("; ")))
}

fn cell(end: Option<&End>) -> String {
    end.map_or_else(|| "-".to_owned(), End::cell)
}

/// What is ready, and which drivers are needed.
fn sentences(told: &WhatIf) -> Vec<String> {
    let mut lines = Vec::new();
    for pool in &told.ready {
        for (verb, images) in [
            ("ready", &pool.ready),
            ("ready through PTX JIT", &pool.jit),
            ("not ready", &pool.fail),
            ("unknown", &pool.open),
        ] {
            if !images.is_empty() {
                lines.push(format!("new pool `{}`: {} {verb}: {}", pool.pool, images.len(), some(images)));
            }
        }
        if !pool.unseen.is_empty() {
            let unseen = some(&pool.unseen);
            lines.push(format!(
                "new pool `{}`: {} of these not fully inspected: {unseen}",
                pool.pool,
                pool.unseen.len()
            ));
        }
        for reason in pool.reasons.iter().take(NAMED) {
            lines.push(format!("new pool `{}`: {}: {}", pool.pool, some(&reason.images), reason.message));
        }
        if let more @ 1.. = pool.reasons.len().saturating_sub(NAMED) {
            lines.push(format!(
                "new pool `{}`: {} more; see them with --format json",
                pool.pool,
                count(more, "reason")
            ));
        }
        if !pool.missing.is_empty() {
            let mut told: Vec<&str> = pool.missing.iter().take(NAMED).map(|gap| gap.supply.as_str()).collect();
            told.dedup();
            let more = pool.missing.len().saturating_sub(NAMED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            lines.push(format!("new pool `{}`: to resolve the unknown: {}{more}", pool.pool, told.join("; ")));
        }
    }
    lines.extend(told.drivers.iter().map(driver));
    lines
}

fn some(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 { format!("{} and {more} more", list(&first)) } else { list(&first) }
}

fn driver(of: &Driver) -> String {
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
        let _ = write!(line, "; no driver starts {}", some(&of.never));
    }
    if !of.open.is_empty() {
        let _ = write!(line, "; unknown for {}", some(&of.open));
    }
    line
}

/// What stands in front of an end.
fn sign(end: Option<&End>) -> &'static str {
    match end.map(|end| end.fate) {
        Some(VerdictKind::Starts) => "✅ ",
        Some(VerdictKind::Fails) => "❌ ",
        Some(VerdictKind::NotApplicable) => "",
        _ => "❓ ",
    }
}

/// Writes it as Markdown.
pub fn markdown(told: &WhatIf, out: &mut dyn io::Write) -> io::Result<()> {
    let changes = prose(&told.changes.join(", "));
    let mut text = format!("## imagelint: the fleet {changes}\n\n{}\n", prose(&told.summary.join("; ")));
    if told.fleet.built_in {
        let _ = writeln!(text, "\n{}", prose(NO_FLEET));
    }
    for error in &told.errors {
        let _ = writeln!(text, "\n- not read: {}: {}", code(&error.input), prose(&error.message));
    }
    if !told.changed.is_empty() {
        text.push_str("\n| image | pool | before | after |\n|---|---|---|---|\n");
    }
    let mut left = 0;
    for (image, pool) in told.changed.iter().flat_map(|image| image.pools.iter().map(move |pool| (image, pool))) {
        let sign = match pool.change {
            Change::Breaks => "❌ ",
            Change::Works => "✅ ",
            // By another route, or with another outcome.
            Change::Otherwise => sign(pool.after.as_ref()),
            _ => "❓ ",
        };
        let [name, on] = [&image.name, &pool.pool].map(|name| in_cell(&code(name)));
        let [before, after] = [&pool.before, &pool.after].map(|end| prose(&cell(end.as_ref())));
        let row = format!("| {name} | {on} | {before} | {sign}{after} |\n");
        if MOST < text.len() + row.len() {
            left += 1;
        } else {
            text.push_str(&row);
        }
    }
    if left > 0 {
        let _ = write!(text, "\n{left} more rows are omitted for length; see them with --format json.\n");
    }
    text.push('\n');
    for line in sentences(told) {
        let line = format!("- {}\n", prose(&line));
        if text.len() + line.len() < MOST + 4_000 {
            text.push_str(&line);
        }
    }
    out.write_all(text.as_bytes())
}
