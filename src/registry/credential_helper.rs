//! Credential helpers: programs run as `docker-credential-NAME get`.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Pid;
#[cfg(unix)]
use rustix::process::Signal;
#[cfg(unix)]
use rustix::process::kill_process_group;
use serde::Deserialize;

use crate::registry::pull_error::one_line;
use crate::registry::registry_credentials::RegistryCredentials;

/// Maximum number of bytes that are read from a helper's output.
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

/// The credentials in a helper's output.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperOutput {
    username: String,
    secret: String,
}

/// Runs a credential helper for a registry; returns `None` if it has no credentials.
pub(crate) fn get_credentials(
    name: &str,
    server: &str,
    path: Option<&OsStr>,
    patience: Duration,
) -> Result<Option<RegistryCredentials>, String> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
        return Err("the name of the credential helper is invalid".into());
    }
    let program = format!("docker-credential-{name}");
    let file = find_program(&program, path).ok_or_else(|| format!("{program} is not in PATH"))?;
    let mut command = Command::new(file);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    // A group of its own, so that what the helper starts ends with it.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let running = RunningHelper::register(&child);
    let outcome = exchange(&mut child, server, patience);
    if outcome.is_err() {
        // It is not waited for yet, so that its number is its own.
        end(running.0);
    }
    drop(running);
    let _ = child.kill();
    let _ = child.wait();
    let (success, output) = outcome.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output);
    if !success {
        if text.contains("credentials not found") {
            return Ok(None);
        }
        return Err(format!("{program} failed: {}", one_line(&text, 120)));
    }
    let found: HelperOutput = serde_json::from_slice(&output).map_err(|_| format!("{program}: invalid output"))?;
    Ok(RegistryCredentials::from_pair(&found.username, &found.secret))
}

/// The process groups of the running helpers.
static RUNNING_HELPERS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A running helper, registered until it is dropped.
struct RunningHelper(u32);

impl RunningHelper {
    /// Registers a child process as a running helper.
    fn register(child: &Child) -> Self {
        RUNNING_HELPERS.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        Self(child.id())
    }
}

impl Drop for RunningHelper {
    fn drop(&mut self) {
        RUNNING_HELPERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|own| *own != self.0);
    }
}

/// Kills every running helper, with the processes that it started.
pub fn kill_running_helpers() {
    RUNNING_HELPERS.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(end);
}

/// Kills a process group.
#[cfg(unix)]
fn end(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end(_group: u32) {}

/// Writes the server's name to the helper, and waits for its output and its exit.
fn exchange(child: &mut Child, server: &str, patience: Duration) -> Result<(bool, Vec<u8>), String> {
    let deadline = Instant::now() + patience;
    let late = || format!("no output within {} s", patience.as_secs());
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input fails by its output, not here.
        let _ = stdin.write_all(server.as_bytes());
    }
    let stdout = child.stdout.take().ok_or("no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = Vec::new();
        let outcome = stdout.take(MAX_OUTPUT_BYTES).read_to_end(&mut output).map(|_| output);
        let _ = sender.send(outcome);
    });
    let output = receiver.recv_timeout(patience).map_err(|_| late())?.map_err(|error| error.to_string())?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((status.success(), output));
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Finds a program in the absolute directories of `PATH`.
fn find_program(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|file| file.is_file())
}
