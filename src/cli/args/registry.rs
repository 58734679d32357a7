//! Arguments on access to registries.

use std::path::PathBuf;

use crate::cli::args::value_parsers::parse_registry_host;

/// How registries are spoken to.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RegistryArgs {
    /// Log in to one registry as NAME
    ///
    /// Without it, imagelint uses stored credentials. The registry is that of --registry, else that of the images on the
    /// command line.
    #[arg(long, value_name = "NAME", requires = "password_stdin", help_heading = "Registry")]
    pub(crate) username: Option<String>,
    /// Read the password from standard input
    #[arg(long, requires = "username", help_heading = "Registry")]
    pub(crate) password_stdin: bool,
    /// Send the password to HOST only
    ///
    /// Required if only files name the images, as FROM does in a Dockerfile.
    #[arg(long, value_name = "HOST", requires = "username", value_parser = parse_registry_host, help_heading = "Registry", hide_short_help = true)]
    pub(crate) registry: Option<String>,
    /// Trust the certificates (PEM) in FILE, too
    #[arg(long, value_name = "FILE", help_heading = "Registry", hide_short_help = true)]
    pub(crate) cacert: Vec<PathBuf>,
    /// Use plain HTTP for HOST
    ///
    /// HOST is a host with an optional port. The local machine needs no flag.
    #[arg(long, value_name = "HOST", help_heading = "Registry", hide_short_help = true)]
    pub(crate) plain_http: Vec<String>,
}
