//! The Python environment of a container's program, among the several that an image may have.

use std::collections::BTreeMap;

use crate::extract::layers::interpreter;
use crate::extract::layers::interpreter::Interpreter;
use crate::layer::installed::{FileEvidence, PackageDirectory, RecordLocation, locate_record};
use crate::layer::{EntryKind, ImageEntry, MergedLayers};
use crate::registry::PulledImage;

/// The Python interpreter that the image starts, if known, with its search path.
pub(super) struct EntrypointPython {
    interpreter: Option<Interpreter>,
    /// Whether the interpreter belongs to a virtual environment.
    of_its_own: bool,
    /// Whether the virtual environment includes the system site-packages.
    open: bool,
    /// Folders that `PYTHONPATH` adds.
    added: Vec<String>,
    /// Folders that path files in site-packages add, each with the site-packages folders of those files.
    by_file: BTreeMap<String, Vec<PackageDirectory>>,
}

impl EntrypointPython {
    /// Finds the interpreter that the command line of the image leads to.
    pub(super) fn from_image(image: &PulledImage, tree: &MergedLayers) -> Self {
        let interpreter = interpreter::find_interpreter(&image.config, tree);
        let settings = interpreter.as_ref().and_then(|own| interpreter::venv_config(tree, &own.prefix));
        let open = settings.as_ref().is_some_and(|placed| match placed.kind {
            EntryKind::Read(list) => {
                list.iter().any(|one| matches!(one, FileEvidence::Environment { system: true, .. }))
            }
            _ => false,
        });
        let added = image.config.variable("PYTHONPATH").unwrap_or_default().split(':');
        let added = added.map(|folder| folder.trim_matches('/').to_owned()).filter(|folder| !folder.is_empty());
        Self {
            of_its_own: settings.is_some(),
            interpreter,
            open,
            added: added.collect(),
            by_file: folders_of_path_files(tree.entries()),
        }
    }

    /// Returns the position of a folder in the search path of the interpreter; `None` where it is not searched or
    /// unknown.
    fn search_rank(&self, site: &PackageDirectory) -> Option<(u8, bool)> {
        let added = self.by_file.get(&site.folder).into_iter().flatten();
        let own = self.rank_without_path_files(site).map(|rank| (rank, false));
        own.into_iter().chain(added.filter_map(|by| Some((self.rank_without_path_files(by)?, true)))).min()
    }

    /// Returns the position of a folder in the search path, without the folders that path files add.
    fn rank_without_path_files(&self, site: &PackageDirectory) -> Option<u8> {
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

    /// Returns those of several site-packages folders that the interpreter searches first; all of them where it
    /// searches none.
    pub(super) fn first_searched_sites<'a>(
        &self,
        sites: impl IntoIterator<Item = &'a PackageDirectory>,
    ) -> Vec<&'a PackageDirectory> {
        let mut by_rank: BTreeMap<(u8, bool), Vec<&PackageDirectory>> = BTreeMap::new();
        for site in sites {
            by_rank.entry(self.search_rank(site).unwrap_or((u8::MAX, true))).or_default().push(site);
        }
        by_rank.into_values().next().unwrap_or_default()
    }
}

/// Returns the folders that path files add, each with the site-packages folders of those files.
fn folders_of_path_files<'a>(entries: impl Iterator<Item = ImageEntry<'a>>) -> BTreeMap<String, Vec<PackageDirectory>> {
    let mut found: BTreeMap<String, Vec<PackageDirectory>> = BTreeMap::new();
    for placed in entries {
        let EntryKind::Read(list) = placed.kind else { continue };
        for one in list {
            if let FileEvidence::Folders(folders) = one
                && let Some(RecordLocation::Site(site)) = locate_record(placed.path)
            {
                for folder in folders {
                    found.entry(folder.clone()).or_default().push(site.clone());
                }
            }
        }
    }
    found
}
