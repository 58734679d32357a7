//! The beginning and the end of the terminal report: the table of verdicts; notes, the result line and suggested
//! commands.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::model::fact::InspectionDepth;
use crate::model::note::Note;
use crate::report::checked_files::unread_suffix;
use crate::report::escape::escape_one_line;
use crate::report::human_options::HumanOptions;
use crate::report::kinds::{SubjectKind, VerdictKind};
use crate::report::model::{Report, Subject};
use crate::report::next_commands::write_next_commands;
use crate::report::phrases::{NO_FLEET, join_first, pluralize, subject_title, unused_gpu_message};
use crate::report::result_line::{FindingCounting, image_count, unreadable_input_count, write_result_line};
use crate::report::verdict_table::write_verdict_table;
use crate::report::wrap::wrap;

/// Maximum number of images named in a line.
const MAX_IMAGES: usize = 3;
/// Maximum number of pools named in a line.
const MAX_POOLS: usize = 4;

/// Writes the table of verdicts, after a notice if the fleet is the built-in one.
pub fn write_verdicts(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    if report.fleet.built_in && report.subjects.iter().any(|subject| subject.gpu_content) {
        writeln!(out, "{}\n", wrap(NO_FLEET, 0, 2, options.width))?;
    }
    write_verdict_table(report, options, out)
}

/// Writes the notes, the result line and the suggested commands.
pub fn write_summary(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let subjects: Vec<&Subject> = report.subjects.iter().filter(|subject| subject.gpu_content).collect();
    if subjects.is_empty() {
        return write_no_gpu_content(report, options, out);
    }
    let mut noted = Vec::new();
    for subject in &subjects {
        write_inspection_notes(subject, options.verbose, &mut noted)?;
    }
    write_verdict_notes(&subjects, &mut noted)?;
    for line in String::from_utf8_lossy(&noted).lines() {
        writeln!(out, "{}", wrap(line, 0, 2, options.width))?;
    }
    if !noted.is_empty() {
        writeln!(out)?;
    }
    let mut line = Vec::new();
    write_result_line(report, &subjects, FindingCounting::PerFault, &mut line)?;
    writeln!(out, "{}", wrap(String::from_utf8_lossy(&line).trim_end(), 0, 2, options.width))?;
    write_next_commands(report, &subjects, options, out)
}

/// Writes that no image has GPU content, and which settings keep images from using the GPU.
fn write_no_gpu_content(report: &Report, options: &HumanOptions<'_>, out: &mut impl io::Write) -> io::Result<()> {
    let mut off: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for subject in &report.subjects {
        if let Some(why) = subject.verdicts.iter().find_map(|verdict| verdict.unused_gpu.as_deref()) {
            off.entry(why).or_default().push(subject_title(subject));
        }
    }
    for (why, images) in &off {
        let line = format!("{}: {}", join_first(images, MAX_IMAGES, ", "), escape_one_line(&unused_gpu_message(why)));
        writeln!(out, "{}", wrap(&line, 0, 2, options.width))?;
    }
    let number = image_count(report);
    if number > 0 {
        let checked = pluralize(number, "image");
        let line = if options.verbose {
            format!(
                "no GPU content in {checked}: nothing to check{}",
                escape_one_line(&unread_suffix(&report.subjects))
            )
        } else {
            let more = if options.command == "check" { " (list files: --show-files)" } else { "" };
            format!("checked {checked}: no GPU content found{more}")
        };
        writeln!(out, "{}", wrap(&line, 0, 2, options.width))?;
    }
    if !report.errors.is_empty() {
        writeln!(out, "{} cannot be read", unreadable_input_count(report))?;
    }
    Ok(())
}

/// Writes how little of a subject was inspected, and why no single change makes it start on all its pools.
fn write_inspection_notes(subject: &Subject, verbose: bool, out: &mut impl io::Write) -> io::Result<()> {
    let image = subject.kind != SubjectKind::Description;
    let depth = subject.inspected.depth;
    if image && depth == InspectionDepth::Config {
        writeln!(out, "{}: config only: layers were not read", subject_title(subject))?;
    }
    // Skipped parts of an image can change its verdicts; the rest is as expected.
    if verbose
        || subject.kind == SubjectKind::Image
        || (image && matches!(depth, InspectionDepth::Sbom | InspectionDepth::Layers))
    {
        for note in
            subject.inspected.notes.iter().map(Note::line).filter(|note| Some(*note) != subject.split.as_deref())
        {
            writeln!(out, "{}: {}", subject_title(subject), escape_one_line(note))?;
        }
    }
    if let Some(split) = &subject.split {
        writeln!(out, "{}: {}", subject_title(subject), escape_one_line(split))?;
    }
    Ok(())
}

/// Writes the inspection notes and the notes of verdicts.
pub fn write_remarks(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    subjects.iter().try_for_each(|subject| write_inspection_notes(subject, false, out))?;
    write_verdict_notes(subjects, out)
}

/// Returns a hint at the command that inspects more of an image; empty if there is none.
fn scan_hint(subject: &Subject) -> &'static str {
    if subject.kind == SubjectKind::Dockerfile { "; `imagelint scan` inspects the built image" } else { "" }
}

/// Writes the notes of verdicts, and the code that was not inspected in images that start, each once with its pools.
fn write_verdict_notes(subjects: &[&Subject], out: &mut impl io::Write) -> io::Result<()> {
    let mut pools_by_note: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let single_subject = subjects.len() == 1;
    let all = subjects.iter().flat_map(|subject| &subject.verdicts).map(|verdict| &verdict.pool);
    let all = all.collect::<BTreeSet<_>>().len();
    for subject in subjects {
        for verdict in subject.verdicts.iter().filter(|verdict| verdict.component.is_none()) {
            let uninspected_note = (verdict.fate == VerdictKind::Starts && !verdict.not_seen.is_empty())
                .then(|| format!("not inspected: {}{}", verdict.not_seen.join(", "), scan_hint(subject)));
            for note in verdict.notes.iter().chain(&uninspected_note) {
                let pools =
                    pools_by_note.entry((subject_title(subject), escape_one_line(note).into_owned())).or_default();
                pools.push(escape_one_line(&verdict.pool).into_owned());
            }
        }
    }
    // The same note of several images is one.
    let mut grouped: Vec<(String, String, Vec<String>)> = Vec::new();
    let mut known = BTreeMap::new();
    for ((image, note), pools) in pools_by_note {
        let pools = if pools.len() == all && all > 1 {
            format!("all {all} pools")
        } else {
            join_first(&pools, MAX_POOLS, ", ")
        };
        let at = *known.entry((note.clone(), pools.clone())).or_insert(grouped.len());
        match grouped.get_mut(at) {
            Some((.., images)) => images.push(image),
            None => grouped.push((note, pools, vec![image])),
        }
    }
    for (note, pools, images) in grouped {
        let images = if single_subject { String::new() } else { format!("{}: ", join_first(&images, 3, ", ")) };
        writeln!(out, "note: {images}{note} ({pools})")?;
    }
    Ok(())
}
