//! The files of an image that the start-up asks for, and the links on the way to them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::cuda::COMPAT_ROOT;
use crate::cuda::resolve;
use crate::cuda::split_path;
use crate::elf::ElfSeen;
use crate::elf::Missed;
use crate::extract::layers::Audit;
use crate::extract::layers::code::FOREIGN;
use crate::extract::layers::code::NOT_ELF;
use crate::fact::FactKey;
use crate::fact::FileKind;
use crate::fact::FileSeen;
use crate::fact::Value;
use crate::installed::Evidence;
use crate::installed::Want;
use crate::installed::want;
use crate::knowledge::Knowledge;
use crate::layer;
use crate::layer::EntryKind;
use crate::layer::Mark;
use crate::layer::Placed;
use crate::layer::Tree;

/// Files that tell what system it is and where its loader looks.
const TOLD: [&str; 4] = ["/etc/debian_version", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nv_tegra_release"];
/// So many files are kept; the largest images known have some hundreds. Each takes a kilobyte as it is judged, and two
/// in the report.
const MOST_FILES: usize = 2_000;
/// How libraries of the driver begin.
const DRIVER: [&str; 2] = ["libcuda.so", "libnvidia-"];

impl Audit<'_> {
    /// Files that somebody may ask for; `asked` are libraries that files with GPU code do ask for.
    pub(super) fn files(&mut self, asked: &BTreeSet<String>) {
        let tree = self.tree;
        let floor = self.floor();
        let there = |placed: &Placed<'_>| placed.layer >= floor;
        let mut chosen: BTreeSet<String> = tree
            .entries()
            .filter(there)
            .filter(|placed| is_asked(placed.path, asked) || is_cuda_by_soname(*placed))
            .map(|one| one.path.to_owned())
            .take(MOST_FILES)
            .collect();
        if chosen.len() == MOST_FILES {
            self.seen.complete.files = false;
            self.notes.push(format!("at most {MOST_FILES} libraries and loader files are inspected"));
        }
        let mut roots: Vec<String> = vec![COMPAT_ROOT.to_owned()];
        roots.extend(
            Knowledge::built_in().tegra_capabilities().iter().filter_map(|row| row.compat_root).map(str::to_owned),
        );
        if let Some((Ok(path), _)) = self.seen.env.get("LD_LIBRARY_PATH") {
            roots.extend(path.split(':').filter(|folder| folder.starts_with('/')).map(str::to_owned));
        }
        for text in chosen.iter().filter_map(|path| text(tree.get(path)?)) {
            roots.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(str::to_owned));
        }
        let libraries: Vec<String> = chosen.iter().cloned().collect();
        let mut folders: BTreeSet<String> = BTreeSet::new();
        let mut links: BTreeSet<String> = BTreeSet::new();
        for path in libraries.iter().chain(&roots) {
            let mut folder = on_the_way(tree, path, &mut links).unwrap_or_default();
            // What lies behind a library, whatever it is called.
            chosen.extend(tree.get(&folder).map(|end| end.path.to_owned()));
            while !folder.is_empty() && folders.insert(folder.clone()) {
                folder = split_path(&folder).0.to_owned();
            }
        }
        // Other names of the folders that such a file lies in.
        for placed in tree.entries().filter(|placed| matches!(placed.kind, EntryKind::Link(_))) {
            if tree.resolve(placed.path).is_some_and(|behind| folders.contains(&behind)) {
                on_the_way(tree, placed.path, &mut links);
            }
        }
        chosen.extend(links);
        for path in chosen {
            if let Some(placed) = tree.get(&path).filter(|placed| placed.layer >= floor) {
                self.entry(placed);
            }
        }
    }

    fn entry(&mut self, placed: Placed<'_>) {
        let (kind, value) = match placed.kind {
            EntryKind::Link(target) => (FileKind::Link(target.clone()), target.clone()),
            EntryKind::Elf(elf) => match &elf.note {
                Some(note) => (FileKind::Noted(note.clone()), "a library with a forward compatibility note".to_owned()),
                None if self.is_no_library(placed) => (FileKind::NoLibrary, FOREIGN.to_owned()),
                None => (FileKind::Present, present(elf)),
            },
            EntryKind::Read(list) => {
                for one in list {
                    if let Evidence::NotInspected(why) = one {
                        self.seen.complete.files = false;
                        self.note(placed.path, why);
                    }
                }
                match text(placed) {
                    Some(text) => (FileKind::Text(text.to_owned()), text.to_owned()),
                    None => (FileKind::Present, "present".to_owned()),
                }
            }
            EntryKind::Present if self.is_no_library(placed) => (FileKind::NoLibrary, NOT_ELF.to_owned()),
            EntryKind::Present | EntryKind::Hard(_) => (FileKind::Present, "present".to_owned()),
        };
        let fact = self.fact(FactKey::File, placed.path, Value::Text(value), placed);
        self.seen.files.insert(placed.path.to_owned(), FileSeen { kind, fact });
    }

    /// Whether a file has the name of a library and no loader takes it for one. Of those of the driver the name alone counts:
    /// the container toolkit mounts over it.
    pub(super) fn is_no_library(&self, placed: Placed<'_>) -> bool {
        let name = split_path(placed.path).1;
        if want(placed.path) != Want::Elf || DRIVER.iter().any(|driver| name.starts_with(driver)) {
            return false;
        }
        match placed.kind {
            EntryKind::Elf(elf) => {
                elf.not_inspected.contains(&Missed::Foreign)
                    || self.machine().is_some_and(|machine| machine != elf.machine)
            }
            // Whether it was looked into is told for the layer as a whole.
            EntryKind::Present => !self.tree.layers().iter().flat_map(|layer| &layer.missed).any(is_unread),
            EntryKind::Link(_) | EntryKind::Hard(_) | EntryKind::Read(_) => false,
        }
    }
}

/// Whether files of a layer have a name and nothing else that is known of them.
fn is_unread(missed: &layer::Missed) -> bool {
    matches!(missed.mark, Mark::Sparse | Mark::HardLink)
}

fn text(placed: Placed<'_>) -> Option<&str> {
    let EntryKind::Read(list) = placed.kind else { return None };
    list.iter().find_map(|one| match one {
        Evidence::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Notes the links that lead to a path; gives what is behind them.
fn on_the_way(tree: &Tree, path: &str, links: &mut BTreeSet<String>) -> Option<String> {
    let met = RefCell::new(Vec::new());
    let behind = resolve(path, |path| match tree.get(path)?.kind {
        EntryKind::Link(target) => {
            met.borrow_mut().push(path.to_owned());
            Some(target.as_str())
        }
        _ => None,
    });
    links.extend(met.into_inner());
    behind
}

/// Whether the start-up may ask for a path.
fn is_asked(path: &str, asked: &BTreeSet<String>) -> bool {
    let (folder, name) = split_path(path);
    let versioned =
        |soname: &str| name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    TOLD.contains(&path)
        || (folder == "/etc/ld.so.conf.d" && name.strip_suffix(".conf").is_some())
        || DRIVER.iter().any(|driver| name.starts_with(driver))
        || matches!(folder, "/lib/firmware/nvidia" | "/usr/lib/firmware/nvidia")
        || is_cuda_library(name)
        || asked.iter().any(|soname| versioned(soname))
}

/// Whether a library calls itself one that the tables speak of, whatever its file is called.
fn is_cuda_by_soname(placed: Placed<'_>) -> bool {
    let EntryKind::Elf(elf) = placed.kind else { return false };
    elf.soname.as_deref().is_some_and(|soname| is_cuda_library(&without_sum(soname)))
}

/// `libcudart.so.11.0` of `libcudart-d0da41ae.so.11.0`, as tools call the libraries that they put into wheels.
fn without_sum(soname: &str) -> String {
    let plain = soname.split_once(".so").and_then(|(stem, version)| {
        let (name, sum) = stem.rsplit_once('-')?;
        let is_sum = sum.len() == 8 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_sum.then(|| format!("{name}.so{version}"))
    });
    plain.unwrap_or_else(|| soname.to_owned())
}

/// That a library is there, and how it calls itself.
fn present(elf: &ElfSeen) -> String {
    elf.soname.as_ref().map_or_else(|| "present".to_owned(), |soname| format!("present, soname {soname}"))
}

/// Whether a name is that of a library that the tables speak of.
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
