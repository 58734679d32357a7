//! Runs the program once on many inputs, because the start of a process takes longer than a check.

use std::collections::BTreeMap;
use std::fs;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::case::Case;
use crate::support::program::imagelint_program;

/// One input with its arguments.
pub(crate) struct Input {
    /// Unique. The folder of the input has this name.
    pub(crate) id: String,
    pub(crate) file: String,
    pub(crate) text: String,
    /// The text of a fleet file, or nothing for the built-in fleet.
    pub(crate) fleet: Option<String>,
    pub(crate) arguments: Vec<String>,
}

impl Input {
    /// The input of a case.
    pub(crate) fn new(id: String, case: &Case) -> Self {
        let text = case.text().expect("a case with findings or a rule contains its text").to_owned();
        let options = [("--persona", &case.persona), ("--as-of", &case.as_of)].into_iter();
        let options = options.filter_map(|(option, value)| Some((option, value.as_ref()?)));
        let pools = case.pools.iter().map(|pool| ("--pool", pool));
        let arguments = options.chain(pools).flat_map(|(option, value)| [option.to_owned(), value.clone()]).collect();
        Self { id, file: case.file_name().to_owned(), text, fleet: case.fleet.clone(), arguments }
    }
}

/// The subjects of the report on each input, by the ID of the input. Inputs with the same fleet and arguments share a run.
pub(crate) fn subjects(inputs: &[Input]) -> BTreeMap<String, Vec<Value>> {
    let mut runs: BTreeMap<(Option<&str>, &[String]), Vec<&Input>> = BTreeMap::new();
    for input in inputs {
        runs.entry((input.fleet.as_deref(), &input.arguments)).or_default().push(input);
    }
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for ((fleet, arguments), inputs) in runs {
        let folder = TempDir::new().expect("temporary folder");
        let mut command = Command::new(imagelint_program());
        command.current_dir(folder.path()).args(["check", "--format", "json", "--fail-on", "never"]).args(arguments);
        if let Some(fleet) = fleet {
            fs::write(folder.path().join("fleet.toml"), fleet).expect("written");
            command.args(["--fleet", "fleet.toml"]);
        }
        for input in inputs {
            let path = folder.path().join(&input.id);
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join(&input.file), &input.text).expect("written");
            command.arg(format!("{}/{}", input.id, input.file));
        }
        let output = command.output().expect("runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(report["errors"].as_array().map(Vec::len), Some(0), "{}", report["errors"]);
        for subject in report["subjects"].as_array().expect("subjects") {
            let (id, _) = subject["name"].as_str().and_then(|name| name.split_once('/')).expect("a name");
            all.entry(id.to_owned()).or_default().push(subject.clone());
        }
    }
    let missing: Vec<&str> = inputs.iter().map(|input| input.id.as_str()).filter(|id| !all.contains_key(*id)).collect();
    assert!(missing.is_empty(), "not judged: {missing:?}");
    all
}
