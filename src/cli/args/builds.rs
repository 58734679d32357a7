//! Arguments on how Dockerfiles are built.

use std::path::PathBuf;

use crate::cli::args::registry::RegistryArgs;
use crate::cli::args::value_parsers::{parse_build_argument, parse_platform};

/// How a Dockerfile is built.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_field_names, reason = "a build argument is called that")]
pub(crate) struct BuildArgs {
    /// Set a build argument
    #[arg(long = "build-arg", value_name = "NAME=VALUE", value_parser = parse_build_argument, help_heading = "Input")]
    pub(crate) build_args: Vec<(String, String)>,
    /// Set the stage to check [last stage]
    #[arg(long, value_name = "STAGE", help_heading = "Input")]
    pub(crate) target: Option<String>,
    /// Set the build context [directory of the Dockerfile]
    #[arg(long, value_name = "DIR", help_heading = "Input", hide_short_help = true)]
    pub(crate) context: Option<PathBuf>,
    /// Read base image configurations again, without the cache
    ///
    /// Otherwise imagelint reuses configurations by digest. It always resolves tags again.
    #[arg(long, help_heading = "Registry", hide_short_help = true)]
    pub(crate) no_cache: bool,
}

/// Registry and build options for Dockerfiles.
#[derive(Debug, clap::Args)]
pub(crate) struct DockerfileArgs {
    /// Read base image configurations from registries
    #[arg(long, help_heading = "Registry")]
    pub(crate) pull: bool,
    #[command(flatten)]
    pub(crate) access: RegistryArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
}

/// Platforms and stages of a build.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct BuildTargetArgs {
    /// Set the build platforms [platform of each pool]
    #[arg(long = "platform", value_name = "OS/ARCH", value_delimiter = ',', value_parser = parse_platform, help_heading = "Input")]
    pub(crate) platforms: Vec<String>,
    /// Check every final stage, not only the last
    #[arg(long, conflicts_with = "target", help_heading = "Input", hide_short_help = true)]
    pub(crate) all_targets: bool,
}
