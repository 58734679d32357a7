//! Shared libraries that components require by soname, and whether the image has them.

use std::collections::BTreeSet;

use crate::cuda::{CudaVersion, LdConf, library_path_directories, resolve_links, split_path};
use crate::infer::base::{BaseBuild, BaseFamily};
use crate::infer::component::CUDA_RUNTIME_COMPONENT;
use crate::infer::external_libraries::{ExternalLibraries, LIBRARY_PATH, WheelLibrarySearch, loader_ignores_wheels};
use crate::infer::library_dependencies::{LibraryLoss, LibraryPresence, is_library_wheel_replaced};
use crate::infer::release_version::{is_release_at_least, release_version};
use crate::infer::removed_base_libraries::{LibraryRemoval, library_removal};
use crate::infer::version_resolution::InstallContext;
use crate::infer::{external_libraries, library_dependencies, unpackaged_libraries};

use crate::knowledge::{Knowledge, RowInfo, ToolkitLibraryRow};
use crate::model::cause::Cause;
use crate::model::fact::{
    Component, Derivation, EnvFacts, Evidence, FactId, FactKey, Facts, FileKind, InspectionDepth, LibraryDependencies,
    LibraryProvider, Observations, ObservedBase, ObservedLibraryDependencies, RequiredLibrary, TypedFact, ValueState,
};
use crate::model::package::{ObservedPackage, PackageManager};
use crate::model::reference::ImageReference;

/// Directories that the dynamic loader searches on every system.
const DEFAULT_DIRECTORIES: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
];

/// The libraries that one component requires.
#[derive(Default)]
struct RequiredLibraries {
    at_start: Vec<String>,
    later: Vec<String>,
    from: Vec<FactId>,
    row: Option<&'static RowInfo>,
    falls_back: bool,
    /// How it finds libraries in the directories of NVIDIA's wheels.
    search: WheelLibrarySearch,
    /// Why it may require more libraries at its start.
    open: Option<Cause>,
}

/// Infers the libraries that each component requires; components of which nothing is known are omitted.
pub(super) fn infer_needs(
    facts: &mut Facts,
    seen: &Observations,
    install_context: InstallContext<'_>,
    components: &[Component],
    env: &EnvFacts,
    ld_conf: &TypedFact<Vec<LdConf>>,
) -> Vec<LibraryDependencies> {
    let InstallContext { build, knowledge, .. } = install_context;
    let world = LibrarySources { seen, build, searched: loader_search_directories(env, ld_conf), knowledge };
    let mut found = Vec::new();
    for component in components {
        let required = required_libraries(facts, seen, components, (component, env), install_context);
        if required.at_start.is_empty() && required.later.is_empty() && required.open.is_none() {
            continue;
        }
        let mut fact = |key, names: &[String], (open, allow_unpackaged): (Option<&Cause>, bool)| {
            let by = if required.row.is_some() { Derivation::Row } else { Derivation::Resolution };
            let from = required.from.iter().copied().chain(build.fact).collect();
            let evidence = Evidence::Derived { by, from, row: required.row };
            let list: Vec<RequiredLibrary> =
                names.iter().map(|name| world.locate_library(name, required.search, allow_unpackaged)).collect();
            let searched = "the known data of the component";
            let state = match open {
                Some(why) => ValueState::Unknown(why.clone()),
                None if list.is_empty() => ValueState::Absent { searched },
                None => ValueState::Known(list),
            };
            facts.add_typed(key, Some(&component.name), state, evidence)
        };
        // The mere name of an unread file is not enough to assume that a program starts.
        let at_start = fact(FactKey::ComponentNeeds, &required.at_start, (required.open.as_ref(), false));
        let later = fact(FactKey::ComponentOpens, &required.later, (None, true));
        found.push(LibraryDependencies {
            component: component.name.clone(),
            at_start,
            at_run_time: later,
            falls_back: required.falls_back,
        });
    }
    found
}

/// Returns what a component requires: as seen in its files, and as the tables list for its build.
fn required_libraries(
    facts: &Facts,
    seen: &Observations,
    components: &[Component],
    (component, env): (&Component, &EnvFacts),
    install_context: InstallContext<'_>,
) -> RequiredLibraries {
    let knowledge = install_context.knowledge;
    let mut required = RequiredLibraries::default();
    // A component that a variable keeps on the CPU needs none; with an unknown value, the needs are unknown.
    match (&component.cuda.state, component.cuda_variable(facts)) {
        (ValueState::Absent { .. }, Some(_)) => return required,
        (ValueState::Unknown(why), Some(_)) => return RequiredLibraries { open: Some(why.clone()), ..required },
        _ => {}
    }
    let own = components.iter().find(|one| one.name == CUDA_RUNTIME_COMPONENT).or(components.first());
    let of = |file: &&ObservedLibraryDependencies| {
        file.component.as_deref().or(own.map(|own| own.name.as_str())) == Some(component.name.as_str())
    };
    for file in order_breadth_first(seen.needs.iter().filter(of).collect()) {
        required.at_start.extend(file.needs.iter().cloned());
        required.later.extend(file.opens.iter().cloned());
        required.from.push(file.fact);
        if let ValueState::Unknown(why) = &facts.get(file.fact).state {
            required.open.get_or_insert_with(|| why.clone());
        }
    }
    for package in &seen.packages {
        let of = knowledge
            .framework(&package.requirement.name)
            .is_some_and(|framework| framework.component == component.name);
        // A build without CUDA needs none of its libraries.
        if !of || component.is_without_cuda() {
            continue;
        }
        if let Some(why) =
            library_dependencies::explain_unknown_library_needs(seen, package, install_context.arch, knowledge)
        {
            required.open.get_or_insert(why);
            required.from.push(package.fact);
            continue;
        }
        // The rows describe the build on the default index, and some also other builds with the same needs.
        let is_covered =
            package.variant.is_none() || library_dependencies::library_dependency_row(package, knowledge).is_some();
        let row = is_covered.then(|| external_libraries::external_libraries_of(package, knowledge)).flatten();
        // If its libraries are installed as packages, none are needed from elsewhere.
        let missing = |libraries: &ExternalLibraries| {
            libraries.dependency_row.map_or(LibraryLoss::Certain, |row| {
                library_dependencies::missing_library_dependencies(facts, seen, package, row, knowledge)
            })
        };
        let loss = row.as_ref().map_or(LibraryLoss::No, missing);
        if let LibraryLoss::Possible(why) = &loss {
            required.open.get_or_insert_with(|| why.clone());
            required.from.push(package.fact);
        }
        if let Some(row) = row.filter(|_| loss == LibraryLoss::Certain) {
            if row.dependency_row.is_some() {
                required.search = WheelLibrarySearch::Program;
            } else if row.by_loader
                && required.search == WheelLibrarySearch::Unknown
                && loader_ignores_wheels(seen, env, knowledge)
            {
                required.search = WheelLibrarySearch::LoaderOnly;
            }
            required.at_start.extend(row.needs.iter().map(|name| (*name).to_owned()));
            required.later.extend(row.opens.iter().map(|name| (*name).to_owned()));
            required.from.push(package.fact);
            required.row = Some(row.row);
            required.falls_back |= row.falls_back;
        }
    }
    let parts: Vec<String> = required
        .at_start
        .iter()
        .flat_map(|name| knowledge.parts_of_library(name))
        .map(|part| (*part).to_owned())
        .collect();
    required.later.extend(parts);
    for list in [&mut required.at_start, &mut required.later] {
        let mut unique: BTreeSet<String> = BTreeSet::new();
        list.retain(|name| unique.insert(name.clone()));
    }
    required
}

/// Orders files as the loader loads them: first those that no other requires, then their dependencies, level by
/// level.
fn order_breadth_first(files: Vec<&ObservedLibraryDependencies>) -> Vec<&ObservedLibraryDependencies> {
    let name = |file: &ObservedLibraryDependencies| split_path(&file.file).1.to_owned();
    let required: BTreeSet<&str> = files.iter().flat_map(|file| &file.needs).map(String::as_str).collect();
    let (mut order, mut rest): (Vec<&ObservedLibraryDependencies>, Vec<&ObservedLibraryDependencies>) =
        files.into_iter().partition(|file| !required.contains(name(file).as_str()));
    let mut at = 0;
    while !rest.is_empty() {
        // Files that need each other stay in the order in which they were read.
        let Some(file) = order.get(at).copied() else {
            order.append(&mut rest);
            break;
        };
        for need in &file.needs {
            let (next, others) = rest.into_iter().partition(|one| name(one) == *need);
            order.extend::<Vec<&ObservedLibraryDependencies>>(next);
            rest = others;
        }
        at += 1;
    }
    order
}

/// Returns every directory that the dynamic loader searches by itself.
fn loader_search_directories(env: &EnvFacts, ld_conf: &TypedFact<Vec<LdConf>>) -> Vec<String> {
    let path = env.get(LIBRARY_PATH).known().map(String::as_str).unwrap_or_default();
    let listed = ld_conf.known().into_iter().flatten().flat_map(|file| &file.directories).map(String::as_str);
    library_path_directories(path).chain(listed).chain(DEFAULT_DIRECTORIES.iter().copied()).map(str::to_owned).collect()
}

/// Everything in the image that may provide a library.
struct LibrarySources<'a> {
    seen: &'a Observations,
    build: &'a BaseBuild,
    searched: Vec<String>,
    knowledge: Knowledge,
}

impl LibrarySources<'_> {
    /// Returns a soname with its presence; `loose`: whether files installed without a package may provide it.
    fn locate_library(&self, name: &str, search: WheelLibrarySearch, allow_unpackaged: bool) -> RequiredLibrary {
        let files = self.presence_in_files(name);
        // A part comes in the package of the whole.
        let whole = self.knowledge.main_library_of(name);
        let found = files
            .max(self.presence_in_packages(whole, search))
            .max(self.presence_in_base_image(whole))
            .max(if allow_unpackaged { self.presence_in_unpackaged_files(whole) } else { LibraryPresence::No });
        let lacked = self.build.lacks.contains(&name);
        let presence = match (found, self.knowledge.driver_soname(name)) {
            (LibraryPresence::Yes, _) => LibraryProvider::Image,
            (_, Some(row)) => LibraryProvider::Driver(row.capability),
            (LibraryPresence::No, None) if lacked || self.seen.complete.files || self.seen.complete.packages => {
                LibraryProvider::Absent
            }
            (LibraryPresence::No, None) if self.seen.complete.libraries && self.no_package_provides(whole, search) => {
                LibraryProvider::Absent
            }
            (LibraryPresence::No, None) if self.is_content_declared() => LibraryProvider::Unfound,
            (LibraryPresence::No | LibraryPresence::Maybe, None) => LibraryProvider::Unknown,
        };
        RequiredLibrary { name: name.to_owned(), provider: presence }
    }

    /// Whether the image's content was declared, by a Dockerfile or by a description that names the base image.
    fn is_content_declared(&self) -> bool {
        let based = matches!(self.seen.base, ObservedBase::Image(..) | ObservedBase::Scratch(_));
        self.seen.depth == InspectionDepth::Text || (self.seen.depth == InspectionDepth::Description && based)
    }

    /// Whether every package is one whose libraries are known, so that none can provide a soname.
    fn no_package_provides(&self, soname: &str, search: WheelLibrarySearch) -> bool {
        let knowledge = self.knowledge;
        let ignores_wheels =
            search == WheelLibrarySearch::LoaderOnly || is_library_wheel_replaced(self.seen, soname, knowledge);
        self.seen.packages.iter().all(|package| match package.requirement.manager {
            PackageManager::System => !knowledge.may_contain_libraries(&package.requirement.name),
            PackageManager::Conda => knowledge.lacks_library(&package.requirement.name, soname),
            PackageManager::Pip => {
                let of_index = package.variant.is_none() && package.conditional.is_none();
                let known = of_index
                    && (external_libraries::external_libraries_of(package, knowledge).is_some()
                        || self.is_wheel_without_cuda_libraries(package));
                // Without its dependencies, a package contains only the libraries that its row lists.
                let listed =
                    || knowledge.package_libraries(&package.requirement.name, release_version(package)).is_some();
                // Nor does a library wheel install another one of the same library.
                let another = || {
                    knowledge
                        .library_packages()
                        .iter()
                        .any(|row| row.name == package.requirement.name && row.sonames.contains(&soname))
                };
                known
                    || (ignores_wheels && self.is_library_wheel(package))
                    || library_dependencies::is_installed_without_libraries(package, knowledge)
                    || ((package.requirement.no_deps || another()) && listed())
                    || library_dependencies::is_wheel_without_library(package, soname, knowledge)
            }
        })
    }

    /// Returns whether a file has that name or a version of it; outside the search path, the program itself may find
    /// it.
    fn presence_in_files(&self, soname: &str) -> LibraryPresence {
        let named = self.seen.files.keys().filter(|path| {
            let rest = split_path(path).1.strip_prefix(soname);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let says = named.map(|path| {
            let directory = split_path(path).0;
            let near = self.searched.iter().any(|searched| searched == directory);
            self.presence_through_links(path).min(if near { LibraryPresence::Yes } else { LibraryPresence::Maybe })
        });
        says.max().unwrap_or(LibraryPresence::No)
    }

    /// Returns whether a path leads to a library; in a scanned image the target of every library link is known.
    fn presence_through_links(&self, path: &str) -> LibraryPresence {
        let kind = |path: &str| self.seen.files.get(path).map(|file| &file.kind);
        let end = resolve_links(path, |path| match kind(path)? {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        });
        let read = self.seen.depth == InspectionDepth::Layers;
        match end.as_deref().map(|end| (end, kind(end))) {
            Some((_, Some(FileKind::NoLibrary))) => LibraryPresence::No,
            Some((_, Some(_))) => LibraryPresence::Yes,
            None | Some((_, None)) if !read => LibraryPresence::Yes,
            Some((end, None)) if !split_path(end).1.contains(".so") => LibraryPresence::Maybe,
            None | Some((_, None)) if self.seen.complete.files => LibraryPresence::No,
            None | Some((_, None)) => LibraryPresence::Maybe,
        }
    }

    /// Returns whether a package provides a library; wheels install it where only some programs search.
    ///
    /// If every file was read, the expected libraries of a package do not count.
    fn presence_in_packages(&self, soname: &str, search: WheelLibrarySearch) -> LibraryPresence {
        if self.seen.depth == InspectionDepth::Layers && self.seen.complete.files {
            return LibraryPresence::No;
        }
        let fixed = is_library_wheel_replaced(self.seen, soname, self.knowledge);
        let says = self.seen.packages.iter().map(|package| {
            if fixed
                && (self.is_library_wheel(package)
                    || library_dependencies::library_dependency_row(package, self.knowledge).is_some())
            {
                return LibraryPresence::No;
            }
            if library_dependencies::is_wheel_without_library(package, soname, self.knowledge) {
                return LibraryPresence::No;
            }
            match self.knowledge.package_libraries(&package.requirement.name, release_version(package)) {
                Some(row) if !row.sonames.contains(&soname) => LibraryPresence::No,
                Some(_) if package.requirement.manager == PackageManager::System => LibraryPresence::Yes,
                Some(_) if search == WheelLibrarySearch::Program && package.conditional.is_none() => {
                    LibraryPresence::Yes
                }
                // A wheel of a library contains nothing else, and the loader does not search its directory.
                _ if search == WheelLibrarySearch::LoaderOnly && self.is_library_wheel(package) => LibraryPresence::No,
                Some(_) => LibraryPresence::Maybe,
                None if search == WheelLibrarySearch::Program
                    && let Some(presence) = library_dependencies::library_presence_in_dependencies(
                        self.seen,
                        package,
                        soname,
                        self.knowledge,
                    ) =>
                {
                    presence
                }
                None if self.requires_from_outside(package, soname)
                    || self.is_wheel_without_cuda_libraries(package) =>
                {
                    LibraryPresence::No
                }
                None if self.knowledge.lacks_library(&package.requirement.name, soname) => LibraryPresence::No,
                None if self.knowledge.may_contain_libraries(&package.requirement.name) => LibraryPresence::Maybe,
                None => LibraryPresence::No,
            }
        });
        says.max().unwrap_or(LibraryPresence::No)
    }

    /// Whether a wheel of the default index is known to contain no CUDA library.
    fn is_wheel_without_cuda_libraries(&self, package: &ObservedPackage) -> bool {
        let of_index = package.requirement.manager == PackageManager::Pip && package.variant.is_none();
        let local = package.requirement.version.local().is_some();
        of_index
            && !local
            && self.knowledge.is_library_free(&package.requirement.name, |from| is_release_at_least(package, from))
    }

    /// Whether a package is the wheel of a CUDA library.
    fn is_library_wheel(&self, package: &ObservedPackage) -> bool {
        package.requirement.manager == PackageManager::Pip
            && self.knowledge.library_wheel(&package.requirement.name).is_some()
    }

    /// Whether a wheel is known to require a library from outside.
    fn requires_from_outside(&self, package: &ObservedPackage, soname: &str) -> bool {
        let of_index = package.requirement.manager == PackageManager::Pip && package.variant.is_none();
        let asks = of_index.then(|| external_libraries::external_libraries_of(package, self.knowledge)).flatten();
        // Libraries of dependencies are not needed from elsewhere, unless the dependencies were left out.
        asks.is_some_and(|asks| (asks.dependency_row.is_none() || package.requirement.no_deps) && asks.contains(soname))
    }

    /// Returns whether something that was installed without a package may provide a library.
    fn presence_in_unpackaged_files(&self, soname: &str) -> LibraryPresence {
        let may = self.seen.base_changes.unpackaged.iter().any(|one| {
            unpackaged_libraries::may_provide_library(one, soname, &self.searched)
                && self.presence_in_source_image(one.image.as_deref(), soname) != LibraryPresence::No
        });
        if may && !self.seen.complete.files { LibraryPresence::Maybe } else { LibraryPresence::No }
    }

    /// Returns whether an image from which files are copied has a library.
    fn presence_in_source_image(&self, image: Option<&str>, soname: &str) -> LibraryPresence {
        let Some(image) = image.and_then(|image| ImageReference::parse(image).ok()) else {
            return LibraryPresence::Maybe;
        };
        let (name, tag) = (image.familiar_name(), image.tag().unwrap_or_default());
        if self.knowledge.plain_image(&name).is_some() {
            return LibraryPresence::No;
        }
        let cuda = tag.split('-').next().and_then(|release| release.parse().ok());
        let cuda = cuda.filter(|_| self.knowledge.is_cuda_repository(&name));
        cuda.map_or(LibraryPresence::Maybe, |cuda| self.presence_in_toolkit(soname, cuda, Some(tag)))
    }

    /// Returns whether the base image has a library; an unknown one may have any, unless all files are listed.
    fn presence_in_base_image(&self, soname: &str) -> LibraryPresence {
        if self.seen.complete.files || self.build.lacks.contains(&soname) {
            return LibraryPresence::No;
        }
        match (self.build.family, &self.seen.base, self.seen.cuda_runtime) {
            (BaseFamily::Plain, ..) => LibraryPresence::No,
            (BaseFamily::Cuda, ObservedBase::Image(reference, _), _) => {
                let tag = reference.tag().unwrap_or_default();
                self.build.cuda.map_or(LibraryPresence::Maybe, |(cuda, _)| {
                    match library_removal(self.seen, soname, cuda, self.knowledge) {
                        LibraryRemoval::Untouched => self.presence_in_toolkit(soname, cuda, Some(tag)),
                        LibraryRemoval::Possible => {
                            self.presence_in_toolkit(soname, cuda, Some(tag)).min(LibraryPresence::Maybe)
                        }
                        LibraryRemoval::Removed => LibraryPresence::No,
                    }
                })
            }
            (_, ObservedBase::NotSaid, Some((cuda, _))) => self.presence_in_toolkit(soname, cuda, None),
            _ => LibraryPresence::Maybe,
        }
    }

    /// Returns whether a CUDA toolkit has a library, in the flavour that a tag names, if any.
    fn presence_in_toolkit(&self, soname: &str, cuda: CudaVersion, tag: Option<&str>) -> LibraryPresence {
        let rows = || self.knowledge.toolkit_libraries().iter();
        let of_release = |row: &&ToolkitLibraryRow| {
            row.cuda_major == cuda.major()
                && row.from.is_none_or(|from| from <= cuda)
                && row.before.is_none_or(|before| cuda < before)
        };
        let words: Vec<&str> = tag.unwrap_or_default().split('-').collect();
        let flavour_row = tag.and_then(|tag| self.knowledge.cuda_flavour(tag));
        let least = self.knowledge.smallest_cuda_flavour();
        let included = |flavour: &str| {
            let in_flavour = flavour_row.is_some_and(|row| row.holds.contains(&flavour));
            in_flavour || words.contains(&flavour) || least == Some(flavour)
        };
        let brings = |row: &ToolkitLibraryRow| row.sonames.contains(&soname);
        if tag.is_some() && rows().filter(of_release).any(|row| included(row.flavour) && brings(row)) {
            return LibraryPresence::Yes;
        }
        // Of libraries that come with every release, those of another are not in this one, where the tables have this one.
        let listed = rows().any(brings) && rows().any(|row| of_release(&row));
        let own = rows().filter(of_release).any(brings);
        if listed && (flavour_row.is_some() || !own) { LibraryPresence::No } else { LibraryPresence::Maybe }
    }
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
