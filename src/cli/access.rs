//! The way to registries: what the command line and the environment say of it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;

use crate::cli::Failure;
use crate::cli::args::AccessArgs;
use crate::cli::cache::Cache;
use crate::cli::interrupt;
use crate::nearest::unread;
use crate::oci::Access;
use crate::oci::Environment;
use crate::oci::Keep;
use crate::oci::Login;
use crate::oci::Options;
use crate::oci::Puller;
use crate::oci::Root;
use crate::oci::Source;

/// The most bytes of a password or of a file of certificates.
const MOST_READ: u64 = 4 << 20;

/// Said where a password and an input both stand on standard input.
pub(crate) const BOTH: &str = "error: the password and an input cannot both be read from standard input; pass the \
                               input as a file";

/// Hosts of registries, with their ports.
pub(crate) type Registries = BTreeSet<String>;

/// The registries that images are in; other sources have none.
pub(crate) fn registries<'a>(images: impl IntoIterator<Item = &'a str>) -> Registries {
    let registry = |name: &str| match Source::parse(name) {
        Ok(Source::Registry(reference)) => Some(reference.registry().to_owned()),
        _ => None,
    };
    images.into_iter().filter_map(registry).collect()
}

/// Someone who reads images, and keeps their configurations for later runs where `keep` says so. Reads the password
/// from standard input where there is one.
///
/// `named` are the registries of the images that the command line itself names. Those that only a file names, which
/// may be a stranger's, are none of them: they see no password that nobody meant for them.
pub(crate) fn puller(options: &AccessArgs, named: &Registries, keep: bool) -> Result<Puller, Failure> {
    interrupt::watch();
    let access = access(options, named)?;
    let keep: Option<Arc<dyn Keep>> = if keep { Cache::of_user() } else { None };
    let options = Options { environment: environment(), access, keep, ..Options::default() };
    Puller::new(options).map_err(|error| Failure::Said(format!("error: {error}")))
}

/// How the registries may be spoken to, as the command line says.
fn access(options: &AccessArgs, named: &Registries) -> Result<Access, Failure> {
    let said = |text: String| Failure::Said(format!("error: {text}"));
    let mut roots = Vec::new();
    for path in &options.cacert {
        let shown = path.display().to_string();
        let pem = read_bounded(path)
            .map_err(|error| said(format!("cannot read {shown}: {}", unread(path, &error, "a PEM file"))))?;
        roots.push(Root { path: shown, pem });
    }
    let login = match &options.username {
        Some(user) => Some(login(user, options.registry.as_deref(), named).map_err(said)?),
        None => None,
    };
    Ok(Access { login, roots, plain_http: options.plain_http.clone() })
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The user name with the password on standard input, for one registry.
fn login(user: &str, asked: Option<&str>, named: &Registries) -> Result<Login, String> {
    // Some commands build two pullers, and there is but one standard input.
    static PASSWORD: OnceLock<Result<String, String>> = OnceLock::new();
    let registry = match asked {
        Some(registry) => registry.to_owned(),
        None => only(named)?,
    };
    let password = PASSWORD.get_or_init(password).clone()?;
    Ok(Login { registry, user: user.to_owned(), password })
}

/// The one registry that the command line names.
fn only(named: &Registries) -> Result<String, String> {
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

fn password() -> Result<String, String> {
    let mut password = String::new();
    io::stdin().take(MOST_READ).read_to_string(&mut password).map_err(|error| format!("no password: {error}"))?;
    let password = password.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err("standard input contains no password".to_owned());
    }
    Ok(password.to_owned())
}

fn environment() -> Environment {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(Into::into);
    let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    Environment {
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
