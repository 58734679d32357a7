//! What `knowledge` takes.

use crate::cli::args::formats::Format;

/// What `knowledge` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct KnowledgeArgs {
    /// Kind of thing: gpu, driver, cuda, torch, base, toolkit, error, framework, requirement, table.
    #[arg(value_name = "KIND")]
    pub(crate) subject: Option<String>,
    /// Its name or version.
    #[arg(value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}
