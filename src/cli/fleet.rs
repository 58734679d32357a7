//! Finds and reads the fleet.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::path_from;
use crate::cli::render;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_named;
use crate::fleet;
use crate::fleet::Fleet;
use crate::fleet::FleetErrors;
use crate::fleet::GpuName;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::nearest::nearest;
use crate::report::why::FULL;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::source::Sources;

/// The name by which a fleet is found without being told.
pub(super) const FILE: &str = "fleet.toml";

/// The fleet that the options or the place of the first input name, else the built-in one.
pub(crate) fn load(
    options: &JudgingArgs,
    first_input: Option<&Path>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Fleet, Failure> {
    let fleet = of_file(named(options), first_input, knowledge, sources)?;
    asked(options, &fleet)?;
    Ok(fleet)
}

/// The fleet file that the options or the place of the first input name, where one does.
pub(super) fn place(options: &JudgingArgs, first_input: Option<&Path>) -> Option<PathBuf> {
    named(options).or_else(|| upwards(first_input.unwrap_or(Path::new(".")), FILE))
}

/// Refuses pools that are asked for and not there.
pub(super) fn asked(options: &JudgingArgs, fleet: &Fleet) -> Result<(), Failure> {
    let why = || options.why.as_ref().filter(|pool| !pool.is_empty() && *pool != FULL);
    for asked in options.pools.iter().chain(why()) {
        let mut names = fleet.pools.iter().map(|pool| pool.name.value.as_str());
        if !names.clone().any(|name| name == asked) {
            let is_path = options.why.as_ref() == Some(asked) && Path::new(asked).exists();
            let hint = match nearest(asked, names.by_ref()) {
                _ if is_path => format!("--why takes a pool: put the path {asked} before it"),
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("the pools are {}", pool_names(fleet)),
            };
            return Err(Failure::Said(format!("error: the fleet {} has no pool `{asked}`; {hint}", fleet.name)));
        }
    }
    let left_out = |pool: &&String| !options.pools.is_empty() && !options.pools.contains(pool);
    match why().filter(left_out) {
        Some(pool) => Err(Failure::Said(format!(
            "error: --why selects pool `{pool}`, but --pool excludes it; the selected pools are {}",
            options.pools.join(", ")
        ))),
        None => Ok(()),
    }
}

/// That a fleet file cannot be read, and how to get one.
pub(super) fn cannot(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "error: cannot read the fleet file {}: {error}\nhelp: pass an existing file, or generate one: imagelint fleet \
         import --help",
        path.display()
    )
}

/// The fleet of a file that is named, else of one that is found, else the built-in one.
pub(crate) fn of_file(
    named: Option<PathBuf>,
    first_input: Option<&Path>,
    knowledge: Knowledge,
    sources: &mut Sources,
) -> Result<Fleet, Failure> {
    let start = first_input.unwrap_or(Path::new("."));
    let Some(path) = named.or_else(|| upwards(start, FILE)) else {
        let source = sources.add(fleet::built_in_text());
        return Ok(fleet::built_in(source));
    };
    let text = read_named(&path, MAX_TEXT).map_err(|error| Failure::Said(cannot(&path, &error)))?;
    let text = SourceText::new(path.display().to_string(), text);
    let source = sources.add(text.clone());
    of_text(&text, source, knowledge).map_err(|errors| Failure::Said(render(errors.as_ref())))
}

/// The fleet of a text that is added to the sources.
pub(crate) fn of_text(text: &SourceText, source: SourceId, knowledge: Knowledge) -> Result<Fleet, FleetErrors> {
    // The pools of a large fleet have few kinds of GPUs.
    let asked: RefCell<BTreeMap<String, GpuName>> = RefCell::default();
    let gpu =
        |name: &str| asked.borrow_mut().entry(name.to_owned()).or_insert_with(|| gpu_name(knowledge, name)).clone();
    let fleet = fleet::read(source, text, &gpu)?;
    fleet::check_versions(&fleet, text, knowledge)?;
    fleet::check_modes(&fleet, text, knowledge)?;
    fleet::check_mig(&fleet, text, knowledge)?;
    fleet::check_width(&fleet, text, knowledge)?;
    Ok(fleet)
}

fn pool_names(fleet: &Fleet) -> String {
    fleet.pools.iter().map(|pool| pool.name.value.as_str()).collect::<Vec<_>>().join(", ")
}

fn gpu_name(knowledge: Knowledge, name: &str) -> GpuName {
    if knowledge.gpu(name).is_some() {
        return GpuName::Known;
    }
    GpuName::Unknown { suggestions: knowledge.gpu_suggestions(name).into_iter().map(str::to_owned).collect() }
}

/// The fleet file that the command line or the environment names.
fn named(options: &JudgingArgs) -> Option<PathBuf> {
    options.fleet.clone().or_else(from_environment)
}

/// The fleet file that the environment names.
pub(crate) fn from_environment() -> Option<PathBuf> {
    path_from("IMAGELINT_FLEET")
}

/// Fleet files that lie nearer to inputs than the one that all of them are judged against.
pub(crate) fn passed_over(options: &JudgingArgs, used: &Fleet, inputs: &[Subject]) -> BTreeSet<PathBuf> {
    if named(options).is_some() {
        return BTreeSet::new();
    }
    let paths = inputs.iter().filter(|input| !matches!(input.content, Content::Saved(_)));
    let folders: BTreeSet<&Path> = paths.filter_map(|input| Path::new(&input.name).parent()).collect();
    let here = |folder: &Path| {
        if folder.as_os_str().is_empty() { upwards(Path::new("."), FILE) } else { upwards(folder, FILE) }
    };
    folders.into_iter().filter_map(here).filter(|found| *found != Path::new(&used.name)).collect()
}

/// A file of this name in the folder of `start` or above, no further than the repository root.
pub(super) fn upwards(start: &Path, name: &str) -> Option<PathBuf> {
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
