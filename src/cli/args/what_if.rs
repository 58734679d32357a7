//! What `fleet what-if` takes.

use crate::cli::args::against::AgainstArgs;
use crate::cli::args::builds::BuildSet;
use crate::cli::args::builds::ReadingArgs;

/// What `fleet what-if` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    /// Saved reports, image descriptions, Dockerfiles, folders of such, or images as `scan` takes them.
    ///
    /// What a saved report tells is judged again without reading the image.
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Give a pool another value, with the keys of a fleet file: t4.driver=550.54.15, t4.toolkit=1.17.8, t4.env.NAME=VALUE.
    #[arg(long, value_name = "POOL.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Add a pool, with the keys of a fleet file: 'b200: gpu=B200, driver=580.95.05'.
    #[arg(long, value_name = "NAME: KEY=VALUE, ...")]
    pub(crate) add: Vec<String>,
    /// Take a pool away.
    #[arg(long, value_name = "POOL")]
    pub(crate) remove: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) platforms: BuildSet,
    #[command(flatten)]
    pub(crate) against: AgainstArgs,
}
