//! GPU code in the files of an image, and the libraries that these files need.

use std::collections::{BTreeMap, BTreeSet};

use crate::cause::Cause;
use crate::cuda::{CodeTarget, split_path};
use crate::elf::{CodeSection, ElfSummary, UninspectedElfPart};
use crate::extract::layers::entrypoint_python::EntrypointPython;
use crate::extract::layers::file_owner::{FileOwner, owner_of_file};
use crate::extract::layers::files::is_cuda_library;
use crate::extract::layers::{LayerScan, incomplete_reason};
use crate::fact::{
    Evidence, FactKey, ObservedGpuCode, ObservedLibraryDependencies, PrintedValue, UnknownCodeKind, ValueState,
};
use crate::installed::{FileReadMode, PackageDirectory, file_read_mode};
use crate::knowledge::Knowledge;
use crate::layer::{EntryKind, ImageEntry, MergedLayers};

/// Value of `e_machine` in ELF files by platform architecture.
const PLATFORM_MACHINES: [(&str, u16); 2] = [("amd64", 62), ("arm64", 183)];

/// Maximum number of unreadable libraries that are named in notes.
const MAX_UNREADABLE: usize = 4;

/// Note for a file that is not an ELF file of the platform of the image.
pub(super) const FOREIGN_PLATFORM: &str = "it is not an ELF file for the platform of the image";
/// Note for a file that could not be read as an ELF file.
pub(super) const NOT_ELF: &str = "it could not be read as an ELF file";

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
        let mut asked = BTreeSet::new();
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
                self.record_code_file(component.as_deref(), file, by_all.as_ref(), &mut asked);
            }
        }
        asked
    }

    /// Returns the `e_machine` of the programs of the image, if its platform is a supported one.
    pub(super) fn elf_machine(&self) -> Option<u16> {
        let arch = &self.image.config.platform.architecture;
        PLATFORM_MACHINES.iter().find(|(name, _)| name == arch).map(|(_, machine)| *machine)
    }

    /// Notes the libraries that are relevant and cannot be read, the first ones by name.
    fn note_unreadable(&mut self, odd: &[(&str, &str)]) {
        for (path, why) in odd.iter().take(MAX_UNREADABLE) {
            self.note_not_inspected(path, why);
        }
        if let Some(more @ 1..) = odd.len().checked_sub(MAX_UNREADABLE) {
            self.notes.push(format!(
                "{more} more libraries were not inspected: they are not readable on this \
                platform"
            ));
        }
    }

    /// Records a file whose GPU code could not be read completely.
    fn record_partial_code(&mut self, component: Option<String>, placed: ImageEntry<'_>, elf: &ElfSummary) {
        let file = placed.path.to_owned();
        let why = Cause::CodePartlyRead { file: file.clone(), detail: partial_code_reason(elf).clone() };
        let evidence = Evidence::Leaf(vec![self.layer_origin(placed.layer, placed.path)]);
        let fact = self.seen.facts.add(FactKey::Code, Some(&file), ValueState::Unknown(why), evidence);
        let (sass, ptx, linkable, isa) = (Vec::new(), Vec::new(), Vec::new(), None);
        let (unsaid, runtime) = (Some(UnknownCodeKind::Unread), needed_cudart(elf));
        self.seen.code.push(ObservedGpuCode {
            file,
            component,
            sass,
            ptx,
            linkable,
            isa,
            count: 1,
            unsaid,
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
        asked: &mut BTreeSet<String>,
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
            let (unsaid, runtime) = (None, needed_cudart(elf));
            self.seen.code.push(ObservedGpuCode {
                file,
                component,
                sass,
                ptx,
                linkable,
                isa,
                count,
                unsaid,
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
            let told = format!("{missed}, so the libraries that it requires are unknown");
            self.note_not_inspected(path, &told);
            let evidence = Evidence::Leaf(vec![self.layer_origin(placed.layer, path)]);
            let open = ValueState::Unknown(incomplete_reason(&format!("{path}: {told}")));
            let fact = self.seen.facts.add(FactKey::FileNeeds, Some(path), open, evidence);
            let file = path.to_owned();
            self.seen.needs.push(ObservedLibraryDependencies { file, component: own, needs, opens: Vec::new(), fact });
        } else if !needs.is_empty() {
            asked.extend(needs.iter().cloned());
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
