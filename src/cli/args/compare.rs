//! Arguments of `imagelint compare`.

use crate::cli::args::builds::{BuildTargetArgs, DockerfileArgs};
use crate::cli::args::difference::DifferenceArgs;

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Old and new input
    ///
    /// Each is a Dockerfile, an image description, a saved report, a directory, an image as in `scan`, or a file of a git
    /// revision (REV:PATH). With --git: files or directories of the repository.
    #[arg(value_name = "INPUT", required_unless_present = "git")]
    pub(crate) inputs: Vec<String>,
    /// Compare two git revisions, such as main...HEAD
    ///
    /// A..B compares A with B. A...B compares the merge base with B. A compares A with the working tree.
    ///
    /// Each revision uses its own fleet file, settings and lock file; --fleet and --config apply to both. A revision without
    /// a fleet file uses that of the other one.
    ///
    /// imagelint reads the files with git and runs nothing from the configuration of the repository.
    #[arg(long, value_name = "REVISIONS", help_heading = "Input")]
    pub(crate) git: Option<String>,
    #[command(flatten)]
    pub(crate) reading: DockerfileArgs,
    #[command(flatten)]
    pub(crate) set: BuildTargetArgs,
    #[command(flatten)]
    pub(crate) against: DifferenceArgs,
}
