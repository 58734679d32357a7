//! The commands that lead on from a report: to the page of a rule, to the steps of a verdict, to the fixes.

use std::io;

use crate::report::escape::clean;
use crate::report::groups::offered;
use crate::report::human::HumanOptions;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::FixSafety;
use crate::report::matrix::image_verdict;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::open::is_open;
use crate::report::words::count;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// Writes these commands; none if there is no finding.
pub fn next(
    report: &Report,
    subjects: &[&Subject],
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let findings = || report.subjects.iter().flat_map(|subject| &subject.findings);
    let errors = || findings().filter(|finding| finding.severity == FindingSeverity::Error && !is_open(finding));
    let Some(first) = errors().next().or_else(|| findings().find(|finding| !is_open(finding))) else { return Ok(()) };
    let command = |flags: &str| format!("imagelint {} {flags}{}", options.command, clean(options.arguments));
    let explain = format!("Explain: imagelint explain {}", clean(&first.rule));
    let fails = |pool: &&String| subjects.iter().any(|subject| image_verdict(subject, pool).is_some());
    match first.pools.iter().find(fails).filter(|pool| pool.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))) {
        Some(pool) => {
            let trace = format!("Trace: {}", command(&format!("--why {}", clean(pool))));
            if columns(&explain) + 4 + columns(&trace) <= options.width {
                writeln!(out, "{explain}    {trace}")?;
            } else {
                writeln!(out, "{explain}\n{}", wrap(&trace, 0, 2, options.width))?;
            }
        }
        None => writeln!(out, "{explain}")?,
    }
    if errors().next().is_none() {
        return Ok(());
    }
    if !options.searched {
        return writeln!(out, "{}", wrap(&format!("Fixes: {}", command("--show-fixes")), 0, 2, options.width));
    }
    let mut fixes: Vec<(FixSafety, &str)> = report
        .subjects
        .iter()
        .flat_map(|subject| subject.findings.iter().flat_map(offered))
        .map(|fix| (fix.safety, fix.title.as_str()))
        .collect();
    fixes.sort_unstable();
    fixes.dedup();
    let number = |safety: FixSafety| fixes.iter().filter(|(one, _)| *one == safety).count();
    let number_of = |number: usize, kind: &str| count(number, &format!("{kind} fix")).replace("fixs", "fixes");
    let line = match (number(FixSafety::Safe), number(FixSafety::Unsafe), number(FixSafety::Manual)) {
        (0, 0, 0) => "No fix found.".to_owned(),
        (0, 0, manual) => format!("No fix in a file; {}.", number_of(manual, "manual")),
        (0, others, _) => format!("{}: {}", number_of(others, "unsafe"), command("--diff --unsafe-fixes")),
        (safe, others, _) => {
            let more = if others == 0 { String::new() } else { format!("; {others} more with --unsafe-fixes") };
            format!("{}: {} (preview: --diff){more}", number_of(safe, "safe"), command("--fix"))
        }
    };
    writeln!(out, "{}", wrap(&line, 0, 2, options.width))
}
