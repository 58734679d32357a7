//! `--baseline` and `--write-baseline`: which findings of a run are new.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::streams;
use crate::cli::texts::read_text;
use crate::report::baseline::Baseline;
use crate::report::baseline::Entry;
use crate::report::fingerprint::Fingerprint;
use crate::report::fingerprint::Fingerprints;
use crate::report::model::Finding;
use crate::report::model::Subject;
use crate::report::words::count;
use crate::rules::RuleBook;
use crate::source::Sources;

/// No baseline is longer.
const LONGEST: u64 = 256 << 20;

/// What is known, and what of it was met again.
pub(crate) struct Sieve<'a> {
    known: Option<(PathBuf, Baseline)>,
    write: Option<PathBuf>,
    folder: Option<PathBuf>,
    texts: BTreeMap<&'a str, &'a str>,
    names: RefCell<BTreeMap<String, String>>,
    made: Fingerprints,
    met: BTreeSet<String>,
    looked_at: BTreeSet<String>,
    found: Vec<Fingerprint>,
    hidden: usize,
}

impl<'a> Sieve<'a> {
    /// What the options ask for.
    pub(crate) fn new(options: &JudgingArgs, sources: &'a Sources, book: &RuleBook) -> Result<Self, Failure> {
        let config = &options.config;
        let write = config.write_baseline.clone();
        let known = match config.baseline.as_ref().filter(|_| write.is_none()) {
            Some(path) => Some((path.clone(), read(path)?)),
            None => None,
        };
        let path = write.as_ref().or(known.as_ref().map(|(path, _)| path));
        let folder = path.and_then(|path| folder(path));
        Ok(Self {
            known,
            write,
            folder,
            texts: sources.iter().map(|text| (text.name(), text.text())).collect(),
            names: RefCell::default(),
            made: Fingerprints::of_book(book),
            met: BTreeSet::new(),
            looked_at: BTreeSet::new(),
            found: Vec::new(),
            hidden: 0,
        })
    }

    /// Whether findings are written down, and none is told.
    pub(crate) fn writes(&self) -> bool {
        self.write.is_some()
    }

    /// The subject with what is new of its findings.
    pub(crate) fn pass(&mut self, mut subject: Subject) -> Subject {
        if self.known.is_none() && self.write.is_none() {
            return subject;
        }
        let name = self.named(&subject.name);
        self.looked_at.insert(name);
        let findings = std::mem::take(&mut subject.findings);
        let mut left = Vec::new();
        for finding in findings {
            left.extend(self.sift(finding, &subject));
        }
        subject.findings = left;
        subject
    }

    fn sift(&mut self, finding: Finding, subject: &Subject) -> Option<Finding> {
        let mut made = std::mem::take(&mut self.made);
        let texts = |path: &str| self.texts.get(path).copied();
        let prints = made.of(&finding, subject, &texts, &|path| self.named(path));
        self.made = made;
        if self.write.is_some() {
            self.found.extend(prints);
            self.hidden += 1;
            return None;
        }
        let (_, known) = self.known.as_ref()?;
        let is_new: Vec<bool> = prints.iter().map(|print| !known.has(&print.hash)).collect();
        for print in prints {
            self.looked_at.insert(print.path);
            self.met.insert(print.hash);
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

    /// A path as seen from the baseline's folder; what is no file keeps its name.
    fn named(&self, path: &str) -> String {
        if let Some(known) = self.names.borrow().get(path) {
            return known.clone();
        }
        let real = Path::new(path).canonicalize().ok();
        let inside = real.as_deref().zip(self.folder.as_deref());
        let inside = inside.and_then(|(real, folder)| real.strip_prefix(folder).ok());
        let told = inside.map_or_else(|| path.to_owned(), |inside| inside.display().to_string());
        self.names.borrow_mut().insert(path.to_owned(), told.clone());
        told
    }

    /// Writes the file, where that was asked for.
    pub(crate) fn write(&mut self) -> Result<(), Failure> {
        let Some(path) = &self.write else { return Ok(()) };
        let baseline = Baseline::of(std::mem::take(&mut self.found));
        let entries = match baseline.entries().count() {
            one if one == self.hidden => String::new(),
            all => format!(", in {all} entries, one per pool"),
        };
        let text = baseline.to_json().map_err(io::Error::from)?;
        fs::write(path, text)
            .map_err(|error| Failure::Said(format!("error: cannot write {}: {error}", path.display())))?;
        writeln!(streams::out(), "{}: {} saved{entries}", path.display(), count(self.hidden, "finding"))?;
        Ok(())
    }

    /// Tells on standard error how many findings are known, and how many of the known are gone.
    ///
    /// `walked` are the folders of which everything was looked at.
    pub(crate) fn tell(&self, options: &JudgingArgs, walked: &[PathBuf], book: &RuleBook) -> io::Result<()> {
        let Some((path, known)) = &self.known else { return Ok(()) };
        let mut err = streams::err();
        if self.hidden > 0 {
            let is = if self.hidden == 1 { "is" } else { "are" };
            writeln!(err, "{} of the baseline {} {is} hidden", count(self.hidden, "finding"), path.display())?;
        }
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        let speaks = |entry: &Entry| {
            let pool = entry.pool.as_ref().is_none_or(|pool| options.pools.is_empty() || options.pools.contains(pool));
            let rule = book.get(&entry.rule).is_none_or(|page| page.persona <= options.persona());
            let here = self.looked_at.contains(&entry.path)
                || walked.iter().any(|walked| folder.join(&entry.path).starts_with(walked));
            pool && rule && here
        };
        let gone = known.entries().filter(|entry| !self.met.contains(&entry.fingerprint) && speaks(entry)).count();
        if gone > 0 {
            let is = if gone == 1 { "is" } else { "are" };
            let (gone, path) = (count(gone, "finding"), path.display());
            writeln!(err, "{gone} of the baseline {path} {is} fixed: update it with --write-baseline {path}")?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Baseline, Failure> {
    let text = read_text(path, LONGEST);
    let read = text.and_then(|text| Baseline::read(&text).map_err(|error| error.to_string()));
    let path = path.display();
    let help = format!("help: save today's findings with --write-baseline {path}");
    read.map_err(|error| Failure::Said(format!("error: cannot use the baseline {path}: {error}\n{help}")))
}

/// The full path of the folder that a file lies in, or will.
fn folder(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().ok()
}
