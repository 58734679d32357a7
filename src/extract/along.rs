//! What installs bring along: packages with GPU code that nobody named.

use crate::fact::Observations;
use crate::install::Install;
use crate::install::Manager;
use crate::install::VersionSpec;
use crate::install::normalised;
use crate::install::public;
use crate::knowledge::Knowledge;

/// The packages with GPU code that the installs of one command bring along, save those that it names or that are
/// there already.
pub(super) fn along(named: &[Install], seen: &Observations, knowledge: Knowledge) -> Vec<Install> {
    let mut found = Vec::new();
    for install in named.iter().filter(|install| install.manager == Manager::Pip) {
        let extras: Vec<String> = install.extras.iter().map(|extra| normalised(extra)).collect();
        let of = match &install.version {
            VersionSpec::Exact(text) => public(text).parse().ok(),
            _ => None,
        };
        for row in knowledge.brought_by(&install.name, &extras).filter(|row| row.brings_with(of)) {
            let version = match &install.version {
                VersionSpec::Exact(text) if row.same => VersionSpec::Exact(public(text).to_owned()),
                VersionSpec::Unresolved if row.same => VersionSpec::Unresolved,
                _ => VersionSpec::None,
            };
            let exact = matches!(version, VersionSpec::Exact(_));
            let there = !exact && seen.packages.iter().any(|package| package.name == row.brings);
            if there || named.iter().any(|other| other.name == row.brings) {
                continue;
            }
            let (name, extras) = (row.brings.to_owned(), Vec::new());
            found.push(Install { name, version, extras, upgrade: false, variant: None, ..install.clone() });
        }
    }
    found
}
