//! Where people meet the program: the hooks, the action of pull requests, the pipeline examples, completions and
//! manual pages, pipes that close early.

use crate::support::test_repository;
mod action;
mod commands;
mod dependencies;
mod install_script;
mod pipelines;
mod readme;
mod release;
mod releases;
mod runner;

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Is refused on every pool.
const REFUSED: &str = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nENV NVIDIA_REQUIRE_CUDA=\"cuda>=99.0\"\n";

/// A file of the repository.
fn own(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

/// A file of the repository that is YAML.
fn own_yaml(path: &str) -> Value {
    serde_saphyr::from_str(&own(path)).expect(path)
}
