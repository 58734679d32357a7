//! What `lsp` takes.

use std::num::NonZero;
use std::path::PathBuf;

use jiff::civil::Date;

use crate::cli::args::builds::BuildArgs;
use crate::cli::args::builds::BuildSet;
use crate::cli::args::config::ConfigArgs;
use crate::cli::args::formats::Color;
use crate::cli::args::judging::ExitArgs;
use crate::cli::args::judging::JudgingArgs;
use crate::cli::args::values::build_arg;
use crate::cli::args::values::day;
use crate::cli::args::values::personas;
use crate::rules::Persona;

/// What `lsp` takes: what `check` does, but for files, formats and all that is told at the end of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct LspArgs {
    /// Speak over standard input and output, as is done anyway: many editors say it.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Value of a build argument, as given to the build.
    #[arg(long = "build-arg", value_name = "NAME=VALUE", value_parser = build_arg)]
    build_args: Vec<(String, String)>,
    /// Stage that ships; the last one where not given.
    #[arg(long, value_name = "STAGE")]
    target: Option<String>,
    /// Folder of the build context; the Dockerfile's own where not given.
    #[arg(long, value_name = "DIR")]
    context: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) set: BuildSet,
    /// Fleet file; else `IMAGELINT_FLEET` where that is set and not empty, else fleet.toml in the document's folder or above
    /// it, up to the repository root.
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    /// Judge for these pools only.
    #[arg(long = "pool", value_name = "NAME")]
    pools: Vec<String>,
    /// Folder with rule pages of your own.
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
    /// Let rules speak that are not stable yet.
    #[arg(long)]
    preview: bool,
    /// Whose rules speak: regular (where nothing is said), pedantic, auditor.
    #[arg(long, value_name = "WHO", value_parser = personas(), hide_possible_values = true)]
    persona: Option<Persona>,
    /// Take images as they were built on this day (YYYY-MM-DD).
    #[arg(long, value_name = "DATE", value_parser = day)]
    as_of: Option<Date>,
    /// How many files are worked on at once; as many as there are processors where not given.
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZero<usize>>,
    /// Settings file for all documents; else those that lie beside or above each.
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no settings at all.
    #[arg(long)]
    no_config: bool,
    /// Tell only findings that are not written down in this file.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

impl LspArgs {
    /// How documents are built, as `check` takes it.
    pub(crate) fn build(&self) -> BuildArgs {
        let Self { build_args, target, context, .. } = self;
        BuildArgs { build_args: build_args.clone(), target: target.clone(), context: context.clone(), no_cache: false }
    }

    /// What documents are judged against, as `check` takes it.
    pub(crate) fn judging(&self) -> JudgingArgs {
        JudgingArgs {
            fleet: self.fleet.clone(),
            pools: self.pools.clone(),
            rules: self.rules.clone(),
            preview: self.preview,
            persona: self.persona,
            as_of: self.as_of,
            formats: Vec::new(),
            why: None,
            exit: ExitArgs::default(),
            show_fixes: false,
            category: None,
            color: Color::Never,
            jobs: self.jobs,
            verbose: false,
            config: ConfigArgs {
                config: self.config.clone(),
                no_config: self.no_config,
                baseline: self.baseline.clone(),
                ..ConfigArgs::default()
            },
        }
    }
}
