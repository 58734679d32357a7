//! A comparison in print, and as Markdown for a comment on a pull request.

use std::fmt::Write as _;
use std::io;

use crate::compare::model::Change;
use crate::compare::model::Comparison;
use crate::compare::model::End;
use crate::compare::model::OnPool;
use crate::compare::model::Pair;
use crate::report::escape::clean;
use crate::report::markdown::Room;
use crate::report::markdown::code;
use crate::report::markdown::in_cell;
use crate::report::markdown::prose;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::NO_FLEET;
use crate::report::words::on_pools;

/// Writes it for a person.
pub fn human(told: &Comparison, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for error in &told.errors {
        writeln!(out, "{}: {}", clean(&error.input), clean(&error.message))?;
    }
    if told.images.is_empty() {
        return writeln!(out, "nothing to compare");
    }
    if told.fleet.built_in {
        writeln!(out, "{NO_FLEET}\n")?;
    }
    for note in &told.notes {
        writeln!(out, "note: {}", clean(note))?;
    }
    if !told.notes.is_empty() {
        writeln!(out)?;
    }
    for pair in told.images.iter().filter(|pair| told.images.len() == 1 || changed(pair)) {
        writeln!(out, "{}", paint(&clean(&heading(pair)), Tone::Strong, color))?;
        for line in &pair.summary {
            writeln!(out, "  {}", clean(line))?;
        }
        table(pair, color, out)?;
        for finding in &pair.new_findings {
            writeln!(out, "  new {}: {}: {}", finding.severity, clean(&finding.rule), clean(&on_pools(finding)))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", clean(&told.summary.join("; ")))
}

/// Whether there is anything to tell of it.
fn changed(pair: &Pair) -> bool {
    let pools = pair.pools.iter().any(|pool| pool.change != Change::Same);
    let moved = pair.before.is_none() || pair.after.is_none() || pair.renamed_from.is_some();
    pools || moved || !pair.drivers.is_empty() || !pair.new_findings.is_empty()
}

fn heading(pair: &Pair) -> String {
    match (&pair.before, &pair.after) {
        (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
        _ => pair.name.clone(),
    }
}

/// The same without the revisions, which are those of the whole comparison.
fn short_heading(pair: &Pair) -> String {
    let (Some(before), Some(after)) = (&pair.before, &pair.after) else { return heading(pair) };
    let was = below(before, pair.renamed_from.as_ref().unwrap_or(&pair.name));
    let is = below(after, &pair.name);
    if was == is { is.to_owned() } else { format!("{was} -> {is}") }
}

/// A title from the name on that stands in it behind a revision.
fn below<'a>(title: &'a str, name: &str) -> &'a str {
    let behind = title.match_indices(':').filter_map(|(at, _)| title.get(at + 1..));
    let mut named = behind.filter(|rest| !name.is_empty() && rest.starts_with(name));
    named.next().unwrap_or(title)
}

fn cell(end: Option<&End>) -> String {
    end.map_or_else(|| "-".to_owned(), End::cell)
}

fn differing(pair: &Pair) -> impl Iterator<Item = &OnPool> {
    pair.pools.iter().filter(|pool| pool.change != Change::Same)
}

fn table(pair: &Pair, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let rows: Vec<[String; 3]> = differing(pair)
        .map(|pool| [clean(&pool.pool).into_owned(), cell(pool.before.as_ref()), cell(pool.after.as_ref())])
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let head = ["pool", "before", "after"].map(str::to_owned);
    let all = || std::iter::once(&head).chain(&rows);
    let [first, second] = [0, 1].map(|at| {
        let width = |row: &[String; 3]| row.get(at).map_or(0, |cell| cell.chars().count());
        all().map(width).max().unwrap_or(0)
    });
    for (at, [pool, before, after]) in all().enumerate() {
        let change = at.checked_sub(1).and_then(|at| differing(pair).nth(at)).map(|pool| pool.change);
        let tone = match change {
            None => Tone::Strong,
            Some(Change::Breaks) => Tone::Bad,
            Some(Change::Works) => Tone::Good,
            Some(_) => Tone::Open,
        };
        let after = paint(&clean(after), tone, color).into_owned();
        writeln!(out, "    {pool:first$}  {before:second$}  {after}")?;
    }
    Ok(())
}

/// Writes it as Markdown, as far as there is room.
pub fn markdown(told: &Comparison, room: Room, out: &mut dyn io::Write) -> io::Result<()> {
    // Room for the words that say what is left out.
    const TAIL: usize = 100;
    let mut text = String::from("## imagelint: what the change does to the fleet\n\n");
    let _ = writeln!(text, "{}", prose(&told.summary.join("; ")));
    if told.fleet.built_in {
        let _ = writeln!(text, "\n{}", prose(NO_FLEET));
    }
    let errors = told.errors.iter();
    let errors = errors.map(|error| format!("\n- not read: {}: {}\n", code(&error.input), prose(&error.message)));
    let mut left = 0;
    for part in errors.chain(told.images.iter().filter(|pair| changed(pair)).map(section)) {
        if room.comparison() - TAIL < text.len() + part.len() {
            left += 1;
        } else {
            text.push_str(&part);
        }
    }
    if left > 0 {
        let _ = write!(text, "\nNot shown because of the size limit: {left} more. Another format contains them.\n");
    }
    out.write_all(text.as_bytes())
}

fn section(pair: &Pair) -> String {
    let mut text = format!("\n### {}\n\n", code(&short_heading(pair)));
    for line in &pair.summary {
        let _ = writeln!(text, "- {}", prose(line));
    }
    if differing(pair).next().is_some() {
        text.push_str("\n| pool | before | after |\n|---|---|---|\n");
    }
    for pool in differing(pair) {
        let sign = match pool.change {
            Change::Breaks => "❌ ",
            Change::Works => "✅ ",
            Change::Unsure | Change::Lifted => "❓ ",
            Change::Otherwise | Change::Gone | Change::Same => "",
        };
        let [before, after] = [&pool.before, &pool.after].map(|end| prose(&cell(end.as_ref())));
        let _ = writeln!(text, "| {} | {before} | {sign}{after} |", in_cell(&code(&pool.pool)));
    }
    if !pair.new_findings.is_empty() {
        text.push_str("\nNew findings:\n\n");
    }
    for finding in &pair.new_findings {
        let (severity, rule, message) = (finding.severity, code(&finding.rule), prose(&on_pools(finding)));
        let _ = writeln!(text, "- **{severity}** {rule}: {message}");
        if let Some(help) = &finding.help {
            let _ = writeln!(text, "  - help: {}", prose(help));
        }
    }
    text
}
