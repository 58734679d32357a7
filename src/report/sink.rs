//! Reports that are written while subjects are judged: what they are made from, and what each of them does.

use std::io;

use crate::report::fingerprint::Fingerprints;
use crate::report::model::Finding;
use crate::report::model::Fleet;
use crate::report::model::Report;
use crate::report::model::Subject;
use crate::rules::RuleBook;
use crate::source::SourceText;
use crate::source::Sources;

/// A report that grows subject by subject.
pub trait Sink {
    /// Writes what stands before the first subject; `head` is the report without its subjects.
    fn begin(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()> {
        let _ = (head, out);
        Ok(())
    }

    /// Writes, or keeps for the end, what is told of one subject.
    fn subject(&mut self, subject: &Subject, out: &mut dyn io::Write) -> io::Result<()>;

    /// Writes what stands behind the last subject.
    fn end(&mut self, head: &Report, out: &mut dyn io::Write) -> io::Result<()>;
}

/// What a report is made from beside its subjects.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What the run is called where several are kept side by side: `check` or `scan`, or what was asked for.
    pub category: &'a str,
    /// The fleet of the check.
    pub fleet: &'a Fleet,
    /// The files that places refer to.
    pub sources: &'a Sources,
    /// The pages behind the findings.
    pub book: &'a RuleBook,
    /// A path as it is called from the root of the repository; absolute outside of it.
    pub from_root: &'a dyn Fn(&str) -> String,
}

impl Setting<'_> {
    /// The text at a path, where it was read.
    pub fn text(&self, path: &str) -> Option<&SourceText> {
        self.sources.iter().find(|text| text.name() == path)
    }

    /// What a finding is known by, whatever its pools.
    pub fn fingerprint(&self, prints: &mut Fingerprints, finding: &Finding, subject: &Subject) -> String {
        prints.of_all_pools(finding, subject, &|path| self.text(path).map(SourceText::text), self.from_root)
    }
}

/// A path without the `./` before it.
pub fn short(path: &str) -> &str {
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
    fn a_path_loses_what_says_nothing() {
        for (path, expected) in
            [("./a/b", "a/b"), ("././/a", "a"), ("./", "./"), ("../a", "../a"), ("/a", "/a"), (".a", ".a")]
        {
            assert_eq!(short(path), expected, "{path}");
        }
    }
}
