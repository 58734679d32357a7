//! Verdicts that are unknown, for a person: each cause once, with all images that share it.

use std::collections::BTreeMap;
use std::io;

use crate::report::escape::clean;
use crate::report::groups::severity;
use crate::report::human::HumanOptions;
use crate::report::model::Finding;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::paint::Tone;
use crate::report::paint::paint;
use crate::report::words::count;
use crate::report::words::listed;
use crate::report::words::place;
use crate::report::words::title;
use crate::report::wrap::columns;
use crate::report::wrap::wrap;
use crate::rules::Notice;

/// So many images are named; of the rest, the number.
const NAMED: usize = 3;
/// Stands for names that differ between images with the same cause.
const NAME: &str = "`...`";

/// Whether a finding is about a verdict that is unknown.
pub fn is_open(finding: &Finding) -> bool {
    Notice::OPEN.iter().any(|notice| notice.word() == finding.rule)
}

struct Cause<'a> {
    first: &'a Finding,
    /// Whether images name different things in it.
    differs: bool,
    images: Vec<String>,
    /// Changes of these images, each once.
    fixes: Vec<String>,
}

/// Writes every cause, that of most images first within a severity, then the command that settles most of them.
pub fn open(report: &Report, options: &HumanOptions, out: &mut impl io::Write) -> io::Result<()> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    let all = report.fleet.pools.len();
    for subject in report.subjects.iter().filter(|subject| subject.gpu_content) {
        for finding in subject.findings.iter().filter(|finding| is_open(finding)) {
            let texts = [&finding.message, finding.help.as_ref().unwrap_or(&finding.rule)].map(|text| unnamed(text));
            let at = *known.entry((finding.rule.as_str(), texts)).or_insert(causes.len());
            if at == causes.len() {
                causes.push(Cause { first: finding, differs: false, images: Vec::new(), fixes: Vec::new() });
            }
            let Some(cause) = causes.get_mut(at) else { continue };
            cause.differs |= (&cause.first.message, &cause.first.help) != (&finding.message, &finding.help);
            cause.images.push(image(subject, finding, all));
            for fix in &finding.fixes {
                let fix = fix.told();
                if !cause.fixes.contains(&fix) {
                    cause.fixes.push(fix);
                }
            }
        }
    }
    causes.sort_by_key(|cause| (severity(&cause.first.severity), usize::MAX - cause.images.len()));
    for cause in &causes {
        let shown = |text: &str| if cause.differs { unnamed(text) } else { text.to_owned() };
        let head = format!("{}[{}]", clean(&cause.first.severity), clean(&cause.first.rule));
        let message = shown(&cause.first.message);
        let told = wrap(&clean(&message), columns(&head) + 2, 2, options.width);
        writeln!(out, "{}: {told}", paint(&head, Tone::Open, options.color))?;
        let images = match cause.images.as_slice() {
            [image] => image.clone(),
            images => format!("{}: {}", count(images.len(), "image"), listed(images, NAMED, "; ")),
        };
        writeln!(out, " --> {}", wrap(&images, 5, 5, options.width))?;
        let mut line = |key: &str, text: &str| {
            writeln!(out, "  = {key}: {}", wrap(&clean(text), 6 + columns(key), 4, options.width))
        };
        if let Some(why) = &cause.first.cause {
            line("cause", &shown(why))?;
        }
        for fix in &cause.fixes {
            line("fix", fix)?;
        }
        if let Some(help) = &cause.first.help {
            line("help", &shown(help))?;
        }
        writeln!(out)?;
    }
    let unread = |cause: &&Cause<'_>| cause.first.help.as_ref().is_some_and(|help| help.contains("--pull"));
    let unread: usize = causes.iter().filter(unread).map(|cause| cause.images.len()).sum();
    if unread > 1 {
        let told = format!("{unread} base images or configurations were not read; run `imagelint lock .`");
        writeln!(out, "{}\n", wrap(&told, 0, 2, options.width))?;
    }
    Ok(())
}

/// A text without the names in it: those in backticks.
fn unnamed(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let told = parts.iter().enumerate();
    // A field, a flag or a command is the same in every image.
    told.map(|(at, part)| match at % 2 {
        0 => (*part).to_owned(),
        _ if part.contains(['/', ':', '.']) => NAME.to_owned(),
        _ => format!("`{part}`"),
    })
    .collect()
}

fn image(subject: &Subject, finding: &Finding, all: usize) -> String {
    let own = finding.locations.iter().find(|place| place.kind != "fleet" && place.region.is_some());
    let image = match own.filter(|own| own.path == subject.name && subject.stage.is_none()) {
        Some(own) => place(own),
        None => title(subject),
    };
    let pools: Vec<_> = finding.pools.iter().map(|pool| clean(pool)).collect();
    match pools.len() {
        0 => image,
        number if number == all && all > 1 => format!("{image} on all {all} pools"),
        _ => format!("{image} on {}", pools.join(", ")),
    }
}
