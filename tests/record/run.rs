//! Runs the program on every case.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::canonical;
use crate::case::write_files;
use crate::cases::{Case, Folder};
use crate::compare::Record;

/// The record of all cases.
pub(crate) fn record(cases: &[Case], program: &Path) -> Result<Record, Box<dyn Error>> {
    let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let said =
                        recorded_output(case, &program).unwrap_or_else(|error| json!({"not run": error.to_string()}));
                    done.lock().expect("no panic").push((case.name.clone(), said));
                }
            });
        }
    });
    Record::of(done.into_inner().expect("no panic"))
}

fn recorded_output(case: &Case, program: &Path) -> Result<Value, Box<dyn Error>> {
    let own = TempDir::new()?;
    // Next to it, so that the fleet is no file of the input's folder.
    let fleet = TempDir::new()?;
    fs::write(fleet.path().join("fleet.toml"), &case.fleet)?;
    let folder = match &case.folder {
        Folder::New(text, files) => {
            write_files(own.path(), files);
            fs::write(own.path().join(&case.input), text)?;
            own.path()
        }
        Folder::Existing(folder) => folder,
    };
    let mut command = Command::new(program);
    command.current_dir(folder).args(["check", &case.input, "--format", "json", "--show-fixes", "--fleet"]);
    command.arg(fleet.path().join("fleet.toml")).args(&case.arguments);
    command.env("XDG_CACHE_HOME", own.path().join("cache")).env("NO_COLOR", "1").env_remove("GITHUB_ACTIONS");
    let output = command.output()?;
    let hidden = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let text = text.replace(&format!("{}/", fleet.path().display()), "");
        let text = text.replace(&format!("{}/", own.path().display()), "");
        if case.strangers { canonical::without_hosts(&text) } else { text }
    };
    let report: Value = match serde_json::from_str(&hidden(&output.stdout)) {
        Ok(report) => report,
        Err(_) => return Ok(json!({"exit": output.status.code(), "error": hidden(&output.stderr)})),
    };
    Ok(canonical::report(&report, output.status.code()))
}
