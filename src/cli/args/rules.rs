//! Arguments of `imagelint rules` and `imagelint explain`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::formats::OutputFormat;

/// Arguments of `rules`.
#[derive(Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: RulesAction,
}

/// What can be done with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesAction {
    /// List every rule with its severity and persona.
    ///
    /// Example: imagelint rules list
    List {
        /// Add the rule pages in DIR
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
        /// Set the output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
        format: OutputFormat,
    },
    /// Print the page of a rule with its examples.
    ///
    /// Example: imagelint rules show insufficient-driver
    Show {
        /// Name of the rule.
        rule: String,
        /// Add the rule pages in DIR
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
    },
    /// List the names, functions and operators of conditions.
    ///
    /// Example: imagelint rules vocabulary
    Vocabulary {
        /// Set the output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
        format: OutputFormat,
    },
    /// Test the examples of rule pages [built-in pages].
    ///
    /// Directories are searched with all below them; a README.md is omitted. A page with the name of a built-in page
    /// replaces it during the test. Each example is validated, noisy (it reports more than it expects) or missing (it
    /// reports less). The exit code is 1 if an example is not validated, and 2 if one is unreadable.
    ///
    /// Example: imagelint rules test our-rules
    Test {
        /// Rule pages, or directories of them
        #[arg(value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Print validated examples, too
        #[arg(short, long)]
        verbose: bool,
        /// Set the output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
        format: OutputFormat,
    },
    /// Create a rule page to fill in.
    ///
    /// Example: imagelint rules new no-nightly-wheels our-rules
    New {
        /// Name: lower-case words joined by hyphens
        name: String,
        /// Directory for the page
        #[arg(value_name = "DIR", default_value = ".")]
        folder: PathBuf,
    },
    /// Write the rule pages as an mdBook.
    ///
    /// Example: imagelint rules docs book --rules our-rules
    Docs {
        /// Directory for the book; existing files are replaced
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Add the rule pages in DIR
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
    },
}

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Rule, verdict, error, log line or link; - reads standard input
    ///
    /// TEXT is a rule or the beginning of its name, a verdict, a route (minor-version), or a CUDA error (804). A part of a
    /// log line or the address of a rule page is also found. From standard input, imagelint reads a whole log and picks
    /// the deciding line.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Add the rule pages in DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Vec<PathBuf>,
    /// Set the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
}
