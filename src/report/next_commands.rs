//! Suggested commands after a report: for the page of a rule, the steps of a verdict, and fixes.

use std::io;

use crate::report::escape::escape_one_line;
use crate::report::finding_groups::{is_about_unknown_verdict, relevant_fixes};
use crate::report::human_options::HumanOptions;
use crate::report::kinds::{FindingSeverity, FixSafety};
use crate::report::model::{Report, Subject};
use crate::report::phrases::pluralize;
use crate::report::verdict_table::image_verdict;
use crate::report::wrap::{display_width, wrap};

/// Writes the suggested commands; none if there is no finding.
pub fn write_next_commands(
    report: &Report,
    subjects: &[&Subject],
    options: &HumanOptions<'_>,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let findings = || report.subjects.iter().flat_map(|subject| &subject.findings);
    let errors = || {
        findings().filter(|finding| finding.severity == FindingSeverity::Error && !is_about_unknown_verdict(finding))
    };
    let Some(first) = errors().next().or_else(|| findings().find(|finding| !is_about_unknown_verdict(finding))) else {
        return Ok(());
    };
    let command = |flags: &str| format!("imagelint {} {flags}{}", options.command, escape_one_line(options.arguments));
    let explain = format!("Explain: imagelint explain {}", escape_one_line(&first.rule));
    let fails = |pool: &&String| subjects.iter().any(|subject| image_verdict(subject, pool).is_some());
    match first.pools.iter().find(fails).filter(|pool| pool.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))) {
        Some(pool) => {
            let trace = format!("Trace: {}", command(&format!("--why {}", escape_one_line(pool))));
            if display_width(&explain) + 4 + display_width(&trace) <= options.width {
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
        .flat_map(|subject| subject.findings.iter().flat_map(relevant_fixes))
        .map(|fix| (fix.safety, fix.title.as_str()))
        .collect();
    fixes.sort_unstable();
    fixes.dedup();
    let number = |safety: FixSafety| fixes.iter().filter(|(one, _)| *one == safety).count();
    let number_of = |number: usize, kind: &str| pluralize(number, &format!("{kind} fix")).replace("fixs", "fixes");
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
