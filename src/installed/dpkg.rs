//! The lists of installed packages that Debian's and Alpine's package managers keep as text.

use crate::installed::Evidence;
use crate::installed::MOST_PACKAGES;
use crate::installed::MOST_TEXT;
use crate::installed::Manager;
use crate::installed::Package;
use crate::installed::word;

/// States in which the files of a package are there, the last word of `Status`.
const UNPACKED: &[&str] = &["installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending"];

/// Debian's stanzas; `alone` where a file is the record of one package, without a state.
pub(super) fn status(text: &str, alone: bool) -> Vec<Evidence> {
    let mut list = List::default();
    let (mut name, mut version, mut there) = (None, None, alone);
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            if there {
                list.push(Manager::Dpkg, name, version);
            }
            (name, version, there) = (None, None, alone);
        } else if let Some((key, value)) = line.split_once(':') {
            match key {
                "Package" => name = word(value),
                "Version" => version = word(value),
                "Status" => there = value.split_whitespace().last().is_some_and(|state| UNPACKED.contains(&state)),
                _ => {}
            }
        }
    }
    list.done()
}

/// Alpine's: `P:` and `V:` begin the lines that name and version stand in.
pub(super) fn apk(text: &str) -> Vec<Evidence> {
    let mut list = List::default();
    let (mut name, mut version) = (None, None);
    for line in text.lines().chain([""]) {
        if line.trim().is_empty() {
            list.push(Manager::Apk, name.take(), version.take());
        } else if let Some(value) = line.strip_prefix("P:") {
            name = word(value);
        } else if let Some(value) = line.strip_prefix("V:") {
            version = word(value);
        }
    }
    list.done()
}

/// Packages up to a bound.
#[derive(Default)]
pub(super) struct List {
    found: Vec<Evidence>,
    /// Bytes of all names and versions.
    text: usize,
    beyond: bool,
}

impl List {
    pub(super) fn push(&mut self, manager: Manager, name: Option<String>, version: Option<String>) {
        let (Some(name), Some(version)) = (name, version) else { return };
        self.text = self.text.saturating_add(name.len() + version.len());
        if self.found.len() < MOST_PACKAGES && self.text <= MOST_TEXT {
            self.found.push(Evidence::Package(Package { manager, name, version, build: None }));
        } else {
            self.beyond = true;
        }
    }

    pub(super) fn done(mut self) -> Vec<Evidence> {
        if self.beyond {
            let first = self.found.len();
            self.found.extend(Evidence::missed(&format!("packages after the first {first} of a list")));
        }
        self.found.shrink_to_fit();
        self.found
    }
}
