//! Options of a pull: limits of time and size, registry access, and the relevant environment variables.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::registry::manifest_cache::ManifestCache;

/// Options of a pull.
#[derive(Clone, Debug, Default)]
pub struct PullOptions {
    /// Environment variables that locate credentials, settings and container engines; empty means anonymous access.
    pub environment: PullEnvironment,
    /// Limits of size, time and retries.
    pub limits: PullLimits,
    /// The cache of manifests and configs between runs, if there is one.
    pub manifest_cache: Option<Arc<dyn ManifestCache>>,
    /// How to access registries, from the command line.
    pub access: RegistryAccess,
}

/// How to access registries, as set by command line options.
#[derive(Clone, Debug, Default)]
pub struct RegistryAccess {
    /// A user name and password for one registry, used instead of stored ones.
    pub login: Option<RegistryLogin>,
    /// Certificates to trust in addition to those of the system.
    pub roots: Vec<CertificateFile>,
    /// Hosts, with their ports, for which plain HTTP is used.
    pub plain_http: Vec<String>,
}

/// A user name and password for one registry, sent to no other.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The registry's host and port.
    pub registry: String,
    /// The user name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for RegistryLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({}, redacted)", self.registry)
    }
}

/// The contents of a file with certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFile {
    /// The path of the file, for error messages.
    pub path: String,
    /// The certificates in PEM format.
    pub pem: Vec<u8>,
}

/// The environment variables that locate credentials, settings and container engines, passed in by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullEnvironment {
    /// `DOCKER_CONFIG`, a folder with a `config.json`.
    pub docker_config: Option<PathBuf>,
    /// `REGISTRY_AUTH_FILE`, a file.
    pub registry_auth_file: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`, a folder with `containers/auth.json`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, a folder with `containers/auth.json`; `.config` in the home where unset.
    pub xdg_config_home: Option<PathBuf>,
    /// The home directory, which may have `.docker/config.json`.
    pub home: Option<PathBuf>,
    /// `CONTAINERS_REGISTRIES_CONF`, a file that replaces all other files of this kind.
    pub registries_conf: Option<PathBuf>,
    /// The system's directory with `registries.conf`, such as `/etc/containers`.
    pub system_containers: Option<PathBuf>,
    /// `DOCKER_HOST`, the socket of Docker's daemon.
    pub docker_host: Option<String>,
    /// `CONTAINER_HOST`, the socket of Podman's service.
    pub container_host: Option<String>,
    /// `PATH`, the directories that are searched for credential helpers.
    pub path: Option<OsString>,
}

impl PullEnvironment {
    /// Returns the files that may have credentials, in the order in which they are searched.
    pub fn credential_files(&self) -> Vec<PathBuf> {
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

/// Limits of size, time and retries of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullLimits {
    /// Maximum size of a manifest or index in bytes.
    pub manifest: u64,
    /// Maximum size of a config in bytes.
    pub config: u64,
    /// Time-out for a connection.
    pub connect: Duration,
    /// Time-out without any received byte.
    pub stall: Duration,
    /// Time-out for one whole request, except that of a layer.
    pub whole: Duration,
    /// Maximum time for each MiB of a layer.
    pub slowest: Duration,
    /// Maximum number of times that the download of one layer is resumed.
    pub resumes: u32,
    /// Maximum number of times that a request is repeated.
    pub retries: u32,
    /// The wait before the first retry if the registry requests none; it doubles with every retry.
    pub back_off: Duration,
    /// The longest wait that a registry may request.
    pub longest_wait: Duration,
    /// Time-out for a credential helper.
    pub helper: Duration,
}

impl Default for PullLimits {
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
