//! A temporary repository for one test, and the program that runs in it.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::program::imagelint_program;

/// Starts on both pools.
pub(crate) const DOCKERFILE: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get install -y python3-pip && pip install torch==2.4.0+cu124\n";

/// An A100 pool `old` and an H100 pool `new`.
pub(crate) const FLEET: &str = r#"[[pool]]
name = "old"
gpu = "A100"
driver = "470.182.03"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.14.3"

[[pool]]
name = "new"
gpu = "H100"
driver = "570.211.01"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;

/// A repository.
pub(crate) struct TestRepository(TempDir);

impl TestRepository {
    /// With a fleet and a Dockerfile that starts on it.
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        repository.file("fleet.toml", FLEET);
        repository.file("Dockerfile", DOCKERFILE);
        repository
    }

    /// With nothing in it.
    pub(crate) fn empty() -> Self {
        let repository = Self(tempfile::tempdir().expect("temporary folder"));
        fs::create_dir(repository.0.path().join(".git")).expect(".git");
        repository
    }

    /// Writes a file and the folders above it.
    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect(name);
    }

    /// The path of a file or folder in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program in this folder, with nothing of the caller's settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(imagelint_program());
        command.current_dir(self.0.path()).args(arguments);
        for variable in [
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR_FORCE",
            "GITHUB_ACTIONS",
            "IMAGELINT_CACHE_DIR",
            "IMAGELINT_CONFIG",
            "IMAGELINT_FLEET",
            "IMAGELINT_KNOWLEDGE",
            "COLUMNS",
        ] {
            command.env_remove(variable);
        }
        command.env("XDG_CACHE_HOME", self.0.path().join(".git/cache"));
        command
    }

    /// Runs it.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("a run")
    }

    /// Runs it with `--format json` and reads what it prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let done = self.command(arguments).args(["--format", "json"]).output().expect("a run");
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", err(&done)))
    }
}

/// The exit code.
pub(crate) fn code(done: &Output) -> i32 {
    done.status.code().expect("an exit code")
}

/// Standard output.
pub(crate) fn out(done: &Output) -> String {
    String::from_utf8(done.stdout.clone()).expect("UTF-8")
}

/// Standard error.
pub(crate) fn err(done: &Output) -> String {
    String::from_utf8(done.stderr.clone()).expect("UTF-8")
}

/// Pool, component, fate and outcome of every verdict of the first subject.
pub(crate) fn fates(report: &Value) -> Vec<String> {
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    let keys = ["pool", "component", "fate", "outcome", "route", "codes"];
    verdicts.map(|verdict| keys.map(|key| verdict[key].to_string()).join(" ")).collect()
}
