//! What `rules` and `explain` take.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::args::formats::Format;

/// What `rules` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct RulesArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) action: RulesDo,
}

/// What can be done with rules.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesDo {
    /// List every rule: name, severity, who hears it, what goes wrong.
    ///
    /// Example: imagelint rules list
    List {
        /// Folder with rule pages of your own.
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
        /// How to tell it.
        #[arg(long, value_enum, default_value_t = Format::Human)]
        format: Format,
    },
    /// Print the page of a rule as it is written, with its examples.
    ///
    /// Example: imagelint rules show insufficient-driver
    Show {
        /// Name of the rule.
        rule: String,
        /// Folder with rule pages of your own.
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
    },
    /// List every name, function and operator that conditions may use.
    ///
    /// Example: imagelint rules vocabulary
    Vocabulary {
        /// How to tell it.
        #[arg(long, value_enum, default_value_t = Format::Human)]
        format: Format,
    },
    /// Judge the examples of pages: of the built-in ones, or of the folders given.
    ///
    /// Each example is validated, noisy (something is said that it does not promise) or missing (something that it
    /// promises is not said). Exit code 1 where one is not validated, 2 where a page or an example cannot be read.
    ///
    /// Example: imagelint rules test our-rules
    Test {
        /// Folders with rule pages of your own.
        #[arg(value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Print every example, not only those that are not validated.
        #[arg(short, long)]
        verbose: bool,
        /// How to tell it.
        #[arg(long, value_enum, default_value_t = Format::Human)]
        format: Format,
    },
    /// Write a page to start from: it loads, and `rules test` says what to fill in.
    ///
    /// Example: imagelint rules new no-nightly-wheels our-rules
    New {
        /// Name of the rule: lower-case words joined by hyphens.
        name: String,
        /// Folder for the page; the current one where not given.
        #[arg(value_name = "DIR", default_value = ".")]
        folder: PathBuf,
    },
    /// Write the pages as the source of a web book, for `mdbook build DIR`.
    ///
    /// Example: imagelint rules docs book --rules our-rules
    Docs {
        /// Folder for it; files of the same names are replaced.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Folder with rule pages of your own.
        #[arg(long, value_name = "DIR")]
        rules: Vec<PathBuf>,
    },
}

/// What `explain` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A rule, an outcome, an error's number or name, or a line of a log; `-` reads it from the standard input.
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,
    /// Folder with rule pages of your own.
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Vec<PathBuf>,
    /// How to tell it.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}
