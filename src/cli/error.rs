//! Errors that end a command, and how they are printed.

use std::path::PathBuf;
use std::{env, io};

/// Returns the path in an environment variable; an empty variable counts as unset.
pub(crate) fn path_from_environment(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Reason why a command ends before its report.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The pipe that reads the output was closed.
    Pipe,
    /// An error message for standard error.
    Message(String),
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Pipe } else { Self::Message(format!("error: {error}")) }
    }
}

/// Renders a diagnostic in a user's file for the terminal.
pub(crate) fn render_diagnostic(diagnostic: &dyn miette::Diagnostic) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, diagnostic).is_err() {
        text = diagnostic.to_string();
    }
    text
}
