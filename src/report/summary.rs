//! What a run begins and ends with: the matrix; notes, the count and the next commands.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use crate::report::escape::clean;
use crate::report::files::unread_in;
use crate::report::human::HumanOptions;
use crate::report::matrix::image_verdict;
use crate::report::matrix::matrix;
use crate::report::model::Report;
use crate::report::model::SETTINGS;
use crate::report::model::Subject;
use crate::report::open::is_open;
use crate::report::words::NO_FLEET;
use crate::report::words::count;
use crate::report::words::listed;
use crate::report::words::title;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;

/// Writes the verdicts: first of all what fails.
pub fn answer(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    if report.fleet.built_in && report.subjects.iter().any(|subject| subject.gpu_content) {
        writeln!(out, "{}\n", wrap(NO_FLEET, 0, 2, options.width))?;
    }
    matrix(report, options, out)
}

/// Writes the summary of a run; nothing if nothing in it concerns a GPU.
pub fn summary(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    if subjects.is_empty() {
        if options.verbose {
            let unread = unread_in(&report.subjects);
            writeln!(out, "no GPU content in {}: nothing to check{}", count(images(report), "image"), clean(&unread))?;
        }
        if !report.errors.is_empty() {
            writeln!(out, "{} cannot be read", unread(report))?;
        }
        return Ok(());
    }
    let mut noted = Vec::new();
    for subject in &subjects {
        depth(subject, options.verbose, &mut noted)?;
    }
    notes(&subjects, &mut noted)?;
    for line in String::from_utf8_lossy(&noted).lines() {
        writeln!(out, "{}", wrap(line, 0, 2, options.width))?;
    }
    if !noted.is_empty() {
        writeln!(out)?;
    }
    let mut line = Vec::new();
    closing(report, &subjects, &mut line)?;
    writeln!(out, "{}", wrap(String::from_utf8_lossy(&line).trim_end(), 0, 2, options.width))?;
    next(report, &subjects, options, out)
}

/// Writes the commands that lead on: to the fixes, to the page of a rule, to the steps of a verdict.
fn next(report: &Report, subjects: &[&Subject], options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let findings = || report.subjects.iter().flat_map(|subject| &subject.findings);
    let errors = || findings().filter(|finding| finding.severity == "error" && !is_open(finding));
    let Some(first) = errors().next().or_else(|| findings().find(|finding| !is_open(finding))) else { return Ok(()) };
    let explain = format!("Explain: imagelint explain {}", clean(&first.rule));
    let fails = |pool: &&String| subjects.iter().any(|subject| image_verdict(subject, pool).is_some());
    match first.pools.iter().find(fails).filter(|pool| pool.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))) {
        Some(pool) => {
            let trace = format!("Trace: imagelint {} --why {}", options.command, clean(pool));
            let together = columns(&explain) + 4 + columns(&trace) <= options.width;
            writeln!(out, "{explain}{}{trace}", if together { "    " } else { "\n" })?;
        }
        None => writeln!(out, "{explain}")?,
    }
    if errors().next().is_none() {
        return Ok(());
    }
    if !options.searched {
        return writeln!(out, "Fixes: imagelint {} --show-fixes", options.command);
    }
    let mut fixes: Vec<(&str, &str)> =
        findings().flat_map(|one| &one.fixes).map(|fix| (fix.safety.as_str(), fix.title.as_str())).collect();
    fixes.sort_unstable();
    fixes.dedup();
    let number = |safety: &str| fixes.iter().filter(|(one, _)| *one == safety).count();
    let told = match (number("safe"), number("unsafe"), number("manual")) {
        (0, 0, 0) => "No fix found.".to_owned(),
        (0, 0, manual) => format!("No fix in a file; {}.", count(manual, "manual fix").replace("fixs", "fixes")),
        (0, unsafe_ones, _) => {
            let fixes = if unsafe_ones == 1 { "fix" } else { "fixes" };
            format!("No safe fix available; {unsafe_ones} unsafe {fixes}: --diff --unsafe-fixes")
        }
        (safe, unsafe_ones, _) => {
            let fixes = if safe == 1 { "fix" } else { "fixes" };
            let more =
                if unsafe_ones == 0 { String::new() } else { format!("; {unsafe_ones} more with --unsafe-fixes") };
            format!("{safe} safe {fixes}: --fix (preview: --diff){more}")
        }
    };
    writeln!(out, "{}", wrap(&told, 0, 2, options.width))
}

/// How many images were looked at.
pub fn images(report: &Report) -> usize {
    report.subjects.iter().filter(|subject| subject.kind != SETTINGS).count()
}

/// How many inputs could not be read; one may have several mistakes.
fn unread(report: &Report) -> String {
    let inputs: BTreeSet<&str> = report.errors.iter().map(|error| error.input.as_str()).collect();
    count(inputs.len(), "input")
}

fn depth(subject: &Subject, verbose: bool, out: &mut impl io::Write) -> io::Result<()> {
    let image = subject.kind != "description";
    let depth = subject.inspected.depth.as_str();
    if image && depth == "config" {
        writeln!(out, "{}: config only: layers were not read", title(subject))?;
    }
    // What was left out of an image changes what can be told; the rest is as expected.
    if verbose || subject.kind == "image" || (image && matches!(depth, "sbom" | "layers")) {
        for note in subject.inspected.notes.iter().filter(|note| Some(*note) != subject.split.as_ref()) {
            writeln!(out, "{}: {}", title(subject), clean(note))?;
        }
    }
    if let Some(split) = &subject.split {
        writeln!(out, "{}: {}", title(subject), clean(split))?;
    }
    Ok(())
}

/// Writes what a reader of verdicts has to know: how little was read, what no single change does, what was left unseen.
pub fn remarks(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    subjects.iter().try_for_each(|subject| depth(subject, false, out))?;
    notes(subjects, out)
}

/// What the verdicts on images note, and what those that start left unseen, each once with its pools.
fn notes(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let mut told: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let alone = subjects.len() == 1;
    let all = subjects.iter().flat_map(|subject| &subject.verdicts).map(|verdict| &verdict.pool);
    let all = all.collect::<BTreeSet<_>>().len();
    for subject in subjects {
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            let unseen = (verdict.fate == "starts" && !verdict.not_seen.is_empty())
                .then(|| format!("no failure found; not inspected: {}", verdict.not_seen.join(", ")));
            for note in verdict.notes.iter().chain(&unseen) {
                let pools = told.entry((title(subject), clean(note).into_owned())).or_default();
                pools.push(clean(&verdict.pool).into_owned());
            }
        }
    }
    // The same note of several images is one.
    let mut grouped: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut known = BTreeMap::new();
    for ((image, note), pools) in told {
        let pools = if pools.len() == all && all > 1 { format!("all {all} pools") } else { pools.join(", ") };
        let at = *known.entry((note.clone(), pools.clone())).or_insert(grouped.len());
        match grouped.get_mut(at) {
            Some((.., images)) => images.push(image),
            None => grouped.push((note, pools, vec![image])),
        }
    }
    for (note, pools, images) in grouped {
        let images = if alone { String::new() } else { format!("{}: ", listed(&images, 3, ", ")) };
        writeln!(out, "note: {images}{note} ({pools})")?;
    }
    Ok(())
}

/// The rules about images that cannot be built.
const BUILD: &[&str] = &["installer-missing", "dockerfile-syntax"];

/// Whether an error is about the build, so that no image exists to start.
fn unbuildable(report: &Report) -> bool {
    let mut findings = report.subjects.iter().flat_map(|subject| &subject.findings);
    findings.any(|finding| finding.severity == "error" && BUILD.contains(&finding.rule.as_str()))
}

/// Writes how many pools or verdicts fail, in one line.
pub fn closing(report: &Report, subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let pools = &report.fleet.pools;
    let fates: Vec<&str> = subjects
        .iter()
        .flat_map(|subject| pools.iter().filter_map(|pool| image_verdict(subject, &pool.name)))
        .map(|verdict| verdict.fate.as_str())
        .collect();
    let number = |fate: &str| fates.iter().filter(|other| **other == fate).count();
    let mut severities = Vec::new();
    for severity in ["error", "warning", "note"] {
        let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
        let number = findings.filter(|finding| finding.severity == severity).count();
        if 0 < number {
            severities.push(count(number, severity));
        }
    }
    let (fails, may, unknown) = (number("fails"), number("depends"), number("undetermined"));
    let (images, on) = (count(subjects.len(), "image"), count(pools.len(), "pool"));
    let mut line = if fails + may + unknown == 0 {
        match number("starts") {
            0 => format!("checked {images} on {on}, no verdict"),
            _ if unbuildable(report) => format!("checked {images} on {on}: the build fails"),
            _ => format!("checked {images} on {on}, no failure found"),
        }
    } else {
        let mut told = Vec::new();
        let verb = |number: usize| if number == 1 { "fails" } else { "fail" };
        match subjects {
            [_] if fails > 0 => told.push(format!("{fails} of {on} {}", verb(fails))),
            _ if fails > 0 => told.push(format!("{fails} of {} {}", count(fates.len(), "verdict"), verb(fails))),
            _ => {}
        }
        if may > 0 {
            told.push(format!("{may} may fail"));
        }
        if unknown > 0 {
            told.push(format!("{unknown} unknown"));
        }
        let told = told.join(", ");
        if matches!(subjects, [_]) && fails > 0 { told } else { format!("checked {images} on {on}: {told}") }
    };
    if !severities.is_empty() {
        let colon = if line.contains(':') || line.contains(", no ") { "; " } else { ": " };
        line.push_str(colon);
        line.push_str(&severities.join(", "));
    }
    if !report.errors.is_empty() {
        let _ = write!(line, "; {} cannot be read", unread(report));
    }
    writeln!(out, "{line}")
}
