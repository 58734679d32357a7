//! The report as `JUnit` test results: a test suite for each subject, a test case for each pool.

use std::io;

use crate::report::checked_files::unread_suffix;
use crate::report::concise::error_location;
use crate::report::kinds::{FindingSeverity, SubjectKind, VerdictKind};
use crate::report::model::{Finding, Report, Subject, Verdict};
use crate::report::phrases::{subject_title, verdict_phrase, verdict_sentence};
use crate::report::primary_location::{PrimaryLocation, message_with_image};
use crate::report::report_writer::{ReportContext, ReportWriter};
use crate::report::xml::escape_xml;

/// Writes each subject as a test suite.
pub struct JunitWriter<'a> {
    setting: ReportContext<'a>,
}

impl<'a> JunitWriter<'a> {
    /// Returns a writer for the report of one run.
    pub fn new(setting: ReportContext<'a>) -> Self {
        Self { setting }
    }
}

/// A test case: its name and its results.
struct JunitTestCase {
    name: String,
    file: String,
    errors: Vec<String>,
    skipped: Option<String>,
    system_out: Vec<String>,
}

impl ReportWriter for JunitWriter<'_> {
    fn write_start(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"imagelint\">")
    }

    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let verdicts = subject.verdicts.iter().filter(|verdict| verdict.component.is_none());
        let mut cases: Vec<JunitTestCase> = if subject.gpu_content {
            verdicts.map(|verdict| self.pool_test_case(verdict, subject)).collect()
        } else if subject.kind == SubjectKind::Settings {
            Vec::new()
        } else {
            vec![JunitTestCase {
                skipped: Some(format!("no GPU content, nothing to check{}", unread_suffix([subject]))),
                ..JunitTestCase::named("every pool", self.path_from_root(&subject.name))
            }]
        };
        let general: Vec<&Finding> = subject.findings.iter().filter(|finding| finding.pools.is_empty()).collect();
        if !general.is_empty() {
            cases.push(self.with_findings(
                JunitTestCase::named("on every pool", self.path_from_root(&subject.name)),
                &general,
                subject,
            ));
        }
        write_suite(&subject_title(subject), &cases, out)
    }

    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        if !head.errors.is_empty() {
            writeln!(
                out,
                "  <testsuite name=\"inputs\" tests=\"{0}\" failures=\"0\" errors=\"{0}\" skipped=\"0\">",
                head.errors.len()
            )?;
            for error in &head.errors {
                let spot = error_location(error);
                let (name, file) = (escape_xml(&error.input), escape_xml(&self.path_from_root(spot.path)));
                writeln!(out, "    <testcase classname=\"inputs\" name=\"{name}\" file=\"{file}\">")?;
                writeln!(out, "      <error type=\"cannot-read\" message=\"{}\"/>", escape_xml(&error.message))?;
                writeln!(out, "    </testcase>")?;
            }
            writeln!(out, "  </testsuite>")?;
        }
        writeln!(out, "</testsuites>")
    }
}

impl JunitWriter<'_> {
    /// Returns a path as seen from the root of the repository.
    fn path_from_root(&self, path: &str) -> String {
        (self.setting.from_root)(path)
    }

    /// Returns the test case of the verdict on a pool.
    fn pool_test_case(&self, verdict: &Verdict, subject: &Subject) -> JunitTestCase {
        let mut case = JunitTestCase::named(&verdict.pool, self.path_from_root(&subject.name));
        let not_applicable = verdict.fate == VerdictKind::NotApplicable;
        case.system_out.push(if not_applicable { verdict_phrase(verdict) } else { verdict_sentence(verdict) });
        case.system_out.extend(verdict.notes.iter().map(|note| format!("note: {note}")));
        // Neither passed nor failed: the verdict is open or not applicable.
        case.skipped =
            (!matches!(verdict.fate, VerdictKind::Starts | VerdictKind::Fails)).then(|| case.system_out.join("; "));
        let about: Vec<&Finding> =
            subject.findings.iter().filter(|finding| finding.pools.contains(&verdict.pool)).collect();
        self.with_findings(case, &about, subject)
    }

    /// Returns the test case with findings added to its results; only errors are failures.
    fn with_findings(&self, mut case: JunitTestCase, findings: &[&Finding], subject: &Subject) -> JunitTestCase {
        for finding in findings {
            let spot = PrimaryLocation::of_finding(finding, subject, self.setting.fleet);
            let finding_text = format!(
                "{}:{}: {}",
                self.path_from_root(spot.path),
                spot.line(),
                message_with_image(finding, subject, &spot)
            );
            if finding.severity == FindingSeverity::Error {
                let (rule, message) = (escape_xml(&finding.rule), escape_xml(&finding.message));
                case.errors.push(format!(
                    "<failure type=\"{rule}\" message=\"{message}\">{}</failure>",
                    escape_xml(&finding_text)
                ));
            } else {
                case.system_out.push(format!("{} {}: {finding_text}", finding.severity, finding.rule));
            }
        }
        case
    }
}

impl JunitTestCase {
    /// Returns a test case without results.
    fn named(name: &str, file: String) -> Self {
        Self { name: name.to_owned(), file, errors: Vec::new(), skipped: None, system_out: Vec::new() }
    }
}

/// Writes a test suite.
fn write_suite(name: &str, cases: &[JunitTestCase], out: &mut dyn io::Write) -> io::Result<()> {
    let failures = cases.iter().filter(|case| !case.errors.is_empty()).count();
    let skipped = cases.iter().filter(|case| case.errors.is_empty() && case.skipped.is_some()).count();
    let (name, tests) = (escape_xml(name), cases.len());
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    )?;
    for case in cases {
        writeln!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\" file=\"{}\">",
            escape_xml(&case.name),
            escape_xml(&case.file)
        )?;
        for failure in &case.errors {
            writeln!(out, "      {failure}")?;
        }
        if let Some(why) = case.skipped.as_ref().filter(|_| case.errors.is_empty()) {
            writeln!(out, "      <skipped message=\"{}\"/>", escape_xml(why))?;
        }
        if !case.system_out.is_empty() {
            writeln!(out, "      <system-out>{}</system-out>", escape_xml(&case.system_out.join("\n")))?;
        }
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>")
}
