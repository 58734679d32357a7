//! Credentials that Docker and Podman have stored, looked up for one repository.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::oci::error::one_line;
use crate::oci::helper;
use crate::oci::options::Options;
use crate::oci::reference::is_docker_hub;

/// The largest credentials file that is read.
const MOST: u64 = 4 << 20;

/// What to show to a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    Basic { user: String, password: String },
    IdentityToken(String),
}

impl Credentials {
    /// A user name and its secret; the name `<token>` marks an identity token.
    pub(crate) fn from_pair(user: &str, secret: &str) -> Option<Self> {
        if secret.is_empty() {
            return None;
        }
        Some(if user == "<token>" {
            Self::IdentityToken(secret.into())
        } else {
            Self::Basic { user: user.into(), password: secret.into() }
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(redacted)")
    }
}

/// The outcome of the search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookup {
    pub(crate) credentials: Option<Credentials>,
    /// Where they were found, or where they were looked for, and what could not be read.
    pub(crate) told: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    auths: Option<BTreeMap<String, Entry>>,
    cred_helpers: Option<BTreeMap<String, String>>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl Entry {
    fn credentials(&self) -> Result<Option<Credentials>, &'static str> {
        if let Some(token) = self.identitytoken.as_deref().filter(|token| !token.is_empty()) {
            return Ok(Some(Credentials::IdentityToken(token.into())));
        }
        if let Some(auth) = self.auth.as_deref().filter(|auth| !auth.is_empty()) {
            let broken = "`auth` is not base64 of user:password";
            let bytes = STANDARD.decode(auth.trim()).map_err(|_| broken)?;
            let text = String::from_utf8(bytes).map_err(|_| broken)?;
            let (user, password) = text.split_once(':').ok_or(broken)?;
            return Ok(Credentials::from_pair(user, password.trim_end_matches('\0')));
        }
        let user = self.username.as_deref().unwrap_or_default();
        Ok(Credentials::from_pair(user, self.password.as_deref().unwrap_or_default()))
    }
}

/// Looks through the files of the environment; blocks while it reads and asks helpers.
pub(crate) fn look_up(host: &str, repository: &str, options: &Options) -> Lookup {
    if let Some(login) = options.access.login.as_ref().filter(|login| same_registry(&login.registry, host)) {
        let told = format!("credentials used: the user name and password for {}", login.registry);
        return Lookup { credentials: Credentials::from_pair(&login.user, &login.password), told };
    }
    let keys = keys(host, repository);
    let mut looked = Vec::new();
    let mut notes = Vec::new();
    for path in options.environment.files() {
        let shown = path.display().to_string();
        let file = match read(&path) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(problem) => {
                notes.push(format!("{shown}: {problem}"));
                continue;
            }
        };
        if let Some((credentials, key)) = search(&file, &keys, host, options, &mut notes) {
            let told = format!("credentials used: those for {key} from {shown}");
            return Lookup { credentials: Some(credentials), told };
        }
        looked.push(shown);
    }
    let place = if looked.is_empty() {
        "no credentials file exists".into()
    } else {
        format!("looked in {}", looked.join(", "))
    };
    let mut told = format!("found no credentials for {} ({place})", registry(host));
    for note in notes {
        told.push_str("; ");
        told.push_str(&one_line(&note, 300));
    }
    Lookup { credentials: None, told }
}

/// The name by which people know a host.
fn registry(host: &str) -> &str {
    if is_docker_hub(host) { "docker.io" } else { host }
}

fn same_registry(one: &str, other: &str) -> bool {
    registry(one) == registry(other)
}

fn read(path: &Path) -> Result<Option<File>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST).read_to_end(&mut text).map_err(|error| error.to_string())?;
    // The words of the JSON reader may quote the file, so only the place is told.
    let place = |error: serde_json::Error| format!("invalid JSON at line {}", error.line());
    serde_json::from_slice(&text).map(Some).map_err(place)
}

/// The keys under which a file may hold credentials, most specific first.
fn keys(host: &str, repository: &str) -> Vec<String> {
    let hosts: Vec<&str> =
        if is_docker_hub(host) { vec!["docker.io", "index.docker.io", "registry-1.docker.io"] } else { vec![host] };
    let mut path = Some(repository);
    let mut keys = Vec::new();
    while let Some(rest) = path {
        keys.extend(hosts.iter().map(|host| format!("{host}/{rest}")));
        path = rest.rsplit_once('/').map(|(shorter, _)| shorter);
    }
    keys.extend(hosts.iter().map(ToString::to_string));
    keys
}

/// A key without scheme and API version: `https://index.docker.io/v1/` is `index.docker.io`.
fn bare(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let key = key.trim_end_matches('/');
    key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key)
}

fn search(
    file: &File,
    keys: &[String],
    host: &str,
    options: &Options,
    notes: &mut Vec<String>,
) -> Option<(Credentials, String)> {
    let hub = is_docker_hub(host);
    let mut ask = |helper: &str, server: &str| {
        let path = options.environment.path.as_deref();
        helper::ask(helper, server, path, options.limits.helper).unwrap_or_else(|note| {
            notes.push(note);
            None
        })
    };
    for key in keys {
        let helpers = file.cred_helpers.iter().flatten().filter(|(name, _)| bare(name) == key);
        for (name, helper) in helpers {
            if let Some(found) = ask(helper, name) {
                return Some((found, name.clone()));
            }
        }
    }
    if let Some(store) = file.creds_store.as_deref().filter(|store| !store.is_empty()) {
        let server = if hub { "https://index.docker.io/v1/" } else { host };
        if let Some(found) = ask(store, server) {
            return Some((found, server.into()));
        }
    }
    for key in keys {
        for (name, entry) in file.auths.iter().flatten().filter(|(name, _)| bare(name) == key) {
            match entry.credentials() {
                Ok(Some(found)) => return Some((found, name.clone())),
                Ok(None) => {}
                Err(problem) => notes.push(format!("{name}: {problem}")),
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::reference::host;
    use crate::reference::ImageReference;

    fn found(reference: &str, text: &str) -> Option<Credentials> {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::write(folder.path().join("config.json"), text).expect("config.json");
        let mut options = Options::default();
        options.environment.docker_config = Some(folder.path().into());
        let image = ImageReference::parse(reference).expect("reference");
        look_up(host(&image), image.repository(), &options).credentials
    }

    fn basic(user: &str, password: &str) -> Option<Credentials> {
        Credentials::from_pair(user, password)
    }

    #[test]
    fn the_most_specific_key_wins_and_other_hosts_see_nothing() {
        // a:host, b:team, c:repo
        let text = r#"{"auths":{"r.io":{"auth":"YTpob3N0"},"r.io/team":{"auth":"Yjp0ZWFt"},
            "r.io/team/app":{"auth":"YzpyZXBv"}}}"#;
        assert_eq!(found("r.io/team/app", text), basic("c", "repo"));
        assert_eq!(found("r.io/team/other", text), basic("b", "team"));
        assert_eq!(found("r.io/teams/app", text), basic("a", "host"));
        assert_eq!(found("r.io.example.com/team/app", text), None);
    }

    #[test]
    fn the_file_that_is_named_comes_before_those_in_their_places() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let write = |name: &str, user: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            let auth = STANDARD.encode(format!("{user}:x"));
            fs::write(&path, format!(r#"{{"auths":{{"r.io":{{"auth":"{auth}"}}}}}}"#)).expect(name);
            path
        };
        let mut options = Options::default();
        let user = |options: &Options| match look_up("r.io", "a", options).credentials {
            Some(Credentials::Basic { user, .. }) => user,
            _ => String::new(),
        };
        assert_eq!(user(&options), "");
        write("home/.docker/config.json", "home");
        options.environment.home = Some(folder.path().join("home"));
        assert_eq!(user(&options), "home");
        write("docker/config.json", "docker");
        options.environment.docker_config = Some(folder.path().join("docker"));
        assert_eq!(user(&options), "docker");
        write("home/.config/containers/auth.json", "own");
        assert_eq!(user(&options), "own");
        write("run/containers/auth.json", "run");
        options.environment.xdg_runtime_dir = Some(folder.path().join("run"));
        assert_eq!(user(&options), "run");
        options.environment.registry_auth_file = Some(write("named.json", "named"));
        assert_eq!(user(&options), "named");
    }

    #[test]
    fn docker_hub_identity_tokens_and_broken_files() {
        let hub = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"YTpob3N0"}}}"#;
        assert_eq!(found("debian", hub), basic("a", "host"));
        let token = r#"{"auths":{"r.io":{"auth":"","identitytoken":"t"}}}"#;
        assert_eq!(found("r.io/a", token), Some(Credentials::IdentityToken("t".into())));
        assert_eq!(found("r.io/a", r#"{"auths":{"r.io":{}}}"#), None);
        assert_eq!(found("r.io/a", "{"), None);
        assert_eq!(format!("{:?}", basic("a", "host")), "Some(Credentials(redacted))");
    }
}
