//! Texts of files, read as what their names say.

use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;

use crate::cli::reports;
use crate::cli::walk::is_description;
use crate::cli::walk::is_dockerfile;
use crate::dockerfile::OnDemand;
use crate::nearest::nearest;
use crate::report::again::Again;
use crate::source::SourceText;

/// No text that a person wrote is longer.
pub(super) const MAX_TEXT: u64 = 4 << 20;

/// The text of a file, read as what its name says.
pub(super) enum Text {
    Dockerfile(OnDemand, SourceText),
    Description(SourceText),
    Report(Result<Again, String>),
}

/// A file that is to be judged.
pub(super) fn read_file(path: &Path) -> Result<Text, String> {
    if reports::is_report(path) {
        return Ok(Text::Report(reports::of_file(path)));
    }
    let text = read_named(path, MAX_TEXT).map_err(|error| format!("{error}{}", beside(path)))?;
    Ok(text_of(path, text))
}

/// The text of a file, read as its name says.
pub(super) fn text_of(path: &Path, text: String) -> Text {
    let name = path.display().to_string();
    // Whatever is written in that form and named on the command line is meant as a description.
    let described =
        is_description(&name) || (path.extension().is_some_and(|ending| ending == "toml") && !is_dockerfile(&name));
    if described {
        Text::Description(SourceText::new(name, text))
    } else if reports::is_report(path) {
        Text::Report(reports::of_text(&text))
    } else {
        let text = SourceText::new(name, text);
        Text::Dockerfile(OnDemand::new(text.shared()), text)
    }
}

/// The text of a plain file, links followed, if it is not too long: nothing waits for a pipe that a repository holds,
/// and no device is read on and on.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    if !fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
        return Err("this is no plain file".to_owned());
    }
    read_named(path, limit)
}

/// The same of what somebody names on the command line, which may be the pipe of a shell.
pub(super) fn read_named(path: &Path, limit: u64) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    read_limited(file, limit)
}

/// A text that is not longer than the limit.
pub(super) fn read_limited(from: impl io::Read, limit: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > limit) {
        return Err(format!("longer than {limit} bytes"));
    }
    String::from_utf8(bytes).or_else(|error| Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// No folder is looked through further for a name that was meant.
const MANY: usize = 4096;

/// What else may be meant by a path where nothing lies.
fn beside(path: &Path) -> String {
    if path.exists() {
        return String::new();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = fs::read_dir(folder)
        .map(|all| all.filter_map(Result::ok).take(MANY).filter_map(|one| one.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match nearest(&name, names.iter().map(String::as_str)) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => "; a folder, or no name at all, takes what lies in it".to_owned(),
    }
}
