//! What `check` takes.

use std::path::PathBuf;

use crate::cli::args::access::AccessArgs;
use crate::cli::args::builds::BuildArgs;
use crate::cli::args::builds::BuildSet;
use crate::cli::args::fixing::FixArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::scan::Deep;
use crate::cli::args::scan::Tell;
use crate::cli::args::values::bytes;

/// What `check` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Dockerfiles, image descriptions (*.image.toml), saved JSON reports, folders, or - for a Dockerfile or a report on standard input.
    ///
    /// For a list of packages, a lock of them or a script, the Dockerfiles of the repository that read it are judged.
    ///
    /// The current folder where no path and no file of builds is given.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Judge the targets of a bake file (docker-bake.hcl or JSON), each as a build of its own.
    ///
    /// Several files make one definition, and paths in them are seen from the current folder, as Bake has it.
    #[arg(long, value_name = "FILE")]
    pub(crate) bake: Vec<PathBuf>,
    /// Judge the services of a compose file that are built, each as a build of its own.
    #[arg(long, value_name = "FILE")]
    pub(crate) compose: Vec<PathBuf>,
    /// Name of the Dockerfile on standard input, for the report, the fleet's patterns and what lies beside it.
    #[arg(long, value_name = "PATH")]
    pub(crate) stdin_filename: Option<PathBuf>,
    /// List the files instead, each with what in it concerns a GPU or why nothing does.
    #[arg(long)]
    pub(crate) show_files: bool,
    /// Read manifest and configuration of base images from their registries.
    #[arg(long)]
    pub(crate) pull: bool,
    /// Judge what this image holds, which was built from the Dockerfile, and tell it at the Dockerfile's lines; for
    /// several Dockerfiles once for each, in their order.
    ///
    /// An image is named as `scan` takes it: registry/repo:tag, oci:DIR, docker-archive:FILE, docker-daemon:NAME, ...
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["show_files", "all_targets"])]
    pub(crate) built: Vec<String>,
    /// How deep to look into those images: `config`, `sbom` or `layers`.
    #[arg(long, value_enum, default_value_t = Deep::Layers, value_name = "DEPTH", requires = "built")]
    pub(crate) depth: Deep,
    /// Leave out layers of those images of more packed bytes than this, and say so.
    #[arg(long, value_name = "N", value_parser = bytes, requires = "built")]
    pub(crate) max_layer_bytes: Option<u64>,
    /// How to tell progress of those images on standard error: bars on a terminal and nothing elsewhere, unless said.
    #[arg(long, value_enum, default_value_t = Tell::Auto, value_name = "HOW", requires = "built")]
    pub(crate) progress: Tell,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) set: BuildSet,
    #[command(flatten)]
    pub(crate) fixing: FixArgs,
    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}
