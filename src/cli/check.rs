//! `imagelint check`: files, offline.

use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::args::CheckArgs;
use crate::cli::builds::Kind;
use crate::cli::built;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::readers::is_named_list;
use crate::cli::scan;
use crate::cli::workloads;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Puller;
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
    built::agree(&options.built, &inputs)?;
    let platforms = scan::platforms(&fleet, knowledge);
    let named: Vec<String> = platforms.iter().map(ToString::to_string).collect();
    let wanted = if options.pull { pull::wanted(&inputs, &named) } else { Wanted::default() };
    let puller = if options.pull || !options.built.is_empty() { Some(puller(options, &wanted)?) } else { None };
    let pulling = puller.as_ref().filter(|_| options.pull).map(|puller| (&wanted, puller));
    known::add(&mut inputs, first, pulling, &build, &mut sources);
    if !fleet.built_in
        && let Some(folder) = Path::new(&fleet.name).parent()
    {
        inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    if inputs.subjects.is_empty() && inputs.errors.is_empty() {
        if inputs.unread.is_empty() {
            writeln!(io::stderr(), "nothing to check: no Dockerfile and no image description was found")?;
        } else {
            writeln!(io::stderr(), "nothing to check: no Dockerfile reads {}", inputs.unread.join(", "))?;
        }
    }
    let nowhere = runs_nowhere(&inputs.subjects, &fleet)?;
    let errors: Vec<_> = inputs.subjects.iter().filter_map(|subject| workloads::unplaced(subject, &fleet)).collect();
    inputs.subjects.retain(|subject| workloads::unplaced(subject, &fleet).is_none());
    inputs.errors.extend(errors);
    if let Some(puller) = puller.as_ref().filter(|_| !options.built.is_empty()) {
        built::put(&mut inputs, options, &platforms, puller);
    }
    let tell = if options.show_files { output::judge_and_list } else { output::judge_and_print };
    let options = &options.judging;
    let run = Run { subjects: &inputs.subjects, fleet: &fleet, options, knowledge, sources: &sources };
    let exit = tell(run, inputs.errors)?;
    // As with a Dockerfile that has no GPU content, all is well with a list that no image is built from.
    let lists = !inputs.unread.is_empty() && inputs.unread.iter().all(|name| is_named_list(name));
    Ok(match exit {
        Exit::Nothing if lists => Exit::Clean,
        Exit::Clean if nowhere => Exit::Nothing,
        exit => exit,
    })
}

/// Who reads bases and built images.
fn puller(options: &CheckArgs, wanted: &Wanted) -> Result<Puller, Failure> {
    if options.access.password_stdin && options.paths.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::Said(access::BOTH.to_owned()));
    }
    let mut registries = access::registries(options.built.iter().map(String::as_str));
    registries.extend(pull::registries(wanted));
    access::puller(&options.access, &registries, !options.build.no_cache)
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
