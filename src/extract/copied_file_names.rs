//! Files that COPY instructions add to an image: the matches of a glob pattern, wheel names, possible file names.

use crate::dockerfile::context::{normalize_path, path_matches};
use crate::dockerfile::{CopyInstruction, RunInstruction};
use crate::extract::command_effects::PLAIN_EXTENSIONS;
use crate::extract::stage_files::{
    StageFileTree, absolute_path, copies_into_folder, copy_source_candidates, heredoc_name, strip_folder,
};

/// The largest number of files that a pattern may match.
const MAX_MATCHES: usize = 64;

impl StageFileTree<'_> {
    /// Returns the paths of the copied files that match a glob pattern of the image; `None` where they are unknown.
    pub(super) fn expand_glob(&self, run: &RunInstruction, pattern: &str) -> Option<Vec<String>> {
        let (folder, name) = pattern.rsplit_once('/')?;
        if folder.contains(['*', '?', '[']) {
            return None;
        }
        let names = |text: &str| text.lines().map(|name| format!("{folder}/{name}")).collect::<Vec<_>>();
        if let Some(mounted) = self.open_mounted(run, pattern) {
            return Some(names(mounted.ok()?.text.text()));
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let (into, names_folder) = copy_destination(copy)?;
            let near = strip_folder(folder, &into).is_some() || strip_folder(&into, folder).is_some();
            if near && (copy.from.is_some() || copy.parents) {
                return None;
            }
            for (source, _) in copy.sources.iter().filter(|_| near) {
                let source = source.known_text()?;
                let own = source.strip_prefix("<<").map(heredoc_name);
                let last = own.unwrap_or_else(|| source.rsplit('/').next().unwrap_or(source));
                let path = if names_folder { absolute_path(&into, last) } else { into.clone() };
                let is_one = !last.contains(['*', '?', '['])
                    && strip_folder(&path, folder) == path.rsplit('/').next()
                    && path_matches(pattern, &path);
                if is_one && (own.is_some() || self.shelf.open(&normalize_path(source)).is_ok()) {
                    found.push(path);
                }
                for candidate in copy_source_candidates(source, &into, pattern, names_folder) {
                    // Of a pattern in the COPY those count that are of both.
                    let listing = self.shelf.open(&normalize_path(&candidate));
                    found.extend(listing.iter().flat_map(|file| names(&file.text)));
                }
            }
            if found.len() > MAX_MATCHES {
                return None;
            }
        }
        found.retain(|path| path.rsplit('/').next().is_some_and(|own| path_matches(name, own)));
        Some(found)
    }

    /// Returns the names of the wheels in a folder; `None` where a COPY instruction may add others.
    pub(super) fn wheel_names(&self, run: &RunInstruction, folder: &str) -> Option<Vec<String>> {
        if self.open_mounted(run, &format!("{folder}/*")).is_some() {
            return None;
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let (into, _) = copy_destination(copy)?;
            if strip_folder(folder, &into).is_none() && strip_folder(&into, folder).is_none() {
                continue;
            }
            for (source, _) in &copy.sources {
                let source = source.known_text().filter(|_| !copy.parents)?;
                let name = source.rsplit('/').next().unwrap_or(source);
                let (_, ending) = name.rsplit_once('.')?;
                let plain =
                    !name.contains(['*', '?', '[', ':']) && (ending == "whl" || PLAIN_EXTENSIONS.contains(&ending));
                found.extend((plain && ending == "whl" && into == folder).then(|| name.to_owned()));
                plain.then_some(())?;
            }
            if found.len() > MAX_MATCHES {
                return None;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Whether a COPY from the build context may add a file of this name or pattern below `folder`, or anywhere
    /// without one.
    pub(super) fn may_copy_file(&self, run: &RunInstruction, folder: Option<&str>, name: &str) -> bool {
        let copies =
            self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction && copy.from.is_none());
        copies.filter_map(|copy| Some((copy, copy_destination(copy)?.0))).any(|(copy, into)| {
            let near = folder
                .is_none_or(|folder| strip_folder(folder, &into).is_some() || strip_folder(&into, folder).is_some());
            near && copy.sources.iter().filter_map(|(source, _)| source.known_text()).any(|source| {
                let last = source.strip_prefix("<<").map_or(source, heredoc_name);
                let last = last.rsplit('/').next().unwrap_or(last);
                let inside = || {
                    self.shelf
                        .open(&normalize_path(&format!("{source}/{name}")))
                        .is_ok_and(|file| !file.text.is_empty())
                };
                path_matches(name, last) || path_matches(last, name) || inside()
            })
        })
    }
}

/// Returns the destination path of a COPY, and whether it is a folder for the sources.
fn copy_destination(copy: &CopyInstruction) -> Option<(String, bool)> {
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known_text())?;
    Some((absolute_path(&copy.folder, destination), copies_into_folder(copy, destination)))
}
