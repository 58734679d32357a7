//! `imagelint fleet init`: creates a first fleet file from this machine, a cluster or an example.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::cli::args::FleetInitArgs;
use crate::cli::error::{CommandError, render_diagnostic};
use crate::cli::exit::Exit;
use crate::cli::{fleet_file, streams};
use crate::fleet::inventory;
use crate::fleet::inventory::InventoryError;
use crate::knowledge::Knowledge;
use crate::text::source::{SourceText, Sources};

/// Time after which a program that does not answer is killed.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// Name of the fleet file that other commands find by themselves.
const DEFAULT_FLEET_FILE: &str = "fleet.toml";

/// Fleet file that is written if neither a machine nor a cluster describes the pools.
const EXAMPLE_FLEET: &str = include_str!("fleet_init.toml");

/// Runs `imagelint fleet init`.
pub(crate) fn run(options: &FleetInitArgs, knowledge: Knowledge) -> Result<Exit, CommandError> {
    let shown = options.path.display();
    if options.path.is_dir() {
        let inside = options.path.join("fleet.toml");
        let help = format!("help: imagelint fleet init {}", inside.display());
        return Err(CommandError::Message(format!("error: {shown} is a directory\n{help}")));
    }
    if !options.force && options.path.exists() {
        return Err(CommandError::Message(format!(
            "error: {shown} exists\nhelp: pass another path, or --force to replace it"
        )));
    }
    let (text, from) = if options.from_cluster {
        let nodes = program_output("kubectl", &["get", "nodes", "-o", "json"])
            .and_then(|text| fleet_from_tool_output("kubectl get nodes", &text, knowledge));
        let text = nodes.map_err(|why| {
            CommandError::Message(format!(
                "error: {why}\nhelp: check `kubectl config current-context`, or omit --from-cluster"
            ))
        })?;
        (text, "the nodes of the cluster")
    } else {
        match program_output("nvidia-smi", &["-q", "-x"])
            .and_then(|text| fleet_from_tool_output("nvidia-smi", &text, knowledge))
        {
            Ok(text) => (text, "the GPUs of this machine (nvidia-smi)"),
            Err(why) => {
                writeln!(streams::stderr(), "note: {why}; the file contains three example pools")?;
                (EXAMPLE_FLEET.to_owned(), "three example pools; replace them with yours")
            }
        }
    };
    // What is written can be read back, or nothing is written.
    let written = SourceText::new(shown.to_string(), text.as_str());
    let source = Sources::default().add(written.clone());
    fleet_file::parse_fleet(&written, source, knowledge)
        .map_err(|errors| CommandError::Message(render_diagnostic(errors.as_ref())))?;
    fs::write(&options.path, &text).map_err(|error| {
        CommandError::Message(format!("error: cannot write {shown}: {error}\nhelp: pass another path"))
    })?;
    let mut out = streams::stdout();
    writeln!(out, "wrote {shown}: {from}")?;
    let nearest = options.path == Path::new(DEFAULT_FLEET_FILE);
    let check = if nearest { "imagelint check".to_owned() } else { format!("imagelint check --fleet {shown}") };
    // Without the launch method, most verdicts are open.
    if text.lines().any(|line| line.starts_with("# ? launch ")) {
        writeln!(out, "next: set launch in {shown} (docker-gpus, kubernetes, ...), then {check}")?;
    } else {
        writeln!(out, "next: {check}")?;
    }
    Ok(Exit::Clean)
}

/// Returns the fleet file for the output of a tool; the error is one sentence.
fn fleet_from_tool_output(tool: &str, text: &str, knowledge: Knowledge) -> Result<String, String> {
    let found = inventory::read_inventory(tool, text, knowledge).map_err(|error| match error {
        InventoryError::Unknown => format!("{tool}: unexpected output"),
        error => format!("{tool}: {error}"),
    })?;
    let found = found.with_instance_type_gpus(knowledge);
    if found.machines.is_empty() {
        return Err(format!("{tool} lists no NVIDIA GPU"));
    }
    Ok(inventory::fleet_file_toml(
        "fleet init",
        &inventory::draft_pools(&found),
        &found,
        &[tool.to_owned()],
        false,
        knowledge,
    ))
}

/// Returns the output of a program, within `PROGRAM_TIMEOUT` and the maximum size of an inventory.
fn program_output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{program} is not installed"),
        _ => format!("cannot run {program}: {error}"),
    })?;
    let pipe = child.stdout.take();
    // A thread reads, because a full pipe would block the program. It ends with the pipe.
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = pipe.map(|pipe| pipe.take(inventory::MAX_FILE_SIZE as u64).read_to_end(&mut text));
        drop(read);
        drop(sender.send(text));
    });
    let begin = Instant::now();
    let text = receiver.recv_timeout(PROGRAM_TIMEOUT);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if text.is_ok() && begin.elapsed() < PROGRAM_TIMEOUT => thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => break None,
        }
    };
    let Some(status) = status else {
        drop(child.kill());
        drop(child.wait());
        return Err(format!("{program} did not answer within {} s", PROGRAM_TIMEOUT.as_secs()));
    };
    match text {
        Ok(text) if status.success() => {
            String::from_utf8(text).map_err(|_| format!("{program} prints no text in UTF-8"))
        }
        _ => Err(format!("{program} failed ({status})")),
    }
}
