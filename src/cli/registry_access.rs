//! Access to registries: credentials, certificates and environment variables for reading images.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::{env, fs, io};

use crate::cli::args::RegistryArgs;
use crate::cli::cache::DigestCache;
use crate::cli::error::CommandError;
use crate::cli::interrupt;
use crate::registry::{
    CertificateFile, ImageSource, ManifestCache, PullEnvironment, PullOptions, Puller, RegistryAccess, RegistryLogin,
};
use crate::text::nearest::unreadable_path_message;

/// Maximum size in bytes of a password or of a certificate file.
const MAX_READ_BYTES: u64 = 4 << 20;

/// Error message for a password and an input that both come from standard input.
pub(crate) const STDIN_CONFLICT_ERROR: &str = "error: the password and an input cannot both be read from standard input; pass the \
                               input as a file";

/// Hosts of registries, with their ports.
pub(crate) type RegistryHosts = BTreeSet<String>;

/// Returns the registries that the images come from; archives, directories and container engines have none.
pub(crate) fn registry_hosts<'a>(images: impl IntoIterator<Item = &'a str>) -> RegistryHosts {
    let registry = |name: &str| match ImageSource::parse(name) {
        Ok(ImageSource::Registry(reference)) => Some(reference.registry().to_owned()),
        _ => None,
    };
    images.into_iter().filter_map(registry).collect()
}

/// Creates the puller that reads images; reads the password from standard input, and caches image configurations if
/// `keep` is set.
///
/// `named` are the registries of the images that the command line itself names. Those that only a file names, which
/// may be a stranger's, are none of them, and get no password.
pub(crate) fn create_puller(options: &RegistryArgs, named: &RegistryHosts, keep: bool) -> Result<Puller, CommandError> {
    interrupt::exit_on_ctrl_c();
    let access = access_options(options, named)?;
    let keep: Option<Arc<dyn ManifestCache>> = if keep { DigestCache::for_user() } else { None };
    let options =
        PullOptions { environment: read_environment(), access, manifest_cache: keep, ..PullOptions::default() };
    Puller::new(options).map_err(|error| CommandError::Message(format!("error: {error}")))
}

/// Returns the login, the certificates and the plain-HTTP hosts that the command line specifies.
fn access_options(options: &RegistryArgs, named: &RegistryHosts) -> Result<RegistryAccess, CommandError> {
    let command_error = |text: String| CommandError::Message(format!("error: {text}"));
    let mut roots = Vec::new();
    for path in &options.cacert {
        let shown = path.display().to_string();
        let pem = read_bounded(path).map_err(|error| {
            command_error(format!("cannot read {shown}: {}", unreadable_path_message(path, &error, "a PEM file")))
        })?;
        roots.push(CertificateFile { path: shown, pem });
    }
    let login = match &options.username {
        Some(user) => Some(login_from_stdin(user, options.registry.as_deref(), named).map_err(command_error)?),
        None => None,
    };
    Ok(RegistryAccess { login, roots, plain_http: options.plain_http.clone() })
}

/// Reads a file, up to `MAX_READ_BYTES`.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the login for one registry: the user name, with the password from standard input.
fn login_from_stdin(user: &str, requested: Option<&str>, named: &RegistryHosts) -> Result<RegistryLogin, String> {
    // Some commands build two pullers, and there is but one standard input.
    static PASSWORD: OnceLock<Result<String, String>> = OnceLock::new();
    let registry = match requested {
        Some(registry) => registry.to_owned(),
        None => single_registry(named)?,
    };
    let password = PASSWORD.get_or_init(read_password).clone()?;
    Ok(RegistryLogin { registry, user: user.to_owned(), password })
}

/// Returns the only registry that the command line names; an error message if there are none or several.
fn single_registry(named: &RegistryHosts) -> Result<String, String> {
    let mut all = named.iter();
    match (all.next(), all.next()) {
        (Some(registry), None) => Ok(registry.clone()),
        (None, _) => {
            Err("--username requires --registry HOST, because the command line names no image; images from a file do \
                 not select a registry for the password"
                .to_owned())
        }
        _ => {
            let found: Vec<&str> = named.iter().map(String::as_str).collect();
            let found = found.join(", ");
            Err(format!(
                "--username applies to one registry, but the images come from {found}; select one with --registry HOST"
            ))
        }
    }
}

/// Reads the password from standard input.
fn read_password() -> Result<String, String> {
    let mut password = String::new();
    io::stdin().take(MAX_READ_BYTES).read_to_string(&mut password).map_err(|error| format!("no password: {error}"))?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err("standard input contains no password".to_owned());
    }
    Ok(password.to_owned())
}

/// Reads the environment variables that configure registries and container engines.
fn read_environment() -> PullEnvironment {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(Into::into);
    let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    PullEnvironment {
        docker_config: folder("DOCKER_CONFIG"),
        registry_auth_file: folder("REGISTRY_AUTH_FILE"),
        xdg_runtime_dir: folder("XDG_RUNTIME_DIR"),
        xdg_config_home: folder("XDG_CONFIG_HOME"),
        home: folder("HOME"),
        registries_conf: folder("CONTAINERS_REGISTRIES_CONF"),
        system_containers: Some("/etc/containers".into()),
        docker_host: text("DOCKER_HOST"),
        container_host: text("CONTAINER_HOST"),
        path: env::var_os("PATH"),
    }
}
