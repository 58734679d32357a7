//! The search for the credentials of one repository in the files and credential helpers of Docker and Podman.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::registry::credential_helper;
use crate::registry::image_name::is_docker_hub;
use crate::registry::pull_error::one_line;
use crate::registry::pull_options::PullOptions;
use crate::registry::registry_credentials::{CredentialLookup, RegistryCredentials};

/// Maximum size in bytes of a credentials file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A credentials file: Docker's `config.json` or Podman's `auth.json`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AuthFile {
    auths: Option<BTreeMap<String, AuthFileEntry>>,
    cred_helpers: Option<BTreeMap<String, String>>,
    creds_store: Option<String>,
}

/// The credentials of one registry or repository in a credentials file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AuthFileEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl AuthFileEntry {
    /// Decodes the credentials of the entry.
    fn credentials(&self) -> Result<Option<RegistryCredentials>, &'static str> {
        if let Some(token) = self.identitytoken.as_deref().filter(|token| !token.is_empty()) {
            return Ok(Some(RegistryCredentials::IdentityToken(token.into())));
        }
        if let Some(auth) = self.auth.as_deref().filter(|auth| !auth.is_empty()) {
            let broken = "`auth` is not base64 of user:password";
            let bytes = STANDARD.decode(auth.trim()).map_err(|_| broken)?;
            let text = String::from_utf8(bytes).map_err(|_| broken)?;
            let (user, password) = text.split_once(':').ok_or(broken)?;
            return Ok(RegistryCredentials::from_pair(user, password.trim_end_matches('\0')));
        }
        let user = self.username.as_deref().unwrap_or_default();
        Ok(RegistryCredentials::from_pair(user, self.password.as_deref().unwrap_or_default()))
    }
}

/// Searches the credentials files of the environment; blocks while it reads files and runs credential helpers.
pub(crate) fn look_up_credentials(host: &str, repository: &str, options: &PullOptions) -> CredentialLookup {
    if let Some(login) = options.access.login.as_ref().filter(|login| is_same_registry(&login.registry, host)) {
        let summary = format!("credentials used: the user name and password for {}", login.registry);
        return CredentialLookup { credentials: RegistryCredentials::from_pair(&login.user, &login.password), summary };
    }
    let keys = lookup_keys(host, repository);
    let mut looked = Vec::new();
    let mut notes = Vec::new();
    for path in options.environment.credential_files() {
        let shown = path.display().to_string();
        let file = match read_auth_file(&path) {
            Ok(Some(file)) => file,
            Ok(None) => continue,
            Err(problem) => {
                notes.push(format!("{shown}: {problem}"));
                continue;
            }
        };
        if let Some((credentials, key)) = search_auth_file(&file, &keys, host, options, &mut notes) {
            let summary = format!("credentials used: those for {key} from {shown}");
            return CredentialLookup { credentials: Some(credentials), summary };
        }
        looked.push(shown);
    }
    let place = if looked.is_empty() {
        "no credentials file exists".into()
    } else {
        format!("looked in {}", looked.join(", "))
    };
    let mut summary = format!("found no credentials for {} ({place})", display_registry(host));
    for note in notes {
        summary.push_str("; ");
        summary.push_str(&one_line(&note, 300));
    }
    CredentialLookup { credentials: None, summary }
}

/// Returns the usual name of a registry's host: `docker.io` for every host of Docker Hub.
fn display_registry(host: &str) -> &str {
    if is_docker_hub(host) { "docker.io" } else { host }
}

/// Whether two hosts belong to the same registry.
fn is_same_registry(one: &str, other: &str) -> bool {
    display_registry(one) == display_registry(other)
}

/// Reads a credentials file; `None` if it does not exist.
fn read_auth_file(path: &Path) -> Result<Option<AuthFile>, String> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(|error| error.to_string())?;
    // The message of the JSON parser may quote the file, so only the line is reported.
    let place = |error: serde_json::Error| format!("invalid JSON at line {}", error.line());
    serde_json::from_slice(&text).map(Some).map_err(place)
}

/// Returns the keys under which a file may have the credentials of a repository, most specific first.
fn lookup_keys(host: &str, repository: &str) -> Vec<String> {
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

/// Removes scheme and API version from a key: `https://index.docker.io/v1/` becomes `index.docker.io`.
fn strip_scheme_and_version(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let key = key.trim_end_matches('/');
    key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key)
}

/// Searches one file: first its credential helpers, then its credential store, then its own entries.
fn search_auth_file(
    file: &AuthFile,
    keys: &[String],
    host: &str,
    options: &PullOptions,
    notes: &mut Vec<String>,
) -> Option<(RegistryCredentials, String)> {
    let hub = is_docker_hub(host);
    let mut request = |helper: &str, server: &str| {
        let path = options.environment.path.as_deref();
        credential_helper::get_credentials(helper, server, path, options.limits.helper).unwrap_or_else(|note| {
            notes.push(note);
            None
        })
    };
    for key in keys {
        let helpers = file.cred_helpers.iter().flatten().filter(|(name, _)| strip_scheme_and_version(name) == key);
        for (name, helper) in helpers {
            if let Some(found) = request(helper, name) {
                return Some((found, name.clone()));
            }
        }
    }
    if let Some(store) = file.creds_store.as_deref().filter(|store| !store.is_empty()) {
        let server = if hub { "https://index.docker.io/v1/" } else { host };
        if let Some(found) = request(store, server) {
            return Some((found, server.into()));
        }
    }
    for key in keys {
        for (name, entry) in file.auths.iter().flatten().filter(|(name, _)| strip_scheme_and_version(name) == key) {
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
    use crate::model::reference::ImageReference;
    use crate::registry::image_name::registry_host;

    /// Returns the credentials for a reference if this text is the only `config.json`.
    fn stored_credentials(reference: &str, text: &str) -> Option<RegistryCredentials> {
        let folder = tempfile::tempdir().expect("temporary folder");
        fs::write(folder.path().join("config.json"), text).expect("config.json");
        let mut options = PullOptions::default();
        options.environment.docker_config = Some(folder.path().into());
        let image = ImageReference::parse(reference).expect("reference");
        look_up_credentials(registry_host(&image), image.repository(), &options).credentials
    }

    fn basic_credentials(user: &str, password: &str) -> Option<RegistryCredentials> {
        RegistryCredentials::from_pair(user, password)
    }

    #[test]
    fn the_most_specific_key_wins_and_other_hosts_see_nothing() {
        // a:host, b:team, c:repo
        let text = r#"{"auths":{"r.io":{"auth":"YTpob3N0"},"r.io/team":{"auth":"Yjp0ZWFt"},
            "r.io/team/app":{"auth":"YzpyZXBv"}}}"#;
        assert_eq!(stored_credentials("r.io/team/app", text), basic_credentials("c", "repo"));
        assert_eq!(stored_credentials("r.io/team/other", text), basic_credentials("b", "team"));
        assert_eq!(stored_credentials("r.io/teams/app", text), basic_credentials("a", "host"));
        assert_eq!(stored_credentials("r.io.example.com/team/app", text), None);
    }

    #[test]
    fn explicit_credential_file_overrides_default_locations() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let write = |name: &str, user: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            let auth = STANDARD.encode(format!("{user}:x"));
            fs::write(&path, format!(r#"{{"auths":{{"r.io":{{"auth":"{auth}"}}}}}}"#)).expect(name);
            path
        };
        let mut options = PullOptions::default();
        let user = |options: &PullOptions| match look_up_credentials("r.io", "a", options).credentials {
            Some(RegistryCredentials::Basic { user, .. }) => user,
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
        assert_eq!(stored_credentials("debian", hub), basic_credentials("a", "host"));
        let token = r#"{"auths":{"r.io":{"auth":"","identitytoken":"t"}}}"#;
        assert_eq!(stored_credentials("r.io/a", token), Some(RegistryCredentials::IdentityToken("t".into())));
        assert_eq!(stored_credentials("r.io/a", r#"{"auths":{"r.io":{}}}"#), None);
        assert_eq!(stored_credentials("r.io/a", "{"), None);
        assert_eq!(format!("{:?}", basic_credentials("a", "host")), "Some(Credentials(redacted))");
    }
}
