//! The report with one line for each finding: `path:line:column: severity rule: message [pools]`.

use std::io;

use crate::report::escape::escape_one_line;
use crate::report::model::{InputError, Report, Subject};
use crate::report::primary_location::PrimaryLocation;
use crate::report::report_writer::{ReportContext, ReportWriter, strip_current_dir};

/// Writes one line for each finding.
pub struct ConciseWriter<'a> {
    setting: ReportContext<'a>,
}

impl<'a> ConciseWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting }
    }
}

impl ReportWriter for ConciseWriter<'_> {
    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        for finding in &subject.findings {
            let location = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            let (severity, rule, message) =
                (finding.severity, escape_one_line(&finding.rule), escape_one_line(&finding.message));
            let image = location.unnamed_image(subject).map_or_else(String::new, |image| format!("{image}: "));
            write!(out, "{}: {severity} {rule}: {image}{message}", location_prefix(&location))?;
            if !finding.pools.is_empty() {
                let pools: Vec<_> = finding.pools.iter().map(|pool| escape_one_line(pool)).collect();
                write!(out, " [{}]", pools.join(", "))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        for error in &head.errors {
            writeln!(
                out,
                "{}: error cannot-read: {}",
                location_prefix(&error_location(error)),
                escape_one_line(&error.message)
            )?;
        }
        Ok(())
    }
}

/// Returns the location of an input that could not be read.
pub fn error_location(error: &InputError) -> PrimaryLocation<'_> {
    PrimaryLocation::at_location(error.location.as_ref(), &error.input)
}

/// Returns `path:line:column` in a form that no CI runner takes for a command.
fn location_prefix(location: &PrimaryLocation<'_>) -> String {
    let path = escape_one_line(strip_current_dir(location.path));
    // A line that begins so is a command to the runners of some forges.
    let path = if path.starts_with("::") { format!("./{path}") } else { path.into_owned() };
    let path = path.replace("##[", "#\\u{23}[");
    match location.region {
        Some(region) => format!("{path}:{}:{}", region.start_line, region.start_column),
        None => path,
    }
}
