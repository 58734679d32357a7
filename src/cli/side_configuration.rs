//! Fleet and settings of one side of a comparison, from its revision or from the work tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::cli::args::JudgingArgs;
use crate::cli::error::CommandError;
use crate::cli::fleet_file;
use crate::cli::git::{GitRepository, GitRevision, RevisionSnapshot};
use crate::cli::settings::LoadedSettings;
use crate::fleet::Fleet;
use crate::fleet::settings::{MAX_EXTENDED_FILES, SETTINGS_FILES};
use crate::knowledge::Knowledge;
use crate::text::source::Sources;

/// Fleet and settings that one side of a comparison is judged with.
pub(crate) struct SideConfiguration {
    /// The files of the revision and its name; `None` for the work tree.
    pub(crate) snapshot: Option<(RevisionSnapshot, String)>,
    /// The options, completed by the settings of this side.
    pub(crate) judging: JudgingArgs,
    /// The fleet, with the path that its file would have in the work tree.
    pub(crate) fleet: Fleet,
    /// The display name of the fleet: `main:fleet.toml`.
    pub(crate) label: String,
}

impl SideConfiguration {
    /// Loads fleet and settings from the work tree, for files there and for images.
    pub(crate) fn from_work_tree(
        first: Option<&Path>,
        judging: &JudgingArgs,
        knowledge: Knowledge,
        sources: &mut Sources,
    ) -> Result<Self, CommandError> {
        let loaded = LoadedSettings::new(&judging.config, first, sources)?;
        let judging = loaded.merge_with_options(judging, sources)?;
        let named = judging.fleet.clone().or_else(fleet_file::fleet_file_from_environment);
        let fleet = fleet_file::load_fleet_file(named, first, knowledge, sources)?;
        Ok(Self { snapshot: None, judging, label: fleet.name.clone(), fleet })
    }

    /// Loads fleet and settings from a revision, for files of that revision.
    pub(crate) fn from_revision(
        (repository, revision): (&GitRepository, &GitRevision),
        (paths, context): (&[String], Option<&String>),
        judging: &JudgingArgs,
        knowledge: Knowledge,
        sources: &mut Sources,
    ) -> Result<Self, CommandError> {
        let input_paths: Vec<String> = paths.iter().chain(context).cloned().collect();
        let mut referenced: BTreeSet<String> = BTreeSet::new();
        let snapshot = loop {
            let files: Vec<String> = referenced.iter().cloned().collect();
            let snapshot = repository
                .extract_files(revision, &input_paths, &files)
                .map_err(|error| CommandError::Message(format!("error: {error}")))?;
            let named = paths_in_settings(&snapshot.folder, paths);
            let news: Vec<String> = named
                .into_iter()
                .filter(|path| !snapshot.folder.join(path).exists() && repository.contains(revision, path))
                .filter(|path| !referenced.contains(path))
                .collect();
            if news.is_empty() {
                break snapshot;
            }
            referenced.extend(news);
        };
        let shown = format!("{}:", revision.name);
        let folder = format!("{}/", snapshot.folder.display());
        let of_revision = |failure: CommandError| match failure {
            CommandError::Message(text) => CommandError::Message(text.replace(&folder, &shown)),
            other @ CommandError::Pipe => other,
        };
        let first = search_start(&snapshot.folder, paths);
        let loaded = LoadedSettings::new(&judging.config, Some(&first), sources).map_err(of_revision)?;
        let judging = loaded.merge_with_options(judging, sources).map_err(of_revision)?;
        let named = judging.fleet.clone().or_else(fleet_file::fleet_file_from_environment);
        let mut fleet = fleet_file::load_fleet_file(named, Some(&first), knowledge, sources).map_err(of_revision)?;
        let label = fleet.name.replace(&folder, &shown);
        if let Ok(below) = Path::new(&fleet.name).strip_prefix(&snapshot.folder) {
            fleet.name = repository.top.join(below).display().to_string();
        }
        Ok(Self { snapshot: Some((snapshot, revision.name.clone())), judging, fleet, label })
    }

    /// Replaces the fleet by the fleet of another side.
    pub(crate) fn use_fleet_of(&mut self, other: &Self) {
        (self.fleet, self.label) = (other.fleet.clone(), other.label.clone());
    }

    /// Checks the selected pools; a pool that only `other` has is allowed and then ignored on this side.
    pub(crate) fn select_pools(&mut self, other: &Fleet) -> Result<(), CommandError> {
        let has = |fleet: &Fleet, name: &String| fleet.pools.iter().any(|pool| pool.name.value == *name);
        let selected = &self.judging.pools;
        let lacks = selected.iter().any(|name| !has(&self.fleet, name));
        if !lacks || !selected.iter().all(|name| has(&self.fleet, name) || has(other, name)) {
            return fleet_file::check_selected_pools(&self.judging, &self.fleet);
        }
        let selected = std::mem::take(&mut self.judging.pools);
        self.fleet.pools.retain(|pool| selected.contains(&pool.name.value));
        Ok(())
    }
}

/// Returns the existing path from which the fleet and the settings of some paths are searched.
fn search_start(folder: &Path, paths: &[String]) -> PathBuf {
    let whole = folder.join(paths.first().map_or("", String::as_str));
    let there = whole.ancestors().take_while(|above| above.starts_with(folder)).find(|above| above.exists());
    there.unwrap_or(folder).to_path_buf()
}

/// Returns all quoted texts in settings files that may be paths, relative to the top folder.
fn paths_in_settings(folder: &Path, paths: &[String]) -> BTreeSet<String> {
    let first = search_start(folder, paths);
    let above = first.ancestors().take_while(|above| above.starts_with(folder));
    let mut files: Vec<PathBuf> =
        above.flat_map(|above| SETTINGS_FILES.iter().map(move |name| above.join(name))).collect();
    let mut found = BTreeSet::new();
    let mut at = 0;
    let most = files.len() + MAX_EXTENDED_FILES;
    while let Some(file) = files.get(at).cloned().filter(|_| at < most) {
        at += 1;
        let Some(text) = fs::read_to_string(&file).ok().filter(|_| file.is_file() && !file.is_symlink()) else {
            continue;
        };
        for word in text.split(['"', '\'']).filter(|word| !word.is_empty() && !word.contains('\n')) {
            let Some(path) = file.parent().and_then(|parent| relative_path(folder, &parent.join(word))) else {
                continue;
            };
            let whole = folder.join(&path);
            if path.rsplit_once('.').is_some_and(|(_, extension)| extension == "toml") && !files.contains(&whole) {
                files.push(whole);
            }
            found.insert(path);
        }
    }
    found
}

/// Returns a path relative to a folder without `.` and `..`, symbolic links not resolved; `None` if it is outside.
fn relative_path(folder: &Path, path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.strip_prefix(folder).ok()?.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}
