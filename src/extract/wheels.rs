//! Folders of wheels: what commands put there, and what installs take from there.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::context::matches;
use crate::dockerfile::Resolved;
use crate::extract::tree::absolute;
use crate::install;
use crate::install::Builds;
use crate::install::Folders;
use crate::install::Install;
use crate::install::Installs;
use crate::install::Manager;
use crate::install::Opened;
use crate::install::VariantSource;
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

/// What a command put into a folder whose lists were not all read.
const NOT_ALL: &str = "a command adds unknown files to it";

/// The wheels that `pip wheel` and `pip download` put into folders.
#[derive(Clone, Debug, Default)]
pub(super) struct Wheels(BTreeMap<String, Made>);

/// What commands put into one folder.
#[derive(Clone, Debug, Default)]
struct Made {
    wheels: Vec<Install>,
    /// Whether there may be more.
    open: bool,
}

/// The wheels of a folder with the names of their files, and why there may be more.
type Held = (Vec<(String, Install)>, Option<String>);

impl Wheels {
    /// Remembers what a command puts into a folder.
    pub(super) fn note(&mut self, found: &mut Installs, folder: &str, source: SourceId) {
        let Some((to, packages)) = found.gathered.take() else { return };
        let Some(to) = to.known().map(|to| absolute(folder, to)).filter(|_| self.0.len() < MOST) else { return };
        let own = packages.into_iter().map(|one| Install { source: Some(one.source.unwrap_or(source)), ..one });
        let made = self.0.entry(to).or_default();
        made.wheels.extend(own);
        made.open |= !found.files.is_empty() || !found.unresolved.is_empty();
    }

    /// The folders that a COPY brings from here to `destination`.
    pub(super) fn copied(&self, source: &str, destination: &str) -> Self {
        let whole = absolute("/", source);
        // Of a pattern, the folder counts that it is looked for in.
        let pattern = whole.rsplit_once('/').filter(|(_, name)| name.contains('*'));
        let from = pattern.map_or(whole.as_str(), |(folder, _)| folder).trim_end_matches('/');
        let to = absolute("/", destination);
        let moved = self.0.iter().filter_map(|(folder, made)| {
            let rest = folder.strip_prefix(from)?;
            let inside = rest.is_empty() || rest.starts_with('/');
            let named = |one: &Install| pattern.is_none_or(|(_, pattern)| is_of(pattern, &one.name));
            let wheels = made.wheels.iter().filter(|one| named(one)).cloned().collect();
            inside.then(|| (format!("{}{rest}", to.trim_end_matches('/')), Made { wheels, open: made.open }))
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
            let unknown = match self.at(place, span, (listed, knowledge)) {
                Ok((wheels, more)) => {
                    let meant = wheels.into_iter().filter(|one| matches(name, &one.0)).map(|(_, install)| install);
                    found.packages.extend(meant.map(|one| Install { conditional: command.conditional, ..one }));
                    more
                }
                Err(why) => Some(why),
            };
            if let Some(why) = unknown {
                let reason = not_known(place, &why);
                found.unresolved.push((Resolved::Unresolved { names: Vec::new(), reason }, span));
            }
        }
        let Folders { named, alone } = std::mem::take(&mut found.folders);
        let (mut wheels, mut unknown) = (Vec::new(), None);
        for link in named {
            let place = absolute(folder, &link);
            let more = match self.at(&place, command.span, (listed, knowledge)) {
                Ok((held, more)) => {
                    wheels.extend(held.into_iter().map(|(_, wheel)| wheel));
                    more
                }
                Err(why) => Some(why),
            };
            unknown = unknown.or_else(|| more.map(|why| not_known(&place, &why)));
        }
        for package in found.packages.iter_mut().filter(|package| package.manager == Manager::Pip) {
            choose(package, &wheels, (alone, unknown.as_deref()), knowledge);
        }
    }

    /// The wheels of a folder; of those that a command put there, names that patterns can tell apart.
    fn at(&self, folder: &str, span: Span, (listed, knowledge): Lister<'_>) -> Result<Held, String> {
        let opened = listed(folder);
        let made = self.0.get(folder);
        let wheel =
            |name: &str| Some((name.to_owned(), install::requirement(&format!("{folder}/{name}"), span, knowledge)?));
        let mut held: Vec<(String, Install)> = match (&opened, made) {
            (Ok(opened), _) => opened.text.text().lines().filter_map(wheel).collect(),
            (Err(why), None) => return Err(why.clone()),
            (Err(_), Some(_)) => Vec::new(),
        };
        let named = |one: &Install| (format!("{}-0-py3-none-any.whl", one.name.replace('-', "_")), one.clone());
        held.extend(made.iter().flat_map(|made| &made.wheels).map(named));
        Ok((held, made.filter(|made| made.open).map(|_| NOT_ALL.to_owned())))
    }
}

fn not_known(place: &str, why: &str) -> String {
    format!("the wheels in {place} are unknown: {why}")
}

/// Chooses the build of a package among the wheels of folders, where pip looks there `alone` or beside an index;
/// `unknown` says why there may be more wheels.
fn choose(package: &mut Install, wheels: &[Install], (alone, unknown): (bool, Option<&str>), knowledge: Knowledge) {
    let from = package.variant.as_ref().map(|variant| variant.from);
    let decided =
        matches!(from, Some(VariantSource::LocalVersion | VariantSource::WheelUrl | VariantSource::TorchBackend));
    if decided {
        return;
    }
    let own: Vec<&Install> = wheels.iter().filter(|wheel| wheel.name == package.name && goes(wheel, package)).collect();
    let cannot_tell = |package: &mut Install, why: &str| {
        package.variant = None;
        package.builds = Builds::Unknown(why.to_owned());
        if !matches!(package.version, VersionSpec::Exact(_)) {
            package.version = VersionSpec::Unresolved;
            package.untold = Some(why.to_owned());
        }
    };
    let same = |one: &&Install| {
        own.first().is_some_and(|first| {
            let tag = |install: &Install| install.variant.as_ref().map(|variant| variant.tag.clone());
            one.version == first.version && tag(one) == tag(first) && one.builds == first.builds
        })
    };
    match own.split_first() {
        None => {
            if let Some(why) = unknown.filter(|_| !matches!(package.builds, Builds::Elsewhere(_) | Builds::Unknown(_)))
            {
                cannot_tell(package, why);
            }
        }
        Some((wheel, _)) if own.iter().all(same) && (alone || (package.variant.is_none() && wins(wheel, package))) => {
            if package.variant.is_none() {
                package.version = wheel.version.clone();
                package.untold.clone_from(&wheel.untold);
                package.variant = wheel.variant.clone();
                package.builds = wheel.builds.clone();
            }
        }
        Some(_) if alone => {}
        Some(_) => {
            let ahead = own.iter().find(|wheel| package.variant.is_none() && may_win(wheel, package, knowledge));
            let why = ahead.map(|_| "a wheel directory takes precedence over the index for some packages");
            if let Some(why) = why.or(unknown) {
                cannot_tell(package, why);
            }
        }
    }
}

/// Whether a wheel of a package may have a name of a pattern, of which the part in front of the first star is looked at.
fn is_of(pattern: &str, package: &str) -> bool {
    let start = pattern.split('*').next().unwrap_or_default().to_ascii_lowercase();
    let name = format!("{}-", package.replace('-', "_"));
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
        (VersionSpec::Exact(asked), VersionSpec::Exact(own)) => {
            !asked.contains('+') && (own.contains('+') || wheel.variant.is_some())
        }
        _ => false,
    }
}

/// Whether a wheel may go before what an index has, as far as the tables know its releases.
fn may_win(wheel: &Install, asked: &Install, knowledge: Knowledge) -> bool {
    let range = match &asked.version {
        VersionSpec::Exact(_) => return wins(wheel, asked),
        VersionSpec::Range(range) => range.as_str(),
        VersionSpec::None => "",
        VersionSpec::Unresolved => return false,
    };
    let VersionSpec::Exact(own) = &wheel.version else { return false };
    let within = |version: &&str| range.is_empty() || install::admits(range, version) == Some(true);
    let served = knowledge.torch_served().map(|row| row.version).filter(|_| knowledge.is_built_framework(&asked.name));
    let mut releases = knowledge.releases_of(&asked.name).chain(served).filter(within);
    let newer = |release: &str| install::order(release, public(own)) == Some(Ordering::Greater);
    own.contains('+') && !releases.any(newer)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn folders_go_along_with_the_copy_that_holds_them() {
        let wheels = Wheels(BTreeMap::from([("/build/wheels".to_owned(), Made::default())]));
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
