//! Runs the program once on many inputs, because the start of a process takes longer than a check.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::case::{Case, write_files};
use crate::support::program::imagelint_program;

/// One input with its arguments.
pub(crate) struct Input {
    /// Unique. The folder of the input has this name.
    pub(crate) id: String,
    pub(crate) file: String,
    pub(crate) text: String,
    /// The other files of its build context.
    pub(crate) files: BTreeMap<String, String>,
    /// The text of a fleet file, or nothing for the built-in fleet.
    pub(crate) fleet: Option<String>,
    pub(crate) arguments: Vec<String>,
}

impl Input {
    /// The input of a case.
    pub(crate) fn new(id: String, case: &Case) -> Self {
        let text = case.text().expect("a case with this expectation contains its text").to_owned();
        let persona = case.persona.iter().map(|persona| ["--persona".to_owned(), persona.clone()]);
        let context = case.context_folder.iter().map(|folder| ["--context".to_owned(), format!("{id}/{folder}")]);
        let arguments = persona.chain(context).flatten().chain(case.arguments()).collect();
        let (file, files) = (case.file_name().to_owned(), case.files.clone());
        Self { id, file, text, files, fleet: case.fleet.clone(), arguments }
    }
}

/// A fleet and arguments.
type Options<'i> = (Option<&'i str>, &'i [String]);

/// The subjects of the report on each input, by the ID of the input. Inputs with the same fleet and arguments share a run.
pub(crate) fn subjects(inputs: &[Input]) -> BTreeMap<String, Vec<Value>> {
    let mut runs: BTreeMap<Options<'_>, Vec<&Input>> = BTreeMap::new();
    for input in inputs {
        runs.entry((input.fleet.as_deref(), &input.arguments)).or_default().push(input);
    }
    let runs: Vec<_> = runs.into_iter().collect();
    let (next, all) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((options, inputs)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = run(*options, inputs);
                    let mut all = all.lock().expect("no panic");
                    for (id, subject) in found {
                        all.entry(id).or_insert_with(Vec::new).push(subject);
                    }
                }
            });
        }
    });
    let all = all.into_inner().expect("no panic");
    let missing: Vec<&str> = inputs.iter().map(|input| input.id.as_str()).filter(|id| !all.contains_key(*id)).collect();
    assert!(missing.is_empty(), "not judged: {missing:?}");
    all
}

/// The subjects of one report, each with the ID of its input.
fn run((fleet, arguments): Options<'_>, inputs: &[&Input]) -> Vec<(String, Value)> {
    let folder = TempDir::new().expect("temporary folder");
    let mut command = Command::new(imagelint_program());
    command.current_dir(folder.path()).args(["check", "--format", "json", "--fail-on", "never"]).args(arguments);
    if let Some(fleet) = fleet {
        fs::write(folder.path().join("fleet.toml"), fleet).expect("written");
        command.args(["--fleet", "fleet.toml"]);
    }
    for input in inputs {
        let path = folder.path().join(&input.id);
        write_files(&path, &input.files);
        fs::write(path.join(&input.file), &input.text).expect("written");
        command.arg(format!("{}/{}", input.id, input.file));
    }
    let output = command.output().expect("runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(0), "{}", report["errors"]);
    let id =
        |subject: &Value| subject["name"].as_str().and_then(|name| name.split_once('/')).map(|(id, _)| id.to_owned());
    let subjects = report["subjects"].as_array().expect("subjects");
    subjects.iter().map(|subject| (id(subject).expect("a name"), subject.clone())).collect()
}
