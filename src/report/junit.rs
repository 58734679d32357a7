//! The report as results of tests (`junit`): a suite for each subject, a case for each pool.

use std::io;

use crate::report::concise::of_error;
use crate::report::files::unread_in;
use crate::report::kinds::FindingSeverity;
use crate::report::kinds::VerdictKind;
use crate::report::model::Finding;
use crate::report::model::Report;
use crate::report::model::SETTINGS;
use crate::report::model::Subject;
use crate::report::model::Verdict;
use crate::report::sink::Setting;
use crate::report::sink::Sink;
use crate::report::spot::Spot;
use crate::report::spot::named_advice;
use crate::report::words::cell;
use crate::report::words::sentence;
use crate::report::words::title;
use crate::report::xml::xml;

/// Writes suites as they come.
pub struct Junit<'a> {
    setting: Setting<'a>,
}

impl<'a> Junit<'a> {
    /// Of a run.
    pub fn new(setting: Setting<'a>) -> Self {
        Self { setting }
    }
}

/// One case: its name and what stands in it.
struct Case {
    name: String,
    file: String,
    errors: Vec<String>,
    skipped: Option<String>,
    said: Vec<String>,
}

impl Sink for Junit<'_> {
    fn begin(&mut self, _: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"imagelint\">")
    }

    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()> {
        let verdicts = subject.verdicts.iter().filter(|verdict| verdict.component.is_none());
        let mut cases: Vec<Case> = if subject.gpu_content {
            verdicts.map(|verdict| self.of_pool(verdict, subject)).collect()
        } else if subject.kind == SETTINGS {
            Vec::new()
        } else {
            vec![Case {
                skipped: Some(format!("no GPU content, nothing to check{}", unread_in([subject]))),
                ..Case::named("every pool", self.file(&subject.name))
            }]
        };
        let general: Vec<&Finding> = subject.findings.iter().filter(|finding| finding.pools.is_empty()).collect();
        if !general.is_empty() {
            cases.push(self.telling(Case::named("on every pool", self.file(&subject.name)), &general, subject));
        }
        suite(&title(subject), &cases, out)
    }

    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        if !head.errors.is_empty() {
            writeln!(
                out,
                "  <testsuite name=\"inputs\" tests=\"{0}\" failures=\"0\" errors=\"{0}\" skipped=\"0\">",
                head.errors.len()
            )?;
            for error in &head.errors {
                let spot = of_error(error);
                let (name, file) = (xml(&error.input), xml(&self.file(spot.path)));
                writeln!(out, "    <testcase classname=\"inputs\" name=\"{name}\" file=\"{file}\">")?;
                writeln!(out, "      <error type=\"cannot-read\" message=\"{}\"/>", xml(&error.message))?;
                writeln!(out, "    </testcase>")?;
            }
            writeln!(out, "  </testsuite>")?;
        }
        writeln!(out, "</testsuites>")
    }
}

impl Junit<'_> {
    /// A file as it is called from the root of the repository.
    fn file(&self, path: &str) -> String {
        (self.setting.from_root)(path)
    }

    fn of_pool(&self, verdict: &Verdict, subject: &Subject) -> Case {
        let mut case = Case::named(&verdict.pool, self.file(&subject.name));
        let alone = verdict.fate == VerdictKind::NotApplicable;
        case.said.push(if alone { cell(verdict) } else { sentence(verdict) });
        case.said.extend(verdict.notes.iter().map(|note| format!("note: {note}")));
        // Neither passed nor failed: nobody knows yet, or there is nothing to know.
        case.skipped =
            (!matches!(verdict.fate, VerdictKind::Starts | VerdictKind::Fails)).then(|| case.said.join("; "));
        let about: Vec<&Finding> =
            subject.findings.iter().filter(|finding| finding.pools.contains(&verdict.pool)).collect();
        self.telling(case, &about, subject)
    }

    /// The case with what findings say: only errors are failures.
    fn telling(&self, mut case: Case, findings: &[&Finding], subject: &Subject) -> Case {
        for finding in findings {
            let spot = Spot::of(finding, subject, self.setting.fleet);
            let told = format!("{}:{}: {}", self.file(spot.path), spot.line(), named_advice(finding, subject, &spot));
            if finding.severity == FindingSeverity::Error {
                let (rule, message) = (xml(&finding.rule), xml(&finding.message));
                case.errors.push(format!("<failure type=\"{rule}\" message=\"{message}\">{}</failure>", xml(&told)));
            } else {
                case.said.push(format!("{} {}: {told}", finding.severity, finding.rule));
            }
        }
        case
    }
}

impl Case {
    fn named(name: &str, file: String) -> Self {
        Self { name: name.to_owned(), file, errors: Vec::new(), skipped: None, said: Vec::new() }
    }
}

fn suite(name: &str, cases: &[Case], out: &mut dyn io::Write) -> io::Result<()> {
    let failures = cases.iter().filter(|case| !case.errors.is_empty()).count();
    let skipped = cases.iter().filter(|case| case.errors.is_empty() && case.skipped.is_some()).count();
    let (name, tests) = (xml(name), cases.len());
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    )?;
    for case in cases {
        writeln!(out, "    <testcase classname=\"{name}\" name=\"{}\" file=\"{}\">", xml(&case.name), xml(&case.file))?;
        for failure in &case.errors {
            writeln!(out, "      {failure}")?;
        }
        if let Some(why) = case.skipped.as_ref().filter(|_| case.errors.is_empty()) {
            writeln!(out, "      <skipped message=\"{}\"/>", xml(why))?;
        }
        if !case.said.is_empty() {
            writeln!(out, "      <system-out>{}</system-out>", xml(&case.said.join("\n")))?;
        }
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>")
}
