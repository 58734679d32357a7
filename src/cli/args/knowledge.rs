//! Arguments of `imagelint knowledge`.

use crate::cli::args::formats::OutputFormat;

/// Arguments of `knowledge`.
#[derive(Debug, clap::Args)]
pub(crate) struct KnowledgeArgs {
    /// Kind: gpu, driver, cuda, torch, base, toolkit, error, framework, requirement, table
    #[arg(value_name = "KIND")]
    pub(crate) subject: Option<String>,
    /// Name or version
    #[arg(value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
}
