//! GPU code as the files of an image have it, and the libraries that they ask for.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::cuda::CodeTarget;
use crate::cuda::split_path;
use crate::elf::ElfSeen;
use crate::elf::Missed;
use crate::elf::Place;
use crate::extract::layers::Audit;
use crate::extract::layers::files::is_cuda_library;
use crate::extract::layers::incomplete;
use crate::extract::layers::place::Owner;
use crate::extract::layers::place::owner;
use crate::extract::layers::python::Python;
use crate::fact::CodeSeen;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::NeedsSeen;
use crate::fact::State;
use crate::fact::Unsaid;
use crate::fact::Value;
use crate::fact::Why;
use crate::installed::Site;
use crate::installed::Want;
use crate::installed::want;
use crate::knowledge::Knowledge;
use crate::layer::EntryKind;
use crate::layer::Placed;
use crate::layer::Tree;

/// `e_machine` of what runs on a platform.
const MACHINES: [(&str, u16); 2] = [("amd64", 62), ("arm64", 183)];

/// So many libraries that cannot be read are named.
const MOST_ODD: usize = 4;

pub(super) const FOREIGN: &str = "it is not an ELF file for the platform of the image";
pub(super) const NOT_ELF: &str = "it could not be read as an ELF file";

/// The library of the CUDA runtime, before its version.
const RUNTIME: &str = "libcudart.so.";

/// Machine code and PTX of a container.
type Code = (Vec<CodeTarget>, Vec<CodeTarget>);

/// A file with GPU code.
struct File<'a> {
    placed: Placed<'a>,
    elf: &'a ElfSeen,
    site: Option<String>,
    code: BTreeMap<Code, usize>,
}

impl Audit<'_> {
    /// Files with GPU code by what they belong to. Gives the libraries that they ask for.
    pub(super) fn code(&mut self, python: &Python) -> BTreeSet<String> {
        let (tree, knowledge) = (self.tree, Knowledge::built_in());
        let machine = self.machine();
        let mut found: BTreeMap<Option<String>, Vec<File<'_>>> = BTreeMap::new();
        let mut open: BTreeSet<Option<String>> = BTreeSet::new();
        let mut odd: Vec<(&str, &str)> = Vec::new();
        let mut unread: Vec<(Option<String>, Placed<'_>, &ElfSeen)> = Vec::new();
        let floor = self.floor();
        let linked = linked(tree);
        for placed in tree.entries().filter(|placed| placed.layer >= floor) {
            let EntryKind::Elf(elf) = placed.kind else {
                odd.extend(unreadable(placed, knowledge));
                continue;
            };
            if elf.not_inspected.contains(&Missed::Foreign) || machine.is_some_and(|machine| machine != elf.machine) {
                odd.extend(counts(placed.path, knowledge).map(|_| (placed.path, FOREIGN)));
                continue;
            }
            if want(placed.path) == Want::Nothing && !linked.contains(placed.path) {
                continue;
            }
            let code = registered(elf);
            let whole = is_told(elf, &code);
            if whole && code.is_empty() {
                continue;
            }
            let (component, site) = match owner(placed.path, knowledge) {
                Owner::Cuda | Owner::Kept => continue,
                Owner::Component { name, site } => (Some(name), site),
                Owner::Image => (None, None),
            };
            if !whole {
                self.seen.complete.code = false;
                let decides = component
                    .as_deref()
                    .is_none_or(|component| knowledge.code_library(component, placed.path).unwrap_or(true));
                let instead = component.as_deref().filter(|_| decides).map_or_else(String::new, |component| {
                    format!(
                        "; the code of {component} is taken from the compatibility database, if its build is \
                        there"
                    )
                });
                self.note(placed.path, &format!("{}{instead}", why(elf)));
                if decides {
                    open.insert(component.clone());
                    unread.extend(holds_code(elf).then_some((component.clone(), placed, elf.as_ref())));
                }
            }
            if !code.is_empty() {
                found.entry(component).or_default().push(File { placed, elf, site, code });
            }
        }
        self.odd(&odd);
        for (component, placed, elf) in unread {
            self.unread(component, placed, elf);
        }
        // Of a component that was read in part, what was read is not all that counts.
        found.retain(|component, _| !open.contains(component));
        let mut asked = BTreeSet::new();
        for (component, mut files) in found {
            only_counting(&mut files, python);
            if component.as_ref().and_then(|name| self.several.get(name)).is_some_and(|all| !lies_in_all(&files, all)) {
                continue;
            }
            let by_all = component.as_deref().map(|component| self.asked_by_all(component, &files, knowledge));
            for file in files {
                self.file(component.as_deref(), file, by_all.as_ref(), &mut asked);
            }
        }
        asked
    }

    /// `e_machine` of the programs of the image, where its platform is one of those that are read.
    pub(super) fn machine(&self) -> Option<u16> {
        let arch = &self.image.config.platform.architecture;
        MACHINES.iter().find(|(name, _)| name == arch).map(|(_, machine)| *machine)
    }

    /// Libraries that count and cannot be read: the first ones by their names.
    fn odd(&mut self, odd: &[(&str, &str)]) {
        for (path, why) in odd.iter().take(MOST_ODD) {
            self.note(path, why);
        }
        if let Some(more @ 1..) = odd.len().checked_sub(MOST_ODD) {
            self.notes.push(format!(
                "{more} more libraries were not inspected: they are not readable on this \
                platform"
            ));
        }
    }

    /// A file with GPU code that could not be read as a whole.
    fn unread(&mut self, component: Option<String>, placed: Placed<'_>, elf: &ElfSeen) {
        let file = placed.path.to_owned();
        let why = Why {
            reason: format!("{file} contains GPU code that is only partly readable: {}", why(elf)),
            supply: "list it under [[gpu_code]] in an image description".to_owned(),
        };
        let evidence = Evidence::Leaf(vec![self.origin(placed.layer, placed.path)]);
        let fact = self.seen.facts.add(FactKey::Code, Some(&file), State::Unknown(why), evidence);
        let (sass, ptx, linkable, isa) = (Vec::new(), Vec::new(), Vec::new(), None);
        let (unsaid, runtime) = (Some(Unsaid::Unread), asked_runtime(elf));
        self.seen.code.push(CodeSeen { file, component, sass, ptx, linkable, isa, count: 1, unsaid, runtime, fact });
    }

    /// Whether a file asks for a library that the tables speak of and does not find it by a path of its own.
    fn is_unmet(&self, elf: &ElfSeen, path: &str, name: &str) -> bool {
        is_cuda_library(name) && !self.finds(elf, path, name)
    }

    /// Whether a file finds a library by the search path that is written in it.
    fn finds(&self, elf: &ElfSeen, path: &str, name: &str) -> bool {
        let tree = self.tree;
        let origin = split_path(path).0;
        let list = elf.runpath.as_deref().or(elf.rpath.as_deref()).unwrap_or_default();
        list.split(':').filter(|folder| !folder.is_empty()).any(|folder| {
            let folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
            let end = tree.resolve(&format!("{folder}/{name}"));
            end.and_then(|path| tree.get(&path)).is_some_and(|placed| !self.is_no_library(placed))
        })
    }

    /// What a component of which no single file is known to decide certainly asks for as it is imported: what each of
    /// its files with GPU code does, and which none of its own paths and no library of another name answers.
    fn asked_by_all(&self, component: &str, files: &[File<'_>], knowledge: Knowledge) -> BTreeSet<String> {
        if knowledge.code_library(component, "").is_some() || !knowledge.imports_its_code(component) {
            return BTreeSet::new();
        }
        let unmet = |file: &File<'_>| -> BTreeSet<String> {
            let outside = |name: &&String| self.is_unmet(file.elf, file.placed.path, name);
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

    /// What a file holds and asks for; `by_all` is what all files of its component ask for.
    fn file(
        &mut self,
        component: Option<&str>,
        file: File<'_>,
        by_all: Option<&BTreeSet<String>>,
        asked: &mut BTreeSet<String>,
    ) {
        let File { placed, elf, code, .. } = file;
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
        let fact = self.fact(FactKey::Code, path, Value::List(words), placed);
        let own = component.map(str::to_owned);
        let mut linkable = linkable(elf);
        let registered = elf.code.iter().filter(|containers| containers.place == Place::Registered);
        let isa = registered.flat_map(|containers| &containers.holds.ptx).filter_map(|ptx| ptx.isa_version()).max();
        for ((sass, ptx), count) in code {
            let (file, component, linkable) = (path.to_owned(), own.clone(), std::mem::take(&mut linkable));
            let (unsaid, runtime) = (None, asked_runtime(elf));
            self.seen.code.push(CodeSeen { file, component, sass, ptx, linkable, isa, count, unsaid, runtime, fact });
        }
        let decides =
            component.is_none_or(|component| Knowledge::built_in().code_library(component, path).unwrap_or_default());
        let counts = |name: &&String| decides || by_all.is_some_and(|by_all| by_all.contains(*name));
        let unmet = |name: &&String| self.is_unmet(elf, path, name);
        let needs: Vec<String> = elf.needed.iter().filter(counts).filter(unmet).cloned().collect();
        if let Some(missed) = elf.needed_missed().filter(|_| decides) {
            let told = format!("{missed}, so the libraries that it requires are unknown");
            self.note(path, &told);
            let evidence = Evidence::Leaf(vec![self.origin(placed.layer, path)]);
            let open = State::Unknown(incomplete(&format!("{path}: {told}")));
            let fact = self.seen.facts.add(FactKey::FileNeeds, Some(path), open, evidence);
            let file = path.to_owned();
            self.seen.needs.push(NeedsSeen { file, component: own, needs, opens: Vec::new(), fact });
        } else if !needs.is_empty() {
            asked.extend(needs.iter().cloned());
            let fact = self.fact(FactKey::FileNeeds, path, Value::List(needs.clone()), placed);
            let file = path.to_owned();
            self.seen.needs.push(NeedsSeen { file, component: own, needs, opens: Vec::new(), fact });
        }
    }
}

/// Files that no program has the name of and to which links lead that have one.
fn linked(tree: &Tree) -> BTreeSet<String> {
    let inert = |placed: &Placed<'_>| matches!(placed.kind, EntryKind::Elf(_)) && want(placed.path) == Want::Nothing;
    if !tree.entries().any(|placed| inert(&placed)) {
        return BTreeSet::new();
    }
    let link = |placed: &Placed<'_>| matches!(placed.kind, EntryKind::Link(_)) && want(placed.path) == Want::Elf;
    tree.entries().filter(link).filter_map(|placed| tree.resolve(placed.path)).collect()
}

/// A file that is no ELF file, where it has the name of a library that counts.
fn unreadable(placed: Placed<'_>, knowledge: Knowledge) -> Option<(&str, &'static str)> {
    let named = matches!(placed.kind, EntryKind::Present) && split_path(placed.path).1.contains(".so");
    let component = counts(placed.path, knowledge).filter(|_| named)?;
    knowledge.code_library(&component, placed.path).is_some_and(|named| named).then_some((placed.path, NOT_ELF))
}

/// The component whose GPU code a file would hold, where its place or name tells that it would count.
fn counts(path: &str, knowledge: Knowledge) -> Option<String> {
    let Owner::Component { name, .. } = owner(path, knowledge) else { return None };
    let known = knowledge.frameworks().iter().any(|row| row.component == name);
    (known && knowledge.code_library(&name, path).unwrap_or(true)).then_some(name)
}

/// What the runtime registers, by what a container holds.
fn registered(elf: &ElfSeen) -> BTreeMap<Code, usize> {
    let mut found: BTreeMap<Code, usize> = BTreeMap::new();
    for containers in elf.code.iter().filter(|containers| containers.place == Place::Registered) {
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

/// PTX of the parts that the linked code was made of.
fn linkable(elf: &ElfSeen) -> Vec<CodeTarget> {
    let parts = elf.code.iter().filter(|containers| containers.place == Place::Relocatable);
    let mut found: Vec<CodeTarget> = parts.flat_map(|parts| &parts.holds.ptx).map(|ptx| ptx.target).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether what is known of a file is all that a driver could run of it.
fn is_told(elf: &ElfSeen, code: &BTreeMap<Code, usize>) -> bool {
    elf.code_is_whole()
        && (!code.is_empty() || elf.code.iter().all(|containers| containers.place != Place::Relocatable))
}

fn why(elf: &ElfSeen) -> String {
    match elf.code_missed() {
        Some(missed) => missed.to_string(),
        None if elf.unknown_entries > 0 => "it contains GPU code of an unknown kind".to_owned(),
        None if elf.code_is_whole() => "all of its GPU code is linked at run time".to_owned(),
        None => "the component that its GPU code belongs to is unknown".to_owned(),
    }
}

/// Of the same package in several environments, that of the interpreter that runs counts.
fn only_counting(files: &mut Vec<File<'_>>, python: &Python) {
    let sites: BTreeSet<&str> = files.iter().filter_map(|file| file.site.as_deref()).collect();
    let site = |folder: &str| Site { folder: folder.to_owned(), prefix: prefix(folder).to_owned(), python: None };
    let sites: Vec<Site> = sites.into_iter().map(site).collect();
    let counting: Vec<String> = python.counting(&sites).into_iter().map(|site| site.folder.clone()).collect();
    files.retain(|file| file.site.as_ref().is_none_or(|site| counting.contains(site)));
}

/// Whether each of several environments that may count has GPU code: of one without any, that of the others says nothing.
fn lies_in_all(files: &[File<'_>], folders: &BTreeSet<String>) -> bool {
    let has = |folder: &String| files.iter().any(|file| file.site.as_ref() == Some(folder));
    folders.iter().all(has)
}

/// `opt/venv` of `opt/venv/lib/python3.11/site-packages`.
fn prefix(folder: &str) -> &str {
    let above = split_path(folder).0;
    let above = if split_path(above).1.starts_with("python") { split_path(above).0 } else { above };
    above.strip_suffix("/lib").or_else(|| above.strip_suffix("/lib64")).unwrap_or(above)
}

/// Whether a file holds GPU code beyond doubt, read or not.
fn holds_code(elf: &ElfSeen) -> bool {
    let unread = [Missed::Code, Missed::TooMuchCode];
    !elf.code.is_empty() || elf.unknown_entries > 0 || elf.not_inspected.iter().any(|missed| unread.contains(missed))
}

/// The CUDA runtime that a file asks for by its soname.
fn asked_runtime(elf: &ElfSeen) -> Option<String> {
    elf.needed.iter().find(|name| name.starts_with(RUNTIME)).cloned()
}
