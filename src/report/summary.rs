//! What a run begins and ends with: the matrix; notes, the count and the next commands.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;

use crate::report::closing::Counted;
use crate::report::closing::closing;
use crate::report::closing::images;
use crate::report::closing::unread;
use crate::report::escape::clean;
use crate::report::files::unread_in;
use crate::report::human::HumanOptions;
use crate::report::kinds::VerdictKind;
use crate::report::matrix::matrix;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::next::next;
use crate::report::words::NO_FLEET;
use crate::report::words::count;
use crate::report::words::listed;
use crate::report::words::title;
use crate::report::wrap::wrap;

/// So many images and pools are named in a line.
const IMAGES: usize = 3;
const POOLS: usize = 4;
/// How the verdict begins on an image that something keeps from the GPU.
const NO_GPU_USED: &str = "no GPU is used: ";

/// Writes the verdicts: first of all what fails.
pub fn answer(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    if report.fleet.built_in && report.subjects.iter().any(|subject| subject.gpu_content) {
        writeln!(out, "{}\n", wrap(NO_FLEET, 0, 2, options.width))?;
    }
    matrix(report, options, out)
}

/// Writes the summary of a run.
pub fn summary(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    if subjects.is_empty() {
        return nothing(report, options, out);
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
    closing(report, &subjects, Counted::PerFault, &mut line)?;
    writeln!(out, "{}", wrap(String::from_utf8_lossy(&line).trim_end(), 0, 2, options.width))?;
    next(report, &subjects, options, out)
}

/// Writes that no image has GPU content, and what switches the GPU off.
fn nothing(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let mut off: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for subject in &report.subjects {
        if let Some(why) = subject.verdicts.iter().find_map(|verdict| verdict.message.strip_prefix(NO_GPU_USED)) {
            off.entry(why).or_default().push(title(subject));
        }
    }
    for (why, images) in &off {
        let line = format!("{}: {NO_GPU_USED}{}", listed(images, IMAGES, ", "), clean(why));
        writeln!(out, "{}", wrap(&line, 0, 2, options.width))?;
    }
    let number = images(report);
    if number > 0 {
        let checked = count(number, "image");
        let line = if options.verbose {
            format!("no GPU content in {checked}: nothing to check{}", clean(&unread_in(&report.subjects)))
        } else {
            let more = if options.command == "check" { " (list files: --show-files)" } else { "" };
            format!("checked {checked}: no GPU content found{more}")
        };
        writeln!(out, "{}", wrap(&line, 0, 2, options.width))?;
    }
    if !report.errors.is_empty() {
        writeln!(out, "{} cannot be read", unread(report))?;
    }
    Ok(())
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

/// Which command inspects more of an image.
fn inspects(subject: &Subject) -> &'static str {
    if subject.kind == "dockerfile" { "; `imagelint scan` inspects the built image" } else { "" }
}

/// What the verdicts on images note, and what those that start left unseen, each once with its pools.
fn notes(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let mut told: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let alone = subjects.len() == 1;
    let all = subjects.iter().flat_map(|subject| &subject.verdicts).map(|verdict| &verdict.pool);
    let all = all.collect::<BTreeSet<_>>().len();
    for subject in subjects {
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            let unseen = (verdict.fate == VerdictKind::Starts && !verdict.not_seen.is_empty())
                .then(|| format!("not inspected: {}{}", verdict.not_seen.join(", "), inspects(subject)));
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
        let pools =
            if pools.len() == all && all > 1 { format!("all {all} pools") } else { listed(&pools, POOLS, ", ") };
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
