//! The door: flags, files, the registry's runtime, the choice of a report, the exit code.

mod access;
mod args;
mod baseline;
mod builds;
mod built;
mod cache;
mod check;
mod compare;
mod completions;
mod context;
mod describe;
mod each;
mod exit;
mod explain;
mod fix;
mod fleet;
mod fleet_affinity;
mod fleet_command;
mod fleet_drift;
mod fleet_import;
mod fleet_init;
mod fleet_show;
mod gather;
mod git;
mod inputs;
mod interrupt;
mod knowledge;
mod known;
mod layers;
mod lock;
mod lsp;
mod man;
mod names;
mod needs;
mod output;
mod outputs;
mod own;
mod pages;
mod parallel;
mod progress;
mod pull;
mod readers;
mod recommend;
mod repeat;
mod reports;
mod rules;
mod scan;
mod schema;
mod settings;
mod sides;
mod spliced;
mod streams;
mod target;
mod texts;
mod unrequested;
mod walk;
mod what_if;
mod workloads;

use std::env;
use std::io;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::args::Args;
use crate::cli::args::Command;
use crate::cli::exit::Exit;

/// Runs the program on the process's own arguments.
pub fn run() -> ExitCode {
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(error) => {
            let usage = error.use_stderr();
            // A closed pipe is nobody's fault.
            let _ = error.print();
            return if usage { Exit::Broken } else { Exit::Clean }.into();
        }
    };
    args.cache_dir.clone().into_iter().for_each(cache::keep_in);
    let folder = args.knowledge.clone().or_else(|| path_from("IMAGELINT_KNOWLEDGE"));
    let done = knowledge::load(folder.as_deref()).and_then(|knowledge| match &args.command {
        Command::Check(options) => check::run(options, knowledge),
        Command::Scan(options) => scan::run(options, knowledge),
        Command::Compare(options) => compare::run(options, knowledge),
        Command::Describe(options) => describe::run(options, knowledge),
        Command::Knowledge(options) => knowledge::run(options, knowledge),
        Command::Lock(options) => lock::run(options, knowledge),
        Command::Cache(options) => cache::run(options),
        Command::Needs(options) => needs::run(options, knowledge),
        Command::Recommend(options) => recommend::run(options, knowledge),
        Command::Schema(args) => schema::run(args),
        Command::Rules(options) => rules::run(options, knowledge),
        Command::Explain(options) => explain::run(options, knowledge),
        Command::Fleet(options) => fleet_command::run(options, knowledge),
        Command::Lsp(options) => lsp::run(options, knowledge),
        Command::Completions(options) => completions::run(options),
        Command::Man(options) => man::run(options),
    });
    match done {
        Ok(exit) => exit.into(),
        Err(Failure::Pipe) => Exit::Clean.into(),
        Err(Failure::Said(text)) => {
            let _ = writeln!(streams::err(), "{}", text.trim_end());
            Exit::Broken.into()
        }
    }
}

/// The path in an environment variable; an empty one is not set.
pub(crate) fn path_from(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Why a command ends before its report.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output went away.
    Pipe,
    /// Told in these words.
    Said(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Pipe } else { Self::Said(format!("error: {error}")) }
    }
}

/// A diagnostic in a user's file, rendered for the terminal.
pub(crate) fn render(diagnostic: &dyn miette::Diagnostic) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(100);
    if handler.render_report(&mut text, diagnostic).is_err() {
        text = diagnostic.to_string();
    }
    text
}
