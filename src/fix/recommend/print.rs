//! Text output of a recommendation.

use std::io;

use crate::fix::recommend::model::{Combination, CombinationOnPool, Recommendation};
use crate::replay::StartRoute;
use crate::report::escape::escape_one_line;
use crate::report::phrases::pluralize;
use crate::report::terminal_colors::{TextStyle, paint};

/// Writes a recommendation for a terminal.
pub fn write_recommendation(recommendation: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let requests: Vec<String> = recommendation
        .requests
        .with
        .iter()
        .cloned()
        .chain(recommendation.requests.base.iter().map(|base| format!("on {base}")))
        .chain(recommendation.requests.python.iter().map(|python| format!("with Python {python}")))
        .collect();
    let head = format!(
        "{} for {} of {}",
        requests.join(" "),
        pluralize(recommendation.fleet.pools.len(), "pool"),
        recommendation.fleet.source
    );
    writeln!(out, "{}", paint(&escape_one_line(&head), TextStyle::Strong, color))?;
    if recommendation.combinations.is_empty() {
        write_conflict(recommendation, color, out)?;
    } else {
        write_table(recommendation, color, out)?;
    }
    if !recommendation.rejected.is_empty() {
        writeln!(out, "\n{}", paint("Not on every pool", TextStyle::Strong, color))?;
    }
    for one in &recommendation.rejected {
        let what = if one.packages.is_empty() { one.base.clone() } else { format!("{} on {}", one.packages, one.base) };
        writeln!(
            out,
            "  {}: {}",
            escape_one_line(&what),
            paint(&escape_one_line(&pool_results_text(&one.pools)), TextStyle::Bad, color)
        )?;
    }
    let undetermined = &recommendation.undetermined;
    if undetermined.combinations > 0 {
        let why = undetermined.because.as_ref().map(|why| format!(", such as {why}")).unwrap_or_default();
        let line = format!(
            "{} not recommended, because the result is unknown",
            pluralize(undetermined.combinations, "combination")
        );
        writeln!(out, "\n{}", paint(&escape_one_line(&format!("{line}{why}")), TextStyle::Open, color))?;
    }
    for note in &recommendation.notes {
        writeln!(out, "note: {}", escape_one_line(note))?;
    }
    Ok(())
}

/// Writes the ranked combinations, the Dockerfile of the first, and why the others rank lower.
fn write_table(recommendation: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let head = ["#", "base", "packages", "CUDA", "routes"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(recommendation.combinations.iter().map(table_row)).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{:width$}", escape_one_line(cell), width = *width))
            .collect();
        let line = cells.join("  ");
        let tone = match at {
            0 => TextStyle::Faint,
            1 => TextStyle::Good,
            _ => TextStyle::Open,
        };
        let line = line.trim_end();
        if at < 2 { writeln!(out, "{}", paint(line, tone, color))? } else { writeln!(out, "{line}")? }
    }
    if recommendation.more > 0 {
        writeln!(out, "and {} more that start on every pool (--limit)", recommendation.more)?;
    }
    if let Some(best) = recommendation.combinations.first() {
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
            writeln!(out, "\nsmallest drivers: {}", escape_one_line(&drivers.join(", ")))?;
        }
    }
    if recommendation.combinations.len() > 1 {
        writeln!(out, "\n{}", paint("Why the others rank lower", TextStyle::Strong, color))?;
    }
    for one in &recommendation.combinations {
        if let Some(why) = &one.lost_because {
            writeln!(out, "  {} {}", one.rank, escape_one_line(why))?;
        }
    }
    if !recommendation.split.is_empty() {
        let sides = recommendation.split.iter().map(|part| join_names(&part.on)).collect::<Vec<_>>().join(" | ");
        let line = format!("Without PTX JIT: a separate image for each of {sides}");
        writeln!(out, "\n{}", paint(&escape_one_line(&line), TextStyle::Strong, color))?;
        write_split(recommendation, color, out)?;
    }
    Ok(())
}

/// Returns the cells of a combination.
fn table_row(one: &Combination) -> Vec<String> {
    let packages: Vec<String> = one
        .packages
        .iter()
        .map(|package| package.spec.clone().unwrap_or_else(|| format!("{} {}", package.name, package.version)))
        .collect();
    let cuda = one.cuda.clone().unwrap_or_else(|| "-".to_owned());
    let inspection_note = if one.unseen { "; not fully inspected" } else { "" };
    vec![one.rank.to_string(), one.base.clone(), packages.join(" "), cuda, routes_text(&one.pools) + inspection_note]
}

/// Returns the routes of a combination: `native; minor-version on t4, a100`, the most frequent first.
fn routes_text(pools: &[CombinationOnPool]) -> String {
    let mut by_route: Vec<(StartRoute, Vec<&str>)> = Vec::new();
    for (route, pool) in pools.iter().filter_map(|pool| Some((pool.route?, pool.pool.as_str()))) {
        match by_route.iter_mut().find(|(own, _)| *own == route) {
            Some((_, names)) => names.push(pool),
            None => by_route.push((route, vec![pool])),
        }
    }
    by_route.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let routes = by_route.iter().enumerate().map(|(at, (route, names))| {
        if at == 0 { route.to_string() } else { format!("{route} on {}", names.join(", ")) }
    });
    routes.collect::<Vec<_>>().join("; ")
}

/// Returns the results on pools: `fails with insufficient-driver on t4`.
fn pool_results_text(pools: &[CombinationOnPool]) -> String {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pool in pools {
        let (end, name) = match pool.outcome {
            Some(outcome) => (format!("fails with {outcome}"), &pool.pool),
            None => (pool.fate.to_string(), &pool.pool),
        };
        match found.iter_mut().find(|(own, _)| *own == end) {
            Some((_, names)) => names.push(format!("`{name}`")),
            None => found.push((end, vec![format!("`{name}`")])),
        }
    }
    found.iter().map(|(end, names)| format!("{end} on {}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

/// Writes that no combination starts on every pool, and the images that do together.
fn write_conflict(recommendation: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let tried = pluralize(recommendation.tried, "combination");
    let line = format!("none of {tried} starts on every pool");
    writeln!(out, "{}", paint(&line, TextStyle::Bad, color))?;
    if !recommendation.never.is_empty() {
        let names: Vec<String> = recommendation.never.iter().map(|name| format!("`{name}`")).collect();
        writeln!(out, "none starts on {}", escape_one_line(&names.join(", ")))?;
    }
    if recommendation.split.len() > 1 {
        let sides: Vec<String> = recommendation.split.iter().map(|part| join_names(&part.on)).collect();
        let line = format!("these pools need different images: {}", sides.join(" | "));
        writeln!(out, "{}", escape_one_line(&line))?;
    }
    write_split(recommendation, color, out)
}

/// Writes the images of a split, each as a Dockerfile.
fn write_split(recommendation: &Recommendation, color: bool, out: &mut dyn io::Write) -> io::Result<()> {
    for part in &recommendation.split {
        writeln!(
            out,
            "\n{}",
            paint(&escape_one_line(&format!("# for {}", join_names(&part.on))), TextStyle::Strong, color)
        )?;
        writeln!(out, "{}", clean_lines(&part.combination.dockerfile).trim_end())?;
        writeln!(out, "# {}", escape_one_line(&routes_text(&part.combination.pools)))?;
    }
    Ok(())
}

/// Joins the names of pools.
fn join_names(pools: &[String]) -> String {
    pools.join(", ")
}

/// Removes terminal control sequences from each line of a text.
fn clean_lines(text: &str) -> String {
    text.lines().map(|line| escape_one_line(line).into_owned()).collect::<Vec<_>>().join("\n")
}
