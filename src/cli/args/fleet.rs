//! What `fleet` takes.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::builds::ReadingArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::formats::Format;
use crate::cli::args::what_if::WhatIfArgs;

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
    /// Print the Kubernetes node affinity of exactly the nodes on which an input starts.
    ///
    /// Example: imagelint fleet affinity Dockerfile --against nodes.json
    Affinity(FleetAffinityArgs),
    /// Say whether a fleet file can be read and what each open field costs, or what has changed since it was written.
    ///
    /// Example: imagelint fleet check fleet.toml --against nodes.json
    Check(FleetCheckArgs),
    /// Print a fleet file of what exists: nodes of a cluster, output of nvidia-smi, machine types, a list of targets.
    ///
    /// Example: kubectl get nodes -o json | imagelint fleet import - > fleet.toml
    Import(FleetImportArgs),
    /// Create a first fleet file from this machine, a cluster or examples.
    ///
    /// Example: imagelint fleet init
    Init(FleetInitArgs),
    /// Print the pools with all that follows from what they declare, each with the row that tells it.
    ///
    /// Example: imagelint fleet show
    Show(FleetShowArgs),
    /// Say what becomes of images if the fleet were another: other drivers, new pools, pools that go.
    ///
    /// Example: imagelint fleet what-if report.json --set t4.driver=550.54.15 --add 'b200: gpu=B200, driver=580.95.05'
    WhatIf(WhatIfArgs),
}

/// Which fleet file.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetFileArgs {
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in this folder or above it, up to
    /// the repository root.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// What `fleet check` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetCheckArgs {
    #[command(flatten)]
    pub(crate) fleet: FleetFileArgs,
    /// Compare with what exists, in a form that `fleet import` reads; exit with 1 where they differ.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) against: Vec<PathBuf>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
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

/// What `fleet import` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetImportArgs {
    /// `kubectl get nodes -o json` (or yaml), `nvidia-smi -q -x`, `nvidia-smi
    /// --query-gpu=name,driver_version,compute_cap --format=csv`, `.skylos/gpu-targets.yml`, or - for any of them on standard
    /// input. A file of nvidia-smi is one machine.
    #[arg(value_name = "SOURCE", required_unless_present = "instances")]
    pub(crate) sources: Vec<PathBuf>,
    /// Machine type of a cloud, with how many there are: p5.48xlarge or p5.48xlarge=4.
    #[arg(long = "instance", value_name = "TYPE[=NODES]")]
    pub(crate) instances: Vec<String>,
    /// Write the names of the machines into comments.
    #[arg(long)]
    pub(crate) with_names: bool,
}

/// What `fleet init` takes.
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

/// What `fleet affinity` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetAffinityArgs {
    /// A Dockerfile, an image description, a saved report, or an image as `scan` takes it.
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in this folder or above it, up to
    /// the repository root.
    #[arg(long, value_name = "FILE")]
    pub(crate) fleet: Option<PathBuf>,
    /// Select among the nodes of `kubectl get nodes -o json` (or yaml), each with what its pool of the fleet declares beside;
    /// else among the pools of the fleet, by their `labels`.
    #[arg(long, value_name = "NODES")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
