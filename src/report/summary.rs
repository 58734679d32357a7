//! What a run ends with: the matrix, notes, the count.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;

use crate::report::escape::clean;
use crate::report::files::unread_in;
use crate::report::human::HumanOptions;
use crate::report::matrix::image_verdict;
use crate::report::matrix::matrix;
use crate::report::model::Report;
use crate::report::model::SETTINGS;
use crate::report::model::Subject;
use crate::report::words::NO_FLEET;
use crate::report::words::count;
use crate::report::words::title;

/// Writes the summary of a run; nothing where nothing in it concerns a GPU.
pub fn summary(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    if subjects.is_empty() {
        if options.verbose {
            let unread = unread_in(&report.subjects);
            writeln!(out, "no GPU content in {}: nothing to judge{}", count(images(report), "image"), clean(&unread))?;
        }
        if !report.errors.is_empty() {
            writeln!(out, "{} cannot be read", unread(report))?;
        }
        return Ok(());
    }
    if report.fleet.built_in {
        writeln!(out, "{NO_FLEET}")?;
    }
    for subject in &subjects {
        depth(subject, options, out)?;
    }
    matrix(report, options.width, options.color, out)?;
    notes(&subjects, out)?;
    writeln!(out)?;
    closing(report, &subjects, out)
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

fn depth(subject: &Subject, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let image = subject.kind != "description";
    let depth = subject.inspected.depth.as_str();
    if image && depth == "config" {
        writeln!(out, "{}: config only: layers were not read", title(subject))?;
    }
    // What was left out of an image changes what can be told; the rest is as expected.
    if options.verbose || subject.kind == "image" || (image && matches!(depth, "sbom" | "layers")) {
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
    let options = HumanOptions { color: false, ascii: false, width: usize::MAX, verbose: false };
    subjects.iter().try_for_each(|subject| depth(subject, &options, out))?;
    notes(subjects, out)
}

/// What the verdicts on images note, and what those that start left unseen, each once with its pools.
fn notes(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for subject in subjects {
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            let unseen = (verdict.fate == "starts" && !verdict.not_seen.is_empty())
                .then(|| format!("starts as far as was seen; not seen: {}", verdict.not_seen.join(", ")));
            for note in verdict.notes.iter().chain(&unseen) {
                let pools = told.entry(format!("{}: {}", title(subject), clean(note))).or_default();
                pools.push(clean(&verdict.pool).into_owned());
            }
        }
    }
    for (note, pools) in told {
        writeln!(out, "note: {note} ({})", pools.join(", "))?;
    }
    Ok(())
}

/// Writes how many images start on how many pools, in one line.
pub fn closing(report: &Report, subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let pools = &report.fleet.pools;
    write!(out, "{} on {}:", count(subjects.len(), "image"), count(pools.len(), "pool"))?;
    let fates: Vec<&str> = subjects
        .iter()
        .flat_map(|subject| pools.iter().filter_map(|pool| image_verdict(subject, &pool.name)))
        .map(|verdict| verdict.fate.as_str())
        .collect();
    let mut told = Vec::new();
    for (fate, one, many) in [
        ("starts", "starts", "start"),
        ("fails", "fails", "fail"),
        ("depends", "depends", "depend"),
        ("undetermined", "cannot be told", "cannot be told"),
        ("not-applicable", "does not apply", "do not apply"),
    ] {
        match fates.iter().filter(|other| **other == fate).count() {
            0 => {}
            1 => told.push(format!("1 {one}")),
            number => told.push(format!("{number} {many}")),
        }
    }
    if told.is_empty() {
        told.push("no verdict".to_owned());
    }
    write!(out, " {}; ", told.join(", "))?;
    let mut severities = Vec::new();
    for severity in ["error", "warning", "note"] {
        let findings = report.subjects.iter().flat_map(|subject| &subject.findings);
        let number = findings.filter(|finding| finding.severity == severity).count();
        if 0 < number {
            severities.push(count(number, severity));
        }
    }
    let open = fates.iter().filter(|fate| matches!(**fate, "depends" | "undetermined")).count();
    if severities.is_empty() {
        // A comment may have left out what is told of it, and nothing is proved by that.
        severities.push(if open > 0 {
            format!("{} left open", count(open, "verdict"))
        } else {
            "no findings".to_owned()
        });
    }
    write!(out, "{}", severities.join(", "))?;
    if !report.errors.is_empty() {
        write!(out, "; {} cannot be read", unread(report))?;
    }
    writeln!(out)
}
