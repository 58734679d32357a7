//! The command line: flags, input files, registry access, report output and exit code.

use crate::cli::error::{CommandError, path_from_environment};
pub mod language_server;

mod args;
mod base_images;
mod baseline;
mod build_context;
mod build_definitions;
mod build_dependencies;
mod built_images;
mod cache;
mod check;
mod command_inputs;
mod compare;
mod comparison_side;
mod completions;
mod context_files;
mod describe;
mod error;
mod exit;
mod explain;
mod file_search;
mod fix;
mod fleet_affinity;
mod fleet_command;
mod fleet_drift;
mod fleet_file;
mod fleet_import;
mod fleet_init;
mod fleet_show;
mod git;
mod image_names;
mod input_texts;
mod inputs;
mod interrupt;
mod judging;
mod knowledge;
mod layers;
mod lock;
mod lsp;
mod man;
mod needs;
mod parallel;
mod progress;
mod pull;
mod recommend;
mod referencing_dockerfiles;
mod registry_access;
mod repeated_arguments;
mod report_target;
mod rule_page_text;
mod rules;
mod saved_reports;
mod scan;
mod schema;
mod services_without_gpu;
mod settings;
mod side_configuration;
mod streams;
mod text_file;
mod what_if;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::args::{Args, CliCommand};
use crate::cli::exit::Exit;

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    let args = match Args::from_process() {
        Ok(args) => args,
        Err(error) => {
            let usage = error.use_stderr();
            // A closed pipe is not an error.
            let _ = error.print();
            return if usage { Exit::Broken } else { Exit::Clean }.into();
        }
    };
    args.cache_dir.clone().into_iter().for_each(cache::keep_in);
    let folder = args.knowledge.clone().or_else(|| path_from_environment("IMAGELINT_KNOWLEDGE"));
    let done = knowledge::load_knowledge(folder.as_deref()).and_then(|knowledge| match &args.command {
        CliCommand::Check(options) => check::run(options, knowledge),
        CliCommand::Scan(options) => scan::run(options, knowledge),
        CliCommand::Compare(options) => compare::run(options, knowledge),
        CliCommand::Describe(options) => describe::run(options, knowledge),
        CliCommand::Knowledge(options) => knowledge::run(options, knowledge),
        CliCommand::Lock(options) => lock::run(options, knowledge),
        CliCommand::Cache(options) => cache::run(options),
        CliCommand::Needs(options) => needs::run(options, knowledge),
        CliCommand::Recommend(options) => recommend::run(options, knowledge),
        CliCommand::Schema(args) => schema::run(args),
        CliCommand::Rules(options) => rules::run(options, knowledge),
        CliCommand::Explain(options) => explain::run(options, knowledge),
        CliCommand::Fleet(options) => fleet_command::run(options, knowledge),
        CliCommand::Lsp(options) => lsp::run(options, knowledge),
        CliCommand::Completions(options) => completions::run(options),
        CliCommand::Man(options) => man::run(options),
    });
    match done {
        Ok(exit) => exit.into(),
        Err(CommandError::Pipe) => Exit::Clean.into(),
        Err(CommandError::Message(text)) => {
            let _ = writeln!(streams::stderr(), "{}", text.trim_end());
            Exit::Broken.into()
        }
    }
}
