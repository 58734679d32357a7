//! `imagelint man`: writes the manual pages, generated from the flags.

use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::cli::args::{Args, ManArgs};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::escape::escape_one_line;

/// The section on exit codes at the end of each manual page.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
No finding at or above the level of \-\-fail\-on.
.TP
\fB1\fR
Findings, differences, or a failed test.
.TP
\fB2\fR
Invalid usage, settings or fleet file, or an input that cannot be read.
.TP
\fB3\fR
Nothing to check, or no such name.
.TP
\fB130\fR
Stopped by Ctrl\-C.
"#;

/// Runs `imagelint man`.
pub(crate) fn run(options: &ManArgs) -> Result<Exit, CommandError> {
    let folder = &options.folder;
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let source = format!("imagelint {}", command.get_version().unwrap_or_default());
    let written = fs::create_dir_all(folder).and_then(|()| write_pages(command, &source, folder));
    written.map_err(|error| write_error(folder, &error))?;
    let name = folder.display().to_string();
    writeln!(
        streams::stdout(),
        "manual pages are in {}; to open the first, run: man -l {0}/imagelint.1",
        escape_one_line(&name)
    )?;
    Ok(Exit::Clean)
}

/// Writes the manual pages of a command and of its subcommands.
fn write_pages(command: Command, source: &str, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        write_pages(below, source, folder)?;
    }
    let man = Man::new(command).source(source);
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    fs::write(folder.join(man.get_filename()), page)
}

/// Returns the error for a folder where manual pages cannot be written.
fn write_error(folder: &Path, error: &io::Error) -> CommandError {
    let text = format!("error: cannot write manual pages to {}: {error}", folder.display());
    CommandError::Message(escape_one_line(&text).into_owned())
}
