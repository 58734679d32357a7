//! `imagelint check`: files, offline.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::Failure;
use crate::cli::args::CheckArgs;
use crate::cli::builds::Kind;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::readers::is_named_list;
use crate::cli::scan;
use crate::cli::settings;
use crate::cli::settings::Held;
use crate::cli::settings::Loaded;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::source::Sources;

/// Runs it.
pub(crate) fn run(options: &CheckArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut sources = Sources::default();
    let mut paths = options.paths.clone();
    if paths.is_empty() && options.bake.is_empty() && options.compose.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let files = paths.iter().chain(&options.bake).chain(&options.compose);
    let named = options.stdin_filename.iter().filter_map(|path| path.parent());
    let first = files.map(PathBuf::as_path).chain(named).find(|path| path.exists());
    let loaded = Loaded::new(&options.judging.config, first, &mut sources)?;
    let judging = loaded.under(&options.judging, &sources)?;
    let settings = Mutex::new(loaded);
    let fleet = fleet::load(&judging, first, knowledge, &mut sources)?;
    let build = Build {
        args: &options.build,
        set: &options.set,
        stdin_filename: options.stdin_filename.as_deref(),
        jobs: judging.jobs(),
        settings: &settings,
    };
    let mut inputs = Inputs::read(&paths, &build, &mut sources);
    for file in &options.bake {
        inputs.builds(file, Kind::Bake, &build, &mut sources);
    }
    for file in &options.compose {
        inputs.builds(file, Kind::Compose, &build, &mut sources);
    }
    for other in fleet::passed_over(&judging, &fleet, &inputs.subjects) {
        let (other, used) = (other.display(), &fleet.name);
        writeln!(io::stderr(), "{other} is not used: the fleet of this run is {used}; check that folder by itself")?;
    }
    settings::of_inputs(&settings, &mut inputs.subjects, &fleet, &mut sources)?;
    let book = output::own_rules(&judging)?;
    settings::known(&settings::lock(&settings), book.as_ref(), &fleet, &options.judging)?;
    let platforms = options.pull.then(|| scan::platforms(&fleet, knowledge));
    let platforms = platforms.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
    known::add(&mut inputs, first, platforms.as_deref(), &build, &mut sources);
    if !fleet.built_in
        && let Some(folder) = Path::new(&fleet.name).parent()
    {
        inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    if inputs.subjects.is_empty() && inputs.errors.is_empty() {
        if inputs.unread.is_empty() {
            let help = if options.paths.is_empty() { "; `imagelint --help` tells what can be checked" } else { "" };
            writeln!(io::stderr(), "nothing to check: no Dockerfile and no image description was found{help}")?;
        } else {
            writeln!(io::stderr(), "nothing to check: no Dockerfile reads {}", inputs.unread.join(", "))?;
        }
    }
    let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
    if judging.config.show_settings {
        return settings::show(&loaded, &judging, &options.judging, &inputs.subjects, &fleet.name, &sources);
    }
    for told in loaded.passed_over() {
        writeln!(io::stderr(), "{told}")?;
    }
    let nowhere = runs_nowhere(&inputs.subjects, &fleet)?;
    let tell = if options.show_files { output::judge_and_list } else { output::judge_and_print };
    // What is built otherwise than as usual, or was not read, may be what an ignore is for.
    let usual = options.build.target.is_none() && options.build.build_args.is_empty() && inputs.errors.is_empty();
    let whole = if usual { settings::whole(&paths) } else { Vec::new() };
    let settings = Some(Held { loaded: &loaded, whole: &whole });
    let options = &judging;
    let run = Run { subjects: &inputs.subjects, fleet: &fleet, options, knowledge, sources: &sources, settings };
    let exit = tell(run, inputs.errors)?;
    // As with a Dockerfile that has no GPU content, all is well with a list that no image is built from.
    let lists = !inputs.unread.is_empty() && inputs.unread.iter().all(|name| is_named_list(name));
    Ok(match exit {
        Exit::Nothing if lists => Exit::Clean,
        Exit::Clean if nowhere => Exit::Nothing,
        exit => exit,
    })
}

/// Tells the Dockerfiles that no pool is for; whether nothing else is there.
fn runs_nowhere(subjects: &[Subject], fleet: &Fleet) -> Result<bool, Failure> {
    let nowhere = |subject: &&Subject| {
        matches!(subject.content, Content::Dockerfile { .. })
            && !fleet.pools.iter().any(|pool| pool.runs_dockerfile(&subject.path))
    };
    let told: Vec<&Subject> = subjects.iter().filter(nowhere).collect();
    for subject in &told {
        let (name, path, fleet) = (&subject.name, &subject.path, &fleet.name);
        writeln!(io::stderr(), "{name} runs on no pool: no `dockerfiles` pattern of {fleet} matches {path}")?;
    }
    Ok(!told.is_empty() && told.len() == subjects.len())
}
