//! How Dockerfiles are built.

use std::path::PathBuf;

use crate::cli::args::access::AccessArgs;
use crate::cli::args::values::build_arg;
use crate::cli::args::values::platform;

/// How a Dockerfile is built.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "a build argument is called that")]
pub(crate) struct BuildArgs {
    /// Value of a build argument, as given to the build.
    #[arg(long = "build-arg", value_name = "NAME=VALUE", value_parser = build_arg)]
    pub(crate) build_args: Vec<(String, String)>,
    /// Stage that ships; the last one where not given.
    #[arg(long, value_name = "STAGE")]
    pub(crate) target: Option<String>,
    /// Folder of the build context; the Dockerfile's own where not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) context: Option<PathBuf>,
    /// Ask registries for the configurations of base images again, and keep none of them.
    ///
    /// Else those read before are taken from the user's cache, by digest; which digest a tag has is always asked.
    #[arg(long)]
    pub(crate) no_cache: bool,
}

/// How Dockerfiles are read that are not judged for their own sake alone: what their bases are asked, and how they are built.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadingArgs {
    /// Read manifest and configuration of base images from their registries.
    #[arg(long)]
    pub(crate) pull: bool,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// What a build is told beside its arguments.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct BuildSet {
    /// Platforms that the image is built for; that of each pool where not given.
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = platform)]
    pub(crate) platforms: Vec<String>,
    /// Judge each stage that no other stage needs, not the last one alone.
    #[arg(long, conflicts_with = "target")]
    pub(crate) all_targets: bool,
}
