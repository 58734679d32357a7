//! How registries are spoken to.

use std::path::PathBuf;

use crate::cli::args::values::host;

/// How registries are spoken to.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct AccessArgs {
    /// User name for one registry: that of `--registry`, else the one that the images on the command line are in.
    ///
    /// Stored credentials are used where not given.
    #[arg(long, value_name = "NAME", requires = "password_stdin")]
    pub(crate) username: Option<String>,
    /// Read the password of that user from standard input.
    #[arg(long, requires = "username")]
    pub(crate) password_stdin: bool,
    /// Registry (host and port) that alone sees that user's password; needed where only files name the images, such as
    /// the FROM of a Dockerfile.
    #[arg(long, value_name = "HOST", requires = "username", value_parser = host)]
    pub(crate) registry: Option<String>,
    /// File of certificates (PEM) to trust beside those of the system.
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Vec<PathBuf>,
    /// Registry (host and port) to speak to in plain HTTP; those of this machine need no such word.
    #[arg(long, value_name = "HOST")]
    pub(crate) plain_http: Vec<String>,
}
