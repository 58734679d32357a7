//! `registries.conf`: mirrors, other locations, and registries that are blocked or insecure.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::model::reference::ImageReference;
use crate::registry::endpoint::RegistryEndpoint;
use crate::registry::pull_error::{PullProblem, one_line};
use crate::registry::pull_options::{PullEnvironment, PullOptions};
use crate::registry::regular_file::read_within_limit;
use crate::registry::{image_name, regular_file};

/// Maximum size in bytes of a file.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum number of files that are read from a `registries.conf.d` directory.
const MAX_FILES: usize = 256;

/// The registries of all files; a later entry of the same prefix replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegistriesConf(Vec<RegistryConf>);

/// One `registries.conf` file.
#[derive(Deserialize)]
struct RegistriesConfFile {
    #[serde(default)]
    registry: Vec<RegistryConf>,
}

/// One `[[registry]]` entry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RegistryConf {
    prefix: String,
    location: String,
    insecure: bool,
    blocked: bool,
    mirror_by_digest_only: bool,
    mirror: Vec<RegistryMirror>,
}

/// One `[[registry.mirror]]` entry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RegistryMirror {
    location: String,
    insecure: bool,
    #[serde(rename = "pull-from-mirror")]
    pulls: String,
}

impl RegistriesConf {
    /// Reads the files that the environment and the system locate.
    pub(crate) fn load(environment: &PullEnvironment) -> Result<Self, PullProblem> {
        let mut all = Self::default();
        for path in config_paths(environment) {
            let bytes = read_within_limit(
                regular_file::open_regular_file(&path)?,
                MAX_FILE_BYTES,
                &path.display().to_string(),
            )?;
            let fail = |error: String| PullProblem::File { path: path.display().to_string(), error };
            let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8".into()))?;
            let file: RegistriesConfFile =
                toml::from_str(&text).map_err(|error| fail(one_line(error.message(), 200)))?;
            for entry in file.registry {
                all.0.retain(|known| known.prefix() != entry.prefix());
                all.0.push(entry);
            }
        }
        Ok(all)
    }

    /// Returns the locations of an image in the order to try, mirrors first, each with its endpoints by protocol.
    pub(crate) fn endpoints(
        &self,
        image: &ImageReference,
        options: &PullOptions,
    ) -> Result<Vec<Vec<RegistryEndpoint>>, PullProblem> {
        let registry = if image_name::is_docker_hub(image.registry()) { "docker.io" } else { image.registry() };
        let name = format!("{registry}/{}", image.repository());
        let matching = self.0.iter().filter_map(|entry| Some((entry.matched_length(&name, image)?, entry)));
        let Some((reach, entry)) = matching.max_by_key(|(reach, _)| *reach) else {
            return Ok(vec![RegistryEndpoint::default_for(image, options)]);
        };
        if entry.blocked {
            return Err(PullProblem::Blocked);
        }
        let mut places = Vec::new();
        for mirror in entry.mirror.iter().filter(|mirror| entry.uses_mirror(mirror, image)) {
            places.push(endpoints_at(&mirror.location, &name, reach, mirror.insecure, options)?);
        }
        let location = if entry.location.is_empty() { name.get(..reach).unwrap_or_default() } else { &entry.location };
        // A prefix for many hosts leaves each where it is.
        let location = if entry.prefix().starts_with("*.") { registry } else { location };
        places.push(endpoints_at(location, &name, reach, entry.insecure, options)?);
        Ok(places)
    }
}

impl RegistryConf {
    /// Returns the prefix of the names that the entry applies to.
    fn prefix(&self) -> &str {
        if self.prefix.is_empty() { &self.location } else { &self.prefix }
    }

    /// Returns the length of an image name that the prefix matches; `None` if it does not match.
    fn matched_length(&self, name: &str, image: &ImageReference) -> Option<usize> {
        if let Some(domain) = self.prefix().strip_prefix('*') {
            let host = name.split('/').next()?;
            return (domain.starts_with('.') && host.ends_with(domain)).then_some(host.len());
        }
        let prefix = self.prefix();
        if prefix.is_empty() {
            return None;
        }
        if let Some(rest) = name.strip_prefix(prefix) {
            return (rest.is_empty() || rest.starts_with('/')).then_some(prefix.len());
        }
        // A prefix may name a tag or digest too.
        let whole = [image.tag().map(|tag| format!(":{tag}")), image.digest().map(|digest| format!("@{digest}"))];
        whole.iter().flatten().any(|version| format!("{name}{version}") == prefix).then_some(name.len())
    }

    /// Whether a mirror is used for an image, by tag or by digest.
    fn uses_mirror(&self, mirror: &RegistryMirror, image: &ImageReference) -> bool {
        match mirror.pulls.as_str() {
            "digest-only" => image.digest().is_some(),
            "tag-only" => image.digest().is_none(),
            _ => !self.mirror_by_digest_only || image.digest().is_some(),
        }
    }
}

/// Returns the endpoints of a location that replaces the first `reach` bytes of a name.
fn endpoints_at(
    location: &str,
    name: &str,
    reach: usize,
    insecure: bool,
    options: &PullOptions,
) -> Result<Vec<RegistryEndpoint>, PullProblem> {
    let whole = format!("{location}{}", name.get(reach..).unwrap_or_default());
    let wrong =
        || PullProblem::Reference { error: format!("registries.conf redirects to `{}`", one_line(&whole, 200)) };
    let image = ImageReference::parse(&whole).map_err(|_| wrong())?;
    let (host, repository) = whole.split_once('/').ok_or_else(wrong)?;
    if image.tag().is_some() || image.digest().is_some() || image.registry() != host {
        return Err(wrong());
    }
    Ok(RegistryEndpoint::for_host(image_name::registry_host(&image), repository, insecure, options))
}

/// Returns the existing files; a later one takes precedence.
fn config_paths(environment: &PullEnvironment) -> Vec<PathBuf> {
    if let Some(path) = &environment.registries_conf {
        return vec![path.clone()];
    }
    let home = environment.xdg_config_home.clone().or_else(|| Some(environment.home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join("containers"));
    let folders = [environment.system_containers.as_ref(), own.as_ref()];
    // The file of the user replaces that of the system; the `registries.conf.d` directories of both are read.
    let main = folders.iter().rev().flatten().map(|folder| folder.join("registries.conf")).find(|path| path.is_file());
    let mut all: Vec<PathBuf> = main.into_iter().collect();
    for folder in folders.iter().flatten() {
        all.extend(conf_files_in(&folder.join("registries.conf.d")));
    }
    all
}

/// Returns the `.conf` files of a directory, sorted by name.
fn conf_files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_conf = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "conf") && path.is_file();
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_conf).collect();
    found.sort();
    found.truncate(MAX_FILES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the endpoints of an image as URLs.
    fn endpoint_urls(text: &str, image: &str) -> Result<Vec<String>, PullProblem> {
        let file: RegistriesConfFile = toml::from_str(text).expect("TOML");
        let image = ImageReference::parse(image).expect("a reference");
        let places = RegistriesConf(file.registry).endpoints(&image, &PullOptions::default())?;
        let shown = |way: &RegistryEndpoint| {
            let scheme = if way.plain_http { "http" } else { "https" };
            format!("{scheme}{}://{}/{}", if way.accept_invalid_certs { "!" } else { "" }, way.host, way.repository)
        };
        Ok(places.iter().map(|ways| ways.iter().map(shown).collect::<Vec<_>>().join(" ")).collect())
    }

    const CONF: &str = r#"
        unqualified-search-registries = ["x"]
        [[registry]]
        location = "docker.io"
        [[registry.mirror]]
        location = "mirror.example.com/hub"
        [[registry.mirror]]
        location = "10.0.0.1:5000"
        insecure = true
        pull-from-mirror = "digest-only"
        [[registry]]
        prefix = "example.com/team"
        location = "other.example.org:8443/moved"
        [[registry]]
        prefix = "example.com/team/secret"
        blocked = true
        [[registry]]
        prefix = "*.lab.example.com"
        insecure = true
    "#;

    #[test]
    fn the_longest_prefix_determines_the_endpoints() {
        let hub = "https://registry-1.docker.io/library/debian";
        let mirrored = "https://mirror.example.com/hub/library/debian";
        assert_eq!(endpoint_urls(CONF, "debian:12").expect("places"), [mirrored, hub]);
        let pinned = format!("debian@sha256:{}", "0".repeat(64));
        let insecure = "https!://10.0.0.1:5000/library/debian http://10.0.0.1:5000/library/debian";
        assert_eq!(endpoint_urls(CONF, &pinned).expect("places"), [mirrored, insecure, hub]);
        let moved = "https://other.example.org:8443/moved/app";
        assert_eq!(endpoint_urls(CONF, "example.com/team/app").expect("places"), [moved]);
        let lab = "https!://a.lab.example.com/x http://a.lab.example.com/x";
        assert_eq!(endpoint_urls(CONF, "a.lab.example.com/x").expect("places"), [lab]);
    }

    #[test]
    fn other_names_keep_their_registry() {
        assert!(matches!(endpoint_urls(CONF, "example.com/team/secret/app"), Err(PullProblem::Blocked)));
        assert!(matches!(endpoint_urls(CONF, "example.com/team/secret:1"), Err(PullProblem::Blocked)));
        for name in ["example.com/teams/app", "lab.example.com/x", "nvcr.io/nvidia/cuda", "docker.io.example.com/a"] {
            assert_eq!(endpoint_urls(CONF, name).expect("places"), [format!("https://{name}")]);
        }
        let odd = "[[registry]]\nprefix = \"example.com\"\nlocation = \"a b\"";
        assert!(matches!(endpoint_urls(odd, "example.com/a"), Err(PullProblem::Reference { .. })));
    }
}
