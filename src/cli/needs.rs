//! `imagelint needs`: what an input demands of any node, without a fleet.

use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;

use serde::Serialize;

use crate::cli::Failure;
use crate::cli::args::Format;
use crate::cli::args::NeedsArgs;
use crate::cli::args::ReadingArgs;
use crate::cli::describe;
use crate::cli::describe::Asked;
use crate::cli::exit::Exit;
use crate::cli::outputs::color;
use crate::cli::outputs::width;
use crate::cli::streams;
use crate::infer::infer;
use crate::judge;
use crate::knowledge::Knowledge;
use crate::needs;
use crate::needs::model::Needs;
use crate::report::json::SCHEMA_VERSION;
use crate::source::Sources;

/// What goes out as JSON.
#[derive(Serialize)]
struct Report {
    schema_version: u32,
    knowledge: String,
    subjects: Vec<Needs>,
}

/// Runs it.
pub(crate) fn run(options: &NeedsArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let mut found = Vec::new();
    let NeedsArgs { input, platform, reading, settings, .. } = options;
    let ReadingArgs { pull, access, build } = reading;
    let asked = Asked { input, platform, pull: *pull, access, build, settings, knowledge };
    for subject in describe::read(asked, &mut sources)? {
        let Some(seen) = judge::observations(&subject.content, &options.platform) else { continue };
        // As `check` takes it: the input's own day first, then the one asked for, then that of a saved report.
        let day = seen.as_of.or(options.as_of).or(subject.as_of);
        let images = infer(&seen, &options.platform, day, knowledge);
        found.extend(needs::survey(&subject.name, &options.platform, &images, day, &sources, knowledge));
    }
    if found.is_empty() {
        describe::nothing("tell", input)?;
    }
    let terminal = io::stdout().is_terminal();
    let mut out = io::BufWriter::new(streams::out());
    match options.format {
        Format::Json => {
            let empty = found.is_empty();
            let knowledge = knowledge.newest_date().to_string();
            let report = Report { schema_version: SCHEMA_VERSION, knowledge, subjects: found };
            serde_json::to_writer_pretty(&mut out, &report).map_err(io::Error::from)?;
            writeln!(out)?;
            out.flush()?;
            Ok(if empty { Exit::Nothing } else { Exit::Clean })
        }
        Format::Human => {
            for (at, needs) in found.iter().enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                let shown = needs::tell::Shown {
                    all_gpus: options.all_gpus,
                    why: options.why,
                    color: color(options.color, terminal),
                    width: width(terminal),
                };
                needs::tell::tell(needs, shown, knowledge, &mut out)?;
            }
            out.flush()?;
            Ok(if found.is_empty() { Exit::Nothing } else { Exit::Clean })
        }
    }
}
