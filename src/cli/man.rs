//! `imagelint man`: the manual, made from the flags.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;

use clap::Command;
use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::cli::Failure;
use crate::cli::args::Args;
use crate::cli::args::ManArgs;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::escape::clean;

/// What stands at the end of each page.
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

/// Runs it.
pub(crate) fn run(options: &ManArgs) -> Result<Exit, Failure> {
    let folder = &options.folder;
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let source = format!("imagelint {}", command.get_version().unwrap_or_default());
    let written = fs::create_dir_all(folder).and_then(|()| pages(command, &source, folder));
    written.map_err(|error| cannot(folder, &error))?;
    let name = folder.display().to_string();
    writeln!(streams::out(), "manual pages are in {}; to open the first, run: man -l {0}/imagelint.1", clean(&name))?;
    Ok(Exit::Clean)
}

/// The pages of a command and of those below it.
fn pages(command: Command, source: &str, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        pages(below, source, folder)?;
    }
    let man = Man::new(command).source(source);
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    fs::write(folder.join(man.get_filename()), page)
}

fn cannot(folder: &Path, error: &io::Error) -> Failure {
    let text = format!("error: cannot write manual pages to {}: {error}", folder.display());
    Failure::Said(clean(&text).into_owned())
}
