//! What `compare` takes.

use crate::cli::args::against::AgainstArgs;
use crate::cli::args::builds::BuildSet;
use crate::cli::args::builds::ReadingArgs;

/// What `compare` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// What was and what is: each a Dockerfile, an image description, a saved report, a folder of such, an image as
    /// `scan` takes it, or a file of a git revision (REV:PATH). With --git: files or folders of the repository.
    #[arg(value_name = "INPUT", required_unless_present = "git")]
    pub(crate) inputs: Vec<String>,
    /// Compare two revisions: A..B, A...B for what B changed since it left A, or A for A and the files as they are now.
    ///
    /// Each revision is judged against its own fleet file, settings and lock file. --fleet and --config hold for both. A
    /// revision without a fleet file takes that of the other one.
    ///
    /// Files are read with the git of the search path; nothing of the repository's own configuration is run.
    #[arg(long, value_name = "REVISIONS")]
    pub(crate) git: Option<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) set: BuildSet,
    #[command(flatten)]
    pub(crate) against: AgainstArgs,
}
