//! `--baseline` and `--write-baseline`: separates new findings from those of a baseline file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cli::args::JudgingArgs;
use crate::cli::error::CommandError;
use crate::cli::streams;
use crate::cli::text_file::read_text;
use crate::report::baseline::{Baseline, Entry};
use crate::report::fingerprint::{Fingerprint, FingerprintGenerator};
use crate::report::model::{Finding, Subject};
use crate::report::phrases::pluralize;
use crate::rules::RuleBook;
use crate::text::source::Sources;

/// Maximum size in bytes of a baseline file.
const MAX_BASELINE_BYTES: u64 = 256 << 20;

/// Filter that hides the findings of a baseline, or collects all findings for a new one.
pub(crate) struct BaselineFilter<'a> {
    known: Option<(PathBuf, Baseline)>,
    write: Option<PathBuf>,
    folder: Option<PathBuf>,
    texts: BTreeMap<&'a str, &'a str>,
    names: RefCell<BTreeMap<String, String>>,
    fingerprints: FingerprintGenerator,
    matched: BTreeSet<String>,
    checked_paths: BTreeSet<String>,
    collected: Vec<Fingerprint>,
    hidden: usize,
}

impl<'a> BaselineFilter<'a> {
    /// Creates the filter that the options request, and reads the baseline file.
    pub(crate) fn new(options: &JudgingArgs, sources: &'a Sources, book: &RuleBook) -> Result<Self, CommandError> {
        let config = &options.config;
        let write = config.write_baseline.clone();
        let known = match config.baseline.as_ref().filter(|_| write.is_none()) {
            Some(path) => Some((path.clone(), read_baseline(path)?)),
            None => None,
        };
        let path = write.as_ref().or(known.as_ref().map(|(path, _)| path));
        let folder = path.and_then(|path| parent_directory(path));
        Ok(Self {
            known,
            write,
            folder,
            texts: sources.iter().map(|text| (text.name(), text.text())).collect(),
            names: RefCell::default(),
            fingerprints: FingerprintGenerator::for_rules(book),
            matched: BTreeSet::new(),
            checked_paths: BTreeSet::new(),
            collected: Vec::new(),
            hidden: 0,
        })
    }

    /// Whether findings go to a new baseline file instead of the report.
    pub(crate) fn writes_baseline(&self) -> bool {
        self.write.is_some()
    }

    /// Returns the subject with its new findings only.
    pub(crate) fn filter_subject(&mut self, mut subject: Subject) -> Subject {
        if self.known.is_none() && self.write.is_none() {
            return subject;
        }
        let name = self.baseline_path(&subject.name);
        self.checked_paths.insert(name);
        let findings = std::mem::take(&mut subject.findings);
        let mut left = Vec::new();
        for finding in findings {
            left.extend(self.filter_finding(finding, &subject));
        }
        subject.findings = left;
        subject
    }

    /// Returns the finding if it is new, limited to the pools on which it is new.
    fn filter_finding(&mut self, finding: Finding, subject: &Subject) -> Option<Finding> {
        let mut made = std::mem::take(&mut self.fingerprints);
        let texts = |path: &str| self.texts.get(path).copied();
        let prints = made.finding_fingerprints(&finding, subject, &texts, &|path| self.baseline_path(path));
        self.fingerprints = made;
        if self.write.is_some() {
            self.collected.extend(prints);
            self.hidden += 1;
            return None;
        }
        let (_, known) = self.known.as_ref()?;
        let is_new: Vec<bool> = prints.iter().map(|print| !known.contains_hash(&print.hash)).collect();
        for print in prints {
            self.checked_paths.insert(print.path);
            self.matched.insert(print.hash);
        }
        if is_new.iter().all(|new| *new) {
            return Some(finding);
        }
        if is_new.iter().all(|new| !*new) {
            self.hidden += 1;
            return None;
        }
        let pools = finding.pools.iter().zip(&is_new).filter(|(_, new)| **new).map(|(pool, _)| pool.clone());
        Some(Finding { pools: pools.collect(), ..finding })
    }

    /// Returns a path relative to the directory of the baseline; a name that is not a file stays unchanged.
    fn baseline_path(&self, path: &str) -> String {
        if let Some(known) = self.names.borrow().get(path) {
            return known.clone();
        }
        let real = Path::new(path).canonicalize().ok();
        let inside = real.as_deref().zip(self.folder.as_deref());
        let inside = inside.and_then(|(real, folder)| real.strip_prefix(folder).ok());
        let relative = inside.map_or_else(|| path.to_owned(), |inside| inside.display().to_string());
        self.names.borrow_mut().insert(path.to_owned(), relative.clone());
        relative
    }

    /// Writes the baseline file, if `--write-baseline` is set.
    pub(crate) fn write_baseline(&mut self) -> Result<(), CommandError> {
        let Some(path) = &self.write else { return Ok(()) };
        let baseline = Baseline::from_fingerprints(std::mem::take(&mut self.collected));
        let entries = match baseline.entries().count() {
            one if one == self.hidden => String::new(),
            all => format!(", in {all} entries, one per pool"),
        };
        let text = baseline.to_json().map_err(io::Error::from)?;
        fs::write(path, text)
            .map_err(|error| CommandError::Message(format!("error: cannot write {}: {error}", path.display())))?;
        writeln!(streams::stdout(), "{}: {} saved{entries}", path.display(), pluralize(self.hidden, "finding"))?;
        Ok(())
    }

    /// Prints to standard error how many findings the baseline hides, and how many of its findings are fixed.
    ///
    /// `walked` are the folders of which everything was looked at.
    pub(crate) fn report_hidden_findings(
        &self,
        options: &JudgingArgs,
        walked: &[PathBuf],
        book: &RuleBook,
    ) -> io::Result<()> {
        let Some((path, known)) = &self.known else { return Ok(()) };
        let mut err = streams::stderr();
        if self.hidden > 0 {
            let is = if self.hidden == 1 { "is" } else { "are" };
            writeln!(err, "{} of the baseline {} {is} hidden", pluralize(self.hidden, "finding"), path.display())?;
        }
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        let speaks = |entry: &Entry| {
            let pool = entry.pool.as_ref().is_none_or(|pool| options.pools.is_empty() || options.pools.contains(pool));
            let rule = book.get(&entry.rule).is_none_or(|page| page.persona <= options.persona());
            let here = self.checked_paths.contains(&entry.path)
                || walked.iter().any(|walked| folder.join(&entry.path).starts_with(walked));
            pool && rule && here
        };
        let fixed = known.entries().filter(|entry| !self.matched.contains(&entry.fingerprint) && speaks(entry)).count();
        if fixed > 0 {
            let is = if fixed == 1 { "is" } else { "are" };
            let (fixed, path) = (pluralize(fixed, "finding"), path.display());
            writeln!(err, "{fixed} of the baseline {path} {is} fixed: update it with --write-baseline {path}")?;
        }
        Ok(())
    }
}

/// Reads a baseline file.
fn read_baseline(path: &Path) -> Result<Baseline, CommandError> {
    let text = read_text(path, MAX_BASELINE_BYTES);
    let read = text.and_then(|text| Baseline::read(&text).map_err(|error| error.to_string()));
    let path = path.display();
    let help = format!("help: save today's findings with --write-baseline {path}");
    read.map_err(|error| CommandError::Message(format!("error: cannot use the baseline {path}: {error}\n{help}")))
}

/// Returns the absolute path of the directory of a file that need not exist.
fn parent_directory(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().ok()
}
