//! `imagelint fleet init`: a first fleet file, from the machine, from a cluster, or as an example.

use std::fs;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use crate::cli::Failure;
use crate::cli::args::FleetInitArgs;
use crate::cli::exit::Exit;
use crate::cli::fleet;
use crate::cli::render;
use crate::cli::streams;
use crate::inventory;
use crate::inventory::InventoryError;
use crate::knowledge::Knowledge;
use crate::source::SourceText;
use crate::source::Sources;

/// A program that does not answer within this time is ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file that other commands find by themselves.
const NEAREST: &str = "fleet.toml";

/// The file if neither a machine nor a cluster describes the pools.
const EXAMPLE: &str = include_str!("fleet_init.toml");

/// Runs it.
pub(crate) fn run(options: &FleetInitArgs, knowledge: Knowledge) -> Result<Exit, Failure> {
    let shown = options.path.display();
    if options.path.is_dir() {
        let inside = options.path.join("fleet.toml");
        let help = format!("help: imagelint fleet init {}", inside.display());
        return Err(Failure::Said(format!("error: {shown} is a directory\n{help}")));
    }
    if !options.force && options.path.exists() {
        return Err(Failure::Said(format!("error: {shown} exists\nhelp: pass another path, or --force to replace it")));
    }
    let (text, from) = if options.from_cluster {
        let nodes = output("kubectl", &["get", "nodes", "-o", "json"])
            .and_then(|text| of_tool("kubectl get nodes", &text, knowledge));
        let text = nodes.map_err(|why| {
            Failure::Said(format!("error: {why}\nhelp: check `kubectl config current-context`, or omit --from-cluster"))
        })?;
        (text, "the nodes of the cluster")
    } else {
        match output("nvidia-smi", &["-q", "-x"]).and_then(|text| of_tool("nvidia-smi", &text, knowledge)) {
            Ok(text) => (text, "the GPUs of this machine (nvidia-smi)"),
            Err(why) => {
                writeln!(streams::err(), "note: {why}; the file contains three example pools")?;
                (EXAMPLE.to_owned(), "three example pools; replace them with yours")
            }
        }
    };
    // What is written can be read back, or nothing is written.
    let written = SourceText::new(shown.to_string(), text.as_str());
    let source = Sources::default().add(written.clone());
    fleet::of_text(&written, source, knowledge).map_err(|errors| Failure::Said(render(errors.as_ref())))?;
    fs::write(&options.path, &text)
        .map_err(|error| Failure::Said(format!("error: cannot write {shown}: {error}\nhelp: pass another path")))?;
    let mut out = streams::out();
    writeln!(out, "wrote {shown}: {from}")?;
    let nearest = options.path == Path::new(NEAREST);
    let check = if nearest { "imagelint check".to_owned() } else { format!("imagelint check --fleet {shown}") };
    // Without the launch method, most verdicts are open.
    if text.lines().any(|line| line.starts_with("# ? launch ")) {
        writeln!(out, "next: set launch in {shown} (docker-gpus, kubernetes, ...), then {check}")?;
    } else {
        writeln!(out, "next: {check}")?;
    }
    Ok(Exit::Clean)
}

/// The pools in the output of a tool; an error is one sentence.
fn of_tool(tool: &str, text: &str, knowledge: Knowledge) -> Result<String, String> {
    let found = inventory::read(tool, text, knowledge).map_err(|error| match error {
        InventoryError::Unknown => format!("{tool}: unexpected output"),
        error => format!("{tool}: {error}"),
    })?;
    let found = found.with_types(knowledge);
    if found.machines.is_empty() {
        return Err(format!("{tool} lists no NVIDIA GPU"));
    }
    Ok(inventory::to_toml("fleet init", &inventory::drafts(&found), &found, &[tool.to_owned()], false, knowledge))
}

/// What a program prints, within [`PATIENCE`] and the longest inventory.
fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
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
        let read = pipe.map(|pipe| pipe.take(inventory::LONGEST as u64).read_to_end(&mut text));
        drop(read);
        drop(sender.send(text));
    });
    let begin = Instant::now();
    let text = receiver.recv_timeout(PATIENCE);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if text.is_ok() && begin.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => break None,
        }
    };
    let Some(status) = status else {
        drop(child.kill());
        drop(child.wait());
        return Err(format!("{program} did not answer within {} s", PATIENCE.as_secs()));
    };
    match text {
        Ok(text) if status.success() => {
            String::from_utf8(text).map_err(|_| format!("{program} prints no text in UTF-8"))
        }
        _ => Err(format!("{program} failed ({status})")),
    }
}
