//! `imagelint check`: checks files offline.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::cli::args::{CheckArgs, JudgingArgs};
use crate::cli::command_inputs::{CommandInputs, InputOptions};
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::judging::JudgingRun;
use crate::cli::pull::BaseImageRequests;
use crate::cli::referencing_dockerfiles::has_list_name;
use crate::cli::settings::{LoadedSettings, RunSettings};
use crate::cli::text_file::{MAX_TEXT_BYTES, read_text};
use crate::cli::{
    base_images, built_images, fix, fleet_file, judging, pull, registry_access, scan, services_without_gpu, settings,
    streams,
};
use crate::fleet::Fleet;
use crate::judge::{AnalysisSubject, SubjectContent};
use crate::knowledge::Knowledge;
use crate::registry::Puller;
use crate::report::escape::escape_one_line;
use crate::text::source::Sources;

/// Settings, fleet and inputs of one check.
struct CheckInputs {
    sources: Sources,
    judging: JudgingArgs,
    loaded: LoadedSettings,
    whole: Vec<PathBuf>,
    fleet: Fleet,
    inputs: CommandInputs,
    /// Messages that are printed in addition to the report.
    messages: Vec<String>,
}

/// Runs `imagelint check`.
pub(crate) fn run(options: &CheckArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    judging::check_report_files(&options.judging)?;
    if options.fixing.has_unused_unsafe_fixes() {
        writeln!(streams::stderr(), "warning: --unsafe-fixes has no effect without --fix or --diff")?;
    }
    let mut read = read_check_inputs(options, knowledge)?;
    if options.fixing.writes_files() && options.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(CommandError::Message(
            "error: --fix cannot write to standard input; use --diff to print the changes".to_owned(),
        ));
    }
    if read.judging.config.show_settings {
        return settings::show_settings(
            &read.loaded,
            &read.judging,
            &options.judging,
            &read.inputs.subjects,
            &read.fleet.name,
            &read.sources,
        );
    }
    if options.fixing.prints_patch() || options.fixing.writes_files() {
        fix::report_uneditable_inputs(&read.inputs.subjects)?;
    }
    if options.fixing.prints_patch() {
        return fix::print_patch(read.as_run(knowledge), &read.inputs.subjects, options);
    }
    for _ in 0..fix::MAX_FIX_ROUNDS {
        if !options.fixing.writes_files() || !fix::write_fixes(read.as_run(knowledge), &read.inputs.subjects, options)?
        {
            break;
        }
        read = read_check_inputs(options, knowledge)?;
    }
    judging::warn_about_empty_rule_folders(&read.judging)?;
    for message in &read.messages {
        writeln!(streams::stderr(), "{message}")?;
    }
    for (name, why) in &read.inputs.skipped {
        if options.show_files {
            writeln!(streams::stdout(), "{}: skipped: {why}", escape_one_line(name))?;
        } else {
            writeln!(streams::stderr(), "{} is skipped: {why}", escape_one_line(name))?;
        }
    }
    report_nothing_to_check(options, &read.inputs)?;
    let nowhere = report_unassigned_dockerfiles(&read.inputs.subjects, &read.fleet)?;
    let tell = if options.show_files { judging::judge_and_list } else { judging::judge_and_print };
    let (subjects, errors) = (std::mem::take(&mut read.inputs.subjects), std::mem::take(&mut read.inputs.errors));
    let exit = tell(read.as_run(knowledge), subjects, errors)?;
    // As with a Dockerfile that has no GPU content, all is well with a list that no image is built from.
    let unread = &read.inputs.unread;
    let lists = !unread.is_empty() && unread.iter().all(|name| has_list_name(name));
    Ok(match exit {
        Exit::Nothing if lists => Exit::Clean,
        Exit::Clean if nowhere => Exit::Nothing,
        exit => exit,
    })
}

impl CheckInputs {
    /// Returns what judging needs of these inputs.
    fn as_run(&self, knowledge: Knowledge) -> JudgingRun<'_> {
        let (fleet, sources) = (&self.fleet, &self.sources);
        let settings = Some(RunSettings { loaded: &self.loaded, whole: &self.whole });
        JudgingRun { fleet, options: &self.judging, knowledge, sources, settings, command: "check" }
    }
}

/// Reads the settings, the fleet and everything that is checked.
fn read_check_inputs(options: &CheckArgs, knowledge: Knowledge) -> Result<CheckInputs, CommandError> {
    let mut sources = Sources::default();
    let mut paths = options.paths.clone();
    if paths.is_empty() && options.bake.is_empty() && options.compose.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let files = paths.iter().chain(&options.bake).chain(&options.compose);
    let named = options.stdin_filename.iter().filter_map(|path| path.parent());
    let first = files.map(PathBuf::as_path).chain(named).find(|path| path.exists());
    let loaded = LoadedSettings::new(&options.judging.config, first, &mut sources)?;
    let judging = loaded.merge_with_options(&options.judging, &sources)?;
    let settings = Mutex::new(loaded);
    let fleet = fleet_file::load_fleet(&judging, first, knowledge, &mut sources)?;
    let build = InputOptions {
        args: &options.build,
        set: &options.set,
        stdin_filename: options.stdin_filename.as_deref(),
        jobs: judging.jobs(),
        settings: &settings,
        knowledge,
    };
    let mut inputs = CommandInputs::read(&paths, &build, &mut sources);
    inputs.read_bake_files(&options.bake, &build, &mut sources);
    inputs.read_compose_files(
        &options.compose,
        &build,
        services_without_gpu::pools_with_nvidia_runtime(&fleet),
        &mut sources,
    );
    let passed = fleet_file::unused_fleet_files(&judging, &fleet, &inputs.subjects).into_iter();
    let mut notes: Vec<String> = passed
        .map(|other| {
            let used = if fleet.built_in { "built-in example pools" } else { &fleet.name };
            let folder = other.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let (other, folder) = (other.display(), folder.display());
            format!("{other} is not used, because this run uses {used}; check separately: imagelint check {folder}")
        })
        .collect();
    settings::assign_to_inputs(&settings, &mut inputs.subjects, &fleet, &mut sources)?;
    let book = judging::custom_rule_book(&judging)?;
    settings::check_names_in_settings(&settings::lock_settings(&settings), book.as_ref(), &fleet, &options.judging)?;
    built_images::check_image_count(&options.built, &inputs)?;
    let platforms = scan::fleet_platforms(&fleet, knowledge);
    let named: Vec<String> = platforms.iter().map(ToString::to_string).collect();
    let requests = if options.pull { pull::base_image_requests(&inputs, &named) } else { BaseImageRequests::default() };
    let puller = if options.pull || !options.built.is_empty() { Some(create_puller(options)?) } else { None };
    let pulling = puller.as_ref().filter(|_| options.pull).map(|puller| (&requests, puller));
    base_images::add_known_bases(&mut inputs, first, pulling, &build, &mut sources);
    if !fleet.built_in
        && let Some(folder) = Path::new(&fleet.name).parent()
    {
        inputs.make_paths_relative_to(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    let loaded = settings.into_inner().unwrap_or_else(PoisonError::into_inner);
    notes.extend(loaded.ignored_key_notes());
    for subject in &mut inputs.subjects {
        scan::note_missing_pool(subject, &fleet, knowledge);
    }
    if let Some(puller) = puller.as_ref().filter(|_| !options.built.is_empty()) {
        built_images::replace_with_built_images(&mut inputs, options, &platforms, puller);
    }
    inputs.skip_services_without_gpu(&named, judging.as_of, knowledge);
    // What is built otherwise than as usual, or was not read, may be what an ignore is for.
    let usual = options.build.target.is_none() && options.build.build_args.is_empty() && inputs.errors.is_empty();
    let whole = if usual { settings::judged_folders(&paths) } else { Vec::new() };
    Ok(CheckInputs { sources, judging, loaded, whole, fleet, inputs, messages: notes })
}

/// Prints a message if there is nothing to check.
fn report_nothing_to_check(options: &CheckArgs, inputs: &CommandInputs) -> Result<(), CommandError> {
    if inputs.subjects.is_empty() && inputs.errors.is_empty() {
        if inputs.unread.is_empty() && !inputs.skipped.is_empty() {
            writeln!(streams::stderr(), "nothing to check: every input is skipped")?;
        } else if inputs.unread.is_empty() {
            let help =
                if options.paths.is_empty() { "; run `imagelint check --help` for supported inputs" } else { "" };
            writeln!(streams::stderr(), "nothing to check: found no Dockerfile and no image description{help}")?;
        } else {
            writeln!(streams::stderr(), "nothing to check: no Dockerfile reads {}", inputs.unread.join(", "))?;
            if let Some(name) = inputs.unread.iter().find(|name| is_workload_file(name)) {
                writeln!(
                    streams::stderr(),
                    "help: for the images that a cluster or a compose file runs: imagelint scan --from-kubernetes \
                     {name}; for the images that a compose file builds: imagelint check --compose {name}"
                )?;
            }
        }
    }
    Ok(())
}

/// Creates the puller that reads base images and built images.
fn create_puller(options: &CheckArgs) -> Result<Puller, CommandError> {
    if options.access.password_stdin && options.paths.iter().any(|path| path == Path::new("-")) {
        return Err(CommandError::Message(registry_access::STDIN_CONFLICT_ERROR.to_owned()));
    }
    let named = registry_access::registry_hosts(options.built.iter().map(String::as_str));
    registry_access::create_puller(&options.access, &named, !options.build.no_cache)
}

/// Prints the Dockerfiles that are assigned to no pool; returns whether there are no other subjects.
fn report_unassigned_dockerfiles(subjects: &[AnalysisSubject], fleet: &Fleet) -> Result<bool, CommandError> {
    let nowhere = |subject: &&AnalysisSubject| {
        matches!(subject.content, SubjectContent::Dockerfile { .. })
            && !fleet.pools.iter().any(|pool| pool.runs_dockerfile(&subject.path))
    };
    let unassigned: Vec<&AnalysisSubject> = subjects.iter().filter(nowhere).collect();
    for subject in &unassigned {
        let (name, path, fleet) = (&subject.name, &subject.path, &fleet.name);
        writeln!(
            streams::stderr(),
            "{name} is assigned to no pool: no `dockerfiles` pattern of {fleet} matches {path}"
        )?;
    }
    Ok(!unassigned.is_empty() && unassigned.len() == subjects.len())
}

/// Whether a file describes what a cluster or a compose file runs, which other flags check.
fn is_workload_file(name: &str) -> bool {
    let begins = |line: &str| ["kind:", "apiVersion:", "services:"].iter().any(|key| line.starts_with(key));
    let yaml = Path::new(name).extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    yaml && read_text(Path::new(name), MAX_TEXT_BYTES).is_ok_and(|text| text.lines().any(begins))
}
