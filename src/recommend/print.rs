//! A recommendation in print.

use std::io;

use crate::recommend::model::Combination;
use crate::recommend::model::OnPool;
use crate::recommend::model::Recommendation;
use crate::report::escape::clean;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::count;

/// Writes it for a person.
pub fn human(told: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let wishes: Vec<String> = told
        .wishes
        .with
        .iter()
        .cloned()
        .chain(told.wishes.base.iter().map(|base| format!("on {base}")))
        .chain(told.wishes.python.iter().map(|python| format!("with Python {python}")))
        .collect();
    let head = format!("{} for {} of {}", wishes.join(" "), count(told.fleet.pools.len(), "pool"), told.fleet.source);
    writeln!(out, "{}", paint(&clean(&head), Tone::Strong, color))?;
    if told.combinations.is_empty() {
        conflict(told, color, out)?;
    } else {
        table(told, color, out)?;
    }
    if !told.rejected.is_empty() {
        writeln!(out, "\n{}", paint("Not on every pool", Tone::Strong, color))?;
    }
    for one in &told.rejected {
        let what = if one.packages.is_empty() { one.base.clone() } else { format!("{} on {}", one.packages, one.base) };
        writeln!(out, "  {}: {}", clean(&what), paint(&clean(&ends(&one.pools)), Tone::Bad, color))?;
    }
    let undetermined = &told.undetermined;
    if undetermined.combinations > 0 {
        let why = undetermined.because.as_ref().map(|why| format!(", such as {why}")).unwrap_or_default();
        let line = format!(
            "{} not recommended, because the result is unknown",
            count(undetermined.combinations, "combination")
        );
        writeln!(out, "\n{}", paint(&clean(&format!("{line}{why}")), Tone::Open, color))?;
    }
    for note in &told.notes {
        writeln!(out, "note: {}", clean(note))?;
    }
    Ok(())
}

/// The ranked ones, the first of them to paste, and why the others lost.
fn table(told: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let head = ["#", "base", "packages", "CUDA", "routes"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(told.combinations.iter().map(row)).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", clean(cell), width = *width)).collect();
        let line = cells.join("  ");
        let tone = match at {
            0 => Tone::Faint,
            1 => Tone::Good,
            _ => Tone::Open,
        };
        let line = line.trim_end();
        if at < 2 { writeln!(out, "{}", paint(line, tone, color))? } else { writeln!(out, "{line}")? }
    }
    if told.more > 0 {
        writeln!(out, "and {} more that start on every pool (--limit)", told.more)?;
    }
    if let Some(best) = told.combinations.first() {
        writeln!(out, "\n{}", clean_lines(&best.dockerfile).trim_end())?;
        let drivers: Vec<String> = best
            .pools
            .iter()
            .filter_map(|pool| {
                let below = if pool.below { " (the older driver of the pool starts as well)" } else { "" };
                Some(format!("{} from {}{below}", pool.pool, pool.smallest_driver.as_ref()?))
            })
            .collect();
        if !drivers.is_empty() {
            writeln!(out, "\nsmallest drivers: {}", clean(&drivers.join(", ")))?;
        }
    }
    if told.combinations.len() > 1 {
        writeln!(out, "\n{}", paint("Why the others rank lower", Tone::Strong, color))?;
    }
    for one in &told.combinations {
        if let Some(why) = &one.lost_because {
            writeln!(out, "  {} {}", one.rank, clean(why))?;
        }
    }
    if !told.split.is_empty() {
        let sides = told.split.iter().map(|part| names(&part.on)).collect::<Vec<_>>().join(" | ");
        let line = format!("Without PTX JIT: a separate image for each of {sides}");
        writeln!(out, "\n{}", paint(&clean(&line), Tone::Strong, color))?;
        parts(told, color, out)?;
    }
    Ok(())
}

fn row(one: &Combination) -> Vec<String> {
    let packages: Vec<String> = one
        .packages
        .iter()
        .map(|package| package.spec.clone().unwrap_or_else(|| format!("{} {}", package.name, package.version)))
        .collect();
    let cuda = one.cuda.clone().unwrap_or_else(|| "-".to_owned());
    let unseen = if one.unseen { "; not fully inspected" } else { "" };
    vec![one.rank.to_string(), one.base.clone(), packages.join(" "), cuda, routes(&one.pools) + unseen]
}

/// `native; minor-version on t4, a100`: the route that most pools have first, without names.
fn routes(pools: &[OnPool]) -> String {
    let mut by_route: Vec<(&str, Vec<&str>)> = Vec::new();
    for (route, pool) in pools.iter().filter_map(|pool| Some((pool.route?, pool.pool.as_str()))) {
        match by_route.iter_mut().find(|(own, _)| *own == route) {
            Some((_, names)) => names.push(pool),
            None => by_route.push((route, vec![pool])),
        }
    }
    by_route.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let told = by_route.iter().enumerate().map(|(at, (route, names))| {
        if at == 0 { (*route).to_owned() } else { format!("{route} on {}", names.join(", ")) }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// `fails on t4 (insufficient-driver)`.
fn ends(pools: &[OnPool]) -> String {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pool in pools {
        let (end, name) = match pool.outcome {
            Some(outcome) => (format!("fails with {outcome}"), &pool.pool),
            None => (pool.fate.to_owned(), &pool.pool),
        };
        match found.iter_mut().find(|(own, _)| *own == end) {
            Some((_, names)) => names.push(format!("`{name}`")),
            None => found.push((end, vec![format!("`{name}`")])),
        }
    }
    found.iter().map(|(end, names)| format!("{end} on {}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

fn conflict(told: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let tried = count(told.tried, "combination");
    let line = format!("none of {tried} starts on every pool");
    writeln!(out, "{}", paint(&line, Tone::Bad, color))?;
    if !told.never.is_empty() {
        let names: Vec<String> = told.never.iter().map(|name| format!("`{name}`")).collect();
        writeln!(out, "none starts on {}", clean(&names.join(", ")))?;
    }
    if told.split.len() > 1 {
        let sides: Vec<String> = told.split.iter().map(|part| names(&part.on)).collect();
        let line = format!("these pools need different images: {}", sides.join(" | "));
        writeln!(out, "{}", clean(&line))?;
    }
    parts(told, color, out)
}

/// The images of a split, each to paste.
fn parts(told: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for part in &told.split {
        writeln!(out, "\n{}", paint(&clean(&format!("# for {}", names(&part.on))), Tone::Strong, color))?;
        writeln!(out, "{}", clean_lines(&part.combination.dockerfile).trim_end())?;
        writeln!(out, "# {}", clean(&routes(&part.combination.pools)))?;
    }
    Ok(())
}

fn names(pools: &[String]) -> String {
    pools.join(", ")
}

/// A text of several lines, each without what a terminal would obey.
fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line).into_owned()).collect::<Vec<_>>().join("\n")
}
