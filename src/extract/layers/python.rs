//! Which of several Python environments a container's program runs in.

use std::collections::BTreeMap;

use crate::extract::layers::command;
use crate::extract::layers::command::Interpreter;
use crate::installed::Evidence;
use crate::installed::Place;
use crate::installed::Site;
use crate::installed::place;
use crate::layer::EntryKind;
use crate::layer::Placed;
use crate::layer::Tree;
use crate::oci::PulledImage;

/// The interpreter that the image starts, where it is known.
pub(super) struct Python {
    interpreter: Option<Interpreter>,
    /// Whether that is a virtual environment.
    of_its_own: bool,
    /// Whether it sees the packages of the interpreter that it was made with.
    open: bool,
    /// Folders that the environment adds.
    added: Vec<String>,
    /// Folders that a file among the packages of an interpreter adds, with where that file lies.
    by_file: BTreeMap<String, Vec<Site>>,
}

impl Python {
    /// The interpreter that the command line of the image leads to.
    pub(super) fn of(image: &PulledImage, tree: &Tree) -> Self {
        let interpreter = command::interpreter(&image.config, tree);
        let settings = interpreter.as_ref().and_then(|own| command::settings(tree, &own.prefix));
        let open = settings.as_ref().is_some_and(|placed| match placed.kind {
            EntryKind::Read(list) => list.iter().any(|one| matches!(one, Evidence::Environment { system: true, .. })),
            _ => false,
        });
        let added = image.config.variable("PYTHONPATH").unwrap_or_default().split(':');
        let added = added.map(|folder| folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty());
        Self {
            of_its_own: settings.is_some(),
            interpreter,
            open,
            added: added.collect(),
            by_file: by_file(tree.entries()),
        }
    }

    /// How early the interpreter looks into a folder; none where it does not, or is not known.
    fn rank(&self, site: &Site) -> Option<(u8, bool)> {
        let added = self.by_file.get(&site.folder).into_iter().flatten();
        let own = self.own_rank(site).map(|rank| (rank, false));
        own.into_iter().chain(added.filter_map(|by| Some((self.own_rank(by)?, true)))).min()
    }

    /// The same without the folders that files add.
    fn own_rank(&self, site: &Site) -> Option<u8> {
        if self.added.contains(&site.folder) {
            return Some(0);
        }
        let Interpreter { prefix: own, version } = self.interpreter.as_ref()?;
        if site.python.as_ref().zip(version.as_ref()).is_some_and(|(of, own)| of != own) {
            return None;
        }
        let own = own.as_str();
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
        let mut by_rank: BTreeMap<(u8, bool), Vec<&Site>> = BTreeMap::new();
        for site in sites {
            by_rank.entry(self.rank(site).unwrap_or((u8::MAX, true))).or_default().push(site);
        }
        by_rank.into_values().next().unwrap_or_default()
    }
}

/// The folders that files among packages add.
fn by_file<'a>(entries: impl Iterator<Item = Placed<'a>>) -> BTreeMap<String, Vec<Site>> {
    let mut found: BTreeMap<String, Vec<Site>> = BTreeMap::new();
    for placed in entries {
        let EntryKind::Read(list) = placed.kind else { continue };
        for one in list {
            if let Evidence::Folders(folders) = one
                && let Some(Place::Site(site)) = place(placed.path)
            {
                for folder in folders {
                    found.entry(folder.clone()).or_default().push(site.clone());
                }
            }
        }
    }
    found
}
