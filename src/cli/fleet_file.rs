//! Finds and reads the fleet file.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cli::args::JudgingArgs;
use crate::cli::error::{CommandError, path_from_environment, render_diagnostic};
use crate::cli::text_file::{MAX_TEXT_BYTES, read_command_line_file};
use crate::fleet;
use crate::fleet::{Fleet, FleetErrors, GpuNameLookup};
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::knowledge::Knowledge;
use crate::report::why::FULL;
use crate::text::nearest::nearest_word;
use crate::text::source::{SourceId, SourceText, Sources};

/// Name of the fleet file that imagelint finds by itself.
pub(super) const FLEET_FILE_NAME: &str = "fleet.toml";

/// Loads the specified fleet, else the nearest fleet file, else the built-in fleet; fails if a selected pool does not
/// exist.
pub(crate) fn load_fleet(
    options: &JudgingArgs,
    first_input: Option<&Path>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Fleet, CommandError> {
    let fleet = load_fleet_file(specified_fleet_file(options), first_input, knowledge, sources)?;
    check_selected_pools(options, &fleet)?;
    Ok(fleet)
}

/// Returns the specified fleet file, else the one nearest to the first input, if any.
pub(super) fn find_fleet_file(options: &JudgingArgs, first_input: Option<&Path>) -> Option<PathBuf> {
    specified_fleet_file(options).or_else(|| find_file_upwards(first_input.unwrap_or(Path::new(".")), FLEET_FILE_NAME))
}

/// Fails if a selected pool does not exist in the fleet, or if `--why` and `--pool` contradict each other.
pub(super) fn check_selected_pools(options: &JudgingArgs, fleet: &Fleet) -> Result<(), CommandError> {
    let why = || options.why.as_ref().filter(|pool| !pool.is_empty() && *pool != FULL);
    for requested in options.pools.iter().chain(why()) {
        let mut names = fleet.pools.iter().map(|pool| pool.name.value.as_str());
        if !names.clone().any(|name| name == requested) {
            let is_path = options.why.as_ref() == Some(requested) && Path::new(requested).exists();
            let hint = match nearest_word(requested, names.by_ref()) {
                _ if is_path => format!("--why takes a pool: put the path {requested} before it"),
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the pools are {}", pool_names(fleet)),
            };
            return Err(CommandError::Message(format!(
                "error: the fleet {} has no pool `{requested}`; {hint}",
                fleet.name
            )));
        }
    }
    let left_out = |pool: &&String| !options.pools.is_empty() && !options.pools.contains(pool);
    match why().filter(left_out) {
        Some(pool) => Err(CommandError::Message(format!(
            "error: --why selects pool `{pool}`, but --pool excludes it; the selected pools are {}",
            options.pools.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Returns the error message for a fleet file that cannot be read.
fn unreadable_fleet_message(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "error: cannot read the fleet file {}: {error}\nhelp: pass an existing file, or generate one: imagelint fleet \
         import --help",
        path.display()
    )
}

/// Loads the fleet of the specified file, else of the nearest fleet file, else the built-in one.
pub(crate) fn load_fleet_file(
    named: Option<PathBuf>,
    first_input: Option<&Path>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Fleet, CommandError> {
    let start = first_input.unwrap_or(Path::new("."));
    let Some(path) = named.or_else(|| find_file_upwards(start, FLEET_FILE_NAME)) else {
        let source = sources.add(fleet::built_in_fleet_text());
        return Ok(fleet::built_in_fleet(source));
    };
    let text = read_command_line_file(&path, MAX_TEXT_BYTES)
        .map_err(|error| CommandError::Message(unreadable_fleet_message(&path, &error)))?;
    let text = SourceText::new(path.display().to_string(), text);
    let source = sources.add(text.clone());
    parse_fleet(&text, source, knowledge).map_err(|errors| CommandError::Message(render_diagnostic(errors.as_ref())))
}

/// Parses and validates the fleet in a text that is already in the sources.
pub(crate) fn parse_fleet(text: &SourceText, source: SourceId, knowledge: Knowledge) -> Result<Fleet, FleetErrors> {
    // The pools of a large fleet have few kinds of GPUs.
    let lookups: RefCell<BTreeMap<String, GpuNameLookup>> = RefCell::default();
    let gpu = |name: &str| {
        lookups.borrow_mut().entry(name.to_owned()).or_insert_with(|| look_up_gpu(knowledge, name)).clone()
    };
    let fleet = fleet::read_fleet(source, text, &gpu)?;
    fleet::check_versions(&fleet, text, knowledge)?;
    fleet::check_toolkit_modes(&fleet, text, knowledge)?;
    fleet::check_mig_support(&fleet, text, knowledge)?;
    fleet::check_host_counts(&fleet, text, knowledge)?;
    Ok(fleet)
}

/// Returns the names of all pools, separated by commas.
fn pool_names(fleet: &Fleet) -> String {
    fleet.pools.iter().map(|pool| pool.name.value.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns whether the compatibility database has a GPU of this name, with suggestions if not.
fn look_up_gpu(knowledge: Knowledge, name: &str) -> GpuNameLookup {
    if knowledge.gpu(name).is_some() {
        return GpuNameLookup::Known;
    }
    GpuNameLookup::Unknown { suggestions: knowledge.gpu_suggestions(name).into_iter().map(str::to_owned).collect() }
}

/// Returns the fleet file that the command line or the environment specifies.
fn specified_fleet_file(options: &JudgingArgs) -> Option<PathBuf> {
    options.fleet.clone().or_else(fleet_file_from_environment)
}

/// Returns the fleet file that the environment variable `IMAGELINT_FLEET` specifies.
pub(crate) fn fleet_file_from_environment() -> Option<PathBuf> {
    path_from_environment("IMAGELINT_FLEET")
}

/// Returns the fleet files that are nearer to inputs than the one in use.
pub(crate) fn unused_fleet_files(options: &JudgingArgs, used: &Fleet, inputs: &[AnalysisSubject]) -> BTreeSet<PathBuf> {
    if specified_fleet_file(options).is_some() {
        return BTreeSet::new();
    }
    let paths = inputs.iter().filter(|input| !matches!(input.content, SubjectContent::Saved(_)));
    let folders: BTreeSet<&Path> = paths.filter_map(|input| Path::new(&input.name).parent()).collect();
    let here = |folder: &Path| {
        if folder.as_os_str().is_empty() {
            find_file_upwards(Path::new("."), FLEET_FILE_NAME)
        } else {
            find_file_upwards(folder, FLEET_FILE_NAME)
        }
    };
    folders.into_iter().filter_map(here).filter(|found| *found != Path::new(&used.name)).collect()
}

/// Finds a file of this name in the directory of `start` or above, up to the repository root.
pub(super) fn find_file_upwards(start: &Path, name: &str) -> Option<PathBuf> {
    let start = start.canonicalize().ok()?;
    let mut folder = if start.is_dir() { Some(start.as_path()) } else { start.parent() };
    let here = std::env::current_dir().ok()?;
    while let Some(current) = folder {
        let file = current.join(name);
        if file.is_file() {
            return Some(file.strip_prefix(&here).map(Path::to_path_buf).unwrap_or(file));
        }
        if current.join(".git").exists() {
            return None;
        }
        folder = current.parent();
    }
    None
}
