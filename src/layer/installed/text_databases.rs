//! Reads the text databases of installed packages of dpkg and apk.

use crate::layer::installed::{FileEvidence, MAX_PACKAGE_TEXT, MAX_PACKAGES, clean_value};
use crate::model::package::{Distribution, PackageManager};

/// States, the last word of `Status`, in which the files of a package are present.
const UNPACKED_STATES: &[&str] = &["installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending"];

/// Reads the stanzas of a dpkg status file; `alone` for the record of a single package, which has no state.
pub(super) fn read_dpkg_status(text: &str, single_package: bool) -> Vec<FileEvidence> {
    let mut list = PackageList::default();
    let (mut name, mut version, mut there) = (None, None, single_package);
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            if there {
                list.push(name, version);
            }
            (name, version, there) = (None, None, single_package);
        } else if let Some((key, value)) = line.split_once(':') {
            match key {
                "Package" => name = clean_value(value),
                "Version" => version = clean_value(value),
                "Status" => {
                    there = value.split_whitespace().last().is_some_and(|state| UNPACKED_STATES.contains(&state));
                }
                _ => {}
            }
        }
    }
    list.finish()
}

/// Reads the apk database, in which `P:` and `V:` start the lines with name and version.
pub(super) fn read_apk_database(text: &str) -> Vec<FileEvidence> {
    let mut list = PackageList::default();
    let (mut name, mut version) = (None, None);
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            list.push(name.take(), version.take());
        } else if let Some(value) = line.strip_prefix("P:") {
            name = clean_value(value);
        } else if let Some(value) = line.strip_prefix("V:") {
            version = clean_value(value);
        }
    }
    list.finish()
}

/// A list of packages of the system with a size limit.
#[derive(Default)]
pub(super) struct PackageList {
    found: Vec<FileEvidence>,
    /// Bytes of all names and versions.
    text: usize,
    beyond: bool,
}

impl PackageList {
    /// Adds a package with a name and a version, unless the limit is reached.
    pub(super) fn push(&mut self, name: Option<String>, version: Option<String>) {
        let (Some(name), Some(version)) = (name, version) else { return };
        self.text = self.text.saturating_add(name.len() + version.len());
        if self.found.len() < MAX_PACKAGES && self.text <= MAX_PACKAGE_TEXT {
            self.found.push(FileEvidence::Package(Distribution::new(PackageManager::System, &name, &version)));
        } else {
            self.beyond = true;
        }
    }

    /// Returns the packages, with a note if some exceeded the limit.
    pub(super) fn finish(mut self) -> Vec<FileEvidence> {
        if self.beyond {
            let first = self.found.len();
            self.found.extend(FileEvidence::not_inspected(&format!("packages after the first {first} of a list")));
        }
        self.found.shrink_to_fit();
        self.found
    }
}
