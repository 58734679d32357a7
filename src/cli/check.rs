//! `imagelint check`: files, offline.

use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::Failure;
use crate::cli::access;
use crate::cli::args::CheckArgs;
use crate::cli::args::JudgingArgs;
use crate::cli::built;
use crate::cli::exit::Exit;
use crate::cli::fix;
use crate::cli::fleet;
use crate::cli::inputs::Build;
use crate::cli::inputs::Inputs;
use crate::cli::known;
use crate::cli::output;
use crate::cli::output::Run;
use crate::cli::outputs;
use crate::cli::pull;
use crate::cli::pull::Wanted;
use crate::cli::readers::is_named_list;
use crate::cli::scan;
use crate::cli::settings;
use crate::cli::settings::Held;
use crate::cli::settings::Loaded;
use crate::cli::streams;
use crate::cli::texts::MAX_TEXT;
use crate::cli::texts::read_text;
use crate::cli::unrequested;
use crate::cli::workloads;
use crate::fleet::Fleet;
use crate::judge::Content;
use crate::judge::Subject;
use crate::knowledge::Knowledge;
use crate::oci::Puller;
use crate::report::escape::clean;
use crate::source::Sources;

/// What was read for one check.
struct Read {
    sources: Sources,
    judging: JudgingArgs,
    loaded: Loaded,
    whole: Vec<PathBuf>,
    fleet: Fleet,
    inputs: Inputs,
    /// What is told beside the report.
    told: Vec<String>,
}

/// Runs it.
pub(crate) fn run(options: &CheckArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    outputs::agreed(&options.judging)?;
    if options.fixing.is_idle() {
        writeln!(streams::err(), "warning: --unsafe-fixes has no effect without --fix or --diff")?;
    }
    let mut read = read(options, knowledge)?;
    if options.fixing.writes() && options.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Said(
            "error: --fix cannot write to standard input; use --diff to print the changes".to_owned(),
        ));
    }
    if read.judging.config.show_settings {
        return settings::show(
            &read.loaded,
            &read.judging,
            &options.judging,
            &read.inputs.subjects,
            &read.fleet.name,
            &read.sources,
        );
    }
    if options.fixing.prints() || options.fixing.writes() {
        fix::tell_textless(&read.inputs.subjects)?;
    }
    if options.fixing.prints() {
        return fix::print(read.run(knowledge), &read.inputs.subjects, options);
    }
    for _ in 0..fix::ROUNDS {
        if !options.fixing.writes() || !fix::write(read.run(knowledge), &read.inputs.subjects, options)? {
            break;
        }
        read = self::read(options, knowledge)?;
    }
    output::tell_empty_rules(&read.judging)?;
    for told in &read.told {
        writeln!(streams::err(), "{told}")?;
    }
    for (name, why) in &read.inputs.passed {
        if options.show_files {
            writeln!(streams::out(), "{}: skipped: {why}", clean(name))?;
        } else {
            writeln!(streams::err(), "{} is skipped: {why}", clean(name))?;
        }
    }
    nothing(options, &read.inputs)?;
    let nowhere = runs_nowhere(&read.inputs.subjects, &read.fleet)?;
    let tell = if options.show_files { output::judge_and_list } else { output::judge_and_print };
    let (subjects, errors) = (std::mem::take(&mut read.inputs.subjects), std::mem::take(&mut read.inputs.errors));
    let exit = tell(read.run(knowledge), subjects, errors)?;
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
    fn run(&self, knowledge: Knowledge) -> Run<'_> {
        let (fleet, sources) = (&self.fleet, &self.sources);
        let settings = Some(Held { loaded: &self.loaded, whole: &self.whole });
        Run { fleet, options: &self.judging, knowledge, sources, settings, command: "check" }
    }
}

/// Reads settings, the fleet and everything that is to be checked.
fn read(options: &CheckArgs, knowledge: Knowledge) -> Result<Read, Failure> {
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
        knowledge,
    };
    let mut inputs = Inputs::read(&paths, &build, &mut sources);
    inputs.bakes(&options.bake, &build, &mut sources);
    inputs.composes(&options.compose, &build, unrequested::pools(&fleet), &mut sources);
    let passed = fleet::passed_over(&judging, &fleet, &inputs.subjects).into_iter();
    let mut told: Vec<String> = passed
        .map(|other| {
            let used = if fleet.built_in { "built-in example pools" } else { &fleet.name };
            let folder = other.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let (other, folder) = (other.display(), folder.display());
            format!("{other} is not used, because this run uses {used}; check separately: imagelint check {folder}")
        })
        .collect();
    settings::of_inputs(&settings, &mut inputs.subjects, &fleet, &mut sources)?;
    let book = output::own_rules(&judging)?;
    settings::known(&settings::lock(&settings), book.as_ref(), &fleet, &options.judging)?;
    built::agree(&options.built, &inputs)?;
    let platforms = scan::platforms(&fleet, knowledge);
    let named: Vec<String> = platforms.iter().map(ToString::to_string).collect();
    let wanted = if options.pull { pull::wanted(&inputs, &named) } else { Wanted::default() };
    let puller = if options.pull || !options.built.is_empty() { Some(puller(options)?) } else { None };
    let pulling = puller.as_ref().filter(|_| options.pull).map(|puller| (&wanted, puller));
    known::add(&mut inputs, first, pulling, &build, &mut sources);
    if !fleet.built_in
        && let Some(folder) = Path::new(&fleet.name).parent()
    {
        inputs.seen_from(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
    told.extend(loaded.passed_over());
    for subject in &mut inputs.subjects {
        workloads::note_unplaced(subject, &fleet, knowledge);
    }
    if let Some(puller) = puller.as_ref().filter(|_| !options.built.is_empty()) {
        built::put(&mut inputs, options, &platforms, puller);
    }
    inputs.pass_over_unrequested(&named, judging.as_of, knowledge);
    // What is built otherwise than as usual, or was not read, may be what an ignore is for.
    let usual = options.build.target.is_none() && options.build.build_args.is_empty() && inputs.errors.is_empty();
    let whole = if usual { settings::whole(&paths) } else { Vec::new() };
    Ok(Read { sources, judging, loaded, whole, fleet, inputs, told })
}

/// Says so where there is nothing to check.
fn nothing(options: &CheckArgs, inputs: &Inputs) -> Result<(), Failure> {
    if inputs.subjects.is_empty() && inputs.errors.is_empty() {
        if inputs.unread.is_empty() {
            let help =
                if options.paths.is_empty() { "; run `imagelint check --help` for supported inputs" } else { "" };
            writeln!(streams::err(), "nothing to check: found no Dockerfile and no image description{help}")?;
        } else {
            writeln!(streams::err(), "nothing to check: no Dockerfile reads {}", inputs.unread.join(", "))?;
            if let Some(name) = inputs.unread.iter().find(|name| is_run(name)) {
                writeln!(
                    streams::err(),
                    "help: for the images that a cluster or a compose file runs: imagelint scan --from-kubernetes \
                     {name}; for the images that a compose file builds: imagelint check --compose {name}"
                )?;
            }
        }
    }
    Ok(())
}

/// Who reads bases and built images.
fn puller(options: &CheckArgs) -> Result<Puller, Failure> {
    if options.access.password_stdin && options.paths.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::Said(access::BOTH.to_owned()));
    }
    let named = access::registries(options.built.iter().map(String::as_str));
    access::puller(&options.access, &named, !options.build.no_cache)
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
        writeln!(streams::err(), "{name} is assigned to no pool: no `dockerfiles` pattern of {fleet} matches {path}")?;
    }
    Ok(!told.is_empty() && told.len() == subjects.len())
}

/// Whether a file says what a cluster or a compose file runs, which another command judges.
fn is_run(name: &str) -> bool {
    let begins = |line: &str| ["kind:", "apiVersion:", "services:"].iter().any(|key| line.starts_with(key));
    let yaml = Path::new(name).extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    yaml && read_text(Path::new(name), MAX_TEXT).is_ok_and(|text| text.lines().any(begins))
}
