//! `imagelint check`: files, offline.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::CheckArgs;
use crate::cli::builds::Kind;
use crate::cli::exit::Exit;
use crate::cli::fix;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::readers::is_named_list;
use crate::cli::scan;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::source::Sources;

/// What was read for one check.
struct Read {
    sources: Sources,
    fleet: Fleet,
    inputs: Inputs,
}

/// Runs it.
pub(crate) fn run(options: &CheckArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let mut read = read(options, knowledge)?;
    if options.fixing.writes() && options.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Said(
            "error: standard input is no file to write to; --diff prints the changes".to_owned(),
        ));
    }
    if options.fixing.prints() {
        return fix::print(read.run(options, knowledge), options);
    }
    for _ in 0..fix::ROUNDS {
        if !options.fixing.writes() || !fix::write(read.run(options, knowledge), options)? {
            break;
        }
        read = self::read(options, knowledge)?;
    }
    if read.inputs.subjects.is_empty() && read.inputs.errors.is_empty() {
        if read.inputs.unread.is_empty() {
            writeln!(io::stderr(), "nothing to check: no Dockerfile and no image description was found")?;
        } else {
            writeln!(io::stderr(), "nothing to check: no Dockerfile reads {}", read.inputs.unread.join(", "))?;
        }
    }
    let nowhere = runs_nowhere(&read.inputs.subjects, &read.fleet)?;
    let tell = if options.show_files { output::judge_and_list } else { output::judge_and_print };
    let errors = std::mem::take(&mut read.inputs.errors);
    let exit = tell(read.run(options, knowledge), errors)?;
    // As with a Dockerfile that has no GPU content, all is well with a list that no image is built from.
    let unread = &read.inputs.unread;
    let lists = !unread.is_empty() && unread.iter().all(|name| is_named_list(name));
    Ok(match exit {
        Exit::Nothing if lists => Exit::Clean,
        Exit::Clean if nowhere => Exit::Nothing,
        exit => exit,
    })
}

impl Read {
    fn run<'a>(&'a self, options: &'a CheckArgs, knowledge: Knowledge) -> Run<'a> {
        let (subjects, fleet, sources) = (&self.inputs.subjects, &self.fleet, &self.sources);
        Run { subjects, fleet, options: &options.judging, knowledge, sources }
    }
}

/// Reads the fleet and everything that is to be checked.
fn read(options: &CheckArgs, knowledge: Knowledge) -> Result<Read, Failure> {
    let mut sources = Sources::default();
    let mut paths = options.paths.clone();
    if paths.is_empty() && options.bake.is_empty() && options.compose.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let files = paths.iter().chain(&options.bake).chain(&options.compose);
    let named = options.stdin_filename.iter().filter_map(|path| path.parent());
    let first = files.map(PathBuf::as_path).chain(named).find(|path| path.exists());
    let fleet = fleet::load(&options.judging, first, knowledge, &mut sources)?;
    let build = Build {
        args: &options.build,
        set: &options.set,
        stdin_filename: options.stdin_filename.as_deref(),
        jobs: options.judging.jobs(),
    };
    let mut inputs = Inputs::read(&paths, &build, &mut sources);
    for file in &options.bake {
        inputs.builds(file, Kind::Bake, &build, &mut sources);
    }
    for file in &options.compose {
        inputs.builds(file, Kind::Compose, &build, &mut sources);
    }
    for other in fleet::passed_over(&options.judging, &fleet, &inputs.subjects) {
        let (other, used) = (other.display(), &fleet.name);
        writeln!(io::stderr(), "{other} is not used: the fleet of this run is {used}; check that folder by itself")?;
    }
    let platforms = options.pull.then(|| scan::platforms(&fleet, knowledge));
    let platforms = platforms.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
    known::add(&mut inputs, first, platforms.as_deref(), &build, &mut sources);
    if !fleet.built_in
        && let Some(folder) = Path::new(&fleet.name).parent()
    {
        inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    Ok(Read { sources, fleet, inputs })
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
