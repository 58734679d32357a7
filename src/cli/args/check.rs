//! Arguments of `imagelint check`.

use std::path::PathBuf;

use crate::cli::args::builds::{BuildArgs, BuildTargetArgs};
use crate::cli::args::fixing::FixArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::registry::RegistryArgs;
use crate::cli::args::scan::{ProgressMode, ScanDepth};
use crate::cli::args::value_parsers::parse_byte_size;

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Dockerfiles, descriptions, reports or directories; - is standard input [.]
    ///
    /// An image description is a *.image.toml file. A saved report is JSON.
    ///
    /// For a package list, a lock file or a script, imagelint checks the Dockerfiles that read it.
    #[arg(value_name = "PATH", help_heading = "Input")]
    pub(crate) paths: Vec<PathBuf>,
    /// Check the targets of a Bake file
    ///
    /// Each target is one build. Several files make one definition; paths are relative to the current directory, as in
    /// Bake.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) bake: Vec<PathBuf>,
    /// Check the built services of a compose file
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(crate) compose: Vec<PathBuf>,
    /// Name the Dockerfile on standard input
    #[arg(long, value_name = "PATH", help_heading = "Input", hide_short_help = true)]
    pub(crate) stdin_filename: Option<PathBuf>,
    /// List the files and their GPU content
    #[arg(long, help_heading = "Input")]
    pub(crate) show_files: bool,
    /// Read base image configurations from registries
    #[arg(long, help_heading = "Registry")]
    pub(crate) pull: bool,
    /// Check the image built from the Dockerfile
    ///
    /// Findings point to the lines of the Dockerfile. For several Dockerfiles, repeat the flag in their order.
    ///
    /// Images are named as in `scan`: registry/repo:tag, oci:DIR, docker-archive:FILE, docker-daemon:NAME.
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["show_files", "all_targets"], help_heading = "Input")]
    pub(crate) built: Vec<String>,
    /// Inspect config, sbom or layers
    ///
    /// `config` reads the manifest and the configuration. `sbom` adds the package list of the image. `layers` reads every
    /// file.
    #[arg(long, value_enum, default_value_t = ScanDepth::Layers, value_name = "DEPTH", requires = "built", help_heading = "Input", hide_possible_values = true, hide_short_help = true)]
    pub(crate) depth: ScanDepth,
    /// Skip layers larger than N packed bytes
    #[arg(long, value_name = "N", value_parser = parse_byte_size, requires = "built", help_heading = "Input", hide_short_help = true)]
    pub(crate) max_layer_bytes: Option<u64>,
    /// Show progress: auto, bar, plain or none
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto, value_name = "HOW", requires = "built", help_heading = "Output", hide_short_help = true)]
    pub(crate) progress: ProgressMode,
    #[command(flatten)]
    pub(crate) access: RegistryArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) set: BuildTargetArgs,
    #[command(flatten)]
    pub(crate) fixing: FixArgs,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}
