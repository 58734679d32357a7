//! Arguments of `imagelint recommend`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::ValueEnum;
use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::judging::{ExitArgs, JudgingArgs};
use crate::cli::args::value_parsers::parse_date;

/// Formats of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecommendFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// The head of a Dockerfile: only the best one.
    Dockerfile,
}

/// Arguments of `recommend`.
#[derive(Debug, clap::Args)]
pub(crate) struct RecommendArgs {
    /// Require a distribution, such as 'torch>=2.4'
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) with: Vec<String>,
    /// Require torch, such as '>=2.4' or 2.4
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) torch: Option<String>,
    /// Require TensorFlow, such as '>=2.15'
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) tensorflow: Option<String>,
    /// Require JAX, such as '>=0.4'
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) jax: Option<String>,
    /// Use this base image, such as nvidia/cuda
    #[arg(long, value_name = "IMAGE")]
    pub(crate) base: Option<String>,
    /// Use this Python version, such as 3.11
    #[arg(long, value_name = "VERSION")]
    pub(crate) python: Option<String>,
    /// Read the fleet from FILE [nearest fleet.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_FLEET`. If that is not set, it reads the nearest fleet.toml in
    /// the directory of the first input or above, up to the repository root. The last choice is the built-in fleet.
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) fleet: Option<PathBuf>,
    /// Check this pool only (repeatable)
    #[arg(long = "pool", value_name = "NAME", help_heading = "Fleet")]
    pub(crate) pools: Vec<String>,
    /// Assume images were built on DATE (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date, help_heading = "Fleet", hide_short_help = true)]
    pub(crate) as_of: Option<Date>,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = RecommendFormat::Human)]
    pub(crate) format: RecommendFormat,
    /// Show N combinations
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) limit: NonZero<u16>,
    /// Use color: auto, always, never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output", hide_possible_values = true)]
    pub(crate) color: Color,
    /// Read settings from FILE [nearest imagelint.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_CONFIG`, else imagelint.toml or .imagelint.toml next to each
    /// input or above, up to the repository root, else the user's own.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config", help_heading = "Settings")]
    pub(crate) config: Option<PathBuf>,
    /// Ignore all settings files
    #[arg(long, help_heading = "Settings", hide_short_help = true)]
    pub(crate) no_config: bool,
}

impl RecommendArgs {
    /// Converts to the arguments of `check`, with defaults for the flags that are missing here.
    pub(crate) fn to_judging_args(&self) -> JudgingArgs {
        let Self { fleet, pools, as_of, color, config, no_config, .. } = self;
        let config = ConfigArgs { config: config.clone(), no_config: *no_config, ..ConfigArgs::default() };
        JudgingArgs {
            fleet: fleet.clone(),
            pools: pools.clone(),
            rules: Vec::new(),
            preview: false,
            persona: None,
            as_of: *as_of,
            formats: Vec::new(),
            why: None,
            exit: ExitArgs::default(),
            show_fixes: false,
            category: None,
            color: *color,
            jobs: None,
            verbose: false,
            config,
        }
    }

    /// Returns the required distributions, frameworks first; an error message if a version specifier is invalid.
    pub(crate) fn requirements(&self) -> Result<Vec<String>, String> {
        let named = [("torch", &self.torch), ("tensorflow", &self.tensorflow), ("jax", &self.jax)];
        let named = named.into_iter().filter_map(|(name, versions)| Some((name, versions.as_deref()?)));
        let named = named.map(|(name, versions)| crate::fix::recommend::requirement_text(name, versions));
        named.chain(self.with.iter().cloned().map(Ok)).collect()
    }
}
