//! The report with a line for each finding: `path:line:column: severity rule: message [pools]`.

use std::io;

use crate::report::escape::clean;
use crate::report::model::InputError;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::sink::short;
use crate::report::spot::Spot;

/// Writes lines.
pub struct Concise<'a> {
    setting: Setting<'a>,
}

impl<'a> Concise<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting }
    }
}

impl Sink for Concise<'_> {
    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            let (severity, rule, message) = (finding.severity, clean(&finding.rule), clean(&finding.message));
            let image = spot.unnamed(subject).map_or_else(String::new, |image| format!("{image}: "));
            write!(out, "{}: {severity} {rule}: {image}{message}", place(&spot))?;
            if !finding.pools.is_empty() {
                let pools: Vec<_> = finding.pools.iter().map(|pool| clean(pool)).collect();
                write!(out, " [{}]", pools.join(", "))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            writeln!(out, "{}: error cannot-read: {}", place(&of_error(error)), clean(&error.message))?;
        }
        Ok(())
    }
}

/// The place of an input that could not be read.
pub fn of_error(error: &InputError) -> Spot<'_> {
    Spot::at(error.location.as_ref(), &error.input)
}

fn place(spot: &Spot<'_>) -> String {
    let path = clean(short(spot.path));
    // A line that begins so is a command to the runners of some forges.
    let path = if path.starts_with("::") { format!("./{path}") } else { path.into_owned() };
    let path = path.replace("##[", "#\\u{23}[");
    match spot.region {
        Some(region) => format!("{path}:{}:{}", region.start_line, region.start_column),
        None => path,
    }
}
