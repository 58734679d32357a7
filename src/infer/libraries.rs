//! Shared libraries that components ask for by name, and whether the image has them.

use std::collections::BTreeSet;

use crate::cuda::CudaVersion;
use crate::cuda::LdConf;
use crate::cuda::library_path;
use crate::cuda::resolve;
use crate::cuda::split_path;
use crate::fact::BaseSeen;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::EnvFacts;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::FileKind;
use crate::fact::Manager;
use crate::fact::Needs;
use crate::fact::NeedsSeen;
use crate::fact::Observations;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Presence;
use crate::fact::Soname;
use crate::fact::State;
use crate::fact::Why;
use crate::infer::along;
use crate::infer::asks;
use crate::infer::asks::Asks;
use crate::infer::base::BaseBuild;
use crate::infer::base::Family;
use crate::infer::component::OWN_RUNTIME;
use crate::infer::looks::LIBRARY_PATH;
use crate::infer::looks::Looks;
use crate::infer::looks::unled;
use crate::infer::loose;
use crate::infer::of_base_gone::Left;
use crate::infer::of_base_gone::left;
use crate::infer::replaced::is_fixed;
use crate::infer::settled::Place;
use crate::install::admits;
use crate::knowledge::BEYOND;
use crate::knowledge::Knowledge;
use crate::knowledge::RowInfo;
use crate::knowledge::ToolkitLibraryRow;
use crate::reference::ImageReference;

/// Directories that the loader looks into on every system of its kind.
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

/// What one component was found to ask for.
#[derive(Default)]
struct Asked {
    at_start: Vec<String>,
    later: Vec<String>,
    from: Vec<FactId>,
    row: Option<&'static RowInfo>,
    falls_back: bool,
    /// How it comes to what lies in the folders of NVIDIA's wheels.
    looks: Looks,
    /// Why there may be more that it asks for at its start.
    open: Option<Why>,
}

/// The libraries that each component asks for; components of which nothing is known are left out.
pub(super) fn needs(
    facts: &mut Facts,
    seen: &Observations,
    place: Place<'_>,
    components: &[Component],
    env: &EnvFacts,
    ld_conf: &Fact<Vec<LdConf>>,
) -> Vec<Needs> {
    let Place { build, knowledge, .. } = place;
    let world = World { seen, build, searched: searched(env, ld_conf), knowledge };
    let mut found = Vec::new();
    for component in components {
        let asked = asked(facts, seen, components, (component, env), place);
        if asked.at_start.is_empty() && asked.later.is_empty() && asked.open.is_none() {
            continue;
        }
        let mut fact = |key, names: &[String], (open, loose): (Option<&Why>, bool)| {
            let by = if asked.row.is_some() { Derivation::Row } else { Derivation::Resolution };
            let from = asked.from.iter().copied().chain(build.fact).collect();
            let evidence = Evidence::Derived { by, from, row: asked.row };
            let list: Vec<Soname> = names.iter().map(|name| world.soname(name, asked.looks, loose)).collect();
            let searched = "the known data of the component";
            let state = match open {
                Some(why) => State::Unknown(why.clone()),
                None if list.is_empty() => State::Absent { searched },
                None => State::Known(list),
            };
            facts.add_typed(key, Some(&component.name), state, evidence)
        };
        // The name of what nobody read is no reason to take a program for one that starts.
        let at_start = fact(FactKey::ComponentNeeds, &asked.at_start, (asked.open.as_ref(), false));
        let later = fact(FactKey::ComponentOpens, &asked.later, (None, true));
        found.push(Needs { component: component.name.clone(), at_start, later, falls_back: asked.falls_back });
    }
    found
}

/// What a component asks for: as seen in its files, and as the tables say of its build.
fn asked(
    facts: &Facts,
    seen: &Observations,
    components: &[Component],
    (component, env): (&Component, &EnvFacts),
    place: Place<'_>,
) -> Asked {
    let knowledge = place.knowledge;
    let mut asked = Asked::default();
    // What a variable keeps on the processor asks for none; where its value cannot be told, for what is not known.
    match (&component.cuda.state, component.switch(facts)) {
        (State::Absent { .. }, Some(_)) => return asked,
        (State::Unknown(why), Some(_)) => return Asked { open: Some(why.clone()), ..asked },
        _ => {}
    }
    let own = components.iter().find(|one| one.name == OWN_RUNTIME).or(components.first());
    let of = |file: &&NeedsSeen| {
        file.component.as_deref().or(own.map(|own| own.name.as_str())) == Some(component.name.as_str())
    };
    for file in breadth_first(seen.needs.iter().filter(of).collect()) {
        asked.at_start.extend(file.needs.iter().cloned());
        asked.later.extend(file.opens.iter().cloned());
        asked.from.push(file.fact);
        if let State::Unknown(why) = &facts.get(file.fact).state {
            asked.open.get_or_insert_with(|| why.clone());
        }
    }
    for package in &seen.packages {
        let of = knowledge.framework(&package.name).is_some_and(|framework| framework.component == component.name);
        // A build without CUDA asks for none of its libraries.
        if !of || matches!(component.cuda.state, State::Absent { .. }) {
            continue;
        }
        if let Some(why) = along::untold(seen, package, place.arch, knowledge) {
            asked.open.get_or_insert(why);
            asked.from.push(package.fact);
            continue;
        }
        // The rows speak of the build on the default index, and some of others that ask for the same.
        let told = package.variant.is_none() || along::row_of(package, knowledge).is_some();
        let row = told.then(|| asks::of(package, knowledge)).flatten();
        // Where its libraries come along as packages, nothing is asked for from outside of them.
        let bare = |asks: &Asks| asks.along.is_none_or(|row| along::is_bare(facts, seen, package, row, knowledge));
        if let Some(row) = row.filter(bare) {
            if row.along.is_some() {
                asked.looks = Looks::Itself;
            } else if row.by_loader && asked.looks == Looks::Perhaps && unled(seen, env, knowledge) {
                asked.looks = Looks::Never;
            }
            asked.at_start.extend(row.needs.iter().map(|name| (*name).to_owned()));
            asked.later.extend(row.opens.iter().map(|name| (*name).to_owned()));
            asked.from.push(package.fact);
            asked.row = Some(row.row);
            asked.falls_back |= row.falls_back;
        }
    }
    let parts: Vec<String> =
        asked.at_start.iter().flat_map(|name| knowledge.parts_of(name)).map(|part| (*part).to_owned()).collect();
    asked.later.extend(parts);
    for list in [&mut asked.at_start, &mut asked.later] {
        let mut told: BTreeSet<String> = BTreeSet::new();
        list.retain(|name| told.insert(name.clone()));
    }
    asked
}

/// Files in the order in which the loader comes to what they ask for: first those that no other asks for, then what
/// these ask for, level by level.
fn breadth_first(files: Vec<&NeedsSeen>) -> Vec<&NeedsSeen> {
    let name = |file: &NeedsSeen| split_path(&file.file).1.to_owned();
    let wanted: BTreeSet<&str> = files.iter().flat_map(|file| &file.needs).map(String::as_str).collect();
    let (mut order, mut rest): (Vec<&NeedsSeen>, Vec<&NeedsSeen>) =
        files.into_iter().partition(|file| !wanted.contains(name(file).as_str()));
    let mut at = 0;
    while !rest.is_empty() {
        // Files that ask for each other have no first: as they were read.
        let Some(file) = order.get(at).copied() else {
            order.append(&mut rest);
            break;
        };
        for need in &file.needs {
            let (next, others) = rest.into_iter().partition(|one| name(one) == *need);
            order.extend::<Vec<&NeedsSeen>>(next);
            rest = others;
        }
        at += 1;
    }
    order
}

/// The release part of an exact version.
pub(super) fn version_of(package: &PackageSeen) -> Option<CudaVersion> {
    match &package.version {
        PackageVersion::Exact(text) => release_of(text),
        PackageVersion::Open(_) | PackageVersion::Unresolved(_) => None,
    }
}

/// The numbers that a version begins with: 2.15.0 of `2.15.0.post1`, 2.16.0 of `2.16.0rc0`.
pub(super) fn release_of(version: &str) -> Option<CudaVersion> {
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    version.get(..end)?.trim_end_matches('.').parse().ok()
}

/// Every directory in which the loader looks by itself.
fn searched(env: &EnvFacts, ld_conf: &Fact<Vec<LdConf>>) -> Vec<String> {
    let path = env.get(LIBRARY_PATH).known().map(String::as_str).unwrap_or_default();
    let listed = ld_conf.known().into_iter().flatten().flat_map(|file| &file.directories).map(String::as_str);
    library_path(path).chain(listed).chain(DEFAULT_DIRECTORIES.iter().copied()).map(str::to_owned).collect()
}

/// Everything that could bring a library.
struct World<'a> {
    seen: &'a Observations,
    build: &'a BaseBuild,
    searched: Vec<String>,
    knowledge: Knowledge,
}

/// What one source of libraries says of a soname.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Says {
    /// It does not have it.
    No,
    /// It may have it, or has it where the loader may not look.
    Perhaps,
    /// It has it.
    Yes,
}

impl World<'_> {
    /// Where a library is; `loose`: whether what was put there without a package may have it.
    fn soname(&self, name: &str, looks: Looks, loose: bool) -> Soname {
        let files = self.files(name);
        // A part comes in the package of the whole.
        let whole = self.knowledge.whole_of(name);
        let said = files.max(self.packages(whole, looks)).max(self.base(whole)).max(if loose {
            self.loose(whole)
        } else {
            Says::No
        });
        let lacked = self.build.lacks.contains(&name);
        let presence = match (said, self.knowledge.driver_soname(name)) {
            (Says::Yes, _) => Presence::Image,
            (_, Some(row)) => Presence::Driver(row.capability),
            (Says::No, None) if lacked || self.seen.complete.files || self.seen.complete.packages => Presence::Absent,
            (Says::No, None) if self.seen.complete.libraries && self.nothing_brings(whole, looks) => Presence::Absent,
            (Says::No, None) if self.is_told() => Presence::Unfound,
            (Says::No | Says::Perhaps, None) => Presence::Unseen,
        };
        Soname { name: name.to_owned(), presence }
    }

    /// Whether what the image is made of was said: by a Dockerfile, or by a description that names the base.
    fn is_told(&self) -> bool {
        let based = matches!(self.seen.base, BaseSeen::Image(..) | BaseSeen::Scratch(_));
        self.seen.depth == Depth::Text || (self.seen.depth == Depth::Description && based)
    }

    /// Whether every package is one of which it is known what it brings: what others depend on is not said.
    fn nothing_brings(&self, soname: &str, looks: Looks) -> bool {
        let knowledge = self.knowledge;
        let told = looks == Looks::Never || is_fixed(self.seen, soname, knowledge);
        self.seen.packages.iter().all(|package| match package.manager {
            Manager::Apt => !knowledge.carries_libraries(&package.name),
            Manager::Conda => knowledge.is_without(&package.name, soname),
            Manager::Pip => {
                let of_index = package.variant.is_none() && package.conditional.is_none();
                let known = of_index && (asks::of(package, knowledge).is_some() || self.is_free(package));
                // One without what it depends on brings what its row lists, or nothing.
                let listed = || knowledge.package_libraries(&package.name, version_of(package)).is_some();
                // Nor does a wheel of a library bring another of itself along.
                let another = || {
                    knowledge
                        .library_packages()
                        .iter()
                        .any(|row| row.name == package.name && row.sonames.contains(&soname))
                };
                known
                    || (told && self.is_library_wheel(package))
                    || along::brings_nothing(package, knowledge)
                    || ((package.alone || another()) && listed())
            }
        })
    }

    /// Files of that name, or of a version of it: what lies elsewhere may be found by the program's own path.
    fn files(&self, soname: &str) -> Says {
        let named = self.seen.files.keys().filter(|path| {
            let rest = split_path(path).1.strip_prefix(soname);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let says = named.map(|path| {
            let directory = split_path(path).0;
            let near = self.searched.iter().any(|searched| searched == directory);
            self.behind(path).min(if near { Says::Yes } else { Says::Perhaps })
        });
        says.max().unwrap_or(Says::No)
    }

    /// Whether a library lies behind a name. Of an image that was read every file is among those that links lead to, where
    /// its name is that of a library.
    fn behind(&self, path: &str) -> Says {
        let kind = |path: &str| self.seen.files.get(path).map(|file| &file.kind);
        let end = resolve(path, |path| match kind(path)? {
            FileKind::Link(target) => Some(target.as_str()),
            _ => None,
        });
        let read = self.seen.depth == Depth::Layers;
        match end.as_deref().map(|end| (end, kind(end))) {
            Some((_, Some(FileKind::NoLibrary))) => Says::No,
            Some((_, Some(_))) => Says::Yes,
            None | Some((_, None)) if !read => Says::Yes,
            Some((end, None)) if !split_path(end).1.contains(".so") => Says::Perhaps,
            None | Some((_, None)) if self.seen.complete.files => Says::No,
            None | Some((_, None)) => Says::Perhaps,
        }
    }

    /// Packages: those with a row bring what it lists; wheels put it where the loader does not look by itself, and where
    /// some programs do.
    ///
    /// Where every file was read, what a package should have brought counts for nothing.
    fn packages(&self, soname: &str, looks: Looks) -> Says {
        if self.seen.depth == Depth::Layers && self.seen.complete.files {
            return Says::No;
        }
        let fixed = is_fixed(self.seen, soname, self.knowledge);
        let says = self.seen.packages.iter().map(|package| {
            if fixed && (self.is_library_wheel(package) || along::row_of(package, self.knowledge).is_some()) {
                return Says::No;
            }
            match self.knowledge.package_libraries(&package.name, version_of(package)) {
                Some(row) if !row.sonames.contains(&soname) => Says::No,
                Some(_) if package.manager == Manager::Apt => Says::Yes,
                Some(_) if looks == Looks::Itself && package.conditional.is_none() => Says::Yes,
                // A wheel of a library has nothing beside itself, and where it lies nobody looks.
                _ if looks == Looks::Never && self.is_library_wheel(package) => Says::No,
                Some(_) => Says::Perhaps,
                None if looks == Looks::Itself
                    && let Some(said) = along::says(self.seen, package, soname, self.knowledge) =>
                {
                    said
                }
                None if self.asks_outside(package, soname) || self.is_free(package) => Says::No,
                None if self.knowledge.is_without(&package.name, soname) => Says::No,
                None if self.knowledge.carries_libraries(&package.name) => Says::Perhaps,
                None => Says::No,
            }
        });
        says.max().unwrap_or(Says::No)
    }

    /// Whether a wheel of the default index is known to bring no library of CUDA.
    fn is_free(&self, package: &PackageSeen) -> bool {
        let of_index = package.manager == Manager::Pip && package.variant.is_none();
        let local = matches!(&package.version, PackageVersion::Exact(text) if text.contains('+'));
        let reaches = |from: CudaVersion| match &package.version {
            PackageVersion::Exact(_) => version_of(package).is_some_and(|version| from <= version),
            // An installer takes the newest that it may.
            PackageVersion::Open(range) => range.is_empty() || admits(range, BEYOND) == Some(true),
            PackageVersion::Unresolved(_) => false,
        };
        of_index && !local && self.knowledge.is_library_free(&package.name, reaches)
    }

    /// Whether a package is a wheel of a library of CUDA.
    fn is_library_wheel(&self, package: &PackageSeen) -> bool {
        package.manager == Manager::Pip && self.knowledge.library_wheel(&package.name).is_some()
    }

    /// Whether a wheel is known to look for a library outside of itself.
    fn asks_outside(&self, package: &PackageSeen, soname: &str) -> bool {
        let of_index = package.manager == Manager::Pip && package.variant.is_none();
        let asks = of_index.then(|| asks::of(package, self.knowledge)).flatten();
        // What comes along with it is not asked for from outside, unless it was left out.
        asks.is_some_and(|asks| (asks.along.is_none() || package.alone) && asks.names(soname))
    }

    /// What was put there without a package.
    fn loose(&self, soname: &str) -> Says {
        let may = self.seen.of_base.loose.iter().any(|one| {
            loose::holds(one, soname, &self.searched) && self.out_of(one.image.as_deref(), soname) != Says::No
        });
        if may && !self.seen.complete.files { Says::Perhaps } else { Says::No }
    }

    /// What is known of an image out of which something is copied.
    fn out_of(&self, image: Option<&str>, soname: &str) -> Says {
        let Some(image) = image.and_then(|image| ImageReference::parse(image).ok()) else { return Says::Perhaps };
        let (name, tag) = (image.familiar(), image.tag().unwrap_or_default());
        if self.knowledge.plain_image(&name).is_some() {
            return Says::No;
        }
        let cuda = tag.split('-').next().and_then(|release| release.parse().ok());
        let cuda = cuda.filter(|_| self.knowledge.is_cuda_repository(&name));
        cuda.map_or(Says::Perhaps, |cuda| self.toolkit(soname, cuda, Some(tag)))
    }

    /// The base image. One that is not known may have anything, unless every file is listed.
    fn base(&self, soname: &str) -> Says {
        if self.seen.complete.files || self.build.lacks.contains(&soname) {
            return Says::No;
        }
        match (self.build.family, &self.seen.base, self.seen.cuda_runtime) {
            (Family::Plain, ..) => Says::No,
            (Family::Cuda, BaseSeen::Image(reference, _), _) => {
                let tag = reference.tag().unwrap_or_default();
                self.build.cuda.map_or(Says::Perhaps, |(cuda, _)| match left(self.seen, soname, cuda, self.knowledge) {
                    Left::All => self.toolkit(soname, cuda, Some(tag)),
                    Left::Perhaps => self.toolkit(soname, cuda, Some(tag)).min(Says::Perhaps),
                    Left::Nothing => Says::No,
                })
            }
            (_, BaseSeen::NotSaid, Some((cuda, _))) => self.toolkit(soname, cuda, None),
            _ => Says::Perhaps,
        }
    }

    /// The libraries of a toolkit, of the flavour that a tag names where there is one.
    fn toolkit(&self, soname: &str, cuda: CudaVersion, tag: Option<&str>) -> Says {
        let rows = || self.knowledge.toolkit_libraries().iter();
        let of_release = |row: &&ToolkitLibraryRow| {
            row.cuda_major == cuda.major()
                && row.from.is_none_or(|from| from <= cuda)
                && row.before.is_none_or(|before| cuda < before)
        };
        let words: Vec<&str> = tag.unwrap_or_default().split('-').collect();
        let told = tag.and_then(|tag| self.knowledge.cuda_flavour(tag));
        let least = self.knowledge.least_cuda_flavour();
        let included = |flavour: &str| {
            let held = told.is_some_and(|row| row.holds.contains(&flavour));
            held || words.contains(&flavour) || least == Some(flavour)
        };
        let brings = |row: &ToolkitLibraryRow| row.sonames.contains(&soname);
        if tag.is_some() && rows().filter(of_release).any(|row| included(row.flavour) && brings(row)) {
            return Says::Yes;
        }
        // Of libraries that come with every release, those of another are not in this one, where the tables have this one.
        let listed = rows().any(brings) && rows().any(|row| of_release(&row));
        let own = rows().filter(of_release).any(brings);
        if listed && (told.is_some() || !own) { Says::No } else { Says::Perhaps }
    }
}

#[cfg(test)]
#[path = "libraries_tests.rs"]
mod tests;
