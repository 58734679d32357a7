//! `imagelint recommend`: what to build, so that it starts on every pool.

use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::args::RecommendArgs;
use crate::cli::args::RecommendFormat;
use crate::cli::compare::json;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::outputs::color;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::judge::Detail;
use crate::judge::Settings;
use crate::knowledge::Knowledge;
use crate::recommend;
use crate::recommend::Asked;
use crate::rules::RuleBook;
use crate::source::Sources;

/// Runs it.
pub(crate) fn run(options: &RecommendArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let judging = options.judging();
    let loaded = Loaded::new(&judging.config, None, &mut sources)?;
    let judging = loaded.under(&judging, &sources)?;
    let fleet = fleet::load(&judging, None, knowledge, &mut sources)?;
    let settings = Settings {
        fleet: &fleet,
        pools: &judging.pools,
        as_of: judging.as_of,
        persona: judging.persona(),
        knowledge,
        book: RuleBook::built_in(),
        sources: &sources,
        detail: Detail::Verdicts,
        own: None,
    };
    let said = |error: String| Failure::Said(format!("error: {error}"));
    let with = options.wishes().map_err(said)?;
    let (base, python, limit) = (options.base.as_deref(), options.python.as_deref(), options.limit.get().into());
    let asked = Asked { with: &with, base, python, limit, jobs: judging.jobs() };
    let told = recommend::recommend(asked, settings).map_err(said)?;
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::out());
    match options.format {
        RecommendFormat::Human => recommend::human(&told, color(judging.color, terminal), &mut out)?,
        RecommendFormat::Json => json(&told, &mut out)?,
        RecommendFormat::Dockerfile => match told.combinations.first() {
            Some(best) => write!(out, "{}", best.dockerfile)?,
            None => {
                writeln!(streams::err(), "no combination starts on every pool; use --format human for the details")?;
            }
        },
    }
    out.flush()?;
    Ok(if told.combinations.is_empty() { Exit::Found } else { Exit::Clean })
}
