//! Folders of wheels: what commands put there, and what installs take from there.

use std::collections::BTreeMap;

use crate::context::matches;
use crate::dockerfile::Resolved;
use crate::extract::tree::absolute;
use crate::install;
use crate::install::Builds;
use crate::install::Folders;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Opened;
use crate::install::VersionSpec;
use crate::install::public;
use crate::knowledge::Knowledge;
use crate::shell::Command;
use crate::source::SourceId;
use crate::source::Span;

/// What tells the names in a folder, with the tables.
type Lister<'a> = (&'a dyn Fn(&str) -> Result<Opened, String>, Knowledge);

/// No stage has more folders of wheels.
const MOST: usize = 64;

/// The wheels that `pip wheel` and `pip download` put into folders, or nothing where that cannot be told.
#[derive(Clone, Debug, Default)]
pub(super) struct Wheels(BTreeMap<String, Vec<Install>>);

impl Wheels {
    /// Remembers what a command puts into a folder.
    pub(super) fn note(&mut self, found: &mut Installs, folder: &str, source: SourceId) {
        let Some((to, packages)) = found.gathered.take() else { return };
        let Some(to) = to.known().map(|to| absolute(folder, to)).filter(|_| self.0.len() < MOST) else { return };
        let own = packages.into_iter().map(|one| Install { source: Some(one.source.unwrap_or(source)), ..one });
        self.0.entry(to).or_default().extend(own);
    }

    /// The folders that a COPY brings from here to `destination`.
    pub(super) fn copied(&self, source: &str, destination: &str) -> Self {
        let whole = absolute("/", source);
        // Of a pattern, the folder counts that it is looked for in.
        let pattern = whole.rsplit_once('/').filter(|(_, name)| name.contains('*'));
        let from = pattern.map_or(whole.as_str(), |(folder, _)| folder).trim_end_matches('/');
        let to = absolute("/", destination);
        let moved = self.0.iter().filter_map(|(folder, packages)| {
            let rest = folder.strip_prefix(from)?;
            let inside = rest.is_empty() || rest.starts_with('/');
            let named = |one: &Install| pattern.is_none_or(|(_, pattern)| is_of(pattern, &one.name));
            let packages = packages.iter().filter(|one| named(one)).cloned().collect();
            inside.then(|| (format!("{}{rest}", to.trim_end_matches('/')), packages))
        });
        Self(moved.collect())
    }

    /// Adds the folders of another stage.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Finds the wheels that a command takes from folders; what nobody can tell becomes a word that is not known.
    pub(super) fn installed(
        &self,
        found: &mut Installs,
        command: &Command,
        folder: &str,
        (listed, knowledge): Lister<'_>,
    ) {
        for (pattern, span) in std::mem::take(&mut found.wheels) {
            let path = absolute(folder, &pattern);
            let (place, name) = path.rsplit_once('/').unwrap_or(("", &path));
            match self.at(place, span, (listed, knowledge)) {
                Ok(wheels) => {
                    let meant = wheels.into_iter().filter(|one| matches(name, &one.0)).map(|(_, install)| install);
                    found.packages.extend(meant.map(|one| Install { conditional: command.conditional, ..one }));
                }
                Err(why) => {
                    let reason = format!("which wheels lie in {place} is not known: {why}");
                    found.unresolved.push((Resolved::Unresolved { names: Vec::new(), reason }, span));
                }
            }
        }
        let Folders { named, alone } = std::mem::take(&mut found.folders);
        for link in named {
            let Ok(wheels) = self.at(&absolute(folder, &link), command.span, (listed, knowledge)) else { continue };
            for package in found.packages.iter_mut().filter(|package| package.variant.is_none()) {
                let meant = |wheel: &Install| goes(wheel, package) && (alone || wins(wheel, package));
                let mut own = wheels.iter().filter(|(_, wheel)| wheel.name == package.name && meant(wheel));
                if let (Some((_, wheel)), None) = (own.next(), own.next()) {
                    package.version = wheel.version.clone();
                    package.untold.clone_from(&wheel.untold);
                    package.variant = wheel.variant.clone();
                    package.builds = wheel.builds.clone();
                }
            }
        }
    }

    /// The wheels of a folder with the names of their files; of those that a command put there, names that patterns
    /// can tell apart.
    fn at(&self, folder: &str, span: Span, (listed, knowledge): Lister<'_>) -> Result<Vec<(String, Install)>, String> {
        if let Some(made) = self.0.get(folder) {
            let named = |one: &Install| (format!("{}-0-py3-none-any.whl", one.name.replace('-', "_")), one.clone());
            return Ok(made.iter().map(named).collect());
        }
        let opened = listed(folder)?;
        let wheel =
            |name: &str| Some((name.to_owned(), install::requirement(&format!("{folder}/{name}"), span, knowledge)?));
        Ok(opened.text.text().lines().filter_map(wheel).collect())
    }
}

/// Whether a wheel of a package may have a name of a pattern, of which the part in front of the first star is looked at.
fn is_of(pattern: &str, package: &str) -> bool {
    let start = pattern.split('*').next().unwrap_or_default().replace('-', "_").to_ascii_lowercase();
    let name = format!("{}_", package.replace('-', "_"));
    name.starts_with(&start) || start.starts_with(&name)
}

/// Whether a wheel is of the version that is asked for.
fn goes(wheel: &Install, asked: &Install) -> bool {
    match (&asked.version, &wheel.version) {
        (VersionSpec::Exact(asked), VersionSpec::Exact(own)) => asked == own || asked == public(own),
        (VersionSpec::Range(range), VersionSpec::Exact(own)) => install::admits(range, own) != Some(false),
        (VersionSpec::None | VersionSpec::Unresolved, _) => true,
        _ => wheel.builds != Builds::Default,
    }
}

/// Whether a wheel goes before what an index has of the same version: pip takes a local version for a later one.
fn wins(wheel: &Install, asked: &Install) -> bool {
    match (&asked.version, &wheel.version) {
        (VersionSpec::Exact(asked), VersionSpec::Exact(own)) => !asked.contains('+') && own.contains('+'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn folders_go_along_with_the_copy_that_holds_them() {
        let wheels = Wheels(BTreeMap::from([("/build/wheels".to_owned(), Vec::new())]));
        for (source, destination, expected) in [
            ("/build/wheels", "/wheels", Some("/wheels")),
            ("/build/wheels/", "/w/", Some("/w")),
            ("/build", "/", Some("/wheels")),
            ("/build/wheels/*", "/w", Some("/w")),
            ("/build/wheels/*.whl", "/w/", Some("/w")),
            ("/", "/", Some("/build/wheels")),
            ("/build/wheel", "/w", None),
            ("/opt", "/opt", None),
            ("/build/wheels/x", "/w", None),
        ] {
            let copied = wheels.copied(source, destination);
            assert_eq!(copied.0.keys().next().map(String::as_str), expected, "{source} {destination}");
        }
    }
}
