//! Folders of wheels that commands fill and that later installs use.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::build::Command;
use crate::dockerfile::ExpandedText;
use crate::dockerfile::context::path_matches;
use crate::extract::stage_files::absolute_path;
use crate::install;
use crate::install::{FindLinksFolders, InstallEffects, OpenedFile, PackageInstall, VariantSource};
use crate::knowledge::{Knowledge, RowVersion};
use crate::model::cause::Cause;
use crate::model::package::{IndexSelection, PackageManager, PackageVersion};
use crate::text::source::{SourceId, Span};

/// A function that lists the file names in a folder, with the tables.
type WheelFolderLister<'a> = (&'a dyn Fn(&str) -> Result<OpenedFile, Cause>, Knowledge);

/// The largest number of wheel folders per stage.
const MAX_FOLDERS: usize = 64;

/// The wheels that `pip wheel` and `pip download` put into folders, by folder.
#[derive(Clone, Debug, Default)]
pub(super) struct WheelFolders(BTreeMap<String, WheelFolder>);

/// The wheels that commands put into one folder.
#[derive(Clone, Debug, Default)]
struct WheelFolder {
    wheels: Vec<PackageInstall>,
    /// Whether the folder may contain more wheels.
    open: bool,
}

/// The wheels of a folder with their file names, and why there may be more.
type NamedWheels = (Vec<(String, PackageInstall)>, Option<Cause>);

impl WheelFolders {
    /// Records the wheels that a command puts into a folder.
    pub(super) fn record_command(&mut self, found: &mut InstallEffects, folder: &str, source: SourceId) {
        let Some((to, packages)) = found.gathered.take() else { return };
        let Some(to) = to.known_text().map(|to| absolute_path(folder, to)).filter(|_| self.0.len() < MAX_FOLDERS)
        else {
            return;
        };
        let own = packages.into_iter().map(|one| PackageInstall { source: Some(one.source.unwrap_or(source)), ..one });
        let made = self.0.entry(to).or_default();
        made.wheels.extend(own);
        made.open |= !found.files.is_empty() || !found.unresolved.is_empty();
    }

    /// Returns the folders that a COPY from here adds at `destination`.
    pub(super) fn copied_to(&self, source: &str, destination: &str) -> Self {
        let whole = absolute_path("/", source);
        // Of a pattern, the folder counts that it is looked for in.
        let pattern = whole.rsplit_once('/').filter(|(_, name)| name.contains('*'));
        let from = pattern.map_or(whole.as_str(), |(folder, _)| folder).trim_end_matches('/');
        let to = absolute_path("/", destination);
        let moved = self.0.iter().filter_map(|(folder, made)| {
            let rest = folder.strip_prefix(from)?;
            let inside = rest.is_empty() || rest.starts_with('/');
            let named = |one: &PackageInstall| {
                pattern.is_none_or(|(_, pattern)| may_match_pattern(pattern, &one.requirement.name))
            };
            let wheels = made.wheels.iter().filter(|one| named(one)).cloned().collect();
            inside.then(|| (format!("{}{rest}", to.trim_end_matches('/')), WheelFolder { wheels, open: made.open }))
        });
        Self(moved.collect())
    }

    /// Adds the folders of another stage.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Resolves the wheels that a command installs from folders; unknown ones become unresolved arguments.
    pub(super) fn resolve_installs(
        &self,
        found: &mut InstallEffects,
        command: &Command,
        folder: &str,
        (listed, knowledge): WheelFolderLister<'_>,
    ) {
        for (pattern, span) in std::mem::take(&mut found.wheels) {
            let path = absolute_path(folder, &pattern);
            let (place, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let unknown = match self.wheels_in(place, span, (listed, knowledge)) {
                Ok((wheels, more)) => {
                    let matching =
                        wheels.into_iter().filter(|one| path_matches(name, &one.0)).map(|(_, install)| install);
                    found
                        .packages
                        .extend(matching.map(|one| PackageInstall { conditional: command.conditional, ..one }));
                    more
                }
                Err(why) => Some(why),
            };
            if let Some(why) = unknown {
                let reason = unknown_wheels_reason(place, why);
                found.unresolved.push((ExpandedText::unresolved(Vec::new(), reason), span));
            }
        }
        let FindLinksFolders { named, exclusive: no_index } = std::mem::take(&mut found.folders);
        let (mut wheels, mut unknown) = (Vec::new(), None);
        for link in named {
            let place = absolute_path(folder, &link);
            let more = match self.wheels_in(&place, command.span, (listed, knowledge)) {
                Ok((named_wheels, more)) => {
                    wheels.extend(named_wheels.into_iter().map(|(_, wheel)| wheel));
                    more
                }
                Err(why) => Some(why),
            };
            unknown = unknown.or_else(|| more.map(|why| unknown_wheels_reason(&place, why)));
        }
        for package in found.packages.iter_mut().filter(|package| package.requirement.manager == PackageManager::Pip) {
            choose_wheel(package, &wheels, (no_index, unknown.as_ref()), knowledge);
        }
    }

    /// Returns the wheels of a folder; those that commands put there have synthetic file names for pattern matching.
    fn wheels_in(
        &self,
        folder: &str,
        span: Span,
        (listed, knowledge): WheelFolderLister<'_>,
    ) -> Result<NamedWheels, Cause> {
        let opened = listed(folder);
        let made = self.0.get(folder);
        let wheel = |name: &str| {
            Some((name.to_owned(), install::parse_requirement(&format!("{folder}/{name}"), span, knowledge)?))
        };
        let mut named_wheels: Vec<(String, PackageInstall)> = match (&opened, made) {
            (Ok(opened), _) => opened.text.text().lines().filter_map(wheel).collect(),
            (Err(why), None) => return Err(why.clone()),
            (Err(_), Some(_)) => Vec::new(),
        };
        let named = |one: &PackageInstall| {
            (format!("{}-0-py3-none-any.whl", one.requirement.name.replace('-', "_")), one.clone())
        };
        named_wheels.extend(made.iter().flat_map(|made| &made.wheels).map(named));
        Ok((named_wheels, made.filter(|made| made.open).map(|_| Cause::UnknownFilesAdded)))
    }
}

/// Returns the reason for a folder whose wheels are unknown.
fn unknown_wheels_reason(place: &str, why: Cause) -> Cause {
    Cause::WheelsNotKnown { directory: place.to_owned(), because: Box::new(why) }
}

/// Chooses the build of a package among wheels of folders; `alone` excludes the index, `unknown` is the reason that
/// more wheels may exist.
fn choose_wheel(
    package: &mut PackageInstall,
    wheels: &[PackageInstall],
    (no_index, unknown): (bool, Option<&Cause>),
    knowledge: Knowledge,
) {
    let from = package.variant.as_ref().map(|variant| variant.from);
    let decided =
        matches!(from, Some(VariantSource::LocalVersion | VariantSource::WheelUrl | VariantSource::TorchBackend));
    if decided {
        return;
    }
    let own: Vec<&PackageInstall> = wheels
        .iter()
        .filter(|wheel| wheel.requirement.name == package.requirement.name && satisfies_requirement(wheel, package))
        .collect();
    let cannot_tell = |package: &mut PackageInstall, why: &Cause| {
        package.variant = None;
        package.requirement.indexes = IndexSelection::Unknown(why.clone());
        if !package.requirement.version.is_exact() {
            package.requirement.version = PackageVersion::Unresolved(why.clone());
        }
    };
    let same = |one: &&PackageInstall| {
        own.first().is_some_and(|first| {
            let tag = |install: &PackageInstall| install.variant.as_ref().map(|variant| variant.tag.clone());
            one.requirement.version == first.requirement.version
                && tag(one) == tag(first)
                && one.requirement.indexes == first.requirement.indexes
        })
    };
    match own.split_first() {
        None => {
            if let Some(why) = unknown.filter(|_| !matches!(package.requirement.indexes, IndexSelection::Unknown(_))) {
                cannot_tell(package, why);
            }
        }
        Some((wheel, _))
            if own.iter().all(same) && (no_index || (package.variant.is_none() && precedes_index(wheel, package))) =>
        {
            if package.variant.is_none() {
                package.requirement.version = wheel.requirement.version.clone();
                package.variant = wheel.variant.clone();
                package.requirement.indexes = wheel.requirement.indexes.clone();
            }
        }
        Some(_) if no_index => {}
        Some(_) => {
            let ahead =
                own.iter().find(|wheel| package.variant.is_none() && may_precede_index(wheel, package, knowledge));
            let why = ahead.map(|_| &Cause::WheelDirectoryFirst);
            if let Some(why) = why.or(unknown) {
                cannot_tell(package, why);
            }
        }
    }
}

/// Whether a wheel of a package may match a file name pattern, up to its first star.
fn may_match_pattern(pattern: &str, package: &str) -> bool {
    let start = pattern.split('*').next().unwrap_or_default().to_ascii_lowercase();
    let name = format!("{}-", package.replace('-', "_"));
    name.starts_with(&start) || start.starts_with(&name)
}

/// Whether a wheel satisfies the required version.
fn satisfies_requirement(wheel: &PackageInstall, requirement: &PackageInstall) -> bool {
    match (&requirement.requirement.version, &wheel.requirement.version) {
        (PackageVersion::Exact(requested), PackageVersion::Exact(own)) => {
            requested == own || requested.as_str() == own.public()
        }
        (PackageVersion::Range(range), _) if range.is_any() => true,
        (PackageVersion::Range(range), PackageVersion::Exact(own)) => range.contains(own) != Some(false),
        (PackageVersion::Unresolved(_), _) => true,
        _ => wheel.requirement.indexes != IndexSelection::Default,
    }
}

/// Whether pip prefers a wheel to the same version on an index: a local version counts as later.
fn precedes_index(wheel: &PackageInstall, requirement: &PackageInstall) -> bool {
    match (&requirement.requirement.version, &wheel.requirement.version) {
        (PackageVersion::Exact(requested), PackageVersion::Exact(own)) => {
            requested.local().is_none() && (own.local().is_some() || wheel.variant.is_some())
        }
        _ => false,
    }
}

/// Whether pip may prefer a wheel to the releases of an index, as far as the tables list them.
fn may_precede_index(wheel: &PackageInstall, requirement: &PackageInstall, knowledge: Knowledge) -> bool {
    let range = match &requirement.requirement.version {
        PackageVersion::Exact(_) => return precedes_index(wheel, requirement),
        PackageVersion::Range(range) => range,
        PackageVersion::Unresolved(_) => return false,
    };
    let PackageVersion::Exact(own) = &wheel.requirement.version else { return false };
    let within = |version: &RowVersion| range.admits(version);
    let served = knowledge
        .served_torch_releases()
        .map(|row| row.version)
        .filter(|_| knowledge.has_variants(&requirement.requirement.name));
    let mut releases = knowledge.known_releases(&requirement.requirement.name).chain(served).filter(within);
    let public = own.without_local();
    let newer = |release: RowVersion| public.compare_valid(release) == Some(Ordering::Less);
    own.local().is_some() && !releases.any(newer)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn folders_are_copied_with_the_source_that_contains_them() {
        let wheels = WheelFolders(BTreeMap::from([("/build/wheels".to_owned(), WheelFolder::default())]));
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
            let copied = wheels.copied_to(source, destination);
            assert_eq!(copied.0.keys().next().map(String::as_str), expected, "{source} {destination}");
        }
    }
}
