//! Arguments of `imagelint lock`.

use std::path::PathBuf;

use crate::cli::args::builds::BuildArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::registry::RegistryArgs;
use crate::cli::args::value_parsers::parse_platform;

/// Arguments of `lock`.
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// Dockerfiles or directories [.]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Check the targets of a Bake file
    ///
    /// Each target is one build. Several files make one definition; paths are relative to the current directory, as in
    /// Bake.
    #[arg(long, value_name = "FILE")]
    pub(crate) bake: Vec<PathBuf>,
    /// Lock the bases of a compose file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) compose: Vec<PathBuf>,
    /// Write this lock file [imagelint.lock]
    ///
    /// Without it, imagelint writes an existing imagelint.lock, else one next to the fleet file or at the repository
    /// root.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing; exit with 1 if a lock is outdated
    #[arg(long)]
    pub(crate) check: bool,
    /// Lock these platforms [linux/amd64, linux/arm64]
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = parse_platform)]
    pub(crate) platforms: Vec<String>,
    /// Lock the bases of every final stage
    #[arg(long, conflicts_with = "target")]
    pub(crate) all_targets: bool,
    #[command(flatten)]
    pub(crate) access: RegistryArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
