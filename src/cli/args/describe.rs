//! Arguments of `imagelint describe` and `imagelint needs`.

use jiff::civil::Date;

use crate::cli::args::builds::DockerfileArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::formats::{Color, OutputFormat};
use crate::cli::args::value_parsers::{parse_date, parse_platform};

/// Arguments of `describe`.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// Dockerfile, image description, saved report or image
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Select the platform
    #[arg(long, value_name = "OS/ARCH", default_value = "linux/amd64", value_parser = parse_platform)]
    pub(crate) platform: String,
    /// Assume images were built on DATE (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date, help_heading = "Fleet", hide_short_help = true)]
    pub(crate) as_of: Option<Date>,
    #[command(flatten)]
    pub(crate) reading: DockerfileArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// Arguments of `needs`.
#[derive(Debug, clap::Args)]
pub(crate) struct NeedsArgs {
    /// Dockerfile, image description, saved report or image
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Select the platform
    #[arg(long, value_name = "OS/ARCH", default_value = "linux/amd64", value_parser = parse_platform)]
    pub(crate) platform: String,
    /// Assume images were built on DATE (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date, help_heading = "Fleet", hide_short_help = true)]
    pub(crate) as_of: Option<Date>,
    /// Show GPUs without a supported driver branch as well
    ///
    /// JSON output always contains them. A driver branch counts as supported on the date of --as-of, or else on the date
    /// of the compatibility database.
    #[arg(long, help_heading = "Output")]
    pub(crate) all_gpus: bool,
    /// Show every GPU with facts and sources
    ///
    /// Without it, imagelint prints one line for each GPU generation. JSON output always contains everything.
    #[arg(long, help_heading = "Output")]
    pub(crate) why: bool,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
    /// Use color: auto, always, never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output", hide_possible_values = true)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) reading: DockerfileArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
