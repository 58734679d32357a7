//! Which files a pattern stands for in the image, and whether a COPY may bring a file of a name.

use crate::context::matches;
use crate::context::normal;
use crate::dockerfile::CopyInstruction;
use crate::dockerfile::RunInstruction;
use crate::extract::closed::PLAIN;
use crate::extract::tree::Tree;
use crate::extract::tree::absolute;
use crate::extract::tree::below;
use crate::extract::tree::candidates;
use crate::extract::tree::ends_in_folder;
use crate::extract::tree::heredoc_name;

/// A pattern stands for no more files.
const MOST: usize = 64;

impl Tree<'_> {
    /// The paths of the files that a pattern of the image stands for, as COPY instructions bring them; `None` where one
    /// of them brings what cannot be told.
    pub(super) fn listed(&self, run: &RunInstruction, pattern: &str) -> Option<Vec<String>> {
        let (folder, name) = pattern.rsplit_once('/')?;
        if folder.contains(['*', '?', '[']) {
            return None;
        }
        let names = |text: &str| text.lines().map(|name| format!("{folder}/{name}")).collect::<Vec<_>>();
        if let Some(mounted) = self.mounted(run, pattern) {
            return Some(names(mounted.ok()?.text.text()));
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let (into, names_folder) = into(copy)?;
            let near = below(folder, &into).is_some() || below(&into, folder).is_some();
            if near && (copy.from.is_some() || copy.parents) {
                return None;
            }
            for (source, _) in copy.sources.iter().filter(|_| near) {
                let source = source.known()?;
                let own = source.strip_prefix("<<").map(heredoc_name);
                let last = own.unwrap_or_else(|| source.rsplit('/').next().unwrap_or(source));
                let path = if names_folder { absolute(&into, last) } else { into.clone() };
                let is_one = !last.contains(['*', '?', '['])
                    && below(&path, folder) == path.rsplit('/').next()
                    && matches(pattern, &path);
                if is_one && (own.is_some() || self.shelf.open(&normal(source)).is_ok()) {
                    found.push(path);
                }
                for candidate in candidates(source, &into, pattern, names_folder) {
                    // Of a pattern in the COPY those count that are of both.
                    let listing = self.shelf.open(&normal(&candidate));
                    found.extend(listing.iter().flat_map(|file| names(&file.text)));
                }
            }
            if found.len() > MOST {
                return None;
            }
        }
        found.retain(|path| path.rsplit('/').next().is_some_and(|own| matches(name, own)));
        Some(found)
    }

    /// The names of the wheels in a folder, where COPY instructions name each of them; `None` where one may bring others.
    pub(super) fn wheels(&self, run: &RunInstruction, folder: &str) -> Option<Vec<String>> {
        if self.mounted(run, &format!("{folder}/*")).is_some() {
            return None;
        }
        let mut found = Vec::new();
        for copy in self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction) {
            let (into, _) = into(copy)?;
            if below(folder, &into).is_none() && below(&into, folder).is_none() {
                continue;
            }
            for (source, _) in &copy.sources {
                let source = source.known().filter(|_| !copy.parents)?;
                let name = source.rsplit('/').next().unwrap_or(source);
                let (_, ending) = name.rsplit_once('.')?;
                let plain = !name.contains(['*', '?', '[', ':']) && (ending == "whl" || PLAIN.contains(&ending));
                found.extend((plain && ending == "whl" && into == folder).then(|| name.to_owned()));
                plain.then_some(())?;
            }
            if found.len() > MOST {
                return None;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Whether a COPY from the context may bring a file of a name, or of a pattern, into a folder or below it; into any
    /// folder where none is named.
    pub(super) fn may_bring(&self, run: &RunInstruction, folder: Option<&str>, name: &str) -> bool {
        let copies =
            self.evaluated.copies.iter().filter(|copy| copy.instruction < run.instruction && copy.from.is_none());
        copies.filter_map(|copy| Some((copy, into(copy)?.0))).any(|(copy, into)| {
            let near = folder.is_none_or(|folder| below(folder, &into).is_some() || below(&into, folder).is_some());
            near && copy.sources.iter().filter_map(|(source, _)| source.known()).any(|source| {
                let last = source.strip_prefix("<<").map_or(source, heredoc_name);
                let last = last.rsplit('/').next().unwrap_or(last);
                let inside =
                    || self.shelf.open(&normal(&format!("{source}/{name}"))).is_ok_and(|file| !file.text.is_empty());
                matches(name, last) || matches(last, name) || inside()
            })
        })
    }
}

/// Where a COPY puts its files, and whether that is a folder for them.
fn into(copy: &CopyInstruction) -> Option<(String, bool)> {
    let destination = copy.destination.as_ref().and_then(|(path, _)| path.known())?;
    Some((absolute(&copy.folder, destination), ends_in_folder(copy, destination)))
}
