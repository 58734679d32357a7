//! Verdicts that are left open, for a person: each cause once, with all images and pools that share it.

use std::io;

use crate::report::escape::clean;
use crate::report::human::HumanOptions;
use crate::report::human::fix_line;
use crate::report::model::Finding;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::place;
use crate::report::words::title;
use crate::rules::Notice;

/// So many images and places are named; of the rest, the number.
const NAMED: usize = 4;

/// Whether a finding tells a verdict that is left open.
pub fn is_open(finding: &Finding) -> bool {
    Notice::OPEN.iter().any(|notice| notice.word() == finding.rule)
}

struct Cause<'a> {
    first: &'a Finding,
    images: Vec<String>,
    places: Vec<String>,
    /// Changes of these images, each once.
    fixes: Vec<String>,
}

/// Writes every cause.
pub fn open(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for subject in report.subjects.iter().filter(|subject| subject.gpu_content) {
        for finding in subject.findings.iter().filter(|finding| is_open(finding)) {
            let alike = |cause: &&mut Cause<'_>| {
                let key = |one: &Finding| (one.rule.clone(), one.message.clone(), one.help.clone());
                key(cause.first) == key(finding)
            };
            let image = image(subject, finding);
            let places: Vec<String> = finding.locations.iter().map(place).collect();
            let fixes: Vec<String> = finding.fixes.iter().map(fix_line).collect();
            match causes.iter_mut().find(alike) {
                Some(cause) => {
                    cause.images.push(image);
                    cause.fixes.extend(fixes.into_iter().filter(|fix| !cause.fixes.contains(fix)).collect::<Vec<_>>());
                    cause
                        .places
                        .extend(places.into_iter().filter(|place| !cause.places.contains(place)).collect::<Vec<_>>());
                }
                None => causes.push(Cause { first: finding, images: vec![image], places, fixes }),
            }
        }
    }
    for cause in &causes {
        let head = format!("{}: {}", clean(&cause.first.severity), clean(&cause.first.rule));
        writeln!(out, "{}: {}", paint(&head, Tone::Open, options.color), clean(&cause.first.message))?;
        writeln!(out, "  for {}", named(&cause.images, "; "))?;
        if !cause.places.is_empty() {
            writeln!(out, "  at {}", named(&cause.places, ", "))?;
        }
        if let Some(help) = &cause.first.help {
            writeln!(out, "  help: {}", clean(help))?;
        }
        for line in &cause.fixes {
            writeln!(out, "  {}", clean(line))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn image(subject: &Subject, finding: &Finding) -> String {
    let pools: Vec<_> = finding.pools.iter().map(|pool| clean(pool)).collect();
    format!("{} on {}", title(subject), pools.join(", "))
}

fn named(list: &[String], between: &str) -> String {
    let told: Vec<&str> = list.iter().take(NAMED).map(String::as_str).collect();
    match list.len().saturating_sub(NAMED) {
        0 => told.join(between),
        more => format!("{}{between}{more} more", told.join(between)),
    }
}
