//! Programs that keep credentials: `docker-credential-NAME get`.

use std::ffi::OsStr;
use std::io::Read as _;
use std::io::Write as _;
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

#[cfg(unix)]
use rustix::process::Pid;
#[cfg(unix)]
use rustix::process::Signal;
#[cfg(unix)]
use rustix::process::kill_process_group;
use serde::Deserialize;

use crate::oci::credentials::Credentials;
use crate::oci::error::one_line;

/// The most that is read of what a helper says.
const MOST: u64 = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    username: String,
    secret: String,
}

/// Asks a helper for a registry; no credentials is no error.
pub(crate) fn ask(
    name: &str,
    server: &str,
    path: Option<&OsStr>,
    patience: Duration,
) -> Result<Option<Credentials>, String> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
        return Err("the name of the credential helper is invalid".into());
    }
    let program = format!("docker-credential-{name}");
    let file = find(&program, path).ok_or_else(|| format!("{program} is not in PATH"))?;
    let mut command = Command::new(file);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    // A group of its own, so that what the helper starts ends with it.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let running = Running::of(&child);
    let outcome = talk(&mut child, server, patience);
    if outcome.is_err() {
        // It is not waited for yet, so that its number is its own.
        end(running.0);
    }
    drop(running);
    let _ = child.kill();
    let _ = child.wait();
    let (success, said) = outcome.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&said);
    if !success {
        if text.contains("credentials not found") {
            return Ok(None);
        }
        return Err(format!("{program} failed: {}", one_line(&text, 120)));
    }
    let found: Found = serde_json::from_slice(&said).map_err(|_| format!("{program}: invalid output"))?;
    Ok(Credentials::from_pair(&found.username, &found.secret))
}

/// The groups of the helpers that run.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A helper that runs, listed as long.
struct Running(u32);

impl Running {
    fn of(child: &Child) -> Self {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        Self(child.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|own| *own != self.0);
    }
}

/// Ends every helper that runs, with what it started.
pub fn end_all() {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(end);
}

#[cfg(unix)]
fn end(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end(_group: u32) {}

/// Hands over the server's name and waits for the answer and the end.
fn talk(child: &mut Child, server: &str, patience: Duration) -> Result<(bool, Vec<u8>), String> {
    let deadline = Instant::now() + patience;
    let late = || format!("no output within {} s", patience.as_secs());
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input fails by what it says, not here.
        let _ = stdin.write_all(server.as_bytes());
    }
    let stdout = child.stdout.take().ok_or("no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let outcome = stdout.take(MOST).read_to_end(&mut said).map(|_| said);
        let _ = sender.send(outcome);
    });
    let said = receiver.recv_timeout(patience).map_err(|_| late())?.map_err(|error| error.to_string())?;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((status.success(), said));
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn find(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|file| file.is_file())
}
