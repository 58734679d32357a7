//! Saved JSON reports among the inputs, judged again.

use std::io::{BufReader, Read as _, Write as _};
use std::path::Path;
use std::{fs, io};

use crate::cli::command_inputs::CommandInputs;
use crate::cli::streams;
use crate::judge::saved;
use crate::report::escape::escape_one_line;
use crate::report::kinds::SubjectKind;
use crate::report::saved_report;
use crate::report::saved_report::SavedReport;
use crate::text::nearest::unreadable_path_message;
use crate::text::source::Sources;

/// Largest size of a report file in bytes: some 4,000 images and 20 pools. Only its observations stay in memory.
const MAX_REPORT_BYTES: u64 = 4 << 30;
/// Largest size of a report from a pipe in bytes, which is read into memory.
pub(super) const MAX_PIPED_BYTES: u64 = 64 << 20;
/// Size of the read buffer.
const BUFFER_BYTES: usize = 256 << 10;

/// Whether a file is read as a report, by its extension.
pub(super) fn is_report_path(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Reads a saved report from a file.
pub(super) fn read_report_file(path: &Path) -> Result<SavedReport, String> {
    let about =
        fs::metadata(path).map_err(|error| unreadable_path_message(path, &error, "a report of --format json"))?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if about.len() > MAX_REPORT_BYTES {
        return Err(format!("longer than {MAX_REPORT_BYTES} bytes"));
    }
    let open = || -> io::Result<_> {
        Ok(BufReader::with_capacity(BUFFER_BYTES, fs::File::open(path)?.take(MAX_REPORT_BYTES)))
    };
    // An error of opening is reported in the words of the operating system.
    open().map_err(|error| error.to_string())?;
    saved_report::read_saved_report(open).map_err(|error| error.to_string())
}

/// Reads a saved report from a text in memory.
pub(super) fn read_report_text(text: &str) -> Result<SavedReport, String> {
    saved_report::read_saved_report(|| Ok(text.as_bytes())).map_err(|error| error.to_string())
}

impl CommandInputs {
    /// Adds every subject of a saved report, to be judged again, and the input errors of that report.
    pub(super) fn add_report(&mut self, name: &str, report: SavedReport, sources: &mut Sources) {
        let texts = saved::restore_texts(report.texts, sources);
        let others: Vec<&str> =
            report.subjects.iter().filter(|subject| subject.has_edited_facts()).map(|one| one.name.as_str()).collect();
        if let Some(first) = others.first() {
            let more = if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
            // A closed pipe is not an error.
            let _ = writeln!(
                streams::stderr(),
                "warning: {}: `facts` of {}{more} were edited and are ignored; they are computed again from `observed`",
                escape_one_line(name),
                escape_one_line(first)
            );
        }
        // Settings without effect are reported for the current settings, not for those of the report.
        for subject in report.subjects.into_iter().filter(|subject| subject.kind != SubjectKind::Settings) {
            let subject_name = subject.name.clone();
            match saved::restore_subject(subject, &texts, sources) {
                Ok(subject) => self.subjects.push(subject),
                Err(error) => self.add_error(name, format!("{subject_name}: {error}")),
            }
        }
        self.errors.extend(report.errors);
    }
}
