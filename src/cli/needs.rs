//! `imagelint needs`: prints what an image requires of any node, without a fleet.

use std::io;
use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

use crate::cli::args::{DockerfileArgs, NeedsArgs, OutputFormat};
use crate::cli::describe::InputRequest;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::{output_width, use_color};
use crate::cli::{describe, streams};
use crate::fix::needs;
use crate::fix::needs::model::ImageNeeds;
use crate::infer::infer_image_facts;
use crate::judge;
use crate::knowledge::Knowledge;
use crate::report::json::SCHEMA_VERSION;
use crate::text::source::Sources;

/// The JSON output of `imagelint needs`.
#[derive(Serialize)]
struct NeedsReport {
    schema_version: u32,
    knowledge: String,
    subjects: Vec<ImageNeeds>,
}

/// Runs `imagelint needs`.
pub(crate) fn run(options: &NeedsArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let mut sources = Sources::default();
    let mut found = Vec::new();
    let NeedsArgs { input, platform, reading, settings, .. } = options;
    let DockerfileArgs { pull, access, build } = reading;
    let request = InputRequest { input, platform, pull: *pull, access, build, settings, knowledge };
    for subject in describe::read_input(request, &mut sources)? {
        let Some(seen) = judge::observations_for_platform(&subject.content, &options.platform) else { continue };
        // As in `check`: the day of the input first, then the requested one, then that of a saved report.
        let day = seen.as_of.or(options.as_of).or(subject.as_of);
        let images = infer_image_facts(&seen, &options.platform, day, knowledge);
        found.extend(needs::survey_builds(&subject.name, &options.platform, &images, day, &sources, knowledge));
    }
    if found.is_empty() {
        describe::report_nothing("tell", input)?;
    }
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::stdout());
    match options.format {
        OutputFormat::Json => {
            let empty = found.is_empty();
            let knowledge = knowledge.newest_source_date().to_string();
            let report = NeedsReport { schema_version: SCHEMA_VERSION, knowledge, subjects: found };
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
            Ok(if empty { Exit::Nothing } else { Exit::Clean })
        }
        OutputFormat::Human => {
            for (at, needs) in found.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                let shown = needs::print::NeedsPrintOptions {
                    all_gpus: options.all_gpus,
                    why: options.why,
                    color: use_color(options.color, terminal),
                    width: output_width(terminal),
                };
                needs::print::print_needs(needs, shown, knowledge, &mut out)?;
            }
            out.flush()?;
            Ok(if found.is_empty() { Exit::Nothing } else { Exit::Clean })
        }
    }
}
