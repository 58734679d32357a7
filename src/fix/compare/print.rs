//! Prints a comparison for a terminal, and as Markdown for a comment on a pull request.

use std::fmt::Write as _;
use std::io;

use crate::fix::compare::model::{ComparedImage, ComparedPool, ComparedVerdict, Comparison, VerdictChange};
use crate::report::escape::escape_one_line;
use crate::report::markdown::{MarkdownTarget, code_span, escape_prose, escape_table_cell};
use crate::report::phrases::{NO_FLEET, message_with_pools};
use crate::report::terminal_colors::{TextStyle, paint};

/// Writes the comparison for a terminal.
pub fn write_human(comparison: &Comparison, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for error in &comparison.errors {
        writeln!(out, "{}: {}", escape_one_line(&error.input), escape_one_line(&error.message))?;
    }
    if comparison.images.is_empty() {
        return writeln!(out, "nothing to compare");
    }
    if comparison.fleet.built_in {
        writeln!(out, "{NO_FLEET}\n")?;
    }
    for note in &comparison.notes {
        writeln!(out, "note: {}", escape_one_line(note))?;
    }
    if !comparison.notes.is_empty() {
        writeln!(out)?;
    }
    for pair in comparison.images.iter().filter(|pair| comparison.images.len() == 1 || has_changes(pair)) {
        writeln!(out, "{}", paint(&escape_one_line(&image_heading(pair)), TextStyle::Strong, color))?;
        for line in &pair.summary {
            writeln!(out, "  {}", escape_one_line(line))?;
        }
        write_pool_table(pair, color, out)?;
        for finding in &pair.new_findings {
            writeln!(
                out,
                "  new {}: {}: {}",
                finding.severity,
                escape_one_line(&finding.rule),
                escape_one_line(&message_with_pools(finding))
            )?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", escape_one_line(&comparison.summary.join("; ")))
}

/// Whether there is anything to report about an image.
fn has_changes(pair: &ComparedImage) -> bool {
    let pools = pair.pools.iter().any(|pool| pool.change != VerdictChange::Same);
    let moved = pair.before.is_none() || pair.after.is_none() || pair.renamed_from.is_some();
    pools || moved || !pair.drivers.is_empty() || !pair.new_findings.is_empty()
}

/// Returns the heading of an image: both titles if they differ, otherwise its name.
fn image_heading(pair: &ComparedImage) -> String {
    match (&pair.before, &pair.after) {
        (Some(before), Some(after)) if before != after => format!("{before} -> {after}"),
        _ => pair.name.clone(),
    }
}

/// Returns the heading of an image without revisions, which are those of the whole comparison.
fn heading_without_revisions(pair: &ComparedImage) -> String {
    let (Some(before), Some(after)) = (&pair.before, &pair.after) else { return image_heading(pair) };
    let was = title_without_revision(before, pair.renamed_from.as_ref().unwrap_or(&pair.name));
    let is = title_without_revision(after, &pair.name);
    if was == is { is.to_owned() } else { format!("{was} -> {is}") }
}

/// Returns the part of a title that starts with the name, after a revision and a colon.
fn title_without_revision<'a>(title: &'a str, name: &str) -> &'a str {
    let behind = title.match_indices(':').filter_map(|(at, _)| title.get(at + 1..));
    let mut named = behind.filter(|rest| !name.is_empty() && rest.starts_with(name));
    named.next().unwrap_or(title)
}

/// Returns the table cell for a verdict, or `-`.
fn verdict_cell(end: Option<&ComparedVerdict>) -> String {
    end.map_or_else(|| "-".to_owned(), ComparedVerdict::short_text)
}

/// Iterates over the pools on which the verdict changes.
fn changed_pools(pair: &ComparedImage) -> impl Iterator<Item = &ComparedPool> {
    pair.pools.iter().filter(|pool| pool.change != VerdictChange::Same)
}

/// Writes the table of changed verdicts.
fn write_pool_table(pair: &ComparedImage, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let rows: Vec<[String; 3]> = changed_pools(pair)
        .map(|pool| {
            [
                escape_one_line(&pool.pool).into_owned(),
                verdict_cell(pool.before.as_ref()),
                verdict_cell(pool.after.as_ref()),
            ]
        })
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
        let change = at.checked_sub(1).and_then(|at| changed_pools(pair).nth(at)).map(|pool| pool.change);
        let tone = match change {
            None => TextStyle::Strong,
            Some(VerdictChange::Breaks) => TextStyle::Bad,
            Some(VerdictChange::Works) => TextStyle::Good,
            Some(_) => TextStyle::Open,
        };
        let after = paint(&escape_one_line(after), tone, color).into_owned();
        writeln!(out, "    {pool:first$}  {before:second$}  {after}")?;
    }
    Ok(())
}

/// Writes the comparison as Markdown, up to the size limit.
pub fn write_markdown(comparison: &Comparison, room: MarkdownTarget, out: &mut dyn io::Write) -> io::Result<()> {
    // Room for the words that say what is left out.
    const TAIL: usize = 100;
    let mut text = String::from("## imagelint: what the change does to the fleet\n\n");
    let _ = writeln!(text, "{}", escape_prose(&comparison.summary.join("; ")));
    if comparison.fleet.built_in {
        let _ = writeln!(text, "\n{}", escape_prose(NO_FLEET));
    }
    let errors = comparison.errors.iter();
    let errors =
        errors.map(|error| format!("\n- not read: {}: {}\n", code_span(&error.input), escape_prose(&error.message)));
    let mut left = 0;
    for part in errors.chain(comparison.images.iter().filter(|pair| has_changes(pair)).map(markdown_section)) {
        if room.max_comparison_bytes() - TAIL < text.len() + part.len() {
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

/// Returns the Markdown section of an image.
fn markdown_section(pair: &ComparedImage) -> String {
    let mut text = format!("\n### {}\n\n", code_span(&heading_without_revisions(pair)));
    for line in &pair.summary {
        let _ = writeln!(text, "- {}", escape_prose(line));
    }
    if changed_pools(pair).next().is_some() {
        text.push_str("\n| pool | before | after |\n|---|---|---|\n");
    }
    for pool in changed_pools(pair) {
        let sign = match pool.change {
            VerdictChange::Breaks => "❌ ",
            VerdictChange::Works => "✅ ",
            VerdictChange::Unsure | VerdictChange::FailureUncertain => "❓ ",
            VerdictChange::Otherwise | VerdictChange::Gone | VerdictChange::Same => "",
        };
        let [before, after] = [&pool.before, &pool.after].map(|end| escape_prose(&verdict_cell(end.as_ref())));
        let _ = writeln!(text, "| {} | {before} | {sign}{after} |", escape_table_cell(&code_span(&pool.pool)));
    }
    if !pair.new_findings.is_empty() {
        text.push_str("\nNew findings:\n\n");
    }
    for finding in &pair.new_findings {
        let (severity, rule, message) =
            (finding.severity, code_span(&finding.rule), escape_prose(&message_with_pools(finding)));
        let _ = writeln!(text, "- **{severity}** {rule}: {message}");
        if let Some(help) = &finding.help {
            let _ = writeln!(text, "  - help: {}", escape_prose(help));
        }
    }
    text
}
