//! What `describe` and `needs` take.

use jiff::civil::Date;

use crate::cli::args::builds::ReadingArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::formats::Format;
use crate::cli::args::values::day;
use crate::cli::args::values::platform;

/// What `describe` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArgs {
    /// A Dockerfile, an image description, a saved report, or an image as `scan` takes it.
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Platform to describe it for.
    #[arg(long, value_name = "OS/ARCH", default_value = "linux/amd64", value_parser = platform)]
    pub(crate) platform: String,
    /// Take images as they were built on this day (YYYY-MM-DD): the description says it.
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) as_of: Option<Date>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// What `needs` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct NeedsArgs {
    /// A Dockerfile, an image description, a saved report, or an image as `scan` takes it.
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Platform to ask for.
    #[arg(long, value_name = "OS/ARCH", default_value = "linux/amd64", value_parser = platform)]
    pub(crate) platform: String,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) as_of: Option<Date>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Colour in the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
