//! Arguments of `imagelint lsp`.

use std::num::NonZero;
use std::path::PathBuf;

use jiff::civil::Date;

use crate::cli::args::builds::{BuildArgs, BuildTargetArgs};
use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::judging::{ExitArgs, JudgingArgs};
use crate::cli::args::value_parsers::{parse_build_argument, parse_date, persona_parser};
use crate::rules::Persona;

/// Arguments of `lsp`: those of `check` without files, formats and summary.
#[derive(Debug, clap::Args)]
pub(crate) struct LspArgs {
    /// Use standard input and output (the default)
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Set a build argument
    #[arg(long = "build-arg", value_name = "NAME=VALUE", value_parser = parse_build_argument, help_heading = "Input")]
    build_args: Vec<(String, String)>,
    /// Set the stage to check [last stage]
    #[arg(long, value_name = "STAGE", help_heading = "Input")]
    target: Option<String>,
    /// Set the build context [directory of the Dockerfile]
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    context: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) set: BuildTargetArgs,
    /// Read the fleet from FILE [nearest fleet.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_FLEET`. If that is not set, it reads the nearest fleet.toml in
    /// the directory of the first input or above, up to the repository root. The last choice is the built-in fleet.
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    fleet: Option<PathBuf>,
    /// Check this pool only (repeatable)
    #[arg(long = "pool", value_name = "NAME", help_heading = "Fleet")]
    pools: Vec<String>,
    /// Add the rule pages in DIR
    #[arg(long, value_name = "DIR", help_heading = "Fleet")]
    rules: Vec<PathBuf>,
    /// Enable preview rules
    #[arg(long, help_heading = "Fleet")]
    preview: bool,
    /// Enable pedantic or auditor rules, too [regular]
    #[arg(long, value_name = "WHO", value_parser = persona_parser(), hide_possible_values = true, help_heading = "Fleet")]
    persona: Option<Persona>,
    /// Assume images were built on DATE (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date, help_heading = "Fleet")]
    as_of: Option<Date>,
    /// Set the number of workers [number of CPUs]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Read settings from FILE [nearest imagelint.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_CONFIG`, else imagelint.toml or .imagelint.toml next to each
    /// input or above, up to the repository root, else the user's own.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "Settings")]
    config: Option<PathBuf>,
    /// Ignore all settings files
    #[arg(long, help_heading = "Settings")]
    no_config: bool,
    /// Report findings missing from this baseline only
    #[arg(long, value_name = "FILE", help_heading = "Settings")]
    baseline: Option<PathBuf>,
}

impl LspArgs {
    /// Converts to the arguments of `check` on how a Dockerfile is built.
    pub(crate) fn to_build_args(&self) -> BuildArgs {
        let Self { build_args, target, context, .. } = self;
        BuildArgs { build_args: build_args.clone(), target: target.clone(), context: context.clone(), no_cache: false }
    }

    /// Converts to the arguments of `check` on fleet, rules and settings.
    pub(crate) fn to_judging_args(&self) -> JudgingArgs {
        JudgingArgs {
            fleet: self.fleet.clone(),
            pools: self.pools.clone(),
            rules: self.rules.clone(),
            preview: self.preview,
            persona: self.persona,
            as_of: self.as_of,
            formats: Vec::new(),
            why: None,
            exit: ExitArgs::default(),
            show_fixes: false,
            category: None,
            color: Color::Never,
            jobs: self.jobs,
            verbose: false,
            config: ConfigArgs {
                config: self.config.clone(),
                no_config: self.no_config,
                baseline: self.baseline.clone(),
                ..ConfigArgs::default()
            },
        }
    }
}
