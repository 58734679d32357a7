//! What `recommend` takes.

use std::num::NonZero;
use std::path::PathBuf;

use clap::ValueEnum;
use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::judging::ExitArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::values::day;

/// Formats of a recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecommendFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// The head of a Dockerfile: the best one alone.
    Dockerfile,
}

/// What `recommend` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct RecommendArgs {
    /// A distribution with its versions, as pip takes it: 'torch>=2.4', 'jax[cuda12]', torchvision.
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) with: Vec<String>,
    /// The same as `--with 'torchVERSIONS'`: '>=2.4', 2.4 for 2.4.*, or nothing.
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) torch: Option<String>,
    /// The same as `--with 'tensorflowVERSIONS'`.
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) tensorflow: Option<String>,
    /// The same as `--with 'jaxVERSIONS'`.
    #[arg(long, value_name = "VERSIONS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) jax: Option<String>,
    /// Base image: a repository such as nvidia/cuda, pytorch/pytorch or python, or one with its tag.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) base: Option<String>,
    /// Version of Python, such as 3.11.
    #[arg(long, value_name = "VERSION")]
    pub(crate) python: Option<String>,
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in this folder or above it, up to
    /// the repository root.
    #[arg(long, value_name = "FILE")]
    pub(crate) fleet: Option<PathBuf>,
    /// For these pools only.
    #[arg(long = "pool", value_name = "NAME")]
    pub(crate) pools: Vec<String>,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) as_of: Option<Date>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = RecommendFormat::Human)]
    pub(crate) format: RecommendFormat,
    /// Tell so many combinations.
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) limit: NonZero<u16>,
    /// Colour in the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Settings file; else the one in this folder or above it.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no settings at all.
    #[arg(long)]
    pub(crate) no_config: bool,
}

impl RecommendArgs {
    /// The same as what `check` takes.
    pub(crate) fn judging(&self) -> JudgingArgs {
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

    /// What is wished for, those by name first; the reason where what is said of one is no versions.
    pub(crate) fn wishes(&self) -> Result<Vec<String>, String> {
        let named = [("torch", &self.torch), ("tensorflow", &self.tensorflow), ("jax", &self.jax)];
        let named = named.into_iter().filter_map(|(name, versions)| Some((name, versions.as_deref()?)));
        let named = named.map(|(name, versions)| crate::recommend::named(name, versions));
        named.chain(self.with.iter().cloned().map(Ok)).collect()
    }
}
