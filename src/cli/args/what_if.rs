//! Arguments of `imagelint fleet what-if`.

use crate::cli::args::builds::{BuildTargetArgs, DockerfileArgs};
use crate::cli::args::difference::DifferenceArgs;

/// Arguments of `fleet what-if`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// Saved reports, descriptions, Dockerfiles, directories or images
    ///
    /// imagelint checks a saved report again without the image.
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Change a pool, such as t4.driver=550.54.15
    ///
    /// The keys are those of a fleet file: t4.toolkit=1.17.8, t4.env.NAME=VALUE.
    #[arg(long, value_name = "POOL.KEY=VALUE", help_heading = "Fleet")]
    pub(crate) set: Vec<String>,
    /// Add a pool: 'b200: gpu=B200, driver=580.95.05'
    #[arg(long, value_name = "NAME: KEY=VALUE, ...", help_heading = "Fleet")]
    pub(crate) add: Vec<String>,
    /// Remove a pool
    #[arg(long, value_name = "POOL", help_heading = "Fleet")]
    pub(crate) remove: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: DockerfileArgs,
    #[command(flatten)]
    pub(crate) platforms: BuildTargetArgs,
    #[command(flatten)]
    pub(crate) against: DifferenceArgs,
}
