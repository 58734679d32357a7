//! A runner for composite actions, as far as `action.yml` goes: expressions that are paths, comparisons and `&&`; steps
//! that run bash; steps of other actions are written down, and fail if a test says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What an event and a workflow set, and what steps put out: `inputs.fleet`, `steps.check.outputs.sarif`.
pub(crate) type Context = BTreeMap<String, String>;

/// A run of an action.
pub(crate) struct Done {
    /// Ids of the steps that ran.
    pub(crate) ran: Vec<String>,
    /// Other actions, with what they are given.
    pub(crate) used: Vec<(String, Context)>,
    /// What is known after the last step.
    pub(crate) context: Context,
    /// Everything that steps printed.
    pub(crate) text: String,
    /// Whether a step failed.
    pub(crate) failed: bool,
}

/// Where it runs.
pub(crate) struct Runner<'a> {
    /// The checkout that the workflow works on.
    pub(crate) workspace: &'a Path,
    /// A folder for temporary files, outside of it.
    pub(crate) temporary: &'a Path,
    /// The checkout of the action.
    pub(crate) action: &'a Path,
    /// Programs in front of those of the system.
    pub(crate) programs: &'a Path,
    /// What the workflow sets in `env`.
    pub(crate) environment: &'a Context,
    /// Beginnings of the names of other actions that fail.
    pub(crate) failing: &'a [&'a str],
}

impl Runner<'_> {
    /// Runs the action as a workflow would that gives it these inputs.
    pub(crate) fn run(&self, action: &Value, mut context: Context) -> Done {
        for (name, input) in action["inputs"].as_object().expect("inputs") {
            let default = value_of(input["default"].as_str().unwrap_or_default(), &context);
            context.entry(format!("inputs.{name}")).or_insert(default);
        }
        let mut done = Done { ran: vec![], used: vec![], context, text: String::new(), failed: false };
        for step in action["runs"]["steps"].as_array().expect("steps") {
            let condition = step["if"].as_str().unwrap_or("true");
            let always = condition.contains("always()");
            if (done.failed && !always) || !holds(condition, &done.context) {
                continue;
            }
            let id = step["id"].as_str().unwrap_or_default();
            done.ran.push(id.to_owned());
            let succeeded = if let Some(other) = step["uses"].as_str() {
                done.used.push((other.to_owned(), values(&step["with"], &done.context)));
                !self.failing.iter().any(|failing| other.starts_with(failing))
            } else {
                self.step(step, id, &mut done)
            };
            let outcome = if succeeded { "success" } else { "failure" };
            done.context.insert(format!("steps.{id}.outcome"), outcome.to_owned());
            done.failed |= !succeeded && step["continue-on-error"] != true;
        }
        done
    }

    /// Runs a script, and returns whether it succeeded.
    fn step(&self, step: &Value, id: &str, done: &mut Done) -> bool {
        let (script, output) = (self.temporary.join("step.sh"), self.temporary.join("output"));
        fs::write(&script, step["run"].as_str().expect("a script")).expect("a script");
        fs::write(&output, "").expect("an empty file");
        let folder = value_of(step["working-directory"].as_str().unwrap_or("."), &done.context);
        let path = std::env::join_paths(
            [PathBuf::from(self.programs)]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").expect("a path"))),
        );
        let ran = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&script)
            .current_dir(self.workspace.join(folder))
            .env_clear()
            .env("PATH", path.expect("a path"))
            .env("HOME", self.temporary)
            .env("RUNNER_TEMP", self.temporary)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_WORKSPACE", self.workspace)
            .env("GITHUB_REPOSITORY", "team/models")
            .env("GITHUB_ACTION_PATH", self.action)
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_STEP_SUMMARY", self.temporary.join("summary.md"))
            .envs(self.environment)
            .envs(values(&step["env"], &done.context))
            .output()
            .expect("bash");
        done.text += &String::from_utf8_lossy(&ran.stdout);
        done.text += &String::from_utf8_lossy(&ran.stderr);
        for line in fs::read_to_string(&output).expect("outputs").lines() {
            let (name, value) = line.split_once('=').expect("name=value");
            done.context.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        ran.status.success()
    }
}

fn values(map: &Value, context: &Context) -> Context {
    let pairs = map.as_object().into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), value_of(value.as_str().expect("a text"), context))).collect()
}

/// A text with its expressions filled in.
fn value_of(text: &str, context: &Context) -> String {
    let mut parts = text.split("${{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once("}}").expect("a closed expression");
        out += &term(path, context);
        out += rest;
    }
    out
}

fn holds(condition: &str, context: &Context) -> bool {
    condition.split("&&").map(str::trim).all(|part| {
        if let Some((left, right)) = part.split_once("==") {
            term(left, context) == term(right, context)
        } else if let Some((left, right)) = part.split_once("!=") {
            term(left, context) != term(right, context)
        } else {
            matches!(part, "always()" | "true") || !term(part, context).is_empty()
        }
    })
}

/// A text in quotes, or what is known by that path; nothing where it is not set.
fn term(text: &str, context: &Context) -> String {
    let text = text.trim();
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted.trim_end_matches('\'').to_owned();
    }
    assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)), "beyond this runner: {text}");
    context.get(text).cloned().unwrap_or_default()
}

#[test]
fn expressions_are_followed() {
    let context = Context::from([("inputs.a".to_owned(), "x".to_owned())]);
    assert_eq!(value_of("${{ inputs.a }}-${{ inputs.b }}.", &context), "x-.");
    for (condition, expected) in [
        ("inputs.a == 'x'", true),
        ("inputs.a == 'y'", false),
        ("inputs.b == ''", true),
        ("always() && inputs.a != ''", true),
        ("always() && inputs.b", false),
        ("inputs.a && inputs.a != 'x'", false),
    ] {
        assert_eq!(holds(condition, &context), expected, "{condition}");
    }
}
