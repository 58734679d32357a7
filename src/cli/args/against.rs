//! What commands take that tell a difference: the fleet, the format, the exit code.

use std::path::PathBuf;

use clap::ValueEnum;
use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::formats::FailOn;
use crate::cli::args::judging::ExitArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::values::day;

/// Formats of what tells a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DifferenceFormat {
    /// For a terminal.
    Human,
    /// Schema version 1.
    Json,
    /// For a comment on a pull request, beside a report.
    Markdown,
    /// The same for the summary of a job, which has more room.
    Summary,
}

/// What to judge against, and how to tell it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AgainstArgs {
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in the first input's folder or
    /// above it, up to the repository root.
    #[arg(long, value_name = "FILE")]
    pub(crate) fleet: Option<PathBuf>,
    /// Judge for these pools only.
    #[arg(long = "pool", value_name = "NAME")]
    pub(crate) pools: Vec<String>,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) as_of: Option<Date>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = DifferenceFormat::Human)]
    pub(crate) format: DifferenceFormat,
    /// Exit with 1 at new findings of this severity and above, `error` where nothing is said; `undetermined` also where
    /// something can newly not be told.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) fail_on: Option<FailOn>,
    /// Colour in the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// How many images are worked on at once; as many as there are processors where not given.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
    /// Settings file for all inputs; else those that lie beside or above each input.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,
    /// Read no settings at all.
    #[arg(long)]
    pub(crate) no_config: bool,
}

impl AgainstArgs {
    /// The same as what `check` takes.
    pub(crate) fn judging(&self) -> JudgingArgs {
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
