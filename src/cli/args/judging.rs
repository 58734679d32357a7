//! Arguments of commands that judge inputs: fleet, rules, output, exit code and settings.

use std::path::PathBuf;

use jiff::civil::Date;

use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::{Color, FailOn, ReportOutput};
use crate::cli::args::value_parsers::{parse_category, parse_date, persona_parser, report_output_parser};
use crate::rules::Persona;

/// Options that determine the exit code.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ExitArgs {
    /// Exit with 1 from this severity up [error]
    ///
    /// LEVEL is error, warning, note, undetermined or never. `undetermined` also fails on unknown verdicts.
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Output", hide_possible_values = true)]
    pub(crate) fail_on: Option<FailOn>,
    /// Exit with 0 in spite of findings
    ///
    /// The same as `--fail-on never`.
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "never",
        value_enum,
        conflicts_with = "fail_on",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(crate) exit_zero: Option<FailOn>,
    /// Ignore unreadable inputs in the exit code
    ///
    /// imagelint reports them anyway; without the flag it exits with 2. If no input is readable, it exits with 3.
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub(crate) allow_incomplete: bool,
}

/// Fleet, rule and output options.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JudgingArgs {
    /// Read the fleet from FILE [nearest fleet.toml]
    ///
    /// Without it, imagelint reads the file in `IMAGELINT_FLEET`. If that is not set, it reads the nearest fleet.toml in
    /// the directory of the first input or above, up to the repository root. The last choice is the built-in fleet.
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub(crate) fleet: Option<PathBuf>,
    /// Check this pool only (repeatable)
    #[arg(long = "pool", value_name = "NAME", help_heading = "Fleet")]
    pub(crate) pools: Vec<String>,
    /// Add the rule pages in DIR
    #[arg(long, value_name = "DIR", help_heading = "Fleet", hide_short_help = true)]
    pub(crate) rules: Vec<PathBuf>,
    /// Enable preview rules
    #[arg(long, help_heading = "Fleet", hide_short_help = true)]
    pub(crate) preview: bool,
    /// Enable pedantic or auditor rules, too [regular]
    #[arg(long, value_name = "WHO", value_parser = persona_parser(), hide_possible_values = true, help_heading = "Fleet")]
    pub(crate) persona: Option<Persona>,
    /// Assume images were built on DATE (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date, help_heading = "Fleet", hide_short_help = true)]
    pub(crate) as_of: Option<Date>,
    /// Write the report in this format [human]
    ///
    /// Repeat the flag for several reports. NAME is one of human, concise, json, ndjson, sarif, github, gitlab, rdjsonl,
    /// checkstyle, junit, markdown, summary, html. With =FILE, the report is written to that file.
    #[arg(long = "format", value_name = "NAME[=FILE]", value_parser = report_output_parser(), hide_possible_values = true, help_heading = "Output")]
    pub(crate) formats: Vec<ReportOutput>,
    /// Name this run in SARIF [check or scan]
    ///
    /// SARIF contains it as `imagelint/NAME/`. Give each run of one commit its own name, such as one for each fleet.
    #[arg(long, value_name = "NAME", value_parser = parse_category, help_heading = "Output", hide_short_help = true)]
    pub(crate) category: Option<String>,
    /// Print the deciding step of each verdict [all pools]
    ///
    /// POOL limits it to one pool. `full` prints every step on every pool; for a pool of that name, use
    /// `--pool full --why`.
    #[arg(long, value_name = "POOL|full", num_args = 0..=1, default_missing_value = "", help_heading = "Output")]
    pub(crate) why: Option<String>,
    #[command(flatten)]
    pub(crate) exit: ExitArgs,
    /// Search for fixes and show them
    #[arg(long, help_heading = "Fixes")]
    pub(crate) show_fixes: bool,
    /// Use color: auto, always, never
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output", hide_possible_values = true)]
    pub(crate) color: Color,
    /// Set the number of workers [number of CPUs]
    #[arg(short, long, value_name = "N", hide_short_help = true)]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
    /// List files without GPU content, too
    #[arg(short, long, help_heading = "Output")]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

impl JudgingArgs {
    /// Returns the number of worker threads.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.map_or_else(crate::cli::parallel::default_jobs, std::num::NonZero::get)
    }

    /// Returns the persona whose rules are enabled.
    pub(crate) fn persona(&self) -> Persona {
        self.persona.unwrap_or(Persona::Regular)
    }

    /// Returns the lowest severity that makes the exit code 1.
    pub(crate) fn fail_on(&self) -> FailOn {
        self.exit.exit_zero.or(self.exit.fail_on).unwrap_or(FailOn::Error)
    }
}
