//! The components of an image: what can start or fail on its own, with its CUDA runtime and GPU code.

use std::collections::BTreeMap;

use jiff::civil::Date;

use crate::cuda::CudaVersion;
use crate::cuda::split_path;
use crate::fact::CodeSeen;
use crate::fact::CodeWording;
use crate::fact::Component;
use crate::fact::Depth;
use crate::fact::Derivation;
use crate::fact::Evidence;
use crate::fact::Fact;
use crate::fact::FactId;
use crate::fact::FactKey;
use crate::fact::Facts;
use crate::fact::GpuCode;
use crate::fact::Manager;
use crate::fact::Observations;
use crate::fact::Offered;
use crate::fact::PackageSeen;
use crate::fact::PackageVersion;
use crate::fact::Role;
use crate::fact::Signature;
use crate::fact::State;
use crate::fact::Unsaid;
use crate::fact::Why;
use crate::infer::base::BaseBuild;
use crate::infer::built_on;
use crate::infer::framework::Image;
use crate::infer::framework::installed;
use crate::infer::framework::riding;
use crate::infer::framework::variant_cuda;
use crate::infer::framework::wording;
use crate::infer::overwritten;
use crate::infer::per_cuda;
use crate::infer::runtime_packages;
use crate::infer::torch;
use crate::infer::torch::Torch;
use crate::infer::torch_build::brought;
use crate::infer::torch_build::shipped;
use crate::infer::unknown;
use crate::infer::unpaired;
use crate::knowledge::Knowledge;
use crate::knowledge::TargetSetRow;

pub(super) use crate::fact::OWN_RUNTIME;
/// How the CUDA runtime itself words missing code and unusable PTX.
pub(super) const PLAIN_WORDING: CodeWording = CodeWording { no_code: 209, bad_ptx: 222 };

/// All components, core ones first.
pub(super) fn components(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &Fact<CudaVersion>,
    arch: &str,
    as_of: Option<Date>,
    knowledge: Knowledge,
) -> Vec<Component> {
    let mut code: ByName<'_> = BTreeMap::new();
    for entry in &seen.code {
        code.entry(entry.component.as_deref().unwrap_or(OWN_RUNTIME)).or_default().push(entry);
    }
    let image = Image { seen, build, arch, as_of, knowledge };
    let mut list = of_packages(facts, image);
    read_over(facts, &mut list, &mut code, image);
    let own_code = code.remove(OWN_RUNTIME);
    let named = of_files_alone(facts, code, base_cuda, !list.is_empty(), image);
    list.extend(named);
    let own = of_the_image(facts, own_code.as_deref(), base_cuda, list.is_empty(), image);
    list.extend(own);
    if list.is_empty() {
        list.extend(runtime_packages::component(facts, seen, PLAIN_WORDING, knowledge));
    }
    list.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    list
}

/// GPU code by the component that it is of.
type ByName<'a> = BTreeMap<&'a str, Vec<&'a CodeSeen>>;

/// What the base image brings, and what packages are installed over it.
fn of_packages(facts: &mut Facts, image: Image<'_>) -> Vec<Component> {
    let Image { seen, build, arch, as_of, knowledge } = image;
    let mut found: BTreeMap<&'static str, Component> = BTreeMap::new();
    let of_variants = knowledge.built_framework();
    if let (Some((version, row)), Some(framework)) = (build.torch, of_variants) {
        let from: Vec<FactId> = build.fact.into_iter().collect();
        let component = shipped(facts, framework, version, row, build, &from, arch, knowledge);
        found.insert(framework.component, component);
    }
    let torch = torch::resolve(seen, build, arch, as_of, knowledge);
    match (&torch, of_variants) {
        (Torch::Brought(one), Some(framework)) => {
            found.insert(framework.component, brought(facts, framework, one, arch, knowledge));
        }
        (Torch::None, Some(framework)) => {
            found.remove(framework.component);
        }
        _ => {}
    }
    // What runs on torch stays as the base brings it for the GPUs of another maker, where no version is asked for.
    let stays = |package: &&PackageSeen| {
        let open = !package.apart && matches!(package.version, PackageVersion::Open(_));
        let pins = || knowledge.torch_pins_of(&package.name).next().is_some();
        build.of_others.is_some() && open && pins()
    };
    for package in seen.packages.iter().filter(|package| !stays(package)) {
        if let Some(framework) = knowledge.framework(&package.name).filter(|row| !row.variants) {
            // A later install replaces an earlier one, and what the base brought.
            found.insert(framework.component, installed(facts, framework, package, image));
        }
    }
    overwritten::by_processor_builds(facts, &mut found, image);
    ride(facts, &mut found, seen, knowledge);
    built_on::part(facts, &mut found, &torch, image);
    let mut list: Vec<Component> = found.into_values().collect();
    list.extend(runtime_packages::named(facts, seen, PLAIN_WORDING, knowledge));
    unpaired::part(facts, &mut list, seen, knowledge);
    list
}

/// What was read in files of these components stands over what the tables have of them.
fn read_over(facts: &mut Facts, list: &mut [Component], code: &mut ByName<'_>, image: Image<'_>) {
    let Image { seen, knowledge, .. } = image;
    for component in list {
        let beside = |entry: &&CodeSeen| knowledge.lies_beside_code(&component.name, &entry.file);
        let of_its_own = |entries: &Vec<&CodeSeen>| !found_in_layers(seen) || !entries.iter().all(beside);
        let unread = |entries: &Vec<&CodeSeen>| entries.iter().all(|entry| is_unread(entry));
        let entries = code.remove(component.name.as_str());
        if found_in_layers(seen) && entries.as_ref().is_some_and(unread) {
            // What the tables have of the build stands for it; of what a command compiles they have nothing.
            continue;
        }
        // Files of which somebody says that they hold nothing, and that there are no others, are as good as none.
        let all_told = seen.complete.code && !found_in_layers(seen);
        let hold_some = |entries: &Vec<&CodeSeen>| !all_told || entries.iter().any(|entry| holds_some(entry));
        if let Some(entries) = entries.filter(of_its_own).filter(hold_some) {
            let entries = per_cuda::loaded(entries, component, seen, knowledge);
            component.code = read_code(facts, seen, &component.name, &entries);
            if component.cuda.is_unknown() && !is_conditional(seen, &component.name, knowledge) {
                let told = of_files(facts, &component.name, &entries, &component.cuda.state, knowledge);
                component.cuda = told.unwrap_or(component.cuda.clone());
            }
        } else if seen.complete.code {
            missed_code(facts, component, seen, knowledge);
        } else {
            continue;
        }
        // What was read holds whichever release it is; where that tells the CUDA as well, nothing is open.
        let code = component.code.clone();
        component.may_be.retain(|_| component.cuda.is_unknown());
        for one in &mut component.may_be {
            (one.code, one.hollow) = (code.clone(), component.hollow);
        }
    }
}

/// Components of which only files with GPU code are seen; whether there are `others` beside them.
fn of_files_alone(
    facts: &mut Facts,
    code: ByName<'_>,
    base_cuda: &Fact<CudaVersion>,
    others: bool,
    image: Image<'_>,
) -> Vec<Component> {
    let Image { seen, build, knowledge, .. } = image;
    // Of packages that merely lie in the image nobody says that it is there to run them.
    let beside = found_in_layers(seen) && others;
    let mut found = Vec::new();
    for (name, entries) in code {
        let code = read_code(facts, seen, name, &entries);
        let cuda = own_runtime(facts, seen, build, base_cuda, (name, &entries), knowledge);
        let known = knowledge.frameworks().iter().find(|row| row.component == name);
        let role = if beside && known.is_none() { Role::Extension } else { Role::Core };
        let codes = known.map_or(PLAIN_WORDING, wording);
        let hollow = entries.iter().any(|entry| is_unread(entry));
        found.push(Component { role, hollow, ..Component::core(name, cuda, code, codes) });
    }
    found
}

/// The image's own CUDA runtime, and the GPU code that is of no other component; whether it is `alone`.
fn of_the_image(
    facts: &mut Facts,
    own_code: Option<&[&CodeSeen]>,
    base_cuda: &Fact<CudaVersion>,
    alone: bool,
    image: Image<'_>,
) -> Option<Component> {
    let Image { seen, build, knowledge, .. } = image;
    let own_entries = own_code.unwrap_or_default();
    let runtime = own_runtime(facts, seen, build, base_cuda, (OWN_RUNTIME, own_entries), knowledge);
    // Of a base that was not read, what commands put on top is all that is told.
    let on_top = alone && own_code.is_none() && runtime.is_unknown() && !found_in_layers(seen);
    let on_top = if on_top { runtime_packages::component(facts, seen, PLAIN_WORDING, knowledge) } else { None };
    let present = own_code.is_some() || !matches!(runtime.state, State::Absent { .. });
    if on_top.is_some() || !present {
        return on_top;
    }
    let started =
        |entries: &[&CodeSeen]| !found_in_layers(seen) || entries.iter().any(|one| is_started(seen, &one.file));
    let decides = alone || own_code.is_some_and(started);
    let role = if decides { Role::Core } else { Role::Extension };
    let anonymous = own_code.is_none();
    let hollow = own_entries.iter().any(|entry| is_unread(entry));
    let code = match own_code {
        Some(entries) => read_code(facts, seen, OWN_RUNTIME, entries),
        None => unseen_code(facts, OWN_RUNTIME, seen, vec![runtime.id]),
    };
    let program = anonymous && decides && build.has_program() && !found_in_layers(seen);
    let plain = Component::core(OWN_RUNTIME, runtime, code, PLAIN_WORDING);
    Some(Component { role, anonymous, program, hollow, ..plain })
}

/// Packages that run on another component's CUDA runtime take theirs from it; of those that have a library for each of
/// several, a version newer than the tables may have none for it.
fn ride(facts: &mut Facts, found: &mut BTreeMap<&'static str, Component>, seen: &Observations, knowledge: Knowledge) {
    let newer = |name: &str, version: &str| knowledge.bundles(name) && knowledge.newer_framework(name, version);
    let is_newer = |name: &str| {
        seen.packages
            .iter()
            .rfind(|package| package.name == name)
            .is_some_and(|package| matches!(&package.version, PackageVersion::Exact(version) if newer(name, version)))
    };
    let rows = || knowledge.frameworks().iter().filter(|row| row.rides.is_some() && !is_newer(row.distribution));
    // A component of several distributions is judged once, by whichever of them is there.
    let once = |at: usize, component: &str| !rows().take(at).any(|row| row.component == component);
    for (_, row) in rows().enumerate().filter(|(at, row)| once(*at, row.component)) {
        let Some(on) = row.rides.and_then(|on| found.get(on)).cloned() else { continue };
        let mut own = rows().filter(|other| other.component == row.component);
        let own_build = own.any(|other| of_index(seen, other.distribution, knowledge));
        if let Some(component) = found.get_mut(row.component) {
            riding(facts, component, &on, own_build);
        }
    }
}

/// Whether the CUDA that a package is built for is told by itself: it is the build that the default index has of it, or
/// names its own. Of one that no index for each CUDA holds there is no other.
fn of_index(seen: &Observations, name: &str, knowledge: Knowledge) -> bool {
    let package = seen.packages.iter().rfind(|package| package.name == name);
    !found_in_layers(seen)
        && package.is_some_and(|package| {
            package.manager == Manager::Pip
                && match &package.version {
                    PackageVersion::Exact(version) => {
                        let alone = !knowledge.has_build_index(name) && knowledge.own_indexes(name).is_empty();
                        let by_itself = || (package.offered == Offered::Default || alone) && package.variant.is_none();
                        version.split_once('+').map_or_else(by_itself, |(_, local)| variant_cuda(local).is_some())
                    }
                    PackageVersion::Open(_) | PackageVersion::Unresolved(_) => false,
                }
        })
}

/// The runtime of code that is not one of the packages: as its files tell it, as said, else the base's.
fn own_runtime(
    facts: &mut Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &Fact<CudaVersion>,
    (name, entries): (&str, &[&CodeSeen]),
    knowledge: Knowledge,
) -> Fact<CudaVersion> {
    let (state, by, from) = match (seen.cuda_runtime, &base_cuda.state) {
        (Some((version, fact)), _) => (State::Known(version), Derivation::Resolution, fact),
        (None, state) => (of_base(facts, seen, build, state, name), Derivation::Inheritance, base_cuda.id),
    };
    of_files(facts, name, entries, &state, knowledge).unwrap_or_else(|| {
        let evidence = Evidence::Derived { by, from: vec![from], row: None };
        facts.add_typed(FactKey::ComponentCuda, Some(name), state, evidence)
    })
}

/// The same as the base has it.
fn of_base(
    facts: &Facts,
    seen: &Observations,
    build: &BaseBuild,
    base_cuda: &State<CudaVersion>,
    name: &str,
) -> State<CudaVersion> {
    match base_cuda {
        State::Known(version) => State::Known(*version),
        State::Absent { .. } if holds_code(seen, name) => State::Unknown(Why {
            reason: match unread(facts, seen, name) {
                Some(why) => why.reason,
                None if found_in_layers(seen) => {
                    format!(
                        "{name} contains GPU code, and its CUDA runtime was not found; it may be statically \
                        linked"
                    )
                }
                None => format!("{name} contains GPU code, and its CUDA version is not declared"),
            },
            supply: "set `cuda_runtime` in an image description".to_owned(),
        }),
        State::Absent { searched } => State::Absent { searched },
        State::Unknown(_) => State::Unknown(build.unseen("the CUDA runtime of the image")),
    }
}

/// Why GPU code of a component was not read.
fn unread(facts: &Facts, seen: &Observations, name: &str) -> Option<Why> {
    let of = |code: &&CodeSeen| code.component.as_deref().unwrap_or(OWN_RUNTIME) == name;
    let entry = seen.code.iter().filter(of).find(|entry| is_unread(entry))?;
    match &facts.get(entry.fact).state {
        State::Unknown(why) => Some(why.clone()),
        State::Known(_) | State::Absent { .. } => None,
    }
}

fn is_unread(entry: &CodeSeen) -> bool {
    entry.unsaid == Some(Unsaid::Unread)
}

/// The CUDA runtime of files with GPU code, where they tell more than what was `found`: the major is that of the library that
/// they ask for, whichever else lies in the image; where nothing tells the release, their compiler does.
fn of_files(
    facts: &mut Facts,
    name: &str,
    entries: &[&CodeSeen],
    found: &State<CudaVersion>,
    knowledge: Knowledge,
) -> Option<Fact<CudaVersion>> {
    let asked = asked_runtime(entries, knowledge);
    let other = |cuda: &CudaVersion| asked.is_some_and(|(_, asked)| asked.major() != cuda.major());
    match found {
        State::Known(cuda) if !other(cuda) => return None,
        State::Absent { .. } if asked.is_none() => return None,
        State::Known(_) | State::Absent { .. } | State::Unknown(_) => {}
    }
    let of_compiler = compiler(entries, knowledge).filter(|(_, row)| !other(&row.cuda));
    let (cuda, evidence) = match (of_compiler, asked) {
        (Some((fact, row)), _) => {
            (row.cuda, Evidence::Derived { by: Derivation::Row, from: vec![fact], row: Some(&row.info) })
        }
        (None, Some((fact, asked))) => {
            (asked, Evidence::Derived { by: Derivation::Resolution, from: vec![fact], row: None })
        }
        (None, None) => return None,
    };
    Some(facts.add_typed(FactKey::ComponentCuda, Some(name), State::Known(cuda), evidence))
}

/// The CUDA runtime that files ask for, all of them the same: its soname tells the major, and before CUDA 11 the release.
fn asked_runtime(entries: &[&CodeSeen], knowledge: Knowledge) -> Option<(FactId, CudaVersion)> {
    let mut asked = entries.iter().filter_map(|entry| Some((entry.fact, entry.runtime.as_deref()?)));
    let (fact, soname) = asked.next()?;
    if asked.any(|(_, other)| other != soname) {
        return None;
    }
    Some((fact, knowledge.runtime_of(soname)?))
}

/// Whether it is not certain that a component is there, or which one.
fn is_conditional(seen: &Observations, name: &str, knowledge: Knowledge) -> bool {
    let of = |package: &str| knowledge.framework(package).is_some_and(|row| row.component == name);
    seen.packages.iter().any(|package| package.conditional.is_some() && of(&package.name))
}

/// The CUDA that code was compiled with, by the version of its PTX: the first that writes it. Those that write the same
/// have the same major, which decides about drivers.
fn compiler(entries: &[&CodeSeen], knowledge: Knowledge) -> Option<(FactId, &'static TargetSetRow)> {
    let newest = entries.iter().filter(|entry| entry.isa.is_some()).max_by_key(|entry| entry.isa)?;
    let isa = newest.isa?;
    let row = knowledge.target_sets().iter().find(|row| row.ptx_isa == isa)?;
    Some((newest.fact, row))
}

/// Whether GPU code of a component lies in the image.
fn holds_code(seen: &Observations, name: &str) -> bool {
    let of_it = |code: &&CodeSeen| code.component.as_deref().unwrap_or(OWN_RUNTIME) == name;
    seen.code.iter().filter(of_it).any(|code| found_in_layers(seen) || holds_some(code))
}

/// Whether a file has GPU code, or some of it could not be told.
fn holds_some(code: &CodeSeen) -> bool {
    code.unsaid.is_some() || [&code.sass, &code.ptx, &code.linkable].iter().any(|list| !list.is_empty())
}

/// Whether files were found in the image, rather than named by somebody who knows what it is there for.
fn found_in_layers(seen: &Observations) -> bool {
    seen.depth == Depth::Layers
}

/// Whether the image starts a file: by its path, or by its name.
fn is_started(seen: &Observations, file: &str) -> bool {
    let words = seen.entrypoint.iter().flat_map(|(words, _)| words);
    words
        .flat_map(|word| word.split_whitespace())
        .any(|word| word == file || (!word.contains('/') && split_path(file).1 == word))
}

fn read_code(facts: &mut Facts, seen: &Observations, name: &str, entries: &[&CodeSeen]) -> Fact<GpuCode> {
    let from: Vec<FactId> = entries.iter().map(|entry| entry.fact).collect();
    if let Some(why) = unread(facts, seen, name) {
        let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
        return unknown(facts, FactKey::ComponentCode, Some(name), why, evidence);
    }
    let signature = |entry: &CodeSeen| Signature { sass: entry.sass.clone(), ptx: entry.ptx.clone() };
    let mut code = GpuCode::of_files(entries.iter().map(|entry| (entry.file.as_str(), signature(entry), entry.count)));
    code.unsorted = found_in_layers(seen);
    for library in &mut code.libraries {
        let parts = entries.iter().filter(|entry| entry.file == library.file).flat_map(|entry| &entry.linkable);
        library.linkable.extend(parts.copied());
        library.unsaid = entries.iter().any(|entry| entry.file == library.file && entry.unsaid.is_some());
    }
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    facts.add_typed(FactKey::ComponentCode, Some(name), State::Known(code), evidence)
}

/// A component of which everything that was looked through has no GPU code: it has none, unless it is a build that
/// cannot do without.
fn missed_code(facts: &mut Facts, component: &mut Component, seen: &Observations, knowledge: Knowledge) {
    let name = component.name.clone();
    let files: Vec<&str> = knowledge.code_files(&name).collect();
    let has_some = !files.is_empty() || component.code.known().is_some_and(GpuCode::holds_some);
    component.hollow =
        has_some && !matches!(component.cuda.state, State::Absent { .. }) && !knowledge.runs_without_code(&name);
    if !component.hollow {
        component.code = unseen_code(facts, &name, seen, vec![component.cuda.id]);
    } else if !is_conditional(seen, &name, knowledge) {
        let files = if files.is_empty() { String::new() } else { format!(" in {}", files.join(" or ")) };
        let (looked, supply) = if found_in_layers(seen) {
            ("the files of the image", "inspect these files: one may be missing, empty or for another architecture")
        } else {
            ("the complete lists of the image description", "list it under [[gpu_code]] in the image description")
        };
        let why = Why {
            reason: format!("a CUDA build of {name} contains GPU code{files}, and {looked} contain none"),
            supply: supply.to_owned(),
        };
        let evidence = Evidence::Derived { by: Derivation::Resolution, from: vec![component.cuda.id], row: None };
        component.code = unknown(facts, FactKey::ComponentCode, Some(&name), why, evidence);
    }
}

fn unseen_code(facts: &mut Facts, name: &str, seen: &Observations, from: Vec<FactId>) -> Fact<GpuCode> {
    let evidence = Evidence::Derived { by: Derivation::Resolution, from, row: None };
    if seen.complete.code {
        let searched = "every library of the image";
        return facts.add_typed(FactKey::ComponentCode, Some(name), State::Absent { searched }, evidence);
    }
    let why = Why {
        reason: format!("the GPU code of {name} was not inspected"),
        supply: "list it under [[gpu_code]] in an image description".to_owned(),
    };
    unknown(facts, FactKey::ComponentCode, Some(name), why, evidence)
}
