//! GPU code in the files of an image, the libraries that these files need, and the links that lead to them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::cuda::{COMPAT_ROOT, CodeTarget, resolve_links, split_path};
use crate::extract::layers::entrypoint_python::EntrypointPython;
use crate::extract::layers::file_owner::{FileOwner, owner_of_file};
use crate::extract::layers::layer_scan::{LayerScan, incomplete_reason};
use crate::knowledge::Knowledge;
use crate::layer;
use crate::layer::elf::{CodeSection, ElfSummary, UninspectedElfPart};
use crate::layer::installed::{FileEvidence, FileReadMode, PackageDirectory, file_read_mode};
use crate::layer::{EntryKind, ImageEntry, MergedLayers, SkipReason};
use crate::model::cause::Cause;
use crate::model::fact::{
    Evidence, FactKey, FileKind, ObservedFile, ObservedGpuCode, ObservedLibraryDependencies, PrintedValue,
    UnknownCodeKind, ValueState,
};

/// Value of `e_machine` in ELF files by platform architecture.
const PLATFORM_MACHINES: [(&str, u16); 2] = [("amd64", 62), ("arm64", 183)];

/// Maximum number of unreadable libraries that are named in notes.
const MAX_UNREADABLE: usize = 4;

/// Note for a file that is not an ELF file of the platform of the image.
const FOREIGN_PLATFORM: &str = "it is not an ELF file for the platform of the image";
/// Note for a file that could not be read as an ELF file.
const NOT_ELF: &str = "it could not be read as an ELF file";

/// Prefix of the soname of the CUDA runtime library, before its version.
const CUDART_PREFIX: &str = "libcudart.so.";

/// SASS and PTX targets of a container.
type ContainerTargets = (Vec<CodeTarget>, Vec<CodeTarget>);

/// A file with GPU code.
struct GpuCodeFile<'a> {
    placed: ImageEntry<'a>,
    elf: &'a ElfSummary,
    site: Option<String>,
    code: BTreeMap<ContainerTargets, usize>,
}

impl LayerScan<'_> {
    /// Records the files with GPU code by component, and returns the libraries that they need.
    pub(super) fn read_gpu_code(&mut self, python: &EntrypointPython) -> BTreeSet<String> {
        let (tree, knowledge) = (self.tree, Knowledge::built_in());
        let machine = self.elf_machine();
        let mut found: BTreeMap<Option<String>, Vec<GpuCodeFile<'_>>> = BTreeMap::new();
        let mut open: BTreeSet<Option<String>> = BTreeSet::new();
        let mut odd: Vec<(&str, &str)> = Vec::new();
        let mut unread: Vec<(Option<String>, ImageEntry<'_>, &ElfSummary)> = Vec::new();
        let floor = self.first_complete_layer();
        let linked = linked_libraries(tree);
        for placed in tree.entries().filter(|placed| placed.layer >= floor) {
            let EntryKind::Elf(elf) = placed.kind else {
                odd.extend(unreadable_library(placed, knowledge));
                continue;
            };
            if elf.not_inspected.contains(&UninspectedElfPart::Foreign)
                || machine.is_some_and(|machine| machine != elf.machine)
            {
                odd.extend(relevant_component(placed.path, knowledge).map(|_| (placed.path, FOREIGN_PLATFORM)));
                continue;
            }
            if file_read_mode(placed.path) == FileReadMode::Nothing && !linked.contains(placed.path) {
                continue;
            }
            let code = registered_code(elf);
            let whole = is_fully_known(elf, &code);
            if whole && code.is_empty() {
                continue;
            }
            let (component, site) = match owner_of_file(placed.path, knowledge) {
                FileOwner::Cuda | FileOwner::ToolCache => continue,
                FileOwner::Component { name, site } => (Some(name), site),
                FileOwner::Image => (None, None),
            };
            if !whole {
                self.seen.complete.code = false;
                let decides = component
                    .as_deref()
                    .is_none_or(|component| knowledge.is_required_code_library(component, placed.path).unwrap_or(true));
                let instead = component.as_deref().filter(|_| decides).map_or_else(String::new, |component| {
                    format!(
                        "; the code of {component} is taken from the compatibility database, if its build is \
                        there"
                    )
                });
                self.note_not_inspected(placed.path, &format!("{}{instead}", partial_code_reason(elf)));
                if decides {
                    open.insert(component.clone());
                    unread.extend(has_gpu_code(elf).then_some((component.clone(), placed, elf.as_ref())));
                }
            }
            if !code.is_empty() {
                found.entry(component).or_default().push(GpuCodeFile { placed, elf, site, code });
            }
        }
        self.note_unreadable(&odd);
        for (component, placed, elf) in unread {
            self.record_partial_code(component, placed, elf);
        }
        // Of a component that was read in part, what was read is not all that counts.
        found.retain(|component, _| !open.contains(component));
        let mut needed_libraries = BTreeSet::new();
        for (component, mut files) in found {
            retain_active_environments(&mut files, python);
            if component
                .as_ref()
                .and_then(|name| self.several.get(name))
                .is_some_and(|all| !has_code_in_all(&files, all))
            {
                continue;
            }
            let by_all =
                component.as_deref().map(|component| self.libraries_needed_by_all(component, &files, knowledge));
            for file in files {
                self.record_code_file(component.as_deref(), file, by_all.as_ref(), &mut needed_libraries);
            }
        }
        needed_libraries
    }

    /// Returns the `e_machine` of the programs of the image, if its platform is a supported one.
    fn elf_machine(&self) -> Option<u16> {
        let arch = &self.image.config.platform.architecture;
        PLATFORM_MACHINES.iter().find(|(name, _)| name == arch).map(|(_, machine)| *machine)
    }

    /// Notes the libraries that are relevant and cannot be read, the first ones by name.
    fn note_unreadable(&mut self, odd: &[(&str, &str)]) {
        for (path, why) in odd.iter().take(MAX_UNREADABLE) {
            self.note_not_inspected(path, why);
        }
        if let Some(more @ 1..) = odd.len().checked_sub(MAX_UNREADABLE) {
            self.notes.push(
                format!(
                    "{more} more libraries were not inspected: they are not readable on this \
                platform"
                )
                .into(),
            );
        }
    }

    /// Records a file whose GPU code could not be read completely.
    fn record_partial_code(&mut self, component: Option<String>, placed: ImageEntry<'_>, elf: &ElfSummary) {
        let file = placed.path.to_owned();
        let why = Cause::CodePartlyRead { file: file.clone(), detail: partial_code_reason(elf).clone() };
        let evidence = Evidence::Leaf(vec![self.layer_origin(placed.layer, placed.path)]);
        let fact = self.seen.facts.add(FactKey::Code, Some(&file), ValueState::Unknown(why), evidence);
        let (sass, ptx, linkable, isa) = (Vec::new(), Vec::new(), Vec::new(), None);
        let (unknown_kind, runtime) = (Some(UnknownCodeKind::Unread), needed_cudart(elf));
        self.seen.code.push(ObservedGpuCode {
            file,
            component,
            sass,
            ptx,
            linkable,
            isa,
            count: 1,
            unknown_kind,
            runtime,
            fact,
        });
    }

    /// Whether a needed library is in the knowledge tables, and a file does not find it on a search path of its own.
    fn is_unresolved_library(&self, elf: &ElfSummary, path: &str, name: &str) -> bool {
        is_cuda_library(name) && !self.finds_on_run_path(elf, path, name)
    }

    /// Whether a file finds a library on the search path that is written in it.
    fn finds_on_run_path(&self, elf: &ElfSummary, path: &str, name: &str) -> bool {
        let tree = self.tree;
        let origin = split_path(path).0;
        let list = elf.runpath.as_deref().or(elf.rpath.as_deref()).unwrap_or_default();
        list.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
            let folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
            let end = tree.resolve(&format!("{folder}/{name}"));
            end.and_then(|path| tree.get(&path)).is_some_and(|placed| !self.is_unloadable(placed))
        })
    }

    /// Returns the libraries that a component needs when imported: those that each of its files with GPU code needs
    /// and does not find.
    fn libraries_needed_by_all(
        &self,
        component: &str,
        files: &[GpuCodeFile<'_>],
        knowledge: Knowledge,
    ) -> BTreeSet<String> {
        if knowledge.is_required_code_library(component, "").is_some() || !knowledge.import_loads_gpu_code(component) {
            return BTreeSet::new();
        }
        let unmet = |file: &GpuCodeFile<'_>| -> BTreeSet<String> {
            let outside = |name: &&String| self.is_unresolved_library(file.elf, file.placed.path, name);
            let needed = file.elf.needed.iter().filter(outside);
            needed.filter(|name| knowledge.driver_soname(name).is_none()).cloned().collect()
        };
        let mut by_all = files.iter().map(unmet).reduce(|one, other| &one & &other).unwrap_or_default();
        if !by_all.is_empty() {
            // One that is loaded already answers by what it calls itself.
            let called = self.tree.entries().filter_map(|placed| match placed.kind {
                EntryKind::Elf(elf) => elf.soname.as_ref().filter(|name| !split_path(placed.path).1.starts_with(*name)),
                _ => None,
            });
            let called: BTreeSet<&String> = called.collect();
            by_all.retain(|name| !called.contains(name));
        }
        by_all
    }

    /// Records the GPU code and the needed libraries of a file; `by_all` is what all files of its component need.
    fn record_code_file(
        &mut self,
        component: Option<&str>,
        file: GpuCodeFile<'_>,
        by_all: Option<&BTreeSet<String>>,
        needed_libraries: &mut BTreeSet<String>,
    ) {
        let GpuCodeFile { placed, elf, code, .. } = file;
        let path = placed.path;
        let mut words: Vec<String> = Vec::new();
        for (sass, ptx) in code.keys() {
            let sass = sass.iter().map(|target| format!("sm_{}", target.number()));
            for word in sass.chain(ptx.iter().map(|target| format!("compute_{}", target.number()))) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        let fact = self.add_fact(FactKey::Code, path, PrintedValue::List(words), placed);
        let own = component.map(str::to_owned);
        let mut linkable = relocatable_ptx(elf);
        let registered = elf.code.iter().filter(|containers| containers.place == CodeSection::Registered);
        let isa = registered.flat_map(|containers| &containers.holds.ptx).filter_map(|ptx| ptx.isa_version()).max();
        for ((sass, ptx), count) in code {
            let (file, component, linkable) = (path.to_owned(), own.clone(), std::mem::take(&mut linkable));
            let (unknown_kind, runtime) = (None, needed_cudart(elf));
            self.seen.code.push(ObservedGpuCode {
                file,
                component,
                sass,
                ptx,
                linkable,
                isa,
                count,
                unknown_kind,
                runtime,
                fact,
            });
        }
        let decides = component.is_none_or(|component| {
            Knowledge::built_in().is_required_code_library(component, path).unwrap_or_default()
        });
        let counts = |name: &&String| decides || by_all.is_some_and(|by_all| by_all.contains(*name));
        let unmet = |name: &&String| self.is_unresolved_library(elf, path, name);
        let needs: Vec<String> = elf.needed.iter().filter(counts).filter(unmet).cloned().collect();
        if let Some(missed) = elf.uninspected_needed_part().filter(|_| decides) {
            let reason = format!("{missed}, so the libraries that it requires are unknown");
            self.note_not_inspected(path, &reason);
            let evidence = Evidence::Leaf(vec![self.layer_origin(placed.layer, path)]);
            let open = ValueState::Unknown(incomplete_reason(&format!("{path}: {reason}")));
            let fact = self.seen.facts.add(FactKey::FileNeeds, Some(path), open, evidence);
            let file = path.to_owned();
            self.seen.needs.push(ObservedLibraryDependencies { file, component: own, needs, opens: Vec::new(), fact });
        } else if !needs.is_empty() {
            needed_libraries.extend(needs.iter().cloned());
            let fact = self.add_fact(FactKey::FileNeeds, path, PrintedValue::List(needs.clone()), placed);
            let file = path.to_owned();
            self.seen.needs.push(ObservedLibraryDependencies { file, component: own, needs, opens: Vec::new(), fact });
        }
    }
}

/// Returns files without a library name to which links with a library name lead.
fn linked_libraries(tree: &MergedLayers) -> BTreeSet<String> {
    let inert = |placed: &ImageEntry<'_>| {
        matches!(placed.kind, EntryKind::Elf(_)) && file_read_mode(placed.path) == FileReadMode::Nothing
    };
    if !tree.entries().any(|placed| inert(&placed)) {
        return BTreeSet::new();
    }
    let link = |placed: &ImageEntry<'_>| {
        matches!(placed.kind, EntryKind::Link(_)) && file_read_mode(placed.path) == FileReadMode::Elf
    };
    tree.entries().filter(link).filter_map(|placed| tree.resolve(placed.path)).collect()
}

/// Returns path and reason for a file that is not ELF, if it has the name of a relevant library.
fn unreadable_library(placed: ImageEntry<'_>, knowledge: Knowledge) -> Option<(&str, &'static str)> {
    let named = matches!(placed.kind, EntryKind::Present) && split_path(placed.path).1.contains(".so");
    let component = relevant_component(placed.path, knowledge).filter(|_| named)?;
    knowledge
        .is_required_code_library(&component, placed.path)
        .is_some_and(|named| named)
        .then_some((placed.path, NOT_ELF))
}

/// Returns the component whose GPU code a file would contain, if its path or name makes it relevant.
fn relevant_component(path: &str, knowledge: Knowledge) -> Option<String> {
    let FileOwner::Component { name, .. } = owner_of_file(path, knowledge) else { return None };
    let known = knowledge.frameworks().iter().any(|row| row.component == name);
    (known && knowledge.is_required_code_library(&name, path).unwrap_or(true)).then_some(name)
}

/// Counts the containers that the CUDA runtime registers, by their targets.
fn registered_code(elf: &ElfSummary) -> BTreeMap<ContainerTargets, usize> {
    let mut found: BTreeMap<ContainerTargets, usize> = BTreeMap::new();
    for containers in elf.code.iter().filter(|containers| containers.place == CodeSection::Registered) {
        let mut sass = containers.holds.sass.clone();
        let mut ptx: Vec<CodeTarget> = containers.holds.ptx.iter().map(|ptx| ptx.target).collect();
        for list in [&mut sass, &mut ptx] {
            list.sort();
            list.dedup();
        }
        if !sass.is_empty() || !ptx.is_empty() {
            *found.entry((sass, ptx)).or_default() += containers.count as usize;
        }
    }
    found
}

/// Returns the PTX targets of the relocatable parts from which the code was linked.
fn relocatable_ptx(elf: &ElfSummary) -> Vec<CodeTarget> {
    let parts = elf.code.iter().filter(|containers| containers.place == CodeSection::Relocatable);
    let mut found: Vec<CodeTarget> = parts.flat_map(|parts| &parts.holds.ptx).map(|ptx| ptx.target).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether the known GPU code of a file is all that a driver could run from it.
fn is_fully_known(elf: &ElfSummary, code: &BTreeMap<ContainerTargets, usize>) -> bool {
    elf.has_complete_code()
        && (!code.is_empty() || elf.code.iter().all(|containers| containers.place != CodeSection::Relocatable))
}

/// Explains why the GPU code of a file is only partly known.
fn partial_code_reason(elf: &ElfSummary) -> String {
    match elf.uninspected_code_part() {
        Some(missed) => missed.to_string(),
        None if elf.unknown_entries > 0 => "it contains GPU code of an unknown kind".to_owned(),
        None if elf.has_complete_code() => "all of its GPU code is linked at run time".to_owned(),
        None => "the component that its GPU code belongs to is unknown".to_owned(),
    }
}

/// Keeps, of the same package in several environments, only the files of the interpreter that is started.
fn retain_active_environments(files: &mut Vec<GpuCodeFile<'_>>, python: &EntrypointPython) {
    let sites: BTreeSet<&str> = files.iter().filter_map(|file| file.site.as_deref()).collect();
    let site = |folder: &str| PackageDirectory {
        folder: folder.to_owned(),
        prefix: environment_prefix(folder).to_owned(),
        python: None,
    };
    let sites: Vec<PackageDirectory> = sites.into_iter().map(site).collect();
    let counting: Vec<String> =
        python.first_searched_sites(&sites).into_iter().map(|site| site.folder.clone()).collect();
    files.retain(|file| file.site.as_ref().is_none_or(|site| counting.contains(site)));
}

/// Whether each of several environments that may be active has GPU code.
fn has_code_in_all(files: &[GpuCodeFile<'_>], folders: &BTreeSet<String>) -> bool {
    let has = |folder: &String| files.iter().any(|file| file.site.as_ref() == Some(folder));
    folders.iter().all(has)
}

/// Returns the root of an environment from its packages folder: `opt/venv` of
/// `opt/venv/lib/python3.11/site-packages`.
fn environment_prefix(folder: &str) -> &str {
    let above = split_path(folder).0;
    let above = if split_path(above).1.starts_with("python") { split_path(above).0 } else { above };
    above.strip_suffix("/lib").or_else(|| above.strip_suffix("/lib64")).unwrap_or(above)
}

/// Whether a file certainly contains GPU code, readable or not.
fn has_gpu_code(elf: &ElfSummary) -> bool {
    let unread = [UninspectedElfPart::Code, UninspectedElfPart::TooMuchCode];
    !elf.code.is_empty() || elf.unknown_entries > 0 || elf.not_inspected.iter().any(|missed| unread.contains(missed))
}

/// Returns the soname of the CUDA runtime library that a file needs.
fn needed_cudart(elf: &ElfSummary) -> Option<String> {
    elf.needed.iter().find(|name| name.starts_with(CUDART_PREFIX)).cloned()
}

/// Files that identify the distribution and the search path of its loader.
const SYSTEM_FILES: [&str; 4] = ["/etc/debian_version", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nv_tegra_release"];
/// Maximum number of files that are kept. The largest known images have some hundreds; each takes up to two
/// kilobytes.
const MAX_FILES: usize = 2_000;
/// Prefixes of the file names of driver libraries.
const DRIVER_PREFIXES: [&str; 2] = ["libcuda.so", "libnvidia-"];

impl LayerScan<'_> {
    /// Records the files that the start may need; `needed_libraries` are those that files with GPU code need.
    pub(super) fn read_files(&mut self, needed_libraries: &BTreeSet<String>) {
        let tree = self.tree;
        let floor = self.first_complete_layer();
        let there = |placed: &ImageEntry<'_>| placed.layer >= floor;
        let mut chosen: BTreeSet<String> = tree
            .entries()
            .filter(there)
            .filter(|placed| is_start_file(placed.path, needed_libraries) || has_cuda_soname(*placed))
            .map(|one| one.path.to_owned())
            .take(MAX_FILES)
            .collect();
        if chosen.len() == MAX_FILES {
            self.seen.complete.files = false;
            self.notes.push(format!("at most {MAX_FILES} libraries and loader files are inspected").into());
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
            // The target of a library link, under any name.
            chosen.extend(tree.get(&folder).map(|end| end.path.to_owned()));
            while !folder.is_empty() && folders.insert(folder.clone()) {
                folder = split_path(&folder).0.to_owned();
            }
        }
        // Other names of the folders of such files.
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
    fn is_unloadable(&self, placed: ImageEntry<'_>) -> bool {
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
            // Whether it was inspected is known only for the layer as a whole.
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
fn is_start_file(path: &str, needed_libraries: &BTreeSet<String>) -> bool {
    let (folder, name) = split_path(path);
    let versioned =
        |soname: &str| name.strip_prefix(soname).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    SYSTEM_FILES.contains(&path)
        || (folder == "/etc/ld.so.conf.d" && name.strip_suffix(".conf").is_some())
        || DRIVER_PREFIXES.iter().any(|driver| name.starts_with(driver))
        || matches!(folder, "/lib/firmware/nvidia" | "/usr/lib/firmware/nvidia")
        || is_cuda_library(name)
        || needed_libraries.iter().any(|soname| versioned(soname))
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
fn is_cuda_library(name: &str) -> bool {
    let Some((stem, _)) = name.split_once(".so") else { return false };
    let knowledge = Knowledge::built_in();
    let of = |soname: &str| soname.split_once(".so").is_some_and(|(own, _)| own == stem);
    knowledge.library_wheels().iter().any(|row| row.library == stem)
        || knowledge.driver_sonames().iter().any(|row| of(row.soname))
        || knowledge
            .libraries_opened_by_libraries()
            .iter()
            .any(|row| of(row.soname) || row.parts.iter().any(|part| of(part)))
        || knowledge.required_libraries().iter().any(|row| row.needs.iter().chain(row.opens).any(|soname| of(soname)))
        || knowledge.library_packages().iter().any(|row| row.sonames.iter().any(|soname| of(soname)))
        || knowledge.toolkit_libraries().iter().any(|row| row.sonames.iter().any(|soname| of(soname)))
}
