//! What to judge against, and how to tell it.

use std::path::PathBuf;

use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::formats::FailOn;
use crate::cli::args::formats::Wanted;
use crate::cli::args::values::category;
use crate::cli::args::values::day;
use crate::cli::args::values::formats;
use crate::cli::args::values::personas;
use crate::rules::Persona;

/// What the exit code hangs on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ExitArgs {
    /// Exit with 1 at findings of this severity and above, `error` where nothing is said; `undetermined` also where
    /// something cannot be told.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) fail_on: Option<FailOn>,
    /// Exit with 0 whatever is found; the same as `--fail-on never`.
    #[arg(long, num_args = 0, default_missing_value = "never", value_enum, conflicts_with = "fail_on")]
    pub(crate) exit_zero: Option<FailOn>,
    /// Exit by what was found even where an input could not be read, which is told all the same and else exits with 2.
    ///
    /// Where no input at all could be read the exit code is 3.
    #[arg(long)]
    pub(crate) allow_incomplete: bool,
}

/// What to judge against, and how to tell it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JudgingArgs {
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in the first input's folder or
    /// above it, up to the repository root.
    #[arg(long, value_name = "FILE")]
    pub(crate) fleet: Option<PathBuf>,
    /// Judge for these pools only.
    #[arg(long = "pool", value_name = "NAME")]
    pub(crate) pools: Vec<String>,
    /// Folder with rule pages of your own.
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Vec<PathBuf>,
    /// Let rules speak that are not stable yet.
    #[arg(long)]
    pub(crate) preview: bool,
    /// Whose rules speak: regular (where nothing is said), pedantic, auditor.
    #[arg(long, value_name = "WHO", value_parser = personas(), hide_possible_values = true)]
    pub(crate) persona: Option<Persona>,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(crate) as_of: Option<Date>,
    /// How to tell it, on standard output or in a file; may be given several times.
    ///
    /// One of human, concise, json, ndjson, sarif, github, gitlab, rdjsonl, checkstyle, junit, markdown, summary,
    /// html. One report alone goes to standard output: human, where every other one goes to a file.
    #[arg(long = "format", value_name = "NAME[=FILE]", value_parser = formats(), hide_possible_values = true)]
    pub(crate) formats: Vec<Wanted>,
    /// Name of this run for code scanning: SARIF calls it `imagelint/NAME/`; `check` or `scan` where not given.
    ///
    /// Runs of one repository that are uploaded for the same commit, such as those for two fleets, need one each.
    #[arg(long, value_name = "NAME", value_parser = category)]
    pub(crate) category: Option<String>,
    /// Print the deciding step of each verdict, for one pool or all; every step with `full`.
    ///
    /// `full` always means every step on every pool. For a pool of that name, use `--pool full --why`.
    #[arg(long, value_name = "POOL|full", num_args = 0..=1, default_missing_value = "")]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) exit: ExitArgs,
    /// Look for changes that make failing images start, and tell them with each error.
    #[arg(long)]
    pub(crate) show_fixes: bool,
    /// Colour in the output.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// How many files are worked on, and changes tried, at once; as many as there are processors where not given.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
    /// Tell also what was found to have no GPU content.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl JudgingArgs {
    /// How many workers to use.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(crate::cli::parallel::default_jobs, std::num::NonZero::get)
    }

    /// Whose rules speak.
    pub(crate) fn persona(&self) -> Persona {
        self.persona.unwrap_or(Persona::Regular)
    }

    /// The level from which the exit code is 1.
    pub(crate) fn fail_on(&self) -> FailOn {
        self.exit.exit_zero.or(self.exit.fail_on).unwrap_or(FailOn::Error)
    }
}
