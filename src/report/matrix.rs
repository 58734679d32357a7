//! The table of a run: which image starts on which pool.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use crate::outcome::Outcome;
use crate::report::escape::clean;
use crate::report::human::HumanOptions;
use crate::report::kinds::VerdictKind;
use crate::report::model::Pool;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::paint::tone_of;
use crate::report::words::cell;
use crate::report::words::codes;
use crate::report::words::reason;
use crate::report::words::short_reason;
use crate::report::words::sign;
use crate::report::words::title;
use crate::report::words::word;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// Spaces between columns.
const GAP: usize = 2;
/// A reason in fewer columns than this has its own line.
const LEAST: usize = 24;
/// With more images than this, those with the same verdicts share a row.
const MOST: usize = 40;

/// Writes the table: of one image, its pools as rows; of several, images as rows and pools as columns.
pub fn matrix(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
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

fn of_one(subject: &Subject, report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
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
    let verdicts: Vec<_> = report.fleet.pools.iter().map(|pool| image_verdict(subject, &pool.name)).collect();
    // What fits: everything, else GPUs without their maker, else errors by their number.
    let all = [(false, false), (true, false), (true, true)]
        .map(|(trimmed, short)| Layout::of(report, &verdicts, trimmed, short));
    let [first, .., last] = &all;
    let layout = all.iter().find(|layout| layout.columns() <= options.width).unwrap_or(if first.failing() {
        last
    } else {
        first
    });
    layout.write(&verdicts, options, out)?;
    writeln!(out)
}

/// The table of one image, before it is written.
struct Layout {
    /// Pool, GPU and driver, below their headings.
    rows: Vec<[String; 3]>,
    widths: [usize; 3],
    /// Columns of the widest word for a verdict.
    word: usize,
    reasons: Vec<String>,
    /// Columns of the widest reason of a failure or a start.
    reason: usize,
}

const HEADS: [&str; 3] = ["pool", "GPU", "driver"];

/// The maker that most GPU names begin with.
const MAKER: &str = "NVIDIA ";

impl Layout {
    fn of(report: &Report, verdicts: &[Option<&Verdict>], trimmed: bool, short: bool) -> Self {
        let row = |pool: &Pool| {
            let driver: Vec<String> = pool.driver.iter().cloned().collect();
            let short = |gpu: &String| gpu.strip_prefix(MAKER).unwrap_or(gpu).to_owned();
            let gpus = if trimmed { pool.gpu.iter().map(short).collect() } else { pool.gpu.clone() };
            [clean(&pool.name).into_owned(), declared(&gpus), declared(&driver)]
        };
        let rows: Vec<[String; 3]> = report.fleet.pools.iter().map(row).collect();
        let mut widths = HEADS.map(columns);
        for row in &rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = columns(text).max(*width);
            }
        }
        let reason = |verdict: Option<&Verdict>| match verdict {
            None => String::new(),
            Some(verdict) if verdict.fate == VerdictKind::NotApplicable => clean(&verdict.message).into_owned(),
            Some(verdict) if short => short_reason(verdict),
            Some(verdict) => reason(verdict),
        };
        let reasons: Vec<String> = verdicts.iter().copied().map(reason).collect();
        let judged = |(verdict, _): &(Option<&Verdict>, &String)| {
            verdict.is_some_and(|verdict| verdict.fate != VerdictKind::NotApplicable)
        };
        let judged = verdicts.iter().copied().zip(&reasons).filter(judged);
        let widest = judged.map(|(_, reason)| columns(reason)).max().unwrap_or(0);
        let word = verdicts.iter().flatten().map(|verdict| columns(word(verdict))).max().unwrap_or(0);
        Self { rows, widths, word, reasons, reason: widest }
    }

    /// Whether there is a reason to make room for.
    fn failing(&self) -> bool {
        self.reason > 0
    }

    /// Columns before the reason.
    fn before(&self) -> usize {
        self.widths.iter().map(|width| width + GAP).sum::<usize>() + 2 + 2 + self.word + GAP
    }

    fn columns(&self) -> usize {
        self.before() + self.reason
    }

    fn line<'t>(&self, cells: impl Iterator<Item = &'t str>) -> String {
        let cells: Vec<String> = cells.zip(self.widths).map(|(text, width)| pad(text, width)).collect();
        format!("  {}", cells.join("  "))
    }

    fn write(
        &self,
        verdicts: &[Option<&Verdict>],
        options: &HumanOptions<'_>,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        let head = format!("{}  result", self.line(HEADS.into_iter()));
        writeln!(out, "{}", paint(&head, Tone::Faint, options.color))?;
        for ((row, verdict), reason) in self.rows.iter().zip(verdicts).zip(&self.reasons) {
            let begin = self.line(row.iter().map(String::as_str));
            let Some(verdict) = verdict else {
                writeln!(out, "{begin}  -")?;
                continue;
            };
            let told = format!("{} {}", sign(verdict, options.ascii), clean(word(verdict)));
            let told = paint(&told, tone(verdict), options.color);
            if reason.is_empty() {
                writeln!(out, "{begin}  {told}")?;
                continue;
            }
            let at = self.before();
            let next_to_it = columns(&begin) + 4 + columns(word(verdict)) + GAP;
            if options.width < at + columns(reason) && next_to_it + columns(reason) <= options.width {
                writeln!(out, "{begin}  {told}  {reason}")?;
                continue;
            }
            if options.width < at + columns(reason) && options.width < at + LEAST {
                // No room next to the verdict: below it.
                writeln!(out, "{begin}  {told}\n      {}", wrap(reason, 6, 6, options.width))?;
                continue;
            }
            let pad = self.word.saturating_sub(columns(word(verdict))) + GAP;
            writeln!(out, "{begin}  {told}{:pad$}{}", "", wrap(reason, at, at, options.width))?;
        }
        Ok(())
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(columns(text)))
}

fn tone(verdict: &Verdict) -> Tone {
    if verdict.not_seen.is_empty() { tone_of(verdict.fate) } else { Tone::Open }
}

struct Row {
    title: String,
    /// Each cell in full, and as its first word only.
    cells: Vec<[(String, Tone); 2]>,
}

fn of_many(
    subjects: &[&Subject],
    report: &Report,
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
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
    let mut grid = Grid { heads: pools.iter().map(|pool| pool.clone().into_owned()).collect(), rows };
    if grid.columns(0) <= options.width {
        return grid.write(0, options, out);
    }
    if let Some(folder) = grid.strip_folder() {
        writeln!(out, "{}", paint(&format!("{folder}:"), Tone::Strong, options.color))?;
    }
    let full = usize::from(grid.columns(0) > options.width);
    let together = if full == 1 && grid.columns(full) > options.width { grid.join_alike() } else { Vec::new() };
    if options.width < grid.titles() + GAP + grid.widths(full).into_iter().max().unwrap_or(0) {
        return blocks(&grid.rows, &grid.heads, options, out);
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

/// Images as rows and pools as columns.
struct Grid {
    heads: Vec<String>,
    rows: Vec<Row>,
}

impl Grid {
    fn titles(&self) -> usize {
        self.rows.iter().map(|row| columns(&row.title)).max().unwrap_or(0)
    }

    /// Columns of each pool, with the cells in full or in a word.
    fn widths(&self, full: usize) -> Vec<usize> {
        let cells = |at: usize| self.rows.iter().filter_map(move |row| row.cells.get(at)?.get(full));
        let widest = |at: usize| cells(at).map(|(text, _)| columns(text)).max().unwrap_or(0);
        self.heads.iter().enumerate().map(|(at, head)| widest(at).max(columns(head))).collect()
    }

    fn columns(&self, full: usize) -> usize {
        self.titles() + self.widths(full).iter().map(|width| width + GAP).sum::<usize>()
    }

    /// Takes the directory away that all images are in, and returns it.
    fn strip_folder(&mut self) -> Option<String> {
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

    /// Makes one column of pools on which every image ends alike; returns the pools of each such column.
    fn join_alike(&mut self) -> Vec<(String, Vec<String>)> {
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

    /// Writes it; what has no room follows in a table of its own.
    fn write(&self, full: usize, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
        let (titles, widths) = (self.titles(), self.widths(full));
        let total = |widths: &[usize]| titles + widths.iter().map(|width| width + GAP).sum::<usize>();
        let mut from = 0;
        while from < self.heads.len() {
            let mut upto = from + 1;
            while upto < self.heads.len() && total(widths.get(from..=upto).unwrap_or_default()) <= options.width {
                upto += 1;
            }
            let part = |row: &Row| -> Vec<(String, Tone)> {
                let cells = row.cells.get(from..upto).unwrap_or_default();
                cells.iter().filter_map(|cell| cell.get(full).cloned()).collect()
            };
            let columns = widths.get(from..upto).unwrap_or_default();
            let heads = self.heads.get(from..upto).unwrap_or_default();
            let heads: Vec<_> = heads.iter().map(|pool| (pool.clone(), Tone::Strong)).collect();
            line("", &heads, titles, columns, options, out)?;
            for row in &self.rows {
                line(&row.title, &part(row), titles, columns, options, out)?;
            }
            writeln!(out)?;
            from = upto;
        }
        Ok(())
    }
}

fn cells(subject: &Subject, pool: &str, options: &HumanOptions<'_>) -> [(String, Tone); 2] {
    let Some(verdict) = image_verdict(subject, pool) else { return [(); 2].map(|()| ("-".to_owned(), Tone::Faint)) };
    if verdict.fate == VerdictKind::NotApplicable {
        return [(); 2].map(|()| ("-".to_owned(), Tone::Faint));
    }
    let sign = sign(verdict, options.ascii);
    let full = match &verdict.outcome {
        Some(outcome) if verdict.fate == VerdictKind::Fails => clean(Outcome::rule_of(outcome)).into_owned(),
        _ => cell(verdict),
    };
    let short = match codes(verdict).as_slice() {
        [one] if verdict.fate == VerdictKind::Fails => one.clone(),
        _ => clean(word(verdict)).into_owned(),
    };
    [full, short].map(|text| (format!("{sign} {text}"), tone(verdict)))
}

fn line(
    title: &str,
    cells: &[(String, Tone)],
    titles: usize,
    widths: &[usize],
    options: &HumanOptions<'_>,
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

fn blocks(rows: &[Row], pools: &[String], options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
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
