//! What a pull may use: limits of time and size, and the parts of the environment it looks at.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::oci::keep::Keep;

/// Settings of a pull.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where credentials may be; empty means anonymous.
    pub environment: Environment,
    /// Sizes, times and tries.
    pub limits: Limits,
    /// What keeps manifests and configurations between runs, where something does.
    pub keep: Option<Arc<dyn Keep>>,
    /// What was asked for beside the environment.
    pub access: Access,
}

/// How registries may be spoken to, as asked for.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A user name and password for one registry, before any that is stored.
    pub login: Option<Login>,
    /// Certificates to trust beside those of the system.
    pub roots: Vec<Root>,
    /// Hosts with their ports that are spoken to in plain HTTP.
    pub plain_http: Vec<String>,
}

/// A user name and password for one registry, shown to no other.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The registry's host and port.
    pub registry: String,
    /// The name.
    pub user: String,
    /// The secret.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, redacted)", self.registry)
    }
}

/// A file of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Where it was read, for errors.
    pub path: String,
    /// What is in it.
    pub pem: Vec<u8>,
}

/// The parts of the process environment that lead to credentials, handed in by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `DOCKER_CONFIG`, a folder with a `config.json`.
    pub docker_config: Option<PathBuf>,
    /// `REGISTRY_AUTH_FILE`, a file.
    pub registry_auth_file: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`, a folder with `containers/auth.json`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, a folder with `containers/auth.json`; `.config` in the home where unset.
    pub xdg_config_home: Option<PathBuf>,
    /// The home, a folder with `.docker/config.json`.
    pub home: Option<PathBuf>,
    /// `CONTAINERS_REGISTRIES_CONF`, a file instead of all others of its kind.
    pub registries_conf: Option<PathBuf>,
    /// The system's folder with `registries.conf`, such as `/etc/containers`.
    pub system_containers: Option<PathBuf>,
    /// `DOCKER_HOST`, where Docker's daemon listens.
    pub docker_host: Option<String>,
    /// `CONTAINER_HOST`, where Podman's service listens.
    pub container_host: Option<String>,
    /// `PATH`, where credential helpers are looked for.
    pub path: Option<OsString>,
}

impl Environment {
    /// The files that may hold credentials, first one first.
    pub fn files(&self) -> Vec<PathBuf> {
        let containers = |base: &PathBuf| base.join("containers").join("auth.json");
        let config_home = self.xdg_config_home.clone().or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        let candidates = [
            self.registry_auth_file.clone(),
            self.xdg_runtime_dir.as_ref().map(containers),
            config_home.as_ref().map(containers),
            self.docker_config.as_ref().map(|folder| folder.join("config.json")),
            self.home.as_ref().map(|home| home.join(".docker").join("config.json")),
        ];
        let mut files: Vec<PathBuf> = Vec::new();
        for file in candidates.into_iter().flatten() {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// Sizes, times and tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest manifest or index in bytes.
    pub manifest: u64,
    /// The largest config in bytes.
    pub config: u64,
    /// Time to make a connection.
    pub connect: Duration,
    /// Time without a byte.
    pub stall: Duration,
    /// Time for one whole request, but for that of a layer.
    pub whole: Duration,
    /// Time spent waiting for each MiB of a layer.
    pub slowest: Duration,
    /// How often one layer is taken up again after its stream broke.
    pub resumes: u32,
    /// How often a request is repeated.
    pub retries: u32,
    /// The wait before the first repetition where the registry names none; it doubles.
    pub back_off: Duration,
    /// The longest wait that a registry may ask for.
    pub longest_wait: Duration,
    /// Time for a credential helper.
    pub helper: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            manifest: 4 << 20,
            config: 8 << 20,
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            whole: Duration::from_mins(5),
            // 9 KB/s: slower than any line that a layer would be pulled over.
            slowest: Duration::from_mins(2),
            resumes: 32,
            retries: 3,
            back_off: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            helper: Duration::from_secs(10),
        }
    }
}
