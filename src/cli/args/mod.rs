//! The command line.

mod access;
mod against;
mod builds;
mod cache;
mod check;
mod compare;
mod config;
mod describe;
mod fixing;
mod fleet;
mod formats;
mod home;
mod judging;
mod knowledge;
mod lock;
mod lsp;
mod order;
mod recommend;
mod rules;
mod scan;
mod schema;
mod values;
mod what_if;

use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

use clap::CommandFactory as _;
use clap::Parser;
use clap::Subcommand;
use clap::error::ContextKind;
use clap::error::ContextValue;
use clap::error::ErrorKind;

use crate::cli::texts::is_image;
use crate::knowledge::Knowledge;
use crate::nearest::nearest;

pub(crate) use crate::cli::args::access::AccessArgs;
pub(crate) use crate::cli::args::against::DifferenceFormat;
pub(crate) use crate::cli::args::builds::BuildArgs;
pub(crate) use crate::cli::args::builds::BuildSet;
pub(crate) use crate::cli::args::builds::ReadingArgs;
pub(crate) use crate::cli::args::cache::CacheArgs;
pub(crate) use crate::cli::args::cache::CacheDo;
pub(crate) use crate::cli::args::check::CheckArgs;
pub(crate) use crate::cli::args::compare::CompareArgs;
pub(crate) use crate::cli::args::config::ConfigArgs;
pub(crate) use crate::cli::args::config::SettingsArgs;
pub(crate) use crate::cli::args::describe::DescribeArgs;
pub(crate) use crate::cli::args::describe::NeedsArgs;
pub(crate) use crate::cli::args::fleet::FleetAffinityArgs;
pub(crate) use crate::cli::args::fleet::FleetArgs;
pub(crate) use crate::cli::args::fleet::FleetCheckArgs;
pub(crate) use crate::cli::args::fleet::FleetDo;
pub(crate) use crate::cli::args::fleet::FleetFileArgs;
pub(crate) use crate::cli::args::fleet::FleetImportArgs;
pub(crate) use crate::cli::args::fleet::FleetInitArgs;
pub(crate) use crate::cli::args::fleet::FleetShowArgs;
pub(crate) use crate::cli::args::formats::Color;
pub(crate) use crate::cli::args::formats::FailOn;
pub(crate) use crate::cli::args::formats::Format;
pub(crate) use crate::cli::args::formats::ReportFormat;
pub(crate) use crate::cli::args::formats::Wanted;
pub(crate) use crate::cli::args::home::CompletionsArgs;
pub(crate) use crate::cli::args::home::ManArgs;
pub(crate) use crate::cli::args::judging::JudgingArgs;
pub(crate) use crate::cli::args::knowledge::KnowledgeArgs;
pub(crate) use crate::cli::args::lock::LockArgs;
pub(crate) use crate::cli::args::lsp::LspArgs;
pub(crate) use crate::cli::args::recommend::RecommendArgs;
pub(crate) use crate::cli::args::recommend::RecommendFormat;
pub(crate) use crate::cli::args::rules::ExplainArgs;
pub(crate) use crate::cli::args::rules::RulesArgs;
pub(crate) use crate::cli::args::rules::RulesDo;
pub(crate) use crate::cli::args::scan::Deep;
pub(crate) use crate::cli::args::scan::ScanArgs;
pub(crate) use crate::cli::args::scan::Tell;
pub(crate) use crate::cli::args::schema::SchemaArgs;
pub(crate) use crate::cli::args::schema::SchemaOf;
pub(crate) use crate::cli::args::what_if::WhatIfArgs;

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
    pub(crate) command: Command,
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
}

fn version() -> &'static str {
    let knowledge = Knowledge::built_in().newest_date();
    // One leak of a few bytes in a process that ends: clap keeps static texts alone.
    String::leak(format!("{} (compatibility database of {knowledge})", env!("CARGO_PKG_VERSION")))
}

impl Args {
    /// The arguments of the process; `imagelint` alone, or with flags of `check` alone, is `imagelint check`.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let said: Vec<OsString> = std::env::args_os().collect();
        if said.len() < 2 {
            return Self::try_parse_from(["imagelint", "check"]);
        }
        let said = order::ordered(&said, &Self::command());
        let parsed = Self::try_parse_from(&said).map_err(meant);
        let flag = said.get(1).is_some_and(|word| word.to_string_lossy().starts_with('-'));
        match parsed {
            // Flags of `check` without its name.
            Err(error) if flag && error.kind() == ErrorKind::UnknownArgument => {
                let check = said.iter().take(1).cloned().chain([OsString::from("check")]);
                Self::try_parse_from(check.chain(said.iter().skip(1).cloned())).map_err(meant)
            }
            Err(mut error) if error.kind() == ErrorKind::InvalidSubcommand => {
                if let Some(path) = said.get(1).filter(|word| Path::new(word).exists()) {
                    let tip = format!("to check a path, run `imagelint check {}`", path.to_string_lossy());
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
                } else if let Some(word) =
                    said.get(1).map(|word| word.to_string_lossy()).filter(|word| is_about(&error, word))
                {
                    suggest(&mut error, &word);
                }
                Err(error)
            }
            parsed => parsed,
        }
    }
}

/// Flags of other linters that select rules. imagelint selects them in its settings.
const SELECTING: &[&str] =
    &["--select", "--extend-select", "--ignore", "--extend-ignore", "--disable", "--enable", "--rule"];

/// The error with the values that a mistyped one may mean, if a word is known for them.
fn meant(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg)
        && SELECTING.contains(&flag.split('=').next().unwrap_or(flag))
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
        if let Some(first) = Knowledge::built_in().meant(word, &values).first() {
            let first = (*first).to_owned();
            error.insert(ContextKind::SuggestedValue, ContextValue::String(first));
        }
    }
    error
}

/// Whether it is this word that is no command.
fn is_about(error: &clap::Error, word: &str) -> bool {
    matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(own)) if own == word)
}

/// Suggests the command that was meant by a word; of one that is far from all of them, that it is no file either.
fn suggest(error: &mut clap::Error, word: &str) {
    let command = Args::command();
    if let Some(near) = nearest(word, command.get_subcommands().map(clap::Command::get_name)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
        return;
    }
    error.remove(ContextKind::SuggestedSubcommand);
    let tip = if is_image(Path::new(word)) {
        format!("for an image: imagelint scan {word}")
    } else {
        format!("`{word}` is neither a command nor a file; run `imagelint --help` for the commands")
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
