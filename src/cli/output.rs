//! The report on its way out: format, colour, width.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::io::IsTerminal as _;
use std::io::Write as _;
use std::path::Path;

use crate::cli::Failure;
use crate::cli::args::Color;
use crate::cli::args::Format;
use crate::cli::args::JudgingArgs;
use crate::cli::exit;
use crate::cli::exit::Exit;
use crate::cli::parallel;
use crate::cli::render;
use crate::fleet::DriverSpec;
use crate::fleet::Fleet;
use crate::judge;
use crate::judge::Hosts;
use crate::judge::Settings;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::report::files;
use crate::report::human;
use crate::report::human::HumanOptions;
use crate::report::json;
use crate::report::model;
use crate::report::model::InputError;
use crate::report::why;
use crate::rules::RuleBook;
use crate::source::Sources;

/// Judges everything and prints the report.
pub(crate) fn judge_and_print(
    subjects: &[Subject],
    errors: Vec<InputError>,
    fleet: &Fleet,
    options: &JudgingArgs,
    knowledge: Knowledge,
    sources: &Sources,
) -> Result<Exit, Failure> {
    let report = report(subjects, errors, fleet, options, knowledge, sources)?;
    print(&report, options, sources)?;
    Ok(exit::of(&report, options.fail_on))
}

/// Judges everything and lists what was looked at.
pub(crate) fn judge_and_list(
    subjects: &[Subject],
    errors: Vec<InputError>,
    fleet: &Fleet,
    options: &JudgingArgs,
    knowledge: Knowledge,
    sources: &Sources,
) -> Result<Exit, Failure> {
    let report = report(subjects, errors, fleet, options, knowledge, sources)?;
    files::files(&report, &mut io::stdout().lock())?;
    Ok(if report.errors.is_empty() { Exit::Clean } else { Exit::Broken })
}

fn report(
    subjects: &[Subject],
    errors: Vec<InputError>,
    fleet: &Fleet,
    options: &JudgingArgs,
    knowledge: Knowledge,
    sources: &Sources,
) -> Result<model::Report, Failure> {
    let own;
    let book = if options.rules.is_empty() {
        RuleBook::built_in()
    } else {
        own = read_rules(&options.rules)?;
        &own
    };
    let settings = Settings {
        fleet,
        pools: &options.pools,
        as_of: options.as_of,
        persona: options.persona,
        knowledge,
        book,
        sources,
    };
    let hosts = Hosts::of(settings);
    Ok(model::Report {
        schema_version: json::SCHEMA_VERSION,
        tool: model::Tool {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            knowledge: knowledge.newest_date().to_string(),
        },
        as_of: options.as_of.map(|day| day.to_string()),
        fleet: of_fleet(fleet, options, sources),
        subjects: parallel::map(options.jobs(), subjects, |subject| judge::judge_on(subject, settings, &hosts)),
        errors,
    })
}

fn read_rules(folders: &[impl AsRef<Path>]) -> Result<RuleBook, Failure> {
    let mut files = Vec::new();
    for folder in folders {
        let folder = folder.as_ref();
        let fail =
            |error: io::Error| Failure::Said(format!("error: cannot read rules in {}: {error}", folder.display()));
        let mut paths: Vec<_> = fs::read_dir(folder)
            .map_err(fail)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(fail)?;
        paths.sort();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
            let text = fs::read_to_string(&path).map_err(fail)?;
            files.push((path.display().to_string(), text));
        }
    }
    RuleBook::with_folder(files)
        .map_err(|errors| Failure::Said(errors.iter().map(|error| render(error)).collect::<Vec<_>>().join("\n")))
}

fn of_fleet(fleet: &Fleet, options: &JudgingArgs, sources: &Sources) -> model::Fleet {
    let pools = fleet.pools.iter().filter(|pool| options.pools.is_empty() || options.pools.contains(&pool.name.value));
    model::Fleet {
        source: fleet.name.clone(),
        built_in: fleet.built_in,
        pools: pools
            .map(|pool| model::Pool {
                name: pool.name.value.clone(),
                gpu: pool.gpu.iter().map(|gpu| gpu.value.name.clone()).collect(),
                driver: driver_text(pool),
                nodes: pool.nodes.as_ref().map(|nodes| nodes.value),
                location: judge::pool_place(fleet, pool, sources),
            })
            .collect(),
    }
}

fn driver_text(pool: &crate::fleet::Pool) -> Option<String> {
    let texts: Vec<String> = pool
        .driver
        .iter()
        .map(|driver| match &driver.value {
            DriverSpec::Exact(version) => version.to_string(),
            DriverSpec::Branch(branch) => branch.to_string(),
            DriverSpec::Range { from, before } => {
                let from = from.map(|from| format!(">={from}"));
                let before = before.map(|before| format!("<{before}"));
                from.into_iter().chain(before).collect::<Vec<_>>().join(",")
            }
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join(" or "))
}

fn print(report: &model::Report, options: &JudgingArgs, sources: &Sources) -> Result<(), Failure> {
    let stdout = io::stdout();
    let color = color(options.color, stdout.is_terminal());
    let mut out = io::BufWriter::new(stdout.lock());
    match (options.format, &options.why) {
        (Format::Json, _) => json::json(report, &mut out)?,
        (Format::Human, Some(pool)) => {
            why::why(report, Some(pool.as_str()).filter(|pool| !pool.is_empty()), &mut out, color)?;
        }
        (Format::Human, None) => {
            let texts: BTreeMap<String, String> =
                sources.iter().map(|text| (text.name().to_owned(), text.text().to_owned())).collect();
            let width = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(110);
            let options = HumanOptions { color, ascii: false, width, verbose: options.verbose };
            human::human(report, &texts, &options, &mut out)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Colour by flag, else by the environment, else on a terminal.
fn color(wanted: Color, terminal: bool) -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    match wanted {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => true,
        Color::Auto => terminal,
    }
}
