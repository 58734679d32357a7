//! `imagelint recommend`: recommends what to build so that the image starts on every pool.

use std::io;
use std::io::{IsTerminal as _, Write as _};

use crate::cli::args::{RecommendArgs, RecommendFormat};
use crate::cli::compare::write_json;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::use_color;
use crate::cli::settings::LoadedSettings;
use crate::cli::{fleet_file, streams};
use crate::fix::recommend;
use crate::fix::recommend::RecommendRequest;
use crate::judge::{AnalysisSettings, ReportDetail};
use crate::knowledge::Knowledge;
use crate::rules::RuleBook;
use crate::text::source::Sources;

/// Runs `imagelint recommend`.
pub(crate) fn run(options: &RecommendArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut sources = Sources::default();
    let judging = options.to_judging_args();
    let loaded = LoadedSettings::new(&judging.config, None, &mut sources)?;
    let judging = loaded.merge_with_options(&judging, &sources)?;
    let fleet = fleet_file::load_fleet(&judging, None, knowledge, &mut sources)?;
    let settings = AnalysisSettings {
        fleet: &fleet,
        pools: &judging.pools,
        as_of: judging.as_of,
        persona: judging.persona(),
        knowledge,
        book: RuleBook::built_in(),
        sources: &sources,
        detail: ReportDetail::Verdicts,
        own: None,
    };
    let command_error = |error: String| CommandError::Message(format!("error: {error}"));
    let with = options.requirements().map_err(command_error)?;
    let (base, python, limit) = (options.base.as_deref(), options.python.as_deref(), options.limit.get().into());
    let request = RecommendRequest { with: &with, base, python, limit, jobs: judging.jobs() };
    let recommendation = recommend::recommend(request, settings).map_err(command_error)?;
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::stdout());
    match options.format {
        RecommendFormat::Human => {
            recommend::write_recommendation(&recommendation, use_color(judging.color, terminal), &mut out)?;
        }
        RecommendFormat::Json => write_json(&recommendation, &mut out)?,
        RecommendFormat::Dockerfile => match recommendation.combinations.first() {
            Some(best) => write!(out, "{}", best.dockerfile)?,
            None => {
                writeln!(streams::stderr(), "no combination starts on every pool; use --format human for the details")?;
            }
        },
    }
    out.flush()?;
    Ok(if recommendation.combinations.is_empty() { Exit::Found } else { Exit::Clean })
}
