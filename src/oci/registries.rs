//! `registries.conf`: mirrors, other locations, and registries that are blocked or spoken to without TLS.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;

use crate::oci::endpoint::Endpoint;
use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::files;
use crate::oci::files::whole;
use crate::oci::options::Environment;
use crate::oci::options::Options;
use crate::oci::reference;
use crate::reference::ImageReference;

/// The largest file that is read.
const MOST: u64 = 4 << 20;
/// How many files of a folder are read.
const MOST_FILES: usize = 256;

/// What is configured, the later entry of a prefix instead of the earlier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registries(Vec<Entry>);

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    registry: Vec<Entry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Entry {
    prefix: String,
    location: String,
    insecure: bool,
    blocked: bool,
    mirror_by_digest_only: bool,
    mirror: Vec<Mirror>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Mirror {
    location: String,
    insecure: bool,
    #[serde(rename = "pull-from-mirror")]
    pulls: String,
}

impl Registries {
    /// Reads the files that the environment leads to.
    pub(crate) fn load(environment: &Environment) -> Result<Self, Problem> {
        let mut all = Self::default();
        for path in paths(environment) {
            let bytes = whole(files::open(&path)?, MOST, &path.display().to_string())?;
            let fail = |cause: String| Problem::File { path: path.display().to_string(), cause };
            let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8".into()))?;
            let file: File = toml::from_str(&text).map_err(|error| fail(one_line(error.message(), 200)))?;
            for entry in file.registry {
                all.0.retain(|known| known.prefix() != entry.prefix());
                all.0.push(entry);
            }
        }
        Ok(all)
    }

    /// The places to ask for an image in turn, each with the ways that it may be spoken to.
    pub(crate) fn places(&self, image: &ImageReference, options: &Options) -> Result<Vec<Vec<Endpoint>>, Problem> {
        let registry = if reference::is_docker_hub(image.registry()) { "docker.io" } else { image.registry() };
        let name = format!("{registry}/{}", image.repository());
        let matching = self.0.iter().filter_map(|entry| Some((entry.reach(&name, image)?, entry)));
        let Some((reach, entry)) = matching.max_by_key(|(reach, _)| *reach) else {
            return Ok(vec![Endpoint::own(image, options)]);
        };
        if entry.blocked {
            return Err(Problem::Blocked);
        }
        let mut places = Vec::new();
        for mirror in entry.mirror.iter().filter(|mirror| entry.uses(mirror, image)) {
            places.push(ways(&mirror.location, &name, reach, mirror.insecure, options)?);
        }
        let location = if entry.location.is_empty() { name.get(..reach).unwrap_or_default() } else { &entry.location };
        // A prefix for many hosts leaves each where it is.
        let location = if entry.prefix().starts_with("*.") { registry } else { location };
        places.push(ways(location, &name, reach, entry.insecure, options)?);
        Ok(places)
    }
}

impl Entry {
    fn prefix(&self) -> &str {
        if self.prefix.is_empty() { &self.location } else { &self.prefix }
    }

    /// How much of an image's name the prefix covers; none where it is another image's.
    fn reach(&self, name: &str, image: &ImageReference) -> Option<usize> {
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

    fn uses(&self, mirror: &Mirror, image: &ImageReference) -> bool {
        match mirror.pulls.as_str() {
            "digest-only" => image.digest().is_some(),
            "tag-only" => image.digest().is_none(),
            _ => !self.mirror_by_digest_only || image.digest().is_some(),
        }
    }
}

/// The ways to speak to what stands at a location instead of the first bytes of a name.
fn ways(location: &str, name: &str, reach: usize, insecure: bool, options: &Options) -> Result<Vec<Endpoint>, Problem> {
    let whole = format!("{location}{}", name.get(reach..).unwrap_or_default());
    let wrong = || Problem::Reference { reason: format!("registries.conf redirects to `{}`", one_line(&whole, 200)) };
    let image = ImageReference::parse(&whole).map_err(|_| wrong())?;
    let (host, repository) = whole.split_once('/').ok_or_else(wrong)?;
    if image.tag().is_some() || image.digest().is_some() || image.registry() != host {
        return Err(wrong());
    }
    Ok(Endpoint::ways(reference::host(&image), repository, insecure, options))
}

/// The files that there are, the later one stronger.
fn paths(environment: &Environment) -> Vec<PathBuf> {
    if let Some(path) = &environment.registries_conf {
        return vec![path.clone()];
    }
    let home = environment.xdg_config_home.clone().or_else(|| Some(environment.home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join("containers"));
    let folders = [environment.system_containers.as_ref(), own.as_ref()];
    // One's own file stands instead of that of the system; the folders beside them add up.
    let main = folders.iter().rev().flatten().map(|folder| folder.join("registries.conf")).find(|path| path.is_file());
    let mut all: Vec<PathBuf> = main.into_iter().collect();
    for folder in folders.iter().flatten() {
        all.extend(conf_files(&folder.join("registries.conf.d")));
    }
    all
}

fn conf_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_conf = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "conf") && path.is_file();
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_conf).collect();
    found.sort();
    found.truncate(MOST_FILES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, image: &str) -> Result<Vec<String>, Problem> {
        let file: File = toml::from_str(text).expect("TOML");
        let image = ImageReference::parse(image).expect("a reference");
        let places = Registries(file.registry).places(&image, &Options::default())?;
        let shown = |way: &Endpoint| {
            let scheme = if way.plain { "http" } else { "https" };
            format!("{scheme}{}://{}/{}", if way.unverified { "!" } else { "" }, way.host, way.repository)
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
    fn the_longest_prefix_tells_where_to_ask() {
        let hub = "https://registry-1.docker.io/library/debian";
        let mirrored = "https://mirror.example.com/hub/library/debian";
        assert_eq!(places(CONF, "debian:12").expect("places"), [mirrored, hub]);
        let pinned = format!("debian@sha256:{}", "0".repeat(64));
        let insecure = "https!://10.0.0.1:5000/library/debian http://10.0.0.1:5000/library/debian";
        assert_eq!(places(CONF, &pinned).expect("places"), [mirrored, insecure, hub]);
        let moved = "https://other.example.org:8443/moved/app";
        assert_eq!(places(CONF, "example.com/team/app").expect("places"), [moved]);
        let lab = "https!://a.lab.example.com/x http://a.lab.example.com/x";
        assert_eq!(places(CONF, "a.lab.example.com/x").expect("places"), [lab]);
    }

    #[test]
    fn other_names_stay_where_they_are() {
        assert!(matches!(places(CONF, "example.com/team/secret/app"), Err(Problem::Blocked)));
        assert!(matches!(places(CONF, "example.com/team/secret:1"), Err(Problem::Blocked)));
        for name in ["example.com/teams/app", "lab.example.com/x", "nvcr.io/nvidia/cuda", "docker.io.example.com/a"] {
            assert_eq!(places(CONF, name).expect("places"), [format!("https://{name}")]);
        }
        let odd = "[[registry]]\nprefix = \"example.com\"\nlocation = \"a b\"";
        assert!(matches!(places(odd, "example.com/a"), Err(Problem::Reference { .. })));
    }
}
