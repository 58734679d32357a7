//! Arguments of `imagelint fleet`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::builds::DockerfileArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::formats::OutputFormat;
use crate::cli::args::what_if::WhatIfArgs;

/// Arguments of `fleet`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) action: FleetAction,
}

/// What can be done with a fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetAction {
    /// Print the Kubernetes node affinity of the nodes that start an input.
    ///
    /// Example: imagelint fleet affinity Dockerfile --against nodes.json
    Affinity(FleetAffinityArgs),
    /// Check a fleet file, or compare it with the nodes.
    ///
    /// Example: imagelint fleet check fleet.toml --against nodes.json
    Check(FleetCheckArgs),
    /// Create a fleet file from a cluster, nvidia-smi or machine types.
    ///
    /// Example: kubectl get nodes -o json | imagelint fleet import - > fleet.toml
    Import(FleetImportArgs),
    /// Create a first fleet file from this machine, a cluster or examples.
    ///
    /// Example: imagelint fleet init
    Init(FleetInitArgs),
    /// Show the pools and what imagelint derives for them.
    ///
    /// Example: imagelint fleet show
    Show(FleetShowArgs),
    /// Predict the effect of fleet changes, such as a new driver.
    ///
    /// Example: imagelint fleet what-if report.json --set t4.driver=550.54.15 --add 'b200: gpu=B200, driver=580.95.05'
    WhatIf(WhatIfArgs),
}

/// Which fleet file.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetFileArgs {
    /// Fleet file to read [nearest fleet.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_FLEET`, else the nearest fleet.toml in this directory or above,
    /// up to the repository root.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Read the fleet from FILE, as in other commands
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) fleet: Option<PathBuf>,
}

impl FleetFileArgs {
    /// Returns the file, given in either way.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.file.clone().or_else(|| self.fleet.clone())
    }
}

/// Arguments of `fleet check`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetCheckArgs {
    #[command(flatten)]
    pub(crate) fleet: FleetFileArgs,
    /// Compare with SOURCE; exit with 1 if they differ
    ///
    /// SOURCE has a form that `fleet import` reads.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) against: Vec<PathBuf>,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
}

/// Arguments of `fleet show`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetShowArgs {
    #[command(flatten)]
    pub(crate) fleet: FleetFileArgs,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
}

/// Arguments of `fleet import`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetImportArgs {
    /// Output of kubectl or nvidia-smi; - is standard input
    ///
    /// `kubectl get nodes -o json` (or yaml), `nvidia-smi -q -x`, `nvidia-smi --query-gpu=name,driver_version,compute_cap
    /// --format=csv`, or `.skylos/gpu-targets.yml`. A file of nvidia-smi is one machine.
    #[arg(value_name = "SOURCE", required_unless_present = "instances")]
    pub(crate) sources: Vec<PathBuf>,
    /// Add a cloud machine type, such as p5.48xlarge=4
    #[arg(long = "instance", value_name = "TYPE[=NODES]")]
    pub(crate) instances: Vec<String>,
    /// Write machine names as comments
    #[arg(long)]
    pub(crate) with_names: bool,
}

/// Arguments of `fleet init`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetInitArgs {
    /// Write the fleet file to this path.
    #[arg(value_name = "FILE", default_value = "fleet.toml")]
    pub(crate) path: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Read the nodes of the current kubectl context.
    #[arg(long)]
    pub(crate) from_cluster: bool,
}

/// Arguments of `fleet affinity`.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetAffinityArgs {
    /// Dockerfile, image description, saved report or image
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Read the fleet from FILE [nearest fleet.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_FLEET`. If that is not set, it reads the nearest fleet.toml in
    /// the directory of the first input or above, up to the repository root. The last choice is the built-in fleet.
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) fleet: Option<PathBuf>,
    /// Select among these nodes [pools of the fleet]
    ///
    /// NODES is the output of `kubectl get nodes -o json` (or yaml). Without it, imagelint selects pools by `labels`.
    #[arg(long, value_name = "NODES")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: DockerfileArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
