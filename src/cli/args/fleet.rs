//! What `fleet` takes.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::formats::Format;

/// What `fleet` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) action: FleetDo,
}

/// What can be done with a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetDo {
    /// Say whether a fleet file can be read, and what each field costs that a pool leaves open.
    ///
    /// Example: imagelint fleet check fleet.toml
    Check(FleetFileArgs),
    /// Print the pools with all that follows from what they declare, each with the row that tells it.
    ///
    /// Example: imagelint fleet show
    Show(FleetShowArgs),
}

/// Which fleet file.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetFileArgs {
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in this folder or above it, up to
    /// the repository root.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// What `fleet show` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetShowArgs {
    #[command(flatten)]
    pub(crate) fleet: FleetFileArgs,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}
