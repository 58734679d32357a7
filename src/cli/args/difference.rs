//! Arguments of commands that report a difference: fleet, format, exit code.

use std::path::PathBuf;

use clap::ValueEnum;
use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::{Color, FailOn};
use crate::cli::args::judging::{ExitArgs, JudgingArgs};
use crate::cli::args::value_parsers::parse_date;

/// Output formats of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DifferenceFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// For a comment on a pull request, next to a report.
    Markdown,
    /// The same for the summary of a job, which has more room.
    Summary,
}

/// Fleet, output and settings options of a comparison.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DifferenceArgs {
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
    #[arg(long, value_enum, default_value_t = DifferenceFormat::Human, help_heading = "Output")]
    pub(crate) format: DifferenceFormat,
    /// Exit with 1 at new findings of this severity [error]
    ///
    /// LEVEL is error, warning, note, undetermined or never. `undetermined` also fails on newly unknown verdicts.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Output", hide_possible_values = true)]
    pub(crate) fail_on: Option<FailOn>,
    /// Use color: auto, always, never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output", hide_possible_values = true)]
    pub(crate) color: Color,
    /// Set the number of workers [number of CPUs]
    #[arg(short, long, value_name = "N", hide_short_help = true)]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
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

impl DifferenceArgs {
    /// Converts to the arguments of `check`, with defaults for the flags that are missing here.
    pub(crate) fn to_judging_args(&self) -> JudgingArgs {
        let Self { fleet, pools, as_of, fail_on, color, jobs, config, no_config, .. } = self.clone();
        let config = ConfigArgs { config, no_config, ..ConfigArgs::default() };
        let (rules, formats) = (Vec::new(), Vec::new());
        JudgingArgs {
            fleet,
            pools,
            rules,
            preview: false,
            persona: None,
            as_of,
            formats,
            why: None,
            exit: ExitArgs { fail_on, ..ExitArgs::default() },
            show_fixes: false,
            category: None,
            color,
            jobs,
            verbose: false,
            config,
        }
    }
}
