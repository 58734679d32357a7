//! The table of a run: which image starts on which pool.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use crate::report::escape::clean;
use crate::report::human::HumanOptions;
use crate::report::model::Pool;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::words::cell;
use crate::report::words::reason;
use crate::report::words::sign;
use crate::report::words::title;
use crate::report::words::word;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// Spaces between columns.
const GAP: usize = 2;
/// With more images than this, those with the same verdicts share a row.
const MOST: usize = 40;

/// Writes the table: of one image, its pools as rows; of several, images as rows and pools as columns.
pub fn matrix(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    match subjects.as_slice() {
        [] => Ok(()),
        _ if report.fleet.pools.is_empty() => Ok(()),
        [subject] => of_one(subject, report, options, out),
        subjects => of_many(subjects, report, options, out),
    }
}

/// The verdict on the whole image, not on one of its components.
pub fn image_verdict<'a>(subject: &'a Subject, pool: &str) -> Option<&'a Verdict> {
    subject.verdicts.iter().find(|verdict| verdict.component.is_none() && verdict.pool == pool)
}

/// GPUs or a driver as a pool declares them.
fn declared(words: &[String]) -> String {
    if words.is_empty() { "-".to_owned() } else { clean(&words.join(" or ")).into_owned() }
}

fn of_one(subject: &Subject, report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let heading = title(subject);
    write!(out, "{}", paint(&heading, Tone::Strong, options.color))?;
    if let Some(about) = &subject.about {
        let gap = 35_usize.saturating_sub(columns(&heading)).max(2);
        let about = clean(about);
        if columns(&heading) + gap + columns(&about) <= options.width {
            write!(out, "{:gap$}{about}", "")?;
        } else {
            write!(out, "\n  {}", wrap(&about, 2, 2, options.width))?;
        }
    }
    writeln!(out, "\n")?;
    let row = |pool: &Pool| {
        let driver: Vec<String> = pool.driver.iter().cloned().collect();
        [clean(&pool.name).into_owned(), declared(&pool.gpu), declared(&driver)]
    };
    let rows: Vec<[String; 3]> = report.fleet.pools.iter().map(row).collect();
    let heads = ["pool", "GPU", "driver"].map(str::to_owned);
    let mut widths = [0; 3];
    for row in rows.iter().chain([&heads]) {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = columns(text).max(*width);
        }
    }
    let line = |row: &[String; 3]| {
        let cells = row.iter().zip(widths).map(|(text, width)| pad(text, width));
        format!("  {}", cells.collect::<Vec<_>>().join("  "))
    };
    let verdicts = || report.fleet.pools.iter().map(|pool| image_verdict(subject, &pool.name));
    let widest = verdicts().flatten().map(|verdict| columns(word(verdict))).max().unwrap_or(0);
    writeln!(out, "{}", paint(&format!("{}  result", line(&heads)), Tone::Faint, options.color))?;
    for (row, verdict) in rows.iter().zip(verdicts()) {
        let begin = line(row);
        let Some(verdict) = verdict else {
            writeln!(out, "{begin}  -")?;
            continue;
        };
        let told = format!("{} {}", sign(verdict, options.ascii), clean(word(verdict)));
        let told = paint(&told, tone(verdict), options.color);
        let reason = match verdict.fate.as_str() {
            "not-applicable" => clean(&verdict.message).into_owned(),
            _ => reason(verdict),
        };
        if reason.is_empty() {
            writeln!(out, "{begin}  {told}")?;
            continue;
        }
        let pad = widest.saturating_sub(columns(word(verdict))) + GAP;
        let at = columns(&begin) + 2 + 2 + widest + GAP;
        let hang = if at + 20 < options.width { at } else { 6 };
        writeln!(out, "{begin}  {told}{:pad$}{}", "", wrap(&reason, at, hang, options.width))?;
    }
    writeln!(out)
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(columns(text)))
}

fn tone(verdict: &Verdict) -> Tone {
    if verdict.not_seen.is_empty() { tone_of(&verdict.fate) } else { Tone::Open }
}

struct Row {
    title: String,
    /// Each cell in full, and as its first word only.
    cells: Vec<[(String, Tone); 2]>,
}

fn of_many(subjects: &[&Subject], report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let pools: Vec<Cow<'_, str>> = report.fleet.pools.iter().map(|pool| clean(&pool.name)).collect();
    let mut rows: Vec<Row> = Vec::new();
    let (mut same, mut more) = (BTreeMap::new(), Vec::new());
    let fold = subjects.len() > MOST && !options.verbose;
    for subject in subjects {
        let cells: Vec<_> = report.fleet.pools.iter().map(|pool| cells(subject, &pool.name, options)).collect();
        let key: Vec<String> = cells.iter().map(|cell| cell[0].0.clone()).collect();
        let at = if fold { *same.entry(key).or_insert(rows.len()) } else { rows.len() };
        if at == rows.len() {
            rows.push(Row { title: title(subject), cells });
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
    let titles = rows.iter().map(|row| columns(&row.title)).max().unwrap_or(0);
    let widths = |full: usize| -> Vec<usize> {
        let cells = |at: usize| rows.iter().filter_map(move |row| row.cells.get(at));
        let widest = |at: usize| cells(at).filter_map(|cell| cell.get(full)).map(|(text, _)| columns(text)).max();
        pools.iter().enumerate().map(|(at, pool)| widest(at).unwrap_or(0).max(columns(pool))).collect()
    };
    let total = |widths: &[usize]| titles + widths.iter().map(|width| width + GAP).sum::<usize>();
    let full = usize::from(total(&widths(0)) > options.width);
    let widths = widths(full);
    let widest = widths.iter().copied().max().unwrap_or(0);
    if options.width < titles + GAP + widest {
        return blocks(&rows, &pools, options, out);
    }
    let mut from = 0;
    while from < pools.len() {
        // As many pools as there is room for; the others follow in a table of their own.
        let mut upto = from + 1;
        while upto < pools.len() && total(widths.get(from..=upto).unwrap_or_default()) <= options.width {
            upto += 1;
        }
        let part = |row: &Row| -> Vec<(String, Tone)> {
            row.cells.get(from..upto).unwrap_or_default().iter().filter_map(|cell| cell.get(full).cloned()).collect()
        };
        let (columns, heads) = (widths.get(from..upto).unwrap_or_default(), pools.get(from..upto).unwrap_or_default());
        let heads: Vec<_> = heads.iter().map(|pool| (pool.to_string(), Tone::Strong)).collect();
        line("", &heads, titles, columns, options, out)?;
        for row in &rows {
            line(&row.title, &part(row), titles, columns, options, out)?;
        }
        writeln!(out)?;
        from = upto;
    }
    Ok(())
}

fn cells(subject: &Subject, pool: &str, options: &HumanOptions) -> [(String, Tone); 2] {
    let Some(verdict) = image_verdict(subject, pool) else { return [(); 2].map(|()| ("-".to_owned(), Tone::Faint)) };
    if verdict.fate == "not-applicable" {
        return [(); 2].map(|()| ("-".to_owned(), Tone::Faint));
    }
    let sign = sign(verdict, options.ascii);
    let full = match &verdict.outcome {
        Some(outcome) if verdict.fate == "fails" => clean(outcome).into_owned(),
        _ => cell(verdict),
    };
    [full, clean(word(verdict)).into_owned()].map(|text| (format!("{sign} {text}"), tone(verdict)))
}

fn line(
    title: &str,
    cells: &[(String, Tone)],
    titles: usize,
    widths: &[usize],
    options: &HumanOptions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write!(out, "{title}")?;
    // Spaces are owed until a word follows, so that no line ends in them.
    let mut owed = titles.saturating_sub(columns(title));
    for ((text, tone), width) in cells.iter().zip(widths) {
        write!(out, "{:owed$}{}", "", paint(text, *tone, options.color), owed = owed + GAP)?;
        owed = width.saturating_sub(columns(text));
    }
    writeln!(out)
}

fn blocks(rows: &[Row], pools: &[Cow<'_, str>], options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let widest = pools.iter().map(|pool| columns(pool)).max().unwrap_or(0);
    for row in rows {
        writeln!(out, "{}", paint(&row.title, Tone::Strong, options.color))?;
        for (pool, [(text, tone), _]) in pools.iter().zip(&row.cells) {
            let pool = pad(pool, widest);
            writeln!(out, "  {pool}  {}", paint(text, *tone, options.color))?;
        }
    }
    writeln!(out)
}
