//! Which of several Python environments a container's program runs in.

use std::collections::BTreeMap;

use crate::cuda::split_path;
use crate::installed::Evidence;
use crate::installed::Site;
use crate::layer::EntryKind;
use crate::layer::Tree;
use crate::oci::PulledImage;

/// Where programs lie where nothing says it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Tools that choose the environment by themselves.
const CHOOSERS: [&str; 6] = ["conda", "mamba", "micromamba", "pixi", "poetry", "uv"];

/// The interpreter that the image starts, where it is known.
pub(super) struct Python {
    /// Where it is installed, without the first `/`: `opt/venv`; none where it is not known.
    prefix: Option<String>,
    /// Whether that is a virtual environment.
    of_its_own: bool,
    /// Whether it sees the packages of the interpreter that it was made with.
    open: bool,
    /// Folders that the environment adds.
    added: Vec<String>,
}

impl Python {
    /// The interpreter that the entrypoint names, else the first on `PATH`.
    pub(super) fn of(image: &PulledImage, tree: &Tree) -> Self {
        let config = &image.config;
        let search = config.variable("PATH").unwrap_or(PATH);
        let words: Vec<&str> = config.entrypoint.iter().chain(&config.cmd).map(String::as_str).collect();
        let base = |word: &str| split_path(word).1.to_owned();
        let named = words.iter().find(|word| base(word).starts_with("python") && !word.contains(' ')).copied();
        let chooses =
            words.iter().flat_map(|word| word.split_whitespace()).any(|word| CHOOSERS.contains(&&*base(word)));
        let found = |name: &str| {
            let mut places = search.split(':').filter(|place| place.starts_with('/'));
            places.find(|place| tree.get(&format!("{}/{name}", place.trim_end_matches('/'))).is_some())
        };
        let folder = match named {
            _ if chooses => None,
            Some(word) if word.starts_with('/') => Some(split_path(word).0),
            Some(word) => found(word),
            None => within(&words, tree).or_else(|| found("python3")).or_else(|| found("python")),
        };
        let prefix = folder.and_then(|folder| folder.trim_end_matches('/').strip_suffix("/bin"));
        let prefix = prefix.map(|prefix| prefix.trim_start_matches('/').to_owned());
        let settings = prefix.as_ref().and_then(|prefix| tree.get(&format!("/{prefix}/pyvenv.cfg")));
        let open = settings.as_ref().is_some_and(|placed| match placed.kind {
            EntryKind::Read(list) => list.iter().any(|one| matches!(one, Evidence::Environment { system: true, .. })),
            _ => false,
        });
        let added = config.variable("PYTHONPATH").unwrap_or_default().split(':');
        let added = added.map(|folder| folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty());
        Self { of_its_own: settings.is_some(), prefix, open, added: added.collect() }
    }

    /// How early the interpreter looks into a folder; none where it does not, or is not known.
    fn rank(&self, site: &Site) -> Option<u8> {
        if self.added.contains(&site.folder) {
            return Some(0);
        }
        let own = self.prefix.as_deref()?;
        let of_system = || {
            let distribution = site.folder.ends_with("dist-packages");
            match site.prefix.as_str() {
                prefix if prefix.ends_with("/.local") => Some(2),
                "usr/local" if distribution || own == "usr/local" || own == "usr" => Some(3),
                "usr" if own == "usr" || self.open => Some(4),
                _ => None,
            }
        };
        if site.prefix == own && !matches!(own, "usr" | "usr/local") {
            return Some(1);
        }
        let system = !self.of_its_own && matches!(own, "usr" | "usr/local" | "");
        if system || self.open { of_system() } else { None }
    }

    /// Those of several folders that count: the first that the interpreter looks into, else all.
    pub(super) fn counting<'a>(&self, sites: impl IntoIterator<Item = &'a Site>) -> Vec<&'a Site> {
        let mut by_rank: BTreeMap<u8, Vec<&Site>> = BTreeMap::new();
        for site in sites {
            by_rank.entry(self.rank(site).unwrap_or(u8::MAX)).or_default().push(site);
        }
        by_rank.into_values().next().unwrap_or_default()
    }
}

/// The folder of a program that lies beside an interpreter of its own: `/opt/venv/bin/uvicorn`.
fn within<'a>(words: &[&'a str], tree: &Tree) -> Option<&'a str> {
    let folders = words.iter().filter(|word| word.starts_with('/')).map(|word| split_path(word).0);
    let own = |folder: &&str| {
        let prefix = folder.strip_suffix("/bin").unwrap_or(folder);
        tree.get(&format!("{prefix}/pyvenv.cfg")).is_some()
    };
    folders.into_iter().find(own)
}
