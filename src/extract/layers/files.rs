//! Files of an image that its start may need, and the links that lead to them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::cuda::{COMPAT_ROOT, resolve_links, split_path};
use crate::elf::{ElfSummary, UninspectedElfPart};
use crate::extract::layers::LayerScan;
use crate::extract::layers::gpu_code::{FOREIGN_PLATFORM, NOT_ELF};
use crate::fact::{FactKey, FileKind, ObservedFile, PrintedValue};
use crate::installed::{FileEvidence, FileReadMode, file_read_mode};
use crate::knowledge::Knowledge;
use crate::layer;
use crate::layer::{EntryKind, ImageEntry, MergedLayers, SkipReason};

/// Files that identify the distribution and the search path of its loader.
const SYSTEM_FILES: [&str; 4] = ["/etc/debian_version", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nv_tegra_release"];
/// Maximum number of files that are kept. The largest known images have some hundreds; each takes up to two
/// kilobytes.
const MAX_FILES: usize = 2_000;
/// Prefixes of the file names of driver libraries.
const DRIVER_PREFIXES: [&str; 2] = ["libcuda.so", "libnvidia-"];

impl LayerScan<'_> {
    /// Records the files that the start may need; `asked` are libraries that files with GPU code need.
    pub(super) fn read_files(&mut self, asked: &BTreeSet<String>) {
        let tree = self.tree;
        let floor = self.first_complete_layer();
        let there = |placed: &ImageEntry<'_>| placed.layer >= floor;
        let mut chosen: BTreeSet<String> = tree
            .entries()
            .filter(there)
            .filter(|placed| is_start_file(placed.path, asked) || has_cuda_soname(*placed))
            .map(|one| one.path.to_owned())
            .take(MAX_FILES)
            .collect();
        if chosen.len() == MAX_FILES {
            self.seen.complete.files = false;
            self.notes.push(format!("at most {MAX_FILES} libraries and loader files are inspected"));
        }
        let mut roots: Vec<String> = vec![COMPAT_ROOT.to_owned()];
        roots.extend(
            Knowledge::built_in().tegra_capabilities().iter().filter_map(|row| row.compat_root).map(str::to_owned),
        );
        if let Some((Ok(path), _)) = self.seen.env.get("LD_LIBRARY_PATH") {
            roots.extend(path.split(':').filter(|folder| folder.starts_with('/')).map(str::to_owned));
        }
        for text in chosen.iter().filter_map(|path| text_content(tree.get(path)?)) {
            roots.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(str::to_owned));
        }
        let libraries: Vec<String> = chosen.iter().cloned().collect();
        let mut folders: BTreeSet<String> = BTreeSet::new();
        let mut links: BTreeSet<String> = BTreeSet::new();
        for path in libraries.iter().chain(&roots) {
            let mut folder = collect_links(tree, path, &mut links).unwrap_or_default();
            // What lies behind a library, whatever it is called.
            chosen.extend(tree.get(&folder).map(|end| end.path.to_owned()));
            while !folder.is_empty() && folders.insert(folder.clone()) {
                folder = split_path(&folder).0.to_owned();
            }
        }
        // Other names of the folders that such a file lies in.
        for placed in tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Link(_))) {
            if tree.resolve(placed.path).is_some_and(|behind| folders.contains(&behind)) {
                collect_links(tree, placed.path, &mut links);
            }
        }
        chosen.extend(links);
        for path in chosen {
            if let Some(placed) = tree.get(&path).filter(|placed| placed.layer >= floor) {
                self.record_file(placed);
            }
        }
    }

    /// Records one file with its kind.
    fn record_file(&mut self, placed: ImageEntry<'_>) {
        let (kind, value) = match placed.kind {
            EntryKind::Link(target) => (FileKind::Link(target.clone()), target.clone()),
            EntryKind::Elf(elf) => match &elf.note {
                Some(note) => (FileKind::Noted(note.clone()), "a library with a forward compatibility note".to_owned()),
                None if self.is_unloadable(placed) => (FileKind::NoLibrary, FOREIGN_PLATFORM.to_owned()),
                None => (FileKind::Present, presence_text(elf)),
            },
            EntryKind::Read(list) => {
                for one in list {
                    if let FileEvidence::NotInspected(why) = one {
                        self.seen.complete.files = false;
                        self.note_not_inspected(placed.path, why);
                    }
                }
                match text_content(placed) {
                    Some(text) => (FileKind::Text(text.to_owned()), text.to_owned()),
                    None => (FileKind::Present, "present".to_owned()),
                }
            }
            EntryKind::Present if self.is_unloadable(placed) => (FileKind::NoLibrary, NOT_ELF.to_owned()),
            EntryKind::Present | EntryKind::Hard(_) => (FileKind::Present, "present".to_owned()),
        };
        let fact = self.add_fact(FactKey::File, placed.path, PrintedValue::Text(value), placed);
        self.seen.files.insert(placed.path.to_owned(), ObservedFile { kind, fact });
    }

    /// Whether a file has the name of a library and no loader accepts it; driver libraries are exempt: the container
    /// toolkit mounts over them.
    pub(super) fn is_unloadable(&self, placed: ImageEntry<'_>) -> bool {
        let name = split_path(placed.path).1;
        if file_read_mode(placed.path) != FileReadMode::Elf
            || DRIVER_PREFIXES.iter().any(|driver| name.starts_with(driver))
        {
            return false;
        }
        match placed.kind {
            EntryKind::Elf(elf) => {
                elf.not_inspected.contains(&UninspectedElfPart::Foreign)
                    || self.elf_machine().is_some_and(|machine| machine != elf.machine)
            }
            // Whether it was looked into is told for the layer as a whole.
            EntryKind::Present => !self.tree.layers().iter().flat_map(|layer| &layer.missed).any(has_unread_files),
            EntryKind::Link(_) | EntryKind::Hard(_) | EntryKind::Read(_) => false,
        }
    }
}

/// Whether only the names of some files of a layer are known.
fn has_unread_files(missed: &layer::SkippedEntries) -> bool {
    matches!(missed.mark, SkipReason::Sparse | SkipReason::HardLink)
}

/// Returns the text of a file whose content was read as text.
fn text_content(placed: ImageEntry<'_>) -> Option<&str> {
    let EntryKind::Read(list) = placed.kind else { return None };
    list.iter().find_map(|one| match one {
        FileEvidence::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Adds the links that lead to a path to `links`, and returns the resolved path.
fn collect_links(tree: &MergedLayers, path: &str, links: &mut BTreeSet<String>) -> Option<String> {
    let met = RefCell::new(Vec::new());
    let behind = resolve_links(path, |path| match tree.get(path)?.kind {
        EntryKind::Link(target) => {
            met.borrow_mut().push(path.to_owned());
            Some(target.as_str())
        }
        _ => None,
    });
    links.extend(met.into_inner());
    behind
}

/// Whether the start may need the file at a path.
fn is_start_file(path: &str, asked: &BTreeSet<String>) -> bool {
    let (folder, name) = split_path(path);
    let versioned =
        |soname: &str| name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    SYSTEM_FILES.contains(&path)
        || (folder == "/etc/ld.so.conf.d" && name.strip_suffix(".conf").is_some())
        || DRIVER_PREFIXES.iter().any(|driver| name.starts_with(driver))
        || matches!(folder, "/lib/firmware/nvidia" | "/usr/lib/firmware/nvidia")
        || is_cuda_library(name)
        || asked.iter().any(|soname| versioned(soname))
}

/// Whether the soname of a library is in the knowledge tables, whatever its file name.
fn has_cuda_soname(placed: ImageEntry<'_>) -> bool {
    let EntryKind::Elf(elf) = placed.kind else { return false };
    elf.soname.as_deref().is_some_and(|soname| is_cuda_library(&without_hash(soname)))
}

/// Removes the hash that tools add to the libraries of wheels: `libcudart.so.11.0` of `libcudart-d0da41ae.so.11.0`.
fn without_hash(soname: &str) -> String {
    let plain = soname.split_once(".so").and_then(|(stem, version)| {
        let (name, sum) = stem.rsplit_once('-')?;
        let is_sum = sum.len() == 8 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_sum.then(|| format!("{name}.so{version}"))
    });
    plain.unwrap_or_else(|| soname.to_owned())
}

/// Returns a text for a library that is present, with its soname.
fn presence_text(elf: &ElfSummary) -> String {
    elf.soname.as_ref().map_or_else(|| "present".to_owned(), |soname| format!("present, soname {soname}"))
}

/// Whether a file name is that of a library in the knowledge tables.
pub(super) fn is_cuda_library(name: &str) -> bool {
    let Some((stem, _)) = name.split_once(".so") else { return false };
    let knowledge = Knowledge::built_in();
    let of = |soname: &str| soname.split_once(".so").is_some_and(|(own, _)| own == stem);
    knowledge.library_wheels().iter().any(|row| row.library == stem)
        || knowledge.driver_sonames().iter().any(|row| of(row.soname))
        || knowledge.library_parts().iter().any(|row| of(row.soname) || row.parts.iter().any(|part| of(part)))
        || knowledge.library_needs().iter().any(|row| row.needs.iter().chain(row.opens).any(|soname| of(soname)))
        || knowledge.library_packages().iter().any(|row| row.sonames.iter().any(|soname| of(soname)))
        || knowledge.toolkit_libraries().iter().any(|row| row.sonames.iter().any(|soname| of(soname)))
}
