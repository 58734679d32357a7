//! Saved reports among the inputs.

use std::fs;
use std::io;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;

use crate::cli::inputs::Inputs;
use crate::cli::streams;
use crate::judge::saved;
use crate::nearest::unread;
use crate::report::again;
use crate::report::again::Again;
use crate::report::escape::clean;
use crate::report::model;
use crate::source::Sources;

/// The longest report: that of some 4,000 images and 20 pools. Of it only what was seen is ever in memory.
const LONGEST: u64 = 4 << 30;
/// The longest that is taken from a pipe, and held in memory.
pub(super) const LONGEST_PIPED: u64 = 64 << 20;
/// What is read of it at a time.
const BUFFER: usize = 256 << 10;

/// Whether a file is read as a report.
pub(super) fn is_report(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// A report in a file.
pub(super) fn of_file(path: &Path) -> Result<Again, String> {
    let about = fs::metadata(path).map_err(|error| unread(path, &error, "a report of --format json"))?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if about.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    let open = || -> io::Result<_> { Ok(BufReader::with_capacity(BUFFER, fs::File::open(path)?.take(LONGEST))) };
    // What cannot be opened is told in the system's words.
    open().map_err(|error| error.to_string())?;
    again::read(open).map_err(|error| error.to_string())
}

/// A report that is in memory.
pub(super) fn of_text(text: &str) -> Result<Again, String> {
    again::read(|| Ok(text.as_bytes())).map_err(|error| error.to_string())
}

impl Inputs {
    /// Every subject of a saved report, to be judged again, and what it says could not be read.
    pub(super) fn report(&mut self, name: &str, report: Again, sources: &mut Sources) {
        let texts = saved::texts(report.texts, sources);
        let others: Vec<&str> =
            report.subjects.iter().filter(|subject| subject.has_other_facts()).map(|one| one.name.as_str()).collect();
        if let Some(first) = others.first() {
            let more = if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
            // A closed pipe is nobody's fault.
            let _ = writeln!(
                streams::err(),
                "warning: {}: `facts` of {}{more} were edited and are ignored; they are computed again from `observed`",
                clean(name),
                clean(first)
            );
        }
        // What had no effect in settings is told by those of today.
        for subject in report.subjects.into_iter().filter(|subject| subject.kind != model::SETTINGS) {
            let told = subject.name.clone();
            match saved::subject(subject, &texts, sources) {
                Ok(subject) => self.subjects.push(subject),
                Err(error) => self.error(name, format!("{told}: {error}")),
            }
        }
        self.errors.extend(report.errors);
    }
}
