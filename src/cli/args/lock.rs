//! What `lock` takes.

use std::path::PathBuf;

use crate::cli::args::access::AccessArgs;
use crate::cli::args::builds::BuildArgs;
use crate::cli::args::config::SettingsArgs;
use crate::cli::args::values::platform;

/// What `lock` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct LockArgs {
    /// Dockerfiles or folders; the current folder where none is given.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Lock the bases of the targets of a bake file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) bake: Vec<PathBuf>,
    /// Lock the bases of the services of a compose file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) compose: Vec<PathBuf>,
    /// The lock file; else imagelint.lock where there is one, beside the fleet file, or at the repository's root.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write nothing; exit with 1 where a base moved or is not locked.
    #[arg(long)]
    pub(crate) check: bool,
    /// Platforms to lock bases for; linux/amd64 and linux/arm64 where not given.
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = platform)]
    pub(crate) platforms: Vec<String>,
    /// Lock for each stage that no other stage needs, not the last one alone.
    #[arg(long, conflicts_with = "target")]
    pub(crate) all_targets: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
