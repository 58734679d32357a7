//! The trait of reports that are written while subjects are checked, and the context that they need.

use std::io;

use crate::report::fingerprint::FingerprintGenerator;
use crate::report::model::{Finding, Fleet, Report, Subject};
use crate::rules::RuleBook;
use crate::text::source::{SourceText, Sources};

/// Writes a report subject by subject.
pub trait ReportWriter {
    /// Writes the text before the first subject; `head` is the report without its subjects.
    fn write_start(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let _ = (head, out);
        Ok(())
    }

    /// Writes a subject, or keeps it for the end of the report.
    fn write_subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()>;

    /// Writes the text after the last subject.
    fn write_end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()>;
}

/// The input of a report other than its subjects.
#[derive(Clone, Copy)]
pub struct ReportContext<'a> {
    /// Name of the run, to tell several stored runs apart: `check`, `scan` or the value of `--category`.
    pub category: &'a str,
    /// The fleet of the check.
    pub fleet: &'a Fleet,
    /// The files that places refer to.
    pub sources: &'a Sources,
    /// The rule pages of the findings.
    pub book: &'a RuleBook,
    /// A path as it is called from the root of the repository; absolute outside of it.
    pub from_root: &'a dyn Fn(&str) -> String,
}

impl ReportContext<'_> {
    /// Returns the text of a path, if it was read.
    pub fn source_text(&self, path: &str) -> Option<&SourceText> {
        self.sources.iter().find(|text| text.name() == path)
    }

    /// Returns the fingerprint hash of a finding on all its pools.
    pub fn finding_hash(&self, prints: &mut FingerprintGenerator, finding: &Finding, subject: &Subject) -> String {
        prints.hash_for_all_pools(
            finding,
            subject,
            &|path| self.source_text(path).map(SourceText::text),
            self.from_root,
        )
    }
}

/// Returns the path without a leading `./`.
pub fn strip_current_dir(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./").filter(|rest| !rest.is_empty()) {
        path = rest.trim_start_matches('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_current_directory_is_stripped() {
        for (path, expected) in
            [("./a/b", "a/b"), ("././/a", "a"), ("./", "./"), ("../a", "../a"), ("/a", "/a"), (".a", ".a")]
        {
            assert_eq!(strip_current_dir(path), expected, "{path}");
        }
    }
}
