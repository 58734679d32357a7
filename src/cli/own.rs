//! What one side of a comparison is judged against: the fleet and the settings of its revision, or of the work tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::cli::Failure;
use crate::cli::args::JudgingArgs;
use crate::cli::fleet;
use crate::cli::git::Repository;
use crate::cli::git::Revision;
use crate::cli::git::Snapshot;
use crate::cli::settings::Loaded;
use crate::fleet::Fleet;
use crate::knowledge::Knowledge;
use crate::settings::FILES;
use crate::settings::MOST_EXTENDED;
use crate::source::Sources;

/// The fleet and the settings of one side.
pub(crate) struct Own {
    /// The files of its revision; none for the work tree.
    pub(crate) snapshot: Option<(Snapshot, String)>,
    /// The options with its settings below them.
    pub(crate) judging: JudgingArgs,
    /// Its fleet, named as if its file were in the work tree.
    pub(crate) fleet: Fleet,
    /// The fleet as people read it: `main:fleet.toml`.
    pub(crate) label: String,
}

impl Own {
    /// Of files in the work tree, and of images.
    pub(crate) fn here(
        first: Option<&Path>,
        judging: &JudgingArgs,
        knowledge: Knowledge,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let loaded = Loaded::new(&judging.config, first, sources)?;
        let judging = loaded.under(judging, sources)?;
        let named = judging.fleet.clone().or_else(fleet::from_environment);
        let fleet = fleet::of_file(named, first, knowledge, sources)?;
        Ok(Self { snapshot: None, judging, label: fleet.name.clone(), fleet })
    }

    /// Of files of a revision.
    pub(crate) fn of_revision(
        (repository, revision): (&Repository, &Revision),
        (paths, context): (&[String], Option<&String>),
        judging: &JudgingArgs,
        knowledge: Knowledge,
        sources: &mut Sources,
    ) -> Result<Self, Failure> {
        let taken: Vec<String> = paths.iter().chain(context).cloned().collect();
        let mut beside: BTreeSet<String> = BTreeSet::new();
        let snapshot = loop {
            let files: Vec<String> = beside.iter().cloned().collect();
            let snapshot =
                repository.take(revision, &taken, &files).map_err(|error| Failure::Said(format!("error: {error}")))?;
            let named = named_by_settings(&snapshot.folder, paths);
            let news: Vec<String> = named
                .into_iter()
                .filter(|path| !snapshot.folder.join(path).exists() && repository.has(revision, path))
                .filter(|path| !beside.contains(path))
                .collect();
            if news.is_empty() {
                break snapshot;
            }
            beside.extend(news);
        };
        let shown = format!("{}:", revision.name);
        let folder = format!("{}/", snapshot.folder.display());
        let of_revision = |failure: Failure| match failure {
            Failure::Said(text) => Failure::Said(text.replace(&folder, &shown)),
            other @ Failure::Pipe => other,
        };
        let first = start(&snapshot.folder, paths);
        let loaded = Loaded::new(&judging.config, Some(&first), sources).map_err(of_revision)?;
        let judging = loaded.under(judging, sources).map_err(of_revision)?;
        let named = judging.fleet.clone().or_else(fleet::from_environment);
        let mut fleet = fleet::of_file(named, Some(&first), knowledge, sources).map_err(of_revision)?;
        let label = fleet.name.replace(&folder, &shown);
        if let Ok(below) = Path::new(&fleet.name).strip_prefix(&snapshot.folder) {
            fleet.name = repository.top.join(below).display().to_string();
        }
        Ok(Self { snapshot: Some((snapshot, revision.name.clone())), judging, fleet, label })
    }

    /// Takes the fleet of another side.
    pub(crate) fn share(&mut self, other: &Self) {
        (self.fleet, self.label) = (other.fleet.clone(), other.label.clone());
    }

    /// Leaves the pools out that the command line does not ask for, when this side lacks one of those that it does.
    pub(crate) fn ask(&mut self, other: &Fleet) -> Result<(), Failure> {
        let has = |fleet: &Fleet, name: &String| fleet.pools.iter().any(|pool| pool.name.value == *name);
        let asked = &self.judging.pools;
        let lacks = asked.iter().any(|name| !has(&self.fleet, name));
        if !lacks || !asked.iter().all(|name| has(&self.fleet, name) || has(other, name)) {
            return fleet::asked(&self.judging, &self.fleet);
        }
        let asked = std::mem::take(&mut self.judging.pools);
        self.fleet.pools.retain(|pool| asked.contains(&pool.name.value));
        Ok(())
    }
}

/// The place from which the fleet and the settings of some paths are searched.
fn start(folder: &Path, paths: &[String]) -> PathBuf {
    let whole = folder.join(paths.first().map_or("", String::as_str));
    let there = whole.ancestors().take_while(|above| above.starts_with(folder)).find(|above| above.exists());
    there.unwrap_or(folder).to_path_buf()
}

/// What settings files name, as paths from the top: every text in quotes that may be one.
fn named_by_settings(folder: &Path, paths: &[String]) -> BTreeSet<String> {
    let first = start(folder, paths);
    let above = first.ancestors().take_while(|above| above.starts_with(folder));
    let mut files: Vec<PathBuf> = above.flat_map(|above| FILES.iter().map(move |name| above.join(name))).collect();
    let mut found = BTreeSet::new();
    let mut at = 0;
    let most = files.len() + MOST_EXTENDED;
    while let Some(file) = files.get(at).cloned().filter(|_| at < most) {
        at += 1;
        let Some(text) = fs::read_to_string(&file).ok().filter(|_| file.is_file() && !file.is_symlink()) else {
            continue;
        };
        for word in text.split(['"', '\'']).filter(|word| !word.is_empty() && !word.contains('\n')) {
            let Some(path) = file.parent().and_then(|parent| below(folder, &parent.join(word))) else { continue };
            let whole = folder.join(&path);
            if path.rsplit_once('.').is_some_and(|(_, extension)| extension == "toml") && !files.contains(&whole) {
                files.push(whole);
            }
            found.insert(path);
        }
    }
    found
}

/// A path below a folder, its parts as written.
fn below(folder: &Path, path: &Path) -> Option<String> {
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
