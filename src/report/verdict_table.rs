//! The table of verdicts of a run: which image starts on which pool.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use crate::report::escape::escape_one_line;
use crate::report::human_options::HumanOptions;
use crate::report::kinds::VerdictKind;
use crate::report::model::{Pool, Report, Subject, Verdict};
use crate::report::phrases::{
    cuda_error_codes, reason_text, short_reason_text, subject_title, verdict_label, verdict_phrase, verdict_symbol,
};
use crate::report::terminal_colors::{TextStyle, paint, verdict_kind_tone};
use crate::report::wrap::{display_width, wrap};

/// Spaces between columns.
const COLUMN_GAP: usize = 2;
/// Minimum columns of a reason next to its verdict; with less room, it takes its own line.
const MIN_REASON_WIDTH: usize = 24;
/// Maximum number of images with a row each; if there are more, those with the same verdicts share a row.
const MAX_SEPARATE_ROWS: usize = 40;

/// Writes the table: for one image, its pools as rows; for several, images as rows and pools as columns.
pub fn write_verdict_table(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    match subjects.as_slice() {
        [] => Ok(()),
        _ if report.fleet.pools.is_empty() => Ok(()),
        [subject] => write_one_image(subject, report, options, out),
        subjects => write_several_images(subjects, report, options, out),
    }
}

/// Returns the verdict on the whole image, not on one of its components.
pub fn image_verdict<'a>(subject: &'a Subject, pool: &str) -> Option<&'a Verdict> {
    subject.verdicts.iter().find(|verdict| verdict.component.is_none() && verdict.pool == pool)
}

/// Returns GPUs or a driver as a pool declares them.
fn declared_values(words: &[String]) -> String {
    if words.is_empty() { "-".to_owned() } else { escape_one_line(&words.join(" or ")).into_owned() }
}

/// Writes the table of one image.
fn write_one_image(
    subject: &Subject,
    report: &Report,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let heading = subject_title(subject);
    write!(out, "{}", paint(&heading, TextStyle::Strong, options.color))?;
    if let Some(about) = &subject.about {
        let gap = 35_usize.saturating_sub(display_width(&heading)).max(2);
        let about = escape_one_line(about);
        if display_width(&heading) + gap + display_width(&about) <= options.width {
            write!(out, "{:gap$}{about}", "")?;
        } else {
            write!(out, "\n  {}", wrap(&about, 2, 2, options.width))?;
        }
    }
    writeln!(out, "\n")?;
    let verdicts: Vec<_> = report.fleet.pools.iter().map(|pool| image_verdict(subject, &pool.name)).collect();
    // What fits: everything, else GPUs without their maker, else errors by their number.
    let all = [(false, false), (true, false), (true, true)]
        .map(|(trimmed, short)| SingleImageTable::new(report, &verdicts, trimmed, short));
    let [first, .., last] = &all;
    let layout = all.iter().find(|layout| layout.width() <= options.width).unwrap_or(if first.has_reasons() {
        last
    } else {
        first
    });
    layout.write(&verdicts, options, out)?;
    writeln!(out)
}

/// The table of one image, with its column widths.
struct SingleImageTable {
    /// Pool, GPU and driver, below their headings.
    rows: Vec<[String; 3]>,
    widths: [usize; 3],
    /// Columns of the widest word for a verdict.
    word: usize,
    reasons: Vec<String>,
    /// Columns of the widest reason of a failure or a start.
    reason: usize,
}

/// Headings of the columns before the result.
const COLUMN_HEADINGS: [&str; 3] = ["pool", "GPU", "driver"];

/// The vendor that most GPU names begin with.
const GPU_VENDOR_PREFIX: &str = "NVIDIA ";

impl SingleImageTable {
    /// Returns the table, with GPU names without their vendor if `trimmed`, and with short reasons if `short`.
    fn new(report: &Report, verdicts: &[Option<&Verdict>], trimmed: bool, short: bool) -> Self {
        let row = |pool: &Pool| {
            let driver: Vec<String> = pool.driver.iter().cloned().collect();
            let short = |gpu: &String| gpu.strip_prefix(GPU_VENDOR_PREFIX).unwrap_or(gpu).to_owned();
            let gpus = if trimmed { pool.gpu.iter().map(short).collect() } else { pool.gpu.clone() };
            [escape_one_line(&pool.name).into_owned(), declared_values(&gpus), declared_values(&driver)]
        };
        let rows: Vec<[String; 3]> = report.fleet.pools.iter().map(row).collect();
        let mut widths = COLUMN_HEADINGS.map(display_width);
        for row in &rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = display_width(text).max(*width);
            }
        }
        let reason = |verdict: Option<&Verdict>| match verdict {
            None => String::new(),
            Some(verdict) if verdict.fate == VerdictKind::NotApplicable => {
                escape_one_line(&verdict.message).into_owned()
            }
            Some(verdict) if short => short_reason_text(verdict),
            Some(verdict) => reason_text(verdict),
        };
        let reasons: Vec<String> = verdicts.iter().copied().map(reason).collect();
        let judged = |(verdict, _): &(Option<&Verdict>, &String)| {
            verdict.is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable)
        };
        let judged = verdicts.iter().copied().zip(&reasons).filter(judged);
        let widest = judged.map(|(_, reason)| display_width(reason)).max().unwrap_or(0);
        let word = verdicts.iter().flatten().map(|verdict| display_width(verdict_label(verdict))).max().unwrap_or(0);
        Self { rows, widths, word, reasons, reason: widest }
    }

    /// Whether a verdict has a reason that needs room.
    fn has_reasons(&self) -> bool {
        self.reason > 0
    }

    /// Returns the number of columns before the reason.
    fn width_before_reason(&self) -> usize {
        self.widths.iter().map(|width| width + COLUMN_GAP).sum::<usize>() + 2 + 2 + self.word + COLUMN_GAP
    }

    /// Returns the number of columns of the table.
    fn width(&self) -> usize {
        self.width_before_reason() + self.reason
    }

    /// Returns the cells before the result, padded to the widths of their columns.
    fn format_cells<'t>(&self, cells: impl Iterator<Item = &'t str>) -> String {
        let cells: Vec<String> = cells.zip(self.widths).map(|(text, width)| pad_right(text, width)).collect();
        format!("  {}", cells.join("  "))
    }

    /// Writes the table.
    fn write(
        &self,
        verdicts: &[Option<&Verdict>],
        options: &HumanOptions<'_>,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        let head = format!("{}  result", self.format_cells(COLUMN_HEADINGS.into_iter()));
        writeln!(out, "{}", paint(&head, TextStyle::Faint, options.color))?;
        for ((row, verdict), reason) in self.rows.iter().zip(verdicts).zip(&self.reasons) {
            let begin = self.format_cells(row.iter().map(String::as_str));
            let Some(verdict) = verdict else {
                writeln!(out, "{begin}  -")?;
                continue;
            };
            let label =
                format!("{} {}", verdict_symbol(verdict, options.ascii), escape_one_line(verdict_label(verdict)));
            let label = paint(&label, verdict_tone(verdict), options.color);
            if reason.is_empty() {
                writeln!(out, "{begin}  {label}")?;
                continue;
            }
            let at = self.width_before_reason();
            let next_to_it = display_width(&begin) + 4 + display_width(verdict_label(verdict)) + COLUMN_GAP;
            if options.width < at + display_width(reason) && next_to_it + display_width(reason) <= options.width {
                writeln!(out, "{begin}  {label}  {reason}")?;
                continue;
            }
            if options.width < at + display_width(reason) && options.width < at + MIN_REASON_WIDTH {
                // No room next to the verdict: below it.
                writeln!(out, "{begin}  {label}\n      {}", wrap(reason, 6, 6, options.width))?;
                continue;
            }
            let pad = self.word.saturating_sub(display_width(verdict_label(verdict))) + COLUMN_GAP;
            writeln!(out, "{begin}  {label}{:pad$}{}", "", wrap(reason, at, at, options.width))?;
        }
        Ok(())
    }
}

/// Returns the text with spaces after it up to a width.
fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(display_width(text)))
}

/// Returns the tone of a verdict; that of an unknown one if code was not inspected.
fn verdict_tone(verdict: &Verdict) -> TextStyle {
    if verdict.not_seen.is_empty() { verdict_kind_tone(verdict.fate) } else { TextStyle::Open }
}

/// A row of the table of several images.
struct ImageRow {
    title: String,
    /// Each cell in full, and as its first word only.
    cells: Vec<[(String, TextStyle); 2]>,
}

/// Writes the table of several images.
fn write_several_images(
    subjects: &[&Subject],
    report: &Report,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let pools: Vec<Cow<'_, str>> = report.fleet.pools.iter().map(|pool| escape_one_line(&pool.name)).collect();
    let mut rows: Vec<ImageRow> = Vec::new();
    let (mut same, mut more) = (BTreeMap::new(), Vec::new());
    let fold = subjects.len() > MAX_SEPARATE_ROWS && !options.verbose;
    for subject in subjects {
        let cells: Vec<_> = report.fleet.pools.iter().map(|pool| verdict_cells(subject, &pool.name, options)).collect();
        let key: Vec<String> = cells.iter().map(|cell| cell[0].0.clone()).collect();
        let at = if fold { *same.entry(key).or_insert(rows.len()) } else { rows.len() };
        if at == rows.len() {
            rows.push(ImageRow { title: subject_title(subject), cells });
            more.push(0_usize);
        } else if let Some(more) = more.get_mut(at) {
            *more += 1;
        }
    }
    for (row, more) in rows.iter_mut().zip(more) {
        if more > 0 {
            let _ = write!(row.title, " and {more} more");
        }
    }
    let mut grid = MultiImageTable { heads: pools.iter().map(|pool| pool.clone().into_owned()).collect(), rows };
    if grid.width(0) <= options.width {
        return grid.write(0, options, out);
    }
    if let Some(folder) = grid.strip_common_folder() {
        writeln!(out, "{}", paint(&format!("{folder}:"), TextStyle::Strong, options.color))?;
    }
    let full = usize::from(grid.width(0) > options.width);
    let together = if full == 1 && grid.width(full) > options.width { grid.merge_equal_columns() } else { Vec::new() };
    if options.width < grid.title_width() + COLUMN_GAP + grid.pool_widths(full).into_iter().max().unwrap_or(0) {
        return write_blocks(&grid.rows, &grid.heads, options, out);
    }
    grid.write(full, options, out)?;
    let number = grid.rows.iter().flat_map(|row| &row.cells).find_map(|cell| {
        let number = cell.get(full)?.0.split(' ').nth(1)?;
        (full == 1 && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
    });
    if let Some(number) = number {
        let line = format!("numbers: CUDA errors, such as `imagelint explain {number}`\n");
        writeln!(out, "{line}")?;
    }
    for (head, pools) in &together {
        writeln!(out, "{}", wrap(&format!("{head}: {}", pools.join(", ")), 0, 2, options.width))?;
    }
    if together.is_empty() { Ok(()) } else { writeln!(out) }
}

/// The table of several images: images as rows and pools as columns.
struct MultiImageTable {
    heads: Vec<String>,
    rows: Vec<ImageRow>,
}

impl MultiImageTable {
    /// Returns the number of columns of the longest title.
    fn title_width(&self) -> usize {
        self.rows.iter().map(|row| display_width(&row.title)).max().unwrap_or(0)
    }

    /// Returns the number of columns of each pool, with full cells (`full` = 0) or short ones (1).
    fn pool_widths(&self, full: usize) -> Vec<usize> {
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.cells.get(at)?.get(full));
        let widest = |at: usize| cells(at).map(|(text, _)| display_width(text)).max().unwrap_or(0);
        self.heads.iter().enumerate().map(|(at, head)| widest(at).max(display_width(head))).collect()
    }

    /// Returns the number of columns of the table.
    fn width(&self, full: usize) -> usize {
        self.title_width() + self.pool_widths(full).iter().map(|width| width + COLUMN_GAP).sum::<usize>()
    }

    /// Removes the directory that contains all images from the titles, and returns it.
    fn strip_common_folder(&mut self) -> Option<String> {
        let first = self.rows.first()?.title.clone();
        let shared = |end: &usize| {
            let folder = first.get(..=*end);
            folder.is_some_and(|folder| self.rows.iter().all(|row| row.title.starts_with(folder)))
        };
        let end = first.match_indices('/').map(|(at, _)| at).take_while(shared).last()?;
        for row in &mut self.rows {
            row.title.drain(..=end);
        }
        first.get(..end).map(str::to_owned)
    }

    /// Merges columns of pools with the same verdicts; returns the pools of each merged column with its heading.
    fn merge_equal_columns(&mut self) -> Vec<(String, Vec<String>)> {
        let key = |at: usize| -> Vec<String> {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(at)?.first());
            cells.map(|(text, _)| text.clone()).collect()
        };
        let mut joined: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
        for at in 0..self.heads.len() {
            let key = key(at);
            match joined.iter_mut().find(|(other, _)| *other == key) {
                Some((_, places)) => places.push(at),
                None => joined.push((key, vec![at])),
            }
        }
        let name = |at: &usize| self.heads.get(*at).cloned().unwrap_or_default();
        let (mut heads, mut together) = (Vec::new(), Vec::new());
        for (_, places) in &joined {
            let names: Vec<String> = places.iter().map(name).collect();
            let first = names.first().cloned().unwrap_or_default();
            match names.len() {
                1 => heads.push(first),
                many => {
                    let head = format!("{first} +{}", many - 1);
                    heads.push(head.clone());
                    together.push((head, names));
                }
            }
        }
        for row in &mut self.rows {
            row.cells = joined.iter().filter_map(|(_, places)| row.cells.get(*places.first()?).cloned()).collect();
        }
        self.heads = heads;
        together
    }

    /// Writes the table; columns that do not fit follow in further tables.
    fn write(&self, full: usize, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
        let (titles, widths) = (self.title_width(), self.pool_widths(full));
        let total = |widths: &[usize]| titles + widths.iter().map(|width| width + COLUMN_GAP).sum::<usize>();
        let mut from = 0;
        while from < self.heads.len() {
            let mut upto = from + 1;
            while upto < self.heads.len() && total(widths.get(from..=upto).unwrap_or_default()) <= options.width {
                upto += 1;
            }
            let part = |row: &ImageRow| -> Vec<(String, TextStyle)> {
                let cells = row.cells.get(from..upto).unwrap_or_default();
                cells.iter().filter_map(|cell| cell.get(full).cloned()).collect()
            };
            let columns = widths.get(from..upto).unwrap_or_default();
            let heads = self.heads.get(from..upto).unwrap_or_default();
            let heads: Vec<_> = heads.iter().map(|pool| (pool.clone(), TextStyle::Strong)).collect();
            write_row("", &heads, titles, columns, options, out)?;
            for row in &self.rows {
                write_row(&row.title, &part(row), titles, columns, options, out)?;
            }
            writeln!(out)?;
            from = upto;
        }
        Ok(())
    }
}

/// Returns the long and short cell text of a verdict, each with its style.
fn verdict_cells(subject: &Subject, pool: &str, options: &HumanOptions<'_>) -> [(String, TextStyle); 2] {
    let Some(verdict) = image_verdict(subject, pool) else {
        return [(); 2].map(|()| ("-".to_owned(), TextStyle::Faint));
    };
    if verdict.fate == VerdictKind::NotApplicable {
        return [(); 2].map(|()| ("-".to_owned(), TextStyle::Faint));
    }
    let sign = verdict_symbol(verdict, options.ascii);
    let full = match &verdict.outcome {
        Some(outcome) if verdict.fate == VerdictKind::Fails => outcome.rule_name().to_owned(),
        _ => verdict_phrase(verdict),
    };
    let short = match cuda_error_codes(verdict).as_slice() {
        [one] if verdict.fate == VerdictKind::Fails => one.clone(),
        _ => escape_one_line(verdict_label(verdict)).into_owned(),
    };
    [full, short].map(|text| (format!("{sign} {text}"), verdict_tone(verdict)))
}

/// Writes a row with padded cells.
fn write_row(
    title: &str,
    cells: &[(String, TextStyle)],
    titles: usize,
    widths: &[usize],
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write!(out, "{title}")?;
    // Padding is written only before the next cell, so that no line ends in spaces.
    let mut padding = titles.saturating_sub(display_width(title));
    for ((text, tone), width) in cells.iter().zip(widths) {
        write!(out, "{:padding$}{}", "", paint(text, *tone, options.color), padding = padding + COLUMN_GAP)?;
        padding = width.saturating_sub(display_width(text));
    }
    writeln!(out)
}

/// Writes the verdicts of each image below its title, for terminals that are too narrow for a table.
fn write_blocks(
    rows: &[ImageRow],
    pools: &[String],
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let widest = pools.iter().map(|pool| display_width(pool)).max().unwrap_or(0);
    for row in rows {
        writeln!(out, "{}", paint(&row.title, TextStyle::Strong, options.color))?;
        for (pool, [(text, tone), _]) in pools.iter().zip(&row.cells) {
            let pool = pad_right(pool, widest);
            writeln!(out, "  {pool}  {}", paint(text, *tone, options.color))?;
        }
    }
    writeln!(out)
}
