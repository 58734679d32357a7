//! The table of a run: which subject starts on which pool.

use std::io;

use crate::report::escape::clean;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::words::cell;
use crate::report::words::title;

/// Writes subjects against pools; as one block per subject where the columns do not fit into `width`.
pub fn matrix(report: &Report, width: usize, color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let pools: Vec<_> = report.fleet.pools.iter().map(|pool| clean(&pool.name)).collect();
    let rows: Vec<Row> = report
        .subjects
        .iter()
        .filter(|subject| subject.gpu_content)
        .map(|subject| Row {
            title: title(subject),
            cells: report.fleet.pools.iter().map(|pool| cell_of(subject, &pool.name)).collect(),
        })
        .collect();
    let mut widths = vec![rows.iter().map(|row| length(&row.title)).max().unwrap_or(0)];
    for (column, pool) in pools.iter().enumerate() {
        let cells = rows.iter().map(|row| length(&row.cells[column].0)).max().unwrap_or(0);
        widths.push(cells.max(length(pool)));
    }
    let total = widths.iter().sum::<usize>() + GAP * pools.len();
    if rows.is_empty() || pools.is_empty() {
        return Ok(());
    }
    if width < total {
        return blocks(&rows, &pools, color, out);
    }
    let heads = pools.iter().map(|pool| (pool.to_string(), Tone::Strong));
    line("", heads, &widths, color, out)?;
    for row in &rows {
        line(&row.title, row.cells.iter().cloned(), &widths, color, out)?;
    }
    Ok(())
}

/// The verdict on the whole image, not on one of its components.
pub fn image_verdict<'a>(subject: &'a Subject, pool: &str) -> Option<&'a Verdict> {
    subject.verdicts.iter().find(|verdict| verdict.component.is_none() && verdict.pool == pool)
}

/// Spaces between columns.
const GAP: usize = 2;

struct Row {
    title: String,
    cells: Vec<(String, Tone)>,
}

fn cell_of(subject: &Subject, pool: &str) -> (String, Tone) {
    image_verdict(subject, pool)
        .map_or_else(|| ("-".to_owned(), Tone::Faint), |verdict| (cell(verdict), tone_of(&verdict.fate)))
}

fn line(
    title: &str,
    cells: impl Iterator<Item = (String, Tone)>,
    widths: &[usize],
    color: bool,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write!(out, "{title}")?;
    // Spaces are owed until a word follows, so that no line ends in them.
    let mut owed = widths[0].saturating_sub(length(title));
    for ((text, tone), width) in cells.zip(&widths[1..]) {
        write!(out, "{:owed$}{}", "", paint(&text, tone, color), owed = owed + GAP)?;
        owed = width.saturating_sub(length(&text));
    }
    writeln!(out)
}

fn blocks(rows: &[Row], pools: &[impl AsRef<str>], color: bool, out: &mut impl io::Write) -> io::Result<()> {
    let widest = pools.iter().map(|pool| length(pool.as_ref())).max().unwrap_or(0);
    for row in rows {
        writeln!(out, "{}", paint(&row.title, Tone::Strong, color))?;
        for (pool, (text, tone)) in pools.iter().zip(&row.cells) {
            let pool = pool.as_ref();
            let pad = widest.saturating_sub(length(pool)) + GAP;
            writeln!(out, "  {pool}{:pad$}{}", "", paint(text, *tone, color))?;
        }
    }
    Ok(())
}

fn length(text: &str) -> usize {
    text.chars().count()
}
