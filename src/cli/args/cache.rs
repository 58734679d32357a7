//! Arguments of `imagelint cache`.

use clap::ValueEnum;

/// Arguments of `cache`.
#[derive(Debug, clap::Args)]
pub(crate) struct CacheArgs {
    /// Show the size, or remove everything
    #[arg(value_enum)]
    pub(crate) action: CacheAction,
}

/// What can be done with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheAction {
    /// Show where it is and how much it contains.
    Info,
    /// Remove everything in it.
    Clear,
}
