//! Text files among the inputs, classified by their names.

use std::path::Path;

use crate::cli::file_search::{is_description_name, is_dockerfile_name};
use crate::cli::saved_reports;
use crate::cli::text_file::{MAX_TEXT_BYTES, missing_file_error, read_command_line_file};
use crate::dockerfile::LazyDockerfile;
use crate::report::saved_report::SavedReport;
use crate::text::source::SourceText;

/// The text of an input file, classified by its name.
pub(super) enum InputText {
    Dockerfile(LazyDockerfile, SourceText),
    Description(SourceText),
    Report(Result<SavedReport, String>),
}

/// Reads a file that is to be judged.
pub(super) fn read_input(path: &Path) -> Result<InputText, String> {
    if saved_reports::is_report_path(path) {
        return Ok(InputText::Report(saved_reports::read_report_file(path)));
    }
    let text =
        read_command_line_file(path, MAX_TEXT_BYTES).map_err(|error| missing_file_error(path).unwrap_or(error))?;
    Ok(classify_text(path, text))
}

/// Classifies a text by the name of its file.
pub(super) fn classify_text(path: &Path, text: String) -> InputText {
    let name = path.display().to_string();
    // Whatever is written in that form and named on the command line is meant as a description.
    let described = is_description_name(&name)
        || (path.extension().is_some_and(|ending| ending == "toml") && !is_dockerfile_name(&name));
    if described {
        InputText::Description(SourceText::new(name, text))
    } else if saved_reports::is_report_path(path) {
        InputText::Report(saved_reports::read_report_text(&text))
    } else {
        let text = SourceText::new(name, text);
        InputText::Dockerfile(LazyDockerfile::new(text.shared_text()), text)
    }
}
