//! Command-line arguments of all commands.

mod builds;
mod cache;
mod check;
mod compare;
mod config;
mod describe;
mod difference;
mod fixing;
mod flag_order;
mod fleet;
mod formats;
mod judging;
mod knowledge;
mod lock;
mod lsp;
mod recommend;
mod registry;
mod rules;
mod scan;
mod schema;
mod shell_integration;
mod value_parsers;
mod what_if;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::cli::text_file::is_image_name;
use crate::knowledge::Knowledge;
use crate::text::nearest::nearest_word;

pub(crate) use builds::{BuildArgs, BuildTargetArgs, DockerfileArgs};
pub(crate) use cache::{CacheAction, CacheArgs};
pub(crate) use check::CheckArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use config::{ConfigArgs, SettingsArgs};
pub(crate) use describe::{DescribeArgs, NeedsArgs};
pub(crate) use difference::DifferenceFormat;
pub(crate) use fleet::{
    FleetAction, FleetAffinityArgs, FleetArgs, FleetCheckArgs, FleetFileArgs, FleetImportArgs, FleetInitArgs,
    FleetShowArgs,
};
pub(crate) use formats::{Color, FailOn, OutputFormat, ReportFormat, ReportOutput};
pub(crate) use judging::JudgingArgs;
pub(crate) use knowledge::KnowledgeArgs;
pub(crate) use lock::LockArgs;
pub(crate) use lsp::LspArgs;
pub(crate) use recommend::{RecommendArgs, RecommendFormat};
pub(crate) use registry::RegistryArgs;
pub(crate) use rules::{ExplainArgs, RulesAction, RulesArgs};
pub(crate) use scan::{ProgressMode, ScanArgs, ScanDepth};
pub(crate) use schema::{SchemaArgs, SchemaFormat};
pub(crate) use shell_integration::{CompletionsArgs, ManArgs};
pub(crate) use what_if::WhatIfArgs;

/// Predict on which node pools a GPU container will not start, and why
///
/// Without a command, imagelint checks the current directory. Flags may come before or after the command.
#[derive(Debug, Parser)]
#[command(name = "imagelint", version = version(), override_usage = "imagelint [COMMAND] [OPTIONS]")]
#[command(after_help = "Examples:
  imagelint                                        check this directory
  imagelint check --fleet fleet.toml Dockerfile    check one Dockerfile
  imagelint explain insufficient-driver            explain a rule")]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: CliCommand,
    /// Add entries to the compatibility database from DIR
    ///
    /// They have the form of the built-in tables, and replace entries of the same key. Without it, imagelint reads the
    /// directory in `IMAGELINT_KNOWLEDGE`, if that is set and not empty.
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub(crate) knowledge: Option<PathBuf>,
    /// Use this cache directory [~/.cache/imagelint]
    ///
    /// Without it, imagelint uses the directory in `IMAGELINT_CACHE_DIR`, if that is set and not empty, else `imagelint` in
    /// `XDG_CACHE_HOME` or `~/.cache`.
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    // Commands that print in color define this flag themselves; the others accept it and print as always.
    /// Use color: auto, always, never
    #[arg(long, global = true, hide = true, value_enum, value_name = "WHEN")]
    color: Option<Color>,
}

/// Returns the version of the program with the date of the compatibility database.
fn version() -> &'static str {
    let knowledge = Knowledge::built_in().newest_source_date();
    // One leak of a few bytes in a process that ends: clap keeps static texts alone.
    String::leak(format!("{} (compatibility database of {knowledge})", env!("CARGO_PKG_VERSION")))
}

impl Args {
    /// Parses the arguments of the process; without a command, they are those of `imagelint check`.
    pub(crate) fn from_process() -> Result<Self, clap::Error> {
        let args: Vec<OsString> = std::env::args_os().collect();
        if args.len() < 2 {
            return Self::try_parse_from(["imagelint", "check"]);
        }
        let args = flag_order::move_flags_behind_command(&args, &Self::command());
        let parsed = Self::try_parse_from(&args).map_err(add_suggestions);
        let flag = args.get(1).is_some_and(|word| word.to_string_lossy().starts_with('-'));
        let path = || args.iter().skip(2).any(|word| Path::new(word).exists());
        match parsed {
            // Flags of `check` without its name.
            Err(error)
                if flag
                    && (matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::MissingSubcommand)
                        || (error.kind() == ErrorKind::InvalidSubcommand && path())) =>
            {
                let check = args.iter().take(1).cloned().chain([OsString::from("check")]);
                Self::try_parse_from(check.chain(args.iter().skip(1).cloned())).map_err(add_suggestions)
            }
            Err(mut error) if error.kind() == ErrorKind::InvalidSubcommand => {
                if let Some(path) = args.get(1).filter(|word| Path::new(word).exists()) {
                    let tip = format!("to check a path, run `imagelint check {}`", path.to_string_lossy());
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                } else if let Some(word) =
                    args.get(1).map(|word| word.to_string_lossy()).filter(|word| is_unknown_command(&error, word))
                {
                    suggest_command(&mut error, &word);
                }
                Err(error)
            }
            parsed => parsed,
        }
    }
}

/// Flags with which other linters select rules; imagelint selects rules in its settings.
const RULE_SELECTION_FLAGS: &[&str] =
    &["--select", "--extend-select", "--ignore", "--extend-ignore", "--disable", "--enable", "--rule"];

/// Adds suggestions to a usage error: the nearest valid value, or the arguments to use instead.
fn add_suggestions(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && RULE_SELECTION_FLAGS.contains(&flag.split('=').next().unwrap_or(flag))
    {
        error.remove(ContextKind::SuggestedArg);
        let tip = "select rules in imagelint.toml under [rules], or with --persona";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
        && missing.iter().any(|one| one.starts_with("<IMAGE>"))
    {
        let tips = [
            "pass an image: imagelint scan nvidia/cuda:12.4.1-base-ubuntu22.04",
            "or a list: --from-file FILE, or the pods of a cluster: --from-kubernetes FILE",
        ];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips.map(Into::into).to_vec()));
    }
    if error.kind() == ErrorKind::InvalidValue
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidValue)
        && let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
    {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if let Some(first) = Knowledge::built_in().suggested_values(word, &values).first() {
            let first = (*first).to_owned();
            error.insert(ContextKind::SuggestedValue, ContextValue::String(first));
        }
    }
    error
}

/// Whether the error reports this argument as an unknown command.
fn is_unknown_command(error: &clap::Error, word: &str) -> bool {
    matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(own)) if own == word)
}

/// Adds the nearest command to the error, or a tip that the argument is neither a command nor a file.
fn suggest_command(error: &mut clap::Error, word: &str) {
    let command = Args::command();
    if let Some(near) = nearest_word(word, command.get_subcommands().map(clap::Command::get_name)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
        return;
    }
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = if is_image_name(Path::new(word)) {
        format!("for an image: imagelint scan {word}")
    } else {
        format!("`{word}` is neither a command nor a file; run `imagelint --help` for the commands")
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Check Dockerfiles, image descriptions and saved reports, offline.
    ///
    /// Example: imagelint check --fleet fleet.toml Dockerfile
    Check(CheckArgs),
    /// Scan images in registries, archives and engines.
    ///
    /// Example: imagelint scan --fleet fleet.toml nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04
    Scan(ScanArgs),
    /// Compare two inputs or git revisions: what breaks, what starts.
    ///
    /// Example: imagelint compare --fleet fleet.toml --git main...HEAD Dockerfile
    Compare(CompareArgs),
    /// Print the image description of an input.
    ///
    /// Example: imagelint describe Dockerfile > Dockerfile.image.toml
    Describe(DescribeArgs),
    /// Print entries of the compatibility database, with source and date.
    ///
    /// Example: imagelint knowledge gpu A100
    Knowledge(KnowledgeArgs),
    /// Lock the base images of Dockerfiles, for checks without a network.
    ///
    /// Example: imagelint lock .
    Lock(LockArgs),
    /// Show the size of the cache, or clear it.
    ///
    /// Example: imagelint cache info
    Cache(CacheArgs),
    /// Show the GPUs and drivers that an input requires, without a fleet.
    ///
    /// Example: imagelint needs Dockerfile
    Needs(NeedsArgs),
    /// Recommend base images and framework builds that start on every pool.
    ///
    /// Example: imagelint recommend --torch '>=2.4' --python 3.11
    Recommend(Box<RecommendArgs>),
    /// Print the JSON Schema of a report.
    ///
    /// Example: imagelint schema > report.schema.json
    Schema(SchemaArgs),
    /// List, show, test and create rules.
    ///
    /// Example: imagelint rules test our-rules
    Rules(RulesArgs),
    /// Serve an editor through the Language Server Protocol.
    ///
    /// Example: imagelint lsp --fleet fleet.toml
    Lsp(Box<LspArgs>),
    /// Explain a rule, a verdict, a CUDA error or a log.
    ///
    /// Example: imagelint explain 804
    Explain(ExplainArgs),
    /// Show, check, import and change a fleet.
    ///
    /// Example: imagelint fleet show
    Fleet(FleetArgs),
    /// Print shell completions.
    ///
    /// Example: imagelint completions bash > ~/.local/share/bash-completion/completions/imagelint
    Completions(CompletionsArgs),
    /// Write the manual pages.
    ///
    /// Example: imagelint man ~/.local/share/man/man1
    Man(ManArgs),
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
