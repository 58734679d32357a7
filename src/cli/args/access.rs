//! How registries are spoken to.

use std::path::PathBuf;

/// How registries are spoken to.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AccessArgs {
    /// User name for the registry that the images are in; stored credentials are used where not given.
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub(crate) username: Option<String>,
    /// Read the password of that user from standard input.
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    /// File of certificates (PEM) to trust beside those of the system.
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// Registry (host and port) to speak to in plain HTTP; those of this machine need no such word.
    #[arg(long, value_name = "HOST")]
    pub(crate) plain_http: Vec<String>,
}
